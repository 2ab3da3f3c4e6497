// SPDX-License-Identifier: MIT
/* One step of the desk: everything in it is recorded in one batch; then, and only then, it is told.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/desk_impl.h"
#include "gate/levers.h"
#include "gate/waiters.h"
#include "gate/watch.h"
#include "gate/workers.h"
#include "wire/wire.h"

#define ANCHOR_ROWS 100
#define TICK_MIN_MS 200
#define EFFECTS_KEEP 64 /* larger lists are freed after their step */

struct card *card_of(struct desk *desk, int64_t ticket)
{
	struct card *empty = NULL;
	size_t i;

	for (i = 0; i < TICKETS_MAX; i++) {
		if (desk->cards[i].ticket == ticket)
			return &desk->cards[i];
		if (!empty && !desk->cards[i].ticket)
			empty = &desk->cards[i];
	}
	if (empty)
		*empty = (struct card){.ticket = ticket};
	return empty;
}

void card_drop(struct desk *desk, int64_t ticket)
{
	size_t i;

	for (i = 0; i < TICKETS_MAX; i++)
		if (desk->cards[i].ticket == ticket)
			desk->cards[i] = (struct card){0};
}

const struct effect *effect_of(const struct desk *desk, int64_t ticket, enum outcome_kind kind)
{
	size_t i;

	for (i = desk->n_effects; i > 0; i--)
		if (desk->effects[i - 1].ticket == ticket && desk->effects[i - 1].kind == kind)
			return &desk->effects[i - 1];
	return NULL;
}

static bool live(enum ticket_state state)
{
	return state == TICKET_HELD || state == TICKET_RELEASED || state == TICKET_RUNNING;
}

/* NULL without memory: then the step is recorded all the same, only less is told. */
static struct effect *effect_new(struct desk *desk)
{
	size_t cap = desk->cap_effects ? desk->cap_effects * 2 : 8;
	struct effect *list;

	if (desk->n_effects == desk->cap_effects) {
		list = realloc(desk->effects, cap * sizeof(*list));
		if (!list)
			return NULL;
		desk->effects = list;
		desk->cap_effects = cap;
	}
	return memset(&desk->effects[desk->n_effects++], 0, sizeof(struct effect));
}

static void note_effect(struct desk *desk, const struct outcome *outcome, int64_t id)
{
	const struct ticket *ticket = outcome->subject;
	struct effect *effect = effect_new(desk);

	if (!effect)
		return;
	effect->kind = outcome->kind;
	effect->ticket = outcome->ticket;
	effect->before = outcome->before;
	effect->after = outcome->after;
	effect->client = ticket->request.client;
	effect->held_ms = ticket_held_ms(ticket, &desk->now);
	effect->decision_id = id;
	if (outcome->decision)
		effect->decision = *outcome->decision;
	snprintf(effect->why, sizeof(effect->why), "%s", outcome->why);
	snprintf(effect->storage, sizeof(effect->storage), "%s", ticket->request.storage);
	snprintf(effect->node, sizeof(effect->node), "%s", ticket->request.node);
	snprintf(effect->nas, sizeof(effect->nas), "%s", ticket->nas);
	snprintf(effect->released_by, sizeof(effect->released_by), "%s", ticket->release_by);
}

static int64_t record_decision(struct desk *desk, const struct outcome *outcome)
{
	const struct store_decision row = {
		.inputs = outcome->inputs,
		.decision = outcome->decision,
		.ticket = outcome->ticket,
		.held_ms = ticket_held_ms(outcome->subject, &desk->now),
		.policy_hash = desk->gate->policy_hash,
		.upid = outcome->subject->upid,
		.job_id = outcome->subject->job_id,
	};

	desk->anchored++;
	desk->counts.decisions[outcome->decision->verdict]++;
	return store_add_decision(desk->gate->store, &row);
}

