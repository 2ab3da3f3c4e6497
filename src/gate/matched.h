// SPDX-License-Identifier: MIT
/* Which rule an array is under now, whoever asks: what levers, running jobs and a backup server's
 * own jobs go by. */
#ifndef RG_GATE_MATCHED_H
#define RG_GATE_MATCHED_H

#include "core/decide.h"
#include "core/policy.h"
#include "md/facts.h"

struct gate;

/* The rule for a job onto `storage` that asks now without a ticket (node, guest unknown), by the
 * array that is its reason; NULL where none matches, the gate is off or it only observes. An
 * override in force does not count. `ret_array` (may be NULL) gets the array's name. Valid until
 * the policy is loaded again. */
const struct rule *matched_rule(
	struct gate *gate, const char *storage, char ret_array[MD_NAME_MAX]);

/* The first rule that matches this array for `in`, also one that only observes. Pure. */
const struct rule *matched_first(
	const struct policy *policy, const struct inputs *in, const struct array_facts *array);

/* The first rule that matches this array for `in` (request, mapping, facts and now are looked at;
 * of a blind NAS what was seen last counts); NULL where none does, or where the gate or that rule
 * only observes or is switched off. Pure. */
const struct rule *matched_on(
	const struct policy *policy, const struct inputs *in, const struct array_facts *array);

/* Whether the array does something now that a rule could protect: it moves, or would. */
bool matched_works(const struct array_facts *array);

#endif
