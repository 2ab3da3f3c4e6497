// SPDX-License-Identifier: MIT
/* From the spill back into the database, and from a failure back to work. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "store/inner.h"

#define CHECK_AT_HEAL_MS 100
#define HEAL_BUSY_MS 50
#define FRAMES_AT_ONCE 32

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

/* Adds the next frames that were not taken to `ops`, at most FRAMES_AT_ONCE. */
static bool gather(struct store *store, uint64_t taken, json_t *ops, size_t *offset,
	uint64_t *ret_seq, struct err *err)
{
	struct buf data = {.max = SPILL_BYTES_MAX};
	size_t n = 0;
	bool good = true;

	while (good && n < FRAMES_AT_ONCE && spill_read(store->spill, offset, &data, ret_seq)) {
		json_t *frame;

		if (*ret_seq <= taken)
			continue;
		frame = json_read(data.data, data.len, err);
		good = frame && (json_array_extend(ops, frame) == 0 || err_nomem(err));
		json_decref(frame);
		n++;
	}
	if (good && data.failed)
		good = err_nomem(err);
	buf_release(&data);
	return good;
}

/* One transaction's worth of frames. */
static bool take_some(struct store *store, uint64_t taken, uint64_t *ret_seq, struct err *err)
{
	size_t offset = store->taken_offset;
	json_t *ops = json_array();
	int64_t skipped = 0;
	bool good = ops || err_nomem(err);

	good = good && gather(store, taken, ops, &offset, ret_seq, err);
	if (good && *ret_seq <= taken) /* or this would go on for ever */
		good = err_sys(err, EIO, "the spill cannot be read after batch %llu",
			(unsigned long long)taken);
	good = good &&
		batch_commit(&store->rows, ops, spill_epoch(store->spill), *ret_seq, &skipped, err);
	json_decref(ops);
	if (!good)
		return false;
	store->taken_offset = offset;
	store->lost += skipped;
	if (store->rows.head_id >= store->next[ID_DECISION])
		store->next[ID_DECISION] = store->rows.head_id + 1;
	return true;
}

/* Takes frames in until the deadline; *ret_empty when none is left. */
bool store_take_in(struct store *store, int64_t until_boot_ms, bool *ret_empty, struct err *err)
{
	uint64_t taken = 0, last = spill_last(store->spill);

	*ret_empty = last == 0;
	if (*ret_empty)
		return true;
	if (!taken_read(store, &taken, err))
		return false;
	while (taken < last) {
		if (!take_some(store, taken, &taken, err))
			return false;
		if (taken < last && clock_boot_ms() >= until_boot_ms)
			return true;
	}
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
		store_in_place(store, err))
		return batch_head_read(&store->rows, err);
	return store_db_open(store, CHECK_AT_HEAL_MS, err) && store_ids_load(store, err);
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
	if (store->spill && !store_take_in(store, clock_boot_ms() + STORE_HEAL_MS, &empty, err))
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
		sqlite3_busy_timeout(store->db, store->busy_ms);
	if (!good && !(store->ok && why.kind == ERR_BUSY))
		store_broken(store, &why);
	if (!good && err)
		*err = why;
	return good;
}
