// SPDX-License-Identifier: MIT
#include "gate/server.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/server_impl.h"

#define ACCEPTS_MAX 16 /* in one round of the loop */
#define ACCEPT_RETRY_MS 1000
#define CUT_AGAIN_MS 1000
#define CONNECTION_MEMORY ((size_t)16 * 1024)

static struct conn *conn_by_fd(struct server *server, int fd)
{
	size_t i;

	for (i = 0; i < CONNECTIONS_MAX; i++)
		if (server->conns[i].fd == fd)
			return &server->conns[i];
	return NULL;
}

size_t server_connections(const struct server *server)
{
	size_t i, n = 0;

	for (i = 0; i < CONNECTIONS_MAX; i++)
		n += server->conns[i].fd >= 0;
	return n;
}

static bool privileged(const struct server *server, uid_t uid)
{
	return uid == 0 || uid == server->roles->own_uid;
}

/* Whether one more connection of `uid` keeps within everybody's share. */
static bool has_room(const struct server *server, uid_t uid)
{
	size_t i, others = 0, same = 0;

	if (server_connections(server) >= CONNECTIONS_MAX)
		return false;
	if (privileged(server, uid))
		return true;
	for (i = 0; i < CONNECTIONS_MAX; i++) {
		if (server->conns[i].fd < 0)
			continue;
		others += !privileged(server, server->conns[i].peer.uid);
		same += server->conns[i].peer.uid == uid;
	}
	return others < CONNECTIONS_OTHERS && same < CONNECTIONS_UID;
}

static void set_timer(struct server *server)
{
	int64_t first = INT64_MAX;
	size_t i;

	for (i = 0; i < CONNECTIONS_MAX; i++)
		if (server->conns[i].fd >= 0 && server->conns[i].deadline_ms < first)
			first = server->conns[i].deadline_ms;
	if (first == INT64_MAX)
		timer_off(&server->deadline);
	else
		timer_at(&server->deadline, first);
}

void server_deadline(struct server *server, struct conn *conn, int64_t boot_ms)
{
	conn->deadline_ms = boot_ms;
	set_timer(server);
}

/* MHD itself closes the descriptor when it sees the end of the stream. */
static void on_deadline(void *data)
{
	struct server *server = data;
	int64_t now = clock_boot_ms();
	size_t i;

	for (i = 0; i < CONNECTIONS_MAX; i++) {
		struct conn *conn = &server->conns[i];

		if (conn->fd < 0 || conn->deadline_ms > now)
			continue;
		shutdown(conn->fd, SHUT_RDWR);
		conn->deadline_ms = now + CUT_AGAIN_MS;
	}
	set_timer(server);
	server_wake(server);
}

static void run(struct server *server)
{
	MHD_UNSIGNED_LONG_LONG ms;

	MHD_run(server->mhd);
	if (MHD_get_timeout(server->mhd, &ms) == MHD_YES)
		timer_at(&server->pump, clock_boot_ms() + (int64_t)ms);
	else
		timer_off(&server->pump);
}

void server_wake(struct server *server)
{
	timer_at(&server->pump, 0);
}

static void on_pump(void *data)
{
	run(data);
}

static int on_mhd(sd_event_source *source, int fd, uint32_t revents, void *data)
{
	(void)source;
	(void)fd;
	(void)revents;
	run(data);
	return 0;
}

/* Best effort: the caller may not even read it. */
static void refuse(int fd, unsigned status, const char *kind, const char *text)
{
	char body[256], answer[512];
	int len;

	len = snprintf(body, sizeof(body), "{\"error\": {\"kind\": \"%s\", \"text\": \"%s\"}}",
		kind, text);
	len = snprintf(answer, sizeof(answer),
		"HTTP/1.1 %u Refused\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
		"Connection: close\r\n\r\n%s",
		status, len, body);
	if (len > 0 && (size_t)len < sizeof(answer))
		(void)!send(fd, answer, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL);
	close(fd);
}

static void admit(struct server *server, int fd)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct peer peer = {0};
	struct conn *conn;
	struct err err;

	if (!peer_of(fd, server->roles, &peer, &err)) {
		log_warning("A connection is refused: %s", err.text);
		close(fd);
		return;
	}
	if (!has_room(server, peer.uid)) {
		refuse(fd, 429, "busy", "There are too many connections, try again");
		return;
	}
	conn = conn_by_fd(server, fd); /* one that MHD dropped without a word */
	if (!conn)
		conn = conn_by_fd(server, -1);
	if (!conn) {
		refuse(fd, 429, "busy", "There are too many connections, try again");
		return;
	}
	*conn = (struct conn){.fd = fd, .peer = peer, .deadline_ms = clock_boot_ms() + READ_MS};
	if (MHD_add_connection(server->mhd, fd, (struct sockaddr *)&addr, sizeof(addr)) != MHD_YES)
		conn->fd = -1; /* MHD closed it */
	set_timer(server);
	server_wake(server);
}

