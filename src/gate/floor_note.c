// SPDX-License-Identifier: MIT
/* A NAS's own levers in the record and in the journal. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "gate/floor_lever_impl.h"
#include "gate/gate.h"
#include "gate/levers.h"

#define TARGET_MAX (NAS_NAME_MAX + MD_NAME_MAX)

static const char *target_of(
	const struct floor_lever *lever, const struct floor_array *array, char ret[TARGET_MAX])
{
	snprintf(ret, TARGET_MAX, "%s/%s", lever->settings.name, array->name);
	return ret;
}

static void standing(const struct order_state *now, char *ret, size_t size)
{
	char cache[40] = "";

	if (now->stripe_cache.known)
		snprintf(cache, sizeof(cache), ", stripe cache %lld pages",
			(long long)now->stripe_cache.v);
	if (now->speed_min_kib.known)
		snprintf(ret, size, "%lld KiB/s (%s)%s", (long long)now->speed_min_kib.v,
			now->speed_min_local ? "local" : "system", cache);
	else
		snprintf(ret, size, "not told by the NAS%s", cache);
}

bool floor_record(const struct floor_lever *lever, struct floor_array *array)
{
	char target[TARGET_MAX], after[96], kib[32] = "", cache[40] = "";

	if (!array->before[0])
		standing(&array->now, array->before, sizeof(array->before));
	if (lever->kib.known)
		snprintf(kib, sizeof(kib), "%lld KiB/s (local)", (long long)lever->kib.v);
	if (lever->pages.known)
		snprintf(cache, sizeof(cache), "%sstripe cache %lld pages", kib[0] ? ", " : "",
			(long long)lever->pages.v);
	snprintf(after, sizeof(after), "%s%s", kib, cache);
	if (!levers_record(lever->gate, 0, "sync-speed", target_of(lever, array, target),
		    array->before, after, array->why, false))
		return false;
	if (!array->floor_moved)
		log_notice("The floor under %s on %s is set: %s, before it %s nas=%s array=%s",
			array->name, lever->settings.name, after, array->before,
			lever->settings.name, array->name);
	array->floor_recorded = true;
	return true;
}

bool floor_record_check(const struct floor_lever *lever, struct floor_array *array)
{
	char target[TARGET_MAX];

	snprintf(array->check_before, sizeof(array->check_before), "%s", array->now.operation);
	if (!levers_record(lever->gate, 0, "check", target_of(lever, array, target),
		    array->check_before, "interrupted", array->pause_why, false))
		return false;
	log_notice("The %s of %s on %s rests: %s nas=%s array=%s", array->check_before, array->name,
		lever->settings.name, array->pause_why, lever->settings.name, array->name);
	array->check_recorded = true;
	return true;
}

void floor_forget(const struct floor_lever *lever, struct floor_array *array, const char *why)
{
	char target[TARGET_MAX];

	if (array->floor_recorded)
		levers_record(lever->gate, 0, "sync-speed", target_of(lever, array, target),
			array->before, array->before, why, true);
	array->floor_moved = array->floor_recorded = array->floor_set = false;
	array->set_kib = array->set_pages = OPT_NONE;
	array->before[0] = '\0';
	if (!array->check_moved)
		array->since_ms = 0;
}

void floor_put_back(const struct floor_lever *lever, struct floor_array *array, const char *why)
{
	if (array->floor_recorded)
		log_notice("The floor under %s on %s is as it was: %s nas=%s array=%s", array->name,
			lever->settings.name, why, lever->settings.name, array->name);
	floor_forget(lever, array, why);
}

void floor_check_forget(const struct floor_lever *lever, struct floor_array *array, const char *why)
{
	char target[TARGET_MAX];

	if (array->check_recorded)
		levers_record(lever->gate, 0, "check", target_of(lever, array, target),
			array->check_before, array->check_before, why, true);
	array->check_moved = array->check_recorded = false;
	if (!array->floor_moved)
		array->since_ms = 0;
}

void floor_check_put_back(
	const struct floor_lever *lever, struct floor_array *array, const char *why)
{
	if (array->check_recorded)
		log_notice("The check of %s on %s is no longer interrupted: %s nas=%s array=%s",
			array->name, lever->settings.name, why, lever->settings.name, array->name);
	floor_check_forget(lever, array, why);
}

/* ---- what a gate before this one left ---- */

#define ORPHANS 32

struct orphans {
	struct floor_levers *levers;
	size_t n;
	struct {
		char lever[24], target[NAS_NAME_MAX + MD_NAME_MAX], before[96];
	} of[ORPHANS];
};

static void take_orphan(struct orphans *orphans, const struct store_lever *action)
{
	if (orphans->n == ORPHANS)
		return;
	snprintf(orphans->of[orphans->n].lever, sizeof(orphans->of[0].lever), "%s", action->lever);
	snprintf(orphans->of[orphans->n].target, sizeof(orphans->of[0].target), "%s",
		action->target);
	snprintf(orphans->of[orphans->n].before, sizeof(orphans->of[0].before), "%s",
		action->before);
	orphans->n++;
}

static void take_moved(void *data, const struct store_lever *action)
{
	struct orphans *orphans = data;
	bool floor = strcmp(action->lever, "sync-speed") == 0;
	const char *slash = strrchr(action->target, '/');
	struct floor_array *array = NULL;
	struct floor_lever *lever;
	char nas[NAS_NAME_MAX];

	if (!floor && strcmp(action->lever, "check") != 0)
		return;
	if (slash && slash - action->target < NAS_NAME_MAX) {
		snprintf(nas, sizeof(nas), "%.*s", (int)(slash - action->target), action->target);
		lever = floor_lever_find(orphans->levers, nas);
		array = lever ? floor_array_get(lever, slash + 1) : NULL;
	}
	if (!array) {
		take_orphan(orphans, action);
	} else if (floor) {
		array->floor_moved = array->floor_recorded = true;
		snprintf(array->before, sizeof(array->before), "%s", action->before);
	} else {
		array->check_moved = array->check_recorded = true;
		snprintf(array->check_before, sizeof(array->check_before), "%s", action->before);
	}
}

bool floor_take_record(struct floor_levers *levers, struct err *err)
{
	struct orphans orphans = {.levers = levers};
	size_t i;

	if (!store_levers_moved(levers->gate->store, take_moved, &orphans, err))
		return false;
	for (i = 0; i < orphans.n; i++) {
		log_warning("The record says that %s of %s is moved, whose levers are not set up "
			    "any more: the NAS undoes that by itself after %d min",
			orphans.of[i].lever, orphans.of[i].target, FLOOR_SPAN_S / 60);
		levers_record(levers->gate, 0, orphans.of[i].lever, orphans.of[i].target,
			orphans.of[i].before, orphans.of[i].before,
			"the NAS is no longer set up, and undoes by itself", true);
	}
	return true;
}
