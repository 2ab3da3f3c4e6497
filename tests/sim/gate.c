// SPDX-License-Identifier: MIT
/*
 * The gate: src/gate/desk.c, step.c, told.c, waiters.c, world.c and chores.c without an event loop
 * and a database. What happens in which order is theirs: a look ends in a tick of its NAS; an ask,
 * a report, a withdrawal, an override, a new policy, and a restore that begins or ends in a tick of
 * all; a tick is planned for what ticket_next_ms() says, no sooner than after 200 ms; chores come
 * every 5 s; a NAS that was not looked at since the start is not decided about. The record keeps
 * each ticket as it was at its last outcome, and gives it back through its JSON. Not here: a record
 * that fails, the levers (tests/sim/steer has their controller).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"
#include "wire/wire.h"

#define TICK_MIN_MS 200
#define WAIT_MAX_MS (25 * MS_SECOND)

/* What ages.c and levers.c know of a job that could be identified. */
static void known_of_job(struct sim *sim, struct inputs *ret)
{
	struct request *request = &ret->request;
	size_t i;

	for (i = 0; i < sim->n_jobs && request->n_guests; i++) {
		const struct job *job = &sim->jobs[i];

		if (job->first_guest != request->guests[0] ||
			strcmp(job->storage, request->storage) != 0)
			continue;
		request->backup_age_ms = sim_age(sim, job);
		ret->predicted_ms = job->predicted_ms;
		return;
	}
}

static void look(void *data, struct inputs *ret)
{
	struct sim *sim = data;
	size_t at;

	ret->mapping = *sim_mapping(sim, ret->request.storage);
	ret->lever = sim->lever;
	known_of_job(sim, ret);
	for (at = 0; at < sim->n_nas; at++) {
		const struct nas_facts *facts;

		if (strcmp(sim->nas[at].name, ret->mapping.nas) != 0)
			continue;
		facts = watch_facts(sim, at);
		ret->readers = sim->readers[at];
		memcpy(&ret->facts, facts,
			offsetof(struct nas_facts, arrays) +
				facts->n_arrays * sizeof(facts->arrays[0]));
		return;
	}
	ret->facts.sensor = SENSOR_NEVER;
	snprintf(ret->facts.name, sizeof(ret->facts.name), "%s", ret->mapping.nas);
}

/* As store_overrides(): those in force. */
static size_t overrides(void *data, const struct moment *now, struct override *ret)
{
	const struct sim *sim = data;
	size_t i, n = 0;

	for (i = 0; i < sim->gate.n_overrides; i++) {
		if (sim->gate.overrides[i].until_utc_ms > now->utc_ms)
			ret[n++] = sim->gate.overrides[i];
	}
	return n;
}

static void forget(struct sim_gate *gate, int64_t ticket)
{
	size_t i;

	for (i = 0; i < gate->n_saved; i++) {
		if (gate->saved[i].ticket.id != ticket)
			continue;
		gate->saved[i] = gate->saved[--gate->n_saved];
		return;
	}
}

static void put(struct sim *sim, const struct ticket *ticket)
{
	struct sim_gate *gate = &sim->gate;
	size_t i = 0;

	while (i < gate->n_saved && gate->saved[i].ticket.id != ticket->id)
		i++;
	if (i == gate->n_saved) {
		if (gate->n_saved == sizeof(gate->saved) / sizeof(gate->saved[0]))
			return;
		gate->n_saved++;
	}
	gate->saved[i] = (struct saved){*ticket, sim_moment(sim)};
}

static bool live(enum ticket_state state)
{
	return state == TICKET_HELD || state == TICKET_RELEASED || state == TICKET_RUNNING;
}

