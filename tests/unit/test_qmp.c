// SPDX-License-Identifier: MIT
/* src/proxmox/qmp against a server that follows a script. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "proxmox/qmp.h"

#define DEADLINE_MS 10000

/* What the server expects in a line (all of `want` in it) and says then: '@' is the command's id.
 * The first step, without `want`, is said to a new client. */
struct step {
	const char *want, *say;
};

#define GREETING                                                                                   \
	{                                                                                          \
		NULL, "{\"QMP\": {\"version\": {}, \"capabilities\": []}}\r\n"                     \
	}
#define DONE "{\"return\": {}, \"id\": @}\r\n"
#define CAPABILITIES                                                                               \
	{                                                                                          \
		"\"execute\":\"qmp_capabilities\"", DONE                                           \
	}
#define JOBS "\"execute\":\"query-block-jobs\""
#define EVENT "{\"event\": \"JOB_STATUS_CHANGE\", \"data\": {\"id\": \"x\"}, \"timestamp\": {}}\r\n"
#define JOB(device, status, paused, speed)                                                         \
	"{\"type\": \"backup\", \"device\": \"" device "\", \"status\": \"" status                 \
	"\", \"paused\": " paused ", \"speed\": " speed                                            \
	", \"offset\": 10, \"len\": 100, \"busy\": true}"
#define LIST(jobs) "{\"return\": [" jobs "], \"id\": @}\r\n"
#define REFUSED(kind)                                                                              \
	"{\"error\": {\"class\": \"" kind "\", \"desc\": \"it says no\"}, \"id\": @}\r\n"

static char folder[64], path[100];
static pid_t server;
static struct qmp_state jobs;
static struct err err;

static void say(int fd, const char *text, const char *id, size_t piece)
{
	char out[4096];
	size_t len = 0, at = 0, n;

	for (; *text; text++) {
		if (*text == '@')
			len += (size_t)snprintf(out + len, sizeof(out) - len, "%s", id);
		else
			out[len++] = *text;
	}
	for (; at < len; at += n) {
		n = len - at < piece ? len - at : piece;
		if (write(fd, out + at, n) < 0)
			_exit(1);
	}
}

/* Reads a line; false at the client's end. */
static bool hear(int fd, char *ret, size_t size)
{
	size_t len = 0;

	while (len < size - 1 && read(fd, ret + len, 1) == 1) {
		if (ret[len++] == '\n') {
			ret[len] = '\0';
			return true;
		}
	}
	return false;
}

static void serve(int listener, const struct step *steps, size_t piece)
{
	int fd = accept(listener, NULL, NULL);
	char line[1024], id[24];
	const char *at;

	for (; steps->say; steps++) {
		id[0] = '\0';
		if (steps->want) {
			if (!hear(fd, line, sizeof(line)))
				_exit(2);
			at = strstr(line, "\"id\":");
			snprintf(id, sizeof(id), "%.*s", at ? (int)strspn(at + 5, "0123456789") : 0,
				at ? at + 5 : "");
			if (!strstr(line, steps->want))
				say(fd, "unexpected\r\n", "", 99);
		}
		say(fd, steps->say, id, piece);
	}
	/* Nothing more may come. */
	_exit(hear(fd, line, sizeof(line)) ? 3 : 0);
}

static int listen_at(int backlog)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, backlog), 0);
	return fd;
}

static void start_pieces(const struct step *steps, size_t piece)
{
	int fd = listen_at(1);

	server = fork();
	if (server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(60);
		serve(fd, steps, piece);
	}
	close(fd);
}

static void start(const struct step *steps)
{
	start_pieces(steps, 4096);
}

/* Whether the server heard what it expected and no more. */
static void assert_followed(void)
{
	int status = -1;

	assert_int_equal(waitpid(server, &status, 0), server);
	server = 0;
	assert_int_equal(status, 0);
}

static int before_each(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/rg-qmp.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/q", folder);
	memset(&jobs, 0, sizeof(jobs));
	err = (struct err){0};
	return 0;
}

static int after_each(void **state)
{
	(void)state;
	if (server > 0) {
		kill(server, SIGKILL);
		waitpid(server, NULL, 0);
		server = 0;
	}
	unlink(path);
	return rmdir(folder);
}

static bool bring(enum qmp_path how, int64_t rate)
{
	return qmp_backup_jobs(path, how, rate, DEADLINE_MS, &jobs, &err);
}

