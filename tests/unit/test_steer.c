// SPDX-License-Identifier: MIT
/* The controller, reading by reading: what it says and does at the edges. How well it does, on
 * models of disks, is test_steer_sim.c's. */
#include "steer_world.h"

/* --- words --- */

static void every_word_is_there(void **state)
{
	int i;

	(void)state;
	for (i = STEER_FREE; i <= STEER_REST; i++) {
		const char *word = steer_path_word((enum steer_path)i);

		assert_non_null(word);
		assert_int_equal(steer_path_parse(word), i);
	}
	assert_null(steer_path_word(STEER_NONE));
	assert_null(steer_path_word((enum steer_path)99));
	assert_int_equal(steer_path_parse("wide"), STEER_NONE);
	assert_string_equal(steer_way_word(STEER_STEADY), "steady");
	assert_string_equal(steer_way_word(STEER_SLICES), "slices");
	assert_null(steer_way_word(STEER_WAY_NONE));
	assert_null(steer_way_word((enum steer_way)99));
	for (i = STEER_NOTHING_TO_PROTECT; i < STEER_REASON_COUNT; i++)
		assert_non_null(steer_reason_word((enum steer_reason)i));
	assert_string_equal(steer_reason_word(STEER_NOT_OURS), "not-ours");
	assert_null(steer_reason_word(STEER_REASON_NONE));
	assert_null(steer_reason_word((enum steer_reason)99));
}

/* --- what there is to steer --- */

static void without_jobs_the_path_is_free_at_once(void **state)
{
	(void)state;
	look(2);
	assert_int_equal(w.out.path, STEER_REST);
	w.in.jobs = 0;
	look(1);
	assert_int_equal(w.out.path, STEER_FREE);
	assert_int_equal(w.out.reason, STEER_NO_JOB);
	assert_string_equal(w.out.text, "no throttled job writes");
	assert_false(w.out.again_ms.known);
	assert_false(w.out.share_ppm.known);
}

static void with_nothing_to_protect_the_path_is_free(void **state)
{
	(void)state;
	w.in.protects = false;
	look(1);
	assert_int_equal(w.out.path, STEER_FREE);
	assert_int_equal(w.out.reason, STEER_NOTHING_TO_PROTECT);
	look(1);
	assert_int_equal(w.out.path, STEER_FREE);
}

static void a_path_that_was_open_is_free_when_the_rebuild_ends(void **state)
{
	(void)state;
	look_until(STEER_OPEN);
	w.in.protects = false;
	look(1);
	assert_int_equal(w.out.path, STEER_FREE);
}

static void a_rebuild_that_comes_back_while_the_path_opens_is_protected_again(void **state)
{
	(void)state;
	look(2);
	w.in.protects = false;
	look(3);
	assert_int_equal(w.out.path, STEER_LIMIT);
	assert_int_equal(w.out.reason, STEER_OPENING);
	assert_true(w.out.again_ms.known);
	w.in.protects = true;
	look(1);
	assert_int_equal(w.out.path, STEER_REST);
	/* And one that begins anew as something else. */
	w.in.protects = false;
	look(3);
	w.in.protects = true;
	w.array.operation = MD_OP_RESHAPE;
	look(1);
	assert_int_equal(w.out.path, STEER_REST);
}

static void a_limit_opens_from_where_it_is(void **state)
{
	int64_t last = 0;
	int i;

	(void)state;
	w.in.rule.rate = OPT(8 * MBS);
	look(2);
	w.in.protects = false;
	for (i = 0; i < 16; i++) {
		look(1);
		assert_true(w.out.path == STEER_FREE || w.out.rate >= last);
		last = w.out.rate;
		if (i == 0)
			assert_int_equal(w.out.rate, 16 * MBS);
	}
	assert_int_equal(w.out.path, STEER_FREE);
}

static void opening_stops_at_what_a_lever_can_limit(void **state)
{
	(void)state;
	w.in.rule.rate = OPT(8 * MBS);
	w.in.range.top_rate = 20 * MBS;
	look(2);
	assert_int_equal(w.out.rate, 8 * MBS);
	w.in.protects = false;
	look(1);
	assert_int_equal(w.out.rate, 16 * MBS);
	look(6);
	assert_int_equal(w.out.path, STEER_FREE); /* by way of open */
}

/* --- the rule's own words --- */

