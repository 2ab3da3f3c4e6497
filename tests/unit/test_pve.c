// SPDX-License-Identifier: MIT
/* A cluster's calls and answers, and what a task's log tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "proxmox/pve.h"

#define UPID "UPID:pve1:00001001:00010001:6B0DF89E:vzdump:100:root@pam:"

static void is_get(struct api_call *call, const char *path)
{
	assert_string_equal(call->method, "GET");
	assert_string_equal(buf_str(&call->path), path);
	assert_int_equal(call->body.len, 0);
	api_call_release(call);
}

static void calls_have_their_paths(void **state)
{
	static const char coded[] =
		"UPID%3Apve1%3A00001001%3A00010001%3A6B0DF89E%3Avzdump%3A100%3Aroot%40pam%3A";
	char path[256];
	struct api_call call;
	struct err err = {0};

	(void)state;
	assert_true(pve_cluster_tasks_get(&call, &err));
	is_get(&call, "/api2/json/cluster/tasks");
	assert_true(pve_node_tasks_get("pve1", &call, &err));
	is_get(&call, "/api2/json/nodes/pve1/tasks?source=active&limit=500");
	assert_true(pve_task_status_get("pve1", UPID, &call, &err));
	snprintf(path, sizeof(path), "/api2/json/nodes/pve1/tasks/%s/status", coded);
	is_get(&call, path);
	assert_true(pve_task_log_get("pve1", UPID, 0, 500, &call, &err));
	snprintf(path, sizeof(path), "/api2/json/nodes/pve1/tasks/%s/log?start=0&limit=500", coded);
	is_get(&call, path);
	assert_true(pve_task_stop("pve1", UPID, &call, &err));
	assert_string_equal(call.method, "DELETE");
	snprintf(path, sizeof(path), "/api2/json/nodes/pve1/tasks/%s", coded);
	assert_string_equal(buf_str(&call.path), path);
	api_call_release(&call);
	assert_true(pve_included_volumes_get("backup-1", &call, &err));
	is_get(&call, "/api2/json/cluster/backup/backup-1/included_volumes");
	assert_true(pve_jobs_get(&call, &err));
	is_get(&call, "/api2/json/cluster/backup");
	assert_true(pve_content_get("pve1", "nas", &call, &err));
	is_get(&call, "/api2/json/nodes/pve1/storage/nas/content?content=backup");
	assert_true(pve_guests_get(&call, &err));
	is_get(&call, "/api2/json/cluster/resources?type=vm");
}

static void a_name_that_is_none_makes_no_call(void **state)
{
	struct api_call call;
	struct err err = {0};

	(void)state;
	assert_false(pve_node_tasks_get("../x", &call, &err));
	assert_false(pve_task_stop("pve1", "UPID:x", &call, &err));
	assert_false(pve_task_stop("", UPID, &call, &err));
	assert_false(pve_content_get("pve1", "", &call, &err));
	assert_int_equal(call.path.len, 0);
	assert_null(call.path.data);
	assert_false(pve_included_volumes_get("a/b", &call, &err));
	assert_int_equal(err.kind, ERR_INVALID);
}

static struct pve_task got[8];
static size_t n_got;

static void take_task(void *data, const struct pve_task *task)
{
	(void)data;
	assert_true(n_got < 8);
	got[n_got++] = *task;
}

static bool read_tasks(const char *text, struct err *err)
{
	n_got = 0;
	*err = (struct err){0};
	return pve_tasks_read(text, strlen(text), take_task, NULL, err);
}

static void tasks_run_in_either_list_s_way(void **state)
{
	struct err err;

	(void)state;
	assert_true(read_tasks(
		"{\"data\":[{\"upid\":\"" UPID
		"\",\"node\":\"pve1\",\"type\":\"vzdump\"},{\"upid\":"
		"\"" UPID "\",\"status\":\"RUNNING\"},{\"upid\":\"" UPID "\",\"status\":\"OK\","
		"\"endtime\":1796000000,\"saved\":\"1\"},{\"upid\":\"UPID:b:00001001:00010001:"
		"6B0DF89E:qmrestore:101:a@pve!t:\",\"status\":\"job errors\",\"endtime\":"
		"\"1796000001\"}]}",
		&err));
	assert_int_equal(n_got, 4);
	assert_true(got[0].running);
	assert_string_equal(got[0].parts.type, "vzdump");
	assert_int_equal(got[0].parts.vmid, 100);
	assert_string_equal(got[0].user, "root@pam");
	assert_true(got[1].running);
	assert_string_equal(got[1].status, "");
	assert_false(got[2].running);
	assert_int_equal(got[2].endtime_s, 1796000000);
	assert_true(pve_status_ok(got[2].status));
	assert_string_equal(got[3].user, "a@pve!t");
	assert_int_equal(got[3].endtime_s, 1796000001);
	assert_false(pve_status_ok(got[3].status));
	assert_true(pve_status_ok("WARNINGS: 2"));
	assert_false(pve_status_ok(""));
}

static void a_long_task_hides_no_other(void **state)
{
	char text[1000] = "{\"data\":[{\"upid\":\"UPID:b:00001001:00010001:6B0DF89E:download:";
	struct err err;

	(void)state;
	memset(text + strlen(text), 'x', 200);
	strncat(text, ":a@pve:\"},{\"upid\":\"" UPID "\"}]}", sizeof(text) - strlen(text) - 1);
	assert_true(read_tasks(text, &err));
	assert_int_equal(n_got, 1);
}

static void take_nothing(void *data, const struct pve_backup *backup)
{
	(void)data;
	(void)backup;
}

static void take_no_job(void *data, const struct pve_job *job)
{
	(void)data;
	(void)job;
}

static void take_no_member(void *data, const struct pve_job_guest *guest)
{
	(void)data;
	(void)guest;
}

static void take_no_guest(void *data, const struct pve_guest *guest)
{
	(void)data;
	(void)guest;
}

static void take_no_line(void *data, int64_t n, const char *line)
{
	(void)data;
	(void)n;
	(void)line;
}

static void malformed_answers_are_not_read(void **state)
{
	static const char *const bad[] = {"", "x", "[]", "{}", "{\"data\":null}", "{\"data\":7}",
		"{\"data\":[7]}", "{\"data\":[{}]}", "{\"data\":{\"children\":[7]}}",
		"{\"data\":[{\"upid\":\"x\",\"volid\":7,\"id\":7,\"vmid\":\"x\",\"t\":7}]}",
		"{\"data\":{\"children\":[{\"id\":0,\"type\":\"lxc\"}]}}",
		"{\"data\":{\"children\":[{\"id\":100}]}}",
		"{\"data\":{\"children\":[{\"id\":100,\"type\":\"lxc\",\"children\":{}}]}}",
		"{\"data\":{\"children\":[{\"id\":100,\"type\":\"lxc\",\"children\":[{\"included\":"
		"\"yes\"}]}]}}",
		"{\"data\":[{\"upid\":\"" UPID "\",\"endtime\":[],\"volid\":\"a\",\"ctime\":\"-1\","
		"\"id\":\"j\",\"enabled\":2,\"vmid\":100,\"type\":\"lxc\",\"t\":\"a\",\"n\":\"b\"}]"
		"}"};
	char status[128] = "";
	struct err err[7];
	bool running = false;
	size_t i, k, len;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(err, 0, sizeof(err));
		len = strlen(bad[i]);
		assert_false(pve_tasks_read(bad[i], len, take_task, NULL, &err[0]));
		assert_false(pve_content_read(bad[i], len, take_nothing, NULL, &err[1]));
		assert_false(pve_jobs_read(bad[i], len, take_no_job, NULL, &err[2]));
		assert_false(pve_included_volumes_read(bad[i], len, take_no_member, NULL, &err[3]));
		assert_false(pve_guests_read(bad[i], len, take_no_guest, NULL, &err[4]));
		assert_false(pve_log_read(bad[i], len, take_no_line, NULL, &err[5]));
		assert_false(pve_task_status_read(bad[i], len, &running, status, &err[6]));
		for (k = 0; k < 7; k++)
			assert_int_equal(err[k].kind, ERR_PROTOCOL);
	}
}

static char text[1024];

static void say_backup(void *data, const struct pve_backup *backup)
{
	size_t at = strlen(text);

	(void)data;
	snprintf(text + at, sizeof(text) - at, "%s %u %lld %lld;", backup->volid, backup->vmid,
		(long long)backup->ctime_s, (long long)backup->size);
}

static void say_job(void *data, const struct pve_job *job)
{
	size_t at = strlen(text);

	(void)data;
	snprintf(text + at, sizeof(text) - at, "%s %s %s %s %d;", job->id, job->storage,
		job->schedule, job->script, job->enabled);
}

static void say_member(void *data, const struct pve_job_guest *guest)
{
	size_t at = strlen(text);

	(void)data;
	snprintf(text + at, sizeof(text) - at, "%u %d %lld;", guest->vmid, guest->lxc,
		(long long)guest->size);
}

static void say_guest(void *data, const struct pve_guest *guest)
{
	size_t at = strlen(text);

	(void)data;
	snprintf(text + at, sizeof(text) - at, "%u %d %s;", guest->vmid, guest->lxc, guest->node);
}

static void say_line(void *data, int64_t n, const char *line)
{
	size_t at = strlen(text);

	(void)data;
	snprintf(text + at, sizeof(text) - at, "%lld %s;", (long long)n, line);
}

static void rows_are_read(void **state)
{
	static const char backups[] =
		"{\"data\":[{\"volid\":\"nas:backup/a.vma\",\"vmid\":100,\"ctime\":1796000000,"
		"\"size\":5},{\"volid\":\"pbs:backup/host/"
		"x\",\"ctime\":1},{\"volid\":\"b\",\"vmid\":"
		"\"101\",\"ctime\":\"2\"}]}";
	static const char jobs[] = "{\"data\":[{\"id\":\"j-1\",\"storage\":\"nas\",\"schedule\":"
				   "\"21:00\",\"enabled\":1},"
				   "{\"id\":\"j-2\",\"enabled\":0,\"script\":\"/a "
				   "b\"},{\"id\":\"j-3\",\"enabled\":\"1\"}]}";
	static const char members[] =
		"{\"data\":{\"leaf\":0,\"children\":[{\"id\":100,\"type\":\"qemu\",\"children\":["
		"{\"included\":1,\"size\":10},{\"included\":false,\"size\":100},{\"included\":true,"
		"\"size\":1}]},{\"id\":101,\"type\":\"unknown\"},{\"id\":\"102\",\"type\":\"lxc\"}]"
		"}}";
	static const char guests[] =
		"{\"data\":[{\"vmid\":100,\"type\":\"qemu\",\"node\":\"pve1\"},{\"vmid\":101,"
		"\"type\":"
		"\"lxc\",\"node\":\"pve2\"},{\"vmid\":102,\"type\":\"other\",\"node\":\"pve2\"}]}";
	static const char lines[] =
		"{\"data\":[{\"n\":1,\"t\":\"INFO: a\"},{\"n\":\"2\",\"t\":\"\"}]}";
	struct err err = {0};

	(void)state;
	text[0] = '\0';
	assert_true(pve_content_read(backups, strlen(backups), say_backup, NULL, &err));
	assert_true(pve_jobs_read(jobs, strlen(jobs), say_job, NULL, &err));
	assert_true(pve_included_volumes_read(members, strlen(members), say_member, NULL, &err));
	assert_true(pve_guests_read(guests, strlen(guests), say_guest, NULL, &err));
	assert_true(pve_log_read(lines, strlen(lines), say_line, NULL, &err));
	assert_string_equal(text,
		"nas:backup/a.vma 100 1796000000 5;b 101 2 0;j-1 nas 21:00  1;j-2   /a b 0;"
		"j-3    1;100 0 11;102 1 0;100 0 pve1;101 1 pve2;1 INFO: a;2 ;");
}

static void a_status_says_whether_it_runs(void **state)
{
	static const char runs[] = "{\"data\":{\"status\":\"running\",\"pid\":5}}";
	static const char over[] =
		"{\"data\":{\"status\":\"stopped\",\"exitstatus\":\"job errors\"}}";
	static const char odd[] = "{\"data\":{\"status\":\"sleeping\"}}";
	char status[128] = "x";
	struct err err = {0};
	bool running = false;

	(void)state;
	assert_true(pve_task_status_read(runs, strlen(runs), &running, status, &err));
	assert_true(running);
	assert_string_equal(status, "");
	assert_true(pve_task_status_read(over, strlen(over), &running, status, &err));
	assert_false(running);
	assert_string_equal(status, "job errors");
	assert_false(pve_task_status_read(odd, strlen(odd), &running, status, &err));
	assert_int_equal(err.kind, ERR_PROTOCOL);
}

static struct pve_log_facts after_lines(const char *const *lines, size_t n)
{
	struct pve_log_facts facts = {0};
	size_t i;

	for (i = 0; i < n; i++)
		pve_log_line(&facts, lines[i]);
	return facts;
}

static void a_backup_s_log_tells_storage_and_guest(void **state)
{
	static const char *const lines[] = {
		"INFO: starting new backup job: vzdump 1 --notes 'a --storage b' --storage nas-1",
		"INFO: Starting Backup of VM 100 (qemu)",
		"INFO: Backup started at 2026-11-30 21:00:00",
		"INFO:  50% (1.0 GiB of 2.0 GiB) in 10s",
		"INFO: Finished Backup of VM 100 (00:00:20)",
		"INFO: Starting Backup of VM 101 (lxc)",
		"ERROR: Backup of VM 101 failed - no space",
		"INFO: Starting Backup of VM 102 (qemu)"};
	struct pve_log_facts facts;

	(void)state;
	facts = after_lines(lines, 1);
	assert_string_equal(facts.storage, "nas-1");
	assert_int_equal(facts.guest, 0);
	facts = after_lines(lines, 4);
	assert_int_equal(facts.guest, 100);
	assert_false(facts.lxc);
	assert_int_equal(after_lines(lines, 5).guest, 0);
	facts = after_lines(lines, 6);
	assert_int_equal(facts.guest, 101);
	assert_true(facts.lxc);
	assert_int_equal(after_lines(lines, 7).guest, 0);
	facts = after_lines(lines, 8);
	assert_int_equal(facts.guest, 102);
	assert_false(facts.lxc);
	assert_int_equal(facts.restored_from, 0);
	assert_string_equal(facts.storage, "nas-1");
}

/* After one guest's lines, the last of which are `lines`. */
static struct pve_log_facts after_guest(const char *type, const char *const *lines, size_t n)
{
	struct pve_log_facts facts = {0};
	char start[64];
	size_t i;

