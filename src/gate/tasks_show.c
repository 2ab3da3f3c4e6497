// SPDX-License-Identifier: MIT
/* What others ask of the tasks. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/tasks_impl.h"

static const char *nas_of(const struct tasks *tasks, const char *storage)
{
	const struct storage_settings *set = settings_storage(tasks->gate->settings, storage);

	return set ? set->mapping.nas : "";
}

/* The servers that see what happens on this storage: its own backup server, else its cluster. */
static const struct tasks_server *server_of(
	const struct tasks *tasks, const struct storage_settings *storage)
{
	return storage->pbs[0]    ? tasks_server(tasks, API_PBS, storage->pbs)
		: storage->pve[0] ? tasks_server(tasks, API_PVE, storage->pve)
				  : NULL;
}

bool tasks_sees(const struct tasks *tasks, const char *nas)
{
	const struct settings *settings = tasks->gate->settings;
	int64_t now = clock_boot_ms();
	bool any = false;
	size_t i;

	for (i = 0; i < settings->n_storages; i++) {
		const struct storage_settings *storage = &settings->storages[i];
		const struct tasks_server *server;

		if (strcmp(storage->mapping.nas, nas) != 0)
			continue;
		server = server_of(tasks, storage);
		if (!server || !tasks_visible(server, now) || source_unknown(server))
			return false;
		any = true;
	}
	return any;
}

/* The same restore is one of the cluster's and one of the backup server's: that one counts. */
static bool counts(const struct tasks *tasks, const struct tasks_server *server,
	const struct task *task, int64_t now_ms)
{
	const struct storage_settings *storage =
		settings_storage(tasks->gate->settings, task->storage);
	const struct tasks_server *own;

	if (!storage || server->kind == API_PBS || !storage->pbs[0])
		return storage;
	own = tasks_server(tasks, API_PBS, storage->pbs);
	return !own || !tasks_visible(own, now_ms);
}

struct opt tasks_readers(const struct tasks *tasks, const char *nas)
{
	const struct settings *settings = tasks->gate->settings;
	int64_t now = clock_boot_ms(), n = 0;
	bool told = false;
	size_t i, k;

	for (i = 0; i < tasks->n; i++) {
		const struct tasks_server *server = tasks->servers[i];

		for (k = 0; tasks_visible(server, now) && k < TASKS_PER_SERVER; k++) {
			const struct task *task = &server->list[k];

			n += task->kind == TASK_READER &&
				strcmp(nas_of(tasks, task->storage), nas) == 0 &&
				counts(tasks, server, task, now);
		}
	}
	for (i = 0; i < settings->n_storages && !told; i++) {
		const struct storage_settings *storage = &settings->storages[i];
		const struct tasks_server *server = server_of(tasks, storage);

		told = strcmp(storage->mapping.nas, nas) == 0 && server &&
			tasks_visible(server, now);
	}
	return n || told ? OPT(n) : OPT_NONE;
}

size_t tasks_readers_elsewhere(
	const struct tasks *tasks, const char *pbs, struct task_reader *ret, size_t max)
{
	int64_t now = clock_boot_ms();
	size_t i, k, n = 0;

	for (i = 0; i < tasks->n; i++) {
		const struct tasks_server *server = tasks->servers[i];

		if (server->kind != API_PBS || (pbs && strcmp(pbs, server->name) != 0))
			continue;
		for (k = 0; tasks_visible(server, now) && k < TASKS_PER_SERVER && n < max; k++) {
			const struct task *task = &server->list[k];

			if (task->kind != TASK_READER || task->storage[0])
				continue;
			ret[n] = (struct task_reader){.since_utc_ms = task->start_s * MS_SECOND};
			snprintf(ret[n].upid, sizeof(ret[n].upid), "%s", task->upid);
			snprintf(ret[n].pbs, sizeof(ret[n].pbs), "%s", server->name);
			snprintf(ret[n].store, sizeof(ret[n].store), "%s", task->store);
			n++;
		}
	}
	return n;
}

size_t tasks_writers(const struct tasks *tasks, struct task_writer *ret, size_t max)
{
	int64_t now = clock_boot_ms();
	size_t i, k, n = 0;

	for (i = 0; i < tasks->n; i++) {
		const struct tasks_server *server = tasks->servers[i];

		for (k = 0; tasks_visible(server, now) && k < TASKS_PER_SERVER && n < max; k++) {
			const struct task *task = &server->list[k];
			const struct storage_settings *storage =
				settings_storage(tasks->gate->settings, task->storage);

			if (task->kind != TASK_WRITER || task->ticket || task->covered || !storage)
				continue;
			ret[n] = (struct task_writer){.since_utc_ms = task->start_s * MS_SECOND};
			snprintf(ret[n].upid, sizeof(ret[n].upid), "%s", task->upid);
			snprintf(ret[n].node, sizeof(ret[n].node), "%.63s",
				task->node[0] ? task->node : server->name);
			snprintf(ret[n].storage, sizeof(ret[n].storage), "%s", task->storage);
			snprintf(ret[n].nas, sizeof(ret[n].nas), "%s", storage->mapping.nas);
			snprintf(ret[n].pbs, sizeof(ret[n].pbs), "%s", storage->pbs);
			n++;
		}
	}
	return n;
}

/* The cluster that has this task: in whose list it is, else the only one. */
static struct tasks_server *cluster_of(struct tasks *tasks, const char *upid)
{
	struct tasks_server *only = NULL;
	size_t i, n = 0;

	for (i = 0; i < tasks->n; i++) {
		if (tasks->servers[i]->kind != API_PVE)
			continue;
		if (task_find(tasks->servers[i], upid))
			return tasks->servers[i];
		only = tasks->servers[i];
		n++;
	}
	return n == 1 ? only : NULL;
}

