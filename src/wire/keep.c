// SPDX-License-Identifier: MIT
#include "wire/keep.h"

#include <stdlib.h>

#include "wire/part.h"
#include "wire/wire.h"

static int64_t within(int64_t v, int64_t min, int64_t max)
{
	return v < min ? min : v > max ? max : v;
}

int64_t keep_pause_within(int64_t pause_ms, bool fleecing)
{
	int64_t cap_ms = fleecing ? KEEP_PAUSE_CAP_FLEECING_MS : KEEP_PAUSE_CAP_MS;

	return pause_ms < cap_ms ? pause_ms : cap_ms;
}

json_t *keep_ask_json(const struct keep_ask *ask)
{
	json_t *object = json_object();

	return part_done(object,
		object && json_put_int(object, "ticket", ask->ticket) &&
			json_put(object, "worker", wire_worker(&ask->worker)) &&
			json_put_text(object, "node", ask->node) &&
			json_put_text(object, "storage", ask->storage) &&
			json_put_int(object, "guest", ask->guest) &&
			json_put_bool(object, "fleecing", ask->fleecing) &&
			json_put_text(object, "path", steer_path_word(ask->path)) &&
			json_put_int(object, "rate", ask->rate) &&
			json_put_int(object, "n_jobs", ask->n_jobs) &&
			json_put_opt(object, "moved", ask->moved) &&
			json_put_opt(object, "total", ask->total) &&
			json_put_bool(object, "ending", ask->ending) &&
			json_put_text(object, "trouble", ask->trouble));
}

bool keep_ask_of(const json_t *value, struct keep_ask *ret, struct err *err)
{
	const json_t *worker = NULL;
	int64_t guest = 0;

	*ret = (struct keep_ask){0};
	if (!part_is_object(value, "a keeper's question", err) ||
		!json_get_int(value, "ticket", 1, INT64_MAX, &ret->ticket, err) ||
		!part_get_object(value, "worker", &worker, err) ||
		!wire_worker_read(worker, &ret->worker, err) ||
		!json_may_copy(value, "node", ret->node, sizeof(ret->node), err) ||
		!json_copy_text(value, "storage", ret->storage, sizeof(ret->storage), err) ||
		!json_get_int(value, "guest", 1, UINT32_MAX, &guest, err) ||
		!json_may_bool(value, "fleecing", &ret->fleecing, err) ||
		!PART_GET_ENUM(value, "path", steer_path_parse, &ret->path, err) ||
		!json_may_int(value, "rate", 0, INT64_MAX, &ret->rate, err) ||
		!json_get_int(value, "n_jobs", 0, KEEP_MAX_JOBS, &ret->n_jobs, err) ||
		!json_may_opt(value, "moved", &ret->moved, err) ||
		!json_may_opt(value, "total", &ret->total, err) ||
		!json_may_bool(value, "ending", &ret->ending, err) ||
		!json_may_copy(value, "trouble", ret->trouble, sizeof(ret->trouble), err))
		return false;
	ret->guest = (uint32_t)guest;
	if (!ret->path)
		return err_set(err, ERR_INVALID, "member 'path' is missing");
	if (ret->moved.known && ret->moved.v < 0)
		return err_set(err, ERR_INVALID, "member 'moved' cannot be negative");
	if (ret->total.known && ret->total.v < 0)
		return err_set(err, ERR_INVALID, "member 'total' cannot be negative");
	return true;
}

json_t *keep_answer_json(const struct keep_answer *answer)
{
	json_t *object = json_object();

	return part_done(object,
		object && json_put_text(object, "path", steer_path_word(answer->path)) &&
			json_put_int(object, "rate", answer->rate) &&
			json_put_int(object, "again_ms",
				within(answer->again_ms, KEEP_AGAIN_MIN_MS, KEEP_AGAIN_MAX_MS)) &&
			json_put_int(object, "max_pause_ms",
				within(answer->max_pause_ms, 0, KEEP_PAUSE_MAX_MS)) &&
			json_put_text(object, "reason", answer->reason));
}

bool keep_answer_of(const json_t *value, struct keep_answer *ret, struct err *err)
{
	*ret = (struct keep_answer){0};
	if (!part_is_object(value, "an answer to a keeper", err) ||
		!PART_GET_ENUM(value, "path", steer_path_parse, &ret->path, err) ||
		!json_may_int(value, "rate", 0, INT64_MAX, &ret->rate, err) ||
		!json_get_int(value, "again_ms", KEEP_AGAIN_MIN_MS, KEEP_AGAIN_MAX_MS,
			&ret->again_ms, err) ||
		!json_get_int(
			value, "max_pause_ms", 0, KEEP_PAUSE_MAX_MS, &ret->max_pause_ms, err) ||
		!json_may_copy(value, "reason", ret->reason, sizeof(ret->reason), err))
		return false;
	if (!ret->path)
		return err_set(err, ERR_INVALID, "member 'path' is missing");
	if (ret->path == STEER_LIMIT && !ret->rate)
		return err_set(err, ERR_INVALID, "member 'rate' must be more than 0 for a limit");
	return true;
}

/* Takes `value`. */
static bool write_text(json_t *value, struct buf *ret, struct err *err)
{
	char *text = value ? json_text(value, 0) : NULL;
	bool ok = text && buf_adds(ret, text);

	free(text);
	json_decref(value);
	return ok || err_nomem(err);
}

bool keep_ask_write(const struct keep_ask *ask, struct buf *ret, struct err *err)
{
	return write_text(keep_ask_json(ask), ret, err);
}

bool keep_answer_write(const struct keep_answer *answer, struct buf *ret, struct err *err)
{
	return write_text(keep_answer_json(answer), ret, err);
}

bool keep_ask_read(const char *text, size_t len, struct keep_ask *ret, struct err *err)
{
	json_t *value = json_read(text, len, err);
	bool ok = value && keep_ask_of(value, ret, err);

	json_decref(value);
	return ok;
}

bool keep_answer_read(const char *text, size_t len, struct keep_answer *ret, struct err *err)
{
	json_t *value = json_read(text, len, err);
	bool ok = value && keep_answer_of(value, ret, err);

	json_decref(value);
	return ok;
}
