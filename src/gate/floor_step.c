// SPDX-License-Identifier: MIT
/*
 * Which order a NAS gets next, and what its answer means. First of all it tells what is moved
 * there; what is moved and not wanted is put back before anything is moved; what is not known is
 * looked at before it is moved.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/floor_lever_impl.h"
#include "gate/gate.h"

#define FRESH_MS (10 * MS_SECOND) /* a look before the first move */
#define REFUSED_MS MS_MINUTE      /* after a refusal */
#define AGAIN_MS (10 * MS_SECOND) /* after a putting back that did not go */
#define REST_MS MS_MINUTE         /* without an order the child is ended */
#define PAUSE_FIRST_MS (5 * MS_SECOND)
#define PAUSE_MAX_MS (5 * MS_MINUTE)
#define PATIENCE_FIRST_MS (15 * MS_MINUTE)
#define PATIENCE_MS MS_HOUR

bool floor_wanted(const struct floor_lever *lever, const struct floor_array *array)
{
	const struct nas_lever_settings *allowed = &lever->settings.levers;

	return array->want_kib.known &&
		(allowed->floor || (array->want_stripe && allowed->stripe_cache));
}

static bool fresh(const struct floor_array *array, int64_t now)
{
	return array->looked_ms && now - array->looked_ms < FRESH_MS;
}

/* Whether the array has, or is to get, its part of what caches may take. */
static bool takes_cache(const struct floor_lever *lever, const struct floor_array *array)
{
	if (!array->name[0] || array->no_cache || !lever->settings.levers.stripe_cache ||
		!array->now.stripe_cache.known)
		return false;
	return array->set_pages.known || (array->want_kib.known && array->want_stripe);
}

/* The share is of the NAS's memory: all arrays that take some divide it. */
static int64_t most_pages(const struct floor_lever *lever, const struct floor_array *array)
{
	int64_t n = 0;
	size_t i;

	for (i = 0; i < FLOOR_ARRAYS; i++)
		n += takes_cache(lever, &lever->arrays[i]);
	return order_stripe_pages(array->now.memory_kib.v, array->now.raid_disks.v,
		lever->settings.levers.stripe_memory_ppm / (n > 1 ? n : 1));
}

/* The floor that is wanted, as an order says it. A cache that is large enough is left alone, one
 * that has to give way gets no smaller than it was before us. */
static void wanted_numbers(const struct floor_lever *lever, const struct floor_array *array,
	struct opt *ret_kib, struct opt *ret_pages)
{
	int64_t pages, own;

	*ret_kib = lever->settings.levers.floor ? array->want_kib : OPT_NONE;
	*ret_pages = OPT_NONE;
	if (!array->want_stripe || !takes_cache(lever, array))
		return;
	pages = most_pages(lever, array);
	own = array->set_pages.known ? array->own_pages : array->now.stripe_cache.v;
	if (pages > own)
		*ret_pages = OPT(pages);
	else if (array->set_pages.known)
		*ret_pages = OPT(own);
}

/* Small changes of the floor are none: md's own pace is not that steady. */
static bool differs(const struct floor_array *array, struct opt kib, struct opt pages)
{
	int64_t by;

	if (!array->floor_set || kib.known != array->set_kib.known ||
		pages.known != array->set_pages.known || pages.v != array->set_pages.v)
		return true;
	by = kib.v > array->set_kib.v ? kib.v - array->set_kib.v : array->set_kib.v - kib.v;
	return by > array->set_kib.v / 8;
}

/* Another array's cache is larger than its part now: that one gives before any takes. */
static bool others_shrink(const struct floor_lever *lever, const struct floor_array *array)
{
	struct opt kib, pages;
	size_t i;

	for (i = 0; i < FLOOR_ARRAYS; i++) {
		const struct floor_array *other = &lever->arrays[i];

		if (other == array || !other->name[0] || !other->set_pages.known)
			continue;
		wanted_numbers(lever, other, &kib, &pages);
		if (pages.known && pages.v < other->set_pages.v)
			return true;
	}
	return false;
}

