// SPDX-License-Identifier: MIT
#include "store/batch.h"

#include <stdio.h>
#include <string.h>

#include "store/db.h"
#include "store/hash.h"

struct op_kind {
	const char *name;
	const char *sql[BATCH_SQL]; /* all but the first may be NULL */
};

/* The first is the decision: its chain is made here, not by the caller. */
static const struct op_kind kinds[] = {
	{"decision",
		{"INSERT INTO decisions(" BATCH_CHAIN_COLUMNS ", prev, hash) VALUES("
		 ":id, :time_utc_ms, :ticket, :client, :phase, :storage, :node, :nas, :array,"
		 ":guest, :mode, :verdict, :would_be, :act, :step, :rule, :held_ms, :override,"
		 "@policy, :upid, :job_id, :inputs, :decision, @prev, @hash)",
			"INSERT INTO tally SELECT unit.column1, :time_utc_ms / unit.column1,"
			" kind.column1, kind.column2, 1 FROM (VALUES(3600000), (86400000)) AS unit,"
			" (VALUES('nas', :nas), ('storage', :storage), ('verdict', :verdict),"
			" ('rule', :rule)) AS kind WHERE kind.column2 IS NOT NULL"
			" ON CONFLICT DO UPDATE SET n = n + 1",
			"INSERT INTO hours VALUES(:time_utc_ms / 3600000, :id, :id) ON CONFLICT DO"
			" UPDATE SET first_id = min(first_id, excluded.first_id),"
			" last_id = max(last_id, excluded.last_id)"}},
	{"policy",
		{"INSERT INTO policies(hash, time_utc_ms, text)"
		 "VALUES(@hash, :time_utc_ms, :text) ON CONFLICT DO NOTHING",
			NULL}},
	{"ticket",
		{"INSERT INTO tickets VALUES(:id, :state, :client, :storage, :nas, :node, :guest,"
		 ":upid, :job_id, :act, :rule, :asked_utc_ms, :changed_utc_ms, :ended_utc_ms,"
		 ":held_ms, :data) ON CONFLICT DO UPDATE SET state = excluded.state,"
		 "nas = excluded.nas, node = excluded.node, guest = excluded.guest,"
		 "upid = excluded.upid, job_id = excluded.job_id, act = excluded.act,"
		 "rule = excluded.rule, changed_utc_ms = excluded.changed_utc_ms,"
		 "ended_utc_ms = excluded.ended_utc_ms, held_ms = excluded.held_ms,"
		 "data = excluded.data",
			NULL}},
	{"event",
		{"INSERT INTO ticket_events(ticket, time_utc_ms, before, after, why, held_ms)"
		 "VALUES(:ticket, :time_utc_ms, :before, :after, :why, :held_ms)",
			"INSERT INTO hold_tally SELECT unit.column1, :time_utc_ms / unit.column1, "
			"1,"
			" :held_ms, :held_ms FROM (VALUES(3600000), (86400000)) AS unit"
			" WHERE :before = 'held' AND :after <> 'held'"
			" ON CONFLICT DO UPDATE SET n = n + 1, held_ms = held_ms + "
			"excluded.held_ms,"
			" longest_ms = max(longest_ms, excluded.longest_ms)"}},
	{"guest",
		{"INSERT INTO guests VALUES(:ticket, :guest, :guest_type, :mode, :hostname, "
		 ":target,"
		 ":outcome, :began_utc_ms, :ended_utc_ms) ON CONFLICT DO UPDATE SET"
		 " guest_type = coalesce(excluded.guest_type, guest_type),"
		 " mode = coalesce(excluded.mode, mode),"
		 " hostname = coalesce(excluded.hostname, hostname),"
		 " target = coalesce(excluded.target, target),"
		 " outcome = coalesce(excluded.outcome, outcome),"
		 " began_utc_ms = coalesce(excluded.began_utc_ms, began_utc_ms),"
		 " ended_utc_ms = coalesce(excluded.ended_utc_ms, ended_utc_ms)",
			NULL}},
	{"override",
		{"INSERT INTO overrides(id, verdict, ticket, guest, storage, nas, node,"
		 "created_utc_ms, until_utc_ms, by, reason) VALUES(:id, :verdict, :ticket, :guest,"
		 ":storage, :nas, :node, :created_utc_ms, :until_utc_ms, :by, :reason)",
			NULL}},
	{"cancel",
		{"UPDATE overrides SET cancelled_utc_ms = :time_utc_ms, cancelled_by = :by"
		 " WHERE id = :id",
			NULL}},
	{"reading",
		{"INSERT INTO readings(time_utc_ms, nas, sensor, facts)"
		 "VALUES(:time_utc_ms, :nas, :sensor, :facts)",
			NULL}},
	{"memory",
		{"INSERT INTO memory VALUES(:nas, :time_utc_ms, :data) ON CONFLICT DO UPDATE SET"
		 " time_utc_ms = excluded.time_utc_ms, data = excluded.data",
			NULL}},
	{"lever",
		{"INSERT INTO lever_actions(time_utc_ms, ticket, lever, target, before, after,"
		 " why, put_back) VALUES(:time_utc_ms, :ticket, :lever, :target, :before,"
		 " :after, :why, coalesce(:put_back, 0))",
			NULL}},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))
