// SPDX-License-Identifier: MIT
/*
 * The simulation: a virtual clock, NAS and vzdump jobs that do not exist, and between them the real
 * trackers, tickets, decisions and policies (src/md, src/core, src/conf), the real hook's loop
 * (src/client/session) and the real record's form of tickets (src/wire).
 *
 * gate.c stands for the daemon: it mirrors src/gate step by step, without its event loop, its
 * sockets and its database. Nothing here sleeps or reads a clock. Points in time are boot ms; UTC
 * and the local offset are what the scenario makes of them.
 */
#ifndef RG_SIM_SIM_H
#define RG_SIM_SIM_H

#include "base/buf.h"
#include "client/session.h"
#include "conf/conf.h"
#include "core/sight.h"
#include "core/ticket.h"
#include "disks.h"
#include "gate/reading.h"

#define SIM_MAX_NAS 4
#define SIM_MAX_JOBS 64
#define SIM_MAX_NODES 8
#define SIM_MAX_STORAGES 16
#define SIM_MAX_OVERRIDES 32
#define SIM_MAX_POLICIES 16
#define SIM_TRACE 25 /* last lines that a failure shows */
#define SIM_START_MS (10 * MS_HOUR)
#define SIM_NEVER INT64_MAX
#define SIM_CHORES_MS (5 * MS_SECOND)
#define SIM_BOOT_ID "6d1a3c50-0000-4000-8000-000000000001"

/* What must always hold; one line of TAP each over the random runs. */
enum invariant {
	INV_BOUND, /* no hold is longer than its policy says */
	INV_BLIND, /* unknown is never idle */
	INV_STARVE,
	INV_SLOTS,
	INV_SETTLE,
	INV_LEAK,
	INV_SAME,
	INV_ORDER,
	INV_RECHECK,
	INV_OBSERVE,
	INV_RESTORE,
	INV_COUNT
};
extern const char *const invariant_names[INV_COUNT];

/* A policy of the scenario, by its text or file. */
struct sim_policy {
	char name[128];
	char *text;       /* NULL: `name` is a file */
	unsigned holds;   /* bits of enum md_operation that its rules hold for certain; checked */
	unsigned catches; /* that some rule matches for certain */
};

/* What the looks have shown, kept by the checks for themselves. */
struct ledger {
	bool any, last_ok;
	int64_t outage_since, ok_since; /* -1: none */
	struct {
		enum md_operation shown;
		int same;        /* looks in a row that showed it */
		int64_t held_ms; /* the last look at which it was one that the policy holds */
	} arrays[DISKS_MAX_ARRAYS];
	int64_t released_ms; /* the last held job went */
	int64_t calm_since;  /* nothing but idle has been shown since; -1 */
};

struct sim_watch {
	struct reading reading;
	struct sight sight;
	bool looking, patient;
	unsigned failures, unsure;
	int64_t asked_ms, next_ms, ends_ms, looks;
	char *memory; /* as the record keeps it */
	struct ledger ledger;
};

/* A ticket as it was put into the record last. */
struct saved {
	struct ticket ticket;
	struct moment at;
};

struct sim_gate {
	bool up;
	struct policy *policy;
	const struct sim_policy *source;
	struct tickets tickets;
	struct world world;
	struct inputs scratch;
	struct moment now;
	int64_t started_ms, tick_ms, chores_ms;
	size_t n_effects;
	int64_t next_decision, next_override;
	size_t n_overrides;
	struct override overrides[SIM_MAX_OVERRIDES];
	size_t n_saved;
	struct saved saved[SIM_MAX_JOBS * 2];
	struct sim_watch watches[SIM_MAX_NAS];
	int64_t n_decisions;
};

