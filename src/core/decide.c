// SPDX-License-Identifier: MIT
#include "core/decide.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "core/deciding.h"
#include "core/hold.h"
#include "core/match.h"
#include "core/override.h"
#include "core/reason.h"
#include "core/rules.h"
#include "core/slow.h"
#include "core/span.h"

bool deciding_mid_job(const struct deciding *d)
{
	return d->in->request.phase > PHASE_JOB_INIT;
}

enum verdict verdict_sane(enum verdict verdict)
{
	return verdict_word(verdict) ? verdict : VERDICT_ALLOW;
}

static void settle(struct deciding *d, int step, enum verdict verdict, const struct rule *rule)
{
	verdict = verdict_sane(verdict);
	d->base = verdict;
	d->base_step = step;
	d->rule = rule;
	d->set = rule ? &rule->set : &d->policy->defaults;
	d->ret->verdict = verdict;
	d->ret->step = step;
	if (rule)
		snprintf(d->ret->rule, sizeof(d->ret->rule), "%s", rule->name);
}

static void note(struct deciding *d)
{
	if (d->rule->note[0])
		reason_add(d->ret, REASON_NOTE, "%s", d->rule->note);
}

/* 1: the gate is switched off. */
static bool step_1(struct deciding *d)
{
	if (d->policy->enabled) {
		trace_add(d->trace, 1, "the gate is switched on");
		return false;
	}
	settle(d, 1, VERDICT_ALLOW, NULL);
	reason_add(d->ret, REASON_GATE_OFF, "the gate is switched off (enabled = false)");
	return true;
}

/* 2: an override covers the request. */
static bool step_2(struct deciding *d)
{
	const struct override *found = override_find(d->in);

	if (!found) {
		trace_add(d->trace, 2, "%s",
			d->in->n_overrides ? "no override in force covers this request"
					   : "no override is in force");
		return false;
	}
	settle(d, 2, found->verdict, NULL);
	d->override = found;
	d->ret->override_id = found->id;
	reason_add(d->ret, REASON_OVERRIDE, "override %" PRId64 " by %s says %s: %s", found->id,
		found->by, verdict_word(found->verdict), found->reason);
	return true;
}

/* 3: the storage is mapped to no array. */
static bool step_3(struct deciding *d)
{
	if (d->in->mapping.nas[0]) {
		trace_add(d->trace, 3, "storage '%s' is mapped to %s", d->in->request.storage,
			d->in->mapping.nas);
		return false;
	}
	settle(d, 3, d->policy->unmapped, NULL);
	reason_add(d->ret, REASON_UNMAPPED,
		"storage '%s' is mapped to no array: nothing is known about what it writes to",
		d->in->request.storage);
	return true;
}

/* The outage has used up what the rule for the blind gives it: on_expiry at once, for any job. */
static bool outage_spent(struct deciding *d, const struct rule *rule)
{
	const struct ticket_view *ticket = &d->in->ticket;
	char spent[UNITS_TEXT_MAX];

	if (rule->verdict != VERDICT_HOLD || !d->blind_ms.known || hold_to_rpo(d, &rule->set) ||
		d->blind_ms.v < rule->set.max_hold.v)
		return false;
	settle(d, 4, rule->set.on_expiry == VERDICT_HOLD ? VERDICT_ALLOW : rule->set.on_expiry,
		rule);
	d->at_once = true;
	d->ret->expires = ticket->was_held && !ticket->released && !deciding_mid_job(d);
	reason_add(d->ret, REASON_BLIND_BUDGET,
		"%s has been blind for longer than rule '%s' holds for it (max_hold %s for the "
		"whole outage)",
		d->in->mapping.nas, rule->name, span_show(rule->set.max_hold.v, spent));
	return true;
}

/* The rule for a NAS that cannot be seen. */
static void blind(struct deciding *d)
{
	const struct rule *rule = rules_for_blind(d->policy, d->in);
	char buf[360];
	struct text why = {buf, sizeof(buf), 0};

	blind_sentence(&why, &d->in->facts, d->in->mapping.nas, &d->blind_ms);
	if (outage_spent(d, rule)) {
		reason_add(d->ret, REASON_BLIND, "%s", buf);
		return;
	}
	settle(d, 4, rule->verdict, rule);
	d->outage = true;
	reason_add(d->ret, REASON_BLIND, "%s: rule '%s'", buf, rule->name);
	note(d);
}

