// SPDX-License-Identifier: MIT
#include "conf/conf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/keys.h"
#include "conf/policy_read.h"
#include "conf/when.h"

/* The built-in rule for a NAS that cannot be seen. */
#define SENSOR_NAME "sensor"
#define SENSOR_MAX_HOLD (30 * MS_MINUTE)

static bool windows_copy(struct rule_settings *set)
{
	size_t size = set->n_release_windows * sizeof(*set->release_windows);
	struct window *copy;

	if (!size) {
		set->release_windows = NULL;
		return true;
	}
	copy = malloc(size);
	if (copy)
		memcpy(copy, set->release_windows, size);
	else
		set->n_release_windows = 0;
	set->release_windows = copy;
	return copy != NULL;
}

/* A rule begins with the policy's defaults, of which it owns a copy. */
static bool rule_start(struct rule *rule, const struct policy *policy)
{
	rule->set = policy->defaults;
	return windows_copy(&rule->set);
}

static bool given_has(uint64_t given, const char *name)
{
	int at = schema_find(&keys_settings, name);

	return at >= 0 && given & UINT64_C(1) << at;
}

/* Where a rule's own settings and inherited ones do not go together, its own win: `protect` ends a
 * `rate`, a lower `protect` pulls `protect_min` down with it, a shorter `max_hold` `recheck`, and
 * what allows new jobs leaves running ones and the backup server's own alone. */
static void settle_settings(struct rule_settings *set, enum verdict verdict, uint64_t given)
{
	if (verdict == VERDICT_ALLOW && !given_has(given, "running"))
		set->running = RUNNING_LEAVE;
	if (verdict == VERDICT_ALLOW && !given_has(given, "pbs_jobs"))
		set->pbs_jobs = PBS_JOBS_LEAVE;
	if (verdict != VERDICT_NONE && !given_has(given, "recheck") && set->max_hold.known &&
		!set->hold_to_rpo && set->recheck_ms > set->max_hold.v)
		set->recheck_ms = set->max_hold.v;
	if (given_has(given, "protect") && !given_has(given, "rate"))
		set->rate = OPT_NONE;
	if (set->protect_min_ppm > set->protect_ppm && !given_has(given, "protect_min"))
		set->protect_min_ppm = set->protect_ppm;
}

static const char *hint_rule(const char *name)
{
	if (field_parse(name) || strcmp(name, "any") == 0 || strcmp(name, "not") == 0)
		return "it is a condition, which stands in when = { }";
	if (strcmp(name, "action") == 0)
		return "a rule's verdict = \"hold\" says what happens";
	if (strcmp(name, "tests") == 0 || strcmp(name, "rules") == 0)
		return "it stands at the top of the file";
	return NULL;
}

static const char *hint_top(const char *name)
{
	if (schema_find(&keys_settings, name) >= 0)
		return "it stands in a rule, or in defaults = { } for all rules";
	if (schema_find(&keys_rule, name) >= 0)
		return "it stands in a rule: rules = ( { name = \"...\"; ... } )";
	if (field_parse(name))
		return "it is a condition, which stands in the when = { } of a rule";
	if (strcmp(name, "rule") == 0)
		return "rules stand in a list: rules = ( { name = \"...\"; ... } )";
	return NULL;
}

static const char *hint_defaults(const char *name)
{
	return schema_find(&keys_rule, name) >= 0 ? "it stands in a rule" : NULL;
}

static const char *hint_sensor(const char *name)
{
	if (strcmp(name, "when") == 0)
		return "this group is for every NAS that cannot be seen; for some of them write a "
		       "rule with when = { sensor = \"blind\"; ... }";
	return NULL;
}

static void read_defaults(struct policy *policy, struct node root, struct conf_errors *errors)
{
	struct schema_part part = {&keys_settings, &policy->defaults, 0};
	struct node group = node_member(root, "defaults");

	schema_defaults(&keys_settings, &policy->defaults);
	if (!group.set)
		return;
	if (!schema_read(&part, 1, group, "'defaults'", hint_defaults, errors))
		return;
	settle_settings(&policy->defaults, VERDICT_NONE, part.given);
	policy_check_settings(
		&policy->defaults, VERDICT_NONE, part.given, group, "'defaults'", errors);
}

static bool read_sensor(struct policy *policy, struct node root, struct conf_errors *errors)
{
	struct rule *rule = &policy->sensor;
	struct schema_part parts[] = {{&keys_sensor, rule, 0}, {&keys_settings, &rule->set, 0}};
	struct node group = node_member(root, "sensor");

	if (!rule_start(rule, policy))
		return false;
	schema_defaults(&keys_sensor, rule);
	rule->set.max_hold = OPT(SENSOR_MAX_HOLD);
	rule->set.hold_to_rpo = false;
	rule->set.on_expiry = VERDICT_ALLOW;
	rule->on_sensor = true;
	snprintf(rule->name, sizeof(rule->name), "%s", SENSOR_NAME);
	rule->when = when_empty();
	if (!rule->when)
		return false;
	settle_settings(&rule->set, rule->verdict, 0);
	if (!group.set)
		return true;
	rule->line = node_line(group);
	if (!schema_read(parts, 2, group, "'sensor'", hint_sensor, errors))
		return true;
	settle_settings(&rule->set, rule->verdict, parts[1].given);
	policy_check_settings(&rule->set, rule->verdict, parts[1].given, group, "'sensor'", errors);
	return true;
}

