// SPDX-License-Identifier: MIT
#include "proxmox/qmp.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"

/* One message: a line. A graph of some hundred nodes is the longest that is asked for. */
#define LINE_MAX_BYTES ((size_t)2 << 20)
#define AGAIN_MS 25

struct link {
	const char *socket;
	int fd;
	int64_t end_ms; /* boot time */
	struct buf in;
	int64_t id; /* of the last command */
};

/* What QEMU said to a command: a value, or an error's class and sentence. */
struct reply {
	json_t *value; /* owned */
	bool refused;
	bool ended; /* DeviceNotActive, DeviceNotFound: there is no such job any more */
	char text[200];
};

static bool timed_out(const struct link *link, struct err *err)
{
	return err_set(err, ERR_TIMEOUT, "QEMU does not answer on '%s' in time", link->socket);
}

static bool gone(const struct link *link, struct err *err)
{
	return err_set(err, ERR_GONE, "QEMU has closed '%s'", link->socket);
}

static bool garbled(const struct link *link, const char *what, struct err *err)
{
	return err_set(err, ERR_PROTOCOL, "what '%s' says is not QMP: %s", link->socket, what);
}

/* Waits for `events`. */
static bool wait_for(const struct link *link, short events, struct err *err)
{
	struct pollfd fd = {.fd = link->fd, .events = events};
	int64_t left;
	int n;

	do {
		left = link->end_ms - clock_boot_ms();
		if (left <= 0)
			return timed_out(link, err);
		n = poll(&fd, 1, (int)left);
	} while (n == 0 || (n < 0 && errno == EINTR));
	return n > 0 || err_sys(err, errno, "cannot wait for '%s'", link->socket);
}

/* One try. *ret_again: another client is served and one more waits. */
static bool dial_once(
	struct link *link, const struct sockaddr_un *to, bool *ret_again, struct err *err)
{
	int sys;

	link->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (link->fd < 0)
		return err_sys(err, errno, "cannot make a socket");
	if (!connect(link->fd, (const struct sockaddr *)to, sizeof(*to)))
		return true;
	sys = errno;
	close(link->fd);
	link->fd = -1;
	*ret_again = sys == EAGAIN || sys == EINTR;
	if (*ret_again)
		return false;
	if (sys == ENOENT || sys == ECONNREFUSED)
		return err_set(err, ERR_GONE, "no QEMU listens on '%s'", link->socket);
	if (sys == EACCES || sys == EPERM)
		return err_set(err, ERR_DENIED, "'%s' may not be opened", link->socket);
	return err_sys(err, sys, "cannot connect to '%s'", link->socket);
}

static bool dial(struct link *link, struct err *err)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	bool again = true;

	if (strlen(link->socket) >= sizeof(to.sun_path))
		return err_set(err, ERR_LIMIT, "the path '%s' is too long", link->socket);
	memcpy(to.sun_path, link->socket, strlen(link->socket) + 1);
	while (!dial_once(link, &to, &again, err)) {
		if (!again)
			return false;
		if (clock_boot_ms() + AGAIN_MS >= link->end_ms)
			return err_set(err, ERR_TIMEOUT, "'%s' serves another client all the time",
				link->socket);
		poll(NULL, 0, AGAIN_MS);
		again = false;
	}
	return true;
}

/* More bytes into link->in. */
static bool fill(struct link *link, struct err *err)
{
	char *room = buf_room(&link->in, 16384);
	ssize_t n;

	if (!room)
		return garbled(link, "a message is longer than 2 MiB", err);
	if (!wait_for(link, POLLIN, err))
		return false;
	n = recv(link->fd, room, 16384, 0);
	if (n > 0)
		buf_used(&link->in, (size_t)n);
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		return gone(link, err);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return err_sys(err, errno, "cannot read from '%s'", link->socket);
	return true;
}

