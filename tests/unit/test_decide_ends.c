// SPDX-License-Identifier: MIT
/* decide(): what ends a hold by a backup's age, what waits for a restore, and what is too slow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/decide.h"
#include "core_policy.h"

#define NOW_BOOT (100 * HOUR)
#define NOW_UTC INT64_C(1796000000000)
#define DAY MS_DAY

static struct made_policy made;
static struct inputs in;
static struct decision got;
static struct trace trace;

static void md2_does(enum md_operation operation)
{
	in.facts.arrays[0] = made_array("md2", operation);
	in.facts.n_arrays = 1;
}

/* A job-init to an idle NAS that is seen. */
static int set_up(void **state)
{
	(void)state;
	made_policy(&made);
	memset(&in, 0, sizeof(in));
	snprintf(in.mapping.nas, sizeof(in.mapping.nas), "nas1");
	snprintf(in.facts.name, sizeof(in.facts.name), "nas1");
	in.facts.sensor = SENSOR_OK;
	in.request.client = CLIENT_VZDUMP;
	in.request.phase = PHASE_JOB_INIT;
	snprintf(in.request.storage, sizeof(in.request.storage), "backup");
	snprintf(in.request.node, sizeof(in.request.node), "pve1");
	in.now = (struct moment){NOW_BOOT, NOW_UTC, 0};
	md2_does(MD_OP_IDLE);
	return 0;
}

static void decides(enum verdict verdict, enum verdict act, int step, enum reason_code first)
{
	decide(&made.policy, &in, &got, &trace);
	if (got.verdict != verdict || got.act != act || got.step != step ||
		got.reasons[0].code != first)
		fail_msg("%s, act %s, step %d, %s: %s", verdict_word(got.verdict),
			verdict_word(got.act), got.step, reason_word(got.reasons[0].code),
			got.reasons[0].text);
}

static const struct reason *reason_of(enum reason_code code)
{
	size_t i;

	for (i = 0; i < got.n_reasons; i++) {
		if (got.reasons[i].code == code)
			return &got.reasons[i];
	}
	return NULL;
}

static void says(enum reason_code code, const char *text)
{
	const struct reason *reason = reason_of(code);

	if (!reason)
		fail_msg("no reason '%s'", reason_word(code));
	else if (!strstr(reason->text, text))
		fail_msg("'%s' does not say '%s'", reason->text, text);
}

/* --- restores --- */

static void a_restore_holds_what_has_not_begun(void **state)
{
	(void)state;
	in.readers = OPT(1);
	decides(VERDICT_HOLD, VERDICT_HOLD, 7, REASON_RESTORE);
	assert_string_equal(
		got.reasons[0].text, "1 restore reads from nas1, no job starts before it is done");
	assert_int_equal(got.ends_in_ms.v, 8 * HOUR);
	assert_int_equal(got.then, VERDICT_ALLOW);
	assert_false(got.base_holds);
	in.readers = OPT(2);
	decides(VERDICT_HOLD, VERDICT_HOLD, 7, REASON_RESTORE);
	says(REASON_RESTORE, "2 restores read from nas1, no job starts before they are done");
}

static void no_restore_and_none_known_hold_nothing(void **state)
{
	(void)state;
	in.readers = OPT(0);
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 6, REASON_NO_RULE);
	in.readers = OPT_NONE;
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 6, REASON_NO_RULE);
	in.readers.v = 3; /* not known is not known, whatever stands there */
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 6, REASON_NO_RULE);
}

static void a_job_that_would_be_throttled_waits_for_a_restore_too(void **state)
{
	(void)state;
	md2_does(MD_OP_RESYNC);
	in.lever = true;
	in.readers = OPT(1);
	decides(VERDICT_HOLD, VERDICT_HOLD, 7, REASON_RESTORE);
	assert_int_equal(got.then, VERDICT_THROTTLE);
	assert_int_equal(got.protect_ppm, 0);
	in.lever = false;
	decides(VERDICT_HOLD, VERDICT_HOLD, 7, REASON_RESTORE);
	assert_int_equal(got.then_act, VERDICT_ALLOW);
}

