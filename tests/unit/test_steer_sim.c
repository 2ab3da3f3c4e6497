// SPDX-License-Identifier: MIT
/* The controller on small models of arrays, writers and levers (tests/sim/steer), for hours of
 * their time. With STEER_TABLE set in the environment the results are printed as a table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../sim/steer/kinds.h"
#include "../sim/steer/plant.h"

#define HOUR 3600.0
#define MINUTE 60.0

static struct run run; /* too large for a stack */

static void assert_least(const char *what, const char *where, double value, double least)
{
	if (value >= least)
		return;
	print_error("%s, %s: %.3f, at least %.3f expected\n", where, what, value, least);
	fail();
}

static void assert_most(const char *what, const char *where, double value, double most)
{
	if (value <= most)
		return;
	print_error("%s, %s: %.3f, at most %.3f expected\n", where, what, value, most);
	fail();
}

static void begin(int kind, int lever)
{
	run_begin(&run, &kinds[kind], &levers[lever].lever, levers[lever].over, 7);
}

static void go_on(double seconds)
{
	run_count_anew(&run);
	run_for(&run, seconds);
}

/* --- every family, by every lever --- */

struct expected {
	double warm_s; /* before it counts */
	double share_least, share_most;
	double worst;   /* in any 10 min */
	double of_best; /* of what the best fixed setting moves */
	double of_steady;
};

static struct expected expected_of(int kind, int lever)
{
	bool minute = levers[lever].over < 600000;
	struct expected e = {5 * MINUTE, 0.77, 0.83, 0.73, 0.8, 0};

	if (kind == S_BUFFERED || kind == S_CACHE)
		e.of_steady = 1.4;
	if (kind == S_SYNC)
		e.of_steady = 4;
	if (kind == S_QD1)
		e.of_steady = 3;
	if (kind == NEVER)
		e.share_most = 1;
	/* The account of a minute cannot wait for a cache as long as the best fixed slices do. */
	if ((kind == S_CACHE || kind == S_BUFFERED) && minute)
		e.of_best = 0.75;
	/* A kernel that stops for any write, and rests of 15 s with breaths: no fixed setting
	 * without longer rests keeps the share at all. By a backup server even a rest is a trickle.
	 */
	if (kind == FULLY && (lever == QMP || lever == QMP_60S))
		e.of_best = 0.3;
	if (kind == FULLY && (lever == PBS || lever == PBS_60S))
		e = (struct expected){5 * MINUTE, 0.6, 0.83, 0.5, 0, 0};
	if (kind == SLOW)
		e = (struct expected){HOUR, 0.75, 0.86, 0.7, 0.7, 0};
	if (minute)
		e.worst = 0.6;
	/* Slices of four times 6 s are long against a minute; a cache that drains for as long, or a
	 * trickle in rests, makes them longer still. */
	if (lever == PBS_60S)
		e.worst = kind == S_CACHE ? 0.2 : kind == FULLY ? 0.35 : 0.5;
	return e;
}

static void check_family(int kind, int lever, struct fixed steady, struct fixed slices)
{
	const struct plant_lever *is = &levers[lever].lever;
	struct expected e = expected_of(kind, lever);
	double best = steady.pace > slices.pace ? steady.pace : slices.pace, hours = 2;
	char where[80];

	snprintf(where, sizeof(where), "%s by %s", kinds[kind].name, levers[lever].name);
	begin(kind, lever);
	run_for(&run, e.warm_s);
	go_on(hours * HOUR);
	if (getenv("STEER_TABLE"))
		printf("%-15s %-13s share %4.1f %% (worst %4.1f) %5.2f MB/s, %.2f of the best "
		       "fixed, %.2f of a steady limit\n",
			kinds[kind].name, levers[lever].name, run_share(&run) * 100,
			run.worst * 100, run_pace(&run), run_pace(&run) / best,
			run_pace(&run) / steady.pace);
	assert_least("share", where, run_share(&run), e.share_least);
	assert_most("share", where, run_share(&run), e.share_most);
	assert_least("worst share", where, run.worst, e.worst);
	assert_least("pace of the best", where, run_pace(&run), e.of_best * best);
	assert_least("pace of a steady limit", where, run_pace(&run), e.of_steady * steady.pace);
	assert_most("changes of a limit in an hour", where, run.changes / hours, 30);
	assert_most(
		"longest rest", where, (double)run.rest_longest_ms, (double)is->range.rest_max_ms);
	assert_least("shortest rest", where, (double)run.rest_least_ms,
		4.0 * (double)is->range.delay_ms);
	assert_least("shortest slice", where, (double)run.open_least_ms,
		4.0 * (double)is->range.delay_ms);
	assert_false(run.no_grip);
}

