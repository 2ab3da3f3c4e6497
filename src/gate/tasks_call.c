// SPDX-License-Identifier: MIT
/* The calls about tasks: which is next, and what comes of it. One at a time for each server. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/levers.h"
#include "gate/notify.h"
#include "gate/tasks_impl.h"

#define LOG_LINES 60
#define PAST_LINES 20000
#define MAY_EVERY_MS MS_HOUR
#define MAY_AGAIN_MS (2 * MS_MINUTE) /* while the token sees too little */
#define LOG_AGAIN_MS (5 * MS_SECOND)
#define LOG_LATER_MS MS_MINUTE        /* that has told nothing for a while, or cannot be read */
#define STOP_AGAIN_MS (2 * MS_MINUTE) /* a task that was stopped and still runs, or a failure */
#define STOP_AGAIN_MAX_MS MS_HOUR

/* Of several the one that was looked at least lately: one that cannot be read hides no other. */
static struct task *log_wanted(struct tasks_server *server, int64_t now_ms)
{
	struct task *first = NULL;
	int64_t again;
	size_t i;

	for (i = 0; i < TASKS_PER_SERVER; i++) {
		struct task *task = &server->list[i];

		if (!task->kind || server->kind != API_PVE || task->log_known)
			continue;
		again = task->log_tries < LOG_TRIES_MAX ? LOG_AGAIN_MS : LOG_LATER_MS;
		if ((!task->log_ms || now_ms - task->log_ms >= again) &&
			(!first || task->log_ms < first->log_ms))
			first = task;
	}
	return first;
}

/* Each refusal stands in the record: they become seldom. */
static int64_t stop_again_ms(const struct task *task)
{
	int64_t ms = STOP_AGAIN_MS;
	unsigned i;

	for (i = 1; i < task->stop_tries && ms < STOP_AGAIN_MAX_MS; i++)
		ms *= 2;
	return ms < STOP_AGAIN_MAX_MS ? ms : STOP_AGAIN_MAX_MS;
}

static struct task *stop_wanted(struct tasks_server *server, int64_t now_ms)
{
	size_t i;

	for (i = 0; i < TASKS_PER_SERVER; i++) {
		struct task *task = &server->list[i];

		if (task->kind && task->stop[0] &&
			(!task->try_ms || now_ms - task->try_ms >= stop_again_ms(task)))
			return task;
	}
	return NULL;
}

static void tell_stopped(
	struct tasks *tasks, const struct tasks_server *server, const struct task *task)
{
	json_t *details = json_object();
	char text[480];

	snprintf(text, sizeof(text), "A %s on '%s' (storage '%s') is stopped: %s",
		task->kind == TASK_GC               ? "garbage collection"
			: task->kind == TASK_VERIFY ? "verification"
						    : "backup",
		task->node[0] ? task->node : server->name, task->storage, task->stop);
	log_notice("%s upid=%s", text, task->upid);
	json_put_text(details, "server", server->name);
	json_put_text(details, "upid", task->upid);
	json_put_text(details, "storage", task->storage);
	notify_tell(tasks->gate->notify, NOTIFY_STOPPED, task->upid, text, details);
}

static void record_stop(struct tasks_server *server, const struct task *task, const char *why)
{
	char target[340];

	snprintf(target, sizeof(target), "%s %s", server->name, task->upid);
	levers_record(
		server->tasks->gate, task->ticket, "job", target, "stopped", "running", why, true);
}

/* It goes on. What was promised is taken back, unless the server may have got the call after all:
 * then it is better run once too often. */
static void fail_stop(struct tasks_server *server, struct task *task, const struct err *err)
{
	static const char prefix[] = "cannot stop a task: ";
	bool perhaps = err->kind == ERR_TIMEOUT || err->kind == ERR_GONE;
	const char *text = err->text;

	if (strncmp(text, prefix, sizeof(prefix) - 1) == 0)
		text += sizeof(prefix) - 1;
	task->stop_tries++;
	snprintf(task->refused, sizeof(task->refused), "could not be stopped: %.200s", text);
	if (!task->stop_failed)
		log_warning("A task is not stopped: %s upid=%s", err->text, task->upid);
	task->stop_failed = true;
	if (perhaps)
		return;
	record_stop(server, task, task->refused);
	if (task_reruns(task))
		reruns_withdraw(server->tasks, server, task);
}

static void take_stop(struct tasks_server *server, struct task *task, const struct err *err)
{
	if (!task)
		return;
	if (err && err->kind != ERR_NOTFOUND) {
		fail_stop(server, task, err);
		return;
	}
	task->refused[0] = '\0';
	task->stop_tries = 0;
	if (err && task_reruns(task)) { /* it has ended by itself */
		reruns_withdraw(server->tasks, server, task);
		return;
	}
	if (!task->stop_ms && !err)
		tell_stopped(server->tasks, server, task);
	task->stop_ms = clock_boot_ms();
	if (task_reruns(task))
		reruns_keep(server->tasks, server, task);
}

