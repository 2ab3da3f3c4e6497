// SPDX-License-Identifier: MIT
/* What the lists and logs of servers make known: whose restores run, what cannot be known, what is
 * run again. */
#include "store_room.h"

#include <systemd/sd-event.h>

#include "base/clock.h"
#include "gate/ages.h"
#include "gate/gate.h"
#include "gate/tasks_impl.h"
#include "proxmox/pve.h"

#define RESTORE "UPID:pve1:00001001:00010001:6B0DF89E:qmrestore:100:root@pam:"
#define VZDUMP "UPID:pve1:00001002:00010002:6B0DF89E:vzdump:100:root@pam:"
#define PBS(n, type, id)                                                                           \
	"UPID:pbs:0000100" n ":00010001:0000000" n ":6B0DF89E:" type ":" id ":root@pam:"

static struct gate gate;
static struct tasks *tasks;

static void add_storage(const char *name, const char *nas, const char *pbs, const char *datastore)
{
	struct storage_settings *s = &gate.settings->storages[gate.settings->n_storages++];

	memset(s, 0, sizeof(*s));
	snprintf(s->name, sizeof(s->name), "%s", name);
	snprintf(s->mapping.nas, sizeof(s->mapping.nas), "%s", nas);
	snprintf(s->pbs, sizeof(s->pbs), "%s", pbs);
	snprintf(s->datastore, sizeof(s->datastore), "%s", datastore);
	snprintf(s->pve, sizeof(s->pve), "lab");
}

/* A cluster "lab", a backup server "pbs1": a folder on nas1, a datastore of a host on nas2, and one
 * that pbs1 tells of on nas3. */
static void begin(struct room *room)
{
	memset(&gate, 0, sizeof(gate));
	room_open_store(room);
	gate.store = room->store;
	gate.settings = calloc(1, sizeof(*gate.settings));
	settings_defaults(gate.settings);
	snprintf(gate.settings->pve[0].api.name, sizeof(gate.settings->pve[0].api.name), "lab");
	snprintf(gate.settings->pbs[0].api.name, sizeof(gate.settings->pbs[0].api.name), "pbs1");
	gate.settings->n_pve = gate.settings->n_pbs = 1;
	add_storage("folder", "nas1", "", "folder");
	add_storage("host", "nas2", "", "host");
	add_storage("own", "nas3", "pbs1", "ds3");
	assert_true(sd_event_new(&gate.loop) >= 0);
	MUST(tasks_open(&gate, &tasks, &err_of_must));
	MUST(ages_open(&gate, &gate.ages, &err_of_must));
	tasks_server(tasks, API_PVE, "lab")->good_ms = clock_boot_ms();
	tasks_server(tasks, API_PBS, "pbs1")->good_ms = clock_boot_ms();
}

static void end(void)
{
	size_t i;

	/* There are no remotes, which tasks_close() asks. */
	for (i = 0; i < tasks->n; i++) {
		free(tasks->servers[i]->stores);
		free(tasks->servers[i]);
	}
	tasks->n = 0;
	tasks_close(tasks);
	ages_close(gate.ages);
	sd_event_unref(gate.loop);
	free(gate.settings);
}

static void list(enum api_kind kind, const char *name, const char *body)
{
	MUST(tasks_take_list(tasks_server(tasks, kind, name), body, strlen(body), &err_of_must));
}

static struct task *log_says(const char *upid, const char *line)
{
	struct tasks_server *lab = tasks_server(tasks, API_PVE, "lab");
	struct task *task = task_find(lab, upid);
	char body[1024];

	assert_non_null(task);
	snprintf(body, sizeof(body), "{\"data\":[{\"n\":1,\"t\":\"%s\"}]}", line);
	MUST(tasks_take_log(lab, task, body, strlen(body), &err_of_must));
	return task;
}

static void storages(const char *body)
{
	sources_take(tasks_server(tasks, API_PVE, "lab"), body, strlen(body), NULL);
}

static const char restores[] = "{\"data\":[{\"upid\":\"" RESTORE
			       "\",\"node\":\"pve1\",\"pid\":1,\"pstart\":1,\"starttime\":1,"
			       "\"type\":\"qmrestore\",\"id\":\"100\",\"user\":\"root@pam\"}]}";
