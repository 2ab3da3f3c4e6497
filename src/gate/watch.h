// SPDX-License-Identifier: MIT
/*
 * The watch over one NAS: its probe (a child process, nas/probe.h), when it looks, and what it saw.
 *
 * A look ends within the target's deadline and a second; a child that is past it is killed, one
 * that cannot be killed is given up, and while such a one lives there is no look more often than
 * every 5 min. After a failed look the next one comes after a pause that doubles up to 5 min; after
 * a refused login or a wrong host key after 15 min, then hourly. Nothing but an operator's word
 * shortens these pauses: no number of asks causes logins.
 */
#ifndef RG_GATE_WATCH_H
#define RG_GATE_WATCH_H

#include "base/err.h"
#include "conf/settings.h"
#include "md/facts.h"
#include "nas/frame.h"
#include "nas/target.h"

struct gate;
struct reading;
struct watch;

/* Starts to watch; the first look comes `after_ms` from now. NULL without memory. */
struct watch *watch_new(
	struct gate *gate, const struct nas_settings *settings, int64_t after_ms, struct err *err);
void watch_free(struct watch *watch);

/* Takes over what the gate's settings say about all NAS: deadline and staleness. */
void watch_settings(struct watch *watch);

/* What its looks told so far. */
struct reading *watch_reading(struct watch *watch);

/* Whether it was made from the same settings. */
bool watch_same(const struct watch *watch, const struct nas_settings *settings);

const char *watch_name(const struct watch *watch);

/* The facts as of `now` (a reading that is too old makes the sensor stale). Valid until the next
 * call. */
const struct nas_facts *watch_facts(struct watch *watch, const struct moment *now);

/* Makes sure that the reading is not older than `fresh_ms`: true while a look that will tell is
 * under way; false when there is nothing to wait for (fresh already, or pausing after a failure).
 */
bool watch_freshen(struct watch *watch, const struct moment *now);
/* A look is under way, or about to follow: the last one said something new, and one look alone does
 * not count. */
bool watch_awaited(const struct watch *watch);

/* An operator's look: at once, whatever the pause. False when no child may be started (one that
 * cannot be killed). */
bool watch_look(struct watch *watch, struct err *err);

/* An operator's word that the array is gone for good. ERR_NOTFOUND. */
bool watch_forget(struct watch *watch, const char *array, struct err *err);

/* The child `pid` is reaped. True when it was one of this watch. */
bool watch_reaped(struct watch *watch, int pid);

/* Whether it must be looked at often for its own sake. */
bool watch_busy(const struct watch *watch);

/* Chooses the time of the next look anew: somebody waits now, or no longer. */
void watch_replan(struct watch *watch);

/* Boot time of the next look. */
int64_t watch_next_ms(const struct watch *watch);

struct watch_counts {
	int64_t looks, failed, logins;
	int64_t took_ms; /* the last look */
};
const struct watch_counts *watch_counts(const struct watch *watch);

/* The probe's arguments that say what to look at, and back: a probe needs no configuration file,
 * which may be broken by the time it starts. */
#define WATCH_ARGS_MAX 12
size_t watch_args(const struct nas_target *target, char (*ret)[NAS_PATH_MAX + 32]);
bool watch_target(const char *name, char *const *args, struct nas_target *ret, struct err *err);

#endif
