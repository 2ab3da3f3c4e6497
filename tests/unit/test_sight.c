// SPDX-License-Identifier: MIT
/* An outage has one budget: what interrupts it and what does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/sight.h"

#define SETTLE (10 * MS_MINUTE)

static void blind_from_the_first_failed_look(void **state)
{
	struct sight sight = {0};

	(void)state;
	assert_false(sight_blind_since(&sight).known);
	assert_true(sight_lost(&sight, 1000, SETTLE));
	assert_false(sight_lost(&sight, 61000, SETTLE));
	assert_true(sight_blind_since(&sight).known);
	assert_int_equal(sight_blind_since(&sight).v, 1000);
}

static void seen_is_not_blind(void **state)
{
	struct sight sight = {0};

	(void)state;
	assert_false(sight_seen(&sight, 1000, SETTLE));
	assert_false(sight_blind_since(&sight).known);
	sight_lost(&sight, 2000, SETTLE);
	assert_true(sight_seen(&sight, 3000, SETTLE));
	assert_false(sight_blind_since(&sight).known);
}

static void a_flapping_nas_keeps_its_first_moment(void **state)
{
	struct sight sight = {0};
	int64_t now;

	(void)state;
	sight_seen(&sight, 0, SETTLE);
	for (now = 60 * MS_MINUTE; now < 120 * MS_MINUTE; now += 10 * MS_MINUTE) {
		assert_true(sight_lost(&sight, now, SETTLE));
		assert_int_equal(sight_blind_since(&sight).v, 60 * MS_MINUTE);
		sight_seen(&sight, now + MS_MINUTE, SETTLE);
	}
}

static void seen_for_settle_ends_the_outage(void **state)
{
	struct sight sight = {0};

	(void)state;
	sight_lost(&sight, 1000, SETTLE);
	sight_seen(&sight, 2000, SETTLE);
	sight_lost(&sight, 2000 + SETTLE, SETTLE);
	assert_int_equal(sight_blind_since(&sight).v, 2000 + SETTLE);
}

static void one_moment_short_of_settle_does_not(void **state)
{
	struct sight sight = {0};

	(void)state;
	sight_lost(&sight, 1000, SETTLE);
	sight_seen(&sight, 2000, SETTLE);
	sight_seen(&sight, 2000 + SETTLE - 1, SETTLE);
	sight_lost(&sight, 2000 + SETTLE - 1, SETTLE);
	assert_int_equal(sight_blind_since(&sight).v, 1000);
}

static void settle_counts_from_the_first_good_look_after_each_break(void **state)
{
	struct sight sight = {0};

	(void)state;
	sight_lost(&sight, 0, SETTLE);
	sight_seen(&sight, MS_MINUTE, SETTLE);
	sight_lost(&sight, 6 * MS_MINUTE, SETTLE);
	sight_seen(&sight, 7 * MS_MINUTE, SETTLE);
	sight_lost(&sight, 13 * MS_MINUTE, SETTLE);
	assert_int_equal(sight_blind_since(&sight).v, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blind_from_the_first_failed_look),
		cmocka_unit_test(seen_is_not_blind),
		cmocka_unit_test(a_flapping_nas_keeps_its_first_moment),
		cmocka_unit_test(seen_for_settle_ends_the_outage),
		cmocka_unit_test(one_moment_short_of_settle_does_not),
		cmocka_unit_test(settle_counts_from_the_first_good_look_after_each_break),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
