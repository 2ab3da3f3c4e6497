// SPDX-License-Identifier: MIT
/* Tickets before their jobs: who is held, who goes when, and what is told of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ticket_world.h"

/* Asking. */

static void a_job_on_an_idle_nas_goes(void **state)
{
	int64_t id = ask_as(CLIENT_VZDUMP, "pve1", 10);
	struct ticket *ticket = ticket_find(&tickets, id);

	(void)state;
	assert_int_equal(id, 1);
	assert_int_equal(ticket->state, TICKET_RELEASED);
	assert_true(ticket->slot);
	assert_false(ticket->took_queue);
	assert_int_equal(ticket->last_decision_id, 1);
	assert_string_equal(ticket->nas, "nas1");
	assert_int_equal(n_told, 1);
	assert_int_equal(told[0].kind, OUTCOME_DECIDED);
	assert_int_equal(told[0].before, TICKET_NONE);
	assert_int_equal(told[0].after, TICKET_RELEASED);
}

static void a_job_during_a_rebuild_is_held(void **state)
{
	struct ticket *ticket;

	(void)state;
	md2_does(MD_OP_RECOVERY);
	ticket = ticket_find(&tickets, ask_as(CLIENT_VZDUMP, "pve1", 10));
	assert_int_equal(ticket->state, TICKET_HELD);
	assert_false(ticket->slot);
	assert_int_equal(ticket->held_boot_ms.v, HOUR);
	assert_string_equal(ticket->hold_rule, "rebuild");
	assert_int_equal(ticket->hold_step, 5);
	assert_false(ticket->clear_boot_ms.known);
}

static void asking_again_only_is_seen(void **state)
{
	struct ticket ask = asks(CLIENT_VZDUMP, "pve1", 10);
	struct ticket *ticket;

	(void)state;
	md2_does(MD_OP_RECOVERY);
	ticket = ticket_ask(&run, &ask);
	later(20 * SEC);
	ask.id = ticket->id;
	assert_ptr_equal(ticket_ask(&run, &ask), ticket);
	assert_int_equal(ticket->seen_boot_ms, HOUR + 20 * SEC);
	ask.id = 0; /* its worker tells who it is */
	assert_ptr_equal(ticket_ask(&run, &ask), ticket);
	assert_int_equal(tickets.n, 1);
	assert_int_equal(n_told, 1);
}

static void another_worker_is_another_job(void **state)
{
	struct ticket ask = asks(CLIENT_VZDUMP, "pve1", 10);
	int64_t first;

	(void)state;
	md2_does(MD_OP_RECOVERY);
	first = ticket_ask(&run, &ask)->id;
	ask.id = first;
	ask.worker.start_ticks++;
	assert_int_not_equal(ticket_ask(&run, &ask)->id, first);
	ask.worker.start_ticks--;
	ask.id = 0;
	snprintf(ask.worker.boot_id, sizeof(ask.worker.boot_id), "other");
	assert_int_equal(ticket_ask(&run, &ask)->id, 3);
	assert_int_equal(tickets.n, 3);
}

static void one_without_a_worker_is_known_by_its_id(void **state)
{
	struct ticket ask = asks(CLIENT_VZDUMP, "pve1", 0);

	(void)state;
	memset(&ask.worker, 0, sizeof(ask.worker));
	md2_does(MD_OP_RECOVERY);
	ask.id = ticket_ask(&run, &ask)->id;
	assert_int_equal(ticket_ask(&run, &ask)->id, ask.id);
	ask.id = 0;
	assert_int_equal(ticket_ask(&run, &ask)->id, 2);
}

static void an_unknown_id_is_taken_up_with_its_time(void **state)
{
	struct ticket ask = asks(CLIENT_VZDUMP, "pve1", 10);
	struct ticket *ticket;

	(void)state;
	md2_does(MD_OP_RECOVERY);
	ask.id = 17;
	ask.held_before_ms = 7 * HOUR;
	ticket = ticket_ask(&run, &ask);
	assert_int_equal(ticket->id, 17);
	assert_int_equal(ticket->last.ends_in_ms.v, HOUR);
	later(HOUR);
	ticket_tick(&run, NULL);
	assert_int_equal(ticket->state, TICKET_RELEASED);
	assert_true(ticket->expired);
	assert_int_equal(ticket->expired_to, VERDICT_THROTTLE);
	assert_int_equal(ask_as(CLIENT_VZDUMP, "pve1", 11), 18);
}

