// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "md/look.h"
#include "nas/local.h"

#define MDSTAT                                                                                     \
	"Personalities : [raid1]\n"                                                                \
	"md2 : active raid1 sdb1[1] sda1[0]\n"                                                     \
	"      1000 blocks [2/2] [UU]\n"                                                           \
	"md/x : no array's name\n"                                                                 \
	"md127 : inactive sdc1[0](S)\n"                                                            \
	"      900 blocks\n"                                                                       \
	"unused devices: <none>\n"

static char root[] = "/tmp/test_nas_local.XXXXXX";
static struct probe_result result;

static const char *const folders[] = {"proc", "sys", "sys/block", "sys/block/md2",
	"sys/block/md2/md", "sys/block/md127", "sys/block/md127/md"};

static char *at(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

static void put(const char *name, const char *text)
{
	FILE *file;

	unlink(at(name));
	file = fopen(at(name), "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Opening a pipe without a writer blocks, as a stuck lock would, and ends at a signal. */
static void put_hang(const char *name)
{
	unlink(at(name));
	assert_int_equal(mkfifo(at(name), 0600), 0);
}

static void look(int64_t span_ms)
{
	probe_result_clear(&result);
	nas_local_look(root, clock_boot_ms() + span_ms, &result);
}

static int root_make(void **state)
{
	size_t i;

	(void)state;
	if (!mkdtemp(root))
		return -1;
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (mkdir(at(folders[i]), 0700) < 0)
			return -1;
	}
	return 0;
}

static const char *const files[] = {"proc/mdstat", "proc/diskstats", "proc/loadavg",
	"sys/block/md2/md/sync_action", "sys/block/md2/md/degraded",
	"sys/block/md127/md/sync_action"};

static int files_remove(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(at(files[i]));
	return 0;
}

static int root_remove(void **state)
{
	size_t i;

	(void)state;
	probe_result_release(&result);
	for (i = sizeof(folders) / sizeof(folders[0]); i > 0; i--) {
		if (rmdir(at(folders[i - 1])) < 0)
			return -1;
	}
	return rmdir(root);
}

static void it_prints_what_the_command_would(void **state)
{
	(void)state;
	put("proc/mdstat", MDSTAT);
	put("proc/diskstats", "   9 2 md2 1 2 3\n");
	put("proc/loadavg", "0.42 0.1 0.2 1/9 7\n");
	put("sys/block/md2/md/sync_action", "check\n");
	put("sys/block/md2/md/degraded", "0\n");
	look(10000);
	assert_int_equal(result.sensor, SENSOR_OK);
	assert_false(result.partial);
	assert_string_equal(result.text, "");
	assert_string_equal(buf_str(&result.raw),
		MDSTAT "#rg diskstats\n   9 2 md2 1 2 3\n#rg loadavg\n0.42 0.1 0.2 1/9 7\n"
		       "#rg md md2\nsync_action=check\ndegraded=0\n#rg md md127\n#rg end\n");
}

static void what_is_absent_but_mdstat_is_no_harm(void **state)
{
	(void)state;
	put("proc/mdstat", "Personalities : \nunused devices: <none>"); /* no line break */
	look(10000);
	assert_int_equal(result.sensor, SENSOR_OK);
	assert_false(result.partial);
	assert_string_equal(buf_str(&result.raw),
		"Personalities : \nunused devices: <none>\n#rg diskstats\n#rg loadavg\n#rg end\n");
}

static void without_mdstat_there_is_no_reading(void **state)
{
	(void)state;
	look(10000);
	assert_int_equal(result.sensor, SENSOR_EXIT_STATUS);
	assert_non_null(strstr(result.text, "/proc/mdstat"));
	assert_int_equal(result.raw.len, 0);
}

static void a_hang_in_mdstat_ends_at_the_deadline(void **state)
{
	(void)state;
	put_hang("proc/mdstat");
	look(100);
	assert_int_equal(result.sensor, SENSOR_DEADLINE);
	assert_int_equal(result.raw.len, 0);
}

static void a_hang_after_mdstat_leaves_a_reading(void **state)
{
	(void)state;
	put("proc/mdstat", MDSTAT);
	put_hang("sys/block/md127/md/sync_action");
	look(300);
	assert_int_equal(result.sensor, SENSOR_OK);
	assert_true(result.partial);
	assert_non_null(strstr(result.text, "hangs"));
	assert_true(look_has_mdstat(buf_str(&result.raw), result.raw.len));
	assert_null(strstr(buf_str(&result.raw), "#rg end"));
}

static void flood(const char *name)
{
	FILE *file = fopen(at(name), "w");
	size_t i;

	assert_non_null(file);
	for (i = 0; i <= PROBE_RAW_MAX / 16; i++)
		assert_true(fputs("fifteen bytes..\n", file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void more_than_the_limit_is_too_much_unless_mdstat_is_whole(void **state)
{
	(void)state;
	flood("proc/mdstat");
	look(10000);
	assert_int_equal(result.sensor, SENSOR_TOO_MUCH);
	put("proc/mdstat", MDSTAT);
	flood("proc/diskstats");
	look(10000);
	assert_int_equal(result.sensor, SENSOR_OK);
	assert_true(result.partial);
	assert_true(result.raw.len <= PROBE_RAW_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(it_prints_what_the_command_would, files_remove),
		cmocka_unit_test_teardown(what_is_absent_but_mdstat_is_no_harm, files_remove),
		cmocka_unit_test_teardown(without_mdstat_there_is_no_reading, files_remove),
		cmocka_unit_test_teardown(a_hang_in_mdstat_ends_at_the_deadline, files_remove),
		cmocka_unit_test_teardown(a_hang_after_mdstat_leaves_a_reading, files_remove),
		cmocka_unit_test_teardown(
			more_than_the_limit_is_too_much_unless_mdstat_is_whole, files_remove),
	};

	return cmocka_run_group_tests(tests, root_make, root_remove);
}
