// SPDX-License-Identifier: MIT
#include <string.h>

#include "wire/part.h"
#include "wire/wire.h"

/* Ids that are 0 while not known or not asked for are left out. */
static bool put_id(json_t *object, const char *name, int64_t id)
{
	return id == 0 || json_put_int(object, name, id);
}

static bool may_guest(const json_t *object, const char *name, uint32_t *ret, struct err *err)
{
	int64_t v = *ret;

	if (!json_may_int(object, name, 0, UINT32_MAX, &v, err))
		return false;
	*ret = (uint32_t)v;
	return true;
}

static json_t *guests_list(const struct request *request)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; list && i < request->n_guests; i++) {
		if (json_array_append_new(list, json_integer(request->guests[i])) != 0)
			return part_done(list, false);
	}
	return list;
}

json_t *wire_request(const struct request *request)
{
	json_t *object = json_object();

	return part_done(object,
		object && json_put_text(object, "client", client_word(request->client)) &&
			json_put_text(object, "phase", phase_word(request->phase)) &&
			json_put_text(object, "storage", request->storage) &&
			json_put_text(object, "node", request->node) &&
			put_id(object, "guest", request->guest) &&
			json_put_text(object, "guest_type", guest_type_word(request->guest_type)) &&
			json_put_text(object, "mode", backup_mode_word(request->mode)) &&
			(!request->n_guests || json_put(object, "guests", guests_list(request))) &&
			(!request->n_qemu.known ||
				json_put_opt(object, "n_qemu", request->n_qemu)) &&
			(!request->next_start_utc_ms.known ||
				json_put_opt(
					object, "next_start_utc_ms", request->next_start_utc_ms)) &&
			(!request->backup_age_ms.known ||
				json_put_opt(object, "backup_age_ms", request->backup_age_ms)));
}

static bool guests_read(const json_t *value, struct request *ret, struct err *err)
{
	const json_t *list = NULL, *guest;
	size_t i;

	if (!json_object_get(value, "guests") || json_is_null(json_object_get(value, "guests")))
		return true;
	if (!part_get_list(value, "guests", REQUEST_MAX_GUESTS, &list, err))
		return false;
	for (i = 0; i < json_array_size(list); i++) {
		guest = json_array_get(list, i);
		if (!json_is_integer(guest) || json_integer_value(guest) < 1 ||
			json_integer_value(guest) > UINT32_MAX)
			return err_set(err, ERR_INVALID, "member 'guests' must list vmids");
		ret->guests[i] = (uint32_t)json_integer_value(guest);
	}
	ret->n_guests = i;
	return true;
}

bool wire_request_read(const json_t *value, struct request *ret, struct err *err)
{
	memset(ret, 0, sizeof(*ret));
	return part_is_object(value, "a request", err) &&
		PART_GET_ENUM(value, "client", client_parse, &ret->client, err) &&
		PART_GET_ENUM(value, "phase", phase_parse, &ret->phase, err) &&
		json_may_copy(value, "storage", ret->storage, sizeof(ret->storage), err) &&
		json_may_copy(value, "node", ret->node, sizeof(ret->node), err) &&
		may_guest(value, "guest", &ret->guest, err) &&
		PART_MAY_ENUM(value, "guest_type", guest_type_parse, &ret->guest_type, err) &&
		PART_MAY_ENUM(value, "mode", backup_mode_parse, &ret->mode, err) &&
		guests_read(value, ret, err) && json_may_opt(value, "n_qemu", &ret->n_qemu, err) &&
		json_may_opt(value, "next_start_utc_ms", &ret->next_start_utc_ms, err) &&
		json_may_opt(value, "backup_age_ms", &ret->backup_age_ms, err);
}

