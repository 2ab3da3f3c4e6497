// SPDX-License-Identifier: MIT
#include "store/schema.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/db.h"

/* Points in time are UTC ms. Texts that are not known are NULL. Hashes are SHA-256, 32 bytes.
 * Tables use no JSON functions: with trusted_schema off SQLite 3.40 (Debian 12) calls them unsafe
 * there. Views may: they are for people with the sqlite3 shell. */
static const char step_1_record[] =
	"CREATE TABLE policies("
	"  hash BLOB NOT NULL PRIMARY KEY CHECK(length(hash) = 32),"
	"  time_utc_ms INTEGER NOT NULL,"
	"  text TEXT NOT NULL) STRICT;"

	"CREATE TABLE segments("
	"  id INTEGER PRIMARY KEY,"
	"  first_id INTEGER NOT NULL, last_id INTEGER NOT NULL CHECK(last_id >= first_id),"
	"  rows INTEGER NOT NULL CHECK(rows > 0),"
	"  first_utc_ms INTEGER NOT NULL, last_utc_ms INTEGER NOT NULL,"
	"  closed_utc_ms INTEGER NOT NULL,"
	"  first_prev BLOB NOT NULL CHECK(length(first_prev) = 32),"
	"  last_hash BLOB NOT NULL CHECK(length(last_hash) = 32),"
	"  prev BLOB NOT NULL CHECK(length(prev) = 32),"
	"  hash BLOB NOT NULL CHECK(length(hash) = 32)) STRICT;"

	"CREATE TABLE decisions("
	"  id INTEGER PRIMARY KEY,"
	"  time_utc_ms INTEGER NOT NULL,"
	"  ticket INTEGER,"
	"  client TEXT, phase TEXT, storage TEXT, node TEXT, nas TEXT, array TEXT,"
	"  guest INTEGER, mode TEXT,"
	"  verdict TEXT NOT NULL CHECK(verdict IN ('allow','throttle','hold','deny')),"
	"  would_be TEXT NOT NULL CHECK(would_be IN ('allow','throttle','hold','deny')),"
	"  act TEXT NOT NULL CHECK(act IN ('allow','throttle','hold','deny')),"
	"  step INTEGER NOT NULL CHECK(step BETWEEN 1 AND 8),"
	"  rule TEXT,"
	"  held_ms INTEGER NOT NULL,"
	"  override INTEGER,"
	"  policy BLOB NOT NULL CHECK(length(policy) = 32),"
	"  upid TEXT, job_id TEXT,"
	"  inputs TEXT NOT NULL,"
	"  decision TEXT NOT NULL,"
	"  prev BLOB NOT NULL CHECK(length(prev) = 32),"
	"  hash BLOB NOT NULL CHECK(length(hash) = 32)) STRICT;"
	"CREATE INDEX decisions_storage ON decisions(storage);"
	"CREATE INDEX decisions_nas ON decisions(nas);"
	"CREATE INDEX decisions_node ON decisions(node);"
	"CREATE INDEX decisions_rule ON decisions(rule);"
	"CREATE INDEX decisions_verdict ON decisions(verdict);"
	"CREATE INDEX decisions_guest ON decisions(guest) WHERE guest IS NOT NULL;"
	"CREATE INDEX decisions_ticket ON decisions(ticket) WHERE ticket IS NOT NULL;"

	"CREATE TRIGGER decisions_follow BEFORE INSERT ON decisions BEGIN"
	"  SELECT RAISE(ABORT, 'a decision must have an id greater than the last one')"
	"    WHERE NEW.id IS NULL OR NEW.id <= max("
	"      coalesce((SELECT max(id) FROM decisions), 0),"
	"      coalesce((SELECT max(last_id) FROM segments), 0));"
	"  SELECT RAISE(ABORT, 'a decision must follow the head of the chain')"
	"    WHERE NEW.prev IS NOT coalesce("
	"      (SELECT hash FROM decisions ORDER BY id DESC LIMIT 1),"
	"      (SELECT last_hash FROM segments ORDER BY id DESC LIMIT 1), zeroblob(32));"
	"END;"
	"CREATE TRIGGER decisions_no_update BEFORE UPDATE ON decisions BEGIN"
	"  SELECT RAISE(ABORT, 'decisions are never changed');"
	"END;"
	"CREATE TRIGGER decisions_no_delete BEFORE DELETE ON decisions"
	"  WHEN OLD.id > coalesce((SELECT max(last_id) FROM segments), 0) BEGIN"
	"  SELECT RAISE(ABORT, 'decisions are deleted only up to the end of a closed segment');"
	"END;"

	"CREATE TRIGGER segments_follow BEFORE INSERT ON segments BEGIN"
	"  SELECT RAISE(ABORT, 'a segment must follow the one before it')"
	"    WHERE NEW.prev IS NOT coalesce("
	"      (SELECT hash FROM segments ORDER BY id DESC LIMIT 1), zeroblob(32))"
	"    OR NEW.first_id <= coalesce((SELECT max(last_id) FROM segments), 0);"
	"  SELECT RAISE(ABORT, 'a segment must end with a decision')"
	"    WHERE NEW.last_hash IS NOT (SELECT hash FROM decisions WHERE id = NEW.last_id);"
	"END;"
	"CREATE TRIGGER segments_no_update BEFORE UPDATE ON segments BEGIN"
	"  SELECT RAISE(ABORT, 'segments are never changed');"
	"END;"
	"CREATE TRIGGER segments_no_delete BEFORE DELETE ON segments BEGIN"
	"  SELECT RAISE(ABORT, 'segments are never deleted');"
	"END;"
	"CREATE TRIGGER policies_no_update BEFORE UPDATE ON policies BEGIN"
	"  SELECT RAISE(ABORT, 'policies are never changed');"
	"END;"
	"CREATE TRIGGER policies_no_delete BEFORE DELETE ON policies BEGIN"
	"  SELECT RAISE(ABORT, 'policies are never deleted');"
	"END;"

	/* Kept while rows are written, by UTC hour (unit 3600000) and day (86400000): counts for
	 * `log stats`, and which ids an hour has, for pages by time. Not part of the chain. */
	"CREATE TABLE tally("
	"  unit_ms INTEGER NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,"
	"  n INTEGER NOT NULL, PRIMARY KEY(unit_ms, at, kind, name)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE hold_tally("
	"  unit_ms INTEGER NOT NULL, at INTEGER NOT NULL, n INTEGER NOT NULL,"
	"  held_ms INTEGER NOT NULL, longest_ms INTEGER NOT NULL,"
	"  PRIMARY KEY(unit_ms, at)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE hours("
	"  hour INTEGER PRIMARY KEY, first_id INTEGER NOT NULL, last_id INTEGER NOT NULL) STRICT;"

	"CREATE VIEW decision_log AS SELECT id,"
	"  strftime('%Y-%m-%d %H:%M:%S', time_utc_ms / 1000, 'unixepoch') AS time_utc,"
	"  'T' || ticket AS ticket, client, phase, storage, node, nas, array, guest,"
	"  verdict, act, step, rule, json_extract(decision, '$.reasons[0].text') AS reason,"
	"  round(held_ms / 60000.0, 1) AS held_minutes, override"
	"  FROM decisions ORDER BY id;";

