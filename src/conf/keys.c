// SPDX-License-Identifier: MIT
#include "conf/keys.h"

#include <stddef.h>

#include "core/policy.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct schema_word verdicts[] = {
	{"allow", VERDICT_ALLOW},
	{"throttle", VERDICT_THROTTLE},
	{"hold", VERDICT_HOLD},
	{"deny", VERDICT_DENY},
	{NULL, 0},
};

/* Where a hold would have no end, or no rule to give it one. */
static const struct schema_word verdicts_no_hold[] = {
	{"allow", VERDICT_ALLOW},
	{"throttle", VERDICT_THROTTLE},
	{"deny", VERDICT_DENY},
	{NULL, 0},
};

static const struct schema_word verdicts_no_lever[] = {
	{"allow", VERDICT_ALLOW},
	{"hold", VERDICT_HOLD},
	{"deny", VERDICT_DENY},
	{NULL, 0},
};

static const struct schema_word verdicts_go_or_not[] = {
	{"allow", VERDICT_ALLOW},
	{"deny", VERDICT_DENY},
	{NULL, 0},
};

static const struct schema_word running_acts[] = {
	{"leave", RUNNING_LEAVE},
	{"throttle", RUNNING_THROTTLE},
	{"stop", RUNNING_STOP},
	{NULL, 0},
};

static const struct schema_word too_slow_acts[] = {
	{"relax", TOO_SLOW_RELAX},
	{"hold", TOO_SLOW_HOLD},
	{"allow", TOO_SLOW_ALLOW},
	{NULL, 0},
};

static const struct schema_word pbs_jobs_acts[] = {
	{"auto", PBS_JOBS_AUTO},
	{"leave", PBS_JOBS_LEAVE},
	{"stop", PBS_JOBS_STOP},
	{NULL, 0},
};

#define SET(field) offsetof(struct rule_settings, field)

