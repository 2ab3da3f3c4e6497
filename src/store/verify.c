// SPDX-License-Identifier: MIT
/* Whether the record is what was written: every link, from the first closed segment to the head. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "store/inner.h"
#include "store/schema.h"
#include "store/segment.h"

#define PROGRESS_ROWS 1000

struct walk {
	struct store *store;
	struct store_report *report;
	bool (*progress)(void *data, int64_t done, int64_t total);
	void *data;
	const unsigned char *anchor; /* NULL: none */
	int64_t total;

	/* The last closed segment. */
	int64_t seg_first, seg_last; /* 0 = none */
	unsigned char seg_first_prev[CHAIN_HASH_LEN], seg_last_hash[CHAIN_HASH_LEN];

	bool expect_known; /* false before the first row of a half-deleted segment */
	unsigned char expect[CHAIN_HASH_LEN];
	unsigned char policy[CHAIN_HASH_LEN]; /* the last one looked up */
	int64_t last_id;
	bool seg_end_met;
};

const char *store_fault_word(enum store_fault kind)
{
	static const char *const words[] = {[STORE_FAULT_ROW] = "row",
		[STORE_FAULT_LINK] = "link",
		[STORE_FAULT_SEGMENT] = "segment",
		[STORE_FAULT_POLICY] = "policy",
		[STORE_FAULT_HEAD] = "head",
		[STORE_FAULT_FILE] = "file"};

	return (size_t)kind < sizeof(words) / sizeof(words[0]) ? words[kind] : NULL;
}

