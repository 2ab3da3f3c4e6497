// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "conf/keys.h"
#include "conf/policy_read.h"
#include "conf/when.h"
#include "md/facts.h"

/* Steps of when_implies() for one whole policy. */
#define REACH_BUDGET ((size_t)2000000)

static bool is_given(uint64_t given, const char *name)
{
	int at = schema_find(&keys_settings, name);

	return at >= 0 && given & UINT64_C(1) << at;
}

static bool holds(const struct rule_settings *set, enum verdict verdict)
{
	return verdict == VERDICT_HOLD ||
		(verdict == VERDICT_THROTTLE &&
			(set->without_lever == VERDICT_HOLD || set->too_slow == TOO_SLOW_HOLD));
}

static bool throttles(const struct rule_settings *set, enum verdict verdict)
{
	return verdict == VERDICT_THROTTLE || set->running == RUNNING_THROTTLE ||
		(holds(set, verdict) &&
			(set->on_expiry == VERDICT_THROTTLE || set->mid_job == VERDICT_THROTTLE));
}

/* What the conditions on a key's flags are for this verdict; all of them for `defaults`. */
static unsigned int flags_met(const struct rule_settings *set, enum verdict verdict)
{
	unsigned int met = 0;

	if (verdict == VERDICT_NONE)
		met = KEY_HOLDS | KEY_THROTTLES | KEY_TO_RPO;
	if (holds(set, verdict))
		met |= KEY_HOLDS;
	if (throttles(set, verdict))
		met |= KEY_THROTTLES;
	if (!set->rate.known)
		met |= KEY_PROTECTS;
	if (set->hold_to_rpo)
		met |= KEY_TO_RPO;
	return met;
}

/* A setting that may be left out, and is. */
static bool unknown(const struct schema_key *key, const struct rule_settings *set)
{
	struct opt opt = OPT(0);

	if (key->opt || key->type == SCHEMA_RATE)
		memcpy(&opt, (const char *)set + key->offset, sizeof(opt));
	return !opt.known;
}

uint64_t policy_settings_used(const struct rule_settings *set, enum verdict verdict)
{
	unsigned int met = flags_met(set, verdict);
	uint64_t used = 0;
	size_t i;

	for (i = 0; i < keys_settings.n; i++) {
		const struct schema_key *key = &keys_settings.keys[i];

		if (unknown(key, set))
			continue;
		if (!(key->flags & ~met))
			used |= UINT64_C(1) << i;
	}
	return used;
}

static const char *why_without_effect(const struct rule_settings *set, enum verdict verdict,
	const struct schema_key *key, char text[160])
{
	unsigned int missing = key->flags & ~flags_met(set, verdict);

	if (missing & KEY_HOLDS)
		snprintf(text, 160,
			"it matters only while a job is held, and the verdict is %s; leave it out, "
			"or "
			"write verdict = \"hold\"",
			verdict_word(verdict));
	else if (missing & KEY_THROTTLES)
		snprintf(text, 160,
			"nothing in it throttles; leave it out, or write \"throttle\" as verdict, "
			"on_expiry, mid_job or running");
	else if (missing & KEY_TO_RPO)
		snprintf(
			text, 160, "nothing ends by it; leave it out, or write max_hold = \"rpo\"");
	else
		snprintf(text, 160, "'rate' takes its place; leave one of the two out");
	return text;
}

static void check_without_effect(const struct rule_settings *set, enum verdict verdict,
	uint64_t given, struct node group, const char *what, struct conf_errors *errors)
{
	uint64_t used = policy_settings_used(set, verdict);
	char why[160];
	size_t i;

	for (i = 0; i < keys_settings.n; i++) {
		const struct schema_key *key = &keys_settings.keys[i];

		if (!(given & ~used & UINT64_C(1) << i))
			continue;
		node_error(node_member(group, key->name), errors, "'%s' has no effect in %s: %s",
			key->name, what, why_without_effect(set, verdict, key, why));
	}
}

static void check_rpo(const struct rule_settings *set, uint64_t given, struct node group,
	const char *what, struct conf_errors *errors)
{
	if (set->hold_to_rpo && !set->rpo_ms.known && is_given(given, "max_hold"))
		node_error(node_member(group, "max_hold"), errors,
			"max_hold = \"rpo\" in %s needs `rpo`, how old a backup may get: rpo = "
			"\"2d\", "
			"here or in defaults",
			what);
}

void policy_check_settings(const struct rule_settings *set, enum verdict verdict, uint64_t given,
	struct node group, const char *what, struct conf_errors *errors)
{
	check_without_effect(set, verdict, given, group, what, errors);
	if (is_given(given, "protect_min") && set->protect_min_ppm > set->protect_ppm)
		node_error(node_member(group, "protect_min"), errors,
			"protect_min in %s is more than protect; it is the share below protect at "
			"which a backup is slowed as far as it can be",
			what);
	if (verdict == VERDICT_ALLOW && is_given(given, "running") && set->running != RUNNING_LEAVE)
		node_error(node_member(group, "running"), errors,
			"running = \"%s\" contradicts the verdict in %s: new jobs are allowed "
			"while "
			"running ones are not left alone; write verdict = \"throttle\", or leave "
			"it "
			"out",
			running_act_word(set->running), what);
	check_rpo(set, given, group, what, errors);
	if (is_given(given, "recheck") && verdict != VERDICT_NONE && set->max_hold.known &&
		!set->hold_to_rpo && set->recheck_ms > set->max_hold.v)
		node_error(node_member(group, "recheck"), errors,
			"recheck in %s is longer than max_hold, which is the whole time that a job "
			"may "
			"wait",
			what);
}