static void every_kind_of_client_waits_for_a_restore(void **state)
{
	static const enum client clients[] = {CLIENT_RUN, CLIENT_WAIT, CLIENT_CHECK};
	size_t i;

	(void)state;
	in.readers = OPT(1);
	for (i = 0; i < COUNT(clients); i++) {
		in.request.client = clients[i];
		decides(VERDICT_HOLD, VERDICT_HOLD, 7, REASON_RESTORE);
	}
}

static void waiting_for_a_restore_is_of_the_jobs_one_budget(void **state)
{
	(void)state;
	in.readers = OPT(1);
	in.ticket = (struct ticket_view){.was_held = true, .held_ms = 8 * HOUR - 1};
	decides(VERDICT_HOLD, VERDICT_HOLD, 7, REASON_RESTORE);
	assert_int_equal(got.ends_in_ms.v, 1);
	in.ticket.held_ms++;
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 7, REASON_EXPIRED);
	assert_true(got.expires);
	in.ticket.expired = true;
	in.ticket.expired_to = VERDICT_ALLOW;
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 6, REASON_NO_RULE);
}

static void a_restore_ends_and_the_job_goes(void **state)
{
	(void)state;
	in.readers = OPT(0);
	in.ticket = (struct ticket_view){.was_held = true, .held_ms = HOUR};
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 6, REASON_NO_RULE);
}

static void what_only_a_restore_held_takes_no_turn(void **state)
{
	(void)state;
	in.ticket = (struct ticket_view){.was_held = true, .only_restore = true, .held_ms = HOUR};
	in.queue = (struct queue_view){.running_nas = 5, .running_node = 1};
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 6, REASON_NO_RULE);
	in.readers = OPT(1);
	decides(VERDICT_HOLD, VERDICT_HOLD, 7, REASON_RESTORE);
	in.queue.backlog = 1;
	decides(VERDICT_HOLD, VERDICT_HOLD, 7, REASON_RESTORE);
	in.readers = OPT(0);
	decides(VERDICT_HOLD, VERDICT_HOLD, 7, REASON_QUEUE_NODE);
	in.queue = (struct queue_view){.running_nas = 5};
	in.ticket.only_restore = false;
	decides(VERDICT_HOLD, VERDICT_HOLD, 7, REASON_QUEUE_NAS);
}

static void what_outranks_the_queue_outranks_a_restore(void **state)
{
	(void)state;
	in.readers = OPT(1);
	in.ticket.release_asked = true;
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 7, REASON_RELEASE_ASKED);
	in.ticket = (struct ticket_view){.released = true};
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 6, REASON_NO_RULE);
	in.ticket = (struct ticket_view){0};
	in.overrides[0] = (struct override){
		.id = 1, .verdict = VERDICT_ALLOW, .until_utc_ms = NOW_UTC + 1, .by = "anna"};
	in.n_overrides = 1;
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 2, REASON_OVERRIDE);
	in.n_overrides = 0;
	in.request.phase = PHASE_JOB_START;
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 6, REASON_NO_RULE);
	in.request.phase = PHASE_JOB_INIT;
	in.facts.sensor = SENSOR_STALE;
	in.facts.blind_since_ms = OPT(NOW_BOOT - 25 * HOUR);
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 4, REASON_BLIND_LIMIT);
}

static void a_restore_elsewhere_is_not_an_unmapped_storages(void **state)
{
	(void)state;
	in.readers = OPT(1);
	in.mapping.nas[0] = '\0';
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 3, REASON_UNMAPPED);
	in.ticket.was_held = true;
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 3, REASON_UNMAPPED);
}

static void a_gate_that_observes_lets_it_go_while_a_restore_reads(void **state)
{
	(void)state;
	in.readers = OPT(1);
	made.policy.observe = true;
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 8, REASON_OBSERVE);
	assert_int_equal(got.would_be, VERDICT_HOLD);
}

