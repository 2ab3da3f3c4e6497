// SPDX-License-Identifier: MIT
/* Tampering is found, whatever was done; retention leaves a chain that verifies. */
#include "store_room.h"

/* What somebody with the file and the sqlite3 shell does first. */
static void tamper(const struct room *room, const char *sql)
{
	room_sql(room,
		"DROP TRIGGER decisions_follow; DROP TRIGGER decisions_no_update;"
		"DROP TRIGGER decisions_no_delete; DROP TRIGGER segments_no_update;"
		"DROP TRIGGER segments_no_delete; DROP TRIGGER policies_no_update;"
		"DROP TRIGGER policies_no_delete");
	room_sql(room, sql);
}

/* Makes the triggers whole again, so that only what was done to the rows is found. */
static void found(struct room *room, enum store_fault fault, int64_t id)
{
	struct store_report report;
	size_t i, triggers = 0;

	room_verify(room, NULL, &report);
	for (i = 0; i < report.n_findings; i++) {
		triggers += strstr(report.findings[i].text, "trigger") != NULL;
		if (report.findings[i].fault == fault && report.findings[i].id == id)
			return;
	}
	fail_msg(
		"not found; %lld faults, %zu of them triggers", (long long)report.faults, triggers);
}

static void five(struct room *room)
{
	room_open_store(room);
	room_record(room, 5, 0);
	room_close_store(room);
	room_verifies(room, 5);
}

static void an_altered_row_is_found(void **state)
{
	five(*state);
	tamper(*state, "UPDATE decisions SET verdict = 'allow' WHERE id = 3");
	found(*state, STORE_FAULT_ROW, 3);
}

static void each_column_counts(void **state)
{
	static const char *const columns[] = {"time_utc_ms", "ticket", "client", "phase", "storage",
		"node", "nas", "array", "guest", "mode", "rule", "held_ms", "override", "upid",
		"job_id", "inputs", "decision", "step"};
	struct room *room = *state;
	char sql[160];
	size_t i;

	room_open_store(room);
	room_record(room, sizeof(columns) / sizeof(columns[0]), 0);
	room_close_store(room);
	tamper(room, "SELECT 1");
	for (i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		snprintf(sql, sizeof(sql), "UPDATE decisions SET %s = 7 WHERE id = %zu", columns[i],
			i + 1);
		room_sql(room, sql);
		found(room, STORE_FAULT_ROW, (int64_t)i + 1);
	}
}

static void null_and_empty_differ(void **state)
{
	five(*state);
	tamper(*state, "UPDATE decisions SET mode = '' WHERE id = 2");
	found(*state, STORE_FAULT_ROW, 2);
}

static void a_missing_row_is_found(void **state)
{
	five(*state);
	tamper(*state, "DELETE FROM decisions WHERE id = 3");
	found(*state, STORE_FAULT_LINK, 4);
}

static void a_missing_first_row_is_found(void **state)
{
	five(*state);
	tamper(*state, "DELETE FROM decisions WHERE id = 1");
	found(*state, STORE_FAULT_LINK, 2);
}

static void swapped_rows_are_found(void **state)
{
	five(*state);
	tamper(*state,
		"UPDATE decisions SET id = 99 WHERE id = 2;"
		"UPDATE decisions SET id = 2 WHERE id = 3;"
		"UPDATE decisions SET id = 3 WHERE id = 99");
	found(*state, STORE_FAULT_ROW, 2);
	found(*state, STORE_FAULT_ROW, 3);
}

static void a_row_that_claims_another_hash_is_found(void **state)
{
	five(*state);
	tamper(*state, "UPDATE decisions SET hash = randomblob(32) WHERE id = 3");
	found(*state, STORE_FAULT_ROW, 3);
	found(*state, STORE_FAULT_LINK, 4);
}

