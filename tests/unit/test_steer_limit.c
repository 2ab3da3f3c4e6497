// SPDX-License-Identifier: MIT
/* The controller, reading by reading: the steady limit, and when the other way is tried. */
#include "steer_world.h"

/* --- the limit --- */

/* What was learned before: a limit of 8 MB/s is right. */
static void steady(int64_t limit)
{
	w.steer.operation = MD_OP_RECOVERY;
	w.steer.way = STEER_STEADY;
	w.steer.limit = limit;
	w.steer.recheck_ms = INT64_MAX;
	w.steer.recheck_span_ms = 3600000;
}

/* Of a rebuild that loses 2.5 points for each MB/s. */
static void look_proportional(int n, int64_t loss_ppm)
{
	while (n--) {
		w.write = w.out.path == STEER_LIMIT ? w.out.rate : 0;
		if (w.out.path == STEER_OPEN)
			w.write = 30 * MBS;
		w.rate = 20 * MBS - w.write * loss_ppm / 50000;
		if (w.rate < 0)
			w.rate = 0;
		look(1);
	}
}

static void a_limit_that_is_right_stays(void **state)
{
	(void)state;
	steady(8 * MBS);
	look_proportional(300, 25000);
	assert_int_equal(w.out.path, STEER_LIMIT);
	assert_int_equal(w.out.rate, 8 * MBS);
	assert_int_equal(w.out.reason, STEER_KEEPING);
	assert_int_equal(w.out.way, STEER_STEADY);
	assert_int_equal(w.out.share_ppm.v, 800000);
	assert_memory_equal(w.out.text, "md2 kept 80.0 % of its pace over 9min ", 38);
	assert_string_equal(strchr(w.out.text, ';'), "; the backups get 8.0 MB/s");
}

static void a_limit_with_room_grows_and_one_too_high_falls(void **state)
{
	(void)state;
	steady(2 * MBS);
	look_proportional(40, 25000);
	assert_int_equal(w.out.reason, STEER_GIVING);
	look_proportional(300, 25000);
	assert_true(w.out.rate > 7 * MBS && w.out.rate < 10 * MBS);
	fresh(state);
	steady(20 * MBS);
	look_proportional(40, 25000);
	assert_int_equal(w.out.reason, STEER_SQUEEZE);
	assert_string_equal(w.out.text + strlen(w.out.text) - 7, "10 MB/s");
	look_proportional(300, 25000);
	assert_true(w.out.rate > 6 * MBS && w.out.rate < 9 * MBS);
}

static void between_good_and_too_much_it_halves_the_way(void **state)
{
	(void)state;
	steady(8 * MBS);
	/* A cliff: nothing up to 10 MB/s, then all. */
	look_proportional(35, 2000);
	assert_int_equal(w.out.rate, 16 * MBS);
	while (w.out.rate == 16 * MBS)
		look_proportional(1, 60000);
	assert_int_equal(w.out.rate, 12 * MBS);
	while (w.out.rate == 12 * MBS)
		look_proportional(1, 11000);
	assert_int_equal(w.out.rate, 14 * MBS);
}

static void a_little_room_gives_a_little(void **state)
{
	(void)state;
	steady(8 * MBS);
	look_proportional(35, 2000);
	while (w.out.rate == 16 * MBS)
		look_proportional(1, 60000);
	assert_int_equal(w.out.rate, 12 * MBS);
	while (w.out.rate == 12 * MBS)
		look_proportional(1, 12250);
	assert_true(w.out.rate > 12 * MBS && w.out.rate < 14 * MBS);
}

/* Any write beyond the least stops it. Returns the lowest limit. */
static int64_t look_stopping(int n, int64_t least)
{
	int64_t lowest = INT64_MAX;

	while (n--) {
		bool written = w.out.path != STEER_LIMIT || w.out.rate > least;

		w.write = written ? w.out.rate : least;
		w.rate = written ? 2 * MBS : 16 * MBS;
		look(1);
		if (w.out.path == STEER_LIMIT && w.out.rate < lowest)
			lowest = w.out.rate;
	}
	return lowest;
}

static void a_limit_falls_to_the_least_and_no_further(void **state)
{
	(void)state;
	steady(8 * MBS);
	w.in.range.rest_max_ms = 0;
	assert_int_equal(look_stopping(600, 131072), 131072);
	assert_int_equal(w.out.path, STEER_LIMIT);
	assert_true(w.out.rate < 400000);
	fresh(state);
	steady(8 * MBS);
	w.in.range.rest_max_ms = 0;
	w.in.range.least_rate = MBS;
	assert_int_equal(look_stopping(600, MBS), MBS);
}