static void what_held_one_taken_up_is_not_known_so_it_settles(void **state)
{
	struct ticket ask = asks(CLIENT_VZDUMP, "pve1", 10);
	int64_t id;

	(void)state;
	ask.held_before_ms = HOUR;
	id = ticket_ask(&run, &ask)->id;
	assert_int_equal(last_told()->code, REASON_SETTLE);
	tick_after(10 * MIN);
	assert_int_equal(state_of(id), TICKET_RELEASED);
	assert_true(ticket_find(&tickets, id)->took_queue);
}

static void one_taken_up_and_let_go_was_of_the_backlog(void **state)
{
	struct ticket ask = asks(CLIENT_VZDUMP, "pve1", 10);

	(void)state;
	overrides[0] = (struct override){
		.id = 1, .verdict = VERDICT_ALLOW, .until_utc_ms = UTC0 + HOUR, .by = "a"};
	n_overrides = 1;
	ask.held_before_ms = HOUR;
	assert_true(ticket_ask(&run, &ask)->took_queue);
	assert_int_equal(tickets.n_nas, 1);
}

static void the_spacing_is_of_each_nas(void **state)
{
	struct ticket ask = asks(CLIENT_VZDUMP, "pve1", 10),
		      other = asks(CLIENT_VZDUMP, "pve2", 11);

	(void)state;
	ask.held_before_ms = other.held_before_ms = HOUR;
	snprintf(other.request.storage, sizeof(other.request.storage), "other");
	ticket_ask(&run, &ask);
	ticket_ask(&run, &other);
	tick_after(10 * MIN);
	assert_int_equal(state_of(1), TICKET_RELEASED);
	assert_int_equal(state_of(2), TICKET_RELEASED);
	assert_int_equal(tickets.n_nas, 2);
	/* Neither keeps a slot of the other, and one whose slot was taken keeps none. */
	later(10 * MIN);
	ticket_sweep(&run, HOUR, 0, "pve1");
	other.worker.pid = 12;
	assert_int_equal(ticket_ask(&run, &other)->id, 3);
	assert_int_equal(scratch.queue.running_nas, 0);
	assert_int_equal(scratch.queue.since_release_ms.v, 10 * MIN);
}

static void an_id_is_never_given_twice(void **state)
{
	struct ticket ask = asks(CLIENT_VZDUMP, "pve1", 10);

	(void)state;
	tickets.next_id = 40;
	ask.id = 39; /* given to somebody before */
	assert_int_equal(ticket_ask(&run, &ask)->id, 40);
	ask.id = INT64_MAX; /* nobody uses up the ids */
	ask.worker.pid++;
	assert_int_equal(ticket_ask(&run, &ask)->id, 41);
}

static void no_ticket_past_the_limit(void **state)
{
	struct ticket ask = asks(CLIENT_VZDUMP, "pve1", 1);
	struct ticket kept;

	(void)state;
	for (; ask.worker.pid <= TICKETS_MAX; ask.worker.pid++)
		assert_non_null(ticket_ask(&run, &ask));
	assert_null(ticket_ask(&run, &ask));
	kept = tickets.list[0];
	kept.id = 9999;
	assert_false(ticket_restore(&tickets, &kept));
}

static void a_denied_job_leaves_the_list(void **state)
{
	struct ticket ask = asks(CLIENT_VZDUMP, "pve1", 10), *ticket;

	(void)state;
	md2_does(MD_OP_REPAIR);
	ticket = ticket_ask(&run, &ask);
	assert_ptr_equal(ticket, &tickets.gone);
	assert_int_equal(ticket->state, TICKET_DENIED);
	assert_int_equal(ticket->last.act, VERDICT_DENY);
	assert_int_equal(tickets.n, 0);
	assert_int_equal(last_told()->after, TICKET_DENIED);
}