/* The ticket as it is now; the machine itself learns the decision's id only from our return. */
static void put_ticket(struct desk *desk, const struct outcome *outcome, int64_t id)
{
	static struct ticket copy;

	copy = *outcome->subject;
	if (outcome->kind == OUTCOME_DECIDED)
		copy.last_decision_id = id;
	store_put_ticket(desk->gate->store, &copy, &desk->now, outcome->before, outcome->why);
}

static int64_t on_outcome(void *data, const struct outcome *outcome)
{
	struct desk *desk = data;
	struct card *card;
	int64_t id = 0;

	if (outcome->kind == OUTCOME_UNCHANGED)
		return 0;
	if (outcome->kind == OUTCOME_DECIDED)
		id = record_decision(desk, outcome);
	put_ticket(desk, outcome, id);
	note_effect(desk, outcome, id);
	if (!live(outcome->after)) {
		card_drop(desk, outcome->ticket);
		return id;
	}
	card = card_of(desk, outcome->ticket);
	if (card && outcome->kind == OUTCOME_DECIDED)
		card->decisions++;
	return id;
}

/* A policy whose text the record did not take is given to it again once it takes anything: no
 * decision stands there without what it was decided by. */
static void put_policy(struct desk *desk)
{
	struct gate *gate = desk->gate;
	struct store_health health;

	if (desk->policy_recorded)
		return;
	store_health(gate->store, &health);
	if (health.ok || !desk->policy_tried)
		store_add_policy(gate->store, buf_str(&gate->policy_text), desk->now.utc_ms,
			gate->policy_hash);
	desk->policy_tried = true;
}

void step_begin(struct desk *desk, struct ticket_run *ret_run)
{
	desk->now = desk->gate->now = clock_now();
	desk->n_effects = 0;
	store_begin(desk->gate->store);
	*ret_run = (struct ticket_run){
		.tickets = &desk->tickets,
		.world = &desk->world,
		.now = desk->now,
		.scratch = &desk->scratch,
		.emit = on_outcome,
		.emit_data = desk,
	};
	desk->world.policy = desk->gate->policy;
	put_policy(desk);
}

static void on_lost_line(void *data, const char *json)
{
	(void)data;
	log_err("Not recorded anywhere but here: %s", json);
}

static void commit(struct desk *desk)
{
	struct store *store = desk->gate->store;

	desk->record_err = (struct err){0};
	desk->where = store_commit(store, &desk->record_err);
	if (desk->where == STORE_LOST)
		store_lost_each(store, on_lost_line, NULL);
	if (desk->where == STORE_RECORDED || desk->where == STORE_SPILLED)
		desk->policy_recorded = true;
	if (!desk_recorded(desk))
		record_tell(desk->gate);
}

bool desk_recorded(const struct desk *desk)
{
	return desk->where != STORE_SPILLED && desk->where != STORE_LOST;
}

void desk_anchor(struct desk *desk)
{
	struct store_head head;

	desk->anchored = 0;
	store_head(desk->gate->store, &head);
	log_notice("The record's head decision=%lld hash=%s", (long long)head.id, head.hash);
}

/* A NAS that was not looked at yet since the start says nothing: what was held before goes on being
 * held. */
static bool looked_at(struct gate *gate, const char *nas)
{
	struct watch *watch = gate_watch(gate, nas);

	return !watch || watch_facts(watch, &gate->now)->sensor != SENSOR_NEVER;
}

static void tick_one(struct desk *desk, struct ticket_run *run, const char *nas)
{
	if (looked_at(desk->gate, nas))
		ticket_tick(run, nas);
}

/* Those held for a NAS that the configuration no longer names: no look of it will come. They are
 * decided by what their storage is mapped to now. */
static void tick_strays(struct desk *desk, struct ticket_run *run)
{
	char nas[sizeof(desk->tickets.list[0].nas)];
	struct mapping mapping;
	size_t i;

	for (i = 0; i < desk->tickets.n; i++) {
		const struct ticket *ticket = &desk->tickets.list[i];

		if (!desk_ticket_waits(ticket) || gate_watch(desk->gate, ticket->nas))
			continue;
		settings_mapping(desk->gate->settings, ticket->request.storage, &mapping);
		if (mapping.nas[0] && !looked_at(desk->gate, mapping.nas))
			continue;
		snprintf(nas, sizeof(nas), "%s", ticket->nas);
		ticket_tick(run, nas);
	}
}

