// SPDX-License-Identifier: MIT
#include "gate/waiters.h"

#include <stdlib.h>

#include "base/clock.h"
#include "gate/answer.h"
#include "gate/desk_impl.h"
#include "gate/server.h"

struct waiter {
	struct call *call; /* NULL: free */
	int64_t ticket;
	int64_t until_ms;
};

struct waiters {
	struct gate *gate;
	struct timer timer;
	struct waiter list[CONNECTIONS_MAX];
};

static void set_timer(struct waiters *waiters)
{
	int64_t first = INT64_MAX;
	size_t i;

	for (i = 0; i < CONNECTIONS_MAX; i++)
		if (waiters->list[i].call && waiters->list[i].until_ms < first)
			first = waiters->list[i].until_ms;
	if (first == INT64_MAX)
		timer_off(&waiters->timer);
	else
		timer_at(&waiters->timer, first);
}

/* As things stand now. */
static void answer(struct waiters *waiters, struct waiter *waiter)
{
	struct call *call = waiter->call;
	struct reply reply;
	struct err err = {0};

	waiter->call = NULL;
	if (desk_look(waiters->gate->desk, waiter->ticket, &reply, &err))
		answer_reply(waiters->gate, call, &reply);
	else
		answer_err(call, &err);
}

void waiters_add(struct waiters *waiters, struct call *call, int64_t ticket, int64_t wait_ms)
{
	struct waiter *empty = NULL;
	size_t i;

	for (i = 0; i < CONNECTIONS_MAX; i++) {
		struct waiter *waiter = &waiters->list[i];

		if (waiter->call && waiter->ticket == ticket)
			answer(waiters, waiter);
		if (!waiter->call && !empty)
			empty = waiter;
	}
	if (!empty) { /* as many as connections: cannot be */
		answer(waiters, &(struct waiter){.call = call, .ticket = ticket});
		return;
	}
	*empty = (struct waiter){
		.call = call,
		.ticket = ticket,
		.until_ms = clock_boot_ms() + (wait_ms < WAIT_MAX_MS ? wait_ms : WAIT_MAX_MS),
	};
	set_timer(waiters);
}

void waiters_tell(struct waiters *waiters, struct desk *desk)
{
	struct reply reply;
	size_t i;

	for (i = 0; i < CONNECTIONS_MAX; i++) {
		struct waiter *waiter = &waiters->list[i];
		struct call *call = waiter->call;

		if (!call || !desk_news(desk, waiter->ticket, &reply))
			continue;
		waiter->call = NULL;
		if (reply.over)
			/* 503: whoever still asks, asks again and gets a new ticket. To a
			 * hook a 409 is a refusal, after which it would go ungated. */
			answer_fail(call, ERR_GONE, "T%lld is over: %s", (long long)reply.ticket,
				reply.why);
		else
			answer_reply(waiters->gate, call, &reply);
	}
	set_timer(waiters);
}

static void on_time(void *data)
{
	struct waiters *waiters = data;
	int64_t now = clock_boot_ms();
	size_t i;

	for (i = 0; i < CONNECTIONS_MAX; i++)
		if (waiters->list[i].call && waiters->list[i].until_ms <= now)
			answer(waiters, &waiters->list[i]);
	set_timer(waiters);
}

void waiters_flush(struct waiters *waiters)
{
	size_t i;

	for (i = 0; i < CONNECTIONS_MAX; i++)
		if (waiters->list[i].call)
			answer(waiters, &waiters->list[i]);
	set_timer(waiters);
}

bool waiters_open(struct gate *gate, struct waiters **ret, struct err *err)
{
	struct waiters *waiters = calloc(1, sizeof(*waiters));

	if (!waiters)
		return err_nomem(err);
	waiters->gate = gate;
	if (!timer_open(&waiters->timer, gate->loop, on_time, waiters, err)) {
		free(waiters);
		return false;
	}
	*ret = waiters;
	return true;
}

void waiters_close(struct waiters *waiters)
{
	if (!waiters)
		return;
	timer_close(&waiters->timer);
	free(waiters);
}
