// SPDX-License-Identifier: MIT
#include "gate/workers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "base/log.h"
#include "client/worker.h"
#include "gate/timer.h"

struct worker_watch {
	struct workers *workers;
	int64_t ticket; /* 0: free */
	int fd;         /* pidfd; -1: gone */
	sd_event_source *source;
};

struct workers {
	sd_event *loop;
	char boot_id[40];
	void (*gone)(void *data, int64_t ticket);
	void *data;
	struct timer soon; /* tells those that are gone */
	struct worker_watch list[TICKETS_MAX];
};

static struct worker_watch *find(struct workers *workers, int64_t ticket)
{
	size_t i;

	for (i = 0; i < TICKETS_MAX; i++)
		if (workers->list[i].ticket == ticket)
			return &workers->list[i];
	return NULL;
}

static void drop(struct worker_watch *watch)
{
	watch->source = sd_event_source_disable_unref(watch->source);
	if (watch->fd >= 0)
		close(watch->fd);
	watch->fd = -1;
	watch->ticket = 0;
}

static int on_exit_seen(sd_event_source *source, int fd, uint32_t revents, void *data)
{
	struct worker_watch *watch = data;
	struct workers *workers = watch->workers;
	int64_t ticket = watch->ticket;

	(void)source;
	(void)fd;
	(void)revents;
	drop(watch);
	workers->gone(workers->data, ticket);
	return 0;
}

static void on_soon(void *data)
{
	struct workers *workers = data;
	int64_t ticket;
	size_t i;

	for (i = 0; i < TICKETS_MAX; i++) {
		ticket = workers->list[i].ticket;
		if (!ticket || workers->list[i].fd >= 0)
			continue;
		drop(&workers->list[i]);
		workers->gone(workers->data, ticket);
	}
}

/* The descriptor first, the check afterwards: what it then refers to is the process that was
 * checked. Where /proc does not show it (hidepid), it is taken on trust: the worst is that another
 * process's end frees the slot. */
static int open_worker(const struct worker *worker, bool *ret_gone)
{
	int fd = pidfd_open((pid_t)worker->pid, 0);
	int64_t ticks;

	*ret_gone = false;
	if (fd < 0) {
		*ret_gone = errno == ESRCH;
		return -1;
	}
	ticks = worker_start_ticks(worker->pid);
	if (ticks == worker->start_ticks || ticks == 0)
		return fd;
	close(fd);
	*ret_gone = true;
	return -1;
}

void workers_watch(struct workers *workers, const struct ticket *ticket)
{
	const struct worker *worker = &ticket->worker;
	struct worker_watch *watch;
	bool gone = false;
	int rc;

	if (worker->pid <= 0 || worker->pid > INT32_MAX || worker->start_ticks <= 0 ||
		strcmp(worker->boot_id, workers->boot_id) != 0 || find(workers, ticket->id))
		return;
	watch = find(workers, 0);
	if (!watch)
		return;
	watch->workers = workers;
	watch->fd = open_worker(worker, &gone);
	if (watch->fd < 0) {
		if (gone) {
			watch->ticket = ticket->id;
			timer_at(&workers->soon, 0);
		}
		return;
	}
	rc = sd_event_add_io(
		workers->loop, &watch->source, watch->fd, EPOLLIN, on_exit_seen, watch);
	if (rc < 0) {
		log_warning("Cannot watch process %lld of T%lld: %s", (long long)worker->pid,
			(long long)ticket->id, strerror(-rc));
		drop(watch);
		return;
	}
	watch->ticket = ticket->id;
}

void workers_forget(struct workers *workers, int64_t ticket)
{
	struct worker_watch *watch = ticket ? find(workers, ticket) : NULL;

	if (watch)
		drop(watch);
}

size_t workers_count(const struct workers *workers)
{
	size_t i, n = 0;

	for (i = 0; i < TICKETS_MAX; i++)
		n += workers->list[i].ticket != 0;
	return n;
}

bool workers_open(struct sd_event *loop, const char *boot_id,
	void (*gone)(void *data, int64_t ticket), void *data, struct workers **ret, struct err *err)
{
	struct workers *workers = calloc(1, sizeof(*workers));
	size_t i;

	if (!workers)
		return err_nomem(err);
	workers->loop = loop;
	workers->gone = gone;
	workers->data = data;
	snprintf(workers->boot_id, sizeof(workers->boot_id), "%s", boot_id);
	for (i = 0; i < TICKETS_MAX; i++)
		workers->list[i].fd = -1;
	if (!timer_open(&workers->soon, loop, on_soon, workers, err)) {
		free(workers);
		return false;
	}
	*ret = workers;
	return true;
}

void workers_close(struct workers *workers)
{
	size_t i;

	if (!workers)
		return;
	for (i = 0; i < TICKETS_MAX; i++)
		drop(&workers->list[i]);
	timer_close(&workers->soon);
	free(workers);
}
