// SPDX-License-Identifier: MIT
/*
 * The desk: where jobs ask and are answered. Drives the tickets (core/ticket.h) and records every
 * step before anything of it gets out.
 *
 * A step is one batch of the record (store.h). After its commit come the journal's lines, the
 * notices, and the answers of those who wait. Where the record does not take it, what was decided
 * in it is answered by `if_record_fails`, loudly: allow lets a held job go, deny turns it away.
 */
#ifndef RG_GATE_DESK_H
#define RG_GATE_DESK_H

#include "base/err.h"
#include "core/ticket.h"

struct desk;
struct gate;
struct reading;

/* What a job that asks is told. */
struct reply {
	int64_t ticket;      /* 0: none could be made */
	int64_t decision_id; /* 0: not recorded */
	struct decision decision;
	bool recorded;
	char unrecorded[240]; /* why not, one sentence; "" where recorded */
	bool news;            /* it has not been told this decision yet */
	bool over; /* the ticket is no longer live, and not because of this decision: `why` */
	char why[160];
	int64_t held_ms;
	int64_t decided_boot_ms; /* `decision` counts its spans from here */
	char nas[NAS_NAME_MAX];
	char released_by[64];
};

/* Opens with the tickets that the record holds as live; those of this node from before its last
 * start are lost. */
bool desk_open(struct gate *gate, struct desk **ret, struct err *err);
void desk_close(struct desk *desk);

/* Takes up the tickets that the record holds as live; those of this node from before its last start
 * are lost. The record may be unusable: then nothing is taken up, and that is a failure that the
 * caller may live with. */
bool desk_restore(struct desk *desk, struct err *err);

/* A job asks, in any phase. `ask` as for ticket_ask(). */
void desk_ask(struct desk *desk, const struct ticket *ask, struct reply *ret);

/* Where a live ticket stands, evaluated now. ERR_NOTFOUND. */
bool desk_look(struct desk *desk, int64_t ticket, struct reply *ret, struct err *err);

/* Whether the step that was just recorded has changed something for this ticket, and what. */
bool desk_news(struct desk *desk, int64_t ticket, struct reply *ret);

/* The verdict that a job onto `storage` would get now; nothing is recorded. */
void desk_check(struct desk *desk, const char *storage, struct decision *ret);

/* What a hook tells. */
struct report {
	int64_t ticket; /* 0: not known, the worker tells */
	struct worker worker;
	char phase[32];         /* vzdump's word, or "run-end" */
	struct request request; /* storage, node, guest, type, mode where told */
	char hostname[256], target[512];
	struct opt exit_status;
};
void desk_report(struct desk *desk, const struct report *report);

/* By its own hook; by its worker where `ticket` is 0. ERR_NOTFOUND. */
bool desk_withdraw(struct desk *desk, int64_t ticket, const struct worker *worker, const char *why,
	struct err *err);

/* By an operator. ERR_NOTFOUND; ERR_BUSY where it is not held. ERR_SYS where it could not be
 * recorded. */
bool desk_release(
	struct desk *desk, int64_t ticket, const char *by, const char *reason, struct err *err);

/* Adds an override (its id is set), cancels one; all who wait are decided anew. Failures as
 * store_override_add() and _cancel(); ERR_SYS where it could not be recorded: then it is not in
 * force. */
bool desk_override(struct desk *desk, struct override *override, struct err *err);
bool desk_override_cancel(struct desk *desk, int64_t id, const char *by, struct err *err);

/* Its worker has ended. */
void desk_worker_gone(struct desk *desk, int64_t ticket);

/* A look at this NAS has ended; `changed`: it went blind, or sees again. */
void desk_looked(struct desk *desk, struct reading *reading, bool changed);

/* Something that all decisions depend on has changed: overrides, policy, settings. */
void desk_changed(struct desk *desk);

/* Whether a job waits for this NAS: it is to be looked at often. */
bool desk_waits(const struct desk *desk, const char *nas);

/* Silence, start_grace and running_ttl; call every few seconds. */
void desk_sweep(struct desk *desk);

/* What is known of each NAS into the record, for the next start. */
void desk_remember(struct desk *desk);

/* The record's head into the journal: what it was when the gate stopped. */
void desk_anchor(struct desk *desk);

/* The policy's text into the record. */
void desk_policy(struct desk *desk);

const struct tickets *desk_tickets(const struct desk *desk);
struct desk_counts {
	int64_t decisions[VERDICT_DENY + 1]; /* by verdict, since the start */
	int64_t unrecorded;
};
const struct desk_counts *desk_counts(const struct desk *desk);

#endif