	snprintf(start, sizeof(start), "INFO: Starting Backup of VM 100 (%s)", type);
	pve_log_line(&facts, start);
	for (i = 0; i < n; i++)
		pve_log_line(&facts, lines[i]);
	return facts;
}

static struct opt read_of(const char *line)
{
	return after_guest("qemu", &line, 1).read;
}

static struct opt written_of(const char *line)
{
	return after_guest("lxc", &line, 1).written;
}

static void a_backup_s_log_tells_what_a_virtual_machine_s_read(void **state)
{
	static const char *const clean[] = {"INFO: scsi0: dirty-bitmap status: OK (drive clean)",
		"INFO: using fast incremental mode (dirty-bitmap), 0.0 B dirty of 32.0 GiB total",
		"INFO: 100% (0.0 B of 0.0 B) in 3s, read: 0 B/s, write: 0 B/s",
		"INFO: backup was done incrementally, reused 32.00 GiB (100%)",
		"INFO: Finished Backup of VM 100 (00:00:05)"};
	static const char *const dirty[] = {
		"INFO: using fast incremental mode (dirty-bitmap), 2.2 GiB dirty of 5.0 GiB total",
		"INFO: backup was done incrementally, reused 4.43 GiB (88%)",
		"INFO: transferred 2.21 GiB in 23 seconds (98.4 MiB/s)",
		"INFO: Finished Backup of VM 100 (00:00:25)",
		"INFO: Starting Backup of VM 101 (qemu)"};
	static const char *const none[] = {"INFO: transferred 34359 MB in 62 seconds (554 MB/s)",
		"INFO: transferred 3.09 GB in 62 seconds",
		"INFO: transferred 3.09GiB in 62 seconds",
		"INFO: transferred 3.0912 GiB in 62 seconds",
		"INFO: transferred .5 GiB in 62 seconds", "INFO: transferred -3 GiB in 62 seconds",
		"INFO: transferred 3. GiB in 62 seconds", "INFO: transferred 3.09 GiB",
		"INFO: transferred 3.09 GiB in a while",
		"INFO: transferred 9000000 PiB in 62 seconds",
		"INFO: transferred 3.09 GiBs in 62 seconds",
		"INFO: root.pxar: transferred 3.09 GiB in 62 seconds",
		"transferred 3.09 GiB in 62 seconds"};
	struct pve_log_facts facts;
	size_t i;

	(void)state;
	assert_int_equal(read_of("INFO: transferred 3.09 GiB in 62 seconds (51.0 MiB/s)").v,
		3317862236); /* 3.09 x 2^30, rounded down */
	assert_int_equal(read_of("INFO: transferred 12.00 MiB in <1 seconds").v, 12 << 20);
	assert_int_equal(read_of("INFO: transferred 512.00 B in <1 seconds").v, 512);
	for (i = 0; i < sizeof(none) / sizeof(*none); i++)
		assert_false(read_of(none[i]).known);
	/* Nobody's, or a container's. */
	facts = after_lines(dirty, 3);
	assert_false(facts.read.known);
	assert_false(after_guest("lxc", dirty, 3).read.known);
	/* A clean guest's log does not tell that nothing was transferred. */
	assert_false(after_guest("qemu", clean, 1).read.known);
	facts = after_guest("qemu", clean, 5);
	assert_int_equal(facts.guest, 0);
	assert_true(facts.read.known);
	assert_int_equal(facts.read.v, 0);
	/* What is dirty is no more than said roughly, before. */
	assert_false(after_guest("qemu", dirty, 2).read.known);
	facts = after_guest("qemu", dirty, 4);
	assert_true(facts.read.known);
	assert_int_equal(facts.read.v, 2372969431);
	assert_false(facts.written.known);
	/* The next one's is its own. */
	assert_false(after_guest("qemu", dirty, 5).read.known);
}

