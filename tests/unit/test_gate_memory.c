// SPDX-License-Identifier: MIT
/* What is known of a NAS over a restart, and who is taken for a job's process. Built from the
 * gate's own sources. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "gate/reading_memory.c"

static struct track_memory memory, again;

static void what_is_written_is_read_again(void **state)
{
	struct buf text = {0};
	size_t i;

	(void)state;
	memset(&memory, 0, sizeof(memory));
	memory.n_arrays = 2;
	strcpy(memory.arrays[0].name, "md2");
	memory.arrays[0].role = MD_ROLE_DATA;
	memory.arrays[0].level = MD_LEVEL_RAID6;
	memory.arrays[0].raid_disks = 8;
	memory.arrays[0].operation = MD_OP_RECOVERY;
	memory.arrays[0].health = MD_HEALTH_DEGRADED;
	memory.arrays[0].redundancy_left = OPT(1);
	memory.arrays[0].baseline.operation = MD_OP_RECOVERY;
	memory.arrays[0].baseline.buckets[19].n = 7;
	for (i = 0; i < BASELINE_SAMPLES; i++)
		memory.arrays[0].baseline.buckets[19].kib_s[i] = (uint32_t)(4000000000u + i);
	strcpy(memory.arrays[1].name, "md0");
	memory.arrays[1].role = MD_ROLE_SYSTEM;
	memory.arrays[1].level = MD_LEVEL_RAID1;
	memory.arrays[1].working_best = 5;
	assert_true(memory_write(&memory, &text));
	assert_true(memory_read(text.data, text.len, &again, NULL));
	assert_memory_equal(&memory, &again, sizeof(memory));
	buf_release(&text);
}

static void refused(const char *text)
{
	struct err err = {0};

	assert_false(memory_read(text, strlen(text), &again, &err));
	assert_int_not_equal(err.kind, ERR_NONE);
}

static void what_is_no_memory_is_refused(void **state)
{
	(void)state;
	refused("");
	refused("{}");
	refused("[1]");
	refused("[{\"name\":\"md2\",\"buckets\":[[20,1,1,1,1,1,1]]}]");
	refused("[{\"name\":\"md2\",\"buckets\":[[0,1,1,1]]}]");
	refused("[{\"name\":\"md2\",\"buckets\":[[0,-1,1,1,1,1,1]]}]");
	refused("[{\"name\":\"a name that is longer than any md device has\"}]");
}

static struct opt outage_after(int64_t began, int64_t last, int64_t now_utc)
{
	struct moment now = {.boot_ms = 1000000, .utc_ms = now_utc};
	struct buf text = {0};
	struct opt ret;

	assert_true(outage_write(began, last, &text));
	ret = outage_read(text.data, text.len, &now);
	buf_release(&text);
	return ret;
}

static void an_outage_goes_on_over_a_restart(void **state)
{
	const int64_t t = 1790000000000;
	struct moment now = {.boot_ms = 1000, .utc_ms = t};

	(void)state;
	assert_int_equal(outage_after(t, t + 5000, t + 60000).v, 1000000 - 60000);
	assert_int_equal(outage_after(t, t, t + OUTAGE_GAP_MS).v, 1000000 - OUTAGE_GAP_MS);
	/* Nobody looked for too long; the clock went back; no such text. */
	assert_false(outage_after(t, t, t + OUTAGE_GAP_MS + 1).known);
	assert_false(outage_after(t, t + 5000, t + 4999).known);
	assert_false(outage_read("[]", 2, &now).known);
	assert_false(outage_read("", 0, &now).known);
	assert_false(outage_read("{}", 2, &now).known);
	assert_false(outage_read("{\"since_utc_ms\":1}", 18, &now).known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(what_is_no_memory_is_refused),
		cmocka_unit_test(an_outage_goes_on_over_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