static void keeps_the_share_and_moves_what_that_leaves(void **state)
{
	int kind, lever;

	(void)state;
	for (kind = 0; kind < N_KINDS; kind++) {
		struct fixed steady = fixed_best_steady(&kinds[kind], 0.8);
		struct fixed slices = fixed_best_slices(&kinds[kind], 0.8, 2);

		for (lever = 0; lever < N_LEVERS; lever++)
			check_family(kind, lever, steady, slices);
	}
}

static uint32_t draw; /* so that it is the same each time */

static int64_t draw_within(int64_t least, int64_t most)
{
	draw = draw * 1664525u + 1013904223u;
	return least + (int64_t)(draw >> 8) % (most - least + 1);
}

/* A backup server that takes a change sooner or later: told is the longest of the last five. */
static void keeps_the_share_by_a_lever_whose_delay_changes(void **state)
{
	static const int64_t overs[] = {60000, 600000};
	static const int is[] = {B_QD1, B_BUFFERED, S_SYNC, S_BUFFERED};
	struct plant_lever lever = levers[PBS].lever;
	int64_t delays[5] = {300, 300, 300, 300, 300};
	int i, k, minute;

	(void)state;
	draw = 12345;
	for (i = 0; i < 8; i++) {
		run_begin(&run, &kinds[is[i / 2]], &lever, overs[i % 2], 7);
		run_for(&run, 2);
		for (minute = 0; minute < 130; minute++) {
			delays[minute % 5] = draw_within(300, 8000);
			lever.acts_ms = delays[minute % 5];
			lever.answers_ms = lever.acts_ms * 2 / 3;
			run.in.range.delay_ms = 300;
			for (k = 0; k < 5; k++)
				if (delays[k] > run.in.range.delay_ms)
					run.in.range.delay_ms = delays[k];
			if (minute == 10)
				run_count_anew(&run);
			run_for(&run, MINUTE);
		}
		assert_least("share", run.plant.kind->name, run_share(&run), 0.77);
		assert_most("share", run.plant.kind->name, run_share(&run), 0.83);
		assert_least("worst share", run.plant.kind->name, run.worst,
			overs[i % 2] == 60000 ? 0.35 : 0.73);
		assert_false(run.no_grip);
	}
}

static void chooses_slices_where_disks_seek_and_a_limit_where_return_is_slow(void **state)
{
	(void)state;
	begin(S_SYNC, FLEECED);
	run_for(&run, HOUR);
	assert_int_equal(run.steer.way, STEER_SLICES);
	begin(SLOW, FLEECED);
	run_for(&run, HOUR);
	assert_int_equal(run.steer.way, STEER_STEADY);
}

static void never_hunts(void **state)
{
	struct plant_lever lever = levers[QMP].lever;
	int64_t low = INT64_MAX, high = 0;
	int i;

	(void)state;
	lever.range.rest_max_ms = 0; /* nothing but a limit */
	run_begin(&run, &kinds[B_QD1], &lever, 600000, 7);
	run_for(&run, HOUR);
	run_count_anew(&run);
	for (i = 0; i < 360; i++) {
		run_for(&run, 10);
		if (run.out.reason == STEER_MEASURING)
			continue;
		low = run.out.rate < low ? run.out.rate : low;
		high = run.out.rate > high ? run.out.rate : high;
	}
	assert_int_equal(run.out.path, STEER_LIMIT);
	assert_most("changes in an hour", "no rests", run.changes, 12);
	assert_most("band of the limit", "no rests", (double)high / (double)low, 1.3);
	assert_least("share", "no rests", run_share(&run), 0.77);
	assert_most("share", "no rests", run_share(&run), 0.83);
}

static void follows_disks_to_their_inner_tracks(void **state)
{
	(void)state;
	begin(S_BUFFERED, FLEECED);
	run.plant.total_mb = 17.5 * HOUR * 2.5; /* 3.3 hours, at half the pace in the end */
	run_for(&run, 20 * MINUTE);
	go_on(2.2 * HOUR);
	assert_least("share", "inner tracks", run_share(&run), 0.77);
	assert_most("share", "inner tracks", run_share(&run), 0.83);
	assert_least("pace", "inner tracks", run_pace(&run), 11);
}

static void squeezes_nobody_for_a_drop_that_is_not_theirs(void **state)
{
	/* Something that nobody sees takes 40 % for an hour. */
	const struct plant_event event = {.from_s = HOUR, .span_s = HOUR, .environment = 0.6};
	int lever;

	(void)state;
	for (lever = QMP; lever <= PBS; lever++) {
		double before;

		begin(S_BUFFERED, lever);
		run.plant.events = &event;
		run.plant.n_events = 1;
		run_for(&run, 10 * MINUTE);
		go_on(50 * MINUTE);
		before = run_pace(&run);
		go_on(HOUR);
		assert_least("pace", "another cause", run_pace(&run), 0.9 * before);
		assert_least("share", "another cause", run_share(&run), 0.77);
		assert_true(run.reasons[STEER_NOT_OURS] > 0);
		go_on(HOUR); /* and when it is over, the share is what it was */
		assert_least("share", "after another cause", run_share(&run), 0.77);
		assert_least("worst share", "after another cause", run.worst, 0.73);
	}
}

