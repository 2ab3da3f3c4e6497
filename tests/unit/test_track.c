// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "md/look.h"
#include "md/track.h"

#define MB 1000000

static struct track track;
static struct mdstat room;
static struct nas_facts facts;
static char text[64 << 10];

static int fresh(void **state)
{
	(void)state;
	track_init(&track, "nas1", MD_VENDOR_AUTO, NULL, 0);
	return 0;
}

static const struct array_facts *md(const char *name)
{
	const struct array_facts *array = nas_facts_find(&facts, name);

	assert_non_null(array);
	return array;
}

static bool take(int64_t at_ms)
{
	return track_reading(&track, &room, text, strlen(text), at_ms, &facts);
}

/* A whole look: arrays as in mdstat, then diskstats and sysfs sections ("" for none). */
static const struct array_facts *look(
	int64_t at_ms, const char *arrays, const char *disks, const char *sysfs)
{
	snprintf(text, sizeof(text),
		"Personalities : [raid1] [raid6] [raid5] [raid4] \n%sunused devices: <none>\n#rg "
		"diskstats\n%s"
		"#rg loadavg\n0.50 0.40 0.30 1/100 1\n%s#rg end\n",
		arrays, disks, sysfs);
	if (!take(at_ms))
		fail_msg("%s", facts.sensor_text);
	return facts.n_arrays ? &facts.arrays[0] : NULL;
}

/* md2, a RAID 6 of five; `sync` is its third line or "". */
static const char *raid6(const char *counts, const char *sync)
{
	static char array[1024];

	snprintf(array, sizeof(array),
		"md2 : active raid6 sde1[5] sdd1[3] sdc1[2] sdb1[1] sda1[0]\n"
		"      30000000 blocks super 1.2 level 6, 512k chunk, algorithm 2 %s\n%s      \n",
		counts, sync);
	return array;
}

static const char *running(const char *word, int64_t done_kib)
{
	static char line[256];
	int64_t tenths = done_kib * 1000 / 10000000;

	snprintf(line, sizeof(line),
		"      [=>...]  %s = %lld.%lld%% (%lld/10000000) finish=9.0min speed=777K/sec\n",
		word, (long long)(tenths / 10), (long long)(tenths % 10), (long long)done_kib);
	return line;
}

static const char *disk(uint64_t read_sectors, uint64_t write_sectors)
{
	static char line[128];

	snprintf(line, sizeof(line), "   9       2 md2 1 0 %llu 0 1 0 %llu 0 0 0 0\n",
		(unsigned long long)read_sectors, (unsigned long long)write_sectors);
	return line;
}

#define FULL "[5/5] [UUUUU]"
#define LOST "[5/4] [UUUU_]"
#define IDLE_LOOK(at) look(at, raid6(FULL, ""), disk(0, 0), "")
#define RECOVERY(at, done) look(at, raid6(LOST, running("recovery", done)), disk(0, 0), "")

static void a_first_reading_counts_at_once(void **state)
{
	const struct array_facts *a = RECOVERY(5000, 1000000);

	(void)state;
	assert_int_equal(facts.sensor, SENSOR_OK);
	assert_int_equal(facts.read_at_ms.v, 5000);
	assert_int_equal(facts.load_x100.v, 50);
	assert_string_equal(a->name, "md2");
	assert_int_equal(a->role, MD_ROLE_DATA);
	assert_int_equal(a->level, MD_LEVEL_RAID6);
	assert_int_equal(a->operation, MD_OP_RECOVERY);
	assert_int_equal(a->sync_state, MD_SYNC_RUNNING);
	assert_int_equal(a->health, MD_HEALTH_DEGRADED);
	assert_int_equal(a->missing.v, 1);
	assert_int_equal(a->redundancy_left.v, 1);
	assert_int_equal(a->progress_ppm.v, 100000);
	assert_int_equal(a->kernel_rate.v, 777 * 1024);
	assert_false(a->rate.known);
	assert_false(a->remaining_ms.known);
	assert_false(a->baseline.known);
	assert_false(a->done);
}

