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
	json_t *page = NULL;
	struct err err = {0};

	(void)args;
	if (filter_read(call, &filter, &err) &&
		store_log_json(gate->store, &filter, PAGE_BUDGET_MS, &page, &err))
		answer_json(call, 200, page);
	else
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

void api_decision(struct gate *gate, struct call *call, const struct api_args *args)
{
	json_t *whole = NULL;
	uint64_t id = 0;
	struct err err = {0};

	if (u64_parse(args->arg, 1, INT64_MAX, &id, &err) &&
		store_decision_json(gate->store, (int64_t)id, &whole, &err))
		answer_json(call, 200, whole);
	else
		answer_err(call, &err);
}
