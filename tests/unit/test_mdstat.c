// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "md/health.h"
#include "md/mdstat.h"

static struct mdstat m;

#define HEAD "Personalities : [raid0] [raid1] [raid6] [raid5] [raid4] [raid10] \n"
#define TAIL "      \nunused devices: <none>\n"

static const struct mdstat_array *array_of(const char *text)
{
	if (!mdstat_parse(text, strlen(text), &m))
		fail_msg("%s: %s", m.why, text);
	assert_true(m.n_arrays >= 1);
	return &m.arrays[0];
}

/* One array in a whole text: `first` ends its first line, `rest` are its further lines. */
static const struct mdstat_array *one(const char *first, const char *rest)
{
	static char text[8192];

	snprintf(text, sizeof(text), HEAD "md2 : %s\n%s" TAIL, first, rest);
	return array_of(text);
}

static enum mdstat_format format_of(const char *text)
{
	mdstat_parse(text, strlen(text), &m);
	if (m.format != MDSTAT_GOOD) {
		assert_int_equal(m.n_arrays, 0);
		assert_true(m.why[0]);
	}
	return m.format;
}

#define SAYS(slice, word) assert_true(mdstat_says(&m, slice, word))

static void every_field_of_a_running_array_is_read(void **state)
{
	const struct mdstat_array *a =
		one("active raid6 sdh6[8](W) sda6[0] sdg6[12](F) sdf6[5](S) sdb6[1](R)",
			"      17581481472 blocks super 1.2 level 6, 64k chunk, algorithm 2 [8/7] "
			"[UUUUUU_U]\n"
			"      [=>...................]  recovery =  8.5% (16775552/195310144) "
			"finish=17.0min "
			"speed=259783K/sec\n"
			"      bitmap: 3/65 pages [12KB], 65536KB chunk, file: /a b\n");

	(void)state;
	assert_string_equal(a->name, "md2");
	assert_int_equal(a->state, MDSTAT_ACTIVE);
	assert_int_equal(a->read_only, MDSTAT_RO_NO);
	assert_int_equal(a->level, MD_LEVEL_RAID6);
	SAYS(a->metadata, "1.2");
	assert_int_equal(a->size_kib.v, 17581481472);
	assert_int_equal(a->raid_disks.v, 8);
	assert_int_equal(a->working.v, 7);
	SAYS(a->slots, "UUUUUU_U");
	assert_int_equal(a->slots_missing, 1);
	assert_int_equal(a->operation, MD_OP_RECOVERY);
	assert_int_equal(a->sync_state, MD_SYNC_RUNNING);
	assert_int_equal(a->percent_x10.v, 85);
	assert_int_equal(a->done_kib.v, 16775552);
	assert_int_equal(a->total_kib.v, 195310144);
	assert_int_equal(a->finish_x10.v, 170);
	assert_int_equal(a->speed_kib_s.v, 259783);
	assert_int_equal(a->n_members, 5);
	assert_int_equal(a->n_failed, 1);
	assert_int_equal(a->n_spare, 1);
	SAYS(m.members[0].name, "sdh6");
	assert_int_equal(m.members[0].number, 8);
	assert_int_equal(m.members[0].flags, MDSTAT_WRITE_MOSTLY);
	assert_int_equal(m.members[4].flags, MDSTAT_REPLACEMENT);
	assert_false(a->damaged);
	assert_true(m.whole);
}

static void device_names_of_every_kind_are_members(void **state)
{
	const struct mdstat_array *a = one("active raid1 dm-12[0] sata1p5[1] nvme0n1p3[2](W)(J) "
					   "cciss!c0d0p1[133](W)(R) md52[4] "
					   "pci-0000:00[5] unknown-block(8,17)[6](F)",
		"      1000 blocks [7/6] [UUUUUU_]\n");

	(void)state;
	assert_int_equal(a->n_members, 7);
	SAYS(m.members[3].name, "cciss!c0d0p1");
	assert_int_equal(m.members[2].flags, MDSTAT_WRITE_MOSTLY | MDSTAT_JOURNAL);
	SAYS(m.members[5].name, "pci-0000:00");
	SAYS(m.members[6].name, "unknown-block(8,17)");
	assert_int_equal(m.members[6].flags, MDSTAT_FAULTY);
	assert_false(a->damaged);
}