static void a_change_of_operation_needs_two_readings(void **state)
{
	const struct array_facts *a = IDLE_LOOK(0);

	(void)state;
	assert_int_equal(a->operation, MD_OP_IDLE);
	assert_true(a->done);
	assert_int_equal(a->calm_since_ms.v, 0);
	a = RECOVERY(10000, 1000);
	assert_int_equal(a->operation, MD_OP_IDLE);
	assert_int_equal(a->health, MD_HEALTH_DEGRADED); /* a loss counts at once */
	assert_int_equal(a->redundancy_left.v, 1);
	assert_false(a->done);
	assert_false(a->progress_ppm.known);
	a = RECOVERY(20000, 101000);
	assert_int_equal(a->operation, MD_OP_RECOVERY);
	assert_int_equal(a->operation_since_ms.v, 10000);
	assert_false(a->calm_since_ms.known);
	assert_int_equal(a->rate.v, 100000 * 1024 / 10);
}

/* Another array's check ends between two looks. */
static void a_rebuild_that_waits_and_then_runs_is_believed_at_its_second_reading(void **state)
{
	const struct array_facts *a;

	(void)state;
	IDLE_LOOK(0);
	a = look(10000, raid6(LOST, "\tresync=DELAYED\n"), disk(0, 0),
		"#rg md md2\nsync_action=recover\ndegraded=1\n");
	assert_int_equal(a->operation, MD_OP_IDLE);
	a = RECOVERY(20000, 1000);
	assert_int_equal(a->operation, MD_OP_RECOVERY);
	assert_int_equal(a->sync_state, MD_SYNC_RUNNING);
	assert_int_equal(a->operation_since_ms.v, 10000);
	/* Of one operation its state needs two as before. */
	a = look(30000, raid6(LOST, "\tresync=DELAYED\n"), disk(0, 0),
		"#rg md md2\nsync_action=recover\ndegraded=1\n");
	assert_int_equal(a->sync_state, MD_SYNC_RUNNING);
}

static void a_blip_of_one_reading_changes_nothing(void **state)
{
	const struct array_facts *a;

	(void)state;
	RECOVERY(0, 1000000);
	RECOVERY(10000, 1100000);
	a = look(20000, raid6(LOST, "\tresync=DELAYED\n"), disk(0, 0), "");
	assert_int_equal(a->operation, MD_OP_RECOVERY);
	assert_int_equal(a->sync_state, MD_SYNC_RUNNING);
	assert_true(a->rate.known);
	a = RECOVERY(30000, 1300000);
	assert_int_equal(a->operation, MD_OP_RECOVERY);
	assert_int_equal(a->rate.v, 200000 * 1024 / 20);
	look(40000, raid6(LOST, ""), disk(0, 0), "");
	look(50000, raid6(LOST, "\tresync=PENDING\n"), disk(0, 0), "");
	a = RECOVERY(60000, 1600000); /* two different blips are no agreement */
	assert_int_equal(a->operation, MD_OP_RECOVERY);
	assert_int_equal(a->operation_since_ms.v, 0);
}

static void a_rebuild_has_ended_when_nothing_is_missing(void **state)
{
	const struct array_facts *a;

	(void)state;
	RECOVERY(0, 9000000);
	look(10000, raid6(LOST, ""), disk(0, 0), "");
	a = look(20000, raid6(LOST, ""), disk(0, 0), "");
	assert_int_equal(a->operation, MD_OP_IDLE);
	assert_false(a->done); /* the new disk failed in turn */
	assert_int_equal(a->calm_since_ms.v, 10000);
	a = IDLE_LOOK(30000);
	assert_true(a->done);
	assert_int_equal(a->health, MD_HEALTH_OPTIMAL);
	a = look(40000, raid6(FULL, ""), disk(0, 0), "#rg md md2\nsync_action=idle\ndegraded=1\n");
	assert_false(a->done); /* sysfs, a moment later, knows more */
	assert_int_equal(a->health, MD_HEALTH_DEGRADED);
}

static void the_rate_is_our_own(void **state)
{
	const struct array_facts *a;

	(void)state;
	RECOVERY(0, 1000000);
	a = RECOVERY(10000, 1361328); /* 37 MB/s */
	assert_in_range(a->rate.v, 36.9 * MB, 37.1 * MB);
	assert_in_range(a->remaining_ms.v, 239000, 240000);
	a = RECOVERY(20000, 1517578); /* a writer came: 16 MB/s, by the second reading */
	assert_in_range(a->rate.v, 15.9 * MB, 16.1 * MB);
	assert_int_equal(a->kernel_rate.v, 777 * 1024);
	a = RECOVERY(20100, 1517600); /* too near to tell anything */
	assert_in_range(a->rate.v, 15.9 * MB, 16.1 * MB);
	a = RECOVERY(20100 + RATE_MAX_WINDOW_MS + 1, 3000000);
	assert_false(a->rate.known); /* a mean over a gap says nothing of now */
	assert_false(a->remaining_ms.known);
}

