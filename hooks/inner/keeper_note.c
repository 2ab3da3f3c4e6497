// SPDX-License-Identifier: MIT
/* What is remembered of a guest's jobs while they are not as they were: below /run, see
 * hooks/remember.h. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "../remember.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/units.h"
#include "client/worker.h"
#include "keeper.h"

#define FOLDER "keepers"
#define NOTE_MAX ((size_t)64 << 10)
/* One try of putting back, and the time between two. */
#define TRY_MS 1500
#define PAUSE_MS 200

void keeper_socket(const char *root, uint32_t vmid, char *ret, size_t size)
{
	snprintf(ret, size, "%s" QMP_DIR "/%" PRIu32 ".qmp", root, vmid);
}

static int lock_open(const char *root, uint32_t vmid, bool make)
{
	int dir = remember_open(root, FOLDER, make), fd;
	char name[32];

	if (dir < 0)
		return -1;
	snprintf(name, sizeof(name), "%" PRIu32 ".lock", vmid);
	fd = openat(dir, name, (make ? O_RDWR | O_CREAT : O_RDONLY) | O_NOFOLLOW | O_CLOEXEC, 0600);
	close(dir);
	return fd;
}

int keeper_lock(const char *root, uint32_t vmid)
{
	int fd = lock_open(root, vmid, true);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return -1;
	}
	return fd;
}

bool keeper_lock_sign(int fd, const struct worker *self)
{
	char text[64];
	int len = snprintf(
		text, sizeof(text), "%" PRId64 " %" PRId64 "\n", self->pid, self->start_ticks);

	return !ftruncate(fd, 0) && pwrite(fd, text, (size_t)len, 0) == len;
}

bool keeper_lock_owner(const char *root, uint32_t vmid, struct worker *ret)
{
	int fd = lock_open(root, vmid, false);
	uint64_t pid, ticks;
	char text[64] = "";
	const char *blank;
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	blank = strchr(text, ' ');
	if (!blank || !digits_parse(text, (size_t)(blank - text), INT32_MAX, &pid) ||
		!digits_parse(blank + 1, strcspn(blank + 1, "\n"), INT64_MAX, &ticks))
		return false;
	*ret = (struct worker){.pid = (int64_t)pid, .start_ticks = (int64_t)ticks};
	return true;
}

bool keeper_note_save(const char *root, uint32_t vmid, const struct keeping *keeping)
{
	struct buf text = {.max = NOTE_MAX};
	struct worker self;
	char name[16];
	size_t i;
	bool ok;

	worker_of(getpid(), &self);
	buf_addf(&text, "%s\n", self.boot_id);
	for (i = 0; i < keeping->n; i++) {
		const struct keeping_job *job = &keeping->jobs[i];

		if (job->touched)
			buf_addf(&text, "%" PRId64 " %d %s\n", job->own_speed, job->paused,
				job->device);
	}
	snprintf(name, sizeof(name), "%" PRIu32, vmid);
	ok = !text.failed && remember_put(root, FOLDER, name, text.data);
	buf_release(&text);
	return ok;
}

/* "SPEED PAUSED DEVICE" */
static bool read_line(const char *line, size_t len, struct keeper_note *ret)
{
	const char *blank = memchr(line, ' ', len);
	uint64_t speed;
	size_t rest;

	if (!blank || ret->n == QMP_MAX_JOBS ||
		!digits_parse(line, (size_t)(blank - line), INT64_MAX, &speed))
		return false;
	rest = len - (size_t)(blank - line);
	if (rest < 4 || (blank[1] != '0' && blank[1] != '1') || blank[2] != ' ' ||
		rest - 3 >= sizeof(ret->jobs[0].device))
		return false;
	ret->jobs[ret->n].own_speed = (int64_t)speed;
	ret->jobs[ret->n].paused = blank[1] == '1';
	memcpy(ret->jobs[ret->n].device, blank + 3, rest - 3);
	ret->jobs[ret->n++].device[rest - 3] = '\0';
	return true;
}

bool keeper_note_load(const char *root, uint32_t vmid, struct keeper_note *ret)
{
	int dir = remember_open(root, FOLDER, false), fd;
	char name[16], text[NOTE_MAX];
	const char *line, *end;
	struct worker self;
	ssize_t n = -1;

	*ret = (struct keeper_note){0};
	if (dir < 0)
		return false;
	snprintf(name, sizeof(name), "%" PRIu32, vmid);
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	close(dir);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	worker_of(getpid(), &self);
	line = strchrnul(text, '\n');
	if (strncmp(text, self.boot_id, (size_t)(line - text)) != 0)
		return false;
	while (*line == '\n') {
		end = strchrnul(line + 1, '\n');
		read_line(line + 1, (size_t)(end - line - 1), ret);
		line = end;
	}
	return ret->n > 0;
}

void keeper_note_drop(const char *root, uint32_t vmid)
{
	int dir = remember_open(root, FOLDER, false);
	char name[16];

	if (dir < 0)
		return;
	snprintf(name, sizeof(name), "%" PRIu32, vmid);
	unlinkat(dir, name, 0);
	close(dir);
}

static bool want_noted(void *data, const struct qmp_job *job, struct qmp_order *ret)
{
	const struct keeper_note *note = data;
	size_t i;

	for (i = 0; i < note->n; i++) {
		if (strcmp(note->jobs[i].device, job->device) != 0)
			continue;
		*ret = (struct qmp_order){.pause = job->paused && !note->jobs[i].paused,
			.speed = note->jobs[i].own_speed};
		return true;
	}
	return false;
}

bool keeper_note_apply(const char *root, uint32_t vmid, int64_t deadline_ms)
{
	int64_t end_ms = clock_boot_ms() + deadline_ms, left_ms = deadline_ms;
	struct keeper_note note;
	const struct qmp_wants wants = {want_noted, &note};
	struct qmp_state state;
	char socket[300];
	bool done = !keeper_note_load(root, vmid, &note);

	keeper_socket(root, vmid, socket, sizeof(socket));
	while (!done && left_ms > 0) {
		struct err err = {0};

		done = qmp_bring(
			       socket, &wants, left_ms < TRY_MS ? left_ms : TRY_MS, &state, &err) ||
			err.kind == ERR_GONE;
		if (!done)
			poll(NULL, 0, PAUSE_MS);
		left_ms = end_ms - clock_boot_ms();
	}
	if (done)
		keeper_note_drop(root, vmid);
	return done;
}

void keeper_note_each(
	const char *root, void (*each)(const void *data, uint32_t vmid), const void *data)
{
	int fd = remember_open(root, FOLDER, false);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	uint64_t vmid;

	if (fd >= 0 && !dir)
		close(fd);
	while (dir && (entry = readdir(dir))) {
		if (digits_parse(entry->d_name, strlen(entry->d_name), UINT32_MAX, &vmid))
			each(data, (uint32_t)vmid);
	}
	if (dir)
		closedir(dir);
}
