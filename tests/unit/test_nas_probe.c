// SPDX-License-Identifier: MIT
/* Parent and child in one program: started with an argument it is the child that the argument
 * names. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "nas/probe.h"

#define WAIT_MS 20000 /* how long a child of ours may take before the test has failed */

static struct probe probe = PROBE_NONE;
static struct probe_result result;
static struct err err;

static void start(const char *role)
{
	const char *const argv[] = {"/proc/self/exe", role, NULL};

	err = (struct err){0};
	if (!probe_spawn(&probe, argv, &err))
		fail_msg("%s", err.text);
	assert_true(probe.pid > 0);
	assert_true(probe.fd >= 0);
}

/* What probe_feed() says once it says something else than "not whole yet". */
static int answer(void)
{
	struct pollfd p = {.fd = probe.fd, .events = POLLIN};
	int got = 0;

	while (got == 0) {
		if (poll(&p, 1, WAIT_MS) <= 0)
			fail_msg("no answer came");
		got = probe_feed(&probe, &result, &err);
	}
	return got;
}

/* Waits for the child to end; returns its status as waitpid() gives it. */
static int ended(void)
{
	int status = -1;

	assert_int_equal(waitpid(probe.pid, &status, 0), probe.pid);
	assert_true(probe_reap(&probe)); /* reaped by somebody else */
	assert_int_equal(probe.pid, 0);
	return status;
}

static int finish(void **state)
{
	(void)state;
	probe_kill(&probe);
	if (probe.pid > 0)
		waitpid(probe.pid, NULL, 0);
	probe = PROBE_NONE;
	probe_result_release(&result);
	return 0;
}

static void many_looks_are_answered_by_one_child(void **state)
{
	pid_t pid;
	int i;

	(void)state;
	start("local");
	pid = probe.pid;
	for (i = 0; i < 5; i++) {
		probe_result_clear(&result);
		assert_true(probe_ask(&probe, &err));
		assert_int_equal(answer(), 1);
		assert_int_equal(result.sensor, SENSOR_EXIT_STATUS);
		assert_non_null(strstr(result.text, "/nonexistent/proc/mdstat"));
	}
	assert_int_equal(probe.pid, pid);
}

