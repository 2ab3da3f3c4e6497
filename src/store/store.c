// SPDX-License-Identifier: MIT
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/inner.h"
#include "store/schema.h"

#define CHECK_AT_OPEN_MS 2000
#define MARK_STEP 1000 /* ids are promised to the spill's marks in steps of so many */

void store_db_drop(struct store *store)
{
	batch_db_close(&store->rows);
	sqlite3_close(store->db);
	store->db = NULL;
}

/* Not ok from now on, for this reason. Returns false. */
bool store_broken(struct store *store, const struct err *why)
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

bool store_db_open(struct store *store, int64_t check_ms, struct err *err)
{
	int64_t version = 0;

	store_db_drop(store);
	store->policy_recorded = false;
	if (!db_open_writer(store->path, &store->db, err))
		return false;
	sqlite3_busy_timeout(store->db, store->busy_ms);
	if (schema_check(store->db, store->path, schema_n_steps, &version, err) &&
		db_quick_check(store->db, check_ms, err) &&
		schema_migrate(store->db, store->path, schema_steps, schema_n_steps, err) &&
		batch_db_open(&store->rows, store->db, err)) {
		db_lock_down(store->db);
		return true;
	}
	store_db_drop(store);
	return false;
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

bool store_ids_load(struct store *store, struct err *err)
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

void store_ids_promise(struct store *store)
{
	size_t i;

	if (!store->spill || !store->ids_known)
		return;
	for (i = 0; i < ID_COUNT; i++) {
		if (store->next[i] + MARK_STEP / 2 > spill_mark(store->spill, i))
			spill_set_mark(store->spill, i, store->next[i] + MARK_STEP, NULL);
	}
}

static bool store_load(struct store *store, struct err *err)
{
	struct err why = {0};
	size_t i;

	for (i = 0; i < ID_COUNT; i++)
		store->next[i] = 1;
	if (store->db && !store_ids_load(store, &why)) {
		if (why.kind == ERR_NOMEM) {
			*err = why;
			return false;
		}
		store_broken(store, &why);
	}
	if (!store->ids_known)
		ids_from_marks(store);
	if (!store_spill_each(store, ids_note, store, err))
		return false;
	store_ids_promise(store);
	memcpy(store->next_before, store->next, sizeof(store->next));
	return true;
}

/* ---- open, close ---- */

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

static bool store_make(const char *path, const char *boot_id, struct store **ret, struct err *err)
{
	struct store *store = calloc(1, sizeof(*store));

	if (!store)
		return err_nomem(err);
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

	if (!store_make(options->path, options->boot_id, &store, err))
		return false;
	store->busy_ms = options->busy_ms > 0 ? options->busy_ms : DB_BUSY_MS;
	spill_try(store, options, &why);
	good = store->spill || !(fatal(&why) || why.kind == ERR_BUSY);
	if (good) {
		store->ok = store_db_open(store, CHECK_AT_OPEN_MS, &why) &&
			(!store->spill || store_take_in(store, INT64_MAX, &empty, &why));
		if (!store->ok)
			store_broken(store, &why);
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

	if (!store_make(path, NULL, &store, err))
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
	store_db_drop(store);
	spill_close(store->spill);
	json_decref(store->policy);
	free(store->overrides);
	free(store->path);
	free(store->boot_id);
	free(store);
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