static int64_t on_outcome(void *data, const struct outcome *outcome)
{
	struct sim *sim = data;
	struct job *job;
	int64_t id = 0;

	if (outcome->kind == OUTCOME_UNCHANGED)
		return 0;
	job = sim_job_of(sim, outcome->ticket);
	/* A newcomer's id is known here for the first time; an earlier run of the job is not it. */
	if (!job && outcome->subject->worker.pid > 0)
		job = &sim->jobs[outcome->subject->worker.pid % SIM_MAX_JOBS];
	if (job && job->worker.pid != outcome->subject->worker.pid)
		job = NULL;
	sim->gate.n_effects++;
	if (outcome->kind == OUTCOME_DECIDED)
		id = sim->gate.next_decision++;
	if (live(outcome->after))
		put(sim, outcome->subject);
	else
		forget(&sim->gate, outcome->ticket);
	if (!job)
		return id;
	job->ticket_state = outcome->after;
	if (outcome->kind == OUTCOME_STATE) {
		job->effect_state = true;
		check_state(sim, job, outcome);
		return id;
	}
	sim->gate.n_decisions++;
	job->decisions++;
	job->effect_decided = true;
	job->effect = *outcome->decision;
	job->effect_held_ms = ticket_held_ms(outcome->subject, &sim->gate.now);
	check_decided(sim, job, outcome);
	return id;
}

static void step_begin(struct sim *sim, struct ticket_run *ret)
{
	struct sim_gate *gate = &sim->gate;
	size_t i;

	gate->now = sim_moment(sim);
	gate->n_effects = 0;
	for (i = 0; i < sim->n_jobs; i++)
		sim->jobs[i].effect_decided = sim->jobs[i].effect_state = false;
	gate->world = (struct world){sim, gate->policy, look, overrides};
	*ret = (struct ticket_run){.tickets = &gate->tickets,
		.world = &gate->world,
		.now = gate->now,
		.scratch = &gate->scratch,
		.emit = on_outcome,
		.emit_data = sim};
}

static void answer_fill(struct answer *ret, const struct decision *d)
{
	size_t i;

	ret->decision = 1;
	ret->act = d->act;
	ret->verdict = d->verdict;
	ret->would_be = d->would_be;
	ret->step = d->step;
	snprintf(ret->rule, sizeof(ret->rule), "%s", d->rule);
	snprintf(ret->array, sizeof(ret->array), "%s", d->array);
	ret->n_reasons = d->n_reasons;
	for (i = 0; i < d->n_reasons; i++)
		snprintf(ret->reasons[i].code, sizeof(ret->reasons[i].code), "%s",
			reason_word(d->reasons[i].code));
	ret->ends_in_ms = d->ends_in_ms;
	ret->then = d->then;
	ret->expected_ms = d->expected_ms;
	ret->recorded = true;
}

/* As reply_fill(); its spans as answer_reply() brings them up to now. */
static void answer_ticket(struct sim *sim, struct job *job, const struct ticket *ticket)
{
	struct answer *answer = &job->answer;
	int64_t age = sim->t - ticket->decided_boot_ms;

	memset(answer, 0, sizeof(*answer));
	answer->ticket = ticket->id;
	answer->held_ms = ticket_held_ms(ticket, &sim->gate.now);
	snprintf(answer->nas, sizeof(answer->nas), "%s", ticket->nas);
	answer_fill(answer, &ticket->last);
	if (answer->ends_in_ms.known)
		answer->ends_in_ms.v = answer->ends_in_ms.v > age ? answer->ends_in_ms.v - age : 0;
	job->told = job->decisions;
}

/* As desk_news() and waiters_tell(): who waits and whose ticket this step has changed. */
static void tell(struct sim *sim)
{
	size_t i;

	for (i = 0; i < sim->n_jobs; i++) {
		struct job *job = &sim->jobs[i];
		struct ticket *ticket;

		if (job->call != CALL_WAITS || (!job->effect_decided && !job->effect_state))
			continue;
		ticket = ticket_find(&sim->gate.tickets, job->ticket);
		if (ticket) {
			answer_ticket(sim, job, ticket);
		} else if (job->effect_decided) {
			memset(&job->answer, 0, sizeof(job->answer));
			job->answer.ticket = job->ticket;
			job->answer.held_ms = job->effect_held_ms;
			answer_fill(&job->answer, &job->effect);
		}
		job_answered(sim, job, !ticket && !job->effect_decided);
	}
}

