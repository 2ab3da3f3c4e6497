// SPDX-License-Identifier: MIT
/* Counts by hour, kept while rows are written: reading them costs hours, not decisions. */
#include "store/inner.h"

#define LAST_HOUR (INT64_C(1) << 40)

static int64_t hour_of(int64_t utc_ms)
{
	int64_t hour = utc_ms / MS_HOUR - (utc_ms % MS_HOUR < 0);

	return hour < 0 ? 0 : hour < LAST_HOUR ? hour : LAST_HOUR;
}

static bool count_up(json_t *counts, const char *name, int64_t n)
{
	if (!*name)
		return true;
	return json_put_int(counts, name, json_integer_value(json_object_get(counts, name)) + n);
}

static bool tally(struct store *store, int64_t from, int64_t to, json_t *object, struct err *err)
{
	static const char *const names[] = {"nas", "storages", "verdicts", "rules"};
	json_t *counts[4] = {NULL};
	sqlite3_stmt *stmt;
	int64_t n, all = 0;
	int rc = SQLITE_DONE, i;
	bool good = true;

	for (i = 0; i < 4 && good; i++) {
		counts[i] = json_object(); /* owned by `object` from here */
		good = json_put(object, names[i], counts[i]);
	}
	if (!good)
		return err_nomem(err);
	stmt = db_prepare(store->db,
		"SELECT nas, storage, verdict, rule, sum(n) FROM tally"
		" WHERE hour >= ? AND hour < ? GROUP BY nas, storage, verdict, rule",
		err);
	if (!stmt)
		return false;
	sqlite3_bind_int64(stmt, 1, from);
	sqlite3_bind_int64(stmt, 2, to);
	while (good && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		n = sqlite3_column_int64(stmt, 4);
		all += n;
		for (i = 0; i < 4 && good; i++)
			good = count_up(counts[i], db_text(stmt, i), n);
	}
	if (good && rc != SQLITE_DONE)
		good = db_err(err, store->db, "the tallies cannot be read");
	else if (!good || !json_put_int(object, "decisions", all))
		good = err_nomem(err);
	sqlite3_finalize(stmt);
	return good;
}

static bool holds(struct store *store, int64_t from, int64_t to, json_t *object, struct err *err)
{
	sqlite3_stmt *stmt = db_prepare(store->db,
		"SELECT coalesce(sum(n), 0), coalesce(sum(held_ms), 0),"
		"coalesce(max(longest_ms), 0) FROM hold_tally WHERE hour >= ? AND hour < ?",
		err);
	bool good;

	if (!stmt)
		return false;
	sqlite3_bind_int64(stmt, 1, from);
	sqlite3_bind_int64(stmt, 2, to);
	if (sqlite3_step(stmt) != SQLITE_ROW)
		good = db_err(err, store->db, "the tallies cannot be read");
	else
		good = (json_put_int(object, "holds", sqlite3_column_int64(stmt, 0)) &&
			       json_put_int(object, "held_ms", sqlite3_column_int64(stmt, 1)) &&
			       json_put_int(object, "longest_ms", sqlite3_column_int64(stmt, 2))) ||
			err_nomem(err);
	sqlite3_finalize(stmt);
	return good;
}

bool store_stats(struct store *store, int64_t since_utc_ms, int64_t until_utc_ms, json_t **ret,
	struct err *err)
{
	int64_t from = hour_of(since_utc_ms), to = hour_of(until_utc_ms);
	json_t *object;

	if (!store_readable(store, err))
		return false;
	if (until_utc_ms % MS_HOUR != 0 && to < LAST_HOUR)
		to++;
	object = json_object();
	if (!object || !json_put_int(object, "since_utc_ms", from * MS_HOUR) ||
		!json_put_int(object, "until_utc_ms", to * MS_HOUR)) {
		json_decref(object);
		return err_nomem(err);
	}
	if (tally(store, from, to, object, err) && holds(store, from, to, object, err)) {
		*ret = object;
		return true;
	}
	json_decref(object);
	return false;
}