static const char step_1_jobs[] =
	"CREATE TABLE tickets("
	"  id INTEGER PRIMARY KEY,"
	"  state TEXT NOT NULL,"
	"  client TEXT, storage TEXT, nas TEXT, node TEXT, guest INTEGER, upid TEXT, job_id TEXT,"
	"  act TEXT, rule TEXT,"
	"  asked_utc_ms INTEGER NOT NULL, changed_utc_ms INTEGER NOT NULL, ended_utc_ms INTEGER,"
	"  held_ms INTEGER NOT NULL,"
	"  data TEXT NOT NULL) STRICT;"
	"CREATE INDEX tickets_live ON tickets(id) WHERE ended_utc_ms IS NULL;"
	"CREATE INDEX tickets_ended ON tickets(ended_utc_ms) WHERE ended_utc_ms IS NOT NULL;"

	"CREATE TABLE ticket_events("
	"  id INTEGER PRIMARY KEY,"
	"  ticket INTEGER NOT NULL, time_utc_ms INTEGER NOT NULL,"
	"  before TEXT, after TEXT NOT NULL, why TEXT, held_ms INTEGER NOT NULL) STRICT;"
	"CREATE INDEX ticket_events_ticket ON ticket_events(ticket);"
	"CREATE TRIGGER ticket_events_no_update BEFORE UPDATE ON ticket_events BEGIN"
	"  SELECT RAISE(ABORT, 'events are never changed');"
	"END;"
	"CREATE TRIGGER ticket_events_no_delete BEFORE DELETE ON ticket_events"
	"  WHEN EXISTS (SELECT 1 FROM tickets WHERE id = OLD.ticket) BEGIN"
	"  SELECT RAISE(ABORT, 'events are deleted only with their ticket');"
	"END;"

	"CREATE TABLE guests("
	"  ticket INTEGER NOT NULL, guest INTEGER NOT NULL,"
	"  guest_type TEXT, mode TEXT, hostname TEXT, target TEXT, outcome TEXT,"
	"  began_utc_ms INTEGER, ended_utc_ms INTEGER,"
	"  PRIMARY KEY(ticket, guest)) STRICT, WITHOUT ROWID;"

	"CREATE TABLE overrides("
	"  id INTEGER PRIMARY KEY,"
	"  verdict TEXT NOT NULL CHECK(verdict IN ('allow','throttle','hold','deny')),"
	"  ticket INTEGER, guest INTEGER, storage TEXT, nas TEXT, node TEXT,"
	"  created_utc_ms INTEGER NOT NULL,"
	"  until_utc_ms INTEGER NOT NULL CHECK(until_utc_ms > created_utc_ms),"
	"  by TEXT NOT NULL CHECK(length(by) > 0),"
	"  reason TEXT NOT NULL CHECK(length(reason) > 0),"
	"  cancelled_utc_ms INTEGER, cancelled_by TEXT) STRICT;"
	"CREATE INDEX overrides_until ON overrides(until_utc_ms);"
	"CREATE TRIGGER overrides_only_cancel BEFORE UPDATE ON overrides"
	"  WHEN OLD.cancelled_utc_ms IS NOT NULL OR NEW.cancelled_utc_ms IS NULL"
	"    OR coalesce(NEW.cancelled_by, '') = ''"
	"    OR NEW.id IS NOT OLD.id OR NEW.verdict IS NOT OLD.verdict"
	"    OR NEW.ticket IS NOT OLD.ticket OR NEW.guest IS NOT OLD.guest"
	"    OR NEW.storage IS NOT OLD.storage OR NEW.nas IS NOT OLD.nas"
	"    OR NEW.node IS NOT OLD.node OR NEW.created_utc_ms IS NOT OLD.created_utc_ms"
	"    OR NEW.until_utc_ms IS NOT OLD.until_utc_ms OR NEW.by IS NOT OLD.by"
	"    OR NEW.reason IS NOT OLD.reason BEGIN"
	"  SELECT RAISE(ABORT, 'an override can only be cancelled, once');"
	"END;"
	"CREATE TRIGGER overrides_no_delete BEFORE DELETE ON overrides BEGIN"
	"  SELECT RAISE(ABORT, 'overrides are never deleted');"
	"END;"

	"CREATE TABLE readings("
	"  id INTEGER PRIMARY KEY,"
	"  time_utc_ms INTEGER NOT NULL, nas TEXT NOT NULL, sensor TEXT,"
	"  facts TEXT NOT NULL) STRICT;"
	"CREATE INDEX readings_nas ON readings(nas, time_utc_ms);"
	"CREATE INDEX readings_time ON readings(time_utc_ms);"

	"CREATE TABLE lever_actions("
	"  id INTEGER PRIMARY KEY,"
	"  time_utc_ms INTEGER NOT NULL, ticket INTEGER,"
	"  lever TEXT NOT NULL, target TEXT NOT NULL, before TEXT, after TEXT) STRICT;"

	"CREATE TABLE memory("
	"  nas TEXT NOT NULL PRIMARY KEY, time_utc_ms INTEGER NOT NULL, data TEXT NOT NULL) STRICT;"

	"CREATE TABLE spill_taken("
	"  one INTEGER PRIMARY KEY CHECK(one = 1), epoch BLOB NOT NULL, seq INTEGER NOT NULL) "
	"STRICT;"
	"INSERT INTO spill_taken VALUES(1, zeroblob(16), 0);"

	"CREATE VIEW holds AS SELECT 'T' || id AS ticket, state, client, storage, nas, node,"
	"  strftime('%Y-%m-%d %H:%M:%S', asked_utc_ms / 1000, 'unixepoch') AS asked_utc,"
	"  round(held_ms / 60000.0, 1) AS held_minutes, rule,"
	"  strftime('%Y-%m-%d %H:%M:%S', ended_utc_ms / 1000, 'unixepoch') AS ended_utc"
	"  FROM tickets WHERE held_ms > 0 OR state = 'held' ORDER BY id;";

