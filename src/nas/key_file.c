// SPDX-License-Identifier: MIT
#include "nas/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_FILE_MAX ((size_t)64 * 1024)
#define CREDENTIAL "credential:"

/* The file that `name` stands for: systemd puts a unit's credentials into one folder. */
static bool key_file_path(const char *name, char *ret, size_t size, struct err *err)
{
	size_t scheme = sizeof(CREDENTIAL) - 1;
	bool credential = strncmp(name, CREDENTIAL, scheme) == 0;
	const char *dir = getenv("CREDENTIALS_DIRECTORY");
	int len;

	if (!credential)
		len = snprintf(ret, size, "%s", name);
	else if (!name[scheme] || name[scheme] == '.' || strchr(name + scheme, '/'))
		return err_set(err, ERR_INVALID, "'%s' does not name a systemd credential", name);
	else if (!dir || !*dir)
		return err_set(err, ERR_NOTFOUND,
			"'%s' is a systemd credential, and this process was given none: the unit "
			"needs LoadCredential=%s:PATH",
			name, name + scheme);
	else
		len = snprintf(ret, size, "%s/%s", dir, name + scheme);
	return (len >= 0 && (size_t)len < size) ||
		err_set(err, ERR_LIMIT, "the name of the file '%.60s' is too long", name);
}

static bool is_credential(const char *path)
{
	const char *dir = getenv("CREDENTIALS_DIRECTORY");
	size_t len = dir ? strlen(dir) : 0;

	return len && strncmp(path, dir, len) == 0 && path[len] == '/' &&
		!strchr(path + len + 1, '/');
}

static bool key_file_judge(const char *path, const struct stat *st, struct err *err)
{
	mode_t forbidden = is_credential(path) ? 0037 : 0077;

	if (!S_ISREG(st->st_mode))
		return err_set(err, ERR_DENIED, "the file '%s' is not a regular file", path);
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return err_set(err, ERR_DENIED,
			"the file '%s' belongs to user %u, but must belong to root or to user "
			"%u",
			path, (unsigned)st->st_uid, (unsigned)geteuid());
	if (st->st_mode & forbidden)
		return err_set(err, ERR_DENIED,
			"the file '%s' has mode %04o, others may use it: chmod 0600 it", path,
			(unsigned)(st->st_mode & 07777));
	if (st->st_size <= 0 || (size_t)st->st_size > KEY_FILE_MAX)
		return err_set(err, ERR_LIMIT,
			"the file '%s' has %lld bytes: that is no key and no token", path,
			(long long)st->st_size);
	return true;
}

bool key_file_read(const char *name, struct buf *out, struct err *err)
{
	char path[PATH_MAX];
	struct stat st;
	bool ok = false;
	ssize_t n;
	char *room;
	int fd;

	if (!key_file_path(name, path, sizeof(path), err))
		return false;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno == ELOOP)
		return err_set(err, ERR_DENIED, "the file '%s' is a symbolic link", path);
	if (fd < 0 && errno == ENOENT)
		return err_set(err, ERR_NOTFOUND, "the file '%s' does not exist", path);
	if (fd < 0 && errno == EACCES)
		return err_set(err, ERR_DENIED,
			"the file '%s' cannot be read by user %u, as which this runs: chown it, "
			"mode 0600",
			path, (unsigned)geteuid());
	if (fd < 0)
		return err_sys(err, errno, "cannot open the file '%s'", path);
	if (fstat(fd, &st) < 0) {
		err_sys(err, errno, "cannot examine the file '%s'", path);
		goto out;
	}
	if (!key_file_judge(path, &st, err))
		goto out;
	/* All the room at once: growing step by step would leave copies behind in freed memory. */
	room = buf_room(out, (size_t)st.st_size);
	if (!room) {
		err_nomem(err);
		goto out;
	}
	n = read(fd, room, (size_t)st.st_size);
	if (n < 0) {
		err_sys(err, errno, "cannot read the file '%s'", path);
		goto out;
	}
	buf_used(out, (size_t)n);
	ok = true;
out:
	close(fd);
	return ok;
}

void key_file_wipe(struct buf *key)
{
	if (key->data)
		explicit_bzero(key->data, key->cap);
	buf_release(key);
}
