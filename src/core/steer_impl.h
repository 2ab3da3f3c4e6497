// SPDX-License-Identifier: MIT
/*
 * Between the parts of the controller only: what a step carries about, and who does what.
 *
 * - steer.c: the step: what there is to steer, blindness, the end.
 * - steer_sight.c: a reading: the account of the share, and what is whose doing.
 * - steer_grip.c: whether the levers hold, and what is done where they do not.
 * - steer_calm.c: what the rebuild does undisturbed, and how long it takes to come back.
 * - steer_rest.c: rests in pieces with breaths; the first one, and those that look whose doing it
 *   is.
 * - steer_slices.c: slices and the rests between them.
 * - steer_steady.c: the limit.
 * - steer_choose.c: which way is better.
 * - steer_text.c: words and the sentence.
 */
#ifndef RG_CORE_STEER_IMPL_H
#define RG_CORE_STEER_IMPL_H

#include "core/steer.h"

#define PPM INT64_C(1000000)
#define STEER_QUIET INT64_C(262144) /* bytes/s: a resting NAS writes that much by itself */
#define STEER_LOW INT64_C(524288)   /* bytes/s: a breath */
#define STEER_LEAST INT64_C(131072) /* bytes/s: the lowest limit; a rest where there is none */
#define STEER_STANDS INT64_C(65536) /* bytes/s: a rebuild that does no more stands still */
#define STEER_BACK_PPM 900000       /* of the undisturbed pace: it has come back */
#define STEER_DRAIN_MAX_MS (90 * MS_SECOND) /* what is written longer after a close is no cache */
#define STEER_SIGHT_MS MS_MINUTE            /* without a pace for so long: blind */

#define STEER_MOST                                                                                 \
	(INT64_C(1) << 36) /* bytes/s: nothing is faster, and a limit of that is none              \
			    */

/* One step. */
struct step {
	struct steer *s;
	const struct steer_input *in;
	struct steer_output *ret;
	int64_t now;
	/* Of the input, within reason. */
	int64_t delay, rest_max, over; /* ms */
	int64_t protect;               /* ppm, below 1,000,000 */
	int64_t at_ppm;                /* of the rebuild's way */
	int64_t least;                 /* bytes/s that pass in a rest */
	/* bytes/s: of the rebuild, undisturbed by the baseline, by clients, by the jobs */
	struct opt rate, baseline, write, moved;
};

/* --- steer.c --- */
void steer_enter(struct step *st, enum steer_phase phase);
void steer_order(struct step *st, enum steer_path path, int64_t rate);
void steer_again(struct step *st, int64_t at_ms);
int64_t steer_within(int64_t value, int64_t least, int64_t most);
bool steer_can_rest(const struct step *st);

/* --- steer_sight.c --- */
void sight_read(struct step *st);
/* The path is closed as far as it goes, and that has acted since before `from_ms`. */
bool sight_shut(const struct step *st, int64_t from_ms);
/* The path as it is has acted since before `from_ms`. */
bool sight_acted(const struct step *st, int64_t from_ms);
/* What the backups move, as far as anything tells. */
struct opt sight_moved(const struct step *st);
/* What clients may write, bytes/s, and still count as next to nothing. */
int64_t sight_quiet_level(const struct step *st);
/* Kept over the time that the rule averages over. */
struct steer_sum sight_window(const struct steer *s);
void sum_add(struct steer_sum *sum, const struct steer_sum *more);
struct opt sum_share(const struct steer_sum *sum);
struct opt sum_pace(const struct steer_sum *sum);

/* --- steer_grip.c --- */
/* Takes a reading: from then to its time. */
void grip_read(struct step *st, int64_t from_ms);
/* What is written while the path is shut is another's: by the levers' own account, or because it is
 * far less than while the path was open. */
bool grip_others_write(const struct step *st);
/* A rest has lasted so long, and clients write on and nothing comes back, that it cannot help:
 * true, and what is seen now is what the levers can do. */
bool grip_gave_up(struct step *st);
/* Who writes past the levers does not just now. */
bool grip_lull(const struct step *st);
/* A rest that shall show what is written past the levers lasts so long. */
int64_t grip_rest_least(const struct step *st);
/* A rest begins. */
void grip_rest_begins(struct step *st);
/* When a rest is due that looks whether they hold again, or another has stopped. */
int64_t grip_look_ms(const struct step *st);
/* Nothing is written past them any more, or nothing is asked of them. */
void grip_end(struct step *st);
/* A share of what it does beside what the levers do not hold, of what it did before. */
int64_t grip_share(const struct step *st, int64_t share);

/* --- steer_calm.c --- */
/* Bytes/s that the rebuild would do now without the backups. */
struct opt calm_pace(const struct step *st);
/* And without those whom the levers do not hold; of use while there are any. */
struct opt calm_far(const struct step *st);
/* It is `rate` now. */
void calm_set(struct step *st, int64_t rate);
/* Takes a reading in which clients wrote next to nothing (`from_ms` to the reading's time). */
void calm_read(struct step *st, int64_t from_ms);
/* Clients write (again). */
void calm_end(struct step *st);
/* What the last readings said counts no more; nor does anything that was learned. */
void calm_anew(struct steer *s);
void calm_forget(struct steer *s);
/* It does more than it is taken for, by the last two readings. */
bool calm_above(const struct steer *s);

/* --- steer_rest.c --- */
void rest_begin(struct step *st, enum steer_phase phase);
void rest_step(struct step *st);
/* What all rests do in each step. */
void rest_keep(struct step *st);
/* So long the rest has lasted since caches were drained; below 0 while they are not. */
int64_t rest_lasted(const struct step *st);
/* The present piece has lasted as long as the levers need. */
bool rest_may_end(const struct step *st);

/* --- steer_slices.c --- */
void slice_begin(struct step *st);
void slice_step(struct step *st);
void slice_rest_step(struct step *st);
/* The swing of the account that a slice may use. */
int64_t slice_swing(const struct step *st);

/* --- steer_steady.c --- */
void steady_begin(struct step *st, int64_t limit);
void steady_step(struct step *st);
void steady_probed(struct step *st, bool ours);

/* --- steer_choose.c --- */
/* A slice is due: true where it shall begin; else another phase has begun. */
bool choose_slice(struct step *st);
/* A stretch at a steady limit was judged: false where another phase has begun. */
bool choose_steady(struct step *st);

/* --- steer_text.c --- */
void steer_say(struct step *st);

#endif