static const char stores[] =
	"{\"data\":[{\"storage\":\"folder\",\"type\":\"dir\",\"path\":\"/mnt/nas\"},"
	"{\"storage\":\"deep\",\"type\":\"dir\",\"path\":\"/mnt/nas/deep\"},"
	"{\"storage\":\"on2\",\"type\":\"dir\",\"path\":\"/mnt/nas/two\",\"nodes\":\"pve2\"},"
	"{\"storage\":\"host\",\"type\":\"pbs\",\"server\":\"10.0.0.1\",\"datastore\":\"ds\","
	"\"namespace\":\"a\"},{\"storage\":\"twin\",\"type\":\"pbs\",\"server\":\"10.0.0.1\","
	"\"datastore\":\"ds\",\"namespace\":\"b\"}]}";

#define VMA(path) "restore vma archive: vma extract -v -r /var/tmp/x " path " /var/tmp/x"
#define IMAGE(repository)                                                                          \
	"restore proxmox backup image: /usr/bin/pbs-restore --repository " repository              \
	" vm/100/T d.img.fidx /dev/x"

static void source_is(const char *line, const char *storage, enum task_source source)
{
	struct task *task = log_says(RESTORE, line);

	assert_string_equal(task->storage, storage);
	assert_int_equal(task->source, source);
}

static void a_restore_reads_what_the_cluster_calls_a_storage(void **state)
{
	begin(*state);
	list(API_PVE, "lab", restores);
	storages(stores);
	source_is(VMA("/mnt/nas/dump/a.vma"), "folder", SOURCE_MAPPED);
	assert_int_equal(tasks_readers(tasks, "nas1").v, 1);
	source_is(VMA("/mnt/nas/deep/dump/a.vma"), "", SOURCE_ELSEWHERE);
	source_is(VMA("/mnt/nas/two/dump/a.vma"), "folder", SOURCE_MAPPED); /* not on this node */
	source_is(VMA("/mnt/pve/folder/dump/a.vma"), "folder", SOURCE_MAPPED);
	source_is(VMA("/mnt/pve/else/dump/a.vma"), "", SOURCE_ELSEWHERE);
	source_is(IMAGE("root@pam@10.0.0.1:8007:ds --ns a"), "host", SOURCE_MAPPED);
	assert_int_equal(tasks_readers(tasks, "nas2").v, 1);
	end();
}

static void a_datastore_s_namespaces_lie_on_the_same_disks(void **state)
{
	begin(*state);
	list(API_PVE, "lab", restores);
	storages(stores);
	source_is(IMAGE("root@pam@10.0.0.1:ds --ns b"), "host", SOURCE_MAPPED);
	source_is(IMAGE("root@pam@10.0.0.2:ds"), "", SOURCE_UNKNOWN);
	source_is(IMAGE("root@pam@10.0.0.2:ds3"), "own", SOURCE_MAPPED);
	end();
}

static void what_a_restore_reads_may_be_unknown(void **state)
{
	struct tasks_server *lab;
	json_t *shown;

	begin(*state);
	lab = tasks_server(tasks, API_PVE, "lab");
	assert_true(tasks_sees(tasks, "nas1"));
	list(API_PVE, "lab", restores);
	assert_false(tasks_sees(tasks, "nas1")); /* before its log was read */
	assert_false(tasks_sees(tasks, "nas2"));
	assert_true(tasks_sees(tasks, "nas3")); /* its server tells */
	source_is(VMA("/mnt/pve/else/dump/a.vma"), "", SOURCE_UNKNOWN);
	source_is(VMA("/mnt/nas/dump/a.vma"), "", SOURCE_UNKNOWN);
	assert_true(sources_due(lab, clock_boot_ms()));
	shown = tasks_show(tasks);
	assert_int_equal(json_array_size(shown), 1);
	assert_string_equal(json_string_value(json_object_get(json_array_get(shown, 0), "text")),
		"a restore of unknown source: /mnt/nas/dump/a.vma is on no storage that the token "
		"sees");
	json_decref(shown);
	storages(stores);
	assert_string_equal(task_find(lab, RESTORE)->storage, "folder");
	assert_true(tasks_sees(tasks, "nas1"));
	/* Mapped otherwise. */
	gate.settings->storages[0].mapping.nas[0] = '\0';
	sources_judge(lab);
	assert_int_equal(task_find(lab, RESTORE)->source, SOURCE_ELSEWHERE);
	assert_string_equal(task_find(lab, RESTORE)->storage, "");
	end();
}

