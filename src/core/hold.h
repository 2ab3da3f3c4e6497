// SPDX-License-Identifier: MIT
/*
 * Step 7 of decide(): time and queue. Given what steps 1 to 6 say, whether the job waits, for how
 * long at most, and what comes then.
 */
#ifndef RG_CORE_HOLD_H
#define RG_CORE_HOLD_H

#include "core/deciding.h"

void hold_step(struct deciding *d);

/* The settings' holds end with the age of the oldest of the job's backups, which is known. */
bool hold_to_rpo(const struct deciding *d, const struct rule_settings *set);

#endif
