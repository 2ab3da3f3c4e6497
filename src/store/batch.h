// SPDX-License-Identifier: MIT
/*
 * A batch: rows to be, as a list of JSON objects, each {"op": NAME, parameters...}.
 *
 * The same form is applied to the database, is written into the spill, and goes to the journal when
 * neither takes it. The statements of an operation name its parameters: `:name` binds by JSON type,
 * `@name` a hash from hex. Private to src/store.
 */
#ifndef RG_STORE_BATCH_H
#define RG_STORE_BATCH_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "core/chain.h"

struct batch {
	json_t *ops; /* a list; NULL until the first */
	bool failed; /* a row could not be made: the whole batch is lost */
};

/* Steals `op` (NULL: the batch fails). */
void batch_add(struct batch *batch, json_t *op);
void batch_clear(struct batch *batch);

/* A new operation to fill, or NULL. */
json_t *batch_op(const char *name);

#define BATCH_KINDS 16 /* of operations, at most */
#define BATCH_SQL 3    /* statements of one, at most */

/* The database as batches see it: prepared statements and the chain's head. */
struct batch_db {
	sqlite3 *db;
	sqlite3_stmt *statements[BATCH_SQL * BATCH_KINDS];
	int64_t head_id; /* 0 = no decision yet */
	unsigned char head[CHAIN_HASH_LEN];
	struct buf scratch;
};

/* Reads the head. */
bool batch_db_open(struct batch_db *rows, sqlite3 *db, struct err *err);
void batch_db_close(struct batch_db *rows);

/* Applies all of `ops` in the transaction that is open, and moves the head; on failure the caller
 * rolls back and reads the head again. `skip`: an operation that the database refuses (ERR_INVALID)
 * is left out and counted there; NULL: it is a failure. */
bool batch_apply(struct batch_db *rows, const json_t *ops, int64_t *skip, struct err *err);

bool batch_head_read(struct batch_db *rows, struct err *err);

/* One transaction: batch_apply(), and if `epoch` is not NULL the note that the spill's frame `seq`
 * was taken in. Rolled back on failure. */
bool batch_commit(struct batch_db *rows, const json_t *ops, const unsigned char *epoch,
	uint64_t seq, int64_t *skip, struct err *err);

/* The columns of a decision in the order of the chain, for a SELECT, and how many. */
#define BATCH_CHAIN_COLUMNS                                                                        \
	"id, time_utc_ms, ticket, client, phase, storage, node, nas, array, guest, mode, verdict," \
	" would_be, act, step, rule, held_ms, override, policy, upid, job_id, inputs, decision"
#define BATCH_CHAIN_N 23

/* The canonical fields of the row that `stmt` stands on, columns from `from`; numbers are written
 * into `digits`. */
void batch_row_fields(
	sqlite3_stmt *stmt, int from, size_t n, struct chain_field *ret, char (*digits)[24]);

#endif