_Static_assert(KINDS <= BATCH_KINDS, "room for the statements of each kind");

/* Names of the chain's columns, as the operation's members have them. */
static const char *const chain_members[BATCH_CHAIN_N] = {"id", "time_utc_ms", "ticket", "client",
	"phase", "storage", "node", "nas", "array", "guest", "mode", "verdict", "would_be", "act",
	"step", "rule", "held_ms", "override", "policy", "upid", "job_id", "inputs", "decision"};

json_t *batch_op(const char *name)
{
	json_t *op = json_object();

	if (op && json_put_text(op, "op", name))
		return op;
	json_decref(op);
	return NULL;
}

void batch_add(struct batch *batch, json_t *op)
{
	if (!batch->ops)
		batch->ops = json_array();
	if (!op || !batch->ops || json_array_append_new(batch->ops, op) != 0) {
		if (op && !batch->ops)
			json_decref(op);
		batch->failed = true;
	}
}

void batch_clear(struct batch *batch)
{
	json_decref(batch->ops);
	batch->ops = NULL;
	batch->failed = false;
}

bool batch_head_read(struct batch_db *rows, struct err *err)
{
	sqlite3_stmt *stmt = db_prepare(rows->db,
		"SELECT * FROM (SELECT id, hash FROM decisions ORDER BY id DESC LIMIT 1) UNION ALL "
		"SELECT * FROM (SELECT last_id, last_hash FROM segments ORDER BY id DESC LIMIT 1)",
		err);
	bool good = true;
	int rc;

	if (!stmt)
		return false;
	rows->head_id = 0;
	memset(rows->head, 0, sizeof(rows->head));
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW && sqlite3_column_bytes(stmt, 1) == CHAIN_HASH_LEN) {
		rows->head_id = sqlite3_column_int64(stmt, 0);
		memcpy(rows->head, sqlite3_column_blob(stmt, 1), CHAIN_HASH_LEN);
	} else if (rc == SQLITE_ROW) {
		good = err_set(err, ERR_CORRUPT, "the last decision has no hash");
	} else if (rc != SQLITE_DONE) {
		good = db_err(err, rows->db, "the database cannot be read");
	}
	sqlite3_finalize(stmt);
	return good;
}

bool batch_db_open(struct batch_db *rows, sqlite3 *db, struct err *err)
{
	rows->db = db;
	return batch_head_read(rows, err);
}

void batch_db_close(struct batch_db *rows)
{
	size_t i;

	for (i = 0; i < BATCH_SQL * KINDS; i++) {
		sqlite3_finalize(rows->statements[i]);
		rows->statements[i] = NULL;
	}
	buf_release(&rows->scratch);
	rows->db = NULL;
}

static bool bind_hash(sqlite3_stmt *stmt, int at, const char *hex)
{
	unsigned char hash[CHAIN_HASH_LEN];

	return hex && hash_from_hex(hex, hash, sizeof(hash)) &&
		sqlite3_bind_blob(stmt, at, hash, sizeof(hash), SQLITE_TRANSIENT) == SQLITE_OK;
}

