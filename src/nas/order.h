// SPDX-License-Identifier: MIT
/*
 * Orders to a NAS: one command over SSH with the second key, whose forced command is
 * hooks/nas-levers (it takes a validated array and number, and starts a timed undo there).
 *
 * As with the probe the work is done by a child, `rebuildgated --order NAME`, so that the daemon
 * never blocks and a crash is a failure of one order. Parent and child share one socket: the
 * parent sends one line, the child answers one line; the session is held over many orders and
 * closed after a minute without one. What the parent owes is as in nas/probe.h: a deadline a
 * second past the target's, reaping, patience after a refused key.
 *
 * The words of an order (hooks/nas-levers is the reference):
 *   "look ARRAY"                     what stands there now, no change
 *   "floor ARRAY KIBPS PAGES SPAN"   sync_speed_min in KiB/s ("-" leaves it), stripe_cache_size in
 *                                    pages ("-" leaves it), undone by the NAS itself after SPAN s
 *   "free ARRAY"                     both put back as they were before the first "floor"
 *   "pause ARRAY SPAN"               a check or repair is interrupted (refused for anything else),
 *                                    resumed by the NAS itself after SPAN s
 *   "resume ARRAY"                   it goes on from where it was
 *   "moved"                          which arrays are other than they were before us
 * Before each stands "by NAME": which gate gives it. What one has moved another does not touch, but
 * for "free", "resume" and "moved" by ORDER_ANYONE. A nas-levers of before there were names takes
 * them without one only (order_knows_no_names()).
 *
 * Each answers "ok KEY=VALUE ..." with what stands there after it: array, level, disks, memory_kib,
 * speed_min (KiB/s), speed_min_kind ("local" or "system"), stripe_cache, operation, paused_at
 * (sectors), undo_s, and of what another gate has moved by, by_s, check_by, check_by_s; for "moved"
 * only moved (names with commas, or "-"); or "error SENTENCE". Where the NAS was not reached, or
 * did not say either, the child answers "failed SENSOR SENTENCE", SENSOR a word of enum nas_sensor.
 */
#ifndef RG_NAS_ORDER_H
#define RG_NAS_ORDER_H

#include "base/err.h"
#include "base/moment.h"
#include "md/facts.h"
#include "nas/target.h"

#define ORDER_LINE_MAX 512

#define ORDER_NAME_MAX 49  /* of who gives it: letters, digits, '_', '-'; with its end */
#define ORDER_ANYONE "any" /* whoever has moved it */

#define ORDER_DEADLINE_MS INT64_C(15000) /* a check that is interrupted takes its time to stop */

/* The child's life, until `in_fd` ends; as probe_main(). The target is of nas_target_levers(). */
int order_main(const struct nas_target *target, int in_fd, int out_fd);

struct order_state {
	char array[MD_NAME_MAX];
	struct opt raid_disks;
	struct opt memory_kib;    /* of the NAS */
	struct opt speed_min_kib; /* in force */
	bool speed_min_local;     /* set on the array, not the system's */
	struct opt stripe_cache;  /* pages; unknown: this level has none */
	char operation[24];       /* sync_action */
	struct opt paused_at;     /* sectors, while we interrupted a check */
	struct opt undo_s;        /* until the NAS undoes it by itself */
	/* Another gate has moved the floor, or interrupted a check: which ("": none), and for how
	 * many seconds more unless it renews. */
	char by[ORDER_NAME_MAX], check_by[ORDER_NAME_MAX];
	struct opt by_s, check_by_s;
};

struct order_other {
	char name[ORDER_NAME_MAX];
	int64_t undo_s; /* it is put back by itself then, unless renewed */
};

/* Writes an order as its line (with the newline). ERR_INVALID for an array that is none or a number
 * out of range (KiB/s 1..10^7, pages 17..32768, span 10..7200 s). Pure. */
bool order_look(const char *array, char ret[ORDER_LINE_MAX], struct err *err);
bool order_floor(const char *array, struct opt kib_s, struct opt pages, int64_t span_s,
	char ret[ORDER_LINE_MAX], struct err *err);
bool order_free(const char *array, char ret[ORDER_LINE_MAX], struct err *err);
bool order_pause(const char *array, int64_t span_s, char ret[ORDER_LINE_MAX], struct err *err);
bool order_resume(const char *array, char ret[ORDER_LINE_MAX], struct err *err);
bool order_moved(char ret[ORDER_LINE_MAX], struct err *err);

/* Puts "by NAME" before an order; ORDER_ANYONE, or a name. ERR_INVALID for one that is none; then
 * the order is as it was. Pure. */
bool order_by(const char *name, char line[ORDER_LINE_MAX], struct err *err);

/* Whether an array may be called so in an order: "md" and digits, or "md_" and letters, digits, '_'
 * and '-'. Pure. */
bool order_array(const char *name);

/* An answer line, with or without its end. ERR_DENIED with the NAS's sentence for "error ...",
 * ERR_GONE with the child's for "failed ..."; ERR_PROTOCOL for another text. Pure. */
bool order_answer(const char *line, struct order_state *ret, struct err *err);

/* Whether the NAS refuses the order because another gate has moved it. To order_answer() that is
 * ERR_DENIED as other refusals are. Pure. */
bool order_other(const char *line, struct order_other *ret);

/* Whether the NAS answers to order_by() as a nas-levers does that knows no names. Pure. */
bool order_knows_no_names(const char *line);

/* The answer to "moved"; fails as order_answer(), also for a name that is no array's. Pure. */
bool order_moved_answer(
	const char *line, size_t max, char (*ret)[MD_NAME_MAX], size_t *ret_n, struct err *err);

/* Whether the answer is "failed" in a way that asking again soon makes worse; see nas/probe.h.
 * Pure.
 */
bool order_needs_patience(const char *line);

/* The greatest stripe_cache_size that takes no more than `share_ppm` of the NAS's memory: pages x 4
 * KiB x disks (drivers/md/raid5.c). 0 where even the shipped 256 would not fit. Pure. */
int64_t order_stripe_pages(int64_t memory_kib, int64_t disks, int64_t share_ppm);

#endif
