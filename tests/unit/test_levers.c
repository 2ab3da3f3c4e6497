// SPDX-License-Identifier: MIT
/* What the levers' parts do by themselves: which rule an array is under, how a path is divided,
 * what the record gets. */
#include "core_policy.h"
#include "store_room.h"

#include "gate/levers_impl.h"
#include "gate/matched.h"

static struct levers levers;
static struct gate gate;
static struct made_policy made;
static struct inputs in;

static void array_works_only_while_it_moves(void **state)
{
	struct array_facts array = made_array("md2", MD_OP_RECOVERY);

	(void)state;
	assert_true(matched_works(&array));
	array.sync_state = MD_SYNC_DELAYED;
	assert_false(matched_works(&array));
	array = made_array("md2", MD_OP_FROZEN);
	assert_false(matched_works(&array));
	array = made_array("md2", MD_OP_IDLE);
	assert_false(matched_works(&array));
	array = made_array("md2", MD_OP_CHECK);
	assert_true(matched_works(&array));
}

static void first_matching_rule_unless_it_only_observes(void **state)
{
	struct array_facts array = made_array("md2", MD_OP_RECOVERY);

	(void)state;
	made_policy(&made);
	memset(&in, 0, sizeof(in));
	in.facts.sensor = SENSOR_OK;
	assert_ptr_equal(matched_on(&made.policy, &in, &array), &made.policy.rules[RULE_REBUILD]);
	/* What was seen last counts while the NAS cannot be seen. */
	in.facts.sensor = SENSOR_SILENT;
	assert_ptr_equal(matched_on(&made.policy, &in, &array), &made.policy.rules[RULE_REBUILD]);
	made.rules[RULE_REBUILD].set.observe = true;
	assert_null(matched_on(&made.policy, &in, &array));
	made.rules[RULE_REBUILD].set.observe = false;
	made.policy.observe = true;
	assert_null(matched_on(&made.policy, &in, &array));
	made.policy.observe = false;
	made.policy.enabled = false;
	assert_null(matched_on(&made.policy, &in, &array));
	made.policy.enabled = true;
	array = made_array("md2", MD_OP_IDLE);
	assert_null(matched_on(&made.policy, &in, &array));
}

static void steer_to(size_t i, enum steer_path path, int64_t rate, int64_t units)
{
	levers.arrays[i].out.path = path;
	levers.arrays[i].out.rate = rate;
	levers.arrays[i].units = units;
}

static void a_job_gets_the_narrowest_of_its_arrays(void **state)
{
	struct job_path path;

	(void)state;
	memset(&levers, 0, sizeof(levers));
	path = levers_path(&levers, 0);
	assert_int_equal(path.path, STEER_FREE);
	assert_null(path.steered);
	steer_to(0, STEER_OPEN, 0, 1);
	steer_to(1, STEER_LIMIT, 10000000, 2);
	steer_to(2, STEER_LIMIT, 8000000, 1);
	steer_to(3, STEER_REST, 0, 1);
	path = levers_path(&levers, 0x3);
	assert_int_equal(path.path, STEER_LIMIT);
	assert_int_equal(path.rate / path.units, 5000000);
	/* By each stream's part, not by the whole. */
	path = levers_path(&levers, 0x7);
	assert_ptr_equal(path.steered, &levers.arrays[1]);
	path = levers_path(&levers, 0xf);
	assert_int_equal(path.path, STEER_REST);
	/* A path that nobody uses now is not divided by nothing. */
	steer_to(1, STEER_LIMIT, 10000000, 0);
	path = levers_path(&levers, 0x2);
	assert_int_equal(path.units, 1);
}

static void a_path_is_written_for_people(void **state)
{
	char text[64];

	(void)state;
	assert_string_equal(levers_path_text(STEER_LIMIT, 10000000, text), "limit 10 MB/s");
	assert_string_equal(levers_path_text(STEER_REST, 0, text), "rest");
	assert_string_equal(levers_path_text(STEER_NONE, 0, text), "free");
}

static void arrays_that_learned_are_kept_while_there_is_room(void **state)
{
	struct steered *first, *again;
	char name[MD_NAME_MAX];
	int i;

	(void)state;
	memset(&levers, 0, sizeof(levers));
	memset(&gate, 0, sizeof(gate));
	levers.gate = &gate;
	first = steered_make(&levers, "nas1", "md2");
	assert_non_null(first);
	assert_ptr_equal(steered_make(&levers, "nas1", "md2"), first);
	for (i = 1; i < LEVERS_ARRAYS; i++) {
		snprintf(name, sizeof(name), "md%d", 100 + i);
		again = steered_make(&levers, "nas1", name);
		assert_non_null(again);
		again->protects = true;
	}
	first->protects = true;
	assert_null(steered_make(&levers, "nas1", "md999"));
	/* One that is done makes room. */
	levers.arrays[7].protects = false;
	assert_non_null(steered_make(&levers, "nas1", "md999"));
}

