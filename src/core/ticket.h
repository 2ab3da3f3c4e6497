// SPDX-License-Identifier: MIT
/*
 * Tickets: the life of each job that asked, as a pure machine that the daemon and the simulation
 * both drive.
 *
 * The caller gives events with their moment and what the world looks like; the machine changes
 * tickets and hands out what must be recorded and answered as a list of `struct outcome`. It
 * decides in the order in which jobs asked. No I/O, no clock, no allocation: `struct tickets` is
 * owned by the caller. Nothing becomes true for a job before the caller has recorded the outcome.
 */
#ifndef RG_CORE_TICKET_H
#define RG_CORE_TICKET_H

#include "core/decide.h"

#define TICKETS_MAX 512
#define TICKETS_PAST 16

enum ticket_state {
	TICKET_NONE = 0,
	TICKET_HELD,
	TICKET_RELEASED, /* may go; keeps its slot for start_grace until it starts */
	TICKET_RUNNING,
	TICKET_ENDED, /* job-end, job-abort, or the gated command ended */
	TICKET_DENIED,
	TICKET_WITHDRAWN, /* it gave up while held */
	TICKET_LOST,      /* vanished without a word */
};

/* Who is behind it: enough to know the same process again and never another. */
struct worker {
	int64_t pid;         /* 0 = not known */
	int64_t start_ticks; /* field 22 of /proc/PID/stat */
	char boot_id[40];    /* /proc/sys/kernel/random/boot_id */
};

struct ticket {
	int64_t id; /* > 0; shown as T17 */
	enum ticket_state state;
	struct request request; /* as first asked */
	struct worker worker;
	char upid[160];    /* of the vzdump task, "" if not known */
	char job_id[64];   /* of jobs.cfg, "" if not known */
	char command[128]; /* for client run: the command's name only */
	int64_t asked_boot_ms, asked_utc_ms;
	int64_t seen_boot_ms;    /* last time that its hook or command asked */
	struct opt held_boot_ms; /* since when held in job-init */
	int64_t held_before_ms;  /* held elsewhere or before a restart, as its hook told */
	struct opt released_boot_ms;
	struct opt running_boot_ms;
	struct opt ended_boot_ms;
	struct opt clear_boot_ms;   /* since when nothing would have held it */
	struct opt recheck_boot_ms; /* the wait inside the job that runs now began */
	int64_t recheck_used_ms;    /* of earlier such waits */
	bool release_asked;
	char release_by[64], release_reason[256];
	bool expired;
	enum verdict expired_to;
	char hold_rule[RULE_NAME_MAX];
	int hold_step;
	struct opt hold_blind_ms;
	bool only_restore;       /* nothing but restores has held it so far */
	struct opt too_slow_ppm; /* see decide.h */
	bool slot;               /* counts against max_running of its NAS */
	bool took_queue; /* it was held and then released: counts as a release of the backlog */
	char nas[NAS_NAME_MAX];
	struct decision last;     /* last one made for it */
	int64_t last_decision_id; /* given by the record; 0 = none yet */
	uint32_t guest;           /* being backed up now */
	/* Of this process only, not for the record: when `last` was made, and what was asked last
	 * from inside the job (phase NONE: nothing yet). */
	int64_t decided_boot_ms;
	enum phase inside_phase;
	enum guest_type inside_type;
	enum backup_mode inside_mode;
};

struct tickets {
	int64_t next_id; /* of the next new ticket */
	size_t n;
	struct ticket list[TICKETS_MAX]; /* in the order in which they asked; live ones only (ended
					    ones are taken out after their outcome) */
	struct ticket gone; /* the one taken out last, as it ended: what ticket_ask() returns for a
			       job that is denied or a wait that is over */
	struct ticket past[TICKETS_PAST]; /* denied or ended last: a question that was on its way
					     meanwhile gets that answer */
	size_t n_past;
	size_t n_nas;
	struct {
		char nas[NAS_NAME_MAX];
		int64_t last_release_boot_ms;
	} releases[64];
};

/* What the world looks like to one ticket: filled by the caller for each evaluation. */
struct world {
	void *data;
	const struct policy *policy;
	/* Fills what the world is like for this request as of `now`: mapping, lever, readers,
	 * predicted_ms and facts of `ret`; may fill the request's backup_age_ms, n_guests, guests,
	 * n_qemu where they are not known. Nothing else of `ret` is touched. */
	void (*look)(void *data, struct inputs *ret);
	/* Overrides in force at `now`; returns how many were written, at most OVERRIDE_MAX. */
	size_t (*overrides)(void *data, const struct moment *now, struct override *ret);
};

