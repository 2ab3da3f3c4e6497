// SPDX-License-Identifier: MIT
/*
 * HTTP/1.1 on the gate's socket, in the gate's loop (libmicrohttpd with external epoll; only
 * server.c and call.c know it).
 *
 * What always holds: a connection's caller is known before a byte of it is read; no caller takes
 * more than its share of the connections, and root always finds some; a request is whole within
 * `read_ms` of its connection or of the answer before it, an answer is taken within `write_ms`,
 * else the connection is cut (absolute deadlines: a byte now and then does not move them); a body
 * has 64 KiB at most. A handler is called once for each whole request and answers it exactly once,
 * at once or later; the call lives until then.
 */
#ifndef RG_GATE_SERVER_H
#define RG_GATE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "gate/peer.h"

#define BODY_MAX ((size_t)64 * 1024)
#define CONNECTIONS_MAX 64    /* in all */
#define CONNECTIONS_OTHERS 32 /* of callers who are neither root nor the gate's own user */
#define CONNECTIONS_UID 8     /* of one such caller */
#define READ_MS INT64_C(10000)
#define WRITE_MS INT64_C(10000)

struct sd_event;
struct server;
struct call;

typedef void (*call_handler)(void *data, struct call *call);

/* Serves on `listen_fd`, which stays the caller's. `roles` is looked at for each new connection and
 * outlives the server. */
bool server_open(struct server **ret, struct sd_event *loop, int listen_fd,
	const struct roles *roles, call_handler handler, void *data, struct err *err);

/* Takes no new connections; what is connected goes on. */
void server_quiesce(struct server *server);

/* Sends what is answered, for `ms` at most. Blocks: for the program's end only. */
void server_drain(struct server *server, int64_t ms);

/* Closes all connections. Every call must have been answered. NULL is allowed. */
void server_close(struct server *server);

size_t server_connections(const struct server *server);

/* What is asked. Texts live as long as the call. */
const char *call_method(const struct call *call);
const char *call_path(const struct call *call);
const char *call_query(
	struct call *call, const char *name); /* decoded; NULL where it is not given */
const struct buf *call_body(const struct call *call);
const struct peer *call_peer(const struct call *call);

/* Answers: `text` of `len` bytes is malloc()ed and taken over, also on failure. `type` is a static
 * text. */
void call_answer(struct call *call, unsigned status, const char *type, char *text, size_t len);

#endif
