// SPDX-License-Identifier: MIT
/* Backups of a cluster that have ended, whoever ran them: which guests their logs say are backed
 * up. Logs lie on the nodes: reading them touches no NAS. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "gate/ages.h"
#include "gate/tasks_impl.h"

#define AGAIN_MS MS_MINUTE /* a log that could not be had */

void past_note(struct tasks_server *server, const struct pve_task *task)
{
	struct past *past;
	size_t i;

	if (task->endtime_s <= 0)
		return;
	for (i = 0; i < TASKS_PAST_MAX; i++)
		if (strcmp(server->past[i].upid, task->upid) == 0)
			return;
	past = &server->past[server->n_past++ % TASKS_PAST_MAX];
	*past = (struct past){.start_s = task->parts.starttime_s, .end_s = task->endtime_s};
	snprintf(past->upid, sizeof(past->upid), "%s", task->upid);
	snprintf(past->node, sizeof(past->node), "%s", task->parts.node);
}

struct past *past_wanted(struct tasks_server *server)
{
	int64_t now = clock_boot_ms();
	size_t i;

	for (i = 0; i < TASKS_PAST_MAX; i++) {
		struct past *past = &server->past[i];

		if (past->upid[0] && !past->read &&
			(!past->tries || now - past->try_ms >= AGAIN_MS))
			return past;
	}
	return NULL;
}

/* A log's times are its node's local ones, and nothing names their zone. The task's own start is
 * known, and the first guest's backup begins then or later: what lies between that line and another
 * is at most so much younger than the task's start. So an age is never too small, and too large by
 * no more than what the job waited before its first guest. Where the times do not fit between the
 * task's start and its end (a zone's clock was put on meanwhile) its start stands for all. */
struct times {
	bool begun, odd;
	int64_t first_s, last_s; /* local */
};

static void on_time(void *data, int64_t n, const char *line)
{
	struct times *times = data;
	int64_t local_s = 0;
	enum pve_log_mark mark = pve_log_time(line, &local_s);

	(void)n;
	if (mark == PVE_LOG_NONE)
		return;
	if (!times->begun) {
		times->odd = mark != PVE_LOG_STARTED;
		times->first_s = times->last_s = local_s;
	}
	times->begun = true;
	if (local_s > times->last_s)
		times->last_s = local_s;
}

struct reading_past {
	struct tasks_server *server;
	const struct past *past;
	struct times times;
	struct pve_log_facts facts;
	uint32_t done; /* a guest whose backup ended well, in the line before; 0 none */
};

static int64_t utc_s(const struct reading_past *at, int64_t local_s)
{
	const struct times *times = &at->times;
	int64_t start_s = at->past->start_s, end_s = at->past->end_s, s;

	if (!times->begun || times->odd || start_s + times->last_s - times->first_s > end_s)
		return start_s;
	s = start_s + local_s - times->first_s;
	return s > start_s ? s : start_s;
}

static void note_moved(struct ages *ages, const char *storage, uint32_t guest,
	const struct pve_log_facts *facts, int64_t utc_ms)
{
	ages_is_lxc(ages, storage, guest, facts->lxc);
	if (facts->read.known)
		ages_moved(ages, storage, guest, MOVED_READ, facts->read.v, utc_ms);
	if (facts->written.known)
		ages_moved(ages, storage, guest, MOVED_WRITTEN, facts->written.v, utc_ms);
}

static void seen(struct reading_past *at, int64_t s)
{
	const struct storage_settings *storage = tasks_storage(at->server, at->facts.storage);
	struct ages *ages = at->server->tasks->gate->ages;

	if (storage && ages) {
		ages_seen(ages, storage->name, at->done, s * MS_SECOND);
		note_moved(ages, storage->name, at->done, &at->facts, s * MS_SECOND);
	}
	at->done = 0;
}

/* "Finished Backup of VM N" ends a guest's part well, and the next line says when; a failed one
 * ends otherwise. */
static void on_line(void *data, int64_t n, const char *line)
{
	struct reading_past *at = data;
	uint32_t guest = at->facts.guest;
	int64_t local_s = 0;

	(void)n;
	if (at->done)
		seen(at,
			pve_log_time(line, &local_s) == PVE_LOG_FINISHED ? utc_s(at, local_s)
									 : at->past->start_s);
	pve_log_line(&at->facts, line);
	if (guest && !at->facts.guest && strncmp(line, "INFO: Finished ", 15) == 0)
		at->done = guest;
}

void past_take(struct tasks_server *server, const char *upid, const char *body, size_t len,
	const struct err *err)
{
	struct reading_past at = {.server = server};
	size_t i;

	for (i = 0; i < TASKS_PAST_MAX; i++)
		if (strcmp(server->past[i].upid, upid) == 0)
			break;
	if (i == TASKS_PAST_MAX)
		return;
	/* Once, if it can be had at all: what it does not tell, the storage's content does. */
	server->past[i].read = !err || ++server->past[i].tries >= 3 || err->kind == ERR_DENIED ||
		err->kind == ERR_NOTFOUND || err->kind == ERR_PROTOCOL;
	server->past[i].try_ms = clock_boot_ms();
	at.past = &server->past[i];
	if (err || !pve_log_read(body, len, on_time, &at.times, NULL) ||
		!pve_log_read(body, len, on_line, &at, NULL))
		return;
	if (at.done) /* the log was cut */
		seen(&at, at.past->start_s);
}
