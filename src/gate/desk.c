// SPDX-License-Identifier: MIT
/* What can happen at the desk. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/desk_impl.h"
#include "gate/notify.h"
#include "gate/reading.h"
#include "gate/watch.h"
#include "gate/workers.h"
#include "wire/wire.h"

#define SWEEP_LATE_MS (7 * MS_SECOND) /* it comes every 5 s, see chores.c */

const struct tickets *desk_tickets(const struct desk *desk)
{
	return &desk->tickets;
}

const struct desk_counts *desk_counts(const struct desk *desk)
{
	return &desk->counts;
}

static bool inside(enum phase phase)
{
	return phase == PHASE_JOB_START || phase == PHASE_BACKUP_START;
}

bool desk_ticket_waits(const struct ticket *ticket)
{
	return ticket->state == TICKET_HELD || ticket->recheck_boot_ms.known;
}

bool desk_waits(const struct desk *desk, const char *nas)
{
	size_t i;

	for (i = 0; i < desk->tickets.n; i++)
		if (desk_ticket_waits(&desk->tickets.list[i]) &&
			strcmp(desk->tickets.list[i].nas, nas) == 0)
			return true;
	return false;
}

/* No room for one more ticket: nothing can be recorded for it. */
static void reply_full(struct desk *desk, const struct ticket *ask, struct reply *ret)
{
	struct ticket_run run;

	memset(ret, 0, sizeof(*ret));
	step_begin(desk, &run);
	ticket_check(&run, &ask->request, &ret->decision, NULL);
	step_commit(desk);
	step_after(desk);
	ret->decision.act = desk->gate->settings->if_record_fails;
	ret->decided_boot_ms = desk->now.boot_ms;
	ret->news = true;
	snprintf(ret->unrecorded, sizeof(ret->unrecorded),
		"%d jobs are live, there is no room for one more: %s by if_record_fails",
		TICKETS_MAX, verdict_word(ret->decision.act));
	log_err("%s storage=%s node=%s", ret->unrecorded, ask->request.storage, ask->request.node);
	desk->counts.unrecorded++;
}

/* By id and worker as core knows it again, or by what it says alone where it names no worker. */
struct ticket *desk_find(struct desk *desk, int64_t id, const struct worker *worker)
{
	struct ticket *ticket = ticket_find(&desk->tickets, id);

	if (ticket &&
		(!worker->pid || !ticket->worker.pid ||
			(ticket->worker.pid == worker->pid &&
				ticket->worker.start_ticks == worker->start_ticks)))
		return ticket;
	return ticket_find_worker(&desk->tickets, worker);
}

void desk_ask(struct desk *desk, const struct ticket *ask, struct reply *ret)
{
	struct ticket *ticket = desk_find(desk, ask->id, &ask->worker);
	struct ticket_run run;
	int64_t id;

	step_begin(desk, &run);
	if (ticket && inside(ask->request.phase))
		ticket = ticket_recheck(&run, ticket->id, &ask->request);
	else
		ticket = ticket_ask(&run, ask);
	id = ticket ? ticket->id : 0;
	if (ticket)
		reply_fill(desk, ticket, ret);
	step_commit(desk);
	if (ticket && effect_of(desk, id, OUTCOME_DECIDED)) {
		ret->news = true;
		if (!desk_recorded(desk))
			reply_unrecorded(desk, ret);
	}
	step_after(desk);
	if (!ticket)
		reply_full(desk, ask, ret);
}

bool desk_look(struct desk *desk, int64_t id, struct reply *ret, struct err *err)
{
	struct ticket *ticket = ticket_find(&desk->tickets, id);
	struct ticket_run run;
	bool news;

	if (!ticket)
		return err_set(err, ERR_NOTFOUND, "There is no live ticket T%lld", (long long)id);
	step_begin(desk, &run);
	step_tick(desk, &run, ticket->nas);
	step_commit(desk);
	news = desk_news(desk, id, ret);
	step_after(desk);
	if (news)
		return true;
	ticket = ticket_find(&desk->tickets, id);
	if (!ticket)
		return err_set(err, ERR_NOTFOUND, "There is no live ticket T%lld", (long long)id);
	reply_fill(desk, ticket, ret);
	return true;
}