static enum floor_order put_back_next(
	const struct floor_lever *lever, const struct floor_array *array, int64_t now)
{
	if (array->check_moved && !array->want_pause && now >= array->resume_ms)
		return ORDER_RESUME;
	if (array->floor_moved && !floor_wanted(lever, array) && now >= array->retry_ms)
		return ORDER_FREE;
	return ORDER_NONE;
}

static enum floor_order move_next(
	const struct floor_lever *lever, const struct floor_array *array, int64_t now)
{
	struct opt kib, pages;

	if (array->want_pause && !array->check_moved)
		return fresh(array, now) ? ORDER_PAUSE : ORDER_LOOK;
	if (array->want_pause && now >= array->pause_renew_ms)
		return ORDER_PAUSE;
	if (array->other[0] && now >= array->retry_ms)
		return ORDER_LOOK; /* whether it still is another's, also when nobody wants it now
				    */
	if (!floor_wanted(lever, array) || now < array->retry_ms)
		return ORDER_NONE;
	if (!array->floor_moved && !fresh(array, now))
		return ORDER_LOOK;
	if (!array->looked_ms)
		return ORDER_LOOK;
	wanted_numbers(lever, array, &kib, &pages);
	if (!kib.known && !pages.known)
		return ORDER_NONE;
	if (pages.known && pages.v > array->set_pages.v && others_shrink(lever, array))
		return ORDER_NONE;
	if (differs(array, kib, pages) || now >= array->renew_ms)
		return ORDER_FLOOR;
	return ORDER_NONE;
}

static enum floor_order next_order(struct floor_lever *lever, int64_t now)
{
	enum floor_order order = ORDER_NONE;
	size_t i;

	if (!lever->listed)
		return ORDER_MOVED;
	for (i = 0; i < FLOOR_ARRAYS && !order; i++)
		if (lever->arrays[i].name[0]) {
			order = put_back_next(lever, &lever->arrays[i], now);
			lever->at = i;
		}
	for (i = 0; i < FLOOR_ARRAYS && !order; i++)
		if (lever->arrays[i].name[0]) {
			order = move_next(lever, &lever->arrays[i], now);
			lever->at = i;
		}
	/* Nobody wants anything of a lever that is not usable: whether it is again is asked. */
	if (!order && lever->failures && !lever->retired && !lever->closing)
		order = ORDER_MOVED;
	return order;
}

static void trouble(struct floor_array *array, const char *text)
{
	snprintf(array->trouble, sizeof(array->trouble), "%.*s", FLOOR_WHY_MAX - 1, text);
}

/* What cannot be done with the floor is tried again; a check that cannot be interrupted is not: the
 * owner asks anew when he sees one. */
static void refused(
	struct floor_lever *lever, struct floor_array *array, int64_t now, const char *text)
{
	trouble(array, text);
	if (lever->doing == ORDER_PAUSE) {
		array->want_pause = false;
		log_notice("No check of %s on %s is interrupted: %s nas=%s array=%s", array->name,
			lever->settings.name, text, lever->settings.name, array->name);
		return;
	}
	if (!array->refused)
		log_warning("An order about %s on %s is not carried out: %s nas=%s array=%s",
			array->name, lever->settings.name, text, lever->settings.name, array->name);
	array->refused = lever->doing;
	if (lever->doing == ORDER_RESUME)
		array->resume_ms = now + AGAIN_MS;
	else
		array->retry_ms = now + (lever->doing == ORDER_FREE ? AGAIN_MS : REFUSED_MS);
}

/* Records and writes the order that moves something. False where it is not to be given. */
static bool prepare_floor(struct floor_lever *lever, struct floor_array *array, int64_t now,
	char line[ORDER_LINE_MAX], struct err *err)
{
	wanted_numbers(lever, array, &lever->kib, &lever->pages);
	if (!differs(array, lever->kib, lever->pages)) {
		lever->kib = array->set_kib; /* renewed as it is */
		lever->pages = array->set_pages;
	}
	if (!order_floor(array->name, lever->kib, lever->pages, FLOOR_SPAN_S, line, err))
		return false;
	if (differs(array, lever->kib, lever->pages) && !floor_record(lever, array))
		return err_set(err, ERR_SYS, "the change cannot be recorded, so it is not made");
	if (lever->pages.known && !array->set_pages.known)
		array->own_pages = array->now.stripe_cache.v;
	array->floor_moved = true;
	if (!array->since_ms)
		array->since_ms = now;
	return true;
}

