// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/pace.h"

static void takes_bytes_over_pace(void **state)
{
	(void)state;
	assert_int_equal(pace_predict_ms(6000000, OPT(2000000)).v, 3000);
	assert_int_equal(pace_predict_ms(0, OPT(2000000)).v, 0);
	assert_true(pace_predict_ms(0, OPT(1)).known);
	/* 1 B at 3 B/s: 333.3 ms. */
	assert_int_equal(pace_predict_ms(1, OPT(3)).v, 334);
	/* 40 TB at 6 MB/s: 77 days. */
	assert_int_equal(
		pace_predict_ms(INT64_C(40000000000000), OPT(6000000)).v, INT64_C(6666666667));
}

static void says_nothing_without_a_pace(void **state)
{
	(void)state;
	assert_false(pace_predict_ms(1000, OPT_NONE).known);
	assert_false(pace_predict_ms(1000, OPT(0)).known);
}

static void stops_where_numbers_end(void **state)
{
	(void)state;
	assert_true(pace_predict_ms(INT64_MAX, OPT(1)).v == INT64_MAX);
}

static void other_shares_take_in_proportion_to_what_they_leave(void **state)
{
	(void)state;
	assert_int_equal(pace_at_share_ms(10 * MS_HOUR, 800000, 800000), 10 * MS_HOUR);
	assert_int_equal(pace_at_share_ms(10 * MS_HOUR, 800000, 600000), 5 * MS_HOUR);
	assert_int_equal(pace_at_share_ms(10 * MS_HOUR, 800000, 900000), 20 * MS_HOUR);
	assert_int_equal(pace_at_share_ms(10 * MS_HOUR, 800000, 0), 2 * MS_HOUR);
	/* 100 % counts as 99 %. */
	assert_int_equal(pace_at_share_ms(10 * MS_HOUR, 1000000, 900000), MS_HOUR);
}

static void keeps_the_share_where_the_job_fits(void **state)
{
	(void)state;
	assert_int_equal(pace_relax_ppm(MS_HOUR, MS_DAY, 800000, 300000), 800000);
	assert_int_equal(pace_relax_ppm(MS_DAY, MS_DAY, 800000, 300000), 800000);
}

static void gives_up_ten_points_at_a_time_until_it_fits(void **state)
{
	(void)state;
	/* 30 h at 80 % are 20 h at 70 %; 40 h are 26.7 h at 70 %, 20 h at 60 %. */
	assert_int_equal(pace_relax_ppm(30 * MS_HOUR, MS_DAY, 800000, 300000), 700000);
	assert_int_equal(pace_relax_ppm(40 * MS_HOUR, MS_DAY, 800000, 300000), 600000);
	assert_int_equal(pace_relax_ppm(30 * MS_HOUR, MS_DAY, 800000, 750000), 750000);
}

static void stops_at_the_least_share_where_it_fits_nowhere(void **state)
{
	(void)state;
	assert_int_equal(pace_relax_ppm(100 * MS_DAY, MS_DAY, 800000, 300000), 300000);
	assert_int_equal(pace_relax_ppm(100 * MS_DAY, MS_DAY, 850000, 300000), 300000);
	assert_true(pace_at_share_ms(100 * MS_DAY, 800000, 300000) > MS_DAY);
}

static void never_protects_more_than_the_rule(void **state)
{
	(void)state;
	assert_int_equal(pace_relax_ppm(100 * MS_DAY, MS_DAY, 200000, 300000), 200000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_bytes_over_pace),
		cmocka_unit_test(says_nothing_without_a_pace),
		cmocka_unit_test(stops_where_numbers_end),
		cmocka_unit_test(other_shares_take_in_proportion_to_what_they_leave),
		cmocka_unit_test(keeps_the_share_where_the_job_fits),
		cmocka_unit_test(gives_up_ten_points_at_a_time_until_it_fits),
		cmocka_unit_test(stops_at_the_least_share_where_it_fits_nowhere),
		cmocka_unit_test(never_protects_more_than_the_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