static void a_limit_that_cannot_be_lower_and_does_not_help_is_given_up(void **state)
{
	(void)state;
	steady(8 * MBS);
	w.in.range.rest_max_ms = 0;
	w.rate = 2 * MBS;   /* whatever they do, */
	w.write = 40 * MBS; /* and whatever the levers are set to */
	look(300);
	assert_int_equal(w.out.path, STEER_LIMIT);
	look(900);
	assert_true(w.out.no_grip);
	assert_int_equal(w.out.reason, STEER_NO_GRIP);
	assert_true(w.out.path == STEER_OPEN || w.out.rate > 4 * MBS);
	assert_true(w.out.share_ppm.v < 110000); /* of what it did before */
	w.in.array = NULL;
	wait(2000);
	assert_int_equal(w.out.reason, STEER_BLIND);
	w.in.array = &w.array;
	w.in.jobs = 0; /* who comes next is not held to it */
	look(1);
	assert_false(w.out.no_grip);
	assert_int_equal(w.out.reason, STEER_NO_JOB);
}

static void a_limit_above_what_is_written_is_none(void **state)
{
	(void)state;
	steady(8 * MBS);
	w.write = 5 * MBS;
	w.rate = 19 * MBS;
	w.steer.full_write = 0;
	look(100);
	assert_int_equal(w.out.path, STEER_OPEN);
	look(100);
	assert_int_equal(w.out.path, STEER_OPEN);
	/* Too much after all: from what was written. */
	w.rate = 12 * MBS;
	w.write = 10 * MBS;
	look_until(STEER_REST); /* is it theirs? */
	assert_int_equal(w.out.reason, STEER_MEASURING);
	w.rate = 20 * MBS;
	w.write = 0;
	look_until(STEER_LIMIT);
	assert_true(w.out.rate >= 4 * MBS && w.out.rate < 10 * MBS);
}

static void an_open_path_of_which_nobody_tells_the_pace_is_limited_by_the_last_limit(void **state)
{
	int i;

	(void)state;
	steady(8 * MBS);
	w.in.range.top_rate = 8 * MBS;
	w.in.range.rest_max_ms = 0;
	w.rate = 10 * MBS;
	for (i = 0; i < 40 && w.out.path != STEER_LIMIT; i++) {
		w.array.rate = OPT(w.rate);
		w.array.client_write = OPT_NONE;
		w.in.fresh = true;
		w.in.read_at_ms = w.in.now_ms + 2000;
		wait(2000);
	}
	assert_int_equal(w.out.path, STEER_LIMIT);
	assert_int_equal(w.out.rate, 4 * MBS);
	/* And it grows again, unseen. */
	w.rate = 20 * MBS;
	for (i = 0; i < 60 && w.out.path == STEER_LIMIT; i++) {
		w.in.fresh = true;
		w.array.rate = OPT(w.rate);
		w.in.read_at_ms = w.in.now_ms + 2000;
		wait(2000);
	}
	assert_int_equal(w.out.path, STEER_OPEN);
}

static void a_limit_that_nobody_is_seen_to_need_is_none_in_the_end(void **state)
{
	int i;

	(void)state;
	steady(8 * MBS);
	for (i = 0; i < 1000 && w.out.path != STEER_OPEN; i++) {
		w.array.rate = OPT(w.rate);
		w.array.client_write = OPT_NONE;
		w.in.fresh = true;
		w.in.read_at_ms = w.in.now_ms + 2000;
		wait(2000);
	}
	assert_int_equal(w.out.path, STEER_OPEN);
	assert_int_equal(w.out.reason, STEER_GIVING);
}

static void a_writer_that_uses_half_of_it_gets_no_more(void **state)
{
	(void)state;
	steady(8 * MBS);
	w.write = 50 * MBS;
	look(1);
	w.write = 3 * MBS;
	w.rate = 19 * MBS;
	look(200);
	assert_int_equal(w.out.rate, 8 * MBS);
	assert_int_equal(w.out.reason, STEER_KEEPING);
}

static void a_drop_under_a_limit_is_looked_into_first(void **state)
{
	int i;

	(void)state;
	steady(8 * MBS);
	look_proportional(60, 25000);
	/* Theirs: in the rest it is back. */
	for (i = 0; i < 90 && w.out.path == STEER_LIMIT; i++)
		look_proportional(1, 60000);
	assert_int_equal(w.out.path, STEER_REST);
	assert_int_equal(w.out.reason, STEER_MEASURING);
	while (w.out.path == STEER_REST)
		look_proportional(1, 60000);
	assert_int_equal(w.out.reason, STEER_SQUEEZE);
	assert_true(w.out.rate >= 4 * MBS && w.out.rate < 7 * MBS);
	/* Not theirs: half the pace whatever they do. */
	fresh(state);
	steady(8 * MBS);
	look_proportional(60, 25000);
	w.rate = 8 * MBS;
	w.write = 8 * MBS;
	look_until(STEER_REST);
	w.write = 0;
	look_until(STEER_LIMIT);
	assert_int_equal(w.out.reason, STEER_NOT_OURS);
	assert_int_equal(w.out.rate, 8 * MBS);
	assert_int_equal(w.steer.ref.v, 8 * MBS);
}

