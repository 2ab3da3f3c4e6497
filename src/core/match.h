// SPDX-License-Identifier: MIT
/*
 * Whether a condition holds: three-valued, as facts are. An unknown field neither matches nor lets
 * its `not` match.
 */
#ifndef RG_CORE_MATCH_H
#define RG_CORE_MATCH_H

#include "core/decide.h"

enum match { MATCH_NO = 0, MATCH_YES, MATCH_UNKNOWN };

/* `array` may be NULL: then every array field is unknown. `facts_known` true: the facts count as
 * seen, so the sensor is OK (also where the last known facts of a blind NAS are asked). False:
 * array fields and load are unknown, and the sensor is what hides the NAS, "never" where that is
 * not said (an array that was never seen on a NAS that is). Of an array that is gone (health
 * absent) only name, role, level and health are known. An operation, sync state, level or health
 * that is "unknown" matches only where a policy asks for that very word. On MATCH_NO or
 * MATCH_UNKNOWN *ret_why (may be NULL, `size` bytes) gets the first test that did not hold, for
 * explain. */
enum match cond_match(const struct cond *cond, const struct inputs *in,
	const struct array_facts *array, bool facts_known, char *ret_why, size_t size);

/* Whether the local time of `now` lies in the window. */
bool window_holds(const struct window *window, const struct moment *now);

#endif
