// SPDX-License-Identifier: MIT
/* One notice for each event, and never a storm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/moment.h"
#include "gate/notify_rate.c"

static void the_same_is_told_once_within_the_time(void **state)
{
	static struct notify_told told;

	(void)state;
	assert_true(notify_told_new(&told, 1, "nas1", MS_HOUR, 1000));
	assert_false(notify_told_new(&told, 1, "nas1", MS_HOUR, 1000 + MS_HOUR - 1));
	assert_true(notify_told_new(&told, 1, "nas1", MS_HOUR, 1000 + MS_HOUR));
	assert_false(notify_told_new(&told, 1, "nas1", MS_HOUR, 1001 + MS_HOUR));
}

static void another_event_or_thing_is_another_notice(void **state)
{
	static struct notify_told told;

	(void)state;
	assert_true(notify_told_new(&told, 1, "T1", MS_HOUR, 0));
	assert_true(notify_told_new(&told, 2, "T1", MS_HOUR, 0));
	assert_true(notify_told_new(&told, 1, "T2", MS_HOUR, 0));
	assert_false(notify_told_new(&told, 2, "T1", MS_HOUR, 0));
}

static void the_oldest_makes_room(void **state)
{
	static struct notify_told told;
	char thing[16];
	int i;

	(void)state;
	for (i = 0; i <= NOTIFY_TOLD_MAX; i++) {
		snprintf(thing, sizeof(thing), "T%d", i);
		assert_true(notify_told_new(&told, 1, thing, MS_HOUR, i));
	}
	assert_int_equal(told.n, NOTIFY_TOLD_MAX);
	assert_false(notify_told_new(&told, 1, "T1", MS_HOUR, 1000));
	assert_true(notify_told_new(&told, 1, "T0", MS_HOUR, 1000));
}

static void a_target_gets_so_many_in_an_hour(void **state)
{
	struct notify_rate rate = {0};

	(void)state;
	assert_true(notify_rate_take(&rate, 2, 500));
	assert_true(notify_rate_take(&rate, 2, 600));
	assert_false(notify_rate_take(&rate, 2, 500 + MS_HOUR - 1));
	assert_true(notify_rate_take(&rate, 2, 500 + MS_HOUR));
}

static void a_target_with_no_rate_gets_none(void **state)
{
	struct notify_rate rate = {0};

	(void)state;
	assert_false(notify_rate_take(&rate, 0, 500));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_is_told_once_within_the_time),
		cmocka_unit_test(another_event_or_thing_is_another_notice),
		cmocka_unit_test(the_oldest_makes_room),
		cmocka_unit_test(a_target_gets_so_many_in_an_hour),
		cmocka_unit_test(a_target_with_no_rate_gets_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