static void a_stall_is_a_counter_that_stands(void **state)
{
	const struct array_facts *a;

	(void)state;
	RECOVERY(0, 1000000);
	a = RECOVERY(10000, 1100000);
	assert_int_equal(a->stalled_ms.v, 0);
	a = RECOVERY(20000, 1100000);
	assert_int_equal(a->stalled_ms.v, 10000);
	assert_int_equal(a->rate.v, 0);
	assert_false(a->remaining_ms.known);
	a = RECOVERY(70000, 1100000);
	assert_int_equal(a->stalled_ms.v, 60000);
	a = RECOVERY(80000, 1100001);
	assert_int_equal(a->stalled_ms.v, 0);
}

static void a_counter_that_falls_begins_a_new_run(void **state)
{
	const struct array_facts *a;

	(void)state;
	RECOVERY(0, 9000000);
	RECOVERY(10000, 9500000);
	a = RECOVERY(20000, 1000); /* the next slot's turn */
	assert_false(a->rate.known);
	assert_int_equal(a->progress_ppm.v, 100);
	assert_int_equal(a->stalled_ms.v, 0);
	a = RECOVERY(30000, 101000);
	assert_int_equal(a->rate.v, 100000 * 1024 / 10);
}

static void a_reading_older_than_the_last_is_dropped(void **state)
{
	(void)state;
	RECOVERY(20000, 1000000);
	snprintf(text, sizeof(text), "Personalities : [raid6] \n%sunused devices: <none>\n",
		raid6(FULL, ""));
	assert_false(take(10000));
	assert_int_equal(md("md2")->operation, MD_OP_RECOVERY);
	assert_int_equal(md("md2")->health, MD_HEALTH_DEGRADED);
	assert_int_equal(facts.read_at_ms.v, 20000);
	assert_true(take(20000));
}

static void client_load_comes_from_the_md_device(void **state)
{
	const struct array_facts *a;

	(void)state;
	look(0, raid6(FULL, ""), disk(1000, 2000), "");
	a = look(10000, raid6(FULL, ""), disk(1000 + 20000, 2000 + 40000), "");
	assert_int_equal(a->client_read.v, 20000 * 512 / 10);
	assert_int_equal(a->client_write.v, 40000 * 512 / 10);
	a = look(20000, raid6(FULL, ""), "", "");
	assert_false(a->client_read.known);
}

static void counters_that_wrap_go_on_and_ones_that_restart_do_not(void **state)
{
	const struct array_facts *a;

	(void)state;
	look(0, raid6(FULL, ""), disk(UINT32_MAX - 99, 5000), "");
	a = look(10000, raid6(FULL, ""), disk(9900, 5000), "");
	assert_int_equal(a->client_read.v, 10000 * 512 / 10);
	assert_int_equal(a->client_write.v, 0);
	a = look(20000, raid6(FULL, ""), disk(100, 50),
		""); /* restarted: 4 G sectors in 10 s are no wrap */
	assert_false(a->client_read.known);
	assert_false(a->client_write.known);
	a = look(30000, raid6(FULL, ""), disk(100, 20050), "");
	assert_int_equal(a->client_write.v, 20000 * 512 / 10);
}

static void a_baseline_is_learned_undisturbed_and_not_from_one_odd_sample(void **state)
{
	const struct array_facts *a = NULL;
	int64_t at = 0, done = 1000000;
	int i;

	(void)state;
	for (i = 0; i < 5; i++, at += 10000, done += 100000) {
		a = RECOVERY(at, done);
		if (i < 4)
			assert_false(a->baseline.known);
	}
	/* Windows count from the second on: the first began when the quiet did. */
	assert_int_equal(a->baseline.v, 10240000);
	assert_int_equal(a->rate_of_baseline_ppm.v, 1000000);
	a = RECOVERY(at, done + 1500000); /* over what the bitmap says is clean */
	assert_in_range(a->rate.v, 100 * MB, 200 * MB);
	assert_int_equal(a->baseline.v, 10240000);
}

