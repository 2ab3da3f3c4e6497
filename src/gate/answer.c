// SPDX-License-Identifier: MIT
#include "gate/answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gate/gate.h"
#include "gate/server.h"
#include "gate/watch.h"
#include "wire/wire.h"

static const char content_type[] = "application/json";

const char *answer_kind_word(enum err_kind kind)
{
	switch (kind) {
	case ERR_INVALID:
		return "invalid";
	case ERR_LIMIT:
		return "limit";
	case ERR_NOTFOUND:
		return "notfound";
	case ERR_DENIED:
		return "denied";
	case ERR_BUSY:
		return "busy";
	case ERR_TIMEOUT:
		return "timeout";
	case ERR_NOMEM:
		return "nomem";
	case ERR_NONE:
	case ERR_SYS:
	case ERR_GONE:
	case ERR_PROTOCOL:
	case ERR_CORRUPT:
		break;
	}
	return "failed";
}

static unsigned status_of(enum err_kind kind)
{
	switch (kind) {
	case ERR_INVALID:
	case ERR_LIMIT:
	case ERR_PROTOCOL:
		return 400;
	case ERR_DENIED:
		return 403;
	case ERR_NOTFOUND:
		return 404;
	case ERR_BUSY:
		return 409;
	case ERR_NONE:
	case ERR_SYS:
	case ERR_NOMEM:
	case ERR_TIMEOUT:
	case ERR_GONE:
	case ERR_CORRUPT:
		break;
	}
	return 503;
}

void answer_json(struct call *call, unsigned status, json_t *value)
{
	char *text = value ? json_text(value, 0) : NULL;

	json_decref(value);
	call_answer(call, status, content_type, text, text ? strlen(text) : 0);
}

void answer_err(struct call *call, const struct err *err)
{
	json_t *object = json_object(), *inner = json_object();

	if (!json_put_text(inner, "kind", answer_kind_word(err->kind)) ||
		!json_put_text(inner, "text", err->text)) {
		json_decref(inner);
		inner = NULL;
	}
	if (!inner || !json_put(object, "error", inner)) {
		json_decref(object);
		object = NULL;
	}
	answer_json(call, status_of(err->kind), object);
}

void answer_fail(struct call *call, enum err_kind kind, const char *fmt, ...)
{
	struct err err = {.kind = kind};
	va_list args;

	va_start(args, fmt);
	vsnprintf(err.text, sizeof(err.text), fmt, args);
	va_end(args);
	answer_err(call, &err);
}

/* The reasons; before them why it was not decided by the policy. */
static json_t *reasons(const struct reply *reply)
{
	json_t *list = wire_reasons(&reply->decision), *first;

	if (!list || !reply->unrecorded[0])
		return list;
	first = json_object();
	if (json_put_text(first, "code", "record_failed") &&
		json_put_text(first, "text", reply->unrecorded) &&
		json_array_insert(list, 0, first) == 0) {
		json_decref(first);
		return list;
	}
	json_decref(first);
	json_decref(list);
	return NULL;
}

/* Counted from now instead of from when it was decided. */
static struct opt left(struct opt span, int64_t passed_ms)
{
	if (!span.known)
		return span;
	return OPT(span.v > passed_ms ? span.v - passed_ms : 0);
}

static bool put_times(json_t *object, const struct reply *reply, const struct moment *now)
{
	const struct decision *decision = &reply->decision;
	int64_t passed = now->boot_ms - reply->decided_boot_ms;
	struct opt ends = left(decision->ends_in_ms, passed);

	return json_put_int(object, "held_ms", reply->held_ms) &&
		json_put_opt(object, "ends_in_ms", ends) &&
		json_put_opt(
			object, "ends_utc_ms", ends.known ? OPT(now->utc_ms + ends.v) : OPT_NONE) &&
		json_put_text(object, "then", verdict_word(decision->then)) &&
		json_put_text(object, "then_act", verdict_word(decision->then_act)) &&
		json_put_opt(object, "expected_ms", left(decision->expected_ms, passed));
}

static json_t *facts_of(struct gate *gate, const struct reply *reply, const struct moment *now)
{
	struct watch *watch = gate_watch(gate, reply->nas);
	const struct array_facts *array = NULL;

	if (watch && reply->decision.array[0])
		array = nas_facts_find(watch_facts(watch, now), reply->decision.array);
	return array ? wire_array_show(array, now) : json_null();
}

void answer_reply(struct gate *gate, struct call *call, const struct reply *reply)
{
	const struct decision *decision = &reply->decision;
	struct moment now = clock_now();
	json_t *object = json_object();

	if (!json_put_int(object, "ticket", reply->ticket) ||
		!json_put_int(object, "decision", reply->decision_id) ||
		!json_put_text(object, "act", verdict_word(decision->act)) ||
		!json_put_text(object, "verdict", verdict_word(decision->verdict)) ||
		!json_put_text(object, "would_be", verdict_word(decision->would_be)) ||
		!json_put_int(object, "step", decision->step) ||
		!json_put_text(object, "rule", decision->rule) ||
		!json_put_text(object, "nas", reply->nas) ||
		!json_put_text(object, "array", decision->array) ||
		!json_put(object, "reasons", reasons(reply)) || !put_times(object, reply, &now) ||
		!json_put_text(object, "released_by", reply->released_by) ||
		!json_put_text(object, "node", gate->settings->node) ||
		!json_put_text(object, "policy_hash", gate->policy_hash) ||
		!json_put_bool(object, "recorded", reply->recorded) ||
		!json_put(object, "facts", facts_of(gate, reply, &now))) {
		json_decref(object);
		object = NULL;
	}
	answer_json(call, 200, object);
}
