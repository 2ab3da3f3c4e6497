// SPDX-License-Identifier: MIT
/* Overrides: in the database for people, in memory for the decisions of this moment. */
#include <stdlib.h>
#include <string.h>

#include "store/inner.h"
#include "wire/wire.h"

static struct store_override *find(const struct store *store, int64_t id)
{
	size_t i;

	for (i = 0; i < store->n_overrides; i++) {
		if (store->overrides[i].override.id == id)
			return &store->overrides[i];
	}
	return NULL;
}

static bool in_force(const struct store_override *entry, int64_t utc_ms)
{
	return !entry->cancelled_utc_ms && utc_ms < entry->override.until_utc_ms;
}

/* Puts one into memory, in place of one that is over where there is no room; without room or memory
 * it is in the record only. */
static void keep(struct store *store, const struct store_override *entry)
{
	struct store_override *place = find(store, entry->override.id);
	size_t i;

	if (!store->overrides)
		store->overrides = calloc(OVERRIDE_MAX, sizeof(*store->overrides));
	if (!store->overrides)
		return;
	for (i = 0; !place && i < store->n_overrides; i++) {
		if (!in_force(&store->overrides[i], entry->override.created_utc_ms))
			place = &store->overrides[i];
	}
	if (!place && store->n_overrides < OVERRIDE_MAX)
		place = &store->overrides[store->n_overrides++];
	if (place)
		*place = *entry;
}

void store_overrides_note(struct store *store, const json_t *op)
{
	const char *name = json_string_value(json_object_get(op, "op"));
	struct store_override *known;
	struct store_override entry = {0};

	if (!name)
		return;
	if (strcmp(name, "override") == 0 && wire_override_read(op, &entry.override, NULL)) {
		keep(store, &entry);
	} else if (strcmp(name, "cancel") == 0) {
		known = find(store, json_integer_value(json_object_get(op, "id")));
		if (known)
			known->cancelled_utc_ms =
				json_integer_value(json_object_get(op, "time_utc_ms"));
	}
}

static bool room_for_one(const struct store *store, int64_t utc_ms)
{
	size_t i, n = 0;

	for (i = 0; i < store->n_overrides; i++)
		n += in_force(&store->overrides[i], utc_ms);
	return n < OVERRIDE_MAX;
}

bool store_override_add(struct store *store, struct override *override, struct err *err)
{
	json_t *op;

	if (!override->verdict)
		return err_set(err, ERR_INVALID, "an override needs a verdict");
	if (!*override->reason)
		return err_set(err, ERR_INVALID, "an override needs a reason");
	if (!*override->by)
		return err_set(err, ERR_INVALID, "an override needs somebody who made it");
	if (override->until_utc_ms <= override->created_utc_ms)
		return err_set(err, ERR_INVALID, "an override must end after it begins");
	if (!store->ids_known)
		return err_set(err, ERR_BUSY,
			"the record cannot be read, so that no override can be made now");
	if (!room_for_one(store, override->created_utc_ms))
		return err_set(err, ERR_LIMIT, "%d overrides are in force: cancel one first",
			OVERRIDE_MAX);
	override->id = store->next[ID_OVERRIDE];
	op = wire_override(override);
	if (!op || !json_put_text(op, "op", "override")) {
		json_decref(op);
		store->batch.failed = true;
		return err_nomem(err);
	}
	batch_add(&store->batch, op);
	store->next[ID_OVERRIDE]++;
	return true;
}

bool store_override_cancel(
	struct store *store, int64_t id, const char *by, int64_t utc_ms, struct err *err)
{
	const struct store_override *known = find(store, id);
	json_t *op;

	if (!known || !in_force(known, utc_ms))
		return err_set(err, ERR_NOTFOUND, "no override %lld is in force", (long long)id);
	if (!by || !*by)
		return err_set(err, ERR_INVALID, "a cancellation needs somebody who made it");
	op = batch_op("cancel");
	if (!op || !json_put_int(op, "id", id) || !json_put_int(op, "time_utc_ms", utc_ms) ||
		!json_put_text(op, "by", by)) {
		json_decref(op);
		store->batch.failed = true;
		return err_nomem(err);
	}
	batch_add(&store->batch, op);
	return true;
}

static int by_id(const void *a, const void *b)
{
	const struct override *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

size_t store_overrides(const struct store *store, int64_t utc_ms, struct override *ret, size_t max)
{
	size_t i, n = 0;

	for (i = 0; i < store->n_overrides && n < max; i++) {
		if (in_force(&store->overrides[i], utc_ms))
			ret[n++] = store->overrides[i].override;
	}
	if (n)
		qsort(ret, n, sizeof(*ret), by_id);
	return n;
}

static void copy(char *to, size_t size, const char *from)
{
	size_t len = strnlen(from, size - 1);

	memcpy(to, from, len);
	to[len] = '\0';
}

#define COLUMNS                                                                                    \
	"id, verdict, ticket, guest, storage, nas, node, created_utc_ms, until_utc_ms, by, "       \
	"reason, cancelled_utc_ms, cancelled_by"

static void row_read(sqlite3_stmt *stmt, struct store_override *ret)
{
	struct override *override = &ret->override;

	memset(ret, 0, sizeof(*ret));
	override->id = sqlite3_column_int64(stmt, 0);
	override->verdict = verdict_parse(db_text(stmt, 1));
	override->ticket = sqlite3_column_int64(stmt, 2);
	override->guest = (uint32_t)sqlite3_column_int64(stmt, 3);
	copy(override->storage, sizeof(override->storage), db_text(stmt, 4));
	copy(override->nas, sizeof(override->nas), db_text(stmt, 5));
	copy(override->node, sizeof(override->node), db_text(stmt, 6));
	override->created_utc_ms = sqlite3_column_int64(stmt, 7);
	override->until_utc_ms = sqlite3_column_int64(stmt, 8);
	copy(override->by, sizeof(override->by), db_text(stmt, 9));
	copy(override->reason, sizeof(override->reason), db_text(stmt, 10));
	ret->cancelled_utc_ms = sqlite3_column_int64(stmt, 11);
	copy(ret->cancelled_by, sizeof(ret->cancelled_by), db_text(stmt, 12));
}

static bool each_row(struct store *store, const char *sql, size_t limit,
	void (*each)(void *data, const struct store_override *override), void *data,
	struct err *err)
{
	struct store_override entry;
	sqlite3_stmt *stmt = db_prepare(store->db, sql, err);
	int rc;

	if (!stmt)
		return false;
	sqlite3_bind_int64(stmt, 1, (int64_t)limit);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		row_read(stmt, &entry);
		each(data, &entry);
	}
	if (rc != SQLITE_DONE)
		db_err(err, store->db, "the overrides cannot be read");
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE;
}

bool store_overrides_all(struct store *store, size_t limit,
	void (*each)(void *data, const struct store_override *override), void *data,
	struct err *err)
{
	return store_readable(store, err) &&
		each_row(store, "SELECT " COLUMNS " FROM overrides ORDER BY id DESC LIMIT ?", limit,
			each, data, err);
}

static void keep_one(void *data, const struct store_override *override)
{
	keep(data, override);
}

bool store_overrides_load(struct store *store, struct err *err)
{
	/* Those that end last are the ones that may still be in force. */
	return each_row(store,
		"SELECT " COLUMNS " FROM (SELECT * FROM overrides WHERE cancelled_utc_ms IS NULL"
		" ORDER BY until_utc_ms DESC LIMIT ?) ORDER BY id",
		OVERRIDE_MAX, keep_one, store, err);
}
