// SPDX-License-Identifier: MIT
/* hooks/inner/keeping: what a keeper does when. Its clock is ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "../../hooks/inner/keeping.h"

#define MB INT64_C(1000000)

/* A guest with its jobs, and a clock. What is sent arrives at once. */
struct scene {
	struct keeping keeping;
	struct qmp_state jobs;
	int64_t now_ms;
	int sent; /* how often something was */
};

static struct qmp_job *add_job(struct scene *world, const char *device, const char *status)
{
	struct qmp_job *job = &world->jobs.jobs[world->jobs.n++];

	*job = (struct qmp_job){.len = 1000 * MB};
	snprintf(job->device, sizeof(job->device), "%s", device);
	snprintf(job->status, sizeof(job->status), "%s", status);
	return job;
}

static struct scene begin(void)
{
	struct scene world = {.now_ms = 1000};

	keeping_start(&world.keeping, world.now_ms);
	return world;
}

static void look(struct scene *world)
{
	keeping_looked(&world->keeping, &world->jobs, world->now_ms);
}

static void answer(struct scene *world, enum steer_path path, int64_t rate)
{
	const struct keep_answer said = {path, rate, 500, 15000, ""};

	keeping_answered(&world->keeping, &said, world->now_ms);
}

/* What QEMU does with an order. */
static void obey(struct scene *world)
{
	struct qmp_order order;
	size_t i;

	for (i = 0; i < world->jobs.n; i++) {
		struct qmp_job *job = &world->jobs.jobs[i];

		if (!keeping_want(&world->keeping, job, &order))
			continue;
		job->speed = order.speed;
		if (!qmp_job_active(job))
			continue;
		job->paused = order.pause;
		snprintf(
			job->status, sizeof(job->status), "%s", order.pause ? "paused" : "running");
	}
}

/* One turn after `ms`: a look, and what follows from it. */
static void turn(struct scene *world, int64_t ms)
{
	world->now_ms += ms;
	look(world);
	keeping_tick(&world->keeping, world->now_ms);
	if (!keeping_differs(&world->keeping))
		return;
	world->sent++;
	obey(world);
	keeping_set(&world->keeping, &world->jobs, NULL);
}

static struct keep_ask tell(const struct scene *world)
{
	struct keep_ask ask = {0};

	keeping_tell(&world->keeping, &ask);
	return ask;
}

static void nothing_is_touched_while_the_path_is_free(void **state)
{
	static const enum steer_path paths[] = {STEER_NONE, STEER_FREE, STEER_OPEN};
	struct scene world;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		world = begin();
		add_job(&world, "drive-scsi0", "running")->speed = 7 * MB;
		add_job(&world, "drive-scsi1", "paused")->paused = true;
		if (paths[i])
			answer(&world, paths[i], 0);
		turn(&world, 1000);
		turn(&world, 1000);
		keeping_put_back(&world.keeping);
		turn(&world, 1000);
		assert_int_equal(world.sent, 0);
		assert_false(keeping_touches(&world.keeping));
	}
}

static void a_limit_is_for_all_jobs_those_to_come_as_well(void **state)
{
	struct scene world = begin();

	(void)state;
	add_job(&world, "drive-scsi0", "running");
	add_job(&world, "drive-scsi1", "created");
	answer(&world, STEER_LIMIT, 5 * MB);
	turn(&world, 1000);
	assert_int_equal(world.jobs.jobs[0].speed, 5 * MB);
	assert_int_equal(world.jobs.jobs[1].speed, 5 * MB);
	assert_int_equal(tell(&world).path, STEER_LIMIT);
	assert_int_equal(tell(&world).rate, 5 * MB);
	assert_int_equal(tell(&world).n_jobs, 2);
	turn(&world, 2000);
	assert_int_equal(world.sent, 1);
	answer(&world, STEER_LIMIT, 6 * MB);
	assert_int_equal(tell(&world).rate, 5 * MB);
	turn(&world, 500);
	assert_int_equal(tell(&world).rate, 6 * MB);
	assert_int_equal(world.jobs.jobs[1].speed, 6 * MB);
}

