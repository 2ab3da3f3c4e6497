// SPDX-License-Identifier: MIT
/*
 * When the gate looks at a NAS and what it makes of it: src/gate/watch.c and pending.c without
 * children, timers and deadlines. The tracker and its facts are src/gate/reading.c itself, the
 * outage is src/core/sight.c itself. Copied in meaning, function by function: interval(),
 * watch_replan(), watch_freshen(), watch_facts(), end_look(). Not here: children that cannot be
 * killed, answers in part.
 */
#include <stdlib.h>
#include <string.h>

#include "nas/probe.h"
#include "sim.h"

#define PAUSE_MAX_MS (5 * MS_MINUTE)
#define PATIENCE_FIRST_MS (15 * MS_MINUTE)
#define PATIENCE_MS MS_HOUR

#define CONFIRM_MS MS_SECOND
#define CONFIRM_MOST 3

static bool confirming(const struct sim_watch *watch)
{
	return !watch->failures && watch->unsure > 0 && watch->unsure <= CONFIRM_MOST;
}

static bool watch_awaited(const struct sim_watch *watch)
{
	return watch->looking || confirming(watch);
}

static int64_t interval(const struct sim *sim, size_t at)
{
	const struct sim_watch *watch = &sim->gate.watches[at];
	int64_t ms = sim->poll_ms;
	unsigned i, doublings = watch->failures ? watch->failures - 1 : 0;

	if (watch->patient)
		return watch->failures > 1 ? PATIENCE_MS : PATIENCE_FIRST_MS;
	if (confirming(watch))
		return ms < CONFIRM_MS ? ms : CONFIRM_MS;
	if (!watch->failures && !reading_busy(&watch->reading) &&
		!gate_waits(sim, sim->nas[at].name))
		return sim->idle_poll_ms;
	for (i = 0; i < doublings && ms < PAUSE_MAX_MS; i++)
		ms *= 2;
	return ms < PAUSE_MAX_MS || !doublings ? ms : PAUSE_MAX_MS;
}

void watch_replan(struct sim *sim, size_t at)
{
	struct sim_watch *watch = &sim->gate.watches[at];

	if (!watch->looking)
		watch->next_ms = watch->asked_ms + interval(sim, at);
}

void watch_open(struct sim *sim, size_t at)
{
	struct sim_watch *watch = &sim->gate.watches[at];
	struct track_memory *memory = calloc(1, sizeof(*memory));
	char *kept = watch->memory;
	struct err err = {0};

	*watch = (struct sim_watch){.memory = kept};
	track_init(&watch->reading.track, sim->nas[at].name, MD_VENDOR_AUTO, NULL, 0);
	if (kept && memory && memory_read(kept, strlen(kept), memory, &err))
		track_memory_set(&watch->reading.track, memory);
	free(memory);
	track_facts(&watch->reading.track, 0, &watch->reading.facts);
	watch->reading.track.stale_ms = sim->stale_ms;
	sight_lost(&watch->sight, sim->t, 0);
	watch->reading.facts.blind_since_ms = sight_blind_since(&watch->sight);
	watch->next_ms = sim->t;
	check_opened(sim, at);
}

void watch_save(struct sim *sim, size_t at)
{
	struct sim_watch *watch = &sim->gate.watches[at];
	struct track_memory *memory = calloc(1, sizeof(*memory));
	struct buf text = {0};

	if (memory) {
		track_memory_get(&watch->reading.track, memory);
		if (memory->n_arrays && memory_write(memory, &text)) {
			free(watch->memory);
			watch->memory = strdup(buf_str(&text));
		}
	}
	buf_release(&text);
	free(memory);
}

void watch_begin(struct sim *sim, size_t at)
{
	struct sim_watch *watch = &sim->gate.watches[at];

	if (watch->looking)
		return;
	disks_advance(&sim->nas[at], sim->t);
	watch->asked_ms = sim->t;
	watch->looking = true;
	watch->ends_ms = sim->t + disks_look_ms(&sim->nas[at]);
}

bool watch_freshen(struct sim *sim, size_t at)
{
	struct sim_watch *watch = &sim->gate.watches[at];
	const struct nas_facts *facts = &watch->reading.facts;

	if (watch_awaited(watch))
		return true;
	if (facts->sensor == SENSOR_OK && facts->read_at_ms.known &&
		sim->t - facts->read_at_ms.v <= sim->fresh_ms)
		return false;
	if (watch->failures > 0 && sim->t < watch->next_ms)
		return false;
	watch_begin(sim, at);
	return watch->looking;
}

const struct nas_facts *watch_facts(struct sim *sim, size_t at)
{
	struct sim_watch *watch = &sim->gate.watches[at];
	struct nas_facts *facts = &watch->reading.facts;
	struct moment now = sim_moment(sim);

	reading_at(&watch->reading, &now);
	if (facts->sensor != SENSOR_OK)
		sight_lost(&watch->sight, sim->t, sim->gate.policy->defaults.settle_ms);
	facts->blind_since_ms = sight_blind_since(&watch->sight);
	return facts;
}

static void pending_check(struct sim *sim)
{
	size_t i, at;

	for (i = 0; i < sim->n_jobs; i++) {
		struct job *job = &sim->jobs[i];
		const char *nas = sim_mapping(sim, job->storage)->nas;
		bool looking = false;

		for (at = 0; at < sim->n_nas; at++)
			looking |= !strcmp(sim->nas[at].name, nas) &&
				watch_awaited(&sim->gate.watches[at]);
		if (job->call == CALL_LOOK && !looking)
			gate_ask_now(sim, job);
	}
}

void watch_end(struct sim *sim, size_t at)
{
	struct sim_watch *watch = &sim->gate.watches[at];
	struct disks *disks = &sim->nas[at];
	struct nas_facts *facts = &watch->reading.facts;
	int64_t settle = sim->gate.policy->defaults.settle_ms;
	struct moment now = sim_moment(sim);
	struct buf text = {0};

	disks_advance(disks, sim->t);
	if (disks->blind == SENSOR_OK) {
		disks_print(disks, &text);
		reading_take(&watch->reading, buf_str(&text), text.len, &now);
	} else {
		reading_failed(&watch->reading, disks->blind, "the scenario says so", &now);
	}
	buf_release(&text);
	watch->looking = false;
	watch->looks++;
	if (facts->sensor == SENSOR_OK) {
		watch->failures = 0;
		watch->unsure = reading_unsure(&watch->reading) ? watch->unsure + 1 : 0;
		sight_seen(&watch->sight, sim->t, settle);
	} else {
		watch->failures++;
		sight_lost(&watch->sight, sim->t, settle);
	}
	watch->patient = sensor_needs_patience(facts->sensor);
	facts->blind_since_ms = sight_blind_since(&watch->sight);
	check_look(sim, at, disks->blind == SENSOR_OK && !disks->empty);
	gate_looked(sim, at);
	watch_replan(sim, at);
	pending_check(sim);
}