static const struct schema_key settings_keys[] = {
	{.name = "max_hold",
		.type = SCHEMA_SPAN,
		.opt = true,
		.offset = SET(max_hold),
		.min = MS_SECOND,
		.max = 60 * MS_DAY,
		.shipped = "8h",
		.word = "rpo",
		.word_at = SET(hold_to_rpo),
		.flags = KEY_HOLDS,
		.help = "how long a job is held at most, waiting in the queue included; \"rpo\": "
			"until the first of its guests reaches `rpo`, 8h where no age is known"},
	{.name = "rpo",
		.type = SCHEMA_SPAN,
		.opt = true,
		.offset = SET(rpo_ms),
		.min = MS_MINUTE,
		.max = 400 * MS_DAY,
		.shipped = "",
		.flags = KEY_HOLDS | KEY_TO_RPO,
		.help = "how old the last good backup of a guest may get, for max_hold = \"rpo\""},
	{.name = "on_expiry",
		.type = SCHEMA_WORD,
		.offset = SET(on_expiry),
		.words = verdicts_no_hold,
		.shipped = "throttle",
		.flags = KEY_HOLDS,
		.help = "what a hold becomes when its time is over"},
	{.name = "mid_job",
		.type = SCHEMA_WORD,
		.offset = SET(mid_job),
		.words = verdicts_no_hold,
		.shipped = "throttle",
		.flags = KEY_HOLDS,
		.help = "what a hold becomes inside a job that already runs; deny means the rest "
			"of its guests"},
	{.name = "recheck",
		.type = SCHEMA_SPAN,
		.offset = SET(recheck_ms),
		.max = MS_DAY,
		.shipped = "5min",
		.flags = KEY_HOLDS,
		.help = "how long a job that already runs waits before `mid_job`, for all its "
			"guests together"},
	{.name = "settle",
		.type = SCHEMA_SPAN,
		.offset = SET(settle_ms),
		.max = 7 * MS_DAY,
		.shipped = "10min",
		.flags = KEY_HOLDS,
		.help = "for how long the reason must be gone before a held job goes on"},
	{.name = "protect",
		.type = SCHEMA_PERCENT,
		.offset = SET(protect_ppm),
		.min = 10000,
		.max = 1000000,
		.shipped = "80%",
		.flags = KEY_THROTTLES | KEY_PROTECTS,
		.help = "the share of its undisturbed pace that the rebuild keeps"},
	{.name = "protect_min",
		.type = SCHEMA_PERCENT,
		.offset = SET(protect_min_ppm),
		.max = 1000000,
		.shipped = "30%",
		.flags = KEY_THROTTLES | KEY_PROTECTS,
		.help = "the share below which a backup is slowed as far as it can be; at most "
			"`protect`"},
	{.name = "over",
		.type = SCHEMA_SPAN,
		.offset = SET(over_ms),
		.min = 10 * MS_SECOND,
		.max = MS_DAY,
		.shipped = "10min",
		.flags = KEY_THROTTLES | KEY_PROTECTS,
		.help = "the time over which the share is kept"},
	{.name = "rate",
		.type = SCHEMA_RATE,
		.offset = SET(rate),
		.min = 1000,
		.max = INT64_C(1000000000000),
		.shipped = "",
		.flags = KEY_THROTTLES,
		.help = "a fixed rate for backups, instead of `protect`"},
	{.name = "without_lever",
		.type = SCHEMA_WORD,
		.offset = SET(without_lever),
		.words = verdicts_no_lever,
		.shipped = "allow",
		.flags = KEY_THROTTLES,
		.help = "what throttle becomes where nothing is set up that could slow the job"},
	{.name = "too_slow",
		.type = SCHEMA_WORD,
		.offset = SET(too_slow),
		.words = too_slow_acts,
		.shipped = "relax",
		.flags = KEY_THROTTLES,
		.help = "what happens to a job that would not be done by its next start: `protect` "
			"is given up stepwise down to `protect_min`, it is held, or it is not "
			"slowed"},
	{.name = "max_pause",
		.type = SCHEMA_SPAN,
		.opt = true,
		.offset = SET(max_pause_ms),
		.min = MS_SECOND,
		.max = MS_HOUR,
		.shipped = "",
		.flags = KEY_THROTTLES,
		.help = "how long a guest's backup is paused at most in one piece, for its own "
			"writes may wait for that; none: 15s, with fleecing 2min"},
	{.name = "running",
		.type = SCHEMA_WORD,
		.offset = SET(running),
		.words = running_acts,
		.shipped = "leave",
		.help = "what happens to jobs that already write when the rule begins to match"},
	{.name = "pbs_jobs",
		.type = SCHEMA_WORD,
		.offset = SET(pbs_jobs),
		.words = pbs_jobs_acts,
		.shipped = "auto",
		.help = "what happens to garbage collection and verification of a backup server on "
			"this NAS: auto stops them while no redundancy is left; they run again "
			"afterwards"},
	{.name = "max_running",
		.type = SCHEMA_COUNT,
		.offset = SET(max_running),
		.min = 1,
		.max = 1000,
		.shipped = "1",
		.flags = KEY_HOLDS,
		.help = "how many jobs run on one NAS while held ones wait for their turn"},
	{.name = "release_interval",
		.type = SCHEMA_SPAN,
		.offset = SET(release_interval_ms),
		.max = MS_DAY,
		.shipped = "1min",
		.flags = KEY_HOLDS,
		.help = "the time between two held jobs that go on"},
	{.name = "release_window",
		.type = SCHEMA_WINDOWS,
		.offset = SET(release_windows),
		.shipped = "",
		.flags = KEY_HOLDS,
		.help = "held jobs go on only at these times; none: always"},
	{.name = "observe",
		.type = SCHEMA_BOOL,
		.offset = SET(observe),
		.shipped = "false",
		.help = "the rule only records what it would have done; the job goes on"},
	{.name = "notify",
		.type = SCHEMA_BOOL,
		.offset = SET(notify),
		.shipped = "false",
		.help = "the rule's verdict is told to the webhooks and mail addresses"},
};

const struct schema keys_settings = {
	"Settings of a rule, and of `defaults`", settings_keys, COUNT(settings_keys)};

#define RULE(field) offsetof(struct rule, field)