static void a_wait_ends_when_it_may_go(void **state)
{
	struct ticket ask = asks(CLIENT_WAIT, "pve1", 10);

	(void)state;
	assert_int_equal(ticket_ask(&run, &ask)->state, TICKET_ENDED);
	assert_int_equal(n_told, 2);
	assert_int_equal(told[0].after, TICKET_RELEASED);
	assert_int_equal(told[1].before, TICKET_RELEASED);
	assert_int_equal(told[1].after, TICKET_ENDED);
	assert_int_equal(tickets.n, 0);
}

static void a_gated_command_runs_at_once_and_keeps_its_slot(void **state)
{
	int64_t id = ask_as(CLIENT_RUN, "pve1", 10);

	(void)state;
	assert_int_equal(state_of(id), TICKET_RUNNING);
	later(HOUR);
	ticket_sweep(&run, 90 * SEC, 0, "pve1");
	assert_true(ticket_find(&tickets, id)->slot);
	assert_true(ticket_ended(&run, id, "the command ended"));
	assert_int_equal(tickets.n, 0);
}

static void a_check_leaves_no_trace(void **state)
{
	struct ticket ask = asks(CLIENT_CHECK, "pve1", 0);
	struct decision decision;
	static struct trace trace;

	(void)state;
	md2_does(MD_OP_RECOVERY);
	ticket_check(&run, &ask.request, &decision, &trace);
	assert_int_equal(decision.act, VERDICT_HOLD);
	assert_true(trace.n > 4);
	assert_int_equal(tickets.n, 0);
	assert_int_equal(n_told, 0);
}

/* Holding and letting go. */

static void ticks_tell_only_what_changes(void **state)
{
	(void)state;
	md2_does(MD_OP_RECOVERY);
	ask_as(CLIENT_VZDUMP, "pve1", 10);
	tick_after(10 * SEC);
	tick_after(10 * SEC);
	assert_int_equal(n_told, 1);
	facts.arrays[0].remaining_ms = OPT(HOUR);
	tick_after(10 * SEC);
	assert_int_equal(n_told, 1);
	assert_int_equal(tickets.list[0].last.expected_ms.v, HOUR + 10 * MIN);
}

static void it_goes_when_the_array_has_settled(void **state)
{
	int64_t id;

	(void)state;
	md2_does(MD_OP_RECOVERY);
	id = ask_as(CLIENT_VZDUMP, "pve1", 10);
	md2_does(MD_OP_IDLE);
	tick_after(HOUR);
	assert_int_equal(last_told()->code, REASON_SETTLE);
	tick_after(10 * MIN - 1);
	assert_int_equal(state_of(id), TICKET_HELD);
	tick_after(1);
	assert_int_equal(state_of(id), TICKET_RELEASED);
	assert_true(ticket_find(&tickets, id)->took_queue);
	assert_int_equal(tickets.n_nas, 1);
}

static void a_rebuild_that_comes_back_settles_anew(void **state)
{
	int64_t id;

	(void)state;
	md2_does(MD_OP_RECOVERY);
	id = ask_as(CLIENT_VZDUMP, "pve1", 10);
	md2_does(MD_OP_IDLE);
	tick_after(MIN);
	md2_does(MD_OP_RECOVERY);
	tick_after(9 * MIN);
	md2_does(MD_OP_IDLE);
	tick_after(MIN);
	tick_after(10 * MIN - 1);
	assert_int_equal(state_of(id), TICKET_HELD);
	tick_after(1);
	assert_int_equal(state_of(id), TICKET_RELEASED);
}

static void go_blind(void)
{
	facts.sensor = SENSOR_REFUSED;
	facts.blind_since_ms = OPT(run.now.boot_ms);
}