static void step_commit(struct sim *sim)
{
	struct ticket_run run = {.tickets = &sim->gate.tickets,
		.world = &sim->gate.world,
		.now = sim->gate.now,
		.scratch = &sim->gate.scratch};
	struct opt next;
	size_t i;

	tell(sim);
	next = ticket_next_ms(&run);
	sim->gate.tick_ms = SIM_NEVER;
	if (next.known)
		sim->gate.tick_ms = next.v > sim->t + TICK_MIN_MS ? next.v : sim->t + TICK_MIN_MS;
	for (i = 0; i < sim->n_nas; i++)
		watch_replan(sim, i);
}

/* What was held before a restart goes on being held until its NAS was looked at. */
static bool looked_at(struct sim *sim, size_t at)
{
	return watch_facts(sim, at)->sensor != SENSOR_NEVER;
}

static void step_tick(struct sim *sim, struct ticket_run *run)
{
	bool all = true;
	size_t i;

	for (i = 0; i < sim->n_nas; i++)
		all = all && looked_at(sim, i);
	if (all) {
		ticket_tick(run, NULL);
		return;
	}
	for (i = 0; i < sim->n_nas; i++) {
		if (looked_at(sim, i))
			ticket_tick(run, sim->nas[i].name);
	}
}

void gate_changed(struct sim *sim)
{
	struct ticket_run run;

	step_begin(sim, &run);
	step_tick(sim, &run);
	step_commit(sim);
}

void gate_looked(struct sim *sim, size_t at)
{
	struct ticket_run run;

	step_begin(sim, &run);
	if (looked_at(sim, at))
		ticket_tick(&run, sim->nas[at].name);
	step_commit(sim);
}

bool gate_waits(const struct sim *sim, const char *nas)
{
	const struct tickets *tickets = &sim->gate.tickets;
	size_t i;

	for (i = 0; i < tickets->n; i++) {
		const struct ticket *ticket = &tickets->list[i];

		if ((ticket->state == TICKET_HELD || ticket->recheck_boot_ms.known) &&
			strcmp(ticket->nas, nas) == 0)
			return true;
	}
	return false;
}

static void ask_fill(const struct job *job, struct ticket *ret)
{
	struct request *request = &ret->request;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	request->client = job->client;
	request->phase = job->state == JOB_GUEST ? PHASE_BACKUP_START
		: job->state == JOB_START        ? PHASE_JOB_START
						 : PHASE_JOB_INIT;
	snprintf(request->storage, sizeof(request->storage), "%s", job->storage);
	snprintf(request->node, sizeof(request->node), "%s", job->node);
	if (job->state == JOB_GUEST) {
		request->guest = job->first_guest + (uint32_t)job->guest - 1;
		request->guest_type = GUEST_QEMU;
		request->mode = MODE_SNAPSHOT;
	}
	request->next_start_utc_ms = job->next_start_utc_ms;
	if (job->predicted_ms.known || job->backed_up_ms.known) {
		request->n_guests = (size_t)job->n_guests;
		for (i = 0; i < request->n_guests; i++)
			request->guests[i] = job->first_guest + (uint32_t)i;
		request->n_qemu = OPT(job->n_guests);
	}
	ret->worker = job->worker;
	ret->id = job->step.ticket;
	ret->held_before_ms = job->step.held_ms;
}

/* As desk_find(). */
static struct ticket *find(struct sim *sim, int64_t id, const struct worker *worker)
{
	struct ticket *ticket = ticket_find(&sim->gate.tickets, id);

	if (ticket && ticket->worker.pid == worker->pid &&
		ticket->worker.start_ticks == worker->start_ticks)
		return ticket;
	return ticket_find_worker(&sim->gate.tickets, worker);
}

