// SPDX-License-Identifier: MIT
/* How late a change of lever 2's rule acts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gate/pbs_lever_delay.h"
#include "proxmox/pbs.h"

#define MB INT64_C(1000000)
#define OPEN (100000 * MB)
#define ASSUMED (PBS_ACTS_MS + MS_SECOND)

/* One change that was chosen at `at`, reached the server `trip` later and is seen in a look that
 * comes `after` that; the last but one look saw the old rate. */
static void change(struct pbs_delay *d, int64_t at, int64_t trip, int64_t after)
{
	pbs_delay_set(d, OPEN, 10 * MB, OPT(80 * MB), at, at + trip);
	pbs_delay_look(d, OPT(80 * MB), at + trip + after / 2);
	assert_true(pbs_delay_waits(d, at + trip + after / 2));
	assert_false(pbs_delay_over(d, at + trip + after / 2));
	pbs_delay_look(d, OPT(10 * MB), at + trip + after);
}

static void before_anything_was_seen_it_is_what_the_server_promises(void **state)
{
	struct pbs_delay d = {0};

	(void)state;
	assert_int_equal(pbs_delay_of(&d), ASSUMED);
	assert_false(pbs_delay_measured(&d));
	pbs_delay_set(&d, 0, 10 * MB, OPT_NONE, 1000, 1200); /* made: nothing to compare with */
	assert_false(pbs_delay_waits(&d, 1300));
	assert_false(pbs_delay_over(&d, 1200 + PBS_ACTS_MS - 1));
	assert_true(pbs_delay_over(&d, 1200 + PBS_ACTS_MS));
	assert_int_equal(pbs_delay_of(&d), ASSUMED);
}

static void a_server_that_answers_slowly_acts_later_seen_or_not(void **state)
{
	struct pbs_delay d = {0};

	(void)state;
	pbs_delay_set(&d, 0, 10 * MB, OPT_NONE, 1000, 4000);
	assert_int_equal(pbs_delay_of(&d), 3000 + PBS_ACTS_MS);
	pbs_delay_set(&d, 10 * MB, 9 * MB, OPT_NONE, 100000, 190000);
	assert_int_equal(pbs_delay_of(&d), PBS_LATE_MAX_MS);
}

static void a_fall_is_seen_a_whole_second_after_it_acted(void **state)
{
	struct pbs_delay d = {0};

	(void)state;
	change(&d, 1000, 300, 4000);
	assert_false(pbs_delay_waits(&d, 5300));
	assert_true(pbs_delay_over(&d, 5300));
	assert_int_equal(d.acted_ms, 1300 + 4000 - PBS_CUR_MS);
}

static void a_few_that_were_seen_do_not_undercut_the_promise_more_do(void **state)
{
	struct pbs_delay d = {0};
	int64_t i;

	(void)state;
	for (i = 1; i < PBS_DELAYS_SURE; i++) {
		change(&d, i * 60000, 200, 2000 + 100 * i);
		assert_int_equal(pbs_delay_of(&d), ASSUMED);
		assert_false(pbs_delay_measured(&d));
	}
	change(&d, i * 60000, 200, 2000);
	assert_true(pbs_delay_measured(&d));
	assert_int_equal(pbs_delay_of(&d), 200 + 2300 - PBS_CUR_MS);
	/* What is not seen is taken to act after as long as the others took. */
	pbs_delay_set(&d, 10 * MB, 9 * MB, OPT(10 * MB), 900000, 900100);
	assert_false(pbs_delay_over(&d, 900100 + 1299));
	assert_true(pbs_delay_over(&d, 900100 + 1300));
}

static void the_longest_of_the_last_few_counts_and_is_forgotten_after_these(void **state)
{
	struct pbs_delay d = {0};
	int64_t i;

	(void)state;
	change(&d, 60000, 4000, 5000);
	for (i = 2; i <= PBS_DELAYS; i++) {
		change(&d, i * 60000, 200, 3000);
		assert_in_range(pbs_delay_of(&d), 8000, 9000);
	}
	change(&d, i * 60000, 200, 3000);
	assert_int_equal(pbs_delay_of(&d), 200 + 3000 - PBS_CUR_MS);
}

static void it_is_never_less_than_the_calls_take(void **state)
{
	struct pbs_delay d = {0};
	int64_t i;

	(void)state;
	for (i = 1; i <= PBS_DELAYS_SURE; i++)
		change(&d, i * 60000, 200, 3000);
	pbs_delay_set(&d, 10 * MB, 9 * MB, OPT(10 * MB), 900000, 907000);
	assert_int_equal(pbs_delay_of(&d), 7000);
}

static void a_rise_is_seen_where_the_old_rate_held_something_back(void **state)
{
	struct pbs_delay d = {0};

	(void)state;
	pbs_delay_set(&d, 10 * MB, OPEN, OPT(10 * MB), 1000, 1300);
	pbs_delay_look(&d, OPT(11 * MB), 3000);
	assert_false(pbs_delay_over(&d, 3000));
	pbs_delay_look(&d, OPT(50 * MB), 5000);
	assert_int_equal(d.acted_ms, 5000);
	assert_true(pbs_delay_over(&d, 5000));

	pbs_delay_set(&d, 10 * MB, OPEN, OPT(2 * MB), 1000, 1300); /* little to do */
	assert_false(pbs_delay_waits(&d, 1400));
	pbs_delay_set(&d, 10 * MB, 15 * MB, OPT(10 * MB), 1000, 1300); /* too little a step */
	assert_false(pbs_delay_waits(&d, 1400));
}