static void a_look_lists_the_backup_jobs(void **state)
{
	static const struct step steps[] = {GREETING, CAPABILITIES,
		{JOBS,
			LIST(JOB("drive-scsi0", "running", "false",
				"5") ", {\"type\": \"mirror\", "
				     "\"device\": \"m\"}, " JOB(
					     "drive-scsi1", "created", "true", "0"))},
		{0}};

	(void)state;
	start(steps);
	assert_true(bring(QMP_LOOK, 0));
	assert_followed();
	assert_int_equal(jobs.n, 2);
	assert_string_equal(jobs.jobs[0].device, "drive-scsi0");
	assert_int_equal(jobs.jobs[0].speed, 5);
	assert_int_equal(jobs.jobs[0].offset, 10);
	assert_int_equal(jobs.jobs[0].len, 100);
	assert_true(qmp_job_active(&jobs.jobs[0]));
	/* QEMU calls it paused, but nobody paused it. */
	assert_false(jobs.jobs[1].paused);
	assert_false(qmp_job_active(&jobs.jobs[1]));
}

static void events_and_pieces_do_not_matter(void **state)
{
	static const struct step steps[] = {GREETING, {"qmp_capabilities", EVENT DONE EVENT},
		{JOBS, EVENT EVENT LIST(JOB("drive-scsi0", "running", "false", "0"))}, {0}};

	(void)state;
	start_pieces(steps, 3);
	assert_true(bring(QMP_LOOK, 0));
	assert_followed();
	assert_int_equal(jobs.n, 1);
}

static void a_limit_goes_to_all_that_can_take_it(void **state)
{
	static const struct step steps[] = {GREETING, CAPABILITIES,
		{JOBS,
			LIST(JOB("a", "running", "false", "0") "," JOB(
				"b", "created", "true", "0") "," JOB("c", "waiting", "false",
				"0") "," JOB("d", "running", "false", "7"))},
		{"block-job-set-speed\",\"id\":3,\"arguments\":{\"device\":\"a\",\"speed\":7}",
			DONE},
		{"block-job-set-speed\",\"id\":4,\"arguments\":{\"device\":\"b\",\"speed\":7}",
			EVENT DONE},
		{JOBS,
			LIST(JOB("a", "running", "false", "7") "," JOB(
				"b", "created", "true", "7"))},
		{0}};

	(void)state;
	start(steps);
	assert_true(bring(QMP_LIMIT, 7));
	assert_followed();
	assert_int_equal(jobs.n, 2);
	assert_int_equal(jobs.jobs[1].speed, 7);
}

static void a_pause_goes_to_those_under_way(void **state)
{
	static const struct step steps[] = {GREETING, CAPABILITIES,
		{JOBS,
			LIST(JOB("a", "running", "false", "9") "," JOB(
				"b", "created", "true", "0") "," JOB("c", "paused", "true", "0"))},
		{"block-job-pause\",\"id\":3,\"arguments\":{\"device\":\"a\"}", DONE},
		{JOBS,
			LIST(JOB("a", "paused", "true", "9") "," JOB(
				"b", "created", "true", "0") "," JOB("c", "paused", "true", "0"))},
		{0}};

	(void)state;
	start(steps);
	assert_true(bring(QMP_PAUSE, 0));
	assert_followed();
	assert_true(jobs.jobs[0].paused);
}

static void freeing_sets_the_speed_before_it_resumes(void **state)
{
	static const struct step steps[] = {GREETING, CAPABILITIES,
		{JOBS, LIST(JOB("a", "paused", "true", "9"))},
		{"block-job-set-speed\",\"id\":3,\"arguments\":{\"device\":\"a\",\"speed\":20}",
			DONE},
		{"block-job-resume\",\"id\":4,\"arguments\":{\"device\":\"a\"}", DONE},
		{JOBS, LIST(JOB("a", "running", "false", "20"))}, {0}};

	(void)state;
	start(steps);
	assert_true(bring(QMP_FREE, 20));
	assert_followed();
	assert_int_equal(jobs.jobs[0].speed, 20);
}

static void a_job_that_ended_meanwhile_is_no_failure(void **state)
{
	static const struct step steps[] = {GREETING, CAPABILITIES,
		{JOBS, LIST(JOB("a", "running", "false", "0"))},
		{"block-job-set-speed", REFUSED("DeviceNotActive")}, {JOBS, LIST("")}, {0}};

	(void)state;
	start(steps);
	assert_true(bring(QMP_LIMIT, 7));
	assert_followed();
	assert_int_equal(jobs.n, 0);
}

static void a_refusal_is_told_with_what_is_there(void **state)
{
	static const struct step steps[] = {GREETING, CAPABILITIES,
		{JOBS, LIST(JOB("a", "running", "false", "0"))},
		{"block-job-pause", REFUSED("GenericError")},
		{JOBS, LIST(JOB("a", "running", "false", "0"))}, {0}};

	(void)state;
	start(steps);
	assert_false(bring(QMP_PAUSE, 0));
	assert_followed();
	assert_int_equal(err.kind, ERR_DENIED);
	assert_non_null(strstr(err.text, "it says no"));
	assert_int_equal(jobs.n, 1);
}

