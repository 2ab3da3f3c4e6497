// SPDX-License-Identifier: MIT
/*
 * What an operation does undisturbed, by position: disks slow down towards their inner tracks.
 * Pure.
 *
 * Each twentieth of the way keeps its last few samples; where it has too few, those nearest to it
 * help out, as far as a quarter of the way. The median is what counts, so that one odd sample (a
 * jump over what a bitmap says is clean) moves nothing. Before enough samples nothing is known.
 */
#ifndef RG_MD_BASELINE_H
#define RG_MD_BASELINE_H

#include "md/facts.h"

#define BASELINE_BUCKETS 20
#define BASELINE_SAMPLES 5 /* kept for each bucket */
#define BASELINE_ENOUGH 3  /* samples, before anything is said */
#define BASELINE_REACH 5   /* buckets to either side that may help out */

struct baseline_bucket {
	uint32_t n;                       /* samples taken */
	uint32_t kib_s[BASELINE_SAMPLES]; /* a ring */
};

/* Plain data, all zero is empty: the store keeps it as it is. */
struct baseline {
	enum md_operation operation; /* a reshape's pace says nothing of a recovery's */
	struct baseline_bucket buckets[BASELINE_BUCKETS];
};

/* An undisturbed sample. Another operation than before starts anew. */
void baseline_add(
	struct baseline *baseline, enum md_operation operation, int64_t position_ppm, int64_t rate);

/* Bytes/s at this position, by the samples nearest to it. */
struct opt baseline_at(
	const struct baseline *baseline, enum md_operation operation, int64_t position_ppm);

/* What at least is to be expected here undisturbed: less than that is more than noise, and more
 * than disks slow down between here and where the samples were taken. */
struct opt baseline_least(
	const struct baseline *baseline, enum md_operation operation, int64_t position_ppm);

/* The newest samples taken about here, `n` at most, were not undisturbed after all. */
void baseline_forget(
	struct baseline *baseline, enum md_operation operation, int64_t position_ppm, uint32_t n);

#endif
