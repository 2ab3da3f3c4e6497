// SPDX-License-Identifier: MIT
/* What steer.h says always holds, by a random program: readings that come late or twice, blind
 * phases, pace and baseline that jump, levers that do not answer or change, jobs and operations
 * that come and go. Each program is a number, printed where it fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/steer.h"

#define MBS INT64_C(1000000)
#define PROGRAMS 400
#define STEPS 4000
#define LATE_MS 20 /* of a timer */
#define BLIND_MOST_MS                                                                              \
	(205 * MS_SECOND) /* a minute of sight, 30 s, three steps; looks come 40 s late */
#define END_MOST_MS (35 * MS_SECOND)
#define STRANGLED_MS (35 * MS_MINUTE)

static struct {
	struct steer steer;
	struct steer_input in;
	struct steer_output out, was;
	struct array_facts array;
	uint64_t random;
	unsigned program;
	int step;
	/* the plant */
	int64_t calm, full, foreign; /* bytes/s */
	int64_t delay, slow;         /* of the lever; ms until the rebuild has come back */
	int64_t closed_ms, next_read_ms, read_ms;
	bool stuck, no_baseline, no_rate, no_write, tells, fully;
	/* what is watched */
	int64_t rest_ms, blind_ms, norate_ms, over_ms, strangled_ms, shaken_ms;
	int64_t path_ms;
} w;

static uint32_t draw(uint32_t n)
{
	w.random ^= w.random << 13;
	w.random ^= w.random >> 7;
	w.random ^= w.random << 17;
	return (uint32_t)((w.random >> 16) % n);
}

static int64_t draw_within(int64_t least, int64_t most)
{
	return least + (int64_t)draw((uint32_t)(most - least + 1));
}

static void broken(const char *what)
{
	print_error("program %u, step %d, at %lld ms: %s: path %s %lld, before %s %lld, reason %s: "
		    "%s\n",
		w.program, w.step, (long long)w.in.now_ms, what, steer_path_word(w.out.path),
		(long long)w.out.rate, steer_path_word(w.was.path), (long long)w.was.rate,
		steer_reason_word(w.out.reason), w.out.text);
	fail();
}

static void holds(bool ok, const char *what)
{
	if (!ok)
		broken(what);
}

/* How open: more is larger. */
static int64_t openness(const struct steer_output *out)
{
	if (out->path == STEER_LIMIT)
		return out->rate;
	return out->path == STEER_REST ? -1 : INT64_MAX;
}

static void draw_range(void)
{
	static const int64_t delays[] = {1, 500, 2000, 6000, 60000};
	static const int64_t rests[] = {0, 15000, 60000, 120000, 3600000};

	w.in.range.delay_ms = w.delay = delays[draw(5)];
	w.in.range.rest_max_ms = rests[draw(5)];
	w.in.range.least_rate = draw(2) ? 0 : 65536;
	w.in.range.top_rate = draw(4) ? 0 : draw_within(1, 200) * MBS;
}

static void begin(unsigned program)
{
	static const int64_t protects[] = {10000, 300000, 800000, 800000, 950000, 1000000};
	static const int64_t overs[] = {10000, 60000, 600000, 600000, 86400000};

	memset(&w, 0, sizeof(w));
	w.program = program;
	w.random = UINT64_C(88172645463325252) ^ (program * UINT64_C(0x9E3779B97F4A7C15));
	draw(2);
	strcpy(w.array.name, "md2");
	w.array.operation = MD_OP_RECOVERY;
	w.array.sync_state = MD_SYNC_RUNNING;
	w.array.progress_ppm = OPT(100000);
	w.calm = draw_within(5, 200) * MBS;
	w.full = draw_within(1, 300) * MBS;
	w.foreign = draw(3) ? 0 : draw_within(1, 80) * MBS;
	w.slow = draw(3) ? 2000 : 480000;
	w.fully = draw(4) == 0;
	w.no_baseline = draw(3) == 0;
	w.no_write = draw(4) == 0;
	w.tells = draw(2);
	w.in.now_ms = draw_within(1000, 100000000);
	w.in.array = &w.array;
	w.in.protects = true;
	w.in.rule = (struct steer_rule){protects[draw(6)], overs[draw(5)], OPT_NONE};
	w.in.jobs = 1;
	w.in.only_ours = draw(2);
	draw_range();
	w.next_read_ms = w.in.now_ms;
	w.out.path = STEER_FREE;
}

/* Of the rebuild, while clients write so much. */
static int64_t pace_beside(int64_t write)
{
	if (write <= 500000)
		return w.calm;
	return w.fully ? 0 : w.calm * 20 * MBS / (20 * MBS + write * 4);
}

