// SPDX-License-Identifier: MIT
/* The life of the NAS's own levers, what is wanted of them and what they tell. */
#include "gate/floor_lever.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/floor_lever_impl.h"
#include "gate/gate.h"

#define RETIRED_MS ((FLOOR_SPAN_S + 60) * MS_SECOND)

/* ---- arrays ---- */

const struct floor_array *floor_array_find(const struct floor_lever *lever, const char *name)
{
	size_t i;

	for (i = 0; i < FLOOR_ARRAYS; i++)
		if (strcmp(lever->arrays[i].name, name) == 0)
			return &lever->arrays[i];
	return NULL;
}

static struct floor_array *array_known(struct floor_lever *lever, const char *name)
{
	const struct floor_array *found = *name ? floor_array_find(lever, name) : NULL;

	return found ? &lever->arrays[found - lever->arrays] : NULL;
}

static bool in_use(const struct floor_array *array)
{
	return array->name[0] &&
		(array->want_kib.known || array->want_pause || array->floor_moved ||
			array->check_moved);
}

struct floor_array *floor_array_get(struct floor_lever *lever, const char *name)
{
	struct floor_array *found = array_known(lever, name);
	size_t i, unused = FLOOR_ARRAYS;

	if (found)
		return found;
	if (!order_array(name))
		return NULL;
	for (i = 0; i < FLOOR_ARRAYS; i++)
		if (!in_use(&lever->arrays[i]) && !(lever->doing && lever->at == i)) {
			unused = i;
			if (!lever->arrays[i].name[0])
				break;
		}
	if (unused == FLOOR_ARRAYS)
		return NULL;
	lever->arrays[unused] = (struct floor_array){0};
	snprintf(lever->arrays[unused].name, sizeof(lever->arrays[unused].name), "%s", name);
	return &lever->arrays[unused];
}

bool floor_moved(const struct floor_lever *lever)
{
	size_t i;

	for (i = 0; i < FLOOR_ARRAYS; i++)
		if (lever->arrays[i].floor_moved || lever->arrays[i].check_moved)
			return true;
	return false;
}

/* ---- what is wanted ---- */

static void keep_why(char ret[FLOOR_WHY_MAX], const char *why)
{
	snprintf(ret, FLOOR_WHY_MAX, "%.*s", FLOOR_WHY_MAX - 1, why ? why : "");
}

void floor_lever_want(struct floor_lever *lever, const char *array, struct opt kib_s, bool stripe,
	const char *why)
{
	struct floor_array *one;

	if (!kib_s.known) {
		floor_lever_free(lever, array, why);
		return;
	}
	one = floor_array_get(lever, array);
	if (!one || lever->retired)
		return;
	if (!one->want_kib.known)
		one->no_cache = false;
	one->want_kib = kib_s;
	one->want_stripe = stripe;
	keep_why(one->why, why);
	floor_step(lever);
}

void floor_lever_free(struct floor_lever *lever, const char *array, const char *why)
{
	struct floor_array *one = array_known(lever, array);

	if (!one)
		return;
	/* The first reason stays: who steers asks again and again until it is done. */
	if (one->want_kib.known || (one->floor_moved && !one->why[0]))
		keep_why(one->why, why);
	one->want_kib = OPT_NONE;
	one->want_stripe = false;
	floor_step(lever);
}

void floor_lever_pause_check(
	struct floor_lever *lever, const char *array, bool pause, const char *why)
{
	struct floor_array *one;

	if (pause && (!lever->settings.levers.pause_check || lever->retired))
		return;
	one = pause ? floor_array_get(lever, array) : array_known(lever, array);
	if (!one)
		return;
	if (one->want_pause != pause)
		keep_why(one->pause_why, why);
	one->want_pause = pause;
	floor_step(lever);
}

void floor_lever_again(struct floor_lever *lever)
{
	if (lever->nameless)
		floor_list_again(lever);
	else if (!lever->failures)
		return;
	lever->not_before_ms = 0;
	floor_step(lever);
}

void floor_lever_free_all(struct floor_lever *lever, const char *why)
{
	size_t i;

	for (i = 0; i < FLOOR_ARRAYS; i++) {
		struct floor_array *array = &lever->arrays[i];

		if (!array->name[0])
			continue;
		keep_why(array->why, why);
		keep_why(array->pause_why, why);
		array->want_kib = OPT_NONE;
		array->want_stripe = false;
		array->want_pause = false;
	}
	floor_step(lever);
}

/* ---- what is told ---- */

static bool settled(const struct floor_lever *lever, const struct floor_array *array)
{
	if (array->want_pause != array->check_moved || lever->doing)
		return false;
	return floor_wanted(lever, array) ? array->floor_set : !array->floor_moved;
}

