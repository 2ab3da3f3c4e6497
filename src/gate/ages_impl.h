// SPDX-License-Identifier: MIT
/* What ages.c (what is known), ages_size.c (what backups move), ages_poll.c (what servers are
 * asked) and ages_tasks.c (a backup server's tasks) share. */
#ifndef RG_GATE_AGES_IMPL_H
#define RG_GATE_AGES_IMPL_H

#include "gate/ages.h"
#include "gate/gate.h"
#include "gate/remote.h"
#include "gate/timer.h"
#include "proxmox/pbs.h"
#include "proxmox/pve.h"

#define AGES_GUESTS_MAX 16384 /* on one storage */
#define AGES_SHELVES_MAX SETTINGS_MAX_STORAGES
#define AGES_JOBS_MAX 64
#define AGES_NAMESPACES_MAX 64
#define AGES_TASKS_MAX 512 /* guests: a server lists the newest 500 tasks */

/* What the last backup that told moved. */
struct sized {
	struct opt bytes;
	int64_t utc_ms; /* of that backup */
};

/* One guest on one storage. */
struct age {
	uint32_t guest;
	int64_t own_utc_ms;    /* by our own record; 0 unknown */
	int64_t server_utc_ms; /* by a server; 0 unknown */
	struct sized moved[MOVED_COUNT];
	bool lxc;       /* a container, as far as anybody told */
	int64_t ticket; /* of the backup under way whose keeper tells `reads`; 0 none */
	int64_t reads;  /* bytes that it will have read */
};

struct shelf {
	char storage[STORAGE_NAME_MAX];
	int64_t next_ms; /* boot time; no server is asked about it before */
	bool files;      /* its content was read: each backup there is a file of its own */
	char missing[SETTINGS_WORD_MAX]; /* the datastore that its server does not have; "" : none
					  */
	size_t n, cap;
	struct age *list; /* owned; by guest, ascending */
};

/* A job of jobs.cfg, as its cluster tells it. */
struct ages_job {
	char pve[NAS_NAME_MAX];
	char id[64];
	int64_t next_ms; /* boot time */
	bool known;      /* and where its guests are */
	bool too_many;   /* more than a request can name */
	size_t n;
	struct {
		struct pve_job_guest guest;
		char node[NODE_NAME_MAX]; /* "" : not told */
	} guests[REQUEST_MAX_GUESTS];
};

enum ages_op {
	AGES_OP_NONE = 0,
	AGES_OP_NAMESPACES,
	AGES_OP_GROUPS,
	AGES_OP_TASKS, /* backups that have ended there */
	AGES_OP_LOG,   /* of one of them */
	AGES_OP_NODES,
	AGES_OP_CONTENT,
	AGES_OP_JOB,   /* what a job of the cluster backs up */
	AGES_OP_HOMES, /* and on which nodes that is: each node runs its own part */
};

/* The last good backup of a guest on a backup server. */
struct ages_task {
	uint32_t guest;
	int64_t end_s; /* UTC */
	char upid[256];
};

struct ages {
	struct gate *gate;
	struct timer timer;
	size_t n_shelves;
	struct shelf shelves[AGES_SHELVES_MAX];
	size_t n_jobs;
	struct ages_job jobs[AGES_JOBS_MAX];

	enum ages_op op; /* in flight */
	enum api_kind kind;
	char server[NAS_NAME_MAX];      /* it is asked of */
	char storage[STORAGE_NAME_MAX]; /* it is about */
	char store[SETTINGS_WORD_MAX];  /* the datastore that is */
	char node[NODE_NAME_MAX];       /* a cluster's that has guests */
	char job[64];
	size_t n_namespaces, at_namespace;
	char namespaces[AGES_NAMESPACES_MAX][256];
	size_t n_tasks, at_task;
	struct ages_task tasks[AGES_TASKS_MAX];

	bool sizes_new; /* other than what the record has */
	int64_t sizes_saved_ms;
};

/* The storage's shelf, made where there is none; NULL without room. */
struct shelf *ages_shelf(struct ages *ages, const char *storage);
/* The guest's place there, made where there is none; NULL without room, or for guest 0. */
struct age *ages_place(struct ages *ages, const char *storage, uint32_t guest);
/* The same, NULL where there is none. */
struct shelf *ages_find(struct ages *ages, const char *storage);
const struct age *shelf_find(const struct shelf *shelf, uint32_t guest);

/* ages_size.c */
/* What the last backup moved; unknown also where it told too long ago. */
struct opt age_moved(const struct age *age, enum moved as, int64_t now_utc_ms);
void sizes_load(struct ages *ages);
/* Into the record, if there is news; `now`: however short it is since the last time. */
void sizes_save(struct ages *ages, bool now);

/* NULL without room. */
struct ages_job *ages_job_of(struct ages *ages, const char *pve, const char *id);

/* ages_tasks.c: the list of tasks has come, with those whose logs are to be read; a log has. */
bool ages_take_tasks(struct ages *ages, const char *body, size_t len, struct err *err);
bool ages_take_log(struct ages *ages, const char *body, size_t len, struct err *err);

/* Asks the next thing that is due, if nothing is being asked. */
void ages_work(struct ages *ages);

#endif
