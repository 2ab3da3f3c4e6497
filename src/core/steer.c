// SPDX-License-Identifier: MIT
#include "core/steer.h"

#include <string.h>

#include "core/steer_impl.h"
#include "md/rate.h"

#define PROTECT_MAX 970000 /* ppm: above it no backup would ever move */
#define OVER_MIN_MS (10 * MS_SECOND)
#define OVER_MAX_MS MS_DAY
#define DELAY_MAX_MS (5 * MS_MINUTE)
#define REST_MAX_MS MS_HOUR           /* longer ones would be told from a held backup by nobody */
#define APPLY_MAX_MS (30 * MS_SECOND) /* no lever is waited for any longer */
#define BLIND_GRACE_MS (30 * MS_SECOND)
#define OPEN_STEP_MS (10 * MS_SECOND)
#define OPEN_STEPS 3
#define OPEN_LEAST INT64_C(2000000) /* bytes/s: the first step of opening, at least */

void steer_enter(struct step *st, enum steer_phase phase)
{
	st->s->phase = phase;
	st->s->phase_ms = st->now;
}

void steer_order(struct step *st, enum steer_path path, int64_t rate)
{
	struct steer *s = st->s;

	if (path == STEER_LIMIT && st->in->range.top_rate > 0 && rate >= st->in->range.top_rate) {
		path = STEER_OPEN;
		rate = 0;
	}
	if (s->path == (int)path && s->rate == rate)
		return;
	s->path = (int)path;
	s->rate = rate;
	s->ordered_ms = st->now;
	s->force_ms = 0;
}

void steer_again(struct step *st, int64_t at_ms)
{
	if (at_ms <= st->now)
		at_ms = st->now + 1;
	if (!st->ret->again_ms.known || at_ms < st->ret->again_ms.v)
		st->ret->again_ms = OPT(at_ms);
}

int64_t steer_within(int64_t value, int64_t least, int64_t most)
{
	if (value < least)
		return least;
	return value < most ? value : most;
}

static struct opt sane(struct opt rate)
{
	return rate.known ? OPT(steer_within(rate.v, 0, STEER_MOST)) : OPT_NONE;
}

bool steer_can_rest(const struct step *st)
{
	return st->rest_max > 0;
}

/* When the path that was ordered last came into force, as far as the caller knows. */
static void note_force(struct step *st)
{
	struct steer *s = st->s;
	int64_t patience = 6 * st->delay > APPLY_MAX_MS ? 6 * st->delay : APPLY_MAX_MS;

	if (s->force_ms || !s->path)
		return;
	if (st->in->applied)
		s->force_ms =
			st->in->applied_ms > s->ordered_ms ? st->in->applied_ms : s->ordered_ms;
	else if (st->now - s->ordered_ms >= patience)
		s->force_ms = s->ordered_ms + patience;
}

/* --- opening --- */

static bool closed(const struct steer *s)
{
	return s->path == STEER_LIMIT || s->path == STEER_REST;
}

/* From `rate` on in doubling steps since `since_ms`. True once all are done. */
static bool open_up(struct step *st, int64_t since_ms, int64_t rate)
{
	int64_t step = (st->now - since_ms) / OPEN_STEP_MS;

	if (step >= OPEN_STEPS)
		return true;
	if (rate < OPEN_LEAST)
		rate = OPEN_LEAST;
	/* Never less than what it was. */
	rate = rate_muldiv(rate, INT64_C(2) << step, 1);
	if (st->s->path != STEER_LIMIT || rate > st->s->rate)
		steer_order(st, STEER_LIMIT, rate);
	steer_again(st, since_ms + (step + 1) * OPEN_STEP_MS);
	return false;
}

/* What the first step of opening builds on. */
static int64_t open_from(const struct step *st)
{
	struct steer_sum window = sight_window(st->s);
	struct opt pace = sum_pace(&window);

	if (st->s->path == STEER_LIMIT)
		return st->s->rate;
	return pace.v; /* 0 where nothing tells */
}

static void step_free(struct step *st, enum steer_reason reason)
{
	steer_order(st, STEER_FREE, 0);
	grip_end(st);
	steer_enter(st, STEER_PHASE_NEW);
	st->s->read_ms = st->s->sight_ms = st->s->blind_ms = st->s->over_since_ms = 0;
	st->s->no_grip = false;
	st->ret->reason = reason;
}

