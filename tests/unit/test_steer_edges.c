// SPDX-License-Identifier: MIT
/* The controller, reading by reading: levers that answer late or not at all, rests. */
#include "steer_world.h"

/* --- levers --- */

static void a_lever_that_never_answers_is_not_waited_for(void **state)
{
	(void)state;
	w.stuck = true;
	look(14);
	assert_int_equal(w.out.path, STEER_REST);
	look(6);
	assert_int_equal(w.out.path, STEER_OPEN);
	look(10); /* nor is its slice */
	assert_int_equal(w.out.path, STEER_OPEN);
}

static void a_rest_counts_from_when_it_is_in_force(void **state)
{
	(void)state;
	w.stuck = true;
	look(8);
	assert_int_equal(w.out.path, STEER_REST);
	w.stuck = false;
	look(1);
	assert_int_equal(w.out.path, STEER_REST);
	look(3);
	assert_int_equal(w.out.path, STEER_OPEN);
}

static void a_lever_that_tells_loses_its_grip_within_seconds(void **state)
{
	(void)state;
	w.write = 50 * MBS;
	w.in.moved = OPT(50 * MBS);
	look(4);
	assert_false(w.out.no_grip);
	look(4);
	assert_true(w.out.no_grip);
	assert_int_equal(w.out.reason, STEER_NO_GRIP);
	w.write = 0;
	w.in.moved = OPT(0);
	look(2);
	assert_false(w.out.no_grip);
}

static void one_that_acts_slowly_is_given_three_times_its_delay(void **state)
{
	(void)state;
	w.in.range.delay_ms = 5000;
	w.write = 50 * MBS;
	w.in.moved = OPT(50 * MBS);
	look(10);
	assert_false(w.out.no_grip);
	look(4);
	assert_true(w.out.no_grip);
}

static void without_a_baseline_a_lever_without_grip_is_told_and_the_path_opens(void **state)
{
	(void)state;
	w.array.baseline = OPT_NONE;
	w.rate = MBS;
	w.write = 50 * MBS;
	look(58);
	assert_true(w.out.no_grip);
	assert_int_equal(w.out.path, STEER_REST);
	assert_false(w.out.share_ppm.known);
	look(100); /* no rest helps */
	look_until(STEER_OPEN);
	look(100);
	assert_true(w.out.no_grip);
	assert_int_equal(w.out.reason, STEER_NO_GRIP);
	assert_false(w.out.share_ppm.known); /* what it does without them is not known */
	assert_string_equal(w.out.text,
		"what md2 does undisturbed is not known yet; clients write about 50 MB/s however "
		"closed the path is, and no rest helps against that: the backups that can be "
		"slowed "
		"get 0 B/s");
	/* It holds at last: that is found out, and it is measured anew. */
	w.write = 0;
	w.rate = 20 * MBS;
	look(500);
	assert_false(w.out.no_grip);
	assert_int_equal(w.out.path, STEER_OPEN);
	assert_int_equal(w.steer.ref.v, 20 * MBS);
}

static void with_a_baseline_it_goes_on_by_that(void **state)
{
	(void)state;
	w.rate = MBS;
	w.write = 50 * MBS;
	look_until(STEER_OPEN);
	assert_true(w.out.no_grip);
}

static void writes_that_begin_while_the_path_is_shut_and_drained_are_anothers(void **state)
{
	(void)state;
	w.write = 50 * MBS;
	look(1); /* what they write when they may */
	w.write = 0;
	w.rate = 10 * MBS; /* not back: the rest lasts */
	look(10);
	assert_int_equal(w.out.path, STEER_REST);
	w.write = 10 * MBS;
	look(2);
	assert_int_equal(w.steer.foreign, 10 * MBS);
	assert_true(w.steer.calm_ms);
	w.write = 4 * MBS; /* less */
	look(1);
	assert_int_equal(w.steer.foreign, 7 * MBS);
	/* As much as when the path is open is not believed to be another's. */
	w.write = 45 * MBS;
	look(1);
	assert_int_equal(w.steer.foreign, 7 * MBS);
	assert_false(w.steer.calm_ms);
}

static void what_has_fallen_far_and_goes_on_is_anothers_after_what_a_cache_may_take(void **state)
{
	(void)state;
	w.array.baseline = OPT_NONE;
	w.write = 50 * MBS;
	look(1);
	w.write = 20 * MBS;
	w.rate = 10 * MBS;
	look(40);
	assert_int_equal(w.steer.foreign, 0);
	assert_int_equal(w.out.reason, STEER_DRAINING);
	look(10);
	assert_int_equal(w.steer.foreign, 20 * MBS);
	assert_false(w.out.no_grip);
}

