// SPDX-License-Identifier: MIT
#include "core/ticket.h"

#include <stdio.h>
#include <string.h>

#include "core/span.h"
#include "core/ticket_list.h"

/* What is asked for the ticket now: its first request, or from inside its job. */
static struct request request_now(const struct ticket *ticket)
{
	struct request request = ticket->request;

	if (ticket->inside_phase == PHASE_NONE)
		return request;
	request.phase = ticket->inside_phase;
	request.guest = ticket->guest;
	request.guest_type = ticket->inside_type;
	request.mode = ticket->inside_mode;
	return request;
}

static int64_t held_ms(const struct ticket *ticket, int64_t now_ms)
{
	int64_t end = ticket->released_boot_ms.known ? ticket->released_boot_ms.v : now_ms;

	return span_add(span_since(ticket->held_boot_ms, end).v, ticket->held_before_ms);
}

static bool was_held(const struct ticket *ticket)
{
	return ticket->held_boot_ms.known || ticket->held_before_ms > 0;
}

static void view(const struct ticket *ticket, int64_t now_ms, struct ticket_view *ret)
{
	ret->id = ticket->id;
	ret->was_held = was_held(ticket);
	ret->only_restore = ticket->only_restore;
	ret->released = ticket->state != TICKET_HELD && ticket->state != TICKET_NONE;
	ret->release_asked = ticket->release_asked;
	ret->expired = ticket->expired;
	ret->expired_to = ticket->expired_to;
	ret->held_ms = held_ms(ticket, now_ms);
	ret->recheck_ms =
		span_add(ticket->recheck_used_ms, span_since(ticket->recheck_boot_ms, now_ms).v);
	ret->clear_ms = span_since(ticket->clear_boot_ms, now_ms);
	snprintf(ret->hold_rule, sizeof(ret->hold_rule), "%s", ticket->hold_rule);
	ret->hold_step = ticket->hold_step;
	ret->hold_blind_ms = ticket->hold_blind_ms;
	ret->too_slow_ppm = ticket->too_slow_ppm;
}

/* All that decide() looks at, into run->scratch. `ticket` is NULL for a mere question. */
static void inputs_fill(
	struct ticket_run *run, const struct ticket *ticket, const struct request *request)
{
	const struct world *world = run->world;
	struct inputs *in = run->scratch;

	memset(in, 0, sizeof(*in));
	in->request = *request;
	in->now = run->now;
	if (ticket)
		view(ticket, run->now.boot_ms, &in->ticket);
	world->look(world->data, in);
	in->n_overrides = world->overrides(world->data, &run->now, in->overrides);
	ticket_list_queue(
		run->tickets, ticket, request, in->mapping.nas, run->now.boot_ms, &in->queue);
}

void ticket_check(struct ticket_run *run, const struct request *request, struct decision *ret,
	struct trace *trace)
{
	inputs_fill(run, NULL, request);
	decide(run->world->policy, run->scratch, ret, trace);
}

/* A blindness or an operator's hold during or after a rule's hold does not shorten what that rule
 * asks for afterwards. */
static bool keeps_rule(const struct ticket *ticket, const struct decision *d)
{
	return (d->hold_step == 2 || d->hold_step == 4) && ticket->hold_step > 4;
}

static void remember_hold(struct ticket *ticket, const struct decision *d, const struct inputs *in)
{
	if (!d->base_holds) {
		if (!ticket->clear_boot_ms.known)
			ticket->clear_boot_ms = OPT(in->now.boot_ms);
		return;
	}
	ticket->clear_boot_ms = OPT_NONE;
	if (keeps_rule(ticket, d))
		return;
	snprintf(ticket->hold_rule, sizeof(ticket->hold_rule), "%s", d->hold_rule);
	ticket->hold_step = d->hold_step;
	ticket->hold_blind_ms = span_since(in->facts.blind_since_ms, in->now.boot_ms);
}

static void let_go(struct ticket_run *run, struct ticket *ticket)
{
	ticket->state = TICKET_RELEASED;
	ticket->released_boot_ms = OPT(run->now.boot_ms);
	ticket->slot = ticket->request.client != CLIENT_WAIT;
	ticket->took_queue = was_held(ticket) && !ticket->only_restore;
	if (ticket->took_queue)
		ticket_list_note_release(run->tickets, ticket->nas, run->now.boot_ms);
}

