// SPDX-License-Identifier: MIT
/* Calls to one API server. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/remote_impl.h"
#include "gate/secret.h"

#define BODY_MAX ((size_t)16 << 20)
#define PAUSE_FIRST_MS (5 * MS_SECOND)
#define PAUSE_MAX_MS (5 * MS_MINUTE)
#define TOKEN_PAUSE_MS (15 * MS_MINUTE)

const char *remote_kind_word(const struct remote *remote)
{
	return remote->kind == API_PVE ? "pve" : "pbs";
}

const char *remote_name(const struct remote *remote)
{
	return remote->settings.name;
}

const char *remote_trouble(const struct remote *remote)
{
	return remote->shape == SHAPE_BAD ? remote->text : "";
}

void waiting_drop(struct waiting *waiting)
{
	api_call_release(&waiting->call);
	*waiting = (struct waiting){0};
}

/* `waiting` is the caller's copy: `done` may ask again. */
void waiting_end(struct waiting *waiting, const char *body, size_t len, const struct err *err)
{
	waiting->done(waiting->data, body, len, err);
	api_call_release(&waiting->call);
}

static void wake(struct remotes *remotes)
{
	timer_at(&remotes->timer, 0);
}

static void set_good(struct remote *remote)
{
	remote->failures = 0;
	remote->timeouts = 0;
	remote->resume_ms = 0;
	remote->token_mark = remote->sent_mark;
	if (remote->shape == SHAPE_GOOD)
		return;
	if (remote->shape == SHAPE_BAD)
		log_notice("The API of '%s' answers again kind=%s", remote->settings.name,
			remote_kind_word(remote));
	remote->shape = SHAPE_GOOD;
	remote->text[0] = '\0';
	remote->since_utc_ms = clock_now().utc_ms;
}

/* Said where it is news: another reason counts only after the server was good. */
static void set_bad(struct remote *remote, const struct err *err, int64_t pause_ms)
{
	remote->failures++;
	remote->resume_ms = clock_boot_ms() + pause_ms;
	snprintf(remote->text, sizeof(remote->text), "%.470s", err->text);
	if (remote->shape == SHAPE_BAD)
		return;
	remote->shape = SHAPE_BAD;
	remote->since_utc_ms = clock_now().utc_ms;
	log_warning("The API of '%s' cannot be used: %s kind=%s url=%s", remote->settings.name,
		err->text, remote_kind_word(remote), remote->settings.url);
}

static int64_t pause_of(const struct remote *remote)
{
	int64_t pause = PAUSE_FIRST_MS;
	unsigned i;

	for (i = 0; i < remote->failures && pause < PAUSE_MAX_MS; i++)
		pause *= 2;
	return pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS;
}

/* What waits must not wait for a server that is not there. */
void remote_flush(struct remote *remote, bool urgent_too, const struct err *err)
{
	struct waiting waiting[QUEUE_MAX];
	size_t i, n = 0;

	for (i = 0; i < QUEUE_MAX; i++)
		if (remote->queue[i].used && (urgent_too || !remote->queue[i].urgent)) {
			waiting[n++] = remote->queue[i];
			remote->queue[i] = (struct waiting){0};
		}
	for (i = 0; i < n; i++)
		waiting_end(&waiting[i], NULL, 0, err);
}

static void server_failed(struct remote *remote, const struct err *err, int64_t pause_ms)
{
	set_bad(remote, err, pause_ms);
	remote_flush(remote, false, err);
}

/* The call did not reach an answer. */
static void judge_failure(struct remote *remote, const struct err *err)
{
	if (err->kind == ERR_TIMEOUT && remote->timeouts++ == 0)
		return; /* perhaps only what was asked hangs, such as a mount below a storage */
	if (err->kind != ERR_LIMIT && err->kind != ERR_NOMEM)
		server_failed(remote, err, pause_of(remote));
}

