// SPDX-License-Identifier: MIT
/*
 * Small models of an array that is rebuilt while clients write to it, for the controller's tests:
 * how far md yields by what is written (tables as measured on real md), how fast the pace falls and
 * comes back, caches that go on writing, levers that act late or not at all, other clients, noise.
 * The readings go the daemon's way: counters through md/rate.h and md/comeback.h into array facts.
 * Deterministic; time is counted in ticks of 100 ms.
 */
#ifndef RG_TESTS_SIM_STEER_PLANT_H
#define RG_TESTS_SIM_STEER_PLANT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/steer.h"
#include "md/comeback.h"

#define TICK_MS 100
#define TICK_S 0.1
#define MB 1e6
#define CURVE_MAX 12
#define EVENTS_MAX 4
#define WINDOW_MAX 6000 /* ticks: 10 min */

/* What is left of the rebuild's pace while clients write `write` MB/s; ends at full speed. */
struct curve_point {
	double write, share;
};

struct plant_kind {
	const char *name;
	struct curve_point curve[CURVE_MAX]; /* from {0, 1} on; the last is the disks' full speed */
	double pace;                         /* MB/s, undisturbed, outermost */
	double inner;                        /* of that, innermost */
	double noise;                        /* sd of 2 s windows, of the pace */
	double comeback_s;                   /* from nothing to the whole pace, evenly */
	double cache_mb;                     /* what is taken in before it is written, */
	double intake;                       /* MB/s at most */
	double source; /* MB/s that the backups have to write at most; 0: more than fits */
};

/* From `from_s` on for `span_s`. */
struct plant_event {
	double from_s, span_s;
	double foreign;     /* MB/s that another client writes */
	double environment; /* of the pace, for reasons that nobody sees; 0: 1 */
	bool blind;
};

struct plant_lever {
	struct steer_range range;
	int64_t answers_ms; /* until it reads back as set */
	int64_t acts_ms;    /* from the order until it acts */
	bool dead;          /* reads back, and does nothing */
	bool tells;         /* what the jobs move */
};

struct plant {
	const struct plant_kind *kind;
	const struct plant_lever *lever;
	const struct plant_event *events;
	int n_events;
	double total_mb; /* that the rebuild has to do */
	uint32_t seed;
	bool quiet_noise; /* none */
	int64_t now_ms;
	/* disks */
	double done_mb, x, x0; /* x: of the pace now; x0: as it would be without the backups */
	double cached_mb;
	double written_mb, flowed_mb;
	/* the lever: what was ordered, what acts */
	enum steer_path ordered, acting;
	double ordered_rate, acting_rate;
	int64_t ordered_ms;
	/* the readings */
	struct progress progress;
	struct client_load load;
	struct comeback comeback;
	struct baseline baseline;
	struct array_facts facts;
	int64_t read_ms;
	double read_flowed_mb;
	struct opt moved;
};

static inline double plant_random(struct plant *p)
{
	double sum = 0;
	int i;

	for (i = 0; i < 12; i++) {
		p->seed = p->seed * 1664525u + 1013904223u;
		sum += (double)(p->seed >> 8) / 16777216.0;
	}
	return sum - 6;
}

static inline double curve_at(const struct plant_kind *kind, double write)
{
	const struct curve_point *at = kind->curve;
	int i;

	for (i = 1; i < CURVE_MAX && at[i].write > 0; i++) {
		if (write <= at[i].write) {
			double part = (write - at[i - 1].write) / (at[i].write - at[i - 1].write);

			return at[i - 1].share + part * (at[i].share - at[i - 1].share);
		}
	}
	return at[i - 1].share;
}

static inline double kind_full(const struct plant_kind *kind)
{
	int i;

	for (i = 1; i < CURVE_MAX && kind->curve[i].write > 0; i++)
		;
	return kind->curve[i - 1].write;
}

static inline void plant_begin(struct plant *p, const struct plant_kind *kind,
	const struct plant_lever *lever, uint32_t seed)
{
	*p = (struct plant){.kind = kind, .lever = lever, .seed = seed, .x = 1, .x0 = 1};
	p->total_mb = 4e6;
	p->now_ms = 1000000;
	p->ordered = p->acting = STEER_OPEN;
	p->ordered_ms = p->now_ms - MS_HOUR;
}