static void the_child_ends_by_itself_when_its_parent_s_end_closes(void **state)
{
	int status;

	(void)state;
	start("local");
	close(probe.fd);
	probe.fd = -1;
	status = ended();
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void one_look_at_a_time(void **state)
{
	(void)state;
	start("hang");
	assert_true(probe_ask(&probe, &err));
	assert_false(probe_ask(&probe, &err));
	assert_int_equal(err.kind, ERR_BUSY);
	assert_int_equal(probe_feed(&probe, &result, &err), 0);
}

static void a_child_that_hangs_is_killed_and_another_takes_its_place(void **state)
{
	(void)state;
	start("hang");
	assert_true(probe_ask(&probe, &err));
	probe_kill(&probe);
	assert_int_equal(probe.fd, -1);
	assert_false(probe_ask(&probe, &err));
	assert_int_equal(err.kind, ERR_GONE);
	assert_true(WIFSIGNALED(ended()));
	start("local");
	assert_true(probe_ask(&probe, &err));
	assert_int_equal(answer(), 1);
}

static void a_child_that_crashes_is_told(void **state)
{
	(void)state;
	start("crash");
	assert_true(probe_ask(&probe, &err));
	assert_int_equal(answer(), -1);
	assert_true(err.kind == ERR_GONE || err.kind == ERR_SYS); /* an end, or a reset */
}

static void a_child_that_babbles_is_told(void **state)
{
	(void)state;
	start("babble");
	assert_true(probe_ask(&probe, &err));
	assert_int_equal(answer(), -1);
	assert_int_equal(err.kind, ERR_PROTOCOL);
}

static void an_answer_without_a_question_is_told(void **state)
{
	(void)state;
	start("eager");
	assert_int_equal(answer(), -1);
	assert_non_null(strstr(err.text, "without having been asked"));
}

static void a_program_that_is_not_there_is_told(void **state)
{
	const char *const argv[] = {"/nonexistent/probe", NULL};

	(void)state;
	assert_false(probe_spawn(&probe, argv, &err));
	assert_non_null(strstr(err.text, "/nonexistent/probe"));
	assert_int_equal(probe.fd, -1);
	assert_int_equal(probe.pid, 0);
}

/* The daemon blocks the signals that its loop takes, ignores SIGPIPE and has the database open. */
static void the_child_inherits_no_signal_mask_and_no_descriptor(void **state)
{
	sigset_t some, old;
	int fd;

	(void)state;
	sigemptyset(&some);
	sigaddset(&some, SIGTERM);
	sigaddset(&some, SIGCHLD);
	sigprocmask(SIG_BLOCK, &some, &old);
	fd = open("/dev/null", O_RDONLY); /* not close-on-exec */
	start("inherit");
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(fd);
	assert_true(probe_ask(&probe, &err));
	assert_int_equal(answer(), 1);
	assert_string_equal(result.text, "blocked 0, open 0");
}

static void a_refused_key_and_a_host_key_need_patience(void **state)
{
	int sensor;

	(void)state;
	for (sensor = SENSOR_NONE; sensor <= SENSOR_FAULT; sensor++)
		assert_int_equal(sensor_needs_patience((enum nas_sensor)sensor),
			sensor == SENSOR_HOST_KEY || sensor == SENSOR_AUTH);
}

static void inherit_report(void)
{
	struct probe_result report = {0};
	struct buf frame = {0};
	int blocked = 0, open_fds = 0;
	sigset_t mask;
	int i;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	for (i = 1; i < NSIG; i++)
		blocked += sigismember(&mask, i) == 1;
	for (i = STDERR_FILENO + 1; i < 1024; i++)
		open_fds += fcntl(i, F_GETFD) >= 0;
	probe_fail(&report, SENSOR_FAULT, "blocked %d, open %d", blocked, open_fds);
	if (frame_write(&report, &frame, NULL))
		(void)!write(STDOUT_FILENO, frame.data, frame.len);
	buf_release(&frame);
}

static int child(const char *role)
{
	struct nas_target target = {
		.name = "nas1", .via = NAS_VIA_LOCAL, .root = "/nonexistent", .deadline_ms = 5000};
	char ask;

	if (strcmp(role, "local") == 0)
		return probe_main(&target, STDIN_FILENO, STDOUT_FILENO);
	if (strcmp(role, "eager") == 0)
		return !write(STDOUT_FILENO, "RGP1", 4);
	if (read(STDIN_FILENO, &ask, 1) != 1 || ask != PROBE_ASK)
		return 1;
	if (strcmp(role, "crash") == 0)
		raise(SIGKILL);
	if (strcmp(role, "babble") == 0)
		(void)!write(STDOUT_FILENO, "Segmentation fault", 18);
	if (strcmp(role, "inherit") == 0)
		inherit_report();
	return (int)read(STDIN_FILENO, &ask, 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(many_looks_are_answered_by_one_child, finish),
		cmocka_unit_test_teardown(
			the_child_ends_by_itself_when_its_parent_s_end_closes, finish),
		cmocka_unit_test_teardown(one_look_at_a_time, finish),
		cmocka_unit_test_teardown(
			a_child_that_hangs_is_killed_and_another_takes_its_place, finish),
		cmocka_unit_test_teardown(a_child_that_crashes_is_told, finish),
		cmocka_unit_test_teardown(a_child_that_babbles_is_told, finish),
		cmocka_unit_test_teardown(an_answer_without_a_question_is_told, finish),
		cmocka_unit_test_teardown(a_program_that_is_not_there_is_told, finish),
		cmocka_unit_test_teardown(
			the_child_inherits_no_signal_mask_and_no_descriptor, finish),
		cmocka_unit_test(a_refused_key_and_a_host_key_need_patience),
	};

	if (argc == 2)
		return child(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