/* Which levers stand where they should not can be told from their last actions. */
static const char step_2_levers[] =
	"ALTER TABLE lever_actions ADD COLUMN why TEXT;"
	"ALTER TABLE lever_actions ADD COLUMN put_back INTEGER NOT NULL DEFAULT 0"
	"  CHECK(put_back IN (0, 1));"
	"CREATE INDEX lever_actions_target ON lever_actions(lever, target, id);"
	"CREATE INDEX lever_actions_time ON lever_actions(time_utc_ms);"
	"CREATE TRIGGER lever_actions_no_update BEFORE UPDATE ON lever_actions BEGIN"
	"  SELECT RAISE(ABORT, 'what was done to a lever is never changed');"
	"END;"
	"CREATE VIEW lever_log AS SELECT id,"
	"  strftime('%Y-%m-%d %H:%M:%S', time_utc_ms / 1000, 'unixepoch') AS time_utc,"
	"  lever, target, before, after, put_back, 'T' || ticket AS ticket, why"
	"  FROM lever_actions ORDER BY id;";

const char *const schema_steps[] = {step_1_record, step_1_jobs, step_2_levers};
const size_t schema_n_steps = sizeof(schema_steps) / sizeof(schema_steps[0]);

const char *const schema_triggers[] = {"decisions_follow", "decisions_no_update",
	"decisions_no_delete", "segments_follow", "segments_no_update", "segments_no_delete",
	"policies_no_update", "policies_no_delete", "ticket_events_no_update",
	"ticket_events_no_delete", "overrides_only_cancel", "overrides_no_delete",
	"lever_actions_no_update", NULL};