static void a_cut_end_is_found_by_the_anchor_only(void **state)
{
	struct room *room = *state;
	struct store_report report;
	struct store_head head;

	room_open_store(room);
	room_record(room, 5, 0);
	store_head(room->store, &head);
	room_record(room, 1, 0);
	room_close_store(room);
	room_verify(room, head.hash, &report);
	assert_int_equal(report.faults, 0);
	assert_int_equal(report.anchor_id, 5);
	assert_int_equal(report.head.id, 6);
	room_sql(room, "DROP TRIGGER decisions_no_delete");
	room_sql(room,
		"DELETE FROM decisions WHERE id > 4;"
		"CREATE TRIGGER decisions_no_delete BEFORE DELETE ON decisions BEGIN"
		" SELECT 1; END");
	room_verifies(room, 4);
	room_verify(room, head.hash, &report);
	assert_int_equal(report.faults, 1);
	assert_int_equal(report.findings[0].fault, STORE_FAULT_HEAD);
}

static void another_policy_text_is_found(void **state)
{
	five(*state);
	tamper(*state, "UPDATE policies SET text = 'name = \"other\";'");
	found(*state, STORE_FAULT_POLICY, 0);
}

static void a_missing_policy_is_found(void **state)
{
	five(*state);
	tamper(*state, "DELETE FROM policies");
	found(*state, STORE_FAULT_POLICY, 1);
}

static void removed_triggers_are_found(void **state)
{
	five(*state);
	tamper(*state, "SELECT 1");
	found(*state, STORE_FAULT_FILE, 0);
}

static void a_head_must_be_a_hash(void **state)
{
	struct room *room = *state;
	struct store_report report;
	struct err err = {0};

	room_open_store(room);
	assert_false(store_verify(room->store, "abc", NULL, NULL, &report, &err));
	assert_int_equal(err.kind, ERR_INVALID);
}

static bool stop(void *data, int64_t done, int64_t total)
{
	(void)data;
	assert_int_equal(total, 2000);
	return done < 1000;
}

static void it_can_be_stopped(void **state)
{
	struct room *room = *state;
	struct store_report report;
	struct err err = {0};
	int i;

	room_open_store(room);
	store_begin(room->store);
	for (i = 0; i < 2000; i++)
		room_put(room, i, 0);
	MUST(store_commit(room->store, &err_of_must) == STORE_RECORDED);
	assert_false(store_verify(room->store, NULL, stop, NULL, &report, &err));
	assert_int_equal(err.kind, ERR_TIMEOUT);
	assert_int_equal(report.decisions, 1000);
}

static void it_verifies_while_the_daemon_writes(void **state)
{
	struct room *room = *state;
	struct store_report report;
	struct store *reader = NULL;

	room_open_store(room);
	room_record(room, 3, 0);
	MUST(store_open_reader(room->db, &reader, &err_of_must));
	room_record(room, 2, 5000);
	MUST(store_verify(reader, NULL, NULL, NULL, &report, &err_of_must));
	assert_int_equal(report.decisions, 5);
	assert_int_equal(report.faults, 0);
	room_record(room, 1, 9000);
	store_close(reader);
}

/* ---- retention ---- */

/* Steps until nothing is left to do; returns how many. */
static int retain(struct room *room, int64_t before_ms, size_t max_rows, bool verify)
{
	bool more = true;
	int n = 0;

	while (more) {
		MUST(store_retain(
			room->store, T0 + before_ms, T0 + 1000000, max_rows, &more, &err_of_must));
		if (verify) {
			struct store_report report;

			room_verify(room, NULL, &report);
			assert_int_equal(report.faults, 0);
		}
		assert_true(++n < 1000);
	}
	return n;
}

static void old_decisions_go_and_the_chain_stays_whole(void **state)
{
	struct room *room = *state;
	struct store_report report;

	room_open_store(room);
	room_record(room, 20, 0);
	retain(room, 12000, 5, true);
	room_verify(room, NULL, &report);
	assert_int_equal(report.decisions, 8);
	assert_int_equal(report.pruned, 12);
	assert_int_equal(report.segments, 1);
	assert_int_equal(room_int(room, "SELECT min(id) FROM decisions"), 13);
	assert_int_equal(room_record(room, 1, 20000), 21);
	retain(room, 15000, 500, true);
	room_verify(room, NULL, &report);
	assert_int_equal(report.decisions, 6);
	assert_int_equal(report.segments, 2);
	assert_int_equal(retain(room, 15000, 500, true), 1);
}

