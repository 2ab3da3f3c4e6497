// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "wire/part.h"
#include "wire/wire.h"

/* decide() looks only at the arrays that the mapping covers: the others are not recorded. */
static json_t *facts_covered(const struct inputs *in)
{
	struct nas_facts *cut = malloc(sizeof(*cut));
	json_t *value;
	size_t i;

	if (!cut)
		return NULL;
	memcpy(cut, &in->facts, sizeof(*cut));
	cut->n_arrays = 0;
	for (i = 0; i < in->facts.n_arrays; i++) {
		if (mapping_covers(&in->mapping, &in->facts.arrays[i]))
			cut->arrays[cut->n_arrays++] = in->facts.arrays[i];
	}
	value = wire_facts(cut);
	free(cut);
	return value;
}

/* What a later release added is left out where it says nothing: such a row is as it was. */
static bool put_known(json_t *object, const char *name, struct opt v)
{
	return !v.known || json_put_opt(object, name, v);
}

static json_t *view_value(const struct ticket_view *view)
{
	json_t *object = json_object();

	return part_done(object,
		object && json_put_int(object, "id", view->id) &&
			json_put_bool(object, "was_held", view->was_held) &&
			(!view->only_restore || json_put_bool(object, "only_restore", true)) &&
			json_put_bool(object, "released", view->released) &&
			json_put_bool(object, "release_asked", view->release_asked) &&
			json_put_bool(object, "expired", view->expired) &&
			json_put_text(object, "expired_to", verdict_word(view->expired_to)) &&
			json_put_int(object, "held_ms", view->held_ms) &&
			json_put_int(object, "recheck_ms", view->recheck_ms) &&
			json_put_opt(object, "clear_ms", view->clear_ms) &&
			json_put_text(object, "hold_rule", view->hold_rule) &&
			json_put_int(object, "hold_step", view->hold_step) &&
			json_put_opt(object, "hold_blind_ms", view->hold_blind_ms) &&
			put_known(object, "too_slow_ppm", view->too_slow_ppm));
}

static bool view_read(const json_t *value, struct ticket_view *ret, struct err *err)
{
	int64_t hold_step = 0;

	if (!json_get_int(value, "id", 0, INT64_MAX, &ret->id, err) ||
		!json_get_bool(value, "was_held", &ret->was_held, err) ||
		!json_may_bool(value, "only_restore", &ret->only_restore, err) ||
		!json_get_bool(value, "released", &ret->released, err) ||
		!json_get_bool(value, "release_asked", &ret->release_asked, err) ||
		!json_get_bool(value, "expired", &ret->expired, err) ||
		!PART_GET_ENUM(value, "expired_to", verdict_parse, &ret->expired_to, err) ||
		!json_get_int(value, "held_ms", INT64_MIN, INT64_MAX, &ret->held_ms, err) ||
		!json_get_int(value, "recheck_ms", INT64_MIN, INT64_MAX, &ret->recheck_ms, err) ||
		!json_may_opt(value, "clear_ms", &ret->clear_ms, err) ||
		!json_may_copy(value, "hold_rule", ret->hold_rule, sizeof(ret->hold_rule), err) ||
		!json_get_int(value, "hold_step", 0, 8, &hold_step, err) ||
		!json_may_opt(value, "hold_blind_ms", &ret->hold_blind_ms, err) ||
		!json_may_opt(value, "too_slow_ppm", &ret->too_slow_ppm, err))
		return false;
	ret->hold_step = (int)hold_step;
	return true;
}

static json_t *queue_value(const struct queue_view *queue)
{
	json_t *object = json_object();

	return part_done(object,
		object && json_put_int(object, "ahead", queue->ahead) &&
			json_put_int(object, "running_nas", queue->running_nas) &&
			json_put_int(object, "running_node", queue->running_node) &&
			json_put_opt(object, "since_release_ms", queue->since_release_ms) &&
			json_put_int(object, "backlog", queue->backlog));
}