static void within_the_time_averaged_over_it_looks_into_it_once(void **state)
{
	(void)state;
	steady(8 * MBS);
	look_proportional(60, 25000);
	w.steer.probe_ms = w.in.now_ms;
	look_proportional(70, 60000);
	assert_int_equal(w.out.reason, STEER_SQUEEZE);
	assert_int_equal(w.out.path, STEER_LIMIT);
}

static void a_limit_that_does_not_hold_is_told(void **state)
{
	(void)state;
	steady(8 * MBS);
	w.rate = 16 * MBS;
	w.write = 20 * MBS;
	look(60);
	assert_true(w.out.no_grip);
	assert_int_equal(w.out.reason, STEER_NO_GRIP);
	assert_int_equal(w.out.path, STEER_LIMIT);
}

static void a_limit_that_others_exceed_holds(void **state)
{
	(void)state;
	steady(8 * MBS);
	w.write = 50 * MBS; /* as long as nothing was limited */
	look(1);
	w.rate = 16 * MBS;
	w.write = 20 * MBS;
	look(60);
	assert_false(w.out.no_grip);
}

static void a_drop_while_nobody_uses_the_limit_is_not_theirs(void **state)
{
	(void)state;
	steady(8 * MBS);
	w.write = 0;
	look(20);
	w.rate = 10 * MBS;
	look(3);
	assert_int_equal(w.out.reason, STEER_NOT_OURS);
	assert_string_equal(strstr(w.out.text, "; "),
		"; it is slow now, and not by these backups; they get 0 B/s");
	w.rate = 20 * MBS;
	look(10);
	assert_int_not_equal(w.out.reason, STEER_NOT_OURS);
}

static void a_long_average_is_judged_by_the_minute(void **state)
{
	(void)state;
	steady(8 * MBS);
	w.in.rule.over_ms = 3600000;
	look_proportional(2, 25000);
	assert_int_equal(w.steer.judge_ms, 60000);
	fresh(state);
	steady(8 * MBS);
	w.in.rule.over_ms = 60000;
	look_proportional(2, 25000);
	assert_int_equal(w.steer.judge_ms, 20000);
}

static void without_rests_the_first_limit_is_a_guess_by_what_is_written(void **state)
{
	(void)state;
	w.in.range.rest_max_ms = 0;
	w.write = 64 * MBS;
	look(1);
	assert_int_equal(w.out.path, STEER_LIMIT);
	assert_int_equal(w.out.rate, 131072);
	w.write = 0;
	look(6);
	assert_int_equal(w.out.rate, 4 * MBS);
	fresh(state);
	w.in.range.rest_max_ms = 0;
	look(6);
	assert_int_equal(w.out.rate, 1048576);
	fresh(state);
	w.in.range.rest_max_ms = 0;
	w.in.range.least_rate = 2 * MBS;
	look(1);
	assert_int_equal(w.out.rate, 2 * MBS);
}

/* --- the other way --- */

static void now_and_then_slices_are_tried_again(void **state)
{
	int i, trying = 0;

	(void)state;
	steady(8 * MBS);
	look_proportional(40, 25000);
	w.steer.recheck_ms = w.in.now_ms;
	for (i = 0; i < 600; i++) {
		look_proportional(1, 25000);
		trying += w.out.reason == STEER_TRYING;
	}
	assert_true(trying > 10);
	assert_true(w.steer.recheck_ms > w.in.now_ms);
	assert_false(w.steer.trial);
}

static void slices_that_move_more_take_over(void **state)
{
	int i;

	(void)state;
	steady(2 * MBS);
	/* The same loss at 2 MB/s as at 50. */
	for (i = 0; i < 400; i++) {
		w.write = w.out.path == STEER_OPEN  ? 50 * MBS
			: w.out.path == STEER_LIMIT ? w.out.rate
						    : 0;
		w.rate = w.out.path == STEER_OPEN ? 4 * MBS : w.write > MBS ? 16 * MBS : 20 * MBS;
		if (i == 60)
			w.steer.recheck_ms = w.in.now_ms;
		look(1);
	}
	assert_int_equal(w.steer.way, STEER_SLICES);
	assert_int_equal(w.out.way, STEER_SLICES);
}

