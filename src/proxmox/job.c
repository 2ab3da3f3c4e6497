// SPDX-License-Identifier: MIT
#include "proxmox/job.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"

#define FILE_MAX ((size_t)1 << 20)

static bool read_at(int dir, const char *name, struct buf *ret)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char part[8192];
	ssize_t n;

	if (fd < 0)
		return false;
	ret->max = FILE_MAX;
	while ((n = read(fd, part, sizeof(part))) > 0 && buf_add(ret, part, (size_t)n))
		;
	close(fd);
	return n == 0 && !ret->failed;
}

/* "vzdump-ID.json" to ID. */
static bool id_of_name(const char *name, char ret[JOB_ID_MAX])
{
	static const char before[] = "vzdump-", after[] = ".json";
	size_t len = strlen(name), skip = sizeof(before) - 1, tail = sizeof(after) - 1;

	if (len <= skip + tail || len - skip - tail >= JOB_ID_MAX ||
		strncmp(name, before, skip) != 0 || strcmp(name + len - tail, after) != 0)
		return false;
	memcpy(ret, name + skip, len - skip - tail);
	ret[len - skip - tail] = '\0';
	return true;
}

static bool state_has(int dir, const char *name, const char *upid)
{
	struct buf text = {0};
	json_t *state = NULL;
	const char *own = NULL;
	bool same = false;

	if (read_at(dir, name, &text))
		state = json_read(buf_str(&text), text.len, NULL);
	if (json_is_object(state) && json_may_text(state, "upid", &own, NULL) && own)
		same = strcmp(own, upid) == 0;
	json_decref(state);
	buf_release(&text);
	return same;
}

bool job_of_task(const char *dir, const char *upid, char ret_id[JOB_ID_MAX])
{
	DIR *files = opendir(dir);
	const struct dirent *entry;
	char id[JOB_ID_MAX];
	bool found = false;

	while (files && !found && (entry = readdir(files))) {
		if (!id_of_name(entry->d_name, id) || !state_has(dirfd(files), entry->d_name, upid))
			continue;
		memcpy(ret_id, id, sizeof(id));
		found = true;
	}
	if (files)
		closedir(files);
	return found;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool all_blank(const char *line, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (!is_blank(line[i]))
			return false;
	}
	return true;
}

/* "KEY VALUE", indented: the value of `key`. */
static bool value_of(const char *line, size_t len, const char *key, char *ret, size_t size)
{
	size_t at = 0;

	while (at < len && is_blank(line[at]))
		at++;
	if (at == 0 || len - at <= strlen(key) || memcmp(line + at, key, strlen(key)) != 0 ||
		!is_blank(line[at + strlen(key)]))
		return false;
	at += strlen(key);
	while (at < len && is_blank(line[at]))
		at++;
	while (len > at && is_blank(line[len - 1]))
		len--;
	if (len == at || len - at >= size)
		return false;
	memcpy(ret, line + at, len - at);
	ret[len - at] = '\0';
	return true;
}

/* "vzdump: ID" */
static bool heads(const char *line, size_t len, const char *id)
{
	static const char type[] = "vzdump:";
	size_t at = sizeof(type) - 1;

	if (len <= at || memcmp(line, type, at) != 0)
		return false;
	while (at < len && is_blank(line[at]))
		at++;
	while (len > at && is_blank(line[len - 1]))
		len--;
	return len - at == strlen(id) && memcmp(line + at, id, len - at) == 0;
}

bool job_value(const char *config, const char *id, const char *key, char *ret, size_t size)
{
	const char *line, *end;
	bool inside = false;
	size_t len;

	for (line = config; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		len = (size_t)(end - line);
		/* A section ends at an empty line, or where the next one begins. */
		if (all_blank(line, len) || !is_blank(line[0]))
			inside = heads(line, len, id);
		else if (inside && value_of(line, len, key, ret, size))
			return true;
	}
	return false;
}

bool job_schedule(const char *config, const char *id, char *ret, size_t size)
{
	return job_value(config, id, "schedule", ret, size);
}

bool job_file_read(const char *file, struct buf *ret)
{
	return read_at(AT_FDCWD, file, ret);
}

bool job_schedule_read(const char *file, const char *id, char *ret, size_t size)
{
	struct buf text = {0};
	bool found = job_file_read(file, &text) && job_schedule(buf_str(&text), id, ret, size);

	buf_release(&text);
	return found;
}