static void storages_are_asked_for_when_there_is_need(void **state)
{
	struct err err = {.kind = ERR_DENIED, .text = "no"};
	int64_t now = clock_boot_ms();
	struct tasks_server *lab;

	begin(*state);
	lab = tasks_server(tasks, API_PVE, "lab");
	assert_true(sources_due(lab, now));
	assert_false(sources_due(tasks_server(tasks, API_PBS, "pbs1"), now));
	sources_take(lab, NULL, 0, &err);
	assert_false(sources_due(lab, now));
	assert_true(sources_due(lab, now + 2 * MS_MINUTE));
	lab->stores_next_ms = 0;
	lab->stores_ms = now;
	storages(stores);
	assert_false(sources_due(lab, now + 59 * MS_MINUTE));
	assert_true(sources_due(lab, now + MS_HOUR));
	list(API_PVE, "lab", restores);
	log_says(RESTORE, VMA("/var/lib/vz/dump/a.vma"));
	lab->stores_ms = now - 1;
	assert_true(sources_due(lab, now));
	lab->stores_ms = clock_boot_ms() + 1; /* after it was read: it stays unknown */
	assert_false(sources_due(lab, lab->stores_ms));
	/* An answer that is none leaves what was known. */
	storages("{\"data\":[1]}");
	assert_int_equal(lab->n_stores, 5);
	end();
}

static void restores_beside_a_mapped_datastore_are_named(void **state)
{
	static const char body[] = "{\"data\":[{\"upid\":\"" PBS("1", "reader",
		"other\\\\x3avm-100") "\"},"
				      "{\"upid\":\"" PBS("2", "backup",
					      "other\\\\x3avm-101") "\"},"
								    "{\"upid\":\"" PBS("3",
									    "reader",
									    "ds3\\\\x3avm-"
									    "102") "\"}]}";
	struct task_reader readers[4];
	json_t *shown;

	begin(*state);
	list(API_PBS, "pbs1", body);
	assert_int_equal(tasks_readers_elsewhere(tasks, NULL, readers, 4), 1);
	assert_string_equal(readers[0].pbs, "pbs1");
	assert_string_equal(readers[0].store, "other");
	assert_int_equal(readers[0].since_utc_ms, INT64_C(0x6B0DF89E) * 1000);
	assert_string_equal(readers[0].upid, PBS("1", "reader", "other\\x3avm-100"));
	assert_int_equal(tasks_readers_elsewhere(tasks, "pbs1", readers, 4), 1);
	assert_int_equal(tasks_readers_elsewhere(tasks, "pbs2", readers, 4), 0);
	assert_int_equal(tasks_readers_elsewhere(tasks, NULL, readers, 0), 0);
	assert_int_equal(tasks_readers(tasks, "nas3").v, 1);
	assert_true(tasks_sees(tasks, "nas3"));
	shown = tasks_show(tasks);
	assert_int_equal(json_array_size(shown), 2);
	json_decref(shown);
	tasks_server(tasks, API_PBS, "pbs1")->good_ms = 0; /* not seen now */
	assert_int_equal(tasks_readers_elsewhere(tasks, NULL, readers, 4), 0);
	end();
}

static void many_of_them_leave_room(void **state)
{
	static char body[TASKS_PER_SERVER * 200];
	size_t i, at = 0;

	begin(*state);
	at += (size_t)snprintf(body, sizeof(body), "{\"data\":[");
	for (i = 0; i < 2 * TASKS_FOREIGN_MAX; i++)
		at += (size_t)snprintf(body + at, sizeof(body) - at,
			"{\"upid\":\"UPID:pbs:%08zX:00010001:00000001:6B0DF89E:reader:"
			"other\\\\x3avm-1:root@pam:\"},",
			i);
	snprintf(body + at, sizeof(body) - at, "{\"upid\":\"%s\"}]}",
		PBS("3", "reader", "ds3\\\\x3avm-102"));
	list(API_PBS, "pbs1", body);
	list(API_PBS, "pbs1", body);
	assert_int_equal(tasks_readers(tasks, "nas3").v, 1);
	end();
}

