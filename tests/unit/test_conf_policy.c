// SPDX-License-Identifier: MIT
#include "conf_room.h"

#include "conf/conf.h"
#include "conf/given.h"

static struct policy *loads(const char *text)
{
	struct conf_errors errors = {0};
	struct policy *policy = NULL;

	conf_policy_parse(text, strlen(text), "t", &policy, &errors);
	errors_none(&errors);
	assert_non_null(policy);
	return policy;
}

static void refuses(const char *text, const char *says)
{
	struct conf_errors errors = {0};
	struct policy *policy = (struct policy *)(uintptr_t)1;

	assert_false(conf_policy_parse(text, strlen(text), "t", &policy, &errors));
	assert_null(policy);
	errors_have(&errors, says);
}

static void an_empty_file_is_the_shipped_defaults(void **state)
{
	struct policy *policy = conf_policy_shipped();

	(void)state;
	assert_non_null(policy);
	assert_true(policy->enabled);
	assert_false(policy->observe);
	assert_int_equal(policy->unmapped, VERDICT_ALLOW);
	assert_int_equal(policy->fallback, VERDICT_ALLOW);
	assert_int_equal(policy->blind_limit_ms, MS_DAY);
	assert_int_equal(policy->running_ttl_ms, MS_DAY);
	assert_int_equal(policy->start_grace_ms, 10 * MS_MINUTE);
	assert_int_equal(policy->n_rules, 0);
	assert_int_equal(policy->defaults.max_hold.v, 8 * MS_HOUR);
	assert_int_equal(policy->defaults.settle_ms, 10 * MS_MINUTE);
	assert_int_equal(policy->defaults.recheck_ms, 5 * MS_MINUTE);
	assert_int_equal(policy->defaults.release_interval_ms, MS_MINUTE);
	assert_int_equal(policy->defaults.max_running, 1);
	assert_int_equal(policy->defaults.protect_ppm, 800000);
	assert_int_equal(policy->defaults.protect_min_ppm, 300000);
	assert_false(policy->defaults.rate.known);
	assert_int_equal(policy->defaults.too_slow, TOO_SLOW_RELAX);
	assert_int_equal(policy->defaults.pbs_jobs, PBS_JOBS_AUTO);
	assert_false(policy->defaults.max_pause_ms.known);
	assert_false(policy->defaults.rpo_ms.known);
	assert_false(policy->defaults.hold_to_rpo);
	assert_int_equal(policy->sensor.verdict, VERDICT_HOLD);
	assert_true(policy->sensor.on_sensor);
	assert_int_equal(policy->sensor.set.max_hold.v, 30 * MS_MINUTE);
	assert_int_equal(policy->sensor.set.on_expiry, VERDICT_ALLOW);
	assert_non_null(policy->sensor.when);
	conf_policy_free(policy);
	conf_policy_free(NULL);
}

static void a_rule_inherits_and_overrules(void **state)
{
	struct policy *policy = loads("defaults = { rate = \"10 MB/s\"; settle = \"1h\"; "
				      "release_window = \"sat\"; running = \"stop\"; "
				      "recheck = \"20min\"; };\n"
				      "rules = ( { name = \"a\"; verdict = \"hold\"; when = { "
				      "operation = \"recovery\"; }; },\n"
				      "{ name = \"b\"; verdict = \"throttle\"; protect = \"20%\"; "
				      "when = { operation = \"resync\"; }; },\n"
				      "{ name = \"c\"; verdict = \"hold\"; max_hold = \"1min\"; "
				      "settle = \"0\"; release_window = [\"sun\", \"mon\"]; "
				      "when = { operation = \"check\"; }; },\n"
				      "{ name = \"d\"; verdict = \"allow\"; } );");

	(void)state;
	assert_int_equal(policy->rules[0].line, 2);
	assert_true(policy->rules[0].set.rate.known);
	assert_int_equal(policy->rules[0].set.settle_ms, MS_HOUR);
	assert_int_equal(policy->rules[0].set.n_release_windows, 1);
	assert_ptr_not_equal(
		policy->rules[0].set.release_windows, policy->defaults.release_windows);
	assert_false(policy->rules[1].set.rate.known);
	assert_int_equal(policy->rules[1].set.protect_ppm, 200000);
	assert_int_equal(policy->rules[1].set.protect_min_ppm, 200000);
	assert_int_equal(policy->rules[2].set.settle_ms, 0);
	assert_int_equal(policy->rules[2].set.recheck_ms, MS_MINUTE);
	assert_int_equal(policy->rules[2].set.n_release_windows, 2);
	assert_int_equal(policy->rules[3].set.running, RUNNING_LEAVE);
	assert_int_equal(policy->rules[3].when->kind, COND_ALL);
	assert_null(policy->rules[3].when->child);
	conf_policy_free(policy);
}

