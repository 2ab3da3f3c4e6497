// SPDX-License-Identifier: MIT
/* Slices: full speed until the account is used up, then a rest until it is level again. */
#include "core/steer_impl.h"

/* Thousandths of the time averaged over: so far a window's share may be off; more where a rebuild
 * is slow to come back. */
#define SWING_PART 15
#define SWING_MOST 40
#define LONG_PART 7 /* of a window: a slice that costs more is long against it */
#define SLICE_LEAST_MS (2 * MS_SECOND)
#define REST_LEAST_MS (4 * MS_SECOND)
#define REST_ABOVE_MS (14 * MS_SECOND)
#define REST_MOST_MS (20 * MS_MINUTE)
/* A slice of which nothing is known yet waits so long for a reading. */
#define LOOK_MS (6 * MS_SECOND)
/* A path that stays open tells nothing of what the rebuild would do without the backups: looked at
 * anew after so many times `over`. */
#define REMEASURE_OVERS 24

static int64_t slice_least(const struct step *st)
{
	return 4 * st->delay > SLICE_LEAST_MS ? 4 * st->delay : SLICE_LEAST_MS;
}

/* What a slice costs for each ms; next to nothing at least, so that one may divide by it. */
static int64_t slice_cost(const struct step *st)
{
	int64_t cost = st->protect - (st->s->slice_share.known ? st->s->slice_share.v : 0);

	return cost > PPM / 100 ? cost : PPM / 100;
}

int64_t slice_swing(const struct step *st)
{
	const struct steer *s = st->s;
	int64_t left = PPM - st->protect, most = st->over * SWING_MOST / 1000 * PPM;
	int64_t swing = st->over * SWING_PART / 1000 * PPM;
	int64_t back = 4 * (s->comeback_ms + s->drain_ms) * left;
	int64_t rest = st->rest_max * left;

	if (back > most)
		back = most;
	if (back > swing)
		swing = back;
	/* One rest in one piece is better than a breath. */
	if (rest > 0 && swing > rest && back <= rest)
		swing = rest;
	if (swing < slice_least(st) * slice_cost(st))
		swing = slice_least(st) * slice_cost(st);
	return swing;
}

/* The shortest slice is already more than a window can bear: it is not made longer by what the
 * account has gathered; that makes the next rest shorter. */
static bool is_long(const struct step *st)
{
	return slice_least(st) * slice_cost(st) > st->over / LONG_PART * PPM;
}

/* So long a rest lasts after such a slice, whatever the account has gathered: two of them in one
 * window are worse than one, and most of it is needed anyway. */
static int64_t between(const struct step *st)
{
	int64_t needed = slice_least(st) * slice_cost(st) / (PPM - st->protect) * 3 / 4;
	int64_t apart = st->over - slice_least(st);

	return needed < apart ? needed : apart;
}

/* The account now: as of the last reading, and by what is known since. */
static int64_t credit_now(const struct step *st)
{
	const struct steer *s = st->s;
	int64_t from = s->read_ms, acts = s->force_ms + st->delay / 2;
	int64_t credit = s->credit;

	if (s->phase != STEER_PHASE_SLICE) {
		if (s->share.v >= STEER_BACK_PPM)
			credit += (PPM - st->protect) * (st->now - from);
		return credit;
	}
	if (acts > st->now)
		acts = st->now;
	if (acts > from) {
		credit += (PPM - st->protect) * (acts - from);
		from = acts;
	}
	return credit - slice_cost(st) * (st->now - from);
}

void slice_begin(struct step *st)
{
	struct steer *s = st->s;

	steer_enter(st, STEER_PHASE_SLICE);
	s->rest_ms = s->breath_ms = 0;
	s->breath = s->unused = false;
	s->open_credit = s->credit;
	s->in_period = true;
	s->cycle = (struct steer_sum){0};
	steer_order(st, STEER_OPEN, 0);
	st->ret->reason = s->trial ? STEER_TRYING : STEER_SLICE;
}

