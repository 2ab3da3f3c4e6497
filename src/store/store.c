// SPDX-License-Identifier: MIT
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "store/inner.h"
#include "store/schema.h"

#define CHECK_AT_OPEN_MS 2000
#define CHECK_AT_HEAL_MS 100
#define HEAL_MS 200
#define HEAL_BUSY_MS 50
#define MARK_STEP 1000 /* ids are promised to the spill's marks in steps of so many */

static void db_drop(struct store *store)
{
	batch_db_close(&store->rows);
	sqlite3_close(store->db);
	store->db = NULL;
}

/* Not ok from now on, for this reason. Returns false. */
static bool broken(struct store *store, const struct err *why)
{
	struct stat st;

	store->ok = false;
	store->policy_recorded = false;
	store->why = *why;
	if (why->kind == ERR_CORRUPT && stat(store->path, &st) == 0) {
		store->damaged = true;
		store->dev = st.st_dev;
		store->ino = st.st_ino;
	}
	return false;
}

static bool db_open(struct store *store, int64_t check_ms, struct err *err)
{
	int64_t version = 0;

	db_drop(store);
	store->policy_recorded = false;
	if (!db_open_writer(store->path, &store->db, err))
		return false;
	if (schema_check(store->db, store->path, schema_n_steps, &version, err) &&
		db_quick_check(store->db, check_ms, err) &&
		schema_migrate(store->db, store->path, schema_steps, schema_n_steps, err) &&
		batch_db_open(&store->rows, store->db, err)) {
		db_lock_down(store->db);
		return true;
	}
	db_drop(store);
	return false;
}

/* ---- the spill ---- */

static bool taken_read(struct store *store, uint64_t *ret_seq, struct err *err)
{
	sqlite3_stmt *stmt = db_prepare(store->db, "SELECT epoch, seq FROM spill_taken", err);
	bool good;

	if (!stmt)
		return false;
	*ret_seq = 0;
	good = sqlite3_step(stmt) == SQLITE_ROW ||
		db_err(err, store->db, "the note about the spill cannot be read");
	if (good && sqlite3_column_bytes(stmt, 0) == SPILL_EPOCH_LEN &&
		memcmp(sqlite3_column_blob(stmt, 0), spill_epoch(store->spill), SPILL_EPOCH_LEN) ==
			0)
		*ret_seq = (uint64_t)sqlite3_column_int64(stmt, 1);
	sqlite3_finalize(stmt);
	return good;
}

static bool take_frame(struct store *store, const struct buf *data, uint64_t seq, struct err *err)
{
	int64_t skipped = 0;
	json_t *ops = json_read(data->data, data->len, err);
	bool good;

	if (!ops)
		return err_prefix(err, "batch %llu of the spill", (unsigned long long)seq);
	good = batch_commit(&store->rows, ops, spill_epoch(store->spill), seq, &skipped, err);
	json_decref(ops);
	if (good && skipped)
		store->lost += skipped;
	return good;
}

/* Takes frames in until the deadline; *ret_empty when none is left. */
static bool take_in(struct store *store, int64_t until_boot_ms, bool *ret_empty, struct err *err)
{
	struct buf data = {.max = SPILL_BYTES_MAX};
	uint64_t taken = 0, seq = 0;
	size_t offset = store->taken_offset;
	bool good = true, more = true;

	*ret_empty = !spill_count(store->spill);
	if (*ret_empty)
		return true;
	if (!taken_read(store, &taken, err))
		return false;
	while (good && (more = spill_read(store->spill, &offset, &data, &seq))) {
		good = seq <= taken || take_frame(store, &data, seq, err);
		if (good)
			store->taken_offset = offset;
		if (clock_boot_ms() >= until_boot_ms)
			break;
	}
	if (good && data.failed)
		good = err_nomem(err);
	buf_release(&data);
	if (!good)
		return false;
	if (more && seq < spill_last(store->spill))
		return true;
	store->taken_offset = 0;
	*ret_empty = spill_reset(store->spill, err);
	return *ret_empty;
}