static void what_cannot_be_run_again_is_tried_seldom(void **state)
{
	struct err err = {.kind = ERR_DENIED, .text = "no"};
	struct rerun *rerun;
	int64_t first;

	begin(*state);
	rerun = &tasks->reruns[0];
	*rerun = (struct rerun){.used = true, .kind = TASK_GC};
	reruns_done(tasks, 0, &err);
	first = rerun->next_ms - clock_boot_ms();
	assert_string_equal(rerun->trouble, "no");
	assert_true(first > 9 * MS_MINUTE && first <= 10 * MS_MINUTE);
	reruns_done(tasks, 0, &err);
	assert_true(rerun->next_ms - clock_boot_ms() > 19 * MS_MINUTE);
	while (rerun->tries < 70)
		reruns_done(tasks, 0, &err);
	assert_true(rerun->next_ms - clock_boot_ms() <= 2 * MS_HOUR);
	end();
}

static void a_promise_outlives_the_gate_until_it_is_kept_or_refused(void **state)
{
	struct task task = {.kind = TASK_GC, .store = "ds3", .storage = "own"};
	const struct tasks_server *pbs;
	size_t i;

	begin(*state);
	for (i = 0; i < 2; i++) {
		pbs = tasks_server(tasks, API_PBS, "pbs1");
		tasks->reruns[0] = (struct rerun){.used = true,
			.kind = TASK_GC,
			.pbs = "pbs1",
			.store = "ds3",
			.storage = "own"};
		if (i) /* taken: what a later try is told does not count */
			reruns_keep(tasks, pbs, &task);
		reruns_withdraw(tasks, pbs, &task);
		assert_int_equal(tasks->reruns[0].used, i);
	}
	memset(tasks->reruns, 0, sizeof(tasks->reruns));
	reruns_load(tasks);
	assert_true(tasks->reruns[0].used && tasks->reruns[0].sure);
	end();
}

/* No rule matches here. */
static void a_stop_in_flight_keeps_its_reason(void **state)
{
	static struct policy policy; /* not enabled */
	struct tasks_server *pbs;
	struct task *task;

	begin(*state);
	gate.policy = &policy;
	pbs = tasks_server(tasks, API_PBS, "pbs1");
	task = task_new(pbs);
	*task = (struct task){.kind = TASK_GC, .upid = "u", .storage = "own", .stop = "why"};
	pbs->op = TASKS_OP_STOP;
	snprintf(pbs->op_upid, sizeof(pbs->op_upid), "u");
	reruns_judge(tasks);
	assert_string_equal(task->stop, "why");
	snprintf(pbs->op_upid, sizeof(pbs->op_upid), "other");
	reruns_judge(tasks);
	assert_string_equal(task->stop, "");
	end();
}

static void a_reload_hastens_a_stop_that_was_refused(void **state)
{
	struct task *task;

	begin(*state);
	task = task_new(tasks_server(tasks, API_PBS, "pbs1"));
	*task = (struct task){.kind = TASK_GC,
		.upid = "u",
		.storage = "own",
		.stop = "why",
		.refused = "no",
		.try_ms = 1,
		.stop_tries = 5};
	tasks_settings(tasks);
	assert_int_equal(task->try_ms, 0);
	assert_int_equal(task->stop_tries, 0);
	end();
}

/* The age of a guest, at the task's end. */
static int64_t age_s(uint32_t guest)
{
	static struct request request;
	struct moment now = {.utc_ms = (INT64_C(0x6B0DF89E) + 10000) * 1000};

	memset(&request, 0, sizeof(request));
	snprintf(request.storage, sizeof(request.storage), "folder");
	request.guest = guest;
	ages_fill(gate.ages, &request, &now);
	return request.backup_age_ms.known ? request.backup_age_ms.v / 1000 : -1;
}

