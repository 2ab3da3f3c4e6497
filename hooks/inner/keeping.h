// SPDX-License-Identifier: MIT
/*
 * What a keeper does when, as a pure machine: it is told what was seen and answered and when (boot
 * time), and says what each block job shall be, when to look and when it is over. No I/O, no clock.
 *
 * What always holds: a job that was never touched is left alone; a limit is never above the speed
 * that the job had before us, and that speed is what it gets back; only a pause of ours is resumed;
 * a pause in one piece ends by itself, whatever the gate says or does not say, and the job then
 * runs for as long again; without a gate for KEEPING_LOST_MS it is over, and when it is over
 * everything is put back.
 */
#ifndef RG_HOOKS_KEEPING_H
#define RG_HOOKS_KEEPING_H

#include "proxmox/qmp.h"
#include "wire/keep.h"

/* Since the gate answered last. */
#define KEEPING_LOST_MS (60 * MS_SECOND)
/* Until the backup's jobs appear: in stop mode vzdump first waits for the guest's shutdown
 * (stopwait, shipped 10 min). */
#define KEEPING_WAIT_MS (20 * MS_MINUTE)
/* Of a rest where a pause is not possible. */
#define KEEPING_LEAST_RATE INT64_C(65536)
/* Between two looks: before the jobs are there, and at their end; while something is set; else. */
#define KEEPING_SOON_MS MS_SECOND
#define KEEPING_LOOK_MS (2 * MS_SECOND)
#define KEEPING_IDLE_MS (10 * MS_SECOND)

struct keeping_job {
	char device[sizeof(((struct qmp_job *)0)->device)];
	int64_t own_speed; /* before us */
	int64_t offset;
	bool touched; /* it is, or may be, not as it was before us */
	bool paused;  /* by us */
};

enum keeping_end {
	KEEPING_GOES_ON = 0,
	KEEPING_DONE,  /* the jobs are gone */
	KEEPING_NEVER, /* none came */
	KEEPING_LOST,  /* no gate */
};

struct keeping {
	int64_t started_ms, answered_ms, looked_ms;
	bool fleecing;             /* the caller's to set */
	struct keep_answer answer; /* path 0: none yet */
	bool seen;                 /* backup jobs were there */
	int gone;                  /* looks since then that saw none, one after another */
	size_t n;
	struct keeping_job jobs[QMP_MAX_JOBS];
	struct qmp_state last; /* as read last */
	struct opt piece_ms;   /* since when they are paused, in one piece */
	struct opt breath_ms;  /* until when they run after a piece that was too long */
	bool cannot_pause;     /* QEMU refused it */
	bool ending;           /* everything is put back */
	int64_t moved;         /* bytes since the mark */
	struct opt mark_ms;    /* the look up to which the gate was told */
	struct opt pace;       /* bytes/s, as told last */
	size_t n_most;         /* jobs that were listed at once */
	struct opt total;      /* bytes that they will have read, all together */
	char look_error[200], set_error[200];
};

void keeping_start(struct keeping *keeping, int64_t now_ms);

/* A look: the jobs as they are. */
void keeping_looked(struct keeping *keeping, const struct qmp_state *state, int64_t now_ms);
/* It failed. ERR_GONE is a QEMU without jobs; anything else tells nothing. */
void keeping_not_looked(struct keeping *keeping, const struct err *why, int64_t now_ms);

void keeping_answered(struct keeping *keeping, const struct keep_answer *answer, int64_t now_ms);

/* To be called before keeping_differs(): pieces and breaths begin and end. */
void keeping_tick(struct keeping *keeping, int64_t now_ms);

/* Whether anything differs from what is wanted, by the last reading. The jobs that are to be
 * changed count as touched from here on: to be written down before they are. */
bool keeping_differs(struct keeping *keeping);
/* What a job shall be; as qmp_wants.want, `data` is the struct keeping. */
bool keeping_want(void *data, const struct qmp_job *job, struct qmp_order *ret);
/* What was read back, after it was sent. `why`: a refusal (ERR_DENIED), or NULL. */
void keeping_set(struct keeping *keeping, const struct qmp_state *state, const struct err *why);
void keeping_not_set(struct keeping *keeping, const struct err *why);

/* Whether a job that is still there is not as it was before us. */
bool keeping_touches(const struct keeping *keeping);
/* Until when a job may stay paused by us, not before `now_ms`; unknown where none is, or may be. */
struct opt keeping_paused_until(const struct keeping *keeping, int64_t now_ms);
/* From now on everything is put back. */
void keeping_put_back(struct keeping *keeping);

/* Fills what a question says of the jobs: fleecing, path, rate, n_jobs, moved, total, trouble. */
void keeping_tell(const struct keeping *keeping, struct keep_ask *ret);

enum keeping_end keeping_over(const struct keeping *keeping, int64_t now_ms);
/* Boot time of the next look, and of what else changes by itself. */
int64_t keeping_look_ms(const struct keeping *keeping);
int64_t keeping_wake_ms(const struct keeping *keeping);

#endif
