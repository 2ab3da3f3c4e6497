// SPDX-License-Identifier: MIT
/*
 * A connection to SQLite, opened carefully, and the few calls that everything here is made of.
 *
 * Debian builds of SQLite accept "text" as a string, load extensions and create files that all can
 * read: all of that is off here. A writer's connection cannot drop, alter or attach anything once
 * db_lock_down() was called. Private to src/store.
 */
#ifndef RG_STORE_DB_H
#define RG_STORE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define DB_BUSY_MS 2000 /* how long another writer (somebody's sqlite3 shell) is waited for */

/* WAL, synchronous=FULL; the file is made with mode 0600 where it is not there. A symbolic link is
 * refused. ERR_DENIED where the file can be read but not written. */
bool db_open_writer(const char *path, sqlite3 **ret, struct err *err);

/* Read-only, also without a right to write beside the file. */
bool db_open_reader(const char *path, sqlite3 **ret, struct err *err);

/* Denies every change of the schema, ATTACH, and changes of what is append-only. */
void db_lock_down(sqlite3 *db);

/* Fills `err` from the connection's last error, "DOING: what SQLite says"; returns false. `kind`:
 * ERR_SYS with ENOSPC (full), ERR_BUSY, ERR_CORRUPT, ERR_DENIED (read-only), ERR_TIMEOUT
 * (interrupted), ERR_INVALID (a constraint), ERR_NOMEM, ERR_LIMIT, else ERR_SYS. */
bool db_err(struct err *err, sqlite3 *db, const char *doing);

bool db_exec(sqlite3 *db, const char *sql, struct err *err);
/* NULL on failure. */
sqlite3_stmt *db_prepare(sqlite3 *db, const char *sql, struct err *err);
/* The first column of the first row; `none` where there is no row or it is NULL. */
bool db_int(sqlite3 *db, const char *sql, int64_t none, int64_t *ret, struct err *err);

/* Interrupts what runs on `db` once `deadline_boot_ms` has passed; 0 takes that off again. */
struct db_deadline {
	int64_t boot_ms;
};
void db_deadline_set(sqlite3 *db, struct db_deadline *deadline, int64_t deadline_boot_ms);

/* SQLite's quick_check within `budget_ms`; running out of time is not a failure. ERR_CORRUPT with
 * what is wrong first. */
bool db_quick_check(sqlite3 *db, int64_t budget_ms, struct err *err);

/* Text or BLOB of a column, never NULL for text. */
const char *db_text(sqlite3_stmt *stmt, int column);

#endif
