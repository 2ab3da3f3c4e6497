// SPDX-License-Identifier: MIT
#include "gate/order_link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "base/clock.h"
#include "gate/gate.h"
#include "gate/watch.h"

#define GRACE_MS MS_SECOND /* past the target's own deadline */

/* The child is killed; whether it dies is the kernel's business, and told by order_link_reaped().
 */
static void drop_child(struct order_link *link)
{
	link->source = sd_event_source_disable_unref(link->source);
	link->in_len = 0;
	if (link->child.fd < 0)
		return;
	probe_kill(&link->child);
	if (link->child.pid > 0 && link->n_given_up < ORDER_GIVEN_UP)
		link->given_up[link->n_given_up++] = link->child.pid;
	link->child = PROBE_NONE;
}

bool order_link_reaped(struct order_link *link, int pid)
{
	size_t i;

	for (i = 0; i < link->n_given_up; i++)
		if (link->given_up[i] == pid) {
			link->given_up[i] = link->given_up[--link->n_given_up];
			return true;
		}
	if (link->child.pid != pid)
		return false;
	link->child.pid = 0; /* the end of its socket tells the rest */
	return true;
}

static void end_order(struct order_link *link, const char *line)
{
	link->waiting = false;
	timer_off(&link->deadline);
	link->answered(link->data, line);
}

static void fail_order(struct order_link *link, enum nas_sensor sensor, const char *why)
{
	char line[ORDER_LINE_MAX];

	drop_child(link);
	snprintf(line, sizeof(line), "failed %s %.400s\n", nas_sensor_word(sensor), why);
	end_order(link, line);
}

/* Reads what came. False when the child is of no use any more. */
static bool take(struct order_link *link, struct err *err)
{
	ssize_t n = recv(link->child.fd, link->in + link->in_len, sizeof(link->in) - link->in_len,
		MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return true;
	if (n < 0)
		return err_sys(err, errno, "cannot read the order child's answer");
	if (n == 0)
		return err_set(err, ERR_GONE, "the order child ended without an answer");
	link->in_len += (size_t)n;
	if (!link->waiting)
		return err_set(err, ERR_PROTOCOL, "the order child answers without an order");
	if (link->in_len == sizeof(link->in) && link->in[link->in_len - 1] != '\n')
		return err_set(err, ERR_PROTOCOL, "the order child answers too much");
	return true;
}

/* One order is under way at a time: its answer is all that can have come. */
static void feed(struct order_link *link)
{
	char line[ORDER_LINE_MAX + 1];
	struct err err = {0};
	char *end;

	if (!take(link, &err)) {
		if (link->waiting)
			fail_order(link, SENSOR_FAULT, err.text);
		else
			drop_child(link);
		return;
	}
	end = memchr(link->in, '\n', link->in_len);
	if (!end)
		return;
	memcpy(line, link->in, link->in_len);
	line[end - link->in + 1] = '\0';
	link->in_len = 0;
	end_order(link, line);
}

static int on_readable(sd_event_source *source, int fd, uint32_t revents, void *data)
{
	(void)source;
	(void)fd;
	(void)revents;
	feed(data);
	return 0;
}

static bool spawn(struct order_link *link, struct err *err)
{
	char args[WATCH_ARGS_MAX][NAS_PATH_MAX + 32];
	const char *argv[WATCH_ARGS_MAX + 4] = {link->gate->program, "--order", link->target.name};
	size_t i, n = watch_args(&link->target, args);
	int rc;

	if (access(argv[0], X_OK) < 0)
		argv[0] = "/proc/self/exe"; /* replaced by an upgrade */
	for (i = 0; i < n; i++)
		argv[3 + i] = args[i];
	if (link->n_given_up == ORDER_GIVEN_UP)
		return err_set(err, ERR_BUSY, "%zu earlier orders hang and cannot be killed",
			link->n_given_up);
	if (!probe_spawn(&link->child, argv, err))
		return false;
	rc = sd_event_add_io(
		link->gate->loop, &link->source, link->child.fd, EPOLLIN, on_readable, link);
	return rc >= 0 || err_sys(err, -rc, "cannot watch the order child");
}

/* Also what could not even be given is answered from here, at once but not from within the giving.
 */
static void on_deadline(void *data)
{
	struct order_link *link = data;

	if (link->waiting && link->unable.kind)
		fail_order(link, SENSOR_FAULT, link->unable.text);
	else if (link->waiting)
		fail_order(link, SENSOR_SILENT, "the order did not end within its deadline");
}

void order_link_give(struct order_link *link, const char *order)
{
	size_t len = strlen(order);
	int64_t now = clock_boot_ms();

	link->waiting = true;
	link->unable = (struct err){0};
	link->until_ms = now + link->target.deadline_ms + GRACE_MS;
	if (link->child.fd < 0)
		spawn(link, &link->unable);
	if (!link->unable.kind &&
		send(link->child.fd, order, len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)len)
		err_sys(&link->unable, errno, "the order child takes no order");
	if (link->unable.kind) {
		drop_child(link);
		link->until_ms = now;
	}
	timer_at(&link->deadline, link->until_ms);
}

void order_link_rest(struct order_link *link)
{
	if (!link->waiting)
		drop_child(link);
}

int order_link_fd(const struct order_link *link)
{
	return link->child.fd;
}

void order_link_feed(struct order_link *link)
{
	if (link->child.fd >= 0)
		feed(link);
	if (link->waiting && clock_boot_ms() >= link->until_ms)
		on_deadline(link);
}

bool order_link_open(struct order_link *link, struct gate *gate, const struct nas_target *target,
	void (*answered)(void *data, const char *line), void *data, struct err *err)
{
	*link = (struct order_link){
		.gate = gate,
		.target = *target,
		.answered = answered,
		.data = data,
		.child = PROBE_NONE,
	};
	return timer_open(&link->deadline, gate->loop, on_deadline, link, err);
}

void order_link_close(struct order_link *link)
{
	link->waiting = false;
	drop_child(link);
	timer_close(&link->deadline);
}
