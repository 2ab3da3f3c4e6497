// SPDX-License-Identifier: MIT
/*
 * The real vzdump hook: what its parts share.
 *
 * It runs as root inside a backup job, once for each phase (PVE/VZDump.pm run_hook_script), with an
 * empty environment and nobody who would time it out. What always holds: only job-init, job-start
 * and backup-start can fail by our own verdict; every wait ends by itself, at a signal, and when
 * the outer hook or vzdump's end of stdout goes away; lines are few.
 */
#ifndef RG_HOOKS_INNER_H
#define RG_HOOKS_INNER_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/client.h"
#include "conf/hook_conf.h"
#include "proxmox/upid.h"

enum { WAKE_SIGNAL = 0, WAKE_STDOUT, WAKE_OUTER, WAKE_N };

/* What is remembered of a running job between its phases. */
struct job_note {
	int64_t ticket;
	int64_t outage_ms; /* already waited for a gate inside the job */
	uint32_t said;     /* words_kind() of what was last told */
};

struct hook {
	char **argv, **envp; /* as vzdump gave them: the scripts' too */
	const char *phase;
	const char *mode;                                 /* NULL in job phases */
	uint32_t vmid;                                    /* 0 in job phases */
	const char *storage, *vmtype, *hostname, *target; /* NULL where not set */
	struct hook_conf conf;
	struct worker worker; /* vzdump's: the outer hook's parent; start_ticks 0 if not known */
	char upid[UPID_MAX];  /* "" if not known */
	struct upid task;
	char node[NODE_NAME_MAX];
	struct pollfd wake[WAKE_N];
	const char *root; /* "" or, in tests, the folder that stands for / */
	struct job_note note;
	bool hurry; /* the job was aborted: SIGKILL comes 5 s after SIGTERM */
};

/* What became of a part of a phase. */
enum part {
	PART_NONE = 0,
	PART_GOES_ON,
	PART_FAILS,   /* with *ret_status */
	PART_ABORTED, /* a signal, or vzdump is gone */
};

/* One line of the task log. */
void hook_say(const struct hook *hook, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* As asking.say. */
void hook_say_line(void *hook, const char *line);
bool hook_woken(const struct hook *hook);
/* Whether our own verdict may fail this phase. */
bool hook_phase_gates(const struct hook *hook);

/* worker.c: fills worker, upid, task, node. */
void worker_find(struct hook *hook);

/* memory.c: under /run, by worker. All of it is best effort: false means nothing is remembered. */
bool memory_abort(const struct hook *hook); /* this worker's job was aborted */
bool memory_was_aborted(const struct hook *hook);
bool memory_note_save(const struct hook *hook);
bool memory_note_load(struct hook *hook);
void memory_note_drop(const struct hook *hook);
void memory_clean(const struct hook *hook); /* of workers that are gone */

/* scripts.c: runs the scripts of a folder in the order of their names. `tell`: says which are not
 * run, and why. */
enum part scripts_run(const struct hook *hook, const char *dir, bool tell, int *ret_status);

/* gate.c */
enum part gate_job_init(struct hook *hook);
enum part gate_recheck(struct hook *hook); /* job-start, backup-start */
void gate_report(struct hook *hook, const char *phase);
void gate_withdraw(struct hook *hook);

#endif