static void squeezes_nobody_for_another_client(void **state)
{
	const struct plant_event event = {.from_s = HOUR, .span_s = HOUR, .foreign = 10};
	int lever;

	(void)state;
	for (lever = QMP; lever <= PBS; lever++) {
		double before;

		begin(S_BUFFERED, lever);
		run.plant.events = &event;
		run.plant.n_events = 1;
		run.in.only_ours = lever != PBS;
		run_for(&run, 10 * MINUTE);
		go_on(50 * MINUTE);
		before = run_pace(&run);
		go_on(HOUR);
		assert_least("pace", "another client", run_pace(&run), 0.8 * before);
		/* But what the backups cost beside it is theirs. */
		assert_least("share", "another client", run_share(&run), 0.77);
		assert_false(run.no_grip);
		go_on(HOUR);
		assert_least("share", "after another client", run_share(&run), 0.77);
	}
}

static void a_limit_is_not_squeezed_for_a_drop_that_is_not_theirs(void **state)
{
	const struct plant_event event = {.from_s = 2 * HOUR, .span_s = HOUR, .environment = 0.6};
	double before;

	(void)state;
	begin(SLOW, FLEECED);
	run.plant.events = &event;
	run.plant.n_events = 1;
	run_for(&run, HOUR);
	go_on(HOUR);
	assert_int_equal(run.steer.way, STEER_STEADY);
	before = run_pace(&run);
	run_for(&run, 20 * MINUTE); /* a rest that finds out */
	go_on(40 * MINUTE);
	assert_least("pace", "another cause", run_pace(&run), 0.6 * before);
}

static void says_that_a_lever_does_not_hold(void **state)
{
	int lever;

	(void)state;
	for (lever = QMP; lever <= PBS; lever++) {
		struct plant_lever dead = levers[lever].lever;

		dead.dead = true;
		run_begin(&run, &kinds[B_BUFFERED], &dead, 600000, 7);
		/* At once where the lever tells what is moved; else after what a cache may take. */
		run_for(&run, dead.tells ? 45 : 150);
		assert_true(run.out.no_grip);
		assert_int_equal(run.out.reason, STEER_NO_GRIP);
		/* A lever that holds is found, and the share is kept. */
		run.plant.lever = &levers[lever].lever;
		run_for(&run, 20 * MINUTE);
		assert_false(run.out.no_grip);
		go_on(HOUR);
		assert_least("share", "a lever that holds again", run_share(&run), 0.77);
	}
}

static void a_full_cache_is_no_lever_without_grip(void **state)
{
	(void)state;
	begin(S_CACHE, PBS); /* told what is moved */
	run_for(&run, HOUR);
	assert_false(run.no_grip);
	begin(S_CACHE, FLEECED); /* not told */
	run_for(&run, HOUR);
	assert_false(run.no_grip);
	assert_true(run.reasons[STEER_DRAINING] > 0);
}

static void opens_when_blind_and_closes_when_it_sees(void **state)
{
	const struct plant_event event = {.from_s = HOUR, .span_s = 10 * MINUTE, .blind = true};
	int lever;

	(void)state;
	for (lever = QMP; lever <= PBS; lever++) {
		int i;

		begin(S_BUFFERED, lever);
		run.plant.events = &event;
		run.plant.n_events = 1;
		run_for(&run, HOUR - 2);
		run_count_anew(&run);
		for (i = 0; i < 70; i++) {
			enum steer_path was = run.out.path;
			int64_t rate = run.out.rate;

			run_for(&run, 1);
			if (run.out.reason != STEER_BLIND)
				continue;
			assert_false(was == STEER_OPEN && run.out.path != STEER_OPEN);
			assert_false(was == STEER_LIMIT && run.out.path == STEER_REST);
			assert_false(was == STEER_LIMIT && run.out.path == STEER_LIMIT &&
				run.out.rate < rate);
		}
		assert_int_equal(run.out.path, STEER_OPEN);
		run_for(&run, 9 * MINUTE);
		go_on(HOUR);
		assert_least("share", "after blindness", run_share(&run), 0.77);
	}
}

static void a_light_writer_is_left_alone(void **state)
{
	struct plant_kind light = kinds[S_BUFFERED];

	(void)state;
	light.source = 2;
	run_begin(&run, &light, &levers[FLEECED].lever, 600000, 7);
	run_for(&run, 20 * MINUTE);
	go_on(HOUR);
	assert_least("pace", "a light writer", run_pace(&run), 1.9);
	assert_int_equal(run.out.path, STEER_OPEN);
	assert_int_equal(run.out.reason, STEER_KEEPING);
}

