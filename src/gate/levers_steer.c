// SPDX-License-Identifier: MIT
/* One controller for each array: what it sees, and what of its path each job gets. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "gate/levers_impl.h"
#include "gate/watch.h"
#include "md/rate.h"
#include "proxmox/pbs.h"

/* A keeper asks every second, and QEMU takes a change at once. */
#define KEEPER_DELAY_MS (2 * MS_SECOND)
#define PBS_REST_MAX_MS MS_MINUTE
#define PAUSE_MS (15 * MS_SECOND) /* where nobody copies yet */

/* How long the NAS's floor is tried alone, and what it may fall short of. */
#define FLOOR_ALONE_MS (45 * MS_SECOND)
#define FLOOR_SLACK_PPM 20000
#define SMOOTH_MIN_MS (10 * MS_SECOND)

struct steered *steered_find(struct levers *levers, const char *nas, const char *array)
{
	size_t i;

	for (i = 0; i < LEVERS_ARRAYS; i++)
		if (levers->arrays[i].nas[0] && strcmp(levers->arrays[i].nas, nas) == 0 &&
			strcmp(levers->arrays[i].array, array) == 0)
			return &levers->arrays[i];
	return NULL;
}

void steered_begin(struct levers *levers, struct steered *s)
{
	struct opt readers = levers_readers(levers, s->nas);

	s->protects = false;
	s->rule = (struct steer_rule){.rate = OPT_NONE};
	s->max_pause_ms = OPT_NONE;
	s->jobs = s->unreached = s->units = 0;
	s->others = levers->gate->tasks == NULL || !tasks_sees(levers->gate->tasks, s->nas);
	s->restore = readers.known && readers.v > 0;
}

/* What one learned is kept while there is room. */
static struct steered *spare(struct levers *levers)
{
	size_t i;

	for (i = 0; i < LEVERS_ARRAYS; i++)
		if (!levers->arrays[i].nas[0])
			return &levers->arrays[i];
	for (i = 0; i < LEVERS_ARRAYS; i++)
		if (!levers->arrays[i].protects && levers->arrays[i].out.path <= STEER_FREE &&
			!levers->arrays[i].floor_ms)
			return &levers->arrays[i];
	return NULL;
}

/* NULL where all are taken by arrays that are steered now: then one more is not. */
struct steered *steered_make(struct levers *levers, const char *nas, const char *array)
{
	struct steered *slot = steered_find(levers, nas, array);

	if (slot)
		return slot;
	slot = spare(levers);
	if (!slot)
		return NULL;
	memset(slot, 0, sizeof(*slot));
	snprintf(slot->nas, sizeof(slot->nas), "%s", nas);
	snprintf(slot->array, sizeof(slot->array), "%s", array);
	slot->out.path = STEER_FREE;
	slot->told_path = STEER_FREE;
	steered_begin(levers, slot);
	return slot;
}

bool steered_has(const struct levers *levers, const struct steered *s, const struct lever_job *job)
{
	return job->by > BY_FLOOR && (job->arrays >> (s - levers->arrays) & 1);
}

static bool copies(const struct levers *levers, const struct keeper *keeper, int64_t ticket)
{
	return keeper->said_ms && keeper->said.ticket == ticket && keeper->said.n_jobs > 0 &&
		keeper_alive(levers, keeper);
}

/* What is put together over all paths of one array. */
struct paths {
	struct steer_range range;
	struct opt moved;
	bool untold; /* one of them does not tell what it moves */
	enum moved as;
	bool mixed; /* they tell it in several measures */
	bool applied;
	int64_t applied_ms;
	int64_t n;
};

static void add_path(
	struct paths *p, enum moved as, struct opt moved, int64_t since_ms, bool settled)
{
	p->mixed = p->mixed || (p->n && p->as != as);
	p->as = as;
	p->n++;
	p->untold = p->untold || !moved.known;
	p->moved.v += moved.v;
	p->applied = p->applied && settled;
	if (since_ms > p->applied_ms)
		p->applied_ms = since_ms;
}

