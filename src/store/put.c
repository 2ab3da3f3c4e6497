// SPDX-License-Identifier: MIT
/* What goes into a batch. */
#include <stdlib.h>
#include <string.h>

#include "store/inner.h"
#include "wire/wire.h"

#define READING_MS (5 * MS_MINUTE)

/* Ids of which 0 means none are NULL in the record. */
static bool put_id(json_t *op, const char *name, int64_t id)
{
	return json_put_opt(op, name, id ? OPT(id) : OPT_NONE);
}

/* `value` as text in a member of its own; steals it. */
static bool put_json(json_t *op, const char *name, json_t *value)
{
	char *text = value ? json_text(value, 0) : NULL;
	bool good = text && json_put_text(op, name, text);

	free(text);
	json_decref(value);
	return good;
}

/* Takes `op` into the batch if it is whole. */
static void add(struct store *store, json_t *op, bool good)
{
	if (!good) {
		json_decref(op);
		op = NULL;
	}
	batch_add(&store->batch, op);
}

static void policy_first(struct store *store)
{
	if (store->policy_recorded || !store->policy)
		return;
	batch_add(&store->batch, json_deep_copy(store->policy));
	store->policy_recorded = true; /* a batch that is lost takes this back */
}

static bool put_row(json_t *op, const struct store_decision *row)
{
	const struct request *request = &row->inputs->request;
	const struct decision *decision = row->decision;

	return json_put_int(op, "time_utc_ms", row->inputs->now.utc_ms) &&
		put_id(op, "ticket", row->ticket) &&
		json_put_text(op, "client", client_word(request->client)) &&
		json_put_text(op, "phase", phase_word(request->phase)) &&
		json_put_text(op, "storage", request->storage) &&
		json_put_text(op, "node", request->node) &&
		json_put_text(op, "nas", row->inputs->mapping.nas) &&
		json_put_text(op, "array", decision->array) &&
		put_id(op, "guest", request->guest) &&
		json_put_text(op, "mode", backup_mode_word(request->mode)) &&
		json_put_text(op, "verdict", verdict_word(decision->verdict)) &&
		json_put_text(op, "would_be", verdict_word(decision->would_be)) &&
		json_put_text(op, "act", verdict_word(decision->act)) &&
		json_put_int(op, "step", decision->step) &&
		json_put_text(op, "rule", decision->rule) &&
		json_put_int(op, "held_ms", row->held_ms) &&
		put_id(op, "override", decision->override_id) &&
		json_put_text(op, "policy", row->policy_hash) &&
		json_put_text(op, "upid", row->upid) && json_put_text(op, "job_id", row->job_id) &&
		put_json(op, "inputs", wire_inputs(row->inputs)) &&
		put_json(op, "decision", wire_decision(decision));
}

int64_t store_add_decision(struct store *store, const struct store_decision *row)
{
	json_t *op = batch_op("decision");
	int64_t id = store->ids_known ? store->next[ID_DECISION] : 0;
	bool good;

	policy_first(store);
	good = op && json_put_int(op, "id", id) && put_row(op, row);
	add(store, op, good);
	if (id && good)
		store->next[ID_DECISION]++;
	return good ? id : 0;
}

void store_add_policy(
	struct store *store, const char *text, int64_t utc_ms, char ret_hash[STORE_HASH_TEXT])
{
	json_t *op = batch_op("policy");
	bool good = store_sha256(text, strlen(text), ret_hash);

	if (!good)
		ret_hash[0] = '\0';
	good = good && op && json_put_text(op, "hash", ret_hash) &&
		json_put_int(op, "time_utc_ms", utc_ms) && json_put_text(op, "text", text);
	if (!good) {
		json_decref(op);
		store->batch.failed = true;
		return;
	}
	json_decref(store->policy);
	store->policy = op;
	store->policy_recorded = false;
	policy_first(store);
}

static bool live(enum ticket_state state)
{
	return state == TICKET_HELD || state == TICKET_RELEASED || state == TICKET_RUNNING;
}

static bool put_ticket(json_t *op, const struct store *store, const struct ticket *ticket,
	const struct moment *now)
{
	const struct request *request = &ticket->request;

	return json_put_int(op, "id", ticket->id) &&
		json_put_text(op, "state", ticket_state_word(ticket->state)) &&
		json_put_text(op, "client", client_word(request->client)) &&
		json_put_text(op, "storage", request->storage) &&
		json_put_text(op, "nas", ticket->nas) && json_put_text(op, "node", request->node) &&
		put_id(op, "guest", ticket->guest ? ticket->guest : request->guest) &&
		json_put_text(op, "upid", ticket->upid) &&
		json_put_text(op, "job_id", ticket->job_id) &&
		json_put_text(op, "act", verdict_word(ticket->last.act)) &&
		json_put_text(op, "rule", ticket->last.rule) &&
		json_put_int(op, "asked_utc_ms", ticket->asked_utc_ms) &&
		json_put_int(op, "changed_utc_ms", now->utc_ms) &&
		json_put_opt(
			op, "ended_utc_ms", live(ticket->state) ? OPT_NONE : OPT(now->utc_ms)) &&
		json_put_int(op, "held_ms", ticket_held_ms(ticket, now)) &&
		put_json(op, "data", wire_ticket_state(ticket, now, store->boot_id));
}