static void each_state_and_read_only_word_is_known(void **state)
{
	static const struct {
		const char *first;
		enum mdstat_state state;
		enum mdstat_read_only read_only;
	} cases[] = {
		{"active raid1 sda[0] sdb[1]", MDSTAT_ACTIVE, MDSTAT_RO_NO},
		{"active (read-only) raid1 sda[0] sdb[1]", MDSTAT_ACTIVE, MDSTAT_RO_YES},
		{"active (auto-read-only) raid1 sda[0] sdb[1]", MDSTAT_ACTIVE, MDSTAT_RO_AUTO},
		{"active(auto-read-only) raid1 sda[0] sdb[1]", MDSTAT_ACTIVE, MDSTAT_RO_AUTO},
		{"broken raid1 sda[0] sdb[1]", MDSTAT_BROKEN, MDSTAT_RO_NO},
		{"broken (read-only) raid1 sda[0] sdb[1]", MDSTAT_BROKEN, MDSTAT_RO_YES},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct mdstat_array *a =
			one(cases[i].first, "      1000 blocks [2/2] [UU]\n");

		assert_int_equal(a->state, cases[i].state);
		assert_int_equal(a->read_only, cases[i].read_only);
		assert_int_equal(a->level, MD_LEVEL_RAID1);
		assert_int_equal(a->n_members, 2);
		assert_false(a->damaged);
	}
}

static void each_personality_prints_its_own_geometry(void **state)
{
	static const struct {
		const char *level;
		const char *geometry;
		enum md_health health;
	} cases[] = {
		{"raid1", "[2/2] [UU]", MD_HEALTH_OPTIMAL},
		{"raid1", "[2/0] [__]", MD_HEALTH_FAILED},
		{"raid4", "super 1.2 level 4, 64k chunk, algorithm 0 [3/2] [UU_]",
			MD_HEALTH_DEGRADED},
		{"raid5", "super 1.2 level 5, 512k chunk, algorithm 2 [3/1] [U__]",
			MD_HEALTH_FAILED},
		{"raid6", "super 1.2 level 6, 512k chunk, algorithm 18 [4/2] [UU__]",
			MD_HEALTH_DEGRADED},
		{"raid6", "super 1.2 level 6, 512k chunk, algorithm 2 [4/1] [U___]",
			MD_HEALTH_FAILED},
		{"raidF1", "super 1.2 level 45, 64k chunk, algorithm 2 [3/3] [UUU]",
			MD_HEALTH_OPTIMAL},
		{"raid10", "super 1.2 2 near-copies [2/2] [UU]", MD_HEALTH_OPTIMAL},
		{"raid10", "super 1.2 512K chunks 2 near-copies [4/2] [U_U_]", MD_HEALTH_DEGRADED},
		{"raid10", "super 1.2 512K chunks 2 near-copies [4/2] [UU__]", MD_HEALTH_FAILED},
		{"raid10", "super 1.2 512K chunks 2 far-copies [4/2] [_UU_]", MD_HEALTH_FAILED},
		{"raid10", "super 1.2 512K chunks 2 offset-copies [4/3] [UUU_]",
			MD_HEALTH_DEGRADED},
		{"raid10",
			"super 1.2 64K chunks 2 near-copies 2 far-copies 2 devices per set [4/4] "
			"[UUUU]",
			MD_HEALTH_OPTIMAL},
		{"raid0", "super 1.2 512k chunks", MD_HEALTH_NO_REDUNDANCY},
		{"raid0", "super 1.2 64k chunks [2/2] [UU]", MD_HEALTH_NO_REDUNDANCY},
		{"raid0", "super 1.2 64k chunks [2/1] [U_]", MD_HEALTH_FAILED},
		{"linear", "64k rounding", MD_HEALTH_NO_REDUNDANCY},
		{"linear", "super 1.2 64k rounding [2/2] [EU]", MD_HEALTH_ERROR},
		{"multipath", "super 1.2 [2/1] [U_]", MD_HEALTH_DEGRADED},
		{"faulty",
			"super non-persistent WriteTransient=2(8) ReadFixable=1(0) WriteAll "
			"nfaults=0",
			MD_HEALTH_NO_REDUNDANCY},
	};
	char first[64], line[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct mdstat_array *a;

		snprintf(first, sizeof(first), "active %s sda[0] sdb[1]", cases[i].level);
		snprintf(line, sizeof(line), "      1000 blocks %s\n", cases[i].geometry);
		a = one(first, line);
		if (a->damaged || health_of(&m, a) != cases[i].health)
			fail_msg("%s %s: damaged %d, %s", cases[i].level, cases[i].geometry,
				a->damaged, md_health_word(health_of(&m, a)));
	}
}

