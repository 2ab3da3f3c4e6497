// SPDX-License-Identifier: MIT
/* What server.c (connections) and call.c (requests) share; for these two only. */
#ifndef RG_GATE_SERVER_IMPL_H
#define RG_GATE_SERVER_IMPL_H

#include <microhttpd.h>
#include <systemd/sd-event.h>

#include "gate/server.h"
#include "gate/timer.h"

struct conn {
	int fd;     /* MHD's; -1: free */
	bool known; /* MHD has told us of it */
	struct peer peer;
	int64_t deadline_ms; /* boot time; INT64_MAX while the handler works on its request */
};

struct server {
	sd_event *loop;
	struct MHD_Daemon *mhd;
	sd_event_source *listen_source, *mhd_source;
	struct timer pump, deadline, retry;
	const struct roles *roles;
	call_handler handler;
	void *data;
	size_t unanswered; /* calls with the handler */
	size_t unsent;     /* calls answered, not yet sent */
	struct conn conns[CONNECTIONS_MAX];
};

/* Lets MHD work in the loop's next round. */
void server_wake(struct server *server);

/* Sets the connection's deadline. */
void server_deadline(struct server *server, struct conn *conn, int64_t boot_ms);

/* MHD's callbacks for requests; `cls` is the server. */
enum MHD_Result call_access(void *cls, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_size,
	void **req_cls);
void call_completed(void *cls, struct MHD_Connection *connection, void **req_cls,
	enum MHD_RequestTerminationCode toe);

#endif