/* What a later release added to the record may be absent: an older row counts it as none. */
static bool queue_read(const json_t *value, struct queue_view *ret, struct err *err)
{
	return json_get_int(value, "ahead", 0, INT64_MAX, &ret->ahead, err) &&
		json_get_int(value, "running_nas", 0, INT64_MAX, &ret->running_nas, err) &&
		json_get_int(value, "running_node", 0, INT64_MAX, &ret->running_node, err) &&
		json_may_opt(value, "since_release_ms", &ret->since_release_ms, err) &&
		json_may_int(value, "backlog", 0, INT64_MAX, &ret->backlog, err);
}

static json_t *moment_value(const struct moment *now)
{
	json_t *object = json_object();

	return part_done(object,
		object && json_put_int(object, "boot_ms", now->boot_ms) &&
			json_put_int(object, "utc_ms", now->utc_ms) &&
			json_put_int(object, "utc_offset_s", now->utc_offset_s));
}

static bool moment_read(const json_t *value, struct moment *ret, struct err *err)
{
	int64_t offset = 0;

	if (!json_get_int(value, "boot_ms", INT64_MIN, INT64_MAX, &ret->boot_ms, err) ||
		!json_get_int(value, "utc_ms", INT64_MIN, INT64_MAX, &ret->utc_ms, err) ||
		!json_get_int(value, "utc_offset_s", -86400, 86400, &offset, err))
		return false;
	ret->utc_offset_s = (int32_t)offset;
	return true;
}

static json_t *overrides_value(const struct inputs *in)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; list && i < in->n_overrides; i++) {
		if (json_array_append_new(list, wire_override(&in->overrides[i])) != 0)
			return part_done(list, false);
	}
	return list;
}

static bool overrides_read(const json_t *list, struct inputs *ret, struct err *err)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		if (!wire_override_read(json_array_get(list, i), &ret->overrides[i], err))
			return err_prefix(err, "override %zu", i + 1);
	}
	ret->n_overrides = i;
	return true;
}

json_t *wire_inputs(const struct inputs *in)
{
	json_t *object = json_object();

	return part_done(object,
		object && json_put(object, "request", wire_request(&in->request)) &&
			json_put(object, "mapping", wire_mapping(&in->mapping)) &&
			json_put_bool(object, "lever", in->lever) &&
			put_known(object, "readers", in->readers) &&
			put_known(object, "predicted_ms", in->predicted_ms) &&
			json_put(object, "facts", facts_covered(in)) &&
			json_put(object, "ticket", view_value(&in->ticket)) &&
			json_put(object, "queue", queue_value(&in->queue)) &&
			json_put(object, "overrides", overrides_value(in)) &&
			json_put(object, "now", moment_value(&in->now)));
}

bool wire_inputs_read(const json_t *value, struct inputs *ret, struct err *err)
{
	const json_t *request = NULL, *mapping = NULL, *facts = NULL, *view = NULL, *queue = NULL;
	const json_t *overrides = NULL, *now = NULL;

	memset(ret, 0, sizeof(*ret));
	return part_is_object(value, "inputs", err) &&
		part_get_object(value, "request", &request, err) &&
		part_get_object(value, "mapping", &mapping, err) &&
		part_get_object(value, "facts", &facts, err) &&
		part_get_object(value, "ticket", &view, err) &&
		part_get_object(value, "queue", &queue, err) &&
		part_get_object(value, "now", &now, err) &&
		part_get_list(value, "overrides", OVERRIDE_MAX, &overrides, err) &&
		json_get_bool(value, "lever", &ret->lever, err) &&
		json_may_opt(value, "readers", &ret->readers, err) &&
		json_may_opt(value, "predicted_ms", &ret->predicted_ms, err) &&
		wire_request_read(request, &ret->request, err) &&
		wire_mapping_read(mapping, &ret->mapping, err) &&
		wire_facts_read(facts, &ret->facts, err) && view_read(view, &ret->ticket, err) &&
		queue_read(queue, &ret->queue, err) && overrides_read(overrides, ret, err) &&
		moment_read(now, &ret->now, err);
}
