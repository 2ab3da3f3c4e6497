// SPDX-License-Identifier: MIT
#include "gate/timer.h"

#include <stddef.h>
#include <systemd/sd-event.h>
#include <time.h>

#define ACCURACY_US (10 * 1000)

static int on_time(sd_event_source *source, uint64_t usec, void *data)
{
	struct timer *timer = data;

	(void)source;
	(void)usec;
	timer->fire(timer->data);
	return 0;
}

bool timer_open(struct timer *timer, struct sd_event *loop, void (*fire)(void *data), void *data,
	struct err *err)
{
	int rc;

	timer->fire = fire;
	timer->data = data;
	rc = sd_event_add_time(
		loop, &timer->source, CLOCK_BOOTTIME, UINT64_MAX, ACCURACY_US, on_time, timer);
	if (rc < 0)
		return err_sys(err, -rc, "Cannot make a timer");
	sd_event_source_set_enabled(timer->source, SD_EVENT_OFF);
	return true;
}

void timer_close(struct timer *timer)
{
	timer->source = sd_event_source_disable_unref(timer->source);
}

void timer_at(struct timer *timer, int64_t boot_ms)
{
	if (!timer->source)
		return;
	if (boot_ms < 0)
		boot_ms = 0;
	sd_event_source_set_time(timer->source, (uint64_t)boot_ms * 1000);
	sd_event_source_set_enabled(timer->source, SD_EVENT_ONESHOT);
}

void timer_off(struct timer *timer)
{
	if (timer->source)
		sd_event_source_set_enabled(timer->source, SD_EVENT_OFF);
}