static void what_clients_disturb_teaches_nothing(void **state)
{
	const struct array_facts *a = NULL;
	int64_t at = 0, done = 1000000;
	uint64_t writes = 0;
	int i;

	(void)state;
	for (i = 0; i < 30; i++, at += 10000, done += 10000, writes += 100000)
		a = look(at, raid6(LOST, running("recovery", done)), disk(0, writes), "");
	assert_false(a->baseline.known);
	assert_int_equal(a->rate.v, 1024000);
	/* The rests of a throttled job count: quiet, caches drained. */
	for (i = 0; i < 6; i++, at += 10000, done += 100000)
		a = look(at, raid6(LOST, running("recovery", done)), disk(0, writes), "");
	assert_true(a->baseline.known);
	assert_in_range(a->baseline.v, 10 * MB, 10.5 * MB);
	a = look(at, raid6(LOST, running("recovery", done - 80000)), disk(0, writes + 100000), "");
	assert_in_range(a->rate_of_baseline_ppm.v, 190000, 210000);
	/* Without diskstats nobody knows who disturbs. */
	track_init(&track, "nas1", MD_VENDOR_AUTO, NULL, 0);
	for (i = 0, at = 0; i < 20; i++, at += 10000, done += 1000)
		a = look(at, raid6(LOST, running("recovery", done)), "", "");
	assert_false(a->baseline.known);
}

static void a_baseline_is_by_position_and_by_operation(void **state)
{
	struct baseline b = {0};
	int64_t at;
	int i;

	(void)state;
	assert_false(baseline_at(&b, MD_OP_RECOVERY, 0).known);
	for (at = 0; at < 300000; at += 10000)
		baseline_add(&b, MD_OP_RECOVERY, at, 100 * MB - at * 100);
	assert_in_range(baseline_at(&b, MD_OP_RECOVERY, 20000).v, 95 * MB, 100 * MB);
	assert_in_range(baseline_at(&b, MD_OP_RECOVERY, 270000).v, 71 * MB, 76 * MB);
	assert_in_range(baseline_at(&b, MD_OP_RECOVERY, 400000).v, 71 * MB,
		76 * MB);                                            /* the nearest known */
	assert_false(baseline_at(&b, MD_OP_RECOVERY, 600000).known); /* too far */
	assert_false(baseline_at(&b, MD_OP_CHECK, 20000).known);
	for (i = 0; i < 3; i++)
		baseline_add(&b, MD_OP_RECOVERY, 1000000, (i + 1) * 10 * MB);
	assert_in_range(baseline_at(&b, MD_OP_RECOVERY, 1000000).v, 19.9 * MB, 20 * MB);
	baseline_add(&b, MD_OP_CHECK, 0, MB);
	assert_false(baseline_at(&b, MD_OP_RECOVERY, 20000).known);
}

static void an_absent_array_is_a_fault_until_it_is_forgotten(void **state)
{
	(void)state;
	IDLE_LOOK(0);
	look(10000, "md3 : active raid1 a[0] b[1]\n      5 blocks [2/2] [UU]\n      \n", "", "");
	assert_int_equal(facts.n_arrays, 2);
	assert_int_equal(md("md2")->health, MD_HEALTH_ABSENT);
	assert_int_equal(md("md2")->operation, MD_OP_UNKNOWN);
	assert_int_equal(md("md2")->level, MD_LEVEL_RAID6);
	assert_false(md("md2")->done);
	assert_false(md("md2")->redundancy_left.known);
	assert_false(track_forget(&track, "md9"));
	assert_true(track_forget(&track, "md2"));
	track_facts(&track, 10000, &facts);
	assert_int_equal(facts.n_arrays, 1);
	assert_string_equal(facts.arrays[0].name, "md3");
	look(20000, "", "", "");
	assert_int_equal(md("md3")->health, MD_HEALTH_ABSENT);
	look(30000, "md3 : active raid1 a[0] b[1]\n      5 blocks [2/2] [UU]\n      \n", "", "");
	assert_int_equal(md("md3")->health, MD_HEALTH_OPTIMAL);
	assert_int_equal(md("md3")->operation, MD_OP_IDLE);
	assert_true(track_forget(&track, "md3")); /* is there: stays */
	look(40000, "md3 : active raid1 a[0] b[1]\n      5 blocks [2/2] [UU]\n      \n", "", "");
	assert_int_equal(md("md3")->health, MD_HEALTH_OPTIMAL);
}

