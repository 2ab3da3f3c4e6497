// SPDX-License-Identifier: MIT
/*
 * What outlives one phase, without the daemon: /run/rebuildgate-hook/aborted and jobs, one small
 * file for each worker, named PID-STARTTICKS, with the boot id in it. Not below the daemon's own
 * folder, which systemd removes when the daemon stops and which the daemon's user owns.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "client/worker.h"
#include "inner.h"

#define RUN_DIR "/run/rebuildgate-hook"
#define NAME_SIZE 48

/* The folder, made if `make`; -1 if it is not there or not ours alone. */
static int open_dir(const struct hook *hook, const char *name, bool make)
{
	char path[600];
	struct stat st;
	int top, fd;

	snprintf(path, sizeof(path), "%s" RUN_DIR, hook->root);
	if (make && mkdir(path, 0700) && errno != EEXIST)
		return -1;
	top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (top < 0)
		return -1;
	if (fstat(top, &st) || st.st_uid != geteuid() || (st.st_mode & 022) ||
		(make && mkdirat(top, name, 0700) && errno != EEXIST)) {
		close(top);
		return -1;
	}
	fd = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	close(top);
	return fd;
}

/* False where the worker is not known well enough to be known again. */
static bool worker_name(const struct worker *worker, char ret[NAME_SIZE])
{
	if (worker->pid <= 0 || worker->start_ticks <= 0 || !*worker->boot_id)
		return false;
	snprintf(ret, NAME_SIZE, "%lld-%lld", (long long)worker->pid,
		(long long)worker->start_ticks);
	return true;
}

/* The whole file or none of it: by rename. */
static bool put(const struct hook *hook, const char *folder, const char *text)
{
	char name[NAME_SIZE], part[NAME_SIZE + 8];
	size_t len = strlen(text);
	bool ok = false;
	int dir, fd;

	if (!worker_name(&hook->worker, name) || (dir = open_dir(hook, folder, true)) < 0)
		return false;
	snprintf(part, sizeof(part), ".%s.new", name);
	fd = openat(dir, part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0) {
		ok = write(fd, text, len) == (ssize_t)len;
		ok = !close(fd) && ok && !renameat(dir, part, dir, name);
	}
	close(dir);
	return ok;
}

static bool get(const struct hook *hook, const char *folder, char *ret, size_t size)
{
	char name[NAME_SIZE];
	int dir, fd;
	ssize_t n = -1;

	if (!worker_name(&hook->worker, name) || (dir = open_dir(hook, folder, false)) < 0)
		return false;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		n = read(fd, ret, size - 1);
		close(fd);
	}
	close(dir);
	ret[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static void drop(const struct hook *hook, const char *folder)
{
	char name[NAME_SIZE];
	int dir;

	if (!worker_name(&hook->worker, name) || (dir = open_dir(hook, folder, false)) < 0)
		return;
	unlinkat(dir, name, 0);
	close(dir);
}

bool memory_abort(const struct hook *hook)
{
	char text[64];

	snprintf(text, sizeof(text), "%s\n", hook->worker.boot_id);
	return put(hook, "aborted", text);
}

/* Takes the boot id off the front; NULL if it is another boot's. */
static const char *this_boot(const struct hook *hook, const char *text)
{
	size_t len = strlen(hook->worker.boot_id);

	if (strncmp(text, hook->worker.boot_id, len) != 0 || text[len] != '\n')
		return NULL;
	return text + len + 1;
}

bool memory_was_aborted(const struct hook *hook)
{
	char text[64];

	return get(hook, "aborted", text, sizeof(text)) && this_boot(hook, text);
}

bool memory_note_save(const struct hook *hook)
{
	char text[128];

	snprintf(text, sizeof(text), "%s\n%lld %lld %lu\n", hook->worker.boot_id,
		(long long)hook->note.ticket, (long long)hook->note.outage_ms,
		(unsigned long)hook->note.said);
	return put(hook, "jobs", text);
}

bool memory_note_load(struct hook *hook)
{
	uint64_t number[3] = {0};
	const char *at;
	char text[128];
	size_t i, len;

	if (!get(hook, "jobs", text, sizeof(text)) || !(at = this_boot(hook, text)))
		return false;
	for (i = 0; i < 3; i++) {
		len = strcspn(at, " \n");
		if (!digits_parse(at, len, i < 2 ? INT64_MAX : UINT32_MAX, &number[i]))
			return false;
		at += len;
		at += *at == ' ';
	}
	hook->note = (struct job_note){.ticket = (int64_t)number[0],
		.outage_ms = (int64_t)number[1],
		.said = (uint32_t)number[2]};
	return true;
}

void memory_note_drop(const struct hook *hook)
{
	drop(hook, "jobs");
}

/* Whether the worker that a file is named after still runs. ".NAME.new" is one being written, or
 * left by a hook that was killed. */
static bool lives(const char *name)
{
	const char *start = name[0] == '.' ? name + 1 : name, *dash = strchr(start, '-');
	uint64_t pid, ticks;

	return dash && digits_parse(start, (size_t)(dash - start), INT32_MAX, &pid) &&
		digits_parse(dash + 1, strcspn(dash + 1, "."), INT64_MAX, &ticks) &&
		worker_start_ticks((int64_t)pid) == (int64_t)ticks;
}

static void clean_dir(const struct hook *hook, const char *folder)
{
	int fd = open_dir(hook, folder, false);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (fd >= 0 && !dir)
		close(fd);
	while (dir && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
			!lives(entry->d_name))
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

void memory_clean(const struct hook *hook)
{
	clean_dir(hook, "aborted");
	clean_dir(hook, "jobs");
}
