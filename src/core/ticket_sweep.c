// SPDX-License-Identifier: MIT
/* Tickets whose jobs keep silent. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "core/span.h"
#include "core/ticket_list.h"

struct sweep {
	int64_t silence_ms;
	int64_t since_boot_ms;
	const char *own_node;
};

/* A worker on our own node is watched by its pidfd. */
static bool watched(const struct ticket *ticket, const char *own_node)
{
	return ticket->worker.pid != 0 && strcmp(ticket->request.node, own_node) == 0;
}

static bool silent(const struct ticket *ticket, const struct sweep *sweep, int64_t now_ms)
{
	int64_t seen = ticket->seen_boot_ms;

	if (seen < sweep->since_boot_ms)
		seen = sweep->since_boot_ms;
	return span_between(seen, now_ms) >= sweep->silence_ms;
}

/* How long it has been running, or let go if it has not said that it runs. */
static int64_t under_way_ms(const struct ticket *ticket, int64_t now_ms)
{
	struct opt since =
		ticket->running_boot_ms.known ? ticket->running_boot_ms : ticket->released_boot_ms;

	return span_since(since, now_ms).v;
}

/* False when it was ended. */
static bool sweep_one(struct ticket_run *run, struct ticket *ticket, const struct sweep *sweep)
{
	const struct policy *policy = run->world->policy;
	int64_t now = run->now.boot_ms, under_way = under_way_ms(ticket, now);
	char shown[UNITS_TEXT_MAX], why[120];

	if (ticket->state == TICKET_HELD) {
		if (!silent(ticket, sweep, now))
			return true;
		snprintf(why, sizeof(why), "nobody asked for it in %s",
			span_show(sweep->silence_ms, shown));
		return !ticket_withdraw(run, ticket->id, why);
	}
	if (under_way >= policy->running_ttl_ms && !watched(ticket, sweep->own_node)) {
		snprintf(why, sizeof(why), "no word from it in %s (running_ttl)",
			span_show(policy->running_ttl_ms, shown));
		return !ticket_lost(run, ticket->id, why);
	}
	if (ticket->state == TICKET_RELEASED && ticket->slot &&
		under_way >= policy->start_grace_ms) {
		snprintf(why, sizeof(why), "did not start in %s (start_grace), its slot is free",
			span_show(policy->start_grace_ms, shown));
		ticket->slot = false;
		ticket_change(run, ticket, TICKET_RELEASED, why);
	}
	return true;
}

void ticket_sweep(
	struct ticket_run *run, int64_t silence_ms, int64_t since_boot_ms, const char *own_node)
{
	struct sweep sweep = {silence_ms, since_boot_ms, own_node};
	size_t i = 0;

	while (i < run->tickets->n) {
		if (sweep_one(run, &run->tickets->list[i], &sweep))
			i++;
	}
}