bool store_spill_each(struct store *store, void (*each)(void *data, const json_t *op), void *data,
	struct err *err)
{
	struct buf text = {.max = SPILL_BYTES_MAX};
	size_t offset = store->taken_offset, i;
	uint64_t seq = 0;

	while (store->spill && spill_read(store->spill, &offset, &text, &seq)) {
		json_t *ops = json_read(text.data, text.len, err);

		if (!ops) {
			buf_release(&text);
			return false;
		}
		for (i = 0; i < json_array_size(ops); i++)
			each(data, json_array_get(ops, i));
		json_decref(ops);
	}
	buf_release(&text);
	return true;
}

static void spill_try(struct store *store, const struct store_options *options, struct err *err)
{
	size_t bytes = options->spill_bytes ? options->spill_bytes : STORE_SPILL_BYTES;
	const char *given = options->spill;
	char path[4096];

	snprintf(path, sizeof(path), "%s%s", given && *given ? given : options->path,
		given && *given ? "" : "-spill");
	if (!spill_open(path, bytes, &store->spill, err))
		store->spill_why = *err;
}

/* ---- open, close ---- */

static bool store_make(
	const char *path, const char *boot_id, bool reader, struct store **ret, struct err *err)
{
	struct store *store = calloc(1, sizeof(*store));

	if (!store)
		return err_nomem(err);
	store->reader = reader;
	store->path = strdup(path);
	store->boot_id = strdup(boot_id ? boot_id : "");
	if (!store->path || !store->boot_id) {
		store_close(store);
		return err_nomem(err);
	}
	*ret = store;
	return true;
}

/* A person must act before the daemon may run. */
static bool fatal(const struct err *why)
{
	return why->kind == ERR_INVALID || why->kind == ERR_NOMEM;
}

bool store_open(const struct store_options *options, struct store **ret, struct err *err)
{
	struct store *store = NULL;
	struct err why = {0};
	bool empty = false, good;

	if (!store_make(options->path, options->boot_id, false, &store, err))
		return false;
	spill_try(store, options, &why);
	good = store->spill || !(fatal(&why) || why.kind == ERR_BUSY);
	if (good) {
		store->ok = db_open(store, CHECK_AT_OPEN_MS, &why) &&
			(!store->spill || take_in(store, INT64_MAX, &empty, &why));
		if (!store->ok)
			broken(store, &why);
		good = store->ok || !fatal(&why);
	}
	if (good)
		good = store_load(store, &why);
	if (!good) {
		store_close(store);
		if (err)
			*err = why;
		return false;
	}
	*ret = store;
	return true;
}

bool store_open_reader(const char *path, struct store **ret, struct err *err)
{
	struct store *store = NULL;
	int64_t version = 0;

	if (!store_make(path, NULL, true, &store, err))
		return false;
	if (db_open_reader(path, &store->db, err) &&
		schema_check(store->db, path, schema_n_steps, &version, err) &&
		(version == (int64_t)schema_n_steps ||
			err_set(err, ERR_INVALID,
				"'%.300s' has an older schema: start rebuildgated once to bring it "
				"up to date",
				path)) &&
		batch_db_open(&store->rows, store->db, err)) {
		store->ok = true;
		*ret = store;
		return true;
	}
	store_close(store);
	return false;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	batch_clear(&store->batch);
	db_drop(store);
	spill_close(store->spill);
	json_decref(store->policy);
	free(store->overrides);
	free(store->path);
	free(store->boot_id);
	free(store);
}

/* ---- ids ---- */

static void raise_id(struct store *store, enum store_id id, int64_t seen)
{
	if (seen >= store->next[id] && seen < INT64_MAX)
		store->next[id] = seen + 1;
}

static void ids_note(void *data, const json_t *op)
{
	struct store *store = data;
	const char *name = json_string_value(json_object_get(op, "op"));
	int64_t id = json_integer_value(json_object_get(op, "id"));

	if (!name)
		return;
	if (strcmp(name, "decision") == 0)
		raise_id(store, ID_DECISION, id);
	else if (strcmp(name, "ticket") == 0)
		raise_id(store, ID_TICKET, id);
	else if (strcmp(name, "override") == 0)
		raise_id(store, ID_OVERRIDE, id);
	store_overrides_note(store, op);
}

