// SPDX-License-Identifier: MIT
/*
 * The rules of a policy over the arrays of a storage: steps 4 and 5 of decide().
 */
#ifndef RG_CORE_RULES_H
#define RG_CORE_RULES_H

#include "core/deciding.h"

/* What the rules say about one array. */
struct found {
	enum verdict verdict;    /* NONE: no rule matched */
	const struct rule *rule; /* NULL: no rule matched */
	const struct array_facts
		*array;   /* NULL: the storage is mapped to it, but it was never seen */
	const char *name; /* of the array, "" where no data array was ever seen */
};

/* For each array of the storage the first rule that matches; *ret is the strictest of them, of
 * equals one whose array is known, then the first. In step 4 the last known facts are asked, and
 * arrays never seen say nothing; in step 5 such an array is judged by the rule for the blind. */
void rules_find(struct deciding *d, int step, struct found *ret);

/* Adds a reason for each other array for which a rule matched in step 5. */
void rules_others(struct deciding *d, const struct found *chosen);

/* The rule for a NAS or an array that cannot be seen: the first that is for the sensor and matches
 * with no fact known, else the policy's own. */
const struct rule *rules_for_blind(const struct policy *policy, const struct inputs *in);

#endif
