// SPDX-License-Identifier: MIT
/*
 * The measuring parts of `make bench`. Each prints "N P50 P99 MAX" in microseconds (parse: see
 * there).
 *
 *   bench ask SOCKET STORAGE N     a job asks, is answered, and tells its end: the time of the ask
 *   bench get SOCKET PATH N        one GET of the API
 *   bench spawn N -- CMD...        starts a command and waits for its end; stdout and stderr go to
 * /dev/null bench sync FILE N              the yardstick: 4 KiB appended and fdatasync()ed bench
 * parse FILE MS            the text of one look parsed again and again: "BYTES_PER_SECOND
 * LOOKS_PER_SECOND"
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "client/client.h"
#include "client/worker.h"
#include "md/mdstat.h"
#include "md/vendor.h"

extern char **environ;

static void die(const char *what)
{
	fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

static uint64_t number(const char *text)
{
	uint64_t n = 0;
	struct err err;

	if (!u64_parse(text, 1, 100000000, &n, &err))
		die(err.text);
	return n;
}

static int64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static int by_size(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

static void report(int64_t *took, size_t n)
{
	qsort(took, n, sizeof(*took), by_size);
	printf("%zu %" PRId64 " %" PRId64 " %" PRId64 "\n", n, took[n / 2], took[n * 99 / 100],
		took[n - 1]);
}

/* `one` does the thing measured, number `at`; what it returns is added to `took`. */
static void repeat(size_t n, int64_t (*one)(void *data, size_t at), void *data)
{
	int64_t *took = calloc(n, sizeof(*took));
	size_t i;

	if (!took)
		die("out of memory");
	for (i = 0; i < n; i++)
		took[i] = one(data, i);
	report(took, n);
	free(took);
}

struct asking {
	struct gate_link link;
	const char *storage;
};

static int64_t ask_one(void *data, size_t at)
{
	struct asking *asking = data;
	struct ask ask = {.request = {.client = CLIENT_RUN, .phase = PHASE_JOB_INIT}};
	struct report end = {.phase = "run-end"};
	struct answer answer;
	struct err err;
	int64_t began, took;

	snprintf(ask.request.storage, sizeof(ask.request.storage), "%s", asking->storage);
	worker_node(ask.request.node);
	worker_of(getpid(), &ask.worker);
	/* Each a job of its own: same process, another beginning. */
	ask.worker.start_ticks += (int64_t)at + 1;
	began = now_us();
	if (!client_ask(&asking->link, &ask, &answer, &err))
		die(err.text);
	took = now_us() - began;
	if (!answer.recorded || answer.act == VERDICT_HOLD)
		die("the answer was not a recorded go");
	end.ticket = answer.ticket;
	end.worker = ask.worker;
	if (!client_report(&asking->link, &end, &err))
		die(err.text);
	return took;
}

struct getting {
	struct gate_link link;
	const char *path;
};

static int64_t get_one(void *data, size_t at)
{
	struct getting *getting = data;
	int64_t began = now_us();
	json_t *value = NULL;
	struct err err;

	(void)at;
	if (!client_get(&getting->link, getting->path, &value, &err))
		die(err.text);
	json_decref(value);
	return now_us() - began;
}

static int64_t spawn_one(void *data, size_t at)
{
	char *const *argv = data;
	posix_spawn_file_actions_t actions;
	int64_t began;
	int status;
	pid_t pid;

	(void)at;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
	began = now_us();
	if (posix_spawn(&pid, argv[0], &actions, NULL, argv, environ) != 0)
		die("cannot start the command");
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	posix_spawn_file_actions_destroy(&actions);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		die("the command failed");
	return now_us() - began;
}

static int64_t sync_one(void *data, size_t at)
{
	static const char page[4096];
	const int *fd = data;
	int64_t began = now_us();

	(void)at;
	if (write(*fd, page, sizeof(page)) != (ssize_t)sizeof(page) || fdatasync(*fd) < 0)
		die("cannot write the yardstick's file");
	return now_us() - began;
}

static void parse(const char *file, int64_t ms)
{
	static char text[256 << 10];
	static struct mdstat mdstat;
	int64_t until, began, bytes = 0, looks = 0;
	FILE *from = fopen(file, "r");
	size_t len, i;

	if (!from)
		die("cannot read the text");
	len = fread(text, 1, sizeof(text), from);
	fclose(from);
	began = now_us();
	until = began + ms * 1000;
	while (now_us() < until) {
		for (i = 0; i < 100; i++) {
			if (!mdstat_parse(text, len, &mdstat))
				die("the text is not understood");
		}
		looks += 100;
		bytes += 100 * (int64_t)len;
	}
	ms = (now_us() - began) / 1000;
	printf("%" PRId64 " %" PRId64 "\n", bytes * 1000 / ms, looks * 1000 / ms);
}

int main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "ask") == 0) {
		struct asking asking = {.link = {.socket = argv[2]}, .storage = argv[3]};

		repeat(number(argv[4]), ask_one, &asking);
	} else if (argc == 5 && strcmp(argv[1], "get") == 0) {
		struct getting getting = {.link = {.socket = argv[2]}, .path = argv[3]};

		repeat(number(argv[4]), get_one, &getting);
	} else if (argc >= 5 && strcmp(argv[1], "spawn") == 0 && strcmp(argv[3], "--") == 0) {
		repeat(number(argv[2]), spawn_one, argv + 4);
	} else if (argc == 4 && strcmp(argv[1], "sync") == 0) {
		int fd = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

		if (fd < 0)
			die("cannot make the yardstick's file");
		repeat(number(argv[3]), sync_one, &fd);
		close(fd);
	} else if (argc == 4 && strcmp(argv[1], "parse") == 0) {
		parse(argv[2], (int64_t)number(argv[3]));
	} else {
		fprintf(stderr, "usage: bench ask|get|spawn|sync|parse ...\n");
		return 2;
	}
	return 0;
}
