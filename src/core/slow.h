// SPDX-License-Identifier: MIT
/*
 * A throttled job that would not be done by its own next start: what the rule's `too_slow` makes of
 * it. Part of step 7 of decide().
 *
 * Judged once, in job-init, for the whole job; what came of it is remembered with the ticket, and
 * inside the job that stands. Without a prediction or a known next start nothing is too slow, and
 * an operator's throttle is what it is.
 */
#ifndef RG_CORE_SLOW_H
#define RG_CORE_SLOW_H

#include "core/deciding.h"

/* The job asks in job-init, its throttle can be carried out, and it would take longer than it is
 * until the job's next start. */
bool slow_is(const struct deciding *d);

/* It is, and the rule holds it for that. */
bool slow_holds(const struct deciding *d);

/* "the job would take 31h while 80 % is protected, and starts again in 24h" */
struct text;
void slow_sentence(const struct deciding *d, struct text *text);

/* After the hold and the queue: lowers what is protected, or lets the job go unslowed. */
void slow_step(struct deciding *d);

#endif
