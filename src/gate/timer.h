// SPDX-License-Identifier: MIT
/*
 * A one-shot timer of the loop, set by boot time. It runs on while the machine sleeps and never
 * steps with the wall clock. It may be set again, also from its own callback.
 */
#ifndef RG_GATE_TIMER_H
#define RG_GATE_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct sd_event;
struct sd_event_source;

struct timer {
	struct sd_event_source *source; /* owned; NULL while not open */
	void (*fire)(void *data);
	void *data;
};

/* Opens it, not set. `fire(data)` is called from the loop. An all-zero timer is closed. */
bool timer_open(struct timer *timer, struct sd_event *loop, void (*fire)(void *data), void *data,
	struct err *err);
void timer_close(struct timer *timer);

/* Fires at `boot_ms` (soon, where that has passed), instead of whatever was set before. */
void timer_at(struct timer *timer, int64_t boot_ms);
void timer_off(struct timer *timer);

#endif