static void a_lever_that_is_not_set_proves_nobody_else(void **state)
{
	(void)state;
	w.write = 50 * MBS;
	look(1);
	w.write = 0;
	w.rate = 10 * MBS;
	look(10);
	w.write = 10 * MBS;
	w.in.applied = false;
	w.stuck = true;
	look(1);
	assert_int_equal(w.steer.foreign, 0);
}

static void what_its_jobs_do_not_move_is_anothers(void **state)
{
	(void)state;
	w.in.moved = OPT(0);
	w.in.only_ours = false;
	w.write = 30 * MBS;
	w.rate = 10 * MBS;
	look(20);
	assert_int_equal(w.steer.foreign, 0);
	look(10); /* caches have had their time */
	assert_int_equal(w.steer.foreign, 30 * MBS);
	assert_false(w.out.no_grip);
}

/* --- readings --- */

static void readings_in_quick_succession_are_one(void **state)
{
	(void)state;
	look(2);
	look_after(300);
	assert_int_equal(w.steer.read_ms, 1004000);
	look_after(700);
	assert_int_equal(w.steer.read_ms, 1005000);
}

static void a_window_of_many_minutes_says_nothing(void **state)
{
	(void)state;
	look(2);
	look_after(400000);
	assert_int_equal(w.out.share_ppm.v, 1000000);
	assert_int_equal(w.steer.sight_ms, 1004000);
}

static void a_drop_while_nobody_writes_is_not_theirs(void **state)
{
	int64_t credit;

	(void)state;
	look_until(STEER_OPEN);
	look(10);
	credit = w.steer.credit;
	w.rate = 8 * MBS;
	look(2);
	assert_true(w.steer.credit >= credit);
	assert_int_equal(w.out.path, STEER_OPEN);
	assert_true(w.steer.not_ours_ms);
	look(60); /* what it does now is what it does */
	assert_int_equal(w.steer.ref.v, 8 * MBS);
	assert_int_equal(w.out.path, STEER_OPEN);
	assert_true(w.out.share_ppm.known);
}

static void a_baseline_that_goes_or_is_nothing_changes_nothing(void **state)
{
	(void)state;
	look_yielding(60);
	w.array.baseline = OPT_NONE;
	look_yielding(60);
	assert_true(w.out.share_ppm.v > 700000);
	/* Not even on the last track. */
	w.array.baseline = OPT(0);
	w.array.progress_ppm = OPT(990000);
	look_yielding(2);
	assert_true(w.out.share_ppm.known);
	fresh(state);
	w.array.baseline = OPT(0);
	look_yielding(60);
	assert_true(w.out.share_ppm.known);
}

static void a_quiet_array_is_measured_in_little_more_than_a_minute(void **state)
{
	(void)state;
	w.array.baseline = OPT_NONE;
	look(30);
	assert_int_equal(w.out.path, STEER_REST);
	assert_int_equal(w.out.reason, STEER_MEASURING);
	assert_string_equal(w.out.text,
		"what md2 does undisturbed is not known yet; the backups rest "
		"until it is clear what it does without them");
	look(15);
	assert_int_equal(w.out.path, STEER_OPEN);
	assert_int_equal(w.steer.ref.v, 20 * MBS);
}

static void what_never_gets_calm_is_taken_as_it_is_after_ten_minutes(void **state)
{
	int i;

	(void)state;
	w.array.baseline = OPT_NONE;
	for (i = 0; i < 290; i++) {
		w.write = i % 2 ? 500000 : 0;
		look(1);
		assert_int_not_equal(w.out.path, STEER_OPEN);
	}
	w.rate = 0;
	for (i = 0; i < 20 && w.out.path != STEER_OPEN; i++) {
		w.write = i % 2 ? 500000 : 0;
		look(1);
	}
	assert_int_equal(w.out.path, STEER_OPEN);
	assert_true(w.steer.ref.known);
}

/* --- rests and slices --- */

static void rests_are_no_longer_than_the_lever_allows_with_breaths_between(void **state)
{
	int i, breaths = 0;

	(void)state;
	w.in.range.rest_max_ms = 1500; /* shorter than four times its delay */
	w.rate = 10 * MBS;
	for (i = 0; i < 200; i++) {
		enum steer_path was = w.out.path;

		if (i % 4 == 0)
			look_after(500);
		else
			wait(500);
		if (was == STEER_REST && w.out.path == STEER_LIMIT) {
			assert_int_equal(w.out.rate, 524288);
			breaths++;
		}
	}
	assert_true(breaths > 10);
}

