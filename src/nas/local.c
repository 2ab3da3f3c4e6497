// SPDX-License-Identifier: MIT
#include "nas/local.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "md/look.h"

#define ALARM_AGAIN_US 50000 /* a signal that came just before a read began must come again */

struct reader {
	const char *root;
	int64_t deadline_ms;
	struct probe_result *result;
};

static void on_alarm(int signal_number)
{
	(void)signal_number;
}

static void alarm_set(int64_t in_ms)
{
	struct sigaction action = {.sa_handler = on_alarm}; /* no SA_RESTART: reads shall end */
	struct itimerval timer = {.it_interval = {.tv_usec = ALARM_AGAIN_US}};

	sigaction(SIGALRM, &action, NULL);
	if (in_ms < 1)
		in_ms = 1;
	timer.it_value.tv_sec = in_ms / 1000;
	timer.it_value.tv_usec = in_ms % 1000 * 1000;
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void alarm_clear(void)
{
	struct itimerval timer = {0};

	setitimer(ITIMER_REAL, &timer, NULL);
}

static bool is_late(const struct reader *reader)
{
	return clock_boot_ms() >= reader->deadline_ms;
}

/* Returns the descriptor or -1 with errno; EINTR only once the deadline has passed. */
static int file_open(const struct reader *reader, const char *path)
{
	char whole[PATH_MAX];
	int fd;

	snprintf(whole, sizeof(whole), "%s%s", reader->root, path);
	do {
		fd = open(whole, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	} while (fd < 0 && errno == EINTR && !is_late(reader));
	return fd;
}

/* Appends ROOT/path to `out`, with a line break at its end. Returns 0 or an errno: EINTR for the
 * deadline, EFBIG for `out`. */
static int file_copy(const struct reader *reader, const char *path, struct buf *out)
{
	size_t before = out->len;
	int error = 0;
	ssize_t n = 1;
	char *room;
	int fd;

	fd = file_open(reader, path);
	if (fd < 0)
		return errno;
	while (n != 0 && !error) {
		room = buf_room(out, 8192);
		if (!room) {
			error = EFBIG;
			break;
		}
		n = read(fd, room, 8192);
		if (n >= 0)
			buf_used(out, (size_t)n);
		else if (errno != EINTR || is_late(reader))
			error = errno;
	}
	close(fd);
	if (!error && out->len > before && out->data[out->len - 1] != '\n' && !buf_addc(out, '\n'))
		error = EFBIG;
	return error;
}

/* A part after mdstat: absent is no harm, a hang or an overflow ends the look. */
static bool part_add(const struct reader *reader, const char *mark, const char *path)
{
	struct buf *raw = &reader->result->raw;
	int error;

	if (!buf_addf(raw, "#rg %s\n", mark))
		return false;
	error = file_copy(reader, path, raw);
	return error != EINTR && error != EFBIG && !is_late(reader);
}

static bool attribute_add(const struct reader *reader, const char *array, const char *attribute)
{
	struct buf text = {.max = 16384};
	char path[128];
	int error;

	snprintf(path, sizeof(path), "/sys/block/%s/md/%s", array, attribute);
	error = file_copy(reader, path, &text);
	if (!error && text.len)
		buf_addf(&reader->result->raw, "%s=%.*s\n", attribute,
			(int)strcspn(text.data, "\n"), text.data);
	buf_release(&text);
	return error != EINTR && !reader->result->raw.failed && !is_late(reader);
}

static bool array_add(const struct reader *reader, const char *name)
{
	static const char *const attributes[] = {
		"sync_action", "degraded", "sync_speed_min", "sync_speed_max"};
	size_t i;

	if (!buf_addf(&reader->result->raw, "#rg md %s\n", name))
		return false;
	for (i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		if (!attribute_add(reader, name, attributes[i]))
			return false;
	}
	return true;
}

/* "md2 : active ..." at the beginning of a line (md_seq_show() in drivers/md/md.c). */
static bool line_array(const char *line, size_t len, char ret_name[MD_NAME_MAX])
{
	const char *space = memchr(line, ' ', len);
	size_t name_len = space ? (size_t)(space - line) : 0;

	if (name_len < 3 || name_len >= MD_NAME_MAX || memcmp(line, "md", 2) != 0)
		return false;
	if (len < name_len + 3 || memcmp(space, " : ", 3) != 0 || memchr(line, '/', name_len))
		return false;
	memcpy(ret_name, line, name_len);
	ret_name[name_len] = '\0';
	return true;
}

/* `raw` grows while this walks through its first `mdstat_len` bytes: positions, no pointers. */
static bool arrays_add(const struct reader *reader, size_t mdstat_len)
{
	const struct buf *raw = &reader->result->raw;
	char name[MD_NAME_MAX];
	const char *end;
	size_t at, len;

	for (at = 0; at < mdstat_len; at += len + 1) {
		end = memchr(raw->data + at, '\n', mdstat_len - at);
		len = end ? (size_t)(end - raw->data) - at : mdstat_len - at;
		if (line_array(raw->data + at, len, name) && !array_add(reader, name))
			return false;
	}
	return true;
}

static bool rest_add(const struct reader *reader)
{
	size_t mdstat_len = reader->result->raw.len;

	return part_add(reader, "diskstats", "/proc/diskstats") &&
		part_add(reader, "loadavg", "/proc/loadavg") && arrays_add(reader, mdstat_len) &&
		buf_adds(&reader->result->raw, "#rg end\n");
}

void nas_local_look(const char *root, int64_t deadline_ms, struct probe_result *result)
{
	struct reader reader = {root, deadline_ms, result};
	int error;

	result->raw.max = PROBE_RAW_MAX;
	result->sensor = SENSOR_OK;
	alarm_set(deadline_ms - clock_boot_ms());
	error = file_copy(&reader, "/proc/mdstat", &result->raw);
	if (error == EINTR) {
		probe_fail(result, SENSOR_DEADLINE, "reading /proc/mdstat did not end in time");
	} else if (error == EFBIG) {
		probe_fail(result, SENSOR_TOO_MUCH, "/proc/mdstat is larger than %zu KiB",
			PROBE_RAW_MAX / 1024);
	} else if (error) {
		probe_fail(result, SENSOR_EXIT_STATUS, "cannot read %.100s/proc/mdstat: %s%s", root,
			strerror(error), error == ENOENT ? " (is the md driver loaded?)" : "");
	} else if (!rest_add(&reader)) {
		result->partial = true;
		probe_fail(result, SENSOR_OK, "mdstat came whole, the rest did not: %s",
			result->raw.failed ? "it is too much" : "reading it hangs");
	}
	alarm_clear();
}