static const struct schema_key rule_keys[] = {
	{.name = "name",
		.type = SCHEMA_TEXT,
		.offset = RULE(name),
		.size = RULE_NAME_MAX,
		.min = 1,
		.help = "what the rule is called in the log and in the job's output; unique"},
	{.name = "note",
		.type = SCHEMA_TEXT,
		.offset = RULE(note),
		.size = sizeof(((struct rule *)NULL)->note),
		.shipped = "",
		.help = "a sentence that is said with the verdict"},
	{.name = "when", .type = SCHEMA_OTHER},
	{.name = "verdict",
		.type = SCHEMA_WORD,
		.offset = RULE(verdict),
		.words = verdicts,
		.help = "what a job gets when the rule is the first that matches"},
};

const struct schema keys_rule = {"A rule", rule_keys, COUNT(rule_keys)};

static const struct schema_key sensor_keys[] = {
	{.name = "note",
		.type = SCHEMA_TEXT,
		.offset = RULE(note),
		.size = sizeof(((struct rule *)NULL)->note),
		.shipped = "",
		.help = "a sentence that is said with the verdict"},
	{.name = "verdict",
		.type = SCHEMA_WORD,
		.offset = RULE(verdict),
		.words = verdicts,
		.shipped = "hold",
		.help = "what a job gets while the NAS cannot be seen"},
};

const struct schema keys_sensor = {"The group `sensor`", sensor_keys, COUNT(sensor_keys)};

#define POLICY(field) offsetof(struct policy, field)

static const struct schema_key policy_keys[] = {
	{.name = "name",
		.type = SCHEMA_TEXT,
		.offset = POLICY(name),
		.size = RULE_NAME_MAX,
		.min = 1,
		.shipped = "policy",
		.help = "what the policy is called"},
	{.name = "enabled",
		.type = SCHEMA_BOOL,
		.offset = POLICY(enabled),
		.shipped = "true",
		.help = "false switches the gate off: every job is allowed and nothing else is "
			"recorded"},
	{.name = "observe",
		.type = SCHEMA_BOOL,
		.offset = POLICY(observe),
		.shipped = "false",
		.help = "true: every job is allowed, and what it would have got is recorded"},
	{.name = "unmapped",
		.type = SCHEMA_WORD,
		.offset = POLICY(unmapped),
		.words = verdicts_go_or_not,
		.shipped = "allow",
		.help = "what a job gets whose storage is mapped to no array"},
	{.name = "default",
		.type = SCHEMA_WORD,
		.offset = POLICY(fallback),
		.words = verdicts_no_hold,
		.shipped = "allow",
		.help = "what a job gets when no rule matches"},
	{.name = "blind_limit",
		.type = SCHEMA_SPAN,
		.offset = POLICY(blind_limit_ms),
		.min = MS_SECOND,
		.max = 60 * MS_DAY,
		.shipped = "1d",
		.help = "a NAS that has not been seen for longer holds no job any more"},
	{.name = "running_ttl",
		.type = SCHEMA_SPAN,
		.offset = POLICY(running_ttl_ms),
		.min = MS_SECOND,
		.max = 60 * MS_DAY,
		.shipped = "1d",
		.help = "a running job of another node counts as lost after this time"},
	{.name = "start_grace",
		.type = SCHEMA_SPAN,
		.offset = POLICY(start_grace_ms),
		.min = MS_SECOND,
		.max = MS_DAY,
		.shipped = "10min",
		.help = "how long a job that was let go keeps its place before it starts"},
	{.name = "defaults", .type = SCHEMA_OTHER},
	{.name = "sensor", .type = SCHEMA_OTHER},
	{.name = "rules", .type = SCHEMA_OTHER},
	{.name = "tests", .type = SCHEMA_OTHER},
};

const struct schema keys_policy = {"The policy itself", policy_keys, COUNT(policy_keys)};

void keys_document(struct buf *ret)
{
	static const struct schema *const all[] = {
		&keys_policy, &keys_rule, &keys_settings, &keys_sensor};
	size_t i;

	for (i = 0; i < COUNT(all); i++) {
		buf_addf(ret, "%s### %s\n\n", i ? "\n" : "", all[i]->title);
		schema_document(all[i], ret);
	}
	buf_adds(ret,
		"\nThe group takes the settings of a rule as well; there `max_hold` is 30min and "
		"`on_expiry` allow by default.\n");
}