static void a_fixed_rate_is_kept_whatever_happens(void **state)
{
	(void)state;
	w.in.rule.rate = OPT(8 * MBS);
	w.rate = 4 * MBS;
	w.write = 8 * MBS;
	look(30);
	assert_int_equal(w.out.path, STEER_LIMIT);
	assert_int_equal(w.out.rate, 8 * MBS);
	assert_int_equal(w.out.reason, STEER_FIXED);
	assert_int_equal(w.out.way, STEER_STEADY);
	assert_int_equal(w.out.share_ppm.v, 200000);
	assert_string_equal(w.out.text,
		"md2 kept 20.0 % of its pace over 58s; by the rule the backups are limited to 8.0 "
		"MB/s");
	/* Without a baseline the share is not known. */
	fresh(NULL);
	w.in.rule.rate = OPT(8 * MBS);
	w.array.baseline = OPT_NONE;
	w.write = 8 * MBS;
	look(3);
	assert_false(w.out.share_ppm.known);
	assert_string_equal(w.out.text,
		"what md2 does undisturbed is not known yet; by the rule the backups are limited "
		"to 8.0 MB/s");
}

static void a_rule_that_protects_nothing_opens(void **state)
{
	(void)state;
	w.in.rule.protect_ppm = 0;
	look(2);
	assert_int_equal(w.out.path, STEER_OPEN);
	assert_int_equal(w.out.reason, STEER_KEEPING);
	assert_string_equal(w.out.text,
		"what md2 does undisturbed is not known yet; the backups get what nobody tells");
}

static void a_rule_that_changes_counts_anew(void **state)
{
	(void)state;
	look_yielding(60);
	assert_true(w.out.share_ppm.known);
	w.in.rule.protect_ppm = 500000;
	look_yielding(1);
	assert_true(w.out.share_ppm.known);
	w.in.rule.over_ms = 120000;
	wait(10);
	assert_false(w.out.share_ppm.known);
	w.in.rule.over_ms = 1; /* nobody averages over that */
	w.in.rule.protect_ppm = 1000000;
	look_yielding(60);
	assert_true(w.out.share_ppm.known);
}

/* --- what cannot be seen --- */

static void blind_from_the_start_it_opens(void **state)
{
	(void)state;
	w.in.array = NULL;
	wait(2000);
	assert_int_equal(w.out.path, STEER_OPEN);
	assert_int_equal(w.out.reason, STEER_BLIND);
	/* And after nobody wrote, too. */
	w.in.jobs = 0;
	wait(2000);
	w.in.jobs = 1;
	w.in.blind = true;
	wait(2000);
	assert_int_equal(w.out.path, STEER_OPEN);
	w.in.array = &w.array;
	w.in.blind = false;
	look(2);
	assert_int_equal(w.out.path, STEER_REST);
}

static void a_rest_ends_in_time_also_when_blind(void **state)
{
	(void)state;
	w.in.range.rest_max_ms = 15000;
	look(2);
	assert_int_equal(w.out.path, STEER_REST);
	w.in.blind = true;
	wait(2000);
	assert_int_equal(w.out.path, STEER_REST);
	assert_int_equal(w.out.again_ms.v, 1000000 + 2000 + 15000);
	wait(11000);
	assert_int_equal(w.out.path, STEER_LIMIT);
	wait(10000);
	assert_int_equal(w.out.path, STEER_LIMIT);
	wait(21000);
	assert_int_equal(w.out.path, STEER_OPEN);
	assert_int_equal(w.out.reason, STEER_BLIND);
}

static void a_long_rest_ends_within_half_a_minute_of_blindness(void **state)
{
	(void)state;
	look(2);
	w.in.blind = true;
	wait(2000);
	wait(29000);
	assert_int_equal(w.out.path, STEER_REST);
	wait(1000);
	assert_int_equal(w.out.path, STEER_LIMIT);
	assert_int_equal(w.out.rate, 4 * MBS);
}

static void a_limit_is_kept_for_half_a_minute_of_blindness(void **state)
{
	(void)state;
	w.in.rule.rate = OPT(8 * MBS);
	look(2);
	w.in.blind = true;
	wait(2000);
	wait(20000);
	assert_int_equal(w.out.rate, 8 * MBS);
	assert_int_equal(w.out.again_ms.v, 1006000 + 30000);
	wait(10000);
	assert_int_equal(w.out.rate, 16 * MBS);
	wait(30000);
	assert_int_equal(w.out.path, STEER_OPEN);
}

