// SPDX-License-Identifier: MIT
/* The servers whose tasks are looked at, and how often. */
#include "gate/tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/desk.h"
#include "gate/levers.h"
#include "gate/tasks_impl.h"
#include "gate/watch.h"

#define TICK_MS (5 * MS_SECOND)

const char *task_kind_word(enum task_kind kind)
{
	static const char *const words[] = {
		[TASK_NONE] = "none",
		[TASK_WRITER] = "backup",
		[TASK_READER] = "restore",
		[TASK_GC] = "gc",
		[TASK_VERIFY] = "verify",
	};

	return words[kind];
}

struct tasks_server *tasks_server(const struct tasks *tasks, enum api_kind kind, const char *name)
{
	size_t i;

	for (i = 0; tasks && i < tasks->n; i++)
		if (tasks->servers[i]->kind == kind && strcmp(tasks->servers[i]->name, name) == 0)
			return tasks->servers[i];
	return NULL;
}

struct task *task_find(struct tasks_server *server, const char *upid)
{
	size_t i;

	for (i = 0; i < TASKS_PER_SERVER; i++)
		if (server->list[i].kind && strcmp(server->list[i].upid, upid) == 0)
			return &server->list[i];
	return NULL;
}

struct task *task_new(struct tasks_server *server)
{
	size_t i;

	for (i = 0; i < TASKS_PER_SERVER; i++)
		if (!server->list[i].kind) {
			server->list[i] = (struct task){0};
			return &server->list[i];
		}
	return NULL;
}

static bool anything_goes_on(const struct tasks *tasks)
{
	const struct gate *gate = tasks->gate;
	size_t i, k;

	if (desk_tickets(gate->desk)->n || reruns_any(tasks))
		return true;
	for (i = 0; i < gate->n_watches; i++)
		if (watch_busy(gate->watches[i]))
			return true;
	for (i = 0; i < tasks->n; i++)
		for (k = 0; k < TASKS_PER_SERVER; k++)
			if (tasks->servers[i]->list[k].kind &&
				tasks->servers[i]->list[k].storage[0])
				return true;
	return false;
}

/* While a lever is set a restore must be seen within two of the NAS's readings. */
static bool anything_is_slowed(const struct gate *gate)
{
	size_t i;

	for (i = 0; gate->levers && i < gate->n_watches; i++)
		if (levers_busy(gate->levers, watch_name(gate->watches[i])))
			return true;
	return false;
}

int64_t tasks_interval(const struct tasks *tasks)
{
	int64_t often = tasks->gate->settings->task_poll_ms;

	if (often > TASK_FAST_MS && anything_is_slowed(tasks->gate))
		return TASK_FAST_MS;
	if (anything_goes_on(tasks))
		return often;
	return often > TASK_SLOW_MS ? often : TASK_SLOW_MS;
}

bool tasks_visible(const struct tasks_server *server, int64_t now_ms)
{
	int64_t often = server->tasks->gate->settings->task_poll_ms;
	int64_t slow = often > TASK_SLOW_MS ? often : TASK_SLOW_MS;

	/* One list may fail; by its time a second one has been asked for. */
	return !server->blind && server->good_ms &&
		now_ms - server->good_ms <= slow + often + 2 * REMOTE_CALL_MS;
}

/* Others act on who reads and who writes. */
static void tell_others(struct tasks *tasks)
{
	static struct task_writer writers[TASK_WRITERS_MAX];
	const struct settings *settings = tasks->gate->settings;
	uint64_t digest = UINT64_C(14695981039346656037), readers = digest;
	size_t i, k, n = tasks_writers(tasks, writers, TASK_WRITERS_MAX);

	for (i = 0; i < n; i++)
		for (k = 0; writers[i].upid[k]; k++)
			digest = (digest ^ (unsigned char)writers[i].upid[k]) *
				UINT64_C(1099511628211);
	for (i = 0; i < settings->n_nas; i++) {
		struct opt opt = tasks_readers(tasks, settings->nas[i].name);
		uint64_t seen = tasks_sees(tasks, settings->nas[i].name);

		readers =
			(readers ^ (uint64_t)(opt.known ? opt.v + 1 : 0)) * UINT64_C(1099511628211);
		digest = (digest ^ seen) * UINT64_C(1099511628211);
	}
	digest ^= readers;
	if (digest == tasks->signature)
		return;
	tasks->signature = digest;
	if (readers != tasks->readers) {
		tasks->readers = readers;
		desk_changed(tasks->gate->desk);
	}
	if (tasks->gate->levers)
		levers_changed(tasks->gate->levers);
}

