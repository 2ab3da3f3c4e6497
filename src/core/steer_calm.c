// SPDX-License-Identifier: MIT
/* What the rebuild does undisturbed, and how long it takes to come back once nobody writes. */
#include "core/steer_impl.h"

#include <string.h>

#include "md/rate.h"

#define HURT_PPM 700000 /* below it a rebuild has been disturbed: how it comes back is learned */
#define ABOVE_PPM 1100000
#define GROWN_PPM 1040000 /* a pace that grows by less than this has stopped growing */
#define FLAT_MS (25 * MS_SECOND)
#define SLOW_MS (30 * MS_SECOND)
#define SLOPE_NUM 3 /* of the pace over the whole way: the steepest that disks get slower */
#define SLOPE_DEN 2
#define FOLD_MS (20 * MS_SECOND) /* so much calm counts as much as all that was known before */
#define FOLD_LEAST_MS (4 * MS_SECOND)
#define ABOVE_LEAST_MS (8 * MS_SECOND)

/* `pace`, where the baseline said `base`, as it is where the rebuild is now. */
static struct opt pace_here(const struct step *st, struct opt pace, struct opt base, int64_t at_ppm)
{
	int64_t ratio, slack, here;

	/* Beside a rebuild that is slow to come back a baseline learns next to nothing. */
	if (!pace.known || !base.known || !st->baseline.known || st->s->comeback_ms > SLOW_MS)
		return pace;
	/* Disks slow down by position, and no faster than this. */
	slack = st->at_ppm - at_ppm;
	slack = (slack < 0 ? -slack : slack) * SLOPE_NUM / SLOPE_DEN;
	ratio = rate_muldiv(st->baseline.v, PPM, base.v);
	ratio = ratio > PPM + slack ? PPM + slack : ratio;
	ratio = ratio < PPM - slack ? PPM - slack : ratio;
	here = rate_muldiv(pace.v, ratio, PPM);
	return OPT(here > 0 ? here : 1);
}

struct opt calm_pace(const struct step *st)
{
	return pace_here(st, st->s->ref, st->s->ref_base, st->s->ref_at_ppm);
}

struct opt calm_far(const struct step *st)
{
	return pace_here(st, st->s->far, st->s->far_base, st->s->far_at_ppm);
}

void calm_anew(struct steer *s)
{
	s->share = s->share_before = OPT_NONE;
	s->calm_ms = 0;
	s->back = s->hurt = s->flat_found = false;
	s->n_flat = 0;
	s->calm = (struct steer_sum){0};
}

void calm_forget(struct steer *s)
{
	calm_anew(s);
	s->past = 0;
	s->ref = s->ref_base = s->far = s->slice_share = OPT_NONE;
	s->comeback_ms = s->drain_ms = s->tail = s->not_ours_ms = 0;
	s->slices = s->steady = (struct steer_sum){0};
	s->cycles = 0;
	s->way = STEER_WAY_NONE;
	s->limit = s->low = s->high = s->recheck_ms = s->recheck_span_ms = s->probe_ms = 0;
}

void calm_set(struct step *st, int64_t rate)
{
	st->s->ref = OPT(steer_within(rate, 1, STEER_MOST));
	st->s->ref_base = st->baseline;
	st->s->ref_at_ppm = st->at_ppm;
	if (st->s->ref_base.v <= 0)
		st->s->ref_base = OPT_NONE;
}

/* Takes what was seen in this calm into what is known. */
static void fold(struct step *st)
{
	struct steer *s = st->s;
	struct opt mean = sum_share(&s->calm), was = calm_pace(st);
	int64_t part;

	if (s->calm.ms < FOLD_LEAST_MS)
		return;
	/* `kept` of this sum is bytes/s x ms. */
	part = s->calm.ms < FOLD_MS ? s->calm.ms : FOLD_MS;
	s->calm = (struct steer_sum){0};
	if (part >= ABOVE_LEAST_MS && mean.v > rate_muldiv(was.v, ABOVE_PPM, PPM))
		calm_set(st, mean.v);
	else
		calm_set(st, was.v + (mean.v - was.v) * part / (2 * FOLD_MS));
}

static void calm_add(struct step *st, int64_t rate, int64_t ms)
{
	struct steer *s = st->s;

	s->calm.ms += ms;
	s->calm.kept += rate * ms;
	if (s->calm.ms >= FOLD_MS)
		fold(st);
}

