// SPDX-License-Identifier: MIT
/* The table of test_decide.c: what is asked of decide(), by the number of the step that it is
 * about, and what it must answer. */
#ifndef TESTS_UNIT_DECIDE_ROWS_H
#define TESTS_UNIT_DECIDE_ROWS_H

#include "core/decide.h"
#include "core_policy.h"

#define NOW_BOOT (100 * HOUR)
#define NOW_UTC INT64_C(1796000000000)

#define ALLOW VERDICT_ALLOW
#define THROTTLE VERDICT_THROTTLE
#define HOLD VERDICT_HOLD
#define DENY VERDICT_DENY
#define IDLE MD_OP_IDLE
#define RECOVERY MD_OP_RECOVERY

/* What is set differs from: an idle md2 on a NAS that is seen, a job-init for the first time, no
 * lever, no override, an empty queue. */
struct row {
	int about; /* the step that the row is about */
	const char *name;

	bool off, observe, rule_observe;
	enum verdict unmapped, fallback, on_expiry, mid_job, default_without;
	struct opt max_hold; /* of rule 'rebuild' */
	bool window_shut;    /* rule 'rebuild' releases in a window that is shut now */
	bool window_open;
	int64_t max_running;

	bool no_nas, no_array, lever;
	enum md_operation op, op2; /* of md2, and of md3 where there is one */
	enum md_health health;
	bool missing;  /* the storage is mapped to md9 too, never seen */
	bool md9_only; /* and to nothing else */
	struct opt remaining;
	enum nas_sensor sensor;
	struct opt blind;

	enum client client;
	enum phase phase;
	uint32_t guest, guests;
	struct opt next_start; /* from now */
	struct ticket_view ticket;
	struct queue_view queue;
	struct override o[2];
	void (*tweak)(void); /* after all that */

	/* Expected. `act` and `would_be` 0: as the verdict. */
	int step;
	enum verdict verdict, act, would_be;
	enum reason_code first;
	const char *rule, *array;
	struct opt ends;
	enum verdict then;
	struct opt expected, again;
	bool base_holds, expires;
	int64_t override_id;
};

#define HELD .was_held = true, .hold_rule = "rebuild", .hold_step = 5
#define O_UNTIL(id_, verdict_, until_, ...)                                                        \
	{                                                                                          \
		.id = id_, .verdict = verdict_, .until_utc_ms = until_, .by = "anna",              \
		.reason = "she knows", __VA_ARGS__                                                 \
	}
#define O(id_, verdict_, ...) O_UNTIL(id_, verdict_, NOW_UTC + HOUR, __VA_ARGS__)

static struct made_policy made;
static struct inputs in;
static struct decision got, again;
static struct trace trace;

static void blind_rule_allows(void)
{
	made.policy.sensor.verdict = ALLOW;
}

static void blind_expires_to_a_hold(void)
{
	made.policy.sensor.set.on_expiry = HOLD;
}

/* A throttle that nothing can carry out, and that would hold again. */
static void blind_expires_to_a_circle(void)
{
	made.policy.sensor.set.on_expiry = THROTTLE;
	made.policy.sensor.set.without_lever = HOLD;
}

static void resync_holds_without_a_lever(void)
{
	made.rules[RULE_RESYNC].set.without_lever = HOLD;
}

static void blind_holds_for_long(void)
{
	made.policy.sensor.on_sensor = false; /* it is for the blind all the same */
	made.policy.sensor.set.max_hold = OPT(9 * HOUR);
}

static void rebuild_is_for_the_blind_too(void)
{
	made.rules[RULE_REBUILD].on_sensor = true;
}

static void missing_first(void)
{
	in.mapping.n_arrays = 2;
	snprintf(in.mapping.arrays[0], MD_NAME_MAX, "md9");
	snprintf(in.mapping.arrays[1], MD_NAME_MAX, "md2");
}

static void missing_before_idle(void)
{
	missing_first();
	made.policy.sensor.verdict = ALLOW;
	made.rules[RULE_RESYNC].verdict = ALLOW;
}

static void too_many_arrays(void)
{
	in.facts.n_arrays = SIZE_MAX;
}

static void too_many_mapped(void)
{
	in.mapping.n_arrays = SIZE_MAX;
}

static void too_many_overrides(void)
{
	in.n_overrides = SIZE_MAX;
}

static void seen_in_between(void)
{
	in.facts.read_at_ms = OPT(NOW_BOOT - MIN);
}

static void a_blind_sentence(void)
{
	snprintf(in.facts.sensor_text, sizeof(in.facts.sensor_text), "connection refused");
	snprintf(made.policy.sensor.note, sizeof(made.policy.sensor.note), "look at the NAS");
}

