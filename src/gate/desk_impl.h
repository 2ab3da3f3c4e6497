// SPDX-License-Identifier: MIT
/* What the desk's own files share: desk.c (what can happen), step.c (one batch, and what follows
 * it), told.c (reports). */
#ifndef RG_GATE_DESK_IMPL_H
#define RG_GATE_DESK_IMPL_H

#include "gate/desk.h"
#include "gate/gate.h"
#include "gate/timer.h"

/* What came out of a step for one ticket. */
struct effect {
	enum outcome_kind kind; /* DECIDED or STATE */
	int64_t ticket;
	enum ticket_state before, after;
	enum client client;
	char storage[STORAGE_NAME_MAX], node[NODE_NAME_MAX], nas[NAS_NAME_MAX];
	char why[160];
	int64_t held_ms;
	int64_t decision_id;
	char released_by[64];
	struct decision decision; /* DECIDED */
};

/* What is known of a ticket beside core's. */
struct card {
	int64_t ticket;     /* 0: free */
	unsigned decisions; /* recorded for it by this process */
	unsigned told;      /* so many of them when it was answered last */
};

struct desk {
	struct gate *gate;
	struct tickets tickets;
	struct inputs scratch;
	struct world world;
	struct card cards[TICKETS_MAX];
	struct timer tick;
	struct moment now; /* of the step */
	size_t n_effects, cap_effects;
	struct effect *effects;
	enum store_where where; /* of the last step */
	struct err record_err;
	int64_t anchored; /* decisions since the head was last told to the journal */
	bool policy_recorded, policy_tried; /* the text of the policy in force */
	int64_t swept_boot_ms;              /* the last sweep */
	int64_t awake_boot_ms;              /* since when it can hear */
	struct desk_counts counts;
};

/* Begins a step; `run` is for the ticket_*() calls in it. */
void step_begin(struct desk *desk, struct ticket_run *ret_run);

/* A job that is held, or inside its job waits for its NAS. */
bool desk_ticket_waits(const struct ticket *ticket);

/* Evaluates those who wait (for `nas`, or all for NULL), but for a NAS that was not looked at yet
 * since the start. */
void step_tick(struct desk *desk, struct ticket_run *run, const char *nas);

/* Records it, then lets everything out. The effects are there until step_after(). */
void step_commit(struct desk *desk);

/* To be called after each step_commit(): deals with what could not be recorded, plans what comes
 * next. */
void step_after(struct desk *desk);

/* Whether the last step is in the database. */
bool desk_recorded(const struct desk *desk);

struct card *card_of(
	struct desk *desk, int64_t ticket); /* made where there is none; NULL when all are taken */
void card_drop(struct desk *desk, int64_t ticket);

/* The last effect of this kind for the ticket in the last step, or NULL. */
const struct effect *effect_of(const struct desk *desk, int64_t ticket, enum outcome_kind kind);

/* Fills the reply from the ticket's last decision; marks it as told. */
void reply_fill(struct desk *desk, const struct ticket *ticket, struct reply *ret);

/* The record did not take the decision: if_record_fails answers in the policy's place. */
void reply_unrecorded(struct desk *desk, struct reply *ret);

/* The live ticket of this id, unless it is another worker's; else that of the worker; or NULL. */
struct ticket *desk_find(struct desk *desk, int64_t id, const struct worker *worker);

/* Journal and notices of one effect. */
void effect_tell(struct desk *desk, const struct effect *effect);

/* The record works or does not: told when it changes. */
void record_tell(struct gate *gate);

/* core's callbacks, `data` is the gate (world.c). */
void world_fill(struct gate *gate, struct world *ret);
void world_facts(
	struct gate *gate, const char *nas, const struct moment *now, struct nas_facts *ret);

#endif
