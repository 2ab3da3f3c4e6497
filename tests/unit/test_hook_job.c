// SPDX-License-Identifier: MIT
/* src/proxmox/upid, calendar and job: what the hook can find out about its job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/moment.h"
#include "proxmox/calendar.h"
#include "proxmox/job.h"
#include "proxmox/upid.h"

#define UPID_ONE "UPID:pve1:0000C0DE:0012D687:6A9C8B10:vzdump:101:root@pam:"
#define UPID_MANY "UPID:pve1:0000C0DE:112D68789:6A9C8B10:vzdump::root@pam!tok:"

static void a_task_id_is_taken_apart(void **state)
{
	struct upid upid;

	(void)state;
	assert_true(upid_parse(UPID_ONE, &upid));
	assert_string_equal(upid.node, "pve1");
	assert_int_equal(upid.pid, 0xC0DE);
	assert_int_equal(upid.pstart, 0x12D687);
	assert_int_equal(upid.starttime_s, 0x6A9C8B10);
	assert_string_equal(upid.type, "vzdump");
	assert_int_equal(upid.vmid, 101);
	assert_true(upid_parse(UPID_MANY, &upid));
	assert_int_equal(upid.vmid, 0);
	assert_int_equal(upid.pstart, 0x112D68789);
}

static void what_is_no_task_id_is_refused(void **state)
{
	static const char *const bad[] = {"", "UPID:", "UPID:pve1:0000C0DE:0012D687:6A9C8B10",
		"UPID:pve1:0000c0de:0012D687:6A9C8B10:vzdump::root@pam:",
		"UPID:pve1:C0DE:0012D687:6A9C8B10:vzdump::root@pam:",
		"UPID::0000C0DE:0012D687:6A9C8B10:vzdump::root@pam:", UPID_ONE "x",
		/* a PBS one has a field more */
		"UPID:pbs:0000C0DE:0012D687:00000001:6A9C8B10:backup:x:root@pam:"};
	struct upid upid;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (upid_parse(bad[i], &upid))
			fail_msg("taken: %s", bad[i]);
	}
}

static void a_workers_title_holds_it(void **state)
{
	static const char title[] = "task " UPID_ONE "\0\0\0\0";
	char upid[UPID_MAX];

	(void)state;
	assert_true(upid_of_title(title, sizeof(title) - 1, upid));
	assert_string_equal(upid, UPID_ONE);
	assert_false(upid_of_title("/usr/bin/perl\0task UPID:", 24, upid));
	assert_false(upid_of_title("task", 4, upid));
}

/* Local time of 2026 in Vienna to UTC ms. */
static int64_t local(int month, int day, int hour, int minute)
{
	struct tm tm = {.tm_year = 126,
		.tm_mon = month - 1,
		.tm_mday = day,
		.tm_hour = hour,
		.tm_min = minute,
		.tm_isdst = -1};

	return (int64_t)mktime(&tm) * 1000;
}

static void the_next_start_of_common_schedules(void **state)
{
	/* 2026-11-30 is a Monday. */
	static const struct {
		const char *event;
		int month, day, hour, minute;
	} rows[] = {
		{"21:00", 11, 30, 21, 0},
		{"20:04", 12, 1, 20, 4}, /* now itself is not the next */
		{" 02:30 ", 12, 1, 2, 30},
		{"mon..fri 22:00", 11, 30, 22, 0},
		{"mon..fri 19:00", 12, 1, 19, 0},
		{"sat 18:15", 12, 5, 18, 15},
		{"sat,sun 1:0", 12, 5, 1, 0},
		{"Saturday..Sunday", 12, 5, 0, 0},
		{"sun", 12, 6, 0, 0},
		{"mon 20:00", 12, 7, 20, 0},
		{"*/6:00", 12, 1, 0, 0},
		{"0/2:30", 11, 30, 20, 30},
		{"8..17,22:0/15", 11, 30, 22, 0},
		{"*/5", 11, 30, 20, 5},
		{"mon..wed 30/10", 11, 30, 20, 30},
		{"*", 11, 30, 20, 5},
		{"hourly", 11, 30, 21, 0},
		{"daily", 12, 1, 0, 0},
		{"weekly", 12, 7, 0, 0},
	};
	int64_t next;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		next = 0;
		if (!calendar_next(rows[i].event, local(11, 30, 20, 4), &next) ||
			next != local(rows[i].month, rows[i].day, rows[i].hour, rows[i].minute))
			fail_msg("%s: %lld", rows[i].event, (long long)next);
	}
	/* Over the end of summer time: 25 hours later. */
	assert_true(calendar_next("21:00", local(10, 24, 21, 0), &next));
	assert_int_equal(next - local(10, 24, 21, 0), 25 * MS_HOUR);
}