static void a_rules_deny_is_none_of_the_restores_business(void **state)
{
	(void)state;
	in.readers = OPT(1);
	md2_does(MD_OP_REPAIR);
	decides(VERDICT_DENY, VERDICT_DENY, 5, REASON_RULE);
	md2_does(MD_OP_RECOVERY);
	decides(VERDICT_HOLD, VERDICT_HOLD, 5, REASON_RULE);
}

/* --- max_hold = "rpo" --- */

static void to_rpo(struct rule_settings *set)
{
	set->hold_to_rpo = true;
	set->rpo_ms = OPT(2 * DAY);
}

static void a_hold_ends_when_a_backup_is_as_old_as_it_may_get(void **state)
{
	(void)state;
	to_rpo(&made.rules[RULE_REBUILD].set);
	md2_does(MD_OP_RECOVERY);
	in.request.backup_age_ms = OPT(DAY);
	in.ticket = (struct ticket_view){.was_held = true, .held_ms = 9 * HOUR};
	decides(VERDICT_HOLD, VERDICT_HOLD, 5, REASON_RULE);
	assert_int_equal(got.ends_in_ms.v, DAY);
	assert_int_equal(got.then, VERDICT_THROTTLE);
	says(REASON_AGE,
		"the oldest of its guests' last good backups is 1d old, and may get 2d "
		"old (rpo)");
	in.request.backup_age_ms = OPT(2 * DAY - 1);
	decides(VERDICT_HOLD, VERDICT_HOLD, 5, REASON_RULE);
	assert_int_equal(got.ends_in_ms.v, 1);
	in.request.backup_age_ms = OPT(2 * DAY);
	decides(VERDICT_THROTTLE, VERDICT_ALLOW, 7, REASON_RPO);
	assert_true(got.expires);
	says(REASON_RPO, "is 2d old, and may not get older than 2d (rpo): throttle");
	assert_null(reason_of(REASON_AGE));
}

static void a_newcomer_past_its_rpo_is_not_held_at_all(void **state)
{
	(void)state;
	to_rpo(&made.rules[RULE_REBUILD].set);
	md2_does(MD_OP_RECOVERY);
	in.lever = true;
	in.request.guest = 101;
	in.request.backup_age_ms = OPT(3 * DAY);
	decides(VERDICT_THROTTLE, VERDICT_THROTTLE, 7, REASON_RPO);
	says(REASON_RPO, "the guest's last good backup is 3d old");
	assert_int_equal(got.protect_ppm, 800000);
}

static void an_age_that_is_not_known_is_not_overdue(void **state)
{
	(void)state;
	to_rpo(&made.rules[RULE_REBUILD].set);
	md2_does(MD_OP_RECOVERY);
	decides(VERDICT_HOLD, VERDICT_HOLD, 5, REASON_RULE);
	assert_int_equal(got.ends_in_ms.v, 8 * HOUR);
	assert_null(reason_of(REASON_AGE));
	in.ticket = (struct ticket_view){.was_held = true, .held_ms = 8 * HOUR};
	decides(VERDICT_THROTTLE, VERDICT_ALLOW, 7, REASON_EXPIRED);
	in.ticket.held_ms = 0;
	in.request.backup_age_ms = OPT(DAY);
	made.rules[RULE_REBUILD].set.rpo_ms = OPT_NONE;
	decides(VERDICT_HOLD, VERDICT_HOLD, 5, REASON_RULE);
	assert_int_equal(got.ends_in_ms.v, 8 * HOUR);
	says(REASON_AGE, "is 1d old");
	assert_null(strstr(reason_of(REASON_AGE)->text, "rpo"));
}

static void without_the_word_rpo_the_age_ends_nothing(void **state)
{
	(void)state;
	made.rules[RULE_REBUILD].set.rpo_ms = OPT(2 * DAY);
	md2_does(MD_OP_RECOVERY);
	in.request.backup_age_ms = OPT(3 * DAY);
	decides(VERDICT_HOLD, VERDICT_HOLD, 5, REASON_RULE);
	assert_int_equal(got.ends_in_ms.v, 8 * HOUR);
}

