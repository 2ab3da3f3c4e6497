// SPDX-License-Identifier: MIT
#include <string.h>

#include "conf/conf.h"
#include "conf/keys.h"
#include "conf/policy_read.h"
#include "conf/when.h"

static void print_named(
	const struct schema *schema, const char *name, const void *base, int depth, struct buf *ret)
{
	int at = schema_find(schema, name);

	if (at >= 0)
		schema_print_key(&schema->keys[at], base, depth, ret);
}

/* Those that matter: for the others a rule has what `defaults` says. */
static void print_settings(
	const struct rule_settings *set, enum verdict verdict, int depth, struct buf *ret)
{
	uint64_t used = policy_settings_used(set, verdict);
	size_t i;

	for (i = 0; i < keys_settings.n; i++) {
		if (used & UINT64_C(1) << i)
			schema_print_key(&keys_settings.keys[i], set, depth, ret);
	}
}

static void print_rule(const struct rule *rule, struct buf *ret)
{
	buf_adds(ret, "\t{\n");
	print_named(&keys_rule, "name", rule, 2, ret);
	if (rule->note[0])
		print_named(&keys_rule, "note", rule, 2, ret);
	buf_adds(ret, "\t\twhen = ");
	when_print(rule->when, ret);
	buf_adds(ret, ";\n");
	print_named(&keys_rule, "verdict", rule, 2, ret);
	print_settings(&rule->set, rule->verdict, 2, ret);
	buf_adds(ret, "\t}");
}

static void print_sensor(const struct policy *policy, struct buf *ret)
{
	const struct rule *rule = &policy->sensor;
	size_t i;

	for (i = 0; i < policy->n_rules; i++) {
		if (policy_rule_covers_blind(&policy->rules[i]))
			return; /* never used */
	}
	buf_adds(ret, "sensor = {\n");
	if (rule->note[0])
		print_named(&keys_sensor, "note", rule, 1, ret);
	print_named(&keys_sensor, "verdict", rule, 1, ret);
	print_settings(&rule->set, rule->verdict, 1, ret);
	buf_adds(ret, "};\n");
}

bool conf_policy_print(const struct policy *policy, struct buf *ret)
{
	size_t i;

	for (i = 0; i < keys_policy.n; i++) {
		if (keys_policy.keys[i].type != SCHEMA_OTHER)
			schema_print_key(&keys_policy.keys[i], policy, 0, ret);
	}
	buf_adds(ret, "defaults = {\n");
	print_settings(&policy->defaults, VERDICT_NONE, 1, ret);
	buf_adds(ret, "};\n");
	print_sensor(policy, ret);
	buf_adds(ret, "rules = (");
	for (i = 0; i < policy->n_rules; i++) {
		buf_adds(ret, i ? ",\n" : "\n");
		print_rule(&policy->rules[i], ret);
	}
	buf_adds(ret, policy->n_rules ? "\n);\n" : ");\n");
	return !ret->failed;
}