/* What the rules found, as the base. `code` is the first reason's. */
static void take(struct deciding *d, int step, const struct found *found, enum reason_code code)
{
	char buf[360];
	struct text what = {buf, sizeof(buf), 0};

	settle(d, step, found->verdict, found->rule);
	d->array = found->array;
	snprintf(d->ret->array, sizeof(d->ret->array), "%s", found->name);
	if (found->array) {
		array_sentence(&what, d->in->mapping.nas, found->array);
	} else {
		d->outage = true;
		text_add(&what,
			found->name[0] ? "array %s was never seen on %s"
				       : "%sno data array was ever seen on %s",
			found->name, d->in->mapping.nas);
	}
	reason_add(d->ret, code,
		code == REASON_BLIND_HOLD_GOES_ON ? "rule '%s' goes on, as last seen: %s"
						  : "rule '%s': %s",
		found->rule->name, buf);
	note(d);
}

/* What was known last holds: by its verdict, or as a throttle that nothing can carry out. */
static bool found_holds(const struct deciding *d, const struct found *found)
{
	return found->verdict == VERDICT_HOLD ||
		(found->verdict == VERDICT_THROTTLE && !d->in->lever &&
			found->rule->set.without_lever == VERDICT_HOLD);
}

/* 4: the facts are stale or unknown. */
static bool step_4(struct deciding *d)
{
	const struct nas_facts *facts = &d->in->facts;
	const char *nas = d->in->mapping.nas;
	char limit[UNITS_TEXT_MAX], buf[300];
	struct text why = {buf, sizeof(buf), 0};
	struct found found;

	if (facts->sensor == SENSOR_OK) {
		trace_add(d->trace, 4, "%s is seen", nas);
		return false;
	}
	d->blind_ms = span_since(facts->blind_since_ms, d->in->now.boot_ms);
	blind_sentence(&why, facts, nas, &d->blind_ms);
	trace_add(d->trace, 4, "%s", buf);
	if (d->blind_ms.known && d->blind_ms.v > d->policy->blind_limit_ms) {
		settle(d, 4, VERDICT_ALLOW, NULL);
		d->at_once = true;
		reason_add(d->ret, REASON_BLIND_LIMIT,
			"%s: longer than blind_limit (%s), nothing is held for it any more", buf,
			span_show(d->policy->blind_limit_ms, limit));
		return true;
	}
	rules_find(d, 4, &found);
	if (found_holds(d, &found) && !found.rule->on_sensor) {
		take(d, 4, &found, REASON_BLIND_HOLD_GOES_ON);
		reason_add(d->ret, REASON_BLIND, "%s", buf);
	} else {
		blind(d);
	}
	return true;
}

/* 5: the rules, for each array. */
static bool step_5(struct deciding *d)
{
	struct found found;

	rules_find(d, 5, &found);
	if (!found.rule)
		return false;
	take(d, found.array ? 5 : 4, &found, found.array ? REASON_RULE : REASON_BLIND);
	rules_others(d, &found);
	return true;
}

/* 6: no rule matched. */
static bool step_6(struct deciding *d)
{
	settle(d, 6, d->policy->fallback, NULL);
	reason_add(d->ret, REASON_NO_RULE, "no rule of policy '%s' matches", d->policy->name);
	return true;
}

/* All that it backs up are containers, as far as is known. */
static bool only_containers(const struct request *request)
{
	return request->guest_type == GUEST_LXC ||
		(request->n_qemu.known && request->n_qemu.v == 0);
}

/* Why nothing can be moved. A container's backup has no job of its own that could be slowed while
 * it runs (pve-container PVE/VZDump/LXC.pm), and vzdump reads bwlimit before it asks
 * (pve-manager PVE/VZDump.pm new()). */
static void no_lever(struct deciding *d, enum verdict instead)
{
	if (only_containers(&d->in->request))
		reason_add(d->ret, REASON_NO_LEVER,
			"nothing can slow a container's backup onto this storage while it runs, "
			"only a bwlimit (of the job or vzdump.conf) could, and from its next run "
			"on: %s instead",
			verdict_word(instead));
	else
		reason_add(d->ret, REASON_NO_LEVER,
			"no lever is set up that could slow this job: %s instead",
			verdict_word(instead));
}