enum outcome_kind {
	OUTCOME_NONE = 0,
	OUTCOME_DECIDED, /* a decision to record (first, or it differs); answer after the record */
	OUTCOME_UNCHANGED, /* evaluated, nothing to record */
	OUTCOME_STATE,     /* a state change without a decision: running, ended, withdrawn, lost */
};

struct outcome {
	enum outcome_kind kind;
	int64_t ticket;
	const struct ticket *subject; /* the ticket as it is now; valid during the call only */
	enum ticket_state before, after;
	char why[160];               /* for OUTCOME_STATE: one sentence */
	const struct inputs *inputs; /* for OUTCOME_DECIDED: valid during the call of `emit` only */
	const struct decision *decision;
};

/* Called for each outcome, in order. For OUTCOME_DECIDED it returns the decision's id (> 0). It
 * must not call back into the machine. */
typedef int64_t (*outcome_emit)(void *data, const struct outcome *outcome);

struct ticket_run {
	struct tickets *tickets;
	const struct world *world;
	struct moment now;
	struct inputs *scratch; /* caller's memory; large */
	outcome_emit emit;
	void *emit_data;
};

/* A job asks. `ask` carries request, worker, upid, job_id, command, held_before_ms, and the id that
 * the client believes to have (0 = none). A known ticket (same id and same worker, or same worker
 * alone) is asked about again: seen_boot_ms moves, nothing else. An unknown id is taken up with
 * what it says; it keeps that id where this gate never gave it to another (not below next_id). One
 * that asks from inside its job for the first time is taken up as running. `wait` ends when it is
 * let go, `run` is running then. Returns the ticket, valid until the next call (&tickets->gone
 * where it is over already: denied, or a wait that may go; one of tickets->past where that was so
 * before it asked again); NULL when TICKETS_MAX are live (the caller answers as the policy's
 * failure says).
 */
struct ticket *ticket_ask(struct ticket_run *run, const struct ticket *ask);

/* Decides as for a newcomer that would ask now; no ticket, no outcome. `trace` may be NULL. */
void ticket_check(struct ticket_run *run, const struct request *request, struct decision *ret,
	struct trace *trace);

/* Asks again inside the job: phase job-start or backup-start of a released or running ticket (a
 * held one that went on without us is running then). NULL when there is no such live ticket. */
struct ticket *ticket_recheck(struct ticket_run *run, int64_t id, const struct request *request);

/* Evaluates all held tickets (of `nas`, or all for NULL) in order, and those that wait inside their
 * job. Call after each reading, override, release, end, policy change, and when ticket_next_ms()
 * says. */
void ticket_tick(struct ticket_run *run, const char *nas);

/* Events. False when there is no such live ticket, or a withdrawn one runs already. A release
 * decides at once where the job waits; for one that does not wait it means that it is not held
 * again. */
bool ticket_started(struct ticket_run *run, int64_t id); /* job-start passed */
bool ticket_ended(struct ticket_run *run, int64_t id,
	const char *why); /* job-end, job-abort, command ended */
bool ticket_withdraw(struct ticket_run *run, int64_t id, const char *why); /* its hook gave up */
bool ticket_lost(struct ticket_run *run, int64_t id, const char *why);     /* its worker is gone */
bool ticket_release(struct ticket_run *run, int64_t id, const char *by, const char *reason);

/* Withdraws held tickets nobody asked for in `silence_ms` (90 s, counted from `since_boot_ms` at
 * least: the daemon's start), takes the slot of released ones that did not start within
 * start_grace, and loses running ones past running_ttl whose worker is not watched (worker.pid == 0
 * or its node is not own_node; the caller loses those of another boot when it puts them
 * back). Tick afterwards: slots may be free. */
void ticket_sweep(
	struct ticket_run *run, int64_t silence_ms, int64_t since_boot_ms, const char *own_node);

/* Puts back a ticket from the record after a restart (its spans already turned into this boot's
 * time). */
bool ticket_restore(struct tickets *tickets, const struct ticket *ticket);

struct ticket *ticket_find(struct tickets *tickets, int64_t id);
struct ticket *ticket_find_worker(struct tickets *tickets, const struct worker *worker);

/* Boot time at which a tick is due even if nothing happens (a hold's end, settle, interval,
 * window), or unknown. */
struct opt ticket_next_ms(const struct ticket_run *run);

const char *ticket_state_word(enum ticket_state state);
enum ticket_state ticket_state_parse(const char *word);

#endif
