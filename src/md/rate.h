// SPDX-License-Identifier: MIT
/*
 * How fast a counter moves, by our own clock: a rebuild's done counter and the sectors of a block
 * device. Pure.
 *
 * The kernel's own speed= is a mean over 30 s and decays as 1/t when md is blocked; two readings of
 * the counter over our clock tell the truth at the second one.
 */
#ifndef RG_MD_RATE_H
#define RG_MD_RATE_H

#include "base/moment.h"

#define RATE_MIN_WINDOW_MS (1 * MS_SECOND) /* shorter windows are noise */
#define RATE_MAX_WINDOW_MS (5 * MS_MINUTE) /* longer ones say nothing of now */

/* The progress of one run of an operation. All zero is none. */
struct progress {
	struct opt done_kib; /* at the last reading that told it */
	struct opt total_kib;
	struct opt base_kib; /* where the rate's window begins */
	int64_t base_at_ms;
	int64_t moved_at_ms; /* when the counter moved last */
	int64_t read_at_ms;
	int64_t run_at_ms;    /* first reading of this run */
	struct opt rate;      /* bytes/s */
	bool fresh;           /* the last reading closed a window: `rate` is new, and */
	int64_t window_at_ms; /* this is where the window began */
};

/* A reading of the counter. A total that changed or a counter that fell begins a new run: no rate
 * over the break. */
void progress_read(struct progress *progress, int64_t done_kib, int64_t total_kib, int64_t now_ms);

/* The operation has ended or changed. */
void progress_end(struct progress *progress);

/* Parts per million; unknown without a counter or with a total of 0. */
struct opt progress_share(const struct progress *progress);

/* By the rate; unknown without one, or while it stands still. */
struct opt progress_remaining(const struct progress *progress);

/* 0 while it moves; by the readings, not by the clock: nothing is said of a time that nobody looked
 * at. */
struct opt progress_stalled(const struct progress *progress);

/* What clients read and write on one md device. All zero: nothing read yet. */
struct client_load {
	bool known;
	uint64_t read_sectors;
	uint64_t write_sectors;
	int64_t at_ms;
	struct opt read; /* bytes/s */
	struct opt write;
	struct opt quiet_since_ms; /* begin of the first window with next to no client I/O, of those
				      without a break */
};

#define CLIENT_QUIET INT64_C(262144) /* bytes/s, read and written together: a resting NAS's own */

/* A reading of the counters (512-byte sectors since the device came up). 32-bit kernels let them
 * wrap; a restart of the NAS starts them anew, and then nothing is known of the window. */
void client_load_read(
	struct client_load *load, uint64_t read_sectors, uint64_t write_sectors, int64_t now_ms);

/* The look did not tell them. */
void client_load_lost(struct client_load *load);

/* a * b / c, for c > 0 and a, b >= 0; INT64_MAX where it does not fit. */
int64_t rate_muldiv(int64_t a, int64_t b, int64_t c);

#endif
