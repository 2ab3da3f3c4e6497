// SPDX-License-Identifier: MIT
/*
 * What the steps of decide() share while one decision is made. Only src/core uses it.
 */
#ifndef RG_CORE_DECIDING_H
#define RG_CORE_DECIDING_H

#include "core/decide.h"

struct deciding {
	const struct policy *policy;
	const struct inputs *in;
	struct decision *ret;
	struct trace *trace; /* may be NULL */

	/* Settled by steps 1 to 6; `ret->verdict` begins as `base`. */
	enum verdict base;
	int base_step;
	const struct rule *rule;         /* that settled it; NULL if none did */
	const struct rule_settings *set; /* the rule's, or the policy's defaults; never NULL */
	const struct override *override; /* NULL but in step 2 */
	const struct array_facts *array; /* that is the reason; may be NULL */
	struct opt blind_ms;             /* how long the NAS has been blind; unknown while seen */
	bool outage;  /* a rule for the blind settled it: one budget for the whole outage */
	bool at_once; /* wins over the queue, and `without_lever` does not hold it */

	bool waits;          /* step 7: the job waits */
	int64_t protect_ppm; /* step 7: of a throttle, after too_slow */
};

/* The request comes from inside a running job. */
bool deciding_mid_job(const struct deciding *d);

/* A verdict that the loader left out or that a database made up acts as allow: a broken gate must
 * not stop a backup. */
enum verdict verdict_sane(enum verdict verdict);

#endif
