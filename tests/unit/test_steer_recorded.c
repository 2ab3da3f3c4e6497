// SPDX-License-Identifier: MIT
/*
 * The controller on recorded rebuilds (tests/golden/steer): the readings go through the tracker as
 * texts, and the path is what the recording had, so that what the controller concludes can be held
 * against what was so. With STEER_TABLE set in the environment the figures are printed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../sim/steer/kinds.h"
#include "../sim/steer/plant.h"
#include "../sim/steer/recorded.h"
#include "core/steer.h"
#include "md/track.h"

#define TOTAL_KIB 4190208
#define MBS 1000000

static const char *const names[] = {
	"plain-buffered", "plain-direct", "seek-buffered", "seek-direct"};
#define N_NAMES (int)(sizeof(names) / sizeof(names[0]))

static struct recorded recording;
static struct track track;
static struct mdstat room;
static struct nas_facts facts;

static struct {
	struct steer steer;
	struct steer_input in;
	struct steer_output out;
	int64_t ordered_ms;
	int at;                 /* row of the last reading */
	enum steer_path before; /* path when it came */
	int64_t before_rate;
} w;

static void begin(int name, int64_t over_ms)
{
	if (!recorded_open(&recording, names[name]))
		fail_msg("tests/golden/steer/%s.txt is missing or damaged (run from the root)",
			names[name]);
	track_init(&track, "nas1", MD_VENDOR_GENERIC, NULL, 0);
	memset(&w, 0, sizeof(w));
	w.in.protects = true;
	w.in.only_ours = true;
	w.in.rule = (struct steer_rule){.protect_ppm = 800000, .over_ms = over_ms};
	w.in.range = (struct steer_range){.delay_ms = 300, .rest_max_ms = 120000};
	w.at = -1;
}

static void take(const struct recorded_row *row)
{
	static char text[2048];
	int n;

	n = snprintf(text, sizeof(text),
		"Personalities : [raid6] [raid5] [raid4] \n"
		"md2 : active raid6 vdb[5] vdf[4] vde[3] vdd[2] vda[0]\n"
		"      %d blocks super 1.2 level 6, 512k chunk, algorithm 2 [5/4] [U_UUU]\n"
		"      [=>...]  recovery = %lld.0%% (%lld/%d) finish=9.0min speed=5000K/sec\n"
		"      \nunused devices: <none>\n"
		"#rg diskstats\n   9       2 md2 1 0 %lld 0 1 0 %lld 0 0 0 0\n#rg end\n",
		3 * TOTAL_KIB, (long long)(row->done_kib * 100 / TOTAL_KIB),
		(long long)row->done_kib, TOTAL_KIB, (long long)row->read_kib * 2,
		(long long)row->written_kib * 2);
	if (!track_reading(&track, &room, text, (size_t)n, row->ms, &facts))
		fail_msg("%s @%lld: %s", recording.name, (long long)row->ms, facts.sensor_text);
}

/* Whether what the stream did fits a path: nobody moves anything through a closed one, or more than
 * a limit through that. */
static bool fits(const struct recorded_row *row, enum steer_path path, int64_t rate)
{
	if (path == STEER_REST)
		return row->sent < RECORDED_QUIET;
	if (path == STEER_LIMIT)
		return row->sent * MBS <= (double)rate;
	return true;
}

static void step(int64_t now_ms)
{
	const struct recorded_row *row = &recording.rows[w.at];
	enum steer_path path = w.out.path;
	int64_t rate = w.out.rate;

	w.in.now_ms = now_ms;
	if (!w.in.applied)
		w.in.applied_ms = 0;
	w.in.applied = fits(row, path, rate);
	if (w.in.applied && !w.in.applied_ms)
		w.in.applied_ms = row[-1].ms > w.ordered_ms ? row[-1].ms : w.ordered_ms;
	steer_step(&w.steer, &w.in, &w.out);
	w.in.fresh = false;
	if (w.out.path != path || w.out.rate != rate) {
		w.ordered_ms = now_ms;
		w.in.applied = false;
	}
}

/* The next reading, and before it what the controller asked to be called for. Jobs write from the
 * first stream on. False at the end. */
