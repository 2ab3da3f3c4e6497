// SPDX-License-Identifier: MIT
/* What keeps notices from becoming a storm. Pure; points are boot time. */
#ifndef RG_GATE_NOTIFY_RATE_H
#define RG_GATE_NOTIFY_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NOTIFY_TOLD_MAX 256
#define NOTIFY_THING_MAX 96

/* What was told lately. All zero is empty; the oldest makes room. */
struct notify_told {
	struct {
		unsigned event;
		char thing[NOTIFY_THING_MAX];
		int64_t at_ms;
	} list[NOTIFY_TOLD_MAX];
	size_t n, next;
};

/* Whether to tell it now; then it is remembered as told. */
bool notify_told_new(struct notify_told *told, unsigned event, const char *thing, int64_t repeat_ms,
	int64_t now_ms);

/* How many one target got in the hour that runs. All zero is none. */
struct notify_rate {
	int64_t since_ms;
	int64_t n;
};

/* Whether the target may get one more; then it is counted. */
bool notify_rate_take(struct notify_rate *rate, int64_t max_per_hour, int64_t now_ms);

#endif