/* A log that cannot be read says nothing, for now: its job is of no storage that is known. */
static void fail_log(struct task *task, const struct err *err)
{
	if (!task)
		return;
	if (!task->log_said)
		log_info("A task's log cannot be read: %s upid=%s", err->text, task->upid);
	task->log_said = true;
	task->log_tries++;
}

/* That a server is not there is said by remote.c. */
static void fail_list(struct tasks_server *server, const struct err *err)
{
	if (server->list_said || err->kind == ERR_BUSY || err->kind == ERR_GONE ||
		err->kind == ERR_TIMEOUT)
		return;
	server->list_said = true;
	log_warning("What runs on '%s' cannot be seen: %s", server->name, err->text);
}

/* Without this privilege a list holds the token's own tasks only, and no error. */
static const char *audit_path(const struct tasks_server *server)
{
	return server->kind == API_PVE ? "/" : "/system/tasks";
}

/* {"PATH": {"PRIVILEGE": propagates}}; pve-access-control PVE/API2/AccessControl.pm, proxmox-backup
 * src/api2/access/mod.rs. A server that does not tell is believed. */
static void take_may(struct tasks_server *server, const char *body, size_t len)
{
	json_t *root = body ? json_read(body, len, NULL) : NULL;
	const json_t *data = json_object_get(root, "data");
	const json_t *privs = json_object_get(data, audit_path(server));
	bool blind = json_is_object(data) && !json_object_get(privs, "Sys.Audit");

	if (blind && !server->blind)
		log_warning("The token for '%s' lacks Sys.Audit on %s: what runs there cannot be "
			    "seen",
			server->name, audit_path(server));
	else if (!blind && server->blind)
		log_notice("What runs on '%s' can be seen now", server->name);
	server->blind = blind;
	json_decref(root);
}

static void on_done(void *data, const char *body, size_t len, const struct err *err)
{
	struct tasks_server *server = data;
	struct task *task = task_find(server, server->op_upid);
	enum tasks_op op = server->op;
	struct err wrong = {0};

	server->op = TASKS_OP_NONE;
	switch (op) {
	case TASKS_OP_NONE:
		break;
	case TASKS_OP_MAY:
		take_may(server, body, len);
		break;
	case TASKS_OP_LIST:
		if (!err && tasks_take_list(server, body, len, &wrong)) {
			server->good_ms = clock_boot_ms();
			server->list_said = false;
		} else {
			fail_list(server, err ? err : &wrong);
		}
		break;
	case TASKS_OP_PAST:
		past_take(server, server->op_upid, body, len, err);
		break;
	case TASKS_OP_STORES:
		sources_take(server, body, len, err);
		break;
	case TASKS_OP_LOG:
		if (err)
			fail_log(task, err);
		else if (task && !tasks_take_log(server, task, body, len, &wrong))
			fail_log(task, &wrong);
		break;
	case TASKS_OP_STOP:
		take_stop(server, task, err);
		break;
	case TASKS_OP_RUN:
		reruns_done(server->tasks, server->op_rerun, err);
		break;
	}
	tasks_judge(server->tasks);
	tasks_work(server);
}

/* The sentence that a failure begins with: "cannot ...". */
static const char *const words[] = {
	[TASKS_OP_NONE] = "",
	[TASKS_OP_MAY] = "read the token's privileges",
	[TASKS_OP_LIST] = "list the running tasks",
	[TASKS_OP_LOG] = "read a task's log",
	[TASKS_OP_PAST] = "read a task's log",
	[TASKS_OP_STORES] = "list the storages",
	[TASKS_OP_STOP] = "stop a task",
	[TASKS_OP_RUN] = "run what was stopped",
};

static void call(struct tasks_server *server, enum tasks_op op, struct api_call *api, bool built,
	struct err *err)
{
	struct remote *remote =
		remotes_find(server->tasks->gate->remotes, server->kind, server->name);
	struct task *task = task_find(server, server->op_upid);

	if (!built)
		api_call_release(api);
	else if (remote_call(remote, api, false, words[op], on_done, server, err)) {
		server->op = op;
		return;
	}
	if (op == TASKS_OP_LOG)
		fail_log(task, err);
	else if (op == TASKS_OP_PAST)
		past_take(server, server->op_upid, NULL, 0, err);
	else if (op == TASKS_OP_STORES)
		sources_take(server, NULL, 0, err);
	else if (op == TASKS_OP_STOP)
		take_stop(server, task, err);
	else if (op == TASKS_OP_RUN)
		reruns_done(server->tasks, server->op_rerun, err);
}

static void ask_may(struct tasks_server *server, int64_t now_ms)
{
	struct api_call api = {.method = "GET"};
	struct err err = {0};

	server->op_upid[0] = '\0';
	server->may_ms = now_ms;
	buf_addf(&api.path, "/api2/json/access/permissions?path=%s",
		server->kind == API_PVE ? "%2F" : "%2Fsystem%2Ftasks");
	call(server, TASKS_OP_MAY, &api, true, &err);
}

