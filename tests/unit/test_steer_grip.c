// SPDX-License-Identifier: MIT
/* Who writes past the levers: those whom they hold are not squeezed for it, in simulation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../sim/steer/kinds.h"
#include "../sim/steer/plant.h"

#define HOUR 3600.0
#define MINUTE 60.0

static struct run run; /* too large for a stack */
static struct plant_kind kind;
static struct plant_lever lever;
static struct plant_event past;

/* A writer that obeys, with a fifth of what the disks can do, beside one that no lever holds, with
 * four fifths: for two hours from `from_s` on. */
static void begin(int is, int by, bool rests, double from_s)
{
	double full;

	kind = kinds[is];
	lever = levers[by].lever;
	full = kind_full(&kind);
	kind.source = 0.2 * full;
	lever.tells = false;
	if (!rests)
		lever.range.rest_max_ms = 0;
	past = (struct plant_event){.from_s = from_s, .span_s = 2 * HOUR, .foreign = 0.8 * full};
	run_begin(&run, &kind, &lever, 600000, 7);
	run.plant.events = &past;
	run.plant.n_events = 1;
}

static void go_on(double seconds)
{
	run_count_anew(&run);
	run_for(&run, seconds);
}

static void assert_least(const char *what, double value, double least)
{
	if (value >= least)
		return;
	print_error("%s, %s: %.3f, at least %.3f expected\n", kind.name, what, value, least);
	fail();
}

/* A kernel that stops the rebuild for any write: closing the path brings nothing back. */
static void what_costs_the_rebuild_nothing_more_is_let_through(void **state)
{
	int by;

	(void)state;
	for (by = QMP; by <= PBS; by++) {
		begin(FULLY, by, true, HOUR);
		run_for(&run, HOUR + 30 * MINUTE);
		go_on(HOUR);
		assert_least("pace", run_pace(&run), 0.8 * kind.source);
		assert_true(run.out.no_grip);
		assert_int_equal(run.out.reason, STEER_NO_GRIP);
		assert_non_null(strstr(run.out.text, "however closed the path is"));
		/* What is told is the truth. */
		assert_in_range(run.out.share_ppm.v, 0, 100000);
	}
}

/* One that yields gradually: what they cost beside the other is theirs, and no more. */
static void what_they_cost_beside_it_is_limited(void **state)
{
	static const int is[] = {B_BUFFERED, S_BUFFERED, SLOW};
	size_t i;
	int rests;

	(void)state;
	for (i = 0; i < 3; i++) {
		for (rests = 0; rests < 2; rests++) {
			begin(is[i], FLEECED, rests, HOUR);
			run_for(&run, 2 * HOUR);
			go_on(HOUR);
			assert_least("pace", run_pace(&run), 0.2 * kind.source);
			assert_least("share", run_share(&run), 0.7);
			assert_true(run.out.no_grip);
		}
	}
}

static void when_it_has_stopped_the_whole_pace_is_protected_again(void **state)
{
	static const int is[] = {B_BUFFERED, S_BUFFERED, S_SYNC};
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		begin(is[i], FLEECED, true, HOUR);
		run_for(&run, 3 * HOUR + 30 * MINUTE);
		go_on(HOUR);
		assert_least("share", run_share(&run), 0.77);
		assert_int_equal(run.out.no_grip, false);
		assert_least("undisturbed", (double)run.steer.ref.v / MB, 0.9 * kind.pace);
	}
}

/* It wrote from the beginning on: what the rebuild does without it is found out in the end. */
static void the_same_where_nothing_was_known_before(void **state)
{
	(void)state;
	begin(FULLY, FLEECED, true, 0);
	run_for(&run, HOUR);
	assert_true(run.out.no_grip);
	assert_false(run.out.share_ppm.known);
	run_for(&run, HOUR + 30 * MINUTE);
	go_on(HOUR);
	assert_least("share", run_share(&run), 0.77);
	assert_false(run.out.no_grip);
}

/* Off and on, each half a minute. */
static void who_writes_past_them_now_and_then_does_not_shut_them_out(void **state)
{
	static const int is[] = {FULLY, B_BUFFERED, S_BUFFERED};
	size_t i;
	int n;

	(void)state;
	for (i = 0; i < 3; i++) {
		begin(is[i], FLEECED, true, 0);
		for (n = 0; n < 240; n++) {
			past.span_s = n % 2 ? 0 : 10 * HOUR;
			if (n == 60)
				run_count_anew(&run);
			run_for(&run, 30);
		}
		run.moved_mb = run.plant.flowed_mb;
		run.seconds = 2 * HOUR;
		assert_least("pace", run_pace(&run), 0.1 * kind.source);
		assert_least("share", run_share(&run), 0.7);
	}
}

static void it_does_not_hunt(void **state)
{
	(void)state;
	begin(B_BUFFERED, FLEECED, false, HOUR);
	run_for(&run, 2 * HOUR);
	go_on(HOUR);
	assert_in_range(run.changes, 0, 30);
}

/* A lever that holds nothing for an hour, and then does. */
static void a_lever_that_holds_again_is_found(void **state)
{
	struct plant_lever dead;
	int by;

	(void)state;
	for (by = QMP; by <= PBS; by++) {
		begin(B_BUFFERED, by, true, 9 * HOUR);
		kind.source = 0;
		dead = lever;
		dead.dead = true;
		run.plant.lever = &dead;
		run_for(&run, HOUR);
		assert_true(run.out.no_grip);
		run.plant.lever = &lever;
		run_for(&run, 30 * MINUTE);
		assert_false(run.out.no_grip);
		go_on(HOUR);
		assert_least("share", run_share(&run), 0.77);
	}
}

