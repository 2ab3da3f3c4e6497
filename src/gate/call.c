// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gate/server_impl.h"

#define PATH_MAX_LEN 512

enum stage {
	STAGE_READING = 0,
	STAGE_HANDLED,   /* the handler has it */
	STAGE_SUSPENDED, /* and has returned without an answer */
	STAGE_ANSWERED,  /* the answer is known, MHD has not got it yet */
	STAGE_SENDING,
};

struct call {
	struct server *server;
	struct conn *conn;
	struct MHD_Connection *connection;
	enum stage stage;
	char method[16];
	char path[PATH_MAX_LEN];
	struct buf body;
	bool too_large, no_memory;
	unsigned status;
	const char *type;
	char *text; /* of the answer; owned */
	size_t len;
};

const char *call_method(const struct call *call)
{
	return call->method;
}

const char *call_path(const struct call *call)
{
	return call->path;
}

const char *call_query(struct call *call, const char *name)
{
	return MHD_lookup_connection_value(call->connection, MHD_GET_ARGUMENT_KIND, name);
}

const struct buf *call_body(const struct call *call)
{
	return &call->body;
}

const struct peer *call_peer(const struct call *call)
{
	return &call->conn->peer;
}

void call_answer(struct call *call, unsigned status, const char *type, char *text, size_t len)
{
	if (call->stage != STAGE_HANDLED && call->stage != STAGE_SUSPENDED) {
		free(text);
		return;
	}
	call->status = text ? status : MHD_HTTP_INTERNAL_SERVER_ERROR;
	call->type = type;
	call->text = text;
	call->len = text ? len : 0;
	call->server->unanswered--;
	call->server->unsent++;
	if (call->stage == STAGE_SUSPENDED) {
		MHD_resume_connection(call->connection);
		server_wake(call->server);
	}
	call->stage = STAGE_ANSWERED;
}

/* Hands the known answer to MHD, which frees the text. */
static enum MHD_Result send_answer(struct call *call)
{
	struct MHD_Response *response;
	enum MHD_Result rc;

	response = MHD_create_response_from_buffer(call->len, call->text ? call->text : "",
		call->text ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	if (!response)
		return MHD_NO;
	call->text = NULL;
	if (call->type)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, call->type);
	rc = MHD_queue_response(call->connection, call->status, response);
	MHD_destroy_response(response);
	call->stage = STAGE_SENDING;
	server_deadline(call->server, call->conn, clock_boot_ms() + WRITE_MS);
	return rc;
}

static enum MHD_Result send_error(
	struct call *call, unsigned status, const char *kind, const char *text)
{
	struct buf body = {0};

	buf_addf(&body, "{\"error\": {\"kind\": \"%s\", \"text\": \"%s\"}}", kind, text);
	call->stage = STAGE_ANSWERED;
	call->status = status;
	call->type = "application/json";
	call->text = body.data;
	call->len = body.len;
	call->server->unsent++;
	return send_answer(call);
}

static struct call *begin(struct server *server, struct MHD_Connection *connection, const char *url,
	const char *method)
{
	const union MHD_ConnectionInfo *info;
	struct call *call;
	size_t len = strlen(url), method_len = strlen(method);

	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	if (!info || !info->socket_context)
		return NULL;
	call = calloc(1, sizeof(*call));
	if (!call)
		return NULL;
	call->server = server;
	call->conn = info->socket_context;
	call->connection = connection;
	call->body.max = BODY_MAX;
	/* What does not fit names nothing that we have: it is answered with 404. */
	if (len < sizeof(call->path))
		memcpy(call->path, url, len + 1);
	if (method_len < sizeof(call->method))
		memcpy(call->method, method, method_len + 1);
	return call;
}

/* A body that says beforehand that it is too long is not read at all. */
static bool announces_too_much(struct MHD_Connection *connection)
{
	const char *text = MHD_lookup_connection_value(
		connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
	size_t i, value = 0;

	if (!text)
		return false;
	for (i = 0; text[i] >= '0' && text[i] <= '9'; i++) {
		value = value * 10 + (size_t)(text[i] - '0');
		if (value > BODY_MAX)
			return true;
	}
	return false;
}

static void take_upload(struct call *call, const char *upload, size_t len)
{
	if (call->body.len + len > BODY_MAX)
		call->too_large = true;
	else if (!call->too_large && !buf_add(&call->body, upload, len))
		call->no_memory = true;
}

static enum MHD_Result whole(struct call *call)
{
	struct server *server = call->server;

	if (call->too_large)
		return send_error(call, MHD_HTTP_CONTENT_TOO_LARGE, "limit",
			"The body is larger than 64 KiB");
	if (call->no_memory)
		return send_error(
			call, MHD_HTTP_SERVICE_UNAVAILABLE, "nomem", "There is no memory");
	call->stage = STAGE_HANDLED;
	server->unanswered++;
	server_deadline(server, call->conn, INT64_MAX);
	server->handler(server->data, call);
	if (call->stage == STAGE_ANSWERED)
		return send_answer(call);
	call->stage = STAGE_SUSPENDED;
	MHD_suspend_connection(call->connection);
	return MHD_YES;
}

enum MHD_Result call_access(void *cls, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_size,
	void **req_cls)
{
	struct call *call = *req_cls;

	(void)version;
	if (!call) {
		*req_cls = call = begin(cls, connection, url, method);
		if (!call)
			return MHD_NO;
		if (announces_too_much(connection))
			return send_error(call, MHD_HTTP_CONTENT_TOO_LARGE, "limit",
				"The body is larger than 64 KiB");
		return MHD_YES;
	}
	if (*upload_size > 0) {
		take_upload(call, upload, *upload_size);
		*upload_size = 0;
		return MHD_YES;
	}
	if (call->stage == STAGE_ANSWERED)
		return send_answer(call);
	if (call->stage != STAGE_READING)
		return MHD_YES;
	return whole(call);
}

void call_completed(void *cls, struct MHD_Connection *connection, void **req_cls,
	enum MHD_RequestTerminationCode toe)
{
	struct server *server = cls;
	struct call *call = *req_cls;

	(void)connection;
	(void)toe;
	if (!call)
		return;
	*req_cls = NULL;
	if (call->stage == STAGE_ANSWERED || call->stage == STAGE_SENDING)
		server->unsent--;
	server_deadline(server, call->conn, clock_boot_ms() + READ_MS);
	free(call->text);
	buf_release(&call->body);
	free(call);
}