/* The next message; the caller's. */
static json_t *message(struct link *link, struct err *err)
{
	const char *end = NULL;
	json_t *value;
	size_t seen = 0, len;

	for (;;) {
		if (link->in.len > seen)
			end = memchr(link->in.data + seen, '\n', link->in.len - seen);
		if (end)
			break;
		seen = link->in.len;
		if (!fill(link, err))
			return NULL;
	}
	len = (size_t)(end - link->in.data) + 1;
	value = json_read(link->in.data, len, NULL);
	buf_drop(&link->in, len);
	if (json_is_object(value))
		return value;
	json_decref(value);
	garbled(link, "a message is no JSON object", err);
	return NULL;
}

static bool greet(struct link *link, struct err *err)
{
	json_t *value = message(link, err);
	bool ok = json_is_object(json_object_get(value, "QMP"));

	json_decref(value);
	return ok || (value && garbled(link, "there is no greeting", err));
}

static bool send_text(struct link *link, const char *text, struct err *err)
{
	size_t len = strlen(text);
	ssize_t n;

	while (len) {
		n = send(link->fd, text, len, MSG_NOSIGNAL);
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		} else if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) {
			return gone(link, err);
		} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
			return err_sys(err, errno, "cannot write to '%s'", link->socket);
		} else if (!wait_for(link, POLLOUT, err)) {
			return false;
		}
	}
	return true;
}

/* Takes `arguments`. */
static bool send_command(struct link *link, const char *name, json_t *arguments, struct err *err)
{
	json_t *object = json_object();
	char *text = NULL;
	bool ok = json_put_text(object, "execute", name) && json_put_int(object, "id", ++link->id);

	if (arguments)
		ok = json_put(object, "arguments", arguments) && ok;
	if (ok)
		text = json_text(object, 0);
	json_decref(object);
	if (!text)
		return err_nomem(err);
	ok = send_text(link, text, err) && send_text(link, "\n", err);
	free(text);
	return ok;
}

static void take_error(const json_t *error, struct reply *ret)
{
	const char *class = "", *text = "";

	json_may_text(error, "class", &class, NULL);
	json_may_text(error, "desc", &text, NULL);
	ret->refused = true;
	ret->ended = strcmp(class, "DeviceNotActive") == 0 || strcmp(class, "DeviceNotFound") == 0;
	snprintf(ret->text, sizeof(ret->text), "%s", *text ? text : class);
}

/* Whether `value` is the answer to the last command. */
static bool take_reply(const struct link *link, const json_t *value, struct reply *ret)
{
	const json_t *id = json_object_get(value, "id"), *error = json_object_get(value, "error");

	if (!json_is_integer(id) || json_integer_value(id) != link->id)
		return false;
	if (json_is_object(error))
		take_error(error, ret);
	else
		ret->value = json_incref(json_object_get(value, "return"));
	return ret->refused || ret->value;
}

/* One command and its answer. False: the connection is of no use any more. */
static bool command(
	struct link *link, const char *name, json_t *arguments, struct reply *ret, struct err *err)
{
	json_t *value;
	bool event, ok;

	*ret = (struct reply){0};
	if (!send_command(link, name, arguments, err))
		return false;
	do {
		value = message(link, err);
		if (!value)
			return false;
		/* Events come at any time. */
		event = json_object_get(value, "event") != NULL;
		ok = !event && take_reply(link, value, ret);
		json_decref(value);
	} while (event);
	return ok || garbled(link, "an answer belongs to no command", err);
}

/* A command that must not be refused. */
static json_t *query(struct link *link, const char *name, json_t *arguments, struct err *err)
{
	struct reply reply;

	if (!command(link, name, arguments, &reply, err))
		return NULL;
	if (reply.refused)
		err_set(err, ERR_DENIED, "QEMU refuses %s: %s", name, reply.text);
	return reply.value;
}

