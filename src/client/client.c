// SPDX-License-Identifier: MIT
#include "client/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/http.h"

#define CLIENT_DEADLINE_MS (10 * MS_SECOND)
#define CLIENT_CONNECT_MS (2 * MS_SECOND)

static enum err_kind status_kind(long status)
{
	switch (status) {
	case 400:
	case 409:
		return ERR_INVALID;
	case 403:
		return ERR_DENIED;
	case 404:
		return ERR_NOTFOUND;
	case 413:
		return ERR_LIMIT;
	case 429:
	case 503:
		return ERR_BUSY;
	default:
		return ERR_PROTOCOL;
	}
}

/* The sentence of a refusal, or the bare status where it has none. */
static bool refused(long status, const json_t *body, struct err *err)
{
	const json_t *error = json_object_get(body, "error");
	const char *text = NULL;

	if (!json_is_object(error) || !json_may_text(error, "text", &text, NULL) || !text || !*text)
		return err_set(
			err, status_kind(status), "the gate answered with status %ld", status);
	return err_set(err, status_kind(status), "the gate says: %s", text);
}

static bool call(const struct gate_link *link, const char *method, const char *path,
	const char *body, int64_t wait_ms, json_t **ret, struct err *err)
{
	int64_t own_ms = link->deadline_ms ? link->deadline_ms : CLIENT_DEADLINE_MS;
	struct http_response response = {0};
	struct http_request request = {
		.method = method,
		.socket = link->socket,
		.body = body,
		.body_len = body ? strlen(body) : 0,
		.deadline_ms = own_ms + wait_ms,
		.connect_ms = own_ms < CLIENT_CONNECT_MS ? own_ms : CLIENT_CONNECT_MS,
	};
	char url[2048];
	json_t *value = NULL;
	struct err why = {0};
	bool ok = false;

	if (snprintf(url, sizeof(url), "http://gate%s", path) >= (int)sizeof(url))
		return err_set(err, ERR_LIMIT, "the path of a call is too long");
	request.url = url;
	if (!http_call(&request, link->wake, link->n_wake, &response, err))
		return false;
	value = json_read(buf_str(&response.body), response.body.len, &why);
	if (response.status < 200 || response.status > 299) {
		refused(response.status, value, err);
	} else if (!json_is_object(value)) {
		err_set(err, ERR_PROTOCOL, "the gate's answer is not understood%s%s",
			why.kind ? ": " : "", why.text);
	} else {
		ok = true;
		if (ret) {
			*ret = value;
			value = NULL;
		}
	}
	json_decref(value);
	http_response_release(&response);
	return ok;
}

bool client_call(const struct gate_link *link, const char *method, const char *path,
	const json_t *body, json_t **ret, struct err *err)
{
	char *text = body ? json_text(body, 0) : NULL;
	bool ok;

	if (body && !text)
		return err_nomem(err);
	ok = call(link, method, path, text, 0, ret, err);
	free(text);
	return ok;
}

bool client_get(const struct gate_link *link, const char *path, json_t **ret, struct err *err)
{
	return client_call(link, "GET", path, NULL, ret, err);
}

bool client_ask(
	const struct gate_link *link, const struct ask *ask, struct answer *ret, struct err *err)
{
	json_t *body = ask_json(ask), *value = NULL;
	char *text = body ? json_text(body, 0) : NULL;
	bool ok = false;

	json_decref(body);
	if (!text)
		return err_nomem(err);
	ok = call(link, "POST", "/v1/ask", text, ask->wait_ms, &value, err) &&
		answer_read(value, ret, err);
	free(text);
	json_decref(value);
	return ok;
}