/* What a decision in job-init makes of the ticket. */
static void apply(struct ticket_run *run, struct ticket *ticket, const struct decision *d)
{
	remember_hold(ticket, d, run->scratch);
	ticket->too_slow_ppm = d->too_slow_ppm;
	if (d->expires) {
		ticket->expired = true;
		ticket->expired_to = d->verdict;
	}
	if (d->act == VERDICT_HOLD) {
		ticket->only_restore = d->reasons[0].code == REASON_RESTORE &&
			(ticket->only_restore || !was_held(ticket));
		ticket->state = TICKET_HELD;
		if (!ticket->held_boot_ms.known)
			ticket->held_boot_ms = OPT(run->now.boot_ms);
	} else if (d->act == VERDICT_DENY) {
		ticket->state = TICKET_DENIED;
		ticket->ended_boot_ms = OPT(run->now.boot_ms);
	} else {
		let_go(run, ticket);
	}
}

/* What one inside the job does: only the wait begins or ends, its time adds up. */
static void apply_inside(struct ticket *ticket, const struct decision *d, int64_t now_ms)
{
	if (d->act == VERDICT_HOLD) {
		if (!ticket->recheck_boot_ms.known)
			ticket->recheck_boot_ms = OPT(now_ms);
		return;
	}
	ticket->recheck_used_ms =
		span_add(ticket->recheck_used_ms, span_since(ticket->recheck_boot_ms, now_ms).v);
	ticket->recheck_boot_ms = OPT_NONE;
}

static void end(
	struct ticket_run *run, struct ticket *ticket, enum ticket_state how, const char *why)
{
	ticket->ended_boot_ms = OPT(run->now.boot_ms);
	ticket->slot = false;
	ticket_change(run, ticket, how, why);
	ticket_list_remove(run->tickets, ticket);
}

static void begin(struct ticket_run *run, struct ticket *ticket, const char *why)
{
	if (ticket->state == TICKET_RUNNING)
		return;
	ticket->slot = true;
	ticket->running_boot_ms = OPT(run->now.boot_ms);
	if (!ticket->released_boot_ms.known)
		ticket->released_boot_ms = ticket->running_boot_ms;
	ticket_change(run, ticket, TICKET_RUNNING, why);
}

/* After the outcome was told: what is over leaves the list. False when it did. */
static bool follow_up(struct ticket_run *run, struct ticket *ticket)
{
	bool let_go_now = ticket->state == TICKET_RELEASED;

	if (ticket->state == TICKET_DENIED) {
		ticket_list_remove(run->tickets, ticket);
		return false;
	}
	if (let_go_now && ticket->request.client == CLIENT_WAIT) {
		end(run, ticket, TICKET_ENDED, "the wait is over");
		return false;
	}
	if (let_go_now && ticket->request.client == CLIENT_RUN)
		begin(run, ticket, "the command starts");
	return true;
}

/* Decides for the ticket and tells the outcome; `asked` records it in any case. False when the
 * ticket has left the list. */
static bool evaluate(struct ticket_run *run, struct ticket *ticket, bool asked)
{
	struct request request = request_now(ticket);
	enum ticket_state before = ticket->state;
	struct decision d;
	bool differs;
	struct outcome outcome;

	inputs_fill(run, ticket, &request);
	decide(run->world->policy, run->scratch, &d, NULL);
	differs = asked || decision_differs(&ticket->last, &d);
	snprintf(ticket->nas, sizeof(ticket->nas), "%s", run->scratch->mapping.nas);
	if (d.mid_job)
		apply_inside(ticket, &d, run->now.boot_ms);
	else
		apply(run, ticket, &d);
	ticket->last = d;
	ticket->decided_boot_ms = run->now.boot_ms;
	outcome = (struct outcome){.kind = differs ? OUTCOME_DECIDED : OUTCOME_UNCHANGED,
		.ticket = ticket->id,
		.subject = ticket,
		.before = before,
		.after = ticket->state,
		.inputs = run->scratch,
		.decision = &ticket->last};
	if (differs)
		ticket->last_decision_id = run->emit(run->emit_data, &outcome);
	else
		run->emit(run->emit_data, &outcome);
	return follow_up(run, ticket);
}

static struct ticket *known(struct tickets *tickets, const struct ticket *ask)
{
	struct ticket *ticket = ticket_find(tickets, ask->id);

	if (ticket && worker_same(&ticket->worker, &ask->worker))
		return ticket;
	return ticket_find_worker(tickets, &ask->worker);
}

