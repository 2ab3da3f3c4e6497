// SPDX-License-Identifier: MIT
/*
 * The record of what is moved: before it is moved.
 *
 * A lever that goes back and forth (slices and rests) would fill the record: each setting of a
 * moved lever is written at most once a minute, with the count of those between. What is written
 * always suffices to put the lever back: the first row says what it was before us, and no row says
 * that it is back but when it is.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "gate/levers_impl.h"

#define ROW_EVERY_MS MS_MINUTE

const char *levers_path_text(enum steer_path path, int64_t rate, char ret[64])
{
	char shown[UNITS_TEXT_MAX];

	if (path == STEER_LIMIT)
		snprintf(ret, 64, "limit %s", rate_show(rate, shown));
	else
		snprintf(ret, 64, "%s", path ? steer_path_word(path) : "free");
	return ret;
}

static struct recorded *recorded_of(struct levers *levers, const char *lever, const char *target)
{
	struct recorded *oldest = NULL;
	size_t i;

	for (i = 0; i < LEVERS_RECORDED; i++) {
		struct recorded *one = &levers->recorded[i];

		if (strcmp(one->lever, lever) == 0 && strcmp(one->target, target) == 0)
			return one;
		if (!oldest || (oldest->moved && !one->moved) ||
			(oldest->moved == one->moved && one->used_ms < oldest->used_ms))
			oldest = one;
	}
	memset(oldest, 0, sizeof(*oldest));
	snprintf(oldest->lever, sizeof(oldest->lever), "%s", lever);
	snprintf(oldest->target, sizeof(oldest->target), "%s", target);
	return oldest;
}

/* Whether a row of this setting is due; notes that it is written. */
static bool due(struct recorded *one, const char *after, int64_t now)
{
	size_t i, oldest = 0, len = strnlen(after, sizeof(one->words[0].word) - 1);

	for (i = 0; i < RECORDED_WORDS; i++) {
		if (one->words[i].at_ms < one->words[oldest].at_ms)
			oldest = i;
		if (strncmp(one->words[i].word, after, len) == 0 && !one->words[i].word[len])
			break;
	}
	if (i < RECORDED_WORDS && one->words[i].at_ms && now - one->words[i].at_ms < ROW_EVERY_MS)
		return false;
	if (i == RECORDED_WORDS)
		i = oldest;
	memcpy(one->words[i].word, after, len);
	one->words[i].word[len] = '\0';
	one->words[i].at_ms = now;
	return true;
}

static void on_lost_line(void *data, const char *json)
{
	(void)data;
	log_err("Not recorded anywhere but here: %s", json);
}

static bool write_row(struct store *store, const struct store_lever *row)
{
	struct err err = {0};
	enum store_where where;

	store_begin(store);
	store_add_lever(store, row);
	where = store_commit(store, &err);
	if (where == STORE_RECORDED || where == STORE_SPILLED)
		return true;
	store_lost_each(store, on_lost_line, NULL);
	log_err("A lever's change cannot be recorded (%s): %s", err.text,
		row->put_back ? "it is put back all the same" : "it is not made");
	return false;
}

bool levers_record(struct gate *gate, int64_t ticket, const char *lever, const char *target,
	const char *before, const char *after, const char *why, bool put_back)
{
	struct moment now = clock_now();
	struct recorded *one = gate->levers ? recorded_of(gate->levers, lever, target) : NULL;
	struct store_lever row = {
		.utc_ms = now.utc_ms,
		.ticket = ticket,
		.lever = lever,
		.target = target,
		.before = before,
		.after = after,
		.why = why,
		.put_back = put_back,
	};
	char counted[400];

	if (one && one->moved && !put_back && !due(one, after, now.boot_ms)) {
		one->thinned++;
		one->used_ms = now.boot_ms;
		return true;
	}
	if (one && one->thinned) {
		snprintf(counted, sizeof(counted), "%.300s (%lld change%s in between)",
			why ? why : "", (long long)one->thinned, one->thinned == 1 ? "" : "s");
		row.why = counted;
	}
	if (!write_row(gate->store, &row)) {
		if (one) /* the next try is no repetition */
			memset(one->words, 0, sizeof(one->words));
		return false;
	}
	if (!one)
		return true;
	if (!one->moved && !put_back) {
		memset(one->words, 0, sizeof(one->words));
		due(one, after, now.boot_ms);
	}
	one->moved = !put_back;
	one->thinned = 0;
	one->used_ms = now.boot_ms;
	return true;
}

bool levers_recorded_moved(const struct levers *levers, const char *lever, const char *target)
{
	size_t i;

	for (i = 0; i < LEVERS_RECORDED; i++)
		if (levers->recorded[i].moved && strcmp(levers->recorded[i].lever, lever) == 0 &&
			strcmp(levers->recorded[i].target, target) == 0)
			return true;
	return false;
}

static void take_moved(void *data, const struct store_lever *action)
{
	struct levers *levers = data;
	struct recorded *one = recorded_of(levers, action->lever, action->target);

	one->moved = true;
	one->dead = action->why && strcmp(action->why, KEEPER_DEAD_WHY) == 0;
	one->used_ms = levers->now.boot_ms;
	if (one->dead) {
		log_err("The keeper of %s is dead and left it slowed (%s), by the record: unless "
			"that "
			"backup is over it is freed by " KEEPER_COMMAND
			" there, or by the guest's next backup target=%s",
			action->target, action->after, action->target);
		return;
	}
	if (strcmp(action->lever, "traffic-control") == 0 && strstr(action->target, " at http"))
		return; /* at an address that is not configured: told by those who look after it */
	log_notice("A gate before this one left %s of %s moved (%s); it is put right lever=%s "
		   "target=%s",
		action->lever, action->target, action->after, action->lever, action->target);
}

void levers_recorded_open(struct levers *levers)
{
	struct err err = {0};

	levers->orphans_ms = levers->now.boot_ms + KEEPER_FREE_MS + 10 * MS_SECOND;
	if (!store_levers_moved(levers->gate->store, take_moved, levers, &err))
		log_warning("The record does not tell which levers are moved: %s", err.text);
}

static bool has_keeper(const struct levers *levers, const char *target)
{
	char own[160];
	size_t i;

	for (i = 0; i < LEVERS_KEEPERS; i++) {
		if (!levers->keepers[i].said_ms)
			continue;
		keeper_target(&levers->keepers[i], own);
		if (strcmp(own, target) == 0)
			return true;
	}
	return false;
}

/* Keepers that an earlier gate set and that ask nobody here have freed their guests by now. */
void levers_orphans(struct levers *levers)
{
	size_t i;

	if (!levers->orphans_ms || levers->now.boot_ms < levers->orphans_ms)
		return;
	levers->orphans_ms = 0;
	for (i = 0; i < LEVERS_RECORDED; i++) {
		struct recorded *one = &levers->recorded[i];

		if (one->moved && !one->dead && strcmp(one->lever, "block-jobs") == 0 &&
			!has_keeper(levers, one->target)) {
			levers_record(levers->gate, 0, one->lever, one->target, "free", "free",
				"its keeper has lost the gate: it should have freed its guest by "
				"itself",
				true);
			keeper_orphan_tell(levers, one->target);
		}
	}
}
