// SPDX-License-Identifier: MIT
/*
 * Sums and differences of spans that stop at the ends of int64_t: a point in time from a broken
 * clock or a hand-edited database gives a long span, never an overflow.
 */
#ifndef RG_CORE_SPAN_H
#define RG_CORE_SPAN_H

#include <stdint.h>

#include "base/moment.h"

int64_t span_add(int64_t a, int64_t b);

/* From `from` to `to`: negative when `to` comes first. */
int64_t span_between(int64_t from, int64_t to);

/* How long ago `since` was, at least 0; unknown if `since` is. */
struct opt span_since(struct opt since, int64_t now);

/* The smaller one; the known one where only one is. */
struct opt span_sooner(struct opt a, struct opt b);

#endif
