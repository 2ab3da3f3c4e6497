// SPDX-License-Identifier: MIT
#include <sys/stat.h>

#include "store/schema.h"
#include "store_room.h"
#include "wire/wire.h"

/* ---- the file ---- */

static void the_files_are_for_their_owner_only(void **state)
{
	struct room *room = *state;
	struct stat st;

	room_open_store(room);
	room_record(room, 1, 0);
	assert_int_equal(stat(room->db, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(room->spill, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(st.st_size, 128 << 10);
	assert_int_equal(room_int(room, "PRAGMA application_id"), SCHEMA_APPLICATION_ID);
	assert_int_equal(room_int(room, "PRAGMA user_version"), schema_n_steps);
}

static void refused(struct room *room, enum err_kind kind, const char *part)
{
	struct store_options options = {.path = room->db, .spill = room->spill};
	struct err err = {0};

	assert_false(store_open(&options, &room->store, &err));
	assert_int_equal(err.kind, kind);
	if (!strstr(err.text, part))
		fail_msg("'%s' does not say '%s'", err.text, part);
}

static void a_newer_schema_is_refused(void **state)
{
	struct room *room = *state;
	struct err err = {0};

	room_open_store(room);
	room_close_store(room);
	room_sql(room, "PRAGMA user_version = 99");
	refused(room, ERR_INVALID, "newer rebuildgate");
	assert_false(store_open_reader(room->db, &room->store, &err));
	assert_int_equal(err.kind, ERR_INVALID);
}

static void another_programs_database_is_refused(void **state)
{
	struct room *room = *state;

	room_sql(room, "CREATE TABLE songs(title TEXT)");
	refused(room, ERR_INVALID, "another program");
	assert_int_equal(room_int(room, "SELECT count(*) FROM sqlite_schema"), 1);
}

static void a_second_writer_is_refused(void **state)
{
	struct room *room = *state;
	struct store *first;

	room_open_store(room);
	first = room->store;
	room->store = NULL;
	refused(room, ERR_BUSY, "another rebuildgated");
	room->store = first;
}

static void a_symbolic_link_is_not_followed(void **state)
{
	struct room *room = *state;
	struct store_health health;
	struct store_options options = {.path = room->db, .spill = room->spill};
	char target[128];

	snprintf(target, sizeof(target), "%s/old.db", room->folder);
	assert_int_equal(symlink(target, room->db), 0);
	MUST(store_open(&options, &room->store, &err_of_must));
	store_health(room->store, &health);
	assert_false(health.ok);
	assert_int_equal(access(target, F_OK), -1);
}

static void a_step_is_taken_once_and_a_copy_is_kept_before_it(void **state)
{
	static const char *const steps[] = {"CREATE TABLE a(x) STRICT", "CREATE TABLE b(x INTEGER)",
		"CREATE TABLE c(x INTEGER); CREATE TABLE nonsense("};
	struct room *room = *state;
	struct err err = {0};
	char copy[128];
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(room->db, &db), SQLITE_OK);
	assert_false(schema_migrate(db, room->db, steps, 1, &err)); /* STRICT needs types */
	assert_int_equal(room_int(room, "PRAGMA user_version"), 0);
	MUST(schema_migrate(db, room->db, &steps[1], 1, &err_of_must));
	assert_int_equal(room_int(room, "PRAGMA user_version"), 1);
	MUST(schema_migrate(db, room->db, &steps[1], 1, &err_of_must));
	assert_int_equal(sqlite3_exec(db, "INSERT INTO b VALUES(7)", NULL, NULL, NULL), SQLITE_OK);
	/* A step that fails leaves nothing of itself, and the copy is there. */
	assert_false(schema_migrate(db, room->db, &steps[1], 2, &err));
	assert_int_equal(room_int(room, "PRAGMA user_version"), 1);
	assert_int_equal(room_int(room, "SELECT count(*) FROM sqlite_schema WHERE name = 'c'"), 0);
	sqlite3_close(db);
	snprintf(copy, sizeof(copy), "%s.before-1", room->db);
	assert_int_equal(rename(copy, room->db), 0);
	assert_int_equal(room_int(room, "SELECT x FROM b"), 7);
}

/* ---- decisions and the chain ---- */

static void decisions_get_ids_in_order_and_survive(void **state)
{
	struct room *room = *state;
	struct store_head before, after;

	room_open_store(room);
	assert_int_equal(room_record(room, 3, 0), 3);
	store_head(room->store, &before);
	assert_int_equal(before.id, 3);
	room_reopen(room);
	store_head(room->store, &after);
	assert_string_equal(before.hash, after.hash);
	assert_int_equal(room_record(room, 1, 9000), 4);
	room_verifies(room, 4);
}

static void a_batch_is_all_or_nothing(void **state)
{
	struct room *room = *state;

	room_open_store(room);
	store_begin(room->store);
	assert_int_equal(room_put(room, 0, 0), 1);
	assert_int_equal(room_put(room, 1, 0), 2);
	assert_int_equal(room_int(room, "SELECT count(*) FROM decisions"), 0);
	store_rollback(room->store);
	MUST(store_commit(room->store, &err_of_must) == STORE_RECORDED);
	assert_int_equal(room_int(room, "SELECT count(*) FROM decisions"), 0);
	store_begin(room->store);
	assert_int_equal(room_put(room, 0, 0), 1);
	MUST(store_commit(room->store, &err_of_must) == STORE_RECORDED);
	room_verifies(room, 1);
}

static bool see_row(void *data, const struct store_row *row)
{
	struct room *room = data;
	json_t *value = store_row_json(row), *inputs;
	struct inputs *in = calloc(1, sizeof(*in));
	struct decision decision;

	assert_string_equal(row->storage, "backup");
	assert_string_equal(row->nas, "nas1");
	assert_string_equal(row->verdict, "hold");
	assert_string_equal(row->rule, "rebuild");
	assert_string_equal(row->policy_hash, room->policy);
	assert_int_equal(row->step, 5);
	assert_string_equal(row->mode, "");
	assert_non_null(value);
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(json_object_get(value, "reasons"), 0), "code")),
		"rule");
	inputs = json_read(row->inputs, strlen(row->inputs), NULL);
	MUST(wire_inputs_read(inputs, in, &err_of_must));
	assert_memory_equal(&in->facts, &room->in->facts, sizeof(in->facts));
	json_decref(inputs);
	inputs = json_read(row->decision, strlen(row->decision), NULL);
	MUST(wire_decision_read(inputs, &decision, &err_of_must));
	assert_memory_equal(&decision, &room->decision, sizeof(decision));
	json_decref(inputs);
	json_decref(value);
	free(in);
	return true;
}