static bool bind_value(sqlite3_stmt *stmt, int at, const json_t *value)
{
	int rc = SQLITE_OK;

	if (json_is_string(value))
		rc = sqlite3_bind_text(stmt, at, json_string_value(value),
			(int)json_string_length(value), SQLITE_STATIC);
	else if (json_is_integer(value))
		rc = sqlite3_bind_int64(stmt, at, json_integer_value(value));
	else
		rc = sqlite3_bind_null(stmt, at);
	return rc == SQLITE_OK;
}

static bool bind_all(sqlite3_stmt *stmt, const json_t *op)
{
	int i, n = sqlite3_bind_parameter_count(stmt);

	for (i = 1; i <= n; i++) {
		const char *name = sqlite3_bind_parameter_name(stmt, i);
		const json_t *value = name ? json_object_get(op, name + 1) : NULL;

		if (!name ||
			!(*name == '@' ? bind_hash(stmt, i, json_string_value(value))
				       : bind_value(stmt, i, value)))
			return false;
	}
	return true;
}

static bool run(
	struct batch_db *rows, size_t at, const char *sql, const json_t *op, struct err *err)
{
	sqlite3_stmt **stmt = &rows->statements[at];
	bool good;

	if (!*stmt)
		*stmt = db_prepare(rows->db, sql, err);
	if (!*stmt)
		return false;
	if (!bind_all(*stmt, op))
		good = err_set(
			err, ERR_INVALID, "a row of the batch has a value that does not fit");
	else
		good = sqlite3_step(*stmt) == SQLITE_DONE ||
			db_err(err, rows->db, "the database does not take a row");
	sqlite3_reset(*stmt);
	sqlite3_clear_bindings(*stmt);
	return good;
}

/* As batch_row_fields(), from the operation: what is bound is what is hashed. */
static bool op_fields(const json_t *op, struct chain_field *ret, char (*digits)[24],
	unsigned char policy[CHAIN_HASH_LEN])
{
	size_t i;

	for (i = 0; i < BATCH_CHAIN_N; i++) {
		const json_t *value = json_object_get(op, chain_members[i]);

		ret[i] = (struct chain_field){0};
		if (json_is_integer(value)) {
			ret[i].len = (size_t)snprintf(digits[i], sizeof(digits[i]), "%lld",
				(long long)json_integer_value(value));
			ret[i].data = digits[i];
		} else if (json_is_string(value) && strcmp(chain_members[i], "policy") == 0) {
			if (!hash_from_hex(json_string_value(value), policy, CHAIN_HASH_LEN))
				return false;
			ret[i].data = (const char *)policy;
			ret[i].len = CHAIN_HASH_LEN;
		} else if (json_is_string(value)) {
			ret[i].data = json_string_value(value);
			ret[i].len = json_string_length(value);
		}
	}
	return true;
}

void batch_row_fields(
	sqlite3_stmt *stmt, int from, size_t n, struct chain_field *ret, char (*digits)[24])
{
	size_t i;

	for (i = 0; i < n; i++) {
		int column = from + (int)i;

		ret[i] = (struct chain_field){0};
		switch (sqlite3_column_type(stmt, column)) {
		case SQLITE_INTEGER:
			ret[i].len = (size_t)snprintf(digits[i], sizeof(digits[i]), "%lld",
				(long long)sqlite3_column_int64(stmt, column));
			ret[i].data = digits[i];
			break;
		case SQLITE_NULL:
			break;
		case SQLITE_BLOB:
			ret[i].data = sqlite3_column_blob(stmt, column);
			ret[i].len = (size_t)sqlite3_column_bytes(stmt, column);
			break;
		default:
			ret[i].data = (const char *)sqlite3_column_text(stmt, column);
			ret[i].len = (size_t)sqlite3_column_bytes(stmt, column);
			break;
		}
		if (!ret[i].data && sqlite3_column_type(stmt, column) != SQLITE_NULL)
			ret[i].data = "";
	}
}