static void a_blink_holds_no_longer_than_it_took(void **state)
{
	int64_t id;

	(void)state;
	go_blind();
	id = ask_as(CLIENT_VZDUMP, "pve1", 10);
	tick_after(2 * MIN);
	assert_int_equal(ticket_find(&tickets, id)->hold_blind_ms.v, 2 * MIN);
	md2_does(MD_OP_IDLE);
	tick_after(SEC);
	tick_after(2 * MIN - 1);
	assert_int_equal(state_of(id), TICKET_HELD);
	tick_after(1);
	assert_int_equal(state_of(id), TICKET_RELEASED);
}

static void a_blink_after_a_rebuild_does_not_shorten_its_settling(void **state)
{
	int64_t id;

	(void)state;
	md2_does(MD_OP_RECOVERY);
	id = ask_as(CLIENT_VZDUMP, "pve1", 10);
	md2_does(MD_OP_IDLE);
	tick_after(MIN);
	go_blind();
	tick_after(SEC);
	assert_int_equal(last_told()->code, REASON_BLIND);
	assert_string_equal(ticket_find(&tickets, id)->hold_rule, "rebuild");
	md2_does(MD_OP_IDLE);
	tick_after(SEC);
	tick_after(10 * MIN - 1);
	assert_int_equal(state_of(id), TICKET_HELD);
	tick_after(1);
	assert_int_equal(state_of(id), TICKET_RELEASED);
}

/* The rule went on blindly, it was seen to be over, and then came another blindness. */
static void a_rule_that_went_on_blindly_is_not_forgotten_for_a_blink(void **state)
{
	int64_t id;

	(void)state;
	md2_does(MD_OP_RECOVERY);
	go_blind();
	id = ask_as(CLIENT_VZDUMP, "pve1", 10);
	assert_int_equal(last_told()->code, REASON_BLIND_HOLD_GOES_ON);
	assert_int_equal(ticket_find(&tickets, id)->hold_step, 5);
	md2_does(MD_OP_IDLE);
	tick_after(SEC);
	go_blind();
	tick_after(SEC);
	assert_int_equal(last_told()->code, REASON_BLIND);
	assert_string_equal(ticket_find(&tickets, id)->hold_rule, "rebuild");
}

/* Else an operator's hold would let a job go the moment that a rebuild is done. */
static void an_operators_hold_after_a_rules_does_not_shorten_its_settling(void **state)
{
	int64_t id;

	(void)state;
	md2_does(MD_OP_RECOVERY);
	id = ask_as(CLIENT_VZDUMP, "pve1", 10);
	overrides[0] = (struct override){
		.id = 1, .verdict = VERDICT_HOLD, .until_utc_ms = UTC0 + HOUR, .by = "a"};
	n_overrides = 1;
	tick_after(MIN);
	assert_int_equal(last_told()->code, REASON_OVERRIDE);
	md2_does(MD_OP_IDLE);
	n_overrides = 0;
	tick_after(SEC);
	tick_after(10 * MIN - 1);
	assert_int_equal(state_of(id), TICKET_HELD);
	tick_after(1);
	assert_int_equal(state_of(id), TICKET_RELEASED);
}

static void a_blindness_after_an_override_or_a_blindness_is_the_hold(void **state)
{
	int64_t id;

	(void)state;
	overrides[0] = (struct override){
		.id = 1, .verdict = VERDICT_HOLD, .until_utc_ms = UTC0 + HOUR, .by = "a"};
	n_overrides = 1;
	id = ask_as(CLIENT_VZDUMP, "pve1", 10);
	assert_int_equal(ticket_find(&tickets, id)->hold_step, 2);
	n_overrides = 0;
	go_blind();
	tick_after(SEC);
	assert_string_equal(ticket_find(&tickets, id)->hold_rule, "sensor");
	tick_after(SEC);
	assert_int_equal(ticket_find(&tickets, id)->hold_step, 4);
	/* A rule's hold that goes on blindly is that rule's. */
	md2_does(MD_OP_RECOVERY);
	go_blind();
	tick_after(SEC);
	assert_string_equal(ticket_find(&tickets, id)->hold_rule, "rebuild");
}

