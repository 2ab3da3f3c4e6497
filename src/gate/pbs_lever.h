// SPDX-License-Identifier: MIT
/*
 * Lever 2: one traffic-control rule of ours on one backup server.
 *
 * What always holds: only a rule with our name and our comment is changed or deleted; each change
 * is in the record before it is made; its timeframe ends within two hours and is renewed, so that a
 * dead gate's rule lapses; no rate is ever 0 and `rate-out` is never set; a rest is PBS_RATE_LEAST
 * for at most 60 s in one piece, whatever is wanted.
 */
#ifndef RG_GATE_PBS_LEVER_H
#define RG_GATE_PBS_LEVER_H

#include "base/err.h"
#include "base/json.h"
#include "base/moment.h"
#include "core/steer.h"

struct gate;
struct pbs_lever;
struct pbs_levers;

bool pbs_levers_open(struct gate *gate, struct pbs_levers **ret, struct err *err);
void pbs_levers_settings(struct pbs_levers *levers);
/* Puts back what can be put back within `deadline_ms` (blocking: for the gate's end only). */
void pbs_levers_close(struct pbs_levers *levers, int64_t deadline_ms);

/* NULL where the server is not configured or `throttle` is off. */
struct pbs_lever *pbs_levers_find(struct pbs_levers *levers, const char *pbs);

/* Whether a rule of ours may be at that address that is to be deleted once it is not configured any
 * more. */
bool pbs_levers_owe(const struct pbs_levers *levers, const char *pbs, const char *url);

/* The i-th of those that are used no more and whose rule is still to be removed, for showing; NULL
 * after the last. `target`: its name, or "NAME at URL" where the name has another address now. */
const struct pbs_lever *pbs_levers_retired(const struct pbs_levers *levers, size_t i);
const char *pbs_lever_target_name(const struct pbs_lever *lever);

/* How open the path shall be from now on; STEER_FREE removes the rule. `why` is one sentence for
 * the rule's comment and the record. Wanting the same again is cheap. */
void pbs_lever_want(struct pbs_lever *lever, enum steer_path path, int64_t rate, const char *why);

struct pbs_lever_state {
	enum steer_path path; /* in force, read back; STEER_FREE: no rule of ours */
	int64_t rate;
	bool settled;       /* what is wanted is in force: seen to act, or its delay is over */
	int64_t until_ms;   /* boot time at which the rule lapses by itself; 0: there is none */
	int64_t since_ms;   /* boot time since when it is in force: seen to act, else set */
	int64_t delay_ms;   /* how late a change acts, from when it was chosen */
	bool measured;      /* it was seen often enough; else what the server promises counts too */
	struct opt moved;   /* bytes/s through our rule now (cur-rate-in) */
	bool usable;        /* the last probe or change worked: it may be counted on */
	char trouble[400];  /* what does not work, "" if nothing */
	char hidden_by[64]; /* an administrator's rule that takes connections from ours, or "" */
};
void pbs_lever_state(const struct pbs_lever *lever, struct pbs_lever_state *ret);

/* At the start: takes up or removes what an earlier gate left there. Also what `rebuildgate levers
 * reset` does. */
void pbs_levers_reset(struct pbs_levers *levers);

#endif