static void a_backup_s_log_tells_what_a_container_s_sent(void **state)
{
	static const char *const archives[] = {"INFO: root.mpxar: had to backup 10 MiB of 12.5 MiB "
					       "(compressed 2 MiB) in 3.20 s (average 3.1 MiB/s)",
		"INFO: root.ppxar: reused 7.19 GiB from previous snapshot for unchanged files "
		"(3215 chunks)",
		"INFO: root.ppxar: had to backup 287.845 MiB of 7.47 GiB (compressed 100 MiB) in "
		"3.20 s (average 89 MiB/s)",
		"INFO: root.ppxar: backup was done incrementally, reused 7.322 GiB (98.0%)",
		"INFO: Finished Backup of VM 100 (00:00:25)"};
	static const char *const odd[] = {
		"INFO: root.pxar: had to backup 10 MiB of 12 MiB (compressed 2 MB) in 3.20 s",
		"INFO: data.pxar: had to backup 10 MiB of 12 MiB (compressed 2 MiB) in 3.20 s"};
	struct pve_log_facts facts;

	(void)state;
	assert_int_equal(written_of("INFO: root.pxar: had to backup 4 MiB of 1.5 GiB (compressed "
				    "1.5 MiB) in 0.54s")
				 .v,
		3 << 19); /* as older clients end it */
	assert_true(written_of("INFO: root.pxar: had to backup 0 B of 512 MiB (compressed 0 B) in "
			       "0.56 s (average 0 B/s)")
			    .known);
	assert_false(written_of("INFO: a file root.pxar: had to backup 4 MiB of 1 GiB (compressed "
				"1 MiB) in 0.54 s")
			     .known);
	assert_false(written_of("INFO: : had to backup 4 MiB").known);
	facts = after_guest("lxc", archives, 5);
	assert_true(facts.written.known);
	assert_int_equal(facts.written.v, 102 << 20);
	assert_false(facts.read.known);
	assert_false(after_guest("qemu", archives, 5).written.known);
	/* With one part that is not known the sum is not. */
	assert_false(after_guest("lxc", odd, 2).written.known);
}

