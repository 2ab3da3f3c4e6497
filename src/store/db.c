// SPDX-License-Identifier: MIT
#include "store/db.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

static enum err_kind kind_of(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return ERR_BUSY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return ERR_CORRUPT;
	case SQLITE_NOMEM:
		return ERR_NOMEM;
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return ERR_DENIED;
	case SQLITE_INTERRUPT:
		return ERR_TIMEOUT;
	case SQLITE_CONSTRAINT:
		return ERR_INVALID;
	case SQLITE_TOOBIG:
		return ERR_LIMIT;
	default:
		return ERR_SYS;
	}
}

bool db_err(struct err *err, sqlite3 *db, const char *doing)
{
	int rc = db ? sqlite3_extended_errcode(db) : SQLITE_NOMEM;
	int sys = db ? sqlite3_system_errno(db) : 0;

	err_set(err, kind_of(rc), "%s: %s", doing, db ? sqlite3_errmsg(db) : "out of memory");
	if (!err || err->kind != ERR_SYS)
		return false;
	err->sys = (rc & 0xff) == SQLITE_FULL ? ENOSPC : sys ? sys : EIO;
	return false;
}

bool db_exec(sqlite3 *db, const char *sql, struct err *err)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return true;
	return db_err(err, db, "the database refuses");
}

sqlite3_stmt *db_prepare(sqlite3 *db, const char *sql, struct err *err)
{
	sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		db_err(err, db, "the database does not take a query");
	return stmt;
}

bool db_int(sqlite3 *db, const char *sql, int64_t none, int64_t *ret, struct err *err)
{
	sqlite3_stmt *stmt = db_prepare(db, sql, err);
	bool good = false;
	int rc;

	if (!stmt)
		return false;
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
		*ret = rc == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL
			? sqlite3_column_int64(stmt, 0)
			: none;
		good = true;
	} else {
		db_err(err, db, "the database cannot be read");
	}
	sqlite3_finalize(stmt);
	return good;
}

const char *db_text(sqlite3_stmt *stmt, int column)
{
	const unsigned char *text = sqlite3_column_text(stmt, column);

	return text ? (const char *)text : "";
}

static bool harden(sqlite3 *db, bool writer)
{
	sqlite3_extended_result_codes(db, 1);
	if (sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) != SQLITE_OK ||
		sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL) != SQLITE_OK ||
		sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL) != SQLITE_OK ||
		sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) != SQLITE_OK ||
		sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL) != SQLITE_OK)
		return false;
	sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 1 << 16);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 16 << 20);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, writer ? 1 : 0); /* VACUUM INTO needs one */
	return sqlite3_busy_timeout(db, DB_BUSY_MS) == SQLITE_OK;
}

/* The folders of a path may be links (/var/lib on another disk); the file itself may not:
 * SQLITE_OPEN_NOFOLLOW refuses both, so the folders are resolved before. */
static bool real_path(const char *path, char ret[PATH_MAX], struct err *err)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX], real[PATH_MAX];
	const char *name = slash ? slash + 1 : path;
	size_t len = slash ? (size_t)(slash - path) : 1;

	if (strlen(path) >= PATH_MAX || !*name)
		return err_set(err, ERR_INVALID, "'%.200s' cannot be the name of a database", path);
	memcpy(folder, slash ? path : ".", len);
	folder[len] = '\0';
	if (!realpath(len ? folder : "/", real))
		return err_sys(err, errno, "the database's folder '%.200s'", len ? folder : "/");
	if ((size_t)snprintf(ret, PATH_MAX, "%s/%s", real, name) >= PATH_MAX)
		return err_set(err, ERR_INVALID, "'%.200s' is too long", path);
	return true;
}

static bool open_at(const char *name, int flags, sqlite3 **ret, const char *path, struct err *err)
{
	char doing[600];
	sqlite3 *db = NULL;
	mode_t mask = umask(0077);
	int rc = sqlite3_open_v2(
		name, &db, flags | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX, NULL);

	umask(mask);
	if (rc == SQLITE_OK && harden(db, flags & SQLITE_OPEN_READWRITE)) {
		*ret = db;
		return true;
	}
	snprintf(doing, sizeof(doing), "the database '%.400s' cannot be opened", path);
	db_err(err, db, doing);
	sqlite3_close(db);
	return false;
}

static bool is_wal(sqlite3 *db, struct err *err)
{
	sqlite3_stmt *stmt = db_prepare(db, "PRAGMA journal_mode = WAL", err);
	bool good = false;

	if (!stmt)
		return false;
	if (sqlite3_step(stmt) != SQLITE_ROW)
		db_err(err, db, "the database cannot be read");
	else if (strcmp(db_text(stmt, 0), "wal") != 0)
		err_set(err, ERR_SYS, "the database's file system does not take a write-ahead log");
	else
		good = true;
	sqlite3_finalize(stmt);
	return good;
}

