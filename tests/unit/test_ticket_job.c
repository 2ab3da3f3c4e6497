// SPDX-License-Identifier: MIT
/* Tickets of jobs under way: inside them, operators, ends, restarts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ticket_world.h"

/* Inside the job. */

static struct ticket *recheck(int64_t id, enum phase phase, uint32_t guest)
{
	struct request request = {.phase = phase, .guest = guest, .guest_type = GUEST_QEMU};

	return ticket_recheck(&run, id, &request);
}

static void inside_its_job_it_waits_by_one_budget(void **state)
{
	int64_t id = ask_as(CLIENT_VZDUMP, "pve1", 10);
	struct ticket *ticket;

	(void)state;
	assert_int_equal(recheck(id, PHASE_JOB_START, 0)->last.act, VERDICT_ALLOW);
	ticket_started(&run, id);
	md2_does(MD_OP_RECOVERY);
	ticket = recheck(id, PHASE_BACKUP_START, 100);
	assert_int_equal(ticket->last.act, VERDICT_HOLD);
	assert_int_equal(ticket->last.ends_in_ms.v, 5 * MIN);
	assert_int_equal(ticket->state, TICKET_RUNNING);
	assert_int_equal(ticket->guest, 100);
	tick_after(MIN);
	assert_int_equal(ticket->last.ends_in_ms.v, 4 * MIN);
	md2_does(MD_OP_IDLE);
	tick_after(2 * MIN);
	assert_int_equal(ticket->last.act, VERDICT_ALLOW);
	assert_int_equal(ticket->recheck_used_ms, 3 * MIN);
	later(HOUR);
	md2_does(MD_OP_RECOVERY);
	recheck(id, PHASE_BACKUP_START, 101);
	assert_int_equal(ticket->last.ends_in_ms.v, 2 * MIN);
	tick_after(2 * MIN);
	assert_int_equal(ticket->last.act, VERDICT_ALLOW);
	assert_int_equal(ticket->last.reasons[0].code, REASON_MID_JOB);
	recheck(id, PHASE_BACKUP_START, 102);
	assert_int_equal(ticket->last.act, VERDICT_ALLOW);
	assert_int_equal(ticket->recheck_used_ms, 5 * MIN);
	assert_false(ticket->recheck_boot_ms.known);
}

static void each_guest_is_recorded_and_each_poll_is_not(void **state)
{
	int64_t id = ask_as(CLIENT_VZDUMP, "pve1", 10);

	(void)state;
	recheck(id, PHASE_JOB_START, 0);
	recheck(id, PHASE_JOB_START, 0);
	assert_int_equal(n_told, 3); /* asked, has begun, may go on */
	ticket_started(&run, id);
	assert_int_equal(n_told, 3);
	recheck(id, PHASE_BACKUP_START, 100);
	recheck(id, PHASE_BACKUP_START, 100);
	assert_int_equal(n_told, 4);
	recheck(id, PHASE_BACKUP_START, 101);
	assert_int_equal(n_told, 5);
}

/* It waited for vzdump's lock for longer than start_grace; now that it has it, nobody else of its
 * node may go, though it waits first. */
static void one_that_waits_in_job_start_has_its_slot_again(void **state)
{
	struct ticket *ticket;
	int64_t id = ask_as(CLIENT_VZDUMP, "pve1", 10);

	(void)state;
	later(10 * MIN);
	ticket_sweep(&run, 90 * SEC, 0, "pve1");
	assert_false(ticket_find(&tickets, id)->slot);
	md2_does(MD_OP_RECOVERY);
	ticket = recheck(id, PHASE_JOB_START, 0);
	assert_int_equal(ticket->last.act, VERDICT_HOLD);
	assert_int_equal(ticket->state, TICKET_RUNNING);
	assert_true(ticket->slot);
	ticket_sweep(&run, 90 * SEC, 0, "pve1");
	assert_true(ticket_find(&tickets, id)->slot);
}

static void a_deny_inside_a_job_leaves_it_running(void **state)
{
	int64_t id = ask_as(CLIENT_VZDUMP, "pve1", 10);

	(void)state;
	ticket_started(&run, id);
	md2_does(MD_OP_REPAIR);
	assert_int_equal(recheck(id, PHASE_BACKUP_START, 100)->last.act, VERDICT_DENY);
	assert_int_equal(state_of(id), TICKET_RUNNING);
}