/* "rpo" takes the place of a span, and a span that of "rpo". */
static void a_hold_may_end_with_the_age_of_a_backup(void **state)
{
	struct policy *policy = loads("defaults = { rpo = \"2d\"; max_hold = \"rpo\"; };\n"
				      "rules = ( { name = \"a\"; verdict = \"hold\"; when = { "
				      "operation = \"recovery\"; }; },\n"
				      "{ name = \"b\"; verdict = \"hold\"; max_hold = \"1h\"; "
				      "when = { operation = \"resync\"; }; },\n"
				      "{ name = \"c\"; verdict = \"hold\"; max_hold = \"rpo\"; "
				      "rpo = \"3d\"; recheck = \"12h\"; "
				      "when = { operation = \"check\"; }; } );");

	(void)state;
	assert_true(policy->rules[0].set.hold_to_rpo);
	assert_int_equal(policy->rules[0].set.rpo_ms.v, 2 * MS_DAY);
	assert_int_equal(policy->rules[0].set.max_hold.v, 8 * MS_HOUR);
	assert_false(policy->rules[1].set.hold_to_rpo);
	assert_int_equal(policy->rules[1].set.max_hold.v, MS_HOUR);
	assert_true(policy->rules[2].set.hold_to_rpo);
	assert_int_equal(policy->rules[2].set.rpo_ms.v, 3 * MS_DAY);
	assert_int_equal(policy->rules[2].set.recheck_ms, 12 * MS_HOUR);
	assert_false(policy->sensor.set.hold_to_rpo);
	assert_int_equal(policy->sensor.set.max_hold.v, 30 * MS_MINUTE);
	conf_policy_free(policy);
}

/* What lets jobs go leaves the backup server's own alone, unless the rule itself says otherwise. */
static void a_rule_that_allows_leaves_the_backup_servers_jobs_alone(void **state)
{
	struct policy *policy = loads("defaults = { pbs_jobs = \"stop\"; };\n"
				      "rules = ( { name = \"a\"; verdict = \"allow\"; when = { "
				      "load = \"> 1\"; }; },\n"
				      "{ name = \"b\"; verdict = \"allow\"; pbs_jobs = \"auto\"; "
				      "when = { operation = \"check\"; }; },\n"
				      "{ name = \"c\"; verdict = \"throttle\"; } );");

	(void)state;
	assert_int_equal(policy->rules[0].set.pbs_jobs, PBS_JOBS_LEAVE);
	assert_int_equal(policy->rules[1].set.pbs_jobs, PBS_JOBS_AUTO);
	assert_int_equal(policy->rules[2].set.pbs_jobs, PBS_JOBS_STOP);
	conf_policy_free(policy);
}

/* Also where `defaults` and rules pull in different directions. */
static void what_is_printed_loads_again_and_prints_the_same(void **state)
{
	static const char *const texts[] = {
		"",
		"defaults = { rate = \"10 MB/s\"; running = \"throttle\"; recheck = \"2h\"; }; "
		"sensor = { verdict = \"allow\"; };"
		"rules = ( { name = \"a\"; verdict = \"allow\"; when = { load = \"> 1\"; }; }, { "
		"name = \"b\"; verdict = \"hold\"; "
		"max_hold = \"90s\"; when = { load = \"> 0.5\"; }; } );",
		"defaults = { protect = \"10%\"; without_lever = \"hold\"; max_hold = \"1min\"; };"
		"rules = ( { name = \"a\"; verdict = \"throttle\"; rate = \"1 MB/s\"; }, { name = "
		"\"b\"; verdict = \"deny\"; "
		"when = { sensor = \"auth\"; }; } );",
		"defaults = { protect_min = \"70%\"; }; rules = ( { name = \"x\"; verdict = "
		"\"throttle\"; protect = \"50%\"; } );",
		"sensor = { max_hold = \"1min\"; }; defaults = { on_expiry = \"allow\"; mid_job = "
		"\"allow\"; };"
		"rules = ( { name = \"x\"; verdict = \"hold\"; when = { sensor = \"stale\"; }; } "
		");",
		"rules = ( { name = \"x\"; verdict = \"hold\"; when = { sensor = \"blind\"; }; } "
		");",
		"defaults = { rpo = \"1d\"; max_hold = \"rpo\"; max_pause = \"20s\"; recheck = "
		"\"10h\"; pbs_jobs = \"stop\"; };"
		"sensor = { max_hold = \"rpo\"; };"
		"rules = ( { name = \"x\"; verdict = \"allow\"; when = { load = \"> 1\"; }; }, { "
		"name = \"y\"; verdict = \"throttle\"; too_slow = \"hold\"; when = { load = \"> "
		"0.5\"; }; }, { name = \"z\"; verdict = \"hold\"; max_hold = \"1h\"; } );",
		"rules = ( { name = \"x\"; verdict = \"throttle\"; rate = \"1 MB/s\"; } );",
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(texts); i++) {
		struct policy *first = loads(texts[i]), *second;
		struct buf one = {0}, two = {0};

		assert_true(conf_policy_print(first, &one));
		second = loads(buf_str(&one));
		assert_true(conf_policy_print(second, &two));
		assert_string_equal(buf_str(&one), buf_str(&two));
		conf_policy_free(first);
		conf_policy_free(second);
		buf_release(&one);
		buf_release(&two);
	}
}

