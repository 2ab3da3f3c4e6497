// SPDX-License-Identifier: MIT
/*
 * Decisions, read in pages.
 *
 * A page is collected in windows of ids, so that a filter that few rows pass costs many cheap looks
 * into an index and one that no index serves costs a known number of rows for each window: the time
 * that a page takes is bounded, and where it was cut the next one goes on exactly there.
 */
#include <string.h>

#include "base/clock.h"
#include "store/inner.h"

#define WINDOW 5000

#define COLUMNS                                                                                    \
	"d.id, d.time_utc_ms, d.ticket, d.guest, d.held_ms, d.override, d.step, d.client, "        \
	"d.phase, d.storage, d.node, d.nas, d.array, d.mode, d.verdict, d.would_be, d.act, "       \
	"d.rule, d.upid, d.job_id, o.by, o.reason, json_extract(d.decision, '$.reasons'), "        \
	"d.policy, d.hash"
#define FROM " FROM decisions d LEFT JOIN overrides o ON o.id = d.override"

struct hex_pair {
	char policy[STORE_HASH_TEXT], hash[STORE_HASH_TEXT];
};

static const char *hex_of(sqlite3_stmt *stmt, int column, char ret[STORE_HASH_TEXT])
{
	ret[0] = '\0';
	if (sqlite3_column_bytes(stmt, column) == CHAIN_HASH_LEN)
		hash_hex(sqlite3_column_blob(stmt, column), ret);
	return ret;
}

static void row_read(sqlite3_stmt *stmt, struct hex_pair *hex, struct store_row *ret)
{
	bool whole = sqlite3_column_count(stmt) > 25;

	ret->id = sqlite3_column_int64(stmt, 0);
	ret->time_utc_ms = sqlite3_column_int64(stmt, 1);
	ret->ticket = sqlite3_column_int64(stmt, 2);
	ret->guest = sqlite3_column_int64(stmt, 3);
	ret->held_ms = sqlite3_column_int64(stmt, 4);
	ret->override_id = sqlite3_column_int64(stmt, 5);
	ret->step = sqlite3_column_int(stmt, 6);
	ret->client = db_text(stmt, 7);
	ret->phase = db_text(stmt, 8);
	ret->storage = db_text(stmt, 9);
	ret->node = db_text(stmt, 10);
	ret->nas = db_text(stmt, 11);
	ret->array = db_text(stmt, 12);
	ret->mode = db_text(stmt, 13);
	ret->verdict = db_text(stmt, 14);
	ret->would_be = db_text(stmt, 15);
	ret->act = db_text(stmt, 16);
	ret->rule = db_text(stmt, 17);
	ret->upid = db_text(stmt, 18);
	ret->job_id = db_text(stmt, 19);
	ret->override_by = db_text(stmt, 20);
	ret->override_reason = db_text(stmt, 21);
	ret->reasons = db_text(stmt, 22);
	ret->policy_hash = hex_of(stmt, 23, hex->policy);
	ret->hash = hex_of(stmt, 24, hex->hash);
	ret->inputs = whole ? db_text(stmt, 25) : "";
	ret->decision = whole ? db_text(stmt, 26) : "";
}

/* ---- one page ---- */

struct page {
	sqlite3_stmt *stmt;
	bool ascending;
	int64_t lo, hi; /* ids that are left, both included */
	size_t left;    /* rows that still fit */
	store_row_fn each;
	void *data;
	int64_t last; /* id of the last row given */
	bool full;    /* another row is there, or the caller had enough */
};

static bool is_set(const char *text)
{
	return text && *text;
}

static bool where(const struct store_filter *filter, bool ascending, struct buf *sql)
{
	buf_adds(sql, "SELECT " COLUMNS FROM " WHERE d.id BETWEEN :lo AND :hi");
	if (filter->since_utc_ms.known)
		buf_adds(sql, " AND d.time_utc_ms >= :since");
	if (filter->until_utc_ms.known)
		buf_adds(sql, " AND d.time_utc_ms < :until");
	if (is_set(filter->storage))
		buf_adds(sql, " AND d.storage = :storage");
	if (is_set(filter->nas))
		buf_adds(sql, " AND d.nas = :nas");
	if (is_set(filter->node))
		buf_adds(sql, " AND d.node = :node");
	if (is_set(filter->rule))
		buf_adds(sql, " AND d.rule = :rule");
	if (filter->verdict)
		buf_adds(sql, " AND d.verdict = :verdict");
	if (filter->guest)
		buf_adds(sql, " AND d.guest = :guest");
	if (filter->ticket)
		buf_adds(sql, " AND d.ticket = :ticket");
	return buf_addf(sql, " ORDER BY d.id %s LIMIT :limit", ascending ? "ASC" : "DESC");
}

