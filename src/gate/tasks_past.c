// SPDX-License-Identifier: MIT
/* Backups of a cluster that have ended, whoever ran them: which guests their logs say are backed
 * up. Logs lie on the nodes: reading them touches no NAS. */
#include <stdio.h>
#include <string.h>

#include "gate/ages.h"
#include "gate/tasks_impl.h"

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
	*past = (struct past){.end_s = task->endtime_s};
	snprintf(past->upid, sizeof(past->upid), "%s", task->upid);
	snprintf(past->node, sizeof(past->node), "%s", task->parts.node);
}

struct past *past_wanted(struct tasks_server *server)
{
	size_t i;

	for (i = 0; i < TASKS_PAST_MAX; i++)
		if (server->past[i].upid[0] && !server->past[i].read)
			return &server->past[i];
	return NULL;
}

struct reading_past {
	struct tasks_server *server;
	const struct past *past;
	struct pve_log_facts facts;
};

static void note_moved(struct ages *ages, const char *storage, uint32_t guest,
	const struct pve_log_facts *facts, int64_t utc_ms)
{
	if (facts->read.known)
		ages_moved(ages, storage, guest, MOVED_READ, facts->read.v, utc_ms);
	if (facts->written.known)
		ages_moved(ages, storage, guest, MOVED_WRITTEN, facts->written.v, utc_ms);
}

/* "Finished Backup of VM N" ends a guest's part well; a failed one ends otherwise. */
static void on_line(void *data, int64_t n, const char *line)
{
	struct reading_past *at = data;
	struct tasks *tasks = at->server->tasks;
	uint32_t guest = at->facts.guest;
	const struct storage_settings *storage;

	(void)n;
	pve_log_line(&at->facts, line);
	if (!guest || at->facts.guest || !tasks->gate->ages ||
		strncmp(line, "INFO: Finished ", 15) != 0)
		return;
	storage = tasks_storage(at->server, at->facts.storage);
	if (!storage)
		return;
	ages_seen(tasks->gate->ages, storage->name, guest, at->past->end_s * MS_SECOND);
	note_moved(
		tasks->gate->ages, storage->name, guest, &at->facts, at->past->end_s * MS_SECOND);
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
	at.past = &server->past[i];
	if (!err)
		pve_log_read(body, len, on_line, &at, NULL);
}