void desk_check(struct desk *desk, const char *storage, struct decision *ret)
{
	const struct settings *settings = desk->gate->settings;
	struct request request = {.client = CLIENT_CHECK, .phase = PHASE_JOB_INIT};
	struct ticket_run run = {
		.tickets = &desk->tickets,
		.world = &desk->world,
		.now = clock_now(),
		.scratch = &desk->scratch,
	};

	snprintf(request.storage, sizeof(request.storage), "%s", storage);
	snprintf(request.node, sizeof(request.node), "%s", settings->node);
	desk->gate->now = run.now;
	desk->world.policy = desk->gate->policy;
	ticket_check(&run, &request, ret, NULL);
}

bool desk_withdraw(struct desk *desk, int64_t id, const struct worker *worker, const char *why,
	struct err *err)
{
	struct ticket *ticket = desk_find(desk, id, worker);
	struct ticket_run run;
	bool ok;

	if (!ticket)
		return err_set(err, ERR_NOTFOUND, "There is no live ticket T%lld", (long long)id);
	id = ticket->id;
	step_begin(desk, &run);
	ok = ticket_withdraw(&run, id, why);
	if (ok)
		step_tick(desk, &run, NULL);
	step_commit(desk);
	step_after(desk);
	if (!ok)
		return err_set(
			err, ERR_BUSY, "T%lld runs already: it cannot be withdrawn", (long long)id);
	return true;
}

bool desk_release(
	struct desk *desk, int64_t id, const char *by, const char *reason, struct err *err)
{
	struct ticket *ticket = ticket_find(&desk->tickets, id);
	struct ticket_run run;

	if (!ticket)
		return err_set(err, ERR_NOTFOUND, "There is no live ticket T%lld", (long long)id);
	if (!desk_ticket_waits(ticket))
		return err_set(err, ERR_BUSY, "T%lld is not held: it is %s", (long long)id,
			ticket_state_word(ticket->state));
	step_begin(desk, &run);
	ticket_release(&run, id, by, reason);
	step_commit(desk);
	log_notice("T%lld is released by %s: %s ticket=%lld", (long long)id, by, reason,
		(long long)id);
	step_after(desk);
	return true;
}

/* Closes the step that `ok` tells of; then all are decided anew, for that is what it was for. */
static bool override_end(struct desk *desk, bool ok, struct err *err)
{
	if (!ok) {
		store_rollback(desk->gate->store);
		return false;
	}
	step_commit(desk);
	ok = desk->where != STORE_LOST ||
		err_set(err, ERR_SYS, "It could not be recorded: %.300s", desk->record_err.text);
	step_after(desk);
	desk_changed(desk);
	return ok;
}

bool desk_override(struct desk *desk, struct override *override, struct err *err)
{
	struct ticket_run run;

	step_begin(desk, &run);
	return override_end(desk, store_override_add(desk->gate->store, override, err), err);
}

bool desk_override_cancel(struct desk *desk, int64_t id, const char *by, struct err *err)
{
	struct ticket_run run;

	step_begin(desk, &run);
	return override_end(
		desk, store_override_cancel(desk->gate->store, id, by, run.now.utc_ms, err), err);
}

void desk_worker_gone(struct desk *desk, int64_t id)
{
	struct ticket *ticket = ticket_find(&desk->tickets, id);
	struct ticket_run run;

	if (!ticket)
		return;
	step_begin(desk, &run);
	if (ticket->state == TICKET_HELD)
		ticket_withdraw(&run, id, "its process has ended");
	else if (ticket->request.client == CLIENT_VZDUMP)
		ticket_lost(&run, id, "its process has ended without a word");
	else
		ticket_ended(&run, id, "its process has ended");
	step_tick(desk, &run, NULL);
	step_commit(desk);
	step_after(desk);
}