/* A rebuild that takes long to come back, and a cache that is full and drains for so long. */
static void begin_full_cache(int by, double drain_s)
{
	begin(SLOW, by, true, 9 * HOUR);
	kind.source = 0;
	kind.cache_mb = drain_s * kind_full(&kind);
	run.plant.cached_mb = kind.cache_mb;
	run.plant.x = run.plant.x0 = 0.43;
}

static void assert_found(void)
{
	assert_int_equal(run.steer.past, 0);
	assert_false(run.out.no_grip);
	assert_least("undisturbed", (double)run.steer.ref.v / MB, 0.9 * kind.pace);
	go_on(HOUR);
	assert_int_equal(run.steer.past, 0);
	assert_least("share", run_share(&run), 0.74);
}

static void a_cache_that_drains_long_is_not_writing_past_them(void **state)
{
	static const double drains[] = {100, 150, 200, 280};
	size_t i;
	int by, n;

	(void)state;
	for (i = 0; i < 4; i++) {
		for (by = QMP; by <= PBS; by++) {
			begin_full_cache(by, drains[i]);
			for (n = 0; n < 1800; n++) {
				run_for(&run, 1);
				assert_int_equal(run.steer.past, 0);
			}
			assert_found();
		}
	}
}

/* What was written before a long lull is not held against them when something little is written. */
static void some_seconds_after_a_cache_are_not_either(void **state)
{
	int by;

	(void)state;
	for (by = QMP; by <= PBS; by++) {
		begin_full_cache(by, 150);
		past = (struct plant_event){.from_s = 320, .span_s = 20, .foreign = 10};
		run_for(&run, 400);
		assert_int_equal(run.steer.past, 0);
		run_for(&run, 23 * MINUTE);
		assert_found();
	}
}

/* Given up while it was so; what a look sees first is the cache that an open path has filled. */
static void a_lever_that_holds_again_is_found_behind_a_full_cache(void **state)
{
	static const double drains[] = {80, 110, 150, 240};
	struct plant_lever dead;
	size_t i;
	int by;

	(void)state;
	for (i = 0; i < 4; i++) {
		for (by = QMP; by <= PBS; by++) {
			begin_full_cache(by, drains[i]);
			dead = lever;
			dead.dead = true;
			run.plant.lever = &dead;
			run_for(&run, HOUR);
			assert_true(run.steer.past > 0);
			run.plant.lever = &lever;
			run_for(&run, 2 * HOUR);
			assert_found();
		}
	}
}

/* A cache that drains for longer than anybody waits: the first look finds out. */
static void a_cache_taken_for_a_writer_is_found_at_once(void **state)
{
	int by;

	(void)state;
	for (by = QMP; by <= PBS; by++) {
		begin_full_cache(by, 400);
		run_for(&run, 5 * MINUTE + 10);
		assert_true(run.steer.past > 0);
		run_for(&run, 2 * MINUTE);
		kind.cache_mb = 150 * kind_full(&kind);
		run.plant.cached_mb = 0;
		run_for(&run, 30 * MINUTE);
		assert_found();
	}
}

/* A look begins, and he pauses just then for some seconds. */
static void a_pause_is_not_the_end(void **state)
{
	int by, n;

	(void)state;
	for (by = QMP; by <= FLEECED; by++) {
		begin(FULLY, by, true, 0);
		past.span_s = 9 * HOUR;
		run_for(&run, HOUR);
		for (n = 0; n < 4; n++) {
			while (run.out.path == STEER_REST)
				run_for(&run, 1);
			while (run.out.path != STEER_REST)
				run_for(&run, 0.1);
			past.span_s = 0;
			run_for(&run, 8);
			past.span_s = 9 * HOUR;
			run_for(&run, 2 * MINUTE);
			assert_true(run.steer.past > 0);
		}
	}
}

/* Nothing is asked of them: what they do not hold is forgotten. */
static void another_rule_forgets_it(void **state)
{
	int fixed;

	(void)state;
	for (fixed = 0; fixed < 2; fixed++) {
		begin(FULLY, FLEECED, true, 0);
		run_for(&run, HOUR);
		assert_true(run.out.no_grip);
		if (fixed)
			run.in.rule.rate = OPT(5000000);
		else
			run.in.rule.protect_ppm = 0;
		run_for(&run, 10);
		assert_int_equal(run.steer.past, 0);
		assert_int_equal(run.out.path, fixed ? STEER_LIMIT : STEER_OPEN);
		assert_false(run.steer.far.known);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_costs_the_rebuild_nothing_more_is_let_through),
		cmocka_unit_test(what_they_cost_beside_it_is_limited),
		cmocka_unit_test(when_it_has_stopped_the_whole_pace_is_protected_again),
		cmocka_unit_test(the_same_where_nothing_was_known_before),
		cmocka_unit_test(who_writes_past_them_now_and_then_does_not_shut_them_out),
		cmocka_unit_test(it_does_not_hunt),
		cmocka_unit_test(a_lever_that_holds_again_is_found),
		cmocka_unit_test(a_cache_that_drains_long_is_not_writing_past_them),
		cmocka_unit_test(some_seconds_after_a_cache_are_not_either),
		cmocka_unit_test(a_lever_that_holds_again_is_found_behind_a_full_cache),
		cmocka_unit_test(a_cache_taken_for_a_writer_is_found_at_once),
		cmocka_unit_test(a_pause_is_not_the_end),
		cmocka_unit_test(another_rule_forgets_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
