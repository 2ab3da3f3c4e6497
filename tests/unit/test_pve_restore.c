// SPDX-License-Identifier: MIT
/* Where a restore reads from, and when a guest's backup ended: by logs and by the storages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "proxmox/pve.h"

static struct pve_log_facts after_line(const char *line)
{
	struct pve_log_facts facts = {0};

	pve_log_line(&facts, line);
	return facts;
}

static void a_namespace_is_told(void **state)
{
	struct pve_log_facts facts =
		after_line("restore proxmox backup image: /usr/bin/pbs-restore --repository "
			   "back@pbs!pve1@10.0.2.82:nas --ns a/b vm/100/2026-04-27T06:51:58Z "
			   "drive-scsi0.img.fidx /dev/pve/vm-100-disk-0 --verbose");

	(void)state;
	assert_string_equal(facts.datastore, "nas");
	assert_string_equal(facts.server, "10.0.2.82");
	assert_string_equal(facts.ns, "a/b");
	facts = after_line("restore proxmox backup image: /usr/bin/pbs-restore --repository "
			   "root@pam@pbs:nas vm/100/2026-04-27T06:51:58Z x y");
	assert_string_equal(facts.ns, "");
}

static void a_guest_that_runs_while_it_is_restored_is_a_restore(void **state)
{
	struct pve_log_facts facts =
		after_line("repository: 'root@pam@pbs.lan:8010:store', snapshot: "
			   "'vm/100/2026-04-27T06:51:58Z'");

	(void)state;
	assert_int_equal(facts.restored_from, 1);
	assert_string_equal(facts.datastore, "store");
	assert_string_equal(facts.server, "pbs.lan");
	assert_int_equal(after_line("repository: 'x").restored_from, 0);
}

static void a_container_s_restore_may_name_a_file(void **state)
{
	struct pve_log_facts facts = after_line(
		"recovering backed-up configuration from '/mnt/nas/dump/vzdump-lxc-1:2.tar'");

	(void)state;
	assert_int_equal(facts.restored_from, 1);
	assert_string_equal(facts.archive, "/mnt/nas/dump/vzdump-lxc-1:2.tar");
	assert_string_equal(facts.storage, "");
	facts = after_line("extracting archive '/mnt/pve/nas/dump/vzdump-lxc-210.tar.zst'");
	assert_string_equal(facts.storage, "nas");
	assert_string_equal(facts.archive, "/mnt/pve/nas/dump/vzdump-lxc-210.tar.zst");
	/* What a volume was said to be is not told anew by its path. */
	facts = after_line("restoring 'one:backup/vzdump-lxc-210.tar.zst' now..");
	pve_log_line(&facts, "extracting archive '/mnt/pve/nas/dump/vzdump-lxc-210.tar.zst'");
	assert_string_equal(facts.storage, "one");
	assert_string_equal(facts.archive, "");
	assert_int_equal(after_line("extracting archive from STDIN").restored_from, 0);
}

static char text[2048];

static void say(void *data, const struct pve_storage *s)
{
	size_t at = strlen(text);

	(void)data;
	snprintf(text + at, sizeof(text) - at, "%s|%s|%s|%s|%s|%s;", s->id, s->path, s->server,
		s->datastore, s->ns, s->nodes);
}

static void storages_are_read(void **state)
{
	static const char list[] =
		"{\"data\":[{\"storage\":\"local\",\"type\":\"dir\",\"path\":\"/var/lib/vz\"},"
		"{\"storage\":\"deep\",\"type\":\"dir\",\"path\":\"/mnt/nas//\",\"nodes\":\"b,a\"},"
		"{\"storage\":\"n\",\"type\":\"nfs\",\"server\":\"10.0.0.9\",\"export\":\"/b\"},"
		"{\"storage\":\"lvm\",\"type\":\"lvmthin\"},"
		"{\"storage\":\"p\",\"type\":\"pbs\",\"server\":\"pbs\",\"datastore\":\"store\","
		"\"namespace\":\"a/b\"},{\"storage\":\"iscsi\",\"type\":\"iscsi\"}]}";
	static const char odd[] = "{\"data\":[{\"storage\":\"x\"}]}";
	static const char number[] = "{\"data\":[{\"storage\":\"x\",\"type\":\"dir\",\"path\":1}]}";
	struct err err = {0};

	(void)state;
	text[0] = '\0';
	assert_true(pve_storages_read(list, strlen(list), say, NULL, &err));
	assert_string_equal(text,
		"local|/var/lib/vz||||;deep|/mnt/nas||||b,a;n|/mnt/pve/n||||;"
		"p||pbs|store|a/b|;");
	assert_false(pve_storages_read(odd, strlen(odd), say, NULL, &err));
	assert_int_equal(err.kind, ERR_PROTOCOL);
	err = (struct err){0};
	assert_false(pve_storages_read(number, strlen(number), say, NULL, &err));
	assert_int_equal(err.kind, ERR_PROTOCOL);
	assert_false(pve_storages_read("{}", 2, say, NULL, &err));
}