static void memory_survives_a_restart(void **state)
{
	static struct track_memory memory;
	int64_t at = 0, done = 1000000;
	int i;

	(void)state;
	for (i = 0; i < 8; i++, at += 10000, done += 100000)
		RECOVERY(at, done);
	track_memory_get(&track, &memory);
	assert_int_equal(memory.n_arrays, 1);
	assert_int_equal(memory.arrays[0].raid_disks, 5);
	track_init(&track, "nas1", MD_VENDOR_AUTO, NULL, 0);
	track_memory_set(&track, &memory);
	track_facts(&track, 0, &facts);
	assert_int_equal(facts.sensor, SENSOR_NEVER);
	/* What was known last: neither absent nor unknown, and the sensor says that it is old. */
	assert_int_equal(md("md2")->health, MD_HEALTH_DEGRADED);
	assert_int_equal(md("md2")->operation, MD_OP_RECOVERY);
	assert_int_equal(md("md2")->redundancy_left.v, 1);
	assert_false(md("md2")->rate.known);
	RECOVERY(1000, done);
	assert_int_equal(md("md2")->operation, MD_OP_RECOVERY);
	assert_int_equal(md("md2")->baseline.v, 10240000);
	track_init(&track, "nas1", MD_VENDOR_AUTO, NULL, 0);
	track_memory_set(&track, &memory);
	look(1000, "", "", "");
	assert_int_equal(md("md2")->health, MD_HEALTH_ABSENT);
}

static void a_failed_look_says_why_and_keeps_the_facts(void **state)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{"", "the text is empty"},
		{"Personalities : [raid1]\nmd2 : act", "the text was cut"},
		{"Personalities : [raid1]\nmd2 : active raid1 a[0] b[1]\n      5 blocks [2/2] "
		 "[UU]\n      \n",
			"the text of /proc/mdstat was cut"},
		{"Personalities : [raid1]\nmd2 : active raid1 a[0] b[1]\n      5 blocks [2/2] "
		 "[UU]\n      \nmd3: garbled\n"
		 "unused devices: <none>\n",
			"/proc/mdstat holds lines that are not the kernel's"},
		{"mdState=STARTED\n", "Unraid is not supported: its driver is not Linux md"},
		{"sh: cat: not found\n", "the text is not /proc/mdstat"},
	};
	size_t i;

	(void)state;
	RECOVERY(0, 1000000);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "%s", cases[i].text);
		assert_false(take(10000 + (int64_t)i));
		assert_int_equal(facts.sensor, SENSOR_NOT_UNDERSTOOD);
		assert_string_equal(facts.sensor_text, cases[i].sentence);
		assert_int_equal(facts.blind_since_ms.v, 10000);
		assert_int_equal(facts.read_at_ms.v, 0);
		assert_int_equal(md("md2")->operation, MD_OP_RECOVERY);
	}
	track_blind(&track, SENSOR_REFUSED, "connection refused", 30000);
	track_facts(&track, 30000, &facts);
	assert_int_equal(facts.sensor, SENSOR_REFUSED);
	assert_string_equal(facts.sensor_text, "connection refused");
	assert_int_equal(facts.blind_since_ms.v, 10000);
	RECOVERY(40000, 1100000);
	assert_int_equal(facts.sensor, SENSOR_OK);
	assert_string_equal(facts.sensor_text, "");
	assert_false(facts.blind_since_ms.known);
}

static void an_old_reading_goes_stale(void **state)
{
	(void)state;
	IDLE_LOOK(1000);
	track.stale_ms = 60000;
	track_facts(&track, 61000, &facts);
	assert_int_equal(facts.sensor, SENSOR_OK);
	track_facts(&track, 61001, &facts);
	assert_int_equal(facts.sensor, SENSOR_STALE);
	assert_int_equal(facts.blind_since_ms.v, 61000);
	assert_string_equal(facts.sensor_text, "the last reading is 60 s old");
}

static void mdstat_alone_works_with_fewer_facts(void **state)
{
	const struct array_facts *a;

	(void)state;
	snprintf(text, sizeof(text), "Personalities : [raid6] \n%sunused devices: <none>\n",
		raid6(LOST, running("recovery", 1000)));
	assert_true(take(0));
	a = md("md2");
	assert_int_equal(a->operation, MD_OP_RECOVERY);
	assert_false(a->client_read.known);
	assert_false(a->sync_speed_min.known);
	assert_false(facts.load_x100.known);
}