bool db_open_writer(const char *path, sqlite3 **ret, struct err *err)
{
	char name[PATH_MAX];
	sqlite3 *db = NULL;
	bool good;

	if (!real_path(path, name, err) ||
		!open_at(name, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &db, path, err))
		return false;
	if (sqlite3_db_readonly(db, "main") == 1)
		good = err_set(err, ERR_DENIED, "the database '%.400s' cannot be written", path);
	else
		good = is_wal(db, err) &&
			db_exec(db,
				"PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
				"PRAGMA recursive_triggers = ON; PRAGMA temp_store = MEMORY;"
				"PRAGMA journal_size_limit = 67108864;",
				err);
	if (!good) {
		sqlite3_close(db);
		return false;
	}
	*ret = db;
	return true;
}

/* Where nobody writes and we may not make the -shm file, the database alone is the whole truth. */
static bool open_immutable(const char *uri, const char *name, sqlite3 **ret, const char *path)
{
	char wal[PATH_MAX + 8], with[3 * PATH_MAX + 64];
	int64_t n = 0;

	snprintf(wal, sizeof(wal), "%s-wal", name);
	if (access(wal, F_OK) == 0)
		return false;
	snprintf(with, sizeof(with), "%s&immutable=1", uri);
	if (!open_at(with, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, ret, path, NULL))
		return false;
	if (db_int(*ret, "SELECT count(*) FROM sqlite_schema", 0, &n, NULL))
		return true;
	sqlite3_close(*ret);
	*ret = NULL;
	return false;
}

static void uri_of(const char *name, char *ret, size_t size)
{
	size_t used = (size_t)snprintf(ret, size, "file:");

	for (; *name && used + 4 < size; name++) {
		if (strchr("?#%", *name))
			used += (size_t)snprintf(
				ret + used, size - used, "%%%02X", (unsigned char)*name);
		else
			ret[used++] = *name;
	}
	snprintf(ret + used, size - used, "?mode=ro");
}

bool db_open_reader(const char *path, sqlite3 **ret, struct err *err)
{
	char name[PATH_MAX], uri[3 * PATH_MAX + 32];
	struct err first = {0};
	int64_t n = 0;

	if (!real_path(path, name, err))
		return false;
	if (access(name, F_OK) != 0)
		return err_set(err, ERR_NOTFOUND, "there is no database '%.400s'", path);
	uri_of(name, uri, sizeof(uri));
	*ret = NULL;
	if (!open_at(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, ret, path, err))
		return false;
	if (db_int(*ret, "SELECT count(*) FROM sqlite_schema", 0, &n, &first) &&
		db_exec(*ret, "PRAGMA temp_store = MEMORY", &first))
		return true;
	sqlite3_close(*ret);
	*ret = NULL;
	if (open_immutable(uri, name, ret, path))
		return true;
	if (err)
		*err = first;
	return false;
}

static bool append_only(const char *table)
{
	static const char *const tables[] = {"decisions", "segments", "policies", "ticket_events"};
	size_t i;

	for (i = 0; table && i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (strcmp(table, tables[i]) == 0)
			return true;
	}
	return false;
}

static int authorize(void *data, int action, const char *a, const char *b, const char *schema,
	const char *trigger)
{
	(void)data;
	(void)b;
	(void)schema;
	(void)trigger;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_FUNCTION:
	case SQLITE_TRANSACTION:
	case SQLITE_SAVEPOINT:
	case SQLITE_RECURSIVE:
	case SQLITE_INSERT:
	case SQLITE_DELETE: /* the triggers say which rows */
		return a && strncmp(a, "sqlite_", 7) == 0 && action != SQLITE_READ ? SQLITE_DENY
										   : SQLITE_OK;
	case SQLITE_UPDATE:
		return append_only(a) ? SQLITE_DENY : SQLITE_OK;
	case SQLITE_PRAGMA:
		return a && strcmp(a, "quick_check") == 0 ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

void db_lock_down(sqlite3 *db)
{
	sqlite3_set_authorizer(db, authorize, NULL);
}

static int past_deadline(void *data)
{
	const struct db_deadline *deadline = data;

	return clock_boot_ms() >= deadline->boot_ms;
}

void db_deadline_set(sqlite3 *db, struct db_deadline *deadline, int64_t deadline_boot_ms)
{
	deadline->boot_ms = deadline_boot_ms;
	if (deadline_boot_ms)
		sqlite3_progress_handler(db, 2000, past_deadline, deadline);
	else
		sqlite3_progress_handler(db, 0, NULL, NULL);
}

bool db_quick_check(sqlite3 *db, int64_t budget_ms, struct err *err)
{
	struct db_deadline deadline;
	sqlite3_stmt *stmt;
	struct err first = {0};
	bool good = false;
	int rc;

	stmt = db_prepare(db, "PRAGMA quick_check(1)", err);
	if (!stmt)
		return false;
	db_deadline_set(db, &deadline, clock_boot_ms() + budget_ms);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW && strcmp(db_text(stmt, 0), "ok") == 0)
		good = true;
	else if (rc == SQLITE_ROW)
		err_set(err, ERR_CORRUPT, "the database is damaged: %.300s", db_text(stmt, 0));
	else if (!db_err(&first, db, "the database cannot be checked") && first.kind == ERR_TIMEOUT)
		good = true;
	else if (err)
		*err = first;
	db_deadline_set(db, &deadline, 0);
	sqlite3_finalize(stmt);
	return good;
}