/* False without memory only. */
static bool read_rule(
	struct policy *policy, struct rule *rule, struct node group, struct conf_errors *errors)
{
	struct schema_part parts[] = {{&keys_rule, rule, 0}, {&keys_settings, &rule->set, 0}};
	struct node when = node_member(group, "when"), name = node_member(group, "name");
	char what[RULE_NAME_MAX + 16];
	bool good;

	if (!rule_start(rule, policy))
		return false;
	rule->line = node_line(group);
	snprintf(what, sizeof(what), "a rule");
	if (node_type(name) == NODE_TEXT && strlen(node_text(name)) < RULE_NAME_MAX)
		snprintf(what, sizeof(what), "rule '%s'", node_text(name));
	good = schema_read(parts, 2, group, what, hint_rule, errors);
	if (node_type(group) != NODE_GROUP)
		return true;
	if (good) {
		settle_settings(&rule->set, rule->verdict, parts[1].given);
		policy_check_settings(
			&rule->set, rule->verdict, parts[1].given, group, what, errors);
	}
	if (when.set) {
		rule->when = when_read(when, errors);
		if (rule->when)
			rule->on_sensor = when_names(rule->when, FIELD_SENSOR);
		return true;
	}
	rule->when = when_empty();
	return rule->when != NULL;
}

static bool read_rules(struct policy *policy, struct node root, struct conf_errors *errors)
{
	struct node list = node_member(root, "rules");
	size_t n = node_count(list), i;

	if (!list.set)
		return true;
	if (node_type(list) != NODE_LIST) {
		node_error(list, errors,
			"'rules' is a list of groups, rules = ( { ... }, { ... } ), not %s",
			node_type_name(list));
		return true;
	}
	if (n > POLICY_MAX_RULES) {
		node_error(
			list, errors, "%zu rules stand here; %d are the most", n, POLICY_MAX_RULES);
		return true;
	}
	if (!n)
		return true;
	policy->rules = calloc(n, sizeof(*policy->rules));
	if (!policy->rules)
		return false;
	for (i = 0; i < n; i++) {
		policy->n_rules = i + 1;
		if (!read_rule(policy, &policy->rules[i], node_at(list, i), errors))
			return false;
	}
	return true;
}

static bool read_all(struct policy *policy, struct node root, struct conf_errors *errors)
{
	struct schema_part part = {&keys_policy, policy, 0};

	schema_defaults(&keys_policy, policy);
	schema_read(&part, 1, root, "a policy", hint_top, errors);
	read_defaults(policy, root, errors);
	if (!read_sensor(policy, root, errors) || !read_rules(policy, root, errors))
		return node_error(root, errors, "there is no memory left");
	policy_check_rules(policy, root, errors);
	return true;
}

struct policy *policy_read(struct node root, struct conf_errors *errors)
{
	struct policy *policy = calloc(1, sizeof(*policy));

	if (!policy)
		node_error(root, errors, "there is no memory left");
	else if (read_all(policy, root, errors) && conf_errors_none(errors))
		return policy;
	conf_policy_free(policy);
	return NULL;
}

static void rule_release(struct rule *rule)
{
	when_free(rule->when);
	free(rule->set.release_windows);
}

void conf_policy_free(struct policy *policy)
{
	size_t i;

	if (!policy)
		return;
	for (i = 0; i < policy->n_rules; i++)
		rule_release(&policy->rules[i]);
	free(policy->rules);
	rule_release(&policy->sensor);
	free(policy->defaults.release_windows);
	free(policy);
}

struct policy *conf_policy_shipped(void)
{
	struct conf_errors errors = {0};
	struct policy *policy = NULL;

	conf_policy_parse("", 0, "shipped", &policy, &errors);
	conf_errors_release(&errors);
	return policy;
}

bool conf_policy_load(const char *file, struct policy **ret, struct conf_errors *errors)
{
	struct policy_suite *suite = NULL;

	*ret = NULL;
	if (!conf_suite_load(file, &suite, errors))
		return false;
	*ret = suite->policy;
	suite->policy = NULL;
	conf_suite_free(suite);
	return true;
}

bool conf_policy_parse(const char *text, size_t len, const char *name, struct policy **ret,
	struct conf_errors *errors)
{
	struct policy_suite *suite = NULL;

	*ret = NULL;
	if (!conf_suite_parse(text, len, name, &suite, errors))
		return false;
	*ret = suite->policy;
	suite->policy = NULL;
	conf_suite_free(suite);
	return true;
}
