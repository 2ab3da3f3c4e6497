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

/* The most specific field that is set. */
static int rank(const struct override *o)
{
	if (o->ticket)
		return 5;
	if (o->guest)
		return 4;
	if (o->storage[0])
		return 3;
	if (o->nas[0])
		return 2;
	return o->node[0] != '\0';
}

static int fields_set(const struct override *o)
{
	return (o->ticket != 0) + (o->guest != 0) + (o->storage[0] != '\0') + (o->nas[0] != '\0') +
		(o->node[0] != '\0');
}

/* Whether `a` wins over `b`. */
static bool wins(const struct override *a, const struct override *b)
{
	int rank_a = rank(a), rank_b = rank(b);
	int count_a = fields_set(a), count_b = fields_set(b);

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
