// SPDX-License-Identifier: MIT
/* When the database cannot be written: the spill, and the way back. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "store/spill.h"
#include "store_room.h"

/* ---- the spill by itself ---- */

static void append(struct spill *spill, const char *text)
{
	MUST(spill_append(spill, text, strlen(text), &err_of_must));
}

/* All frames joined with '|'. */
static void frames(struct spill *spill, const char *want)
{
	struct buf all = {0}, one = {0};
	size_t offset = 0;
	uint64_t seq = 0, last = 0;

	while (spill_read(spill, &offset, &one, &seq)) {
		assert_int_equal(seq, ++last);
		buf_add(&all, one.data, one.len);
		buf_addc(&all, '|');
	}
	assert_string_equal(buf_str(&all), want);
	assert_int_equal(spill_last(spill), last);
	buf_release(&all);
	buf_release(&one);
}

static struct spill *open_spill(const struct room *room)
{
	struct spill *spill = NULL;

	MUST(spill_open(room->spill, SPILL_BYTES_MIN, &spill, &err_of_must));
	return spill;
}

static void frames_survive(void **state)
{
	struct spill *spill = open_spill(*state);

	assert_true(spill_is_new(spill));
	frames(spill, "");
	append(spill, "one");
	append(spill, "two");
	spill_close(spill);
	spill = open_spill(*state);
	assert_false(spill_is_new(spill));
	assert_int_equal(spill_count(spill), 2);
	append(spill, "three");
	frames(spill, "one|two|three|");
	spill_close(spill);
}

static void a_reset_forgets_all_frames(void **state)
{
	struct spill *spill = open_spill(*state);
	unsigned char epoch[SPILL_EPOCH_LEN];

	memcpy(epoch, spill_epoch(spill), sizeof(epoch));
	append(spill, "a long one that reaches beyond the next");
	append(spill, "two");
	MUST(spill_reset(spill, &err_of_must));
	assert_memory_not_equal(epoch, spill_epoch(spill), sizeof(epoch));
	append(spill, "new");
	frames(spill, "new|");
	spill_close(spill);
	spill = open_spill(*state);
	frames(spill, "new|");
	spill_close(spill);
}

static void change_byte(const struct room *room, off_t at)
{
	int fd = open(room->spill, O_RDWR | O_CLOEXEC);
	char c;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &c, 1, at), 1);
	c = (char)~c;
	assert_int_equal(pwrite(fd, &c, 1, at), 1);
	close(fd);
}

static void a_cut_frame_never_was(void **state)
{
	struct spill *spill = open_spill(*state);

	append(spill, "one");
	append(spill, "two");
	spill_close(spill);
	change_byte(*state, 8192 + 64 + 3 + 64 + 1); /* in the second frame's data */
	spill = open_spill(*state);
	frames(spill, "one|");
	append(spill, "TWO");
	frames(spill, "one|TWO|");
	spill_close(spill);
}

static void one_broken_header_slot_is_survived(void **state)
{
	struct spill *spill = open_spill(*state);

	append(spill, "one");
	MUST(spill_set_mark(spill, 1, 5000, &err_of_must)); /* the second slot that is written */
	spill_close(spill);
	change_byte(*state, 20); /* the newer one: what it said is lost, the frames are not */
	spill = open_spill(*state);
	frames(spill, "one|");
	assert_int_equal(spill_mark(spill, 1), 0);
	spill_close(spill);
}

static void marks_only_rise_and_outlive_a_reset(void **state)
{
	struct spill *spill = open_spill(*state);

	MUST(spill_set_mark(spill, 0, 1000, &err_of_must));
	MUST(spill_set_mark(spill, 0, 900, &err_of_must));
	append(spill, "one");
	MUST(spill_reset(spill, &err_of_must));
	spill_close(spill);
	spill = open_spill(*state);
	assert_int_equal(spill_mark(spill, 0), 1000);
	spill_close(spill);
}