static void a_job_that_comes_later_gets_it_too(void **state)
{
	struct scene world = begin();

	(void)state;
	answer(&world, STEER_LIMIT, 5 * MB);
	turn(&world, 1000);
	assert_int_equal(world.sent, 0);
	add_job(&world, "drive-scsi0", "running");
	turn(&world, 1000);
	assert_int_equal(world.jobs.jobs[0].speed, 5 * MB);
	add_job(&world, "drive-scsi1", "created");
	turn(&world, 2000);
	assert_int_equal(world.jobs.jobs[1].speed, 5 * MB);
}

static void what_somebody_else_changed_is_set_again(void **state)
{
	struct scene world = begin();

	(void)state;
	add_job(&world, "drive-scsi0", "running");
	answer(&world, STEER_LIMIT, 5 * MB);
	turn(&world, 1000);
	world.jobs.jobs[0].speed = 0;
	turn(&world, 1000);
	assert_int_equal(world.jobs.jobs[0].speed, 5 * MB);
}

static void the_jobs_own_limit_is_the_ceiling_and_comes_back(void **state)
{
	struct scene world = begin();

	(void)state;
	add_job(&world, "drive-scsi0", "running")->speed = 8 * MB;
	add_job(&world, "drive-scsi1", "created")->speed = 3 * MB;
	answer(&world, STEER_LIMIT, 20 * MB);
	turn(&world, 1000);
	assert_int_equal(world.sent, 0);
	/* it cannot go beyond that: in force */
	assert_int_equal(tell(&world).path, STEER_LIMIT);
	assert_int_equal(tell(&world).rate, 20 * MB);
	answer(&world, STEER_LIMIT, 5 * MB);
	turn(&world, 1000);
	assert_int_equal(world.jobs.jobs[0].speed, 5 * MB);
	assert_int_equal(world.jobs.jobs[1].speed, 3 * MB);
	answer(&world, STEER_FREE, 0);
	turn(&world, 1000);
	assert_int_equal(world.jobs.jobs[0].speed, 8 * MB);
	assert_int_equal(world.jobs.jobs[1].speed, 3 * MB);
	assert_false(keeping_touches(&world.keeping));
	assert_int_equal(tell(&world).path, STEER_FREE);
}

static void jobs_that_run_together_share_it(void **state)
{
	struct scene world = begin();

	(void)state;
	add_job(&world, "drive-scsi0", "running");
	add_job(&world, "drive-scsi1", "running");
	answer(&world, STEER_LIMIT, 10 * MB);
	turn(&world, 1000);
	assert_int_equal(world.jobs.jobs[0].speed, 5 * MB);
	assert_int_equal(world.jobs.jobs[1].speed, 5 * MB);
	assert_int_equal(tell(&world).rate, 10 * MB);
}

static void a_rest_is_a_pause(void **state)
{
	struct scene world = begin();

	(void)state;
	add_job(&world, "drive-scsi0", "running")->speed = 8 * MB;
	add_job(&world, "drive-scsi1", "created");
	add_job(&world, "drive-scsi2", "waiting");
	answer(&world, STEER_REST, 0);
	turn(&world, 1000);
	assert_true(world.jobs.jobs[0].paused);
	assert_int_equal(world.jobs.jobs[0].speed, 8 * MB);
	/* one that may begin before the next look is as good as shut */
	assert_int_equal(world.jobs.jobs[1].speed, KEEPING_LEAST_RATE);
	assert_int_equal(world.jobs.jobs[2].speed, 0);
	assert_int_equal(tell(&world).path, STEER_REST);
	answer(&world, STEER_OPEN, 0);
	turn(&world, 1000);
	assert_false(world.jobs.jobs[0].paused);
	assert_int_equal(world.jobs.jobs[1].speed, 0);
	assert_int_equal(tell(&world).path, STEER_OPEN);
}

