// SPDX-License-Identifier: MIT
/* Which storage a cluster's restore reads from. Its log names a volume, a file, or a datastore of a
 * host; what that is says the cluster's list of storages, of which a token sees those that it may.
 * The list is asked for hourly, and anew for a source that it does not have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/tasks_impl.h"

#define STORES_MS MS_HOUR
#define STORES_AGAIN_MS MS_MINUTE /* after a failure */
#define STORES_MAX 1024

struct taking {
	struct pve_storage *list; /* owned */
	size_t n, cap;
	bool failed;
};

static void on_storage(void *data, const struct pve_storage *storage)
{
	struct taking *taking = data;
	size_t cap = taking->cap ? taking->cap * 2 : 16;
	struct pve_storage *list;

	if (taking->failed || taking->n == STORES_MAX)
		return;
	if (taking->n == taking->cap) {
		list = realloc(taking->list, cap * sizeof(*list));
		if (!list) {
			taking->failed = true;
			return;
		}
		taking->list = list;
		taking->cap = cap;
	}
	taking->list[taking->n++] = *storage;
}

static bool mapped(
	const struct tasks_server *server, const char *name, const struct storage_settings **ret)
{
	const struct storage_settings *storage = tasks_storage(server, name);

	if (storage)
		*ret = storage;
	return storage;
}

/* A restore from a backup server whose storage the token may not see names its datastore all the
 * same, which a mapped storage may be. */
static const struct storage_settings *by_datastore(
	const struct tasks_server *server, const char *datastore)
{
	const struct settings *settings = server->tasks->gate->settings;
	size_t i;

	for (i = 0; i < settings->n_storages; i++) {
		const struct storage_settings *storage = &settings->storages[i];

		if (storage->mapping.nas[0] && storage->pbs[0] &&
			strcmp(storage->pve, server->name) == 0 &&
			strcmp(storage->datastore, datastore) == 0)
			return storage;
	}
	return NULL;
}

/* Several storages may be one datastore, by namespaces: all of it lies on the same disks, so any
 * that is mapped tells them; the right one is named where it can be. */
static enum task_source of_datastore(const struct tasks_server *server, const struct task *task,
	const struct storage_settings **ret)
{
	bool elsewhere = false, exact = false;
	size_t i;

	for (i = 0; i < server->n_stores && !exact; i++) {
		const struct pve_storage *store = &server->stores[i];

		if (!pve_storage_is(store, task->from.server, task->from.datastore) ||
			!pve_storage_on(store, task->node))
			continue;
		elsewhere = true;
		if ((!*ret || strcmp(store->ns, task->from.ns) == 0) &&
			mapped(server, store->id, ret))
			exact = strcmp(store->ns, task->from.ns) == 0;
	}
	if (!*ret && !elsewhere)
		*ret = by_datastore(server, task->from.datastore);
	if (*ret)
		return SOURCE_MAPPED;
	return elsewhere ? SOURCE_ELSEWHERE : SOURCE_UNKNOWN;
}

static enum task_source of_file(const struct tasks_server *server, const struct task *task,
	const struct storage_settings **ret)
{
	const char *name = NULL;
	size_t i, len, most = 0;

	for (i = 0; i < server->n_stores; i++) {
		len = pve_storage_on(&server->stores[i], task->node)
			? pve_storage_holds(&server->stores[i], task->from.archive)
			: 0;
		if (len > most ||
			(len && len == most && tasks_storage(server, server->stores[i].id)))
			name = server->stores[i].id;
		if (len > most)
			most = len;
	}
	if (name)
		return mapped(server, name, ret) ? SOURCE_MAPPED : SOURCE_ELSEWHERE;
	/* What it is called by where storages are mounted: one that is not in the list is none of
	 * ours, for a mapped one is seen by the token. */
	if (mapped(server, task->from.storage, ret))
		return SOURCE_MAPPED;
	return task->from.storage[0] && server->stores_known ? SOURCE_ELSEWHERE : SOURCE_UNKNOWN;
}