static void a_pace_that_nobody_tells_is_blindness_after_a_minute(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 25; i++) {
		w.in.fresh = true;
		w.in.read_at_ms = w.in.now_ms + 2000;
		wait(2000);
		assert_int_equal(w.out.path, STEER_REST);
	}
	for (i = 0; i < 50; i++)
		wait(2000);
	assert_int_equal(w.out.path, STEER_OPEN);
	assert_int_equal(w.out.reason, STEER_BLIND);
	look(2);
	assert_int_not_equal(w.out.reason, STEER_BLIND);
}

static void readings_that_stop_are_blindness_too(void **state)
{
	(void)state;
	look(4);
	wait(61000);
	assert_int_equal(w.out.reason, STEER_BLIND);
}

static void after_blindness_it_waits_for_a_reading(void **state)
{
	(void)state;
	look_until(STEER_OPEN);
	w.in.blind = true;
	wait(2000);
	w.in.blind = false;
	wait(1000);
	assert_int_equal(w.out.reason, STEER_BLIND);
	look(1);
	assert_int_not_equal(w.out.reason, STEER_BLIND);
	assert_int_equal(w.out.path, STEER_OPEN);
}

static void an_array_of_which_nothing_is_known_is_blindness(void **state)
{
	(void)state;
	w.array.sync_state = MD_SYNC_UNKNOWN;
	look(1);
	assert_int_equal(w.out.reason, STEER_BLIND);
	w.array.sync_state = MD_SYNC_INVALID;
	look(1);
	assert_int_equal(w.out.reason, STEER_BLIND);
}

static void a_rebuild_that_waits_is_slowed_by_nobody(void **state)
{
	static const enum md_sync_state waits[] = {
		MD_SYNC_DELAYED, MD_SYNC_PENDING, MD_SYNC_REMOTE, MD_SYNC_NONE};
	size_t i;

	for (i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		fresh(state);
		look(2);
		w.array.sync_state = waits[i];
		look(1);
		assert_int_equal(w.out.path, STEER_LIMIT);
		assert_int_equal(w.out.reason, STEER_NOT_OURS);
		assert_string_equal(
			w.out.text, "md2 waits or stands still: no backup slows it down");
		look(16);
		assert_int_equal(w.out.path, STEER_OPEN);
		/* It goes on: protected within two readings. */
		w.array.sync_state = MD_SYNC_RUNNING;
		look(2);
		assert_int_equal(w.out.path, STEER_REST);
	}
	fresh(state);
	w.array.sync_state = MD_SYNC_DELAYED;
	look(1);
	assert_int_equal(w.out.path, STEER_OPEN);
	w.in.jobs = 0;
	look(1);
	w.in.jobs = 1;
	look(1);
	assert_int_equal(w.out.path, STEER_OPEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(every_word_is_there, fresh),
		cmocka_unit_test_setup(without_jobs_the_path_is_free_at_once, fresh),
		cmocka_unit_test_setup(with_nothing_to_protect_the_path_is_free, fresh),
		cmocka_unit_test_setup(a_path_that_was_open_is_free_when_the_rebuild_ends, fresh),
		cmocka_unit_test_setup(
			a_rebuild_that_comes_back_while_the_path_opens_is_protected_again, fresh),
		cmocka_unit_test_setup(a_limit_opens_from_where_it_is, fresh),
		cmocka_unit_test_setup(opening_stops_at_what_a_lever_can_limit, fresh),
		cmocka_unit_test_setup(a_fixed_rate_is_kept_whatever_happens, fresh),
		cmocka_unit_test_setup(a_rule_that_protects_nothing_opens, fresh),
		cmocka_unit_test_setup(a_rule_that_changes_counts_anew, fresh),
		cmocka_unit_test_setup(blind_from_the_start_it_opens, fresh),
		cmocka_unit_test_setup(a_rest_ends_in_time_also_when_blind, fresh),
		cmocka_unit_test_setup(a_long_rest_ends_within_half_a_minute_of_blindness, fresh),
		cmocka_unit_test_setup(a_limit_is_kept_for_half_a_minute_of_blindness, fresh),
		cmocka_unit_test_setup(a_pace_that_nobody_tells_is_blindness_after_a_minute, fresh),
		cmocka_unit_test_setup(readings_that_stop_are_blindness_too, fresh),
		cmocka_unit_test_setup(after_blindness_it_waits_for_a_reading, fresh),
		cmocka_unit_test_setup(an_array_of_which_nothing_is_known_is_blindness, fresh),
		cmocka_unit_test_setup(a_rebuild_that_waits_is_slowed_by_nobody, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