static bool ids_from_db(struct store *store, struct err *err)
{
	int64_t ticket = 0, override = 0;

	if (!db_int(store->db,
		    "SELECT max(coalesce((SELECT max(id) FROM tickets), 0),"
		    "coalesce((SELECT max(ticket) FROM ticket_events), 0))",
		    0, &ticket, err) ||
		!db_int(store->db, "SELECT max(id) FROM overrides", 0, &override, err))
		return false;
	raise_id(store, ID_DECISION, store->rows.head_id);
	raise_id(store, ID_TICKET, ticket);
	raise_id(store, ID_OVERRIDE, override);
	store->ids_known = true;
	return store_overrides_load(store, err);
}

/* Marks are promises made before: without a database no id below them is given again. */
static void ids_from_marks(struct store *store)
{
	size_t i;

	if (!store->spill || spill_is_new(store->spill))
		return;
	for (i = 0; i < ID_COUNT; i++)
		raise_id(store, (enum store_id)i, spill_mark(store->spill, i));
	store->ids_known = true;
}

static void ids_promise(struct store *store)
{
	size_t i;

	if (!store->spill || !store->ids_known)
		return;
	for (i = 0; i < ID_COUNT; i++) {
		if (store->next[i] + MARK_STEP / 2 > spill_mark(store->spill, i))
			spill_set_mark(store->spill, i, store->next[i] + MARK_STEP, NULL);
	}
}

bool store_load(struct store *store, struct err *err)
{
	struct err why = {0};
	size_t i;

	for (i = 0; i < ID_COUNT; i++)
		store->next[i] = 1;
	if (store->db && !ids_from_db(store, &why)) {
		if (why.kind == ERR_NOMEM) {
			*err = why;
			return false;
		}
		broken(store, &why);
	}
	if (!store->ids_known)
		ids_from_marks(store);
	if (!store_spill_each(store, ids_note, store, err))
		return false;
	ids_promise(store);
	memcpy(store->next_before, store->next, sizeof(store->next));
	return true;
}

/* ---- commit ---- */

void store_begin(struct store *store)
{
	if (store->batch.ops)
		store->policy_recorded = false; /* it may have been among what is dropped */
	batch_clear(&store->batch);
	memcpy(store->next_before, store->next, sizeof(store->next));
}

void store_rollback(struct store *store)
{
	memcpy(store->next, store->next_before, sizeof(store->next));
	store_begin(store);
}