static void on_done(void *data, const struct http_response *response, const struct err *http_err)
{
	struct flight *flight = data;
	struct remote *remote = flight->remote;
	struct waiting what = flight->what;
	struct err err = {0};
	bool ok = false;

	flight->what = (struct waiting){0};
	wake(remote->remotes);
	if (!response) {
		err = *http_err;
		err_prefix(&err, "cannot %s", what.what);
		judge_failure(remote, &err);
	} else {
		ok = api_ok(remote->kind, response->status, response->body.data, response->body.len,
			what.what, &err);
		if (response->status == 401)
			server_failed(remote, &err, TOKEN_PAUSE_MS);
		else
			set_good(remote);
	}
	if (ok)
		waiting_end(&what, buf_str(&response->body), response->body.len, NULL);
	else
		waiting_end(&what, NULL, 0, &err);
}

/* FNV-1a. Stays within this process. */
static uint64_t mark_of(const char *token)
{
	uint64_t mark = UINT64_C(14695981039346656037);

	for (; *token; token++)
		mark = (mark ^ (unsigned char)*token) * UINT64_C(1099511628211);
	return mark | 1;
}

/* A token file may be another server's by now. */
static bool take_token(struct remote *remote, const char *token, struct err *err)
{
	uint64_t mark = mark_of(token);

	if (remote->former && mark != remote->token_mark)
		return err_set(err, ERR_DENIED,
			"the token that '%s' holds now is not the one that was used there",
			remote->settings.token_file);
	remote->sent_mark = mark;
	return true;
}

/* URL and header of a call; the caller wipes and releases both, also on failure. */
static bool address(struct remote *remote, const struct api_call *call, struct buf *ret_url,
	struct buf *ret_authorization, struct err *err)
{
	struct buf token = {0};
	bool ok;

	buf_adds(ret_url, remote->settings.url);
	buf_adds(ret_url, buf_str(&call->path));
	ok = secret_read(remote->settings.token_file, &token, err) &&
		take_token(remote, buf_str(&token), err) &&
		api_authorization(remote->kind, buf_str(&token), ret_authorization, err);
	secret_wipe(&token);
	if (ok && (ret_url->failed || ret_authorization->failed))
		ok = err_nomem(err);
	return ok;
}

static void fill_request(const struct remote *remote, const struct api_call *call,
	const struct buf *url, const struct buf *authorization, struct http_request *ret)
{
	*ret = (struct http_request){
		.method = call->method,
		.url = buf_str(url),
		.body = call->body.len ? call->body.data : NULL,
		.body_len = call->body.len,
		.content_type = "application/x-www-form-urlencoded",
		.authorization = buf_str(authorization),
		.ca_file = remote->settings.ca_file[0] ? remote->settings.ca_file : NULL,
		.fingerprints =
			remote->settings.n_fingerprints ? remote->settings.fingerprints : NULL,
		.n_fingerprints = remote->settings.n_fingerprints,
		.may_pin = true,
		.body_max = BODY_MAX,
	};
}

static bool start(struct remote *remote, struct flight *flight, struct err *err)
{
	const struct api_call *call = &flight->what.call;
	struct buf url = {0}, authorization = {0};
	struct http_request request;
	bool ok;

	ok = address(remote, call, &url, &authorization, err);
	if (ok) {
		fill_request(remote, call, &url, &authorization, &request);
		request.deadline_ms = flight->what.urgent ? REMOTE_URGENT_MS : REMOTE_CALL_MS;
		ok = http_start(
			remote->remotes->out.multi, &request, on_done, flight, &flight->id, err);
	}
	secret_wipe(&authorization);
	buf_release(&url);
	return ok;
}

static struct waiting *first_of(struct remote *remote, bool urgent)
{
	struct waiting *first = NULL;
	size_t i;

	for (i = 0; i < QUEUE_MAX; i++)
		if (remote->queue[i].used && remote->queue[i].urgent == urgent &&
			(!first || remote->queue[i].number < first->number))
			first = &remote->queue[i];
	return first;
}