void tasks_judge(struct tasks *tasks)
{
	tasks_match(tasks);
	reruns_judge(tasks);
	tell_others(tasks);
}

static void on_timer(void *data)
{
	struct tasks *tasks = data;
	int64_t now = clock_boot_ms(), often = tasks_interval(tasks);
	size_t i;

	tasks_judge(tasks);
	for (i = 0; i < tasks->n; i++)
		tasks_work(tasks->servers[i]);
	if (tasks->n)
		timer_at(&tasks->timer, now + (often < TICK_MS ? often : TICK_MS));
}

/* Servers that no mapped storage is on tell nothing that matters. */
static bool wanted(const struct settings *settings, enum api_kind kind, const char *name)
{
	size_t i;

	for (i = 0; i < settings->n_storages; i++) {
		const struct storage_settings *storage = &settings->storages[i];

		if (strcmp(kind == API_PVE ? storage->pve : storage->pbs, name) == 0 &&
			storage->mapping.nas[0])
			return true;
	}
	return false;
}

static void keep_server(struct tasks *tasks, enum api_kind kind, const char *name)
{
	struct tasks_server *server;

	if (!wanted(tasks->gate->settings, kind, name) || tasks_server(tasks, kind, name))
		return;
	server = calloc(1, sizeof(*server));
	if (!server) {
		log_err("There is no memory for the tasks of '%s'", name);
		return;
	}
	server->tasks = tasks;
	server->kind = kind;
	snprintf(server->name, sizeof(server->name), "%s", name);
	tasks->servers[tasks->n++] = server;
}

static void drop(struct tasks *tasks, size_t i)
{
	remotes_forget(tasks->gate->remotes, tasks->servers[i]);
	free(tasks->servers[i]->stores);
	free(tasks->servers[i]);
	tasks->servers[i] = tasks->servers[--tasks->n];
}

/* Storages may be mapped otherwise now. */
static void map_anew(struct tasks_server *server)
{
	size_t i;

	for (i = 0; i < TASKS_PER_SERVER; i++) {
		struct task *task = &server->list[i];

		if (!task->kind)
			continue;
		if (task->refused[0]) { /* it may be allowed now */
			task->try_ms = 0;
			task->stop_tries = 0;
		}
		if (!settings_storage(server->tasks->gate->settings, task->storage))
			task->storage[0] = '\0';
		if (server->kind == API_PVE && task->kind == TASK_WRITER && !task->storage[0] &&
			!task->ticket) {
			task->log_known = false;
			task->log_tries = 0;
		}
	}
	sources_judge(server);
	server->asked_ms = 0;
	server->stops_said = false;
}

void tasks_settings(struct tasks *tasks)
{
	const struct settings *settings = tasks->gate->settings;
	size_t i;

	for (i = tasks->n; i-- > 0;) {
		const struct tasks_server *server = tasks->servers[i];

		if (!wanted(settings, server->kind, server->name) ||
			!(server->kind == API_PVE
					? (const void *)settings_pve(settings, server->name)
					: (const void *)settings_pbs(settings, server->name)))
			drop(tasks, i);
	}
	for (i = 0; i < tasks->n; i++)
		map_anew(tasks->servers[i]);
	for (i = 0; i < settings->n_pve; i++)
		keep_server(tasks, API_PVE, settings->pve[i].api.name);
	for (i = 0; i < settings->n_pbs; i++)
		keep_server(tasks, API_PBS, settings->pbs[i].api.name);
	if (tasks->n)
		timer_at(&tasks->timer, clock_boot_ms() + MS_SECOND);
}

bool tasks_open(struct gate *gate, struct tasks **ret, struct err *err)
{
	struct tasks *tasks = calloc(1, sizeof(*tasks));

	if (!tasks)
		return err_nomem(err);
	tasks->gate = gate;
	if (!timer_open(&tasks->timer, gate->loop, on_timer, tasks, err)) {
		free(tasks);
		return false;
	}
	reruns_load(tasks);
	if (gate->settings)
		tasks_settings(tasks);
	*ret = tasks;
	return true;
}

void tasks_close(struct tasks *tasks)
{
	if (!tasks)
		return;
	while (tasks->n)
		drop(tasks, tasks->n - 1);
	timer_close(&tasks->timer);
	free(tasks);
}