static inline double approach(double x, double aim, double comeback_s)
{
	if (aim < x)
		return x + (aim - x) * 0.14; /* falls within a second */
	x += TICK_S / comeback_s;
	return x < aim ? x : aim;
}

static inline double lever_flow(const struct plant *p)
{
	double full = kind_full(p->kind), flow;

	flow = p->kind->intake > full ? p->kind->intake : full;
	if (p->lever && !p->lever->dead) {
		if (p->acting == STEER_REST)
			flow = (double)p->lever->range.least_rate / MB;
		else if (p->acting == STEER_LIMIT && p->acting_rate < flow)
			flow = p->acting_rate;
	}
	if (p->kind->source > 0 && flow > p->kind->source)
		flow = p->kind->source;
	return flow;
}

/* One tick of the disks; `flow` is what the path lets in, MB/s. Returns what went in. */
static inline double plant_disks(struct plant *p, double flow, double foreign, double environment)
{
	double full = kind_full(p->kind), write, position = p->done_mb / p->total_mb, pace,
	       noise = 0;
	double room = p->kind->cache_mb - p->cached_mb;

	write = flow < full ? flow : full;
	if (p->cached_mb > 0)
		write = full;
	if (flow - write > room / TICK_S)
		flow = write + room / TICK_S;
	if (p->cached_mb + (flow - write) * TICK_S < 0)
		write = flow + p->cached_mb / TICK_S;
	p->cached_mb += (flow - write) * TICK_S;
	if (p->cached_mb < 1e-6)
		p->cached_mb = 0;
	p->x = approach(
		p->x, curve_at(p->kind, write + foreign) * environment, p->kind->comeback_s);
	p->x0 = approach(p->x0, curve_at(p->kind, foreign) * environment, p->kind->comeback_s);
	pace = p->kind->pace * (1 - position * (1 - p->kind->inner));
	if (!p->quiet_noise)
		noise = p->kind->noise * 4.47 * plant_random(p);
	if (noise < -1)
		noise = -1;
	p->done_mb += p->x * pace * TICK_S * (1 + noise);
	if (p->done_mb > p->total_mb)
		p->done_mb = p->total_mb;
	p->written_mb += (write + foreign) * TICK_S;
	p->flowed_mb += flow * TICK_S;
	return flow;
}

static inline void plant_event_now(
	const struct plant *p, double *foreign, double *environment, bool *blind)
{
	double at = (double)(p->now_ms - 1000000) / 1000;
	int i;

	*foreign = 0;
	*environment = 1;
	*blind = false;
	for (i = 0; i < p->n_events; i++) {
		const struct plant_event *event = &p->events[i];

		if (at < event->from_s || at >= event->from_s + event->span_s)
			continue;
		*foreign += event->foreign;
		if (event->environment > 0)
			*environment = event->environment;
		*blind = event->blind;
	}
}

static inline void plant_tick(struct plant *p)
{
	double foreign, environment;
	bool blind;

	if (p->lever && p->now_ms - p->ordered_ms >= p->lever->acts_ms) {
		p->acting = p->ordered;
		p->acting_rate = p->ordered_rate;
	}
	plant_event_now(p, &foreign, &environment, &blind);
	plant_disks(p, lever_flow(p), foreign, environment);
	p->now_ms += TICK_MS;
}

/* The daemon's way from counters to facts (md/track.c). */
static inline void plant_read(struct plant *p)
{
	struct array_facts *facts = &p->facts;
	struct opt at;

	client_load_read(&p->load, 0, (uint64_t)(p->written_mb * MB / 512), p->now_ms);
	progress_read(&p->progress, (int64_t)(p->done_mb * MB / 1024),
		(int64_t)(p->total_mb * MB / 1024), p->now_ms);
	at = progress_share(&p->progress);
	comeback_read(&p->comeback, &p->baseline, MD_OP_RECOVERY, &p->progress, &p->load);
	memcpy(facts->name, "md2", 4);
	facts->operation = MD_OP_RECOVERY;
	facts->sync_state = MD_SYNC_RUNNING;
	facts->progress_ppm = at;
	facts->rate = p->progress.rate;
	facts->baseline = baseline_at(&p->baseline, MD_OP_RECOVERY, at.v);
	facts->client_write = p->load.write;
	facts->client_read = p->load.read;
	p->moved = OPT_NONE;
	if (p->lever->tells && p->now_ms > p->read_ms)
		p->moved = OPT((int64_t)((p->flowed_mb - p->read_flowed_mb) * MB * 1000 /
			(double)(p->now_ms - p->read_ms)));
	p->read_flowed_mb = p->flowed_mb;
	p->read_ms = p->now_ms;
}