static void fault(struct walk *walk, enum store_fault kind, int64_t id, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static void fault(struct walk *walk, enum store_fault kind, int64_t id, const char *fmt, ...)
{
	struct store_report *report = walk->report;
	struct store_finding *finding;
	va_list ap;

	report->faults++;
	if (report->n_findings == sizeof(report->findings) / sizeof(report->findings[0]))
		return;
	finding = &report->findings[report->n_findings++];
	finding->fault = kind;
	finding->id = id;
	va_start(ap, fmt);
	vsnprintf(finding->text, sizeof(finding->text), fmt, ap);
	va_end(ap);
}

/* A hash column, or 32 zeros where it is not one (the row then does not verify). */
static void hash_column(sqlite3_stmt *stmt, int column, unsigned char ret[CHAIN_HASH_LEN])
{
	memset(ret, 0, CHAIN_HASH_LEN);
	if (sqlite3_column_type(stmt, column) == SQLITE_BLOB &&
		sqlite3_column_bytes(stmt, column) == CHAIN_HASH_LEN)
		memcpy(ret, sqlite3_column_blob(stmt, column), CHAIN_HASH_LEN);
}

static bool equal(const unsigned char *a, const unsigned char *b)
{
	return memcmp(a, b, CHAIN_HASH_LEN) == 0;
}

static void anchor_at(struct walk *walk, const unsigned char *hash, int64_t id)
{
	if (walk->anchor && equal(walk->anchor, hash))
		walk->report->anchor_id = id;
}

/* ---- segments ---- */

static bool segment_row(
	struct walk *walk, sqlite3_stmt *stmt, unsigned char prev[CHAIN_HASH_LEN], struct err *err)
{
	struct chain_field fields[SEGMENT_N];
	char digits[SEGMENT_N][24];
	unsigned char has[CHAIN_HASH_LEN], want[CHAIN_HASH_LEN], row_prev[CHAIN_HASH_LEN];
	unsigned char first_prev[CHAIN_HASH_LEN];
	int64_t id = sqlite3_column_int64(stmt, 0);

	hash_column(stmt, 7, first_prev);
	hash_column(stmt, SEGMENT_N, row_prev);
	hash_column(stmt, SEGMENT_N + 1, has);
	segment_fields(stmt, fields, digits);
	if (!hash_row(row_prev, fields, SEGMENT_N, &walk->store->rows.scratch, want))
		return err_nomem(err);
	if (!equal(has, want))
		fault(walk, STORE_FAULT_SEGMENT, id, "segment %lld was changed", (long long)id);
	else if (!equal(row_prev, prev) || !equal(first_prev, walk->seg_last_hash) ||
		sqlite3_column_int64(stmt, 1) <= walk->seg_last)
		fault(walk, STORE_FAULT_SEGMENT, id,
			"segment %lld does not follow the one before it: one is missing or was "
			"moved",
			(long long)id);
	memcpy(prev, has, CHAIN_HASH_LEN);
	walk->seg_first = sqlite3_column_int64(stmt, 1);
	walk->seg_last = sqlite3_column_int64(stmt, 2);
	memcpy(walk->seg_first_prev, first_prev, CHAIN_HASH_LEN);
	hash_column(stmt, 8, walk->seg_last_hash);
	walk->report->pruned += sqlite3_column_int64(stmt, 3);
	walk->report->segments++;
	anchor_at(walk, walk->seg_last_hash, walk->seg_last);
	return true;
}

static bool segments(struct walk *walk, struct err *err)
{
	unsigned char prev[CHAIN_HASH_LEN] = {0};
	sqlite3_stmt *stmt = db_prepare(walk->store->db,
		"SELECT " SEGMENT_COLUMNS ", prev, hash FROM segments ORDER BY id", err);
	bool good = true;
	int rc = SQLITE_DONE;

	if (!stmt)
		return false;
	while (good && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
		good = segment_row(walk, stmt, prev, err);
	if (good && rc != SQLITE_DONE)
		good = db_err(err, walk->store->db, "the segments cannot be read");
	sqlite3_finalize(stmt);
	return good;
}

/* ---- decisions ---- */

static bool policy_known(
	struct walk *walk, const unsigned char *policy, int64_t id, struct err *err)
{
	sqlite3_stmt *stmt;
	int rc;

	if (equal(policy, walk->policy))
		return true;
	memcpy(walk->policy, policy, CHAIN_HASH_LEN);
	stmt = db_prepare(walk->store->db, "SELECT 1 FROM policies WHERE hash = ?", err);
	if (!stmt)
		return false;
	sqlite3_bind_blob(stmt, 1, policy, CHAIN_HASH_LEN, SQLITE_TRANSIENT);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_DONE)
		fault(walk, STORE_FAULT_POLICY, id,
			"the policy that decision %lld was made by is missing", (long long)id);
	else if (rc != SQLITE_ROW)
		db_err(err, walk->store->db, "the policies cannot be read");
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE || rc == SQLITE_ROW;
}

/* Where the chain goes on from, for the first row that is there. */
static void first_row(struct walk *walk, int64_t id)
{
	walk->expect_known = true;
	memcpy(walk->expect, walk->seg_last_hash, CHAIN_HASH_LEN);
	if (!walk->seg_last || id > walk->seg_last)
		return;
	/* A closed segment whose rows are being deleted, oldest first. */
	memcpy(walk->expect, walk->seg_first_prev, CHAIN_HASH_LEN);
	walk->expect_known = id <= walk->seg_first;
}

static void segment_end(struct walk *walk, const unsigned char *hash, int64_t id)
{
	if (id != walk->seg_last || !walk->seg_last)
		return;
	walk->seg_end_met = true;
	if (!equal(hash, walk->seg_last_hash))
		fault(walk, STORE_FAULT_SEGMENT, id,
			"decision %lld is not the end of the closed segment", (long long)id);
}

static void link_check(struct walk *walk, const unsigned char *prev, int64_t id)
{
	if (!walk->expect_known || equal(prev, walk->expect))
		return;
	if (walk->last_id)
		fault(walk, STORE_FAULT_LINK, id,
			"decision %lld does not follow decision %lld: a row is missing, was moved "
			"or "
			"was changed",
			(long long)id, (long long)walk->last_id);
	else
		fault(walk, STORE_FAULT_LINK, id,
			"what stood before decision %lld is missing or was changed", (long long)id);
}

static bool decision_row(struct walk *walk, sqlite3_stmt *stmt, struct err *err)
{
	struct chain_field fields[BATCH_CHAIN_N];
	char digits[BATCH_CHAIN_N][24];
	unsigned char prev[CHAIN_HASH_LEN], has[CHAIN_HASH_LEN], want[CHAIN_HASH_LEN];
	unsigned char policy[CHAIN_HASH_LEN];
	int64_t id = sqlite3_column_int64(stmt, 0);

	if (!walk->report->decisions)
		first_row(walk, id);
	else
		walk->report->unused += id - walk->last_id - 1;
	hash_column(stmt, BATCH_CHAIN_N, prev);
	hash_column(stmt, BATCH_CHAIN_N + 1, has);
	hash_column(stmt, 18, policy);
	batch_row_fields(stmt, 0, BATCH_CHAIN_N, fields, digits);
	if (!hash_row(prev, fields, BATCH_CHAIN_N, &walk->store->rows.scratch, want))
		return err_nomem(err);
	if (!equal(has, want))
		fault(walk, STORE_FAULT_ROW, id, "decision %lld was changed", (long long)id);
	link_check(walk, prev, id);
	segment_end(walk, has, id);
	walk->report->decisions++;
	walk->expect_known = true;
	memcpy(walk->expect, has, CHAIN_HASH_LEN);
	walk->last_id = id;
	anchor_at(walk, has, id);
	return policy_known(walk, policy, id, err);
}

static bool report_progress(struct walk *walk, struct err *err)
{
	if (!walk->progress || walk->report->decisions % PROGRESS_ROWS)
		return true;
	if (walk->progress(walk->data, walk->report->decisions, walk->total))
		return true;
	return err_set(err, ERR_TIMEOUT, "the verification was stopped");
}

static bool decisions(struct walk *walk, struct err *err)
{
	sqlite3_stmt *stmt = db_prepare(walk->store->db,
		"SELECT " BATCH_CHAIN_COLUMNS ", prev, hash FROM decisions ORDER BY id", err);
	bool good = true;
	int rc = SQLITE_DONE;

	if (!stmt)
		return false;
	while (good && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
		good = decision_row(walk, stmt, err) && report_progress(walk, err);
	if (good && rc != SQLITE_DONE)
		good = db_err(err, walk->store->db, "the decisions cannot be read");
	sqlite3_finalize(stmt);
	return good;
}

static void ends(struct walk *walk, bool leftover)
{
	struct store_report *report = walk->report;

	if (leftover && !walk->seg_end_met)
		fault(walk, STORE_FAULT_SEGMENT, walk->seg_last,
			"decision %lld, the end of the closed segment, is missing",
			(long long)walk->seg_last);
	report->head.id = walk->last_id ? walk->last_id : walk->seg_last;
	hash_hex(walk->last_id ? walk->expect : walk->seg_last_hash, report->head.hash);
	if (walk->anchor && !report->anchor_id)
		fault(walk, STORE_FAULT_HEAD, 0,
			"the head that was given is nowhere in the chain: the record was cut or "
			"written anew");
}

/* ---- the rest ---- */

static bool policies(struct walk *walk, struct err *err)
{
	sqlite3_stmt *stmt = db_prepare(walk->store->db, "SELECT hash, text FROM policies", err);
	unsigned char has[CHAIN_HASH_LEN], want[CHAIN_HASH_LEN];
	char hex[STORE_HASH_TEXT];
	int rc;

	if (!stmt)
		return false;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		hash_column(stmt, 0, has);
		hash_hex(has, hex);
		walk->report->policies++;
		if (!hash_bytes(db_text(stmt, 1), (size_t)sqlite3_column_bytes(stmt, 1), want) ||
			!equal(has, want))
			fault(walk, STORE_FAULT_POLICY, 0, "the text of policy %.12s was changed",
				hex);
	}
	if (rc != SQLITE_DONE)
		db_err(err, walk->store->db, "the policies cannot be read");
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE;
}

static bool triggers(struct walk *walk, struct err *err)
{
	sqlite3_stmt *stmt = db_prepare(walk->store->db,
		"SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND name = ?", err);
	size_t i;

	if (!stmt)
		return false;
	for (i = 0; schema_triggers[i]; i++) {
		sqlite3_bind_text(stmt, 1, schema_triggers[i], -1, SQLITE_STATIC);
		if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_int64(stmt, 0) == 0)
			fault(walk, STORE_FAULT_FILE, 0, "the trigger '%s' was removed",
				schema_triggers[i]);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	return true;
}

static bool whole_file(struct walk *walk, struct err *err)
{
	sqlite3_stmt *stmt = db_prepare(walk->store->db, "PRAGMA quick_check(10)", err);
	int rc;

	if (!stmt)
		return false;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (strcmp(db_text(stmt, 0), "ok") != 0)
			fault(walk, STORE_FAULT_FILE, 0, "SQLite: %.200s", db_text(stmt, 0));
	}
	if (rc != SQLITE_DONE)
		db_err(err, walk->store->db, "the database cannot be checked");
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE;
}