static void an_inactive_array_has_no_level(void **state)
{
	const struct mdstat_array *a = one(
		"inactive sdd1[3](S) dm-9[0](S)", "      9763571712 blocks super 1.2\n       \n");

	(void)state;
	assert_int_equal(a->state, MDSTAT_INACTIVE);
	assert_int_equal(a->level, MD_LEVEL_UNKNOWN);
	assert_int_equal(a->level_text.len, 0);
	assert_int_equal(a->n_spare, 2);
	assert_int_equal(health_of(&m, a), MD_HEALTH_INACTIVE);
	a = one("inactive sdd1[3](S)", "      4420 blocks super external:imsm\n");
	assert_int_equal(health_of(&m, a), MD_HEALTH_CONTAINER);
	a = one("inactive sdd1[3](S)", "      4420 blocks super external:-md127/0\n");
	assert_int_equal(health_of(&m, a), MD_HEALTH_INACTIVE);
	a = one("inactive", "");
	assert_int_equal(a->n_members, 0);
	assert_int_equal(health_of(&m, a), MD_HEALTH_INACTIVE);
	assert_false(a->damaged);
}

static void an_array_without_members_goes_on_in_its_first_line(void **state)
{
	const struct mdstat_array *a =
		one("active raid5 super 1.2 level 5, 64k chunk, algorithm 2 [4/0] [____]", "");

	(void)state;
	assert_false(a->damaged);
	assert_int_equal(a->slots_missing, 4);
	assert_int_equal(health_of(&m, a), MD_HEALTH_FAILED);
	a = one("active raid1", "");
	assert_true(a->damaged);
	assert_int_equal(health_of(&m, a), MD_HEALTH_UNKNOWN);
}

static void a_waiting_operation_is_not_idle(void **state)
{
	static const struct {
		const char *line;
		enum md_operation operation;
		enum md_sync_state sync_state;
	} cases[] = {
		{"\tresync=DELAYED\n", MD_OP_UNKNOWN, MD_SYNC_DELAYED},
		{"\tresync=PENDING\n", MD_OP_RESYNC, MD_SYNC_PENDING},
		{"\tresync=REMOTE\n", MD_OP_RESYNC, MD_SYNC_REMOTE},
		{"\trecover=REMOTE\n", MD_OP_RECOVERY, MD_SYNC_REMOTE},
		{"\treshape=REMOTE\n", MD_OP_RESHAPE, MD_SYNC_REMOTE},
		{"      [====>................]  check = 21.0% (394239024/1875240960) "
		 "finish=1059475.2min speed=23K/sec\n",
			MD_OP_CHECK, MD_SYNC_RUNNING},
		{"      [====================>]  reshape =100.0% (10/10) finish=0.0min "
		 "speed=0K/sec\n",
			MD_OP_RESHAPE, MD_SYNC_RUNNING},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char rest[256];
		const struct mdstat_array *a;

		snprintf(rest, sizeof(rest), "      1000 blocks [2/2] [UU]\n%s", cases[i].line);
		a = one("active raid1 sda[0] sdb[1]", rest);
		assert_int_equal(a->operation, cases[i].operation);
		assert_int_equal(a->sync_state, cases[i].sync_state);
		assert_false(a->damaged);
	}
}