static void all_may_go_and_ids_go_on(void **state)
{
	struct room *room = *state;
	struct store_head before, after;

	room_open_store(room);
	room_record(room, 4, 0);
	store_head(room->store, &before);
	retain(room, 1000000, 500, true);
	assert_int_equal(room_int(room, "SELECT count(*) FROM decisions"), 0);
	room_reopen(room);
	store_head(room->store, &after);
	assert_string_equal(before.hash, after.hash);
	assert_int_equal(room_record(room, 1, 5000), 5);
	room_verifies(room, 1);
}

static void a_changed_segment_is_found(void **state)
{
	struct room *room = *state;

	room_open_store(room);
	room_record(room, 6, 0);
	retain(room, 2000, 500, true);
	retain(room, 4000, 500, true);
	room_close_store(room);
	tamper(room, "UPDATE segments SET rows = 1 WHERE id = 1");
	found(room, STORE_FAULT_SEGMENT, 1);
	room_sql(room, "DELETE FROM segments WHERE id = 1");
	found(room, STORE_FAULT_SEGMENT, 2);
	room_sql(room, "DELETE FROM segments");
	found(room, STORE_FAULT_LINK, 5);
}

static void rows_that_a_segment_does_not_cover_are_missed(void **state)
{
	struct room *room = *state;

	room_open_store(room);
	room_record(room, 6, 0);
	retain(room, 2000, 500, true);
	room_close_store(room);
	tamper(room, "DELETE FROM decisions WHERE id = 3");
	found(room, STORE_FAULT_LINK, 4);
}

static void ended_tickets_and_readings_go_with_time(void **state)
{
	struct room *room = *state;
	struct moment now = {.boot_ms = 1, .utc_ms = T0};
	struct ticket *ticket = calloc(1, sizeof(*ticket));
	struct store_guest guest = {.ticket = 1, .guest = 100, .outcome = "done"};

	room_open_store(room);
	store_begin(room->store);
	ticket->id = 1;
	ticket->state = TICKET_ENDED;
	store_put_ticket(room->store, ticket, &now, TICKET_RUNNING, "job-end");
	store_put_guest(room->store, &guest);
	store_add_reading(room->store, &room->in->facts, &now);
	ticket->id = 2;
	ticket->state = TICKET_RUNNING;
	store_put_ticket(room->store, ticket, &now, TICKET_RELEASED, "job-start");
	MUST(store_commit(room->store, &err_of_must) == STORE_RECORDED);
	retain(room, 1000, 500, false);
	assert_int_equal(room_int(room, "SELECT id FROM tickets"), 2);
	assert_int_equal(room_int(room, "SELECT count(*) FROM ticket_events"), 1);
	assert_int_equal(room_int(room, "SELECT count(*) FROM guests"), 0);
	assert_int_equal(room_int(room, "SELECT count(*) FROM readings"), 0);
	assert_int_equal(store_next_ticket(room->store), 3);
	free(ticket);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROOM_TEST(an_altered_row_is_found),
		ROOM_TEST(each_column_counts),
		ROOM_TEST(null_and_empty_differ),
		ROOM_TEST(a_missing_row_is_found),
		ROOM_TEST(a_missing_first_row_is_found),
		ROOM_TEST(swapped_rows_are_found),
		ROOM_TEST(a_row_that_claims_another_hash_is_found),
		ROOM_TEST(a_cut_end_is_found_by_the_anchor_only),
		ROOM_TEST(another_policy_text_is_found),
		ROOM_TEST(a_missing_policy_is_found),
		ROOM_TEST(removed_triggers_are_found),
		ROOM_TEST(a_head_must_be_a_hash),
		ROOM_TEST(it_can_be_stopped),
		ROOM_TEST(it_verifies_while_the_daemon_writes),
		ROOM_TEST(old_decisions_go_and_the_chain_stays_whole),
		ROOM_TEST(all_may_go_and_ids_go_on),
		ROOM_TEST(a_changed_segment_is_found),
		ROOM_TEST(rows_that_a_segment_does_not_cover_are_missed),
		ROOM_TEST(ended_tickets_and_readings_go_with_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
