// SPDX-License-Identifier: MIT
/* src/proxmox/guests: which guests of this node a job has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "proxmox/guests.h"

static const char vmlist[] =
	"{\n\"version\": 12,\n\"ids\": {\n"
	"\"100\": { \"node\": \"pve1\", \"type\": \"qemu\", \"version\": 3 },\n"
	"\"1000\": { \"node\": \"pve1\", \"type\": \"lxc\", \"version\": 4 },\n"
	"\"101\": { \"node\": \"pve2\", \"type\": \"qemu\", \"version\": 5 },\n"
	"\"102\": { \"node\": \"pve1\", \"type\": \"qemu\", \"version\": 6 }}\n\n}\n";

static const char jobs[] = "vzdump: list\n\tvmid 1000,100,101,999\n\tstorage nas\n\n"
			   "vzdump: everything\n\tall 1\n\n"
			   "vzdump: most\n\tall 1\n\texclude 100 , 7\n\n"
			   "vzdump: exclude-only\n\texclude 102\n\n"
			   "vzdump: pool\n\tpool web\n\tvmid 102\n\n"
			   "vzdump: no-pool\n\tpool web2\n\n"
			   "vzdump: elsewhere\n\tall 1\n\tnode pve2\n\n"
			   "vzdump: here\n\tall 1\n\tnode pve1\n\n"
			   "vzdump: nothing\n\tall 0\n\n"
			   "vzdump: away\n\tvmid 101\n\n";

static const char pools[] = "user:root@pam:1:0::::::\n\n"
			    "pool:web/inner:nested:102:local:\n"
			    "pool:web:some%3A words:1000,101:local:\n"
			    "pool:db::100::\n";

static struct guests guests;

static bool of_job(const char *id)
{
	return guests_of_job(jobs, id, pools, vmlist, "pve1", &guests);
}

static void assert_guests(const char *id, size_t n, const uint32_t *ids, int64_t n_qemu)
{
	if (!of_job(id))
		fail_msg("%s is not known", id);
	assert_int_equal(guests.n, n);
	assert_memory_equal(guests.ids, ids, n * sizeof(*ids));
	assert_true(guests.n_qemu.known);
	assert_int_equal(guests.n_qemu.v, n_qemu);
}

static void jobs_choose_as_vzdump_does(void **state)
{
	(void)state;
	assert_guests("list", 2, (const uint32_t[]){100, 1000}, 1);
	assert_guests("everything", 3, (const uint32_t[]){100, 102, 1000}, 2);
	assert_guests("most", 2, (const uint32_t[]){102, 1000}, 1);
	assert_guests("exclude-only", 2, (const uint32_t[]){100, 1000}, 1);
	assert_guests("pool", 1, (const uint32_t[]){1000}, 0);
	assert_guests("here", 3, (const uint32_t[]){100, 102, 1000}, 2);
}

static void what_cannot_be_told_is_unknown(void **state)
{
	static const char *const ids[] = {
		"no-pool", "elsewhere", "nothing", "away", "not-there", ""};
	static const char *const lists[] = {"", "{}", "{\"ids\":[]}", "nothing",
		"{\"ids\":{\"100\":{\"type\":\"qemu\"}}}", "{\"ids\":{\"100\":7}}",
		"{\"ids\":{\"x\":{\"node\":\"pve1\",\"type\":\"qemu\"}}}"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		if (of_job(ids[i]))
			fail_msg("known: %s", ids[i]);
		assert_int_equal(guests.n, 0);
		assert_false(guests.n_qemu.known);
	}
	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (guests_of_job(jobs, "everything", pools, lists[i], "pve1", &guests))
			fail_msg("known: %s", lists[i]);
		assert_int_equal(guests.n, 0);
		assert_false(guests.n_qemu.known);
	}
}

static void one_guest_is_known_and_perhaps_its_type(void **state)
{
	(void)state;
	guests_of_one(1000, vmlist, "pve1", &guests);
	assert_int_equal(guests.n, 1);
	assert_int_equal(guests.ids[0], 1000);
	assert_true(guests.n_qemu.known);
	assert_int_equal(guests.n_qemu.v, 0);
	guests_of_one(100, vmlist, "pve1", &guests);
	assert_int_equal(guests.n_qemu.v, 1);
	guests_of_one(100, "", "pve1", &guests);
	assert_int_equal(guests.ids[0], 100);
	assert_false(guests.n_qemu.known);
}

static void more_than_fit_are_counted_only(void **state)
{
	struct buf text = {0};
	int i;

	(void)state;
	buf_adds(&text, "{\"ids\": {");
	for (i = 0; i < REQUEST_MAX_GUESTS + 1; i++)
		buf_addf(&text, "%s\"%d\": {\"node\": \"pve1\", \"type\": \"%s\"}", i ? "," : "",
			1000 + i, i % 2 ? "lxc" : "qemu");
	buf_adds(&text, "}}");
	assert_true(guests_of_job(jobs, "everything", pools, text.data, "pve1", &guests));
	assert_int_equal(guests.n, 0);
	assert_true(guests.n_qemu.known);
	assert_int_equal(guests.n_qemu.v, REQUEST_MAX_GUESTS / 2 + 1);
	buf_release(&text);
}

static void put(const char *root, const char *name, const char *text)
{
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", root, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void a_node_has_them_as_files(void **state)
{
	static const char *const files[] = {GUESTS_LIST, GUESTS_POOLS, "/etc/pve/jobs.cfg"};
	char root[] = "/tmp/rg-guests.XXXXXX", path[200];
	size_t i;

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_false(guests_read(root, "list", 0, "pve1", &guests));
	assert_true(guests_read(root, "list", 100, "pve1", &guests));
	assert_int_equal(guests.n, 1);
	assert_false(guests.n_qemu.known);
	snprintf(path, sizeof(path), "%s/etc", root);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/etc/pve", root);
	mkdir(path, 0700);
	put(root, GUESTS_LIST, vmlist);
	put(root, GUESTS_POOLS, pools);
	put(root, "/etc/pve/jobs.cfg", jobs);
	assert_true(guests_read(root, "pool", 0, "pve1", &guests));
	assert_int_equal(guests.ids[0], 1000);
	/* a task that belongs to no job */
	assert_true(guests_read(root, "", 102, "pve1", &guests));
	assert_int_equal(guests.ids[0], 102);
	assert_int_equal(guests.n_qemu.v, 1);
	assert_false(guests_read(root, "", 0, "pve1", &guests));
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, files[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/etc/pve", root);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/etc", root);
	rmdir(path);
	rmdir(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_choose_as_vzdump_does),
		cmocka_unit_test(what_cannot_be_told_is_unknown),
		cmocka_unit_test(one_guest_is_known_and_perhaps_its_type),
		cmocka_unit_test(more_than_fit_are_counted_only),
		cmocka_unit_test(a_node_has_them_as_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
