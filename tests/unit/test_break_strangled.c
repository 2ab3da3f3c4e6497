// SPDX-License-Identifier: MIT
/* Where the controller was broken once: backups that were as good as shut out for as long as the
 * rebuild lasted, and not by their own doing. */
#include "steer_world.h"

/* Writers take what they may get; counts the looks with a path that is as good as open. */
static int look_writing(int n, bool moves)
{
	int opened = 0;

	while (n--) {
		w.write = 50 * MBS;
		if (w.out.path == STEER_REST)
			w.write = 0;
		if (w.out.path == STEER_LIMIT && w.out.rate < w.write)
			w.write = w.out.rate;
		opened += w.write >= 25 * MBS;
		w.rate = moves ? 20 * MBS * 5 * MBS / (5 * MBS + w.write) : 0;
		look(1);
	}
	return opened;
}

/* A rebuild that moves nothing, whatever the backups do: a disk that hangs. */
static void a_rebuild_that_stands_still_squeezes_nobody(void **state)
{
	(void)state;
	look_writing(300, false);
	assert_in_range(look_writing(600, false), 540, 600);
	/* It goes on: it is protected as before. */
	look_writing(900, true);
	assert_in_range(w.out.share_ppm.v, 750000, 900000);
}

static void the_same_without_a_baseline(void **state)
{
	w.array.baseline = OPT_NONE;
	a_rebuild_that_stands_still_squeezes_nobody(state);
}

static void the_same_with_short_rests(void **state)
{
	w.in.range.rest_max_ms = 15000;
	a_rebuild_that_stands_still_squeezes_nobody(state);
}

static void the_same_without_rests(void **state)
{
	w.in.range.rest_max_ms = 0;
	a_rebuild_that_stands_still_squeezes_nobody(state);
}

/* No baseline, and one who writes more than the backups, from the beginning on. */
static void anothers_writes_do_not_keep_the_path_shut_for_good(void **state)
{
	bool opened = false;
	int i;

	(void)state;
	w.array.baseline = OPT_NONE;
	w.rate = MBS;
	for (i = 0; i < 1000; i++) {
		w.write = 62 * MBS + (w.out.path == STEER_OPEN ? 5 * MBS : 0);
		look(1);
		opened = opened || w.out.path == STEER_OPEN;
	}
	assert_true(opened);
}

/* What an open path says is not that it is limited to nothing. */
static void an_open_path_is_not_told_as_a_limit_of_nothing(void **state)
{
	int i, given = 0;

	(void)state;
	w.in.range.rest_max_ms = 0;
	for (i = 0; i < 1000; i++) {
		w.write = w.out.path == STEER_LIMIT && w.out.rate < 5 * MBS ? w.out.rate : 5 * MBS;
		look(1);
		given += w.out.path == STEER_OPEN && w.out.reason == STEER_GIVING;
		assert_null(strstr(w.out.text, "limited to 0 B/s"));
	}
	assert_true(given);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_rebuild_that_stands_still_squeezes_nobody, fresh),
		cmocka_unit_test_setup(the_same_without_a_baseline, fresh),
		cmocka_unit_test_setup(the_same_with_short_rests, fresh),
		cmocka_unit_test_setup(the_same_without_rests, fresh),
		cmocka_unit_test_setup(anothers_writes_do_not_keep_the_path_shut_for_good, fresh),
		cmocka_unit_test_setup(an_open_path_is_not_told_as_a_limit_of_nothing, fresh),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
