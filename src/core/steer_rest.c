// SPDX-License-Identifier: MIT
/* Rests, in pieces as long as the levers allow with short breaths between them: the first one, to
 * learn the pace; those that find out whose doing a drop is; those between slices. */
#include "core/steer_impl.h"

#define LATE_PART 50
#define BREATH_LEAST_MS (2 * MS_SECOND)
#define DRAIN_SAID_MS (2 * MS_SECOND)
#define MEASURE_MAX_MS (10 * MS_MINUTE) /* a pace that grows for longer is taken as it is */

/* How long a breath lasts: no slice, only so long that it acts. */
static int64_t breath_span(const struct step *st)
{
	return st->delay > BREATH_LEAST_MS ? st->delay : BREATH_LEAST_MS;
}

/* A breath is ordered so early that it acts in time, also by a clock that is a little late. */
static int64_t piece_span(const struct step *st)
{
	int64_t most = st->rest_max, piece = most - most / LATE_PART - st->delay;

	if (piece < 4 * st->delay)
		piece = 4 * st->delay;
	return piece < most ? piece : most;
}

static void order_breath(struct step *st)
{
	int64_t rate = 2 * st->least;

	steer_order(st, STEER_LIMIT, rate > STEER_LOW ? rate : STEER_LOW);
}

static void order_rest(struct step *st)
{
	int64_t rate = st->least;

	if (steer_can_rest(st))
		steer_order(st, STEER_REST, 0);
	else
		steer_order(st, STEER_LIMIT, rate > STEER_LEAST ? rate : STEER_LEAST);
}

/* Keeps the path as a rest needs it. */
static void rest_path(struct step *st)
{
	struct steer *s = st->s;

	if (!s->breath) {
		order_rest(st);
		if (!steer_can_rest(st) || !s->force_ms)
			return;
		if (st->now - s->force_ms >= piece_span(st)) {
			s->breath = true;
			order_breath(st);
		}
	} else if (s->force_ms && st->now - s->force_ms >= breath_span(st)) {
		s->breath = false;
		s->breath_ms = st->now;
		order_rest(st);
	}
	if (s->force_ms)
		steer_again(st, s->force_ms + (s->breath ? breath_span(st) : piece_span(st)));
}

void rest_begin(struct step *st, enum steer_phase phase)
{
	struct steer *s = st->s;

	steer_enter(st, phase);
	s->rest_ms = 0;
	s->breath = s->thorough = false;
	s->breath_ms = 0;
	grip_rest_begins(st);
	s->close_credit = s->low_credit = s->credit;
	order_rest(st);
}

int64_t rest_lasted(const struct step *st)
{
	const struct steer *s = st->s;
	int64_t since = s->rest_ms;

	if (!since)
		return -1;
	if (!s->calm_ms)
		since += STEER_DRAIN_MAX_MS;
	else if (s->calm_ms > since)
		since = s->calm_ms;
	return st->now - since;
}

bool rest_may_end(const struct step *st)
{
	const struct steer *s = st->s;

	return s->breath || (s->force_ms && st->now - s->force_ms >= 4 * st->delay);
}

/* Rests have in common: their path, and when they came into force. */
void rest_keep(struct step *st)
{
	struct steer *s = st->s;

	rest_path(st);
	if (!s->rest_ms && s->force_ms)
		s->rest_ms = s->force_ms > s->phase_ms ? s->force_ms : s->phase_ms;
	if (s->no_grip)
		st->ret->reason = STEER_NO_GRIP;
	else if (s->rest_ms && !s->calm_ms && st->now - s->rest_ms > st->delay + DRAIN_SAID_MS)
		st->ret->reason = STEER_DRAINING;
}

/* Enough was seen to go on. */
static bool measured(struct step *st, int64_t lasted)
{
	const struct steer *s = st->s;

	if (lasted < 4 * st->delay || lasted < grip_rest_least(st) || !rest_may_end(st))
		return false;
	if (s->flat_found || (s->ref.known && s->back && !s->thorough))
		return true;
	if (grip_gave_up(st))
		return true;
	/* It never gets calm: what is known will do. */
	if (!s->calm_ms && s->ref.known && !s->no_grip)
		return true;
	return st->now - s->phase_ms >= MEASURE_MAX_MS;
}

static void rest_done(struct step *st)
{
	struct steer *s = st->s;

	if (s->phase == STEER_PHASE_PROBE) {
		steady_probed(st, s->back && !s->thorough && !s->past);
		return;
	}
	if (!s->ref.known)
		calm_set(st, st->rate.v);
	s->credit = 0;
	if (steer_can_rest(st))
		slice_begin(st);
	else
		steady_begin(st, 0);
}

void rest_step(struct step *st)
{
	st->ret->reason = STEER_MEASURING;
	rest_keep(st);
	if (measured(st, rest_lasted(st)))
		rest_done(st);
}
