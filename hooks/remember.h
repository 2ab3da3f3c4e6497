// SPDX-License-Identifier: MIT
/*
 * What both programs of the hook leave for the later phases of a job: small files below
 * /run/rebuildgate-hook, one for each vzdump worker, named PID-STARTTICKS, with the boot id as
 * their first line. Not below the daemon's own folder, which systemd removes when the daemon stops
 * and which the daemon's user owns. Libc only; no allocation.
 */
#ifndef RG_HOOKS_REMEMBER_H
#define RG_HOOKS_REMEMBER_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REMEMBER_DIR "/run/rebuildgate-hook"
#define REMEMBER_ABORTED "aborted" /* the folder of jobs that somebody stopped */
#define REMEMBER_NAME 48

/* The folder `name`, made if `make`; -1 if it is not there or not ours alone. `root` is "", or in
 * tests what stands for /. */
static inline int remember_open(const char *root, const char *name, bool make)
{
	char path[600];
	struct stat st;
	int top, fd;

	snprintf(path, sizeof(path), "%s" REMEMBER_DIR, root);
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
static inline bool remember_name(long long pid, long long start_ticks, char ret[REMEMBER_NAME])
{
	if (pid <= 0 || start_ticks <= 0)
		return false;
	snprintf(ret, REMEMBER_NAME, "%lld-%lld", pid, start_ticks);
	return true;
}

/* The whole file or none of it: by rename, from a name that is this process's own. */
static inline bool remember_put(
	const char *root, const char *folder, const char *name, const char *text)
{
	char part[REMEMBER_NAME + 24];
	size_t len = strlen(text);
	bool ok = false;
	int dir = remember_open(root, folder, true), fd;

	if (dir < 0)
		return false;
	snprintf(part, sizeof(part), ".%s.%ld", name, (long)getpid());
	fd = openat(dir, part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0) {
		ok = write(fd, text, len) == (ssize_t)len;
		ok = !close(fd) && ok && !renameat(dir, part, dir, name);
	}
	close(dir);
	return ok;
}

#endif
