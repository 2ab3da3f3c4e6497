// SPDX-License-Identifier: MIT
/* A backup server's tasks: their ids, their kinds, the datastore that they are of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "proxmox/pbs.h"

#define HEAD "UPID:pbs-1:00001A2B:0004F5C6:0000000E:6B0DF89E:"

static void a_upid_has_a_task_id_and_an_escaped_id(void **state)
{
	struct pbs_task task;

	(void)state;
	assert_true(pbs_upid_parse(HEAD "reader:nas\\x3avm-100-2026\\x2d01:back@pbs!pve1:", &task));
	assert_int_equal(task.worker, PBS_WORKER_READER);
	assert_string_equal(task.type, "reader");
	assert_string_equal(task.id, "nas:vm/100/2026-01");
	assert_string_equal(task.store, "nas");
	assert_string_equal(task.user, "back@pbs!pve1");
	assert_int_equal(task.starttime_s, 0x6B0DF89E);
	assert_false(task.endtime_s.known);
	assert_string_equal(task.status, "");
	/* Longer numbers after 497 days up and many tasks. */
	assert_true(pbs_upid_parse("UPID:a:00001A2B:10004F5C6:00000000000000FF:6B0DF89E:"
				   "garbage_collection:nas:root@pam:",
		&task));
	assert_int_equal(task.worker, PBS_WORKER_GC);
	/* None has an id. */
	assert_true(pbs_upid_parse(HEAD "aptupdate::root@pam:", &task));
	assert_string_equal(task.id, "");
	assert_int_equal(task.worker, PBS_WORKER_OTHER);
}

static void kind_and_store(
	const char *type, const char *id, enum pbs_worker worker, const char *store)
{
	char upid[256];
	struct pbs_task task;

	snprintf(upid, sizeof(upid), HEAD "%s:%s:root@pam:", type, id);
	if (!pbs_upid_parse(upid, &task))
		fail_msg("%s was not taken", upid);
	assert_int_equal(task.worker, worker);
	assert_string_equal(task.store, store);
}

static void each_kind_names_its_store_in_its_own_way(void **state)
{
	(void)state;
	kind_and_store("backup", "nas\\x3avm-100", PBS_WORKER_BACKUP, "nas");
	kind_and_store("backup", "nas\\x3aa-b\\x3avm-100", PBS_WORKER_BACKUP, "nas");
	kind_and_store("garbage_collection", "nas\\x2d1", PBS_WORKER_GC, "nas-1");
	kind_and_store("verify", "nas", PBS_WORKER_VERIFY, "nas");
	kind_and_store("verify_group", "nas\\x3avm-100", PBS_WORKER_VERIFY, "nas");
	kind_and_store("verificationjob", "nas\\x3av\\x2d1", PBS_WORKER_VERIFY, "nas");
	kind_and_store("prune", "nas\\x3avm-100", PBS_WORKER_PRUNE, "nas");
	kind_and_store("prunejob", "nas\\x3ax", PBS_WORKER_PRUNE, "nas");
	/* remote, its store, ours, the job */
	kind_and_store(
		"syncjob", "far\\x3atheirs\\x3anas\\x3a\\x3as\\x2d1", PBS_WORKER_SYNC, "nas");
	kind_and_store("sync", "far\\x3atheirs\\x3anas", PBS_WORKER_SYNC, "nas");
	kind_and_store("syncjob", "odd", PBS_WORKER_SYNC, "");
	kind_and_store("tape-backup-job", "nas\\x3apool\\x3adrive", PBS_WORKER_TAPE, "nas");
	kind_and_store("logrotate", "nas", PBS_WORKER_OTHER, "");
}

static void what_is_no_upid_is_refused(void **state)
{
	static const char *const bad[] = {"", "UPID:", "UPID", HEAD "backup:x:root@pam",
		HEAD "backup:x:root@pam::", HEAD "backup:x:", HEAD ":x:root@pam:",
		HEAD "backup:x::", HEAD "backup:\\x3:root@pam:", HEAD "backup:\\y33:root@pam:",
		HEAD "backup:\\xg3:root@pam:", HEAD "backup:\\x00:root@pam:",
		HEAD "backup:\\x0a:root@pam:", HEAD "back up:x:root@pam:",
		HEAD "backup:x:root@pam/a:",
		/* Proxmox VE's, without the task's number. */
		"UPID:pve1:00001001:00010001:6B0DF89E:vzdump:100:root@pam:",
		"UPID:a:0001A2B:0004F5C6:0000000E:6B0DF89E:b:x:r@p:",
		"UPID:a:00001A2B:0004F5C6:0000000E:16B0DF89E:b:x:r@p:",
		"UPID:a:0000ZA2B:0004F5C6:0000000E:6B0DF89E:b:x:r@p:",
		"UPID:../a:00001A2B:0004F5C6:0000000E:6B0DF89E:b:x:r@p:"};
	struct pbs_task task = {.worker = PBS_WORKER_TAPE};
	char longer[400] = HEAD "backup:";
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (pbs_upid_parse(bad[i], &task))
			fail_msg("'%s' was taken", bad[i]);
	}
	memset(longer + strlen(longer), 'x', 130);
	strncat(longer, ":root@pam:", sizeof(longer) - strlen(longer) - 1);
	assert_false(pbs_upid_parse(longer, &task));
	assert_int_equal(task.worker, PBS_WORKER_TAPE);
}