/* Whether a reading has shown what this slice does, or there is no waiting for one any longer. */
static bool slice_seen(const struct step *st)
{
	const struct steer *s = st->s;

	if (s->slice_share.known)
		return true;
	return st->now - s->force_ms >= LOOK_MS + st->delay;
}

void slice_step(struct step *st)
{
	struct steer *s = st->s;
	int64_t left, end, look;

	st->ret->reason = s->trial ? STEER_TRYING : STEER_SLICE;
	if (!s->force_ms)
		return;
	if (st->now - s->force_ms > st->over / 4 &&
		s->credit >= s->open_credit - slice_swing(st) / 4)
		st->ret->reason = STEER_KEEPING;
	left = credit_now(st) - s->tail + slice_swing(st);
	end = st->now + left / slice_cost(st);
	if (end < s->force_ms + slice_least(st) || is_long(st))
		end = s->force_ms + slice_least(st);
	if (!slice_seen(st))
		end = s->force_ms + LOOK_MS + st->delay;
	if (end > s->phase_ms + REMEASURE_OVERS * st->over)
		end = s->phase_ms + REMEASURE_OVERS * st->over;
	look = steer_within(grip_look_ms(st), s->force_ms + slice_least(st), INT64_MAX);
	if (end > look)
		end = look;
	if (st->now < end) {
		steer_again(st, end);
		return;
	}
	/* A rest would help nothing now: a slice that nobody uses is one. */
	if (s->unused && st->now < look) {
		st->ret->reason = STEER_KEEPING;
		return;
	}
	left = credit_now(st);
	rest_begin(st, STEER_PHASE_REST);
	s->close_credit = s->low_credit = left;
	st->ret->reason = STEER_RESTING;
}

/* What the slice cost after its end, and whether it cost what it was taken for. */
static void slice_learn(struct step *st)
{
	struct steer *s = st->s;
	int64_t tail = s->close_credit - s->low_credit, cost = s->open_credit - s->low_credit;

	/* Whose it is cannot be told where another writes past the levers. */
	s->tail = s->past ? 0 : (s->tail + tail) / 2;
	if (cost < slice_least(st) * slice_cost(st) / 2)
		s->slice_share = OPT_NONE;
}

void slice_rest_step(struct step *st)
{
	struct steer *s = st->s;
	int64_t least = 4 * st->delay > REST_LEAST_MS ? 4 * st->delay : REST_LEAST_MS, lasted, left;

	st->ret->reason = s->trial ? STEER_TRYING : STEER_RESTING;
	rest_keep(st);
	grip_gave_up(st);
	lasted = rest_lasted(st);
	if (least < 2 * s->comeback_ms && s->comeback_ms < st->over / 8)
		least = 2 * s->comeback_ms;
	if (is_long(st) && least < between(st))
		least = between(st);
	if (least < grip_rest_least(st))
		least = grip_rest_least(st);
	/* It does more than it is taken for: how much? */
	if (least < REST_ABOVE_MS && calm_above(s))
		least = REST_ABOVE_MS;
	left = -credit_now(st);
	if (lasted >= least && rest_may_end(st) &&
		(left <= 0 || st->now - s->rest_ms > REST_MOST_MS)) {
		if (left > 0)
			s->credit = 0;
		slice_learn(st);
		if (choose_slice(st))
			slice_begin(st);
		return;
	}
	if (lasted >= 0) {
		left = left > 0 ? left / (PPM - st->protect) : 0;
		if (left < least - lasted)
			left = least - lasted;
		if (left < 4 * st->delay && !rest_may_end(st))
			left = 4 * st->delay;
		steer_again(st, st->now + left);
	}
	if (s->calm_ms && s->not_ours_ms && st->now - s->not_ours_ms < 10 * MS_SECOND)
		st->ret->reason = STEER_NOT_OURS;
}