static void a_slice_ends_in_time_also_between_two_readings(void **state)
{
	int64_t end;

	(void)state;
	look_yielding(200);
	while (w.out.path != STEER_REST)
		look_yielding(1);
	while (w.out.path == STEER_REST)
		look_yielding(1);
	assert_int_equal(w.out.reason, STEER_SLICE);
	wait(400); /* in force, and it acts */
	assert_true(w.out.again_ms.known);
	end = w.out.again_ms.v;
	assert_true(end > w.in.now_ms + 2000 && end < w.in.now_ms + 30000);
	wait(end - w.in.now_ms - 1);
	assert_int_equal(w.out.path, STEER_OPEN);
	wait(1);
	assert_int_equal(w.out.path, STEER_REST);
	/* And so does the rest, not before a reading has shown what the slice has cost. */
	look_yielding(4);
	end = w.out.again_ms.v;
	assert_true(end > w.in.now_ms);
	wait(end - w.in.now_ms);
	assert_int_equal(w.out.path, STEER_OPEN);
}

static int64_t mean_slice_ms(int64_t comeback_ms)
{
	int i, open = 0, slices = 0;

	fresh(NULL);
	w.in.rule.over_ms = 120000;
	look_yielding(20);
	for (i = 0; i < 2000; i++) {
		enum steer_path was = w.out.path;

		w.steer.comeback_ms = comeback_ms;
		w.rate = w.out.path == STEER_OPEN ? 2 * MBS : 20 * MBS;
		w.write = w.out.path == STEER_OPEN ? 50 * MBS : 0;
		if (i % 4 == 0)
			look_after(500);
		else
			wait(500);
		open += w.out.path == STEER_OPEN;
		slices += w.out.path == STEER_OPEN && was != STEER_OPEN;
	}
	assert_true(slices > 3);
	return open * 500 / slices;
}

static void slices_and_rests_are_long_where_it_is_slow_to_come_back(void **state)
{
	(void)state;
	assert_true(mean_slice_ms(8000) > mean_slice_ms(500) * 5 / 2);
}

static void an_open_path_that_costs_nothing_is_looked_at_anew_now_and_then(void **state)
{
	int i, rests = 0;

	(void)state;
	w.in.rule.over_ms = 10000;
	for (i = 0; i < 600; i++) {
		w.write = w.out.path == STEER_OPEN ? 3 * MBS : 0;
		look(1);
		rests += w.out.path == STEER_REST;
	}
	assert_true(rests > 8);
	assert_true(rests < 60);
	assert_int_equal(w.steer.way, STEER_WAY_NONE); /* no limit was tried: what for */
}

