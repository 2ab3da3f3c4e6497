// SPDX-License-Identifier: MIT
/* What people see: the gate, its NAS, the verdict that a job would get now. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "gate/answer.h"
#include "gate/api.h"
#include "gate/floor_lever.h"
#include "gate/gate.h"
#include "gate/levers.h"
#include "gate/notify.h"
#include "gate/pending.h"
#include "gate/server.h"
#include "gate/watch.h"
#include "wire/wire.h"

static json_t *nas_json(struct watch *watch, const struct moment *now)
{
	json_t *object = wire_facts_show(watch_facts(watch, now), now);
	int64_t next = watch_next_ms(watch) - now->boot_ms;

	if (object && json_put_int(object, "next_look_ms", next > 0 ? next : 0))
		return object;
	json_decref(object);
	return NULL;
}

static json_t *all_nas_json(struct gate *gate, const struct moment *now)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; list && i < gate->n_watches; i++)
		if (json_array_append_new(list, nas_json(gate->watches[i], now)) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static json_t *arrays_json(const struct mapping *mapping)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < mapping->n_arrays; i++)
		json_array_append_new(list, json_string(mapping->arrays[i]));
	return list;
}

/* The answer of check: what decide() says to a job that would ask now. */
static json_t *check_json(struct gate *gate, const char *storage)
{
	const struct array_facts *array = NULL;
	struct mapping mapping;
	struct decision decision;
	struct watch *watch;
	json_t *object = json_object();

	settings_mapping(gate->settings, storage, &mapping);
	desk_check(gate->desk, storage, &decision);
	watch = gate_watch(gate, mapping.nas);
	if (watch && decision.array[0])
		array = nas_facts_find(watch_facts(watch, &gate->now), decision.array);
	if (json_put_text(object, "name", storage) && json_put_text(object, "storage", storage) &&
		json_put_text(object, "nas", mapping.nas) &&
		json_put(object, "arrays", arrays_json(&mapping)) &&
		json_put_text(object, "act", verdict_word(decision.act)) &&
		json_put_text(object, "verdict", verdict_word(decision.verdict)) &&
		json_put_text(object, "would_be", verdict_word(decision.would_be)) &&
		json_put_int(object, "step", decision.step) &&
		json_put_text(object, "rule", decision.rule) &&
		json_put_text(object, "array", decision.array) &&
		json_put(object, "reasons", wire_reasons(&decision)) &&
		json_put_opt(object, "ends_in_ms", decision.ends_in_ms) &&
		json_put_text(object, "then", verdict_word(decision.then)) &&
		json_put_text(object, "then_act", verdict_word(decision.then_act)) &&
		json_put_opt(object, "expected_ms", decision.expected_ms) &&
		json_put(object, "facts",
			array ? wire_array_show(array, &gate->now) : json_null()) &&
		json_put_text(object, "policy_hash", gate->policy_hash))
		return object;
	json_decref(object);
	return NULL;
}

static void check_now(struct gate *gate, struct call *call, void *data)
{
	answer_json(call, 200, check_json(gate, data));
	free(data);
}

void api_check(struct gate *gate, struct call *call, const struct api_args *args)
{
	const char *storage = call_query(call, "storage");
	struct mapping mapping;
	char *copy;

	(void)args;
	if (!storage || !*storage || strlen(storage) >= STORAGE_NAME_MAX) {
		answer_fail(call, ERR_INVALID, "Name a storage: /v1/check?storage=NAME");
		return;
	}
	copy = strdup(storage);
	if (!copy) {
		answer_fail(call, ERR_NOMEM, "There is no memory");
		return;
	}
	settings_mapping(gate->settings, storage, &mapping);
	if (mapping.nas[0])
		pending_add(gate->pending, mapping.nas, call, check_now, copy);
	else
		check_now(gate, call, copy);
}

static json_t *record_json(struct gate *gate)
{
	json_t *object = json_object();
	struct store_health health;

	store_health(gate->store, &health);
	json_put_bool(object, "ok", health.ok);
	json_put_int(object, "spilled", health.spilled);
	json_put_int(object, "lost", health.lost);
	json_put_text(
		object, "text", health.why.kind != ERR_NONE ? health.why.text : health.spill.text);
	return object;
}

static json_t *notices_json(struct gate *gate)
{
	const struct notify_trouble *trouble = notify_trouble(gate->notify);
	json_t *object = json_object();

	json_put_int(object, "failed", notify_counts(gate->notify)->failed);
	json_put_opt(object, "failed_utc_ms", trouble->utc_ms ? OPT(trouble->utc_ms) : OPT_NONE);
	json_put_text(object, "text", trouble->text);
	return object;
}