bool schema_check(sqlite3 *db, const char *path, size_t n, int64_t *ret_version, struct err *err)
{
	int64_t application = 0, version = 0, tables = 0;

	if (!db_int(db, "PRAGMA application_id", 0, &application, err) ||
		!db_int(db, "PRAGMA user_version", 0, &version, err) ||
		!db_int(db, "SELECT count(*) FROM sqlite_schema", 0, &tables, err))
		return false;
	if (application != SCHEMA_APPLICATION_ID && (application != 0 || tables != 0))
		return err_set(err, ERR_INVALID,
			"'%.300s' is not a record of rebuildgate but another program's database",
			path);
	if (version > (int64_t)n)
		return err_set(err, ERR_INVALID,
			"'%.300s' was made by a newer rebuildgate (its schema is %lld, this one "
			"knows %zu)",
			path, (long long)version, n);
	*ret_version = version;
	return true;
}

static bool copy_before(sqlite3 *db, const char *path, int64_t version, struct err *err)
{
	char name[PATH_MAX];
	sqlite3_stmt *stmt = NULL;
	mode_t mask;
	bool good;

	if ((size_t)snprintf(name, sizeof(name), "%s.before-%lld", path, (long long)version) >=
		sizeof(name))
		return err_set(err, ERR_LIMIT, "'%.300s' is too long", path);
	if (unlink(name) != 0 && errno != ENOENT)
		return err_sys(err, errno, "the old copy '%.300s' cannot be replaced", name);
	stmt = db_prepare(db, "VACUUM INTO ?", err);
	if (!stmt)
		return false;
	mask = umask(0077);
	sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
	good = sqlite3_step(stmt) == SQLITE_DONE;
	umask(mask);
	if (!good)
		db_err(err, db, "the copy before a change of the schema cannot be written");
	sqlite3_finalize(stmt);
	return good;
}

static bool take_step(sqlite3 *db, const char *sql, size_t number, struct err *err)
{
	char mark[120];

	snprintf(mark, sizeof(mark), "PRAGMA application_id = %d; PRAGMA user_version = %zu;",
		SCHEMA_APPLICATION_ID, number);
	if (db_exec(db, "BEGIN IMMEDIATE", err) && db_exec(db, sql, err) &&
		db_exec(db, mark, err) && db_exec(db, "COMMIT", err))
		return true;
	err_prefix(err, "schema step %zu", number);
	if (!sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return false;
}

bool schema_migrate(
	sqlite3 *db, const char *path, const char *const *steps, size_t n, struct err *err)
{
	int64_t version = 0;
	size_t i;

	if (!schema_check(db, path, n, &version, err))
		return false;
	if (version > 0 && version < (int64_t)n && !copy_before(db, path, version, err))
		return false;
	for (i = (size_t)version; i < n; i++) {
		if (!take_step(db, steps[i], i + 1, err))
			return false;
	}
	return true;
}
