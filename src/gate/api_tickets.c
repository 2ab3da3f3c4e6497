// SPDX-License-Identifier: MIT
/* Tickets and overrides: shown, and what an operator may do to them. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "gate/answer.h"
#include "gate/api.h"
#include "gate/desk_impl.h"
#include "gate/levers.h"
#include "gate/server.h"
#include "wire/wire.h"

#define ENDED_MAX 200
#define OVERRIDES_MAX 500

struct list {
	json_t *list;
	struct moment now;
};

static json_t *live_json(struct gate *gate, const struct ticket *ticket, const struct moment *now)
{
	json_t *object = wire_ticket(ticket, now);

	if (object && json_put(object, "lever", levers_ticket(gate->levers, ticket->id)))
		return object;
	json_decref(object);
	return NULL;
}

json_t *api_tickets_json(struct gate *gate)
{
	const struct tickets *tickets = desk_tickets(gate->desk);
	struct moment now = clock_now();
	json_t *list = json_array();
	size_t i;

	for (i = 0; list && i < tickets->n; i++)
		if (json_array_append_new(list, live_json(gate, &tickets->list[i], &now)) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static void add_ended(void *data, const struct ticket *ticket)
{
	struct list *list = data;

	json_array_append_new(list->list, wire_ticket(ticket, &list->now));
}

void api_tickets(struct gate *gate, struct call *call, const struct api_args *args)
{
	struct list list = {api_tickets_json(gate), clock_now()};
	json_t *object = json_object();
	struct err err = {0};

	(void)args;
	if (list.list && api_query_flag(call, "all") &&
		!store_tickets_ended(gate->store, &list.now, ENDED_MAX, add_ended, &list, &err)) {
		json_decref(list.list);
		json_decref(object);
		answer_err(call, &err);
		return;
	}
	if (!json_put(object, "tickets", list.list)) {
		json_decref(object);
		object = NULL;
	}
	answer_json(call, 200, object);
}

static bool reason_read(const json_t *body, const char **ret, struct err *err)
{
	const char *at;

	if (!json_get_text(body, "reason", ret, err))
		return false;
	for (at = *ret; *at == ' '; at++)
		;
	return *at ||
		err_set(err, ERR_INVALID, "member 'reason' is empty: say why, for the record");
}

void api_release(struct gate *gate, struct call *call, const struct api_args *args)
{
	const char *reason = NULL;
	uint64_t id = 0;
	struct err err = {0};

	if (!u64_parse(args->arg, 1, INT64_MAX, &id, &err) ||
		!reason_read(args->body, &reason, &err) ||
		!desk_release(gate->desk, (int64_t)id, call_peer(call)->name, reason, &err)) {
		answer_err(call, &err);
		return;
	}
	answer_json(call, 200, json_object());
}

/* As the API shows one; `cancelled_utc_ms` 0 is null. */
static json_t *override_json(
	const struct override *override, int64_t cancelled_utc_ms, const char *cancelled_by)
{
	json_t *object = wire_override(override);

	if (object &&
		json_put_opt(object, "cancelled_utc_ms",
			cancelled_utc_ms ? OPT(cancelled_utc_ms) : OPT_NONE) &&
		json_put_text(object, "cancelled_by", cancelled_by))
		return object;
	json_decref(object);
	return NULL;
}