static void tell_sight(struct gate *gate, const struct nas_facts *facts)
{
	json_t *details = json_object();
	char text[400];

	json_put_text(details, "nas", facts->name);
	json_put_text(details, "sensor", nas_sensor_word(facts->sensor));
	json_put_text(details, "sensor_text", facts->sensor_text);
	if (facts->sensor == SENSOR_OK)
		snprintf(text, sizeof(text), "NAS '%s' is seen again", facts->name);
	else
		snprintf(text, sizeof(text), "NAS '%s' cannot be seen: %s", facts->name,
			facts->sensor_text);
	notify_tell(gate->notify, facts->sensor == SENSOR_OK ? NOTIFY_SEES : NOTIFY_BLIND,
		facts->name, text, details);
}

void desk_looked(struct desk *desk, struct reading *reading, bool changed)
{
	struct ticket_run run;

	step_begin(desk, &run);
	store_add_reading(desk->gate->store, &reading->facts, &run.now);
	reading_remember(reading, desk->gate->store, &run.now, false);
	step_tick(desk, &run, reading->facts.name);
	step_commit(desk);
	if (changed)
		tell_sight(desk->gate, &reading->facts);
	step_after(desk);
}

static void tick_all(struct desk *desk)
{
	struct ticket_run run;

	step_begin(desk, &run);
	step_tick(desk, &run, NULL);
	step_commit(desk);
	step_after(desk);
}

void desk_changed(struct desk *desk)
{
	tick_all(desk);
}

static void on_tick(void *data)
{
	tick_all(data);
}

/* Silence counts from here: the gate's start, or the end of a time in which it did not run itself
 * (the machine was suspended, the gate was stopped or stuck) and could hear nobody. */
static int64_t awake_since(struct desk *desk)
{
	int64_t now = clock_boot_ms(), since = desk->gate->started.boot_ms;
	int64_t last = desk->swept_boot_ms ? desk->swept_boot_ms : since;

	if (now - last > SWEEP_LATE_MS)
		desk->awake_boot_ms = now;
	desk->swept_boot_ms = now;
	return desk->awake_boot_ms > since ? desk->awake_boot_ms : since;
}

void desk_sweep(struct desk *desk)
{
	const struct settings *settings = desk->gate->settings;
	int64_t since = awake_since(desk);
	struct ticket_run run;

	if (!desk->tickets.n)
		return;
	step_begin(desk, &run);
	ticket_sweep(&run, settings->silence_ms, since, settings->node);
	if (desk->n_effects)
		step_tick(desk, &run, NULL);
	step_commit(desk);
	step_after(desk);
}

void desk_policy(struct desk *desk)
{
	desk->policy_recorded = desk->policy_tried = false;
	tick_all(desk);
}

void desk_remember(struct desk *desk)
{
	struct gate *gate = desk->gate;
	struct ticket_run run;
	size_t i;

	step_begin(desk, &run);
	for (i = 0; i < gate->n_watches; i++)
		reading_remember(watch_reading(gate->watches[i]), gate->store, &run.now, true);
	step_commit(desk);
	step_after(desk);
}

bool desk_open(struct gate *gate, struct desk **ret, struct err *err)
{
	struct desk *desk = calloc(1, sizeof(*desk));

	if (!desk)
		return err_nomem(err);
	desk->gate = gate;
	world_fill(gate, &desk->world);
	*ret = desk; /* the parts that it tells find it by the gate */
	if (timer_open(&desk->tick, gate->loop, on_tick, desk, err))
		return true;
	free(desk);
	*ret = NULL;
	return false;
}

void desk_close(struct desk *desk)
{
	if (!desk)
		return;
	timer_close(&desk->tick);
	free(desk->effects);
	free(desk);
}