static void contradictions_are_refused(void **state)
{
	(void)state;
	refuses("defaults = { on_expiry = \"hold\"; };", "t:1: on_expiry cannot be \"hold\"");
	refuses("rules = ( { name = \"a\"; verdict = \"hold\"; mid_job = \"hold\"; } );",
		"t:1: mid_job cannot be \"hold\"");
	refuses("rules = ( { name = \"a\"; verdict = \"allow\";\n max_hold = \"1h\"; } );",
		"t:2: 'max_hold' has no effect in rule 'a'");
	refuses("rules = ( { name = \"a\"; verdict = \"allow\"; },\n{ name = \"b\"; verdict = "
		"\"hold\"; } );",
		"t:2: rule 'b' is never reached: rule 'a' in line 1 has no conditions");
	refuses("rules = ( { name = \"a\"; verdict = \"allow\"; when = { load = \"> 1\"; }; },\n"
		"{ name = \"a\"; verdict = \"hold\"; } );",
		"t:2: a rule called 'a' stands in line 1 already");
}

/* A running gate that is told again and again to load a broken file loses no memory: the sanitizer
 * and this count say so. */
static void a_broken_file_leaves_nothing_behind(void **state)
{
	static const char *const texts[] = {"\"\"", "a = \"x\" \"y\" b",
		"rules = ( { name = \"a\" ", "name = \"a\"; name = \"b\";",
		"rules = ( { name = \"n\"; when = { storage = \"s\"; foo = 1; }; } );"};
	size_t i, k;

	(void)state;
	for (k = 0; k < 200; k++) {
		for (i = 0; i < COUNT(texts); i++) {
			struct conf_errors errors = {0};
			struct policy *policy = NULL;

			assert_false(conf_policy_parse(
				texts[i], strlen(texts[i]), "t", &policy, &errors));
			conf_errors_release(&errors);
		}
	}
}

static void a_policys_tests_run(void **state)
{
	static const char text[] =
		"rules = ( { name = \"rebuild\"; verdict = \"hold\"; when = { operation = "
		"\"recovery\"; }; } );\n"
		"tests = ( { name = \"right\"; given = { operation = \"recovery\"; }; expect = { "
		"verdict = \"hold\"; "
		"rule = \"rebuild\"; step = 5; reason = \"rule\"; act = \"hold\"; }; },\n"
		"{ name = \"wrong\"; given = { operation = \"check\"; }; expect = { verdict = "
		"\"hold\"; }; },\n"
		"{ name = \"wrong rule\"; given = { operation = \"recovery\"; }; expect = { rule = "
		"\"\"; }; },\n"
		"{ name = \"over\"; given = { operation = \"recovery\"; held_for = \"8h\"; }; "
		"expect = { verdict = \"throttle\"; }; } );";
	static const bool good[] = {true, false, false, true};
	struct conf_errors errors = {0};
	struct policy_suite *suite = NULL;
	struct policy_case_result result;
	size_t i;

	(void)state;
	conf_suite_parse(text, strlen(text), "t", &suite, &errors);
	errors_none(&errors);
	assert_non_null(suite);
	assert_int_equal(suite->n_cases, COUNT(good));
	for (i = 0; i < COUNT(good); i++) {
		assert_true(conf_case_run(suite->policy, &suite->cases[i], &result, NULL));
		if (result.good != good[i])
			fail_msg("test '%s': %s", suite->cases[i].name, result.why);
		assert_int_equal(suite->cases[i].line, (int)i + 2);
	}
	conf_suite_free(suite);
}

