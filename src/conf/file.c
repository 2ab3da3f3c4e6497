// SPDX-License-Identifier: MIT
#include "conf/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_all(
	int fd, const char *path, size_t max, char **ret, size_t *ret_len, struct err *err)
{
	char *data = malloc(max + 2);
	size_t len = 0;

	if (!data)
		return err_nomem(err);
	while (len <= max) {
		ssize_t n = read(fd, data + len, max + 1 - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err_sys(err, errno, "'%s' cannot be read", path);
			free(data);
			return false;
		}
		if (n == 0)
			break;
		len += (size_t)n;
	}
	if (len > max) {
		free(data);
		return err_set(err, ERR_LIMIT, "'%s' is larger than %zu bytes", path, max);
	}
	data[len] = '\0';
	*ret = data;
	*ret_len = len;
	return true;
}

bool file_read(const char *path, size_t max, char **ret, size_t *ret_len, struct err *err)
{
	struct stat st;
	bool good = false;
	int fd;

	/* Not blocking: a FIFO must not stop a gate that is told to reload. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_sys(err, errno, "'%s' cannot be read", path);
	if (fstat(fd, &st) < 0)
		err_sys(err, errno, "'%s' cannot be read", path);
	else if (!S_ISREG(st.st_mode))
		err_set(err, ERR_INVALID, "'%s' is not a regular file", path);
	else
		good = read_all(fd, path, max, ret, ret_len, err);
	close(fd);
	return good;
}

bool file_beside(const char *beside, const char *name, char *ret, size_t size)
{
	const char *slash = strrchr(beside, '/');
	int folder = slash && name[0] != '/' ? (int)(slash - beside) + 1 : 0;
	int n = snprintf(ret, size, "%.*s%s", folder, beside, name);

	return n >= 0 && (size_t)n < size;
}

/* The length of the sequence at `p`, 0 for a wrong one (RFC 3629: no overlong forms, no
 * surrogates). */
static size_t utf8_sequence(const unsigned char *p, size_t left)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t n, i;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (n > left)
		return 0;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (p[1] < low || p[1] > high)
		return 0;
	for (i = 2; i < n; i++) {
		if (p[i] < 0x80 || p[i] > 0xbf)
			return 0;
	}
	return n;
}

size_t utf8_check(const char *data, size_t len)
{
	size_t at = 0;

	while (at < len) {
		size_t n = utf8_sequence((const unsigned char *)data + at, len - at);

		if (!n)
			return at;
		at += n;
	}
	return len;
}