/* As desk_ask() and ask_now(). */
void gate_ask_now(struct sim *sim, struct job *job)
{
	static struct ticket ask;
	struct ticket_run run;
	struct ticket *ticket;
	bool known, news;

	ask_fill(job, &ask);
	ticket = find(sim, ask.id, &ask.worker);
	step_begin(sim, &run);
	if (ticket && ask.request.phase > PHASE_JOB_INIT)
		ticket = ticket_recheck(&run, ticket->id, &ask.request);
	else
		ticket = ticket_ask(&run, &ask);
	job->call = CALL_NONE;
	if (!ticket) {
		step_commit(sim);
		job_answered(sim, job, true);
		return;
	}
	known = ask.id == ticket->id;
	news = job->told != job->decisions;
	job->ticket = ticket->id;
	answer_ticket(sim, job, ticket);
	step_commit(sim);
	if (job->answer.act == VERDICT_HOLD && known && !news && job->step.wait_ms > 0) {
		job->call = CALL_WAITS;
		job->wake_ms = sim->t +
			(job->step.wait_ms < WAIT_MAX_MS ? job->step.wait_ms : WAIT_MAX_MS);
		return;
	}
	job_answered(sim, job, false);
}

/* As pending_add(). */
void gate_ask(struct sim *sim, struct job *job)
{
	const char *nas = sim_mapping(sim, job->storage)->nas;
	size_t at;

	if (!sim->gate.up) {
		job_answered(sim, job, true);
		return;
	}
	for (at = 0; at < sim->n_nas; at++) {
		if (strcmp(sim->nas[at].name, nas) == 0 && watch_freshen(sim, at)) {
			job->call = CALL_LOOK;
			job->wake_ms = SIM_NEVER;
			return;
		}
	}
	gate_ask_now(sim, job);
}

/* As desk_look(): 25 s are over, as things stand now. */
void gate_answer_waiting(struct sim *sim, struct job *job)
{
	struct ticket *ticket = ticket_find(&sim->gate.tickets, job->ticket);
	struct ticket_run run;
	size_t at;

	if (!ticket) {
		job_answered(sim, job, true);
		return;
	}
	step_begin(sim, &run);
	for (at = 0; at < sim->n_nas; at++) {
		if (strcmp(sim->nas[at].name, ticket->nas) == 0 && looked_at(sim, at))
			ticket_tick(&run, ticket->nas);
	}
	step_commit(sim);
	if (job->call != CALL_WAITS)
		return;
	ticket = ticket_find(&sim->gate.tickets, job->ticket);
	if (ticket)
		answer_ticket(sim, job, ticket);
	job_answered(sim, job, !ticket);
}

/* As take_up() of told.c. */
static struct ticket *take_up(struct sim *sim, const struct job *job)
{
	static struct ticket fresh;
	int64_t next = sim->gate.tickets.next_id < 1 ? 1 : sim->gate.tickets.next_id;

	ask_fill(job, &fresh);
	fresh.request.phase = PHASE_JOB_INIT;
	fresh.id = next;
	fresh.held_before_ms = 0;
	fresh.state = TICKET_RUNNING;
	fresh.asked_boot_ms = fresh.seen_boot_ms = sim->t;
	fresh.asked_utc_ms = sim->gate.now.utc_ms;
	fresh.released_boot_ms = fresh.running_boot_ms = OPT(sim->t);
	fresh.slot = true;
	snprintf(fresh.nas, sizeof(fresh.nas), "%s", sim_mapping(sim, job->storage)->nas);
	if (!ticket_restore(&sim->gate.tickets, &fresh))
		return NULL;
	put(sim, &fresh);
	return ticket_find(&sim->gate.tickets, fresh.id);
}

void gate_report(struct sim *sim, struct job *job, const char *phase)
{
	struct ticket *ticket;
	struct ticket_run run;

	if (!sim->gate.up || !sim->gated)
		return;
	step_begin(sim, &run);
	ticket = find(sim, job->ticket, &job->worker);
	if (!ticket)
		ticket = take_up(sim, job);
	if (ticket) {
		ticket->seen_boot_ms = sim->t;
		if (!strcmp(phase, "job-end") || !strcmp(phase, "job-abort") ||
			!strcmp(phase, "run-end")) {
			ticket_ended(&run, ticket->id, phase);
			step_tick(sim, &run);
		} else {
			ticket_started(&run, ticket->id);
			if (!strcmp(phase, "backup-start"))
				ticket->guest = job->first_guest + (uint32_t)job->guest - 1;
			else
				ticket->guest = 0;
		}
	}
	step_commit(sim);
}

