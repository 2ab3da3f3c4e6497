// SPDX-License-Identifier: MIT
/* The levers' life, and the order in which a run goes. */
#include "gate/levers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/pace.h"
#include "gate/ages.h"
#include "gate/levers_impl.h"
#include "gate/matched.h"
#include "gate/watch.h"

#define AGAIN_LEAST_MS 200
#define RESET_MS (10 * MS_SECOND) /* nothing is moved again sooner after an operator's word */
#define IDLE_MS (30 * MS_SECOND)  /* between runs while nothing happens: silent keepers */

bool levers_frozen(const struct levers *levers)
{
	return levers->frozen_ms > levers->now.boot_ms;
}

struct opt levers_readers(struct levers *levers, const char *nas)
{
	return levers->gate->tasks ? tasks_readers(levers->gate->tasks, nas) : OPT_NONE;
}

/* A controller that has nothing to do and is free is asked only when that changes. */
static bool at_work(const struct steered *s)
{
	return s->nas[0] && (s->protects || s->out.path > STEER_FREE);
}

static void plan(struct levers *levers)
{
	int64_t now = levers->now.boot_ms, next = now + IDLE_MS;
	size_t i;

	for (i = 0; i < LEVERS_ARRAYS; i++) {
		const struct steered *s = &levers->arrays[i];

		if (at_work(s) && s->out.again_ms.known && s->out.again_ms.v < next)
			next = s->out.again_ms.v;
	}
	if (levers->frozen_ms > now && levers->frozen_ms < next)
		next = levers->frozen_ms;
	timer_at(&levers->timer, next > now + AGAIN_LEAST_MS ? next : now + AGAIN_LEAST_MS);
}

void levers_run(struct levers *levers)
{
	size_t i;

	levers->now = levers->gate->now = clock_now();
	if (levers->closing)
		return;
	keepers_sweep(levers);
	levers_orphans(levers);
	levers_collect(levers);
	floors_move(levers); /* tried first */
	for (i = 0; i < LEVERS_ARRAYS; i++)
		if (at_work(&levers->arrays[i]))
			steered_step(levers, &levers->arrays[i]);
	servers_move(levers);
	levers_tell(levers);
	plan(levers);
	/* Whether looks are to come fast may be otherwise now: a job was found by a task list. */
	for (i = 0; i < levers->gate->n_watches; i++)
		watch_replan(levers->gate->watches[i]);
}

static void on_time(void *data)
{
	levers_run(data);
}

/* In the loop's next round: whoever tells may be in the midst of a step. */
void levers_changed(struct levers *levers)
{
	if (levers && !levers->closing)
		timer_at(&levers->timer, clock_boot_ms());
}

void levers_looked(struct levers *levers, struct watch *watch)
{
	(void)watch;
	if (levers)
		levers_run(levers);
}

void levers_settings(struct levers *levers)
{
	if (!levers)
		return;
	levers->n_servers = 0;
	levers->reloads++;
	levers_changed(levers);
}

static bool keeper_writes(const struct keeper *keeper)
{
	return keeper->said_ms && keeper->since_ms && !keeper->lost_ms;
}

bool levers_busy(const struct levers *levers, const char *nas)
{
	const struct storage_settings *storage;
	size_t i;

	for (i = 0; levers && i < LEVERS_ARRAYS; i++)
		if (at_work(&levers->arrays[i]) && strcmp(levers->arrays[i].nas, nas) == 0)
			return true;
	for (i = 0; levers && i < LEVERS_KEEPERS; i++) {
		if (!keeper_writes(&levers->keepers[i]))
			continue;
		storage = settings_storage(levers->gate->settings, levers->keepers[i].said.storage);
		if (storage && strcmp(storage->mapping.nas, nas) == 0)
			return true;
	}
	return false;
}

static bool may_have_keeper(const struct request *request)
{
	if (request->client != CLIENT_VZDUMP && request->client != CLIENT_CHECK)
		return false;
	if (request->guest_type == GUEST_QEMU)
		return true;
	return request->phase != PHASE_BACKUP_START && request->guest_type == GUEST_NONE &&
		(!request->n_qemu.known || request->n_qemu.v > 0);
}

/* Whether the NAS's own floor protects every array that a rule would protect from this job
 * (`ruled`), or that works, should an operator want it throttled. */