/* What the job does: a throttle needs something that can be moved. */
static void act(struct deciding *d)
{
	struct decision *ret = d->ret;
	enum verdict instead = verdict_sane(d->set->without_lever);

	ret->act = ret->verdict;
	ret->then_act = ret->then;
	if (ret->then == VERDICT_THROTTLE && !d->in->lever)
		ret->then_act = instead == VERDICT_HOLD ? VERDICT_ALLOW : instead;
	if (ret->verdict != VERDICT_THROTTLE)
		return;
	if (d->in->lever) {
		ret->protect_ppm = d->protect_ppm;
		return;
	}
	/* It waited for that already, or may not wait any more: never in a circle. */
	if (instead == VERDICT_HOLD && !d->waits)
		instead = VERDICT_ALLOW;
	ret->act = instead;
	no_lever(d, instead);
}

/* Beside every hold: how old the last good backup is, and how old it may get. */
static void age(struct deciding *d)
{
	const struct request *request = &d->in->request;
	const struct rule_settings *set = d->set;
	char buf[160], shown[UNITS_TEXT_MAX];
	struct text text = {buf, sizeof(buf), 0};

	if (d->ret->act != VERDICT_HOLD || !request->backup_age_ms.known)
		return;
	text_add(&text, "%s is %s old", reason_backup(request),
		span_show(request->backup_age_ms.v, shown));
	if (set->rpo_ms.known)
		text_add(&text, ", and may get %s old (rpo)", span_show(set->rpo_ms.v, shown));
	reason_add(d->ret, REASON_AGE, "%s", buf);
}

/* 8: observe only. An operator's override is not observed away by its rule: it has none. */
static void step_8(struct deciding *d)
{
	struct decision *ret = d->ret;
	bool observes = d->policy->observe || (d->base_step != 2 && d->set->observe);

	ret->would_be = ret->verdict;
	if (!observes) {
		trace_add(d->trace, 8, "neither the gate nor the rule only observes");
		return;
	}
	if (ret->verdict == VERDICT_ALLOW) {
		trace_add(d->trace, 8, "observes only; it is allow anyway");
		return;
	}
	ret->verdict = VERDICT_ALLOW;
	ret->act = VERDICT_ALLOW;
	ret->protect_ppm = 0;
	ret->too_slow_ppm = OPT_NONE;
	ret->step = 8;
	ret->expires = false;
	ret->ends_in_ms = OPT_NONE;
	ret->then = ret->then_act = VERDICT_NONE;
	ret->expected_ms = OPT_NONE;
	ret->again_in_ms = OPT_NONE;
	reason_first(ret, REASON_OBSERVE, "observing only: it would have been %s",
		verdict_word(ret->would_be));
	trace_add(d->trace, 8, "%s", ret->reasons[0].text);
}

/* The line of the step that settled the verdict. Its last one: each step speaks in the end. */
static void trace_settled(struct trace *trace, int step)
{
	size_t i = trace ? trace->n : 0;

	while (i-- > 0) {
		if (trace->lines[i].step == step) {
			trace->lines[i].settled = true;
			return;
		}
	}
}

void decide(const struct policy *policy, const struct inputs *in, struct decision *ret,
	struct trace *trace)
{
	static bool (*const steps[])(struct deciding * d) = {
		step_1, step_2, step_3, step_4, step_5, step_6};
	struct deciding d = {.policy = policy, .in = in, .ret = ret, .trace = trace};
	size_t i = 0;

	memset(ret, 0, sizeof(*ret));
	if (trace)
		trace->n = 0;
	while (!steps[i](&d))
		i++;
	trace_add(trace, d.base_step, "%s: %s", verdict_word(d.base), ret->reasons[0].text);
	if (d.base_step == 1) {
		ret->act = ret->would_be = ret->verdict;
	} else {
		hold_step(&d);
		slow_step(&d);
		act(&d);
		age(&d);
		step_8(&d);
	}
	trace_settled(trace, ret->step);
}

bool decision_differs(const struct decision *a, const struct decision *b)
{
	return a->verdict != b->verdict || a->act != b->act || a->step != b->step ||
		strcmp(a->rule, b->rule) != 0 || a->reasons[0].code != b->reasons[0].code;
}

bool mapping_covers(const struct mapping *mapping, const struct array_facts *array)
{
	size_t i;

	for (i = 0; i < mapping->n_arrays && i < MAPPING_MAX_ARRAYS; i++) {
		if (strcmp(mapping->arrays[i], array->name) == 0)
			return true;
	}
	return mapping->n_arrays == 0 && array->role == MD_ROLE_DATA;
}
