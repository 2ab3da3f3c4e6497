// SPDX-License-Identifier: MIT
/*
 * Quantities as people write them, parsed strictly and printed so that they parse again.
 *
 * Every parser takes the whole string (blanks around it are allowed, nothing else), refuses signs,
 * hex, octal looks (a leading 0 before another digit), exponents, missing units and overflow, and
 * leaves *ret untouched on failure. A printer writes the shortest exact form into a caller's buffer
 * of UNITS_TEXT_MAX and returns that buffer.
 */
#ifndef RG_BASE_UNITS_H
#define RG_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/moment.h"

#define UNITS_TEXT_MAX 48

/* Decimal digits only, min <= n <= max. */
bool u64_parse(const char *text, uint64_t min, uint64_t max, uint64_t *ret, struct err *err);

/* As u64_parse for `len` bytes that need no NUL after them; for texts that come from the kernel:
 * leading zeros allowed. */
bool digits_parse(const char *text, size_t len, uint64_t max, uint64_t *ret);

/* "90s", "10 min", "8h", "1h 30min", "2d", "500ms", "0": ms >= 0. Units: ms, s|sec, m|min, h, d, w.
 */
bool span_parse(const char *text, int64_t *ret_ms, struct err *err);

/* "150 MB/s", "1.5 GiB/s", "800 KiB/s", "0": bytes per second. Units B, kB|KB, MB, GB, TB (1000),
 * KiB, MiB, GiB, TiB. */
bool rate_parse(const char *text, int64_t *ret_bytes_s, struct err *err);

/* "10 GiB": bytes. The same units without "/s". */
bool size_parse(const char *text, int64_t *ret_bytes, struct err *err);

/* "80%", "97.5 %": parts per million, 0 to 1,000,000 (100 %). */
bool percent_parse(const char *text, int64_t *ret_ppm, struct err *err);

/* "2026-11-30", "2026-11-30 21:00", "2026-11-30T21:00:05Z", "21:00" (today or, if that is to come,
 * yesterday), "today", "yesterday", "-2h", "2h ago", "now", "@1796000000": a point in UTC ms. Local
 * forms are read with now->utc_offset_s. */
bool when_parse(const char *text, const struct moment *now, int64_t *ret_utc_ms, struct err *err);

const char *span_print(int64_t ms, char text[UNITS_TEXT_MAX]); /* exact: "1h 30min" */
const char *rate_print(
	int64_t bytes_s, char text[UNITS_TEXT_MAX]); /* exact: "150 MB/s", "1234 B/s" */
const char *size_print(int64_t bytes, char text[UNITS_TEXT_MAX]);  /* exact */
const char *percent_print(int64_t ppm, char text[UNITS_TEXT_MAX]); /* exact: "97.5%" */

/* For reading, rounded: "1h 32min", "37 MB/s", "1.5 TiB", "41.3 %", "2026-11-30 21:04:05" (local by
 * the offset). */
const char *span_show(int64_t ms, char text[UNITS_TEXT_MAX]);
const char *rate_show(int64_t bytes_s, char text[UNITS_TEXT_MAX]);
const char *size_show(int64_t bytes, char text[UNITS_TEXT_MAX]);
const char *percent_show(int64_t ppm, char text[UNITS_TEXT_MAX]);
const char *when_show(int64_t utc_ms, int32_t utc_offset_s, char text[UNITS_TEXT_MAX]);

/* RFC 3339 in UTC with milliseconds: "2026-11-30T20:04:05.123Z"; for JSON. */
const char *when_rfc3339(int64_t utc_ms, char text[UNITS_TEXT_MAX]);

#endif
