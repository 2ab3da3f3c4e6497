// SPDX-License-Identifier: MIT
/* What is remembered of a guest's jobs while they are not as they were: below /run, see
 * hooks/remember.h. */
#include <dirent.h>
#include <errno.h>
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
#define LOCK_MAX (160 + NODE_NAME_MAX + STORAGE_NAME_MAX)
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
		int why = errno;

		close(fd);
		errno = why;
		return -1;
	}
	return fd;
}

/* "PID TICKS", and in a second line "TICKET PID TICKS NODE STORAGE", PID and TICKS there of
 * vzdump's worker. */
bool keeper_lock_sign(int fd, const struct worker *self, const struct keeper *keeper)
{
	char text[LOCK_MAX];
	int len = snprintf(
		text, sizeof(text), "%" PRId64 " %" PRId64 "\n", self->pid, self->start_ticks);

	if (keeper)
		len += snprintf(text + len, sizeof(text) - (size_t)len,
			"%" PRId64 " %" PRId64 " %" PRId64 " %s %s\n", keeper->ticket,
			keeper->worker.pid, keeper->worker.start_ticks, keeper->node,
			keeper->storage);
	return !ftruncate(fd, 0) && pwrite(fd, text, (size_t)len, 0) == len;
}

static bool lock_read(const char *root, uint32_t vmid, char ret[LOCK_MAX])
{
	int fd = lock_open(root, vmid, false);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, ret, LOCK_MAX - 1);
	close(fd);
	ret[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* A number from 0 on, up to a blank or the line's end; *at is after that one then. */
static bool take_number(const char **at, uint64_t max, int64_t *ret)
{
	size_t len = strcspn(*at, " \n");
	uint64_t number;

	if (!digits_parse(*at, len, max, &number))
		return false;
	*ret = (int64_t)number;
	*at += len + ((*at)[len] != '\0');
	return true;
}

static bool take_word(const char **at, const char *end, char *ret, size_t size)
{
	size_t len = strcspn(*at, end);

	if (len >= size || !(*at)[len])
		return false;
	memcpy(ret, *at, len);
	ret[len] = '\0';
	*at += len + 1;
	return true;
}

static bool take_worker(const char **at, struct worker *ret)
{
	return take_number(at, INT32_MAX, &ret->pid) &&
		take_number(at, INT64_MAX, &ret->start_ticks);
}

bool keeper_lock_owner(const char *root, uint32_t vmid, struct worker *ret)
{
	char text[LOCK_MAX];
	const char *at = text;
	struct worker owner = {0};

	if (!lock_read(root, vmid, text) || !take_worker(&at, &owner))
		return false;
	*ret = owner;
	return true;
}

bool keeper_lock_keeper(const char *root, uint32_t vmid, struct keeper *ret)
{
	char text[LOCK_MAX];
	const char *at;

	*ret = (struct keeper){.vmid = vmid};
	if (!lock_read(root, vmid, text))
		return false;
	at = strchrnul(text, '\n');
	at += *at == '\n';
	worker_of(getpid(), &ret->worker); /* for the boot id */
	return take_number(&at, INT64_MAX, &ret->ticket) && ret->ticket > 0 &&
		take_worker(&at, &ret->worker) &&
		take_word(&at, " ", ret->node, sizeof(ret->node)) &&
		take_word(&at, "\n", ret->storage, sizeof(ret->storage));
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

bool keeper_note_there(const char *root, uint32_t vmid)
{
	int dir = remember_open(root, FOLDER, false);
	struct stat st;
	char name[16];
	bool there;

	if (dir < 0)
		return false;
	snprintf(name, sizeof(name), "%" PRIu32, vmid);
	there = !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW);
	close(dir);
	return there;
}

/* A note, and which of its jobs were found to be there, paused, slow. */
struct applying {
	struct keeper_note note;
	bool there[QMP_MAX_JOBS], paused[QMP_MAX_JOBS], slow[QMP_MAX_JOBS];
};

static bool want_noted(void *data, const struct qmp_job *job, struct qmp_order *ret)
{
	struct applying *applying = data;
	const struct keeper_note *note = &applying->note;
	bool settable = qmp_job_active(job) || strcmp(job->status, "created") == 0;
	size_t i;

	for (i = 0; i < note->n; i++) {
		if (strcmp(note->jobs[i].device, job->device) != 0)
			continue;
		*ret = (struct qmp_order){.pause = job->paused && !note->jobs[i].paused,
			.speed = note->jobs[i].own_speed};
		applying->there[i] |= settable;
		applying->paused[i] |= settable && job->paused && !ret->pause;
		applying->slow[i] |= settable && job->speed != ret->speed;
		return true;
	}
	return false;
}

static void count(const struct applying *applying, const struct err *why, bool done,
	struct keeper_applied *ret)
{
	size_t i;

	*ret = (struct keeper_applied){0};
	for (i = 0; i < applying->note.n; i++) {
		ret->n += applying->there[i];
		ret->resumed += applying->paused[i];
		ret->freed += applying->slow[i];
	}
	if (!done)
		snprintf(ret->why, sizeof(ret->why), "%.199s", why->text);
}

bool keeper_note_apply(
	const char *root, uint32_t vmid, int64_t deadline_ms, struct keeper_applied *ret)
{
	int64_t end_ms = clock_boot_ms() + deadline_ms, left_ms = deadline_ms;
	struct applying applying = {0};
	const struct qmp_wants wants = {want_noted, &applying};
	struct qmp_state state;
	struct err err = {0};
	char socket[300];
	bool done = !keeper_note_load(root, vmid, &applying.note);

	keeper_socket(root, vmid, socket, sizeof(socket));
	while (!done && left_ms > 0) {
		err = (struct err){0};
		done = qmp_bring(
			       socket, &wants, left_ms < TRY_MS ? left_ms : TRY_MS, &state, &err) ||
			err.kind == ERR_GONE;
		if (!done)
			poll(NULL, 0, PAUSE_MS);
		left_ms = end_ms - clock_boot_ms();
	}
	if (done)
		keeper_note_drop(root, vmid);
	if (ret)
		count(&applying, &err, done, ret);
	return done;
}

bool keeper_note_each(const char *root, void (*each)(const void *data, uint32_t vmid),
	const void *data, struct err *err)
{
	const struct dirent *entry;
	uint64_t vmid;
	DIR *dir;
	int fd;

	errno = 0;
	fd = remember_open(root, FOLDER, false);
	if (fd < 0 && errno == ENOENT)
		return true;
	if (fd < 0)
		return err_set(err, ERR_DENIED, "%s" REMEMBER_DIR " %s", root,
			errno ? strerror(errno) : "is not this user's alone");
	dir = fdopendir(fd);
	if (!dir)
		close(fd);
	while (dir && (entry = readdir(dir))) {
		if (digits_parse(entry->d_name, strlen(entry->d_name), UINT32_MAX, &vmid))
			each(data, (uint32_t)vmid);
	}
	if (dir)
		closedir(dir);
	return dir || err_nomem(err);
}