static void a_decision_comes_back_as_it_was(void **state)
{
	struct room *room = *state;
	struct err err = {0};
	struct buf text = {0};

	room_open_store(room);
	room_record(room, 1, 0);
	MUST(store_decision(room->store, 1, see_row, room, &err_of_must));
	assert_false(store_decision(room->store, 2, see_row, room, &err));
	assert_int_equal(err.kind, ERR_NOTFOUND);
	MUST(store_policy_text(room->store, room->policy, &text, &err_of_must));
	assert_string_equal(text.data, "name = \"test\";\n");
	buf_release(&text);
}

static void the_tables_for_people_read_well(void **state)
{
	struct room *room = *state;

	room_open_store(room);
	store_begin(room->store);
	room_put(room, 0, 17);
	MUST(store_commit(room->store, &err_of_must) == STORE_RECORDED);
	assert_int_equal(room_int(room,
				 "SELECT count(*) FROM decision_log WHERE ticket = 'T17'"
				 " AND reason = 'md2 of nas1 rebuilds, 41.3 %'"
				 " AND time_utc = '2026-09-21 14:13:20'"),
		1);
	assert_int_equal(room_int(room, "SELECT count(*) FROM holds"), 0);
}

/* What the schema itself refuses, even from the shell. */
static void refuses_sql(struct room *room, const char *sql, const char *part)
{
	sqlite3 *db = NULL;
	char *message = NULL;

	assert_int_equal(sqlite3_open(room->db, &db), SQLITE_OK);
	sqlite3_exec(db, "PRAGMA recursive_triggers = ON", NULL, NULL, NULL);
	if (sqlite3_exec(db, sql, NULL, NULL, &message) == SQLITE_OK)
		fail_msg("taken: %s", sql);
	if (!strstr(message, part))
		fail_msg("%s: '%s' does not say '%s'", sql, message, part);
	sqlite3_free(message);
	sqlite3_close(db);
}