void tasks_stop(struct tasks *tasks, const char *node, const char *upid, const char *why)
{
	struct tasks_server *server = cluster_of(tasks, upid);
	const struct pve_settings *set =
		server ? settings_pve(tasks->gate->settings, server->name) : NULL;
	struct task *task;
	struct upid parts;

	if (!set || !set->stop_jobs || !upid_parse(upid, &parts)) {
		if (!server || !server->stops_said)
			log_warning("The backup on '%s' cannot be stopped: %s upid=%s", node,
				!set ? "no cluster is configured that it is known to be of"
				     : "its cluster is not set up for it (stop_jobs)",
				upid);
		if (server)
			server->stops_said = true;
		return;
	}
	task = task_find(server, upid);
	if (!task && (task = task_new(server))) {
		task->kind = TASK_WRITER;
		task->start_s = parts.starttime_s;
		task->log_known = true; /* the next list says whether it is there at all */
		snprintf(task->upid, sizeof(task->upid), "%s", upid);
		snprintf(task->node, sizeof(task->node), "%s", parts.node);
	}
	if (!task || task->stop[0])
		return;
	snprintf(task->stop, sizeof(task->stop), "%s", why);
	timer_at(&tasks->timer, 0);
}

/* What there is to say of a task, "" for most. */
static void text_of(
	const struct tasks_server *server, const struct task *task, char *ret, size_t size)
{
	ret[0] = '\0';
	if (task->refused[0])
		snprintf(ret, size, "%s", task->refused);
	else if (task->kind == TASK_READER && server->kind == API_PVE &&
		task->source == SOURCE_UNKNOWN)
		source_text(task, ret, size);
	else if (task->kind == TASK_READER && !task->storage[0])
		snprintf(ret, size,
			"datastore '%s' is no storage here: a rule of the gate on this server "
			"slows "
			"what is asked for it too",
			task->store);
}

/* Restores of which nobody knows what they read count, and those beside a mapped datastore. */
static bool to_show(const struct tasks_server *server, const struct task *task)
{
	if (!task->kind || task->covered)
		return false;
	if (task->storage[0])
		return true;
	return task->kind == TASK_READER &&
		(server->kind == API_PBS || (task->source == SOURCE_UNKNOWN && task->log_tries));
}

static json_t *show(
	const struct tasks *tasks, const struct tasks_server *server, const struct task *task)
{
	json_t *object = json_object();
	char text[480];

	text_of(server, task, text, sizeof(text));

	if (json_put_text(object, "server", server->name) &&
		json_put_text(object, "node", task->node) &&
		json_put_text(object, "kind", task_kind_word(task->kind)) &&
		json_put_text(object, "upid", task->upid) &&
		json_put_text(object, "storage", task->storage) &&
		json_put_text(object, "store", task->store[0] ? task->store : NULL) &&
		json_put_text(object, "nas", nas_of(tasks, task->storage)) &&
		json_put_int(object, "since_utc_ms", task->start_s * MS_SECOND) &&
		json_put_opt(object, "ticket", task->ticket ? OPT(task->ticket) : OPT_NONE) &&
		json_put_bool(object, "stopped", task->stop_ms) &&
		json_put_text(object, "text", text[0] ? text : NULL))
		return object;
	json_decref(object);
	return NULL;
}

/* What was stopped and is to be run later. */
static json_t *show_rerun(const struct tasks *tasks, const struct rerun *rerun)
{
	json_t *object = json_object();
	char text[280] = "";

	if (rerun->trouble[0])
		snprintf(text, sizeof(text), "cannot be run again yet: %s", rerun->trouble);
	if (json_put_text(object, "server", rerun->pbs) && json_put_text(object, "node", NULL) &&
		json_put_text(object, "kind", task_kind_word(rerun->kind)) &&
		json_put_text(object, "upid", NULL) &&
		json_put_text(object, "storage", rerun->storage) &&
		json_put_text(object, "store", rerun->store) &&
		json_put_text(object, "nas", nas_of(tasks, rerun->storage)) &&
		json_put_int(object, "since_utc_ms", rerun->utc_ms) &&
		json_put_opt(object, "ticket", OPT_NONE) &&
		json_put_bool(object, "stopped", true) &&
		json_put_text(object, "text", text[0] ? text : NULL))
		return object;
	json_decref(object);
	return NULL;
}

static bool gone(const struct tasks *tasks, const struct rerun *rerun)
{
	const struct tasks_server *server = tasks_server(tasks, API_PBS, rerun->pbs);
	size_t i;

	for (i = 0; server && i < TASKS_PER_SERVER; i++)
		if (server->list[i].kind == rerun->kind && server->list[i].stop[0] &&
			strcmp(server->list[i].storage, rerun->storage) == 0)
			return false;
	return true;
}

json_t *tasks_show(const struct tasks *tasks)
{
	json_t *list = json_array();
	int64_t now = clock_boot_ms();
	bool ok = list;
	size_t i, k;

	for (i = 0; tasks && i < tasks->n; i++)
		for (k = 0; ok && tasks_visible(tasks->servers[i], now) && k < TASKS_PER_SERVER;
			k++) {
			const struct task *task = &tasks->servers[i]->list[k];

			if (to_show(tasks->servers[i], task))
				ok = json_array_append_new(
					     list, show(tasks, tasks->servers[i], task)) == 0;
		}
	for (i = 0; tasks && ok && i < RERUNS_MAX; i++)
		if (tasks->reruns[i].used && gone(tasks, &tasks->reruns[i]))
			ok = json_array_append_new(list, show_rerun(tasks, &tasks->reruns[i])) == 0;
	if (ok)
		return list;
	json_decref(list);
	return NULL;
}