static void a_held_job_that_went_on_is_running(void **state)
{
	int64_t id;

	(void)state;
	md2_does(MD_OP_RECOVERY);
	id = ask_as(CLIENT_VZDUMP, "pve1", 10);
	recheck(id, PHASE_JOB_START, 0);
	assert_int_equal(state_of(id), TICKET_RUNNING);
	assert_true(ticket_find(&tickets, id)->slot);
	assert_true(ticket_find(&tickets, id)->released_boot_ms.known);
}

static void a_backup_that_starts_means_that_the_job_runs(void **state)
{
	int64_t id = ask_as(CLIENT_VZDUMP, "pve1", 10);

	(void)state;
	recheck(id, PHASE_BACKUP_START, 100);
	assert_int_equal(state_of(id), TICKET_RUNNING);
	assert_null(recheck(99, PHASE_JOB_START, 0));
}

static void one_first_heard_inside_its_job_is_taken_up_running(void **state)
{
	struct ticket ask = asks(CLIENT_VZDUMP, "pve1", 10), *ticket;

	(void)state;
	md2_does(MD_OP_RECOVERY);
	ask.request.phase = PHASE_BACKUP_START;
	ask.request.guest = 105;
	ticket = ticket_ask(&run, &ask);
	assert_int_equal(ticket->state, TICKET_RUNNING);
	assert_int_equal(ticket->guest, 105);
	assert_true(ticket->last.mid_job);
	assert_int_equal(ticket->last.act, VERDICT_HOLD);
	assert_int_equal(told[0].kind, OUTCOME_STATE);
	assert_int_equal(told[1].kind, OUTCOME_DECIDED);
}

/* Operators. */

static void a_release_lets_a_held_job_go(void **state)
{
	int64_t id;

	(void)state;
	md2_does(MD_OP_RECOVERY);
	id = ask_as(CLIENT_VZDUMP, "pve1", 10);
	assert_true(ticket_release(&run, id, "anna", "needed tonight"));
	assert_int_equal(state_of(id), TICKET_RELEASED);
	assert_int_equal(last_told()->code, REASON_RELEASE_ASKED);
	assert_string_equal(ticket_find(&tickets, id)->release_by, "anna");
	/* And not held inside the job either. */
	assert_int_equal(recheck(id, PHASE_JOB_START, 0)->last.act, VERDICT_ALLOW);
	assert_false(ticket_release(&run, 99, "anna", "x"));
}

static void a_release_ends_a_wait_inside_the_job(void **state)
{
	int64_t id = ask_as(CLIENT_VZDUMP, "pve1", 10);

	(void)state;
	md2_does(MD_OP_RECOVERY);
	assert_int_equal(recheck(id, PHASE_JOB_START, 0)->last.act, VERDICT_HOLD);
	later(MIN);
	assert_true(ticket_release(&run, id, "anna", "now"));
	assert_int_equal(ticket_find(&tickets, id)->last.act, VERDICT_ALLOW);
	assert_int_equal(ticket_find(&tickets, id)->recheck_used_ms, MIN);
}

static void a_release_of_a_running_job_is_kept(void **state)
{
	int64_t id = ask_as(CLIENT_VZDUMP, "pve1", 10);
	size_t before = n_told;

	(void)state;
	assert_true(ticket_release(&run, id, "anna", "do not hold it"));
	assert_int_equal(n_told, before);
	md2_does(MD_OP_RECOVERY);
	assert_int_equal(recheck(id, PHASE_JOB_START, 0)->last.act, VERDICT_ALLOW);
}

/* Ends. */

static void events_of_unknown_tickets_are_refused(void **state)
{
	(void)state;
	assert_false(ticket_started(&run, 5));
	assert_false(ticket_ended(&run, 5, "job-end"));
	assert_false(ticket_withdraw(&run, 5, "gave up"));
	assert_false(ticket_lost(&run, 5, "vanished"));
	assert_int_equal(n_told, 0);
}

static void a_running_job_is_not_withdrawn_but_may_be_lost(void **state)
{
	int64_t id = ask_as(CLIENT_VZDUMP, "pve1", 10);

	(void)state;
	ticket_started(&run, id);
	ticket_started(&run, id);
	assert_int_equal(n_told, 2);
	assert_false(ticket_withdraw(&run, id, "gave up"));
	assert_true(ticket_lost(&run, id, "its worker is gone"));
	assert_int_equal(tickets.gone.state, TICKET_LOST);
	assert_false(tickets.gone.slot);
	assert_int_equal(tickets.gone.ended_boot_ms.v, HOUR);
}

