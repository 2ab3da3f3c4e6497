// SPDX-License-Identifier: MIT
#include "nas/known_hosts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <libssh/libssh.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "nas/session.h"

#define KNOWN_HOSTS_FILE_MAX ((size_t)1 << 20)

void known_hosts_name(const char *host, uint16_t port, char ret[KNOWN_HOSTS_NAME_MAX])
{
	char *c;

	if (port == 0 || port == 22)
		snprintf(ret, KNOWN_HOSTS_NAME_MAX, "%s", host);
	else
		snprintf(ret, KNOWN_HOSTS_NAME_MAX, "[%s]:%u", host, (unsigned)port);
	for (c = ret; *c; c++)
		*c = (char)tolower((unsigned char)*c);
}

/* A missing file reads as empty; *ret_stat.st_mode is 0 then. */
static bool file_read(const char *file, struct buf *out, struct stat *ret_stat, struct err *err)
{
	bool ok = false;
	char *room;
	ssize_t n;
	int fd;

	*ret_stat = (struct stat){0};
	out->max = KNOWN_HOSTS_FILE_MAX;
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 && errno == ENOENT)
		return true;
	if (fd < 0)
		return err_sys(err, errno, "cannot open '%s'", file);
	if (fstat(fd, ret_stat) < 0) {
		err_sys(err, errno, "cannot examine '%s'", file);
		goto out;
	}
	do {
		room = buf_room(out, 4096);
		if (!room) {
			err_set(err, ERR_LIMIT, "'%s' is larger than 1 MiB", file);
			goto out;
		}
		n = read(fd, room, 4096);
		if (n > 0)
			buf_used(out, (size_t)n);
	} while (n > 0);
	if (n < 0)
		err_sys(err, errno, "cannot read '%s'", file);
	else
		ok = true;
out:
	close(fd);
	return ok;
}

/* Cuts the next line off `*at` into `line`; a longer one is cut, and can then match no host. False
 * at the end. */
static bool line_next(const char **at, char line[KNOWN_HOSTS_LINE_MAX], size_t *ret_len)
{
	const char *end;
	size_t keep;

	if (!**at)
		return false;
	end = strchrnul(*at, '\n');
	keep = (size_t)(end - *at);
	*ret_len = keep + (*end ? 1 : 0);
	if (keep >= KNOWN_HOSTS_LINE_MAX)
		keep = 0;
	memcpy(line, *at, keep);
	line[keep] = '\0';
	*at += *ret_len;
	return true;
}

/* The entry when the line is one for `name`, else NULL. Comments, marked lines (@revoked) and
 * damaged ones are none. */
static struct ssh_knownhosts_entry *line_match(const char *line, const char *name)
{
	struct ssh_knownhosts_entry *entry = NULL;

	if (!*line || *line == '#' || *line == '@')
		return NULL;
	if (ssh_known_hosts_parse_line(name, line, &entry) != SSH_OK)
		return NULL;
	return entry;
}

void known_hosts_prints(const struct nas_target *target, char *ret, size_t size)
{
	char name[KNOWN_HOSTS_NAME_MAX];
	char line[KNOWN_HOSTS_LINE_MAX];
	struct ssh_knownhosts_entry *entry;
	struct buf text = {0};
	char print[KEY_PRINT_MAX];
	const char *at;
	struct stat st;
	size_t used = 0;
	size_t len;

	known_hosts_name(target->host, target->port, name);
	ret[0] = '\0';
	if (file_read(target->known_hosts, &text, &st, NULL)) {
		at = buf_str(&text);
		while (line_next(&at, line, &len)) {
			entry = line_match(line, name);
			if (!entry)
				continue;
			key_print(entry->publickey, print);
			ssh_knownhosts_entry_free(entry);
			if (used + strlen(", ") + strlen(print) >= size)
				break;
			snprintf(ret + used, size - used, "%s%s", used ? ", " : "", print);
			used = strlen(ret);
		}
	}
	if (!used)
		snprintf(ret, size, "another key");
	buf_release(&text);
}

static bool names_others(const char *line)
{
	size_t field = strcspn(line, " \t");

	return *line != '|' && strcspn(line, ",*?!") < field;
}

