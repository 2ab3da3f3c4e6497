// SPDX-License-Identifier: MIT
#include "md/baseline.h"

#include <string.h>

#define KIB 1024
#define PPM 1000000
#define LEAST_PPM 900000 /* of the median: below it is more than noise */
#define SLOPE_PPM 75000  /* for each bucket: the steepest that disks get slower */

static int bucket_of(int64_t position_ppm)
{
	if (position_ppm < 0)
		return 0;
	if (position_ppm >= PPM)
		return BASELINE_BUCKETS - 1;
	return (int)(position_ppm * BASELINE_BUCKETS / PPM);
}

void baseline_add(
	struct baseline *baseline, enum md_operation operation, int64_t position_ppm, int64_t rate)
{
	int64_t kib_s = rate / KIB;
	int at = bucket_of(position_ppm);
	uint32_t n;

	if (baseline->operation != operation) {
		*baseline = (struct baseline){0};
		baseline->operation = operation;
	}
	if (kib_s <= 0)
		return;
	n = baseline->buckets[at].n++;
	baseline->buckets[at].kib_s[n % BASELINE_SAMPLES] =
		kib_s > UINT32_MAX ? UINT32_MAX : (uint32_t)kib_s;
}

/* Adds the samples of a bucket to the sorted list. */
static void gather(const struct baseline *baseline, int at, uint32_t *sorted, uint32_t *n)
{
	uint32_t i, k, count;

	if (at < 0 || at >= BASELINE_BUCKETS)
		return;
	count = baseline->buckets[at].n;
	if (count > BASELINE_SAMPLES)
		count = BASELINE_SAMPLES;
	for (i = 0; i < count; i++) {
		uint32_t v = baseline->buckets[at].kib_s[i];

		for (k = *n; k > 0 && sorted[k - 1] > v; k--)
			sorted[k] = sorted[k - 1];
		sorted[k] = v;
		(*n)++;
	}
}

/* By the samples nearest to `at`; how many buckets away the farthest of them is. */
static struct opt median_near(const struct baseline *baseline, int at, int *ret_far)
{
	uint32_t sorted[(2 * BASELINE_REACH + 1) * BASELINE_SAMPLES], n = 0;
	int far;

	for (far = 0; far <= BASELINE_REACH && n < BASELINE_ENOUGH; far++) {
		gather(baseline, at - far, sorted, &n);
		if (far)
			gather(baseline, at + far, sorted, &n);
		*ret_far = far;
	}
	if (n < BASELINE_ENOUGH)
		return OPT_NONE;
	/* Of an even count the lower of the two in the middle. */
	return OPT((int64_t)sorted[(n - 1) / 2] * KIB);
}

struct opt baseline_at(
	const struct baseline *baseline, enum md_operation operation, int64_t position_ppm)
{
	int far = 0;

	if (baseline->operation != operation || operation == MD_OP_NONE)
		return OPT_NONE;
	return median_near(baseline, bucket_of(position_ppm), &far);
}

struct opt baseline_least(
	const struct baseline *baseline, enum md_operation operation, int64_t position_ppm)
{
	struct opt median = OPT_NONE;
	int far = 0;

	if (baseline->operation == operation && operation != MD_OP_NONE)
		median = median_near(baseline, bucket_of(position_ppm), &far);
	if (!median.known)
		return OPT_NONE;
	return OPT(median.v / PPM * (LEAST_PPM - far * SLOPE_PPM));
}

void baseline_forget(
	struct baseline *baseline, enum md_operation operation, int64_t position_ppm, uint32_t n)
{
	struct baseline_bucket *bucket = &baseline->buckets[bucket_of(position_ppm)], was = *bucket;
	uint32_t kept = was.n < BASELINE_SAMPLES ? was.n : BASELINE_SAMPLES, first = was.n - kept;
	uint32_t i;

	if (baseline->operation != operation)
		return;
	kept = n < kept ? kept - n : 0;
	for (i = 0; i < kept; i++)
		bucket->kib_s[i] = was.kib_s[(first + i) % BASELINE_SAMPLES];
	bucket->n = kept;
}