static bool prepare_pause(struct floor_lever *lever, struct floor_array *array, int64_t now,
	char line[ORDER_LINE_MAX], struct err *err)
{
	if (!order_pause(array->name, FLOOR_SPAN_S, line, err))
		return false;
	if (array->check_moved)
		return true;
	if (strcmp(array->now.operation, "check") != 0 &&
		strcmp(array->now.operation, "repair") != 0) {
		return err_set(err, ERR_NOTFOUND, "%s is in '%s': there is no check to interrupt",
			array->name, array->now.operation);
	}
	if (!floor_record_check(lever, array))
		return err_set(err, ERR_SYS, "the change cannot be recorded, so it is not made");
	array->check_moved = true;
	if (!array->since_ms)
		array->since_ms = now;
	return true;
}

static bool prepare_words(
	struct floor_lever *lever, int64_t now, char line[ORDER_LINE_MAX], struct err *err)
{
	struct floor_array *array = &lever->arrays[lever->at];

	switch (lever->doing) {
	case ORDER_MOVED:
		return order_moved(line, err);
	case ORDER_LOOK:
		return order_look(array->name, line, err);
	case ORDER_FREE:
		return order_free(array->name, line, err);
	case ORDER_RESUME:
		return order_resume(array->name, line, err);
	case ORDER_FLOOR:
		return prepare_floor(lever, array, now, line, err);
	case ORDER_PAUSE:
		return prepare_pause(lever, array, now, line, err);
	case ORDER_NONE:
		break;
	}
	return err_set(err, ERR_INVALID, "there is no such order");
}

static bool prepare(
	struct floor_lever *lever, int64_t now, char line[ORDER_LINE_MAX], struct err *err)
{
	return prepare_words(lever, now, line, err) && floor_say_name(lever, line, err);
}

/* ---- what an answer means ---- */

static void floor_done(struct floor_lever *lever, struct floor_array *array, int64_t now)
{
	array->floor_set = true;
	array->set_kib = lever->kib;
	array->set_pages = lever->pages;
	array->renew_ms = now + FLOOR_RENEW_MS;
	if (lever->kib.known && !array->now.speed_min_local)
		refused(lever, array, now, "sync_speed_min did not stay as it was set");
}

static void carried_out(struct floor_lever *lever, struct floor_array *array, int64_t now)
{
	switch (lever->doing) {
	case ORDER_FLOOR:
		floor_done(lever, array, now);
		break;
	case ORDER_FREE:
		floor_put_back(
			lever, array, array->why[0] ? array->why : "it is not needed any more");
		break;
	case ORDER_PAUSE:
		array->pause_renew_ms = now + FLOOR_RENEW_MS;
		break;
	case ORDER_RESUME:
		array->resume_ms = now + AGAIN_MS;
		if (array->now.paused_at.known)
			trouble(array, "the check goes on once md has done what comes first");
		else
			floor_check_put_back(lever, array,
				array->pause_why[0] ? array->pause_why
						    : "it is not needed any more");
		break;
	case ORDER_NONE:
	case ORDER_MOVED:
	case ORDER_LOOK:
		break;
	}
}

/* Not every md takes a larger cache, and a floor without one is better than none: asked for without
 * it, once. True where it will be. */
static bool without_cache(struct floor_lever *lever, struct floor_array *array, const char *text)
{
	if (lever->doing != ORDER_FLOOR || !lever->pages.known || !lever->kib.known)
		return false;
	if (!array->refused)
		log_warning("An order about %s on %s is not carried out: %s; it is given without a "
			    "larger stripe cache nas=%s array=%s",
			array->name, lever->settings.name, text, lever->settings.name, array->name);
	snprintf(array->no_cache_why, sizeof(array->no_cache_why), "%.*s", FLOOR_WHY_MAX - 1, text);
	array->no_cache = true;
	return true;
}

