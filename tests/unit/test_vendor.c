// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "md/vendor.h"

static struct mdstat m;

static const struct mdstat_array *read_text(const char *text, const char *name)
{
	const struct mdstat_array *array;

	if (!mdstat_parse(text, strlen(text), &m))
		fail_msg("%s", m.why);
	array = mdstat_find(&m, name);
	assert_non_null(array);
	return array;
}

static enum md_health health(enum md_vendor vendor, const char *text, const char *name)
{
	const struct mdstat_array *array = read_text(text, name);

	return vendor_health(vendor_resolve(vendor, &m), &m, array);
}

static enum md_role role(enum md_vendor vendor, const char *text, const char *name)
{
	const struct mdstat_array *array = read_text(text, name);

	return vendor_role(vendor_resolve(vendor, &m), &m, array, NULL, 0);
}

#define SYNOLOGY(md0, md1)                                                                         \
	"Personalities : [raid1] [raid6] [raid5] [raid4] [raidF1] \n"                              \
	"md2 : active raid5 sata1p3[0] sata2p3[1] sata3p3[2]\n"                                    \
	"      2000 blocks super 1.2 level 5, 64k chunk, algorithm 2 [3/3] [UUU]\n      \n"        \
	"md3 : active raid1 nvme0n1p1[0] nvme1n1p1[1]\n      900 blocks super 1.2 [2/2] [UU]\n"    \
	"      \n"                                                                                 \
	"md1 : active raid1 " md1 "      \n"                                                       \
	"md0 : active raid1 " md0 "      \nunused devices: <none>\n"
#define MD1 "sata1p2[0] sata2p2[1] sata3p2[2]\n      2097088 blocks [4/3] [UUU_]\n"
#define MD0 "sata1p1[0] sata2p1[1] sata3p1[2]\n      8388544 blocks [4/3] [UUU_]\n"

static void a_synology_with_empty_bays_is_healthy(void **state)
{
	static const char text[] = SYNOLOGY(MD0, MD1);

	(void)state;
	assert_int_equal(role(MD_VENDOR_AUTO, text, "md0"), MD_ROLE_SYSTEM);
	assert_int_equal(role(MD_VENDOR_AUTO, text, "md1"), MD_ROLE_SYSTEM);
	assert_int_equal(role(MD_VENDOR_AUTO, text, "md2"), MD_ROLE_DATA);
	assert_int_equal(role(MD_VENDOR_AUTO, text, "md3"), MD_ROLE_CACHE);
	assert_int_equal(vendor_resolve(MD_VENDOR_AUTO, &m), MD_VENDOR_SYNOLOGY);
	assert_int_equal(health(MD_VENDOR_AUTO, text, "md0"), MD_HEALTH_OPTIMAL);
	assert_true(vendor_empty_slots(MD_VENDOR_SYNOLOGY, &m, mdstat_find(&m, "md0")));
	assert_false(vendor_empty_slots(MD_VENDOR_SYNOLOGY, &m, mdstat_find(&m, "md2")));
}

static void on_a_plain_box_the_same_slots_are_a_loss(void **state)
{
	static const char text[] = SYNOLOGY(MD0, MD1);

	(void)state;
	assert_int_equal(health(MD_VENDOR_GENERIC, text, "md0"), MD_HEALTH_DEGRADED);
	assert_false(vendor_empty_slots(MD_VENDOR_GENERIC, &m, mdstat_find(&m, "md0")));
	assert_int_equal(role(MD_VENDOR_GENERIC, text, "md0"), MD_ROLE_DATA);
	assert_int_equal(role(MD_VENDOR_GENERIC, text, "md3"), MD_ROLE_DATA);
}

