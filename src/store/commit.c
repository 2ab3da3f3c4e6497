// SPDX-License-Identifier: MIT
/* Where a batch goes: the database, else the spill, else nowhere. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/inner.h"

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
bool store_in_place(struct store *store, struct err *err)
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
		!store_take_in(store, clock_boot_ms() + STORE_HEAL_MS, &empty, err))
		return store_broken(store, err);
	if (!empty)
		return err_set(err, ERR_BUSY, "what was spilled before is still being taken in");
	if (store_in_place(store, err) &&
		batch_commit(&store->rows, store->batch.ops, NULL, 0, NULL, err))
		return true;
	return store_broken(store, err);
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
	store_ids_promise(store);
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