static void numbers_beyond_reason_are_kept_or_refused_not_wrapped(void **state)
{
	const struct mdstat_array *a = one("active raid1 sda[0] sdb[1]",
		"      9223372036854775807 blocks [2/2] [UU]\n"
		"      [>....................]  resync =  0.0% (1/7813894144) "
		"finish=328606806584.3min "
		"speed=4611686018427387904K/sec\n");

	(void)state;
	assert_false(a->damaged);
	assert_true(a->size_kib.v == INT64_MAX);
	assert_true(a->finish_x10.v == 3286068065843);
	assert_true(a->speed_kib_s.v == 4611686018427387904);
	a = one("active raid1 sda[0] sdb[1]",
		"      1000 blocks [2/2] [UU]\n      [>....]  resync =  0.0% "
		"(1/99999999999999999999) "
		"finish=1.0min speed=1K/sec\n");
	assert_true(a->damaged);
	assert_int_equal(a->operation, MD_OP_RESYNC);
	assert_false(a->total_kib.known);
	assert_false(a->done_kib.known);
	a = one("active raid1 sda[0] sdb[1]", "      99999999999999999999 blocks [2/2] [UU]\n");
	assert_true(a->damaged);
}

static void counts_and_map_may_disagree_and_the_worse_counts(void **state)
{
	const struct mdstat_array *a = one("active raid5 a[0] b[1] c[2] d[3]",
		"      1000 blocks level 5, 64k chunk, algorithm 2 [4/3] [UUUU]\n");

	(void)state;
	assert_int_equal(health_missing(a).v, 1);
	assert_int_equal(health_of(&m, a), MD_HEALTH_DEGRADED);
	a = one("active raid1 a[0] b[1]", "      1000 blocks [2/3] [UU]\n");
	assert_int_equal(health_missing(a).v, 0);
	assert_int_equal(health_of(&m, a), MD_HEALTH_OPTIMAL);
	a = one("active raid1 a[0] b[1]", "      1000 blocks [2/-1] [UU]\n");
	assert_int_equal(a->working.v, -1);
	assert_int_equal(health_of(&m, a), MD_HEALTH_FAILED);
	a = one("active raid1 a[0] b[1]", "      1000 blocks [3/2] [UU]\n");
	assert_true(a->damaged);
	assert_int_equal(health_of(&m, a), MD_HEALTH_DEGRADED);
	a = one("active raid1 a[0] b[1]", "      1000 blocks [2/2] [UUU]\n");
	assert_int_equal(health_of(&m, a), MD_HEALTH_UNKNOWN);
}

static void a_growing_array_has_not_failed(void **state)
{
	const struct mdstat_array *a = one("active raid5 a[0] b[1] c[2]",
		"      1000 blocks super 0.91 level 5, 64k chunk, algorithm 2 [6/3] [UUU___]\n"
		"      [=>....]  reshape = 10.0% (100/1000) finish=1.0min speed=1K/sec\n");

	(void)state;
	assert_int_equal(health_of(&m, a), MD_HEALTH_DEGRADED);
	SAYS(a->metadata, "0.91");
}

static void a_disk_error_is_an_error_whatever_the_counts_say(void **state)
{
	const struct mdstat_array *a =
		one("active raid1 sdb5[0](E)", "      35450880 blocks super 1.2 [1/1] [E]\n");

	(void)state;
	assert_int_equal(a->n_error, 1);
	assert_int_equal(a->slots_error, 1);
	assert_int_equal(health_of(&m, a), MD_HEALTH_ERROR);
}

