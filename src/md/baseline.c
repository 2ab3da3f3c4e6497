// SPDX-License-Identifier: MIT
#include "md/baseline.h"

#include <string.h>

#define KIB 1024
#define PPM 1000000

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

struct opt baseline_at(
	const struct baseline *baseline, enum md_operation operation, int64_t position_ppm)
{
	uint32_t sorted[(2 * BASELINE_REACH + 1) * BASELINE_SAMPLES], n = 0;
	int here = bucket_of(position_ppm), far;

	if (baseline->operation != operation || operation == MD_OP_NONE)
		return OPT_NONE;
	for (far = 0; far <= BASELINE_REACH && n < BASELINE_ENOUGH; far++) {
		gather(baseline, here - far, sorted, &n);
		if (far)
			gather(baseline, here + far, sorted, &n);
	}
	if (n < BASELINE_ENOUGH)
		return OPT_NONE;
	/* Of an even count the lower of the two in the middle. */
	return OPT((int64_t)sorted[(n - 1) / 2] * KIB);
}
