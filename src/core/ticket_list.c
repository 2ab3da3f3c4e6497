// SPDX-License-Identifier: MIT
#include "core/ticket_list.h"

#include <stdio.h>
#include <string.h>

#include "core/span.h"
#include "core/words.h"

/* How far an id that a client names may be from ours: nobody uses up the ids by one wrong number.
 */
#define ID_JUMP_MAX 1000000

static const char *const state_words[] = {
	[TICKET_HELD] = "held",
	[TICKET_RELEASED] = "released",
	[TICKET_RUNNING] = "running",
	[TICKET_ENDED] = "ended",
	[TICKET_DENIED] = "denied",
	[TICKET_WITHDRAWN] = "withdrawn",
	[TICKET_LOST] = "lost",
};

WORDS(ticket_state, enum ticket_state, state_words)

bool worker_same(const struct worker *a, const struct worker *b)
{
	return a->pid == b->pid && a->start_ticks == b->start_ticks &&
		strcmp(a->boot_id, b->boot_id) == 0;
}

struct ticket *ticket_find(struct tickets *tickets, int64_t id)
{
	size_t i;

	for (i = 0; i < tickets->n; i++) {
		if (tickets->list[i].id == id)
			return &tickets->list[i];
	}
	return NULL;
}

struct ticket *ticket_find_worker(struct tickets *tickets, const struct worker *worker)
{
	size_t i;

	for (i = 0; i < tickets->n && worker->pid; i++) {
		if (worker_same(&tickets->list[i].worker, worker))
			return &tickets->list[i];
	}
	return NULL;
}

struct ticket *ticket_list_past(struct tickets *tickets, const struct ticket *ask)
{
	size_t i;

	for (i = 0; i < TICKETS_PAST && ask->id; i++) {
		if (tickets->past[i].id == ask->id &&
			worker_same(&tickets->past[i].worker, &ask->worker))
			return &tickets->past[i];
	}
	return NULL;
}

struct ticket *ticket_list_new(struct tickets *tickets, int64_t wanted)
{
	struct ticket *ticket;

	if (tickets->n == TICKETS_MAX)
		return NULL;
	if (tickets->next_id < 1)
		tickets->next_id = 1;
	if (wanted > tickets->next_id && wanted - tickets->next_id < ID_JUMP_MAX)
		tickets->next_id = wanted;
	ticket = &tickets->list[tickets->n++];
	memset(ticket, 0, sizeof(*ticket));
	ticket->id = tickets->next_id++;
	return ticket;
}

void ticket_list_remove(struct tickets *tickets, struct ticket *ticket)
{
	size_t at = (size_t)(ticket - tickets->list);

	tickets->gone = *ticket;
	if (ticket->state == TICKET_DENIED || ticket->state == TICKET_ENDED)
		tickets->past[tickets->n_past++ % TICKETS_PAST] = *ticket;
	memmove(ticket, ticket + 1, (tickets->n - at - 1) * sizeof(*ticket));
	tickets->n--;
}

void ticket_list_note_release(struct tickets *tickets, const char *nas, int64_t boot_ms)
{
	const size_t max = sizeof(tickets->releases) / sizeof(tickets->releases[0]);
	size_t at = 0, i;

	for (i = 0; i < tickets->n_nas; i++) {
		if (strcmp(tickets->releases[i].nas, nas) == 0)
			break;
		if (tickets->releases[i].last_release_boot_ms <
			tickets->releases[at].last_release_boot_ms)
			at = i;
	}
	/* The one that was longest ago gives way where there is no room. */
	if (i < max)
		at = i;
	if (i == tickets->n_nas && i < max)
		tickets->n_nas++;
	snprintf(tickets->releases[at].nas, sizeof(tickets->releases[at].nas), "%s", nas);
	tickets->releases[at].last_release_boot_ms = boot_ms;
}

static struct opt since_release(const struct tickets *tickets, const char *nas, int64_t now_ms)
{
	size_t i;

	for (i = 0; i < tickets->n_nas; i++) {
		if (strcmp(tickets->releases[i].nas, nas) == 0)
			return span_since(OPT(tickets->releases[i].last_release_boot_ms), now_ms);
	}
	return OPT_NONE;
}

