// SPDX-License-Identifier: MIT
/* Retention: old rows go, the chain stays whole. */
#include <string.h>

#include "store/inner.h"
#include "store/segment.h"

#define SEGMENT_ROWS 10000
#define TICKETS_AT_ONCE 200

void segment_fields(sqlite3_stmt *stmt, struct chain_field *ret, char (*digits)[24])
{
	batch_row_fields(stmt, 0, SEGMENT_N, ret, digits);
}

/* What a new segment spans. */
struct span {
	int64_t first_id, last_id, rows, first_utc_ms, last_utc_ms;
	unsigned char first_prev[CHAIN_HASH_LEN], last_hash[CHAIN_HASH_LEN];
};

/* The oldest rows up to the first one that is not old. */
static bool old_rows(struct store *store, int64_t before_utc_ms, struct span *ret, struct err *err)
{
	sqlite3_stmt *stmt = db_prepare(store->db,
		"SELECT id, time_utc_ms, prev, hash FROM decisions ORDER BY id LIMIT ?", err);
	int rc;

	if (!stmt)
		return false;
	memset(ret, 0, sizeof(*ret));
	sqlite3_bind_int64(stmt, 1, SEGMENT_ROWS);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW &&
		sqlite3_column_int64(stmt, 1) < before_utc_ms &&
		sqlite3_column_bytes(stmt, 2) == CHAIN_HASH_LEN &&
		sqlite3_column_bytes(stmt, 3) == CHAIN_HASH_LEN) {
		if (!ret->rows) {
			ret->first_id = sqlite3_column_int64(stmt, 0);
			ret->first_utc_ms = sqlite3_column_int64(stmt, 1);
			memcpy(ret->first_prev, sqlite3_column_blob(stmt, 2), CHAIN_HASH_LEN);
		}
		ret->rows++;
		ret->last_id = sqlite3_column_int64(stmt, 0);
		ret->last_utc_ms = sqlite3_column_int64(stmt, 1);
		memcpy(ret->last_hash, sqlite3_column_blob(stmt, 3), CHAIN_HASH_LEN);
	}
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		db_err(err, store->db, "the decisions cannot be read");
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE;
}

static bool last_segment(struct store *store, int64_t *ret_id,
	unsigned char ret_hash[CHAIN_HASH_LEN], struct err *err)
{
	sqlite3_stmt *stmt = db_prepare(
		store->db, "SELECT id, hash FROM segments ORDER BY id DESC LIMIT 1", err);
	int rc;

	if (!stmt)
		return false;
	*ret_id = 0;
	memset(ret_hash, 0, CHAIN_HASH_LEN);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		*ret_id = sqlite3_column_int64(stmt, 0);
		memcpy(ret_hash, sqlite3_column_blob(stmt, 1), CHAIN_HASH_LEN);
	} else if (rc != SQLITE_DONE) {
		db_err(err, store->db, "the segments cannot be read");
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE;
}

static void bind_span(
	sqlite3_stmt *stmt, int64_t id, const struct span *span, int64_t closed_utc_ms)
{
	sqlite3_bind_int64(stmt, 1, id);
	sqlite3_bind_int64(stmt, 2, span->first_id);
	sqlite3_bind_int64(stmt, 3, span->last_id);
	sqlite3_bind_int64(stmt, 4, span->rows);
	sqlite3_bind_int64(stmt, 5, span->first_utc_ms);
	sqlite3_bind_int64(stmt, 6, span->last_utc_ms);
	sqlite3_bind_int64(stmt, 7, closed_utc_ms);
	sqlite3_bind_blob(stmt, 8, span->first_prev, CHAIN_HASH_LEN, SQLITE_STATIC);
	sqlite3_bind_blob(stmt, 9, span->last_hash, CHAIN_HASH_LEN, SQLITE_STATIC);
}

/* SQLite itself turns the values into columns, so that what is hashed is what a reader will see. */
static bool segment_hash(struct store *store, int64_t id, const struct span *span,
	int64_t closed_utc_ms, const unsigned char *prev, unsigned char *ret, struct err *err)
{
	struct chain_field fields[SEGMENT_N];
	char digits[SEGMENT_N][24];
	sqlite3_stmt *stmt = db_prepare(store->db, "SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?", err);
	bool good;

	if (!stmt)
		return false;
	bind_span(stmt, id, span, closed_utc_ms);
	good = sqlite3_step(stmt) == SQLITE_ROW ||
		db_err(err, store->db, "a segment cannot be made");
	if (good) {
		segment_fields(stmt, fields, digits);
		good = hash_row(prev, fields, SEGMENT_N, &store->rows.scratch, ret) ||
			err_nomem(err);
	}
	sqlite3_finalize(stmt);
	return good;
}

static bool close_segment(
	struct store *store, const struct span *span, int64_t now_utc_ms, struct err *err)
{
	unsigned char prev[CHAIN_HASH_LEN], hash[CHAIN_HASH_LEN];
	sqlite3_stmt *stmt;
	int64_t id = 0;
	bool good;

