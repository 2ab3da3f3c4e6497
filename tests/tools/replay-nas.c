// SPDX-License-Identifier: MIT
/*
 * Plays a recording of tests/rig/record.sh back as a machine's own files, for a NAS configured with
 * `via = "local"` and `root = "ROOT"` where no virtual machine can be started.
 *
 * usage: replay-nas [--speed FACTOR] [--hold] RECORDING ROOT
 *
 * Each reading becomes ROOT/proc/mdstat, ROOT/proc/diskstats, ROOT/proc/loadavg and
 * ROOT/sys/block/NAME/md/ATTRIBUTE, at the recorded pace divided by FACTOR (1 to 1000; 1 unless
 * said). Each file is replaced whole, mdstat last; a file that the reading does not have is
 * removed. The first reading is there before the line "ready" is printed; each later one prints
 * "reading N of M". Ends after the last reading; with --hold it stays until SIGTERM.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/units.h"

#define MARK "#rg "
#define FILES_MAX 1024
#define PATH_TEXT_MAX 160 /* below ROOT */

struct file {
	char path[PATH_TEXT_MAX];
	unsigned reading; /* the last that had it */
};

struct replay {
	const char *root;
	uint64_t speed;
	bool hold;
	struct buf text; /* the recording, NUL-terminated */
	unsigned n_readings;
	struct file files[FILES_MAX];
	size_t n_files;
};

static bool text_read(const char *path, struct buf *ret, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;
	char *room;

	if (fd < 0)
		return err_sys(err, errno, "cannot open '%s'", path);
	while (n > 0) {
		room = buf_room(ret, 65536);
		n = room ? read(fd, room, 65536) : -1;
		if (n > 0)
			buf_used(ret, (size_t)n);
	}
	close(fd);
	return n == 0 ? true : err_set(err, ERR_SYS, "cannot read '%s'", path);
}

/* Makes the folders that `path` needs. */
static bool folders_make(char *path, struct err *err)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return err_sys(err, errno, "cannot make the folder '%s'", path);
		*slash = '/';
	}
	return true;
}

static struct file *file_note(struct replay *replay, const char *path, unsigned reading)
{
	struct file *file = NULL;

	for (size_t i = 0; i < replay->n_files && !file; i++) {
		if (strcmp(replay->files[i].path, path) == 0)
			file = &replay->files[i];
	}
	if (!file && replay->n_files < FILES_MAX) {
		file = &replay->files[replay->n_files++];
		snprintf(file->path, sizeof(file->path), "%s", path);
	}
	if (file)
		file->reading = reading;
	return file;
}

/* Replaces ROOT/path whole: a reader sees the old or the new text. */
static bool file_put(struct replay *replay, const char *path, const char *text, size_t len,
	unsigned reading, struct err *err)
{
	char whole[PATH_MAX], part[PATH_MAX];
	bool ok = false;
	FILE *out;

	if (!file_note(replay, path, reading))
		return err_set(err, ERR_LIMIT, "more than %d files in the recording", FILES_MAX);
	if (snprintf(whole, sizeof(whole), "%s%s", replay->root, path) >= PATH_MAX ||
		snprintf(part, sizeof(part), "%s%s.part", replay->root, path) >= PATH_MAX)
		return err_set(err, ERR_LIMIT, "the path of '%s' is too long", replay->root);
	if (!folders_make(whole, err))
		return false;
	out = fopen(part, "we");
	if (!out)
		return err_sys(err, errno, "cannot write '%s'", part);
	ok = fwrite(text, 1, len, out) == len;
	ok = fclose(out) == 0 && ok;
	if (!ok || rename(part, whole) < 0)
		return err_sys(err, errno, "cannot write '%s'", whole);
	return true;
}

/* The body of a section "#rg md NAME": lines of ATTRIBUTE=VALUE. */
static bool md_put(struct replay *replay, const char *name, size_t name_len, const char *body,
	const char *end, unsigned reading, struct err *err)
{
	while (body < end) {
		const char *nl = memchr(body, '\n', (size_t)(end - body));
		const char *stop = nl ? nl + 1 : end;
		const char *equals = memchr(body, '=', (size_t)(stop - body));
		char path[PATH_TEXT_MAX];

		if (equals) {
			snprintf(path, sizeof(path), "/sys/block/%.*s/md/%.*s", (int)name_len, name,
				(int)(equals - body), body);
			if (!file_put(replay, path, equals + 1, (size_t)(stop - equals - 1),
				    reading, err))
				return false;
		}
		body = stop;
	}
	return true;
}

/* One section after mdstat: `head` is the marker's line, its body goes on to `end`. */
static bool section_put(
	struct replay *replay, const char *head, const char *end, unsigned reading, struct err *err)
{
	const char *nl = memchr(head, '\n', (size_t)(end - head));
	const char *body = nl ? nl + 1 : end;
	const char *word = head + strlen(MARK);
	size_t len = nl ? (size_t)(nl - word) : (size_t)(end - word);