json_t *api_overrides_json(struct gate *gate)
{
	static struct override overrides[OVERRIDE_MAX];
	struct moment now = clock_now();
	size_t i, n = store_overrides(gate->store, now.utc_ms, overrides, OVERRIDE_MAX);
	json_t *list = json_array();

	for (i = 0; list && i < n; i++)
		if (json_array_append_new(list, override_json(&overrides[i], 0, "")) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static void add_override(void *data, const struct store_override *row)
{
	json_array_append_new(
		data, override_json(&row->override, row->cancelled_utc_ms, row->cancelled_by));
}

void api_overrides(struct gate *gate, struct call *call, const struct api_args *args)
{
	bool all = api_query_flag(call, "all");
	json_t *object = json_object(), *list = all ? json_array() : api_overrides_json(gate);
	struct err err = {0};

	(void)args;
	if (all && !store_overrides_all(gate->store, OVERRIDES_MAX, add_override, list, &err)) {
		json_decref(list);
		json_decref(object);
		answer_err(call, &err);
		return;
	}
	if (!json_put(object, "overrides", list)) {
		json_decref(object);
		object = NULL;
	}
	answer_json(call, 200, object);
}

static void known_nas(const struct settings *settings, struct buf *ret)
{
	size_t i;

	for (i = 0; i < settings->n_nas; i++)
		buf_addf(ret, "%s%s", i ? ", " : "", settings->nas[i].name);
}

static void known_storages(const struct settings *settings, struct buf *ret)
{
	size_t i;

	for (i = 0; i < settings->n_storages; i++)
		buf_addf(ret, "%s%s", i ? ", " : "", settings->storages[i].name);
}

static bool scope_good(
	const struct settings *settings, const struct override *override, struct err *err)
{
	struct mapping mapping = {0};
	struct buf known = {0};

	if (!override->nas[0])
		return true;
	if (!settings_nas(settings, override->nas)) {
		known_nas(settings, &known);
		err_set(err, ERR_INVALID, "There is no NAS '%s': known are %.200s", override->nas,
			buf_str(&known));
		buf_release(&known);
		return false;
	}
	if (!override->storage[0])
		return true;
	settings_mapping(settings, override->storage, &mapping);
	if (strcmp(mapping.nas, override->nas) == 0)
		return true;
	if (mapping.nas[0])
		return err_set(err, ERR_INVALID,
			"Storage '%s' is on %s, not on %s: this would never count",
			override->storage, mapping.nas, override->nas);
	return err_set(err, ERR_INVALID,
		"Storage '%s' is on no NAS in the settings, so not on %s: this would never count",
		override->storage, override->nas);
}

/* A storage that the settings do not know may be one that is mapped to nothing, whose jobs ask too;
 * or a typo. */
static bool add_warning(
	json_t *object, const struct settings *settings, const struct override *override)
{
	struct mapping mapping = {0};
	struct buf known = {0}, text = {0};
	bool done;

	if (override->storage[0])
		settings_mapping(settings, override->storage, &mapping);
	if (override->storage[0] && !mapping.nas[0]) {
		known_storages(settings, &known);
		buf_addf(&text,
			"the settings know no storage '%s' (known are %s): this counts only for "
			"jobs that name it so",
			override->storage, known.len ? buf_str(&known) : "none");
	}
	done = json_put_text(object, "warning", buf_str(&text));
	buf_release(&known);
	buf_release(&text);
	return done;
}

static bool override_good(struct gate *gate, const struct override *override,
	const struct moment *now, struct err *err)
{
	static struct override in_force[OVERRIDE_MAX];

	if (override->until_utc_ms <= now->utc_ms)
		return err_set(err, ERR_INVALID, "member 'until_utc_ms' must lie in the future");
	if (!scope_good(gate->settings, override, err))
		return false;
	if (store_overrides(gate->store, now->utc_ms, in_force, OVERRIDE_MAX) >= OVERRIDE_MAX)
		return err_set(err, ERR_BUSY, "%d overrides are in force already: cancel some",
			OVERRIDE_MAX);
	return true;
}

void api_override_add(struct gate *gate, struct call *call, const struct api_args *args)
{
	struct moment now = clock_now();
	struct override override;
	const char *reason = NULL;
	json_t *object;
	struct err err = {0};

	if (!wire_override_read(args->body, &override, &err) ||
		!reason_read(args->body, &reason, &err) ||
		!override_good(gate, &override, &now, &err)) {
		answer_err(call, &err);
		return;
	}
	override.id = 0;
	override.created_utc_ms = now.utc_ms;
	snprintf(override.by, sizeof(override.by), "%s", call_peer(call)->name);
	if (!desk_override(gate->desk, &override, &err)) {
		answer_err(call, &err);
		return;
	}
	log_notice("Override %lld by %s: %s: %s override=%lld", (long long) override.id,
		override.by, verdict_word(override.verdict), override.reason,
		(long long) override.id);
	object = override_json(&override, 0, "");
	if (object && !add_warning(object, gate->settings, &override)) {
		json_decref(object);
		object = NULL;
	}
	answer_json(call, 200, object);
}

void api_override_cancel(struct gate *gate, struct call *call, const struct api_args *args)
{
	const char *by = call_peer(call)->name;
	uint64_t id = 0;
	struct err err = {0};

	if (!u64_parse(args->arg, 1, INT64_MAX, &id, &err) ||
		!desk_override_cancel(gate->desk, (int64_t)id, by, &err)) {
		answer_err(call, &err);
		return;
	}
	log_notice(
		"Override %lld is cancelled by %s override=%lld", (long long)id, by, (long long)id);
	answer_json(call, 200, json_object());
}
