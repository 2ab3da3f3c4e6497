// SPDX-License-Identifier: MIT
/* What a server's list of tasks, and a task's log, say. */
#include <stdio.h>
#include <string.h>

#include "gate/tasks_impl.h"

const struct storage_settings *tasks_storage(const struct tasks_server *server, const char *name)
{
	const struct settings *settings = server->tasks->gate->settings;
	size_t i;

	for (i = 0; name[0] && i < settings->n_storages; i++) {
		const struct storage_settings *storage = &settings->storages[i];
		bool pve = server->kind == API_PVE;

		if (storage->mapping.nas[0] &&
			strcmp(pve ? storage->pve : storage->pbs, server->name) == 0 &&
			strcmp(pve ? storage->name : storage->datastore, name) == 0)
			return storage;
	}
	return NULL;
}

static enum task_kind kind_of_worker(enum pbs_worker worker)
{
	switch (worker) {
	case PBS_WORKER_BACKUP:
		return TASK_WRITER;
	case PBS_WORKER_READER:
		return TASK_READER;
	case PBS_WORKER_GC:
		return TASK_GC;
	case PBS_WORKER_VERIFY:
		return TASK_VERIFY;
	case PBS_WORKER_NONE:
	case PBS_WORKER_PRUNE:
	case PBS_WORKER_SYNC: /* out of it is never touched; into it has a limit of its own */
	case PBS_WORKER_TAPE:
	case PBS_WORKER_OTHER:
		return TASK_NONE;
	}
	return TASK_NONE;
}

/* The task of this UPID, known or new; NULL where there is no room. */
static struct task *note(
	struct tasks_server *server, enum task_kind kind, const char *upid, int64_t start_s)
{
	struct task *task = task_find(server, upid);

	if (!task && (task = task_new(server)))
		snprintf(task->upid, sizeof(task->upid), "%s", upid);
	if (!task)
		return NULL;
	task->kind = kind;
	task->start_s = start_s;
	task->listed = true;
	task->looks++;
	return task;
}

static size_t foreign_listed(const struct tasks_server *server)
{
	size_t i, n = 0;

	for (i = 0; i < TASKS_PER_SERVER; i++)
		n += server->list[i].kind && server->list[i].listed && !server->list[i].storage[0];
	return n;
}

/* Of a datastore that is not mapped only restores are kept: the requests of theirs share the rate
 * of a rule of ours. */
static void on_pbs_task(void *data, const struct pbs_task *found)
{
	struct tasks_server *server = data;
	enum task_kind kind = kind_of_worker(found->worker);
	const struct storage_settings *storage = tasks_storage(server, found->store);
	struct task *task;

	if (!kind || found->endtime_s.known || found->status[0])
		return;
	if (!storage && (kind != TASK_READER || foreign_listed(server) == TASKS_FOREIGN_MAX))
		return;
	task = note(server, kind, found->upid, found->starttime_s);
	if (!task)
		return;
	snprintf(task->storage, sizeof(task->storage), "%s", storage ? storage->name : "");
	snprintf(task->store, sizeof(task->store), "%s", found->store);
	snprintf(task->id, sizeof(task->id), "%s", found->id);
	snprintf(task->type, sizeof(task->type), "%s", found->type);
	snprintf(task->user, sizeof(task->user), "%s", found->user);
	task->guest = pbs_task_guest(found);
}

static enum task_kind kind_of_type(const char *type)
{
	if (strcmp(type, "vzdump") == 0)
		return TASK_WRITER;
	if (strcmp(type, "qmrestore") == 0 || strcmp(type, "vzrestore") == 0)
		return TASK_READER;
	return TASK_NONE;
}

static void on_pve_task(void *data, const struct pve_task *found)
{
	struct tasks_server *server = data;
	enum task_kind kind = kind_of_type(found->parts.type);
	struct task *task;

	if (kind == TASK_WRITER && !found->running)
		past_note(server, found);
	if (!kind || !found->running)
		return;
	task = note(server, kind, found->upid, found->parts.starttime_s);
	if (!task)
		return;
	snprintf(task->node, sizeof(task->node), "%s", found->parts.node);
	snprintf(task->user, sizeof(task->user), "%s", found->user);
	if (!task->guest)
		task->guest = found->parts.vmid;
}

bool tasks_take_list(struct tasks_server *server, const char *body, size_t len, struct err *err)
{
	bool ok;
	size_t i;

	for (i = 0; i < TASKS_PER_SERVER; i++)
		server->list[i].listed = false;
	ok = server->kind == API_PVE ? pve_tasks_read(body, len, on_pve_task, server, err)
				     : pbs_tasks_read(body, len, on_pbs_task, server, err);
	for (i = 0; i < TASKS_PER_SERVER; i++)
		if (ok && server->list[i].kind && !server->list[i].listed)
			server->list[i] = (struct task){0};
	return ok;
}

static void on_line(void *data, int64_t n, const char *line)
{
	(void)n;
	pve_log_line(data, line);
}

bool tasks_take_log(struct tasks_server *server, struct task *task, const char *body, size_t len,
	struct err *err)
{
	const struct storage_settings *storage;
	struct pve_log_facts facts = {0};

	if (!pve_log_read(body, len, on_line, &facts, err))
		return false;
	task->log_tries++;
	if (task->kind == TASK_READER) {
		source_take(server, task, &facts);
		return true;
	}
	task->log_known = facts.storage[0] || task->log_tries >= LOG_TRIES_MAX;
	storage = tasks_storage(server, facts.storage);
	if (storage)
		snprintf(task->storage, sizeof(task->storage), "%s", storage->name);
	return true;
}