/* What the array does now. */
static void plant(void)
{
	bool shut = w.out.path == STEER_REST && w.in.applied;
	int64_t ours = shut ? w.in.range.least_rate : w.full, write, rate;

	if (w.out.path == STEER_LIMIT && w.in.applied && w.out.rate < ours)
		ours = w.out.rate;
	if (w.in.jobs <= 0)
		ours = 0;
	write = ours + w.foreign;
	if (write > 500000)
		w.closed_ms = w.in.now_ms;
	rate = pace_beside(write);
	if (write <= 500000 && w.in.now_ms - w.closed_ms < w.slow)
		rate = w.calm / 3;
	w.array.rate = w.no_rate ? OPT_NONE : OPT(rate);
	w.array.client_write = w.no_write ? OPT_NONE : OPT(write);
	w.array.baseline = w.no_baseline ? OPT_NONE : OPT(w.calm);
	w.in.moved = w.tells ? OPT(ours) : OPT_NONE;
}

/* Something happens to the world; true where what holds over time begins anew. */
static bool happen(bool adverse)
{
	if (!adverse || draw(120))
		return false;
	switch (draw(12)) {
	case 0:
		w.in.blind = !w.in.blind;
		return true;
	case 1:
		w.no_rate = !w.no_rate;
		return true;
	case 2:
		w.no_baseline = !w.no_baseline;
		return true;
	case 3:
		w.calm = draw_within(1, 300) * MBS;
		return true;
	case 4:
		w.in.jobs = w.in.jobs ? 0 : draw_within(1, 9);
		return true;
	case 5:
		w.stuck = !w.stuck;
		return true;
	case 6:
		draw_range();
		return true;
	case 7:
		w.in.protects = !w.in.protects;
		w.array.operation = w.in.protects ? MD_OP_RECOVERY : MD_OP_NONE;
		return true;
	case 8:
		w.foreign = draw(2) ? 0 : draw_within(1, 200) * MBS;
		return true;
	case 9:
		w.array.sync_state = draw(2) ? MD_SYNC_RUNNING : MD_SYNC_DELAYED;
		return true;
	case 10:
		w.in.array = w.in.array ? NULL : &w.array;
		return true;
	default:
		w.array.operation = MD_OP_RECOVERY + (int)draw(2);
		w.in.rule.protect_ppm = draw_within(1, 100) * 10000;
		return true;
	}
}

static void watch_rest(bool anew)
{
	bool rests = w.out.path == STEER_REST && w.in.applied;

	if (anew || !rests || w.was.path != STEER_REST)
		w.rest_ms = rests ? w.in.now_ms : 0;
	if (w.out.path == STEER_REST) {
		holds(w.in.range.rest_max_ms > 0 || anew, "a rest where none is allowed");
		holds(!w.rest_ms || w.in.now_ms - w.rest_ms <= w.in.range.rest_max_ms + LATE_MS ||
				w.rest_ms != w.in.applied_ms,
			"a rest longer than rest_max");
	}
}

/* Since when something holds: 0 while it does not. */
static int64_t since(int64_t *at, bool is)
{
	if (!is)
		*at = 0;
	else if (!*at)
		*at = w.in.now_ms;
	return *at ? w.in.now_ms - *at : -1;
}

static void watch_sight(void)
{
	bool blind = w.in.jobs > 0 && (w.in.blind || !w.in.array);
	bool was = w.blind_ms != 0;
	int64_t lasts = since(&w.blind_ms, blind);

	if (blind && was)
		holds(openness(&w.out) >= openness(&w.was), "blind, and closed further");
	holds(lasts < BLIND_MOST_MS || w.out.path == STEER_OPEN, "blind, and not opened");
	lasts = since(&w.norate_ms,
		!(was && !blind) && w.in.jobs > 0 && w.in.protects && !w.in.rule.rate.known &&
			(blind || !w.array.rate.known) && w.array.sync_state == MD_SYNC_RUNNING);
	holds(lasts < BLIND_MOST_MS || w.out.path == STEER_OPEN, "without a pace, and not opened");
}

static void watch_end(void)
{
	bool over = w.in.jobs > 0 && !w.in.protects && !w.in.blind && w.in.array;
	bool was = w.over_ms != 0;
	int64_t lasts = since(&w.over_ms, over);

	if (over && was)
		holds(openness(&w.out) >= openness(&w.was), "the end, and closed further");
	holds(lasts < END_MOST_MS || w.out.path == STEER_FREE, "ended, and not free");
	holds(w.in.jobs > 0 || w.out.path == STEER_FREE, "no job, and not free");
}