/* True where the tests of `when` are one on the sensor alone, for any way to be blind. */
bool policy_rule_covers_blind(const struct rule *rule)
{
	const struct cond *test = rule->when ? rule->when->child : NULL;
	size_t i;

	if (!test || test->next || test->kind != COND_TEST || test->field != FIELD_SENSOR)
		return false;
	for (i = 0; i < test->n_values; i++) {
		if (test->values[i].number == FIELD_SENSOR_BLIND)
			return true;
	}
	return false;
}

static bool field_known_blind(enum field field)
{
	return field == FIELD_SENSOR || field == FIELD_NAS ||
		(field >= FIELD_STORAGE && field < FIELD_COUNT);
}

/* The first test below `cond` on something that nobody knows of a blind NAS. */
static const struct cond *blind_test(const struct cond *cond)
{
	const struct cond *child, *found = NULL;

	if (cond->kind == COND_TEST)
		return field_known_blind(cond->field) ? NULL : cond;
	for (child = cond->child; child && !found; child = child->next)
		found = blind_test(child);
	return found;
}

static bool sensor_ok_asked(const struct cond *test)
{
	size_t i;

	for (i = 0; i < test->n_values; i++) {
		if (test->values[i].number == SENSOR_OK)
			return true;
	}
	return false;
}

/* The test on the sensor that stands beside the others; NULL where there is none. */
static const struct cond *sensor_test(const struct rule *rule)
{
	const struct cond *child, *found = NULL;

	for (child = rule->when->child; child; child = child->next) {
		if (child->kind == COND_TEST && child->field == FIELD_SENSOR)
			found = child;
	}
	return found;
}

/* The sensor is asked for by a test of its own, beside others that all must hold: else it is not
 * clear whether the rule is for a NAS that is seen or for one that is not. */
static void check_sensor(const struct rule *rule, struct node when, struct conf_errors *errors)
{
	const struct cond *test, *unknown;

	if (!rule->on_sensor)
		return;
	test = sensor_test(rule);
	if (!test) {
		node_error(when, errors,
			"rule '%s' asks for the sensor inside 'any' or 'not'; write a rule of its "
			"own with sensor at the top of 'when'",
			rule->name);
		return;
	}
	if (sensor_ok_asked(test)) {
		node_error(node_member(when, "sensor"), errors,
			"sensor: the rules see a NAS as \"ok\" always; leave it out, and write "
			"sensor "
			"= \"blind\" for a NAS that cannot be seen");
		return;
	}
	unknown = blind_test(rule->when);
	if (unknown)
		node_error(when, errors,
			"rule '%s' never matches: while a NAS cannot be seen its %s is not known",
			rule->name, field_word(unknown->field));
}

static void check_name(
	const struct policy *policy, size_t at, struct node rules, struct conf_errors *errors)
{
	const struct rule *rule = &policy->rules[at];
	struct node name = node_member(node_at(rules, at), "name");
	size_t i;

	if (!rule->name[0])
		return;
	if (strcmp(rule->name, policy->sensor.name) == 0)
		node_error(name, errors,
			"a rule cannot be called '%s': that is the built-in rule for a NAS that "
			"cannot be seen",
			rule->name);
	for (i = 0; i < at; i++) {
		if (strcmp(policy->rules[i].name, rule->name) != 0)
			continue;
		node_error(name, errors,
			"a rule called '%s' stands in line %d already; names are "
			"unique",
			rule->name, policy->rules[i].line);
		return;
	}
}

static const char *label(const struct rule *rule)
{
	return rule->name[0] ? rule->name : "(no name)";
}

/* The first rule that matches decides: a rule whose every situation an earlier one matches is
 * never asked. */
static void check_reach(const struct policy *policy, size_t at, struct node rules, size_t *budget,
	struct conf_errors *errors)
{
	const struct rule *rule = &policy->rules[at];
	size_t i;

	for (i = 0; i < at; i++) {
		const struct rule *earlier = &policy->rules[i];

		if (!earlier->when || earlier->on_sensor != rule->on_sensor)
			continue;
		if (rule->on_sensor && (!sensor_test(earlier) || !sensor_test(rule)))
			continue; /* refused already */
		if (!when_implies(rule->when, earlier->when, budget))
			continue;
		if (!earlier->when->child)
			node_error(node_at(rules, at), errors,
				"rule '%s' is never reached: rule '%s' in line %d has no "
				"conditions and "
				"matches everything; put it last",
				label(rule), label(earlier), earlier->line);
		else
			node_error(node_at(rules, at), errors,
				"rule '%s' is never reached: rule '%s' in line %d matches "
				"everything that "
				"it matches; put the narrower rule first",
				label(rule), label(earlier), earlier->line);
		return;
	}
}

void policy_check_rules(const struct policy *policy, struct node root, struct conf_errors *errors)
{
	struct node rules = node_member(root, "rules"), sensor = node_member(root, "sensor");
	size_t budget = REACH_BUDGET, i;

	for (i = 0; i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];

		check_name(policy, i, rules, errors);
		if (!rule->when)
			continue;
		check_sensor(rule, node_member(node_at(rules, i), "when"), errors);
		check_reach(policy, i, rules, &budget, errors);
		if (sensor.set && policy_rule_covers_blind(rule))
			node_error(sensor, errors,
				"the group 'sensor' has no effect: rule '%s' in line %d is for "
				"every NAS "
				"that cannot be seen; leave one of them out",
				label(rule), rule->line);
	}
}