static void the_order_is_kept_when_one_leaves(void **state)
{
	int64_t ids[3];

	(void)state;
	md2_does(MD_OP_RECOVERY);
	ids[0] = ask_as(CLIENT_VZDUMP, "pve1", 10);
	ids[1] = ask_as(CLIENT_VZDUMP, "pve2", 11);
	ids[2] = ask_as(CLIENT_VZDUMP, "pve3", 12);
	ticket_withdraw(&run, ids[1], "gave up");
	assert_int_equal(tickets.n, 2);
	assert_int_equal(tickets.list[0].id, ids[0]);
	assert_int_equal(tickets.list[1].id, ids[2]);
}

static void a_silent_held_job_is_withdrawn(void **state)
{
	int64_t id;

	(void)state;
	md2_does(MD_OP_RECOVERY);
	id = ask_as(CLIENT_VZDUMP, "pve1", 10);
	later(90 * SEC - 1);
	ticket_sweep(&run, 90 * SEC, 0, "pve1");
	assert_int_equal(state_of(id), TICKET_HELD);
	later(1);
	ticket_sweep(&run, 90 * SEC, HOUR + 10 * SEC, "pve1"); /* the daemon began later */
	assert_int_equal(state_of(id), TICKET_HELD);
	later(10 * SEC);
	ticket_sweep(&run, 90 * SEC, HOUR + 10 * SEC, "pve1");
	assert_int_equal(state_of(id), TICKET_NONE);
	assert_string_equal(last_told()->why, "nobody asked for it in 1min 30s");
}

static void one_that_does_not_start_loses_its_slot(void **state)
{
	int64_t id = ask_as(CLIENT_VZDUMP, "pve1", 10);

	(void)state;
	later(10 * MIN - 1);
	ticket_sweep(&run, 90 * SEC, 0, "pve1");
	assert_true(ticket_find(&tickets, id)->slot);
	later(1);
	ticket_sweep(&run, 90 * SEC, 0, "pve1");
	ticket_sweep(&run, 90 * SEC, 0, "pve1");
	assert_false(ticket_find(&tickets, id)->slot);
	assert_int_equal(n_told, 2);
	/* It comes late, and has it again. */
	ticket_started(&run, id);
	assert_true(ticket_find(&tickets, id)->slot);
}

static void an_unwatched_job_is_lost_after_its_time(void **state)
{
	struct ticket ask = asks(CLIENT_VZDUMP, "pve1", 0);
	int64_t here = ask_as(CLIENT_VZDUMP, "pve1", 10), away = ask_as(CLIENT_VZDUMP, "pve2", 11);
	int64_t nobody = ticket_ask(&run, &ask)->id;

	(void)state;
	ticket_started(&run, here);
	ticket_started(&run, away);
	later(24 * HOUR - 1);
	ticket_sweep(&run, 90 * SEC, 0, "pve1");
	assert_int_equal(tickets.n, 3);
	later(1);
	ticket_sweep(&run, 90 * SEC, 0, "pve1");
	assert_int_equal(state_of(here), TICKET_RUNNING);
	assert_int_equal(state_of(away), TICKET_NONE);
	assert_int_equal(state_of(nobody), TICKET_NONE);
	assert_int_equal(tickets.gone.state, TICKET_LOST);
}

/* Restarts and what is due. */

static void tickets_come_back_in_order(void **state)
{
	struct ticket ticket = {.id = 9, .state = TICKET_HELD};

	(void)state;
	assert_true(ticket_restore(&tickets, &ticket));
	ticket.id = 4;
	ticket.state = TICKET_RELEASED;
	ticket.took_queue = true;
	assert_true(ticket_restore(&tickets, &ticket));
	assert_false(ticket_restore(&tickets, &ticket));
	assert_int_equal(tickets.list[0].id, 4);
	assert_int_equal(tickets.list[1].id, 9);
	assert_int_equal(tickets.next_id, 10);
	assert_int_equal(tickets.n_nas, 0);
}