/* When a rest that was ordered `rested_ms` ago ends while the NAS cannot be seen: in so many ms. */
static int64_t rest_left_ms(bool fleecing, int64_t max_pause_ms, int64_t rested_ms)
{
	struct steered *s;

	memset(&levers, 0, sizeof(levers));
	memset(&gate, 0, sizeof(gate));
	levers.gate = &gate;
	levers.now.boot_ms = 10 * MS_HOUR;
	s = steered_make(&levers, "nas1", "md2");
	s->protects = true;
	s->jobs = 1;
	s->max_pause_ms = OPT(max_pause_ms);
	s->steer = (struct steer){.path = STEER_REST,
		.phase = STEER_PHASE_SLICE,
		.ordered_ms = levers.now.boot_ms - rested_ms};
	levers.n_jobs = 1;
	levers.jobs[0] = (struct lever_job){.ticket = 7, .by = BY_KEEPER, .arrays = 1};
	levers.keepers[0].said_ms = levers.now.boot_ms;
	levers.keepers[0].said = (struct keep_ask){.ticket = 7, .n_jobs = 1, .fleecing = fleecing};
	steered_step(&levers, s);
	assert_int_equal(s->out.path, STEER_REST);
	assert_true(s->out.again_ms.known);
	return s->out.again_ms.v - levers.now.boot_ms;
}

static void no_rest_is_planned_that_a_keeper_would_break_off(void **state)
{
	(void)state;
	assert_int_equal(rest_left_ms(false, 50 * MS_SECOND, 45 * MS_SECOND), 5 * MS_SECOND);
	assert_int_equal(rest_left_ms(false, MS_HOUR, KEEP_PAUSE_CAP_MS - 7000), 7000);
	assert_int_equal(rest_left_ms(true, MS_HOUR, KEEP_PAUSE_CAP_FLEECING_MS - 7000), 7000);
}

/* ---- what jobs moved ---- */

/* A job onto `backup` moved `pace` at this share until `at_ms`, steered every two seconds since
 * `from_ms`. */
static void moved(int64_t pace, int64_t share_ppm, int64_t from_ms, int64_t at_ms)
{
	struct steered *s = &levers.arrays[0];

	s->out.path = STEER_LIMIT;
	s->out.pace = OPT(pace);
	s->out.share_ppm = OPT(share_ppm);
	for (; from_ms <= at_ms; from_ms += 2 * MS_SECOND) {
		levers.now.boot_ms = from_ms;
		levers.keepers[0].said_ms = levers.keepers[1].said_ms = from_ms;
		paces_note(&levers, s);
	}
}

static void a_job_is_steered(struct store *store, int64_t over_ms)
{
	memset(&levers, 0, sizeof(levers));
	memset(&gate, 0, sizeof(gate));
	gate.store = store;
	levers.gate = &gate;
	levers.arrays[0].protects = true;
	levers.arrays[0].jobs = 1;
	levers.arrays[0].moved_as = MOVED_READ;
	levers.arrays[0].rule = (struct steer_rule){.protect_ppm = 800000, .over_ms = over_ms};
	levers.n_jobs = 1;
	levers.jobs[0].by = BY_KEEPER;
	levers.jobs[0].arrays = 1;
	levers.jobs[0].ticket = 1;
	snprintf(levers.jobs[0].storage, sizeof(levers.jobs[0].storage), "backup");
	levers.keepers[0].said.ticket = 1;
	levers.keepers[0].said.n_jobs = 1;
}

static bool is_paced_as(enum moved as, int64_t pace)
{
	const struct paced *paced = levers_paced(&levers, "backup");

	return paced && paced->pace == pace && paced->protect_ppm == 800000 && paced->as == as;
}

static bool is_paced(int64_t pace)
{
	return is_paced_as(MOVED_READ, pace);
}

static void a_pace_counts_once_the_share_was_kept_for_long(void **state)
{
	const int64_t t = MS_HOUR;

	(void)state;
	a_job_is_steered(NULL, 10 * MS_MINUTE);
	moved(5000000, 810000, t, t + 298 * MS_SECOND);
	assert_false(is_paced(5000000));
	moved(5000000, 810000, t + 300 * MS_SECOND, t + 300 * MS_SECOND);
	assert_true(is_paced(5000000));
	/* A minute at least. */
	a_job_is_steered(NULL, 20 * MS_SECOND);
	moved(5000000, 810000, t, t + 58 * MS_SECOND);
	assert_false(is_paced(5000000));
	/* The share was lost: anew. */
	moved(9000000, 500000, t + 60 * MS_SECOND, t + 60 * MS_SECOND);
	moved(5000000, 810000, t + 62 * MS_SECOND, t + 120 * MS_SECOND);
	assert_false(is_paced(5000000));
	/* Nor over a gap. */
	moved(5000000, 810000, t + 180 * MS_SECOND, t + 238 * MS_SECOND);
	assert_false(is_paced(5000000));
	moved(5000000, 810000, t + 240 * MS_SECOND, t + 240 * MS_SECOND);
	assert_true(is_paced(5000000));
}

