// SPDX-License-Identifier: MIT
#include "nas/dial.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

unsigned target_port(const struct nas_target *target)
{
	return target->port ? target->port : 22;
}

/* Waits for a connect() under way; returns its errno, 0 once connected. */
static int connect_wait(int fd, int64_t deadline_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	socklen_t len = sizeof(int);
	int64_t left;
	int error = 0;
	int n;

	do {
		left = deadline_ms - clock_boot_ms();
		if (left <= 0)
			return ETIMEDOUT;
		n = poll(&p, 1, (int)left);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno;
	if (n == 0)
		return ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return errno;
	return error;
}

/* Returns 0 and the socket, or an errno. */
static int dial_address(const struct addrinfo *to, int64_t deadline_ms, int *ret_fd)
{
	int one = 1;
	int error = 0;
	int fd;

	fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	if (connect(fd, to->ai_addr, to->ai_addrlen) < 0)
		error = errno == EINPROGRESS ? connect_wait(fd, deadline_ms) : errno;
	if (error) {
		close(fd);
		return error;
	}
	/* Both are improvements only: a failure changes nothing that matters. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	*ret_fd = fd;
	return 0;
}

/* Each address gets its share of the time left, so that one that swallows packets does not eat that
 * of the next. */
static int dial_all(const struct addrinfo *list, int64_t deadline_ms, int *ret_fd)
{
	const struct addrinfo *to;
	int error = ENOENT;
	int64_t now;
	int left = 0;
	int got;

	for (to = list; to; to = to->ai_next)
		left++;
	for (to = list; to; to = to->ai_next, left--) {
		now = clock_boot_ms();
		got = dial_address(to, now + (deadline_ms - now) / left, ret_fd);
		if (!got)
			return 0;
		if (error != ECONNREFUSED)
			error = got;
	}
	return error;
}

bool dial(const struct nas_target *target, int64_t deadline_ms, int *ret_fd,
	struct probe_result *result)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	unsigned port = target_port(target);
	struct addrinfo *list = NULL;
	char service[8];
	int error;

	snprintf(service, sizeof(service), "%u", port);
	error = getaddrinfo(target->host, service, &hints, &list);
	if (error)
		return probe_fail(result, SENSOR_UNREACHABLE,
			"the name '%.100s' cannot be resolved: %s", target->host,
			error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
	error = dial_all(list, deadline_ms, ret_fd);
	freeaddrinfo(list);
	if (!error)
		return true;
	if (error == ECONNREFUSED)
		return probe_fail(result, SENSOR_REFUSED,
			"%.100s refuses connections to port %u: is SSH switched on there?",
			target->host, port);
	if (error == ETIMEDOUT)
		return probe_fail(result, SENSOR_UNREACHABLE,
			"%.100s does not answer on port %u: off, asleep or cut off", target->host,
			port);
	return probe_fail(result, SENSOR_UNREACHABLE, "%.100s cannot be reached on port %u: %s",
		target->host, port, strerror(error));
}