	if (!last_segment(store, &id, prev, err) ||
		!segment_hash(store, id + 1, span, now_utc_ms, prev, hash, err))
		return false;
	stmt = db_prepare(store->db,
		"INSERT INTO segments(" SEGMENT_COLUMNS ", prev, hash)"
		" VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		err);
	if (!stmt)
		return false;
	bind_span(stmt, id + 1, span, now_utc_ms);
	sqlite3_bind_blob(stmt, 10, prev, CHAIN_HASH_LEN, SQLITE_STATIC);
	sqlite3_bind_blob(stmt, 11, hash, CHAIN_HASH_LEN, SQLITE_STATIC);
	good = sqlite3_step(stmt) == SQLITE_DONE ||
		db_err(err, store->db, "the segment cannot be closed");
	sqlite3_finalize(stmt);
	return good;
}

/* Runs a DELETE with up to two numbers; *ret_n rows went. */
static bool delete_rows(
	struct store *store, const char *sql, int64_t a, int64_t b, size_t *ret_n, struct err *err)
{
	sqlite3_stmt *stmt = db_prepare(store->db, sql, err);
	bool good;

	if (!stmt)
		return false;
	sqlite3_bind_int64(stmt, 1, a);
	if (sqlite3_bind_parameter_count(stmt) > 1)
		sqlite3_bind_int64(stmt, 2, b);
	good = sqlite3_step(stmt) == SQLITE_DONE ||
		db_err(err, store->db, "old rows cannot be deleted");
	*ret_n = good ? (size_t)sqlite3_changes(store->db) : 0;
	sqlite3_finalize(stmt);
	return good;
}

static bool delete_tickets(
	struct store *store, int64_t before_utc_ms, size_t *ret_n, struct err *err)
{
	int64_t ids[TICKETS_AT_ONCE];
	size_t n = 0, i, gone;
	int rc = SQLITE_DONE;
	bool good = true;
	sqlite3_stmt *stmt =
		db_prepare(store->db, "SELECT id FROM tickets WHERE ended_utc_ms < ? LIMIT ?", err);

	if (!stmt)
		return false;
	sqlite3_bind_int64(stmt, 1, before_utc_ms);
	sqlite3_bind_int64(stmt, 2, TICKETS_AT_ONCE);
	while (n < TICKETS_AT_ONCE && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
		ids[n++] = sqlite3_column_int64(stmt, 0);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		good = db_err(err, store->db, "the tickets cannot be read");
	sqlite3_finalize(stmt);
	for (i = 0; good && i < n; i++)
		good = delete_rows(store, "DELETE FROM guests WHERE ticket = ?", ids[i], 0, &gone,
			       err) &&
			delete_rows(
				store, "DELETE FROM tickets WHERE id = ?", ids[i], 0, &gone, err) &&
			delete_rows(store, "DELETE FROM ticket_events WHERE ticket = ?", ids[i], 0,
				&gone, err);
	*ret_n = n;
	return good;
}

static bool one_step(struct store *store, int64_t before_utc_ms, int64_t now_utc_ms,
	int64_t max_rows, bool *ret_more, struct err *err)
{
	int64_t closed = 0;
	struct span span;
	size_t n = 0, readings = 0, levers = 0;

	*ret_more = true;
	if (!db_int(store->db, "SELECT max(last_id) FROM segments", 0, &closed, err) ||
		!delete_rows(store,
			"DELETE FROM decisions WHERE id IN"
			" (SELECT id FROM decisions WHERE id <= ? ORDER BY id LIMIT ?)",
			closed, max_rows, &n, err))
		return false;
	if (n)
		return true;
	if (!old_rows(store, before_utc_ms, &span, err))
		return false;
	if (span.rows)
		return close_segment(store, &span, now_utc_ms, err);
	if (!delete_tickets(store, before_utc_ms, &n, err) ||
		!delete_rows(store,
			"DELETE FROM readings WHERE id IN"
			" (SELECT id FROM readings WHERE time_utc_ms < ? LIMIT ?)",
			before_utc_ms, max_rows, &readings, err) ||
		!delete_rows(store, /* but the last of each: it says where the lever stands */
			"DELETE FROM lever_actions WHERE id IN"
			" (SELECT id FROM lever_actions AS old WHERE time_utc_ms < ? AND EXISTS"
			"  (SELECT 1 FROM lever_actions AS newer WHERE newer.lever = old.lever"
			"   AND newer.target = old.target AND newer.id > old.id) LIMIT ?)",
			before_utc_ms, max_rows, &levers, err))
		return false;
	*ret_more = n || readings || levers;
	return true;
}

bool store_retain(struct store *store, int64_t before_utc_ms, int64_t now_utc_ms, size_t max_rows,
	bool *ret_more, struct err *err)
{
	int64_t max = max_rows < 1 ? 1 : max_rows < 100000 ? (int64_t)max_rows : 100000;

	*ret_more = false;
	if (!store->ok || !store->db) {
		if (err)
			*err = store->why;
		return false;
	}
	if (!db_exec(store->db, "BEGIN IMMEDIATE", err))
		return false;
	if (one_step(store, before_utc_ms, now_utc_ms, max, ret_more, err) &&
		db_exec(store->db, "COMMIT", err))
		return true;
	if (!sqlite3_get_autocommit(store->db))
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	*ret_more = false;
	return false;
}
