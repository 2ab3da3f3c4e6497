// SPDX-License-Identifier: MIT
#include "core/override.h"

#include <string.h>

static bool text_fits(const char *scope, const char *actual)
{
	return !scope[0] || strcmp(scope, actual) == 0;
}

/* A whole job is not decided by what was said about one of its guests. */
static bool guest_fits(uint32_t guest, const struct request *request)
{
	if (!guest)
		return true;
	if (request->phase == PHASE_BACKUP_START)
		return request->guest == guest;
	return request->n_guests == 1 && request->guests[0] == guest;
}

static bool covers(const struct override *o, const struct inputs *in)
{
	return o->verdict != VERDICT_NONE && o->until_utc_ms > in->now.utc_ms &&
		(!o->ticket || o->ticket == in->ticket.id) && guest_fits(o->guest, &in->request) &&
		text_fits(o->storage, in->request.storage) && text_fits(o->nas, in->mapping.nas) &&
		text_fits(o->node, in->request.node);
}

/* One bit for each field that is set, the most specific one highest: compared as a number, the most
 * specific field decides alone. */
static int fields_of(const struct override *o)
{
	return (o->ticket != 0) << 4 | (o->guest != 0) << 3 | (o->storage[0] != 0) << 2 |
		(o->nas[0] != 0) << 1 | (o->node[0] != 0);
}

/* Whether `a` wins over `b`. */
static bool wins(const struct override *a, const struct override *b)
{
	int fields_a = fields_of(a), fields_b = fields_of(b);
	int count_a = __builtin_popcount((unsigned int)fields_a);
	int count_b = __builtin_popcount((unsigned int)fields_b);
	int rank_a = fields_a ? 32 - __builtin_clz((unsigned int)fields_a) : 0;
	int rank_b = fields_b ? 32 - __builtin_clz((unsigned int)fields_b) : 0;

	if (rank_a != rank_b)
		return rank_a > rank_b;
	if (count_a != count_b)
		return count_a > count_b;
	if (a->created_utc_ms != b->created_utc_ms)
		return a->created_utc_ms > b->created_utc_ms;
	return a->id > b->id;
}

const struct override *override_find(const struct inputs *in)
{
	const struct override *best = NULL;
	size_t i;

	for (i = 0; i < in->n_overrides && i < OVERRIDE_MAX; i++) {
		const struct override *o = &in->overrides[i];

		if (covers(o, in) && (!best || wins(o, best)))
			best = o;
	}
	return best;
}