static void a_real_loss_in_a_system_array_still_shows(void **state)
{
	(void)state;
	/* Fewer members than its sister. */
	assert_int_equal(
		health(MD_VENDOR_SYNOLOGY,
			SYNOLOGY("sata1p1[0] sata2p1[1]\n      8388544 blocks [4/2] [UU__]\n", MD1),
			"md0"),
		MD_HEALTH_DEGRADED);
	/* A member that failed. */
	assert_int_equal(
		health(MD_VENDOR_SYNOLOGY,
			SYNOLOGY("sata1p1[0] sata2p1[1](F)\n      8388544 blocks [4/3] [UUU_]\n",
				MD1),
			"md0"),
		MD_HEALTH_DEGRADED);
	/* It is being rebuilt. */
	assert_int_equal(health(MD_VENDOR_SYNOLOGY,
				 SYNOLOGY("sata1p1[0] sata2p1[1] sata3p1[2]\n      8388544 blocks "
					  "[4/3] [UUU_]\n"
					  "      [=>..]  recovery =  8.5% (16/195) finish=17.0min "
					  "speed=5K/sec\n",
					 MD1),
				 "md0"),
		MD_HEALTH_DEGRADED);
	/* A disk with errors, and none left. */
	assert_int_equal(
		health(MD_VENDOR_SYNOLOGY,
			SYNOLOGY("sata1p1[0](E)\n      8388544 blocks [4/1] [E___]\n", MD1), "md0"),
		MD_HEALTH_ERROR);
	assert_int_equal(
		health(MD_VENDOR_SYNOLOGY,
			SYNOLOGY("sata1p1[0](F)\n      8388544 blocks [4/0] [____]\n", MD1), "md0"),
		MD_HEALTH_FAILED);
}

static void a_disk_that_waits_for_its_rebuild_is_no_empty_slot(void **state)
{
	static const char waits[] = SYNOLOGY(MD0,
		"sata1p2[0] sata2p2[1] sata3p2[2] sata4p2[4]\n"
		"      2097088 blocks [5/3] [UUU__]\n      \tresync=DELAYED\n");
	static const char filled[] = SYNOLOGY("sata1p1[0] sata2p1[1] sata3p1[2] sata4p1[4](F)\n"
					      "      8388544 blocks [4/3] [UUU_]\n",
		MD1);
	static const char spare[] = SYNOLOGY("sata1p1[0] sata2p1[1] sata3p1[2] sata4p1[4](S)\n"
					     "      8388544 blocks [4/3] [UUU_]\n",
		MD1);

	(void)state;
	assert_int_equal(health(MD_VENDOR_SYNOLOGY, waits, "md1"), MD_HEALTH_DEGRADED);
	assert_true(vendor_empty_slots(MD_VENDOR_SYNOLOGY, &m, mdstat_find(&m, "md1")));
	assert_int_equal(health(MD_VENDOR_SYNOLOGY, waits, "md0"), MD_HEALTH_OPTIMAL);
	/* As many disks as slots: one of them failed, none is empty. */
	assert_int_equal(health(MD_VENDOR_SYNOLOGY, filled, "md0"), MD_HEALTH_DEGRADED);
	assert_false(vendor_empty_slots(MD_VENDOR_SYNOLOGY, &m, mdstat_find(&m, "md0")));
	assert_int_equal(health(MD_VENDOR_SYNOLOGY, spare, "md0"), MD_HEALTH_OPTIMAL);
	assert_true(vendor_empty_slots(MD_VENDOR_SYNOLOGY, &m, mdstat_find(&m, "md0")));
}

