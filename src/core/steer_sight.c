// SPDX-License-Identifier: MIT
/* A reading: the account of the share, whose doing a drop is, whether the levers hold. */
#include "core/steer_impl.h"

#include "md/rate.h"

#define MOVES_RATE INT64_C(262144)   /* bytes/s: a rebuild that stood still moves again */
#define SHARE_MAX 1250000            /* ppm: a counter that jumps earns no more than this */
#define WAKE_MOST_MS (5 * MS_SECOND) /* of a breath */

void sum_add(struct steer_sum *sum, const struct steer_sum *more)
{
	sum->ms += more->ms;
	sum->kept += more->kept;
	sum->moved += more->moved;
	sum->moved_ms += more->moved_ms;
}

struct opt sum_share(const struct steer_sum *sum)
{
	return sum->ms > 0 ? OPT(sum->kept / sum->ms) : OPT_NONE;
}

struct opt sum_pace(const struct steer_sum *sum)
{
	return sum->moved_ms > 0 ? OPT(rate_muldiv(sum->moved, MS_SECOND, sum->moved_ms))
				 : OPT_NONE;
}

struct steer_sum sight_window(const struct steer *s)
{
	struct steer_sum sum = {0};
	int64_t newest;
	int i;

	if (!s->read_ms)
		return sum;
	newest = s->read_ms / s->bin_ms;
	for (i = 0; i < STEER_BINS; i++) {
		if (s->bins[i].number > newest - STEER_BINS)
			sum_add(&sum, &s->bins[i].sum);
	}
	return sum;
}

static void bin_add(struct steer *s, const struct steer_sum *more)
{
	int64_t number = s->read_ms / s->bin_ms;
	struct steer_bin *bin = &s->bins[number % STEER_BINS];

	if (bin->number != number)
		*bin = (struct steer_bin){.number = number};
	sum_add(&bin->sum, more);
}

/* --- whose doing --- */

/* Whether the path is closed as far as it goes, and that acts for the whole window. */
bool sight_shut(const struct step *st, int64_t from_ms)
{
	const struct steer *s = st->s;

	return s->rest_ms && !s->breath && from_ms >= s->rest_ms + st->delay &&
		(s->phase == STEER_PHASE_MEASURE || s->phase == STEER_PHASE_REST ||
			s->phase == STEER_PHASE_PROBE);
}

bool sight_acted(const struct step *st, int64_t from_ms)
{
	return st->s->force_ms && from_ms >= st->s->force_ms + st->delay;
}

/* What clients may write and still count as next to nothing. */
int64_t sight_quiet_level(const struct step *st)
{
	int64_t others = st->s->foreign, level = STEER_QUIET;

	if (st->s->rest_ms) {
		others += st->s->past;
		level += steer_can_rest(st) ? 2 * st->least : 2 * STEER_LEAST;
	}
	return level + others + others / 4;
}

/* What the backups move, as far as anything tells. */
struct opt sight_moved(const struct step *st)
{
	int64_t others = st->s->foreign + st->s->past;
	struct opt write = st->write;

	if (st->moved.known)
		return st->moved;
	if (write.known)
		return OPT(write.v > others ? write.v - others : 0);
	return OPT_NONE;
}

static bool is_quiet(const struct step *st, int64_t from_ms)
{
	struct opt write = st->write;

	if (write.known)
		return write.v <= sight_quiet_level(st);
	if (st->moved.known)
		return st->moved.v <= sight_quiet_level(st);
	return sight_shut(st, from_ms);
}

/* Nothing is written yet, but jobs move something: caches take it in, and that is work too. What is
 * seen then is neither what the rebuild does undisturbed nor a drop that is another's. */
static bool taking_in(const struct step *st, int64_t from_ms)
{
	return is_quiet(st, from_ms) && st->moved.known && st->moved.v > sight_quiet_level(st);
}

/* The path is shut, and caches have had their time, or had been written out already: what is
 * written is another's. Where others are known to write, it takes less time to believe. */
static void read_foreign(struct step *st, int64_t from_ms)
{
	struct steer *s = st->s;
	int64_t write = st->write.v; /* 0 where nothing tells */
	int64_t patience = st->in->only_ours ? STEER_DRAIN_MAX_MS : STEER_DRAIN_MAX_MS / 2;

	if (write < s->foreign)
		s->foreign = (s->foreign + write) / 2;
	if (!s->past && sight_shut(st, from_ms) && write > sight_quiet_level(st) &&
		grip_others_write(st) &&
		(s->calm_ms || st->in->read_at_ms - s->rest_ms >= patience))
		s->foreign = write;
}

/* --- the account --- */