/* What a mail program or a forum makes of a text: nothing false may come of it. */
static void a_line_that_is_not_the_kernels_takes_trust_away(void **state)
{
	static const struct {
		const char *first, *rest;
		enum md_health health;
		enum md_operation operation;
	} cases[] = {
		/* The map went to a line of its own. */
		{"active raid5 a[0] b[1] c[2]",
			"      1000 blocks level 5, 64k chunk, algorithm 2\n[3/2] [U_U]\n",
			MD_HEALTH_UNKNOWN, MD_OP_UNKNOWN},
		/* The members did. */
		{"active raid1 a[0]", "b[1](F)\n      1000 blocks [2/2] [UU]\n", MD_HEALTH_UNKNOWN,
			MD_OP_UNKNOWN},
		/* Underscores were taken for blanks. */
		{"active raid1 a[0]", "      1000 blocks [4/4] [UU  ]\n", MD_HEALTH_UNKNOWN,
			MD_OP_UNKNOWN},
		/* The progress was escaped for HTML. */
		{"active raid1 a[0] b[1]",
			"      1000 blocks [2/2] [UU]\n      [=&gt;...]  check = 1.0% (1/9) "
			"finish=1.0min speed=1K/sec\n",
			MD_HEALTH_UNKNOWN, MD_OP_UNKNOWN},
		/* The progress was wrapped: what runs is told, how far is not. */
		{"active raid1 a[0] b[1]",
			"      1000 blocks [2/2] [UU]\n      [=>...]  check = 1.0% "
			"(1/9)\nfinish=1.0min speed=1K/sec\n",
			MD_HEALTH_UNKNOWN, MD_OP_CHECK},
		/* A loss that is plain to see stays one. */
		{"active raid1 a[0]", "      1000 blocks [2/1] [U_]\nsome words\n",
			MD_HEALTH_DEGRADED, MD_OP_UNKNOWN},
		/* Two at once: one is another array's. */
		{"active raid1 a[0] b[1]",
			"      1000 blocks [2/2] [UU]\n\tresync=DELAYED\n\tresync=PENDING\n",
			MD_HEALTH_UNKNOWN, MD_OP_UNKNOWN},
		/* A letter nobody knows. */
		{"active raid1 a[0](X) b[1]", "      1000 blocks [2/2] [UU]\n", MD_HEALTH_UNKNOWN,
			MD_OP_UNKNOWN},
		/* A level nobody knows: its map is read, its redundancy is not known. */
		{"active raid9 a[0] b[1]", "      1000 blocks super 1.2 9 rows [2/2] [UU]\n",
			MD_HEALTH_UNKNOWN, MD_OP_IDLE},
		{"active raid9 a[0] b[1]", "      1000 blocks super 1.2 9 rows [2/1] [U_]\n",
			MD_HEALTH_DEGRADED, MD_OP_IDLE},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct mdstat_array *a = one(cases[i].first, cases[i].rest);

		if (health_of(&m, a) != cases[i].health || a->operation != cases[i].operation)
			fail_msg("case %zu: %s, %s", i, md_health_word(health_of(&m, a)),
				md_operation_word(a->operation));
	}
}

static void what_surrounds_the_text_changes_nothing(void **state)
{
	static const char *const texts[] = {
		HEAD "md2 : active raid1 a[0] b[1]\n      1000 blocks [2/2] [UU]\n" TAIL,
		"# cat /proc/mdstat\n" HEAD
		"md2 : active raid1 a[0] b[1]\n      1000 blocks [2/2] [UU]\n" TAIL "root@nas:~# ",
		"\t" HEAD "\tmd2 : active raid1 a[0] b[1]\n\t      1000 blocks [2/2] [UU]\n\t\n",
		"md2 : active raid1 a[0] b[1]\n1000 blocks [2/2] [UU]\n",
		"md2 : active raid1 a[0] b[1]\n      1000 blocks [2/2] [UU]",
		HEAD "read_ahead 1024 sectors\nEvent: 8\nmd2 : active raid1 a[0] b[1]\n"
		     "      1000 blocks [2/2] [UU]\nunused devices: <none>\n",
		"Personalities : [raid1] \r\nmd2 : active raid1 a[0] b[1]\r\n      1000 blocks "
		"[2/2] [UU]\r\n"
		"      \r\nunused devices: <none>\r\n",
		"md2 : active raid1 a[0] b[1] 1000 blocks [2/2] [UU]\n",
		"md2 : active raid1 a[0] b[1]\n      1000 blocks [2/2] [UU]\n\nadmin@nas:~$ ",
		HEAD "\n\nmd2 : active raid1 a[0] b[1]\n\n      1000 blocks [2/2] [UU]\n\n\nunused "
		     "devices: sdc1 sdd1\n",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const struct mdstat_array *a = array_of(texts[i]);

		assert_int_equal(m.n_arrays, 1);
		assert_int_equal(a->size_kib.v, 1000);
		assert_int_equal(health_of(&m, a), MD_HEALTH_OPTIMAL);
		assert_int_equal(a->operation, MD_OP_IDLE);
	}
}

