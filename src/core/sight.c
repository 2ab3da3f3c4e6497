// SPDX-License-Identifier: MIT
#include "core/sight.h"

static void end_outage(struct sight *sight, int64_t now_ms, int64_t settle_ms)
{
	if (sight->seen_since_ms.known && now_ms - sight->seen_since_ms.v >= settle_ms)
		sight->outage_since_ms = OPT_NONE;
}

bool sight_seen(struct sight *sight, int64_t now_ms, int64_t settle_ms)
{
	bool was_blind = sight->blind;

	sight->blind = false;
	if (!sight->seen_since_ms.known)
		sight->seen_since_ms = OPT(now_ms);
	end_outage(sight, now_ms, settle_ms);
	return was_blind;
}

bool sight_lost(struct sight *sight, int64_t now_ms, int64_t settle_ms)
{
	bool was_blind = sight->blind;

	end_outage(sight, now_ms, settle_ms);
	if (!sight->outage_since_ms.known)
		sight->outage_since_ms = OPT(now_ms);
	sight->blind = true;
	sight->seen_since_ms = OPT_NONE;
	return !was_blind;
}

struct opt sight_blind_since(const struct sight *sight)
{
	return sight->blind ? sight->outage_since_ms : OPT_NONE;
}