static void a_pause_ends_by_itself_and_the_job_runs_as_long(void **state)
{
	struct scene world = begin();

	(void)state;
	add_job(&world, "drive-scsi0", "running");
	answer(&world, STEER_REST, 0);
	turn(&world, 1000);
	turn(&world, 14999);
	assert_true(world.jobs.jobs[0].paused);
	assert_int_equal(keeping_wake_ms(&world.keeping), world.now_ms + 1);
	turn(&world, 1);
	assert_false(world.jobs.jobs[0].paused);
	assert_non_null(strstr(tell(&world).trouble, "15s"));
	turn(&world, 14999);
	assert_false(world.jobs.jobs[0].paused);
	turn(&world, 1);
	assert_true(world.jobs.jobs[0].paused);
	assert_string_equal(tell(&world).trouble, "");
	turn(&world, 15000);
	assert_false(world.jobs.jobs[0].paused);
}

static void a_pause_is_known_with_its_end_before_it_is_sent(void **state)
{
	struct scene world = begin();

	(void)state;
	add_job(&world, "drive-scsi0", "running");
	answer(&world, STEER_REST, 0);
	look(&world);
	keeping_tick(&world.keeping, world.now_ms);
	assert_false(keeping_paused_until(&world.keeping, world.now_ms).known);
	assert_true(keeping_differs(&world.keeping));
	assert_true(keeping_paused_until(&world.keeping, world.now_ms).known);
	assert_int_equal(
		keeping_paused_until(&world.keeping, world.now_ms).v, world.now_ms + 15000);
	obey(&world);
	keeping_set(&world.keeping, &world.jobs, NULL);
	turn(&world, 4000);
	assert_int_equal(
		keeping_paused_until(&world.keeping, world.now_ms).v, world.now_ms + 11000);
	/* Its time is over, or it is not wanted any more, and the jobs are not resumed yet. */
	world.now_ms += 12000;
	assert_int_equal(keeping_paused_until(&world.keeping, world.now_ms).v, world.now_ms);
	keeping_tick(&world.keeping, world.now_ms);
	assert_int_equal(keeping_paused_until(&world.keeping, world.now_ms).v, world.now_ms);
	turn(&world, 0);
	assert_false(keeping_paused_until(&world.keeping, world.now_ms).known);
}

static void what_others_paused_has_no_end_of_ours(void **state)
{
	struct scene world = begin();
	struct qmp_job *job = add_job(&world, "drive-scsi0", "paused");

	(void)state;
	job->paused = true;
	answer(&world, STEER_REST, 0);
	turn(&world, 1000);
	assert_false(keeping_paused_until(&world.keeping, world.now_ms).known);
	answer(&world, STEER_LIMIT, 5 * MB);
	turn(&world, 1000);
	assert_false(keeping_paused_until(&world.keeping, world.now_ms).known);
}

static void no_gate_may_make_it_longer(void **state)
{
	const struct keep_answer said = {STEER_REST, 0, 500, KEEP_PAUSE_MAX_MS, ""};
	struct scene world = begin();

	(void)state;
	add_job(&world, "drive-scsi0", "running");
	keeping_answered(&world.keeping, &said, world.now_ms);
	turn(&world, 0);
	turn(&world, KEEP_PAUSE_CAP_MS - 1);
	assert_true(world.jobs.jobs[0].paused);
	turn(&world, 1);
	assert_false(world.jobs.jobs[0].paused);

	world = begin();
	world.keeping.fleecing = true;
	add_job(&world, "drive-scsi0", "running");
	keeping_answered(&world.keeping, &said, world.now_ms);
	turn(&world, 0);
	turn(&world, KEEP_PAUSE_CAP_FLEECING_MS - 1);
	assert_true(world.jobs.jobs[0].paused);
	turn(&world, 1);
	assert_false(world.jobs.jobs[0].paused);
}

static void a_slice_between_two_rests_begins_a_new_piece(void **state)
{
	struct scene world = begin();
	int i;

	(void)state;
	add_job(&world, "drive-scsi0", "running");
	for (i = 0; i < 4; i++) {
		answer(&world, STEER_REST, 0);
		turn(&world, 1000);
		turn(&world, 14000);
		assert_true(world.jobs.jobs[0].paused);
		answer(&world, STEER_OPEN, 0);
		turn(&world, 1000);
		assert_false(world.jobs.jobs[0].paused);
		assert_string_equal(tell(&world).trouble, "");
	}
}