/* An array that cannot even be looked at (it is gone) is no other gate's either: where nobody wants
 * its floor nothing is left to ask. */
static void look_turned_down(const struct floor_lever *lever, struct floor_array *array)
{
	if (!array->other[0])
		return;
	array->other[0] = '\0';
	if (floor_wanted(lever, array))
		return;
	array->refused = ORDER_NONE;
	array->retry_ms = 0;
	array->trouble[0] = '\0';
}

/* The NAS has undone what it refuses: what is moved there now it tells anew. Whether it was for the
 * cache is not asked each time: without one it stays while a floor is wanted. */
static void turned_down(
	struct floor_lever *lever, struct floor_array *array, int64_t now, const char *text)
{
	if (!without_cache(lever, array, text))
		refused(lever, array, now, text);
	if (lever->doing == ORDER_LOOK)
		look_turned_down(lever, array);
	else
		floor_list_again(lever);
	array->floor_set = false;
}

static bool is_listed(const char *name, size_t n, char (*names)[MD_NAME_MAX])
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* The NAS does not say which of both it is: of what is not moved nothing is undone. */
static void take_over(struct floor_lever *lever, struct floor_array *array)
{
	log_notice("NAS '%s' says that %s is not as it was before us: %s nas=%s array=%s",
		lever->settings.name, array->name,
		floor_wanted(lever, array) ? "its floor is taken over" : "it is put back",
		lever->settings.name, array->name);
	if (!array->floor_moved)
		snprintf(array->before, sizeof(array->before), "as the NAS has written it down");
	if (!array->check_moved)
		snprintf(array->check_before, sizeof(array->check_before), "check");
	array->floor_moved = array->check_moved = true;
}

static void take_list(struct floor_lever *lever, size_t n, char (*names)[MD_NAME_MAX])
{
	static const char why[] = "the NAS has put it back by itself";
	struct floor_array *array;
	size_t i;

	/* Meanwhile it is to be asked under another name, and whose moves it tells of depends on
	 * that. */
	if (strcmp(lever->said, floor_name_to_say(lever)) != 0)
		return;
	for (i = 0; i < FLOOR_ARRAYS; i++) {
		array = &lever->arrays[i];
		if (!array->name[0] || is_listed(array->name, n, names))
			continue;
		if (array->floor_moved)
			floor_put_back(lever, array, why);
		if (array->check_moved)
			floor_check_put_back(lever, array, why);
	}
	for (i = 0; i < n; i++) {
		array = floor_array_get(lever, names[i]);
		if (array && (lever->anyones || (!array->floor_moved && !array->check_moved)))
			take_over(lever, array);
	}
	lever->listed = true;
}

/* The NAS was not reached, or does not speak as nas-levers does. */
static void not_reached(
	struct floor_lever *lever, int64_t now, const char *line, const struct err *err)
{
	int64_t ms = PAUSE_FIRST_MS;
	unsigned i;

	if (!lever->failures)
		log_warning("The levers of NAS '%s' cannot be moved: %s nas=%s",
			lever->settings.name, err->text, lever->settings.name);
	snprintf(lever->trouble, sizeof(lever->trouble), "%.*s", FLOOR_WHY_MAX - 1, err->text);
	lever->failures++;
	lever->anyones = false;
	lever->patient = lever->closing || order_needs_patience(line);
	for (i = 1; i < lever->failures && ms < PAUSE_MAX_MS; i++)
		ms *= 2;
	if (ms > PAUSE_MAX_MS)
		ms = PAUSE_MAX_MS;
	if (lever->patient)
		ms = lever->failures > 1 ? PATIENCE_MS : PATIENCE_FIRST_MS;
	lever->not_before_ms = now + ms;
	for (i = 0; i < FLOOR_ARRAYS; i++)
		lever->arrays[i].floor_set = false;
}

static void reached(struct floor_lever *lever)
{
	if (lever->failures)
		log_notice("The levers of NAS '%s' can be moved again nas=%s", lever->settings.name,
			lever->settings.name);
	lever->failures = 0;
	lever->patient = false;
	lever->not_before_ms = 0;
	lever->trouble[0] = '\0';
}