static void sysfs_tells_what_mdstat_does_not(void **state)
{
	static const struct {
		const char *sync, *action;
		enum md_operation operation;
		enum md_sync_state sync_state;
	} cases[] = {
		{"", "idle", MD_OP_IDLE, MD_SYNC_NONE},
		{"", "frozen", MD_OP_FROZEN, MD_SYNC_NONE},
		{"", "recover", MD_OP_RECOVERY, MD_SYNC_PENDING},
		{"\tresync=DELAYED\n", "recover", MD_OP_RECOVERY, MD_SYNC_DELAYED},
		{"\tresync=DELAYED\n", "check", MD_OP_CHECK, MD_SYNC_DELAYED},
		{"\tresync=DELAYED\n", "idle", MD_OP_DELAYED, MD_SYNC_DELAYED},
		{"\tresync=PENDING\n", "idle", MD_OP_PENDING, MD_SYNC_PENDING},
		{"\tresync=PENDING\n", "resync", MD_OP_RESYNC, MD_SYNC_PENDING},
		{"\trecover=REMOTE\n", "idle", MD_OP_RECOVERY, MD_SYNC_REMOTE},
		{"      [>.]  resync = 1.0% (1/9) finish=1.0min speed=1K/sec\n", "repair",
			MD_OP_REPAIR, MD_SYNC_RUNNING},
		{"      [>.]  check = 1.0% (1/9) finish=1.0min speed=1K/sec\n", "check",
			MD_OP_CHECK, MD_SYNC_RUNNING},
		{"      [>.]  recovery = 1.0% (1/9) finish=1.0min speed=1K/sec\n", "frozen",
			MD_OP_RECOVERY, MD_SYNC_RUNNING},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct array_facts *a;
		char sysfs[128];

		track_init(&track, "nas1", MD_VENDOR_AUTO, NULL, 0);
		snprintf(sysfs, sizeof(sysfs),
			"#rg md md2\nsync_action=%s\ndegraded=0\nsync_speed_min=5000 (system)\n",
			cases[i].action);
		a = look(0, raid6(FULL, cases[i].sync), "", sysfs);
		if (a->operation != cases[i].operation || a->sync_state != cases[i].sync_state)
			fail_msg("case %zu: %s, %s", i, md_operation_word(a->operation),
				md_sync_state_word(a->sync_state));
		assert_int_equal(a->done, a->operation == MD_OP_IDLE);
		assert_int_equal(a->calm_since_ms.known, a->operation == MD_OP_IDLE);
		assert_int_equal(a->sync_speed_min.v, 5000 * 1024);
		assert_false(a->sync_speed_max.known);
	}
}

static void redundancy_left_is_the_levels_less_what_is_missing(void **state)
{
	static const struct {
		const char *array;
		int64_t left; /* -1 unknown */
	} cases[] = {
		{"active raid1 a[0] b[1] c[2]\n      9 blocks [3/3] [UUU]\n", 2},
		{"active raid1 a[0] b[1]\n      9 blocks [3/2] [UU_]\n", 1},
		{"active raid1 a[0]\n      9 blocks [1/1] [U]\n", 0},
		{"active raid1 a[0](F)\n      9 blocks [1/0] [_]\n", 0},
		{"active raid5 a[0]\n      9 blocks level 5, 64k chunk, algorithm 2 [3/3] [UUU]\n",
			1},
		{"active raid5 a[0]\n      9 blocks level 5, 64k chunk, algorithm 2 [3/2] [UU_]\n",
			0},
		{"active raid5 a[0]\n      9 blocks level 5, 64k chunk, algorithm 2 [3/1] [U__]\n",
			0},
		{"active raid4 a[0]\n      9 blocks level 4, 64k chunk, algorithm 0 [3/3] [UUU]\n",
			1},
		{"active raid6 a[0]\n      9 blocks level 6, 64k chunk, algorithm 2 [5/5] "
		 "[UUUUU]\n",
			2},
		{"active raid6 a[0]\n      9 blocks level 6, 64k chunk, algorithm 2 [5/3] "
		 "[UUU__]\n",
			0},
		/* From RAID 5 to RAID 6: what RAID 5 had is still there. */
		{"active raid6 a[0]\n      9 blocks level 6, 64k chunk, algorithm 18 [4/3] [UUU_]\n"
		 "      [>.]  reshape = 1.0% (1/9) finish=1.0min speed=1K/sec\n",
			1},
		{"active raid10 a[0]\n      9 blocks 2 near-copies [4/4] [UUUU]\n", 1},
		{"active raid10 a[0]\n      9 blocks 2 near-copies [4/3] [UUU_]\n", 0},
		{"active raid0 a[0]\n      9 blocks 64k chunks\n", 0},
		{"active linear a[0]\n      9 blocks 64k rounding\n", 0},
		{"active raid9 a[0]\n      9 blocks whatever\n", -1},
		{"inactive a[0](S)\n      9 blocks super 1.2\n", -1},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct array_facts *a;
		char array[256];

		track_init(&track, "nas1", MD_VENDOR_AUTO, NULL, 0);
		snprintf(array, sizeof(array), "md2 : %s      \n", cases[i].array);
		a = look(0, array, "", "");
		if (a->redundancy_left.known != (cases[i].left >= 0) ||
			(a->redundancy_left.known && a->redundancy_left.v != cases[i].left))
			fail_msg("%s: %lld", cases[i].array, (long long)a->redundancy_left.v);
	}
}

