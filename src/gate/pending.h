// SPDX-License-Identifier: MIT
/* Requests that wait for a fresh reading: one look serves all who wait for it. */
#ifndef RG_GATE_PENDING_H
#define RG_GATE_PENDING_H

#include "base/err.h"

struct call;
struct gate;
struct pending;

/* Goes on with the request; `data` is the callee's from then on. */
typedef void (*pending_go)(struct gate *gate, struct call *call, void *data);

bool pending_open(struct gate *gate, struct pending **ret, struct err *err);
void pending_close(struct pending *pending);

/* Calls `go` as soon as the reading of `nas` (NULL: of every NAS) is fresh or cannot be had:
 * perhaps at once, at the latest when a look's deadline has passed. */
void pending_add(
	struct pending *pending, const char *nas, struct call *call, pending_go go, void *data);

/* A look has ended: goes on with those that waited for nothing else. */
void pending_check(struct pending *pending);

/* Goes on with all: the watches are about to change, or the gate stops. */
void pending_flush(struct pending *pending);

#endif