static void a_refusal_of_what_is_so_already_is_none(void **state)
{
	static const struct step steps[] = {GREETING, CAPABILITIES,
		{JOBS, LIST(JOB("a", "running", "false", "0"))},
		{"block-job-pause", REFUSED("GenericError")},
		{JOBS, LIST(JOB("a", "paused", "true", "0"))}, {0}};

	(void)state;
	start(steps);
	assert_true(bring(QMP_PAUSE, 0));
	assert_followed();
}

static void assert_fails(const struct step *steps, enum err_kind kind, int64_t deadline_ms)
{
	start(steps);
	assert_false(qmp_backup_jobs(path, QMP_LOOK, 0, deadline_ms, &jobs, &err));
	assert_int_equal(err.kind, kind);
	assert_true(*err.text);
	assert_int_equal(jobs.n, 0);
}

static void no_qemu_is_gone(void **state)
{
	char longest[200];

	(void)state;
	assert_false(bring(QMP_LOOK, 0));
	assert_int_equal(err.kind, ERR_GONE);
	close(listen_at(1)); /* the socket's file stays */
	assert_false(bring(QMP_LOOK, 0));
	assert_int_equal(err.kind, ERR_GONE);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_false(qmp_backup_jobs(longest, QMP_LOOK, 0, DEADLINE_MS, &jobs, &err));
	assert_int_equal(err.kind, ERR_LIMIT);
}

static void one_that_goes_away_is_gone(void **state)
{
	static const struct step steps[] = {
		GREETING, CAPABILITIES, {JOBS, "{\"return\": [], \"i"}, {0}};
	int fd;

	(void)state;
	fd = listen_at(1);
	server = fork();
	if (server == 0) {
		int client = accept(fd, NULL, NULL);
		char line[512];

		say(client, steps[0].say, "", 99);
		hear(client, line, sizeof(line));
		_exit(0);
	}
	close(fd);
	assert_false(bring(QMP_LOOK, 0));
	assert_int_equal(err.kind, ERR_GONE);
}

static void a_silent_one_is_left_at_the_deadline(void **state)
{
	static const struct step silent[] = {{NULL, ""}, {"nothing", ""}, {0}};
	int64_t start_ms = clock_boot_ms();

	(void)state;
	assert_fails(silent, ERR_TIMEOUT, 300);
	assert_true(clock_boot_ms() - start_ms >= 300);
}

static void what_is_no_qmp_is_refused(void **state)
{
	static const struct step steps[][5] = {
		{{NULL, "HTTP/1.1 400 Bad Request\r\n\r\n"}, {0}},
		{{NULL, "{\"return\": {}}\r\n"}, {0}},
		{{NULL, "[1]\r\n"}, {0}},
		{GREETING, {"qmp_capabilities", "{\"return\": {}, \"id\": 99}\r\n"}, {0}},
		{GREETING, {"qmp_capabilities", "{\"id\": @}\r\n"}, {0}},
		{GREETING, CAPABILITIES, {JOBS, DONE}, {0}},
		{GREETING, CAPABILITIES, {JOBS, LIST("{\"device\": \"a\"}")}, {0}},
		{GREETING, CAPABILITIES, {JOBS, LIST("{\"type\": \"backup\"}")}, {0}},
		{GREETING, CAPABILITIES, {JOBS, LIST(JOB("a", "running", "1", "0"))}, {0}},
		{GREETING, CAPABILITIES, {JOBS, LIST(JOB("a", "running", "false", "-1"))}, {0}},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		err = (struct err){0};
		assert_fails(steps[i], ERR_PROTOCOL, DEADLINE_MS);
		kill(server, SIGKILL);
		waitpid(server, NULL, 0);
		server = 0;
		unlink(path);
	}
}

static void refused_capabilities_are_told(void **state)
{
	static const struct step steps[] = {
		GREETING, {"qmp_capabilities", REFUSED("CommandNotFound")}, {0}};

	(void)state;
	assert_fails(steps, ERR_DENIED, DEADLINE_MS);
	assert_non_null(strstr(err.text, "it says no"));
}

static void a_line_without_end_is_bounded(void **state)
{
	int fd = listen_at(1), client;
	char part[65536];

	(void)state;
	server = fork();
	if (server == 0) {
		signal(SIGPIPE, SIG_DFL);
		client = accept(fd, NULL, NULL);
		memset(part, 'x', sizeof(part));
		while (write(client, part, sizeof(part)) > 0)
			;
		_exit(0);
	}
	close(fd);
	assert_false(bring(QMP_LOOK, 0));
	assert_int_equal(err.kind, ERR_PROTOCOL);
}