static void narrow(struct steer_range *range, int64_t delay, int64_t least, int64_t rest)
{
	if (delay > range->delay_ms)
		range->delay_ms = delay;
	range->least_rate += least;
	if (rest < range->rest_max_ms)
		range->rest_max_ms = rest;
}

static void add_keepers(
	struct levers *levers, struct steered *s, const struct lever_job *job, struct paths *p)
{
	size_t i;

	for (i = 0; i < LEVERS_KEEPERS; i++) {
		const struct keeper *keeper = &levers->keepers[i];

		if (!copies(levers, keeper, job->ticket))
			continue;
		narrow(&p->range, keeper_delay(keeper), 0,
			keeper_pause_ms(&keeper->said, s->max_pause_ms));
		add_path(p, MOVED_READ, keeper->said.moved, keeper->applied_ms,
			keeper->applied_ms != 0);
	}
}

static void add_server(struct levers *levers, const char *pbs, struct paths *p)
{
	struct pbs_lever *lever = levers_pbs_usable(levers, pbs);
	struct pbs_lever_state state;

	if (!lever)
		return;
	pbs_lever_state(lever, &state);
	narrow(&p->range, state.delay_ms, PBS_RATE_LEAST, PBS_REST_MAX_MS);
	add_path(p, MOVED_WRITTEN, state.moved, state.since_ms, state.settled);
}

static bool seen_server(struct levers *levers, const struct steered *s, size_t job)
{
	size_t i;

	for (i = 0; i < job; i++)
		if (levers->jobs[i].by == BY_PBS && steered_has(levers, s, &levers->jobs[i]) &&
			strcmp(levers->jobs[i].pbs, levers->jobs[job].pbs) == 0)
			return true;
	return false;
}

static void look_at_paths(struct levers *levers, struct steered *s, struct paths *ret)
{
	size_t i;

	*ret = (struct paths){.applied = true};
	ret->range.rest_max_ms = INT64_MAX;
	for (i = 0; i < levers->n_jobs; i++) {
		const struct lever_job *job = &levers->jobs[i];

		if (!steered_has(levers, s, job))
			continue;
		if (job->by == BY_KEEPER)
			add_keepers(levers, s, job, ret);
		else if (!seen_server(levers, s, i))
			add_server(levers, job->pbs, ret);
	}
	if (!ret->n) {
		ret->applied = false;
		narrow(&ret->range, KEEPER_DELAY_MS, 0, PAUSE_MS);
	}
	ret->moved.known = ret->n && !ret->untold;
	if (!ret->moved.known)
		ret->moved.v = 0;
}

/* The share as a person would see it, for whether the floor alone is enough. */
static void smooth(struct steered *s, const struct array_facts *array, int64_t now)
{
	int64_t tau = s->rule.over_ms / 4, dt = now - s->share_ms;

	if (!array->rate_of_baseline_ppm.known)
		return;
	if (tau < SMOOTH_MIN_MS)
		tau = SMOOTH_MIN_MS;
	if (dt > tau)
		dt = tau;
	if (!s->share.known)
		s->share = array->rate_of_baseline_ppm;
	else
		s->share.v += (array->rate_of_baseline_ppm.v - s->share.v) * dt / tau;
	s->share_ms = now;
}

/* The NAS's own floor is tried first: true while it is enough, or not known to be too little. */
static bool floor_alone(struct levers *levers, struct steered *s)
{
	int64_t now = levers->now.boot_ms;
	const char *text = "the NAS's own floor is tried first";

	if (!s->floor_ms || s->floor_short || !s->protects)
		return false;
	if (now - s->floor_ms >= FLOOR_ALONE_MS) {
		if (!s->share.known || s->share.v < s->rule.protect_ppm - FLOOR_SLACK_PPM) {
			s->floor_short = true;
			return false;
		}
		text = "the NAS's own floor keeps the share";
	}
	s->out = (struct steer_output){
		.path = STEER_OPEN,
		.way = s->out.way,
		.reason = STEER_KEEPING,
		.share_ppm = s->share,
		.again_ms = OPT(now + LEVERS_BUSY_MS),
	};
	snprintf(s->out.text, sizeof(s->out.text), "%s", text);
	floor_say(levers, s);
	return true;
}

