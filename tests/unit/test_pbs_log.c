// SPDX-License-Identifier: MIT
/* src/proxmox/pbs_log: what a backup task wrote, by its log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "proxmox/pbs.h"

#define N(lines) (sizeof(lines) / sizeof(*(lines)))

static struct opt written(const char *const *lines, size_t n)
{
	struct pbs_log_facts facts = {0};
	size_t i;

	for (i = 0; i < n; i++)
		pbs_log_line(&facts, lines[i]);
	return pbs_log_written(&facts);
}

static void each_archive_s_chunks_count_as_they_were_compressed(void **state)
{
	static const char *const lines[] = {
		"2026-11-30T21:00:01+01:00: starting new backup on datastore 'store' from "
		"::ffff:10.0.0.1: \"vm/100/2026-11-30T20:00:01Z\"",
		"2026-11-30T21:00:01+01:00: created new fixed index 1 (\"vm/100/...\")",
		"2026-11-30T21:01:01+01:00: Upload statistics for 'drive-scsi0.img.fidx'",
		"2026-11-30T21:01:01+01:00: UUID: 00112233445566778899aabbccddeeff",
		"2026-11-30T21:01:01+01:00: Checksum: 0011",
		"2026-11-30T21:01:01+01:00: Size: 34359738368",
		"2026-11-30T21:01:01+01:00: Chunk count: 8192",
		"2026-11-30T21:01:01+01:00: Upload size: 400000000 (1%)",
		"2026-11-30T21:01:01+01:00: Duplicates: 8100+3 (98%)",
		"2026-11-30T21:01:01+01:00: Compression: 52%",
		"2026-11-30T21:01:01+01:00: successfully closed fixed index 1",
		"2026-11-30T21:01:02+01:00: Upload statistics for 'drive-efidisk0.img.fidx'",
		"2026-11-30T21:01:02+01:00: Size: 540672",
		"2026-11-30T21:01:02+01:00: Chunk count: 0",
		"2026-11-30T21:01:02+01:00: Upload statistics for 'drive-scsi1.img.fidx'",
		"2026-11-30T21:01:02+01:00: Size: 34359738368",
		"2026-11-30T21:01:02+01:00: Chunk count: 8192",
		"2026-11-30T21:01:02+01:00: Upload size: 0 (0%)",
		"2026-11-30T21:01:02+01:00: Duplicates: 8192+0 (100%)",
		"2026-11-30T21:01:03+01:00: Upload statistics for 'drive-scsi2.img.fidx'",
		"2026-11-30T21:01:03+01:00: Upload size: 1000 (1%)",
		"2026-11-30T21:01:03+01:00: Compression: 101%",
		"2026-11-30T21:01:03+01:00: add blob \"/mnt/store/vm/100/index.json.blob\" (500 "
		"bytes, comp: 300)",
		"2026-11-30T21:01:03+01:00: backup finished successfully",
		"2026-11-30T21:01:03+01:00: TASK OK"};
	struct opt got = written(lines, N(lines));

	(void)state;
	assert_true(got.known);
	assert_int_equal(got.v, 208000000 + 1010);
	/* Not in the midst of an archive. */
	assert_false(written(lines, 9).known);
	assert_true(written(lines, 10).known);
}

static void what_does_not_fit_is_not_known(void **state)
{
	static const char *const none[] = {"starting new backup", "backup finished successfully"};
	static const char *const no_archive[] = {"Upload size: 1000 (1%)", "Compression: 50%"};
	static const char *const no_compression[] = {"Upload statistics for 'a'",
		"Upload size: 1000 (1%)", "Upload statistics for 'b'", "Upload size: 1000 (1%)",
		"Compression: 50%"};
	static const char *const no_size[] = {"Upload statistics for 'a'", "Compression: 50%"};
	static const char *const unit[] = {
		"Upload statistics for 'a'", "Upload size: 10 MiB (1%)", "Compression: 50%"};
	static const char *const twice[] = {"Upload statistics for 'a'", "Upload size: 1000 (1%)",
		"Upload size: 1000 (1%)", "Compression: 50%"};
	static const char *const too_much[] = {"Upload statistics for 'a'",
		"Upload size: 9223372036854775807 (1%)", "Compression: 100%",
		"Upload statistics for 'b'", "Upload size: 1000 (1%)", "Compression: 100%"};
	static const char *const within[] = {
		"x Upload statistics for 'a'", "x Upload size: 1000 (1%)", "x Compression: 50%"};

	(void)state;
	assert_false(written(none, N(none)).known);
	assert_false(written(no_archive, N(no_archive)).known);
	assert_false(written(no_compression, N(no_compression)).known);
	assert_false(written(no_size, N(no_size)).known);
	assert_false(written(unit, N(unit)).known);
	assert_false(written(twice, N(twice)).known);
	assert_false(written(too_much, N(too_much)).known);
	assert_false(written(within, N(within)).known);
}

static uint32_t guest_of(const char *id)
{
	struct pbs_task task = {0};

	snprintf(task.id, sizeof(task.id), "%s", id);
	return pbs_task_guest(&task);
}

static void a_task_s_guest_is_in_its_id(void **state)
{
	(void)state;
	assert_int_equal(guest_of("store:vm/100"), 100);
	assert_int_equal(guest_of("store:ct/7/68A1B2C3"), 7);
	assert_int_equal(guest_of("store:a/b:vm/100"), 100);
	assert_int_equal(guest_of("store:host/100"), 0);
	assert_int_equal(guest_of("store"), 0);
	assert_int_equal(guest_of("store:vm/"), 0);
	assert_int_equal(guest_of("store:vm/x"), 0);
	assert_int_equal(guest_of("store:vm/99999999999"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_archive_s_chunks_count_as_they_were_compressed),
		cmocka_unit_test(what_does_not_fit_is_not_known),
		cmocka_unit_test(a_task_s_guest_is_in_its_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