/* --- the controller on the plant --- */

struct run {
	struct plant plant;
	struct steer steer;
	struct steer_input in;
	struct steer_output out;
	int64_t read_every_ms;
	bool blind_to_clients; /* the NAS shows no counters of what clients do */
	/* what came of it, since `from_ms` */
	int64_t from_ms;
	double kept, might, moved_mb, seconds;
	double window_kept[WINDOW_MAX], window_might[WINDOW_MAX];
	double sum_kept, sum_might, worst; /* least share in any `over` */
	int64_t ticks;
	int changes;     /* of a limit */
	int64_t rest_ms; /* the rest that lasts, */
	int64_t rest_longest_ms;
	int64_t open_least_ms, rest_least_ms; /* shortest slice and piece of a rest, as ordered */
	int reasons[STEER_REASON_COUNT];      /* ticks */
	int ways[3];
	bool no_grip;
};

static inline void run_begin(struct run *r, const struct plant_kind *kind,
	const struct plant_lever *lever, int64_t over_ms, uint32_t seed)
{
	memset(r, 0, sizeof(*r));
	plant_begin(&r->plant, kind, lever, seed);
	r->in.rule = (struct steer_rule){.protect_ppm = 800000, .over_ms = over_ms};
	r->in.range = lever->range;
	r->in.jobs = 1;
	r->in.protects = true;
	r->in.only_ours = true;
	r->read_every_ms = 2000;
	r->worst = 1;
	r->from_ms = r->plant.now_ms;
	r->open_least_ms = r->rest_least_ms = INT64_MAX;
}

static inline void run_apply(struct run *r)
{
	struct plant *p = &r->plant;
	double rate = (double)r->out.rate / MB;

	if (r->out.path != p->ordered || rate != p->ordered_rate) {
		int64_t lasted = p->now_ms - p->ordered_ms;

		if (p->ordered == STEER_OPEN && lasted < r->open_least_ms)
			r->open_least_ms = lasted;
		if (p->ordered == STEER_REST && lasted < r->rest_least_ms)
			r->rest_least_ms = lasted;
		if (r->out.path == STEER_LIMIT && p->ordered == STEER_LIMIT)
			r->changes++;
		p->ordered = r->out.path;
		p->ordered_rate = rate;
		p->ordered_ms = p->now_ms;
	}
}

static inline void run_count(struct run *r)
{
	struct plant *p = &r->plant;
	int64_t at, length = r->in.rule.over_ms / TICK_MS;

	if (p->acting == STEER_REST)
		r->rest_ms += TICK_MS;
	else
		r->rest_ms = 0;
	if (r->rest_ms > r->rest_longest_ms)
		r->rest_longest_ms = r->rest_ms;
	if (p->now_ms <= r->from_ms)
		return;
	if (length > WINDOW_MAX)
		length = WINDOW_MAX;
	at = r->ticks++ % length;
	r->sum_kept += p->x - r->window_kept[at];
	r->sum_might += p->x0 - r->window_might[at];
	r->window_kept[at] = p->x;
	r->window_might[at] = p->x0;
	if (r->ticks >= length && r->sum_kept / r->sum_might < r->worst)
		r->worst = r->sum_kept / r->sum_might;
	r->kept += p->x;
	r->might += p->x0;
	r->seconds += TICK_S;
	r->reasons[r->out.reason]++;
	r->ways[r->out.way]++;
	if (r->out.no_grip)
		r->no_grip = true;
}

