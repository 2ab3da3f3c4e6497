// SPDX-License-Identifier: MIT
/*
 * The database's tables and how they came to be: a list of steps, each in one transaction.
 *
 * `PRAGMA user_version` is the number of steps taken. A step that has shipped is never changed.
 * Private to src/store (and its tests).
 */
#ifndef RG_STORE_SCHEMA_H
#define RG_STORE_SCHEMA_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SCHEMA_APPLICATION_ID 0x52624774 /* "RbGt" */

extern const char *const schema_steps[];
extern const size_t schema_n_steps;
/* The triggers that a record must have; NULL at the end. */
extern const char *const schema_triggers[];

/* ERR_INVALID for somebody else's file and for one that a newer release made. */
bool schema_check(sqlite3 *db, const char *path, size_t n, int64_t *ret_version, struct err *err);

/* Takes the steps that are missing; before that, where the file has data already, copies it to
 * PATH.before-N (N: the number of steps it had). */
bool schema_migrate(
	sqlite3 *db, const char *path, const char *const *steps, size_t n, struct err *err);

#endif
