// SPDX-License-Identifier: MIT
/*
 * Which of an operation's windows are undisturbed: clients write next to nothing, what caches held
 * is written out, and the pace has come back. Pure.
 *
 * Most arrays are back within seconds of the last write; one real NAS takes eight minutes, in which
 * the pace grows evenly. What always holds:
 * - A pace that is lower than it is known to be here counts only when it has come back to that, and
 *   the quiet has lasted twice as long as it took; or when it has stopped growing where it is.
 * - What was sampled in a quiet in which the pace is then seen to grow was not undisturbed, and is
 *   forgotten.
 * - How long it takes is remembered: shorter quiets teach nothing then.
 */
#ifndef RG_MD_COMEBACK_H
#define RG_MD_COMEBACK_H

#include "md/baseline.h"
#include "md/rate.h"

/* Quiet for so long before a window counts: page caches drain through md, disks' own do not. */
#define COMEBACK_DRAIN_MS (5 * MS_SECOND)
#define COMEBACK_STRETCHES 3 /* that are compared to see whether the pace still grows */

/* Plain data, all zero is nothing seen. */
struct comeback {
	struct opt since_ms; /* clients are quiet since then, a trickle now and then apart */
	int64_t low_ms;      /* so long after its begin the pace was last seen to be too low */
	bool hurt;           /* it was far too low when it began */
	bool back;
	bool flat;       /* the pace has stopped growing */
	bool low;        /* far too low in the last window with clients */
	uint32_t taken;  /* samples in this quiet */
	int64_t span_ms; /* quiet that it takes, learned from those before */
	struct opt rate; /* bytes/s of the last quiet window, if that was the last, */
	int64_t rate_ms; /* and its length */
	int n_stretches; /* of quiet windows, oldest first */
	struct {
		int64_t ms;
		int64_t bytes_ms; /* bytes/s x ms */
	} stretches[COMEBACK_STRETCHES];
};

/* Takes what a reading told of the operation (progress->fresh: a window has ended) and of the
 * clients; adds the window to the baseline where it was undisturbed. */
void comeback_read(struct comeback *comeback, struct baseline *baseline,
	enum md_operation operation, const struct progress *progress,
	const struct client_load *load);

#endif