static void a_qnap_is_known_by_md9_and_md13(void **state)
{
	static char text[2048];
	char map[129];

	(void)state;
	memset(map, '_', 128);
	memset(map, 'U', 6);
	map[128] = '\0';
	snprintf(text, sizeof(text),
		"Personalities : [raid1] \n"
		"md1 : active raid1 sdb3[0] sda3[1]\n      2920311616 blocks super 1.0 [2/2] "
		"[UU]\n      \n"
		"md322 : active raid1 sdd5[3](S) sdc5[2](S) sdb5[1] sda5[0]\n"
		"      7235136 blocks super 1.0 [2/2] [UU]\n      \n"
		"md13 : active raid1 sdb4[0] sda4[128]\n      458880 blocks super 1.0 [128/6] "
		"[%s]\n      \n"
		"md9 : active raid1 sdb1[0] sda1[128]\n      530048 blocks super 1.0 [128/6] "
		"[%s]\n      \n"
		"unused devices: <none>\n",
		map, map);
	assert_int_equal(health(MD_VENDOR_AUTO, text, "md9"), MD_HEALTH_OPTIMAL);
	assert_int_equal(vendor_resolve(MD_VENDOR_AUTO, &m), MD_VENDOR_QNAP);
	assert_int_equal(role(MD_VENDOR_AUTO, text, "md9"), MD_ROLE_SYSTEM);
	assert_int_equal(role(MD_VENDOR_AUTO, text, "md13"), MD_ROLE_SYSTEM);
	assert_int_equal(role(MD_VENDOR_AUTO, text, "md322"), MD_ROLE_SYSTEM);
	assert_int_equal(role(MD_VENDOR_AUTO, text, "md1"), MD_ROLE_DATA);
	assert_int_equal(health(MD_VENDOR_GENERIC, text, "md9"), MD_HEALTH_DEGRADED);
}

static void a_plain_box_stays_generic(void **state)
{
	static const char text[] =
		"Personalities : [raid1] \n"
		"md1 : active raid1 sda2[0] sdb2[1]\n      2097088 blocks [2/2] [UU]\n      \n"
		"md0 : active raid1 sda1[0]\n      500000 blocks [2/1] [U_]\n      \nunused "
		"devices: <none>\n";

	(void)state;
	assert_int_equal(health(MD_VENDOR_AUTO, text, "md0"), MD_HEALTH_DEGRADED);
	assert_int_equal(vendor_resolve(MD_VENDOR_AUTO, &m), MD_VENDOR_GENERIC);
}

static void configuration_overrules_the_vendor(void **state)
{
	static const char text[] = SYNOLOGY(MD0, MD1);
	const struct md_role_rule rules[] = {{"md3", MD_ROLE_DATA}, {"md0", MD_ROLE_CACHE}};
	const struct mdstat_array *array = read_text(text, "md3");

	(void)state;
	assert_int_equal(vendor_role(MD_VENDOR_SYNOLOGY, &m, array, rules, 2), MD_ROLE_DATA);
	array = mdstat_find(&m, "md0");
	assert_int_equal(vendor_role(MD_VENDOR_SYNOLOGY, &m, array, rules, 2), MD_ROLE_CACHE);
	array = mdstat_find(&m, "md1");
	assert_int_equal(vendor_role(MD_VENDOR_SYNOLOGY, &m, array, rules, 2), MD_ROLE_SYSTEM);
}

static void vendors_have_words(void **state)
{
	(void)state;
	assert_int_equal(md_vendor_parse("qnap"), MD_VENDOR_QNAP);
	assert_int_equal(md_vendor_parse("QNAP"), MD_VENDOR_NONE);
	assert_string_equal(md_vendor_word(MD_VENDOR_SYNOLOGY), "synology");
	assert_null(md_vendor_word(MD_VENDOR_NONE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_synology_with_empty_bays_is_healthy),
		cmocka_unit_test(on_a_plain_box_the_same_slots_are_a_loss),
		cmocka_unit_test(a_real_loss_in_a_system_array_still_shows),
		cmocka_unit_test(a_disk_that_waits_for_its_rebuild_is_no_empty_slot),
		cmocka_unit_test(a_qnap_is_known_by_md9_and_md13),
		cmocka_unit_test(a_plain_box_stays_generic),
		cmocka_unit_test(configuration_overrules_the_vendor),
		cmocka_unit_test(vendors_have_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