static void a_command_may_name_its_storage_otherwise(void **state)
{
	static const char *const with[] = {
		"INFO: starting new backup job: vzdump --storage=nas --all 1"};
	static const char *const without[] = {
		"INFO: starting new backup job: vzdump 100 --dumpdir /x",
		"INFO: starting new backup job: vzdump 100 --storage"};

	(void)state;
	assert_string_equal(after_lines(with, 1).storage, "nas");
	assert_string_equal(after_lines(without, 2).storage, "");
}

static void a_restore_s_log_tells_what_it_reads(void **state)
{
	static const char *const vma[] = {
		"restore vma archive: zstd -q -d -c /mnt/pve/nas/dump/vzdump-qemu-100.vma.zst | "
		"vma "
		"extract -v -r /var/tmp/vzdumptmp1.fifo - /var/tmp/vzdumptmp1"};
	static const char *const plain[] = {
		"restore vma archive: vma extract -v -r /var/tmp/vzdumptmp1.fifo "
		"'/var/lib/vz/dump/vzdump qemu.vma' /var/tmp/vzdumptmp1"};
	static const char *const pbs[] = {"new volume ID is 'local-lvm:vm-100-disk-0'",
		"restore proxmox backup image: /usr/bin/pbs-restore --repository "
		"back@pbs!pve1@10.0.2.82:8007:nas vm/100/2026-04-27T06:51:58Z drive-scsi0.img.fidx "
		"/dev/pve/vm-100-disk-0 --verbose"};
	static const char *const six[] = {"restore proxmox backup image: /usr/bin/pbs-restore "
					  "--repository root@pam@[fd00::1]:nas vm/1/2 x"};
	static const char *const lxc[] = {
		"recovering backed-up configuration from 'nas:backup/ct/101/2026-05-09T15:43:57Z'"};
	static const char *const lxc2[] = {"restoring 'nas-2:backup/vzdump-lxc-210.tar.zst' now.."};
	static const char *const other[] = {"restoring stuff",
		"restore vma archive: ", "restore proxmox backup image: --repository",
		"INFO: restoring 'nas:backup/x' now.."};
	struct pve_log_facts facts;

	(void)state;
	facts = after_lines(vma, 1);
	assert_int_equal(facts.restored_from, 1);
	assert_string_equal(facts.storage, "nas");
	assert_string_equal(facts.archive, "/mnt/pve/nas/dump/vzdump-qemu-100.vma.zst");
	facts = after_lines(plain, 1);
	assert_int_equal(facts.restored_from, 1);
	assert_string_equal(facts.storage, "");
	assert_string_equal(facts.archive, "/var/lib/vz/dump/vzdump qemu.vma");
	facts = after_lines(pbs, 2);
	assert_int_equal(facts.restored_from, 1);
	assert_string_equal(facts.datastore, "nas");
	assert_string_equal(facts.server, "10.0.2.82");
	facts = after_lines(six, 1);
	assert_string_equal(facts.server, "[fd00::1]");
	assert_string_equal(facts.datastore, "nas");
	facts = after_lines(lxc, 1);
	assert_int_equal(facts.restored_from, 1);
	assert_string_equal(facts.storage, "nas");
	assert_string_equal(after_lines(lxc2, 1).storage, "nas-2");
	assert_int_equal(after_lines(other, 4).restored_from, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_have_their_paths),
		cmocka_unit_test(a_name_that_is_none_makes_no_call),
		cmocka_unit_test(tasks_run_in_either_list_s_way),
		cmocka_unit_test(a_long_task_hides_no_other),
		cmocka_unit_test(malformed_answers_are_not_read),
		cmocka_unit_test(rows_are_read),
		cmocka_unit_test(a_status_says_whether_it_runs),
		cmocka_unit_test(a_backup_s_log_tells_storage_and_guest),
		cmocka_unit_test(a_backup_s_log_tells_what_a_virtual_machine_s_read),
		cmocka_unit_test(a_backup_s_log_tells_what_a_container_s_sent),
		cmocka_unit_test(a_command_may_name_its_storage_otherwise),
		cmocka_unit_test(a_restore_s_log_tells_what_it_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