static void succeeded(struct floor_lever *lever)
{
	reached(lever);
	if (lever->said[0])
		lever->nameless_said = false;
}

static void take_state(struct floor_lever *lever, struct floor_array *array, int64_t now,
	const struct order_state *state)
{
	array->now = *state;
	array->looked_ms = now;
	array->trouble[0] = '\0';
	if (lever->doing != ORDER_LOOK || array->refused == ORDER_LOOK) {
		array->refused = ORDER_NONE;
		array->retry_ms = 0;
	}
	carried_out(lever, array, now);
	floor_look_for_other(lever, array, now);
}

static void take_moved(struct floor_lever *lever, int64_t now, const char *line)
{
	char names[FLOOR_ARRAYS][MD_NAME_MAX];
	struct err err = {0};
	size_t n = 0;

	if (!lever->nameless && order_knows_no_names(line)) {
		floor_forget_name(lever); /* and it is asked without one */
	} else if (order_moved_answer(line, FLOOR_ARRAYS, names, &n, &err)) {
		succeeded(lever);
		take_list(lever, n, names);
	} else {
		not_reached(lever, now, line, &err);
	}
}

void floor_answered(void *data, const char *line)
{
	struct floor_lever *lever = data;
	struct floor_array *array = &lever->arrays[lever->at];
	struct order_other other;
	struct order_state state;
	int64_t now = clock_boot_ms();
	struct err err = {0};

	if (lever->doing == ORDER_MOVED) {
		take_moved(lever, now, line);
	} else if (order_answer(line, &state, &err)) {
		succeeded(lever);
		take_state(lever, array, now, &state);
	} else if (order_other(line, &other)) {
		reached(lever);
		floor_refused_for_other(lever, array, now, &other);
	} else if (err.kind == ERR_DENIED) {
		reached(lever);
		turned_down(lever, array, now, err.text);
	} else {
		not_reached(lever, now, line, &err);
	}
	if (lever->anyones && lever->listed && !floor_moved(lever))
		lever->anyones = false;
	lever->doing = ORDER_NONE;
	floor_step(lever);
}

/* ---- when ---- */

static void sooner(int64_t *at, int64_t ms)
{
	if (ms && (!*at || ms < *at))
		*at = ms;
}

/* Boot time at which something will be due; 0: nothing is to come. */
static int64_t next_ms(const struct floor_lever *lever, int64_t now)
{
	int64_t at = 0;
	size_t i;

	for (i = 0; i < FLOOR_ARRAYS; i++) {
		const struct floor_array *array = &lever->arrays[i];

		if (!array->name[0])
			continue;
		if (array->retry_ms > now)
			sooner(&at, array->retry_ms);
		else if (floor_wanted(lever, array) && array->floor_set)
			sooner(&at, array->renew_ms);
		if (array->check_moved)
			sooner(&at, array->want_pause ? array->pause_renew_ms : array->resume_ms);
	}
	if (lever->link.child.fd >= 0)
		sooner(&at, lever->used_ms + REST_MS);
	return at;
}

void floor_step(struct floor_lever *lever)
{
	int64_t now = clock_boot_ms(), at;
	char line[ORDER_LINE_MAX];
	struct err err = {0};

	if (lever->doing)
		return;
	if (now < lever->not_before_ms && (lever->patient || !lever->closing)) {
		timer_at(&lever->due, lever->not_before_ms);
		return;
	}
	while ((lever->doing = next_order(lever, now)) != ORDER_NONE) {
		if (prepare(lever, now, line, &err)) {
			lever->used_ms = now;
			order_link_give(&lever->link, line);
			return;
		}
		refused(lever, &lever->arrays[lever->at], now, err.text);
	}
	if (now - lever->used_ms >= REST_MS)
		order_link_rest(&lever->link);
	at = lever->retired && !floor_moved(lever) ? now : next_ms(lever, now);
	if (at)
		timer_at(&lever->due, at);
	else
		timer_off(&lever->due);
}
