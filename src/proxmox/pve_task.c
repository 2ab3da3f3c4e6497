// SPDX-License-Identifier: MIT
/* Tasks of a cluster: the lists of them, and what their logs tell. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "proxmox/form.h"
#include "proxmox/pve.h"

#define WHAT "the tasks"

/* Whose task it is: the last field of the UPID. */
static void user_of(const char *upid, char *ret, size_t size)
{
	size_t end = strlen(upid) - 1, start = end;

	while (start && upid[start - 1] != ':')
		start--;
	snprintf(ret, size, "%.*s", (int)(end - start), upid + start);
}

/* In /cluster/tasks a running task has neither `endtime` nor `status`, in a node's list of active
 * ones the status "RUNNING" (PVE/API2/Cluster.pm, PVE/API2/Tasks.pm). */
static bool read_task(const json_t *object, struct pve_task *task, bool *ret_known, struct err *err)
{
	const char *upid = NULL;

	*task = (struct pve_task){0};
	if (!json_is_object(object))
		return err_set(err, ERR_INVALID, "it is not an object");
	if (!json_get_text(object, "upid", &upid, err))
		return false;
	*ret_known = strlen(upid) < sizeof(task->upid) && upid_parse(upid, &task->parts);
	if (!*ret_known)
		return strncmp(upid, "UPID:", 5) == 0 ||
			err_set(err, ERR_INVALID, "'%.60s' is not the id of a task", upid);
	memcpy(task->upid, upid, strlen(upid) + 1);
	user_of(upid, task->user, sizeof(task->user));
	if (!answer_may_number(object, "endtime", INT64_C(0xffffffff), &task->endtime_s, err) ||
		!answer_may_words(object, "status", task->status, sizeof(task->status), err))
		return false;
	task->running =
		!task->endtime_s && (!*task->status || strcmp(task->status, "RUNNING") == 0);
	if (task->running)
		task->status[0] = '\0';
	return true;
}

bool pve_tasks_read(const char *body, size_t len,
	void (*each)(void *data, const struct pve_task *task), void *data, struct err *err)
{
	json_t *root;
	const json_t *list = answer_list(body, len, WHAT, &root, err);
	struct pve_task task;
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

bool pve_task_status_read(
	const char *body, size_t len, bool *ret_running, char ret_status[128], struct err *err)
{
	static const char what[] = "the task's status";
	json_t *root;
	const json_t *data = answer_object(body, len, what, &root, err);
	const char *status = NULL;
	char exit_status[128] = "";
	bool ok = false;

	if (!data)
		return false;
	if (!json_get_text(data, "status", &status, err) ||
		!answer_may_words(data, "exitstatus", exit_status, sizeof(exit_status), err)) {
		err_prefix(err, "%s", what);
		if (err)
			err->kind = ERR_PROTOCOL;
	} else if (strcmp(status, "running") != 0 && strcmp(status, "stopped") != 0) {
		err_set(err, ERR_PROTOCOL, "%s: it is neither running nor stopped", what);
	} else {
		*ret_running = strcmp(status, "running") == 0;
		memcpy(ret_status, exit_status, sizeof(exit_status));
		if (*ret_running)
			ret_status[0] = '\0';
		ok = true;
	}
	json_decref(root);
	return ok;
}

bool pve_status_ok(const char *status)
{
	return strcmp(status, "OK") == 0 || strncmp(status, "WARNINGS: ", 10) == 0;
}

bool pve_log_read(const char *body, size_t len,
	void (*each)(void *data, int64_t n, const char *line), void *data, struct err *err)
{
	static const char what[] = "the task's log";
	json_t *root;
	const json_t *list = answer_list(body, len, what, &root, err), *value;
	const char *line;
	bool ok = list != NULL;
	int64_t n;
	size_t i;

	for (i = 0; ok && i < json_array_size(list); i++) {
		value = json_array_get(list, i);
		line = NULL;
		n = 0;
		ok = (json_get_text(value, "t", &line, err) &&
			     answer_get_number(value, "n", INT64_MAX, &n, err)) ||
			answer_bad(what, i, err);
		if (ok)
			each(data, n, line);
	}
	json_decref(root);
	return ok;
}