void floor_lever_state(const struct floor_lever *lever, const char *name, struct floor_state *ret)
{
	const struct floor_array *array = *name ? floor_array_find(lever, name) : NULL;

	*ret = (struct floor_state){
		.usable = !lever->failures && !lever->retired,
		.floor = lever->settings.levers.floor,
		.stripe = lever->settings.levers.stripe_cache,
		.check = lever->settings.levers.pause_check,
		.settled = true,
	};
	keep_why(ret->trouble, lever->trouble);
	if (lever->nameless && !lever->trouble[0])
		keep_why(ret->trouble,
			"the nas-levers there is older than this gate, and gates that share the "
			"NAS "
			"free each other's moves: install hooks/nas-levers of this version");
	if (!array)
		return;
	ret->usable = ret->usable && !array->refused && !array->other[0];
	ret->moved = array->floor_moved || array->check_moved;
	ret->settled = settled(lever, array);
	ret->kib_s = array->now.speed_min_kib;
	ret->wanted_kib_s = array->want_kib;
	ret->stripe_pages = array->now.stripe_cache;
	ret->paused = array->check_moved && array->now.paused_at.known;
	ret->undo_s = array->now.undo_s;
	ret->since_ms = array->since_ms;
	if (array->trouble[0] && !lever->failures)
		keep_why(ret->trouble, array->trouble);
	if (!ret->trouble[0] && array->no_cache)
		snprintf(ret->trouble, sizeof(ret->trouble),
			"without a larger stripe cache: %.180s", array->no_cache_why);
}

void floor_levers_each(const struct floor_levers *levers,
	void (*each)(
		void *data, const char *nas, const char *array, const struct floor_state *state),
	void *data)
{
	const struct floor_lever *lever;
	struct floor_state state;
	size_t i, k, n;

	for (i = 0; i < levers->n; i++) {
		lever = levers->levers[i];
		n = 0;
		for (k = 0; k < FLOOR_ARRAYS; k++) {
			if (!lever->arrays[k].name[0])
				continue;
			n++;
			floor_lever_state(lever, lever->arrays[k].name, &state);
			each(data, lever->settings.name, lever->arrays[k].name, &state);
		}
		if (n || lever->retired)
			continue;
		floor_lever_state(lever, "", &state);
		each(data, lever->settings.name, "", &state);
	}
}

struct floor_lever *floor_lever_find(struct floor_levers *levers, const char *nas)
{
	size_t i;

	for (i = 0; i < levers->n; i++)
		if (!levers->levers[i]->retired &&
			strcmp(levers->levers[i]->settings.name, nas) == 0)
			return levers->levers[i];
	return NULL;
}

bool floor_levers_reaped(struct floor_levers *levers, int pid)
{
	size_t i;

	for (i = 0; levers && i < levers->n; i++)
		if (order_link_reaped(&levers->levers[i]->link, pid))
			return true;
	return false;
}

/* ---- life ---- */

static void lever_free(struct floor_lever *lever)
{
	if (!lever)
		return;
	order_link_close(&lever->link);
	timer_close(&lever->due);
	free(lever);
}

static void drop(struct floor_levers *levers, struct floor_lever *lever)
{
	size_t i;

	for (i = 0; i < levers->n; i++)
		if (levers->levers[i] == lever) {
			levers->levers[i] = levers->levers[--levers->n];
			break;
		}
	lever_free(lever);
}

/* A NAS that is not set up any more and cannot be reached has put back by itself by now. */
static bool retire_late(struct floor_lever *lever)
{
	static const char why[] = "the NAS is no longer set up, and undoes by itself";
	int64_t now = clock_boot_ms();
	size_t i;

	for (i = 0; i < FLOOR_ARRAYS; i++) {
		struct floor_array *array = &lever->arrays[i];
		int64_t last = array->since_ms;

		if (array->renew_ms > last)
			last = array->renew_ms;
		if (array->pause_renew_ms > last)
			last = array->pause_renew_ms;
		if (last && now - last < RETIRED_MS)
			return false;
		if (array->floor_moved)
			floor_put_back(lever, array, why);
		if (array->check_moved)
			floor_check_put_back(lever, array, why);
	}
	return true;
}

static void on_due(void *data)
{
	struct floor_lever *lever = data;

	if (lever->retired && !lever->doing &&
		(!floor_moved(lever) || (lever->failures && retire_late(lever))))
		drop(lever->gate->floors, lever);
	else
		floor_step(lever);
}

static struct floor_lever *lever_new(
	struct gate *gate, const struct nas_settings *settings, struct err *err)
{
	struct floor_lever *lever = calloc(1, sizeof(*lever));
	struct nas_target target;