static void time_before_the_jobs_is_no_pause(void **state)
{
	struct scene world = begin();

	(void)state;
	answer(&world, STEER_REST, 0);
	turn(&world, 20000);
	turn(&world, 20000);
	add_job(&world, "drive-scsi0", "running");
	turn(&world, 1000);
	assert_true(world.jobs.jobs[0].paused);
	turn(&world, 14999);
	assert_true(world.jobs.jobs[0].paused);
}

static void where_pauses_are_refused_a_rest_is_the_least_rate(void **state)
{
	const struct err why = {ERR_DENIED, 0, "QEMU refuses block-job-pause"};
	struct scene world = begin();

	(void)state;
	add_job(&world, "drive-scsi0", "running");
	answer(&world, STEER_REST, 0);
	look(&world);
	keeping_tick(&world.keeping, world.now_ms);
	assert_true(keeping_differs(&world.keeping));
	keeping_set(&world.keeping, &world.jobs, &why);
	assert_string_equal(tell(&world).trouble, why.text);
	turn(&world, 1000);
	assert_false(world.jobs.jobs[0].paused);
	assert_int_equal(world.jobs.jobs[0].speed, KEEPING_LEAST_RATE);
	assert_int_equal(tell(&world).path, STEER_REST);
}

static void without_a_pause_allowed_likewise(void **state)
{
	const struct keep_answer said = {STEER_REST, 0, 500, 0, ""};
	struct scene world = begin();

	(void)state;
	add_job(&world, "drive-scsi0", "running");
	keeping_answered(&world.keeping, &said, world.now_ms);
	turn(&world, 1000);
	assert_false(world.jobs.jobs[0].paused);
	assert_int_equal(world.jobs.jobs[0].speed, KEEPING_LEAST_RATE);
}

static void somebody_elses_pause_is_not_resumed(void **state)
{
	struct scene world = begin();

	(void)state;
	add_job(&world, "drive-scsi0", "paused")->paused = true;
	answer(&world, STEER_LIMIT, 5 * MB);
	turn(&world, 1000);
	assert_true(world.jobs.jobs[0].paused);
	assert_int_equal(world.jobs.jobs[0].speed, 5 * MB);
	answer(&world, STEER_REST, 0);
	turn(&world, 1000);
	keeping_put_back(&world.keeping);
	turn(&world, 1000);
	assert_true(world.jobs.jobs[0].paused);
	assert_int_equal(world.jobs.jobs[0].speed, 0);
	assert_false(keeping_touches(&world.keeping));
}

static void the_end_puts_everything_back(void **state)
{
	struct scene world = begin();

	(void)state;
	add_job(&world, "drive-scsi0", "running")->speed = 9 * MB;
	add_job(&world, "drive-scsi1", "created");
	answer(&world, STEER_REST, 0);
	turn(&world, 1000);
	assert_true(keeping_touches(&world.keeping));
	keeping_put_back(&world.keeping);
	turn(&world, 0);
	assert_false(world.jobs.jobs[0].paused);
	assert_int_equal(world.jobs.jobs[0].speed, 9 * MB);
	assert_int_equal(world.jobs.jobs[1].speed, 0);
	assert_false(keeping_touches(&world.keeping));
	assert_int_equal(tell(&world).path, STEER_FREE);
	/* nothing the gate says counts any more */
	answer(&world, STEER_LIMIT, MB);
	turn(&world, 1000);
	assert_int_equal(world.jobs.jobs[0].speed, 9 * MB);
}

static void what_was_not_sent_counts_as_touched(void **state)
{
	const struct err why = {ERR_TIMEOUT, 0, "QEMU does not answer"};
	struct scene world = begin();

	(void)state;
	add_job(&world, "drive-scsi0", "running");
	answer(&world, STEER_REST, 0);
	look(&world);
	keeping_tick(&world.keeping, world.now_ms);
	assert_true(keeping_differs(&world.keeping));
	keeping_not_set(&world.keeping, &why);
	assert_true(keeping_touches(&world.keeping));
	/* it arrived after all */
	snprintf(world.jobs.jobs[0].status, 24, "paused");
	world.jobs.jobs[0].paused = true;
	keeping_put_back(&world.keeping);
	turn(&world, 1000);
	assert_false(world.jobs.jobs[0].paused);
	assert_false(keeping_touches(&world.keeping));
}

