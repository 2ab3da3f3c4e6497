// SPDX-License-Identifier: MIT
/* What the files of the tasks share: tasks.c (servers and their times), tasks_call.c (calls),
 * tasks_list.c (what a list says), tasks_source.c (what a restore reads), tasks_past.c (backups
 * that have ended), tasks_match.c (whose a task is), tasks_rerun.c (a backup server's own jobs),
 * tasks_show.c (what others ask). */
#ifndef RG_GATE_TASKS_IMPL_H
#define RG_GATE_TASKS_IMPL_H

#include "gate/gate.h"
#include "gate/remote.h"
#include "gate/tasks.h"
#include "gate/timer.h"
#include "proxmox/pbs.h"
#include "proxmox/pve.h"

#define TASKS_PER_SERVER 256
#define TASKS_FOREIGN_MAX 64 /* readers of what is not mapped: they leave room for the others */
#define RERUNS_MAX 64
#define LOG_TRIES_MAX 12             /* 5 s apart: what says no storage in a minute says none */
#define TASK_SLOW_MS MS_MINUTE       /* between two looks while nothing goes on */
#define TASK_FAST_MS (3 * MS_SECOND) /* while a lever is set */

enum task_kind { TASK_NONE = 0, TASK_WRITER, TASK_READER, TASK_GC, TASK_VERIFY };

/* What a cluster's restore reads, as its log says it; all empty where it does not (yet). */
struct task_from {
	char storage[100]; /* of a volume; of a file, where it lies below /mnt/pve */
	char archive[256];
	char datastore[128], server[256], ns[256];
	int64_t at_ms; /* boot time at which that was read */
};

enum task_source {
	SOURCE_UNKNOWN = 0, /* it may be any storage of its cluster */
	SOURCE_MAPPED,      /* `storage` of the task */
	SOURCE_ELSEWHERE,   /* a storage that is not mapped */
};

/* A running task that touches, or may touch, a mapped storage; or a restore that shares a backup
 * server with one. */
struct task {
	enum task_kind kind; /* NONE: free */
	bool listed;         /* in the list that is read now, or was last */
	unsigned looks;      /* lists that had it */
	char upid[256];
	char node[NODE_NAME_MAX]; /* "" for a backup server's */
	char id[128];             /* a backup server's worker_id */
	char type[64];            /* a backup server's worker_type */
	char user[128];
	char storage[STORAGE_NAME_MAX]; /* "" : not known (yet), or not a mapped one */
	char store[128];                /* a backup server's datastore */
	uint32_t guest;                 /* 0: not known, or several */
	int64_t start_s;                /* UTC */
	bool log_known;                 /* a cluster's: `storage` is what its log says */
	unsigned log_tries;
	enum task_source source; /* of a cluster's restore, and what its log says of it */
	struct task_from from;
	int64_t log_ms;      /* boot time of the last look at its log */
	bool log_said;       /* that it cannot be read was said */
	int64_t ticket;      /* whose it is; stays once it was found; 0 none */
	bool covered;        /* seen twice: the cluster's task for the same backup stands for it */
	bool told;           /* that it never asked */
	char stop[160];      /* it is to be stopped, and why; "" no */
	int64_t stop_ms;     /* boot time at which the server took that; 0 not yet */
	char refused[240];   /* why it did not, the last time; "" it was not refused */
	bool stop_failed;    /* that it did not was said */
	int64_t try_ms;      /* boot time of the last try */
	unsigned stop_tries; /* in vain */
};

enum tasks_op {
	TASKS_OP_NONE = 0,
	TASKS_OP_MAY, /* what the token may see */
	TASKS_OP_LIST,
	TASKS_OP_LOG,  /* of a running task */
	TASKS_OP_PAST, /* of one that has ended */
	TASKS_OP_STORES,
	TASKS_OP_STOP,
	TASKS_OP_RUN,
};

/* A backup of a cluster that has ended: its log tells which guests are backed up. */
#define TASKS_PAST_MAX 64
struct past {
	char upid[UPID_MAX];
	char node[NODE_NAME_MAX];
	int64_t start_s, end_s; /* UTC */
	int64_t try_ms;         /* boot time of the last try */
	unsigned tries;
	bool read; /* or given up */
};

struct tasks_server {
	struct tasks *tasks;
	enum api_kind kind;
	char name[NAS_NAME_MAX];
	enum tasks_op op;  /* in flight */
	char op_upid[256]; /* of the task that it is about */
	size_t op_rerun;
	int64_t asked_ms; /* boot time of the last list asked for; 0 never */
	int64_t good_ms;  /* of the last one that came; 0 never */
	bool others_turn; /* a list was asked for last: something else comes first, if it is wanted
			   */
	bool stops_said;  /* that it may not stop tasks was said */
	bool list_said;   /* that the list cannot be had was said */
	struct pve_storage *stores; /* owned: a cluster's storages, those that the token sees */
	size_t n_stores;
	bool stores_known;
	bool stores_said;  /* that they cannot be had was said */
	int64_t stores_ms; /* boot time at which they were asked for last; 0 never, or in vain */
	int64_t stores_next_ms; /* not sooner, after a failure */
	bool blind;             /* the token sees its own tasks only: an empty list means nothing */
	int64_t may_ms;         /* boot time at which that was asked last; 0 never */
	size_t n_past;          /* so many ended tasks were noted, the oldest are overwritten */
	struct past past[TASKS_PAST_MAX];
	struct task list[TASKS_PER_SERVER];
};