/* Starts what may start with this urgency. A call that cannot even be made (its token cannot be
 * read) fails as a whole server does: the next one could not be made either. */
static void work_on(struct remote *remote, bool urgent)
{
	struct flight *flight = &remote->flights[urgent];
	struct waiting *first = flight->what.used ? NULL : first_of(remote, urgent);
	struct waiting failed;
	struct err err = {0};

	if (!first)
		return;
	flight->what = *first;
	*first = (struct waiting){0};
	if (start(remote, flight, &err))
		return;
	failed = flight->what;
	flight->what = (struct waiting){0};
	wake(remote->remotes);
	server_failed(remote, &err, pause_of(remote));
	waiting_end(&failed, NULL, 0, &err);
}

void remote_work(struct remote *remote)
{
	work_on(remote, true);
	work_on(remote, false);
}

bool remote_may_ask(const struct remote *remote)
{
	size_t i;

	if (remote->resume_ms > clock_boot_ms())
		return false;
	for (i = 0; i < QUEUE_MAX; i++)
		if (!remote->queue[i].used)
			return true;
	return false;
}

bool remote_call(struct remote *remote, struct api_call *call, bool urgent, const char *what,
	remote_done done, void *data, struct err *err)
{
	struct waiting *empty = NULL;
	int64_t left = remote->resume_ms - clock_boot_ms();
	size_t i;

	if (!urgent && left > 0) {
		api_call_release(call);
		return err_set(err, ERR_BUSY, "'%s' is not asked for another %lld s: %s",
			remote->settings.name, (long long)(left / MS_SECOND + 1), remote->text);
	}
	for (i = 0; i < QUEUE_MAX && !empty; i++)
		if (!remote->queue[i].used)
			empty = &remote->queue[i];
	if (!empty || call->path.failed || call->body.failed) {
		api_call_release(call);
		return empty ? err_nomem(err)
			     : err_set(err, ERR_BUSY, "Too many calls wait for '%s'",
				       remote->settings.name);
	}
	*empty = (struct waiting){
		.used = true,
		.urgent = urgent,
		.call = *call,
		.done = done,
		.data = data,
		.number = ++remote->numbers,
	};
	snprintf(empty->what, sizeof(empty->what), "%s", what);
	*call = (struct api_call){0};
	wake(remote->remotes);
	return true;
}

bool remote_call_now(struct remote *remote, struct api_call *call, int64_t deadline_ms,
	const char *what, struct buf *ret_body, struct err *err)
{
	struct buf url = {0}, authorization = {0};
	struct http_response response = {0};
	struct http_request request;
	bool ok;

	ok = address(remote, call, &url, &authorization, err);
	if (ok) {
		fill_request(remote, call, &url, &authorization, &request);
		request.deadline_ms = deadline_ms > 0 ? deadline_ms : 1;
		ok = http_call(&request, NULL, 0, &response, err);
	}
	ok = ok &&
		api_ok(remote->kind, response.status, response.body.data, response.body.len, what,
			err);
	if (ok && ret_body) {
		*ret_body = response.body;
		response.body = (struct buf){0};
	}
	http_response_release(&response);
	secret_wipe(&authorization);
	buf_release(&url);
	api_call_release(call);
	return ok;
}

void remote_forget(struct remote *remote, const void *data)
{
	size_t i;

	for (i = 0; i < QUEUE_MAX; i++)
		if (remote->queue[i].used && remote->queue[i].data == data)
			waiting_drop(&remote->queue[i]);
	for (i = 0; i < 2; i++) {
		struct flight *flight = &remote->flights[i];

		if (!flight->what.used || flight->what.data != data)
			continue;
		http_cancel(remote->remotes->out.multi, flight->id);
		waiting_drop(&flight->what);
		wake(remote->remotes);
	}
}