static void on_retry(void *data)
{
	struct server *server = data;

	if (server->listen_source)
		sd_event_source_set_enabled(server->listen_source, SD_EVENT_ON);
}

static int on_listen(sd_event_source *source, int listen_fd, uint32_t revents, void *data)
{
	struct server *server = data;
	int i, fd;

	(void)revents;
	for (i = 0; i < ACCEPTS_MAX; i++) {
		fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			admit(server, fd);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
			log_err("Cannot take a connection: %s", strerror(errno));
			sd_event_source_set_enabled(source, SD_EVENT_OFF);
			timer_at(&server->retry, clock_boot_ms() + ACCEPT_RETRY_MS);
		}
		break;
	}
	return 0;
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
	enum MHD_ConnectionNotificationCode code)
{
	struct server *server = cls;
	const union MHD_ConnectionInfo *info;
	struct conn *conn;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		conn = *context;
		if (conn)
			conn->fd = -1;
		set_timer(server);
		return;
	}
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	conn = info ? conn_by_fd(server, info->connect_fd) : NULL;
	if (conn)
		conn->known = true;
	*context = conn;
}

__attribute__((format(printf, 2, 0))) static void on_mhd_log(
	void *cls, const char *fmt, va_list args)
{
	char text[256];

	(void)cls;
	vsnprintf(text, sizeof(text), fmt, args);
	log_debug("http: %s", text);
}

static bool start_mhd(struct server *server, struct err *err)
{
	const union MHD_DaemonInfo *info;
	int rc;

	server->mhd = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET |
			MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
		0, NULL, NULL, call_access, server, MHD_OPTION_EXTERNAL_LOGGER, on_mhd_log, NULL,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_NOTIFY_COMPLETED,
		call_completed, server, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX + 8,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)((READ_MS + WRITE_MS) / 1000),
		MHD_OPTION_END);
	if (!server->mhd)
		return err_set(err, ERR_SYS, "Cannot start the HTTP server");
	info = MHD_get_daemon_info(server->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info || info->epoll_fd < 0)
		return err_set(err, ERR_SYS, "The HTTP server has no epoll descriptor");
	rc = sd_event_add_io(
		server->loop, &server->mhd_source, info->epoll_fd, EPOLLIN, on_mhd, server);
	if (rc < 0)
		return err_sys(err, -rc, "Cannot watch the HTTP server");
	return true;
}

bool server_open(struct server **ret, struct sd_event *loop, int listen_fd,
	const struct roles *roles, call_handler handler, void *data, struct err *err)
{
	struct server *server = calloc(1, sizeof(*server));
	size_t i;
	int rc;

	if (!server)
		return err_nomem(err);
	for (i = 0; i < CONNECTIONS_MAX; i++)
		server->conns[i].fd = -1;
	server->loop = sd_event_ref(loop);
	server->roles = roles;
	server->handler = handler;
	server->data = data;
	if (!timer_open(&server->pump, loop, on_pump, server, err) ||
		!timer_open(&server->deadline, loop, on_deadline, server, err) ||
		!timer_open(&server->retry, loop, on_retry, server, err) || !start_mhd(server, err))
		goto fail;
	rc = sd_event_add_io(loop, &server->listen_source, listen_fd, EPOLLIN, on_listen, server);
	if (rc < 0) {
		err_sys(err, -rc, "Cannot watch the socket");
		goto fail;
	}
	*ret = server;
	return true;
fail:
	server_close(server);
	return false;
}

void server_quiesce(struct server *server)
{
	server->listen_source = sd_event_source_disable_unref(server->listen_source);
	timer_off(&server->retry);
}

void server_drain(struct server *server, int64_t ms)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(server->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	int64_t end = clock_boot_ms() + ms;
	struct pollfd pfd = {.fd = info ? info->epoll_fd : -1, .events = POLLIN};

	while (server->unsent > 0 && clock_boot_ms() < end) {
		MHD_run(server->mhd);
		if (server->unsent > 0)
			poll(&pfd, 1, 10);
	}
}

void server_close(struct server *server)
{
	if (!server)
		return;
	server_quiesce(server);
	server->mhd_source = sd_event_source_disable_unref(server->mhd_source);
	if (server->mhd)
		MHD_stop_daemon(server->mhd);
	timer_close(&server->pump);
	timer_close(&server->deadline);
	timer_close(&server->retry);
	sd_event_unref(server->loop);
	free(server);
}
