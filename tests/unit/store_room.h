// SPDX-License-Identifier: MIT
/* What the store's tests share: a folder of their own, a store in it, rows to put. */
#ifndef RG_TESTS_STORE_ROOM_H
#define RG_TESTS_STORE_ROOM_H

#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/store.h"

#define BOOT "11111111-2222-3333-4444-555555555555"
#define T0 INT64_C(1790000000000)

struct room {
	char folder[64], db[96], spill[96];
	struct store *store;
	struct inputs *in;
	struct decision decision;
	char policy[STORE_HASH_TEXT];
};

/* `call` has `&err_of_must` as its last argument. */
static struct err err_of_must;
#define MUST(call)                                                                                 \
	do {                                                                                       \
		if (!(call))                                                                       \
			fail_msg("%s:%d: %s: %s", __FILE__, __LINE__, #call, err_of_must.text);    \
	} while (0)

static inline void room_open_store(struct room *room)
{
	struct store_options options = {.path = room->db,
		.spill = room->spill,
		.spill_bytes = 128 << 10,
		.busy_ms = 100,
		.boot_id = BOOT};

	room->policy[0] = '\0'; /* as the daemon does, the policy is put at each start */
	MUST(store_open(&options, &room->store, &err_of_must));
}

static inline void room_close_store(struct room *room)
{
	store_close(room->store);
	room->store = NULL;
}

static inline void room_reopen(struct room *room)
{
	room_close_store(room);
	room_open_store(room);
}

/* A request for storage "nas" of a NAS whose md2 rebuilds, and a hold. */
static inline void room_fill(struct room *room)
{
	struct inputs *in = room->in;
	struct array_facts *md = &in->facts.arrays[0];
	struct decision *d = &room->decision;

	memset(in, 0, sizeof(*in));
	in->request.client = CLIENT_VZDUMP;
	in->request.phase = PHASE_JOB_INIT;
	strcpy(in->request.storage, "backup");
	strcpy(in->request.node, "pve1");
	strcpy(in->mapping.nas, "nas1");
	strcpy(in->facts.name, "nas1");
	in->facts.sensor = SENSOR_OK;
	in->facts.read_at_ms = OPT(5000);
	in->facts.n_arrays = 1;
	strcpy(md->name, "md2");
	md->role = MD_ROLE_DATA;
	md->level = MD_LEVEL_RAID6;
	md->operation = MD_OP_RECOVERY;
	md->sync_state = MD_SYNC_RUNNING;
	md->health = MD_HEALTH_DEGRADED;
	md->progress_ppm = OPT(413000);
	md->redundancy_left = OPT(1);
	in->now = (struct moment){.boot_ms = 6000, .utc_ms = T0, .utc_offset_s = 3600};
	memset(d, 0, sizeof(*d));
	d->verdict = d->would_be = d->act = VERDICT_HOLD;
	d->step = 5;
	strcpy(d->rule, "rebuild");
	strcpy(d->array, "md2");
	d->n_reasons = 1;
	d->reasons[0].code = REASON_RULE;
	strcpy(d->reasons[0].text, "md2 of nas1 rebuilds, 41.3 %");
	d->ends_in_ms = OPT(8 * MS_HOUR);
	d->then = VERDICT_THROTTLE;
}

static inline int room_setup(void **state)
{
	struct room *room = calloc(1, sizeof(*room));

	room->in = calloc(1, sizeof(*room->in));
	strcpy(room->folder, "/tmp/rebuildgate-store-XXXXXX");
	if (!mkdtemp(room->folder))
		return -1;
	snprintf(room->db, sizeof(room->db), "%s/record.db", room->folder);
	snprintf(room->spill, sizeof(room->spill), "%s/spill", room->folder);
	room_fill(room);
	*state = room;
	return 0;
}

static inline int room_teardown(void **state)
{
	static const char *const names[] = {"record.db", "record.db-wal", "record.db-shm", "spill",
		"record.db.before-1", "record.db.before-2", "old.db", "old.db-wal", "old.db-shm"};
	struct room *room = *state;
	char path[160];
	size_t i;

	store_close(room->store);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", room->folder, names[i]);
		unlink(path);
	}
	rmdir(room->folder);
	free(room->in);
	free(room);
	return 0;
}

/* Puts one decision into the batch; its time is T0 + `after_ms`. */
static inline int64_t room_put(struct room *room, int64_t after_ms, int64_t ticket)
{
	struct store_decision row = {.inputs = room->in,
		.decision = &room->decision,
		.ticket = ticket,
		.policy_hash = room->policy};

	if (!room->policy[0])
		store_add_policy(room->store, "name = \"test\";\n", T0, room->policy);
	room->in->now.utc_ms = T0 + after_ms;
	return store_add_decision(room->store, &row);
}

/* `n` decisions, each in a batch of its own, a second apart from `after_ms` on. */
static inline int64_t room_record(struct room *room, size_t n, int64_t after_ms)
{
	int64_t id = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		store_begin(room->store);
		id = room_put(room, after_ms + (int64_t)i * 1000, 0);
		MUST(store_commit(room->store, &err_of_must) == STORE_RECORDED);
	}
	return id;
}

/* As an outsider with the sqlite3 shell would. */
static inline void room_sql(const struct room *room, const char *sql)
{
	char *message = NULL;
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(room->db, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", sql, message);
	sqlite3_close(db);
}

static inline int64_t room_int(const struct room *room, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	int64_t v;

	assert_int_equal(sqlite3_open(room->db, &db), SQLITE_OK);
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	v = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return v;
}

static inline void room_verify(
	const struct room *room, const char *anchor, struct store_report *ret)
{
	struct store *reader = NULL;

	MUST(store_open_reader(room->db, &reader, &err_of_must));
	MUST(store_verify(reader, anchor, NULL, NULL, ret, &err_of_must));
	store_close(reader);
}

static inline void room_verifies(const struct room *room, int64_t decisions)
{
	struct store_report report;

	room_verify(room, NULL, &report);
	if (report.faults)
		fail_msg("%s", report.findings[0].text);
	assert_int_equal(report.decisions, decisions);
}

#define ROOM_TEST(name) cmocka_unit_test_setup_teardown(name, room_setup, room_teardown)

#endif
