// SPDX-License-Identifier: MIT
/*
 * The heart: decide() turns what is known into one verdict, in eight numbered steps.
 *
 * Pure: the same inputs give the same decision, always; everything that decide() looks at is in
 * `struct inputs`, is recorded as a whole and can be decided again (`rebuildgate replay`). The step
 * numbers are those of DESIGN, of the tests, of the audit row, of `rebuildgate explain` and of the
 * manual page:
 *
 *   1  the gate is switched off                 5  the rules, for each array
 *   2  an override covers the request           6  no rule matched
 *   3  the storage is mapped to no array        7  time and queue
 *   4  the facts are stale or unknown           8  observe only
 *
 * Step 7: a hold's end (max_hold, rpo, the next start), restores, settle, slots, spacing; and a
 * throttle that would not be done in time.
 */
#ifndef RG_CORE_DECIDE_H
#define RG_CORE_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/moment.h"
#include "core/policy.h"
#include "core/request.h"
#include "md/facts.h"

/* What decide() must know of the ticket; all zero for a job that asks for the first time. Spans, so
 * that it holds across restarts. */
struct ticket_view {
	int64_t id;         /* 0 = none yet */
	bool was_held;      /* it has been held before this decision, in job-init */
	bool only_restore;  /* by nothing but restores: it takes no turn in the queue */
	bool released;      /* it was let go (by a decision, an override or an operator): never held
			       again in job-init */
	bool release_asked; /* an operator's `release`: wins over everything but deny by override */
	bool expired;       /* its hold expired: never held again */
	enum verdict expired_to; /* what on_expiry made of it then */
	int64_t held_ms;         /* time held in job-init so far, queueing included */
	int64_t recheck_ms;  /* time waited inside the job so far: one budget for the whole job */
	struct opt clear_ms; /* for how long, up to now, no rule would have held it; unknown: one
				does, or not evaluated yet */
	char hold_rule[RULE_NAME_MAX]; /* the rule that held it last, "" if none: its settle,
					  max_running, release_interval, windows count */
	int hold_step; /* 2 to 6: the step that held it last (a rule, also one that goes on blindly,
			  counts more than a blindness after it); 0 if nothing but the queue */
	struct opt hold_blind_ms; /* for a hold of step 4: how long the NAS had been blind */
	struct opt too_slow_ppm;  /* what too_slow made of the protected share when the job was let
				     go: so much instead, 0: it is not slowed; unknown: nothing */
};

/* The queue as this request sees it. */
struct queue_view {
	int64_t ahead; /* held tickets of this NAS that asked before this one and wait in the queue
			  only: no rule holds them, and neither their node nor a closed window */
	int64_t running_nas;         /* released or running jobs that hold a slot of this NAS */
	int64_t running_node;        /* released or running jobs on this node that wait for or hold
					vzdump's lock */
	struct opt since_release_ms; /* since the last release of a held job on this NAS */
	int64_t backlog; /* held tickets of this NAS, but this one, that no rule holds, nor a
			    restore alone: while there are any, newcomers queue too */
};

struct inputs {
	struct request request;
	struct mapping mapping;
	bool lever; /* a lever is set up that could slow this job */
	/* Restores that read from this NAS now; unknown where nobody looks (that is not "none", and
	 * holds nothing). Jobs not yet started wait until they are done. */
	struct opt readers;
	/* How long this job would take at the share that its rule protects, by its guests' last
	 * sizes and the measured pace; unknown where either is. */
	struct opt predicted_ms;
	struct nas_facts
		facts; /* of the mapped NAS; n_arrays cut to the mapped arrays is allowed */
	struct ticket_view ticket;
	struct queue_view queue;
	size_t n_overrides; /* those in force */
	struct override overrides[OVERRIDE_MAX];
	struct moment now;
};

