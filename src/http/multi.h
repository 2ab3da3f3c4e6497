// SPDX-License-Identifier: MIT
/*
 * Calls that do not block: for a program with its own event loop.
 *
 * The caller lends its loop (watch a descriptor, set one timer) and tells what happened
 * (http_multi_ready(), http_multi_timer()); `done` is called from within these two, exactly once
 * for each started call unless it was cancelled or the multi was freed before. Inside `done` other
 * calls may be started or cancelled; the multi must not be freed there. Deadlines and limits are
 * those of http.h.
 */
#ifndef RG_HTTP_MULTI_H
#define RG_HTTP_MULTI_H

#include "http/http.h"

struct http_multi;

/* The caller's loop. Both functions may be called from http_multi_new() on and inside every
 * function below; they must not call back into the multi. */
struct http_loop {
	void *data;
	/* Watch `fd` level-triggered for `events` (POLLIN, POLLOUT) instead of what was watched for
	 * it before; 0: no longer (the descriptor may be closed at once afterwards). */
	void (*watch)(void *data, int fd, short events);
	/* Call http_multi_timer() once, in `ms` from now (0: in the loop's next round), instead of
	 * what was set before; -1: not at all. */
	void (*timer)(void *data, int64_t ms);
};

/* `response` on success (its body is the multi's: copy what must live on), else NULL and `err`
 * says why, with http_call()'s kinds. For a mail the response has SMTP's last reply code and no
 * body. */
typedef void (*http_done)(void *data, const struct http_response *response, const struct err *err);

/* NULL without memory. `loop` is copied. */
struct http_multi *http_multi_new(const struct http_loop *loop, struct err *err);

/* Drops all calls without calling `done`. NULL is allowed. */
void http_multi_free(struct http_multi *multi);

/* The loop saw `revents` (poll(2) bits) for `fd`; the loop's timer ran out. */
void http_multi_ready(struct http_multi *multi, int fd, short revents);
void http_multi_timer(struct http_multi *multi);

/* Calls in flight. */
size_t http_multi_running(const struct http_multi *multi);

/* Starts a call; *ret_id (may be NULL) names it for http_cancel(). Nothing of `request` is used
 * after the return. */
bool http_start(struct http_multi *multi, const struct http_request *request, http_done done,
	void *data, uint64_t *ret_id, struct err *err);

/* Drops the call without calling `done`; an id that is no longer in flight is ignored. */
void http_cancel(struct http_multi *multi, uint64_t id);

/* A webhook: POST of a JSON text. The status is the caller's to judge (2xx is taken). */
bool http_post_start(struct http_multi *multi, const char *url, const char *json,
	int64_t deadline_ms, http_done done, void *data, struct err *err);

/* One notice by mail, text/plain in UTF-8. */
struct smtp_mail {
	const char *url;  /* "smtp://host[:port]" or "smtps://host[:port]" */
	bool plain;       /* smtp without TLS is allowed; else STARTTLS is required */
	const char *user; /* NULL: no login; never over an unencrypted connection */
	const char *password;
	const char *ca_file;   /* NULL: the system's authorities */
	const char *from;      /* bare address */
	const char *const *to; /* bare addresses, NULL-terminated, at least one */
	const char *subject;   /* control characters become blanks, other than ASCII '?' */
	const char *text;      /* lines end with \n */
	int64_t deadline_ms;
};

bool smtp_send_start(struct http_multi *multi, const struct smtp_mail *mail, http_done done,
	void *data, struct err *err);

#endif