static bool open_link(const char *socket, int64_t deadline_ms, struct link *ret, struct err *err)
{
	json_t *value = NULL;

	*ret = (struct link){.socket = socket,
		.fd = -1,
		.end_ms = clock_boot_ms() + deadline_ms,
		.in.max = LINE_MAX_BYTES};
	if (!dial(ret, err) || !greet(ret, err))
		return false;
	value = query(ret, "qmp_capabilities", NULL, err);
	json_decref(value);
	return value != NULL;
}

static void close_link(struct link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	buf_release(&link->in);
}

bool qmp_job_active(const struct qmp_job *job)
{
	return strcmp(job->status, "running") == 0 || strcmp(job->status, "paused") == 0 ||
		strcmp(job->status, "ready") == 0 || strcmp(job->status, "standby") == 0;
}

static bool is_created(const struct qmp_job *job)
{
	return strcmp(job->status, "created") == 0;
}

/* BlockJobInfo, qapi/block-core.json. */
static bool read_job(const json_t *value, struct qmp_job *ret, struct err *err)
{
	*ret = (struct qmp_job){.status = "running"};
	if (!json_copy_text(value, "device", ret->device, sizeof(ret->device), err) ||
		!json_may_copy(value, "status", ret->status, sizeof(ret->status), err) ||
		!json_get_int(value, "speed", 0, INT64_MAX, &ret->speed, err) ||
		!json_get_int(value, "offset", 0, INT64_MAX, &ret->offset, err) ||
		!json_get_int(value, "len", 0, INT64_MAX, &ret->len, err) ||
		!json_get_bool(value, "paused", &ret->paused, err))
		return false;
	/* QEMU counts a job's not having begun as a pause (blockjob.c, pause_count). */
	if (is_created(ret))
		ret->paused = false;
	return true;
}

static bool list_jobs(struct link *link, struct qmp_state *ret, struct err *err)
{
	json_t *list = query(link, "query-block-jobs", NULL, err);
	const char *type;
	struct err why = {0};
	bool ok = json_is_array(list) || (list && garbled(link, "jobs are no list", err));
	size_t i;

	ret->n = 0;
	for (i = 0; ok && i < json_array_size(list); i++) {
		const json_t *job = json_array_get(list, i);

		type = "";
		if (!json_is_object(job) || !json_get_text(job, "type", &type, &why))
			ok = garbled(link, "a job has no type", err);
		else if (strcmp(type, "backup") != 0)
			continue;
		else if (ret->n == QMP_MAX_JOBS)
			ok = garbled(link, "there are more than 64 backup jobs", err);
		else if (!read_job(job, &ret->jobs[ret->n], &why))
			ok = garbled(link, why.text, err);
		else
			ret->n++;
	}
	json_decref(list);
	return ok;
}

/* A command for one job. A refusal is kept in `refusal`, the first one. */
static bool tell(struct link *link, const char *name, const struct qmp_job *job,
	const int64_t *speed, struct err *refusal, struct err *err)
{
	json_t *arguments = json_object();
	struct reply reply;

	if (!json_put_text(arguments, "device", job->device) ||
		(speed && !json_put_int(arguments, "speed", *speed))) {
		json_decref(arguments);
		return err_nomem(err);
	}
	if (!command(link, name, arguments, &reply, err))
		return false;
	if (reply.refused && !reply.ended && !refusal->kind)
		err_set(refusal, ERR_DENIED, "QEMU refuses %s of %s: %s", name, job->device,
			reply.text);
	json_decref(reply.value);
	return true;
}

/* A job is paused before its speed changes, and resumed after: it never runs at a speed that nobody
 * wants. */
