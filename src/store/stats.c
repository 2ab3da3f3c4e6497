// SPDX-License-Identifier: MIT
/* Counts by hour and day, kept while rows are written: reading them costs days, not decisions. */
#include <string.h>

#include "store/inner.h"

#define LAST_HOUR (INT64_C(1) << 40)

static int64_t hour_of(int64_t utc_ms)
{
	int64_t hour = utc_ms / MS_HOUR - (utc_ms % MS_HOUR < 0);

	return hour < 0 ? 0 : hour < LAST_HOUR ? hour : LAST_HOUR;
}

/* Up to three runs of tallies: the hours before the first whole day, whole days, the hours after.
 */
struct run {
	int64_t unit_ms, from, to;
};

static size_t runs_of(int64_t from, int64_t to, struct run ret[3])
{
	int64_t first_day = (from + 23) / 24, end_day = to / 24;

	if (first_day >= end_day) {
		ret[0] = (struct run){MS_HOUR, from, to};
		return 1;
	}
	ret[0] = (struct run){MS_HOUR, from, first_day * 24};
	ret[1] = (struct run){MS_DAY, first_day, end_day};
	ret[2] = (struct run){MS_HOUR, end_day * 24, to};
	return 3;
}

static void bind_run(sqlite3_stmt *stmt, const struct run *run)
{
	sqlite3_reset(stmt);
	sqlite3_bind_int64(stmt, 1, run->unit_ms);
	sqlite3_bind_int64(stmt, 2, run->from);
	sqlite3_bind_int64(stmt, 3, run->to);
}

/* Adds one tally to its kind's counts. */
static bool count_up(json_t *object, const char *kind, const char *name, int64_t n)
{
	static const struct {
		const char *kind, *member;
	} kinds[] = {{"nas", "nas"}, {"storage", "storages"}, {"verdict", "verdicts"},
		{"rule", "rules"}};
	json_t *counts;
	size_t i;

	for (i = 0; i < 4 && strcmp(kinds[i].kind, kind) != 0; i++)
		;
	if (i == 4)
		return true;
	counts = json_object_get(object, kinds[i].member);
	return json_put_int(counts, name, json_integer_value(json_object_get(counts, name)) + n);
}

static bool decisions_of(json_t *object)
{
	const char *name;
	json_t *n;
	int64_t all = 0;

	json_object_foreach(json_object_get(object, "verdicts"), name, n)
	{
		all += json_integer_value(n);
	}
	return json_put_int(object, "decisions", all);
}

static bool tally(
	struct store *store, const struct run *runs, size_t n_runs, json_t *object, struct err *err)
{
	sqlite3_stmt *stmt = db_prepare(store->db,
		"SELECT kind, name, sum(n) FROM tally"
		" WHERE unit_ms = ? AND at >= ? AND at < ? GROUP BY kind, name",
		err);
	int rc = SQLITE_DONE;
	bool good = true;
	size_t i;

	if (!stmt)
		return false;
	for (i = 0; good && i < n_runs && rc == SQLITE_DONE; i++) {
		bind_run(stmt, &runs[i]);
		while (good && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
			good = count_up(object, db_text(stmt, 0), db_text(stmt, 1),
				sqlite3_column_int64(stmt, 2));
	}
	if (good && rc != SQLITE_DONE)
		good = db_err(err, store->db, "the tallies cannot be read");
	else if (!good || !decisions_of(object))
		good = err_nomem(err);
	sqlite3_finalize(stmt);
	return good;
}

static bool holds(
	struct store *store, const struct run *runs, size_t n_runs, json_t *object, struct err *err)
{
	sqlite3_stmt *stmt = db_prepare(store->db,
		"SELECT sum(n), sum(held_ms), max(longest_ms) FROM hold_tally"
		" WHERE unit_ms = ? AND at >= ? AND at < ?",
		err);
	int64_t n = 0, held = 0, longest = 0;
	int rc = SQLITE_ROW;
	size_t i;

	if (!stmt)
		return false;
	for (i = 0; i < n_runs && rc == SQLITE_ROW; i++) {
		bind_run(stmt, &runs[i]);
		rc = sqlite3_step(stmt);
		n += sqlite3_column_int64(stmt, 0);
		held += sqlite3_column_int64(stmt, 1);
		if (sqlite3_column_int64(stmt, 2) > longest)
			longest = sqlite3_column_int64(stmt, 2);
	}
	if (rc != SQLITE_ROW)
		db_err(err, store->db, "the tallies cannot be read");
	sqlite3_finalize(stmt);
	if (rc != SQLITE_ROW)
		return false;
	return (json_put_int(object, "holds", n) && json_put_int(object, "held_ms", held) &&
		       json_put_int(object, "longest_ms", longest)) ||
		err_nomem(err);
}

/* Members that must be there though nothing was counted. */
static bool start(json_t *object, int64_t from, int64_t to)
{
	return json_put_int(object, "since_utc_ms", from * MS_HOUR) &&
		json_put_int(object, "until_utc_ms", to * MS_HOUR) &&
		json_put_int(object, "decisions", 0) &&
		json_put(object, "verdicts", json_object()) &&
		json_put(object, "rules", json_object()) &&
		json_put(object, "nas", json_object()) &&
		json_put(object, "storages", json_object());
}

bool store_stats(struct store *store, int64_t since_utc_ms, int64_t until_utc_ms, json_t **ret,
	struct err *err)
{
	int64_t from = hour_of(since_utc_ms), to = hour_of(until_utc_ms);
	struct run runs[3];
	json_t *object;
	size_t n;

	if (!store_readable(store, err))
		return false;
	if (until_utc_ms % MS_HOUR != 0 && to < LAST_HOUR)
		to++;
	object = json_object();
	if (!object || !start(object, from, to)) {
		json_decref(object);
		return err_nomem(err);
	}
	n = runs_of(from, to, runs);
	if (tally(store, runs, n, object, err) && holds(store, runs, n, object, err)) {
		*ret = object;
		return true;
	}
	json_decref(object);
	return false;
}