static void step_over(struct step *st)
{
	struct steer *s = st->s;

	if (!closed(s)) {
		step_free(st, STEER_NOTHING_TO_PROTECT);
		return;
	}
	if (s->phase != STEER_PHASE_OPENING) {
		steer_enter(st, STEER_PHASE_OPENING);
		s->opening = open_from(st);
		s->trial = false;
	}
	if (open_up(st, s->phase_ms, s->opening))
		step_free(st, STEER_NOTHING_TO_PROTECT);
	else
		st->ret->reason = STEER_OPENING;
}

/* --- blind --- */

/* As it was for a while, then open: nobody knows whether it does any good. */
static void step_blind(struct step *st)
{
	struct steer *s = st->s;

	st->ret->reason = STEER_BLIND;
	if (!s->blind_ms) {
		s->blind_ms = st->now;
		s->trial = false;
	}
	if (!closed(s)) {
		steer_order(st, STEER_OPEN, 0);
		return;
	}
	if (st->now - s->blind_ms < BLIND_GRACE_MS) {
		int64_t end = s->blind_ms + BLIND_GRACE_MS;

		/* A rest ends in time also now. */
		if (s->path != STEER_REST || st->now - s->ordered_ms < st->rest_max) {
			steer_again(st, end);
			if (s->path == STEER_REST)
				steer_again(st, s->ordered_ms + st->rest_max);
			return;
		}
		s->blind_ms = st->now - BLIND_GRACE_MS;
	}
	if (s->phase != STEER_PHASE_OPENING) {
		s->opening = open_from(st);
		steer_enter(st, STEER_PHASE_OPENING);
	}
	if (open_up(st, s->phase_ms, s->opening))
		steer_order(st, STEER_OPEN, 0);
}

/* --- the work --- */

/* (Again) there is something to protect. */
static void steer_begin(struct step *st)
{
	struct steer *s = st->s;

	s->credit = 0;
	s->trial = false;
	s->sight_ms = st->now;
	calm_anew(s);
	/* A baseline of before is believed: what is learned from now on may be of a rebuild that
	 * has not come back. */
	if (!s->ref.known && st->baseline.known)
		calm_set(st, st->baseline.v);
	if (s->way == STEER_STEADY) {
		steady_begin(st, s->limit);
		return;
	}
	rest_begin(st, STEER_PHASE_MEASURE);
	rest_step(st);
}

static void step_phase(struct step *st)
{
	enum steer_phase phase = st->s->phase;

	if (phase == STEER_PHASE_SLICE)
		slice_step(st);
	else if (phase == STEER_PHASE_REST)
		slice_rest_step(st);
	else if (phase == STEER_PHASE_STEADY)
		steady_step(st);
	else if (phase == STEER_PHASE_MEASURE || phase == STEER_PHASE_PROBE)
		rest_step(st);
	else
		steer_begin(st);
}

static void step_run(struct step *st)
{
	struct steer *s = st->s;

	if (st->in->rule.rate.known) {
		grip_end(st);
		if (!s->ref.known && st->baseline.known)
			calm_set(st, st->baseline.v);
		steer_enter(st, STEER_PHASE_FIXED);
		steer_order(st, STEER_LIMIT, sane(st->in->rule.rate).v);
		st->ret->reason = STEER_FIXED;
		return;
	}
	if (st->protect <= 0) {
		grip_end(st);
		steer_enter(st, STEER_PHASE_FIXED);
		steer_order(st, STEER_OPEN, 0);
		st->ret->reason = STEER_KEEPING;
		return;
	}
	step_phase(st);
	if (s->past)
		st->ret->reason = STEER_NO_GRIP;
	if (st->rest_max > 0 && s->path == STEER_REST && s->force_ms)
		steer_again(st, s->force_ms + st->rest_max);
}

/* It waits, is frozen, or another array's operation has taken over: backups slow nothing down. */
static void step_stands(struct step *st)
{
	struct steer *s = st->s;

	if (s->phase != STEER_PHASE_STANDS) {
		s->opening = open_from(st);
		steer_enter(st, STEER_PHASE_STANDS);
		s->read_ms = 0;
	}
	st->ret->reason = STEER_NOT_OURS;
	if (!closed(s) || open_up(st, s->phase_ms, s->opening))
		steer_order(st, STEER_OPEN, 0);
}

