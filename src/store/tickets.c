// SPDX-License-Identifier: MIT
/* Tickets, the tracker's memory and policies, read back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/inner.h"
#include "wire/wire.h"

/* Live tickets by id (20 digits, so that names sort as ids do). */
struct live {
	json_t *states;
	bool failed;
};

static void live_set(struct live *live, int64_t id, const char *state)
{
	char name[24];

	snprintf(name, sizeof(name), "%020lld", (long long)id);
	if (!state)
		json_object_del(live->states, name);
	else if (!json_put_text(live->states, name, state))
		live->failed = true;
}

static void live_note(void *data, const json_t *op)
{
	const char *name = json_string_value(json_object_get(op, "op"));
	bool over = json_is_integer(json_object_get(op, "ended_utc_ms"));

	if (name && strcmp(name, "ticket") == 0)
		live_set(data, json_integer_value(json_object_get(op, "id")),
			over ? NULL : json_string_value(json_object_get(op, "data")));
}

static bool live_from_db(struct store *store, struct live *live, struct err *err)
{
	sqlite3_stmt *stmt = db_prepare(
		store->db, "SELECT id, data FROM tickets WHERE ended_utc_ms IS NULL", err);
	int rc;

	if (!stmt)
		return false;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
		live_set(live, sqlite3_column_int64(stmt, 0), db_text(stmt, 1));
	if (rc != SQLITE_DONE)
		db_err(err, store->db, "the tickets cannot be read");
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE;
}

static bool ticket_of(struct store *store, const char *state, const struct moment *now,
	struct ticket *ret, struct err *err)
{
	json_t *value = json_read(state, strlen(state), err);
	bool good = value && wire_ticket_state_read(value, now, store->boot_id, ret, err);

	json_decref(value);
	return good;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool live_each(struct store *store, const struct live *live, const struct moment *now,
	void (*each)(void *data, const struct ticket *ticket), void *data, size_t *ret_unreadable,
	struct err *err)
{
	size_t n = json_object_size(live->states), i = 0;
	const char **names = calloc(n + 1, sizeof(*names));
	struct ticket *ticket = malloc(sizeof(*ticket));
	const char *name;
	json_t *state;

	if (names && ticket) {
		json_object_foreach(live->states, name, state)
		{
			names[i++] = name;
		}
		qsort(names, n, sizeof(*names), by_name);
		for (i = 0; i < n; i++) {
			state = json_object_get(live->states, names[i]);
			if (ticket_of(store, json_string_value(state), now, ticket, NULL))
				each(data, ticket);
			else
				(*ret_unreadable)++;
		}
	}
	free(names);
	free(ticket);
	return (names && ticket) || err_nomem(err);
}

bool store_tickets_live(struct store *store, const struct moment *now,
	void (*each)(void *data, const struct ticket *ticket), void *data, size_t *ret_unreadable,
	struct err *err)
{
	struct live live = {.states = json_object()};
	bool good = live.states || err_nomem(err);

	*ret_unreadable = 0;
	good = good && (!store->db || live_from_db(store, &live, err)) &&
		store_spill_each(store, live_note, &live, err);
	if (good && live.failed)
		good = err_nomem(err);
	good = good && live_each(store, &live, now, each, data, ret_unreadable, err);
	json_decref(live.states);
	return good;
}

bool store_tickets_ended(struct store *store, const struct moment *now, size_t limit,
	void (*each)(void *data, const struct ticket *ticket), void *data, struct err *err)
{
	struct ticket *ticket;
	sqlite3_stmt *stmt;
	int rc;

	if (!store_readable(store, err))
		return false;
	stmt = db_prepare(store->db,
		"SELECT data FROM tickets WHERE ended_utc_ms IS NOT NULL"
		" ORDER BY ended_utc_ms DESC LIMIT ?",
		err);
	if (!stmt)
		return false;
	ticket = malloc(sizeof(*ticket));
	if (!ticket) {
		sqlite3_finalize(stmt);
		return err_nomem(err);
	}
	sqlite3_bind_int64(stmt, 1, limit < STORE_PAGE_MAX ? (int64_t)limit : STORE_PAGE_MAX);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (ticket_of(store, db_text(stmt, 0), now, ticket, NULL))
			each(data, ticket);
	}
	if (rc != SQLITE_DONE)
		db_err(err, store->db, "the tickets cannot be read");
	sqlite3_finalize(stmt);
	free(ticket);
	return rc == SQLITE_DONE;
}

/* One text by one key into `ret`. */
static bool text_by(struct store *store, sqlite3_stmt *stmt, const char *what, const char *key,
	struct buf *ret, struct err *err)
{
	int rc = sqlite3_step(stmt);
	bool good = false;

	if (rc == SQLITE_ROW)
		good = buf_add(ret, db_text(stmt, 0), (size_t)sqlite3_column_bytes(stmt, 0)) ||
			err_nomem(err);
	else if (rc == SQLITE_DONE)
		err_set(err, ERR_NOTFOUND, "the record has no %s '%.100s'", what, key);
	else
		db_err(err, store->db, "the database cannot be read");
	sqlite3_finalize(stmt);
	return good;
}

bool store_memory(struct store *store, const char *nas, struct buf *ret, struct err *err)
{
	sqlite3_stmt *stmt;

	if (!store_readable(store, err))
		return false;
	stmt = db_prepare(store->db, "SELECT data FROM memory WHERE nas = ?", err);
	if (!stmt)
		return false;
	sqlite3_bind_text(stmt, 1, nas, -1, SQLITE_STATIC);
	return text_by(store, stmt, "memory of NAS", nas, ret, err);
}

bool store_policy_text(struct store *store, const char *hash, struct buf *ret, struct err *err)
{
	unsigned char key[CHAIN_HASH_LEN];
	sqlite3_stmt *stmt;

	if (!hash_from_hex(hash, key, sizeof(key)))
		return err_set(err, ERR_INVALID, "'%.80s' is not the hash of a policy", hash);
	if (!store_readable(store, err))
		return false;
	stmt = db_prepare(store->db, "SELECT text FROM policies WHERE hash = ?", err);
	if (!stmt)
		return false;
	sqlite3_bind_blob(stmt, 1, key, sizeof(key), SQLITE_TRANSIENT);
	return text_by(store, stmt, "policy", hash, ret, err);
}