static void a_full_spill_says_so_and_keeps_what_it_has(void **state)
{
	struct spill *spill = open_spill(*state);
	char data[20000];
	struct err err = {0};
	int n = 0;

	memset(data, 'x', sizeof(data));
	while (spill_append(spill, data, sizeof(data), &err))
		n++;
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_int_equal(n, 2); /* 64 KiB, less the header */
	assert_int_equal(spill_count(spill), 2);
	append(spill, "a small one still fits");
	spill_close(spill);
}

static void what_is_no_spill_is_not_overwritten(void **state)
{
	struct room *room = *state;
	struct spill *spill = NULL;
	char text[SPILL_BYTES_MIN];
	struct err err = {0};
	int fd = open(room->spill, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	memset(text, 'k', sizeof(text));
	assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
	close(fd);
	assert_false(spill_open(room->spill, SPILL_BYTES_MIN, &spill, &err));
	assert_int_equal(err.kind, ERR_CORRUPT);
}

/* ---- the store with it ---- */

/* Somebody holds the database with a transaction of their own, as a person in a shell may. */
static sqlite3 *hold_database(const struct room *room)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(room->db, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	return db;
}

static int64_t commit_one(struct room *room, enum store_where want, int64_t after_ms)
{
	struct err err = {0};
	int64_t id;

	store_begin(room->store);
	id = room_put(room, after_ms, 0);
	if (store_commit(room->store, &err) != want)
		fail_msg("not %d: %s", (int)want, err.text);
	if (want != STORE_RECORDED)
		assert_true(err.kind != ERR_NONE && strlen(err.text) > 10);
	return id;
}

static void heals(struct room *room)
{
	struct store_health health;

	struct err err = {0};

	while (!store_heal(room->store, &err)) {
		store_health(room->store, &health);
		if (!health.ok || !health.spilled)
			fail_msg("%s", err.text);
	}
	store_health(room->store, &health);
	assert_true(health.ok);
	assert_int_equal(health.spilled, 0);
}

static void a_locked_database_spills_and_ids_stay(void **state)
{
	struct room *room = *state;
	struct store_health health;
	sqlite3 *other;

	room_open_store(room);
	room_record(room, 2, 0);
	other = hold_database(room);
	assert_int_equal(commit_one(room, STORE_SPILLED, 3000), 3);
	assert_int_equal(commit_one(room, STORE_SPILLED, 4000), 4);
	store_health(room->store, &health);
	assert_false(health.ok);
	assert_int_equal(health.why.kind, ERR_BUSY);
	assert_int_equal(health.spilled, 2);
	assert_false(store_heal(room->store, &err_of_must));
	sqlite3_close(other);
	heals(room);
	assert_int_equal(commit_one(room, STORE_RECORDED, 5000), 5);
	room_verifies(room, 5);
	assert_int_equal(
		room_int(room, "SELECT (time_utc_ms - 1790000000000) FROM decisions WHERE id = 4"),
		4000);
}

static void what_was_spilled_is_taken_in_at_the_next_start(void **state)
{
	struct room *room = *state;
	sqlite3 *other;

	room_open_store(room);
	room_record(room, 1, 0);
	other = hold_database(room);
	commit_one(room, STORE_SPILLED, 1000);
	room_close_store(room);
	sqlite3_close(other);
	room_open_store(room);
	room_verifies(room, 2);
	assert_int_equal(room_record(room, 1, 2000), 3);
}

/* A crash between the last frame's commit and the spill's reset: the frames are there again. */
static void taking_in_twice_is_taking_in_once(void **state)
{
	struct room *room = *state;
	char copy[SPILL_BYTES_MIN * 2];
	sqlite3 *other;
	int fd;

	room_open_store(room);
	room_record(room, 1, 0);
	other = hold_database(room);
	commit_one(room, STORE_SPILLED, 1000);
	commit_one(room, STORE_SPILLED, 2000);
	sqlite3_close(other);
	fd = open(room->spill, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, copy, sizeof(copy), 0), sizeof(copy));
	heals(room);
	room_close_store(room);
	room_verifies(room, 3);
	assert_int_equal(pwrite(fd, copy, sizeof(copy), 0), sizeof(copy));
	close(fd);
	room_open_store(room);
	room_verifies(room, 3);
	assert_int_equal(room_record(room, 1, 3000), 4);
	room_verifies(room, 4);
}

