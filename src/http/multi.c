// SPDX-License-Identifier: MIT
#include "http/multi.h"

#include <stdlib.h>
#include <string.h>

#include "http/easy.h"

struct http_multi {
	CURLM *curl;
	struct http_loop loop;
	struct easy *calls;
	size_t running;
	uint64_t last_id;
};

static int on_socket(CURL *curl, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
	struct http_multi *multi = arg;
	short events = 0;

	(void)curl;
	(void)socket_arg;
	if (what == CURL_POLL_IN || what == CURL_POLL_INOUT)
		events |= POLLIN;
	if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
		events |= POLLOUT;
	multi->loop.watch(multi->loop.data, fd, events);
	return 0;
}

static int on_timer(CURLM *curl, long ms, void *arg)
{
	struct http_multi *multi = arg;

	(void)curl;
	multi->loop.timer(multi->loop.data, ms);
	return 0;
}

struct http_multi *http_multi_new(const struct http_loop *loop, struct err *err)
{
	static bool ready;
	struct http_multi *multi;

	if (!ready && curl_global_init(CURL_GLOBAL_DEFAULT)) {
		err_nomem(err);
		return NULL;
	}
	ready = true;
	multi = calloc(1, sizeof(*multi));
	if (!multi || !(multi->curl = curl_multi_init())) {
		free(multi);
		err_nomem(err);
		return NULL;
	}
	multi->loop = *loop;
	curl_multi_setopt(multi->curl, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(multi->curl, CURLMOPT_SOCKETDATA, multi);
	curl_multi_setopt(multi->curl, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(multi->curl, CURLMOPT_TIMERDATA, multi);
	return multi;
}

/* Takes the call out of the list and of libcurl's hands. */
static void detach(struct http_multi *multi, struct easy *easy)
{
	struct easy **at = &multi->calls;

	while (*at && *at != easy)
		at = &(*at)->next;
	if (*at)
		*at = easy->next;
	multi->running--;
	curl_multi_remove_handle(multi->curl, easy->curl);
}

void http_multi_free(struct http_multi *multi)
{
	struct easy *easy;

	if (!multi)
		return;
	while ((easy = multi->calls)) {
		detach(multi, easy);
		easy_free(easy);
	}
	curl_multi_cleanup(multi->curl);
	free(multi);
}

static void finish(struct http_multi *multi, struct easy *easy, CURLcode code)
{
	struct err err = {0};
	bool ok = code == CURLE_OK;

	if (!ok)
		easy_failure(easy, code, &err);
	curl_easy_getinfo(easy->curl, CURLINFO_RESPONSE_CODE, &easy->response.status);
	detach(multi, easy);
	easy->done(easy->data, ok ? &easy->response : NULL, ok ? NULL : &err);
	easy_free(easy);
}

static void take_finished(struct http_multi *multi)
{
	const CURLMsg *msg;
	char *easy;
	int left;

	while ((msg = curl_multi_info_read(multi->curl, &left))) {
		if (msg->msg != CURLMSG_DONE ||
			curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &easy))
			continue;
		finish(multi, (struct easy *)(void *)easy, msg->data.result);
	}
}

void http_multi_ready(struct http_multi *multi, int fd, short revents)
{
	int running, what = 0;

	if (revents & (POLLIN | POLLHUP))
		what |= CURL_CSELECT_IN;
	if (revents & POLLOUT)
		what |= CURL_CSELECT_OUT;
	if (revents & (POLLERR | POLLNVAL))
		what |= CURL_CSELECT_ERR;
	curl_multi_socket_action(multi->curl, fd, what, &running);
	take_finished(multi);
}

void http_multi_timer(struct http_multi *multi)
{
	int running;

	curl_multi_socket_action(multi->curl, CURL_SOCKET_TIMEOUT, 0, &running);
	take_finished(multi);
}

size_t http_multi_running(const struct http_multi *multi)
{
	return multi->running;
}

static bool start(struct http_multi *multi, struct easy *easy, http_done done, void *data,
	uint64_t *ret_id, struct err *err)
{
	CURLMcode code;

	if (!easy)
		return false;
	easy->done = done;
	easy->data = data;
	easy->id = ++multi->last_id;
	code = curl_multi_add_handle(multi->curl, easy->curl);
	if (code) {
		easy_free(easy);
		return err_set(
			err, ERR_NOMEM, "cannot start a call: %s", curl_multi_strerror(code));
	}
	easy->next = multi->calls;
	multi->calls = easy;
	multi->running++;
	if (ret_id)
		*ret_id = easy->id;
	return true;
}

bool http_start(struct http_multi *multi, const struct http_request *request, http_done done,
	void *data, uint64_t *ret_id, struct err *err)
{
	return start(multi, easy_http(request, err), done, data, ret_id, err);
}

bool smtp_send_start(struct http_multi *multi, const struct smtp_mail *mail, http_done done,
	void *data, struct err *err)
{
	return start(multi, easy_mail(mail, err), done, data, NULL, err);
}

bool http_post_start(struct http_multi *multi, const char *url, const char *json,
	int64_t deadline_ms, http_done done, void *data, struct err *err)
{
	const struct http_request request = {
		.method = "POST",
		.url = url,
		.body = json,
		.body_len = strlen(json),
		.deadline_ms = deadline_ms,
		.body_max = (size_t)64 << 10,
	};

	return http_start(multi, &request, done, data, NULL, err);
}

void http_cancel(struct http_multi *multi, uint64_t id)
{
	struct easy *easy;

	for (easy = multi->calls; easy; easy = easy->next) {
		if (easy->id != id)
			continue;
		detach(multi, easy);
		easy_free(easy);
		return;
	}
}