static void ask_past(struct tasks_server *server, struct past *past)
{
	struct api_call api = {0};
	struct err err = {0};
	bool built = pve_task_log_get(past->node, past->upid, 0, PAST_LINES, &api, &err);

	snprintf(server->op_upid, sizeof(server->op_upid), "%s", past->upid);
	call(server, TASKS_OP_PAST, &api, built, &err);
}

static void ask_stores(struct tasks_server *server, int64_t now_ms)
{
	struct api_call api = {0};
	struct err err = {0};
	bool built = pve_storages_get(&api, &err);

	server->op_upid[0] = '\0';
	server->stores_ms = now_ms;
	call(server, TASKS_OP_STORES, &api, built, &err);
}

static bool may_due(const struct tasks_server *server, int64_t now_ms)
{
	return !server->may_ms ||
		now_ms - server->may_ms >= (server->blind ? MAY_AGAIN_MS : MAY_EVERY_MS);
}

static void ask_list(struct tasks_server *server, int64_t now_ms)
{
	struct api_call api = {0};
	struct err err = {0};
	bool built = server->kind == API_PVE ? pve_cluster_tasks_get(&api, &err)
					     : pbs_tasks_get(true, NULL, &api, &err);

	server->op_upid[0] = '\0';
	server->asked_ms = now_ms;
	call(server, TASKS_OP_LIST, &api, built, &err);
}

static void ask_log(struct tasks_server *server, struct task *task, int64_t now_ms)
{
	struct api_call api = {0};
	struct err err = {0};
	bool built = pve_task_log_get(task->node, task->upid, 0, LOG_LINES, &api, &err);

	task->log_ms = now_ms;
	snprintf(server->op_upid, sizeof(server->op_upid), "%s", task->upid);
	call(server, TASKS_OP_LOG, &api, built, &err);
}

static void ask_stop(struct tasks_server *server, struct task *task, int64_t now_ms)
{
	struct api_call api = {0};
	struct err err = {0};
	char target[340];
	bool built = server->kind == API_PVE ? pve_task_stop(task->node, task->upid, &api, &err)
					     : pbs_task_stop(task->upid, &api, &err);

	task->try_ms = now_ms;
	if (task_reruns(task) && !reruns_promise(server->tasks, server, task)) {
		api_call_release(&api);
		return;
	}
	snprintf(target, sizeof(target), "%s %s", server->name, task->upid);
	if (!levers_record(server->tasks->gate, task->ticket, "job", target, "running", "stopped",
		    task->stop, true)) {
		log_warning(
			"A task is not stopped: that could not be recorded upid=%s", task->upid);
		if (task_reruns(task))
			reruns_withdraw(server->tasks, server, task);
		api_call_release(&api);
		return;
	}
	snprintf(server->op_upid, sizeof(server->op_upid), "%s", task->upid);
	call(server, TASKS_OP_STOP, &api, built, &err);
}

static void ask_rerun(struct tasks_server *server, size_t i)
{
	struct api_call api = {0};
	struct err err = {0};
	bool built = reruns_call(&server->tasks->reruns[i], &api, &err);

	server->op_upid[0] = '\0';
	server->op_rerun = i;
	call(server, TASKS_OP_RUN, &api, built, &err);
}

/* What is no list: true where something was asked for. */
static bool ask_other(struct tasks_server *server, int64_t now_ms)
{
	struct task *task;
	struct past *past;
	int rerun;

	if ((task = log_wanted(server, now_ms)))
		ask_log(server, task, now_ms);
	else if (sources_due(server, now_ms))
		ask_stores(server, now_ms);
	else if ((rerun = reruns_due(server, now_ms)) >= 0)
		ask_rerun(server, (size_t)rerun);
	else if ((past = past_wanted(server)))
		ask_past(server, past);
	return server->op != TASKS_OP_NONE;
}

void tasks_work(struct tasks_server *server)
{
	int64_t now = clock_boot_ms();
	const struct remote *remote;
	struct task *task;

	if (server->op != TASKS_OP_NONE)
		return;
	remote = remotes_find(server->tasks->gate->remotes, server->kind, server->name);
	if (!remote)
		return;
	/* What cannot be sent is no try: nothing is recorded or promised for it. */
	if (remote_may_ask(remote) && (task = stop_wanted(server, now))) {
		ask_stop(server, task, now);
		return;
	}
	if (may_due(server, now)) {
		ask_may(server, now);
		return;
	}
	/* A list that takes longer than the time between two must not leave the rest undone. */
	if (server->others_turn) {
		server->others_turn = false;
		if (ask_other(server, now))
			return;
	}
	if (!server->asked_ms || now - server->asked_ms >= tasks_interval(server->tasks)) {
		server->others_turn = true;
		ask_list(server, now);
		return;
	}
	ask_other(server, now);
}
