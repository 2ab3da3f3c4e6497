// SPDX-License-Identifier: MIT
#include "core/pace.h"

#include "md/rate.h"

#define PPM INT64_C(1000000)

struct opt pace_predict_ms(int64_t bytes, struct opt pace)
{
	int64_t ms;

	if (!pace.known || pace.v <= 0)
		return OPT_NONE;
	ms = rate_muldiv(bytes, MS_SECOND, pace.v);
	/* A part of a millisecond is one. */
	if (ms < INT64_MAX && rate_muldiv(ms, pace.v, MS_SECOND) < bytes)
		ms++;
	return OPT(ms);
}

/* What the backups get of the disks while this share is protected. */
static int64_t left_ppm(int64_t share_ppm)
{
	return PPM - (share_ppm < PACE_SHARE_MAX ? share_ppm : PACE_SHARE_MAX);
}

int64_t pace_at_share_ms(int64_t predicted_ms, int64_t protect_ppm, int64_t share_ppm)
{
	return rate_muldiv(predicted_ms, left_ppm(protect_ppm), left_ppm(share_ppm));
}

int64_t pace_relax_ppm(
	int64_t predicted_ms, int64_t span_ms, int64_t protect_ppm, int64_t protect_min_ppm)
{
	int64_t share = protect_ppm;

	while (share > protect_min_ppm &&
		pace_at_share_ms(predicted_ms, protect_ppm, share) > span_ms) {
		share -= PACE_STEP_PPM;
		if (share < protect_min_ppm)
			share = protect_min_ppm;
	}
	return share;
}
