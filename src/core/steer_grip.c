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
/* Who writes past the levers now and then has stopped after so long, by what short rests show, */
#define PAST_MS (5 * MS_MINUTE)
/* and when nothing is written for so long in one rest. */
#define LULL_MS (40 * MS_SECOND)
/* After so long nothing that was written before in this rest is held against the levers. */
#define LULL_LONG_MS MS_MINUTE
#define LOOK_MS (6 * MS_SECOND) /* a reading or two */
/* So long the path may be open before a rest looks. */
#define LOOK_AGAIN_MS (10 * MS_MINUTE)
/* So often one looks until no cache can be what is written. */
#define LOOK_LONG_AGAIN_MS (90 * MS_MINUTE)

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

/* Since when nothing has been written in this rest, while that is so. */
static int64_t lull_since(const struct steer *s)
{
	return s->lull_ms > s->rest_ms ? s->lull_ms : s->rest_ms;
}

int64_t grip_rest_least(const struct step *st)
{
	const struct steer *s = st->s;

	if (!s->past || !s->looks || !s->rest_ms)
		return 0;
	/* A pause, or the end? */
	if (s->lulled && s->lull_ms)
		return rest_lasted(st) + lull_since(s) + LULL_MS + LOOK_MS - st->now;
	if (s->lulled)
		return st->delay + LOOK_MS;
	if (s->looks_long)
		return rest_lasted(st) + s->rest_ms + GIVE_UP_MS - st->now;
	return st->delay + LOOK_MS + STEER_DRAIN_MAX_MS;
}

static void shut_anew(struct steer *s, int64_t now)
{
	s->shut = (struct steer_sum){0};
	s->shut_ms = now;
}

/* The rest has shown the end of it. What it does undisturbed was never known: the rest goes on
 * until it is, for a baseline of beside it says nothing. */
static void past_ends(struct step *st)
{
	grip_end(st);
	if (st->s->ref.known)
		return;
	st->s->trial = false;
	rest_begin(st, STEER_PHASE_MEASURE);
}

/* A reading in which nobody wrote past the closed path. */
static void read_lull(struct step *st)
{
	struct steer *s = st->s;
	int64_t at = st->in->read_at_ms;

	s->lulled = true;
	if (!s->lull_ms)
		s->lull_ms = at;
	/* It was caches. */
	if (at - lull_since(s) >= LULL_LONG_MS)
		shut_anew(s, at);
	if (s->past && (at - s->lull_ms >= PAST_MS || at - lull_since(s) >= LULL_MS))
		past_ends(st);
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
	if (write.v <= held_level(st))
		read_lull(st);
	else
		s->lull_ms = 0;
}

void grip_read(struct step *st, int64_t from_ms)
{
	struct steer *s = st->s;

	read_grip(st, from_ms);
	if (sight_shut(st, from_ms))
		read_past(st, from_ms);
	else if (s->over_since_ms)
		s->lull_ms = 0;
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

	if (!s->past)
		s->look_long_ms = 0;
	remember_far(st);
	if (!was.known || does < rate_muldiv(was.v, STEER_BACK_PPM, PPM))
		calm_set(st, does);
	s->past = steer_within(s->shut.moved / s->shut.ms - s->foreign, 1, STEER_MOST);
	s->look_ms = st->now;
	shut_anew(s, st->now);
	s->judged = (struct steer_sum){0};
	s->slice_share = OPT_NONE;
	s->credit = s->close_credit = s->low_credit = 0; /* counted by what it no longer does */
}

/* What is written in this rest counts from then on. */
static int64_t shut_since(const struct steer *s)
{
	return s->shut_ms > s->rest_ms ? s->shut_ms : s->rest_ms;
}

bool grip_gave_up(struct step *st)
{
	const struct steer *s = st->s;

	/* Nobody writes now: caches were written out, and it may yet come back. Whoever only pauses
	 * is seen when he writes again. */
	if (s->lull_ms)
		return false;
	if (s->shut.ms <= 0 || st->now - shut_since(s) < GIVE_UP_MS ||
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

	shut_anew(s, 0); /* from when the rest is in force */
	s->lulled = false;
	s->looks = st->now >= grip_look_ms(st);
	s->looks_long = s->past && s->looks && st->now >= s->look_long_ms;
	if (s->looks_long)
		s->look_long_ms = st->now + LOOK_LONG_AGAIN_MS;
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
	shut_anew(s, st->now);
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
