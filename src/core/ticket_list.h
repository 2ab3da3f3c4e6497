// SPDX-License-Identifier: MIT
/*
 * The list of live tickets and what one of them sees of the others. Only src/core uses it.
 */
#ifndef RG_CORE_TICKET_LIST_H
#define RG_CORE_TICKET_LIST_H

#include "core/ticket.h"

bool worker_same(const struct worker *a, const struct worker *b);

/* The ticket `ask` names, where it was denied or has ended just now: while its question waited for
 * a look, say. NULL if there is none. */
struct ticket *ticket_list_past(struct tickets *tickets, const struct ticket *ask);

/* Appends an empty ticket with an id: `wanted` where this gate may not have given it yet, else the
 * next. NULL when the list is full. */
struct ticket *ticket_list_new(struct tickets *tickets, int64_t wanted);

/* Takes it out; the order of the others is kept, tickets->gone is what it was. */
void ticket_list_remove(struct tickets *tickets, struct ticket *ticket);

/* Remembers when a held job was let go on the NAS. */
void ticket_list_note_release(struct tickets *tickets, const char *nas, int64_t boot_ms);

/* The queue as `ticket` sees it, or a newcomer for NULL. */
void ticket_list_queue(const struct tickets *tickets, const struct ticket *ticket,
	const struct request *request, const char *nas, int64_t now_ms, struct queue_view *ret);

/* It waits for a decision: held in job-init, or inside its job. */
bool ticket_waits(const struct ticket *ticket);

/* Tells a change of state without a decision. */
void ticket_change(
	struct ticket_run *run, struct ticket *ticket, enum ticket_state after, const char *why);

#endif
