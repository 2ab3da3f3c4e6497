// SPDX-License-Identifier: MIT
/* Without memory, whichever allocation fails: an error, never a crash, and the record stays whole.
 */
#include "store_room.h"

static long countdown; /* 0: no failure; else the countdown-th allocation from now fails */
static sqlite3_mem_methods real;

static bool fails(void)
{
	return countdown && --countdown == 0;
}

static void *sqlite_malloc(int size)
{
	return fails() ? NULL : real.xMalloc(size);
}

static void *sqlite_realloc(void *old, int size)
{
	return fails() ? NULL : real.xRealloc(old, size);
}

static void *jansson_malloc(size_t size)
{
	return fails() ? NULL : malloc(size);
}

static bool any_row(void *data, const struct store_row *row)
{
	(void)data;
	json_decref(store_row_json(row));
	return true;
}

static void any_ticket(void *data, const struct ticket *ticket)
{
	(void)data;
	(void)ticket;
}

/* A day in the life; whatever fails, the rest is tried all the same. */
static void live(struct room *room, struct ticket *ticket, struct store_report *report,
	long at_open, long after)
{
	struct store_options options = {
		.path = room->db, .spill = room->spill, .spill_bytes = 64 << 10, .boot_id = BOOT};
	struct moment now = {.boot_ms = 1, .utc_ms = T0};
	struct override override = {.verdict = VERDICT_ALLOW,
		.by = "anna",
		.reason = "a test of memory",
		.created_utc_ms = T0,
		.until_utc_ms = T0 + 5};
	struct store_filter filter = {.storage = "backup"};
	struct err err = {0};
	json_t *value = NULL;
	size_t unreadable;
	int64_t next;
	bool more;

	countdown = at_open;
	if (!store_open(&options, &room->store, &err)) {
		assert_true(err.kind != ERR_NONE);
		return;
	}
	if (after)
		countdown = after;
	store_begin(room->store);
	room->policy[0] = '\0';
	room_put(room, 0, 1);
	store_put_ticket(room->store, ticket, &now, TICKET_NONE, "asked");
	store_add_reading(room->store, &room->in->facts, &now);
	store_override_add(room->store, &override, &err);
	store_commit(room->store, &err);
	store_heal(room->store, &err);
	store_log(room->store, &filter, 0, any_row, NULL, &next, &err);
	store_tickets_live(room->store, &now, any_ticket, NULL, &unreadable, &err);
	if (store_stats(room->store, 0, INT64_MAX, &value, &err))
		json_decref(value);
	store_verify(room->store, NULL, NULL, NULL, report, &err);
	store_retain(room->store, T0 - 1, T0, 10, &more, &err);
	store_close(room->store);
	room->store = NULL;
}

static void each_allocation_may_fail(void **state)
{
	struct room *room = *state;
	struct ticket *ticket = calloc(1, sizeof(*ticket));
	struct store_report *report = calloc(1, sizeof(*report));
	long n, rounds = 0;

	ticket->id = 1;
	ticket->state = TICKET_HELD;
	room_open_store(room);
	room_record(room, 1, 0);
	room_close_store(room);
	for (n = 1; n == 1 || !countdown; n += 1 + n / 10) {
		countdown = 0;
		live(room, ticket, report, n, 0);
		assert_int_equal(report->faults, 0);
	}
	for (n = 1; n == 1 || !countdown; n += 1 + n / 14) {
		countdown = 0;
		live(room, ticket, report, 0, n);
		assert_int_equal(report->faults, 0);
		rounds++;
	}
	countdown = 0;
	assert_true(rounds > 50);
	room_open_store(room);
	room_record(room, 1, 0);
	room_verify(room, NULL, report);
	if (report->faults)
		fail_msg("%s", report->findings[0].text);
	assert_true(report->decisions > rounds / 3);
	free(ticket);
	free(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {ROOM_TEST(each_allocation_may_fail)};
	sqlite3_mem_methods failing;

	if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real) != SQLITE_OK)
		return 1;
	failing = real;
	failing.xMalloc = sqlite_malloc;
	failing.xRealloc = sqlite_realloc;
	if (sqlite3_config(SQLITE_CONFIG_MALLOC, &failing) != SQLITE_OK)
		return 1;
	json_set_alloc_funcs(jansson_malloc, free);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
