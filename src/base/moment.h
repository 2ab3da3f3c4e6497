// SPDX-License-Identifier: MIT
/*
 * A point in time as the rest of the program sees it: read once, passed down, never read again.
 *
 * Durations and ages are differences of `boot_ms` only (CLOCK_BOOTTIME: runs on while the machine
 * sleeps, never steps). `utc_ms` and `utc_offset_s` serve for showing and for the conditions on
 * local time. All spans in the program are int64_t milliseconds named *_ms.
 */
#ifndef RG_BASE_MOMENT_H
#define RG_BASE_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

struct moment {
	int64_t boot_ms;      /* CLOCK_BOOTTIME */
	int64_t utc_ms;       /* since 1970-01-01T00:00:00Z */
	int32_t utc_offset_s; /* local time minus UTC, east positive */
};

/* A number that may be unknown. `v` is 0 while unknown. */
struct opt {
	bool known;
	int64_t v;
};

#define OPT_NONE ((struct opt){false, 0})
#define OPT(value) ((struct opt){true, (value)})

#define MS_SECOND INT64_C(1000)
#define MS_MINUTE (60 * MS_SECOND)
#define MS_HOUR (60 * MS_MINUTE)
#define MS_DAY (24 * MS_HOUR)

#endif
