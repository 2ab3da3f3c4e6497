// SPDX-License-Identifier: MIT
/*
 * Asks of held jobs that wait for news: answered when something changes for their ticket, or when
 * their time is over
 * ("still held"). A suspended connection does not notice that its client died, so no ask waits
 * longer than 25 s.
 */
#ifndef RG_GATE_WAITERS_H
#define RG_GATE_WAITERS_H

#include <stdint.h>

#include "base/err.h"

struct call;
struct desk;
struct gate;
struct waiters;

#define WAIT_MAX_MS INT64_C(25000)

bool waiters_open(struct gate *gate, struct waiters **ret, struct err *err);
void waiters_close(struct waiters *waiters);

/* Lets the ask wait. An older one for the same ticket is answered: its client asks on another
 * connection now. */
void waiters_add(struct waiters *waiters, struct call *call, int64_t ticket, int64_t wait_ms);

/* A step is recorded: answers those whose ticket has changed in it. */
void waiters_tell(struct waiters *waiters, struct desk *desk);

/* Answers all, as things stand: the gate stops. */
void waiters_flush(struct waiters *waiters);

#endif