#define COPY_DECISION(id, prev)                                                                    \
	"INSERT INTO decisions(id,time_utc_ms,verdict,would_be,act,step,held_ms,policy,inputs,"    \
	"decision,prev,hash) SELECT " id ",time_utc_ms,verdict,would_be,act,step,held_ms,policy,"  \
	"inputs,decision," prev ",hash FROM decisions WHERE id = 2"

static void the_schema_guards_itself(void **state)
{
	struct room *room = *state;

	room_open_store(room);
	room_record(room, 2, 0);
	refuses_sql(room, "UPDATE decisions SET verdict = 'allow'", "never changed");
	refuses_sql(room, "DELETE FROM decisions WHERE id = 1", "only up to the end");
	refuses_sql(room, COPY_DECISION("3", "prev"), "follow the head");
	refuses_sql(room, COPY_DECISION("2", "hash"), "greater than the last");
	refuses_sql(
		room, "REPLACE INTO decisions(id, time_utc_ms, verdict) VALUES(1, 2, 'deny')", "");
	refuses_sql(room, "UPDATE policies SET text = 'x'", "never changed");
	refuses_sql(room, "DELETE FROM policies", "never deleted");
	refuses_sql(room,
		"INSERT INTO segments VALUES(1,1,1,1,0,0,0,zeroblob(32),zeroblob(32),zeroblob(32),"
		"zeroblob(32))",
		"end with a decision");
	room_verifies(room, 2);
}

/* ---- tickets ---- */

static void fill_ticket(struct room *room, struct ticket *ticket, int64_t id)
{
	memset(ticket, 0, sizeof(*ticket));
	ticket->id = id;
	ticket->state = TICKET_HELD;
	ticket->request = room->in->request;
	ticket->worker = (struct worker){.pid = 4711, .start_ticks = 99, .boot_id = BOOT};
	strcpy(ticket->upid, "UPID:pve1:00001267:...");
	strcpy(ticket->nas, "nas1");
	ticket->asked_boot_ms = 1000;
	ticket->asked_utc_ms = T0;
	ticket->seen_boot_ms = 5000;
	ticket->held_boot_ms = OPT(1000);
	ticket->held_before_ms = 500;
	ticket->last = room->decision;
	ticket->last_decision_id = 1;
}

struct got {
	size_t n;
	struct ticket list[8];
};

static void take_ticket(void *data, const struct ticket *ticket)
{
	struct got *got = data;

	assert_true(got->n < 8);
	got->list[got->n++] = *ticket;
}

static void put_ticket(struct room *room, const struct ticket *ticket, enum ticket_state before)
{
	struct moment now = {.boot_ms = 6000, .utc_ms = T0 + 5000};

	store_begin(room->store);
	store_put_ticket(room->store, ticket, &now, before, "");
	MUST(store_commit(room->store, &err_of_must) == STORE_RECORDED);
}

static void live_tickets_come_back_in_order(void **state)
{
	struct room *room = *state;
	struct moment now = {.boot_ms = 9000, .utc_ms = T0 + 8000};
	struct got *got = calloc(1, sizeof(*got));
	struct ticket ticket;
	size_t unreadable = 7;

	room_open_store(room);
	fill_ticket(room, &ticket, 12);
	put_ticket(room, &ticket, TICKET_NONE);
	fill_ticket(room, &ticket, 3);
	put_ticket(room, &ticket, TICKET_NONE);
	fill_ticket(room, &ticket, 5);
	put_ticket(room, &ticket, TICKET_NONE);
	ticket.state = TICKET_WITHDRAWN;
	put_ticket(room, &ticket, TICKET_HELD);
	room_reopen(room);
	MUST(store_tickets_live(room->store, &now, take_ticket, got, &unreadable, &err_of_must));
	assert_int_equal(unreadable, 0);
	assert_int_equal(got->n, 2);
	fill_ticket(room, &ticket, 3);
	assert_memory_equal(&got->list[0], &ticket, sizeof(ticket));
	assert_int_equal(got->list[1].id, 12);
	assert_int_equal(store_next_ticket(room->store), 13);
	got->n = 0;
	MUST(store_tickets_ended(room->store, &now, 10, take_ticket, got, &err_of_must));
	assert_int_equal(got->n, 1);
	assert_int_equal(got->list[0].id, 5);
	assert_int_equal(got->list[0].state, TICKET_WITHDRAWN);
	/* The end of the hold is told once, with its length. */
	assert_int_equal(room_int(room, "SELECT held_ms FROM hold_tally WHERE n = 1"), 5500);
	assert_int_equal(room_int(room, "SELECT count(*) FROM ticket_events"), 4);
	free(got);
}

