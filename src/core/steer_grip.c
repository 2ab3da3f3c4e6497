// SPDX-License-Identifier: MIT
/* Whether the levers hold what they are set to; and where they do not, that nobody is squeezed for
 * it: a rest that brings nothing back ends, what is written past it counts as another's, whoever's
 * it is, and what the rebuild does beside it is what the levers can protect. A rest now and then
 * looks whether that is still so. */
#include "core/steer_impl.h"

#include "md/rate.h"

#define GRIP_LEAST_MS (10 * MS_SECOND)
#define GRIP_SLACK INT64_C(524288) /* bytes/s */
#define FULL_FALL_PPM 700000       /* of the full speed: what is left after a close has fallen */
/* A rest without grip: longer than it takes the page cache of a large server to be written out. */
#define GIVE_UP_MS (5 * MS_MINUTE)
/* Who writes past the levers now and then has stopped after so long. */
#define PAST_MS (5 * MS_MINUTE)
#define DRAIN_LEAST_MS (4 * MS_SECOND)
#define LOOK_MS (6 * MS_SECOND) /* a reading or two */
/* So long the path may be open before a rest looks. */
#define LOOK_AGAIN_MS (10 * MS_MINUTE)

bool grip_others_write(const struct step *st)
{
	int64_t write = st->write.v;

	if (st->moved.known)
		return st->moved.v <= 2 * st->least + GRIP_SLACK;
	return st->in->applied && write < rate_muldiv(st->s->full_write, FULL_FALL_PPM, PPM);
}

/* A path that is closed or limited, and more is written all the same. */
static void read_grip(struct step *st, int64_t from_ms)
{
	struct steer *s = st->s;
	int64_t limit = s->path == STEER_LIMIT ? s->rate : st->least;
	int64_t patience = st->moved.known ? 3 * st->delay : STEER_DRAIN_MAX_MS;
	struct opt flow = sight_moved(st);

	if (s->path != STEER_LIMIT && s->path != STEER_REST) {
		s->over_since_ms = 0;
		return;
	}
	if (!flow.known || !sight_acted(st, from_ms))
		return;
	if ((flow.v - GRIP_SLACK) * 3 / 4 <= limit) {
		s->over_since_ms = 0;
		s->no_grip = false;
		return;
	}
	if (!s->over_since_ms)
		s->over_since_ms = from_ms;
	if (patience < GRIP_LEAST_MS)
		patience = GRIP_LEAST_MS;
	if (st->in->read_at_ms - s->over_since_ms >= patience && !grip_others_write(st))
		s->no_grip = true;
}

/* What is written, by the best account of it. */
static struct opt written(const struct step *st)
{
	return st->write.known ? st->write : st->moved;
}

/* What may be written past a closed path and be nobody's whom the levers should hold. */
static int64_t held_level(const struct step *st)
{
	int64_t past = st->s->rest_ms ? st->s->past : 0;

	return sight_quiet_level(st) - past - past / 4;
}

bool grip_lull(const struct step *st)
{
	return st->s->past && written(st).v <= held_level(st);
}

int64_t grip_rest_least(const struct step *st)
{
	const struct steer *s = st->s;

	if (!s->past || !s->looks)
		return 0;
	return st->delay + LOOK_MS + (grip_lull(st) ? DRAIN_LEAST_MS : STEER_DRAIN_MAX_MS);
}

/* Whether what is written while the path is shut cannot come out of caches: it began again, or goes
 * on for longer than they take. */
static bool no_cache(struct step *st, int64_t from_ms)
{
	struct steer *s = st->s;

	if (grip_lull(st)) {
		s->lulled = true;
		return false;
	}
	return s->lulled || from_ms >= s->rest_ms + STEER_DRAIN_MAX_MS;
}

/* The path is shut: what is written past it, and what the rebuild does beside that. */
static void read_past(struct step *st, int64_t from_ms)
{
	struct steer *s = st->s;
	struct opt write = written(st);
	int64_t ms = st->in->read_at_ms - from_ms;

	if (!write.known || s->disturbed)
		return;
	if (from_ms >= s->rest_ms + STEER_DRAIN_MAX_MS) {
		s->shut.ms += ms;
		s->shut.kept += st->rate.v * ms;
		s->shut.moved += write.v * ms;
	}
	if (!s->past)
		return;
	if (no_cache(st, from_ms))
		s->past_ms = st->in->read_at_ms;
	else if (grip_lull(st) && st->in->read_at_ms - s->past_ms >= PAST_MS)
		grip_end(st);
}

void grip_read(struct step *st, int64_t from_ms)
{
	struct steer *s = st->s;

	read_grip(st, from_ms);
	if (sight_shut(st, from_ms))
		read_past(st, from_ms);
	else if (s->past && s->over_since_ms)
		s->past_ms = st->in->read_at_ms;
}

static void remember_far(struct step *st)
{
	struct steer *s = st->s;

	if (s->past)
		return;
	s->far = calm_pace(st);
	s->far_base = s->far.known ? st->baseline : OPT_NONE;
	s->far_at_ppm = st->at_ppm;
}

static void give_up(struct step *st)
{
	struct steer *s = st->s;
	struct opt was = calm_pace(st);
	int64_t does = s->shut.kept / s->shut.ms;

	remember_far(st);
	if (!was.known || does < rate_muldiv(was.v, STEER_BACK_PPM, PPM))
		calm_set(st, does);
	s->past = steer_within(s->shut.moved / s->shut.ms - s->foreign, 1, STEER_MOST);
	s->past_ms = s->look_ms = st->now;
	s->shut = s->judged = (struct steer_sum){0};
	s->slice_share = OPT_NONE;
	s->credit = s->close_credit = s->low_credit = 0; /* counted by what it no longer does */
}

bool grip_gave_up(struct step *st)
{
	const struct steer *s = st->s;

	if (s->shut.ms <= 0 || st->now - s->rest_ms < GIVE_UP_MS ||
		s->shut.moved / s->shut.ms <= held_level(st))
		return false;
	give_up(st);
	return true;
}

int64_t grip_look_ms(const struct step *st)
{
	const struct steer *s = st->s;

	/* An open path that shows no more than another's writes does not show when he stops. */
	if (!s->past && !(s->foreign && s->unused && s->phase == STEER_PHASE_SLICE))
		return INT64_MAX;
	return s->look_ms + LOOK_AGAIN_MS;
}

void grip_rest_begins(struct step *st)
{
	struct steer *s = st->s;

	s->shut = (struct steer_sum){0};
	s->lulled = false;
	s->looks = st->now >= grip_look_ms(st);
	if (!s->past || s->looks)
		s->look_ms = st->now;
}

void grip_end(struct step *st)
{
	struct steer *s = st->s;

	if (!s->past)
		return;
	s->past = 0;
	s->no_grip = false;
	s->ref = s->far;
	s->ref_base = s->far_base;
	s->ref_at_ppm = s->far_at_ppm;
	s->far = OPT_NONE;
	s->slice_share = OPT_NONE;
	s->judged = (struct steer_sum){0};
	s->credit = 0;
	calm_anew(s);
	if (!s->ref.known) {
		calm_forget(s);
		s->phase = STEER_PHASE_NEW;
	}
}

int64_t grip_share(const struct step *st, int64_t share)
{
	if (!st->s->past || !st->s->far.known)
		return share;
	return rate_muldiv(share, calm_pace(st).v, calm_far(st).v);
}
