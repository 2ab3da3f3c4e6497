// SPDX-License-Identifier: MIT
/* Levers 2, 4 and 5: what is wanted of backup servers and of the NAS itself. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "gate/desk.h"
#include "gate/levers_impl.h"
#include "gate/matched.h"
#include "gate/watch.h"
#include "md/rate.h"
#include "proxmox/pbs.h"

#define FLOOR_MOST_KIB INT64_C(10000000)
#define PPM INT64_C(1000000)
#define STEP_FIRST_KIB INT64_C(8192)   /* the first floor while the undisturbed pace is not known */
#define STEP_MS (30 * MS_SECOND)       /* md's own average is over about as long (SYNC_MARKS) */
#define READS_LEAST (INT64_C(1) << 20) /* bytes/s; less is no restore that one waits for */
#define READS_QUIET_MS (30 * MS_SECOND) /* below that for so long: it is done */

static struct server_part *part_of(struct levers *levers, const char *pbs)
{
	struct server_part *part;
	size_t i;

	for (i = 0; i < levers->n_servers; i++)
		if (strcmp(levers->servers[i].pbs, pbs) == 0)
			return &levers->servers[i];
	if (levers->n_servers == SETTINGS_MAX_PBS)
		return NULL;
	part = &levers->servers[levers->n_servers++];
	memset(part, 0, sizeof(*part));
	snprintf(part->pbs, sizeof(part->pbs), "%s", pbs);
	return part;
}

/* One rule for all that goes through the server: the narrowest of its jobs' parts, for each. */
static void add_job(struct levers *levers, struct server_part *part, const struct lever_job *job)
{
	struct job_path path = levers_path(levers, job->arrays);
	int64_t each = path.path == STEER_LIMIT ? path.rate / path.units : 0;

	part->jobs++;
	if (path.path < part->path ||
		(path.path == part->path && (path.path != STEER_LIMIT || each >= part->rate)))
		return;
	part->path = path.path;
	part->rate = each;
	snprintf(part->why, sizeof(part->why), "%s", path.steered ? path.steered->out.text : "");
}

static void want(struct levers *levers, struct server_part *part)
{
	struct pbs_lever *lever = pbs_levers_find(levers->gate->pbs_levers, part->pbs);
	int64_t rate = part->rate;

	if (!lever)
		return;
	if (part->path == STEER_LIMIT) {
		rate = rate_muldiv(rate, part->jobs, 1);
		rate = rate > PBS_RATE_LEAST ? rate : PBS_RATE_LEAST;
	}
	if (part->path == STEER_FREE)
		part->since_ms = 0;
	else if (!part->since_ms)
		part->since_ms = levers->now.boot_ms;
	part->rate = rate;
	pbs_lever_want(lever, part->path, rate, part->why);
}

void servers_move(struct levers *levers)
{
	const struct settings *settings = levers->gate->settings;
	struct server_part *part;
	size_t i;

	if (!levers->gate->pbs_levers)
		return;
	for (i = 0; i < settings->n_pbs; i++)
		part_of(levers, settings->pbs[i].api.name);
	for (i = 0; i < levers->n_servers; i++) {
		levers->servers[i].jobs = levers->servers[i].rate = 0;
		levers->servers[i].path = STEER_FREE;
		snprintf(levers->servers[i].why, sizeof(levers->servers[i].why),
			"no throttled job goes through it");
	}
	for (i = 0; i < levers->n_jobs; i++) {
		const struct lever_job *job = &levers->jobs[i];

		part = job->by == BY_PBS && job->arrays ? part_of(levers, job->pbs) : NULL;
		if (part)
			add_job(levers, part, job);
	}
	for (i = 0; i < levers->n_servers; i++)
		want(levers, &levers->servers[i]);
	stores_ask(levers);
}

void servers_free(struct levers *levers, const char *why)
{
	struct pbs_lever *lever;
	size_t i;

	for (i = 0; levers->gate->pbs_levers && i < levers->n_servers; i++) {
		lever = pbs_levers_find(levers->gate->pbs_levers, levers->servers[i].pbs);
		levers->servers[i].path = STEER_FREE;
		levers->servers[i].since_ms = 0;
		if (lever)
			pbs_lever_want(lever, STEER_FREE, 0, why);
	}
}

struct floor_lever *levers_floor(struct levers *levers, const char *nas)
{
	return levers->gate->floors ? floor_lever_find(levers->gate->floors, nas) : NULL;
}