/* Where levers cannot rest, or not for long enough to make up for a breath, a limit may have to be
 * as low as that: but only where it helps. And who
 * protects all of it leaves nothing. */
static bool must_strangle(void)
{
	int64_t shut = pace_beside(w.foreign + w.in.range.least_rate);
	int64_t breath = w.delay > 2000 ? w.delay : 2000;

	if (w.in.rule.over_ms > MS_HOUR || w.in.rule.protect_ppm > 970000)
		return true;
	return w.in.range.rest_max_ms / 1000 * (1000000 - w.in.rule.protect_ppm) <
		breath / 1000 * w.in.rule.protect_ppm &&
		pace_beside(w.foreign + 600000) < shut / 100 * (w.in.rule.protect_ppm / 10000);
}

/* A path that is as good as shut for very long, in a world that does not change meanwhile: a backup
 * that times out. */
static void watch_strangled(bool anew)
{
	bool shut = w.out.path == STEER_REST ||
		(w.out.path == STEER_LIMIT && w.out.rate <= 600000 && w.out.rate < w.full / 4);
	int64_t lasts;

	if (anew)
		w.shaken_ms = w.in.now_ms;
	lasts = since(&w.strangled_ms, shut && !w.in.blind && w.in.array);
	if (lasts > 0 && w.in.now_ms - w.shaken_ms < lasts)
		lasts = w.in.now_ms - w.shaken_ms;
	holds(lasts < STRANGLED_MS || must_strangle(), "strangled");
}

static void one_step(bool adverse)
{
	int64_t next = w.next_read_ms;
	bool anew = happen(adverse), changed;

	if (w.out.again_ms.known && w.out.again_ms.v < next)
		next = w.out.again_ms.v;
	holds(!w.out.again_ms.known || w.out.again_ms.v > w.in.now_ms, "a timer in the past");
	w.in.now_ms = next > w.in.now_ms ? next : w.in.now_ms + 1;
	w.in.fresh = w.in.now_ms >= w.next_read_ms && !w.in.blind;
	if (w.in.now_ms >= w.next_read_ms)
		w.next_read_ms =
			w.in.now_ms + (adverse && !draw(30) ? draw_within(1, 40000) : 2000);
	if (w.in.fresh) {
		plant();
		w.in.read_at_ms = w.in.now_ms;
		if (adverse && !draw(30))
			w.in.read_at_ms -= draw_within(0, 5000); /* late, or once more */
	}
	w.was = w.out;
	steer_step(&w.steer, &w.in, &w.out);
	changed = w.out.path != w.was.path || w.out.rate != w.was.rate;
	if (changed)
		w.path_ms = w.in.now_ms;
	if (w.stuck || (adverse && w.in.now_ms - w.path_ms < w.delay && w.delay < 5000)) {
		w.in.applied = false;
		w.in.applied_ms = 0;
	} else if (changed || !w.in.applied) {
		w.in.applied = true;
		w.in.applied_ms = w.in.now_ms;
	}
	holds(w.out.path >= STEER_FREE && w.out.path <= STEER_REST, "no path");
	holds(w.out.path != STEER_LIMIT || w.out.rate > 0, "a limit of nothing");
	holds(w.out.path == STEER_LIMIT || w.out.rate == 0, "a rate without a limit");
	holds(w.out.text[0] != '\0', "no reason");
	watch_rest(anew);
	watch_sight();
	watch_end();
	watch_strangled(anew);
}

static void run(unsigned program, bool adverse)
{
	begin(program);
	for (w.step = 0; w.step < STEPS; w.step++)
		one_step(adverse);
}

/* BREAK_STEER_FROM and BREAK_STEER_PROGRAMS (in the environment) for longer runs. */
static unsigned from_env(const char *name, unsigned usual)
{
	const char *text = getenv(name);
	unsigned n = 0;

	return text && sscanf(text, "%u", &n) == 1 ? n : usual;
}

static void what_always_holds(bool adverse)
{
	unsigned from = from_env("BREAK_STEER_FROM", 1), i;
	unsigned n = from_env("BREAK_STEER_PROGRAMS", PROGRAMS);

	for (i = 0; i < n; i++)
		run(from + i, adverse);
}

static void what_always_holds_in_a_world_that_changes(void **state)
{
	(void)state;
	what_always_holds(true);
}

static void what_always_holds_in_a_world_that_stays(void **state)
{
	(void)state;
	what_always_holds(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_always_holds_in_a_world_that_stays),
		cmocka_unit_test(what_always_holds_in_a_world_that_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
