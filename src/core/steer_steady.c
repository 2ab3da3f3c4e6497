// SPDX-License-Identifier: MIT
/* A steady limit: judged over stretches, changed in proportion to what the rebuild loses, between
 * what is known to be good and to be too much. */
#include "core/steer_impl.h"

#include "md/rate.h"

#define BAND_PPM 20000 /* a share so near to the aim is right */
#define FAR_PPM 60000  /* what was too much no longer is, by a share so far above */
#define LEAN_PPM 30000 /* so far the aim leans to make up for the account */
#define JUDGE_LEAST_MS (20 * MS_SECOND)
#define JUDGE_MOST_MS MS_MINUTE
#define FIRST_PART 16 /* of the full speed: the first guess */
#define SETTLE_MS (2 * MS_SECOND)
#define HIGH_OVERS 3     /* what was too much may be tried again after so many times `over` */
#define EARLY_PPM 100000 /* a trial that misses the share by so much ends early */
#define LEAST_PROBE_MS (10 * MS_MINUTE)
#define OPEN_PARTS 3 /* a limit of 3/2 of the full speed is none */

static int64_t limit_least(const struct step *st)
{
	return st->least > STEER_LEAST ? st->least : STEER_LEAST;
}

static void order_limit(struct step *st)
{
	const struct steer *s = st->s;

	if (s->limit >= STEER_MOST ||
		(s->full_write > STEER_QUIET && s->limit / OPEN_PARTS >= s->full_write / 2))
		steer_order(st, STEER_OPEN, 0);
	else
		steer_order(st, STEER_LIMIT, s->limit);
}

static void judge_anew(struct step *st)
{
	st->s->judged = (struct steer_sum){0};
}

static void set_limit(struct step *st, int64_t limit, bool closes)
{
	struct steer *s = st->s;
	int direction = closes ? -1 : 1;

	limit = steer_within(limit, limit_least(st), STEER_MOST);
	/* Where it turns about, look longer before the next change. */
	if (s->direction == -direction && s->judge_ms < st->over / 2)
		s->judge_ms = s->judge_ms * 2 < st->over / 2 ? s->judge_ms * 2 : st->over / 2;
	s->direction = direction;
	s->limit = limit;
	s->stable = false;
	s->settle_ms = 0;
	s->settle_span_ms = SETTLE_MS;
	if (closes)
		s->settle_span_ms += s->comeback_ms + s->drain_ms;
	judge_anew(st);
	order_limit(st);
}

void steady_begin(struct step *st, int64_t limit)
{
	struct steer *s = st->s;
	bool closes = s->path == STEER_OPEN;

	steer_enter(st, STEER_PHASE_STEADY);
	s->rest_ms = s->breath_ms = 0;
	s->breath = false;
	s->in_period = false;
	s->judge_ms = st->over / 10;
	if (s->judge_ms < JUDGE_LEAST_MS)
		s->judge_ms = JUDGE_LEAST_MS;
	if (s->judge_ms > JUDGE_MOST_MS)
		s->judge_ms = JUDGE_MOST_MS;
	s->low = s->high = 0;
	if (limit <= 0) {
		limit = s->full_write / FIRST_PART;
		if (limit < 2 * STEER_LOW)
			limit = 2 * STEER_LOW;
	}
	set_limit(st, limit, closes);
	s->direction = 0;
	st->ret->reason = s->trial ? STEER_TRYING : STEER_KEEPING;
}

/* Where the share shall be: a little beside what is protected, to level the account. */
static int64_t aim(const struct step *st)
{
	int64_t lean = st->s->credit / st->over;

	lean = lean > LEAN_PPM ? LEAN_PPM : lean;
	lean = lean < -LEAN_PPM ? -LEAN_PPM : lean;
	return st->protect - lean < PPM - LEAN_PPM ? st->protect - lean : PPM - LEAN_PPM;
}

/* The limit times what may be lost over what is, between half and double. */
static int64_t in_proportion(const struct step *st, int64_t share)
{
	int64_t may = PPM - aim(st), lost = PPM - share;
	int64_t limit = st->s->limit;

	if (lost * 2 <= may)
		return limit * 2;
	if (may * 2 <= lost)
		return limit / 2;
	return rate_muldiv(limit, may, lost);
}

