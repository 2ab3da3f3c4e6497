// SPDX-License-Identifier: MIT
/* What the files of the invariants share. */
#ifndef RG_SIM_CHECK_H
#define RG_SIM_CHECK_H

#include "sim.h"

/* How late a hold may end: a tick, and after a start of the gate its first look. */
#define CHECK_SLACK_MS (10 * MS_SECOND)

/* Counts the check; false where nobody wants it. */
bool check_wanted(struct sim *sim, enum invariant which);

/* The NAS called so, or -1. */
int check_nas_at(const struct sim *sim, const char *name);

bool check_for_blind(const struct policy *policy, const struct rule *rule);

/* check_bound.c: of a job that is held now. */
void check_bound(struct sim *sim, struct job *job);
void check_outage(struct sim *sim, struct job *job);

#endif