enum job_state {
	JOB_IDLE = 0,
	JOB_INIT,   /* asks in job-init */
	JOB_LOCK,   /* waits for the node's lock */
	JOB_START,  /* asks in job-start */
	JOB_GUEST,  /* asks in backup-start */
	JOB_COPY,   /* writes to the array */
	JOB_HUNG,   /* its hook says nothing any more */
	JOB_DONE,   /* states from here on: over */
	JOB_DENIED, /* in job-init */
	JOB_FAILED, /* denied in job-start, or no lock in 3 h */
	JOB_ABORTED,
	JOB_KILLED,
};

enum call_state { CALL_NONE = 0, CALL_PAUSE, CALL_LOOK, CALL_WAITS, CALL_ANSWERED, CALL_FAILED };

struct job {
	char name[64], node[NODE_NAME_MAX], storage[STORAGE_NAME_MAX];
	enum client client;
	int n_guests;
	uint32_t first_guest;
	int64_t size, pace; /* bytes of a guest; bytes/s */
	int64_t period_ms;  /* 0: its next start is not known */
	/* What the gate knows of it where it could be identified; unknown otherwise. */
	struct opt predicted_ms; /* how long it would take throttled */
	struct opt backed_up_ms; /* when the oldest of its guests' last good backups was made */

	enum job_state state;
	int runs, skipped;
	int64_t started_ms, go_ms, begun_ms, ended_ms; /* -1: not yet */
	struct worker worker;
	struct opt next_start_utc_ms;
	int64_t ticket;
	struct session session;
	struct session_step step;
	enum call_state call;
	int64_t wake_ms;
	struct answer answer;                  /* of the call that is CALL_ANSWERED */
	int guest, guests_done, guests_failed; /* guest: 1 .. n_guests */
	int64_t outage_ms;
	bool writes;

	/* The gate's side of the call. */
	unsigned decisions, told;
	bool effect_decided, effect_state;
	struct decision effect;
	int64_t effect_held_ms;

	/* For the checks and expectations. */
	struct decision last;
	int n_decisions;
	int64_t held_since; /* -1: never in this run */
	int64_t held_ms;
	int64_t may_ms;                  /* be held */
	int64_t inside_since, inside_ms; /* waits inside the job */
	char rule_held[RULE_NAME_MAX];   /* the rule of an array that held it last */
	int64_t rule_held_ms;            /* when; -1: none did */
	char limit_rule[RULE_NAME_MAX];  /* whose max_running counts */
	bool was_released, operator_hold;
	bool held_otherwise; /* by more than restores: it takes its turn */
	int64_t free_since;
	enum ticket_state ticket_state;
};

struct node {
	char name[NODE_NAME_MAX];
	int holder; /* job that has vzdump's lock; -1 */
};

struct storage {
	char name[STORAGE_NAME_MAX];
	struct mapping mapping;
};

struct script;

struct sim {
	int64_t t;
	int64_t utc_base;
	int32_t offset_s;
	int64_t stepped_ms; /* when the UTC clock was set last */
	bool gated, trace, quiet_checks;
	bool lever;   /* something could slow jobs */
	bool lenient; /* what makes no sense now is nothing, not a mistake */
	/* As in the daemon's and the hook's configuration. */
	char own_node[NODE_NAME_MAX];
	int64_t poll_ms, idle_poll_ms, fresh_ms, look_deadline_ms, stale_ms, silence_ms;
	int64_t wait_for_gate_ms;
	enum verdict if_gate_down;
	int replay_every; /* each n-th decision is decided again from its JSON */

	size_t n_nas, n_jobs, n_nodes, n_storages, n_policies;
	struct disks nas[SIM_MAX_NAS];
	struct opt readers[SIM_MAX_NAS]; /* restores that read there, as the gate knows */
	struct job jobs[SIM_MAX_JOBS];
	struct node nodes[SIM_MAX_NODES];
	struct storage storages[SIM_MAX_STORAGES];
	struct sim_policy policies[SIM_MAX_POLICIES];
	struct sim_gate gate;
	struct script *script;