static bool floor_protects(
	struct levers *levers, const struct inputs *in, bool ruled, bool *ret_any)
{
	const struct policy *policy = levers->gate->policy;
	char why[FLOOR_LACKS];
	size_t i;

	for (i = 0; i < in->facts.n_arrays; i++) {
		const struct array_facts *array = &in->facts.arrays[i];
		const struct rule *rule = matched_first(policy, in, array);

		if (!mapping_covers(&in->mapping, array) ||
			(ruled ? !rule || rule->verdict <= VERDICT_ALLOW : !matched_works(array)))
			continue;
		*ret_any = true;
		if (!floor_reaches(levers, in->mapping.nas, array,
			    rule ? rule->set.rate : policy->defaults.rate, why))
			return false;
	}
	return true;
}

static bool floor_can(struct levers *levers, const struct inputs *in)
{
	bool any = false;

	if (!floor_usable(levers, in->mapping.nas, "") || !floor_protects(levers, in, true, &any))
		return false;
	return any || floor_protects(levers, in, false, &any);
}

bool levers_can(struct levers *levers, const struct inputs *in)
{
	const struct storage_settings *storage;

	if (!levers)
		return false;
	storage = settings_storage(levers->gate->settings, in->request.storage);
	if (!storage || !storage->mapping.nas[0])
		return false;
	return levers_pbs_usable(levers, storage->pbs) || may_have_keeper(&in->request) ||
		floor_can(levers, in);
}

struct opt levers_predict(struct levers *levers, const struct request *request)
{
	const struct rule *rule;
	const struct paced *paced;
	struct opt size, ms;

	paced = levers && levers->gate->ages ? levers_paced(levers, request->storage) : NULL;
	if (!paced)
		return OPT_NONE;
	size = ages_size(levers->gate->ages, request, paced->as, &levers->gate->now);
	if (!size.known)
		return OPT_NONE;
	ms = pace_predict_ms(size.v, OPT(paced->pace));
	rule = matched_rule(levers->gate, request->storage, NULL);
	if (ms.known && rule)
		ms.v = pace_at_share_ms(ms.v, paced->protect_ppm, rule->set.protect_ppm);
	return ms;
}

bool levers_open(struct gate *gate, struct levers **ret, struct err *err)
{
	struct levers *levers = calloc(1, sizeof(*levers));

	if (!levers)
		return err_nomem(err);
	levers->gate = gate;
	levers->now = clock_now();
	if (!timer_open(&levers->timer, gate->loop, on_time, levers, err)) {
		free(levers);
		return false;
	}
	levers_recorded_open(levers);
	paces_load(levers);
	*ret = levers;
	levers_changed(levers);
	return true;
}

static void free_everything(struct levers *levers, const char *why)
{
	struct floor_lever *floor;
	size_t i;

	servers_free(levers, why);
	for (i = 0; levers->gate->floors && i < levers->gate->n_watches; i++) {
		floor = levers_floor(levers, watch_name(levers->gate->watches[i]));
		if (floor)
			floor_lever_free_all(floor, why);
	}
	for (i = 0; i < LEVERS_ARRAYS; i++)
		levers->arrays[i].floor_ms = levers->arrays[i].step_kib = 0;
}

json_t *levers_reset(struct levers *levers, const char *by, int64_t span_ms)
{
	char why[160];
	json_t *moved;

	levers->now = levers->gate->now = clock_now();
	moved = levers_moved_json(levers);
	snprintf(why, sizeof(why), "%s wants everything put back", by);
	snprintf(levers->frozen_by, sizeof(levers->frozen_by), "%s", by);
	levers->frozen_ms = levers->now.boot_ms + (span_ms > RESET_MS ? span_ms : RESET_MS);
	log_notice("Levers are put back by %s for_ms=%lld", by, (long long)span_ms);
	free_everything(levers, why);
	if (levers->gate->pbs_levers)
		pbs_levers_reset(levers->gate->pbs_levers);
	levers_run(levers);
	return moved;
}

void levers_close(struct levers *levers)
{
	if (!levers)
		return;
	levers->closing = true;
	levers->now = clock_now();
	free_everything(levers, "the gate stops");
	paces_save(levers);
	stores_forget(levers);
	timer_close(&levers->timer);
	free(levers);
}