static void set_int(sqlite3_stmt *stmt, const char *name, int64_t value)
{
	int at = sqlite3_bind_parameter_index(stmt, name);

	if (at)
		sqlite3_bind_int64(stmt, at, value);
}

static void set_text(sqlite3_stmt *stmt, const char *name, const char *value)
{
	int at = sqlite3_bind_parameter_index(stmt, name);

	if (at)
		sqlite3_bind_text(stmt, at, value, -1, SQLITE_STATIC);
}

static void set_filter(sqlite3_stmt *stmt, const struct store_filter *filter)
{
	set_int(stmt, ":since", filter->since_utc_ms.v);
	set_int(stmt, ":until", filter->until_utc_ms.v);
	set_text(stmt, ":storage", filter->storage);
	set_text(stmt, ":nas", filter->nas);
	set_text(stmt, ":node", filter->node);
	set_text(stmt, ":rule", filter->rule);
	set_text(stmt, ":verdict", verdict_word(filter->verdict));
	set_int(stmt, ":guest", filter->guest);
	set_int(stmt, ":ticket", filter->ticket);
}

/* The ids that there are, and, where the filter names a time, of the hours that it touches: the
 * clock may have stepped, so ids need not rise with time. 0 and 0 where there are none. */
static bool bounds(struct store *store, const struct store_filter *filter, int64_t *ret_lo,
	int64_t *ret_hi, struct err *err)
{
	bool timed = filter->since_utc_ms.known || filter->until_utc_ms.known;
	sqlite3_stmt *stmt = db_prepare(store->db,
		timed ? "SELECT max(min(first_id), (SELECT min(id) FROM decisions)), max(last_id) "
			"FROM hours"
			" WHERE hour >= ? / 3600000 AND hour <= ? / 3600000"
		      : "SELECT (SELECT min(id) FROM decisions), (SELECT max(id) FROM decisions)",
		err);
	bool good;

	if (!stmt)
		return false;
	if (timed) {
		sqlite3_bind_int64(
			stmt, 1, filter->since_utc_ms.known ? filter->since_utc_ms.v : 0);
		sqlite3_bind_int64(
			stmt, 2, filter->until_utc_ms.known ? filter->until_utc_ms.v : INT64_MAX);
	}
	good = sqlite3_step(stmt) == SQLITE_ROW ||
		db_err(err, store->db, "the decisions cannot be read");
	*ret_lo = sqlite3_column_int64(stmt, 0);
	*ret_hi = sqlite3_column_int64(stmt, 1);
	sqlite3_finalize(stmt);
	return good;
}

