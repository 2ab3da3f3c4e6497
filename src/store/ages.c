// SPDX-License-Identifier: MIT
/* When each guest's last good backup onto each storage ended. */
#include "store/inner.h"

bool store_backups(struct store *store,
	void (*each)(void *data, const char *storage, uint32_t guest, int64_t ended_utc_ms),
	void *data, struct err *err)
{
	sqlite3_stmt *stmt;
	int rc;

	if (!store_readable(store, err))
		return false;
	stmt = db_prepare(store->db,
		"SELECT tickets.storage, guests.guest, max(guests.ended_utc_ms)"
		" FROM guests JOIN tickets ON tickets.id = guests.ticket"
		" WHERE guests.outcome = 'done' AND guests.ended_utc_ms IS NOT NULL"
		" AND tickets.storage IS NOT NULL GROUP BY 1, 2",
		err);
	if (!stmt)
		return false;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
		each(data, db_text(stmt, 0), (uint32_t)sqlite3_column_int64(stmt, 1),
			sqlite3_column_int64(stmt, 2));
	if (rc != SQLITE_DONE)
		db_err(err, store->db, "the backups cannot be read");
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE;
}
