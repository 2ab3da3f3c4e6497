// SPDX-License-Identifier: MIT
/*
 * How open the backups' path to one array shall be, so that its rebuild keeps the share of its pace
 * that a rule protects, and the backups get what that leaves.
 *
 * Pure: one call of steer_step() for each reading and for each time that it asked for; what it
 * remembers lies in `struct steer`, plain data. It speaks of the path as a whole (bytes/s of all
 * throttled jobs together); who divides it among levers is the caller.
 *
 * What always holds:
 * - The share counts by the done counter, averaged over the rule's `over_ms`; never by speed=. It
 *   is kept on average over whole periods: where slices must be long against `over_ms` (a lever
 *   that needs 5 s, an average of a minute), a single window may be off by one slice, and two are
 *   kept apart.
 * - A drop that the backups did not cause (no client writes, what they move does not explain it,
 *   another client, a check that took over) never squeezes them, and the reason says so.
 * - What is written past a closed path (by whom the levers do not hold, backups or not) squeezes
 *   nobody for good: once a rest has shown that it goes on and that nothing comes back, what the
 *   rebuild does beside it is what is protected, the path opens as far as that costs no more, the
 *   reason says so, and a rest every ten minutes looks whether it is still so.
 * - A rest is never longer in one piece than the levers' `rest_max_ms`; slices and rests last at
 *   least four times the levers' delay.
 * - Without facts (blind, no rate, no baseline) it never closes the path further than it was and
 *   opens it within a bounded time: not knowing is no reason to strangle a backup.
 * - What the rebuild does undisturbed is what it was seen to do while clients wrote next to nothing
 *   and it had come back; a baseline is believed as it was before the first step, and later only as
 *   far as the rebuild's position explains its change.
 * - It ends by itself: when nothing runs on the array that a rule protects, the path opens
 *   gradually and then is free.
 */
#ifndef RG_CORE_STEER_H
#define RG_CORE_STEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/moment.h"
#include "md/facts.h"

enum steer_path {
	STEER_NONE = 0,
	STEER_FREE,  /* nothing to steer (any more): levers are put back */
	STEER_OPEN,  /* no limit now, but the levers stay at hand */
	STEER_LIMIT, /* `rate` */
	STEER_REST,  /* as little as the lever can: pause, or its smallest rate */
};

/* How the controller gives a backup its part. */
enum steer_way { STEER_WAY_NONE = 0, STEER_STEADY, STEER_SLICES };

enum steer_reason {
	STEER_REASON_NONE = 0,
	STEER_NOTHING_TO_PROTECT, /* no operation that a rule protects */
	STEER_NO_JOB,             /* no throttled job writes */
	STEER_BLIND,              /* no reading that says anything */
	STEER_MEASURING,          /* a rest, to learn what the rebuild does undisturbed */
	STEER_TRYING,             /* finds out which way or how much is better here */
	STEER_KEEPING,            /* the share is kept: as it is */
	STEER_SQUEEZE,            /* the share is missed */
	STEER_GIVING,             /* there is room: more for the backup */
	STEER_SLICE,              /* full speed for a while */
	STEER_RESTING,            /* between two slices */
	STEER_DRAINING,           /* caches go on writing after the path was closed */
	STEER_NOT_OURS,           /* the drop is not the backups' doing */
	STEER_NO_GRIP, /* set, but clients write more than it: the lever does not hold, for as long
			* as that is so */
	STEER_FIXED,   /* the rule's own `rate` */
	STEER_OPENING, /* the end: opens gradually */
	STEER_REASON_COUNT
};

/* What the levers on the path can do: the narrowest of those that are in use. */
struct steer_range {
	int64_t delay_ms;    /* until a change acts, at most as far as known; > 0 */
	int64_t least_rate;  /* bytes/s that passes in a rest: 0 for a pause */
	int64_t rest_max_ms; /* the longest rest in one piece; 0: no rest at all */
	int64_t top_rate;    /* bytes/s beyond which a limit makes no sense; 0: none */
};

struct steer_rule {
	int64_t protect_ppm;
	int64_t over_ms;
	struct opt rate; /* bytes/s: this, whatever the rebuild does */
};

struct steer_input {
	int64_t now_ms;
	/* As of the last reading; NULL while nothing is known of it. */
	const struct array_facts *array;
	bool blind;         /* the NAS cannot be seen: `array` is what was seen last */
	bool fresh;         /* a new reading since the last step */
	int64_t read_at_ms; /* of that reading */
	bool protects;      /* a rule protects what the array does now */
	struct steer_rule rule;
	int64_t jobs;     /* throttled jobs that write, or are about to */
	struct opt moved; /* bytes/s that they move by their levers' own account; unknown: none
			     tells. What clients write beyond it is somebody else's */
	bool only_ours;   /* nothing else is known to write (else a drop may be another's) */
	struct steer_range range;
	bool applied;       /* the path that was returned last is in force (read back) */
	int64_t applied_ms; /* boot time since which; 0 = not yet */
};

struct steer_output {
	enum steer_path path;
	int64_t rate;        /* bytes/s for STEER_LIMIT */
	struct opt again_ms; /* boot time: step again then at the latest */
	enum steer_way way;  /* that of the path, also while it is only tried */
	enum steer_reason reason;
	char text[200]; /* one sentence, no full stop */
	/* Kept over `over_ms`, so far, of what it would do without these backups; above 1,000,000
	 * where it did better than it was taken for. */
	struct opt share_ppm;
	struct opt pace; /* bytes/s that the backups moved over the same time */
	bool no_grip;    /* STEER_NO_GRIP, lately: another lever is needed */
};

/* One array's controller. Its members are steer.c's own (see there); all zero is a new one. They
 * stand here so that whoever has one needs no allocation. */
#include "core/steer_state.h"

/* One step. Never fails. */
void steer_step(struct steer *steer, const struct steer_input *in, struct steer_output *ret);

/* Forgets what was learned of the array and the levers. */
void steer_forget(struct steer *steer);

const char *steer_path_word(enum steer_path path);       /* free, open, limit, rest */
enum steer_path steer_path_parse(const char *word);      /* 0 for another word */
const char *steer_way_word(enum steer_way way);          /* steady, slices */
const char *steer_reason_word(enum steer_reason reason); /* "nothing-to-protect", ... */

#endif
