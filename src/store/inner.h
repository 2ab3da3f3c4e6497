// SPDX-License-Identifier: MIT
/* The store as its own files see it. Private to src/store. */
#ifndef RG_STORE_INNER_H
#define RG_STORE_INNER_H

#include <sys/types.h>

#include "store/batch.h"
#include "store/db.h"
#include "store/hash.h"
#include "store/spill.h"
#include "store/store.h"

#define STORE_MAX_NAS 64

/* Ids that are given from memory. Their order is that of the spill's marks. */
enum store_id { ID_DECISION = 0, ID_TICKET, ID_OVERRIDE, ID_COUNT };

/* What was kept last of a NAS's readings. */
struct store_seen {
	char nas[NAS_NAME_MAX];
	int64_t at_boot_ms;
	uint64_t shape; /* a digest of what counts as a change */
};

struct store {
	char *path, *boot_id;
	int busy_ms;
	sqlite3 *db; /* NULL while it cannot be opened */
	struct batch_db rows;
	bool ok;
	struct err why; /* while not ok */
	bool damaged;   /* found corrupt: not tried again with the same file */
	dev_t dev;      /* of the file that was found corrupt */
	ino_t ino;

	struct spill *spill; /* NULL: none, and spill_why says why */
	struct err spill_why;
	size_t taken_offset; /* where the next frame to take in begins */

	struct batch batch;
	int64_t lost;

	int64_t next[ID_COUNT];
	int64_t next_before[ID_COUNT]; /* at store_begin() */
	bool ids_known;                /* false: the database was never read and the spill is new */

	size_t n_overrides;
	struct store_override *overrides; /* not over yet, as of the last look; owned */

	size_t n_seen;
	struct store_seen seen[STORE_MAX_NAS];
	json_t *policy;       /* the operation that records the policy in use; NULL: none yet */
	bool policy_recorded; /* it is in this database, or before any decision in the spill */
};

#define STORE_HEAL_MS 200 /* what a step of the daemon may spend on taking in */

/* Closes the connection. */
void store_db_drop(struct store *store);
/* Opens it (anew), migrates, checks for `check_ms` at most. */
bool store_db_open(struct store *store, int64_t check_ms, struct err *err);
/* Not ok from now on, for this reason. Returns false. */
bool store_broken(struct store *store, const struct err *why);
/* ERR_GONE where somebody moved or removed the file: rows would go where nobody finds them. */
bool store_in_place(struct store *store, struct err *err);

/* Ids and overrides as the database knows them; ids only rise. */
bool store_ids_load(struct store *store, struct err *err);
/* Raises the spill's marks well before ids reach them. */
void store_ids_promise(struct store *store);

/* Takes frames of the spill in until the deadline; *ret_empty when none is left. */
bool store_take_in(struct store *store, int64_t until_boot_ms, bool *ret_empty, struct err *err);

/* What a committed batch means for the overrides in memory. */
void store_overrides_note(struct store *store, const json_t *op);
/* Reads those that are not over; adds to what is in memory. */
bool store_overrides_load(struct store *store, struct err *err);

/* Each operation that waits in the spill and was not taken in, in order. */
bool store_spill_each(struct store *store, void (*each)(void *data, const json_t *op), void *data,
	struct err *err);

/* ERR_GONE etc. where the database cannot be read. */
bool store_readable(const struct store *store, struct err *err);

#endif
