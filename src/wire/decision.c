// SPDX-License-Identifier: MIT
#include <string.h>

#include "wire/part.h"
#include "wire/wire.h"

json_t *wire_reasons(const struct decision *decision)
{
	json_t *list = json_array();
	bool good = list != NULL;
	size_t i;

	for (i = 0; good && i < decision->n_reasons; i++) {
		json_t *reason = json_object();

		good = reason &&
			json_put_text(reason, "code", reason_word(decision->reasons[i].code)) &&
			json_put_text(reason, "text", decision->reasons[i].text);
		if (good)
			good = json_array_append_new(list, reason) == 0;
		else
			json_decref(reason);
	}
	return part_done(list, good);
}

static bool reasons_read(const json_t *value, struct decision *ret, struct err *err)
{
	const json_t *list = NULL, *reason;
	size_t i;

	if (!part_get_list(value, "reasons", DECISION_MAX_REASONS, &list, err))
		return false;
	for (i = 0; i < json_array_size(list); i++) {
		struct reason *to = &ret->reasons[i];

		reason = json_array_get(list, i);
		if (!part_is_object(reason, "a reason", err) ||
			!PART_GET_ENUM(reason, "code", reason_parse, &to->code, err) ||
			!json_may_copy(reason, "text", to->text, sizeof(to->text), err))
			return false;
	}
	ret->n_reasons = i;
	return true;
}

json_t *wire_decision(const struct decision *decision)
{
	json_t *object = json_object();

	return part_done(object,
		object && json_put_text(object, "verdict", verdict_word(decision->verdict)) &&
			json_put_text(object, "would_be", verdict_word(decision->would_be)) &&
			json_put_text(object, "act", verdict_word(decision->act)) &&
			json_put_int(object, "step", decision->step) &&
			json_put_text(object, "rule", decision->rule) &&
			json_put_text(object, "array", decision->array) &&
			json_put_int(object, "override", decision->override_id) &&
			json_put(object, "reasons", wire_reasons(decision)) &&
			json_put_opt(object, "ends_in_ms", decision->ends_in_ms) &&
			json_put_text(object, "then", verdict_word(decision->then)) &&
			json_put_text(object, "then_act", verdict_word(decision->then_act)) &&
			json_put_opt(object, "expected_ms", decision->expected_ms) &&
			json_put_bool(object, "base_holds", decision->base_holds) &&
			json_put_bool(object, "expires", decision->expires) &&
			json_put_bool(object, "mid_job", decision->mid_job) &&
			json_put_text(object, "hold_rule", decision->hold_rule) &&
			json_put_int(object, "hold_step", decision->hold_step) &&
			(!decision->protect_ppm ||
				json_put_int(object, "protect_ppm", decision->protect_ppm)) &&
			(!decision->too_slow_ppm.known ||
				json_put_opt(object, "too_slow_ppm", decision->too_slow_ppm)));
}

bool wire_decision_read(const json_t *value, struct decision *ret, struct err *err)
{
	int64_t step = 0, hold_step = 0;

	memset(ret, 0, sizeof(*ret));
	if (!part_is_object(value, "a decision", err) ||
		!PART_GET_ENUM(value, "verdict", verdict_parse, &ret->verdict, err) ||
		!PART_GET_ENUM(value, "would_be", verdict_parse, &ret->would_be, err) ||
		!PART_GET_ENUM(value, "act", verdict_parse, &ret->act, err) ||
		!json_get_int(value, "step", 0, 8, &step, err) ||
		!json_may_copy(value, "rule", ret->rule, sizeof(ret->rule), err) ||
		!json_may_copy(value, "array", ret->array, sizeof(ret->array), err) ||
		!json_may_int(value, "override", 0, INT64_MAX, &ret->override_id, err) ||
		!reasons_read(value, ret, err) ||
		!json_may_opt(value, "ends_in_ms", &ret->ends_in_ms, err) ||
		!PART_MAY_ENUM(value, "then", verdict_parse, &ret->then, err) ||
		!PART_MAY_ENUM(value, "then_act", verdict_parse, &ret->then_act, err) ||
		!json_may_opt(value, "expected_ms", &ret->expected_ms, err) ||
		!json_may_bool(value, "base_holds", &ret->base_holds, err) ||
		!json_may_bool(value, "expires", &ret->expires, err) ||
		!json_may_bool(value, "mid_job", &ret->mid_job, err) ||
		!json_may_copy(value, "hold_rule", ret->hold_rule, sizeof(ret->hold_rule), err) ||
		!json_may_int(value, "hold_step", 0, 8, &hold_step, err) ||
		!json_may_int(value, "protect_ppm", 0, 1000000, &ret->protect_ppm, err) ||
		!json_may_opt(value, "too_slow_ppm", &ret->too_slow_ppm, err))
		return false;
	ret->step = (int)step;
	ret->hold_step = (int)hold_step;
	return true;
}