static void the_next_start_still_ends_it_sooner(void **state)
{
	(void)state;
	to_rpo(&made.rules[RULE_REBUILD].set);
	md2_does(MD_OP_RECOVERY);
	in.request.backup_age_ms = OPT(DAY);
	in.request.next_start_utc_ms = OPT(NOW_UTC + 2 * HOUR);
	decides(VERDICT_HOLD, VERDICT_HOLD, 5, REASON_RULE);
	assert_int_equal(got.ends_in_ms.v, 2 * HOUR - MIN);
}

static void a_held_job_queues_within_the_same_end(void **state)
{
	(void)state;
	to_rpo(&made.rules[RULE_REBUILD].set);
	in.ticket = (struct ticket_view){.was_held = true,
		.held_ms = 9 * HOUR,
		.hold_rule = "rebuild",
		.hold_step = 5,
		.clear_ms = OPT(MIN)};
	in.request.backup_age_ms = OPT(DAY);
	decides(VERDICT_HOLD, VERDICT_HOLD, 7, REASON_SETTLE);
	assert_int_equal(got.ends_in_ms.v, DAY);
	in.request.backup_age_ms = OPT(2 * DAY);
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 7, REASON_RPO);
}

static void blindness_may_hold_to_the_rpo(void **state)
{
	(void)state;
	in.facts.sensor = SENSOR_STALE;
	in.facts.blind_since_ms = OPT(NOW_BOOT - HOUR);
	in.facts.read_at_ms = in.facts.blind_since_ms;
	in.request.backup_age_ms = OPT(DAY);
	/* The outage's own budget is used up; the age is not. */
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 4, REASON_BLIND_BUDGET);
	to_rpo(&made.policy.sensor.set);
	decides(VERDICT_HOLD, VERDICT_HOLD, 4, REASON_BLIND);
	assert_int_equal(got.ends_in_ms.v, DAY);
	in.request.backup_age_ms = OPT(2 * DAY);
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 7, REASON_RPO);
	/* Nobody knows the age: the budget again. */
	in.request.backup_age_ms = OPT_NONE;
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 4, REASON_BLIND_BUDGET);
}

static void the_age_stands_beside_a_wait_inside_a_job_too(void **state)
{
	(void)state;
	md2_does(MD_OP_RECOVERY);
	in.request.phase = PHASE_BACKUP_START;
	in.request.guest = 101;
	in.request.backup_age_ms = OPT(30 * HOUR);
	in.ticket.released = true;
	decides(VERDICT_HOLD, VERDICT_HOLD, 5, REASON_RULE);
	says(REASON_AGE, "the guest's last good backup is 1d 6h old");
}

/* --- too_slow --- */

/* A resync, a lever, a job of 30 h that starts again in a day. */
static void slow(enum too_slow act)
{
	made.rules[RULE_RESYNC].set.too_slow = act;
	md2_does(MD_OP_RESYNC);
	in.lever = true;
	in.predicted_ms = OPT(30 * HOUR);
	in.request.next_start_utc_ms = OPT(NOW_UTC + DAY);
}

static void a_throttle_protects_what_its_rule_says(void **state)
{
	(void)state;
	slow(TOO_SLOW_RELAX);
	in.predicted_ms = OPT(DAY);
	decides(VERDICT_THROTTLE, VERDICT_THROTTLE, 5, REASON_RULE);
	assert_int_equal(got.protect_ppm, 800000);
	assert_false(got.too_slow_ppm.known);
	in.lever = false;
	decides(VERDICT_THROTTLE, VERDICT_ALLOW, 5, REASON_RULE);
	assert_int_equal(got.protect_ppm, 0);
}

