// SPDX-License-Identifier: MIT
/* Pages and tallies. */
#include "store_room.h"

/* 30 decisions: storage s0..s2 in turns, node n0/n1, guest 100..., every 10th one denied; the clock
 * steps back by 15 s after the 20th. */
static void thirty(struct room *room)
{
	int i;

	room_open_store(room);
	for (i = 0; i < 30; i++) {
		snprintf(room->in->request.storage, STORAGE_NAME_MAX, "s%d", i % 3);
		snprintf(room->in->request.node, NODE_NAME_MAX, "n%d", i % 2);
		snprintf(room->in->mapping.nas, NAS_NAME_MAX, "nas%d", i % 5);
		snprintf(room->decision.rule, RULE_NAME_MAX, "rule%d", i % 6);
		room->in->request.guest = i < 10 ? 0 : 100 + (uint32_t)i;
		room->decision.verdict = i % 10 == 9 ? VERDICT_DENY : VERDICT_HOLD;
		store_begin(room->store);
		room_put(room, i * 1000 - (i >= 20 ? 15000 : 0), i / 3);
		MUST(store_commit(room->store, &err_of_must) == STORE_RECORDED);
	}
}

struct ids {
	struct buf text;
	int stop_after;
};

static bool note_id(void *data, const struct store_row *row)
{
	struct ids *ids = data;

	buf_addf(&ids->text, "%lld ", (long long)row->id);
	return --ids->stop_after != 0;
}

/* Follows the pages to the end and compares all ids. */
static void pages(struct room *room, struct store_filter filter, const char *want)
{
	struct ids ids = {0};
	int64_t next = 0;
	int n = 0;

	do {
		MUST(store_log(room->store, &filter, 0, note_id, &ids, &next, &err_of_must));
		if (filter.after.known)
			filter.after.v = next;
		else
			filter.before = next;
		assert_true(++n < 100);
	} while (next);
	assert_string_equal(buf_str(&ids.text), want);
	buf_release(&ids.text);
}

static void newest_first_in_pages(void **state)
{
	thirty(*state);
	pages(*state, (struct store_filter){.limit = 7},
		"30 29 28 27 26 25 24 23 22 21 20 19 18 17 16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 "
		"1 ");
	pages(*state, (struct store_filter){.before = 3}, "2 1 ");
	pages(*state, (struct store_filter){.before = 1}, "");
}

static void ascending_after_an_id(void **state)
{
	thirty(*state);
	pages(*state, (struct store_filter){.after = OPT(26), .limit = 3}, "27 28 29 30 ");
	pages(*state, (struct store_filter){.after = OPT(0), .storage = "s2", .limit = 4},
		"3 6 9 12 15 18 21 24 27 30 ");
	pages(*state, (struct store_filter){.after = OPT(30)}, "");
}

static void each_filter_filters(void **state)
{
	thirty(*state);
	pages(*state, (struct store_filter){.storage = "s1", .node = "n1"}, "26 20 14 8 2 ");
	pages(*state, (struct store_filter){.nas = "nas4"}, "30 25 20 15 10 5 ");
	pages(*state, (struct store_filter){.rule = "rule5"}, "30 24 18 12 6 ");
	pages(*state, (struct store_filter){.verdict = VERDICT_DENY}, "30 20 10 ");
	pages(*state, (struct store_filter){.guest = 112}, "13 ");
	pages(*state, (struct store_filter){.ticket = 4}, "15 14 13 ");
	pages(*state, (struct store_filter){.decision = 17}, "17 ");
	pages(*state, (struct store_filter){.decision = 17, .storage = "s9"}, "");
	pages(*state, (struct store_filter){.storage = "nothing"}, "");
}

static void time_is_filtered_though_the_clock_stepped(void **state)
{
	thirty(*state);
	/* 5 s to 8 s: rows 6, 7, 8, and after the step back 21, 22, 23. */
	pages(*state,
		(struct store_filter){
			.since_utc_ms = OPT(T0 + 5000), .until_utc_ms = OPT(T0 + 8000)},
		"23 22 21 8 7 6 ");
	pages(*state, (struct store_filter){.since_utc_ms = OPT(T0 + 18000)}, "20 19 ");
	pages(*state, (struct store_filter){.until_utc_ms = OPT(T0 + 2000)}, "2 1 ");
	pages(*state, (struct store_filter){.since_utc_ms = OPT(T0 + 99999)}, "");
	pages(*state, (struct store_filter){.since_utc_ms = OPT(0), .storage = "s0", .limit = 5},
		"28 25 22 19 16 13 10 7 4 1 ");
}

static void a_caller_may_stop(void **state)
{
	struct room *room = *state;
	struct store_filter filter = {0};
	struct ids ids = {.stop_after = 2};
	int64_t next = 0;

	thirty(room);
	MUST(store_log(room->store, &filter, 0, note_id, &ids, &next, &err_of_must));
	assert_string_equal(ids.text.data, "30 29 ");
	assert_int_equal(next, 29);
	buf_clear(&ids.text);
	ids.stop_after = 3;
	MUST(store_walk(room->store, 10, note_id, &ids, &err_of_must));
	assert_string_equal(ids.text.data, "11 12 13 ");
	buf_release(&ids.text);
}

static void an_empty_record_has_an_empty_page(void **state)
{
	room_open_store(*state);
	pages(*state, (struct store_filter){0}, "");
	pages(*state, (struct store_filter){.since_utc_ms = OPT(5)}, "");
}

