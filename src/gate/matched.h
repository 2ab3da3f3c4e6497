// SPDX-License-Identifier: MIT
/* Which rule an array is under now, whoever asks: what levers, running jobs and a backup server's
 * own jobs go by. */
#ifndef RG_GATE_MATCHED_H
#define RG_GATE_MATCHED_H

#include "core/policy.h"
#include "md/facts.h"

struct gate;

/* The rule for a job onto `storage` that asks now without a ticket (node, guest unknown), by the
 * array that is its reason; NULL where none matches, the gate is off or it only observes. An
 * override in force does not count. `ret_array` (may be NULL) gets the array's name. Valid until
 * the policy is loaded again. */
const struct rule *matched_rule(
	struct gate *gate, const char *storage, char ret_array[MD_NAME_MAX]);

#endif