json_t *wire_mapping(const struct mapping *mapping)
{
	json_t *object = json_object(), *arrays = json_array();
	bool good = object && arrays && json_put_text(object, "nas", mapping->nas);
	size_t i;

	for (i = 0; good && i < mapping->n_arrays; i++)
		good = json_array_append_new(arrays, json_string(mapping->arrays[i])) == 0;
	if (good)
		good = json_put(object, "arrays", arrays);
	else
		json_decref(arrays);
	return part_done(object, good);
}

bool wire_mapping_read(const json_t *value, struct mapping *ret, struct err *err)
{
	const json_t *arrays = NULL;
	const char *name;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	if (!part_is_object(value, "a mapping", err) ||
		!json_may_copy(value, "nas", ret->nas, sizeof(ret->nas), err) ||
		!part_get_list(value, "arrays", MAPPING_MAX_ARRAYS, &arrays, err))
		return false;
	for (i = 0; i < json_array_size(arrays); i++) {
		name = json_string_value(json_array_get(arrays, i));
		if (!name || !*name || strlen(name) >= MD_NAME_MAX)
			return err_set(err, ERR_INVALID, "member 'arrays' must list md devices");
		memcpy(ret->arrays[i], name, strlen(name) + 1);
	}
	ret->n_arrays = i;
	return true;
}

json_t *wire_override(const struct override *override)
{
	json_t *object = json_object();

	return part_done(object,
		object && json_put_int(object, "id", override->id) &&
			json_put_text(object, "verdict", verdict_word(override->verdict)) &&
			put_id(object, "ticket", override->ticket) &&
			put_id(object, "guest", override->guest) &&
			json_put_text(object, "storage", override->storage) &&
			json_put_text(object, "nas", override->nas) &&
			json_put_text(object, "node", override->node) &&
			json_put_int(object, "created_utc_ms", override->created_utc_ms) &&
			json_put_int(object, "until_utc_ms", override->until_utc_ms) &&
			json_put_text(object, "by", override->by) &&
			json_put_text(object, "reason", override->reason));
}

bool wire_override_read(const json_t *value, struct override *ret, struct err *err)
{
	memset(ret, 0, sizeof(*ret));
	return part_is_object(value, "an override", err) &&
		json_may_int(value, "id", 0, INT64_MAX, &ret->id, err) &&
		PART_GET_ENUM(value, "verdict", verdict_parse, &ret->verdict, err) &&
		json_may_int(value, "ticket", 0, INT64_MAX, &ret->ticket, err) &&
		may_guest(value, "guest", &ret->guest, err) &&
		json_may_copy(value, "storage", ret->storage, sizeof(ret->storage), err) &&
		json_may_copy(value, "nas", ret->nas, sizeof(ret->nas), err) &&
		json_may_copy(value, "node", ret->node, sizeof(ret->node), err) &&
		json_may_int(
			value, "created_utc_ms", INT64_MIN, INT64_MAX, &ret->created_utc_ms, err) &&
		json_get_int(
			value, "until_utc_ms", INT64_MIN, INT64_MAX, &ret->until_utc_ms, err) &&
		json_may_copy(value, "by", ret->by, sizeof(ret->by), err) &&
		json_copy_text(value, "reason", ret->reason, sizeof(ret->reason), err);
}

json_t *wire_worker(const struct worker *worker)
{
	json_t *object = json_object();

	return part_done(object,
		object && json_put_int(object, "pid", worker->pid) &&
			json_put_int(object, "start_ticks", worker->start_ticks) &&
			json_put_text(object, "boot_id", worker->boot_id));
}

bool wire_worker_read(const json_t *value, struct worker *ret, struct err *err)
{
	memset(ret, 0, sizeof(*ret));
	return part_is_object(value, "a worker", err) &&
		json_get_int(value, "pid", 0, INT32_MAX, &ret->pid, err) &&
		json_get_int(value, "start_ticks", 0, INT64_MAX, &ret->start_ticks, err) &&
		json_may_copy(value, "boot_id", ret->boot_id, sizeof(ret->boot_id), err);
}
