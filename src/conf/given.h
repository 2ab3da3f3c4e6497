// SPDX-License-Identifier: MIT
/*
 * Inputs of decide() from facts as people write them: 'operation' = "recovery", 'held_for' = "8h".
 *
 * Used by a policy's tests and by `rebuildgate policy try`. What is not given is unknown, except
 * for what follows from what is given, and these: one NAS "nas1" that is seen, with one array "md2"
 * of role data and level raid6, which is idle and optimal; a job of vzdump in job-init on node
 * "pve1" in mode snapshot to storage "backup", which is mapped to the NAS; it asks for the first
 * time, nothing else waits or runs; Wednesday, noon. policy/README.md has the whole list.
 */
#ifndef RG_CONF_GIVEN_H
#define RG_CONF_GIVEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/decide.h"

#define GIVEN_MAX_ARRAYS 16

struct given {
	struct inputs *in; /* the caller's; filled by given_start() and given_finish() */
	size_t at;         /* the array that facts go to */
	uint64_t known[GIVEN_MAX_ARRAYS]; /* what was given of each array: bits of enum field */
	bool missing[GIVEN_MAX_ARRAYS];   /* `missing` was given */
	struct opt held_ms, blind_ms;
	char held_by[RULE_NAME_MAX];
};

void given_start(struct given *given, struct inputs *in);

/* What follows is about one more array, which is called md3, md4, ... until it is named. */
bool given_array(struct given *given, struct err *err);

/* True once anything of the current array was given. */
bool given_touched(const struct given *given);

bool given_set(struct given *given, const char *key, const char *value, struct err *err);

/* Fills in what follows from what was given. `policy` says what would have held the job so far
 * where `held_for` was given without `held_by`. */
bool given_finish(struct given *given, const struct policy *policy, struct err *err);

/* The names beside those of enum field: at = 0, 1, ... until NULL; with a sentence on each. */
const char *given_name_at(size_t at, const char **ret_help);

#endif