static struct pbs_task got[4];
static size_t n_got;

static void take(void *data, const struct pbs_task *task)
{
	(void)data;
	assert_true(n_got < 4);
	got[n_got++] = *task;
}

static bool read_tasks(const char *text, struct err *err)
{
	n_got = 0;
	*err = (struct err){0};
	return pbs_tasks_read(text, strlen(text), take, NULL, err);
}

static void running_and_finished_tasks_are_told_apart(void **state)
{
	struct err err;

	(void)state;
	assert_true(read_tasks(
		"{\"data\":[{\"upid\":\"" HEAD "backup:nas\\\\x3avm-100:root@pam:\","
		"\"node\":\"localhost\",\"worker_type\":\"backup\",\"worker_id\":\"nas:vm/100\"},"
		"{\"upid\":\"" HEAD "verify:nas:root@pam:\",\"endtime\":1796000000,\"status\":"
		"\"connection error: reset\\nby peer\"}],\"total\":2}",
		&err));
	assert_int_equal(n_got, 2);
	assert_false(got[0].endtime_s.known);
	assert_string_equal(got[0].store, "nas");
	assert_true(got[1].endtime_s.known && got[1].endtime_s.v == 1796000000);
	assert_string_equal(got[1].status, "connection error: reset by peer");
}

static void a_task_that_is_too_long_to_be_ours_hides_no_other(void **state)
{
	char text[1200] = "{\"data\":[{\"upid\":\"" HEAD "download:";
	struct err err;

	(void)state;
	memset(text + strlen(text), 'x', 300);
	strncat(text, ":root@pam:\"},{\"upid\":\"" HEAD "reader:nas\\\\x3avm-1:root@pam:\"}]}",
		sizeof(text) - strlen(text) - 1);
	assert_true(read_tasks(text, &err));
	assert_int_equal(n_got, 1);
	assert_int_equal(got[0].worker, PBS_WORKER_READER);
}

static void malformed_lists_are_not_read(void **state)
{
	static const char *const bad[] = {"", "{\"data\":{}}", "{\"data\":[{}]}", "{\"data\":[[]]}",
		"{\"data\":[{\"upid\":7}]}", "{\"data\":[{\"upid\":\"hello\"}]}",
		"{\"data\":[{\"upid\":\"" HEAD "verify:nas:root@pam:\",\"endtime\":-3}]}",
		"{\"data\":[{\"upid\":\"" HEAD "verify:nas:root@pam:\",\"endtime\":1.5}]}",
		"{\"data\":[{\"upid\":\"" HEAD "verify:nas:root@pam:\",\"endtime\":\"x\"}]}",
		"{\"data\":[{\"upid\":\"" HEAD "verify:nas:root@pam:\",\"status\":{}}]}"};
	struct err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (read_tasks(bad[i], &err))
			fail_msg("%s was taken", bad[i]);
		assert_int_equal(err.kind, ERR_PROTOCOL);
	}
}

static void a_started_task_is_named(void **state)
{
	static const char good[] = "{\"data\":\"" HEAD "verify:nas:root@pam:\"}";
	static const char *const bad[] = {
		"{\"data\":null}", "{\"data\":\"x\"}", "{\"data\":[]}", "x"};
	char upid[256] = "";
	struct err err = {0};
	size_t i;

	(void)state;
	assert_true(pbs_started_read(good, strlen(good), upid, &err));
	assert_string_equal(upid, HEAD "verify:nas:root@pam:");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err = (struct err){0};
		assert_false(pbs_started_read(bad[i], strlen(bad[i]), upid, &err));
		assert_int_equal(err.kind, ERR_PROTOCOL);
	}
}

static void each_worker_has_a_word(void **state)
{
	int worker;

	(void)state;
	for (worker = PBS_WORKER_NONE; worker <= PBS_WORKER_OTHER; worker++)
		assert_true(*pbs_worker_word((enum pbs_worker)worker));
	assert_string_equal(pbs_worker_word(PBS_WORKER_READER), "restore");
	assert_string_equal(pbs_worker_word(PBS_WORKER_TAPE), "tape");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_upid_has_a_task_id_and_an_escaped_id),
		cmocka_unit_test(each_kind_names_its_store_in_its_own_way),
		cmocka_unit_test(what_is_no_upid_is_refused),
		cmocka_unit_test(running_and_finished_tasks_are_told_apart),
		cmocka_unit_test(a_task_that_is_too_long_to_be_ours_hides_no_other),
		cmocka_unit_test(malformed_lists_are_not_read),
		cmocka_unit_test(a_started_task_is_named),
		cmocka_unit_test(each_worker_has_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