static void the_pace_is_what_the_jobs_moved_since_it_was_told(void **state)
{
	struct scene world = begin();

	(void)state;
	assert_false(tell(&world).moved.known);
	add_job(&world, "drive-scsi0", "running")->offset = 50 * MB;
	turn(&world, 1000);
	assert_false(tell(&world).moved.known);
	answer(&world, STEER_FREE, 0);
	world.jobs.jobs[0].offset = 60 * MB;
	turn(&world, 2000);
	assert_int_equal(tell(&world).moved.v, 5 * MB);
	/* a question that was not answered does not count */
	world.jobs.jobs[0].offset = 90 * MB;
	add_job(&world, "drive-scsi1", "running")->offset = 10 * MB;
	turn(&world, 2000);
	assert_int_equal(tell(&world).moved.v, (10 + 30 + 10) * MB / 4);
	answer(&world, STEER_FREE, 0);
	/* asked again before anybody looked */
	assert_int_equal(tell(&world).moved.v, (10 + 30 + 10) * MB / 4);
	answer(&world, STEER_FREE, 0);
	assert_int_equal(tell(&world).moved.v, (10 + 30 + 10) * MB / 4);
	turn(&world, 1000);
	assert_true(tell(&world).moved.known);
	assert_int_equal(tell(&world).moved.v, 0);
}

static void what_all_jobs_will_read_is_known_once_the_last_began(void **state)
{
	struct scene world = begin();
	struct qmp_job *last;

	(void)state;
	assert_false(tell(&world).total.known);
	add_job(&world, "drive-scsi0", "running")->offset = 50 * MB;
	last = add_job(&world, "drive-scsi1", "created");
	last->len = 0;
	turn(&world, 1000);
	assert_false(tell(&world).total.known);
	snprintf(world.jobs.jobs[0].status, sizeof(world.jobs.jobs[0].status), "waiting");
	snprintf(last->status, sizeof(last->status), "running");
	last->len = 7 * MB;
	turn(&world, 1000);
	assert_true(tell(&world).total.known);
	assert_int_equal(tell(&world).total.v, 1007 * MB);
	/* A guest may write more meanwhile. */
	last->offset = 9 * MB;
	turn(&world, 1000);
	assert_int_equal(tell(&world).total.v, 1009 * MB);
	/* The last word tells it, too. */
	world.jobs.n = 0;
	turn(&world, 1000);
	turn(&world, 1000);
	assert_int_equal(keeping_over(&world.keeping, world.now_ms), KEEPING_DONE);
	assert_int_equal(tell(&world).total.v, 1009 * MB);
}

static void jobs_that_go_one_by_one_make_no_sum(void **state)
{
	struct scene world = begin();

	(void)state;
	add_job(&world, "drive-scsi1", "created");
	add_job(&world, "drive-scsi0", "running");
	turn(&world, 1000);
	world.jobs.n = 1;
	snprintf(world.jobs.jobs[0].status, sizeof(world.jobs.jobs[0].status), "running");
	turn(&world, 1000);
	assert_false(tell(&world).total.known);
}

static void it_is_over_when_the_jobs_are_gone_for_two_looks(void **state)
{
	const struct err gone = {ERR_GONE, 0, "no QEMU"}, late = {ERR_TIMEOUT, 0, "late"};
	struct scene world = begin();

	(void)state;
	add_job(&world, "drive-scsi0", "running");
	answer(&world, STEER_FREE, 0);
	turn(&world, 1000);
	world.jobs.n = 0;
	turn(&world, 1000);
	assert_int_equal(keeping_over(&world.keeping, world.now_ms), KEEPING_GOES_ON);
	keeping_not_looked(&world.keeping, &late, world.now_ms);
	assert_int_equal(keeping_over(&world.keeping, world.now_ms), KEEPING_GOES_ON);
	assert_string_equal(tell(&world).trouble, "late");
	keeping_not_looked(&world.keeping, &gone, world.now_ms);
	assert_int_equal(keeping_over(&world.keeping, world.now_ms), KEEPING_DONE);
}