static void a_job_that_would_take_too_long_is_slowed_less(void **state)
{
	(void)state;
	slow(TOO_SLOW_RELAX);
	decides(VERDICT_THROTTLE, VERDICT_THROTTLE, 5, REASON_RULE);
	assert_int_equal(got.protect_ppm, 700000);
	assert_int_equal(got.too_slow_ppm.v, 700000);
	says(REASON_TOO_SLOW,
		"throttled to protect 80% the job would take 1d 6h, and it starts again in 1d: "
		"70% is protected instead, with which it takes 20h");
}

static void it_is_relaxed_to_protect_min_at_most(void **state)
{
	(void)state;
	slow(TOO_SLOW_RELAX);
	in.predicted_ms = OPT(300 * HOUR);
	decides(VERDICT_THROTTLE, VERDICT_THROTTLE, 5, REASON_RULE);
	assert_int_equal(got.protect_ppm, 300000);
	says(REASON_TOO_SLOW, "30% is protected instead, with which it still takes 3d");
}

static void without_a_prediction_or_a_next_start_nothing_is_too_slow(void **state)
{
	(void)state;
	slow(TOO_SLOW_ALLOW);
	in.predicted_ms.known = false;
	decides(VERDICT_THROTTLE, VERDICT_THROTTLE, 5, REASON_RULE);
	slow(TOO_SLOW_ALLOW);
	in.request.next_start_utc_ms.known = false;
	decides(VERDICT_THROTTLE, VERDICT_THROTTLE, 5, REASON_RULE);
	slow(TOO_SLOW_ALLOW);
	in.request.next_start_utc_ms = OPT(NOW_UTC);
	decides(VERDICT_THROTTLE, VERDICT_THROTTLE, 5, REASON_RULE);
	assert_null(reason_of(REASON_TOO_SLOW));
}

static void it_may_go_unslowed_instead(void **state)
{
	(void)state;
	slow(TOO_SLOW_ALLOW);
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 7, REASON_TOO_SLOW);
	says(REASON_TOO_SLOW, "it starts again in 1d: it is not slowed");
	assert_int_equal(got.too_slow_ppm.v, 0);
	assert_true(got.too_slow_ppm.known);
	assert_int_equal(got.protect_ppm, 0);
}

static void it_may_be_held_instead(void **state)
{
	(void)state;
	slow(TOO_SLOW_HOLD);
	decides(VERDICT_HOLD, VERDICT_HOLD, 7, REASON_TOO_SLOW);
	says(REASON_TOO_SLOW, "it starts again in 1d: held");
	assert_true(got.base_holds);
	assert_int_equal(got.hold_step, 5);
	assert_string_equal(got.hold_rule, "resync");
	assert_int_equal(got.ends_in_ms.v, 8 * HOUR);
	assert_int_equal(got.then, VERDICT_THROTTLE);
	in.ticket = (struct ticket_view){
		.was_held = true, .held_ms = 8 * HOUR, .hold_rule = "resync", .hold_step = 5};
	decides(VERDICT_THROTTLE, VERDICT_THROTTLE, 7, REASON_EXPIRED);
	assert_true(got.expires);
	assert_int_equal(got.protect_ppm, 800000);
	says(REASON_TOO_SLOW, "it starts again in 1d");
	in.ticket.expired = true;
	in.ticket.expired_to = VERDICT_THROTTLE;
	decides(VERDICT_THROTTLE, VERDICT_THROTTLE, 5, REASON_RULE);
}

/* Nothing is foreseen of a throttle that nothing can carry out. */
static void without_a_lever_nothing_is_too_slow(void **state)
{
	(void)state;
	slow(TOO_SLOW_HOLD);
	in.lever = false;
	decides(VERDICT_THROTTLE, VERDICT_ALLOW, 5, REASON_RULE);
	assert_null(reason_of(REASON_TOO_SLOW));
}

