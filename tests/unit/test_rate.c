// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "md/rate.h"

static void products_that_have_no_room_stay_right(void **state)
{
	(void)state;
	assert_int_equal(rate_muldiv(7, 3, 2), 10);
	assert_int_equal(rate_muldiv(0, 5, 3), 0);
	assert_int_equal(rate_muldiv(5, 0, 3), 0);
	assert_true(rate_muldiv(INT64_MAX, 1000000, INT64_MAX) == 1000000);
	assert_true(rate_muldiv(INT64_MAX, 2, 1) == INT64_MAX);
	assert_true(rate_muldiv(INT64_MAX, INT64_MAX, 1) == INT64_MAX);
	/* Half of 2^62 KiB in parts per million: to a millionth. */
	assert_in_range(rate_muldiv(INT64_C(1) << 61, 1000000, INT64_C(1) << 62), 499999, 500001);
	assert_in_range(
		rate_muldiv((INT64_C(1) << 62) - 1, 1024000, INT64_C(1) << 62), 1023998, 1024000);
}

static void progress_of_a_petabyte_is_exact_enough(void **state)
{
	struct progress p = {0};
	const int64_t total = INT64_C(1) << 40; /* KiB */

	(void)state;
	assert_false(progress_share(&p).known);
	assert_false(progress_stalled(&p).known);
	progress_read(&p, total / 4, total, 1000);
	assert_int_equal(progress_share(&p).v, 250000);
	assert_false(p.rate.known);
	progress_read(&p, total / 4 + 1024, total, 11000);
	assert_int_equal(p.rate.v, 1024 * 1024 / 10);
	assert_true(p.fresh);
	assert_int_equal(p.window_at_ms, 1000);
	assert_true(progress_remaining(&p).v > INT64_C(80000000) * 86400);
	progress_end(&p);
	assert_false(progress_share(&p).known);
}

static void a_total_that_changes_is_another_run(void **state)
{
	struct progress p = {0};

	(void)state;
	progress_read(&p, 100, 1000, 0);
	progress_read(&p, 200, 1000, 10000);
	assert_true(p.rate.known);
	progress_read(&p, 300, 2000, 20000);
	assert_false(p.rate.known);
	assert_int_equal(p.run_at_ms, 20000);
	progress_read(&p, 2500, 2000, 30000); /* md counts past the end at times */
	assert_int_equal(progress_share(&p).v, 1000000);
	assert_int_equal(progress_remaining(&p).v, 0);
	progress_read(&p, 5, 0, 40000);
	assert_false(progress_share(&p).known);
}

static void short_windows_wait_and_long_ones_are_dropped(void **state)
{
	struct progress p = {0};

	(void)state;
	progress_read(&p, 0, 1000000, 0);
	progress_read(&p, 10, 1000000, RATE_MIN_WINDOW_MS - 1);
	assert_false(p.rate.known);
	assert_false(p.fresh);
	progress_read(&p, 1000, 1000000, RATE_MIN_WINDOW_MS);
	assert_int_equal(p.rate.v, 1000 * 1024 * 1000 / RATE_MIN_WINDOW_MS);
	progress_read(&p, 2000, 1000000, 2 * RATE_MIN_WINDOW_MS + RATE_MAX_WINDOW_MS);
	assert_false(p.rate.known);
	progress_read(&p, 3000, 1000000, 3 * RATE_MIN_WINDOW_MS + RATE_MAX_WINDOW_MS);
	assert_true(p.rate.known);
}

static void quiet_begins_with_the_window_that_was_quiet(void **state)
{
	struct client_load load = {0};

	(void)state;
	client_load_read(&load, 0, 0, 1000);
	assert_false(load.read.known);
	assert_false(load.quiet_since_ms.known);
	client_load_read(&load, 0, 100000, 11000);
	assert_int_equal(load.write.v, 5120000);
	assert_false(load.quiet_since_ms.known);
	client_load_read(&load, 100, 100100, 21000);
	assert_int_equal(load.quiet_since_ms.v, 11000);
	client_load_read(&load, 200, 100200, 31000);
	assert_int_equal(load.quiet_since_ms.v, 11000);
	client_load_read(&load, 300, 100300, 31500); /* too near: as if it had not been */
	assert_int_equal(load.at_ms, 31000);
	client_load_read(&load, 900000, 100300, 41000);
	assert_false(load.quiet_since_ms.known);
	client_load_lost(&load);
	assert_false(load.read.known);
}

static void a_restart_of_64_bit_counters_is_no_wrap(void **state)
{
	struct client_load load = {0};

	(void)state;
	client_load_read(&load, UINT64_C(1) << 40, 0, 0);
	client_load_read(&load, 5, 5, 10000);
	assert_false(load.read.known);
	assert_false(load.write.known);
	client_load_read(&load, 205, 5, 20000);
	assert_int_equal(load.read.v, 10240);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_that_have_no_room_stay_right),
		cmocka_unit_test(progress_of_a_petabyte_is_exact_enough),
		cmocka_unit_test(a_total_that_changes_is_another_run),
		cmocka_unit_test(short_windows_wait_and_long_ones_are_dropped),
		cmocka_unit_test(quiet_begins_with_the_window_that_was_quiet),
		cmocka_unit_test(a_restart_of_64_bit_counters_is_no_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
