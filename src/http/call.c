// SPDX-License-Identifier: MIT
/* The blocking call: a loop of its own around the multi, for programs that have none. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "http/multi.h"

#define CALL_MAX_FDS 16
#define CALL_MAX_WAKE 8

struct call {
	struct pollfd fds[CALL_MAX_FDS];
	size_t n_fds;
	int64_t timer_at_ms; /* boot time; -1 none */
	bool done, ok, overflow;
	struct http_response *response;
	struct err *err;
};

static void watch(void *data, int fd, short events)
{
	struct call *call = data;
	size_t i = 0;

	while (i < call->n_fds && call->fds[i].fd != fd)
		i++;
	if (!events) {
		if (i < call->n_fds)
			call->fds[i] = call->fds[--call->n_fds];
		return;
	}
	if (i == CALL_MAX_FDS) {
		call->overflow = true;
		return;
	}
	if (i == call->n_fds)
		call->n_fds++;
	call->fds[i] = (struct pollfd){.fd = fd, .events = events};
}

static void timer(void *data, int64_t ms)
{
	struct call *call = data;

	call->timer_at_ms = ms < 0 ? -1 : clock_boot_ms() + ms;
}

static void done(void *data, const struct http_response *response, const struct err *err)
{
	struct call *call = data;

	call->done = true;
	call->ok = response != NULL;
	if (!response) {
		if (call->err)
			*call->err = *err;
		return;
	}
	call->response->status = response->status;
	if (!buf_add(&call->response->body, buf_str(&response->body), response->body.len))
		call->ok = err_nomem(call->err);
}

/* One round. False when a wake descriptor has something or nothing can be waited for any more. */
static bool round_once(struct call *call, struct http_multi *multi, struct pollfd *wake,
	size_t n_wake, int64_t end_ms)
{
	struct pollfd fds[CALL_MAX_FDS + CALL_MAX_WAKE];
	size_t n = call->n_fds, i;
	int64_t now = clock_boot_ms(), wait = end_ms - now;
	bool woken = false;

	if (wait <= 0 || call->overflow)
		return false;
	if (call->timer_at_ms >= 0 && call->timer_at_ms - now < wait)
		wait = call->timer_at_ms > now ? call->timer_at_ms - now : 0;
	memcpy(fds, call->fds, n * sizeof(fds[0]));
	if (n_wake)
		memcpy(fds + n, wake, n_wake * sizeof(fds[0]));
	if (poll(fds, n + n_wake, (int)(wait > 60000 ? 60000 : wait)) < 0) {
		if (errno != EINTR)
			return false;
		for (i = 0; i < n + n_wake; i++)
			fds[i].revents = 0;
	}
	for (i = 0; i < n_wake; i++) {
		wake[i].revents = fds[n + i].revents;
		woken = woken || wake[i].revents;
	}
	if (woken)
		return false;
	for (i = 0; i < n; i++) {
		if (fds[i].revents)
			http_multi_ready(multi, fds[i].fd, fds[i].revents);
	}
	if (call->timer_at_ms >= 0 && clock_boot_ms() >= call->timer_at_ms) {
		call->timer_at_ms = -1;
		http_multi_timer(multi);
	}
	return true;
}

static bool was_woken(const struct pollfd *wake, size_t n_wake)
{
	size_t i;

	for (i = 0; i < n_wake; i++) {
		if (wake[i].revents)
			return true;
	}
	return false;
}

bool http_call(const struct http_request *request, struct pollfd *wake, size_t n_wake,
	struct http_response *ret_response, struct err *err)
{
	struct call call = {.timer_at_ms = -1, .response = ret_response, .err = err};
	const struct http_loop loop = {&call, watch, timer};
	/* libcurl ends the call itself; this is for a libcurl that does not. */
	int64_t end_ms = clock_boot_ms() + request->deadline_ms + 1000;
	struct http_multi *multi = NULL;
	size_t i;

	*ret_response = (struct http_response){
		.body.max = request->body_max ? request->body_max : HTTP_BODY_MAX_DEFAULT};
	for (i = 0; i < n_wake; i++)
		wake[i].revents = 0;
	if (n_wake > CALL_MAX_WAKE)
		return err_set(err, ERR_LIMIT, "more than %d wake descriptors", CALL_MAX_WAKE);
	multi = http_multi_new(&loop, err);
	if (!multi)
		return false;
	if (!http_start(multi, request, done, &call, NULL, err))
		goto out;
	while (!call.done && round_once(&call, multi, wake, n_wake, end_ms))
		;
	if (!call.done && was_woken(wake, n_wake))
		err_set(err, ERR_BUSY, "the call was dropped");
	else if (!call.done)
		err_set(err, ERR_TIMEOUT, "no answer within %lld ms",
			(long long)request->deadline_ms);
out:
	http_multi_free(multi);
	if (!call.ok)
		http_response_release(ret_response);
	return call.ok;
}
