// SPDX-License-Identifier: MIT
/* A closed segment as a row of the chain of segments. Private to src/store. */
#ifndef RG_STORE_SEGMENT_H
#define RG_STORE_SEGMENT_H

#include <sqlite3.h>

#include "core/chain.h"

#define SEGMENT_COLUMNS                                                                            \
	"id, first_id, last_id, rows, first_utc_ms, last_utc_ms, closed_utc_ms, first_prev, "      \
	"last_hash"
#define SEGMENT_N 9

/* The canonical fields of a statement whose first columns are SEGMENT_COLUMNS. */
void segment_fields(sqlite3_stmt *stmt, struct chain_field *ret, char (*digits)[24]);

#endif