static void it_waits_for_the_jobs_but_not_for_ever(void **state)
{
	const struct err gone = {ERR_GONE, 0, "no QEMU"};
	struct scene world = begin();
	int64_t start_ms = world.now_ms;

	(void)state;
	while (world.now_ms < start_ms + KEEPING_WAIT_MS - 10000) {
		world.now_ms += 5000;
		keeping_not_looked(&world.keeping, &gone, world.now_ms);
		answer(&world, STEER_LIMIT, MB);
		assert_int_equal(keeping_over(&world.keeping, world.now_ms), KEEPING_GOES_ON);
	}
	assert_int_equal(keeping_over(&world.keeping, start_ms + KEEPING_WAIT_MS), KEEPING_NEVER);
}

static void without_a_gate_it_is_over_after_a_minute(void **state)
{
	struct scene world = begin();

	(void)state;
	add_job(&world, "drive-scsi0", "running");
	turn(&world, 30000);
	answer(&world, STEER_LIMIT, MB);
	turn(&world, 59999);
	assert_int_equal(keeping_over(&world.keeping, world.now_ms), KEEPING_GOES_ON);
	/* until then the last word holds */
	assert_int_equal(world.jobs.jobs[0].speed, MB);
	turn(&world, 1);
	assert_int_equal(keeping_over(&world.keeping, world.now_ms), KEEPING_LOST);
}

static void looks_come_oftener_while_something_is_set(void **state)
{
	struct scene world = begin();

	(void)state;
	assert_int_equal(keeping_look_ms(&world.keeping), world.now_ms + KEEPING_SOON_MS);
	add_job(&world, "drive-scsi0", "running");
	answer(&world, STEER_FREE, 0);
	turn(&world, 1000);
	assert_int_equal(keeping_look_ms(&world.keeping), world.now_ms + KEEPING_IDLE_MS);
	answer(&world, STEER_LIMIT, MB);
	turn(&world, 1000);
	assert_int_equal(keeping_look_ms(&world.keeping), world.now_ms + KEEPING_LOOK_MS);
	world.jobs.n = 0;
	turn(&world, 1000);
	assert_int_equal(keeping_look_ms(&world.keeping), world.now_ms + KEEPING_SOON_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_touched_while_the_path_is_free),
		cmocka_unit_test(a_limit_is_for_all_jobs_those_to_come_as_well),
		cmocka_unit_test(a_job_that_comes_later_gets_it_too),
		cmocka_unit_test(what_somebody_else_changed_is_set_again),
		cmocka_unit_test(the_jobs_own_limit_is_the_ceiling_and_comes_back),
		cmocka_unit_test(jobs_that_run_together_share_it),
		cmocka_unit_test(a_rest_is_a_pause),
		cmocka_unit_test(a_pause_ends_by_itself_and_the_job_runs_as_long),
		cmocka_unit_test(a_pause_is_known_with_its_end_before_it_is_sent),
		cmocka_unit_test(what_others_paused_has_no_end_of_ours),
		cmocka_unit_test(no_gate_may_make_it_longer),
		cmocka_unit_test(a_slice_between_two_rests_begins_a_new_piece),
		cmocka_unit_test(time_before_the_jobs_is_no_pause),
		cmocka_unit_test(where_pauses_are_refused_a_rest_is_the_least_rate),
		cmocka_unit_test(without_a_pause_allowed_likewise),
		cmocka_unit_test(somebody_elses_pause_is_not_resumed),
		cmocka_unit_test(the_end_puts_everything_back),
		cmocka_unit_test(what_was_not_sent_counts_as_touched),
		cmocka_unit_test(the_pace_is_what_the_jobs_moved_since_it_was_told),
		cmocka_unit_test(what_all_jobs_will_read_is_known_once_the_last_began),
		cmocka_unit_test(jobs_that_go_one_by_one_make_no_sum),
		cmocka_unit_test(it_is_over_when_the_jobs_are_gone_for_two_looks),
		cmocka_unit_test(it_waits_for_the_jobs_but_not_for_ever),
		cmocka_unit_test(without_a_gate_it_is_over_after_a_minute),
		cmocka_unit_test(looks_come_oftener_while_something_is_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
