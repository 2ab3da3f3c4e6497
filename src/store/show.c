// SPDX-License-Identifier: MIT
/* Decisions as the API shows them: the daemon and whoever reads the database say the same. */
#include <stdio.h>
#include <string.h>

#include "store/inner.h"

static bool add_row(void *data, const struct store_row *row)
{
	return json_array_append_new(data, store_row_json(row)) == 0;
}

bool store_log_json(struct store *store, const struct store_filter *filter, int64_t budget_ms,
	json_t **ret, struct err *err)
{
	json_t *list = json_array(), *object = NULL;
	int64_t next = 0;

	if (!list)
		return err_nomem(err);
	if (!store_log(store, filter, budget_ms, add_row, list, &next, err)) {
		json_decref(list);
		return false;
	}
	object = json_object();
	if (!object) {
		json_decref(list);
		return err_nomem(err);
	}
	if (!json_put(object, "decisions", list) ||
		!json_put_opt(object, "next", next ? OPT(next) : OPT_NONE)) {
		json_decref(object);
		return err_nomem(err);
	}
	*ret = object;
	return true;
}

/* Puts the JSON text `text` in as a value: null where it is empty or none. */
static bool put_value(json_t *object, const char *name, const char *text)
{
	json_t *value = *text ? json_read(text, strlen(text), NULL) : NULL;

	return json_put(object, name, value ? value : json_null());
}

struct whole {
	json_t *object;
	char policy_hash[STORE_HASH_TEXT];
};

static bool take_whole(void *data, const struct store_row *row)
{
	struct whole *whole = data;

	whole->object = store_row_json(row);
	if (!whole->object || !put_value(whole->object, "inputs", row->inputs) ||
		!put_value(whole->object, "decision", row->decision) ||
		!json_put_text(whole->object, "hash", row->hash)) {
		json_decref(whole->object);
		whole->object = NULL;
	}
	snprintf(whole->policy_hash, sizeof(whole->policy_hash), "%s", row->policy_hash);
	return true;
}

/* Who let the decision's job go, and why: the decision itself only says that somebody did. Null
 * where nobody did, or where the ticket has been let go by retention. */
static bool put_release(struct store *store, json_t *object, struct err *err)
{
	sqlite3_stmt *stmt = db_prepare(store->db, "SELECT data FROM tickets WHERE id = ?", err);
	const char *by = NULL, *reason = NULL, *text;
	json_t *ticket = NULL;
	bool done;

	if (!stmt)
		return false;
	sqlite3_bind_int64(stmt, 1, json_integer_value(json_object_get(object, "ticket")));
	if (sqlite3_step(stmt) == SQLITE_ROW) {
		text = db_text(stmt, 0);
		ticket = json_read(text, strlen(text), NULL);
	}
	json_may_text(ticket, "release_by", &by, NULL);
	json_may_text(ticket, "release_reason", &reason, NULL);
	done = (json_put_text(object, "released_by", by) &&
		       json_put_text(object, "release_reason", reason)) ||
		err_nomem(err);
	json_decref(ticket);
	sqlite3_finalize(stmt);
	return done;
}

bool store_decision_json(struct store *store, int64_t id, json_t **ret, struct err *err)
{
	struct whole whole = {0};
	struct buf text = {0};
	bool done = false, known;

	if (!store_decision(store, id, take_whole, &whole, err))
		goto out;
	known = store_policy_text(store, whole.policy_hash, &text, NULL);
	if (!whole.object ||
		!json_put_text(whole.object, "policy_text", known ? buf_str(&text) : NULL)) {
		err_nomem(err);
		goto out;
	}
	if (!put_release(store, whole.object, err))
		goto out;
	*ret = whole.object;
	whole.object = NULL;
	done = true;
out:
	json_decref(whole.object);
	buf_release(&text);
	return done;
}