static void give(struct step *st, int64_t share)
{
	struct steer *s = st->s;
	struct opt pace = sum_pace(&s->judged);
	int64_t limit = in_proportion(st, share), others = s->foreign + s->past;

	s->low = s->limit;
	if (st->now - s->high_ms > HIGH_OVERS * st->over || share > aim(st) + FAR_PPM)
		s->high = 0;
	if (s->high && limit > (s->limit + s->high) / 2)
		limit = (s->limit + s->high) / 2;
	/* A writer that does not use what it has needs no more: by as much as others' writes leave
	 * to be seen. */
	if (s->path == STEER_OPEN || (pace.known && pace.v + others / 4 < s->limit / 2) ||
		limit - s->limit < s->limit / 12) {
		s->stable = true;
		judge_anew(st);
		st->ret->reason = STEER_KEEPING;
		return;
	}
	set_limit(st, limit, false);
	st->ret->reason = STEER_GIVING;
}

static void squeeze(struct step *st, int64_t share)
{
	struct steer *s = st->s;
	struct opt pace = sum_pace(&s->judged);
	int64_t limit;

	/* Of an open path the pace is the measure. */
	if (s->path == STEER_OPEN && pace.known)
		s->limit = pace.v;
	limit = in_proportion(st, share);
	s->high = s->limit;
	s->high_ms = st->now;
	if (s->low >= s->high)
		s->low = 0;
	if (s->low && limit < (s->low + s->limit) / 2)
		limit = (s->low + s->limit) / 2;
	set_limit(st, limit, true);
	st->ret->reason = STEER_SQUEEZE;
}

/* What the last judgement says, for as long as it stands. */
static void reason(struct step *st)
{
	const struct steer *s = st->s;

	st->ret->reason = STEER_KEEPING;
	if (s->trial)
		st->ret->reason = STEER_TRYING;
	else if (s->no_grip)
		st->ret->reason = STEER_NO_GRIP;
	else if (s->not_ours_ms && st->now - s->not_ours_ms < 10 * MS_SECOND)
		st->ret->reason = STEER_NOT_OURS;
	else if (!s->stable && s->direction > 0)
		st->ret->reason = STEER_GIVING;
	else if (!s->stable && s->direction < 0)
		st->ret->reason = STEER_SQUEEZE;
}

void steady_probed(struct step *st, bool ours)
{
	struct steer *s = st->s;

	steer_enter(st, STEER_PHASE_STEADY);
	s->rest_ms = s->breath_ms = 0;
	s->breath = false;
	s->probe_ms = st->now;
	if (ours) {
		squeeze(st, sum_share(&s->judged).v);
		return;
	}
	set_limit(st, s->limit, false);
	reason(st);
}

/* A limit that was right and is no longer, or that cannot be any lower: is it the backups' doing?
 */
static bool must_probe(const struct step *st, int64_t share)
{
	const struct steer *s = st->s;
	bool least = s->limit <= limit_least(st) && share < st->protect - BAND_PPM;
	int64_t every = least ? LEAST_PROBE_MS : st->over;

	return (s->stable || least) && (!s->probe_ms || st->now - s->probe_ms > every);
}

static void judge(struct step *st)
{
	struct steer *s = st->s;
	int64_t share = sum_share(&s->judged).v, aims = aim(st);

	if (!choose_steady(st))
		return;
	if (st->now >= grip_look_ms(st)) {
		rest_begin(st, STEER_PHASE_PROBE);
		st->ret->reason = STEER_MEASURING;
		return;
	}
	if (share > aims + BAND_PPM) {
		give(st, share);
	} else if (share >= aims - BAND_PPM) {
		s->stable = true;
		judge_anew(st);
		st->ret->reason = STEER_KEEPING;
	} else if (must_probe(st, share)) {
		rest_begin(st, STEER_PHASE_PROBE);
		s->thorough = s->limit <= limit_least(st);
		st->ret->reason = STEER_MEASURING;
	} else {
		squeeze(st, share);
	}
}

void steady_step(struct step *st)
{
	struct steer *s = st->s;
	struct opt share = sum_share(&s->judged);

	reason(st);
	if (!s->force_ms)
		return;
	if (!s->settle_ms)
		s->settle_ms = s->force_ms + st->delay + s->settle_span_ms;
	if (s->judged.ms >= s->judge_ms ||
		(s->trial && s->judged.ms >= s->judge_ms / 3 && share.v < st->protect - EARLY_PPM))
		judge(st);
}