static void an_observed_hold_goes(void **state)
{
	int64_t id;

	(void)state;
	made.policy.observe = true;
	md2_does(MD_OP_RECOVERY);
	id = ask_as(CLIENT_VZDUMP, "pve1", 10);
	assert_int_equal(state_of(id), TICKET_RELEASED);
	assert_int_equal(ticket_find(&tickets, id)->last.would_be, VERDICT_HOLD);
}

static void once_let_go_it_is_never_held_again(void **state)
{
	int64_t id = ask_as(CLIENT_VZDUMP, "pve1", 10);

	(void)state;
	md2_does(MD_OP_RECOVERY);
	tick_after(MIN);
	assert_int_equal(state_of(id), TICKET_RELEASED);
	assert_int_equal(n_told, 1);
}

/* Its question waits for a look, and the look's tick ends its ticket. */
static void a_question_on_its_way_gets_what_was_decided_meanwhile(void **state)
{
	struct ticket ask = asks(CLIENT_WAIT, "pve1", 10), *ticket;
	int64_t id;

	(void)state;
	md2_does(MD_OP_RECOVERY);
	id = ticket_ask(&run, &ask)->id;
	ticket_release(&run, id, "alice", "now");
	assert_int_equal(tickets.n, 0);
	ask.id = id;
	ask.held_before_ms = MIN;
	ticket = ticket_ask(&run, &ask);
	assert_int_equal(ticket->id, id);
	assert_int_equal(ticket->last.act, VERDICT_ALLOW);
	assert_int_equal(tickets.n, 0);
	/* Not somebody else's, though. */
	ask.worker.pid = 11;
	assert_int_not_equal(ticket_ask(&run, &ask)->id, id);
	assert_int_equal(tickets.n, 1);
}

/* As they would have gone without it: it is no backlog. */
static void jobs_wait_for_a_restore_and_go_together(void **state)
{
	int64_t first, second;

	(void)state;
	readers = OPT(1);
	first = ask_as(CLIENT_VZDUMP, "pve1", 10);
	second = ask_as(CLIENT_RUN, "pve2", 11);
	assert_int_equal(state_of(first), TICKET_HELD);
	assert_int_equal(last_told()->code, REASON_RESTORE);
	tick_after(20 * MIN);
	assert_int_equal(state_of(first), TICKET_HELD);
	assert_true(ticket_find(&tickets, first)->only_restore);
	readers = OPT(0);
	tick_after(10 * SEC);
	assert_int_equal(state_of(first), TICKET_RELEASED);
	assert_int_equal(state_of(second), TICKET_RUNNING);
	assert_false(ticket_find(&tickets, first)->took_queue);
}

/* Where others wait for their turn, they do so too. */
static void after_a_restore_nobody_overtakes_a_backlog(void **state)
{
	int64_t held, waits;

	(void)state;
	md2_does(MD_OP_RECOVERY);
	held = ask_as(CLIENT_VZDUMP, "pve1", 10);
	assert_int_equal(state_of(held), TICKET_HELD);
	readers = OPT(1);
	md2_does(MD_OP_IDLE);
	tick_after(0); /* its clear time begins */
	waits = ask_as(CLIENT_VZDUMP, "pve2", 11);
	assert_int_equal(last_told()->code, REASON_RESTORE);
	tick_after(11 * MIN);
	assert_int_equal(ticket_find(&tickets, held)->last.reasons[0].code, REASON_RESTORE);
	assert_false(ticket_find(&tickets, held)->only_restore);
	assert_true(ticket_find(&tickets, waits)->only_restore);
	readers = OPT(0);
	tick_after(10 * SEC);
	assert_int_equal(state_of(held), TICKET_RELEASED);
	assert_int_equal(state_of(waits), TICKET_RELEASED);
	/* A newcomer takes no turn before one that waits for its own. */
	md2_does(MD_OP_RECOVERY);
	held = ask_as(CLIENT_VZDUMP, "pve3", 12);
	md2_does(MD_OP_IDLE);
	readers = OPT(1);
	tick_after(0);
	waits = ask_as(CLIENT_RUN, "pve4", 13);
	readers = OPT(0);
	tick_after(10 * SEC);
	assert_int_equal(state_of(held), TICKET_HELD);
	assert_int_equal(state_of(waits), TICKET_HELD);
	assert_int_equal(ticket_find(&tickets, waits)->last.reasons[0].code, REASON_QUEUE_BEHIND);
	assert_false(ticket_find(&tickets, waits)->only_restore);
}