/* Older debts than the rule averages over are forgiven: resting for them protects nothing. */
static void bound_credit(struct step *st)
{
	struct steer *s = st->s;
	int64_t swing = slice_swing(st), floor, recent;
	struct steer_sum window;

	if (s->credit > swing / 2)
		s->credit = swing / 2;
	floor = -2 * (swing + s->tail) - st->over / 20 * PPM;
	if (s->credit >= floor)
		return;
	window = sight_window(s);
	recent = window.kept - st->protect * window.ms;
	if (recent > floor || s->past)
		recent = floor;
	if (s->credit < recent)
		s->credit = recent;
}

static void account(struct step *st, int64_t from_ms, int64_t share, bool not_ours)
{
	struct steer *s = st->s;
	struct opt flow = sight_moved(st);
	int64_t ms = st->in->read_at_ms - from_ms;
	struct steer_sum sum = {.ms = ms, .kept = share * ms};

	if (flow.known) {
		sum.moved = rate_muldiv(flow.v, ms, MS_SECOND);
		sum.moved_ms = ms;
	}
	/* What is not the backups' doing counts as kept. */
	if (not_ours)
		sum.kept = PPM * ms;
	s->credit += sum.kept - st->protect * ms;
	sum_add(&s->cycle, &sum);
	if (s->phase == STEER_PHASE_STEADY && s->settle_ms && from_ms >= s->settle_ms)
		sum_add(&s->judged, &sum);
	/* What is told counts what the levers do not hold as well. */
	sum.kept = grip_share(st, sum.kept);
	bin_add(s, &sum);
	bound_credit(st);
	if (s->rest_ms && s->credit < s->low_credit)
		s->low_credit = s->credit;
}

/* What slices leave of the rebuild's pace, and what clients write in them. */
static void read_slice(struct step *st, int64_t from_ms, int64_t share)
{
	struct steer *s = st->s;
	struct opt write = st->write;

	if (s->phase != STEER_PHASE_SLICE || !sight_acted(st, from_ms))
		return;
	s->unused = is_quiet(st, from_ms) && !s->disturbed;
	s->slice_share = s->slice_share.known
		? OPT(s->slice_share.v + (share - s->slice_share.v) / 4)
		: OPT(share);
	if (!write.known)
		return;
	s->full_write = s->full_write ? s->full_write + (write.v - s->full_write) / 4 : write.v;
}

static void read_share(struct step *st, int64_t from_ms, struct opt undisturbed)
{
	struct steer *s = st->s;
	bool quiet = is_quiet(st, from_ms), not_ours;
	int64_t share = rate_muldiv(st->rate.v, PPM, undisturbed.v);
	/* Beside who writes past the levers now and then it does far more in between. */
	int64_t most = s->past ? 8 * SHARE_MAX : SHARE_MAX;

	if (share > most)
		share = most;
	/* It stood still as well while the backups did: they do not hold it up. Until it moves:
	 * then what it does undisturbed is to be learned anew. */
	if (undisturbed.v < STEER_STANDS) {
		share = PPM;
		s->not_ours_ms = st->in->read_at_ms;
	}
	if (undisturbed.v < STEER_STANDS && st->rate.v >= MOVES_RATE) {
		calm_forget(s);
		s->phase = STEER_PHASE_NEW;
		return;
	}
	s->share_before = s->share;
	s->share = OPT(share);
	/* It was back, nobody has written since, and it fell. */
	not_ours = quiet && !s->disturbed && s->calm_ms && s->back &&
		share + s->share_before.v < 2 * st->protect;
	if (not_ours)
		s->not_ours_ms = st->in->read_at_ms;
	account(st, from_ms, share, not_ours);
	read_slice(st, from_ms, share);
}

void sight_read(struct step *st)
{
	struct steer *s = st->s;
	int64_t from_ms = s->read_ms, ms = st->in->read_at_ms - from_ms;
	int64_t wake;
	struct opt undisturbed;

	if (from_ms && ms < RATE_MIN_WINDOW_MS)
		return;
	s->read_ms = st->in->read_at_ms;
	if (!from_ms)
		s->full_write = st->write.v; /* 0 where nothing tells */
	if (!from_ms || ms > RATE_MAX_WINDOW_MS || !st->rate.known)
		return;
	s->sight_ms = st->now;
	wake = s->comeback_ms < WAKE_MOST_MS ? s->comeback_ms : WAKE_MOST_MS;
	wake += s->breath_ms + st->delay + MS_SECOND;
	s->disturbed = s->breath || (s->breath_ms && from_ms < wake) || taking_in(st, from_ms);
	grip_read(st, from_ms);
	read_foreign(st, from_ms);
	undisturbed = calm_pace(st);
	if (undisturbed.known)
		read_share(st, from_ms, undisturbed);
	else
		s->share = s->share_before = OPT_NONE;
	if (s->disturbed)
		return;
	if (is_quiet(st, from_ms))
		calm_read(st, from_ms);
	else
		calm_end(st);
}