/* Connections that fill the backlog. */
static void crowd(int fds[2])
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int i;

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	for (i = 0; i < 2; i++) {
		fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		assert_int_equal(connect(fds[i], (const struct sockaddr *)&at, sizeof(at)), 0);
	}
}

static void it_waits_while_others_are_served(void **state)
{
	static const struct step steps[] = {GREETING, CAPABILITIES,
		{JOBS, LIST(JOB("drive-scsi0", "running", "false", "5"))}, {0}};
	int fd = listen_at(1), fds[2];

	(void)state;
	crowd(fds);
	server = fork();
	if (server == 0) {
		alarm(60);
		poll(NULL, 0, 300);
		close(accept(fd, NULL, NULL));
		poll(NULL, 0, 100);
		close(accept(fd, NULL, NULL));
		serve(fd, steps, 4096);
	}
	close(fd);
	assert_true(bring(QMP_LOOK, 0));
	close(fds[0]);
	close(fds[1]);
	assert_followed();
	assert_int_equal(jobs.n, 1);
}

static void it_does_not_wait_for_ever(void **state)
{
	int fd = listen_at(1), fds[2];
	int64_t start_ms = clock_boot_ms();

	(void)state;
	crowd(fds);
	assert_false(qmp_backup_jobs(path, QMP_LOOK, 0, 200, &jobs, &err));
	assert_int_equal(err.kind, ERR_TIMEOUT);
	assert_true(clock_boot_ms() - start_ms < 5000);
	close(fds[0]);
	close(fds[1]);
	close(fd);
}

/* Job "a" only. */
static bool want_a(void *data, const struct qmp_job *job, struct qmp_order *ret)
{
	*ret = (struct qmp_order){.pause = true, .speed = *(const int64_t *)data};
	return strcmp(job->device, "a") == 0;
}

static void each_job_can_be_something_else(void **state)
{
	static const struct step steps[] = {GREETING, CAPABILITIES,
		{JOBS,
			LIST(JOB("b", "running", "false", "0") "," JOB(
				"a", "running", "false", "0"))},
		{"block-job-pause\",\"id\":3,\"arguments\":{\"device\":\"a\"}", DONE},
		{"block-job-set-speed\",\"id\":4,\"arguments\":{\"device\":\"a\",\"speed\":3}",
			DONE},
		{JOBS, LIST(JOB("a", "paused", "true", "3"))}, {0}};
	int64_t speed = 3;
	const struct qmp_wants wants = {want_a, &speed};

	(void)state;
	start(steps);
	assert_true(qmp_bring(path, &wants, DEADLINE_MS, &jobs, &err));
	assert_followed();
	assert_int_equal(jobs.n, 1);
}

static void fleecing_shows_in_the_graph(void **state)
{
	static const struct step with[] = {GREETING, CAPABILITIES,
		{"query-named-block-nodes\",\"id\":2,\"arguments\":{\"flat\":true}",
			LIST("{\"drv\": \"raw\"}, {\"drv\": \"snapshot-access\"}")},
		{0}};
	static const struct step without[] = {GREETING, CAPABILITIES,
		{"query-named-block-nodes",
			LIST("{\"drv\": \"raw\"}, {\"drv\": \"copy-before-write\"}")},
		{0}};
	bool fleecing = false;

	(void)state;
	start(with);
	assert_true(qmp_fleecing(path, DEADLINE_MS, &fleecing, &err));
	assert_followed();
	assert_true(fleecing);
	unlink(path);
	start(without);
	assert_true(qmp_fleecing(path, DEADLINE_MS, &fleecing, &err));
	assert_followed();
	assert_false(fleecing);
	fleecing = true;
	unlink(path);
	assert_false(qmp_fleecing(path, DEADLINE_MS, &fleecing, &err));
	assert_true(fleecing);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, before_each, after_each)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_look_lists_the_backup_jobs),
		TEST(events_and_pieces_do_not_matter),
		TEST(a_limit_goes_to_all_that_can_take_it),
		TEST(a_pause_goes_to_those_under_way),
		TEST(freeing_sets_the_speed_before_it_resumes),
		TEST(a_job_that_ended_meanwhile_is_no_failure),
		TEST(a_refusal_is_told_with_what_is_there),
		TEST(a_refusal_of_what_is_so_already_is_none),
		TEST(no_qemu_is_gone),
		TEST(one_that_goes_away_is_gone),
		TEST(a_silent_one_is_left_at_the_deadline),
		TEST(what_is_no_qmp_is_refused),
		TEST(refused_capabilities_are_told),
		TEST(a_line_without_end_is_bounded),
		TEST(it_waits_while_others_are_served),
		TEST(it_does_not_wait_for_ever),
		TEST(each_job_can_be_something_else),
		TEST(fleecing_shows_in_the_graph),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