void calm_end(struct step *st)
{
	struct steer *s = st->s;

	fold(st);
	s->calm_ms = 0;
	s->back = s->flat_found = false;
	s->n_flat = 0;
	s->calm = (struct steer_sum){0};
	s->hurt = s->hurt || (s->share.known && s->share.v < HURT_PPM);
}

static void come_back(struct step *st)
{
	struct steer *s = st->s;
	int64_t took = st->in->read_at_ms - s->calm_ms;

	if (s->back || s->share.v + s->share_before.v < 2 * STEER_BACK_PPM)
		return;
	s->back = true;
	s->back_ms = took;
	if (!s->hurt)
		return;
	s->hurt = false;
	if (!s->comeback_ms)
		s->comeback_ms = took;
	else if (took > s->comeback_ms)
		s->comeback_ms += (took - s->comeback_ms) / 2;
	else
		s->comeback_ms += (took - s->comeback_ms) / 4;
}

bool calm_above(const struct steer *s)
{
	return s->share.v + s->share_before.v > 2 * ABOVE_PPM;
}

static int64_t flat_mean(const struct steer *s, int at)
{
	return s->flat[at].kept / s->flat[at].ms;
}

/* The pace has stopped growing where it is: that is what it does undisturbed now, whatever it was
 * before. */
static void flat_seen(struct step *st, int64_t mean)
{
	struct steer *s = st->s;
	struct opt was = calm_pace(st);

	s->flat_found = true;
	if (was.known && mean < rate_muldiv(was.v, STEER_BACK_PPM, PPM)) {
		s->not_ours_ms = st->in->read_at_ms;
		s->credit = 0; /* was counted by what it no longer does */
		s->hurt = false;
		calm_set(st, mean);
	} else if (!was.known) {
		calm_set(st, mean);
	}
}

/* How many stretches of calm must be compared: one more where it speaks against what is known and
 * no other client explains it. */
static int flats_needed(const struct steer *s)
{
	return s->ref.known && !s->foreign ? STEER_FLATS : STEER_FLATS - 1;
}

static void flat_read(struct step *st, int64_t rate, int64_t ms)
{
	struct steer *s = st->s;
	int need = flats_needed(s);

	if (s->flat_found)
		return;
	if (!s->n_flat || s->flat[s->n_flat - 1].ms >= FLAT_MS) {
		if (s->n_flat == STEER_FLATS)
			memmove(&s->flat[0], &s->flat[1], sizeof(s->flat) - sizeof(s->flat[0]));
		else
			s->n_flat++;
		s->flat[s->n_flat - 1] = (struct steer_sum){0};
	}
	s->flat[s->n_flat - 1].ms += ms;
	s->flat[s->n_flat - 1].kept += rate * ms;
	if (s->n_flat < need || s->flat[s->n_flat - 1].ms < FLAT_MS)
		return;
	/* Nothing at all does not grow either. */
	if (rate_muldiv(flat_mean(s, s->n_flat - need), GROWN_PPM, PPM) >=
		flat_mean(s, s->n_flat - 1))
		flat_seen(st, (flat_mean(s, s->n_flat - 2) + flat_mean(s, s->n_flat - 1)) / 2);
}

/* How long caches were written out after a rest came into force: not since it was ordered from a
 * lever that did not answer. */
static void drained(struct step *st, int64_t from_ms)
{
	struct steer *s = st->s;
	int64_t since = s->rest_ms, took;

	if (!since || s->past || s->breath_ms || !s->hurt || !st->in->applied)
		return;
	if (st->in->applied_ms > since)
		since = st->in->applied_ms;
	took = from_ms > since ? from_ms - since : 0;
	s->drain_ms += (took - s->drain_ms) / (took > s->drain_ms ? 2 : 4);
}

void calm_read(struct step *st, int64_t from_ms)
{
	struct steer *s = st->s;
	int64_t rate = st->rate.v, ms = st->in->read_at_ms - from_ms;

	if (!s->calm_ms) {
		s->calm_ms = from_ms;
		drained(st, from_ms);
		return; /* part of the window may have been busy */
	}
	come_back(st);
	flat_read(st, rate, ms);
	/* Until it is back for sure, only a pace above what it is taken for counts, in a row. */
	if (from_ms < s->calm_ms + 2 * s->back_ms && !calm_above(s))
		s->calm = (struct steer_sum){0};
	else if (s->back && !grip_lull(st))
		calm_add(st, rate, ms);
}
