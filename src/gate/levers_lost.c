// SPDX-License-Identifier: MIT
/*
 * Guests that have no keeper (any more): those whose keeper died together with its guard and left
 * them slowed, which somebody must put back, and those that it freed when it lost the gate.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "gate/desk.h"
#include "gate/levers_impl.h"
#include "gate/notify.h"

static const struct ticket *ticket_of(const struct levers *levers, int64_t id)
{
	const struct tickets *tickets = desk_tickets(levers->gate->desk);
	size_t i;

	for (i = 0; i < tickets->n; i++)
		if (tickets->list[i].id == id)
			return &tickets->list[i];
	return NULL;
}

/* One whose job is not known any more may have lost its worker as well: then QEMU goes on alone. */
bool keeper_is_over(const struct levers *levers, const struct keeper *keeper)
{
	const struct ticket *ticket = ticket_of(levers, keeper->said.ticket);

	return ticket && ticket->guest != keeper->said.guest;
}

const char *keeper_lost_text(const struct keeper *keeper, char ret[KEEPER_TEXT])
{
	snprintf(ret, KEEPER_TEXT,
		"its keeper is dead and left it so, nobody frees it before the next backup of node "
		"%s: run there, as root: " KEEPER_COMMAND,
		keeper->said.node);
	return ret;
}

static void notice(const struct levers *levers, const struct keeper *keeper, const char *target,
	const char *text)
{
	json_t *details = json_object();

	json_put_text(details, "node", keeper->said.node);
	json_put_int(details, "guest", keeper->said.guest);
	json_put_int(details, "ticket", keeper->said.ticket);
	json_put_text(details, "storage", keeper->said.storage);
	json_put_text(details, "command", KEEPER_COMMAND);
	notify_tell(levers->gate->notify, NOTIFY_KEEPER, target, text, details);
}

void keeper_lose(struct levers *levers, struct keeper *keeper)
{
	char target[160], what[64], why[KEEPER_TEXT], text[640];
	enum steer_path path = keeper->said.path;
	int64_t rate = keeper->said.rate;

	if (path != STEER_LIMIT && path != STEER_REST) {
		path = keeper->path;
		rate = keeper->rate;
	}
	keeper->lost_ms = levers->now.boot_ms;
	keeper_target(keeper, target);
	levers_path_text(path, rate, what);
	snprintf(text, sizeof(text), "The backup of guest %u on node '%s' stands at %s: %s",
		keeper->said.guest, keeper->said.node, what, keeper_lost_text(keeper, why));
	log_err("%s ticket=%lld storage=%s node=%s", text, (long long)keeper->said.ticket,
		keeper->said.storage, keeper->said.node);
	levers_record(levers->gate, keeper->said.ticket, "block-jobs", target, "free", what,
		KEEPER_DEAD_WHY, false);
	notice(levers, keeper, target, text);
}

static bool is_lost(const struct levers *levers, const struct lever_job *job)
{
	size_t i;

	for (i = 0; i < LEVERS_KEEPERS; i++)
		if (levers->keepers[i].said_ms && levers->keepers[i].lost_ms &&
			levers->keepers[i].said.ticket == job->ticket &&
			levers->keepers[i].said.guest == job->guest)
			return true;
	return false;
}

void keeper_orphan_tell(const struct levers *levers, const char *target)
{
	const struct tickets *tickets = desk_tickets(levers->gate->desk);
	char own[160];
	size_t i;

	for (i = 0; i < tickets->n; i++) {
		const struct ticket *ticket = &tickets->list[i];

		snprintf(own, sizeof(own), "%s/%u", ticket->request.node, ticket->guest);
		if (!ticket->guest || strcmp(own, target) != 0)
			continue;
		log_warning("The keeper of %s does not ask this gate: it frees its guest by itself "
			    "and ends when it was without one for a minute; should that backup not "
			    "move, as root on %s: " KEEPER_COMMAND " ticket=%lld",
			target, ticket->request.node, (long long)ticket->id);
	}
}

const char *unkept_text(const struct levers *levers, const struct lever_job *job, char ret[240])
{
	if (is_lost(levers, job))
		snprintf(ret, 240, "guest %u is as slow as its keeper left it, which is dead",
			job->guest);
	else
		snprintf(ret, 240,
			"guest %u has no keeper, or none any more (one that is without a gate for "
			"a "
			"minute frees its guest and ends): nothing can slow it until its backup is "
			"over",
			job->guest);
	return ret;
}