/* What becomes of one line: *ret_keep, or an error. *ret_have once the wanted key is found. */
static bool line_judge(const char *line, const char *name, const struct ssh_knownhosts_entry *want,
	bool replace, bool *ret_keep, bool *ret_have, struct err *err)
{
	struct ssh_knownhosts_entry *entry = line_match(line, name);
	char print[KEY_PRINT_MAX];
	bool ok = true;

	*ret_keep = true;
	if (!entry)
		return true;
	if (ssh_key_cmp(entry->publickey, want->publickey, SSH_KEY_CMP_PUBLIC) == 0) {
		*ret_have = true;
	} else if (!replace) {
		key_print(entry->publickey, print);
		ok = err_set(
			err, ERR_DENIED, "another host key is on file for %s: %s", name, print);
	} else if (names_others(line)) {
		ok = err_set(err, ERR_INVALID,
			"the old entry '%.60s...' names other hosts than %s too: edit it by hand",
			line, name);
	} else {
		*ret_keep = false;
	}
	ssh_knownhosts_entry_free(entry);
	return ok;
}

static bool text_merge(const char *old, const char *name, const char *line, bool replace,
	struct buf *out, bool *ret_changed, struct err *err)
{
	struct ssh_knownhosts_entry *want = NULL;
	char one[KNOWN_HOSTS_LINE_MAX];
	const char *at = old;
	bool have = false;
	bool ok = true;
	bool keep;
	size_t len;

	want = strpbrk(line, "\r\n") ? NULL : line_match(line, name);
	if (!want)
		return err_set(
			err, ERR_INVALID, "'%.60s' is no known_hosts line for %s", line, name);
	*ret_changed = false;
	while (line_next(&at, one, &len)) {
		ok = line_judge(one, name, want, replace, &keep, &have, err);
		if (!ok)
			break;
		if (keep)
			buf_add(out, at - len, len);
		else
			*ret_changed = true;
	}
	ssh_knownhosts_entry_free(want);
	if (!ok)
		return false;
	if (!have) {
		*ret_changed = true;
		if (out->len && out->data[out->len - 1] != '\n')
			buf_addc(out, '\n');
		buf_adds(out, line);
		buf_addc(out, '\n');
	}
	return out->failed ? err_nomem(err) : true;
}

static bool fd_write(int fd, const struct buf *text)
{
	size_t done = 0;
	ssize_t n;

	while (done < text->len) {
		n = write(fd, text->data + done, text->len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* The rename is on disk only once the folder is; a failure there loses nothing but the new entry.
 */
static void folder_sync(const char *file)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s", file);
	fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)fsync(fd);
	close(fd);
}

static bool file_replace(
	const char *file, const struct stat *old, const struct buf *text, struct err *err)
{
	mode_t mode = old->st_mode ? old->st_mode & 0777 : 0644;
	char path[PATH_MAX];
	bool ok = false;
	int fd;

	/* Only a process with our pid that died here can have left one; O_EXCL follows no link. */
	snprintf(path, sizeof(path), "%s.new.%ld", file, (long)getpid());
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(err, errno, "cannot write beside '%s'", file);
	if (old->st_mode && (old->st_uid != geteuid() || old->st_gid != getegid()) &&
		fchown(fd, old->st_uid, old->st_gid) < 0) {
		err_sys(err, errno, "cannot keep the owner of '%s'", file);
		goto out;
	}
	if (fchmod(fd, mode) < 0 || !fd_write(fd, text) || fsync(fd) < 0) {
		err_sys(err, errno, "cannot write '%s'", path);
		goto out;
	}
	if (rename(path, file) < 0) {
		err_sys(err, errno, "cannot replace '%s'", file);
		goto out;
	}
	folder_sync(file);
	ok = true;
out:
	if (!ok)
		unlink(path);
	close(fd);
	return ok;
}

bool nas_known_hosts_add(const char *file, const char *host, uint16_t port, const char *line,
	bool replace, struct err *err)
{
	char name[KNOWN_HOSTS_NAME_MAX];
	struct buf text = {0};
	struct buf old = {0};
	bool changed = false;
	bool ok = false;
	struct stat st;

	known_hosts_name(host, port, name);
	if (!file_read(file, &old, &st, err))
		goto out;
	if (!text_merge(buf_str(&old), name, line, replace, &text, &changed, err))
		goto out;
	ok = !changed || file_replace(file, &st, &text, err);
out:
	buf_release(&old);
	buf_release(&text);
	return ok;
}