static void what_is_held_as_too_slow_goes_when_it_no_longer_is(void **state)
{
	(void)state;
	slow(TOO_SLOW_HOLD);
	in.predicted_ms = OPT(20 * HOUR);
	in.ticket = (struct ticket_view){.was_held = true,
		.held_ms = HOUR,
		.hold_rule = "resync",
		.hold_step = 5,
		.clear_ms = OPT(10 * MIN)};
	decides(VERDICT_THROTTLE, VERDICT_THROTTLE, 5, REASON_RULE);
	assert_int_equal(got.protect_ppm, 800000);
}

static void an_operators_throttle_is_what_it_is(void **state)
{
	(void)state;
	slow(TOO_SLOW_ALLOW);
	made.policy.defaults.too_slow = TOO_SLOW_HOLD;
	in.overrides[0] = (struct override){
		.id = 1, .verdict = VERDICT_THROTTLE, .until_utc_ms = NOW_UTC + 1, .by = "anna"};
	in.n_overrides = 1;
	decides(VERDICT_THROTTLE, VERDICT_THROTTLE, 2, REASON_OVERRIDE);
	assert_int_equal(got.protect_ppm, 800000);
}

static void a_release_is_not_held_as_too_slow(void **state)
{
	(void)state;
	slow(TOO_SLOW_HOLD);
	in.ticket.release_asked = true;
	decides(VERDICT_THROTTLE, VERDICT_THROTTLE, 7, REASON_RELEASE_ASKED);
}

static void a_spent_outage_does_not_hold_as_too_slow(void **state)
{
	(void)state;
	slow(TOO_SLOW_HOLD);
	md2_does(MD_OP_IDLE);
	made.policy.sensor.set.on_expiry = VERDICT_THROTTLE;
	made.policy.sensor.set.too_slow = TOO_SLOW_HOLD;
	in.facts.sensor = SENSOR_STALE;
	in.facts.blind_since_ms = OPT(NOW_BOOT - HOUR);
	decides(VERDICT_THROTTLE, VERDICT_THROTTLE, 4, REASON_BLIND_BUDGET);
}

static void a_fixed_rate_has_no_share_to_give_up(void **state)
{
	(void)state;
	slow(TOO_SLOW_RELAX);
	made.rules[RULE_RESYNC].set.rate = OPT(30000000);
	decides(VERDICT_THROTTLE, VERDICT_THROTTLE, 5, REASON_RULE);
	assert_false(got.too_slow_ppm.known);
	says(REASON_TOO_SLOW, "throttled to 30 MB/s the job would take 1d 6h");
	made.rules[RULE_RESYNC].set.too_slow = TOO_SLOW_ALLOW;
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 7, REASON_TOO_SLOW);
}

/* What was decided for the whole job stands inside it: there is nothing new to foresee. */
static void inside_the_job_what_was_decided_stands(void **state)
{
	(void)state;
	slow(TOO_SLOW_RELAX);
	in.request.phase = PHASE_BACKUP_START;
	in.request.guest = 101;
	in.ticket.released = true;
	decides(VERDICT_THROTTLE, VERDICT_THROTTLE, 5, REASON_RULE);
	assert_int_equal(got.protect_ppm, 800000);
	assert_null(reason_of(REASON_TOO_SLOW));
	in.ticket.too_slow_ppm = OPT(500000);
	decides(VERDICT_THROTTLE, VERDICT_THROTTLE, 5, REASON_RULE);
	assert_int_equal(got.protect_ppm, 500000);
	assert_int_equal(got.too_slow_ppm.v, 500000);
	says(REASON_TOO_SLOW, "50% is protected");
	made.rules[RULE_RESYNC].set.protect_ppm = 400000;
	decides(VERDICT_THROTTLE, VERDICT_THROTTLE, 5, REASON_RULE);
	assert_int_equal(got.protect_ppm, 400000);
	in.ticket.too_slow_ppm = OPT(0);
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 7, REASON_TOO_SLOW);
	made.rules[RULE_RESYNC].set.too_slow = TOO_SLOW_HOLD;
	in.ticket.too_slow_ppm = OPT_NONE;
	decides(VERDICT_THROTTLE, VERDICT_THROTTLE, 5, REASON_RULE);
}

