// SPDX-License-Identifier: MIT
/*
 * HTTP as this program speaks it: libcurl, and nothing of it outside this folder.
 *
 * What always holds: a call ends at its deadline whatever the other side does; a body longer than
 * `body_max` is a failure, never a cut text; no redirect is followed, no proxy of the environment
 * is used, no signal is raised; http is spoken only over a Unix socket or to a loopback address,
 * everything else must be https with the certificate checked. A response of any status is a
 * success here: what 404 means is the caller's business.
 */
#ifndef RG_HTTP_HTTP_H
#define RG_HTTP_HTTP_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define HTTP_BODY_MAX_DEFAULT ((size_t)4 << 20)

struct http_request {
	const char *method; /* "GET", "POST", "PUT", "DELETE" */
	const char *url;    /* over a Unix socket the host is only a name: "http://gate/v1/ask" */
	const char *socket; /* path of a Unix socket, or NULL */
	const char *body;   /* NULL: none; need not outlive the start of the call */
	size_t body_len;
	const char *content_type; /* of the body; NULL: application/json */
	const char
		*authorization; /* value of that header, NULL: none; not logged, wiped after use */
	const char *ca_file;    /* for https: these authorities only; NULL: the system's */
	/* For https: the server's certificate must have one of these SHA-256 fingerprints (of its
	 * DER form, as Proxmox shows them), instead of any authority's word and whatever its name.
	 * Nothing is sent to another one; the failure then shows the fingerprint that was seen. At
	 * most 16; 0: not used. */
	const uint8_t (*fingerprints)[32];
	size_t n_fingerprints;
	bool may_pin; /* who sets this up can set fingerprints: a certificate that is not trusted
			 for want of them is shown, with how to */
	int64_t deadline_ms; /* for the whole call, > 0 */
	int64_t connect_ms;  /* until connected; 0: as deadline_ms */
	size_t body_max;     /* of the response; 0: HTTP_BODY_MAX_DEFAULT */
};

struct http_response {
	long status;     /* 100 .. 599 */
	struct buf body; /* owned; http_response_release() */
};

void http_response_release(struct http_response *response);

/*
 * Makes one call and waits for its end. `wake` (may be NULL) are descriptors that end the wait
 * early: when poll(2) reports anything for one of them (its `events`, or an error), the call is
 * dropped, their `revents` are set and the failure is ERR_BUSY.
 *
 * Failures: ERR_GONE (no socket, refused, closed before the whole answer), ERR_TIMEOUT (a
 * deadline), ERR_LIMIT (body_max), ERR_PROTOCOL (not HTTP), ERR_INVALID (a URL that is not
 * allowed), ERR_DENIED (may not connect; certificate not trusted), ERR_BUSY (woken), ERR_NOMEM.
 */
bool http_call(const struct http_request *request, struct pollfd *wake, size_t n_wake,
	struct http_response *ret_response, struct err *err);

#endif