static bool look(void)
{
	const struct recorded_row *row;

	if (++w.at >= recording.n)
		return false;
	row = &recording.rows[w.at];
	w.before = w.out.path;
	w.before_rate = w.out.rate;
	if (w.at && w.in.jobs) {
		w.at--;
		while (w.out.again_ms.known && w.out.again_ms.v < row->ms)
			step(w.out.again_ms.v);
		w.at++;
	}
	take(row);
	if (w.at && strcmp(row->phase, "idle") != 0)
		w.in.jobs = 1;
	w.in.array = nas_facts_find(&facts, "md2");
	w.in.moved = w.at ? OPT((int64_t)(row->sent * MBS)) : OPT_NONE;
	w.in.fresh = true;
	w.in.read_at_ms = row->ms;
	if (w.at && w.in.jobs)
		step(row->ms);
	return true;
}

static bool table(void)
{
	return getenv("STEER_TABLE") != NULL;
}

static void assert_within(const char *what, double value, double least, double most)
{
	if (value >= least && value <= most)
		return;
	print_error(
		"%s, %s: %.2f, %.2f to %.2f expected\n", recording.name, what, value, least, most);
	fail();
}

/* --- what a recording shows by itself --- */

#define QUIET 0.27    /* MB/s written: the array rests, md's own superblocks apart */
#define READING_S 3.0 /* the longest time between two readings, about */

struct shown {
	double comeback_least, comeback_most; /* s, from the last reading with writes on */
	double drain_most;                    /* s, from the last one in which something was sent */
	int n;                                /* comebacks */
};

/* From row `at`, the last with writes, until two readings in a row say that it is back; below 0
 * where it does not come back before more is written. */
static double shown_comeback(const struct recorded *r, int at)
{
	int i;

	for (i = at + 2; i < r->n && r->rows[i].written < QUIET && r->rows[i - 1].written < QUIET;
		i++) {
		if (r->rows[i].pace + r->rows[i - 1].pace >= 1.8 * r->idle)
			return (double)(r->rows[i].ms - r->rows[at].ms) / 1000;
	}
	return -1;
}

static struct shown shown_by(const struct recorded *r)
{
	struct shown shown = {1e9, 0, 0, 0};
	int64_t sent_ms = 0;
	int i;

	for (i = 1; i + 1 < r->n; i++) {
		const struct recorded_row *row = &r->rows[i];
		double took = -1;

		if (row->sent > RECORDED_QUIET)
			sent_ms = row->ms;
		else if (row->written < QUIET)
			sent_ms = 0; /* has drained */
		if (row->written >= QUIET && sent_ms) {
			double drain = (double)(row->ms - sent_ms) / 1000;

			shown.drain_most = drain > shown.drain_most ? drain : shown.drain_most;
		}
		if (row->written >= QUIET && row[1].written < QUIET && row->pace < 0.7 * r->idle)
			took = shown_comeback(r, i);
		if (took < 0)
			continue;
		shown.n++;
		if (took < shown.comeback_least)
			shown.comeback_least = took;
		if (took > shown.comeback_most)
			shown.comeback_most = took;
	}
	return shown;
}

/* --- tests --- */

static void learns_what_the_recording_shows(void **state)
{
	int name;

	(void)state;
	for (name = 0; name < N_NAMES; name++) {
		struct shown shown;
		double ref, comeback, drain;

		begin(name, 60000);
		shown = shown_by(&recording);
		while (look()) {
			/* The first pause is enough for a baseline. */
			if (w.in.jobs && !w.in.array->baseline.known)
				fail_msg("%s: no baseline at %lld", recording.name,
					(long long)recording.rows[w.at].ms);
		}
		ref = (double)w.steer.ref.v / MBS;
		comeback = (double)w.steer.comeback_ms / 1000;
		drain = (double)w.steer.drain_ms / 1000;
		if (table())
			printf("%-14s undisturbed %.2f MB/s (recorded %.2f +- %.2f), comes back "
			       "in %.1f s (%.1f to %.1f in %d), drains for %.1f s (up to %.1f)\n",
				recording.name, ref, recording.idle, recording.spread, comeback,
				shown.comeback_least, shown.comeback_most, shown.n, drain,
				shown.drain_most);
		assert_true(shown.n >= 2);
		assert_within("undisturbed", ref, recording.idle - 1.5 * recording.spread,
			recording.idle + 1.5 * recording.spread);
		assert_within("comeback", comeback, shown.comeback_least - READING_S,
			shown.comeback_most + READING_S);
		assert_within("drain", drain, 0.1, shown.drain_most + READING_S);
	}
}

