// SPDX-License-Identifier: MIT
/* The tracker's memory as JSON: a later release reads what an earlier one wrote, or refuses it
 * whole. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "gate/reading.h"

static json_t *bucket_json(const struct baseline *baseline, size_t at)
{
	json_t *list = json_array();
	size_t i;

	json_array_append_new(list, json_integer((json_int_t)at));
	json_array_append_new(list, json_integer(baseline->buckets[at].n));
	for (i = 0; i < BASELINE_SAMPLES; i++)
		json_array_append_new(list, json_integer(baseline->buckets[at].kib_s[i]));
	return list;
}

static json_t *array_json(const struct track_memory_array *array)
{
	json_t *object = json_object(), *buckets = json_array();
	size_t i;

	for (i = 0; i < BASELINE_BUCKETS; i++)
		if (array->baseline.buckets[i].n)
			json_array_append_new(buckets, bucket_json(&array->baseline, i));
	if (json_put_text(object, "name", array->name) &&
		json_put_text(object, "role", md_role_word(array->role)) &&
		json_put_text(object, "level", md_level_word(array->level)) &&
		json_put_int(object, "raid_disks", array->raid_disks) &&
		json_put_int(object, "working_best", array->working_best) &&
		json_put_text(object, "did", md_operation_word(array->operation)) &&
		json_put_text(object, "was", md_health_word(array->health)) &&
		json_put_opt(object, "redundancy_left", array->redundancy_left) &&
		json_put_text(object, "operation", md_operation_word(array->baseline.operation))) {
		if (json_put(object, "buckets", buckets))
			return object;
		buckets = NULL;
	}
	json_decref(buckets);
	json_decref(object);
	return NULL;
}

bool memory_write(const struct track_memory *memory, struct buf *ret)
{
	json_t *list = json_array();
	char *text;
	bool ok = list != NULL;
	size_t i;

	for (i = 0; ok && i < memory->n_arrays; i++)
		ok = json_array_append_new(list, array_json(&memory->arrays[i])) == 0;
	text = ok ? json_text(list, 0) : NULL;
	ok = text && buf_adds(ret, text);
	free(text);
	json_decref(list);
	return ok;
}

static bool number_at(const json_t *list, size_t at, int64_t max, int64_t *ret)
{
	const json_t *value = json_array_get(list, at);

	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
		json_integer_value(value) > max)
		return false;
	*ret = json_integer_value(value);
	return true;
}

static bool bucket_read(const json_t *list, struct baseline *ret)
{
	int64_t at = 0, value = 0;
	size_t i;

	if (!number_at(list, 0, BASELINE_BUCKETS - 1, &at) ||
		!number_at(list, 1, UINT32_MAX, &value))
		return false;
	ret->buckets[at].n = (uint32_t)value;
	for (i = 0; i < BASELINE_SAMPLES; i++) {
		if (!number_at(list, 2 + i, UINT32_MAX, &value))
			return false;
		ret->buckets[at].kib_s[i] = (uint32_t)value;
	}
	return true;
}

static bool array_read(const json_t *object, struct track_memory_array *ret, struct err *err)
{
	const char *role = NULL, *level = NULL, *operation = NULL, *did = NULL, *was = NULL;
	const json_t *buckets = json_object_get(object, "buckets"), *bucket;
	size_t i;

	if (!json_copy_text(object, "name", ret->name, sizeof(ret->name), err) ||
		!json_may_text(object, "role", &role, err) ||
		!json_may_text(object, "level", &level, err) ||
		!json_may_text(object, "operation", &operation, err) ||
		!json_may_text(object, "did", &did, err) ||
		!json_may_text(object, "was", &was, err) ||
		!json_may_opt(object, "redundancy_left", &ret->redundancy_left, err) ||
		!json_may_int(object, "raid_disks", 0, INT32_MAX, &ret->raid_disks, err) ||
		!json_may_int(object, "working_best", 0, INT32_MAX, &ret->working_best, err))
		return false;
	ret->role = role ? md_role_parse(role) : MD_ROLE_NONE;
	ret->level = level ? md_level_parse(level) : MD_LEVEL_NONE;
	ret->baseline.operation = operation ? md_operation_parse(operation) : MD_OP_NONE;
	ret->operation = did ? md_operation_parse(did) : MD_OP_NONE;
	ret->health = was ? md_health_parse(was) : MD_HEALTH_NONE;
	json_array_foreach(buckets, i, bucket)
	{
		if (!bucket_read(bucket, &ret->baseline))
			return err_set(err, ERR_CORRUPT, "The baseline of '%s' is none", ret->name);
	}
	return true;
}

bool memory_read(const char *text, size_t len, struct track_memory *ret, struct err *err)
{
	json_t *list = json_read(text, len, err);
	const json_t *array;
	bool ok = false;
	size_t i;

	*ret = (struct track_memory){0};
	if (!list)
		return false;
	if (!json_is_array(list) || json_array_size(list) > MD_MAX_ARRAYS) {
		err_set(err, ERR_CORRUPT, "It is no list of arrays");
		goto out;
	}
	json_array_foreach(list, i, array)
	{
		if (!array_read(array, &ret->arrays[i], err))
			goto out;
	}
	ret->n_arrays = i;
	ok = true;
out:
	json_decref(list);
	return ok;
}

bool outage_write(int64_t since_utc_ms, int64_t last_utc_ms, struct buf *ret)
{
	return buf_addf(ret, "{\"since_utc_ms\":%lld,\"last_utc_ms\":%lld}",
		(long long)since_utc_ms, (long long)last_utc_ms);
}

struct opt outage_read(const char *text, size_t len, const struct moment *now)
{
	json_t *object = json_read(text, len, NULL);
	struct opt since = OPT_NONE, last = OPT_NONE, ret = OPT_NONE;

	/* Nobody looked for long, or the clock went back: then this is another outage. */
	if (json_may_opt(object, "since_utc_ms", &since, NULL) &&
		json_may_opt(object, "last_utc_ms", &last, NULL) && since.known && last.known &&
		since.v <= last.v && last.v <= now->utc_ms && now->utc_ms - last.v <= OUTAGE_GAP_MS)
		ret = OPT(now->boot_ms - (now->utc_ms - since.v));
	json_decref(object);
	return ret;
}