void store_put_ticket(struct store *store, const struct ticket *ticket, const struct moment *now,
	enum ticket_state before, const char *why)
{
	json_t *op = batch_op("ticket");

	add(store, op, op && put_ticket(op, store, ticket, now));
	if (ticket->id >= store->next[ID_TICKET])
		store->next[ID_TICKET] = ticket->id + 1;
	if (before == ticket->state && !(why && *why))
		return;
	op = batch_op("event");
	add(store, op,
		op && json_put_int(op, "ticket", ticket->id) &&
			json_put_int(op, "time_utc_ms", now->utc_ms) &&
			json_put_text(op, "before", ticket_state_word(before)) &&
			json_put_text(op, "after", ticket_state_word(ticket->state)) &&
			json_put_text(op, "why", why) && json_put_text(op, "nas", ticket->nas) &&
			json_put_text(op, "storage", ticket->request.storage) &&
			json_put_int(op, "held_ms", ticket_held_ms(ticket, now)));
}

void store_put_guest(struct store *store, const struct store_guest *guest)
{
	json_t *op = batch_op("guest");

	add(store, op,
		op && json_put_int(op, "ticket", guest->ticket) &&
			json_put_int(op, "guest", guest->guest) &&
			json_put_text(op, "guest_type", guest->guest_type) &&
			json_put_text(op, "mode", guest->mode) &&
			json_put_text(op, "hostname", guest->hostname) &&
			json_put_text(op, "target", guest->target) &&
			json_put_text(op, "outcome", guest->outcome) &&
			put_id(op, "began_utc_ms", guest->began_utc_ms) &&
			put_id(op, "ended_utc_ms", guest->ended_utc_ms));
}

/* FNV-1a over what a policy may ask for by word. */
static uint64_t mix(uint64_t digest, uint64_t value)
{
	int i;

	for (i = 0; i < 8; i++) {
		digest ^= value >> (8 * i) & 0xff;
		digest *= UINT64_C(1099511628211);
	}
	return digest;
}

static uint64_t shape_of(const struct nas_facts *facts)
{
	uint64_t digest = mix(UINT64_C(14695981039346656037), (uint64_t)facts->sensor);
	size_t i, k;

	for (i = 0; i < facts->n_arrays; i++) {
		const struct array_facts *array = &facts->arrays[i];

		for (k = 0; array->name[k]; k++)
			digest = mix(digest, (unsigned char)array->name[k]);
		digest = mix(digest, (uint64_t)array->operation);
		digest = mix(digest, (uint64_t)array->sync_state);
		digest = mix(digest, (uint64_t)array->health);
		digest = mix(digest, (uint64_t)(array->missing.known ? array->missing.v : -1));
	}
	return digest;
}

static struct store_seen *seen_of(struct store *store, const char *nas)
{
	struct store_seen *seen;
	size_t i;

	for (i = 0; i < store->n_seen; i++) {
		if (strcmp(store->seen[i].nas, nas) == 0)
			return &store->seen[i];
	}
	if (store->n_seen == STORE_MAX_NAS)
		return NULL;
	seen = &store->seen[store->n_seen++];
	memset(seen, 0, sizeof(*seen));
	memcpy(seen->nas, nas, strnlen(nas, sizeof(seen->nas) - 1));
	return seen;
}

void store_add_reading(struct store *store, const struct nas_facts *facts, const struct moment *now)
{
	struct store_seen *seen = seen_of(store, facts->name);
	uint64_t shape = shape_of(facts);
	json_t *op;

	if (seen && seen->shape == shape && now->boot_ms - seen->at_boot_ms < READING_MS)
		return;
	if (seen) {
		seen->shape = shape;
		seen->at_boot_ms = now->boot_ms;
	}
	op = batch_op("reading");
	add(store, op,
		op && json_put_int(op, "time_utc_ms", now->utc_ms) &&
			json_put_text(op, "nas", facts->name) &&
			json_put_text(op, "sensor", nas_sensor_word(facts->sensor)) &&
			put_json(op, "facts", wire_facts(facts)));
}

void store_put_memory(struct store *store, const char *nas, const char *text, int64_t utc_ms)
{
	json_t *op = batch_op("memory");

	add(store, op,
		op && json_put_text(op, "nas", nas) && json_put_int(op, "time_utc_ms", utc_ms) &&
			json_put_text(op, "data", text));
}

void store_add_lever(struct store *store, const struct store_lever *action)
{
	json_t *op = batch_op("lever");

	add(store, op,
		op && json_put_int(op, "time_utc_ms", action->utc_ms) &&
			put_id(op, "ticket", action->ticket) &&
			json_put_text(op, "lever", action->lever) &&
			json_put_text(op, "target", action->target) &&
			json_put_text(op, "before", action->before) &&
			json_put_text(op, "after", action->after) &&
			json_put_text(op, "why", action->why) &&
			json_put_int(op, "put_back", action->put_back));
}