	int64_t max_recheck_ms; /* of all policies that were in force */
	int broken[INV_COUNT];
	int64_t checked[INV_COUNT];
	int failed, expected; /* expectations */
	struct buf report;
	char lines[SIM_TRACE][400];
	int64_t n_lines;
	int after_failure; /* lines since */
};

/* sim.c */
struct sim *sim_new(void);
void sim_free(struct sim *sim);
struct moment sim_moment(const struct sim *sim);
/* Lets everything happen up to and at `t`. False where time does not go on. */
bool sim_run(struct sim *sim, int64_t t);
bool sim_quiet(const struct sim *sim);                                /* every job is over */
const char *sim_time(const struct sim *sim, int64_t t, char ret[32]); /* "26:04:10.250" */
void sim_line(struct sim *sim, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sim_complain(struct sim *sim, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct disks *sim_nas(struct sim *sim, const char *name);
struct job *sim_job(struct sim *sim, const char *name);
struct node *sim_node(struct sim *sim, const char *name);
const struct mapping *sim_mapping(struct sim *sim, const char *storage);
/* How old the oldest of the job's guests' last good backups is. */
struct opt sim_age(const struct sim *sim, const struct job *job);
struct job *sim_job_of(struct sim *sim, int64_t ticket);

/* gate.c, gate_life.c: what src/gate/desk.c, step.c and told.c do */
bool gate_policy(struct sim *sim, const char *name);
void gate_start(struct sim *sim);
void gate_stop(struct sim *sim, bool killed);
void gate_ask(struct sim *sim, struct job *job);
void gate_report(struct sim *sim, struct job *job, const char *phase);
void gate_withdraw(struct sim *sim, struct job *job);
void gate_ticket_gone(struct sim *sim, int64_t ticket);
void gate_worker_gone(struct sim *sim, struct job *job);
bool gate_release(struct sim *sim, struct job *job, const char *reason);
bool gate_override(struct sim *sim, struct override *override);
bool gate_override_cancel(struct sim *sim, int64_t id);
void gate_changed(struct sim *sim);
void gate_looked(struct sim *sim, size_t at); /* a look has ended */
int64_t gate_next(const struct sim *sim);
bool gate_due(struct sim *sim); /* does one thing that is due; false if nothing is */
bool gate_waits(const struct sim *sim, const char *nas);
void gate_answer_waiting(struct sim *sim, struct job *job);
void gate_ask_now(struct sim *sim, struct job *job);

/* watch.c: what src/gate/watch.c and pending.c do */
void watch_open(struct sim *sim, size_t at);
void watch_save(struct sim *sim, size_t at);
void watch_replan(struct sim *sim, size_t at);
bool watch_freshen(struct sim *sim, size_t at);
void watch_begin(struct sim *sim, size_t at);
void watch_end(struct sim *sim, size_t at);
const struct nas_facts *watch_facts(struct sim *sim, size_t at);

/* job.c */
bool job_start(struct sim *sim, struct job *job);
void job_due(struct sim *sim, struct job *job);
void job_kill(struct sim *sim, struct job *job);
void job_abort(struct sim *sim, struct job *job);
void job_hang(struct sim *sim, struct job *job);
bool job_over(const struct job *job);
void job_answered(struct sim *sim, struct job *job, bool failed);
const char *job_state_word(const struct sim *sim, const struct job *job);

/* check.c */
void check_decided(struct sim *sim, struct job *job, const struct outcome *outcome);
void check_state(struct sim *sim, struct job *job, const struct outcome *outcome);
void check_look(struct sim *sim, size_t at, bool ok);
void check_policy(struct sim *sim);
void check_opened(struct sim *sim, size_t at);
void check_now(struct sim *sim);
void check_end(struct sim *sim);
void check_broken(struct sim *sim, enum invariant which, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* script.c, act.c, expect.c */
bool script_load(struct sim *sim, const char *name, const char *text);
bool script_run(struct sim *sim);
void script_free(struct script *script);

/* random.c: the scenario of a seed, as text */
void random_scenario(uint64_t seed, struct buf *ret);

#endif