static void lines_after_a_garbled_first_line_are_nobodys(void **state)
{
	const struct mdstat_array *a = array_of(
		HEAD "md2 : active raid1 a[0] b[1]\n      1000 blocks [2/2] [UU]\n      \n"
		     "md3: activ raid1 c[0]\n      1000 blocks [2/1] [U_]\n"
		     "      [>.]  recovery = 1.0% (1/9) finish=1.0min speed=1K/sec\n" TAIL);

	(void)state;
	assert_int_equal(m.n_arrays, 1);
	assert_int_equal(m.n_stray, 3);
	assert_int_equal(a->operation, MD_OP_IDLE);
	assert_int_equal(health_of(&m, a), MD_HEALTH_OPTIMAL);
	a = array_of(HEAD "md2 : active raid1 a[0] b[1]\nmd3: activ raid1 c[0]\n      1000 blocks "
			  "[2/2] [UU]\n" TAIL);
	assert_int_equal(health_of(&m, a), MD_HEALTH_UNKNOWN);
	assert_int_equal(a->operation, MD_OP_UNKNOWN);
}

/* A line break was lost: the array that follows in the same line must not be swallowed. */
static void an_array_joined_to_the_header_is_no_part_of_it(void **state)
{
	static const char *const heads[] = {"Personalities : [raid5] ",
		"Personalities : [raid5] \nread_ahead 1024 sectors",
		"Personalities : [raid5] \nEvent: 8 ", "Personalities : [raid5"};
	static const char lost[] = "md1 : active raid5 super 1.2 level 5, 64k chunk, algorithm 2 "
				   "[4/0] [____]\n";
	static const char sound[] = "md2 : active raid1 a[0] b[1]\n      1000 blocks [2/2] [UU]\n";
	char text[512];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		snprintf(text, sizeof(text), "%s%s" TAIL, heads[i], lost);
		assert_int_equal(format_of(text), MDSTAT_UNPARSEABLE);
		snprintf(text, sizeof(text), "%s%s%s" TAIL, heads[i], lost, sound);
		assert_int_equal(format_of(text), MDSTAT_GOOD);
		assert_int_equal(m.n_arrays, 1);
		assert_int_equal(m.n_stray, 1);
	}
	assert_int_equal(
		format_of("Personalities : [1 linear] [2 raid0]\nread_ahead not set\n" TAIL),
		MDSTAT_GOOD);
	assert_int_equal(
		format_of(HEAD "read_ahead 120 sectors  \r\nEvent: 12                   \n" TAIL),
		MDSTAT_GOOD);
}

static void no_reading_is_never_no_arrays(void **state)
{
	(void)state;
	assert_int_equal(format_of(""), MDSTAT_NONE);
	assert_int_equal(format_of(" \n\t\r\n"), MDSTAT_NONE);
	assert_int_equal(
		format_of("cat: /proc/mdstat: No such file or directory\n"), MDSTAT_UNPARSEABLE);
	assert_int_equal(format_of("Personalities : [raid1]\n"), MDSTAT_UNPARSEABLE);
	assert_int_equal(format_of("Personalities : [rai"), MDSTAT_UNPARSEABLE);
	assert_int_equal(format_of("unused devices: <none>\n"), MDSTAT_UNPARSEABLE);
	assert_int_equal(format_of("mdState=STARTED\nmdNumDisks=3\nmdResync=0\n"), MDSTAT_UNRAID);
	assert_int_equal(format_of("{\"arrays\": []}\n"), MDSTAT_UNPARSEABLE);
	assert_int_equal(format_of(HEAD "md2: active raid1 a[0]\n" TAIL), MDSTAT_UNPARSEABLE);
	assert_int_equal(format_of(HEAD "md2 :\nactive raid1 a[0]\n" TAIL), MDSTAT_UNPARSEABLE);
	assert_int_equal(format_of(HEAD "unused devices: <none>\n"), MDSTAT_GOOD);
	assert_int_equal(m.n_arrays, 0);
	assert_false(mdstat_parse("Personalities :\0\n", 17, &m));
	assert_int_equal(m.format, MDSTAT_UNPARSEABLE);
}