/* The path is narrower than it was when the last reading came. */
static bool closed_further(void)
{
	if (w.before == STEER_NONE || w.before == STEER_REST || w.before == STEER_FREE)
		return false;
	if (w.before == STEER_LIMIT)
		return w.out.path == STEER_REST ||
			(w.out.path == STEER_LIMIT && w.out.rate < w.before_rate);
	return w.out.path == STEER_REST || w.out.path == STEER_LIMIT;
}

/* Nobody has sent or written anything in so many readings. */
static bool rests_since(int n)
{
	const struct recorded_row *row = &recording.rows[w.at];

	for (; n > 0; n--, row--) {
		if (row <= recording.rows || row->written > QUIET || row->sent > QUIET)
			return false;
	}
	return true;
}

static void squeezes_nobody_while_nobody_writes(void **state)
{
	static const int64_t overs[] = {60000, 600000};
	int name, low, over, breaths;

	(void)state;
	for (name = 0; name < N_NAMES; name++) {
		for (over = 0; over < 2; over++) {
			begin(name, overs[over]);
			for (low = breaths = 0; look();) {
				const struct recorded_row *row = &recording.rows[w.at];

				if (!rests_since(3))
					continue;
				if (row->pace < 0.8 * recording.idle)
					low++;
				/* The end of a breath within a rest closes it again. */
				if (closed_further() && w.steer.breath_ms)
					breaths++;
				else if (closed_further())
					fail_msg("%s: closed at %lld, and nobody writes",
						recording.name, (long long)row->ms);
			}
			if (table())
				printf("%-14s %d readings below the share without a write\n",
					recording.name, low);
			assert_true(breaths <= 1);
			/* Such drops are there on disks that seek. */
			assert_true(name < 2 || low >= 3);
		}
	}
}

/* A job begins in the pause before the phase, and is let through. */
static void play_to(const char *phase)
{
	while (look()) {
		if (strcmp(recording.rows[w.at].phase, phase) == 0)
			return;
		if (recording.rows[w.at].written > QUIET || recording.rows[w.at].sent > QUIET) {
			steer_forget(&w.steer);
			memset(&w.out, 0, sizeof(w.out));
		}
		w.in.jobs = 1;
	}
	fail_msg("%s: no phase %s", recording.name, phase);
}

static void squeezes_a_full_stream_within_two_readings(void **state)
{
	int name;

	(void)state;
	for (name = 0; name < N_NAMES; name++) {
		int since = 0;

		begin(name, 60000);
		play_to("full");
		assert_int_equal(w.out.path, STEER_OPEN);
		do {
			const struct recorded_row *row = &recording.rows[w.at];

			if (row->written > QUIET && row->pace < 0.5 * recording.idle)
				since++;
		} while (w.out.path == STEER_OPEN && look());
		if (table())
			printf("%-14s closed by reading %d that shows what a full stream does\n",
				recording.name, since);
		assert_int_equal(w.out.path, STEER_REST);
		assert_in_range(since, 1, 2);
		/* Nothing closes it once more, when the stream has stopped and caches are empty. */
		while (look()) {
			assert_int_not_equal(w.out.reason, STEER_SQUEEZE);
			assert_int_not_equal(w.out.reason, STEER_NOT_OURS);
			assert_false(closed_further());
		}
	}
}

/* --- the plants --- */

/* A recording's own pauses differ by 10 points and more from each other. */
#define PART_POINTS 15
#define WHOLE_POINTS 7
#define STALL_S 4.0 /* a reading that took so long: the machine that recorded stood still */

/* An array like this, but as fast as the one that was recorded. */
static struct plant_kind scaled(const struct plant_kind *kind, double pace)
{
	struct plant_kind ret = *kind;
	int i;