static const struct row rows[] = {
	{1, "off allows", .off = true, .op = RECOVERY, .step = 1, .verdict = ALLOW,
		.first = REASON_GATE_OFF},
	{1, "off wins over a deny and over observing", .off = true, .observe = true,
		.o = {O(1, DENY, .ticket = 0)}, .step = 1, .verdict = ALLOW,
		.first = REASON_GATE_OFF},
	{1, "off lets a held job go", .off = true, .op = RECOVERY, .ticket = {HELD}, .step = 1,
		.verdict = ALLOW, .first = REASON_GATE_OFF},

	{2, "allow for all lets through a rebuild", .op = RECOVERY, .o = {O(7, ALLOW, .ticket = 0)},
		.step = 2, .verdict = ALLOW, .first = REASON_OVERRIDE, .override_id = 7},
	{2, "at its until an override is no more", .op = RECOVERY,
		.o = {O_UNTIL(7, ALLOW, NOW_UTC, .ticket = 0)}, .step = 5, .verdict = HOLD,
		.first = REASON_RULE, .rule = "rebuild", .array = "md2", .ends = OPT(8 * HOUR),
		.then = THROTTLE, .again = OPT(8 * HOUR), .base_holds = true},
	{2, "a ms before its until it counts", .op = RECOVERY,
		.o = {O_UNTIL(7, ALLOW, NOW_UTC + 1, .ticket = 0)}, .step = 2, .verdict = ALLOW,
		.first = REASON_OVERRIDE, .override_id = 7},
	{2, "deny denies an idle NAS", .o = {O(7, DENY, .storage = "backup")}, .step = 2,
		.verdict = DENY, .first = REASON_OVERRIDE, .override_id = 7},
	{2, "deny wins over release", .ticket = {HELD, .release_asked = true},
		.o = {O(7, DENY, .node = "pve1")}, .step = 2, .verdict = DENY,
		.first = REASON_OVERRIDE, .override_id = 7},
	{2, "allow wins over the queue", .ticket = {HELD}, .queue = {.ahead = 3, .running_nas = 9},
		.o = {O(7, ALLOW, .nas = "nas1")}, .step = 2, .verdict = ALLOW,
		.first = REASON_OVERRIDE, .override_id = 7},
	{2, "throttle with a lever throttles", .lever = true, .o = {O(7, THROTTLE, .ticket = 0)},
		.step = 2, .verdict = THROTTLE, .first = REASON_OVERRIDE, .override_id = 7},
	{2, "throttle without a lever acts as the defaults say", .o = {O(7, THROTTLE, .ticket = 0)},
		.step = 2, .verdict = THROTTLE, .act = ALLOW, .first = REASON_OVERRIDE,
		.override_id = 7},
	{2, "hold holds until its until, then the rules decide", .o = {O(7, HOLD, .ticket = 0)},
		.step = 2, .verdict = HOLD, .first = REASON_OVERRIDE, .override_id = 7,
		.ends = OPT(HOUR), .again = OPT(HOUR), .base_holds = true},
	{2, "hold ends with the defaults' max_hold", .ticket = {.held_ms = 7 * HOUR + 30 * MIN},
		.o = {O(7, HOLD, .ticket = 0)}, .step = 2, .verdict = HOLD,
		.first = REASON_OVERRIDE, .override_id = 7, .ends = OPT(30 * MIN), .then = THROTTLE,
		.again = OPT(30 * MIN), .base_holds = true},
	{2, "hold is over after max_hold", .ticket = {.held_ms = 8 * HOUR},
		.o = {O(7, HOLD, .ticket = 0)}, .step = 7, .verdict = THROTTLE, .act = ALLOW,
		.first = REASON_EXPIRED, .override_id = 7, .expires = true, .base_holds = true},
	{2, "never held again", .ticket = {HELD, .expired = true, .expired_to = THROTTLE},
		.o = {O(7, HOLD, .ticket = 0)}, .step = 7, .verdict = THROTTLE, .act = ALLOW,
		.first = REASON_EXPIRED, .override_id = 7, .base_holds = true},
	{2, "a guest's override does not decide for a job of many", .guests = 2,
		.o = {O(7, DENY, .guest = 100)}, .step = 6, .verdict = ALLOW,
		.first = REASON_NO_RULE},
	{2, "nor for one that is not known", .o = {O(7, DENY, .guest = 100)}, .step = 6,
		.verdict = ALLOW, .first = REASON_NO_RULE},
	{2, "it decides for a job of that guest alone", .guests = 1,
		.o = {O(7, DENY, .guest = 100)}, .step = 2, .verdict = DENY,
		.first = REASON_OVERRIDE, .override_id = 7},
	{2, "not of another alone", .guests = 1, .o = {O(7, DENY, .guest = 101)}, .step = 6,
		.verdict = ALLOW, .first = REASON_NO_RULE},
	{2, "it fails that guest in backup-start", .phase = PHASE_BACKUP_START, .guest = 100,
		.guests = 2, .o = {O(7, DENY, .guest = 100)}, .step = 2, .verdict = DENY,
		.first = REASON_OVERRIDE, .override_id = 7},
	{2, "and no other", .phase = PHASE_BACKUP_START, .guest = 101, .guests = 2,
		.o = {O(7, DENY, .guest = 100)}, .step = 6, .verdict = ALLOW,
		.first = REASON_NO_RULE},
	{2, "another ticket, storage, NAS or node is not covered", .ticket = {.id = 3},
		.o = {O(7, DENY, .ticket = 4), O(8, DENY, .storage = "other")}, .step = 6,
		.verdict = ALLOW, .first = REASON_NO_RULE},
	{2, "another NAS or node is not covered",
		.o = {O(7, DENY, .nas = "nas2"), O(8, DENY, .node = "pve2")}, .step = 6,
		.verdict = ALLOW, .first = REASON_NO_RULE},
	{2, "one without a verdict says nothing", .o = {O(7, VERDICT_NONE, .ticket = 0)}, .step = 6,
		.verdict = ALLOW, .first = REASON_NO_RULE},
	{2, "the ticket's own wins over its guest's", .ticket = {.id = 3}, .guests = 1,
		.o = {O(8, DENY, .guest = 100, .storage = "backup", .nas = "nas1", .node = "pve1"),
			O(7, ALLOW, .ticket = 3)},
		.step = 2, .verdict = ALLOW, .first = REASON_OVERRIDE, .override_id = 7},
	{2, "hold inside a job waits, then mid_job", .phase = PHASE_JOB_START,
		.ticket = {.released = true}, .o = {O(7, HOLD, .ticket = 0)}, .step = 2,
		.verdict = HOLD, .first = REASON_OVERRIDE, .override_id = 7, .ends = OPT(5 * MIN),
		.then = THROTTLE, .again = OPT(5 * MIN), .base_holds = true},

	{3, "unmapped is allowed", .no_nas = true, .op = RECOVERY, .step = 3, .verdict = ALLOW,
		.first = REASON_UNMAPPED},
	{3, "unmapped is what the policy says", .no_nas = true, .unmapped = DENY, .step = 3,
		.verdict = DENY, .first = REASON_UNMAPPED},
	{3, "unmapped holds by the defaults", .no_nas = true, .unmapped = HOLD, .step = 3,
		.verdict = HOLD, .first = REASON_UNMAPPED, .ends = OPT(8 * HOUR), .then = THROTTLE,
		.again = OPT(8 * HOUR), .base_holds = true},

	{4, "blind holds by the sensor rule", .sensor = SENSOR_REFUSED, .blind = OPT(MIN),
		.step = 4, .verdict = HOLD, .first = REASON_BLIND, .rule = "sensor",
		.ends = OPT(29 * MIN), .then = ALLOW, .again = OPT(29 * MIN), .base_holds = true},
	{4, "one budget for the outage: a newcomer gets what is left", .sensor = SENSOR_STALE,
		.blind = OPT(30 * MIN - 1), .step = 4, .verdict = HOLD, .first = REASON_BLIND,
		.rule = "sensor", .ends = OPT(1), .then = ALLOW, .again = OPT(1),
		.base_holds = true},
	{4, "the outage's budget is used up", .sensor = SENSOR_STALE, .blind = OPT(30 * MIN),
		.step = 4, .verdict = ALLOW, .first = REASON_BLIND_BUDGET, .rule = "sensor"},
	{4, "a held job goes then at once, and is expired", .sensor = SENSOR_STALE,
		.blind = OPT(30 * MIN), .ticket = {HELD}, .queue = {.running_nas = 4}, .step = 4,
		.verdict = ALLOW, .first = REASON_BLIND_BUDGET, .rule = "sensor", .expires = true},
	{4, "one let go before is not expired by it", .sensor = SENSOR_STALE,
		.blind = OPT(30 * MIN), .ticket = {HELD, .released = true}, .step = 4,
		.verdict = ALLOW, .first = REASON_BLIND_BUDGET, .rule = "sensor"},
	{4, "nor is one inside its job", .sensor = SENSOR_STALE, .blind = OPT(30 * MIN),
		.phase = PHASE_JOB_START, .ticket = {HELD}, .step = 4, .verdict = ALLOW,
		.first = REASON_BLIND_BUDGET, .rule = "sensor"},
	{4, "held for long by a rule before, the outage still has its own time",
		.sensor = SENSOR_STALE, .blind = OPT(MIN), .ticket = {HELD, .held_ms = 2 * HOUR},
		.step = 4, .verdict = HOLD, .first = REASON_BLIND, .rule = "sensor",
		.ends = OPT(29 * MIN), .then = ALLOW, .again = OPT(29 * MIN), .base_holds = true},
	{4, "but never past the usual max_hold", .sensor = SENSOR_STALE, .blind = OPT(MIN),
		.ticket = {HELD, .held_ms = 8 * HOUR - MIN}, .step = 4, .verdict = HOLD,
		.first = REASON_BLIND, .rule = "sensor", .ends = OPT(MIN), .then = ALLOW,
		.again = OPT(MIN), .base_holds = true},
	{4, "not even by a NAS that flaps", .sensor = SENSOR_STALE, .blind = OPT(MIN),
		.ticket = {HELD, .held_ms = 8 * HOUR}, .step = 7, .verdict = ALLOW,
		.first = REASON_EXPIRED, .rule = "sensor", .expires = true, .base_holds = true},
	{4, "the last known facts hold on", .op = RECOVERY, .sensor = SENSOR_SILENT,
		.blind = OPT(HOUR), .step = 4, .verdict = HOLD, .first = REASON_BLIND_HOLD_GOES_ON,
		.rule = "rebuild", .array = "md2", .ends = OPT(8 * HOUR), .then = THROTTLE,
		.again = OPT(8 * HOUR), .base_holds = true},
	{4, "so does a throttle that holds for want of a lever", .op = MD_OP_RESYNC,
		.sensor = SENSOR_SILENT, .blind = OPT(HOUR), .tweak = resync_holds_without_a_lever,
		.step = 4, .verdict = THROTTLE, .act = HOLD, .first = REASON_BLIND_HOLD_GOES_ON,
		.rule = "resync", .array = "md2", .ends = OPT(8 * HOUR), .then = THROTTLE,
		.again = OPT(8 * HOUR), .base_holds = true},
	{4, "but not where there is one", .op = MD_OP_RESYNC, .lever = true,
		.sensor = SENSOR_SILENT, .blind = OPT(MIN), .tweak = resync_holds_without_a_lever,
		.step = 4, .verdict = HOLD, .first = REASON_BLIND, .rule = "sensor",
		.ends = OPT(29 * MIN), .then = ALLOW, .again = OPT(29 * MIN), .base_holds = true},
	{4, "within the rule's max_hold", .op = RECOVERY, .sensor = SENSOR_SILENT,
		.blind = OPT(HOUR), .ticket = {HELD, .held_ms = 8 * HOUR}, .step = 7,
		.verdict = THROTTLE, .act = ALLOW, .first = REASON_EXPIRED, .rule = "rebuild",
		.array = "md2", .expires = true, .base_holds = true},
	{4, "last known facts that only throttle do not count", .op = MD_OP_RESYNC,
		.sensor = SENSOR_SILENT, .blind = OPT(MIN), .step = 4, .verdict = HOLD,
		.first = REASON_BLIND, .rule = "sensor", .ends = OPT(29 * MIN), .then = ALLOW,
		.again = OPT(29 * MIN), .base_holds = true},
	{4, "at the limit it still holds on", .op = RECOVERY, .sensor = SENSOR_SILENT,
		.blind = OPT(24 * HOUR), .step = 4, .verdict = HOLD,
		.first = REASON_BLIND_HOLD_GOES_ON, .rule = "rebuild", .array = "md2",
		.ends = OPT(8 * HOUR), .then = THROTTLE, .again = OPT(8 * HOUR),
		.base_holds = true},
	{4, "past the limit nothing is held", .op = RECOVERY, .sensor = SENSOR_SILENT,
		.blind = OPT(24 * HOUR + 1), .ticket = {HELD}, .queue = {.running_nas = 4},
		.step = 4, .verdict = ALLOW, .first = REASON_BLIND_LIMIT},
	{4, "a rule of the file for this sensor comes first", .sensor = SENSOR_HOST_KEY,
		.blind = OPT(4 * MIN), .step = 4, .verdict = HOLD, .first = REASON_BLIND,
		.rule = "key", .ends = OPT(6 * MIN), .then = DENY, .again = OPT(6 * MIN),
		.base_holds = true},
	{4, "and its own budget", .sensor = SENSOR_HOST_KEY, .blind = OPT(10 * MIN), .step = 4,
		.verdict = DENY, .first = REASON_BLIND_BUDGET, .rule = "key"},
	{4, "never looked at is blind", .no_array = true, .sensor = SENSOR_NEVER, .blind = OPT(0),
		.step = 4, .verdict = HOLD, .first = REASON_BLIND, .rule = "sensor",
		.ends = OPT(30 * MIN), .then = ALLOW, .again = OPT(30 * MIN), .base_holds = true},
	{4, "since when is not known: the job's own time counts", .no_array = true,
		.sensor = SENSOR_NEVER, .ticket = {.held_ms = MIN}, .step = 4, .verdict = HOLD,
		.first = REASON_BLIND, .rule = "sensor", .ends = OPT(29 * MIN), .then = ALLOW,
		.again = OPT(29 * MIN), .base_holds = true},
	{4, "an array never seen is not idle", .md9_only = true, .step = 4, .verdict = HOLD,
		.first = REASON_BLIND, .rule = "sensor", .array = "md9", .ends = OPT(30 * MIN),
		.then = ALLOW, .again = OPT(30 * MIN), .base_holds = true},
	{4, "an array never seen next to an idle one holds", .missing = true, .step = 4,
		.verdict = HOLD, .first = REASON_BLIND, .rule = "sensor", .array = "md9",
		.ends = OPT(30 * MIN), .then = ALLOW, .again = OPT(30 * MIN), .base_holds = true},
	{4, "its hold ends by the job's time", .md9_only = true,
		.ticket = {.was_held = true, .hold_step = 4, .held_ms = 30 * MIN}, .step = 7,
		.verdict = ALLOW, .first = REASON_EXPIRED, .rule = "sensor", .array = "md9",
		.expires = true, .base_holds = true},
	{4, "no data array was ever seen", .no_array = true, .step = 4, .verdict = HOLD,
		.first = REASON_BLIND, .rule = "sensor", .ends = OPT(30 * MIN), .then = ALLOW,
		.again = OPT(30 * MIN), .base_holds = true},
	{4, "blind and no array known at all", .md9_only = true, .sensor = SENSOR_STALE,
		.blind = OPT(MIN), .step = 4, .verdict = HOLD, .first = REASON_BLIND,
		.rule = "sensor", .ends = OPT(29 * MIN), .then = ALLOW, .again = OPT(29 * MIN),
		.base_holds = true},

	{4, "a rule for the blind may allow", .sensor = SENSOR_STALE, .blind = OPT(HOUR),
		.tweak = blind_rule_allows, .step = 4, .verdict = ALLOW, .first = REASON_BLIND,
		.rule = "sensor"},
	{4, "what comes after the outage's budget is never a hold", .sensor = SENSOR_STALE,
		.blind = OPT(HOUR), .tweak = blind_expires_to_a_hold, .step = 4, .verdict = ALLOW,
		.first = REASON_BLIND_BUDGET, .rule = "sensor"},
	{4, "nor a throttle that would hold", .sensor = SENSOR_STALE, .blind = OPT(HOUR),
		.tweak = blind_expires_to_a_circle, .step = 4, .verdict = THROTTLE, .act = ALLOW,
		.first = REASON_BLIND_BUDGET, .rule = "sensor"},
	{4, "a rule for the blind may hold for longer than usual", .sensor = SENSOR_STALE,
		.blind = OPT(MIN), .ticket = {HELD, .held_ms = 8 * HOUR + 30 * MIN},
		.tweak = blind_holds_for_long, .step = 4, .verdict = HOLD, .first = REASON_BLIND,
		.rule = "sensor", .ends = OPT(30 * MIN), .then = ALLOW, .again = OPT(30 * MIN),
		.base_holds = true},
	{4, "a rule for the blind does not go on by what was known last", .op = RECOVERY,
		.sensor = SENSOR_STALE, .blind = OPT(MIN), .tweak = rebuild_is_for_the_blind_too,
		.step = 4, .verdict = HOLD, .first = REASON_BLIND, .rule = "sensor",
		.ends = OPT(29 * MIN), .then = ALLOW, .again = OPT(29 * MIN), .base_holds = true},
	{4, "a NAS of which nothing is told is blind", .sensor = 99, .step = 4, .verdict = HOLD,
		.first = REASON_BLIND, .rule = "sensor", .ends = OPT(30 * MIN), .then = ALLOW,
		.again = OPT(30 * MIN), .base_holds = true},
	{4, "what the NAS said and the rule's note are told", .sensor = SENSOR_REFUSED,
		.tweak = a_blind_sentence, .step = 4, .verdict = HOLD, .first = REASON_BLIND,
		.rule = "sensor", .ends = OPT(30 * MIN), .then = ALLOW, .again = OPT(30 * MIN),
		.base_holds = true},
	{4, "more arrays than there are: never seen", .md9_only = true, .tweak = too_many_arrays,
		.step = 4, .verdict = HOLD, .first = REASON_BLIND, .rule = "sensor", .array = "md9",
		.ends = OPT(30 * MIN), .then = ALLOW, .again = OPT(30 * MIN), .base_holds = true},
	{4, "more mapped arrays than there are: never seen", .tweak = too_many_mapped, .step = 4,
		.verdict = HOLD, .first = REASON_BLIND, .rule = "sensor", .ends = OPT(30 * MIN),
		.then = ALLOW, .again = OPT(30 * MIN), .base_holds = true},

	{5, "more arrays than there are: the known ones decide", .tweak = too_many_arrays,
		.op = MD_OP_REPAIR, .step = 5, .verdict = DENY, .first = REASON_RULE,
		.rule = "repair", .array = "md2"},
	{5, "a known array wins over one never seen that comes first", .op = RECOVERY,
		.tweak = missing_first, .step = 5, .verdict = HOLD, .first = REASON_RULE,
		.rule = "rebuild", .array = "md2", .ends = OPT(8 * HOUR), .then = THROTTLE,
		.again = OPT(8 * HOUR), .base_holds = true},
	{5, "also where both allow", .op = MD_OP_RESYNC, .tweak = missing_before_idle, .step = 5,
		.verdict = ALLOW, .first = REASON_RULE, .rule = "resync", .array = "md2"},
	{2, "more overrides than there are", .tweak = too_many_overrides, .step = 6,
		.verdict = ALLOW, .first = REASON_NO_RULE},
	{5, "a rebuild holds", .op = RECOVERY, .remaining = OPT(2 * HOUR), .step = 5,
		.verdict = HOLD, .first = REASON_RULE, .rule = "rebuild", .array = "md2",
		.ends = OPT(8 * HOUR), .then = THROTTLE, .expected = OPT(2 * HOUR + 10 * MIN),
		.again = OPT(8 * HOUR), .base_holds = true},
	{5, "a resync throttles, with a lever", .op = MD_OP_RESYNC, .lever = true, .step = 5,
		.verdict = THROTTLE, .first = REASON_RULE, .rule = "resync", .array = "md2"},
	{5, "without one it acts as without_lever", .op = MD_OP_RESYNC, .step = 5,
		.verdict = THROTTLE, .act = ALLOW, .first = REASON_RULE, .rule = "resync",
		.array = "md2"},
	{5, "which may deny", .op = MD_OP_DELAYED, .step = 5, .verdict = THROTTLE, .act = DENY,
		.first = REASON_RULE, .rule = "delayed", .array = "md2"},
	{5, "a rule may deny", .op = MD_OP_REPAIR, .step = 5, .verdict = DENY, .first = REASON_RULE,
		.rule = "repair", .array = "md2"},
	{5, "a rule's deny in backup-start fails that guest", .op = MD_OP_REPAIR,
		.phase = PHASE_BACKUP_START, .ticket = {.released = true}, .guest = 100, .step = 5,
		.verdict = DENY, .first = REASON_RULE, .rule = "repair", .array = "md2"},
	{5, "the strictest array is the reason", .op = MD_OP_RESYNC, .op2 = RECOVERY, .step = 5,
		.verdict = HOLD, .first = REASON_RULE, .rule = "rebuild", .array = "md3",
		.ends = OPT(8 * HOUR), .then = THROTTLE, .again = OPT(8 * HOUR),
		.base_holds = true},
	{5, "of equals the first", .op = RECOVERY, .op2 = MD_OP_RESHAPE, .step = 5, .verdict = HOLD,
		.first = REASON_RULE, .rule = "rebuild", .array = "md2", .ends = OPT(8 * HOUR),
		.then = THROTTLE, .again = OPT(8 * HOUR), .base_holds = true},
	{5, "the second alone matches", .op = IDLE, .op2 = MD_OP_RESYNC, .step = 5,
		.verdict = THROTTLE, .act = ALLOW, .first = REASON_RULE, .rule = "resync",
		.array = "md3"},
	{5, "a known array's hold wins over one never seen", .op = RECOVERY, .missing = true,
		.step = 5, .verdict = HOLD, .first = REASON_RULE, .rule = "rebuild", .array = "md2",
		.ends = OPT(8 * HOUR), .then = THROTTLE, .again = OPT(8 * HOUR),
		.base_holds = true},
	{5, "of one that is gone the operation is not known", .op = RECOVERY,
		.health = MD_HEALTH_ABSENT, .step = 6, .verdict = ALLOW, .first = REASON_NO_RULE},

	{6, "nothing matches: the default", .step = 6, .verdict = ALLOW, .first = REASON_NO_RULE},
	{6, "which may hold", .fallback = HOLD, .step = 6, .verdict = HOLD, .first = REASON_NO_RULE,
		.ends = OPT(8 * HOUR), .then = THROTTLE, .again = OPT(8 * HOUR),
		.base_holds = true},
	{6, "a default nobody wrote is allow", .fallback = 77, .step = 6, .verdict = ALLOW,
		.first = REASON_NO_RULE},

	{7, "a ms before max_hold it is held", .op = RECOVERY,
		.ticket = {HELD, .held_ms = 8 * HOUR - 1}, .step = 5, .verdict = HOLD,
		.first = REASON_RULE, .rule = "rebuild", .array = "md2", .ends = OPT(1),
		.then = THROTTLE, .again = OPT(1), .base_holds = true},
	{7, "at max_hold it expires", .op = RECOVERY, .lever = true,
		.ticket = {HELD, .held_ms = 8 * HOUR}, .step = 7, .verdict = THROTTLE,
		.first = REASON_EXPIRED, .rule = "rebuild", .array = "md2", .expires = true,
		.base_holds = true},
	{7, "on_expiry may deny", .op = RECOVERY, .on_expiry = DENY,
		.ticket = {HELD, .held_ms = 8 * HOUR}, .step = 7, .verdict = DENY,
		.first = REASON_EXPIRED, .rule = "rebuild", .array = "md2", .expires = true,
		.base_holds = true},
	{7, "on_expiry is never a hold", .op = RECOVERY, .on_expiry = HOLD,
		.ticket = {HELD, .held_ms = 8 * HOUR}, .step = 7, .verdict = ALLOW,
		.first = REASON_EXPIRED, .rule = "rebuild", .array = "md2", .expires = true,
		.base_holds = true},
	{7, "a hold whose length is not known ends at once", .op = RECOVERY, .max_hold = {true, 0},
		.step = 7, .verdict = THROTTLE, .act = ALLOW, .first = REASON_EXPIRED,
		.rule = "rebuild", .array = "md2", .expires = true, .base_holds = true},
	{7, "it ends a minute before the next start", .op = RECOVERY, .next_start = OPT(3 * MIN),
		.ticket = {HELD}, .step = 5, .verdict = HOLD, .first = REASON_RULE,
		.rule = "rebuild", .array = "md2", .ends = OPT(2 * MIN), .then = THROTTLE,
		.again = OPT(2 * MIN), .base_holds = true},
	{7, "a minute before it is over", .op = RECOVERY, .next_start = OPT(MIN), .ticket = {HELD},
		.step = 7, .verdict = THROTTLE, .act = ALLOW, .first = REASON_NEXT_START,
		.rule = "rebuild", .array = "md2", .expires = true, .base_holds = true},
	{7, "a far next start changes nothing", .op = RECOVERY, .next_start = OPT(24 * HOUR),
		.step = 5, .verdict = HOLD, .first = REASON_RULE, .rule = "rebuild", .array = "md2",
		.ends = OPT(8 * HOUR), .then = THROTTLE, .again = OPT(8 * HOUR),
		.base_holds = true},
	{7, "expired stays as it expired while a rule holds", .op = RECOVERY, .lever = true,
		.ticket = {HELD, .expired = true, .expired_to = THROTTLE}, .step = 7,
		.verdict = THROTTLE, .first = REASON_EXPIRED, .rule = "rebuild", .array = "md2",
		.base_holds = true},
	{7, "expired to allow stays allow where a rule denies", .op = MD_OP_REPAIR,
		.ticket = {HELD, .expired = true, .expired_to = ALLOW}, .step = 7, .verdict = ALLOW,
		.first = REASON_EXPIRED, .rule = "repair", .array = "md2"},
	{7, "expired, and the rules are milder now: theirs",
		.ticket = {HELD, .expired = true, .expired_to = THROTTLE}, .step = 6,
		.verdict = ALLOW, .first = REASON_NO_RULE},
	{7, "expired to deny stays deny while a rule holds", .op = RECOVERY,
		.ticket = {HELD, .expired = true, .expired_to = DENY}, .step = 7, .verdict = DENY,
		.first = REASON_EXPIRED, .rule = "rebuild", .array = "md2", .base_holds = true},
	{7, "expired to nothing is allow", .op = RECOVERY, .ticket = {HELD, .expired = true},
		.step = 7, .verdict = ALLOW, .first = REASON_EXPIRED, .rule = "rebuild",
		.array = "md2", .base_holds = true},
	{7, "expired to a hold is allow", .op = RECOVERY,
		.ticket = {HELD, .expired = true, .expired_to = HOLD}, .step = 7, .verdict = ALLOW,
		.first = REASON_EXPIRED, .rule = "rebuild", .array = "md2", .base_holds = true},
	{7, "an expired job does not queue",
		.ticket = {HELD, .expired = true, .expired_to = THROTTLE},
		.queue = {.running_nas = 5}, .step = 6, .verdict = ALLOW, .first = REASON_NO_RULE},
	{7, "release wins over a rule's hold", .op = RECOVERY,
		.ticket = {HELD, .release_asked = true}, .step = 7, .verdict = ALLOW,
		.first = REASON_RELEASE_ASKED, .rule = "rebuild", .array = "md2",
		.base_holds = true},
	{7, "release wins over a rule's deny", .op = MD_OP_REPAIR,
		.ticket = {HELD, .release_asked = true}, .step = 7, .verdict = ALLOW,
		.first = REASON_RELEASE_ASKED, .rule = "repair", .array = "md2"},
	{7, "release wins over the queue", .ticket = {HELD, .release_asked = true},
		.queue = {.running_nas = 5, .running_node = 1, .ahead = 2}, .step = 7,
		.verdict = ALLOW, .first = REASON_RELEASE_ASKED},
	{7, "release where the rules throttle is a throttle", .op = MD_OP_RESYNC, .lever = true,
		.ticket = {HELD, .release_asked = true}, .step = 7, .verdict = THROTTLE,
		.first = REASON_RELEASE_ASKED, .rule = "resync", .array = "md2"},
	{7, "release of a throttle that would hold goes", .op = MD_OP_CHECK,
		.ticket = {HELD, .release_asked = true}, .step = 7, .verdict = THROTTLE,
		.act = ALLOW, .first = REASON_RELEASE_ASKED, .rule = "check", .array = "md2",
		.base_holds = true},
	{7, "release of a throttle that would be denied goes", .op = MD_OP_DELAYED,
		.ticket = {HELD, .release_asked = true}, .step = 7, .verdict = ALLOW,
		.first = REASON_RELEASE_ASKED, .rule = "delayed", .array = "md2"},
	{7, "release of a throttle with a lever stays one", .op = MD_OP_DELAYED, .lever = true,
		.ticket = {HELD, .release_asked = true}, .step = 7, .verdict = THROTTLE,
		.first = REASON_RELEASE_ASKED, .rule = "delayed", .array = "md2"},
	{7, "let go once is let go", .op = RECOVERY, .ticket = {HELD, .released = true}, .step = 7,
		.verdict = ALLOW, .first = REASON_RELEASED, .rule = "rebuild", .array = "md2",
		.base_holds = true},
	{7, "let go and throttled by now is throttled", .op = MD_OP_RESYNC, .lever = true,
		.ticket = {HELD, .released = true}, .step = 5, .verdict = THROTTLE,
		.first = REASON_RULE, .rule = "resync", .array = "md2"},

	{7, "settle: not done for long enough", .ticket = {HELD, .clear_ms = OPT(10 * MIN - 1)},
		.step = 7, .verdict = HOLD, .first = REASON_SETTLE, .rule = "rebuild",
		.ends = OPT(8 * HOUR), .then = ALLOW, .expected = OPT(1), .again = OPT(1)},
	{7, "settle: done for long enough", .ticket = {HELD, .clear_ms = OPT(10 * MIN)}, .step = 6,
		.verdict = ALLOW, .first = REASON_NO_RULE},
	{7, "settle: not evaluated yet is not done", .ticket = {HELD}, .step = 7, .verdict = HOLD,
		.first = REASON_SETTLE, .rule = "rebuild", .ends = OPT(8 * HOUR), .then = ALLOW,
		.expected = OPT(10 * MIN), .again = OPT(10 * MIN)},
	{7, "settle: the defaults' where the rule is gone",
		.ticket = {.was_held = true, .hold_rule = "gone", .hold_step = 5}, .step = 7,
		.verdict = HOLD, .first = REASON_SETTLE, .ends = OPT(8 * HOUR), .then = ALLOW,
		.expected = OPT(10 * MIN), .again = OPT(10 * MIN)},
	{7, "settle: none after an override's hold", .ticket = {.was_held = true, .hold_step = 2},
		.step = 6, .verdict = ALLOW, .first = REASON_NO_RULE},
	{7, "settle: none after mere queueing", .ticket = {.was_held = true}, .step = 6,
		.verdict = ALLOW, .first = REASON_NO_RULE},
	{7, "settle: after a short blindness no longer than it was",
		.ticket = {.was_held = true,
			.hold_rule = "sensor",
			.hold_step = 4,
			.hold_blind_ms = OPT(2 * MIN),
			.clear_ms = OPT(2 * MIN - 1)},
		.step = 7, .verdict = HOLD, .first = REASON_SETTLE, .rule = "sensor",
		.ends = OPT(8 * HOUR), .then = ALLOW, .expected = OPT(1), .again = OPT(1)},
	{7, "settle: short blindness, over",
		.ticket = {.was_held = true,
			.hold_rule = "key",
			.hold_step = 4,
			.hold_blind_ms = OPT(2 * MIN),
			.clear_ms = OPT(2 * MIN)},
		.step = 6, .verdict = ALLOW, .first = REASON_NO_RULE},
	{7, "settle: after a long blindness as usual",
		.ticket = {.was_held = true,
			.hold_rule = "sensor",
			.hold_step = 4,
			.hold_blind_ms = OPT(20 * MIN),
			.clear_ms = OPT(9 * MIN)},
		.step = 7, .verdict = HOLD, .first = REASON_SETTLE, .rule = "sensor",
		.ends = OPT(8 * HOUR), .then = ALLOW, .expected = OPT(MIN), .again = OPT(MIN)},
	{7, "settle: blind for we do not know how long, as usual",
		.ticket = {.was_held = true,
			.hold_rule = "sensor",
			.hold_step = 4,
			.clear_ms = OPT(9 * MIN)},
		.step = 7, .verdict = HOLD, .first = REASON_SETTLE, .rule = "sensor",
		.ends = OPT(8 * HOUR), .then = ALLOW, .expected = OPT(MIN), .again = OPT(MIN)},
	{7, "settle: a rule's hold that went on blindly asks for all of it",
		.ticket = {.was_held = true,
			.hold_rule = "rebuild",
			.hold_step = 4,
			.hold_blind_ms = OPT(MIN),
			.clear_ms = OPT(2 * MIN)},
		.step = 7, .verdict = HOLD, .first = REASON_SETTLE, .rule = "rebuild",
		.ends = OPT(8 * HOUR), .then = ALLOW, .expected = OPT(8 * MIN),
		.again = OPT(8 * MIN)},

	{7, "queue: a newcomer goes where nobody waits", .queue = {.running_nas = 3}, .step = 6,
		.verdict = ALLOW, .first = REASON_NO_RULE},
	{7, "queue: a newcomer does not overtake", .queue = {.ahead = 1}, .step = 7,
		.verdict = HOLD, .first = REASON_QUEUE_BEHIND, .ends = OPT(8 * HOUR), .then = ALLOW,
		.again = OPT(8 * HOUR)},
	{7, "queue: nor where it would be throttled", .op = MD_OP_RESYNC, .queue = {.ahead = 2},
		.step = 7, .verdict = HOLD, .first = REASON_QUEUE_BEHIND, .rule = "resync",
		.array = "md2", .ends = OPT(8 * HOUR), .then = THROTTLE, .again = OPT(8 * HOUR)},
	{7, "queue: what would be denied does not queue", .op = MD_OP_DELAYED,
		.queue = {.ahead = 2}, .step = 5, .verdict = THROTTLE, .act = DENY,
		.first = REASON_RULE, .rule = "delayed", .array = "md2"},
	{7, "queue: nor does a deny", .op = MD_OP_REPAIR, .queue = {.ahead = 2}, .step = 5,
		.verdict = DENY, .first = REASON_RULE, .rule = "repair", .array = "md2"},
	{7, "queue: a newcomer takes no slot of a backlog",
		.queue = {.backlog = 1, .running_nas = 1}, .step = 7, .verdict = HOLD,
		.first = REASON_QUEUE_NAS, .ends = OPT(8 * HOUR), .then = ALLOW,
		.again = OPT(8 * HOUR)},
	{7, "queue: but one that the backlog cannot take", .queue = {.backlog = 1}, .step = 6,
		.verdict = ALLOW, .first = REASON_NO_RULE},
	{7, "queue: one job of a node", .ticket = {HELD, .clear_ms = OPT(HOUR)},
		.queue = {.running_node = 1, .ahead = 1}, .step = 7, .verdict = HOLD,
		.first = REASON_QUEUE_NODE, .rule = "rebuild", .ends = OPT(8 * HOUR), .then = ALLOW,
		.again = OPT(8 * HOUR)},
	{7, "queue: a window that is shut", .window_shut = true,
		.ticket = {HELD, .clear_ms = OPT(HOUR)}, .step = 7, .verdict = HOLD,
		.first = REASON_QUEUE_WINDOW, .rule = "rebuild", .ends = OPT(8 * HOUR),
		.then = ALLOW, .again = OPT(8 * HOUR)},
	{7, "queue: a window that is open", .window_open = true,
		.ticket = {HELD, .clear_ms = OPT(HOUR)}, .step = 6, .verdict = ALLOW,
		.first = REASON_NO_RULE},
	{7, "queue: all slots of the NAS are taken", .ticket = {HELD, .clear_ms = OPT(HOUR)},
		.queue = {.running_nas = 1}, .step = 7, .verdict = HOLD, .first = REASON_QUEUE_NAS,
		.rule = "rebuild", .ends = OPT(8 * HOUR), .then = ALLOW, .again = OPT(8 * HOUR)},
	{7, "queue: one slot is free", .max_running = 2, .ticket = {HELD, .clear_ms = OPT(HOUR)},
		.queue = {.running_nas = 1}, .step = 6, .verdict = ALLOW, .first = REASON_NO_RULE},
	{7, "queue: max_running is at least one", .max_running = -1,
		.ticket = {HELD, .clear_ms = OPT(HOUR)}, .step = 6, .verdict = ALLOW,
		.first = REASON_NO_RULE},
	{7, "queue: a release a ms too soon", .ticket = {HELD, .clear_ms = OPT(HOUR)},
		.queue = {.since_release_ms = OPT(MIN - 1)}, .step = 7, .verdict = HOLD,
		.first = REASON_QUEUE_INTERVAL, .rule = "rebuild", .ends = OPT(8 * HOUR),
		.then = ALLOW, .again = OPT(1)},
	{7, "queue: the interval is over", .ticket = {HELD, .clear_ms = OPT(HOUR)},
		.queue = {.since_release_ms = OPT(MIN)}, .step = 6, .verdict = ALLOW,
		.first = REASON_NO_RULE},
	{7, "queue: max_hold is one budget, queueing included",
		.ticket = {HELD, .clear_ms = OPT(HOUR), .held_ms = 8 * HOUR},
		.queue = {.running_nas = 1}, .step = 7, .verdict = ALLOW, .first = REASON_EXPIRED,
		.expires = true},
	{7, "queue: its end never is stricter than the rules", .op = MD_OP_RESYNC, .lever = true,
		.ticket = {HELD, .clear_ms = OPT(HOUR), .held_ms = 8 * HOUR},
		.queue = {.running_nas = 1}, .step = 7, .verdict = THROTTLE,
		.first = REASON_EXPIRED, .rule = "resync", .array = "md2", .expires = true},
	{7, "queue: it ends before the next start", .next_start = OPT(30 * SEC),
		.ticket = {HELD, .clear_ms = OPT(HOUR)}, .queue = {.running_nas = 1}, .step = 7,
		.verdict = ALLOW, .first = REASON_NEXT_START, .expires = true},

	{7, "inside a job a hold waits a little", .op = RECOVERY, .phase = PHASE_BACKUP_START,
		.guest = 100, .ticket = {.released = true}, .step = 5, .verdict = HOLD,
		.first = REASON_RULE, .rule = "rebuild", .array = "md2", .ends = OPT(5 * MIN),
		.then = THROTTLE, .again = OPT(5 * MIN), .base_holds = true},
	{7, "inside a job: a ms of the budget left", .op = RECOVERY, .phase = PHASE_JOB_START,
		.ticket = {.released = true, .recheck_ms = 5 * MIN - 1}, .step = 5, .verdict = HOLD,
		.first = REASON_RULE, .rule = "rebuild", .array = "md2", .ends = OPT(1),
		.then = THROTTLE, .again = OPT(1), .base_holds = true},
	{7, "inside a job: the budget is used up", .op = RECOVERY, .phase = PHASE_JOB_START,
		.lever = true, .ticket = {.released = true, .recheck_ms = 5 * MIN}, .step = 7,
		.verdict = THROTTLE, .first = REASON_MID_JOB, .rule = "rebuild", .array = "md2",
		.base_holds = true},
	{7, "inside a job: mid_job is never a hold", .op = RECOVERY, .phase = PHASE_JOB_START,
		.mid_job = HOLD, .ticket = {.released = true, .recheck_ms = 5 * MIN}, .step = 7,
		.verdict = ALLOW, .first = REASON_MID_JOB, .rule = "rebuild", .array = "md2",
		.base_holds = true},
	{7, "inside a job: mid_job may deny the rest", .op = RECOVERY, .phase = PHASE_BACKUP_START,
		.guest = 100, .mid_job = DENY, .ticket = {.recheck_ms = 6 * MIN}, .step = 7,
		.verdict = DENY, .first = REASON_MID_JOB, .rule = "rebuild", .array = "md2",
		.base_holds = true},
	{7, "inside a job: expired is not held", .op = RECOVERY, .phase = PHASE_JOB_START,
		.lever = true,
		.ticket = {HELD, .released = true, .expired = true, .expired_to = THROTTLE},
		.step = 7, .verdict = THROTTLE, .first = REASON_EXPIRED, .rule = "rebuild",
		.array = "md2", .base_holds = true},
	{7, "inside a job: let go by an operator is not held", .op = RECOVERY,
		.phase = PHASE_JOB_START, .ticket = {HELD, .released = true, .release_asked = true},
		.step = 7, .verdict = ALLOW, .first = REASON_RELEASE_ASKED, .rule = "rebuild",
		.array = "md2", .base_holds = true},
	{7, "inside a job: no settle, no queue", .phase = PHASE_JOB_START,
		.ticket = {HELD, .released = true}, .queue = {.ahead = 1, .running_nas = 4},
		.step = 6, .verdict = ALLOW, .first = REASON_NO_RULE},

	{7, "a throttle that nothing can carry out may hold", .op = MD_OP_CHECK, .step = 5,
		.verdict = THROTTLE, .act = HOLD, .first = REASON_RULE, .rule = "check",
		.array = "md2", .ends = OPT(8 * HOUR), .then = THROTTLE, .again = OPT(8 * HOUR),
		.base_holds = true},
	{7, "with a lever it does not", .op = MD_OP_CHECK, .lever = true, .step = 5,
		.verdict = THROTTLE, .first = REASON_RULE, .rule = "check", .array = "md2"},
	{7, "it ends, never in a circle", .op = MD_OP_CHECK, .ticket = {HELD, .held_ms = 8 * HOUR},
		.step = 7, .verdict = THROTTLE, .act = ALLOW, .first = REASON_EXPIRED,
		.rule = "check", .array = "md2", .expires = true, .base_holds = true},
	{7, "nor when it has expired", .op = MD_OP_CHECK,
		.ticket = {HELD, .expired = true, .expired_to = THROTTLE}, .step = 5,
		.verdict = THROTTLE, .act = ALLOW, .first = REASON_RULE, .rule = "check",
		.array = "md2", .base_holds = true},
	{7, "an override's throttle may hold too", .default_without = HOLD,
		.o = {O(7, THROTTLE, .ticket = 0)}, .step = 2, .verdict = THROTTLE, .act = HOLD,
		.first = REASON_OVERRIDE, .override_id = 7, .ends = OPT(HOUR), .again = OPT(HOUR),
		.base_holds = true},

	{8, "the gate only observes a hold", .observe = true, .op = RECOVERY, .step = 8,
		.verdict = ALLOW, .would_be = HOLD, .first = REASON_OBSERVE, .rule = "rebuild",
		.array = "md2", .base_holds = true},
	{8, "the rule only observes", .rule_observe = true, .op = RECOVERY, .step = 8,
		.verdict = ALLOW, .would_be = HOLD, .first = REASON_OBSERVE, .rule = "rebuild",
		.array = "md2", .base_holds = true},
	{8, "another rule than the one that observes decides", .rule_observe = true,
		.op = MD_OP_REPAIR, .step = 5, .verdict = DENY, .first = REASON_RULE,
		.rule = "repair", .array = "md2"},
	{8, "a throttle is observed too", .observe = true, .op = MD_OP_RESYNC, .step = 8,
		.verdict = ALLOW, .would_be = THROTTLE, .first = REASON_OBSERVE, .rule = "resync",
		.array = "md2"},
	{8, "an allow needs no observing", .observe = true, .step = 6, .verdict = ALLOW,
		.first = REASON_NO_RULE},
	{8, "an end of a hold is observed, not taken", .observe = true, .op = RECOVERY,
		.ticket = {HELD, .held_ms = 8 * HOUR}, .step = 8, .verdict = ALLOW,
		.would_be = THROTTLE, .first = REASON_OBSERVE, .rule = "rebuild", .array = "md2",
		.base_holds = true},
	{8, "the whole gate observes an override", .observe = true, .o = {O(7, DENY, .ticket = 0)},
		.step = 8, .verdict = ALLOW, .would_be = DENY, .first = REASON_OBSERVE,
		.override_id = 7},
};

#endif