/* Neither held by a rule, nor by a restore alone, which takes no turn. */
static bool queues(const struct ticket *ticket)
{
	return !ticket->last.base_holds && !ticket->only_restore;
}

/* Only what waits for its turn stands before others: not who could not take it because of its own
 * node or window. */
static bool in_line(const struct ticket *ticket)
{
	enum reason_code waits_for = ticket->last.reasons[0].code;

	return queues(ticket) && waits_for != REASON_QUEUE_NODE && waits_for != REASON_QUEUE_WINDOW;
}

/* One job at a time holds vzdump's lock on a node: pve-manager PVE/VZDump.pm getlock. Other clients
 * take no such lock. */
static bool shares_lock(const struct ticket *ticket, const struct request *request)
{
	return request->client == CLIENT_VZDUMP && ticket->request.client == CLIENT_VZDUMP &&
		strcmp(ticket->request.node, request->node) == 0;
}

void ticket_list_queue(const struct tickets *tickets, const struct ticket *ticket,
	const struct request *request, const char *nas, int64_t now_ms, struct queue_view *ret)
{
	bool before = true;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	ret->since_release_ms = since_release(tickets, nas, now_ms);
	for (i = 0; i < tickets->n; i++) {
		const struct ticket *other = &tickets->list[i];
		bool same_nas = nas[0] && strcmp(other->nas, nas) == 0;

		if (other == ticket) {
			before = false;
		} else if (other->state == TICKET_HELD) {
			ret->ahead += before && same_nas && in_line(other);
			ret->backlog += same_nas && queues(other);
		} else if (other->slot) {
			ret->running_nas += same_nas;
			ret->running_node += shares_lock(other, request);
		}
	}
}

bool ticket_waits(const struct ticket *ticket)
{
	return ticket->state == TICKET_HELD ||
		(ticket->recheck_boot_ms.known && ticket->inside_phase != PHASE_NONE);
}

bool ticket_restore(struct tickets *tickets, const struct ticket *ticket)
{
	size_t at = tickets->n;

	if (tickets->n == TICKETS_MAX || ticket_find(tickets, ticket->id))
		return false;
	while (at > 0 && tickets->list[at - 1].id > ticket->id)
		at--;
	memmove(&tickets->list[at + 1], &tickets->list[at],
		(tickets->n - at) * sizeof(tickets->list[0]));
	tickets->list[at] = *ticket;
	tickets->n++;
	if (tickets->next_id <= ticket->id)
		tickets->next_id = ticket->id + 1;
	if (ticket->took_queue && ticket->released_boot_ms.known)
		ticket_list_note_release(tickets, ticket->nas, ticket->released_boot_ms.v);
	return true;
}

/* Windows and conditions on local time open and close on whole minutes. */
static struct opt next_minute(const struct moment *now)
{
	int64_t past = now->utc_ms % MS_MINUTE;

	return OPT(span_add(now->boot_ms, MS_MINUTE - (past < 0 ? past + MS_MINUTE : past)));
}

struct opt ticket_next_ms(const struct ticket_run *run)
{
	struct opt next = OPT_NONE;
	size_t i;

	for (i = 0; i < run->tickets->n; i++) {
		const struct ticket *ticket = &run->tickets->list[i];
		const struct opt *again = &ticket->last.again_in_ms;

		if (!ticket_waits(ticket))
			continue;
		next = span_sooner(next, next_minute(&run->now));
		if (again->known)
			next = span_sooner(next, OPT(span_add(ticket->decided_boot_ms, again->v)));
		else
			next = span_sooner(next, OPT(run->now.boot_ms));
	}
	return next;
}

void ticket_change(
	struct ticket_run *run, struct ticket *ticket, enum ticket_state after, const char *why)
{
	struct outcome outcome = {.kind = OUTCOME_STATE,
		.ticket = ticket->id,
		.subject = ticket,
		.before = ticket->state,
		.after = after};

	ticket->state = after;
	snprintf(outcome.why, sizeof(outcome.why), "%s", why);
	run->emit(run->emit_data, &outcome);
}