static void past(const char *lines)
{
	struct tasks_server *lab = tasks_server(tasks, API_PVE, "lab");
	struct pve_task task = {.upid = VZDUMP, .endtime_s = INT64_C(0x6B0DF89E) + 10000};
	static char body[4096];

	assert_true(upid_parse(VZDUMP, &task.parts));
	memset(lab->past, 0, sizeof(lab->past));
	past_note(lab, &task);
	assert_non_null(past_wanted(lab));
	snprintf(body, sizeof(body),
		"{\"data\":[{\"n\":1,\"t\":\"INFO: starting new backup job: vzdump --storage "
		"folder\"}%s]}",
		lines);
	past_take(lab, VZDUMP, body, strlen(body), NULL);
	assert_null(past_wanted(lab));
}

#define LINE(text) ",{\"n\":2,\"t\":\"INFO: " text "\"}"

static void a_guest_is_as_old_as_its_own_backup(void **state)
{
	begin(*state);
	past(LINE("Starting Backup of VM 1 (qemu)") LINE("Backup started at 2026-11-30 23:30:00")
			LINE("Finished Backup of VM 1 (00:40:00)")
				LINE("Backup finished at 2026-12-01 00:10:00")
					LINE("Starting Backup of VM 2 (lxc)")
						LINE("Backup started at 2026-12-01 00:10:00")
							LINE("Finished Backup of VM 2 (00:50:00)"));
	assert_int_equal(age_s(1), 10000 - 2400);
	assert_int_equal(age_s(2), 10000); /* the log was cut */
	end();
}

static void times_that_do_not_fit_make_no_backup_younger(void **state)
{
	begin(*state);
	/* Later than the task's end; before the first; without a first. */
	past(LINE("Starting Backup of VM 1 (qemu)") LINE("Backup started at 2026-11-30 20:00:00")
			LINE("Finished Backup of VM 1 (00:40:00)")
				LINE("Backup finished at 2026-11-30 23:00:00"));
	assert_int_equal(age_s(1), 10000);
	past(LINE("Starting Backup of VM 2 (qemu)") LINE("Backup started at 2026-11-30 20:00:00")
			LINE("Finished Backup of VM 2 (00:40:00)")
				LINE("Backup finished at 2026-11-30 19:40:00"));
	assert_int_equal(age_s(2), 10000);
	past(LINE("Starting Backup of VM 3 (qemu)") LINE("Finished Backup of VM 3 (00:40:00)")
			LINE("Backup finished at 2026-11-30 20:00:00"));
	assert_int_equal(age_s(3), 10000);
	end();
}

static void a_log_of_the_past_is_asked_for_again_later(void **state)
{
	struct err err = {.kind = ERR_BUSY, .text = "596"};
	struct pve_task task = {.upid = VZDUMP, .endtime_s = 1};
	struct tasks_server *lab;

	begin(*state);
	lab = tasks_server(tasks, API_PVE, "lab");
	past_note(lab, &task);
	past_take(lab, VZDUMP, NULL, 0, &err);
	assert_null(past_wanted(lab));
	lab->past[0].try_ms -= 2 * MS_MINUTE;
	assert_non_null(past_wanted(lab));
	past_take(lab, VZDUMP, NULL, 0, &err);
	past_take(lab, VZDUMP, NULL, 0, &err);
	lab->past[0].try_ms -= 2 * MS_MINUTE;
	assert_null(past_wanted(lab)); /* given up */
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROOM_TEST(a_restore_reads_what_the_cluster_calls_a_storage),
		ROOM_TEST(a_datastore_s_namespaces_lie_on_the_same_disks),
		ROOM_TEST(what_a_restore_reads_may_be_unknown),
		ROOM_TEST(storages_are_asked_for_when_there_is_need),
		ROOM_TEST(restores_beside_a_mapped_datastore_are_named),
		ROOM_TEST(many_of_them_leave_room),
		ROOM_TEST(what_cannot_be_run_again_is_tried_seldom),
		ROOM_TEST(a_promise_outlives_the_gate_until_it_is_kept_or_refused),
		ROOM_TEST(a_stop_in_flight_keeps_its_reason),
		ROOM_TEST(a_reload_hastens_a_stop_that_was_refused),
		ROOM_TEST(a_guest_is_as_old_as_its_own_backup),
		ROOM_TEST(times_that_do_not_fit_make_no_backup_younger),
		ROOM_TEST(a_log_of_the_past_is_asked_for_again_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