bool floor_usable(struct levers *levers, const char *nas, const char *array)
{
	struct floor_lever *lever = levers_floor(levers, nas);
	struct floor_state state;

	if (!lever)
		return false;
	floor_lever_state(lever, array, &state);
	return state.floor && state.usable;
}

static const struct array_facts *facts_of(struct levers *levers, const struct steered *s)
{
	struct watch *watch = gate_watch(levers->gate, s->nas);

	return watch ? nas_facts_find(watch_facts(watch, &levers->now), s->array) : NULL;
}

/* The floor starves readers. Where no token tells of restores, whatever clients read may be one. */
static void look_at_reads(struct levers *levers, struct steered *s)
{
	const struct array_facts *array = facts_of(levers, s);

	if (levers->gate->tasks && tasks_sees(levers->gate->tasks, s->nas))
		s->reads_ms = 0;
	else if (array && array->client_read.known && array->client_read.v > READS_LEAST)
		s->reads_ms = levers->now.boot_ms;
}

static bool reads(const struct levers *levers, const struct steered *s)
{
	return s->reads_ms && levers->now.boot_ms - s->reads_ms < READS_QUIET_MS;
}

/* For arrays that need not be steered (yet). */
static bool reads_now(const struct levers *levers, const struct steered *s, const char *nas,
	const struct array_facts *array)
{
	if (levers->gate->tasks && tasks_sees(levers->gate->tasks, nas))
		return false;
	if (array->client_read.known && array->client_read.v > READS_LEAST)
		return true;
	return s && reads(levers, s);
}

bool floor_reaches(struct levers *levers, const char *nas, const struct array_facts *array,
	struct opt rate, char ret_why[FLOOR_LACKS])
{
	struct floor_lever *lever = levers_floor(levers, nas);
	struct floor_state state;

	ret_why[0] = '\0';
	if (!lever)
		return false;
	floor_lever_state(lever, array->name, &state);
	if (!state.floor)
		return false;
	if (rate.known)
		snprintf(ret_why, FLOOR_LACKS, "the NAS's own floor cannot keep a rate");
	else if (!state.usable)
		snprintf(ret_why, FLOOR_LACKS, "the NAS's own floor: %.200s", state.trouble);
	else if (reads_now(levers, steered_find(levers, nas, array->name), nas, array))
		snprintf(ret_why, FLOOR_LACKS, "the NAS's own floor is free: %s", READS_TEXT);
	return !ret_why[0];
}

bool floor_gives_way(struct levers *levers, const struct steered *s)
{
	return s->protects && !s->restore && s->jobs + s->unreached > 0 && reads(levers, s) &&
		floor_usable(levers, s->nas, s->array);
}

void floor_say(struct levers *levers, struct steered *s)
{
	char text[sizeof(s->out.text)], rate[UNITS_TEXT_MAX];

	if (s->floor_ms && s->step_kib)
		snprintf(text, sizeof(text),
			"the undisturbed pace is not known yet: the NAS's own floor is %s, raised "
			"as long as it is followed",
			rate_show(s->step_kib * 1024, rate));
	else if (floor_gives_way(levers, s))
		snprintf(text, sizeof(text), "%.100s; the NAS's own floor is free: %s", s->out.text,
			READS_TEXT);
	else
		return;
	memcpy(s->out.text, text, sizeof(text));
}

/* A floor while the undisturbed pace is not known: nothing rests who only the floor reaches, so it
 * would not become known while they write. It begins moderately and is doubled as long as the
 * rebuild follows: where that falls short md no longer yields at all, and more would do nothing. It
 * ends at the protected share of sync_speed_max, above which no undisturbed pace is; the kernel's
 * own (200 MB/s) would be the same as never to yield from the first moment, on most disks. */
static int64_t step_of(struct levers *levers, struct steered *s, const struct array_facts *array)
{
	int64_t now = levers->now.boot_ms, pace = array->rate.known ? array->rate.v / 1024 : 0;
	int64_t most =
		array->sync_speed_max.known ? array->sync_speed_max.v / 1024 : FLOOR_MOST_KIB;

	if (!s->step_kib) {
		s->step_kib = pace > STEP_FIRST_KIB ? pace : STEP_FIRST_KIB;
		s->step_ms = now;
	} else if (now - s->step_ms >= STEP_MS && pace >= s->step_kib / 4 * 3) {
		s->step_kib *= 2;
		s->step_ms = now;
	}
	most = rate_muldiv(most, s->rule.protect_ppm, PPM);
	if (s->step_kib > most)
		s->step_kib = most;
	return s->step_kib;
}

