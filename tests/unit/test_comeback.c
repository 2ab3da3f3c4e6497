// SPDX-License-Identifier: MIT
/* What counts as undisturbed: an array that clients write to now and then, and that takes its time
 * to come back, looked at now and then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "md/comeback.h"

#define MB INT64_C(1000000)
#define PACE (20 * MB) /* undisturbed, at the beginning */
#define TOTAL_KIB INT64_C(4000000000)
#define QUICK_MS 2000
#define SLOW_MS 480000 /* the slowest that is known */

static struct {
	int64_t back_ms;  /* from nothing to the whole pace, evenly */
	int64_t every_ms; /* between two looks */
	int64_t noise_ppm;
	int64_t now_ms, done, written; /* bytes */
	int64_t pace;                  /* now, of PACE, ppm */
	int64_t most_ppm;              /* that it comes back to */
	uint32_t seed;
	struct progress progress;
	struct client_load load;
	struct comeback comeback;
	struct baseline baseline;
} w;

static int fresh(void **state)
{
	(void)state;
	memset(&w, 0, sizeof(w));
	w.back_ms = QUICK_MS;
	w.every_ms = 2000;
	w.pace = w.most_ppm = 1000000;
	w.now_ms = 5000;
	w.done = 400 * MB * 1000;
	return 0;
}

static struct opt now(void)
{
	return baseline_at(&w.baseline, MD_OP_RECOVERY, progress_share(&w.progress).v);
}

static void look(void)
{
	client_load_read(&w.load, 0, (uint64_t)(w.written / 512), w.now_ms);
	progress_read(&w.progress, w.done / 1024, TOTAL_KIB, w.now_ms);
	comeback_read(&w.comeback, &w.baseline, MD_OP_RECOVERY, &w.progress, &w.load);
}

/* Clients write so much and leave so much of the pace. */
static void go(int64_t ms, int64_t write, int64_t leaves_ppm)
{
	int64_t end = w.now_ms + ms, noise = 0;

	while (w.now_ms < end) {
		int64_t to = leaves_ppm < w.most_ppm ? leaves_ppm : w.most_ppm;

		if (w.now_ms % w.every_ms == 1000) {
			w.seed = w.seed * 1664525u + 1013904223u;
			noise = (int64_t)(w.seed >> 12) * 2 * w.noise_ppm / (1 << 20) - w.noise_ppm;
		}
		w.pace = w.pace + 100000000 / w.back_ms;
		if (w.pace > to)
			w.pace = to;
		w.done += PACE / 10 * (w.pace + noise) / 1000000;
		w.written += write / 10;
		w.now_ms += 100;
		if ((w.now_ms - 5000) % w.every_ms == 0)
			look();
	}
}

static void quiet(int64_t ms)
{
	go(ms, 0, 1000000);
}

static void busy(int64_t ms)
{
	go(ms, 50 * MB, 430000);
}

static void assert_pace(int64_t least_ppm, int64_t most_ppm)
{
	struct opt is = now();

	assert_true(is.known);
	assert_in_range(is.v, PACE * least_ppm / 1000000, PACE * most_ppm / 1000000);
}

static void the_first_is_known_after_a_short_rest(void **state)
{
	(void)state;
	busy(60000);
	assert_false(now().known);
	quiet(14000);
	assert_pace(980000, 1000000);
}

static void looked_at_every_ten_seconds_it_takes_half_a_minute(void **state)
{
	(void)state;
	w.every_ms = 10000;
	busy(60000);
	quiet(50000);
	assert_pace(980000, 1000000);
}

static void rests_of_twelve_seconds_are_enough_to_follow(void **state)
{
	int i;

	(void)state;
	w.noise_ppm = 100000;
	for (i = 0; i < 600; i++) {
		if (i == 300)
			assert_pace(930000, 1070000);
		if (i >= 300 && i < 500) /* slower and slower, by a fifth */
			w.most_ppm -= 1000;
		busy(10000);
		quiet(12000);
	}
	assert_pace(740000, 860000);
}

static void what_comes_back_for_minutes_is_no_baseline(void **state)
{
	static const int64_t every[] = {2000, 10000}, rests[] = {15000, 60000, 200000};
	int i, k, n;

	for (i = 0; i < 2; i++) {
		for (k = 0; k < 3; k++) {
			fresh(state);
			w.every_ms = every[i];
			w.noise_ppm = 20000;
			w.back_ms = SLOW_MS;
			quiet(300000);
			assert_pace(970000, 1030000);
			for (n = 0; n < 30; n++) {
				busy(100000);
				quiet(rests[k]);
				assert_pace(960000, 1030000);
			}
		}
	}
}

static void short_writes_do_not_wear_it_down(void **state)
{
	int i;

	(void)state;
	w.back_ms = SLOW_MS;
	quiet(120000);
	busy(600000);
	quiet(600000);
	for (i = 0; i < 200; i++) {
		go(4000, 50 * MB, 900000);
		quiet(20000);
	}
	assert_pace(950000, 1000000);
}

static void what_is_outgrown_in_the_same_quiet_is_forgotten(void **state)
{
	int64_t quiet_ms, unknown_ms = 0;

	(void)state;
	w.back_ms = SLOW_MS;
	busy(600000);
	for (quiet_ms = 0; quiet_ms < 600000; quiet_ms += 2000) {
		struct opt is;

		quiet(2000);
		is = now();
		if (!is.known)
			unknown_ms += 2000;
		/* By the third stretch it is clear that it grows. */
		else if (quiet_ms > 90000)
			assert_true(is.v > PACE * 95 / 100);
	}
	assert_in_range(unknown_ms, 60000, 400000);
	assert_pace(980000, 1000000);
	/* The next quiet teaches nothing before it has lasted as long. */
	busy(100000);
	quiet(100000);
	assert_pace(980000, 1000000);
}