static void a_damaged_line_is_unknown_at_once_and_never_idle(void **state)
{
	const struct array_facts *a = IDLE_LOOK(0);

	(void)state;
	assert_true(a->done);
	a = look(10000, raid6(FULL, "garbage\n"), disk(0, 0), "");
	assert_int_equal(a->operation, MD_OP_UNKNOWN);
	assert_int_equal(a->sync_state, MD_SYNC_UNKNOWN);
	assert_int_equal(a->health, MD_HEALTH_UNKNOWN);
	assert_false(a->done);
	assert_false(a->missing.known);
	assert_false(a->calm_since_ms.known);
	a = IDLE_LOOK(20000);
	assert_int_equal(a->operation, MD_OP_IDLE);
	assert_int_equal(a->calm_since_ms.v, 20000);
}

#define SYSTEM(md0, md1)                                                                           \
	"md1 : active raid1 sata1p2[0]\n      2097088 blocks " md1 "\n      \n"                    \
	"md0 : active raid1 sata1p1[0]\n      8388544 blocks " md0 "\n      \n"

static void a_system_array_that_loses_a_disk_it_had_is_degraded(void **state)
{
	static struct track_memory memory;

	(void)state;
	look(0, SYSTEM("[8/5] [UUUUU___]", "[8/5] [UUUUU___]"), "", "");
	assert_int_equal(md("md0")->role, MD_ROLE_SYSTEM);
	assert_int_equal(md("md0")->health, MD_HEALTH_OPTIMAL);
	assert_true(md("md0")->empty_slots);
	assert_int_equal(md("md0")->missing.v, 0);
	assert_int_equal(md("md0")->redundancy_left.v, 4);
	assert_true(md("md0")->done);
	track_memory_get(&track, &memory);
	track_init(&track, "nas1", MD_VENDOR_AUTO, NULL, 0);
	track_memory_set(&track, &memory);
	look(1000, SYSTEM("[8/4] [UUUU____]", "[8/4] [UUUU____]"), "", "");
	assert_int_equal(md("md0")->health, MD_HEALTH_DEGRADED);
	assert_int_equal(md("md0")->missing.v, 1);
	assert_int_equal(md("md0")->redundancy_left.v, 3);
	assert_true(track_forget(&track, "md0")); /* it was meant */
	look(2000, SYSTEM("[8/4] [UUUU____]", "[8/4] [UUUU____]"), "", "");
	assert_int_equal(md("md0")->health, MD_HEALTH_OPTIMAL);
	assert_int_equal(md("md1")->health, MD_HEALTH_DEGRADED);
}

static void configured_roles_reach_the_facts(void **state)
{
	const struct md_role_rule rule = {"md2", MD_ROLE_CACHE};

	(void)state;
	track_init(&track, "nas1", MD_VENDOR_GENERIC, &rule, 1);
	assert_int_equal(IDLE_LOOK(0)->role, MD_ROLE_CACHE);
}