static void a_limit_that_fails_clearly_gives_way_to_slices_that_were_better(void **state)
{
	(void)state;
	steady(8 * MBS);
	w.steer.slices = (struct steer_sum){.ms = 600000,
		.kept = INT64_C(480000000000),
		.moved = 6000 * MBS,
		.moved_ms = 600000};
	look_proportional(30, 60000);
	while (w.out.path == STEER_LIMIT)
		look_proportional(1, 60000);
	assert_int_equal(w.out.path, STEER_REST);
	assert_int_equal(w.out.reason, STEER_TRYING);
	assert_true(w.steer.trial);
}

static void where_a_rebuild_is_slow_to_come_back_only_its_pace_is_measured_anew(void **state)
{
	(void)state;
	steady(8 * MBS);
	look_proportional(40, 25000);
	w.steer.recheck_ms = w.in.now_ms;
	w.steer.comeback_ms = 300000;
	while (w.out.path == STEER_LIMIT)
		look_proportional(1, 25000);
	assert_int_equal(w.out.reason, STEER_MEASURING);
	look_proportional(30, 25000); /* long after it is back */
	assert_int_equal(w.out.path, STEER_REST);
	while (w.out.path == STEER_REST)
		look_proportional(1, 25000);
	assert_int_equal(w.out.path, STEER_LIMIT);
	assert_int_equal(w.out.rate, 8 * MBS);
	assert_int_equal(w.steer.way, STEER_STEADY);
}

static void what_was_learned_outlives_a_pause_of_the_jobs(void **state)
{
	(void)state;
	steady(8 * MBS);
	look_proportional(60, 25000);
	w.in.jobs = 0;
	look(10);
	w.in.jobs = 1;
	look_proportional(1, 25000);
	assert_int_equal(w.out.path, STEER_LIMIT);
	assert_int_equal(w.out.rate, 8 * MBS);
	/* But not another operation, nor to be forgotten. */
	w.array.operation = MD_OP_RESYNC;
	look(1);
	assert_int_equal(w.out.path, STEER_REST);
	steer_forget(&w.steer);
	assert_int_equal(w.steer.operation, 0);
	assert_false(w.steer.ref.known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_limit_that_is_right_stays, fresh),
		cmocka_unit_test_setup(a_limit_with_room_grows_and_one_too_high_falls, fresh),
		cmocka_unit_test_setup(between_good_and_too_much_it_halves_the_way, fresh),
		cmocka_unit_test_setup(a_little_room_gives_a_little, fresh),
		cmocka_unit_test_setup(a_limit_falls_to_the_least_and_no_further, fresh),
		cmocka_unit_test_setup(
			a_limit_that_cannot_be_lower_and_does_not_help_is_given_up, fresh),
		cmocka_unit_test_setup(a_limit_above_what_is_written_is_none, fresh),
		cmocka_unit_test_setup(
			an_open_path_of_which_nobody_tells_the_pace_is_limited_by_the_last_limit,
			fresh),
		cmocka_unit_test_setup(
			a_limit_that_nobody_is_seen_to_need_is_none_in_the_end, fresh),
		cmocka_unit_test_setup(a_writer_that_uses_half_of_it_gets_no_more, fresh),
		cmocka_unit_test_setup(a_drop_under_a_limit_is_looked_into_first, fresh),
		cmocka_unit_test_setup(within_the_time_averaged_over_it_looks_into_it_once, fresh),
		cmocka_unit_test_setup(a_limit_that_does_not_hold_is_told, fresh),
		cmocka_unit_test_setup(a_limit_that_others_exceed_holds, fresh),
		cmocka_unit_test_setup(a_drop_while_nobody_uses_the_limit_is_not_theirs, fresh),
		cmocka_unit_test_setup(a_long_average_is_judged_by_the_minute, fresh),
		cmocka_unit_test_setup(
			without_rests_the_first_limit_is_a_guess_by_what_is_written, fresh),
		cmocka_unit_test_setup(now_and_then_slices_are_tried_again, fresh),
		cmocka_unit_test_setup(slices_that_move_more_take_over, fresh),
		cmocka_unit_test_setup(
			a_limit_that_fails_clearly_gives_way_to_slices_that_were_better, fresh),
		cmocka_unit_test_setup(
			where_a_rebuild_is_slow_to_come_back_only_its_pace_is_measured_anew, fresh),
		cmocka_unit_test_setup(what_was_learned_outlives_a_pause_of_the_jobs, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
