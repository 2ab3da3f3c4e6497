// SPDX-License-Identifier: MIT
#include <string.h>

#include "wire/part.h"
#include "wire/wire.h"

#define MEMBER(name)                                                                               \
	{                                                                                          \
#name, offsetof(struct array_facts, name)                                          \
	}

static const struct opt_member array_numbers[] = {
	MEMBER(raid_disks),
	MEMBER(missing),
	MEMBER(redundancy_left),
	MEMBER(progress_ppm),
	MEMBER(remaining_ms),
	MEMBER(rate),
	MEMBER(kernel_rate),
	MEMBER(baseline),
	MEMBER(rate_of_baseline_ppm),
	MEMBER(stalled_ms),
	MEMBER(client_read),
	MEMBER(client_write),
	MEMBER(sync_speed_min),
	MEMBER(sync_speed_max),
};

static const struct opt_member array_points[] = {
	MEMBER(operation_since_ms),
	MEMBER(calm_since_ms),
};

static const struct opt_member nas_numbers[] = {
	{"read_at_ms", offsetof(struct nas_facts, read_at_ms)},
	{"blind_since_ms", offsetof(struct nas_facts, blind_since_ms)},
	{"load_x100", offsetof(struct nas_facts, load_x100)},
};

/* What both forms have. */
static bool array_put(json_t *object, const struct array_facts *array, bool nulls)
{
	return json_put_text(object, "name", array->name) &&
		json_put_text(object, "role", md_role_word(array->role)) &&
		json_put_text(object, "level", md_level_word(array->level)) &&
		json_put_text(object, "operation", md_operation_word(array->operation)) &&
		json_put_text(object, "sync_state", md_sync_state_word(array->sync_state)) &&
		json_put_text(object, "health", md_health_word(array->health)) &&
		json_put_bool(object, "empty_slots", array->empty_slots) &&
		json_put_bool(object, "done", array->done) &&
		part_put_opts(object, array_numbers, PART_COUNT(array_numbers), array, nulls);
}

static json_t *array_exact(const struct array_facts *array)
{
	json_t *object = json_object();

	return part_done(object,
		object && array_put(object, array, false) &&
			part_put_opts(
				object, array_points, PART_COUNT(array_points), array, false));
}

static bool array_read(const json_t *value, struct array_facts *ret, struct err *err)
{
	if (!part_is_object(value, "an array", err))
		return false;
	return json_copy_text(value, "name", ret->name, sizeof(ret->name), err) &&
		PART_GET_ENUM(value, "role", md_role_parse, &ret->role, err) &&
		PART_GET_ENUM(value, "level", md_level_parse, &ret->level, err) &&
		PART_GET_ENUM(value, "operation", md_operation_parse, &ret->operation, err) &&
		PART_GET_ENUM(value, "sync_state", md_sync_state_parse, &ret->sync_state, err) &&
		PART_GET_ENUM(value, "health", md_health_parse, &ret->health, err) &&
		json_get_bool(value, "empty_slots", &ret->empty_slots, err) &&
		json_get_bool(value, "done", &ret->done, err) &&
		part_get_opts(value, array_numbers, PART_COUNT(array_numbers), ret, err) &&
		part_get_opts(value, array_points, PART_COUNT(array_points), ret, err);
}

static bool nas_put(json_t *object, const struct nas_facts *facts)
{
	return json_put_text(object, "name", facts->name) &&
		json_put_text(object, "sensor", nas_sensor_word(facts->sensor)) &&
		json_put_text(object, "sensor_text", facts->sensor_text);
}

json_t *wire_facts(const struct nas_facts *facts)
{
	json_t *object = json_object(), *arrays = json_array();
	bool good;
	size_t i;

	good = object && arrays && nas_put(object, facts) &&
		part_put_opts(object, nas_numbers, PART_COUNT(nas_numbers), facts, false);
	for (i = 0; good && i < facts->n_arrays; i++)
		good = json_array_append_new(arrays, array_exact(&facts->arrays[i])) == 0;
	if (good)
		good = json_put(object, "arrays", arrays);
	else
		json_decref(arrays);
	return part_done(object, good);
}

bool wire_facts_read(const json_t *value, struct nas_facts *ret, struct err *err)
{
	const json_t *arrays = NULL;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	if (!part_is_object(value, "facts", err) ||
		!json_may_copy(value, "name", ret->name, sizeof(ret->name), err) ||
		!PART_GET_ENUM(value, "sensor", nas_sensor_parse, &ret->sensor, err) ||
		!json_may_copy(
			value, "sensor_text", ret->sensor_text, sizeof(ret->sensor_text), err) ||
		!part_get_opts(value, nas_numbers, PART_COUNT(nas_numbers), ret, err) ||
		!part_get_list(value, "arrays", MD_MAX_ARRAYS, &arrays, err))
		return false;
	for (i = 0; i < json_array_size(arrays); i++) {
		if (!array_read(json_array_get(arrays, i), &ret->arrays[i], err))
			return err_prefix(err, "array %zu", i + 1);
	}
	ret->n_arrays = i;
	return true;
}

static struct opt span_to(struct opt since_ms, const struct moment *now)
{
	if (!since_ms.known)
		return OPT_NONE;
	return OPT(now->boot_ms > since_ms.v ? now->boot_ms - since_ms.v : 0);
}

json_t *wire_array_show(const struct array_facts *array, const struct moment *now)
{
	json_t *object = json_object();

	return part_done(object,
		object && array_put(object, array, true) &&
			json_put_opt(
				object, "operation_ms", span_to(array->operation_since_ms, now)) &&
			json_put_opt(object, "calm_ms", span_to(array->calm_since_ms, now)));
}

json_t *wire_facts_show(const struct nas_facts *facts, const struct moment *now)
{
	json_t *object = json_object(), *arrays = json_array();
	bool good;
	size_t i;

	good = object && arrays && nas_put(object, facts) &&
		json_put_opt(object, "age_ms", span_to(facts->read_at_ms, now)) &&
		json_put_opt(object, "blind_ms", span_to(facts->blind_since_ms, now)) &&
		json_put_opt(object, "load_x100", facts->load_x100);
	for (i = 0; good && i < facts->n_arrays; i++)
		good = json_array_append_new(arrays, wire_array_show(&facts->arrays[i], now)) == 0;
	if (good)
		good = json_put(object, "arrays", arrays);
	else
		json_decref(arrays);
	return part_done(object, good);
}