struct world {
	struct inputs in;
	struct given given;
	struct policy *policy;
};

static int world_open(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->policy = loads("rules = ( { name = \"rebuild\"; verdict = \"hold\"; when = { "
			      "operation = \"recovery\"; }; } );");
	given_start(&world->given, &world->in);
	*state = world;
	return 0;
}

static int world_close(void **state)
{
	struct world *world = *state;

	conf_policy_free(world->policy);
	free(world);
	return 0;
}

static void give(struct world *world, const char *key, const char *value)
{
	struct err err = {0};

	if (!given_set(&world->given, key, value, &err))
		fail_msg("%s", err.text);
}

static void finish(struct world *world)
{
	struct err err = {0};

	if (!given_finish(&world->given, world->policy, &err))
		fail_msg("%s", err.text);
}

static void what_follows_from_a_recovery_is_filled_in(void **state)
{
	struct world *world = *state;
	const struct array_facts *array = &world->in.facts.arrays[0];

	give(world, "operation", "recovery");
	finish(world);
	assert_string_equal(array->name, "md2");
	assert_int_equal(array->health, MD_HEALTH_DEGRADED);
	assert_int_equal(array->missing.v, 1);
	assert_int_equal(array->redundancy_left.v, 1);
	assert_int_equal(array->sync_state, MD_SYNC_RUNNING);
	assert_false(array->done);
	assert_false(array->progress_ppm.known);
}

static void redundancy_follows_the_level(void **state)
{
	struct world *world = *state;
	const struct array_facts *array = &world->in.facts.arrays[0];

	give(world, "level", "raid5");
	give(world, "redundancy_left", "0");
	finish(world);
	assert_int_equal(array->missing.v, 1);
	assert_int_equal(array->health, MD_HEALTH_DEGRADED);
	assert_int_equal(array->operation, MD_OP_IDLE);
	assert_false(array->done);
}

static void nothing_given_is_an_idle_array_that_is_seen(void **state)
{
	struct world *world = *state;
	const struct array_facts *array = &world->in.facts.arrays[0];

	finish(world);
	assert_int_equal(world->in.facts.sensor, SENSOR_OK);
	assert_int_equal(array->health, MD_HEALTH_OPTIMAL);
	assert_int_equal(array->redundancy_left.v, 2);
	assert_true(array->done);
	assert_int_equal(world->in.request.phase, PHASE_JOB_INIT);
	assert_int_equal(world->in.ticket.id, 0);
}

static void a_gone_array_is_not_known(void **state)
{
	struct world *world = *state;
	const struct array_facts *array = &world->in.facts.arrays[0];

	give(world, "health", "absent");
	finish(world);
	assert_int_equal(array->operation, MD_OP_UNKNOWN);
	assert_false(array->redundancy_left.known);
	assert_false(array->done);
}

static void a_held_job_is_held_by_what_would_hold_it(void **state)
{
	struct world *world = *state;

	give(world, "operation", "recovery");
	give(world, "held_for", "2h");
	finish(world);
	assert_true(world->in.ticket.was_held);
	assert_int_equal(world->in.ticket.held_ms, 2 * MS_HOUR);
	assert_string_equal(world->in.ticket.hold_rule, "rebuild");
	assert_int_equal(world->in.ticket.hold_step, 5);
}

static void blind_lasts_a_minute_unless_said(void **state)
{
	struct world *world = *state;

	give(world, "sensor", "blind");
	finish(world);
	assert_int_not_equal(world->in.facts.sensor, SENSOR_OK);
	assert_int_equal(world->in.now.boot_ms - world->in.facts.blind_since_ms.v, MS_MINUTE);
}

static void a_job_held_blindly_remembers_since_when(void **state)
{
	struct world *world = *state;

	give(world, "sensor", "stale");
	give(world, "blind_for", "20min");
	give(world, "held_for", "10min");
	finish(world);
	assert_int_equal(world->in.facts.sensor, SENSOR_STALE);
	assert_int_equal(world->in.ticket.hold_step, 4);
	assert_int_equal(world->in.ticket.hold_blind_ms.v, 20 * MS_MINUTE);
}

static void a_nas_never_seen_has_no_arrays(void **state)
{
	struct world *world = *state;

	give(world, "sensor", "never");
	finish(world);
	assert_int_equal(world->in.facts.n_arrays, 0);
	assert_false(world->in.facts.read_at_ms.known);
}