static void values_beyond_reason_do_no_harm(void **state)
{
	static const int64_t values[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
	size_t i;
	int n;

	(void)state;
	for (i = 0; i < 5 * 5; i++) {
		int64_t a = values[i / 5], b = values[i % 5];

		fresh(NULL);
		for (n = 0; n < 100; n++) {
			w.in.range = (struct steer_range){.delay_ms = n % 2 ? a : 500,
				.least_rate = b,
				.rest_max_ms = n % 3 ? b : 15000,
				.top_rate = n % 10 ? 0 : a};
			w.in.rule.protect_ppm = n % 50 ? 800000 : a;
			w.in.rule.over_ms = n % 40 ? 600000 : b;
			w.in.moved = n % 5 ? OPT_NONE : OPT(a);
			w.in.rule.rate = n % 20 ? OPT_NONE : OPT(b);
			w.array.baseline = n % 7 ? OPT(20 * MBS) : OPT(a);
			w.array.progress_ppm = n % 11 ? OPT(500000) : OPT(b);
			w.rate = n % 4 ? 15 * MBS : a;
			w.write = n % 6 ? 8 * MBS : b;
			look(1);
			assert_true(w.out.path >= STEER_FREE && w.out.path <= STEER_REST);
			w.in.blind = n % 30 == 29;
		}
	}
}

static void a_rate_that_is_taken_out_of_the_rule_leaves_the_work_to_it(void **state)
{
	(void)state;
	w.in.rule.rate = OPT(8 * MBS);
	look(3);
	w.in.rule.rate = OPT_NONE;
	look(1);
	assert_int_equal(w.out.path, STEER_REST);
}

static void blind_while_it_waited_it_says_that_nobody_knows(void **state)
{
	(void)state;
	w.array.sync_state = MD_SYNC_DELAYED;
	look(2);
	w.in.blind = true;
	look(1);
	assert_int_equal(w.out.reason, STEER_BLIND);
	assert_non_null(strstr(w.out.text, "nobody knows"));
}

static void a_slice_that_nobody_uses_is_left_alone(void **state)
{
	(void)state;
	look_until(STEER_OPEN);
	w.rate = 2 * MBS;
	w.write = 50 * MBS;
	look(4);
	assert_int_equal(w.out.path, STEER_OPEN);
	/* They stop, and the rebuild does not come back: a rest would help nothing. */
	w.rate = 12 * MBS;
	w.write = 0;
	look(30);
	assert_int_equal(w.out.path, STEER_OPEN);
	assert_int_equal(w.out.reason, STEER_KEEPING);
	/* What they cost is still owed when they write again. */
	w.rate = 2 * MBS;
	w.write = 50 * MBS;
	look(2);
	assert_int_equal(w.out.path, STEER_REST);
}

static void what_caches_take_in_is_neither_calm_nor_anothers_doing(void **state)
{
	int64_t undisturbed;
	int i;

	(void)state;
	w.in.moved = OPT(0);
	look_until(STEER_OPEN);
	look(6);
	undisturbed = w.steer.ref.v;
	/* It comes over the network, which is work, and nothing is written yet. */
	w.in.moved = OPT(30 * MBS);
	w.rate = 12 * MBS;
	for (i = 0; i < 20; i++) {
		look(1);
		assert_int_not_equal(w.out.reason, STEER_NOT_OURS);
	}
	assert_int_equal(w.steer.not_ours_ms, 0);
	assert_int_equal(w.steer.ref.v, undisturbed);
	/* The same drop without anything moving is not theirs. */
	w.in.moved = OPT(0);
	look(2);
	assert_true(w.steer.not_ours_ms > 0);
}

/* So long caches were written out, by a lever that answers after 20 s. */
static int64_t drained_ms(bool answers)
{
	fresh(NULL);
	w.write = 50 * MBS;
	w.rate = 2 * MBS;
	w.stuck = true;
	look(answers ? 10 : 25);
	w.stuck = !answers;
	look(2);
	w.write = 0;
	look(1);
	w.rate = 20 * MBS;
	look(6);
	return w.steer.drain_ms;
}

static void draining_counts_from_when_a_lever_answers(void **state)
{
	(void)state;
	assert_in_range(drained_ms(true), 1, 3000);
	assert_int_equal(drained_ms(false), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_lever_that_never_answers_is_not_waited_for, fresh),
		cmocka_unit_test_setup(a_rest_counts_from_when_it_is_in_force, fresh),
		cmocka_unit_test_setup(a_lever_that_tells_loses_its_grip_within_seconds, fresh),
		cmocka_unit_test_setup(one_that_acts_slowly_is_given_three_times_its_delay, fresh),
		cmocka_unit_test_setup(
			without_a_baseline_a_lever_without_grip_is_told_and_the_path_opens, fresh),
		cmocka_unit_test_setup(with_a_baseline_it_goes_on_by_that, fresh),
		cmocka_unit_test_setup(
			writes_that_begin_while_the_path_is_shut_and_drained_are_anothers, fresh),
		cmocka_unit_test_setup(
			what_has_fallen_far_and_goes_on_is_anothers_after_what_a_cache_may_take,
			fresh),
		cmocka_unit_test_setup(a_lever_that_is_not_set_proves_nobody_else, fresh),
		cmocka_unit_test_setup(what_its_jobs_do_not_move_is_anothers, fresh),
		cmocka_unit_test_setup(readings_in_quick_succession_are_one, fresh),
		cmocka_unit_test_setup(a_window_of_many_minutes_says_nothing, fresh),
		cmocka_unit_test_setup(a_drop_while_nobody_writes_is_not_theirs, fresh),
		cmocka_unit_test_setup(a_baseline_that_goes_or_is_nothing_changes_nothing, fresh),
		cmocka_unit_test_setup(
			a_quiet_array_is_measured_in_little_more_than_a_minute, fresh),
		cmocka_unit_test_setup(
			what_never_gets_calm_is_taken_as_it_is_after_ten_minutes, fresh),
		cmocka_unit_test_setup(
			rests_are_no_longer_than_the_lever_allows_with_breaths_between, fresh),
		cmocka_unit_test_setup(a_slice_ends_in_time_also_between_two_readings, fresh),
		cmocka_unit_test_setup(
			slices_and_rests_are_long_where_it_is_slow_to_come_back, fresh),
		cmocka_unit_test_setup(
			an_open_path_that_costs_nothing_is_looked_at_anew_now_and_then, fresh),
		cmocka_unit_test_setup(values_beyond_reason_do_no_harm, fresh),
		cmocka_unit_test_setup(
			a_rate_that_is_taken_out_of_the_rule_leaves_the_work_to_it, fresh),
		cmocka_unit_test_setup(blind_while_it_waited_it_says_that_nobody_knows, fresh),
		cmocka_unit_test_setup(a_slice_that_nobody_uses_is_left_alone, fresh),
		cmocka_unit_test_setup(
			what_caches_take_in_is_neither_calm_nor_anothers_doing, fresh),
		cmocka_unit_test_setup(draining_counts_from_when_a_lever_answers, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
