// SPDX-License-Identifier: MIT
#include "gate/outbound.h"

#include <poll.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>

#include "base/clock.h"

static int on_fd(sd_event_source *source, int fd, uint32_t revents, void *data)
{
	struct outbound *outbound = data;
	short events = 0;

	(void)source;
	if (revents & (EPOLLIN | EPOLLHUP))
		events |= POLLIN;
	if (revents & EPOLLOUT)
		events |= POLLOUT;
	if (revents & EPOLLERR)
		events |= POLLERR;
	http_multi_ready(outbound->multi, fd, events);
	if (outbound->after)
		outbound->after(outbound->after_data);
	return 0;
}

static void on_watch(void *data, int fd, short events)
{
	struct outbound *outbound = data;
	uint32_t wanted = (events & POLLIN ? (uint32_t)EPOLLIN : 0) |
		(events & POLLOUT ? (uint32_t)EPOLLOUT : 0);
	size_t i, empty = OUTBOUND_FDS_MAX;

	for (i = 0; i < OUTBOUND_FDS_MAX; i++) {
		if (outbound->fds[i].source && outbound->fds[i].fd == fd)
			break;
		if (!outbound->fds[i].source && empty == OUTBOUND_FDS_MAX)
			empty = i;
	}
	if (i < OUTBOUND_FDS_MAX && !events)
		outbound->fds[i].source = sd_event_source_disable_unref(outbound->fds[i].source);
	else if (i < OUTBOUND_FDS_MAX)
		sd_event_source_set_io_events(outbound->fds[i].source, wanted);
	else if (events && empty < OUTBOUND_FDS_MAX &&
		sd_event_add_io(outbound->loop, &outbound->fds[empty].source, fd, wanted, on_fd,
			outbound) >= 0)
		outbound->fds[empty].fd = fd;
}

static void on_set_timer(void *data, int64_t ms)
{
	struct outbound *outbound = data;

	if (ms < 0)
		timer_off(&outbound->timer);
	else
		timer_at(&outbound->timer, clock_boot_ms() + ms);
}

static void on_timer(void *data)
{
	struct outbound *outbound = data;

	http_multi_timer(outbound->multi);
	if (outbound->after)
		outbound->after(outbound->after_data);
}

bool outbound_open(struct outbound *outbound, struct sd_event *loop, void (*after)(void *data),
	void *data, struct err *err)
{
	const struct http_loop calls = {.data = outbound, .watch = on_watch, .timer = on_set_timer};

	outbound->loop = loop;
	outbound->after = after;
	outbound->after_data = data;
	if (!timer_open(&outbound->timer, loop, on_timer, outbound, err))
		return false;
	outbound->multi = http_multi_new(&calls, err);
	return outbound->multi;
}

void outbound_close(struct outbound *outbound)
{
	size_t i;

	http_multi_free(outbound->multi);
	outbound->multi = NULL;
	for (i = 0; i < OUTBOUND_FDS_MAX; i++)
		outbound->fds[i].source = sd_event_source_disable_unref(outbound->fds[i].source);
	timer_close(&outbound->timer);
}