/* Inside the job the share is the one that was decided for all of it. */
static void what_too_slow_made_of_a_job_stays_with_it(void **state)
{
	struct ticket ask = asks(CLIENT_VZDUMP, "pve1", 10);
	struct request inside = {.phase = PHASE_BACKUP_START, .guest = 100};
	struct ticket *ticket;

	(void)state;
	md2_does(MD_OP_RESYNC);
	lever = true;
	predicted = OPT(30 * HOUR);
	ask.request.next_start_utc_ms = OPT(UTC0 + 24 * HOUR);
	ticket = ticket_ask(&run, &ask);
	assert_int_equal(ticket->state, TICKET_RELEASED);
	assert_int_equal(ticket->last.protect_ppm, 700000);
	later(20 * HOUR);
	predicted = OPT_NONE;
	ticket = ticket_recheck(&run, ticket->id, &inside);
	assert_int_equal(ticket->last.act, VERDICT_THROTTLE);
	assert_int_equal(ticket->last.protect_ppm, 700000);
}

static void an_override_denies_a_held_job(void **state)
{
	int64_t id;

	(void)state;
	md2_does(MD_OP_RECOVERY);
	id = ask_as(CLIENT_VZDUMP, "pve1", 10);
	overrides[0] = (struct override){
		.id = 1, .verdict = VERDICT_DENY, .until_utc_ms = UTC0 + HOUR, .ticket = id};
	n_overrides = 1;
	ticket_tick(&run, "nas1");
	assert_int_equal(state_of(id), TICKET_NONE);
	assert_int_equal(tickets.gone.state, TICKET_DENIED);
	assert_int_equal(last_told()->before, TICKET_HELD);
}

/* The queue. */

static void a_backlog_goes_one_by_one_in_order(void **state)
{
	int64_t ids[4];
	size_t i;

	(void)state;
	md2_does(MD_OP_RECOVERY);
	ids[0] = ask_as(CLIENT_VZDUMP, "pve1", 10);
	ids[1] = ask_as(CLIENT_VZDUMP, "pve1", 11);
	ids[2] = ask_as(CLIENT_VZDUMP, "pve2", 12);
	ids[3] = ask_as(CLIENT_WAIT, "pve3", 13);
	md2_does(MD_OP_IDLE);
	tick_after(MIN);
	tick_after(10 * MIN);
	for (i = 0; i < 3; i++) {
		assert_int_equal(state_of(ids[i]), TICKET_RELEASED);
		assert_int_equal(state_of(ids[i + 1]), TICKET_HELD);
		assert_true(ticket_started(&run, ids[i]));
		tick_after(20 * SEC);
		assert_int_equal(state_of(ids[i + 1]), TICKET_HELD);
		assert_true(ticket_ended(&run, ids[i], "job-end"));
		tick_after(SEC);
		assert_int_equal(ticket_find(&tickets, ids[i + 1])->last.reasons[0].code,
			REASON_QUEUE_INTERVAL);
		tick_after(MIN);
	}
	/* The wait went and ended. */
	assert_int_equal(state_of(ids[3]), TICKET_NONE);
	assert_int_equal(tickets.n, 0);
}

static void a_newcomer_stands_behind_who_settles(void **state)
{
	int64_t first, second;

	(void)state;
	md2_does(MD_OP_RECOVERY);
	first = ask_as(CLIENT_VZDUMP, "pve1", 10);
	md2_does(MD_OP_IDLE);
	tick_after(MIN);
	second = ask_as(CLIENT_VZDUMP, "pve2", 11);
	assert_int_equal(last_told()->code, REASON_QUEUE_BEHIND);
	tick_after(MIN);
	assert_int_equal(state_of(second), TICKET_HELD);
	assert_true(ticket_withdraw(&run, first, "interrupted"));
	tick_after(SEC);
	assert_int_equal(state_of(second), TICKET_RELEASED);
}