/* Many rows, none of which passes: the page is cut by its budget and goes on where it stopped. */
static void a_budget_cuts_a_page(void **state)
{
	struct room *room = *state;
	struct store_filter filter = {.storage = "backup", .node = "nowhere"};
	struct ids ids = {0};
	int64_t next = 0, before = INT64_MAX;
	int i, n = 0;

	room_open_store(room);
	store_begin(room->store);
	for (i = 0; i < 12000; i++)
		room_put(room, i, 0);
	MUST(store_commit(room->store, &err_of_must) == STORE_RECORDED);
	do {
		/* The budget is over before it begins: one window of ids for each page. */
		MUST(store_log(room->store, &filter, 1, note_id, &ids, &next, &err_of_must));
		assert_true(!next || next < before);
		before = filter.before = next;
		n++;
	} while (next);
	assert_true(n <= 3);
	assert_null(ids.text.data);
}

static int64_t of(const json_t *value, const char *counts, const char *name)
{
	const json_t *inner = counts ? json_object_get(value, counts) : value;

	return json_integer_value(json_object_get(inner, name));
}

static void stats_count_whole_hours(void **state)
{
	struct room *room = *state;
	int64_t hour = T0 - T0 % MS_HOUR;
	json_t *value = NULL;

	thirty(room);
	MUST(store_stats(room->store, T0, T0 + 1, &value, &err_of_must));
	assert_int_equal(of(value, NULL, "since_utc_ms"), hour);
	assert_int_equal(of(value, NULL, "until_utc_ms"), hour + MS_HOUR);
	assert_int_equal(of(value, NULL, "decisions"), 30);
	assert_int_equal(of(value, "verdicts", "deny"), 3);
	assert_int_equal(of(value, "verdicts", "hold"), 27);
	assert_int_equal(of(value, "storages", "s1"), 10);
	assert_int_equal(of(value, "nas", "nas4"), 6);
	assert_int_equal(of(value, "rules", "rule0"), 5);
	assert_int_equal(of(value, NULL, "holds"), 0);
	json_decref(value);
	MUST(store_stats(room->store, hour + MS_HOUR, INT64_MAX, &value, &err_of_must));
	assert_int_equal(of(value, NULL, "decisions"), 0);
	json_decref(value);
	MUST(store_stats(room->store, INT64_MIN, hour, &value, &err_of_must));
	assert_int_equal(of(value, NULL, "decisions"), 0);
	json_decref(value);
}

static void stats_of_many_days_have_exact_ends(void **state)
{
	static const int hours[] = {0, 2, 3, 23, 24, 47, 48, 71, 72, 73, 74, 100};
	struct room *room = *state;
	int64_t day = T0 - T0 % MS_DAY, from, to;
	size_t i, want;

	room_open_store(room);
	store_begin(room->store);
	for (i = 0; i < sizeof(hours) / sizeof(hours[0]); i++)
		room_put(room, day - T0 + hours[i] * MS_HOUR + 1, 0);
	MUST(store_commit(room->store, &err_of_must) == STORE_RECORDED);
	for (from = 0; from < 80; from++) {
		for (to = from; to < 80; to++) {
			json_t *value = NULL;

			for (i = want = 0; i < sizeof(hours) / sizeof(hours[0]); i++)
				want += hours[i] >= from && hours[i] < to;
			MUST(store_stats(room->store, day + from * MS_HOUR, day + to * MS_HOUR,
				&value, &err_of_must));
			assert_int_equal(of(value, NULL, "decisions"), want);
			assert_int_equal(of(value, "rules", "rebuild"), want);
			json_decref(value);
		}
	}
}

static void stats_tell_how_long_jobs_were_held(void **state)
{
	struct room *room = *state;
	struct ticket *ticket = calloc(1, sizeof(*ticket));
	struct moment now = {.boot_ms = 0, .utc_ms = T0};
	json_t *value = NULL;
	int i;

	room_open_store(room);
	store_begin(room->store);
	for (i = 1; i <= 3; i++) {
		*ticket = (struct ticket){.id = i, .state = TICKET_HELD, .held_boot_ms = OPT(0)};
		now.boot_ms = 0;
		store_put_ticket(room->store, ticket, &now, TICKET_NONE, "");
		now.boot_ms = i * 1000;
		ticket->state = TICKET_RELEASED;
		ticket->released_boot_ms = OPT(now.boot_ms);
		store_put_ticket(room->store, ticket, &now, TICKET_HELD, "");
		ticket->state = TICKET_RUNNING;
		store_put_ticket(room->store, ticket, &now, TICKET_RELEASED, "");
	}
	MUST(store_commit(room->store, &err_of_must) == STORE_RECORDED);
	MUST(store_stats(room->store, 0, INT64_MAX, &value, &err_of_must));
	assert_int_equal(of(value, NULL, "holds"), 3);
	assert_int_equal(of(value, NULL, "held_ms"), 6000);
	assert_int_equal(of(value, NULL, "longest_ms"), 3000);
	json_decref(value);
	free(ticket);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROOM_TEST(newest_first_in_pages),
		ROOM_TEST(ascending_after_an_id),
		ROOM_TEST(each_filter_filters),
		ROOM_TEST(time_is_filtered_though_the_clock_stepped),
		ROOM_TEST(a_caller_may_stop),
		ROOM_TEST(an_empty_record_has_an_empty_page),
		ROOM_TEST(a_budget_cuts_a_page),
		ROOM_TEST(stats_count_whole_hours),
		ROOM_TEST(stats_of_many_days_have_exact_ends),
		ROOM_TEST(stats_tell_how_long_jobs_were_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