	for (i = 1; i < CURVE_MAX && ret.curve[i].write > 0; i++)
		ret.curve[i].write *= pace / kind->pace;
	ret.pace = pace;
	return ret;
}

struct compared {
	double seconds, recorded, simulated; /* share x s */
};

static void compare(struct compared *sum, struct plant *plant, const struct recorded_row *row)
{
	int i, n = (int)(row->seconds / TICK_S + 0.5);
	double kept = 0;

	for (i = 0; i < n; i++) {
		plant_disks(plant, row->sent, 0, 1);
		kept += plant->x * TICK_S;
	}
	if (row->seconds > STALL_S)
		return;
	sum->seconds += row->seconds;
	sum->recorded += row->pace / recording.idle * row->seconds;
	sum->simulated += kept;
}

static void assert_near(const char *part, const struct compared *sum, double points)
{
	double recorded = sum->recorded / sum->seconds * 100;
	double simulated = sum->simulated / sum->seconds * 100;

	if (table())
		printf("%-14s %-12s %5.0f s: recorded %3.0f %%, simulated %3.0f %%\n",
			recording.name, part, sum->seconds, recorded, simulated);
	assert_within(part, simulated, recorded - points, recorded + points);
}

static const int like[] = {B_BUFFERED, B_QD1, S_BUFFERED, S_QD1};

/* The same streams into the simulated arrays leave the rebuild as much. */
static void the_simulated_arrays_are_like_the_recorded(void **state)
{
	int name;

	(void)state;
	for (name = 0; name < N_NAMES; name++) {
		struct compared whole = {0};
		struct recorded_part part;
		struct plant_kind kind;
		struct plant plant;
		int at = 0, row = 1;

		begin(name, 60000);
		kind = scaled(&kinds[like[name]], recording.idle);
		plant_begin(&plant, &kind, NULL, 1);
		plant.quiet_noise = true;
		while (recorded_part_next(&recording, &at, &part)) {
			struct compared sum = {0};

			for (; row < at; row++) {
				if (strcmp(recording.rows[row].phase, "idle") == 0)
					sum = (struct compared){0};
				compare(&sum, &plant, &recording.rows[row]);
			}
			assert_near(part.name, &sum, PART_POINTS);
			whole.seconds += sum.seconds;
			whole.recorded += sum.recorded;
			whole.simulated += sum.simulated;
		}
		assert_near("all streams", &whole, WHOLE_POINTS);
	}
}

static struct run run; /* too large for a stack */

/* As fast and as restless as the recorded ones. */
static void keeps_the_share_of_such_arrays(void **state)
{
	static const int by[] = {QMP_60S, FLEECED_60S, PBS_60S, FLEECED, PBS};
	int name;
	size_t i;

	(void)state;
	for (name = 0; name < N_NAMES; name++) {
		struct plant_kind kind;
		struct fixed steady;

		begin(name, 60000);
		kind = scaled(&kinds[like[name]], recording.idle);
		kind.noise = recording.spread / recording.idle * 1.25;
		steady = fixed_best_steady(&kind, 0.8);
		for (i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
			run_begin(&run, &kind, &levers[by[i]].lever, levers[by[i]].over, 7);
			run_for(&run, 600);
			run_count_anew(&run);
			run_for(&run, 3600);
			if (table())
				printf("%-14s %-13s share %4.1f %%, %.2f MB/s, %.2f of a steady "
				       "limit, %s\n",
					recording.name, levers[by[i]].name, run_share(&run) * 100,
					run_pace(&run), run_pace(&run) / steady.pace,
					steer_way_word((enum steer_way)run.steer.way));
			assert_within(levers[by[i]].name, run_share(&run), 0.76, 0.84);
			if (name == 3)
				assert_int_equal(run.steer.way, STEER_SLICES);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(learns_what_the_recording_shows),
		cmocka_unit_test(squeezes_nobody_while_nobody_writes),
		cmocka_unit_test(squeezes_a_full_stream_within_two_readings),
		cmocka_unit_test(the_simulated_arrays_are_like_the_recorded),
		cmocka_unit_test(keeps_the_share_of_such_arrays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