static void nobody_stands_behind_who_is_held_by_a_rule(void **state)
{
	struct ticket ask = asks(CLIENT_VZDUMP, "pve2", 11);

	(void)state;
	md2_does(MD_OP_RECOVERY);
	ask_as(CLIENT_VZDUMP, "pve1", 10);
	md2_does(MD_OP_IDLE); /* not evaluated since */
	assert_int_equal(ticket_ask(&run, &ask)->state, TICKET_RELEASED);
}

static void the_node_s_lock_counts_over_all_nas(void **state)
{
	struct ticket ask = asks(CLIENT_VZDUMP, "pve1", 9);
	int64_t other, held, third;

	(void)state;
	snprintf(ask.request.storage, sizeof(ask.request.storage), "other");
	other = ticket_ask(&run, &ask)->id;
	ticket_started(&run, other);
	md2_does(MD_OP_RECOVERY);
	held = ask_as(CLIENT_VZDUMP, "pve1", 10);
	third = ask_as(CLIENT_VZDUMP, "pve2", 11);
	md2_does(MD_OP_IDLE);
	tick_after(MIN);
	tick_after(10 * MIN);
	/* The one of a free node passes the one that its own node keeps. */
	assert_int_equal(ticket_find(&tickets, held)->last.reasons[0].code, REASON_QUEUE_NODE);
	assert_int_equal(state_of(third), TICKET_RELEASED);
	ticket_ended(&run, third, "job-end");
	ticket_ended(&run, other, "job-end");
	tick_after(2 * MIN);
	assert_int_equal(state_of(held), TICKET_RELEASED);
}

static void a_gated_command_takes_no_lock_of_the_node(void **state)
{
	struct ticket ask = asks(CLIENT_RUN, "pve1", 9);
	int64_t run_id, held, held_run;

	(void)state;
	snprintf(ask.request.storage, sizeof(ask.request.storage), "other");
	run_id = ticket_ask(&run, &ask)->id;
	md2_does(MD_OP_RECOVERY);
	held = ask_as(CLIENT_VZDUMP, "pve1", 10);
	held_run = ask_as(CLIENT_RUN, "pve1", 11);
	made.rules[RULE_REBUILD].set.max_running = 2;
	md2_does(MD_OP_IDLE);
	tick_after(MIN);
	tick_after(10 * MIN);
	assert_int_equal(state_of(run_id), TICKET_RUNNING);
	assert_int_equal(state_of(held), TICKET_RELEASED);
	tick_after(MIN);
	assert_int_equal(state_of(held_run), TICKET_RUNNING);
}

static void a_shut_window_lets_others_pass(void **state)
{
	int64_t held, other;

	(void)state;
	made.window = (struct window){0x7e, 0, 0};
	made.rules[RULE_REBUILD].set.release_windows = &made.window;
	made.rules[RULE_REBUILD].set.n_release_windows = 1;
	md2_does(MD_OP_RECOVERY);
	held = ask_as(CLIENT_VZDUMP, "pve1", 10);
	md2_does(MD_OP_IDLE);
	tick_after(MIN);
	tick_after(10 * MIN);
	assert_int_equal(ticket_find(&tickets, held)->last.reasons[0].code, REASON_QUEUE_WINDOW);
	other = ask_as(CLIENT_VZDUMP, "pve2", 11);
	assert_int_equal(state_of(other), TICKET_RELEASED);
	/* But no more than max_running of them while one waits. */
	other = ask_as(CLIENT_VZDUMP, "pve3", 12);
	assert_int_equal(last_told()->code, REASON_QUEUE_NAS);
	ticket_withdraw(&run, held, "gave up");
	assert_int_equal(ask_as(CLIENT_VZDUMP, "pve4", 13), 4);
	assert_int_equal(last_told()->code, REASON_QUEUE_BEHIND);
	ticket_withdraw(&run, other, "gave up");
	ticket_withdraw(&run, 4, "gave up");
	ask_as(CLIENT_VZDUMP, "pve5", 14);
	assert_int_equal(last_told()->code, REASON_NO_RULE);
}