static void find(struct tasks_server *server, struct task *task)
{
	const struct storage_settings *storage = NULL;

	if (task->from.datastore[0])
		task->source = of_datastore(server, task, &storage);
	else if (task->from.archive[0])
		task->source = of_file(server, task, &storage);
	else if (task->from.storage[0])
		task->source = mapped(server, task->from.storage, &storage) ? SOURCE_MAPPED
									    : SOURCE_ELSEWHERE;
	else
		task->source = SOURCE_UNKNOWN;
	snprintf(task->storage, sizeof(task->storage), "%s", storage ? storage->name : "");
}

void source_take(struct tasks_server *server, struct task *task, const struct pve_log_facts *facts)
{
	struct task_from *from = &task->from;

	if (!facts->restored_from)
		return;
	snprintf(from->storage, sizeof(from->storage), "%s", facts->storage);
	snprintf(from->archive, sizeof(from->archive), "%s", facts->archive);
	snprintf(from->datastore, sizeof(from->datastore), "%s", facts->datastore);
	snprintf(from->server, sizeof(from->server), "%s", facts->server);
	snprintf(from->ns, sizeof(from->ns), "%s", facts->ns);
	from->at_ms = clock_boot_ms();
	task->log_known = true;
	find(server, task);
}

void sources_judge(struct tasks_server *server)
{
	size_t i;

	for (i = 0; server->kind == API_PVE && i < TASKS_PER_SERVER; i++)
		if (server->list[i].kind == TASK_READER)
			find(server, &server->list[i]);
}

bool sources_due(const struct tasks_server *server, int64_t now_ms)
{
	size_t i;

	if (server->kind != API_PVE || now_ms < server->stores_next_ms)
		return false;
	if (!server->stores_ms || now_ms - server->stores_ms >= STORES_MS)
		return true;
	for (i = 0; i < TASKS_PER_SERVER; i++) {
		const struct task *task = &server->list[i];

		if (task->kind == TASK_READER && task->source == SOURCE_UNKNOWN &&
			task->from.at_ms > server->stores_ms)
			return true;
	}
	return false;
}

void sources_take(
	struct tasks_server *server, const char *body, size_t len, const struct err *call_err)
{
	struct err err = call_err ? *call_err : (struct err){0};
	struct taking taking = {0};
	bool ok = !call_err && pve_storages_read(body, len, on_storage, &taking, &err);

	if (ok && taking.failed)
		ok = err_nomem(&err);
	if (!ok) {
		free(taking.list);
		if (!server->stores_said)
			log_info(
				"Which storages '%s' has is not known: %s", server->name, err.text);
		server->stores_said = true;
		server->stores_ms = 0;
		server->stores_next_ms = clock_boot_ms() + STORES_AGAIN_MS;
		return;
	}
	free(server->stores);
	server->stores = taking.list;
	server->n_stores = taking.n;
	server->stores_known = true;
	server->stores_said = false;
	sources_judge(server);
}

bool source_unknown(const struct tasks_server *server)
{
	size_t i;

	for (i = 0; server->kind == API_PVE && i < TASKS_PER_SERVER; i++)
		if (server->list[i].kind == TASK_READER && server->list[i].source == SOURCE_UNKNOWN)
			return true;
	return false;
}

void source_text(const struct task *task, char *ret, size_t size)
{
	const struct task_from *from = &task->from;

	if (from->datastore[0])
		snprintf(ret, size,
			"a restore of unknown source: datastore '%s' of %s is no storage that the "
			"token sees",
			from->datastore, from->server);
	else if (from->archive[0])
		snprintf(ret, size,
			"a restore of unknown source: %s is on no storage that the token sees",
			from->archive);
	else
		snprintf(ret, size, "a restore of unknown source: its log does not tell");
}