static void one_that_came_back_waits_on_with_its_time(void **state)
{
	struct ticket kept;
	int64_t id;

	(void)state;
	md2_does(MD_OP_RECOVERY);
	id = ask_as(CLIENT_VZDUMP, "pve1", 10);
	kept = tickets.list[0];
	memset(&tickets, 0, sizeof(tickets));
	kept.decided_boot_ms = 0;
	kept.last.again_in_ms = OPT_NONE;
	assert_true(ticket_restore(&tickets, &kept));
	assert_int_equal(ticket_next_ms(&run).v, run.now.boot_ms);
	tick_after(HOUR);
	assert_int_equal(ticket_find(&tickets, id)->last.ends_in_ms.v, 7 * HOUR);
	assert_int_equal(n_told, 1);
}

static void the_next_tick_is_what_comes_first(void **state)
{
	(void)state;
	assert_false(ticket_next_ms(&run).known);
	ask_as(CLIENT_VZDUMP, "pve1", 10);
	assert_false(ticket_next_ms(&run).known);
	md2_does(MD_OP_RECOVERY);
	made.rules[RULE_REBUILD].set.max_hold = OPT(30 * SEC);
	/* UTC0 is 20 s past a minute: windows may open in 40 s. */
	ask_as(CLIENT_VZDUMP, "pve2", 11);
	assert_int_equal(ticket_next_ms(&run).v, HOUR + 30 * SEC);
	made.rules[RULE_REBUILD].set.max_hold = OPT(HOUR);
	ticket_tick(&run, NULL);
	assert_int_equal(ticket_next_ms(&run).v, HOUR + 40 * SEC);
	run.now.utc_ms = -10 * SEC;
	assert_int_equal(ticket_next_ms(&run).v, HOUR + 10 * SEC);
}

static void a_wait_inside_a_job_is_due_too(void **state)
{
	int64_t id = ask_as(CLIENT_VZDUMP, "pve1", 10);

	(void)state;
	md2_does(MD_OP_RECOVERY);
	made.rules[RULE_REBUILD].set.recheck_ms = 15 * SEC;
	recheck(id, PHASE_JOB_START, 0);
	assert_int_equal(ticket_next_ms(&run).v, HOUR + 15 * SEC);
	/* After a restart its hook must ask again first. */
	ticket_find(&tickets, id)->inside_phase = PHASE_NONE;
	assert_false(ticket_next_ms(&run).known);
}

static void a_tick_of_one_nas_leaves_the_others(void **state)
{
	struct ticket ask = asks(CLIENT_VZDUMP, "pve2", 11);
	int64_t here, there;

	(void)state;
	md2_does(MD_OP_RECOVERY);
	here = ask_as(CLIENT_VZDUMP, "pve1", 10);
	snprintf(ask.request.storage, sizeof(ask.request.storage), "other");
	there = ticket_ask(&run, &ask)->id;
	md2_does(MD_OP_IDLE);
	later(SEC);
	ticket_tick(&run, "nas2");
	assert_true(ticket_find(&tickets, here)->last.base_holds);
	assert_false(ticket_find(&tickets, there)->last.base_holds);
}

static void a_worker_that_is_not_known_finds_nobody(void **state)
{
	struct worker nobody = {0};
	struct ticket ask = asks(CLIENT_VZDUMP, "pve1", 0);

	(void)state;
	memset(&ask.worker, 0, sizeof(ask.worker));
	ticket_ask(&run, &ask);
	assert_null(ticket_find_worker(&tickets, &nobody));
}

#define T(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(inside_its_job_it_waits_by_one_budget),
		T(each_guest_is_recorded_and_each_poll_is_not),
		T(one_that_waits_in_job_start_has_its_slot_again),
		T(a_deny_inside_a_job_leaves_it_running),
		T(a_held_job_that_went_on_is_running),
		T(a_backup_that_starts_means_that_the_job_runs),
		T(one_first_heard_inside_its_job_is_taken_up_running),
		T(a_release_lets_a_held_job_go),
		T(a_release_ends_a_wait_inside_the_job),
		T(a_release_of_a_running_job_is_kept),
		T(events_of_unknown_tickets_are_refused),
		T(a_running_job_is_not_withdrawn_but_may_be_lost),
		T(the_order_is_kept_when_one_leaves),
		T(a_silent_held_job_is_withdrawn),
		T(one_that_does_not_start_loses_its_slot),
		T(an_unwatched_job_is_lost_after_its_time),
		T(tickets_come_back_in_order),
		T(one_that_came_back_waits_on_with_its_time),
		T(the_next_tick_is_what_comes_first),
		T(a_wait_inside_a_job_is_due_too),
		T(a_tick_of_one_nas_leaves_the_others),
		T(a_worker_that_is_not_known_finds_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