void step_tick(struct desk *desk, struct ticket_run *run, const char *nas)
{
	struct gate *gate = desk->gate;
	bool all = true;
	size_t i;

	for (i = 0; i < gate->n_watches; i++)
		all = all && looked_at(gate, watch_name(gate->watches[i]));
	if (!nas && all) {
		ticket_tick(run, NULL);
		return;
	}
	for (i = 0; !nas && i < gate->n_watches; i++)
		tick_one(desk, run, watch_name(gate->watches[i]));
	if (nas)
		tick_one(desk, run, nas);
	tick_strays(desk, run);
}

static void mind_worker(struct desk *desk, const struct effect *effect)
{
	const struct ticket *ticket = ticket_find(&desk->tickets, effect->ticket);

	if (ticket)
		workers_watch(desk->gate->workers, ticket);
	else
		workers_forget(desk->gate->workers, effect->ticket);
}

static void plan_tick(struct desk *desk)
{
	struct ticket_run run = {
		.tickets = &desk->tickets,
		.world = &desk->world,
		.now = desk->now,
		.scratch = &desk->scratch,
		.emit = on_outcome,
		.emit_data = desk,
	};
	struct opt next = ticket_next_ms(&run);

	if (next.known)
		timer_at(&desk->tick,
			next.v > desk->now.boot_ms + TICK_MIN_MS ? next.v
								 : desk->now.boot_ms + TICK_MIN_MS);
	else
		timer_off(&desk->tick);
}

/* What if_record_fails makes of those whose decision is a hold that could not be recorded. They are
 * changed in a second step, whose own record may fail as well. */
static void answer_unrecorded(struct desk *desk)
{
	bool allow = desk->gate->settings->if_record_fails == VERDICT_ALLOW;
	struct ticket_run run;
	int64_t ids[TICKETS_MAX];
	size_t i, n = 0;

	for (i = 0; i < desk->n_effects && n < TICKETS_MAX; i++) {
		const struct effect *effect = &desk->effects[i];

		if (effect->kind == OUTCOME_DECIDED)
			desk->counts.unrecorded++;
		if (effect->kind == OUTCOME_DECIDED && effect->after == TICKET_HELD)
			ids[n++] = effect->ticket;
	}
	if (!n)
		return;
	step_begin(desk, &run);
	for (i = 0; i < n; i++) {
		if (allow)
			ticket_release(
				&run, ids[i], "rebuildgated", "The record cannot be written");
		else
			ticket_withdraw(&run, ids[i], "The record cannot be written");
	}
	commit(desk);
	for (i = 0; i < desk->n_effects; i++) {
		effect_tell(desk, &desk->effects[i]);
		mind_worker(desk, &desk->effects[i]);
	}
}

void step_commit(struct desk *desk)
{
	size_t i;

	commit(desk);
	for (i = 0; i < desk->n_effects; i++) {
		effect_tell(desk, &desk->effects[i]);
		mind_worker(desk, &desk->effects[i]);
	}
	waiters_tell(desk->gate->waiters, desk);
}

void step_after(struct desk *desk)
{
	size_t i;

	if (!desk_recorded(desk))
		answer_unrecorded(desk);
	if (desk->anchored >= ANCHOR_ROWS)
		desk_anchor(desk);
	plan_tick(desk);
	levers_changed(desk->gate->levers);
	for (i = 0; i < desk->gate->n_watches; i++)
		watch_replan(desk->gate->watches[i]);
	if (desk->cap_effects > EFFECTS_KEEP) {
		free(desk->effects);
		desk->effects = NULL;
		desk->n_effects = desk->cap_effects = 0;
	}
}