void gate_withdraw(struct sim *sim, struct job *job)
{
	struct ticket *ticket = find(sim, job->ticket, &job->worker);
	struct ticket_run run;

	if (!sim->gate.up || !ticket)
		return;
	step_begin(sim, &run);
	if (ticket_withdraw(&run, ticket->id, "the job was aborted"))
		step_tick(sim, &run);
	step_commit(sim);
}

void gate_ticket_gone(struct sim *sim, int64_t id)
{
	struct ticket *ticket = ticket_find(&sim->gate.tickets, id);
	struct ticket_run run;

	if (!sim->gate.up || !ticket)
		return;
	step_begin(sim, &run);
	if (ticket->state == TICKET_HELD)
		ticket_withdraw(&run, ticket->id, "its process has ended");
	else if (ticket->request.client == CLIENT_VZDUMP)
		ticket_lost(&run, ticket->id, "its process has ended without a word");
	else
		ticket_ended(&run, ticket->id, "its process has ended");
	step_tick(sim, &run);
	step_commit(sim);
}

void gate_worker_gone(struct sim *sim, struct job *job)
{
	gate_ticket_gone(sim, job->ticket);
}

bool gate_release(struct sim *sim, struct job *job, const char *reason)
{
	struct ticket *ticket = ticket_find(&sim->gate.tickets, job->ticket);
	struct ticket_run run;

	if (!sim->gate.up || !ticket ||
		(ticket->state != TICKET_HELD && !ticket->recheck_boot_ms.known))
		return false;
	step_begin(sim, &run);
	ticket_release(&run, ticket->id, "operator", reason);
	step_commit(sim);
	return true;
}

bool gate_override(struct sim *sim, struct override *override)
{
	struct sim_gate *gate = &sim->gate;

	if (!gate->up || gate->n_overrides == SIM_MAX_OVERRIDES)
		return false;
	override->id = gate->next_override++;
	gate->overrides[gate->n_overrides++] = *override;
	gate_changed(sim);
	return true;
}

bool gate_override_cancel(struct sim *sim, int64_t id)
{
	struct sim_gate *gate = &sim->gate;
	size_t i;

	for (i = 0; i < gate->n_overrides; i++) {
		if (gate->overrides[i].id != id)
			continue;
		gate->overrides[i] = gate->overrides[--gate->n_overrides];
		gate_changed(sim);
		return true;
	}
	return false;
}

static void sweep(struct sim *sim)
{
	struct ticket_run run;

	sim->gate.chores_ms = sim->t + SIM_CHORES_MS;
	if (!sim->gate.tickets.n)
		return;
	step_begin(sim, &run);
	ticket_sweep(&run, sim->silence_ms, sim->gate.started_ms, sim->own_node);
	if (sim->gate.n_effects)
		step_tick(sim, &run);
	step_commit(sim);
}

int64_t gate_next(const struct sim *sim)
{
	const struct sim_gate *gate = &sim->gate;
	int64_t next = gate->tick_ms < gate->chores_ms ? gate->tick_ms : gate->chores_ms;
	size_t i;

	if (!gate->up)
		return SIM_NEVER;
	for (i = 0; i < sim->n_nas; i++) {
		const struct sim_watch *watch = &gate->watches[i];
		int64_t at = watch->looking ? watch->ends_ms : watch->next_ms;

		if (at < next)
			next = at;
	}
	return next;
}

bool gate_due(struct sim *sim)
{
	struct sim_gate *gate = &sim->gate;
	size_t i;

	if (!gate->up)
		return false;
	for (i = 0; i < sim->n_nas; i++) {
		struct sim_watch *watch = &gate->watches[i];

		if (watch->looking && watch->ends_ms <= sim->t) {
			watch_end(sim, i);
			return true;
		}
		if (!watch->looking && watch->next_ms <= sim->t) {
			watch_begin(sim, i);
			return true;
		}
	}
	if (gate->tick_ms <= sim->t) {
		gate_changed(sim);
		return true;
	}
	if (gate->chores_ms <= sim->t) {
		sweep(sim);
		return true;
	}
	return false;
}