/* In KiB/s: the protected share of the baseline; unknown where the floor is not to be set. */
static struct opt floor_of(struct levers *levers, struct steered *s)
{
	const struct array_facts *array = facts_of(levers, s);
	int64_t kib;

	if (!s->protects || s->restore || reads(levers, s) || levers_frozen(levers) ||
		s->rule.rate.known || s->jobs + s->unreached == 0 || !array)
		return OPT_NONE;
	if (array->baseline.known) {
		kib = rate_muldiv(array->baseline.v, s->rule.protect_ppm, PPM) / 1024;
		s->step_kib = 0;
	} else if (s->unreached > 0 && matched_works(array)) {
		kib = step_of(levers, s, array);
	} else {
		return OPT_NONE; /* a rest of another lever measures it first */
	}
	if (array->sync_speed_max.known && kib > array->sync_speed_max.v / 1024)
		kib = array->sync_speed_max.v / 1024;
	if (kib > FLOOR_MOST_KIB)
		kib = FLOOR_MOST_KIB;
	return kib > 0 ? OPT(kib) : OPT_NONE;
}

static void want_floor(
	struct levers *levers, struct floor_lever *lever, struct steered *s, struct opt kib)
{
	floor_lever_want(lever, s->array, kib, true,
		s->step_kib ? "the undisturbed pace is not known yet: as much as the rebuild "
			      "follows, for as long as backups write"
			    : "the protected share of the undisturbed pace, for as long as backups "
			      "write");
	/* Refused for this array: asked for again each minute, and no lever meanwhile. */
	if (!floor_usable(levers, s->nas, s->array)) {
		s->floor_ms = 0;
	} else if (!s->floor_ms) {
		s->floor_ms = levers->now.boot_ms;
		s->share = OPT_NONE;
		s->floor_short = false;
	}
}

static void move_floor(struct levers *levers, struct steered *s)
{
	struct floor_lever *lever = levers_floor(levers, s->nas);
	struct opt kib;

	if (!lever)
		return;
	look_at_reads(levers, s);
	kib = floor_usable(levers, s->nas, "") ? floor_of(levers, s) : OPT_NONE;
	if (kib.known) {
		s->floor_asked = true;
		want_floor(levers, lever, s, kib);
	} else if (s->floor_asked || s->restore || levers_frozen(levers)) {
		floor_lever_free(lever, s->array, reads(levers, s) ? READS_TEXT : s->out.text);
		s->floor_ms = s->step_kib = 0;
		s->floor_asked = false;
	}
}

static bool written(struct levers *levers, const char *nas, const struct array_facts *array)
{
	struct mapping mapping;
	size_t i;

	for (i = 0; i < levers->n_jobs; i++) {
		if (strcmp(levers->jobs[i].nas, nas) != 0)
			continue;
		settings_mapping(levers->gate->settings, levers->jobs[i].storage, &mapping);
		if (mapping_covers(&mapping, array))
			return true;
	}
	return false;
}

/* A check or repair rests while backups run onto its array, and goes on when they are done. */
static void move_checks(struct levers *levers, struct watch *watch)
{
	const struct nas_facts *facts = watch_facts(watch, &levers->now);
	struct floor_lever *lever = levers_floor(levers, watch_name(watch));
	const struct policy *policy = levers->gate->policy;
	bool may = policy->enabled && !policy->observe && !levers_frozen(levers);
	struct floor_state state;
	size_t i;

	for (i = 0; lever && i < facts->n_arrays; i++) {
		const struct array_facts *array = &facts->arrays[i];
		bool checks = array->operation == MD_OP_CHECK || array->operation == MD_OP_REPAIR;
		bool busy = may && written(levers, facts->name, array);

		floor_lever_state(lever, array->name, &state);
		if (!state.check)
			return;
		if (busy && checks)
			floor_lever_pause_check(lever, array->name, true,
				"backups write to the array: the check waits for them");
		else if (!busy && state.paused)
			floor_lever_pause_check(lever, array->name, false,
				"the backups are done: the check goes on");
	}
}

void floors_move(struct levers *levers)
{
	size_t i;

	if (!levers->gate->floors)
		return;
	for (i = 0; i < LEVERS_ARRAYS; i++)
		if (levers->arrays[i].nas[0])
			move_floor(levers, &levers->arrays[i]);
	for (i = 0; i < levers->gate->n_watches; i++)
		move_checks(levers, levers->gate->watches[i]);
}