static void a_live_ticket_and_an_override_in_the_spill_count(void **state)
{
	struct room *room = *state;
	struct moment now = {.boot_ms = 1, .utc_ms = T0};
	struct ticket *ticket = calloc(1, sizeof(*ticket));
	struct override override = {.verdict = VERDICT_ALLOW,
		.by = "anna",
		.reason = "restore test",
		.created_utc_ms = T0,
		.until_utc_ms = T0 + 10};
	struct override got[2];
	sqlite3 *other;

	room_open_store(room);
	room_record(room, 1, 0);
	other = hold_database(room);
	ticket->id = 9;
	ticket->state = TICKET_HELD;
	store_begin(room->store);
	store_put_ticket(room->store, ticket, &now, TICKET_NONE, "");
	MUST(store_override_add(room->store, &override, &err_of_must));
	assert_int_equal(store_commit(room->store, NULL), STORE_SPILLED);
	assert_int_equal(store_overrides(room->store, T0, got, 2), 1);
	sqlite3_close(other);
	room_reopen(room);
	assert_int_equal(store_overrides(room->store, T0, got, 2), 1);
	assert_int_equal(store_next_ticket(room->store), 10);
	assert_int_equal(room_int(room, "SELECT count(*) FROM tickets WHERE state = 'held'"), 1);
	free(ticket);
}

struct lines {
	int n;
	bool seen;
};

static void count_line(void *data, const char *json)
{
	struct lines *lines = data;

	lines->n++;
	lines->seen |= strstr(json, "\"id\":") && strstr(json, "\"rule\":\"rebuild\"");
}

static void past_the_spill_a_batch_is_lost_with_its_id(void **state)
{
	struct room *room = *state;
	struct store_report report;
	struct store_health health;
	struct lines lines = {0};
	enum store_where where = STORE_SPILLED;
	sqlite3 *other;
	int64_t id = 0, lost;

	room_open_store(room);
	room_record(room, 1, 0);
	other = hold_database(room);
	while (where == STORE_SPILLED) {
		struct err err = {0};

		store_begin(room->store);
		id = room_put(room, 1000, 0);
		where = store_commit(room->store, &err);
		assert_true(id < 1000);
	}
	assert_int_equal(where, STORE_LOST);
	store_lost_each(room->store, count_line, &lines);
	assert_true(lines.seen);
	store_health(room->store, &health);
	assert_int_equal(health.lost, 1);
	lost = id;
	sqlite3_close(other);
	heals(room);
	assert_int_equal(commit_one(room, STORE_RECORDED, 2000), lost + 1);
	room_verify(room, NULL, &report);
	assert_int_equal(report.faults, 0);
	assert_int_equal(report.unused, 1);
	assert_int_equal(report.decisions, lost);
}

/* In a child, so that the limit and the user end with it. */
static void in_child(struct room *room, void (*run)(struct room *room))
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		run(room);
		store_close(room->store);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("the child failed (%d)", status);
}

#define CHILD(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static enum store_where child_commit(struct room *room, struct err *err)
{
	store_begin(room->store);
	CHILD(room_put(room, 1000, 0) > 0);
	return store_commit(room->store, err);
}