static inline void run_for(struct run *r, double seconds)
{
	struct plant *p = &r->plant;
	int64_t end = p->now_ms + (int64_t)(seconds * 1000);
	double foreign, environment, flowed = p->flowed_mb;
	bool blind, due, measured = p->now_ms >= r->from_ms;

	while (p->now_ms < end) {
		plant_event_now(p, &foreign, &environment, &blind);
		due = !blind && p->now_ms - p->read_ms >= r->read_every_ms;
		if (due) {
			plant_read(p);
			if (r->blind_to_clients)
				p->facts.client_write = OPT_NONE;
			r->in.fresh = true;
			r->in.read_at_ms = p->now_ms;
		}
		if (due || blind || (r->out.again_ms.known && p->now_ms >= r->out.again_ms.v)) {
			r->in.now_ms = p->now_ms;
			r->in.array = p->read_ms ? &p->facts : NULL;
			r->in.blind = blind;
			r->in.moved = p->moved;
			r->in.applied = p->now_ms - p->ordered_ms >= p->lever->answers_ms;
			r->in.applied_ms = r->in.applied ? p->ordered_ms + p->lever->answers_ms : 0;
			steer_step(&r->steer, &r->in, &r->out);
			r->in.fresh = false;
			run_apply(r);
		}
		plant_tick(p);
		run_count(r);
	}
	if (measured)
		r->moved_mb += p->flowed_mb - flowed;
}

/* Counts from now on. */
static inline void run_count_anew(struct run *r)
{
	r->from_ms = r->plant.now_ms;
	r->kept = r->might = r->moved_mb = r->seconds = 0;
	r->sum_kept = r->sum_might = 0;
	memset(r->window_kept, 0, sizeof(r->window_kept));
	memset(r->window_might, 0, sizeof(r->window_might));
	r->worst = 1;
	r->ticks = 0;
	r->changes = 0;
	memset(r->reasons, 0, sizeof(r->reasons));
	memset(r->ways, 0, sizeof(r->ways));
}

static inline double run_share(const struct run *r)
{
	return r->kept / r->might;
}

static inline double run_pace(const struct run *r)
{
	return r->moved_mb / r->seconds;
}

/* --- the best that a fixed setting does --- */

struct fixed {
	double share, pace;
};

/* Full speed for `slice_s`, nothing for `rest_s`, over and over; or at `limit` all the time. */
static inline struct fixed fixed_run(
	const struct plant_kind *kind, double limit, double slice_s, double rest_s)
{
	struct plant p;
	double full = kind_full(kind), open = kind->intake > full ? kind->intake : full;
	double cycle = slice_s + rest_s, seconds = cycle * 6 > 1800 ? cycle * 6 : 1800, kept = 0;
	int64_t i, n = (int64_t)(seconds * 10);

	plant_begin(&p, kind, NULL, 1);
	p.quiet_noise = true;
	for (i = 0; i < n; i++) {
		double at = (double)i * TICK_S, flow = limit;

		if (slice_s > 0)
			flow = at - (double)(int64_t)(at / cycle) * cycle < slice_s ? open : 0;
		if (kind->source > 0 && flow > kind->source)
			flow = kind->source;
		plant_disks(&p, flow, 0, 1);
		kept += p.x;
	}
	return (struct fixed){kept / (double)n, p.flowed_mb / seconds};
}

static inline struct fixed fixed_best_steady(const struct plant_kind *kind, double protect)
{
	double low = 0, high = kind_full(kind), middle;
	int i;

	if (kind->intake > high)
		high = kind->intake;
	if (fixed_run(kind, high, 0, 1).share >= protect)
		return fixed_run(kind, high, 0, 1);
	for (i = 0; i < 12; i++) {
		middle = (low + high) / 2;
		if (fixed_run(kind, middle, 0, 1).share >= protect)
			low = middle;
		else
			high = middle;
	}
	return fixed_run(kind, low, 0, 1);
}

/* Of slices no shorter than `least_s`. */
static inline struct fixed fixed_best_slices(
	const struct plant_kind *kind, double protect, double least_s)
{
	struct fixed best = {0, 0}, one;
	double slice_s, low, high, middle;
	int i;

	for (slice_s = least_s; slice_s <= 33; slice_s *= 2) {
		low = 0;
		high = 2000;
		for (i = 0; i < 12; i++) {
			middle = (low + high) / 2;
			if (fixed_run(kind, 0, slice_s, middle).share >= protect)
				high = middle;
			else
				low = middle;
		}
		one = fixed_run(kind, 0, slice_s, high);
		if (one.share >= protect && one.pace > best.pace)
			best = one;
	}
	return best;
}

#endif