static void a_pace_is_of_one_measure(void **state)
{
	const int64_t t = MS_HOUR;

	(void)state;
	a_job_is_steered(NULL, 2 * MS_MINUTE);
	levers.arrays[0].moved_as = MOVED_WRITTEN;
	moved(5000000, 810000, t, t + 60 * MS_SECOND);
	assert_true(is_paced_as(MOVED_WRITTEN, 5000000));
	/* A keeper that has just begun tells nothing yet: that is no other measure. */
	levers.arrays[0].moved_as = MOVED_NONE;
	moved(8000000, 810000, t + 62 * MS_SECOND, t + 70 * MS_SECOND);
	assert_true(is_paced_as(MOVED_WRITTEN, 5000000));
	levers.arrays[0].moved_as = MOVED_WRITTEN;
	moved(6000000, 810000, t + 72 * MS_SECOND, t + 80 * MS_SECOND);
	assert_true(is_paced_as(MOVED_WRITTEN, 6000000));
	/* Both at once tell nothing, and what the average has of it neither. */
	levers.arrays[0].moved_as = MOVED_NONE;
	levers.arrays[0].moved_mixed = true;
	moved(9000000, 810000, t + 82 * MS_SECOND, t + 200 * MS_SECOND);
	levers.arrays[0].moved_mixed = false;
	levers.arrays[0].moved_as = MOVED_READ;
	moved(9000000, 810000, t + 202 * MS_SECOND, t + 320 * MS_SECOND);
	assert_true(is_paced_as(MOVED_WRITTEN, 6000000));
	moved(9000000, 810000, t + 322 * MS_SECOND, t + 324 * MS_SECOND);
	assert_true(is_paced_as(MOVED_READ, 9000000));
}

static void a_pace_is_divided_among_those_that_copy(void **state)
{
	struct lever_job *other;

	(void)state;
	a_job_is_steered(NULL, MS_MINUTE);
	levers.jobs[1] = levers.jobs[0];
	other = &levers.jobs[levers.n_jobs++];
	other->ticket = 2;
	snprintf(other->storage, sizeof(other->storage), "other");
	levers.keepers[1].said.ticket = 2;
	levers.arrays[0].jobs = 2;
	/* One was let go and copies nothing yet. */
	moved(6000000, 810000, MS_HOUR, MS_HOUR + MS_MINUTE);
	assert_true(is_paced(6000000));
	assert_null(levers_paced(&levers, "other"));
	levers.keepers[1].said.n_jobs = 2;
	moved(6000000, 810000, MS_HOUR + 62 * MS_SECOND, MS_HOUR + 62 * MS_SECOND);
	assert_true(is_paced(3000000));
	assert_int_equal(levers_paced(&levers, "other")->pace, 3000000);
	/* Between two guests nobody tells. */
	levers.keepers[0].said.n_jobs = levers.keepers[1].said.n_jobs = 0;
	moved(6000000, 810000, MS_HOUR + 64 * MS_SECOND, MS_HOUR + 64 * MS_SECOND);
	assert_true(is_paced(3000000));
}

static void paces_survive_the_gate(void **state)
{
	struct room *room = *state;

	room_open_store(room);
	a_job_is_steered(room->store, MS_MINUTE);
	moved(5000000, 810000, MS_HOUR, MS_HOUR + MS_MINUTE);
	moved(6000000, 810000, MS_HOUR + 62 * MS_SECOND, MS_HOUR + 70 * MS_SECOND);
	a_job_is_steered(room->store, MS_MINUTE);
	assert_false(is_paced(5000000));
	paces_load(&levers); /* the first at once: the gate may be killed */
	assert_true(is_paced(5000000));
	moved(7000000, 810000, MS_HOUR, MS_HOUR + MS_MINUTE);
	paces_save(&levers);
	a_job_is_steered(room->store, MS_MINUTE);
	paces_load(&levers);
	assert_true(is_paced(7000000));
	/* What is none is left out. */
	store_begin(room->store);
	store_put_memory(room->store, "levers:paces",
		"[{\"storage\":\"backup\",\"pace\":0},7,"
		"{\"storage\":\"backup\",\"pace\":7,\"protect_ppm\":800000,\"as\":\"guessed\"}]",
		1);
	MUST(store_commit(room->store, &err_of_must) == STORE_RECORDED);
	a_job_is_steered(room->store, MS_MINUTE);
	paces_load(&levers);
	assert_false(is_paced(7000000));
}

