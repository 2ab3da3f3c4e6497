// SPDX-License-Identifier: MIT
/* hooks/inner/keeper_note: the lock of a guest's keeper, and what is remembered of its jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../hooks/inner/keeper.h"
#include "client/worker.h"

static char root[64];
static size_t n_seen;
static uint32_t seen[4];

static int before_each(void **state)
{
	char path[100];

	(void)state;
	n_seen = 0;
	snprintf(root, sizeof(root), "/tmp/rg-note.XXXXXX");
	if (!mkdtemp(root))
		return -1;
	snprintf(path, sizeof(path), "%s/run", root);
	return mkdir(path, 0700);
}

static int after_each(void **state)
{
	static const char *const files[] = {"/run/rebuildgate-hook/keepers/100",
		"/run/rebuildgate-hook/keepers/101", "/run/rebuildgate-hook/keepers/100.lock"};
	static const char *const folders[] = {
		"/run/rebuildgate-hook/keepers", "/run/rebuildgate-hook", "/run", ""};
	char path[200];
	size_t i;
	int status = 0;

	(void)state;
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, files[i]);
		unlink(path);
	}
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, folders[i]);
		status = rmdir(path);
	}
	return status;
}

static struct keeping touched(void)
{
	struct keeping keeping = {.n = 3};

	keeping.jobs[0] = (struct keeping_job){
		.device = "drive-scsi0", .own_speed = 9000000, .touched = true, .paused = true};
	keeping.jobs[1] = (struct keeping_job){.device = "drive-scsi1", .own_speed = 5};
	keeping.jobs[2] = (struct keeping_job){.device = "a job", .touched = true};
	return keeping;
}

static void put(const char *text)
{
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/run/rebuildgate-hook/keepers/100", root);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void what_is_touched_is_remembered(void **state)
{
	struct keeping keeping = touched();
	struct keeper_note note;

	(void)state;
	assert_false(keeper_note_load(root, 100, &note));
	assert_true(keeper_note_save(root, 100, &keeping));
	assert_true(keeper_note_load(root, 100, &note));
	assert_int_equal(note.n, 2);
	assert_string_equal(note.jobs[0].device, "drive-scsi0");
	assert_int_equal(note.jobs[0].own_speed, 9000000);
	assert_true(note.jobs[0].paused);
	assert_string_equal(note.jobs[1].device, "a job");
	assert_int_equal(note.jobs[1].own_speed, 0);
	assert_false(note.jobs[1].paused);
	assert_false(keeper_note_load(root, 101, &note));
	keeper_note_drop(root, 100);
	assert_false(keeper_note_load(root, 100, &note));
}

static void another_boots_note_is_none(void **state)
{
	struct keeping keeping = touched();
	struct keeper_note note;

	(void)state;
	assert_true(keeper_note_save(root, 100, &keeping));
	put("11111111-2222-3333-4444-555555555555\n5 1 drive-scsi0\n");
	assert_false(keeper_note_load(root, 100, &note));
}

static void a_bad_line_is_passed_over(void **state)
{
	struct keeping keeping = touched();
	struct keeper_note note;
	struct worker self;
	char text[600];

	(void)state;
	assert_true(keeper_note_save(root, 100, &keeping));
	worker_of(getpid(), &self);
	snprintf(text, sizeof(text),
		"%s\n\n5\n-5 0 a\n5 2 a\n5 1\n5 1 \n7 1 good\nx 1 a\n5 0 %0200d\n", self.boot_id,
		0);
	put(text);
	assert_true(keeper_note_load(root, 100, &note));
	assert_int_equal(note.n, 1);
	assert_string_equal(note.jobs[0].device, "good");
	assert_int_equal(note.jobs[0].own_speed, 7);
	put("");
	assert_false(keeper_note_load(root, 100, &note));
}

static void without_qemu_there_is_nothing_to_put_back(void **state)
{
	struct keeping keeping = touched();
	struct keeper_note note;

	(void)state;
	assert_true(keeper_note_save(root, 100, &keeping));
	assert_true(keeper_note_apply(root, 100, 5000, NULL));
	assert_false(keeper_note_load(root, 100, &note));
	assert_true(keeper_note_apply(root, 100, 5000, NULL));
}

static void one_keeper_for_a_guest(void **state)
{
	const struct worker self = {.pid = 4711, .start_ticks = 99};
	struct worker owner;
	int lock, other;

	(void)state;
	assert_false(keeper_lock_owner(root, 100, &owner));
	lock = keeper_lock(root, 100);
	assert_true(lock >= 0);
	assert_false(keeper_lock_owner(root, 100, &owner));
	assert_true(keeper_lock_sign(lock, &self, NULL));
	assert_int_equal(keeper_lock(root, 100), -1);
	assert_true(keeper_lock_owner(root, 100, &owner));
	assert_int_equal(owner.pid, 4711);
	assert_int_equal(owner.start_ticks, 99);
	close(lock);
	other = keeper_lock(root, 100);
	assert_true(other >= 0);
	close(other);
}

static void the_lock_says_whose_it_was(void **state)
{
	const struct worker self = {.pid = 4711, .start_ticks = 99};
	const struct keeper keeper = {.vmid = 100,
		.ticket = 17,
		.node = "pve1",
		.storage = "nas",
		.worker = {.pid = 12, .start_ticks = 34}};
	static struct keeper got;
	struct worker owner;
	int lock = keeper_lock(root, 100);

	(void)state;
	assert_true(lock >= 0);
	assert_true(keeper_lock_sign(lock, &self, &keeper));
	assert_true(keeper_lock_owner(root, 100, &owner));
	assert_int_equal(owner.start_ticks, 99);
	assert_true(keeper_lock_keeper(root, 100, &got));
	assert_int_equal(got.vmid, 100);
	assert_int_equal(got.ticket, 17);
	assert_int_equal(got.worker.pid, 12);
	assert_int_equal(got.worker.start_ticks, 34);
	assert_true(*got.worker.boot_id != '\0');
	assert_string_equal(got.node, "pve1");
	assert_string_equal(got.storage, "nas");
	assert_true(keeper_lock_sign(lock, &self, NULL));
	assert_false(keeper_lock_keeper(root, 100, &got));
	errno = 0;
	assert_int_equal(keeper_lock(root, 100), -1);
	assert_int_equal(errno, EWOULDBLOCK);
	close(lock);
}

static void take(const void *data, uint32_t vmid)
{
	assert_ptr_equal(data, root);
	assert_true(n_seen < 4);
	seen[n_seen++] = vmid;
}

static void every_guest_with_a_note_is_found(void **state)
{
	struct keeping keeping = touched();

	(void)state;
	assert_true(keeper_note_each(root, take, root, NULL));
	assert_int_equal(n_seen, 0);
	assert_true(keeper_note_save(root, 100, &keeping));
	assert_true(keeper_note_save(root, 101, &keeping));
	close(keeper_lock(root, 100)); /* its file is none */
	assert_true(keeper_note_each(root, take, root, NULL));
	assert_int_equal(n_seen, 2);
	assert_int_equal(seen[0] + seen[1], 201);
}

static void notes_of_somebody_else_are_not_believed(void **state)
{
	struct keeping keeping = touched();
	struct err err = {0};
	char path[200];

	(void)state;
	assert_true(keeper_note_save(root, 100, &keeping));
	assert_true(keeper_note_there(root, 100));
	assert_false(keeper_note_there(root, 101));
	snprintf(path, sizeof(path), "%s/run/rebuildgate-hook", root);
	assert_int_equal(chmod(path, 0777), 0);
	assert_false(keeper_note_each(root, take, root, &err));
	assert_non_null(strstr(err.text, "is not this user's alone"));
	assert_int_equal(n_seen, 0);
	assert_int_equal(chmod(path, 0700), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, before_each, after_each)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_touched_is_remembered),
		TEST(another_boots_note_is_none),
		TEST(a_bad_line_is_passed_over),
		TEST(without_qemu_there_is_nothing_to_put_back),
		TEST(one_keeper_for_a_guest),
		TEST(the_lock_says_whose_it_was),
		TEST(every_guest_with_a_note_is_found),
		TEST(notes_of_somebody_else_are_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
