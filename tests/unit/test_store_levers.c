// SPDX-License-Identifier: MIT
/* What was done to levers: written before it is done, and enough to put everything back. */
#include "store_room.h"

struct list {
	size_t n;
	char text[8][200];
};

static void take(void *data, const struct store_lever *action)
{
	struct list *list = data;

	assert_true(list->n < 8);
	snprintf(list->text[list->n++], sizeof(list->text[0]), "%s %s: %s -> %s%s%s%s",
		action->lever, action->target, action->before ? action->before : "-",
		action->after ? action->after : "-", action->put_back ? ", back" : "",
		action->why ? ", " : "", action->why ? action->why : "");
}

static void act(struct room *room, enum store_where where, const char *lever, const char *target,
	const char *before, const char *after, bool put_back)
{
	const struct store_lever action = {.utc_ms = T0,
		.ticket = 17,
		.lever = lever,
		.target = target,
		.before = before,
		.after = after,
		.why = put_back ? NULL : "md2 rebuilds",
		.put_back = put_back};

	store_begin(room->store);
	store_add_lever(room->store, &action);
	assert_int_equal(store_commit(room->store, &err_of_must), where);
}

static void moved(struct room *room, size_t n, const char *first, const char *second)
{
	struct list list = {0};

	MUST(store_levers_moved(room->store, take, &list, &err_of_must));
	assert_int_equal(list.n, n);
	if (n > 0)
		assert_string_equal(list.text[0], first);
	if (n > 1)
		assert_string_equal(list.text[1], second);
}

static void what_was_not_put_back_is_moved(void **state)
{
	struct room *room = *state;

	room_open_store(room);
	moved(room, 0, NULL, NULL);
	act(room, STORE_RECORDED, "traffic-control", "pbs1", "none", "50 MB/s", false);
	act(room, STORE_RECORDED, "sync-speed", "nas1/md2", "system", "100 MB/s", false);
	act(room, STORE_RECORDED, "traffic-control", "pbs1", "none", "20 MB/s", false);
	moved(room, 2, "sync-speed nas1/md2: system -> 100 MB/s, md2 rebuilds",
		"traffic-control pbs1: none -> 20 MB/s, md2 rebuilds");
	act(room, STORE_RECORDED, "sync-speed", "nas1/md2", "system", "system", true);
	room_reopen(room);
	moved(room, 1, "traffic-control pbs1: none -> 20 MB/s, md2 rebuilds", NULL);
	act(room, STORE_RECORDED, "traffic-control", "pbs1", "none", "none", true);
	moved(room, 0, NULL, NULL);
}

static void what_waits_in_the_spill_counts(void **state)
{
	struct room *room = *state;
	sqlite3 *other = NULL;

	room_open_store(room);
	act(room, STORE_RECORDED, "traffic-control", "pbs1", "none", "50 MB/s", false);
	assert_int_equal(sqlite3_open(room->db, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	act(room, STORE_SPILLED, "traffic-control", "pbs1", "none", "none", true);
	act(room, STORE_SPILLED, "check", "nas1/md2", "check", "paused", false);
	moved(room, 1, "check nas1/md2: check -> paused, md2 rebuilds", NULL);
	sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL);
	sqlite3_close(other);
	room_reopen(room);
	moved(room, 1, "check nas1/md2: check -> paused, md2 rebuilds", NULL);
}

static void actions_are_listed_newest_first(void **state)
{
	struct room *room = *state;
	struct list list = {0};

	room_open_store(room);
	act(room, STORE_RECORDED, "block-jobs", "pve1/101", "free", "limit 10 MB/s", false);
	act(room, STORE_RECORDED, "block-jobs", "pve1/101", "free", "free", true);
	MUST(store_lever_actions(room->store, 10, take, &list, &err_of_must));
	assert_int_equal(list.n, 2);
	assert_string_equal(list.text[0], "block-jobs pve1/101: free -> free, back");
	list.n = 0;
	MUST(store_lever_actions(room->store, 1, take, &list, &err_of_must));
	assert_int_equal(list.n, 1);
}

static void an_action_is_never_changed(void **state)
{
	struct room *room = *state;
	sqlite3 *db = NULL;

	room_open_store(room);
	act(room, STORE_RECORDED, "block-jobs", "pve1/101", "free", "pause", false);
	assert_int_equal(sqlite3_open(room->db, &db), SQLITE_OK);
	assert_int_not_equal(
		sqlite3_exec(db, "UPDATE lever_actions SET put_back = 1", NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
	moved(room, 1, "block-jobs pve1/101: free -> pause, md2 rebuilds", NULL);
}

static void old_actions_go_but_the_last_of_each_lever_stays(void **state)
{
	struct room *room = *state;
	bool more = true;

	room_open_store(room);
	act(room, STORE_RECORDED, "traffic-control", "pbs1", "none", "50 MB/s", false);
	act(room, STORE_RECORDED, "traffic-control", "pbs1", "none", "20 MB/s", false);
	act(room, STORE_RECORDED, "sync-speed", "nas1/md2", "system", "100 MB/s", false);
	while (more)
		MUST(store_retain(room->store, T0 + 1000, T0 + 2000, 500, &more, &err_of_must));
	assert_int_equal(room_int(room, "SELECT count(*) FROM lever_actions"), 2);
	moved(room, 2, "traffic-control pbs1: none -> 20 MB/s, md2 rebuilds",
		"sync-speed nas1/md2: system -> 100 MB/s, md2 rebuilds");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROOM_TEST(what_was_not_put_back_is_moved),
		ROOM_TEST(what_waits_in_the_spill_counts),
		ROOM_TEST(actions_are_listed_newest_first),
		ROOM_TEST(an_action_is_never_changed),
		ROOM_TEST(old_actions_go_but_the_last_of_each_lever_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