static void other_schedules_are_not_known(void **state)
{
	static const char *const bad[] = {"", "  ", "monthly", "2026-12-24", "*-1 21:00",
		"sat *-1..7 15:00", "25:00", "21:60", "21:00:00", "fri..mon 1:00", "mons 1:00",
		"21:", ":00", "1..:0", "5..2:0", "*/0:0", "1,:0", "21:00 x", "999999999:0"};
	int64_t next = 42;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (calendar_next(bad[i], local(11, 30, 20, 4), &next))
			fail_msg("taken: '%s'", bad[i]);
	}
	assert_int_equal(next, 42);
}

static void a_schedule_is_found_in_its_section_only(void **state)
{
	static const char config[] = "realm-sync: backup-1\n\tschedule 1:00\n\n"
				     "vzdump: backup-10\n\tschedule 2:00\n\n"
				     "vzdump: backup-1\n\tenabled 1\n\tschedules 3:00\n"
				     "\tschedule   mon..fri 22:00  \n\tstorage nas\n\n"
				     "vzdump: cut\n\n\tschedule 4:00\n";
	char text[40];

	(void)state;
	assert_true(job_schedule(config, "backup-1", text, sizeof(text)));
	assert_string_equal(text, "mon..fri 22:00");
	assert_true(job_schedule(config, "backup-10", text, sizeof(text)));
	assert_string_equal(text, "2:00");
	assert_false(job_schedule(config, "cut", text, sizeof(text)));
	assert_false(job_schedule(config, "backup", text, sizeof(text)));
	assert_false(job_schedule(config, "backup-1", text, 5));
}

static void put(const char *dir, const char *name, const char *text)
{
	char path[300];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void a_task_is_found_in_the_state_files(void **state)
{
	static const char *const names[] = {
		"vzdump-a.json", "vzdump-backup-1.json", "realmsync-b.json", "vzdump-c.json.tmp"};
	char dir[] = "/tmp/rg-job-XXXXXX", id[JOB_ID_MAX] = "", path[300];
	size_t i;

	(void)state;
	assert_non_null(mkdtemp(dir));
	put(dir, names[0], "{\"state\":\"stopped\",\"upid\":\"" UPID_MANY "\"}");
	put(dir, names[2], "{\"state\":\"started\",\"upid\":\"" UPID_ONE "\"}");
	put(dir, names[3], "{\"upid\":\"" UPID_ONE "\"}");
	put(dir, names[1], "{\"state\":\"starting\"}");
	assert_false(job_of_task(dir, UPID_ONE, id));
	put(dir, names[1], "{\"state\":\"started\",\"upid\":\"" UPID_ONE "\",\"time\":1}");
	assert_true(job_of_task(dir, UPID_ONE, id));
	assert_string_equal(id, "backup-1");
	put(dir, names[1], "{\"state\":");
	assert_false(job_of_task(dir, UPID_ONE, id));
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(dir), 0);
	assert_false(job_of_task(dir, UPID_ONE, id));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_id_is_taken_apart),
		cmocka_unit_test(what_is_no_task_id_is_refused),
		cmocka_unit_test(a_workers_title_holds_it),
		cmocka_unit_test(the_next_start_of_common_schedules),
		cmocka_unit_test(other_schedules_are_not_known),
		cmocka_unit_test(a_schedule_is_found_in_its_section_only),
		cmocka_unit_test(a_task_is_found_in_the_state_files),
	};

	/* As a POSIX rule: needs no time zone files. */
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