static void guests_grow_by_what_is_known(void **state)
{
	struct room *room = *state;
	struct store_guest guest = {.ticket = 1,
		.guest = 100,
		.mode = "snapshot",
		.outcome = "running",
		.began_utc_ms = T0};

	room_open_store(room);
	store_begin(room->store);
	store_put_guest(room->store, &guest);
	guest = (struct store_guest){
		.ticket = 1, .guest = 100, .outcome = "done", .ended_utc_ms = T0 + 9};
	store_put_guest(room->store, &guest);
	MUST(store_commit(room->store, &err_of_must) == STORE_RECORDED);
	assert_int_equal(room_int(room,
				 "SELECT count(*) FROM guests WHERE mode = 'snapshot' AND"
				 " outcome = 'done' AND ended_utc_ms - began_utc_ms = 9"),
		1);
}

/* ---- overrides ---- */

static void fill_override(struct override *override)
{
	memset(override, 0, sizeof(*override));
	override->verdict = VERDICT_ALLOW;
	strcpy(override->storage, "backup");
	strcpy(override->by, "anna");
	strcpy(override->reason, "the quarterly backup must run");
	override->created_utc_ms = T0;
	override->until_utc_ms = T0 + 1000;
}

static void add_override(struct room *room, struct override *override)
{
	store_begin(room->store);
	MUST(store_override_add(room->store, override, &err_of_must));
	MUST(store_commit(room->store, &err_of_must) == STORE_RECORDED);
}

static void an_override_is_in_force_until_its_end(void **state)
{
	struct room *room = *state;
	struct override override, got[4];

	room_open_store(room);
	fill_override(&override);
	store_begin(room->store);
	MUST(store_override_add(room->store, &override, &err_of_must));
	assert_int_equal(store_overrides(room->store, T0, got, 4), 0); /* not yet committed */
	MUST(store_commit(room->store, &err_of_must) == STORE_RECORDED);
	assert_int_equal(override.id, 1);
	room_reopen(room);
	assert_int_equal(store_overrides(room->store, T0 + 999, got, 4), 1);
	assert_memory_equal(&got[0], &override, sizeof(override));
	assert_int_equal(store_overrides(room->store, T0 + 1000, got, 4), 0);
	fill_override(&override);
	add_override(room, &override);
	assert_int_equal(override.id, 2);
}

static void see_override(void *data, const struct store_override *override)
{
	*(struct store_override *)data = *override;
}

static void an_override_is_cancelled_once(void **state)
{
	struct room *room = *state;
	struct store_override seen = {0};
	struct override override, got[4];
	struct err err = {0};

	room_open_store(room);
	fill_override(&override);
	add_override(room, &override);
	store_begin(room->store);
	MUST(store_override_cancel(room->store, 1, "bert", T0 + 5, &err_of_must));
	MUST(store_commit(room->store, &err_of_must) == STORE_RECORDED);
	assert_int_equal(store_overrides(room->store, T0 + 6, got, 4), 0);
	assert_false(store_override_cancel(room->store, 1, "bert", T0 + 7, &err));
	assert_int_equal(err.kind, ERR_NOTFOUND);
	room_reopen(room);
	assert_int_equal(store_overrides(room->store, T0 + 6, got, 4), 0);
	MUST(store_overrides_all(room->store, 10, see_override, &seen, &err_of_must));
	assert_int_equal(seen.cancelled_utc_ms, T0 + 5);
	assert_string_equal(seen.cancelled_by, "bert");
	refuses_sql(room, "UPDATE overrides SET cancelled_by = 'x'", "only be cancelled");
	refuses_sql(room, "DELETE FROM overrides", "never deleted");
}

