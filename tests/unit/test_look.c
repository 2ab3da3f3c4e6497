// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "md/look.h"

#define MDSTAT                                                                                     \
	"Personalities : [raid1] \nmd2 : active raid1 a[0] b[1]\n      1000 blocks [2/2] [UU]\n  " \
	"    \nunused devices: <none>\n"

static const char whole[] =
	MDSTAT "#rg diskstats\n"
	       "   8       0 sda 100 1 200 3 4 5 600 7 0 8 9\n"
	       "   9       2 md2 10 0 4096 0 20 0 8192 0 0 0 0 0 0 0 0 0 0\n"
	       "   9      20 md20 1 0 1 0 1 0 1 0 0 0 0\n"
	       "#rg loadavg\n0.42 0.10 0.01 1/117 19655\n"
	       "#rg md md2\nsync_action=recover\ndegraded=-1\nsync_speed_min=1000 "
	       "(system)\nsync_speed_max=200000 (local)\n"
	       "#rg md md0\n"
	       "#rg end\n";

static void every_section_is_read(void **state)
{
	struct look look;
	struct look_io io;

	(void)state;
	look_split(whole, strlen(whole), &look);
	assert_true(look.whole && look.mdstat_whole);
	assert_int_equal(look.mdstat_len, strlen(MDSTAT));
	assert_memory_equal(look.mdstat, MDSTAT, look.mdstat_len);
	assert_int_equal(look.load_x100.v, 42);
	assert_true(look_io_find(&look, "md2", &io));
	assert_int_equal(io.read_sectors, 4096);
	assert_int_equal(io.write_sectors, 8192);
	assert_false(look_io_find(&look, "md", &io));
	assert_int_equal(look.n_md, 2);
	assert_int_equal(look_md_find(&look, "md2")->action, MD_OP_RECOVERY);
	assert_int_equal(look_md_find(&look, "md2")->degraded.v, -1);
	assert_int_equal(look_md_find(&look, "md2")->speed_min.v, 1024000);
	assert_int_equal(look_md_find(&look, "md2")->speed_max.v, 204800000);
	assert_int_equal(look_md_find(&look, "md0")->action, MD_OP_NONE);
	assert_false(look_md_find(&look, "md0")->degraded.known);
	assert_null(look_md_find(&look, "md9"));
}

static void mdstat_alone_is_a_look(void **state)
{
	struct look look;
	struct look_io io;

	(void)state;
	look_split(MDSTAT, strlen(MDSTAT), &look);
	assert_int_equal(look.mdstat_len, strlen(MDSTAT));
	assert_false(look.mdstat_whole);
	assert_false(look.load_x100.known);
	assert_false(look_io_find(&look, "md2", &io));
	assert_int_equal(look.n_md, 0);
	assert_false(look_has_mdstat(MDSTAT, strlen(MDSTAT)));
	assert_true(look_has_mdstat(whole, strlen(whole)));
}

/* Cut anywhere, each fact is either the true one or not there. */
static void a_cut_look_is_never_misread(void **state)
{
	size_t len;

	(void)state;
	for (len = 0; len <= strlen(whole); len++) {
		char *copy = malloc(len + 1);
		const struct look_md *md;
		struct look_io io;
		struct look look;

		assert_non_null(copy);
		memcpy(copy, whole, len);
		look_split(copy, len, &look);
		assert_true(look.mdstat_len <= len);
		if (look.mdstat_whole)
			assert_int_equal(look.mdstat_len, strlen(MDSTAT));
		assert_int_equal(look_has_mdstat(copy, len), look.mdstat_whole);
		if (look.load_x100.known)
			assert_int_equal(look.load_x100.v, 42);
		if (look_io_find(&look, "md2", &io))
			assert_int_equal(io.write_sectors, 8192);
		md = look_md_find(&look, "md2");
		if (md) {
			assert_int_equal(md->action, MD_OP_RECOVERY);
			assert_int_equal(md->speed_max.v, 204800000);
		}
		assert_int_equal(look.whole, len == strlen(whole));
		free(copy);
	}
}

static void nonsense_in_a_section_is_unknown(void **state)
{
	static const char text[] = MDSTAT
		"#rg diskstats\n 9 2 md2 10 x 4096 0 20 0 8192 0\n#rg loadavg\nhigh\n#rg md md2\n"
		"sync_action=dancing\ndegraded=none\nsync_speed_min=fast\n#rg what\nis=this\n#rg "
		"end\n";
	struct look_io io;
	struct look look;

	(void)state;
	look_split(text, strlen(text), &look);
	assert_false(look_io_find(&look, "md2", &io));
	assert_false(look.load_x100.known);
	assert_int_equal(look_md_find(&look, "md2")->action, MD_OP_NONE);
	assert_false(look_md_find(&look, "md2")->degraded.known);
	assert_false(look_md_find(&look, "md2")->speed_min.known);
}

static void the_command_is_one_line_that_any_shell_takes(void **state)
{
	const char *command = look_command();

	(void)state;
	assert_null(strchr(command, '\n'));
	assert_null(strchr(command, '!'));
	assert_true(strncmp(command, "exec sh -c '", 12) == 0);
	assert_true(strstr(command, "cat /proc/mdstat") < strstr(command, "diskstats"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_section_is_read),
		cmocka_unit_test(mdstat_alone_is_a_look),
		cmocka_unit_test(a_cut_look_is_never_misread),
		cmocka_unit_test(nonsense_in_a_section_is_unknown),
		cmocka_unit_test(the_command_is_one_line_that_any_shell_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