/* All rows of the ids `lo` to `hi`, as many as fit. */
static bool window(struct store *store, struct page *page, int64_t lo, int64_t hi, struct err *err)
{
	struct store_row row;
	struct hex_pair hex;
	int rc;

	set_int(page->stmt, ":lo", lo);
	set_int(page->stmt, ":hi", hi);
	set_int(page->stmt, ":limit", (int64_t)page->left + 1);
	while ((rc = sqlite3_step(page->stmt)) == SQLITE_ROW) {
		if (!page->left) {
			page->full = true;
			break;
		}
		row_read(page->stmt, &hex, &row);
		page->last = row.id;
		page->left--;
		if (!page->each(page->data, &row)) {
			page->full = true;
			break;
		}
	}
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		db_err(err, store->db, "the decisions cannot be read");
	sqlite3_reset(page->stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE;
}

/* *ret_next as store_log() promises. */
static bool collect(struct store *store, struct page *page, int64_t deadline_boot_ms,
	int64_t *ret_next, struct err *err)
{
	int64_t lo, hi;

	*ret_next = 0;
	while (page->lo <= page->hi) {
		lo = page->ascending || page->hi - page->lo < WINDOW ? page->lo
								     : page->hi - WINDOW + 1;
		hi = page->ascending && page->hi - page->lo >= WINDOW ? page->lo + WINDOW - 1
								      : page->hi;
		if (!window(store, page, lo, hi, err))
			return false;
		if (page->full) {
			*ret_next = page->last;
			return true;
		}
		if (page->ascending)
			page->lo = hi + 1;
		else
			page->hi = lo - 1;
		if (page->lo <= page->hi && deadline_boot_ms &&
			clock_boot_ms() >= deadline_boot_ms) {
			*ret_next = page->ascending ? hi : lo;
			return true;
		}
	}
	return true;
}

static void page_bounds(struct page *page, const struct store_filter *filter)
{
	if (filter->before && filter->before <= page->hi)
		page->hi = filter->before - 1;
	if (filter->after.known && filter->after.v >= page->lo)
		page->lo = filter->after.v < INT64_MAX ? filter->after.v + 1 : INT64_MAX;
	if (filter->decision && filter->decision > page->lo)
		page->lo = filter->decision;
	if (filter->decision && filter->decision < page->hi)
		page->hi = filter->decision;
}

bool store_log(struct store *store, const struct store_filter *filter, int64_t budget_ms,
	store_row_fn each, void *data, int64_t *ret_next, struct err *err)
{
	struct page page = {.ascending = filter->after.known, .each = each, .data = data};
	int64_t deadline = budget_ms > 0 ? clock_boot_ms() + budget_ms : 0;
	struct buf sql = {0};
	bool good;

	page.left =
		filter->limit && filter->limit < STORE_PAGE_MAX ? filter->limit : STORE_PAGE_MAX;
	if (!store_readable(store, err) || !bounds(store, filter, &page.lo, &page.hi, err))
		return false;
	if (!page.hi) { /* no decision at all, or none of that time */
		*ret_next = 0;
		return true;
	}
	page_bounds(&page, filter);
	good = where(filter, page.ascending, &sql) || err_nomem(err);
	if (good)
		page.stmt = db_prepare(store->db, sql.data, err);
	buf_release(&sql);
	if (!page.stmt)
		return false;
	set_filter(page.stmt, filter);
	good = collect(store, &page, deadline, ret_next, err);
	sqlite3_finalize(page.stmt);
	return good;
}

/* ---- whole rows ---- */

static bool whole_rows(struct store *store, const char *sql, int64_t id, store_row_fn each,
	void *data, size_t *ret_n, struct err *err)
{
	struct store_row row;
	struct hex_pair hex;
	sqlite3_stmt *stmt;
	int rc;

	*ret_n = 0;
	if (!store_readable(store, err))
		return false;
	stmt = db_prepare(store->db, sql, err);
	if (!stmt)
		return false;
	sqlite3_bind_int64(stmt, 1, id);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		row_read(stmt, &hex, &row);
		(*ret_n)++;
		if (!each(data, &row))
			break;
	}
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		db_err(err, store->db, "the decisions cannot be read");
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE;
}

bool store_decision(struct store *store, int64_t id, store_row_fn each, void *data, struct err *err)
{
	size_t n = 0;

	if (!whole_rows(store, "SELECT " COLUMNS ", d.inputs, d.decision" FROM " WHERE d.id = ?",
		    id, each, data, &n, err))
		return false;
	if (!n)
		return err_set(err, ERR_NOTFOUND, "the record has no decision %lld", (long long)id);
	return true;
}

bool store_walk(struct store *store, int64_t after, store_row_fn each, void *data, struct err *err)
{
	size_t n = 0;

	return whole_rows(store,
		"SELECT " COLUMNS ", d.inputs, d.decision" FROM " WHERE d.id > ? ORDER BY d.id",
		after, each, data, &n, err);
}

static struct opt or_null(int64_t id)
{
	return id ? OPT(id) : OPT_NONE;
}

json_t *store_row_json(const struct store_row *row)
{
	json_t *object = json_object();

	if (object && json_put_int(object, "id", row->id) &&
		json_put_int(object, "time_utc_ms", row->time_utc_ms) &&
		json_put_opt(object, "ticket", or_null(row->ticket)) &&
		json_put_text(object, "client", row->client) &&
		json_put_text(object, "phase", row->phase) &&
		json_put_text(object, "storage", row->storage) &&
		json_put_text(object, "node", row->node) &&
		json_put_text(object, "nas", row->nas) &&
		json_put_text(object, "array", row->array) &&
		json_put_opt(object, "guest", or_null(row->guest)) &&
		json_put_text(object, "mode", row->mode) &&
		json_put_text(object, "verdict", row->verdict) &&
		json_put_text(object, "would_be", row->would_be) &&
		json_put_text(object, "act", row->act) && json_put_int(object, "step", row->step) &&
		json_put_text(object, "rule", row->rule) &&
		json_put(object, "reasons", json_read(row->reasons, strlen(row->reasons), NULL)) &&
		json_put_opt(object, "override", or_null(row->override_id)) &&
		json_put_text(object, "override_by", row->override_by) &&
		json_put_text(object, "override_reason", row->override_reason) &&
		json_put_int(object, "held_ms", row->held_ms) &&
		json_put_text(object, "policy_hash", row->policy_hash) &&
		json_put_text(object, "upid", row->upid) &&
		json_put_text(object, "job_id", row->job_id))
		return object;
	json_decref(object);
	return NULL;
}