/* ---- the record ---- */

static int rows, moved_rows;
static char last_why[400], last_after[64];

static void count_row(void *data, const struct store_lever *action)
{
	(void)data;
	if (!rows++) {
		snprintf(last_why, sizeof(last_why), "%s", action->why ? action->why : "");
		snprintf(last_after, sizeof(last_after), "%s", action->after);
	}
}

static void count_moved(void *data, const struct store_lever *action)
{
	(void)data;
	moved_rows++;
	assert_string_equal(action->before, "free");
}

static void look_at_record(void)
{
	struct err err = {0};

	rows = moved_rows = 0;
	assert_true(store_lever_actions(gate.store, 100, count_row, NULL, &err));
	assert_true(store_levers_moved(gate.store, count_moved, NULL, &err));
}

static bool move(const char *after, bool put_back)
{
	return levers_record(
		&gate, 7, "block-jobs", "pve1/101", "free", after, "because", put_back);
}

static void slices_are_thinned_but_never_what_puts_back(void **state)
{
	int i;

	(void)state;
	memset(&levers, 0, sizeof(levers));
	memset(&gate, 0, sizeof(gate));
	gate.levers = &levers;
	room_open_store(*state);
	gate.store = ((struct room *)*state)->store;
	levers.gate = &gate;
	assert_true(move("rest", false));
	look_at_record();
	assert_int_equal(rows, 1);
	assert_int_equal(moved_rows, 1);
	for (i = 0; i < 10; i++) {
		assert_true(move("open", false));
		assert_true(move("rest", false));
	}
	look_at_record();
	assert_int_equal(rows, 2); /* each of the two settings once */
	assert_true(move("limit 10 MB/s", false));
	look_at_record();
	assert_int_equal(rows, 3);
	assert_string_equal(last_after, "limit 10 MB/s");
	assert_string_equal(last_why, "because (19 changes in between)");
	assert_true(move("limit 11 MB/s", false));
	look_at_record();
	assert_int_equal(rows, 4); /* another limit is another setting */
	assert_int_equal(moved_rows, 1);
	assert_true(move("free", true));
	look_at_record();
	assert_int_equal(moved_rows, 0);
	/* Moved again at once: that is a change. */
	assert_true(move("rest", false));
	look_at_record();
	assert_int_equal(rows, 6);
	assert_int_equal(moved_rows, 1);
	assert_true(move("rest", false));
	look_at_record();
	assert_int_equal(rows, 6);
	/* A minute later it is written again. */
	for (i = 0; i < RECORDED_WORDS; i++)
		levers.recorded[0].words[i].at_ms -= MS_MINUTE;
	assert_true(move("rest", false));
	look_at_record();
	assert_int_equal(rows, 7);
	assert_string_equal(last_why, "because (1 change in between)");
}

static void what_cannot_be_recorded_is_not_moved(void **state)
{
	const struct room *room = *state;
	const struct store_options options = {
		.path = room->db, .spill = "/nonexistent/spill", .busy_ms = 1};
	sqlite3 *other = NULL;
	struct err err = {0};

	memset(&levers, 0, sizeof(levers));
	memset(&gate, 0, sizeof(gate));
	gate.levers = &levers;
	levers.gate = &gate;
	assert_true(store_open(&options, &gate.store, &err));
	assert_true(move("limit 10 MB/s", false));
	assert_int_equal(sqlite3_open(room->db, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	assert_false(move("limit 11 MB/s", false));
	assert_false(move("limit 11 MB/s", false)); /* no repetition: it was never written */
	assert_false(move("free", true));           /* the caller does it all the same */
	sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL);
	sqlite3_close(other);
	look_at_record();
	assert_int_equal(rows, 1);
	assert_int_equal(moved_rows, 1);
	store_close(gate.store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(array_works_only_while_it_moves),
		cmocka_unit_test(first_matching_rule_unless_it_only_observes),
		cmocka_unit_test(a_job_gets_the_narrowest_of_its_arrays),
		cmocka_unit_test(a_path_is_written_for_people),
		cmocka_unit_test(arrays_that_learned_are_kept_while_there_is_room),
		cmocka_unit_test(no_rest_is_planned_that_a_keeper_would_break_off),
		cmocka_unit_test(a_pace_counts_once_the_share_was_kept_for_long),
		cmocka_unit_test(a_pace_is_of_one_measure),
		cmocka_unit_test(a_pace_is_divided_among_those_that_copy),
		ROOM_TEST(paces_survive_the_gate),
		ROOM_TEST(what_cannot_be_recorded_is_not_moved),
		ROOM_TEST(slices_are_thinned_but_never_what_puts_back),
	};

	return cmocka_run_group_tests_name("levers", tests, NULL, NULL);
}
