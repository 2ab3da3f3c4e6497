// SPDX-License-Identifier: MIT
/* What was done to levers, read back. */
#include <stdio.h>
#include <string.h>

#include "store/inner.h"

#define COLUMNS "time_utc_ms, ticket, lever, target, before, after, why, put_back"

/* Each lever's last action as the operation that wrote it, by kind and target. A name cannot hold a
 * line feed, so that no two levers share one. */
struct moved {
	json_t *last;
	bool failed;
};

static void moved_note(void *data, const json_t *op)
{
	struct moved *moved = data;
	const char *name = json_string_value(json_object_get(op, "op"));
	const char *lever = json_string_value(json_object_get(op, "lever"));
	const char *target = json_string_value(json_object_get(op, "target"));
	char key[400];
	json_t *copy;

	if (!name || strcmp(name, "lever") != 0 || !lever || !target)
		return;
	snprintf(key, sizeof(key), "%.100s\n%.280s", lever, target);
	/* The newest comes last, here and for whoever puts them back. */
	json_object_del(moved->last, key);
	copy = json_deep_copy(op);
	if (!copy || !json_put(moved->last, key, copy))
		moved->failed = true;
}

static json_t *op_of_row(sqlite3_stmt *stmt)
{
	json_t *op = batch_op("lever");

	if (op && json_put_int(op, "time_utc_ms", sqlite3_column_int64(stmt, 0)) &&
		json_put_int(op, "ticket", sqlite3_column_int64(stmt, 1)) &&
		json_put_text(op, "lever", db_text(stmt, 2)) &&
		json_put_text(op, "target", db_text(stmt, 3)) &&
		json_put_text(op, "before", (const char *)sqlite3_column_text(stmt, 4)) &&
		json_put_text(op, "after", (const char *)sqlite3_column_text(stmt, 5)) &&
		json_put_text(op, "why", (const char *)sqlite3_column_text(stmt, 6)) &&
		json_put_int(op, "put_back", sqlite3_column_int64(stmt, 7)))
		return op;
	json_decref(op);
	return NULL;
}

/* Hands each row of `sql` to `each` as an operation. */
static bool rows_each(struct store *store, const char *sql, int64_t limit,
	void (*each)(void *data, const json_t *op), void *data, struct err *err)
{
	sqlite3_stmt *stmt = db_prepare(store->db, sql, err);
	bool good = true;
	int rc;

	if (!stmt)
		return false;
	if (sqlite3_bind_parameter_count(stmt) > 0)
		sqlite3_bind_int64(stmt, 1, limit);
	while (good && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		json_t *op = op_of_row(stmt);

		if (op)
			each(data, op);
		else
			good = err_nomem(err);
		json_decref(op);
	}
	if (good && rc != SQLITE_DONE)
		good = db_err(err, store->db, "the levers' actions cannot be read");
	sqlite3_finalize(stmt);
	return good;
}

struct teller {
	void (*each)(void *data, const struct store_lever *action);
	void *data;
};

static void tell(void *data, const json_t *op)
{
	const struct teller *teller = data;
	const struct store_lever action = {
		.utc_ms = json_integer_value(json_object_get(op, "time_utc_ms")),
		.ticket = json_integer_value(json_object_get(op, "ticket")),
		.lever = json_string_value(json_object_get(op, "lever")),
		.target = json_string_value(json_object_get(op, "target")),
		.before = json_string_value(json_object_get(op, "before")),
		.after = json_string_value(json_object_get(op, "after")),
		.why = json_string_value(json_object_get(op, "why")),
		.put_back = json_integer_value(json_object_get(op, "put_back")) != 0,
	};

	teller->each(teller->data, &action);
}

bool store_levers_moved(struct store *store,
	void (*each)(void *data, const struct store_lever *action), void *data, struct err *err)
{
	static const char last[] = "SELECT " COLUMNS " FROM lever_actions AS a WHERE NOT EXISTS"
				   " (SELECT 1 FROM lever_actions AS b WHERE b.lever = a.lever AND"
				   "  b.target = a.target AND b.id > a.id) ORDER BY id";
	struct moved moved = {.last = json_object()};
	struct teller teller = {each, data};
	bool good = moved.last || err_nomem(err);
	const char *key;
	json_t *op;

	good = good && (!store->db || rows_each(store, last, 0, moved_note, &moved, err)) &&
		store_spill_each(store, moved_note, &moved, err);
	if (good && moved.failed)
		good = err_nomem(err);
	if (good) {
		json_object_foreach(moved.last, key, op)
		{
			if (!json_integer_value(json_object_get(op, "put_back")))
				tell(&teller, op);
		}
	}
	json_decref(moved.last);
	return good;
}

bool store_lever_actions(struct store *store, size_t limit,
	void (*each)(void *data, const struct store_lever *action), void *data, struct err *err)
{
	struct teller teller = {each, data};

	return store_readable(store, err) &&
		rows_each(store, "SELECT " COLUMNS " FROM lever_actions ORDER BY id DESC LIMIT ?",
			limit < STORE_PAGE_MAX ? (int64_t)limit : STORE_PAGE_MAX, tell, &teller,
			err);
}
