// SPDX-License-Identifier: MIT
/* What one array's controller remembers: for steer*.c only, see core/steer.h. Plain data; all zero
 * is a new one. Amounts of the rebuild are in ppm x ms: a millisecond at its undisturbed pace is
 * 1,000,000 of them. */
#ifndef RG_CORE_STEER_STATE_H
#define RG_CORE_STEER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/moment.h"

#define STEER_BINS 60 /* of the time that a share is averaged over */
#define STEER_FLATS 4 /* stretches that are compared to see whether a pace still grows */

enum steer_phase {
	STEER_PHASE_NEW = 0,
	STEER_PHASE_MEASURE, /* a rest, before anything is known */
	STEER_PHASE_SLICE,
	STEER_PHASE_REST,   /* between slices */
	STEER_PHASE_STEADY, /* a limit */
	STEER_PHASE_PROBE,  /* a rest, to see whether a drop is the backups' doing */
	STEER_PHASE_OPENING,
	STEER_PHASE_STANDS, /* nothing of the array's moves: nothing to slow down */
	STEER_PHASE_FIXED,
};

/* What happened in some stretch of time. */
struct steer_sum {
	int64_t ms;
	int64_t kept;     /* ppm x ms */
	int64_t moved;    /* bytes, */
	int64_t moved_ms; /* in so much of the time */
};

struct steer_bin {
	int64_t number; /* read time / length of a bin */
	struct steer_sum sum;
};

struct steer {
	int64_t stepped_ms; /* boot time of the last step */
	enum steer_phase phase;
	int64_t phase_ms;
	int operation; /* enum md_operation that all this was learned of */
	int64_t protect_ppm, over_ms;

	/* The path that was returned last. */
	int path; /* enum steer_path */
	int64_t rate;
	int64_t ordered_ms;
	int64_t force_ms; /* in force since; 0: not yet */
	int64_t opening;  /* bytes/s that opening began with */

	/* The account. */
	int64_t read_ms;  /* last reading taken */
	int64_t sight_ms; /* when the pace was known last */
	int64_t blind_ms; /* since when it is not; 0: it is */
	int64_t credit;   /* ppm x ms kept beyond what is protected; negative: a debt */
	int64_t bin_ms;
	struct steer_bin bins[STEER_BINS];

	/* What the rebuild does undisturbed: `ref` bytes/s, where the baseline said `ref_base`. */
	struct opt ref, ref_base;
	int64_t ref_at_ppm;             /* and where that was */
	struct opt share, share_before; /* ppm, of the last two readings */
	int64_t write;   /* bytes/s that clients wrote at the last reading, as far as known */
	bool disturbed;  /* a breath, its wake, or caches that take in, in the last reading */
	int64_t calm_ms; /* clients write next to nothing since then; 0: they write */
	bool hurt;       /* the pace was low when calm began */
	bool back;       /* it has come back in this calm, */
	int64_t back_ms; /* so long after it began */
	int64_t comeback_ms, drain_ms; /* learned */
	int64_t foreign;       /* bytes/s that are written while the path is closed and drained */
	int64_t full_write;    /* bytes/s that clients write while it is open */
	struct steer_sum calm; /* undisturbed, not yet part of `ref` */
	struct steer_sum flat[STEER_FLATS];
	int n_flat;
	bool flat_found;       /* the pace has stopped growing in this calm */
	int64_t over_since_ms; /* more than the limit is written since then */
	bool no_grip;
	/* Written past a closed path by whom the levers do not hold, bytes/s: a rest has shown that
	 * it goes on and that nothing comes back; 0: nothing. `ref` is then what the rebuild does
	 * beside it, and `far` what it did before. */
	int64_t past;
	int64_t lull_ms;      /* since when no rest has seen it any more; 0: the last reading did */
	int64_t look_ms;      /* when a rest looked last */
	int64_t look_long_ms; /* when one is due that outlasts any cache; 0: the next */
	bool looks, looks_long; /* this rest does, */
	bool lulled;            /* and has seen that nobody wrote */
	struct opt far, far_base;
	int64_t far_at_ppm;
	/* In this rest, after caches had their time: `kept` the rebuild's bytes/s x ms, `moved`
	 * what clients wrote. */
	struct steer_sum shut;
	int64_t shut_ms;     /* since then; 0: since it began */
	int64_t not_ours_ms; /* when a drop was seen last that is not the backups' doing */

	/* Rests and slices. */
	int64_t rest_ms; /* in force since, over all pieces; 0: not yet */
	bool breath;
	bool thorough;          /* lasts until the pace has stopped growing */
	int64_t breath_ms;      /* when the last one ended */
	struct opt slice_share; /* ppm that the rebuild keeps in a slice */
	bool unused;            /* nobody wrote in this slice, by the last reading */
	int64_t open_credit, close_credit, low_credit;
	int64_t tail;           /* ppm x ms that a slice still costs after its end */
	bool in_period;         /* since a slice began: */
	struct steer_sum cycle; /* a period of slices, from the one's beginning to the next's */
	int cycles;

	/* The steady limit. */
	int64_t limit, low, high, high_ms;
	int64_t settle_span_ms; /* so long a change takes to show */
	int64_t settle_ms;      /* not judged before; 0: not in force yet */
	int64_t judge_ms;       /* how long a stretch is judged */
	struct steer_sum judged;
	int direction; /* of the last change */
	bool stable;   /* it was right once */
	int64_t probe_ms;

	/* Which way. */
	int way; /* enum steer_way */
	bool trial;
	struct steer_sum slices, steady; /* whole periods, the newest weigh most */
	int64_t recheck_ms, recheck_span_ms;
};

#endif