static void unmapped_jobs_know_no_queue(void **state)
{
	struct ticket ask = asks(CLIENT_VZDUMP, "pve1", 10);
	struct decision decision;

	(void)state;
	made.policy.unmapped = VERDICT_HOLD;
	snprintf(ask.request.storage, sizeof(ask.request.storage), "unmapped");
	ticket_ask(&run, &ask);
	made.policy.unmapped = VERDICT_ALLOW;
	tick_after(SEC);
	snprintf(ask.request.node, sizeof(ask.request.node), "pve2");
	ticket_check(&run, &ask.request, &decision, NULL);
	assert_int_equal(decision.act, VERDICT_ALLOW);
}

static void the_last_releases_of_many_nas_are_kept(void **state)
{
	struct ticket kept = {.state = TICKET_RELEASED, .took_queue = true};
	int i;

	(void)state;
	for (i = 1; i <= 70; i++) {
		kept.id = i;
		kept.released_boot_ms = OPT(1000 - i);
		snprintf(kept.nas, sizeof(kept.nas), "n%d", i);
		assert_true(ticket_restore(&tickets, &kept));
	}
	assert_int_equal(tickets.n_nas, 64);
	/* What was longest ago gave way: 70 came last, at the place of 64. */
	assert_string_equal(tickets.releases[0].nas, "n1");
	assert_string_equal(tickets.releases[63].nas, "n70");
	kept.id = 71;
	snprintf(kept.nas, sizeof(kept.nas), "n1");
	kept.released_boot_ms = OPT(2000);
	assert_true(ticket_restore(&tickets, &kept));
	assert_int_equal(tickets.releases[0].last_release_boot_ms, 2000);
}

#define T(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_job_on_an_idle_nas_goes),
		T(a_job_during_a_rebuild_is_held),
		T(asking_again_only_is_seen),
		T(another_worker_is_another_job),
		T(one_without_a_worker_is_known_by_its_id),
		T(an_unknown_id_is_taken_up_with_its_time),
		T(what_held_one_taken_up_is_not_known_so_it_settles),
		T(one_taken_up_and_let_go_was_of_the_backlog),
		T(the_spacing_is_of_each_nas),
		T(an_id_is_never_given_twice),
		T(no_ticket_past_the_limit),
		T(a_denied_job_leaves_the_list),
		T(a_wait_ends_when_it_may_go),
		T(a_gated_command_runs_at_once_and_keeps_its_slot),
		T(a_check_leaves_no_trace),
		T(ticks_tell_only_what_changes),
		T(it_goes_when_the_array_has_settled),
		T(a_rebuild_that_comes_back_settles_anew),
		T(a_blink_holds_no_longer_than_it_took),
		T(a_blink_after_a_rebuild_does_not_shorten_its_settling),
		T(a_rule_that_went_on_blindly_is_not_forgotten_for_a_blink),
		T(an_operators_hold_after_a_rules_does_not_shorten_its_settling),
		T(a_blindness_after_an_override_or_a_blindness_is_the_hold),
		T(an_observed_hold_goes),
		T(once_let_go_it_is_never_held_again),
		T(a_question_on_its_way_gets_what_was_decided_meanwhile),
		T(jobs_wait_for_a_restore_and_go_together),
		T(after_a_restore_nobody_overtakes_a_backlog),
		T(what_too_slow_made_of_a_job_stays_with_it),
		T(an_override_denies_a_held_job),
		T(a_backlog_goes_one_by_one_in_order),
		T(a_newcomer_stands_behind_who_settles),
		T(nobody_stands_behind_who_is_held_by_a_rule),
		T(the_node_s_lock_counts_over_all_nas),
		T(a_gated_command_takes_no_lock_of_the_node),
		T(a_shut_window_lets_others_pass),
		T(unmapped_jobs_know_no_queue),
		T(the_last_releases_of_many_nas_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
