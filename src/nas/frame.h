// SPDX-License-Identifier: MIT
/*
 * What a look returned, and how the probe's child hands it to its parent: one frame for each
 * answer.
 *
 * A frame is 12 bytes, then the sentence, then the raw bytes:
 *
 *     "RGP1"  sensor (1 byte)  flags (1)  length of the sentence (2)  length of the raw bytes (4)
 *
 * numbers in network order. The reader trusts nothing: it takes no more than one whole frame, and
 * anything else (an unknown sensor or flag, a length past its limit, bytes after the frame) breaks
 * it for good. Does no I/O.
 */
#ifndef RG_NAS_FRAME_H
#define RG_NAS_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "md/facts.h"

#define PROBE_RAW_MAX ((size_t)256 * 1024)
#define PROBE_TEXT_MAX 256 /* with the NUL; as nas_facts.sensor_text */

struct probe_result {
	enum nas_sensor sensor;
	bool logged_in; /* a new SSH login was made for this look */
	bool partial;   /* mdstat is whole, what comes after it is not: `text` says why */
	char text[PROBE_TEXT_MAX]; /* a sentence for any sensor but OK and for a partial look; else
				      "" */
	struct buf raw;            /* owned; what the look printed, at most PROBE_RAW_MAX */
};

/* Sets the sensor and the sentence, cut at its end and free of control characters. Returns false,
 * so that a function can `return probe_fail(...)`. */
bool probe_fail(struct probe_result *result, enum nas_sensor sensor, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Empties for the next look; keeps the memory of `raw`. */
void probe_result_clear(struct probe_result *result);
void probe_result_release(struct probe_result *result);

/* Appends one frame to `out`. ERR_LIMIT when `raw` is larger than PROBE_RAW_MAX, ERR_NOMEM. */
bool frame_write(const struct probe_result *result, struct buf *out, struct err *err);

/* Collects one frame. All-zero is empty; frame_reader_release() frees. */
struct frame_reader {
	struct buf in;
	bool broken;
};

enum frame_state {
	FRAME_BROKEN = -1, /* `err` says why */
	FRAME_MORE = 0,    /* not whole yet */
	FRAME_WHOLE = 1,   /* *ret is filled, the reader is empty again */
};

/* Takes `len` bytes that came. `ret` is written only for FRAME_WHOLE. */
enum frame_state frame_read(struct frame_reader *reader, const void *data, size_t len,
	struct probe_result *ret, struct err *err);

void frame_reader_release(struct frame_reader *reader);

#endif