/* Somebody moved or removed the file: rows would go where nobody finds them. */
static bool in_place(struct store *store, struct err *err)
{
	int moved = 0;

	if (sqlite3_file_control(store->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
		moved)
		return err_set(err, ERR_GONE, "the database '%.300s' was removed or replaced",
			store->path);
	return true;
}

static bool commit_db(struct store *store, struct err *err)
{
	bool empty = true;

	if (!store->ok) {
		if (err)
			*err = store->why;
		return false;
	}
	if (store->spill && spill_count(store->spill) &&
		!take_in(store, clock_boot_ms() + HEAL_MS, &empty, err))
		return broken(store, err);
	if (!empty)
		return err_set(err, ERR_BUSY, "what was spilled before is still being taken in");
	if (in_place(store, err) &&
		batch_commit(&store->rows, store->batch.ops, NULL, 0, NULL, err))
		return true;
	return broken(store, err);
}

static bool commit_spill(struct store *store, struct err *err)
{
	char *text;
	bool good;

	if (!store->spill) {
		if (err)
			*err = store->spill_why;
		return false;
	}
	text = json_text(store->batch.ops, 0);
	good = text ? spill_append(store->spill, text, strlen(text), err) : err_nomem(err);
	free(text);
	return good;
}

static void committed(struct store *store)
{
	size_t i;

	for (i = 0; i < json_array_size(store->batch.ops); i++)
		store_overrides_note(store, json_array_get(store->batch.ops, i));
	batch_clear(&store->batch);
	ids_promise(store);
}

enum store_where store_commit(struct store *store, struct err *err)
{
	struct err why = {0}, also = {0};
	enum store_where where = STORE_LOST;

	if (store->batch.failed)
		err_nomem(&why);
	else if (!store->batch.ops)
		return STORE_RECORDED;
	else if (commit_db(store, &why))
		where = STORE_RECORDED;
	else if (commit_spill(store, &also))
		where = STORE_SPILLED;
	if (where != STORE_LOST) {
		committed(store);
	} else {
		store->lost++;
		store->policy_recorded = false;
		if (also.kind)
			err_prefix(&why, "%.220s; and", also.text);
	}
	if (err && where != STORE_RECORDED)
		*err = why;
	return where;
}

void store_lost_each(struct store *store, void (*line)(void *data, const char *json), void *data)
{
	size_t i;

	for (i = 0; i < json_array_size(store->batch.ops); i++) {
		char *text = json_text(json_array_get(store->batch.ops, i), 0);

		if (text)
			line(data, text);
		free(text);
	}
}

/* ---- health ---- */

void store_health(const struct store *store, struct store_health *ret)
{
	*ret = (struct store_health){.ok = store->ok, .lost = store->lost};
	if (!store->ok)
		ret->why = store->why;
	if (store->spill)
		ret->spilled = spill_count(store->spill);
	else
		ret->spill = store->spill_why;
}

static bool same_damaged_file(const struct store *store)
{
	struct stat st;

	return store->damaged && stat(store->path, &st) == 0 && st.st_dev == store->dev &&
		st.st_ino == store->ino;
}

/* A full disk and a lock pass by themselves; everything else needs a new connection. */
static bool reopen(struct store *store, struct err *err)
{
	if (same_damaged_file(store)) {
		*err = store->why;
		return false;
	}
	store->damaged = false;
	if (store->db && (store->why.kind == ERR_BUSY || store->why.sys == ENOSPC) &&
		in_place(store, err))
		return batch_head_read(&store->rows, err);
	return db_open(store, CHECK_AT_HEAL_MS, err) && ids_from_db(store, err);
}

/* Whether a transaction can be written at all. */
static bool writes(struct store *store, struct err *err)
{
	if (db_exec(store->db,
		    "BEGIN IMMEDIATE; UPDATE spill_taken SET seq = seq WHERE one = 1; COMMIT", err))
		return true;
	if (!sqlite3_get_autocommit(store->db))
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return false;
}

static bool heal(struct store *store, struct err *err)
{
	bool empty = true;

	if (!store->ok && !reopen(store, err))
		return false;
	sqlite3_busy_timeout(store->db, HEAL_BUSY_MS);
	if (store->spill && !take_in(store, clock_boot_ms() + HEAL_MS, &empty, err))
		return false;
	if (!store->ok && !writes(store, err))
		return false;
	store->ok = true;
	if (!empty)
		err_set(err, ERR_BUSY, "%lld batches still wait in the spill",
			(long long)spill_count(store->spill));
	return empty;
}

bool store_heal(struct store *store, struct err *err)
{
	struct err why = {0};
	bool good;

	if (store->ok && (!store->spill || !spill_count(store->spill)))
		return true;
	good = heal(store, &why);
	if (store->db)
		sqlite3_busy_timeout(store->db, DB_BUSY_MS);
	if (!good && !(store->ok && why.kind == ERR_BUSY))
		broken(store, &why);
	if (!good && err)
		*err = why;
	return good;
}

bool store_readable(const struct store *store, struct err *err)
{
	if (store->db)
		return true;
	if (err)
		*err = store->why;
	return false;
}

void store_head(const struct store *store, struct store_head *ret)
{
	ret->id = store->rows.head_id;
	hash_hex(store->rows.head, ret->hash);
}

int64_t store_next_ticket(const struct store *store)
{
	return store->next[ID_TICKET];
}
