// SPDX-License-Identifier: MIT
/* What outlives one phase, without the daemon: see hooks/remember.h. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../remember.h"
#include "base/units.h"
#include "client/worker.h"
#include "inner.h"

static int open_dir(const struct hook *hook, const char *name)
{
	return remember_open(hook->root, name, false);
}

static bool worker_name(const struct worker *worker, char ret[REMEMBER_NAME])
{
	return *worker->boot_id && remember_name(worker->pid, worker->start_ticks, ret);
}

static bool put(const struct hook *hook, const char *folder, const char *text)
{
	char name[REMEMBER_NAME];

	return worker_name(&hook->worker, name) && remember_put(hook->root, folder, name, text);
}

static bool get(const struct hook *hook, const char *folder, char *ret, size_t size)
{
	char name[REMEMBER_NAME];
	int dir, fd;
	ssize_t n = -1;

	if (!worker_name(&hook->worker, name) || (dir = open_dir(hook, folder)) < 0)
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
	char name[REMEMBER_NAME];
	int dir;

	if (!worker_name(&hook->worker, name) || (dir = open_dir(hook, folder)) < 0)
		return;
	unlinkat(dir, name, 0);
	close(dir);
}

bool memory_abort(const struct hook *hook)
{
	char text[64];

	snprintf(text, sizeof(text), "%s\n", hook->worker.boot_id);
	return put(hook, REMEMBER_ABORTED, text);
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

	return get(hook, REMEMBER_ABORTED, text, sizeof(text)) && this_boot(hook, text);
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

/* Whether the worker that a file is named after still runs. ".NAME.WRITER" is one being written,
 * or left by a hook that was killed. */
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
	int fd = open_dir(hook, folder);
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
	clean_dir(hook, REMEMBER_ABORTED);
	clean_dir(hook, "jobs");
}
