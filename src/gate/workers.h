// SPDX-License-Identifier: MIT
/*
 * The processes behind the tickets of this node, each watched by a pidfd: a job whose process has
 * ended without a word holds no slot.
 *
 * A process counts only if its start time and the boot are those that the ticket names: a pid that
 * was given to another process is never taken for it.
 */
#ifndef RG_GATE_WORKERS_H
#define RG_GATE_WORKERS_H

#include "base/err.h"
#include "core/ticket.h"

struct sd_event;
struct workers;

/* `gone(data, ticket)` is called from the loop, never from within these functions. */
bool workers_open(struct sd_event *loop, const char *boot_id,
	void (*gone)(void *data, int64_t ticket), void *data, struct workers **ret,
	struct err *err);
void workers_close(struct workers *workers);

/* Watches the ticket's worker, if it has one in this boot that is not watched yet. One that is gone
 * already is told soon. `ticket` is of this node. */
void workers_watch(struct workers *workers, const struct ticket *ticket);
void workers_forget(struct workers *workers, int64_t ticket);

size_t workers_count(const struct workers *workers);

#endif