static void a_storage_that_is_too_long_hides_no_other(void **state)
{
	char list[1024], path[300];
	struct err err = {0};

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	snprintf(list, sizeof(list),
		"{\"data\":[{\"storage\":\"x\",\"type\":\"dir\",\"path\":\"%s\"},"
		"{\"storage\":\"y\",\"type\":\"dir\",\"path\":\"/y\"}]}",
		path);
	text[0] = '\0';
	assert_true(pve_storages_read(list, strlen(list), say, NULL, &err));
	assert_string_equal(text, "y|/y||||;");
}

static void a_path_lies_below_a_storage(void **state)
{
	struct pve_storage nas = {.path = "/mnt/nas"}, root = {.path = "/"}, none = {.id = "x"};

	(void)state;
	assert_int_equal(pve_storage_holds(&nas, "/mnt/nas/dump/a.vma"), 8);
	assert_int_equal(pve_storage_holds(&nas, "/mnt/nas2/dump/a.vma"), 0);
	assert_int_equal(pve_storage_holds(&nas, "/mnt"), 0);
	assert_int_equal(pve_storage_holds(&root, "/mnt/nas/dump/a.vma"), 1);
	assert_int_equal(pve_storage_holds(&none, "/mnt/nas/dump/a.vma"), 0);
}

static void a_storage_is_on_its_nodes(void **state)
{
	struct pve_storage some = {.nodes = "pve1,pve12"}, all = {.id = "x"};

	(void)state;
	assert_true(pve_storage_on(&all, "pve2"));
	assert_true(pve_storage_on(&some, "pve1"));
	assert_true(pve_storage_on(&some, "pve12"));
	assert_false(pve_storage_on(&some, "pve2"));
	assert_false(pve_storage_on(&some, "pve"));
}

static void a_storage_is_a_datastore(void **state)
{
	struct pve_storage four = {.server = "10.0.2.82", .datastore = "nas"};
	struct pve_storage six = {.server = "fd00::1", .datastore = "nas"};
	struct pve_storage name = {.server = "PBS.lan", .datastore = "nas"}, dir = {.path = "/x"};

	(void)state;
	assert_true(pve_storage_is(&four, "10.0.2.82", "nas"));
	assert_false(pve_storage_is(&four, "10.0.2.8", "nas"));
	assert_false(pve_storage_is(&four, "10.0.2.82", "nas2"));
	assert_true(pve_storage_is(&six, "[fd00::1]", "nas"));
	assert_false(pve_storage_is(&six, "[fd00::2]", "nas"));
	assert_true(pve_storage_is(&name, "pbs.lan", "nas"));
	assert_false(pve_storage_is(&dir, "", ""));
}

static void a_log_tells_times(void **state)
{
	int64_t at = 7;

	(void)state;
	assert_int_equal(
		pve_log_time("INFO: Backup started at 1970-01-02 00:00:01", &at), PVE_LOG_STARTED);
	assert_int_equal(at, 86401);
	assert_int_equal(pve_log_time("INFO: Backup finished at 2026-11-30 21:00:05", &at),
		PVE_LOG_FINISHED);
	assert_int_equal(at, 1796072405);
	assert_int_equal(pve_log_time("INFO: Failed at 2026-11-30 21:00:06", &at), PVE_LOG_FAILED);
	assert_int_equal(at, 1796072406);
	assert_int_equal(pve_log_time("INFO: Backup finished at 21:00", &at), PVE_LOG_NONE);
	assert_int_equal(
		pve_log_time("INFO: Backup finished at 2026-13-30 21:00:05", &at), PVE_LOG_NONE);
	assert_int_equal(pve_log_time("Backup finished at 2026-11-30 21:00:05", &at), PVE_LOG_NONE);
	assert_int_equal(at, 1796072406);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_namespace_is_told),
		cmocka_unit_test(a_guest_that_runs_while_it_is_restored_is_a_restore),
		cmocka_unit_test(a_container_s_restore_may_name_a_file),
		cmocka_unit_test(storages_are_read),
		cmocka_unit_test(a_storage_that_is_too_long_hides_no_other),
		cmocka_unit_test(a_path_lies_below_a_storage),
		cmocka_unit_test(a_storage_is_on_its_nodes),
		cmocka_unit_test(a_storage_is_a_datastore),
		cmocka_unit_test(a_log_tells_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