/* A repair on a Synology: SHR has one array after the other on the same disks. */
static void a_second_array_that_waits_its_turn_is_not_done(void **state)
{
#define PAIR(counts2, sync2, counts3, sync3)                                                       \
	"md3 : active raid5 a6[0] b6[1] c6[3]\n      9 blocks super 1.2 level 5, 64k chunk, "      \
	"algorithm 2 " counts3 "\n" sync3 "      \n"                                               \
	"md2 : active raid5 a5[0] b5[1] c5[3]\n      9 blocks super 1.2 level 5, 64k chunk, "      \
	"algorithm 2 " counts2 "\n" sync2 "      \n"
#define RUNS "      [>.]  recovery = 1.0% (1/9) finish=1.0min speed=1K/sec\n"
	int i;

	(void)state;
	look(0, PAIR("[3/2] [UU_]", RUNS, "[3/2] [UU_]", ""), "", "");
	assert_int_equal(md("md3")->operation, MD_OP_IDLE);
	assert_false(md("md3")->done);
	for (i = 1; i < 3; i++)
		look(i * 10000, PAIR("[3/3] [UUU]", "", "[3/2] [UU_]", "\tresync=DELAYED\n"), "",
			"");
	assert_true(md("md2")->done);
	assert_int_equal(md("md3")->operation, MD_OP_DELAYED);
	for (; i < 5; i++)
		look(i * 10000, PAIR("[3/3] [UUU]", "", "[3/2] [UU_]", RUNS), "", "");
	assert_int_equal(md("md3")->operation, MD_OP_RECOVERY);
	assert_false(md("md3")->done);
	for (; i < 7; i++)
		look(i * 10000, PAIR("[3/3] [UUU]", "", "[3/3] [UUU]", ""), "", "");
	assert_true(md("md3")->done);
}

static void too_many_arrays_are_refused_without_losing_any(void **state)
{
	static char arrays[16384];
	size_t at = 0;
	int i;

	(void)state;
	for (i = 0; i < 100; i++)
		at += (size_t)snprintf(
			arrays + at, sizeof(arrays) - at, "md%d : inactive\n      \n", i);
	look(0, arrays, "", "");
	assert_int_equal(facts.n_arrays, 100);
	for (at = 0, i = 200; i < 229; i++)
		at += (size_t)snprintf(
			arrays + at, sizeof(arrays) - at, "md%d : inactive\n      \n", i);
	snprintf(text, sizeof(text), "Personalities : \n%sunused devices: <none>\n", arrays);
	assert_false(take(10000));
	assert_int_equal(facts.sensor, SENSOR_NOT_UNDERSTOOD);
	assert_int_equal(facts.n_arrays, 100);
}

#define TEST(name) cmocka_unit_test_setup(name, fresh)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_first_reading_counts_at_once),
		TEST(a_change_of_operation_needs_two_readings),
		TEST(a_rebuild_that_waits_and_then_runs_is_believed_at_its_second_reading),
		TEST(a_blip_of_one_reading_changes_nothing),
		TEST(a_rebuild_has_ended_when_nothing_is_missing),
		TEST(the_rate_is_our_own),
		TEST(a_stall_is_a_counter_that_stands),
		TEST(a_counter_that_falls_begins_a_new_run),
		TEST(a_reading_older_than_the_last_is_dropped),
		TEST(client_load_comes_from_the_md_device),
		TEST(counters_that_wrap_go_on_and_ones_that_restart_do_not),
		TEST(a_baseline_is_learned_undisturbed_and_not_from_one_odd_sample),
		TEST(what_clients_disturb_teaches_nothing),
		TEST(a_baseline_is_by_position_and_by_operation),
		TEST(an_absent_array_is_a_fault_until_it_is_forgotten),
		TEST(memory_survives_a_restart),
		TEST(a_failed_look_says_why_and_keeps_the_facts),
		TEST(an_old_reading_goes_stale),
		TEST(mdstat_alone_works_with_fewer_facts),
		TEST(sysfs_tells_what_mdstat_does_not),
		TEST(redundancy_left_is_the_levels_less_what_is_missing),
		TEST(a_damaged_line_is_unknown_at_once_and_never_idle),
		TEST(a_system_array_that_loses_a_disk_it_had_is_degraded),
		TEST(configured_roles_reach_the_facts),
		TEST(a_second_array_that_waits_its_turn_is_not_done),
		TEST(too_many_arrays_are_refused_without_losing_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
