// SPDX-License-Identifier: MIT
/*
 * Since when a NAS cannot be seen, so that an outage has one budget.
 *
 * An outage is over only when the NAS was seen for `settle_ms` without a break. Until then the next
 * blindness belongs to the same outage and counts from its first moment: a NAS that flaps cannot
 * renew the time for which jobs are held blindly. Points are boot time (base/moment.h). Pure.
 */
#ifndef RG_CORE_SIGHT_H
#define RG_CORE_SIGHT_H

#include "base/moment.h"

/* All zero: never looked at. */
struct sight {
	bool blind;
	struct opt outage_since_ms; /* first moment of the outage that is not over yet */
	struct opt seen_since_ms;   /* known while it is seen */
};

/* The NAS was seen at `now_ms`. Returns true when it had been blind. */
bool sight_seen(struct sight *sight, int64_t now_ms, int64_t settle_ms);

/* The NAS could not be seen at `now_ms`. Returns true when it was not blind before (the first call
 * counts). */
bool sight_lost(struct sight *sight, int64_t now_ms, int64_t settle_ms);

/* For nas_facts.blind_since_ms: known while blind. */
struct opt sight_blind_since(const struct sight *sight);

#endif