static void keeps_the_share_when_the_writer_changes(void **state)
{
	(void)state;
	begin(S_BUFFERED, FLEECED);
	run_for(&run, HOUR);
	run.plant.kind = &kinds[S_SYNC];
	go_on(HOUR);
	assert_least("share", "now synchronous", run_share(&run), 0.77);
	assert_least("pace", "now synchronous", run_pace(&run), 4 * 0.96);
	run.plant.kind = &kinds[B_QD1];
	go_on(HOUR);
	assert_least("share", "now without seeks", run_share(&run), 0.77);
	assert_least("pace", "now without seeks", run_pace(&run), 0.7 * 7.5);
}

static void acts_within_two_readings_of_a_beginning(void **state)
{
	int lever;

	(void)state;
	for (lever = QMP; lever <= PBS; lever++) {
		begin(B_BUFFERED, lever);
		run_for(&run, 2.1);
		assert_int_equal(run.out.path, STEER_REST);
	}
}

static void opens_step_by_step_at_the_end(void **state)
{
	int64_t last = 0;
	int i, steps = 0;

	(void)state;
	begin(S_BUFFERED, FLEECED);
	run_for(&run, HOUR);
	while (run.out.path != STEER_REST)
		run_for(&run, 1);
	run.in.protects = false;
	for (i = 0; i < 40 && run.out.path != STEER_FREE; i++) {
		run_for(&run, 1);
		if (run.out.path != STEER_LIMIT || run.out.rate == last)
			continue;
		assert_true(run.out.rate > last);
		assert_int_equal(run.out.reason, STEER_OPENING);
		last = run.out.rate;
		steps++;
	}
	assert_int_equal(steps, 3);
	assert_int_equal(run.out.path, STEER_FREE);
	assert_int_equal(run.out.reason, STEER_NOTHING_TO_PROTECT);
	/* It fails again: what was learned still counts. */
	run.in.protects = true;
	run_for(&run, 6);
	assert_int_equal(run.out.path, STEER_REST);
	go_on(HOUR);
	assert_least("share", "the second time", run_share(&run), 0.77);
	assert_least("pace", "the second time", run_pace(&run), 0.8 * 12.5);
}

static void does_without_what_clients_write(void **state)
{
	(void)state;
	begin(S_SYNC, FLEECED);
	run.blind_to_clients = true;
	run_for(&run, 10 * MINUTE);
	go_on(HOUR);
	assert_least("share", "clients unseen", run_share(&run), 0.77);
	assert_least("pace", "clients unseen", run_pace(&run), 0.7 * 6);
	assert_false(run.out.pace.known);
	/* A lever tells what its jobs move. */
	begin(S_SYNC, PBS);
	run.blind_to_clients = true;
	run_for(&run, 10 * MINUTE);
	go_on(HOUR);
	assert_least("share", "clients unseen", run_share(&run), 0.77);
	assert_least("pace", "clients unseen", run_pace(&run), 0.7 * 6);
	assert_true(run.out.pace.known);
}

static void the_same_again_is_the_same(void **state)
{
	static struct steer first;

	(void)state;
	begin(S_CACHE, PBS);
	run_for(&run, HOUR);
	first = run.steer;
	begin(S_CACHE, PBS);
	run_for(&run, HOUR);
	assert_memory_equal(&first, &run.steer, sizeof(first));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_the_share_and_moves_what_that_leaves),
		cmocka_unit_test(keeps_the_share_by_a_lever_whose_delay_changes),
		cmocka_unit_test(chooses_slices_where_disks_seek_and_a_limit_where_return_is_slow),
		cmocka_unit_test(never_hunts),
		cmocka_unit_test(follows_disks_to_their_inner_tracks),
		cmocka_unit_test(squeezes_nobody_for_a_drop_that_is_not_theirs),
		cmocka_unit_test(squeezes_nobody_for_another_client),
		cmocka_unit_test(a_limit_is_not_squeezed_for_a_drop_that_is_not_theirs),
		cmocka_unit_test(says_that_a_lever_does_not_hold),
		cmocka_unit_test(a_full_cache_is_no_lever_without_grip),
		cmocka_unit_test(opens_when_blind_and_closes_when_it_sees),
		cmocka_unit_test(a_light_writer_is_left_alone),
		cmocka_unit_test(keeps_the_share_when_the_writer_changes),
		cmocka_unit_test(acts_within_two_readings_of_a_beginning),
		cmocka_unit_test(opens_step_by_step_at_the_end),
		cmocka_unit_test(does_without_what_clients_write),
		cmocka_unit_test(the_same_again_is_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
