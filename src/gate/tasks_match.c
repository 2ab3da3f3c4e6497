// SPDX-License-Identifier: MIT
/* Whose a task is: a ticket's, or nobody's who asked. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/desk.h"
#include "gate/notify.h"
#include "gate/tasks_impl.h"

#define EARLY_S 120 /* clocks differ, and a job asks before its task's first guest */
#define TELL_AFTER_S 15

static bool has_guest(const struct ticket *ticket, uint32_t guest)
{
	size_t i;

	if (ticket->guest == guest || ticket->request.guest == guest)
		return true;
	for (i = 0; i < ticket->request.n_guests; i++)
		if (ticket->request.guests[i] == guest)
			return true;
	return false;
}

/* A cluster's task says which process it is; a ticket knows its own. */
static bool is_ticket_pve(const struct ticket *ticket, const struct task *task)
{
	struct upid upid;

	if (ticket->upid[0])
		return strcmp(ticket->upid, task->upid) == 0;
	return upid_parse(task->upid, &upid) && ticket->worker.pid == upid.pid &&
		ticket->worker.start_ticks == upid.pstart &&
		strcmp(ticket->request.node, upid.node) == 0;
}

/* A backup server knows guest and time only. A gated command backs up a
 * host. */
static bool is_ticket_pbs(
	const struct tasks *tasks, const struct ticket *ticket, const struct task *task)
{
	const struct settings *settings = tasks->gate->settings;
	const struct storage_settings *own = settings_storage(settings, ticket->request.storage);
	const struct storage_settings *its = settings_storage(settings, task->storage);
	int64_t asked_s = ticket->asked_utc_ms / MS_SECOND;

	if (ticket->state != TICKET_RUNNING && ticket->state != TICKET_RELEASED)
		return false;
	if (!own || !its || strcmp(own->pbs, its->pbs) != 0 ||
		strcmp(own->datastore, its->datastore) != 0 || task->start_s < asked_s - EARLY_S)
		return false;
	if (ticket->request.client != CLIENT_VZDUMP)
		return !task->guest;
	return task->guest && has_guest(ticket, task->guest);
}

static int64_t ticket_of(
	const struct tasks *tasks, const struct tasks_server *server, const struct task *task)
{
	const struct tickets *tickets = desk_tickets(tasks->gate->desk);
	size_t i;

	for (i = 0; i < tickets->n; i++) {
		const struct ticket *ticket = &tickets->list[i];

		if (server->kind == API_PVE ? is_ticket_pve(ticket, task)
					    : is_ticket_pbs(tasks, ticket, task))
			return ticket->id;
	}
	return 0;
}

static const struct ticket *ticket_by_id(const struct tasks *tasks, int64_t id)
{
	const struct tickets *tickets = desk_tickets(tasks->gate->desk);
	size_t i;

	for (i = 0; i < tickets->n; i++)
		if (tickets->list[i].id == id)
			return &tickets->list[i];
	return NULL;
}

/* A cluster's vzdump onto the same datastore, ticket or not, is the same backup. */
static bool same_backup(const struct tasks *tasks, const struct task *pve, const struct task *pbs)
{
	const struct settings *settings = tasks->gate->settings;
	const struct storage_settings *a = settings_storage(settings, pve->storage);
	const struct storage_settings *b = settings_storage(settings, pbs->storage);

	return pve->kind == TASK_WRITER && a && b && strcmp(a->pbs, b->pbs) == 0 &&
		strcmp(a->datastore, b->datastore) == 0 && pbs->start_s + EARLY_S >= pve->start_s &&
		pbs->guest && (!pve->guest || pve->guest == pbs->guest);
}

static const struct task *covering(const struct tasks *tasks, const struct task *task)
{
	size_t i, k;

	for (i = 0; i < tasks->n; i++)
		for (k = 0; tasks->servers[i]->kind == API_PVE && k < TASKS_PER_SERVER; k++)
			if (same_backup(tasks, &tasks->servers[i]->list[k], task))
				return &tasks->servers[i]->list[k];
	return NULL;
}

static void tell(struct tasks *tasks, const struct tasks_server *server, struct task *task)
{
	const struct storage_settings *storage =
		settings_storage(tasks->gate->settings, task->storage);
	json_t *details = json_object();
	char text[480], thing[240];

	task->told = true;
	if (server->kind == API_PVE)
		snprintf(text, sizeof(text),
			"A backup on node '%s' writes to storage '%s' (NAS '%s') and never asked: "
			"a job from before the gate, or a node without its hook",
			task->node, task->storage, storage ? storage->mapping.nas : "");
	else
		snprintf(text, sizeof(text),
			"A backup of %.60s by %.60s writes to '%s' (storage '%s', NAS '%s') and "
			"never asked",
			task->id, task->user, server->name, task->storage,
			storage ? storage->mapping.nas : "");
	log_warning("%s upid=%s", text, task->upid);
	json_put_text(details, "server", server->name);
	json_put_text(details, "node", task->node);
	json_put_text(details, "upid", task->upid);
	json_put_text(details, "storage", task->storage);
	json_put_text(details, "nas", storage ? storage->mapping.nas : NULL);
	snprintf(thing, sizeof(thing), "%s/%s", task->node[0] ? task->node : server->name,
		task->storage);
	notify_tell(tasks->gate->notify, NOTIFY_UNGATED, thing, text, details);
}

static void match(struct tasks *tasks, struct tasks_server *server, struct task *task)
{
	int64_t age_s = clock_now().utc_ms / MS_SECOND - task->start_s;
	const struct ticket *ticket;
	const struct task *cover;

	if (!task->ticket)
		task->ticket = ticket_of(tasks, server, task);
	cover = server->kind == API_PBS ? covering(tasks, task) : NULL;
	task->covered = cover;
	task->told = task->told || cover; /* also when that one is over a moment earlier */
	if (cover && !task->ticket)
		task->ticket = cover->ticket;
	ticket = task->ticket ? ticket_by_id(tasks, task->ticket) : NULL;
	if (ticket && !task->storage[0] && !task->log_known) {
		snprintf(task->storage, sizeof(task->storage), "%s", ticket->request.storage);
		task->log_known = true;
	}
	if (!task->ticket && !task->covered && !task->told && task->storage[0] &&
		task->looks >= 2 && age_s >= TELL_AFTER_S)
		tell(tasks, server, task);
}

void tasks_match(struct tasks *tasks)
{
	enum api_kind kinds[] = {API_PVE, API_PBS}; /* the second looks at the first's */
	size_t i, k, m;

	for (m = 0; m < 2; m++)
		for (i = 0; i < tasks->n; i++)
			for (k = 0; tasks->servers[i]->kind == kinds[m] && k < TASKS_PER_SERVER;
				k++)
				if (tasks->servers[i]->list[k].kind == TASK_WRITER)
					match(tasks, tasks->servers[i],
						&tasks->servers[i]->list[k]);
}