static void an_override_needs_reason_person_and_end(void **state)
{
	struct room *room = *state;
	struct override override;
	struct err err = {0};

	room_open_store(room);
	fill_override(&override);
	override.reason[0] = '\0';
	assert_false(store_override_add(room->store, &override, &err));
	assert_int_equal(err.kind, ERR_INVALID);
	fill_override(&override);
	override.by[0] = '\0';
	assert_false(store_override_add(room->store, &override, &err));
	fill_override(&override);
	override.until_utc_ms = override.created_utc_ms;
	assert_false(store_override_add(room->store, &override, &err));
	fill_override(&override);
	override.verdict = VERDICT_NONE;
	assert_false(store_override_add(room->store, &override, &err));
	refuses_sql(room,
		"INSERT INTO overrides(verdict, created_utc_ms, until_utc_ms, by, reason)"
		" VALUES('allow', 5, 5, 'x', 'y')",
		"CHECK");
}

/* ---- the rest ---- */

static void readings_are_thinned(void **state)
{
	struct room *room = *state;
	struct nas_facts *facts = &room->in->facts;
	struct moment now = {.boot_ms = 1000, .utc_ms = T0};
	int i;

	room_open_store(room);
	store_begin(room->store);
	for (i = 0; i < 10; i++) { /* 100 s of the same, each with more progress */
		facts->arrays[0].progress_ppm.v++;
		store_add_reading(room->store, facts, &now);
		now.boot_ms += 10000;
		now.utc_ms += 10000;
	}
	facts->arrays[0].operation = MD_OP_IDLE;
	store_add_reading(room->store, facts, &now);
	now.boot_ms += 5 * MS_MINUTE;
	store_add_reading(room->store, facts, &now);
	MUST(store_commit(room->store, &err_of_must) == STORE_RECORDED);
	assert_int_equal(room_int(room, "SELECT count(*) FROM readings"), 3);
}

static void memory_is_kept_by_nas(void **state)
{
	struct room *room = *state;
	struct buf text = {0};
	struct err err = {0};
	struct store_lever lever = {.utc_ms = T0,
		.lever = "pbs",
		.target = "pbs1",
		.before = "none",
		.after = "50 MB/s"};

	room_open_store(room);
	store_begin(room->store);
	store_put_memory(room->store, "nas1", "{\"a\":1}", T0);
	store_put_memory(room->store, "nas1", "{\"a\":2}", T0 + 1);
	store_add_lever(room->store, &lever);
	MUST(store_commit(room->store, &err_of_must) == STORE_RECORDED);
	MUST(store_memory(room->store, "nas1", &text, &err_of_must));
	assert_string_equal(text.data, "{\"a\":2}");
	assert_false(store_memory(room->store, "nas2", &text, &err));
	assert_int_equal(err.kind, ERR_NOTFOUND);
	assert_int_equal(
		room_int(room, "SELECT count(*) FROM lever_actions WHERE ticket IS NULL"), 1);
	buf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROOM_TEST(the_files_are_for_their_owner_only),
		ROOM_TEST(a_newer_schema_is_refused),
		ROOM_TEST(another_programs_database_is_refused),
		ROOM_TEST(a_second_writer_is_refused),
		ROOM_TEST(a_symbolic_link_is_not_followed),
		ROOM_TEST(a_step_is_taken_once_and_a_copy_is_kept_before_it),
		ROOM_TEST(decisions_get_ids_in_order_and_survive),
		ROOM_TEST(a_batch_is_all_or_nothing),
		ROOM_TEST(a_decision_comes_back_as_it_was),
		ROOM_TEST(the_tables_for_people_read_well),
		ROOM_TEST(the_schema_guards_itself),
		ROOM_TEST(live_tickets_come_back_in_order),
		ROOM_TEST(guests_grow_by_what_is_known),
		ROOM_TEST(an_override_is_in_force_until_its_end),
		ROOM_TEST(an_override_is_cancelled_once),
		ROOM_TEST(an_override_needs_reason_person_and_end),
		ROOM_TEST(readings_are_thinned),
		ROOM_TEST(memory_is_kept_by_nas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