static void observing_remembers_nothing(void **state)
{
	(void)state;
	slow(TOO_SLOW_RELAX);
	made.policy.observe = true;
	decides(VERDICT_ALLOW, VERDICT_ALLOW, 8, REASON_OBSERVE);
	assert_false(got.too_slow_ppm.known);
	assert_int_equal(got.protect_ppm, 0);
}

/* --- no lever --- */

static void why_a_container_cannot_be_slowed_is_said(void **state)
{
	static const char text[] = "only a bwlimit (of the job or vzdump.conf) could, and from its "
				   "next run on: allow instead";

	(void)state;
	md2_does(MD_OP_RESYNC);
	decides(VERDICT_THROTTLE, VERDICT_ALLOW, 5, REASON_RULE);
	says(REASON_NO_LEVER, "no lever is set up that could slow this job: allow instead");
	in.request.guest_type = GUEST_LXC;
	decides(VERDICT_THROTTLE, VERDICT_ALLOW, 5, REASON_RULE);
	says(REASON_NO_LEVER, text);
	in.request.guest_type = GUEST_NONE;
	in.request.n_qemu = OPT(0);
	decides(VERDICT_THROTTLE, VERDICT_ALLOW, 5, REASON_RULE);
	says(REASON_NO_LEVER, text);
	in.request.n_qemu = OPT(1);
	decides(VERDICT_THROTTLE, VERDICT_ALLOW, 5, REASON_RULE);
	says(REASON_NO_LEVER, "no lever is set up");
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_restore_holds_what_has_not_begun),
		TEST(no_restore_and_none_known_hold_nothing),
		TEST(a_job_that_would_be_throttled_waits_for_a_restore_too),
		TEST(every_kind_of_client_waits_for_a_restore),
		TEST(waiting_for_a_restore_is_of_the_jobs_one_budget),
		TEST(a_restore_ends_and_the_job_goes),
		TEST(what_only_a_restore_held_takes_no_turn),
		TEST(what_outranks_the_queue_outranks_a_restore),
		TEST(a_restore_elsewhere_is_not_an_unmapped_storages),
		TEST(a_gate_that_observes_lets_it_go_while_a_restore_reads),
		TEST(a_rules_deny_is_none_of_the_restores_business),
		TEST(a_hold_ends_when_a_backup_is_as_old_as_it_may_get),
		TEST(a_newcomer_past_its_rpo_is_not_held_at_all),
		TEST(an_age_that_is_not_known_is_not_overdue),
		TEST(without_the_word_rpo_the_age_ends_nothing),
		TEST(the_next_start_still_ends_it_sooner),
		TEST(a_held_job_queues_within_the_same_end),
		TEST(blindness_may_hold_to_the_rpo),
		TEST(the_age_stands_beside_a_wait_inside_a_job_too),
		TEST(a_throttle_protects_what_its_rule_says),
		TEST(a_job_that_would_take_too_long_is_slowed_less),
		TEST(it_is_relaxed_to_protect_min_at_most),
		TEST(without_a_prediction_or_a_next_start_nothing_is_too_slow),
		TEST(it_may_go_unslowed_instead),
		TEST(it_may_be_held_instead),
		TEST(without_a_lever_nothing_is_too_slow),
		TEST(what_is_held_as_too_slow_goes_when_it_no_longer_is),
		TEST(an_operators_throttle_is_what_it_is),
		TEST(a_release_is_not_held_as_too_slow),
		TEST(a_spent_outage_does_not_hold_as_too_slow),
		TEST(a_fixed_rate_has_no_share_to_give_up),
		TEST(inside_the_job_what_was_decided_stands),
		TEST(observing_remembers_nothing),
		TEST(why_a_container_cannot_be_slowed_is_said),
	};

	return cmocka_run_group_tests_name("decide_ends", tests, NULL, NULL);
}