enum reason_code {
	REASON_NONE = 0,
	REASON_GATE_OFF,
	REASON_OVERRIDE,
	REASON_UNMAPPED,
	REASON_BLIND,              /* the NAS cannot be seen, sensor rule */
	REASON_BLIND_HOLD_GOES_ON, /* blind, and the last known facts matched a holding rule */
	REASON_BLIND_LIMIT,        /* blind for longer than blind_limit */
	REASON_BLIND_BUDGET,       /* the outage's budget is used up */
	REASON_RULE, /* a rule matched; text names array, operation, percent, time left */
	REASON_NO_RULE,
	REASON_RELEASED,      /* let go before */
	REASON_RELEASE_ASKED, /* by an operator */
	REASON_EXPIRED,       /* the hold's time was over */
	REASON_NEXT_START,    /* the job's next start is near */
	REASON_SETTLE,
	REASON_QUEUE_BEHIND, /* others asked before */
	REASON_QUEUE_NAS,    /* max_running */
	REASON_QUEUE_NODE,   /* one job of this node at a time */
	REASON_QUEUE_INTERVAL,
	REASON_QUEUE_WINDOW, /* release_window is closed */
	REASON_MID_JOB,      /* a hold inside a running job became mid_job */
	REASON_RECHECK,      /* waiting inside the job */
	REASON_NO_LEVER,     /* throttle acts as without_lever */
	REASON_OBSERVE,
	REASON_NOTE,     /* the rule's note */
	REASON_ARRAY,    /* another array that also mattered */
	REASON_RESTORE,  /* a restore reads from this NAS: not started before it is done */
	REASON_RPO,      /* a guest's last good backup is as old as it may get: the hold ends */
	REASON_TOO_SLOW, /* throttled, it would outlast its period: relaxed, held or let go */
	REASON_AGE,      /* how old the last good backup is */
	REASON_COUNT
};

struct reason {
	enum reason_code code;
	char text[400]; /* one sentence, no full stop */
};

#define DECISION_MAX_REASONS 12

struct decision {
	enum verdict verdict; /* the policy's answer after step 8 */
	enum verdict
		would_be; /* what it would have been without step 8; equals `verdict` otherwise */
	enum verdict act; /* what the job does: `verdict`, but throttle acts as without_lever where
			     there is no lever */
	int step;         /* 1..8: the step that settled `verdict` */
	char rule[RULE_NAME_MAX]; /* the rule that settled it, or the one that holds in the
				     background; "" if none */
	char array[MD_NAME_MAX];  /* the array that is the reason, or "" */
	int64_t override_id;      /* 0 if none */
	size_t n_reasons;         /* at least 1 */
	struct reason reasons[DECISION_MAX_REASONS];

	/* For act == hold: */
	struct opt ends_in_ms; /* time left until the hold ends at the latest */
	enum verdict then; /* what comes then; VERDICT_NONE where an override ends then: the rules
			      decide anew */
	struct opt expected_ms; /* when the reason is expected to be over, where known */
	enum verdict then_act;  /* what the job would do then: `then`, but throttle acts as
				   without_lever  where there is no lever */
	struct opt again_in_ms; /* decide again no later than this, whatever happens */

	/* For act == throttle: what is protected, after `too_slow` relaxed it. */
	int64_t protect_ppm;     /* 0: not a throttle */
	struct opt too_slow_ppm; /* for ticket.too_slow_ppm */

	/* What the ticket must remember for the next decision. */
	bool base_holds; /* steps 2 to 6 alone say hold */
	bool expires;    /* this decision is the end of the hold's time: ticket.expired */
	bool mid_job;    /* made inside a running job */
	char hold_rule[RULE_NAME_MAX]; /* the holding rule, where base_holds */
	int hold_step;
};

/* What each step saw, for `explain` and `policy try`. */
#define TRACE_MAX 96
struct trace_line {
	int step;
	bool settled; /* the decision was made here */
	char text[280];
};
struct trace {
	size_t n;
	struct trace_line lines[TRACE_MAX];
};

/* Decides. `trace` may be NULL. Never fails: a state that cannot be decided is treated as unknown
 * (step 4). */
void decide(const struct policy *policy, const struct inputs *in, struct decision *ret,
	struct trace *trace);

/* Whether the decision must be recorded anew: verdict, act, step, rule or first reason's code
 * changed. */
bool decision_differs(const struct decision *a, const struct decision *b);

/* True where `storage` maps to `array` of the facts (see struct mapping). */
bool mapping_covers(const struct mapping *mapping, const struct array_facts *array);

const char *reason_word(enum reason_code code); /* "rule", "settle", ... for JSON and filters */
enum reason_code reason_parse(const char *word);

#endif