	if (!lever) {
		err_nomem(err);
		return NULL;
	}
	lever->gate = gate;
	lever->settings = *settings;
	lever->link.child = PROBE_NONE;
	floor_name(gate->settings, lever->name);
	nas_target_levers(settings, gate->settings->look_deadline_ms, &target);
	if (!timer_open(&lever->due, gate->loop, on_due, lever, err) ||
		!order_link_open(&lever->link, gate, &target, floor_answered, lever, err)) {
		lever_free(lever);
		return NULL;
	}
	timer_at(&lever->due, clock_boot_ms());
	return lever;
}

static bool same(const struct floor_lever *lever, const struct nas_settings *settings)
{
	return memcmp(&lever->settings, settings, sizeof(*settings)) == 0;
}

/* Those that are set up and not there yet. */
static bool add_new(struct floor_levers *levers, struct err *err)
{
	const struct settings *settings = levers->gate->settings;
	struct floor_lever *lever;
	size_t i;

	for (i = 0; i < settings->n_nas; i++) {
		if (!settings->nas[i].levers.set || settings->nas[i].via != SETTINGS_VIA_SSH ||
			floor_lever_find(levers, settings->nas[i].name))
			continue;
		if (levers->n == sizeof(levers->levers) / sizeof(levers->levers[0]))
			return err_set(err, ERR_LIMIT, "too many NAS with levers at a time");
		lever = lever_new(levers->gate, &settings->nas[i], err);
		if (!lever)
			return false;
		levers->levers[levers->n++] = lever;
	}
	return true;
}

void floor_levers_settings(struct floor_levers *levers)
{
	const struct settings *settings = levers->gate->settings;
	struct err err = {0};
	size_t i;

	for (i = 0; i < levers->n; i++) {
		struct floor_lever *lever = levers->levers[i];
		const struct nas_settings *nas = settings_nas(settings, lever->settings.name);

		if (lever->retired)
			continue;
		if (nas && same(lever, nas)) {
			floor_lever_again(lever);
			continue;
		}
		lever->retired = true;
		floor_lever_free_all(lever, "the NAS's levers are set up otherwise");
		timer_at(&lever->due, clock_boot_ms());
	}
	if (!add_new(levers, &err))
		log_err("A NAS's levers cannot be set up: %s", err.text);
}

bool floor_levers_open(struct gate *gate, struct floor_levers **ret, struct err *err)
{
	struct floor_levers *levers = calloc(1, sizeof(*levers));
	struct err unread = {0};

	if (!levers)
		return err_nomem(err);
	levers->gate = gate;
	if (!add_new(levers, err)) {
		floor_levers_close(levers, 0);
		return false;
	}
	/* What the NAS itself says is moved is freed also without the record. */
	if (!floor_take_record(levers, &unread))
		log_err("The record does not tell which levers are moved: %s", unread.text);
	*ret = levers;
	return true;
}

/* Those that have something to put back and may still do it. */
static size_t to_poll(
	struct floor_levers *levers, struct pollfd *ret_fds, struct floor_lever **ret_of)
{
	size_t i, n = 0;

	for (i = 0; i < levers->n; i++) {
		struct floor_lever *lever = levers->levers[i];

		if (lever->doing && floor_moved(lever)) {
			ret_fds[n] = (struct pollfd){
				.fd = order_link_fd(&lever->link), .events = POLLIN};
			ret_of[n++] = lever;
		}
	}
	return n;
}

static void put_all_back(struct floor_levers *levers, int64_t deadline_ms)
{
	struct pollfd fds[2 * SETTINGS_MAX_NAS];
	struct floor_lever *of[2 * SETTINGS_MAX_NAS];
	int64_t left;
	size_t i, n;

	for (i = 0; i < levers->n; i++) {
		levers->levers[i]->closing = true;
		if (floor_moved(levers->levers[i]))
			floor_lever_free_all(levers->levers[i], "the gate stops");
	}
	while ((n = to_poll(levers, fds, of)) > 0) {
		left = deadline_ms - clock_boot_ms();
		if (left <= 0 || poll(fds, n, left < 200 ? (int)left : 200) < 0)
			break;
		for (i = 0; i < n; i++)
			order_link_feed(&of[i]->link);
	}
	for (i = 0; i < levers->n; i++)
		if (floor_moved(levers->levers[i]))
			log_warning("The levers of NAS '%s' could not be put back in time: it "
				    "undoes by itself within %d min nas=%s",
				levers->levers[i]->settings.name, FLOOR_SPAN_S / 60,
				levers->levers[i]->settings.name);
}

void floor_levers_close(struct floor_levers *levers, int64_t deadline_ms)
{
	if (!levers)
		return;
	if (deadline_ms)
		put_all_back(levers, deadline_ms);
	while (levers->n)
		lever_free(levers->levers[--levers->n]);
	free(levers);
}
