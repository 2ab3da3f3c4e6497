// SPDX-License-Identifier: MIT
/* The record for people, in pages: a query never delays a hook's answer for long. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "gate/answer.h"
#include "gate/api.h"
#include "gate/gate.h"
#include "gate/server.h"

#define PAGE_BUDGET_MS 20
#define STATS_DEFAULT_MS (30 * MS_DAY)

static bool add_row(void *data, const struct store_row *row)
{
	return json_array_append_new(data, store_row_json(row)) == 0;
}

static bool number(struct call *call, const char *name, int64_t *ret, struct err *err)
{
	struct opt value;

	if (!api_query_int(call, name, INT64_MAX, &value, err))
		return false;
	if (value.known)
		*ret = value.v;
	return true;
}

static bool filter_read(struct call *call, struct store_filter *ret, struct err *err)
{
	const char *verdict = call_query(call, "verdict");
	int64_t last = 0, limit = 0;

	ret->storage = call_query(call, "storage");
	ret->nas = call_query(call, "nas");
	ret->node = call_query(call, "node");
	ret->rule = call_query(call, "rule");
	if (verdict && *verdict) {
		ret->verdict = verdict_parse(verdict);
		if (!ret->verdict)
			return err_set(err, ERR_INVALID,
				"'verdict' must be allow, throttle, hold or deny, not '%s'",
				verdict);
	}
	if (!api_query_int(call, "since", INT64_MAX, &ret->since_utc_ms, err) ||
		!api_query_int(call, "until", INT64_MAX, &ret->until_utc_ms, err) ||
		!api_query_int(call, "after", INT64_MAX, &ret->after, err) ||
		!number(call, "guest", &ret->guest, err) ||
		!number(call, "ticket", &ret->ticket, err) ||
		!number(call, "decision", &ret->decision, err) ||
		!number(call, "before", &ret->before, err) || !number(call, "last", &last, err) ||
		!number(call, "limit", &limit, err))
		return false;
	if (last > 0 && (limit <= 0 || last < limit))
		limit = last;
	ret->limit = limit > 0 && limit < STORE_PAGE_MAX ? (size_t)limit : STORE_PAGE_MAX;
	return true;
}

void api_log(struct gate *gate, struct call *call, const struct api_args *args)
{
	struct store_filter filter = {0};
	json_t *object = NULL, *list = NULL;
	int64_t next = 0;
	struct err err = {0};

	(void)args;
	if (!filter_read(call, &filter, &err))
		goto fail;
	list = json_array();
	if (!store_log(gate->store, &filter, PAGE_BUDGET_MS, add_row, list, &next, &err))
		goto fail;
	object = json_object();
	if (!json_put(object, "decisions", list) ||
		!json_put_opt(object, "next", next ? OPT(next) : OPT_NONE)) {
		json_decref(object);
		object = NULL;
	}
	answer_json(call, 200, object);
	return;
fail:
	json_decref(list);
	answer_err(call, &err);
}

void api_stats(struct gate *gate, struct call *call, const struct api_args *args)
{
	struct moment now = clock_now();
	int64_t since = now.utc_ms - STATS_DEFAULT_MS, until = now.utc_ms;
	json_t *stats = NULL;
	struct err err = {0};

	(void)args;
	if (!number(call, "since", &since, &err) || !number(call, "until", &until, &err) ||
		!store_stats(gate->store, since, until, &stats, &err)) {
		answer_err(call, &err);
		return;
	}
	answer_json(call, 200, stats);
}

/* Puts the JSON text `text` in as a value: null where it is empty or none. */
static bool put_value(json_t *object, const char *name, const char *text)
{
	json_t *value = *text ? json_read(text, strlen(text), NULL) : NULL;

	return json_put(object, name, value ? value : json_null());
}

struct whole {
	json_t *object;
	char hash[STORE_HASH_TEXT];
};

static bool take_whole(void *data, const struct store_row *row)
{
	struct whole *whole = data;

	whole->object = store_row_json(row);
	if (!put_value(whole->object, "inputs", row->inputs) ||
		!put_value(whole->object, "decision", row->decision) ||
		!json_put_text(whole->object, "hash", row->hash)) {
		json_decref(whole->object);
		whole->object = NULL;
	}
	strncpy(whole->hash, row->policy_hash, sizeof(whole->hash) - 1);
	return true;
}

void api_decision(struct gate *gate, struct call *call, const struct api_args *args)
{
	struct whole whole = {0};
	struct buf text = {0};
	struct opt id = OPT_NONE;
	uint64_t value = 0;
	struct err err = {0};

	if (u64_parse(args->arg, 1, INT64_MAX, &value, &err))
		id = OPT((int64_t)value);
	if (!id.known || !store_decision(gate->store, id.v, take_whole, &whole, &err)) {
		answer_err(call, &err);
		json_decref(whole.object);
		return;
	}
	if (whole.object &&
		(!store_policy_text(gate->store, whole.hash, &text, &err) ||
			!json_put_text(whole.object, "policy_text", buf_str(&text))))
		json_put_text(whole.object, "policy_text", NULL);
	answer_json(call, 200, whole.object);
	buf_release(&text);
}