/* What nobody but the rebuild may be in the way of: the controller goes on by itself, its answer
 * does not count. */
static void overrule(struct levers *levers, struct steered *s)
{
	if (s->restore)
		snprintf(s->out.text, sizeof(s->out.text),
			"a restore reads from %s: nothing is slowed", s->nas);
	else if (levers_frozen(levers))
		snprintf(s->out.text, sizeof(s->out.text), "%s wants nothing moved for now",
			levers->frozen_by);
	else
		return;
	s->out.path = STEER_FREE;
	s->out.rate = 0;
	s->out.again_ms = OPT_NONE;
	s->out.way = STEER_WAY_NONE;
	s->out.reason = STEER_NOTHING_TO_PROTECT;
	s->out.no_grip = false;
}

void steered_step(struct levers *levers, struct steered *s)
{
	struct watch *watch = gate_watch(levers->gate, s->nas);
	const struct nas_facts *facts = watch ? watch_facts(watch, &levers->now) : NULL;
	struct steer_input in = {.now_ms = levers->now.boot_ms};
	struct steer_output before;
	struct paths paths;

	s->blind = !facts || facts->sensor != SENSOR_OK;
	in.array = facts ? nas_facts_find(facts, s->array) : NULL;
	in.blind = s->blind;
	in.read_at_ms = facts && facts->read_at_ms.known ? facts->read_at_ms.v : 0;
	in.fresh = !in.blind && in.read_at_ms > s->read_at_ms;
	if (in.fresh && in.array && s->floor_ms)
		smooth(s, in.array, in.read_at_ms);
	s->read_at_ms = in.read_at_ms;
	in.protects = s->protects && !s->restore && !levers_frozen(levers);
	if (in.protects && floor_alone(levers, s))
		return;
	look_at_paths(levers, s, &paths);
	in.rule = s->rule;
	in.jobs = s->jobs;
	in.moved = paths.moved;
	in.only_ours = !s->others;
	in.range = paths.range;
	in.applied = paths.applied;
	in.applied_ms = paths.applied ? paths.applied_ms : 0;
	s->applied_ms = in.applied_ms;
	s->moved_mixed = paths.mixed;
	s->moved_as = paths.moved.known && !paths.mixed ? paths.as : MOVED_NONE;
	before = s->out;
	steer_step(&s->steer, &in, &s->out);
	overrule(levers, s);
	if (s->out.path != before.path || s->out.rate != before.rate)
		s->ordered_ms = levers->now.boot_ms;
	paces_note(levers, s);
	floor_say(levers, s);
}

/* Whether `a` leaves less than `b`. */
static bool closer(const struct steered *a, const struct steered *b)
{
	int64_t units_a = a->units > 0 ? a->units : 1, units_b = b->units > 0 ? b->units : 1;

	if (a->out.path != b->out.path)
		return a->out.path > b->out.path;
	return a->out.path == STEER_LIMIT && a->out.rate / units_a < b->out.rate / units_b;
}

struct job_path levers_path(struct levers *levers, uint64_t arrays)
{
	struct job_path ret = {.path = STEER_FREE, .units = 1};
	const struct steered *found = NULL;
	size_t i;

	for (i = 0; i < LEVERS_ARRAYS; i++)
		if ((arrays >> i & 1) && (!found || closer(&levers->arrays[i], found)))
			found = &levers->arrays[i];
	if (!found)
		return ret;
	ret.path = found->out.path ? found->out.path : STEER_FREE;
	ret.rate = found->out.rate;
	ret.units = found->units > 0 ? found->units : 1;
	ret.steered = found;
	return ret;
}
