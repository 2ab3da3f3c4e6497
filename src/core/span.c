// SPDX-License-Identifier: MIT
#include "core/span.h"

int64_t span_add(int64_t a, int64_t b)
{
	int64_t sum = 0;

	if (__builtin_add_overflow(a, b, &sum))
		return a > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

int64_t span_between(int64_t from, int64_t to)
{
	int64_t span = 0;

	if (__builtin_sub_overflow(to, from, &span))
		return to > from ? INT64_MAX : INT64_MIN;
	return span;
}

struct opt span_since(struct opt since, int64_t now)
{
	int64_t span;

	if (!since.known)
		return OPT_NONE;
	span = span_between(since.v, now);
	return OPT(span > 0 ? span : 0);
}

struct opt span_sooner(struct opt a, struct opt b)
{
	if (!a.known || (b.known && b.v < a.v))
		return b;
	return a;
}
