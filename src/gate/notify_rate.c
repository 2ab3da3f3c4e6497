// SPDX-License-Identifier: MIT
#include "gate/notify_rate.h"

#include <stdio.h>
#include <string.h>

#include "base/moment.h"

bool notify_told_new(struct notify_told *told, unsigned event, const char *thing, int64_t repeat_ms,
	int64_t now_ms)
{
	char key[NOTIFY_THING_MAX];
	size_t i;

	snprintf(key, sizeof(key), "%s", thing);
	for (i = 0; i < told->n; i++) {
		if (told->list[i].event != event || strcmp(told->list[i].thing, key) != 0)
			continue;
		if (now_ms - told->list[i].at_ms < repeat_ms)
			return false;
		told->list[i].at_ms = now_ms;
		return true;
	}
	i = told->next;
	told->next = (told->next + 1) % NOTIFY_TOLD_MAX;
	if (told->n < NOTIFY_TOLD_MAX)
		told->n++;
	told->list[i].event = event;
	told->list[i].at_ms = now_ms;
	memcpy(told->list[i].thing, key, sizeof(key));
	return true;
}

bool notify_rate_take(struct notify_rate *rate, int64_t max_per_hour, int64_t now_ms)
{
	if (!rate->n || now_ms - rate->since_ms >= MS_HOUR)
		*rate = (struct notify_rate){.since_ms = now_ms};
	if (rate->n >= max_per_hour)
		return false;
	rate->n++;
	return true;
}
