// SPDX-License-Identifier: MIT
/* What the journal and the notices say of a step that is recorded. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "gate/desk_impl.h"
#include "gate/notify.h"
#include "wire/wire.h"

static json_t *details(const struct effect *effect)
{
	json_t *object = json_object();

	json_put_int(object, "ticket", effect->ticket);
	json_put_text(object, "state", ticket_state_word(effect->after));
	json_put_text(object, "client", client_word(effect->client));
	json_put_text(object, "storage", effect->storage);
	json_put_text(object, "node", effect->node);
	json_put_text(object, "nas", effect->nas);
	json_put_int(object, "held_ms", effect->held_ms);
	if (effect->kind != OUTCOME_DECIDED) {
		json_put_text(object, "why", effect->why);
		return object;
	}
	json_put_int(object, "decision", effect->decision_id);
	json_put_text(object, "verdict", verdict_word(effect->decision.verdict));
	json_put_text(object, "act", verdict_word(effect->decision.act));
	json_put_int(object, "step", effect->decision.step);
	json_put_text(object, "rule", effect->decision.rule);
	json_put_text(object, "array", effect->decision.array);
	json_put(object, "reasons", wire_reasons(&effect->decision));
	json_put_opt(object, "ends_in_ms", effect->decision.ends_in_ms);
	json_put_text(object, "then", verdict_word(effect->decision.then));
	return object;
}

static void notice(
	struct desk *desk, const struct effect *effect, enum notify_event event, const char *what)
{
	char thing[32], text[640];
	const char *reason =
		effect->kind == OUTCOME_DECIDED ? effect->decision.reasons[0].text : effect->why;

	snprintf(thing, sizeof(thing), "T%lld", (long long)effect->ticket);
	snprintf(text, sizeof(text), "%s %s (storage '%s', node '%s'): %s", thing, what,
		effect->storage, effect->node, reason);
	notify_tell(desk->gate->notify, event, thing, text, details(effect));
}

static bool rule_notifies(const struct desk *desk, const struct effect *effect)
{
	const struct rule *rule = effect->decision.rule[0]
		? policy_rule(desk->gate->policy, effect->decision.rule)
		: NULL;

	return rule && rule->set.notify;
}

static void tell_decision(struct desk *desk, const struct effect *effect)
{
	const struct decision *decision = &effect->decision;
	bool held = effect->after == TICKET_HELD;

	log_notice("T%lld %s: %s decision=%lld ticket=%lld verdict=%s act=%s step=%d rule=\"%s\" "
		   "storage=%s "
		   "node=%s nas=%s",
		(long long)effect->ticket, verdict_word(decision->act), decision->reasons[0].text,
		(long long)effect->decision_id, (long long)effect->ticket,
		verdict_word(decision->verdict), verdict_word(decision->act), decision->step,
		decision->rule, effect->storage, effect->node, effect->nas);
	if (decision->expires)
		notice(desk, effect, NOTIFY_EXPIRED, "is no longer held, its time was over");
	else if (effect->after == TICKET_DENIED)
		notice(desk, effect, NOTIFY_DENIED, "is denied");
	else if (held && effect->before != TICKET_HELD)
		notice(desk, effect, NOTIFY_HOLD, "is held");
	else if (effect->before == TICKET_HELD && !held)
		notice(desk, effect, NOTIFY_RELEASED, "goes on");
	else if (rule_notifies(desk, effect))
		notice(desk, effect, NOTIFY_RULE, "meets a rule that is to be told");
}

void effect_tell(struct desk *desk, const struct effect *effect)
{
	if (effect->kind == OUTCOME_DECIDED) {
		tell_decision(desk, effect);
		return;
	}
	log_info("T%lld %s: %s ticket=%lld state=%s storage=%s node=%s", (long long)effect->ticket,
		ticket_state_word(effect->after), effect->why, (long long)effect->ticket,
		ticket_state_word(effect->after), effect->storage, effect->node);
	if (effect->after == TICKET_LOST)
		notice(desk, effect, NOTIFY_LOST, "is lost");
}

void record_tell(struct gate *gate)
{
	struct store_health health;
	json_t *details_of;
	char text[640];

	store_health(gate->store, &health);
	if (health.ok == gate->record_ok)
		return;
	gate->record_ok = health.ok;
	if (health.ok)
		snprintf(text, sizeof(text),
			"The record can be written again, what was kept aside is taken in");
	else
		snprintf(text, sizeof(text),
			"The record cannot be written: %s; jobs are answered by if_record_fails "
			"(%s)",
			health.why.text, verdict_word(gate->settings->if_record_fails));
	if (health.ok)
		log_notice("%s", text);
	else
		log_err("%s", text);
	details_of = json_object();
	json_put_bool(details_of, "ok", health.ok);
	json_put_int(details_of, "spilled", health.spilled);
	json_put_int(details_of, "lost", health.lost);
	notify_tell(
		gate->notify, NOTIFY_RECORD, health.ok ? "record ok" : "record", text, details_of);
}