static bool all(struct walk *walk, struct err *err)
{
	int64_t leftover = 0;

	if (!db_int(walk->store->db, "SELECT max(id) - min(id) + 1 FROM decisions", 0, &walk->total,
		    err) ||
		!db_int(walk->store->db,
			"SELECT EXISTS (SELECT 1 FROM decisions WHERE id <="
			" (SELECT max(last_id) FROM segments))",
			0, &leftover, err) ||
		!segments(walk, err) || !decisions(walk, err))
		return false;
	ends(walk, leftover);
	return policies(walk, err) && triggers(walk, err) && whole_file(walk, err);
}

bool store_verify(struct store *store, const char *anchor,
	bool (*progress)(void *data, int64_t done, int64_t total), void *data,
	struct store_report *ret, struct err *err)
{
	struct walk walk = {.store = store, .report = ret, .progress = progress, .data = data};
	unsigned char head[CHAIN_HASH_LEN];
	bool good;

	memset(ret, 0, sizeof(*ret));
	if (anchor && !hash_from_hex(anchor, head, sizeof(head)))
		return err_set(err, ERR_INVALID,
			"'%.80s' is not a head: it has 64 hexadecimal digits", anchor);
	walk.anchor = anchor ? head : NULL;
	if (!store_readable(store, err) || !db_exec(store->db, "BEGIN", err))
		return false;
	good = all(&walk, err);
	sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return good;
}
