// SPDX-License-Identifier: MIT
/*
 * How long a throttled job will take, and how much of the rebuild's protected share must be given
 * up for it to be done in time. Pure.
 *
 * The model is monotone and crude on purpose: what a backup moves is proportional to what the
 * rebuild loses, (1 - share). It serves to choose a share before the job starts; what the share
 * then really costs, the controller measures (core/steer.h). A share above PACE_SHARE_MAX counts
 * as that: at 100 % nothing would ever move.
 */
#ifndef RG_CORE_PACE_H
#define RG_CORE_PACE_H

#include <stdint.h>

#include "base/moment.h"

#define PACE_STEP_PPM INT64_C(100000)  /* `protect` is given up in steps of 10 points */
#define PACE_SHARE_MAX INT64_C(990000) /* ppm */

/* How long `bytes` (>= 0) take at `pace` bytes/s: ms, rounded up. Unknown where the pace is not
 * known or is 0; INT64_MAX where it does not fit. */
struct opt pace_predict_ms(int64_t bytes, struct opt pace);

/* How long a job that takes `predicted_ms` while `protect_ppm` is protected would take at
 * `share_ppm` instead: ms. Shares are 0 to 1,000,000. */
int64_t pace_at_share_ms(int64_t predicted_ms, int64_t protect_ppm, int64_t share_ppm);

/* The greatest share, of `protect_ppm` and steps of PACE_STEP_PPM down from it to
 * `protect_min_ppm`, at which the job fits in `span_ms`; the lowest of them where it fits at none
 * (whether it does, pace_at_share_ms() tells). Never above `protect_ppm`; equal to it where
 * `protect_min_ppm` is not below it. */
int64_t pace_relax_ppm(
	int64_t predicted_ms, int64_t span_ms, int64_t protect_ppm, int64_t protect_min_ppm);

#endif