/* RLIMIT_FSIZE stands for a full disk: files do not grow any more. SQLite sees EFBIG. */
static void run_full(struct room *room)
{
	struct rlimit limit = {0};
	struct err err = {0};
	struct store_health health;
	int i;

	signal(SIGXFSZ, SIG_IGN);
	CHILD(child_commit(room, &err) == STORE_RECORDED);
	CHILD(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	limit.rlim_cur = 128 << 10; /* the spill as it is; the log of the database is larger */
	CHILD(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	for (i = 0; i < 200 && child_commit(room, &err) == STORE_RECORDED; i++)
		;
	CHILD(i < 200);
	store_health(room->store, &health);
	CHILD(!health.ok && health.spilled == 1);
	CHILD(child_commit(room, &err) == STORE_SPILLED);
	CHILD(!store_heal(room->store, &err));
	limit.rlim_cur = limit.rlim_max;
	CHILD(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	CHILD(store_heal(room->store, &err));
	CHILD(child_commit(room, &err) == STORE_RECORDED);
}

static void a_full_disk_spills_and_heals(void **state)
{
	struct room *room = *state;
	struct store_report report;

	room_open_store(room);
	in_child(room, run_full);
	room_reopen(room);
	room_verify(room, NULL, &report);
	assert_int_equal(report.faults, 0);
	assert_int_equal(report.unused, 0);
	assert_int_equal(report.head.id, report.decisions);
}

static void run_unwritable(struct room *room)
{
	struct store_health health;
	struct err err = {0};

	if (getuid() == 0)
		CHILD(setgid(65534) == 0 && setuid(65534) == 0);
	room_open_store(room);
	store_health(room->store, &health);
	CHILD(!health.ok && health.why.kind != ERR_NONE);
	CHILD(child_commit(room, &err) == STORE_SPILLED);
}

static void an_unwritable_file_spills(void **state)
{
	struct room *room = *state;
	struct store_health health;

	room_open_store(room);
	room_record(room, 1, 0);
	room_close_store(room);
	assert_int_equal(chmod(room->folder, 0777), 0);
	assert_int_equal(chmod(room->db, 0444), 0);
	assert_int_equal(chmod(room->spill, 0666), 0);
	in_child(room, run_unwritable);
	assert_int_equal(chmod(room->db, 0600), 0);
	room_open_store(room);
	store_health(room->store, &health);
	assert_true(health.ok);
	room_verify(room, NULL, &(struct store_report){0});
	assert_int_equal(room_int(room, "SELECT count(*) FROM decisions"), 2);
}

static void run_reader(struct room *room)
{
	struct store_report report;
	struct err err = {0};

	if (getuid() == 0)
		CHILD(setgid(65534) == 0 && setuid(65534) == 0);
	CHILD(store_open_reader(room->db, &room->store, &err));
	CHILD(store_verify(room->store, NULL, NULL, NULL, &report, &err));
	CHILD(report.decisions == 2 && report.faults == 0);
	store_begin(room->store);
	CHILD(room_put(room, 9000, 0) == 0 || store_commit(room->store, &err) == STORE_LOST);
}

/* The daemon is down, and the folder is not ours: there is nowhere to put a -shm file. */
static void a_reader_needs_no_right_to_write(void **state)
{
	struct room *room = *state;

	room_open_store(room);
	room_record(room, 2, 0);
	room_close_store(room);
	assert_int_equal(access(room->db, F_OK), 0);
	assert_int_equal(chmod(room->folder, 0555), 0);
	assert_int_equal(chmod(room->db, 0444), 0);
	in_child(room, run_reader);
	assert_int_equal(chmod(room->folder, 0700), 0);
	room_verifies(room, 2);
}

static void a_removed_database_is_noticed_and_made_anew(void **state)
{
	struct room *room = *state;
	char away[128];

	room_open_store(room);
	room_record(room, 3, 0);
	snprintf(away, sizeof(away), "%s/old.db", room->folder);
	assert_int_equal(rename(room->db, away), 0);
	assert_int_equal(commit_one(room, STORE_SPILLED, 4000), 4);
	snprintf(away, sizeof(away), "%s-wal", room->db);
	unlink(away);
	snprintf(away, sizeof(away), "%s-shm", room->db);
	unlink(away);
	heals(room);
	assert_int_equal(commit_one(room, STORE_RECORDED, 5000), 5);
	room_verifies(room, 2); /* the policy's text is there as well */
	assert_int_equal(room_int(room, "SELECT min(id) FROM decisions"), 4);
}

static void damage(const struct room *room)
{
	char noise[8192];
	int fd = open(room->db, O_RDWR | O_CLOEXEC);

	memset(noise, 0x5a, sizeof(noise));
	assert_int_equal(pwrite(fd, noise, sizeof(noise), 100), sizeof(noise));
	close(fd);
}

static void a_damaged_database_spills_until_it_is_replaced(void **state)
{
	struct room *room = *state;
	struct store_health health;
	struct err err = {0};
	char away[128];
	int64_t id;

	room_open_store(room);
	room_record(room, 20, 0);
	room_close_store(room);
	damage(room);
	room_open_store(room);
	store_health(room->store, &health);
	assert_false(health.ok);
	assert_int_equal(health.why.kind, ERR_CORRUPT);
	/* Ids go on above every one that was given, though the database cannot be asked. */
	id = commit_one(room, STORE_SPILLED, 30000);
	assert_true(id > 20);
	assert_false(store_heal(room->store, &err));
	assert_int_equal(err.kind, ERR_CORRUPT);
	snprintf(away, sizeof(away), "%s/old.db", room->folder);
	assert_int_equal(rename(room->db, away), 0);
	heals(room);
	assert_int_equal(room_int(room, "SELECT id FROM decisions"), id);
	assert_int_equal(commit_one(room, STORE_RECORDED, 31000), id + 1);
	room_verifies(room, 2);
}

static void without_database_and_marks_ids_come_later(void **state)
{
	struct room *room = *state;
	char away[128];

	room_open_store(room);
	room_record(room, 2, 0);
	room_close_store(room);
	damage(room);
	unlink(room->spill);
	room_open_store(room);
	assert_int_equal(commit_one(room, STORE_SPILLED, 3000), 0);
	snprintf(away, sizeof(away), "%s/old.db", room->folder);
	assert_int_equal(rename(room->db, away), 0);
	heals(room);
	assert_int_equal(room_int(room, "SELECT id FROM decisions"), 1);
	assert_int_equal(commit_one(room, STORE_RECORDED, 4000), 2);
	room_verifies(room, 2);
}

static void a_row_that_the_database_refuses_does_not_block_the_rest(void **state)
{
	struct room *room = *state;
	struct store_health health;
	sqlite3 *other;

	room_open_store(room);
	room_record(room, 1, 0);
	other = hold_database(room);
	store_begin(room->store);
	room->decision.step = 77; /* no such step: a CHECK of the table */
	room_put(room, 1000, 0);
	room->decision.step = 5;
	room_put(room, 2000, 0);
	assert_int_equal(store_commit(room->store, NULL), STORE_SPILLED);
	sqlite3_close(other);
	heals(room);
	store_health(room->store, &health);
	assert_int_equal(health.lost, 1);
	assert_int_equal(room_int(room, "SELECT count(*) FROM decisions"), 2);
	room_verifies(room, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROOM_TEST(frames_survive),
		ROOM_TEST(a_reset_forgets_all_frames),
		ROOM_TEST(a_cut_frame_never_was),
		ROOM_TEST(one_broken_header_slot_is_survived),
		ROOM_TEST(marks_only_rise_and_outlive_a_reset),
		ROOM_TEST(a_full_spill_says_so_and_keeps_what_it_has),
		ROOM_TEST(what_is_no_spill_is_not_overwritten),
		ROOM_TEST(a_locked_database_spills_and_ids_stay),
		ROOM_TEST(what_was_spilled_is_taken_in_at_the_next_start),
		ROOM_TEST(taking_in_twice_is_taking_in_once),
		ROOM_TEST(a_live_ticket_and_an_override_in_the_spill_count),
		ROOM_TEST(past_the_spill_a_batch_is_lost_with_its_id),
		ROOM_TEST(a_full_disk_spills_and_heals),
		ROOM_TEST(an_unwritable_file_spills),
		ROOM_TEST(a_reader_needs_no_right_to_write),
		ROOM_TEST(a_removed_database_is_noticed_and_made_anew),
		ROOM_TEST(a_damaged_database_spills_until_it_is_replaced),
		ROOM_TEST(without_database_and_marks_ids_come_later),
		ROOM_TEST(a_row_that_the_database_refuses_does_not_block_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
