// SPDX-License-Identifier: MIT
#include "gate/pending.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gate/gate.h"
#include "gate/server.h"
#include "gate/watch.h"

#define GRACE_MS (1500 * INT64_C(1)) /* the watch's own deadline comes first */

struct pending_call {
	struct call *call; /* NULL: free */
	pending_go go;
	void *data;
	uint64_t looks; /* bit of each watch whose look it waits for */
	int64_t until_ms;
};

struct pending {
	struct gate *gate;
	struct timer timer;
	struct pending_call list[CONNECTIONS_MAX];
};

_Static_assert(SETTINGS_MAX_NAS <= 64, "one bit for each watch");

static void set_timer(struct pending *pending)
{
	int64_t first = INT64_MAX;
	size_t i;

	for (i = 0; i < CONNECTIONS_MAX; i++)
		if (pending->list[i].call && pending->list[i].until_ms < first)
			first = pending->list[i].until_ms;
	if (first == INT64_MAX)
		timer_off(&pending->timer);
	else
		timer_at(&pending->timer, first);
}

static uint64_t begin_looks(struct gate *gate, const char *nas)
{
	struct moment now = clock_now();
	uint64_t looks = 0;
	size_t i;

	for (i = 0; i < gate->n_watches; i++)
		if ((!nas || !strcmp(nas, watch_name(gate->watches[i]))) &&
			watch_freshen(gate->watches[i], &now))
			looks |= UINT64_C(1) << i;
	return looks;
}

static void go_on(struct pending *pending, size_t at)
{
	struct pending_call waiting = pending->list[at];

	pending->list[at].call = NULL;
	waiting.go(pending->gate, waiting.call, waiting.data);
}

void pending_add(
	struct pending *pending, const char *nas, struct call *call, pending_go go, void *data)
{
	uint64_t looks = begin_looks(pending->gate, nas);
	size_t i;

	for (i = 0; looks && i < CONNECTIONS_MAX; i++) {
		if (pending->list[i].call)
			continue;
		pending->list[i] = (struct pending_call){
			.call = call,
			.go = go,
			.data = data,
			.looks = looks,
			.until_ms = clock_boot_ms() + pending->gate->settings->look_deadline_ms +
				GRACE_MS,
		};
		set_timer(pending);
		return;
	}
	go(pending->gate, call, data);
}

void pending_check(struct pending *pending)
{
	struct gate *gate = pending->gate;
	uint64_t looking = 0;
	size_t i;

	for (i = 0; i < gate->n_watches; i++)
		if (watch_awaited(gate->watches[i]))
			looking |= UINT64_C(1) << i;
	for (i = 0; i < CONNECTIONS_MAX; i++)
		if (pending->list[i].call && !(pending->list[i].looks & looking))
			go_on(pending, i);
	set_timer(pending);
}

static void on_time(void *data)
{
	struct pending *pending = data;
	int64_t now = clock_boot_ms();
	size_t i;

	for (i = 0; i < CONNECTIONS_MAX; i++)
		if (pending->list[i].call && pending->list[i].until_ms <= now)
			go_on(pending, i);
	set_timer(pending);
}

void pending_flush(struct pending *pending)
{
	size_t i;

	for (i = 0; i < CONNECTIONS_MAX; i++)
		if (pending->list[i].call)
			go_on(pending, i);
	set_timer(pending);
}

bool pending_open(struct gate *gate, struct pending **ret, struct err *err)
{
	struct pending *pending = calloc(1, sizeof(*pending));

	if (!pending)
		return err_nomem(err);
	pending->gate = gate;
	if (!timer_open(&pending->timer, gate->loop, on_time, pending, err)) {
		free(pending);
		return false;
	}
	*ret = pending;
	return true;
}

void pending_close(struct pending *pending)
{
	if (!pending)
		return;
	timer_close(&pending->timer);
	free(pending);
}