/* The row's place in the chain: an id after the head's, its predecessor's hash, its own. */
static bool link_row(
	struct batch_db *rows, json_t *op, unsigned char ret[CHAIN_HASH_LEN], struct err *err)
{
	unsigned char policy[CHAIN_HASH_LEN];
	struct chain_field fields[BATCH_CHAIN_N];
	char digits[BATCH_CHAIN_N][24], hex[2 * CHAIN_HASH_LEN + 1];

	if (json_integer_value(json_object_get(op, "id")) <= rows->head_id &&
		!json_put_int(op, "id", rows->head_id + 1))
		return err_nomem(err);
	if (!op_fields(op, fields, digits, policy))
		return err_set(err, ERR_INVALID, "a decision has no policy");
	if (!hash_row(rows->head, fields, BATCH_CHAIN_N, &rows->scratch, ret))
		return err_nomem(err);
	hash_hex(rows->head, hex);
	if (!json_put_text(op, "prev", hex))
		return err_nomem(err);
	hash_hex(ret, hex);
	return json_put_text(op, "hash", hex) || err_nomem(err);
}

static bool apply_one(struct batch_db *rows, json_t *op, struct err *err)
{
	const char *name = json_string_value(json_object_get(op, "op"));
	unsigned char hash[CHAIN_HASH_LEN];
	size_t i, k;

	for (i = 0; name && i < KINDS && strcmp(kinds[i].name, name) != 0; i++)
		;
	if (!name || i == KINDS)
		return err_set(err, ERR_INVALID, "a batch has an unknown row");
	if (i == 0 && !link_row(rows, op, hash, err))
		return false;
	for (k = 0; k < BATCH_SQL && kinds[i].sql[k]; k++) {
		if (!run(rows, BATCH_SQL * i + k, kinds[i].sql[k], op, err))
			return false;
	}
	if (i == 0) {
		rows->head_id = json_integer_value(json_object_get(op, "id"));
		memcpy(rows->head, hash, sizeof(hash));
	}
	return true;
}

bool batch_apply(struct batch_db *rows, const json_t *ops, int64_t *skip, struct err *err)
{
	struct err first = {0};
	size_t i;

	for (i = 0; i < json_array_size(ops); i++) {
		if (skip && !db_exec(rows->db, "SAVEPOINT row", err))
			return false;
		if (apply_one(rows, json_array_get(ops, i), &first)) {
			if (skip && !db_exec(rows->db, "RELEASE row", err))
				return false;
			continue;
		}
		if (!skip || first.kind != ERR_INVALID) {
			if (err)
				*err = first;
			return false;
		}
		if (!db_exec(rows->db, "ROLLBACK TO row; RELEASE row", err))
			return false;
		(*skip)++;
	}
	return true;
}

static bool note_taken(
	struct batch_db *rows, const unsigned char *epoch, uint64_t seq, struct err *err)
{
	sqlite3_stmt *stmt = db_prepare(
		rows->db, "UPDATE spill_taken SET epoch = ?, seq = ? WHERE one = 1", err);
	bool good;

	if (!stmt)
		return false;
	sqlite3_bind_blob(stmt, 1, epoch, 16, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 2, (int64_t)seq);
	good = sqlite3_step(stmt) == SQLITE_DONE ||
		db_err(err, rows->db, "the database does not take the note about the spill");
	sqlite3_finalize(stmt);
	return good;
}

bool batch_commit(struct batch_db *rows, const json_t *ops, const unsigned char *epoch,
	uint64_t seq, int64_t *skip, struct err *err)
{
	if (!db_exec(rows->db, "BEGIN IMMEDIATE", err))
		return false;
	if (batch_apply(rows, ops, skip, err) && (!epoch || note_taken(rows, epoch, seq, err)) &&
		db_exec(rows->db, "COMMIT", err))
		return true;
	if (!sqlite3_get_autocommit(rows->db))
		sqlite3_exec(rows->db, "ROLLBACK", NULL, NULL, NULL);
	batch_head_read(rows, NULL);
	return false;
}
