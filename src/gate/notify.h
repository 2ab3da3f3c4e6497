// SPDX-License-Identifier: MIT
/*
 * Notices by webhook and mail: that a hold begins, expires or is lost, that a NAS cannot be seen or
 * is seen again.
 *
 * Nothing waits for a notice. One event about one thing is told once within `repeat_ms`; each
 * target gets `max_per_hour` at most; the queue is bounded: what does not fit is counted and said
 * with the next notice that goes out. A target that does not take it is tried twice more.
 */
#ifndef RG_GATE_NOTIFY_H
#define RG_GATE_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "conf/settings.h"

struct gate;
struct notify;

bool notify_open(struct gate *gate, struct notify **ret, struct err *err);
void notify_close(struct notify *notify);

/* One notice. `thing` names what it is about, for telling repetitions ("T17", "nas1"); `text` is
 * one sentence, the mail's subject too; `details` (an object, may be NULL) is taken over and goes
 * out with it. */
void notify_tell(struct notify *notify, enum notify_event event, const char *thing,
	const char *text, json_t *details);

/* The targets are those of the new settings from now on; what is queued for old ones is dropped. */
void notify_reload(struct notify *notify);

struct notify_counts {
	int64_t sent, failed; /* tries that a target took, and notices given up */
	int64_t dropped;      /* repeated too soon, too many, or the queue was full */
};
const struct notify_counts *notify_counts(const struct notify *notify);

/* The last notice that was given up, until its target takes one again. The target is not named
 * whole: a webhook's URL may hold a secret. */
struct notify_trouble {
	int64_t utc_ms; /* 0: none */
	char text[256];
};
const struct notify_trouble *notify_trouble(const struct notify *notify);

#endif