static void a_trickle_now_and_then_begins_nothing_anew(void **state)
{
	int i;

	(void)state;
	w.back_ms = SLOW_MS;
	busy(600000);
	/* Rests of 15 s with short breaths between, as long as it takes. */
	for (i = 0; i < 40; i++) {
		quiet(14000);
		go(2000, 600000, 980000);
		if (i >= 8 && now().known)
			assert_pace(950000, 1000000);
	}
	quiet(30000);
	assert_pace(960000, 1000000);
}

static void a_pace_that_is_lower_for_good_is_learned_in_a_long_quiet(void **state)
{
	int i;

	(void)state;
	quiet(60000);
	w.most_ppm = 600000; /* another array's check takes its part */
	for (i = 0; i < 20; i++) {
		busy(10000);
		quiet(14000);
	}
	assert_pace(980000, 1000000);
	quiet(140000);
	assert_pace(590000, 610000);
	w.most_ppm = 1000000;
	for (i = 0; i < 3; i++) {
		busy(10000);
		quiet(16000);
	}
	assert_pace(980000, 1000000);
}

static void what_took_long_once_is_no_rule(void **state)
{
	int i;

	(void)state;
	quiet(60000);
	busy(20000);
	w.most_ppm = 700000; /* something else had its time */
	quiet(40000);
	w.most_ppm = 1000000;
	quiet(40000);
	busy(20000);
	assert_in_range(w.comeback.span_ms, 60000, 120000);
	for (i = 0; i < 4; i++) {
		go(20000, 50 * MB, 100000);
		quiet(14000);
	}
	busy(10000);
	assert_in_range(w.comeback.span_ms, 0, 12000);
}

static void no_quiet_has_to_last_longer_than_a_quarter_of_an_hour(void **state)
{
	(void)state;
	w.back_ms = 1600000;
	quiet(60000);
	go(60000, 50 * MB, 300000);
	quiet(600000); /* and it still grows */
	busy(10000);
	assert_int_equal(w.comeback.span_ms, 15 * MS_MINUTE);
}

static void where_nobody_tells_what_clients_do_nothing_is_learned(void **state)
{
	(void)state;
	busy(20000);
	quiet(6000);
	client_load_lost(&w.load);
	comeback_read(&w.comeback, &w.baseline, MD_OP_RECOVERY, &w.progress, &w.load);
	assert_false(w.comeback.since_ms.known);
	assert_false(now().known);
}

static void a_baseline_tells_what_is_least_to_be_expected(void **state)
{
	struct baseline b = {0};
	int i;

	(void)state;
	assert_false(baseline_least(&b, MD_OP_RECOVERY, 0).known);
	for (i = 0; i < 3; i++)
		baseline_add(&b, MD_OP_RECOVERY, 510000, 100 * MB);
	assert_in_range(baseline_least(&b, MD_OP_RECOVERY, 510000).v, 89 * MB, 90 * MB);
	/* Disks may be slower two twentieths on, */
	assert_in_range(baseline_least(&b, MD_OP_RECOVERY, 610000).v, 74 * MB, 75 * MB);
	assert_false(baseline_least(&b, MD_OP_RECOVERY, 900000).known);
	assert_false(baseline_least(&b, MD_OP_CHECK, 510000).known);
}

static void a_baseline_forgets_the_newest_samples(void **state)
{
	struct baseline b = {0};
	int i;

	(void)state;
	for (i = 1; i <= 7; i++)
		baseline_add(&b, MD_OP_RECOVERY, 510000, i * 10 * MB);
	baseline_forget(&b, MD_OP_CHECK, 510000, 5); /* of another operation: nothing */
	assert_in_range(baseline_at(&b, MD_OP_RECOVERY, 510000).v, 49 * MB, 50 * MB);
	baseline_forget(&b, MD_OP_RECOVERY, 510000, 2); /* 30, 40, 50 are left */
	assert_in_range(baseline_at(&b, MD_OP_RECOVERY, 510000).v, 39 * MB, 40 * MB);
	for (i = 0; i < 3; i++) /* and the ring goes on */
		baseline_add(&b, MD_OP_RECOVERY, 510000, 90 * MB);
	assert_in_range(baseline_at(&b, MD_OP_RECOVERY, 510000).v, 89 * MB, 90 * MB);
	baseline_forget(&b, MD_OP_RECOVERY, 510000, 100);
	assert_false(baseline_at(&b, MD_OP_RECOVERY, 510000).known);
}

#define TEST(name) cmocka_unit_test_setup(name, fresh)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_is_known_after_a_short_rest),
		TEST(looked_at_every_ten_seconds_it_takes_half_a_minute),
		TEST(rests_of_twelve_seconds_are_enough_to_follow),
		TEST(what_comes_back_for_minutes_is_no_baseline),
		TEST(short_writes_do_not_wear_it_down),
		TEST(what_is_outgrown_in_the_same_quiet_is_forgotten),
		TEST(a_trickle_now_and_then_begins_nothing_anew),
		TEST(a_pace_that_is_lower_for_good_is_learned_in_a_long_quiet),
		TEST(what_took_long_once_is_no_rule),
		TEST(no_quiet_has_to_last_longer_than_a_quarter_of_an_hour),
		TEST(where_nobody_tells_what_clients_do_nothing_is_learned),
		TEST(a_baseline_tells_what_is_least_to_be_expected),
		TEST(a_baseline_forgets_the_newest_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