static void a_text_that_ends_inside_a_line_was_cut(void **state)
{
	static const char *const ends[] = {
		"      ", "m", "md1 : act", "unused dev", "      [=", "bit", "\tresync", "12"};
	char cut[512];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(cut, sizeof(cut),
			HEAD "md2 : active raid1 a[0] b[1]\n      1000 blocks [2/2] [UU]\n%s%s",
			i ? "\n" : "", ends[i]);
		if (format_of(cut) != MDSTAT_UNPARSEABLE)
			fail_msg("'%s' reads as whole", ends[i]);
	}
}

static void a_text_that_says_an_array_twice_is_not_believed(void **state)
{
#define MD2 "md2 : active raid1 a[0] b[1]\n      1000 blocks [2/2] [UU]\n"
	(void)state;
	assert_int_equal(format_of(HEAD MD2 MD2 TAIL), MDSTAT_UNPARSEABLE);
	assert_int_equal(format_of(HEAD MD2 TAIL HEAD MD2 TAIL), MDSTAT_UNPARSEABLE);
	assert_int_equal(format_of(HEAD MD2 TAIL MD2), MDSTAT_UNPARSEABLE);
}

/* Cut at each byte: never a false "optimal", never a running operation that reads as idle. */
static void a_text_cut_anywhere_says_nothing_false(void **state)
{
	static const char text[] =
		HEAD "md2 : active raid5 sda1[0] sdc1[3](F) sdb1[1]\n"
		     "      2000 blocks super 1.2 level 5, 64k chunk, algorithm 2 [3/2] [UU_]\n"
		     "      [=>...................]  recovery =  8.5% (17/200) finish=17.0min "
		     "speed=259783K/sec\n"
		     "      bitmap: 1/1 pages [4KB], 65536KB chunk\n\n"
		     "md1 : active raid1 sdd1[0] sde1[1]\n"
		     "      1000 blocks super 1.2 [2/1] [U_]\n"
		     "      \n"
		     "unused devices: <none>\n";
	size_t len, i, good = 0;

	(void)state;
	for (len = 0; len <= strlen(text); len++) {
		char *copy = malloc(len + 1); /* exact, so that a sanitizer sees a read past it */

		assert_non_null(copy);
		memcpy(copy, text, len);
		if (mdstat_parse(copy, len, &m))
			good++;
		for (i = 0; i < m.n_arrays; i++) {
			if (health_of(&m, &m.arrays[i]) == MD_HEALTH_OPTIMAL)
				fail_msg("optimal after %zu bytes", len);
		}
		if (m.format == MDSTAT_GOOD && !m.n_arrays)
			fail_msg("no arrays after %zu bytes", len);
		free(copy);
	}
	/* Whole lines with a map stand; a cut inside a line does not. */
	assert_in_range(good, 8, 60);
}