static bool bring_job(struct link *link, const struct qmp_job *job, const struct qmp_order *order,
	struct err *refusal, struct err *err)
{
	if (!qmp_job_active(job) && !is_created(job))
		return true;
	if (order->pause && qmp_job_active(job) && !job->paused &&
		!tell(link, "block-job-pause", job, NULL, refusal, err))
		return false;
	if (order->speed != job->speed &&
		!tell(link, "block-job-set-speed", job, &order->speed, refusal, err))
		return false;
	return order->pause || !qmp_job_active(job) || !job->paused ||
		tell(link, "block-job-resume", job, NULL, refusal, err);
}

/* Whether what was wanted is what was read back; a refusal does not matter then: somebody else has
 * done it, or the job has gone on to its end. */
static bool is_brought(const struct qmp_wants *wants, const struct qmp_state *state)
{
	struct qmp_order order;
	size_t i;

	for (i = 0; i < state->n; i++) {
		const struct qmp_job *job = &state->jobs[i];

		if ((!qmp_job_active(job) && !is_created(job)) ||
			!wants->want(wants->data, job, &order))
			continue;
		if (job->speed != order.speed ||
			(qmp_job_active(job) && job->paused != order.pause))
			return false;
	}
	return true;
}

static bool bring(
	struct link *link, const struct qmp_wants *wants, struct qmp_state *ret, struct err *err)
{
	struct err refusal = {0};
	struct qmp_order order;
	size_t i;

	for (i = 0; i < ret->n; i++) {
		if (wants->want(wants->data, &ret->jobs[i], &order) &&
			!bring_job(link, &ret->jobs[i], &order, &refusal, err))
			return false;
	}
	if (!list_jobs(link, ret, err))
		return false;
	if (!refusal.kind || is_brought(wants, ret))
		return true;
	return err_set(err, refusal.kind, "%s", refusal.text);
}

bool qmp_bring(const char *socket, const struct qmp_wants *wants, int64_t deadline_ms,
	struct qmp_state *ret, struct err *err)
{
	struct err why = {0};
	struct link link;
	bool ok;

	memset(ret, 0, sizeof(*ret));
	ok = open_link(socket, deadline_ms, &link, &why) && list_jobs(&link, ret, &why) &&
		(!wants || bring(&link, wants, ret, &why));
	close_link(&link);
	if (ok)
		return true;
	if (why.kind != ERR_DENIED)
		ret->n = 0;
	if (err)
		*err = why;
	return false;
}

struct same {
	enum qmp_path path;
	int64_t rate;
};

static bool want_same(void *data, const struct qmp_job *job, struct qmp_order *ret)
{
	const struct same *same = data;

	*ret = (struct qmp_order){.pause = same->path == QMP_PAUSE,
		.speed = same->path == QMP_PAUSE ? job->speed : same->rate};
	return true;
}

bool qmp_backup_jobs(const char *socket, enum qmp_path path, int64_t rate, int64_t deadline_ms,
	struct qmp_state *ret, struct err *err)
{
	struct same same = {path, rate};
	const struct qmp_wants wants = {want_same, &same};

	return qmp_bring(socket, path == QMP_LOOK ? NULL : &wants, deadline_ms, ret, err);
}

bool qmp_fleecing(const char *socket, int64_t deadline_ms, bool *ret, struct err *err)
{
	json_t *arguments = json_object(), *list = NULL;
	const char *driver;
	struct link link;
	bool found = false, ok;
	size_t i;

	if (!json_put_bool(arguments, "flat", true)) {
		json_decref(arguments);
		return err_nomem(err);
	}
	if (open_link(socket, deadline_ms, &link, err))
		list = query(&link, "query-named-block-nodes", arguments, err);
	else
		json_decref(arguments);
	close_link(&link);
	ok = json_is_array(list);
	for (i = 0; ok && !found && i < json_array_size(list); i++) {
		driver = json_string_value(json_object_get(json_array_get(list, i), "drv"));
		found = driver && strcmp(driver, "snapshot-access") == 0;
	}
	if (list && !ok)
		garbled(&link, "nodes are no list", err);
	json_decref(list);
	if (ok)
		*ret = found;
	return ok;
}