static void a_rise_with_nothing_more_to_do_counts_as_promised_and_tells_nothing(void **state)
{
	struct pbs_delay d = {0};
	int64_t at;

	(void)state;
	pbs_delay_set(&d, 10 * MB, OPEN, OPT(10 * MB), 1000, 1300);
	for (at = 2300; at < 1300 + PBS_LATE_MAX_MS; at += 1000)
		pbs_delay_look(&d, OPT(3 * MB), at);
	assert_true(pbs_delay_over(&d, 1300 + PBS_ACTS_MS));
	pbs_delay_look(&d, OPT(3 * MB), at);
	pbs_delay_look(&d, OPT(90 * MB), at + 1000);
	assert_int_equal(d.seen.n, 0);
}

static void where_nothing_flows_a_fall_tells_nothing(void **state)
{
	struct pbs_delay d = {0};
	int64_t at;

	(void)state;
	pbs_delay_set(&d, OPEN, 10 * MB, OPT(80 * MB), 1000, 1300);
	for (at = 2300; at < 30000; at += 1000)
		pbs_delay_look(&d, OPT(0), at);
	assert_true(pbs_delay_over(&d, 1300 + PBS_ACTS_MS));
	assert_int_equal(d.seen.n, 0);
	pbs_delay_set(&d, OPEN, 10 * MB, OPT(5 * MB), 1000, 1300); /* nor what it does not touch */
	assert_false(pbs_delay_waits(&d, 1400));
	pbs_delay_set(
		&d, OPEN, 10 * MB, OPT(80 * MB), 1000, 1300); /* nor rates that are not told */
	pbs_delay_look(&d, OPT_NONE, 2300);
	assert_true(pbs_delay_over(&d, 1300 + PBS_ACTS_MS));
	assert_false(pbs_delay_waits(&d, 1300 + PBS_LATE_MAX_MS + PBS_CUR_MS));
}

static void one_that_does_not_act_is_in_force_for_nobody_until_the_longest_delay(void **state)
{
	struct pbs_delay d = {0};
	int64_t at;

	(void)state;
	pbs_delay_set(&d, OPEN, 10 * MB, OPT(80 * MB), 1000, 1300);
	for (at = 2300; at < 1300 + PBS_LATE_MAX_MS; at += 1000) {
		pbs_delay_look(&d, OPT(80 * MB), at);
		assert_false(pbs_delay_over(&d, at));
	}
	pbs_delay_look(&d, OPT(80 * MB), at);
	assert_true(pbs_delay_over(&d, at));
	assert_false(pbs_delay_waits(&d, at));
	assert_int_equal(pbs_delay_of(&d), PBS_LATE_MAX_MS);
}

static void the_same_rate_again_stays_in_force(void **state)
{
	struct pbs_delay d = {0};

	(void)state;
	change(&d, 1000, 300, 4000);
	pbs_delay_set(&d, 10 * MB, 10 * MB, OPT(10 * MB), 900000, 909000);
	assert_true(pbs_delay_over(&d, 909000));
	assert_int_equal(pbs_delay_of(&d), PBS_LATE_MAX_MS); /* its calls count */
}

static void a_rest_is_seen_by_what_still_passes(void **state)
{
	struct pbs_delay d = {0};

	(void)state;
	pbs_delay_set(&d, OPEN, PBS_RATE_LEAST, OPT(80 * MB), 1000, 1300);
	pbs_delay_look(&d, OPT(40 * MB), 4300); /* half of that second */
	assert_false(pbs_delay_over(&d, 4300));
	pbs_delay_look(&d, OPT(81920), 5300);
	assert_int_equal(d.acted_ms, 5300 - PBS_CUR_MS);
}

static void one_that_was_delayed_by_a_failure_is_seen_but_not_timed(void **state)
{
	struct pbs_delay d = {0};

	(void)state;
	pbs_delay_set(&d, OPEN, 10 * MB, OPT(80 * MB), 0, 90000);
	pbs_delay_look(&d, OPT(10 * MB), 93000);
	assert_true(pbs_delay_over(&d, 93000));
	assert_int_equal(d.seen.n, 0);
	assert_int_equal(d.acts.n, 1);
	assert_int_equal(d.trips.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(before_anything_was_seen_it_is_what_the_server_promises),
		cmocka_unit_test(a_server_that_answers_slowly_acts_later_seen_or_not),
		cmocka_unit_test(a_fall_is_seen_a_whole_second_after_it_acted),
		cmocka_unit_test(a_few_that_were_seen_do_not_undercut_the_promise_more_do),
		cmocka_unit_test(the_longest_of_the_last_few_counts_and_is_forgotten_after_these),
		cmocka_unit_test(it_is_never_less_than_the_calls_take),
		cmocka_unit_test(a_rise_is_seen_where_the_old_rate_held_something_back),
		cmocka_unit_test(
			a_rise_with_nothing_more_to_do_counts_as_promised_and_tells_nothing),
		cmocka_unit_test(where_nothing_flows_a_fall_tells_nothing),
		cmocka_unit_test(
			one_that_does_not_act_is_in_force_for_nobody_until_the_longest_delay),
		cmocka_unit_test(the_same_rate_again_stays_in_force),
		cmocka_unit_test(a_rest_is_seen_by_what_still_passes),
		cmocka_unit_test(one_that_was_delayed_by_a_failure_is_seen_but_not_timed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
