// SPDX-License-Identifier: MIT
/* A policy, made by hand, for the tests of src/core: one rule for each thing that a rule can do. */
#ifndef TESTS_UNIT_CORE_POLICY_H
#define TESTS_UNIT_CORE_POLICY_H

#include <stdio.h>
#include <string.h>

#include "core/policy.h"
#include "md/facts.h"

#define SEC MS_SECOND
#define MIN MS_MINUTE
#define HOUR MS_HOUR
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

enum made_rule {
	RULE_REBUILD,
	RULE_RESYNC,
	RULE_CHECK,
	RULE_REPAIR,
	RULE_DELAYED,
	RULE_KEY,
	N_MADE
};

/* Owns all that the policy points to. */
struct made_policy {
	struct policy policy;
	struct rule rules[N_MADE];
	struct cond conds[N_MADE];
	struct cond everything;
	struct value values[N_MADE][3];
	struct window window;
};

static inline struct rule_settings made_settings(void)
{
	return (struct rule_settings){.max_hold = OPT(8 * HOUR),
		.on_expiry = VERDICT_THROTTLE,
		.mid_job = VERDICT_THROTTLE,
		.recheck_ms = 5 * MIN,
		.settle_ms = 10 * MIN,
		.protect_ppm = 800000,
		.protect_min_ppm = 300000,
		.without_lever = VERDICT_ALLOW,
		.too_slow = TOO_SLOW_RELAX,
		.pbs_jobs = PBS_JOBS_AUTO,
		.running = RUNNING_LEAVE,
		.max_running = 1,
		.release_interval_ms = MIN};
}

static inline void made_rule(struct made_policy *made, enum made_rule at, const char *name,
	enum field field, int64_t number, enum verdict verdict)
{
	made->values[at][0] = (struct value){.cmp = CMP_EQ, .number = number};
	made->conds[at] = (struct cond){
		.kind = COND_TEST, .field = field, .values = made->values[at], .n_values = 1};
	made->rules[at] =
		(struct rule){.when = &made->conds[at], .verdict = verdict, .set = made_settings()};
	snprintf(made->rules[at].name, sizeof(made->rules[at].name), "%s", name);
}

static inline void made_policy(struct made_policy *made)
{
	memset(made, 0, sizeof(*made));
	made_rule(made, RULE_REBUILD, "rebuild", FIELD_OPERATION, MD_OP_RECOVERY, VERDICT_HOLD);
	made->values[RULE_REBUILD][1] = (struct value){.cmp = CMP_EQ, .number = MD_OP_RESHAPE};
	made->values[RULE_REBUILD][2] = (struct value){.cmp = CMP_EQ, .number = MD_OP_FROZEN};
	made->conds[RULE_REBUILD].n_values = 3;
	snprintf(made->rules[RULE_REBUILD].note, sizeof(made->rules[RULE_REBUILD].note),
		"the array is one failure nearer to losing everything");
	made_rule(made, RULE_RESYNC, "resync", FIELD_OPERATION, MD_OP_RESYNC, VERDICT_THROTTLE);
	made_rule(made, RULE_CHECK, "check", FIELD_OPERATION, MD_OP_CHECK, VERDICT_THROTTLE);
	made->rules[RULE_CHECK].set.without_lever = VERDICT_HOLD;
	made_rule(made, RULE_REPAIR, "repair", FIELD_OPERATION, MD_OP_REPAIR, VERDICT_DENY);
	made_rule(made, RULE_DELAYED, "delayed", FIELD_OPERATION, MD_OP_DELAYED, VERDICT_THROTTLE);
	made->rules[RULE_DELAYED].set.without_lever = VERDICT_DENY;
	made_rule(made, RULE_KEY, "key", FIELD_SENSOR, SENSOR_HOST_KEY, VERDICT_HOLD);
	made->rules[RULE_KEY].on_sensor = true;
	made->rules[RULE_KEY].set.max_hold = OPT(10 * MIN);
	made->rules[RULE_KEY].set.on_expiry = VERDICT_DENY;
	made->everything.kind = COND_ALL;
	made->policy = (struct policy){.name = "made",
		.enabled = true,
		.unmapped = VERDICT_ALLOW,
		.fallback = VERDICT_ALLOW,
		.sensor = {.name = "sensor",
			.when = &made->everything,
			.on_sensor = true,
			.verdict = VERDICT_HOLD,
			.set = made_settings()},
		.blind_limit_ms = 24 * HOUR,
		.running_ttl_ms = 24 * HOUR,
		.start_grace_ms = 10 * MIN,
		.defaults = made_settings(),
		.rules = made->rules,
		.n_rules = N_MADE};
	made->policy.sensor.set.max_hold = OPT(30 * MIN);
	made->policy.sensor.set.on_expiry = VERDICT_ALLOW;
}

static inline struct array_facts made_array(const char *name, enum md_operation operation)
{
	struct array_facts array = {.role = MD_ROLE_DATA,
		.level = MD_LEVEL_RAID6,
		.operation = operation,
		.sync_state = operation == MD_OP_IDLE ? MD_SYNC_NONE : MD_SYNC_RUNNING,
		.health = MD_HEALTH_OPTIMAL};

	snprintf(array.name, sizeof(array.name), "%s", name);
	return array;
}

#endif
