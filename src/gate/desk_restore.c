// SPDX-License-Identifier: MIT
/* What the record says of the jobs that were live when the gate ended. */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/desk_impl.h"
#include "gate/workers.h"

static void restore_one(void *data, const struct ticket *ticket)
{
	struct desk *desk = data;

	if (!ticket_restore(&desk->tickets, ticket))
		log_err("T%lld cannot be taken up again: there is no room", (long long)ticket->id);
}

/* Those of this node whose process lived before its last start. */
static void lose_old(struct desk *desk)
{
	const struct gate *gate = desk->gate;
	struct ticket_run run;
	size_t i = 0;

	step_begin(desk, &run);
	while (i < desk->tickets.n) {
		const struct ticket *ticket = &desk->tickets.list[i];
		const char *boot_id = ticket->worker.boot_id;

		if (strcmp(ticket->request.node, gate->settings->node) == 0 && boot_id[0] &&
			strcmp(boot_id, gate->boot_id) != 0)
			ticket_lost(&run, ticket->id, "this machine has started anew");
		else
			i++;
	}
	step_commit(desk);
	step_after(desk);
}

bool desk_restore(struct desk *desk, struct err *err)
{
	struct store *store = desk->gate->store;
	struct moment now = clock_now();
	size_t unreadable = 0, i;

	if (!store_tickets_live(store, &now, restore_one, desk, &unreadable, err))
		return false;
	if (unreadable)
		log_err("%zu live tickets in the record cannot be read and are left out",
			unreadable);
	if (desk->tickets.next_id < store_next_ticket(store))
		desk->tickets.next_id = store_next_ticket(store);
	lose_old(desk);
	for (i = 0; i < desk->tickets.n; i++)
		workers_watch(desk->gate->workers, &desk->tickets.list[i]);
	if (desk->tickets.n)
		log_notice("Live tickets that are taken up again: %zu", desk->tickets.n);
	return true;
}