static void take_up(struct ticket_run *run, struct ticket *ticket, const struct ticket *ask)
{
	ticket->request = ask->request;
	ticket->worker = ask->worker;
	memcpy(ticket->upid, ask->upid, sizeof(ticket->upid));
	memcpy(ticket->job_id, ask->job_id, sizeof(ticket->job_id));
	memcpy(ticket->command, ask->command, sizeof(ticket->command));
	ticket->asked_boot_ms = run->now.boot_ms;
	ticket->asked_utc_ms = run->now.utc_ms;
	ticket->seen_boot_ms = run->now.boot_ms;
	if (ask->held_before_ms <= 0)
		return;
	/* It was held, we do not know by what: as by a rule that is gone. */
	ticket->held_before_ms = ask->held_before_ms;
	ticket->hold_step = 5;
}

/* The first word from it comes from inside its job: we were away. */
static void take_up_inside(struct ticket_run *run, struct ticket *ticket)
{
	ticket->inside_phase = ticket->request.phase;
	ticket->inside_type = ticket->request.guest_type;
	ticket->inside_mode = ticket->request.mode;
	ticket->guest = ticket->request.guest;
	ticket->request.phase = PHASE_JOB_INIT;
	begin(run, ticket, "it runs already");
}

struct ticket *ticket_ask(struct ticket_run *run, const struct ticket *ask)
{
	struct ticket *ticket = known(run->tickets, ask);

	if (ticket) {
		ticket->seen_boot_ms = run->now.boot_ms;
		return ticket;
	}
	ticket = ticket_list_past(run->tickets, ask);
	if (ticket)
		return ticket;
	ticket = ticket_list_new(run->tickets, ask->id);
	if (!ticket)
		return NULL;
	take_up(run, ticket, ask);
	if (ask->request.phase > PHASE_JOB_INIT)
		take_up_inside(run, ticket);
	return evaluate(run, ticket, true) ? ticket : &run->tickets->gone;
}

struct ticket *ticket_recheck(struct ticket_run *run, int64_t id, const struct request *request)
{
	struct ticket *ticket = ticket_find(run->tickets, id);
	bool asked;

	if (!ticket)
		return NULL;
	asked = ticket->inside_phase != request->phase || ticket->guest != request->guest;
	ticket->seen_boot_ms = run->now.boot_ms;
	ticket->inside_phase = request->phase;
	ticket->inside_type = request->guest_type;
	ticket->inside_mode = request->mode;
	ticket->guest = request->guest;
	ticket->request.backup_age_ms = request->backup_age_ms;
	if (ticket->state == TICKET_HELD)
		begin(run, ticket, "it went on without being let go");
	else /* it has vzdump's lock, also where it waits first: nobody else of its node may go */
		begin(run, ticket, "it has begun");
	evaluate(run, ticket, asked);
	return ticket;
}

void ticket_tick(struct ticket_run *run, const char *nas)
{
	size_t i = 0;

	while (i < run->tickets->n) {
		struct ticket *ticket = &run->tickets->list[i];
		bool due = ticket_waits(ticket) && (!nas || strcmp(ticket->nas, nas) == 0);

		if (!due || evaluate(run, ticket, false))
			i++;
	}
}

bool ticket_started(struct ticket_run *run, int64_t id)
{
	struct ticket *ticket = ticket_find(run->tickets, id);

	if (!ticket)
		return false;
	begin(run, ticket, "it has started");
	return true;
}

bool ticket_ended(struct ticket_run *run, int64_t id, const char *why)
{
	struct ticket *ticket = ticket_find(run->tickets, id);

	if (!ticket)
		return false;
	end(run, ticket, TICKET_ENDED, why);
	return true;
}

bool ticket_withdraw(struct ticket_run *run, int64_t id, const char *why)
{
	struct ticket *ticket = ticket_find(run->tickets, id);

	if (!ticket || ticket->state == TICKET_RUNNING)
		return false;
	end(run, ticket, TICKET_WITHDRAWN, why);
	return true;
}

bool ticket_lost(struct ticket_run *run, int64_t id, const char *why)
{
	struct ticket *ticket = ticket_find(run->tickets, id);

	if (!ticket)
		return false;
	end(run, ticket, TICKET_LOST, why);
	return true;
}

bool ticket_release(struct ticket_run *run, int64_t id, const char *by, const char *reason)
{
	struct ticket *ticket = ticket_find(run->tickets, id);

	if (!ticket)
		return false;
	ticket->release_asked = true;
	snprintf(ticket->release_by, sizeof(ticket->release_by), "%s", by);
	snprintf(ticket->release_reason, sizeof(ticket->release_reason), "%s", reason);
	if (ticket_waits(ticket))
		evaluate(run, ticket, false);
	return true;
}