/* Whether the array's pace can be known at all: 1 it runs, 0 it does not, -1 nobody knows. */
static int running(const struct array_facts *array)
{
	if (array->sync_state == MD_SYNC_RUNNING)
		return 1;
	if (array->sync_state == MD_SYNC_UNKNOWN || array->sync_state == MD_SYNC_INVALID)
		return -1;
	return 0;
}

static void step_sighted(struct step *st)
{
	struct steer *s = st->s;
	const struct array_facts *array = st->in->array;
	int runs = running(array);

	if (runs > 0 && s->operation != (int)array->operation) {
		calm_forget(s);
		s->operation = (int)array->operation;
		if (s->phase != STEER_PHASE_OPENING)
			s->phase = STEER_PHASE_NEW;
	}
	if (runs == 0) {
		s->blind_ms = 0;
		step_stands(st);
		return;
	}
	if (!s->sight_ms)
		s->sight_ms = st->now;
	if (st->in->fresh && runs > 0)
		sight_read(st);
	if (runs < 0 || st->now - s->sight_ms > STEER_SIGHT_MS) {
		step_blind(st);
		return;
	}
	/* A pace that is known again ends blindness; what a new look may show is waited for. */
	if (s->blind_ms && s->sight_ms < s->blind_ms) {
		step_blind(st);
		return;
	}
	s->blind_ms = 0;
	step_run(st);
}

static void step_begin(struct step *st)
{
	struct steer *s = st->s;
	const struct steer_rule *rule = &st->in->rule;

	memset(st->ret, 0, sizeof(*st->ret));
	st->delay = steer_within(st->in->range.delay_ms, 1, DELAY_MAX_MS);
	st->rest_max = steer_within(st->in->range.rest_max_ms, 0, REST_MAX_MS);
	st->least = steer_within(st->in->range.least_rate, 0, STEER_MOST);
	st->moved = sane(st->in->moved);
	if (st->in->array) {
		st->rate = sane(st->in->array->rate);
		st->write = sane(st->in->array->client_write);
		st->baseline = sane(st->in->array->baseline);
		if (st->baseline.v < STEER_STANDS)
			st->baseline = OPT_NONE; /* of a rebuild that stands still: says nothing */
		st->at_ppm = steer_within(st->in->array->progress_ppm.v, 0, PPM);
	}
	st->protect = steer_within(rule->protect_ppm, 0, PROTECT_MAX);
	st->over = steer_within(rule->over_ms, OVER_MIN_MS, OVER_MAX_MS);
	if (s->protect_ppm != st->protect || s->over_ms != st->over) {
		if (s->over_ms != st->over)
			memset(s->bins, 0, sizeof(s->bins));
		s->bin_ms = st->over / STEER_BINS;
		s->protect_ppm = st->protect;
		s->over_ms = st->over;
		s->credit = 0;
	}
	note_force(st);
}

static void step_end(struct step *st)
{
	struct steer *s = st->s;
	struct steer_sum window = sight_window(s);

	st->ret->path = (enum steer_path)s->path;
	st->ret->rate = s->rate;
	if (!s->past || s->far.known)
		st->ret->share_ppm = sum_share(&window);
	st->ret->pace = sum_pace(&window);
	st->ret->no_grip = s->no_grip || s->past;
	if (s->phase == STEER_PHASE_SLICE || s->phase == STEER_PHASE_REST)
		st->ret->way = STEER_SLICES;
	else if (s->phase == STEER_PHASE_STEADY || s->phase == STEER_PHASE_FIXED)
		st->ret->way = STEER_STEADY;
	else
		st->ret->way = (enum steer_way)s->way;
	steer_say(st);
	s->stepped_ms = st->now;
}

void steer_step(struct steer *steer, const struct steer_input *in, struct steer_output *ret)
{
	struct step st = {.s = steer, .in = in, .ret = ret, .now = in->now_ms};

	step_begin(&st);
	if (in->jobs <= 0)
		step_free(&st, STEER_NO_JOB);
	else if (!in->array || in->blind)
		step_blind(&st);
	else if (!in->protects)
		step_over(&st);
	else
		step_sighted(&st);
	step_end(&st);
}

void steer_forget(struct steer *steer)
{
	*steer = (struct steer){0};
}
