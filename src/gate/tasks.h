// SPDX-License-Identifier: MIT
/*
 * What else runs against the NAS: from the task lists of the configured servers, looked at every
 * `task_poll` while anything holds, throttles or runs, else once a minute.
 *
 * Jobs that never asked (a node without the hook) are seen and told; restores free the levers and
 * make jobs wait; garbage collection and verification on a datastore whose array has lost its
 * redundancy may be stopped and run again later; sync out and tape are never touched.
 */
#ifndef RG_GATE_TASKS_H
#define RG_GATE_TASKS_H

#include "base/err.h"
#include "base/json.h"
#include "base/moment.h"
#include "core/policy.h"
#include "md/facts.h"

struct gate;
struct tasks;

bool tasks_open(struct gate *gate, struct tasks **ret, struct err *err);
void tasks_settings(struct tasks *tasks);
void tasks_close(struct tasks *tasks);

/* Restores that read from a storage of this NAS now; unknown where no server tells. */
struct opt tasks_readers(const struct tasks *tasks, const char *nas);

/* A backup that writes and has no ticket. */
struct task_writer {
	char upid[256];
	char node[NODE_NAME_MAX]; /* or the backup server's name */
	char storage[STORAGE_NAME_MAX];
	char nas[NAS_NAME_MAX];
	char pbs[NAS_NAME_MAX]; /* the server that it goes through, or "" */
	int64_t since_utc_ms;
};
#define TASK_WRITERS_MAX 64
size_t tasks_writers(const struct tasks *tasks, struct task_writer *ret, size_t max);

/* A restore through a backup server from a datastore of it that is no mapped storage. It makes no
 * lever free and no job wait, but a rule of ours there has one rate for all that goes through the
 * server: what such a restore asks for shares it. */
struct task_reader {
	char upid[256];
	char pbs[NAS_NAME_MAX]; /* the server */
	char store[128];        /* the datastore, as the server calls it */
	int64_t since_utc_ms;
};
/* Those of one server (NULL: of all); at most `max`, returns how many. */
size_t tasks_readers_elsewhere(
	const struct tasks *tasks, const char *pbs, struct task_reader *ret, size_t max);

/* Whether all that may read or write on this NAS by way of a configured server is known. It is not
 * while a restore runs on a cluster of its storages of which nobody knows what it reads. */
bool tasks_sees(const struct tasks *tasks, const char *nas);

/* Stops a job (ticket or not) that a rule with running = "stop" is for; recorded and told. */
void tasks_stop(struct tasks *tasks, const char *node, const char *upid, const char *why);

/* [{"server","node","kind","upid","storage","store","nas","since_utc_ms","ticket","stopped",
 * "text"}] for status: API.md. */
json_t *tasks_show(const struct tasks *tasks);

#endif