/* A task of a backup server that was stopped and is to be run once the array is well. It is
 * remembered before the server is asked to stop it, and taken back where that refuses. */
struct rerun {
	bool used;
	char pbs[NAS_NAME_MAX], store[128], storage[STORAGE_NAME_MAX], array[MD_NAME_MAX];
	enum task_kind kind;
	char job[64]; /* of a verification; "" : of the whole store */
	int64_t utc_ms;
	bool sure;         /* the server took it; else it may have */
	int64_t next_ms;   /* boot time; not tried before */
	unsigned tries;    /* in vain */
	char trouble[240]; /* why the last one was; "" none was */
};

struct tasks {
	struct gate *gate;
	struct timer timer;
	size_t n;
	struct tasks_server *servers[SETTINGS_MAX_PVE + SETTINGS_MAX_PBS]; /* owned */
	struct rerun reruns[RERUNS_MAX];
	uint64_t signature; /* of what others were told of last */
	uint64_t readers;
};

/* The storage that a server's own name for it means: a cluster's storage, a backup server's
 * datastore. NULL where it is not mapped. */
const struct storage_settings *tasks_storage(const struct tasks_server *server, const char *name);
/* The server's last list is young enough to be believed. */
bool tasks_visible(const struct tasks_server *server, int64_t now_ms);
struct tasks_server *tasks_server(const struct tasks *tasks, enum api_kind kind, const char *name);
struct task *task_find(struct tasks_server *server, const char *upid);
struct task *task_new(struct tasks_server *server);
const char *task_kind_word(enum task_kind kind);

/* A list has come. */
bool tasks_take_list(struct tasks_server *server, const char *body, size_t len, struct err *err);
/* A task's log has come. */
bool tasks_take_log(struct tasks_server *server, struct task *task, const char *body, size_t len,
	struct err *err);

/* A restore's log has told what it reads. */
void source_take(struct tasks_server *server, struct task *task, const struct pve_log_facts *facts);
/* What all restores read, by what is known now: storages are mapped otherwise. */
void sources_judge(struct tasks_server *server);
/* The cluster's storages are to be asked for; have come, or have not (`err`). */
bool sources_due(const struct tasks_server *server, int64_t now_ms);
void sources_take(struct tasks_server *server, const char *body, size_t len, const struct err *err);
/* A restore of this cluster runs of which nobody knows what it reads. */
bool source_unknown(const struct tasks_server *server);
/* That, in words. */
void source_text(const struct task *task, char *ret, size_t size);

/* Notes a backup that has ended; the next whose log is to be read, or NULL; takes its log. */
void past_note(struct tasks_server *server, const struct pve_task *task);
struct past *past_wanted(struct tasks_server *server);
void past_take(struct tasks_server *server, const char *upid, const char *body, size_t len,
	const struct err *err);

/* Finds the tickets of all tasks; tells of those without. */
void tasks_match(struct tasks *tasks);

/* Marks what is to be stopped on a backup server by `pbs_jobs`, and what no longer is. */
void reruns_judge(struct tasks *tasks);
/* Remembers a task that is about to be stopped; false where it is not to be stopped (any more), or
 * could not be remembered. Then: the server took it, or refused. */
bool reruns_promise(struct tasks *tasks, const struct tasks_server *server, struct task *task);
void reruns_keep(struct tasks *tasks, const struct tasks_server *server, const struct task *task);
void reruns_withdraw(
	struct tasks *tasks, const struct tasks_server *server, const struct task *task);
/* The next that may run on this server now; -1 none. */
int reruns_due(struct tasks_server *server, int64_t now_ms);
bool reruns_call(const struct rerun *rerun, struct api_call *ret, struct err *err);
/* Whether a task is run again after it was stopped. */
bool task_reruns(const struct task *task);
/* It was asked to run. */
void reruns_done(struct tasks *tasks, size_t i, const struct err *err);
bool reruns_any(const struct tasks *tasks);
void reruns_load(struct tasks *tasks);

/* Between two lists, as things are now. */
int64_t tasks_interval(const struct tasks *tasks);
/* Something new is known: whose tasks they are, what is to be stopped, who must know. */
void tasks_judge(struct tasks *tasks);

/* Lets the server do what is next. */
void tasks_work(struct tasks_server *server);

#endif