static void large_boxes_fit_and_larger_are_refused(void **state)
{
	static char text[MDSTAT_MAX_TEXT + 2];
	size_t at, i;

	(void)state;
	at = (size_t)sprintf(text, "%s", HEAD);
	for (i = 0; i < 100; i++)
		at += (size_t)sprintf(text + at,
			"md%zu : active raid1 sda%zu[0] sdb%zu[1]\n      1000 blocks super 1.2 "
			"[2/2] [UU]\n      \n",
			i, i, i);
	assert_true(mdstat_parse(text, at, &m));
	assert_int_equal(m.n_arrays, 100);
	assert_int_equal(m.n_members, 200);
	for (; i < 129; i++)
		at += (size_t)sprintf(text + at, "md%zu : inactive\n      \n", i);
	assert_false(mdstat_parse(text, at, &m));
	assert_int_equal(m.n_arrays, 0);

	for (i = 1920; i <= 1921; i++) {
		at = (size_t)sprintf(text,
			"%smd0 : active raid1 a[0]\n      1 blocks super 1.2 [%zu/%zu] [", HEAD, i,
			i);
		memset(text + at, 'U', i);
		at += i;
		at += (size_t)sprintf(text + at, "]\n%s", TAIL);
		assert_int_equal(mdstat_parse(text, at, &m), i == 1920);
	}

	at = (size_t)sprintf(text, "md0 : active raid1");
	while (at + 5 <= MDSTAT_MAX_TEXT) {
		memcpy(text + at, " a[0]", 5);
		at += 5;
	}
	memset(text + at, ' ', sizeof(text) - at);
	assert_false(mdstat_parse(text, MDSTAT_MAX_TEXT, &m)); /* no size: cut */
	assert_false(mdstat_parse(text, MDSTAT_MAX_TEXT + 1, &m));
	assert_true(strstr(m.why, "256 KiB") != NULL);
}

static void redundancy_is_what_the_level_gives(void **state)
{
	(void)state;
#define LEFT(first, rest) health_redundancy(one(first, "      1000 blocks " rest "\n")).v
	assert_int_equal(LEFT("active raid1 a[0] b[1] c[2]", "[3/3] [UUU]"), 2);
	assert_int_equal(LEFT("active raid1 a[0]", "[1/1] [U]"), 0);
	assert_int_equal(
		LEFT("active raid5 a[0]", "level 5, 64k chunk, algorithm 2 [3/3] [UUU]"), 1);
	assert_int_equal(
		LEFT("active raid6 a[0]", "level 6, 64k chunk, algorithm 2 [4/4] [UUUU]"), 2);
	assert_int_equal(LEFT("active raid10 a[0]", "2 near-copies [4/4] [UUUU]"), 1);
	assert_int_equal(LEFT("active raid10 a[0]", "3 near-copies [6/6] [UUUUUU]"), 2);
	assert_int_equal(LEFT("active raid0 a[0]", "64k chunks"), 0);
	assert_false(health_redundancy(one("inactive a[0](S)", "      5 blocks\n")).known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_of_a_running_array_is_read),
		cmocka_unit_test(device_names_of_every_kind_are_members),
		cmocka_unit_test(each_state_and_read_only_word_is_known),
		cmocka_unit_test(each_personality_prints_its_own_geometry),
		cmocka_unit_test(an_inactive_array_has_no_level),
		cmocka_unit_test(an_array_without_members_goes_on_in_its_first_line),
		cmocka_unit_test(a_waiting_operation_is_not_idle),
		cmocka_unit_test(numbers_beyond_reason_are_kept_or_refused_not_wrapped),
		cmocka_unit_test(counts_and_map_may_disagree_and_the_worse_counts),
		cmocka_unit_test(a_growing_array_has_not_failed),
		cmocka_unit_test(a_disk_error_is_an_error_whatever_the_counts_say),
		cmocka_unit_test(a_line_that_is_not_the_kernels_takes_trust_away),
		cmocka_unit_test(what_surrounds_the_text_changes_nothing),
		cmocka_unit_test(lines_after_a_garbled_first_line_are_nobodys),
		cmocka_unit_test(an_array_joined_to_the_header_is_no_part_of_it),
		cmocka_unit_test(no_reading_is_never_no_arrays),
		cmocka_unit_test(a_text_that_ends_inside_a_line_was_cut),
		cmocka_unit_test(a_text_that_says_an_array_twice_is_not_believed),
		cmocka_unit_test(a_text_cut_anywhere_says_nothing_false),
		cmocka_unit_test(large_boxes_fit_and_larger_are_refused),
		cmocka_unit_test(redundancy_is_what_the_level_gives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
