// SPDX-License-Identifier: MIT
/* Which way moves more for what the rebuild loses: by whole periods of slices and stretches at a
 * limit, now and then again, and only by a clear lead. */
#include "core/steer_impl.h"

#include "md/rate.h"

#define FIRST_PERIODS 3 /* of slices, before a limit is tried */
#define TRIAL_PERIODS 2 /* of slices, tried from a limit */
#define LEAD_PPM 1100000
#define RECHECK_OVERS 6  /* times `over` until the other way is tried again: */
#define RECHECK_MOST 32  /* twice as long each time that nothing has changed */
#define CLEAR_PPM 100000 /* a share that is missed by so much */
#define SLOW_PART 8 /* a rebuild that needs this part of `over` to come back: slices are dear */

/* Bytes moved for each second at full pace that the rebuild lost; 0 where nothing tells. What
 * cannot be measured, a hundredth of the time, counts as lost. */
static int64_t worth(const struct steer_sum *sum)
{
	int64_t lost = (sum->ms * PPM - sum->kept) / PPM;

	if (lost < sum->ms / 100 + 1)
		lost = sum->ms / 100 + 1;
	return rate_muldiv(sum_pace(sum).v, sum->ms, lost);
}

static bool leads(const struct steer_sum *one, const struct steer_sum *other)
{
	return worth(one) > rate_muldiv(worth(other), LEAD_PPM, PPM);
}

/* The newest weigh most. */
static void remember(struct step *st, struct steer_sum *sum, const struct steer_sum *more)
{
	if (sum->ms > 2 * st->over) {
		sum->ms /= 2;
		sum->kept /= 2;
		sum->moved /= 2;
		sum->moved_ms /= 2;
	}
	sum_add(sum, more);
}

/* The other way was tried: `way` it is. */
static void chosen(struct step *st, enum steer_way way)
{
	struct steer *s = st->s;

	if (s->way == (int)way)
		s->recheck_span_ms *= 2;
	else
		s->recheck_span_ms = RECHECK_OVERS * st->over;
	if (s->recheck_span_ms > RECHECK_MOST * st->over)
		s->recheck_span_ms = RECHECK_MOST * st->over;
	s->way = (int)way;
	s->trial = false;
	s->recheck_ms = st->now + s->recheck_span_ms;
}

/* A period of slices is complete. */
static void period(struct step *st)
{
	struct steer *s = st->s;

	if (s->in_period) {
		remember(st, &s->slices, &s->cycle);
		s->cycles++;
	}
}

/* Whether it is time to try a limit. */
static bool try_steady(const struct step *st)
{
	const struct steer *s = st->s;
	int need = s->comeback_ms > st->over / SLOW_PART ? 1 : FIRST_PERIODS;
	struct opt share = sum_share(&s->slices), pace = sum_pace(&s->slices);

	if (s->trial || pace.v <= STEER_LEAST / 2)
		return false;
	if (share.v > PPM - PPM / 50)
		return false; /* costs nothing: no limit can be better */
	if (s->way == STEER_WAY_NONE)
		return s->cycles >= need;
	return st->now >= s->recheck_ms;
}

bool choose_slice(struct step *st)
{
	struct steer *s = st->s;
	int need = s->comeback_ms > st->over / SLOW_PART ? 1 : TRIAL_PERIODS;

	period(st);
	if (try_steady(st)) {
		s->trial = true;
		steady_begin(st, sum_pace(&s->slices).v);
		return false;
	}
	if (s->trial && s->cycles >= need) {
		if (!leads(&s->slices, &s->steady)) {
			chosen(st, STEER_STEADY);
			steady_begin(st, s->limit);
			return false;
		}
		chosen(st, STEER_SLICES);
	}
	return true;
}

static void try_slices(struct step *st)
{
	struct steer *s = st->s;

	s->trial = true;
	s->cycles = 0;
	s->in_period = false;
	s->slices = (struct steer_sum){0};
	rest_begin(st, STEER_PHASE_REST);
	st->ret->reason = STEER_TRYING;
}

bool choose_steady(struct step *st)
{
	struct steer *s = st->s;
	bool clear = sum_share(&s->judged).v < st->protect - CLEAR_PPM;

	if (!steer_can_rest(st))
		return true;
	if (s->trial) {
		if (leads(&s->judged, &s->slices)) {
			s->steady = s->judged;
			chosen(st, STEER_STEADY);
			return true;
		}
		chosen(st, STEER_SLICES);
		s->cycles = 0;
		rest_begin(st, STEER_PHASE_REST);
		st->ret->reason = STEER_RESTING;
		return false;
	}
	remember(st, &s->steady, &s->judged);
	/* Far from its aim, and slices were better than this. */
	if (clear && leads(&s->slices, &s->judged)) {
		try_slices(st);
		return false;
	}
	if (st->now < s->recheck_ms || s->path == STEER_OPEN)
		return true;
	if (s->comeback_ms <= st->over / SLOW_PART) {
		try_slices(st);
		return false;
	}
	/* Slices could not win; but what it does undisturbed may have changed. */
	chosen(st, STEER_STEADY);
	rest_begin(st, STEER_PHASE_PROBE);
	s->thorough = true;
	st->ret->reason = STEER_MEASURING;
	return false;
}