static json_t *gate_json(struct gate *gate)
{
	json_t *object = json_object();

	if (json_put_text(object, "node", gate->settings->node) &&
		json_put_text(object, "version", RG_VERSION) &&
		json_put_int(object, "pid", getpid()) &&
		json_put_int(object, "started_utc_ms", gate->started.utc_ms) &&
		json_put_text(object, "policy", gate->policy->name) &&
		json_put_text(object, "policy_hash", gate->policy_hash) &&
		json_put_bool(object, "enabled", gate->policy->enabled) &&
		json_put_bool(object, "observe", gate->policy->observe) &&
		json_put(object, "record", record_json(gate)) &&
		json_put(object, "notices", notices_json(gate)))
		return object;
	json_decref(object);
	return NULL;
}

static json_t *storages_json(struct gate *gate)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; list && i < gate->settings->n_storages; i++)
		if (json_array_append_new(
			    list, check_json(gate, gate->settings->storages[i].name)) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

/* What `rebuildgate levers` shows stands in the status too. */
static bool put_levers(struct gate *gate, json_t *object)
{
	json_t *levers;
	bool ok;

	if (!gate->levers)
		return true;
	levers = levers_show(gate->levers);
	ok = levers && json_object_update(object, levers) == 0;
	json_decref(levers);
	return ok;
}

static void status_now(struct gate *gate, struct call *call, void *data)
{
	json_t *object = json_object();
	struct moment now = clock_now();

	(void)data;
	if (!json_put(object, "gate", gate_json(gate)) ||
		!json_put(object, "nas", all_nas_json(gate, &now)) ||
		!json_put(object, "storages", storages_json(gate)) ||
		!json_put(object, "tickets", api_tickets_json(gate)) ||
		!json_put(object, "overrides", api_overrides_json(gate)) ||
		!put_levers(gate, object)) {
		json_decref(object);
		object = NULL;
	}
	answer_json(call, 200, object);
}

void api_status(struct gate *gate, struct call *call, const struct api_args *args)
{
	(void)args;
	pending_add(gate->pending, NULL, call, status_now, NULL);
}

void api_nas(struct gate *gate, struct call *call, const struct api_args *args)
{
	struct moment now = clock_now();
	json_t *object = json_object();

	(void)args;
	if (!json_put(object, "nas", all_nas_json(gate, &now))) {
		json_decref(object);
		object = NULL;
	}
	answer_json(call, 200, object);
}

/* `data` is the NAS's name: its watch may be another one by now. */
static void looked(struct gate *gate, struct call *call, void *data)
{
	struct watch *watch = gate_watch(gate, data);
	struct moment now = clock_now();

	if (watch)
		answer_json(call, 200, nas_json(watch, &now));
	else
		answer_fail(
			call, ERR_NOTFOUND, "There is no NAS '%s' any more", (const char *)data);
	free(data);
}

void api_nas_look(struct gate *gate, struct call *call, const struct api_args *args)
{
	struct floor_lever *lever = gate->floors ? floor_lever_find(gate->floors, args->arg) : NULL;
	struct watch *watch = gate_watch(gate, args->arg);
	char *name = NULL;
	struct err err = {0};

	if (!watch)
		err_set(&err, ERR_NOTFOUND, "There is no NAS '%s'", args->arg);
	else if (!(name = strdup(args->arg)))
		err_nomem(&err);
	else if (watch_look(watch, &err)) {
		if (lever)
			floor_lever_again(lever);
		pending_add(gate->pending, name, call, looked, name);
		return;
	}
	free(name);
	answer_err(call, &err);
}

void api_nas_forget(struct gate *gate, struct call *call, const struct api_args *args)
{
	struct watch *watch = gate_watch(gate, args->arg);
	const char *array = NULL;
	struct err err = {0};

	if (!watch)
		err_set(&err, ERR_NOTFOUND, "There is no NAS '%s'", args->arg);
	else if (json_get_text(args->body, "array", &array, &err) &&
		watch_forget(watch, array, &err)) {
		answer_json(call, 200, json_object());
		return;
	}
	answer_err(call, &err);
}

void api_policy(struct gate *gate, struct call *call, const struct api_args *args)
{
	json_t *object = json_object();

	(void)args;
	if (!json_put_text(object, "hash", gate->policy_hash) ||
		!json_put_text(object, "name", gate->policy->name) ||
		!json_put_text(object, "text", buf_str(&gate->policy_text))) {
		json_decref(object);
		object = NULL;
	}
	answer_json(call, 200, object);
}

void api_version(struct gate *gate, struct call *call, const struct api_args *args)
{
	json_t *object = json_object();

	(void)args;
	if (!json_put_text(object, "version", RG_VERSION) ||
		!json_put_text(object, "node", gate->settings->node)) {
		json_decref(object);
		object = NULL;
	}
	answer_json(call, 200, object);
}
