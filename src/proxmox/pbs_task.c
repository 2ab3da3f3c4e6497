// SPDX-License-Identifier: MIT
/* Tasks of a backup server: its UPIDs and its list of them. */
#include <stdio.h>
#include <string.h>

#include "proxmox/form.h"
#include "proxmox/pbs.h"

#define WHAT "the tasks"

const char *pbs_worker_word(enum pbs_worker worker)
{
	static const char *const words[] = {"none", "backup", "restore", "garbage collection",
		"verification", "prune", "sync", "tape", "task"};

	return worker <= PBS_WORKER_OTHER ? words[worker] : "task";
}

/* Worker types as WorkerTask::new_thread() and spawn() are called with, in proxmox-backup's
 * src/api2 and src/server. */
static enum pbs_worker worker_of(const char *type)
{
	static const struct {
		const char *type;
		enum pbs_worker worker;
	} names[] = {
		{"backup", PBS_WORKER_BACKUP},
		{"reader", PBS_WORKER_READER},
		{"garbage_collection", PBS_WORKER_GC},
		{"prune", PBS_WORKER_PRUNE},
		{"prunejob", PBS_WORKER_PRUNE},
		{"sync", PBS_WORKER_SYNC},
		{"syncjob", PBS_WORKER_SYNC},
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(type, names[i].type) == 0)
			return names[i].worker;
	}
	if (strncmp(type, "verif", 5) == 0)
		return PBS_WORKER_VERIFY;
	return strncmp(type, "tape-", 5) == 0 ? PBS_WORKER_TAPE : PBS_WORKER_OTHER;
}

/* The datastore that an id names: its first part, for a sync the third (remote, remote's store,
 * store); nothing for tasks that are of none. */
static void store_of(struct pbs_task *task)
{
	const char *at = task->id;
	size_t len, skip = task->worker == PBS_WORKER_SYNC ? 2 : 0;

	task->store[0] = '\0';
	if (task->worker == PBS_WORKER_OTHER)
		return;
	for (; skip; skip--) {
		at = strchr(at, ':');
		if (!at)
			return;
		at++;
	}
	len = strcspn(at, ":");
	if (len < sizeof(task->store)) {
		memcpy(task->store, at, len);
		task->store[len] = '\0';
	}
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* systemd's escape: '-' is '/', "\x2d" a byte. A byte that could not be printed makes it no id. */
static bool unescape(const char *text, size_t len, char *ret, size_t size)
{
	size_t n = 0, i;
	int high, low;
	char c;

	for (i = 0; i < len; i++) {
		c = text[i] == '-' ? '/' : text[i];
		if (c == '\\') {
			if (len - i < 4 || text[i + 1] != 'x')
				return false;
			high = hex_digit(text[i + 2]);
			low = hex_digit(text[i + 3]);
			if (high < 0 || low < 0)
				return false;
			c = (char)(high * 16 + low);
			i += 3;
		}
		if ((unsigned char)c < 0x20 || c == 0x7f || n + 1 >= size)
			return false;
		ret[n++] = c;
	}
	ret[n] = '\0';
	return true;
}

/* The next field up to ':' as [at, at + len). */
static bool next_field(const char **at, const char **ret, size_t *ret_len)
{
	const char *end = strchr(*at, ':');

	if (!end)
		return false;
	*ret = *at;
	*ret_len = (size_t)(end - *at);
	*at = end + 1;
	return true;
}

static bool hex_field(const char **at, size_t min, size_t max, int64_t *ret)
{
	const char *text;
	size_t len, i;
	uint64_t v = 0;

	if (!next_field(at, &text, &len) || len < min || len > max)
		return false;
	for (i = 0; i < len; i++) {
		if (hex_digit(text[i]) < 0)
			return false;
		v = v * 16 + (uint64_t)hex_digit(text[i]);
	}
	*ret = (int64_t)v;
	return true;
}

/* A field without blanks, copied. */
static bool word_field(const char **at, char *ret, size_t size)
{
	const char *text;
	size_t len, i;

	if (!next_field(at, &text, &len) || !len || len >= size)
		return false;
	for (i = 0; i < len; i++) {
		if ((unsigned char)text[i] <= 0x20 || text[i] == 0x7f || text[i] == '/')
			return false;
	}
	memcpy(ret, text, len);
	ret[len] = '\0';
	return true;
}

bool pbs_upid_parse(const char *text, struct pbs_task *ret)
{
	struct pbs_task task = {0};
	const char *at = text + 5, *id;
	int64_t number, start;
	char node[64];
	size_t len;

	if (strlen(text) >= sizeof(task.upid) || strncmp(text, "UPID:", 5) != 0)
		return false;
	if (!word_field(&at, node, sizeof(node)) || !hex_field(&at, 8, 8, &number) ||
		!hex_field(&at, 8, 9, &number) || !hex_field(&at, 8, 16, &number) ||
		!hex_field(&at, 8, 8, &start) || !word_field(&at, task.type, sizeof(task.type)) ||
		!next_field(&at, &id, &len) || !unescape(id, len, task.id, sizeof(task.id)) ||
		!word_field(&at, task.user, sizeof(task.user)) || *at)
		return false;
	memcpy(task.upid, text, strlen(text) + 1);
	task.starttime_s = start;
	task.worker = worker_of(task.type);
	store_of(&task);
	*ret = task;
	return true;
}

/* `ret_known` is false for a task whose id is longer than what we take: none that we know. */
static bool read_task(const json_t *object, struct pbs_task *task, bool *ret_known, struct err *err)
{
	const char *upid = NULL;
	int64_t end = -1;

	if (!json_is_object(object))
		return err_set(err, ERR_INVALID, "it is not an object");
	if (!json_get_text(object, "upid", &upid, err))
		return false;
	*ret_known = pbs_upid_parse(upid, task);
	if (!*ret_known)
		return strncmp(upid, "UPID:", 5) == 0 ||
			err_set(err, ERR_INVALID, "'%.60s' is not the id of a task", upid);
	if (!answer_may_number(object, "endtime", INT64_C(0xffffffff), &end, err) ||
		!answer_may_words(object, "status", task->status, sizeof(task->status), err))
		return false;
	task->endtime_s = end >= 0 ? OPT(end) : OPT_NONE;
	return true;
}

bool pbs_tasks_read(const char *body, size_t len,
	void (*each)(void *data, const struct pbs_task *task), void *data, struct err *err)
{
	json_t *root;
	const json_t *list = answer_list(body, len, WHAT, &root, err);
	struct pbs_task task;
	bool ok = list != NULL, known = false;
	size_t i;

	for (i = 0; ok && i < json_array_size(list); i++) {
		ok = read_task(json_array_get(list, i), &task, &known, err) ||
			answer_bad(WHAT, i, err);
		if (ok && known)
			each(data, &task);
	}
	json_decref(root);
	return ok;
}

bool pbs_started_read(const char *body, size_t len, char ret[256], struct err *err)
{
	json_t *root;
	const json_t *value = answer_data(body, len, "the started task", &root, err);
	struct pbs_task task;
	bool ok = false;

	if (!value)
		return false;
	if (json_is_string(value) && pbs_upid_parse(json_string_value(value), &task)) {
		memcpy(ret, task.upid, sizeof(task.upid));
		ok = true;
	} else {
		err_set(err, ERR_PROTOCOL, "the started task: the answer is not the id of a task");
	}
	json_decref(root);
	return ok;
}