static void in_its_own_phase_a_guest_is_the_guest(void **state)
{
	struct world *world = *state;

	give(world, "phase", "backup-start");
	give(world, "guest", "101");
	finish(world);
	assert_int_equal(world->in.request.guest, 101);
	assert_int_equal(world->in.request.n_guests, 0);
}

static void a_rule_that_is_not_there_holds_nothing(void **state)
{
	struct world *world = *state;
	struct err err = {0};

	give(world, "held_by", "nobody");
	assert_false(given_finish(&world->given, world->policy, &err));
	assert_non_null(strstr(err.text, "no rule 'nobody'"));
}

static void a_policy_is_loaded_from_its_file(void **state)
{
	struct room *room = *state;
	struct conf_errors errors = {0};
	struct policy *policy = NULL;

	room_file(room, "sub/inc.conf", "{ name = \"r\"; verdict = \"hold\"; }");
	room_file(room, "main.conf", "rules = (\n@include \"sub/inc.conf\"\n);");
	conf_policy_load(room->path, &policy, &errors);
	errors_none(&errors);
	assert_non_null(policy);
	assert_string_equal(policy_rule(policy, "r")->name, "r");
	conf_policy_free(policy);
	room_file(room, "sub/inc.conf", "{ name = \"r\"; verdict = \"hodl\"; }");
	snprintf(room->path, sizeof(room->path), "%s/main.conf", room->folder);
	assert_false(conf_policy_load(room->path, &policy, &errors));
	assert_null(policy);
	errors_have(&errors, "sub/inc.conf:1: verdict cannot be \"hodl\"");
}

static void times_and_guests_are_understood(void **state)
{
	struct world *world = *state;
	struct err err = {0};

	give(world, "time", "sun 23:30");
	give(world, "guest", "101,102");
	finish(world);
	/* 2026-01-11 is a Sunday. */
	assert_int_equal(world->in.now.utc_ms, INT64_C(1768174200000));
	assert_int_equal(world->in.request.n_guests, 2);
	assert_int_equal(world->in.request.guests[1], 102);
	assert_false(given_set(&world->given, "guest", "101;102", &err));
	assert_false(given_set(&world->given, "time", "noon", &err));
	assert_false(given_set(&world->given, "nothing", "1", &err));
	assert_false(given_set(&world->given, "progress", "> 40%", &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_file_is_the_shipped_defaults),
		cmocka_unit_test(a_rule_inherits_and_overrules),
		cmocka_unit_test(a_hold_may_end_with_the_age_of_a_backup),
		cmocka_unit_test(a_rule_that_allows_leaves_the_backup_servers_jobs_alone),
		cmocka_unit_test(what_is_printed_loads_again_and_prints_the_same),
		cmocka_unit_test(contradictions_are_refused),
		cmocka_unit_test(a_broken_file_leaves_nothing_behind),
		cmocka_unit_test(a_policys_tests_run),
		cmocka_unit_test_setup_teardown(
			what_follows_from_a_recovery_is_filled_in, world_open, world_close),
		cmocka_unit_test_setup_teardown(
			redundancy_follows_the_level, world_open, world_close),
		cmocka_unit_test_setup_teardown(
			nothing_given_is_an_idle_array_that_is_seen, world_open, world_close),
		cmocka_unit_test_setup_teardown(a_gone_array_is_not_known, world_open, world_close),
		cmocka_unit_test_setup_teardown(
			a_held_job_is_held_by_what_would_hold_it, world_open, world_close),
		cmocka_unit_test_setup_teardown(
			blind_lasts_a_minute_unless_said, world_open, world_close),
		cmocka_unit_test_setup_teardown(
			a_job_held_blindly_remembers_since_when, world_open, world_close),
		cmocka_unit_test_setup_teardown(
			a_nas_never_seen_has_no_arrays, world_open, world_close),
		cmocka_unit_test_setup_teardown(
			in_its_own_phase_a_guest_is_the_guest, world_open, world_close),
		cmocka_unit_test_setup_teardown(
			a_rule_that_is_not_there_holds_nothing, world_open, world_close),
		cmocka_unit_test_setup_teardown(
			a_policy_is_loaded_from_its_file, room_open, room_close),
		cmocka_unit_test_setup_teardown(
			times_and_guests_are_understood, world_open, world_close),
	};

	return cmocka_run_group_tests_name("conf_policy", tests, NULL, NULL);
}