	if (len > 3 && strncmp(word, "md ", 3) == 0)
		return md_put(replay, word + 3, len - 3, body, end, reading, err);
	if (len == 9 && strncmp(word, "diskstats", len) == 0)
		return file_put(
			replay, "/proc/diskstats", body, (size_t)(end - body), reading, err);
	if (len == 7 && strncmp(word, "loadavg", len) == 0)
		return file_put(replay, "/proc/loadavg", body, (size_t)(end - body), reading, err);
	return true;
}

/* The next line from `p` on that begins with `mark`, or `end`. */
static const char *line_find(const char *p, const char *end, const char *mark)
{
	size_t len = strlen(mark);

	while (p < end) {
		const char *nl = NULL;

		if ((size_t)(end - p) >= len && memcmp(p, mark, len) == 0)
			return p;
		nl = memchr(p, '\n', (size_t)(end - p));
		p = nl ? nl + 1 : end;
	}
	return end;
}

static bool reading_put(
	struct replay *replay, const char *p, const char *end, unsigned reading, struct err *err)
{
	const char *mdstat = p;
	const char *mark = line_find(p, end, MARK);
	size_t mdstat_len = (size_t)(mark - mdstat);
	char whole[PATH_MAX];

	while (mark < end) {
		const char *next = line_find(mark + 1, end, MARK);

		if (!section_put(replay, mark, next, reading, err))
			return false;
		mark = next;
	}
	if (!file_put(replay, "/proc/mdstat", mdstat, mdstat_len, reading, err))
		return false;
	for (size_t i = 0; i < replay->n_files; i++) {
		if (replay->files[i].reading == reading)
			continue;
		snprintf(whole, sizeof(whole), "%s%s", replay->root, replay->files[i].path);
		unlink(whole);
	}
	return true;
}

static void sleep_until(int64_t boot_ms)
{
	int64_t left = boot_ms - clock_boot_ms();
	struct timespec span;

	while (left > 0) {
		span = (struct timespec){.tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000};
		nanosleep(&span, NULL);
		left = boot_ms - clock_boot_ms();
	}
}

static bool play(struct replay *replay, struct err *err)
{
	const char *end = replay->text.data + replay->text.len;
	const char *p = replay->text.data;
	int64_t start_ms = clock_boot_ms();
	uint64_t at_ms = 0, first_ms = 0;

	for (unsigned reading = 1; p < end; reading++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *next = nl ? line_find(nl + 1, end, "@") : end;

		if (!nl || *p != '@' ||
			!digits_parse(p + 1, (size_t)(nl - p - 1), INT64_MAX, &at_ms) ||
			(reading > 1 && at_ms < first_ms))
			return err_set(err, ERR_INVALID,
				"reading %u does not begin with '@MILLISECONDS'", reading);
		if (reading == 1)
			first_ms = at_ms;
		sleep_until(start_ms + (int64_t)((at_ms - first_ms) / replay->speed));
		if (!reading_put(replay, nl + 1, next, reading, err))
			return false;
		if (reading == 1)
			puts("ready");
		printf("reading %u of %u\n", reading, replay->n_readings);
		fflush(stdout);
		p = next;
	}
	return true;
}

static bool arguments(int argc, char **argv, struct replay *ret, const char **ret_recording)
{
	int i = 1;

	ret->speed = 1;
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--hold") == 0)
			ret->hold = true;
		else if (strcmp(argv[i], "--speed") != 0 || i + 1 == argc ||
			!u64_parse(argv[++i], 1, 1000, &ret->speed, NULL))
			return false;
	}
	if (argc - i != 2)
		return false;
	*ret_recording = argv[i];
	ret->root = argv[i + 1];
	return true;
}

int main(int argc, char **argv)
{
	static struct replay replay;
	const char *recording = NULL;
	struct err err = {0};
	bool ok;

	if (!arguments(argc, argv, &replay, &recording)) {
		fputs("usage: replay-nas [--speed FACTOR] [--hold] RECORDING ROOT\n", stderr);
		return 2;
	}
	ok = text_read(recording, &replay.text, &err);
	if (ok && replay.text.len == 0)
		ok = err_set(&err, ERR_INVALID, "'%s' is empty", recording);
	for (const char *p = buf_str(&replay.text), *end = p + replay.text.len; ok && p < end;) {
		p = line_find(p, end, "@");
		replay.n_readings += p < end;
		p += p < end;
	}
	ok = ok && play(&replay, &err);
	if (!ok)
		fprintf(stderr, "replay-nas: %s\n", err.text);
	while (ok && replay.hold)
		pause();
	buf_release(&replay.text);
	return ok ? 0 : 1;
}
