// SPDX-License-Identifier: MIT
/* Levers: shown, and put back by an operator. */
#include <stdio.h>

#include "base/log.h"
#include "gate/ages.h"
#include "gate/answer.h"
#include "gate/api.h"
#include "gate/floor_lever.h"
#include "gate/gate.h"
#include "gate/levers.h"
#include "gate/server.h"

#define ACTIONS_MAX 500
#define FREEZE_MAX_MS (7 * MS_DAY)

static void add_action(void *data, const struct store_lever *action)
{
	json_t *object = json_object();

	json_put_int(object, "time_utc_ms", action->utc_ms);
	json_put_opt(object, "ticket", action->ticket ? OPT(action->ticket) : OPT_NONE);
	json_put_text(object, "lever", action->lever);
	json_put_text(object, "target", action->target);
	json_put_text(object, "before", action->before);
	json_put_text(object, "after", action->after);
	json_put_text(object, "why", action->why);
	json_put_bool(object, "put_back", action->put_back);
	if (object)
		json_array_append_new(data, object);
}

void api_levers(struct gate *gate, struct call *call, const struct api_args *args)
{
	json_t *object, *actions;
	struct opt n;
	struct err err = {0};

	(void)args;
	if (!gate->levers) {
		answer_fail(call, ERR_BUSY, "The gate moves no levers now");
		return;
	}
	object = levers_show(gate->levers);
	json_put(object, "ages", gate->ages ? ages_show(gate->ages) : json_array());
	json_put(object, "paces", levers_paces(gate->levers));
	actions = json_array();
	if (!api_query_int(call, "actions", ACTIONS_MAX, &n, &err) ||
		(n.known && n.v &&
			!store_lever_actions(
				gate->store, (size_t)n.v, add_action, actions, &err))) {
		json_decref(actions);
		json_decref(object);
		answer_err(call, &err);
		return;
	}
	if (n.known)
		json_put(object, "actions", actions);
	else
		json_decref(actions);
	answer_json(call, 200, object);
}

void api_levers_reset(struct gate *gate, struct call *call, const struct api_args *args)
{
	const char *reason = NULL;
	int64_t span_ms = 0;
	bool others = false;
	char why[240];
	json_t *object = json_object();
	struct err err = {0};

	if (!gate->levers) {
		json_decref(object);
		answer_fail(call, ERR_BUSY, "The gate moves no levers now");
		return;
	}
	if (!json_get_text(args->body, "reason", &reason, &err) ||
		!json_may_int(args->body, "for_ms", 0, FREEZE_MAX_MS, &span_ms, &err) ||
		!json_may_bool(args->body, "others", &others, &err)) {
		json_decref(object);
		answer_err(call, &err);
		return;
	}
	log_notice("Levers: %s says why: %s", call_peer(call)->name, reason);
	json_put(object, "levers", levers_reset(gate->levers, call_peer(call)->name, span_ms));
	if (others && gate->floors) {
		snprintf(why, sizeof(why),
			"%.60s wants also what other gates moved put back: %.120s",
			call_peer(call)->name, reason);
		floor_levers_free_others(gate->floors, why);
	}
	json_put_bool(object, "others", others && gate->floors);
	answer_json(call, 200, object);
}
