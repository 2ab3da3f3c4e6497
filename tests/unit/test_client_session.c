// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "client/session.h"

static const struct session_conf allow_conf = {
	.wait_for_gate_ms = 15 * MS_MINUTE, .if_gate_down = VERDICT_ALLOW};
static const struct session_conf deny_conf = {
	.wait_for_gate_ms = 15 * MS_MINUTE, .if_gate_down = VERDICT_DENY};

#define T0 INT64_C(1000000)

static struct answer held(int64_t ticket, int64_t held_ms, int64_t ends_in_ms)
{
	struct answer answer = {.ticket = ticket,
		.decision = 7,
		.act = VERDICT_HOLD,
		.verdict = VERDICT_HOLD,
		.held_ms = held_ms,
		.ends_in_ms = OPT(ends_in_ms),
		.then = VERDICT_THROTTLE,
		.rule = "rebuild",
		.array = "md2",
		.nas = "nas1",
		.n_reasons = 1};

	strcpy(answer.reasons[0].code, "rule");
	return answer;
}

static struct answer said(enum verdict verdict)
{
	return (struct answer){.ticket = 17, .act = verdict, .verdict = verdict, .n_reasons = 1};
}

/* Fails until the session ends or `until`; returns the last step and when it was in *ret_ms. */
static struct session_step fail_on(
	struct session *s, enum err_kind kind, int64_t from, int64_t until, int64_t *ret_ms)
{
	struct session_step step = session_failed(s, kind, from);
	int64_t now = from;

	while (step.next != SESSION_END && now < until) {
		assert_int_equal(step.next, SESSION_PAUSE);
		assert_true(step.pause_ms > 0);
		now += step.pause_ms;
		assert_int_equal(session_resume(s, now).next, SESSION_ASK);
		step = session_failed(s, kind, now);
	}
	*ret_ms = now;
	return step;
}

static void the_first_question_does_not_wait_and_a_verdict_ends_it(void **state)
{
	static const struct {
		enum verdict verdict;
		enum session_end end;
	} rows[] = {
		{VERDICT_ALLOW, SESSION_END_GO},
		{VERDICT_THROTTLE, SESSION_END_GO},
		{VERDICT_DENY, SESSION_END_DENIED},
	};
	struct session_step step;
	struct answer answer;
	struct session s;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		step = session_start(&s, &allow_conf, 0, T0);
		assert_int_equal(step.next, SESSION_ASK);
		assert_int_equal(step.wait_ms, 0);
		answer = said(rows[i].verdict);
		step = session_answered(&s, &answer, T0 + 5);
		assert_int_equal(step.next, SESSION_END);
		assert_int_equal(step.end, rows[i].end);
		assert_int_equal(step.verdict, rows[i].verdict);
		assert_int_equal(step.say, 0);
		assert_int_equal(s.ticket, 17);
	}
}

static void a_hold_is_asked_about_again_with_what_it_cost(void **state)
{
	struct answer answer = held(17, 0, 8 * MS_HOUR);
	struct session_step step;
	struct session s;

	(void)state;
	session_start(&s, &allow_conf, 0, T0);
	step = session_answered(&s, &answer, T0);
	assert_int_equal(step.next, SESSION_ASK);
	assert_int_equal(step.say, SAY_HELD);
	assert_int_equal(step.wait_ms, ASK_WAIT_MAX_MS);
	assert_int_equal(step.ticket, 17);
	answer = held(17, 25000, 8 * MS_HOUR - 25000);
	step = session_answered(&s, &answer, T0 + 25000);
	assert_int_equal(step.say, 0);
	assert_int_equal(step.held_ms, 25000);
	answer = said(VERDICT_ALLOW);
	step = session_answered(&s, &answer, T0 + 60000);
	assert_int_equal(step.end, SESSION_END_GO);
	assert_int_equal(step.held_ms, 60000);
}

static void a_line_comes_with_news_and_else_every_half_hour(void **state)
{
	struct answer answer = held(17, 0, 8 * MS_HOUR);
	struct session_step step;
	struct session s;
	int64_t t, lines = 0;

	(void)state;
	session_start(&s, &allow_conf, 0, T0);
	session_answered(&s, &answer, T0);
	for (t = 25000; t < 2 * MS_HOUR; t += 25000) {
		answer = held(17, t, 8 * MS_HOUR - t);
		answer.progress_ppm = OPT(t / 100);
		step = session_answered(&s, &answer, T0 + t);
		lines += step.say != 0;
		assert_true(step.say == 0 || step.say == SAY_STILL);
	}
	assert_int_equal(lines, 3);
	strcpy(answer.rule, "degraded");
	step = session_answered(&s, &answer, T0 + t);
	assert_int_equal(step.say, SAY_CHANGED);
	strcpy(answer.reasons[0].code, reason_word(REASON_QUEUE_BEHIND));
	step = session_answered(&s, &answer, T0 + t);
	assert_int_equal(step.say, SAY_CHANGED);
	strcpy(answer.reasons[0].code, reason_word(REASON_QUEUE_NODE));
	step = session_answered(&s, &answer, T0 + t);
	assert_int_equal(step.say, 0);
	strcpy(answer.reasons[0].code, reason_word(REASON_QUEUE_WINDOW));
	step = session_answered(&s, &answer, T0 + t);
	assert_int_equal(step.say, SAY_CHANGED);
	answer.ends_in_ms.v -= 3 * MS_MINUTE;
	step = session_answered(&s, &answer, T0 + t);
	assert_int_equal(step.say, SAY_CHANGED);
	step = session_answered(&s, &answer, T0 + t);
	assert_int_equal(step.say, 0);
}

static void a_gate_that_answers_at_once_is_not_asked_in_a_spin(void **state)
{
	struct answer answer = held(17, 0, 8 * MS_HOUR);
	struct session_step step;
	struct session s;

	(void)state;
	session_start(&s, &allow_conf, 0, T0);
	session_answered(&s, &answer, T0);
	step = session_answered(&s, &answer, T0 + 10);
	assert_int_equal(step.next, SESSION_PAUSE);
	assert_int_equal(step.pause_ms, 990);
	assert_int_equal(session_resume(&s, T0 + 1000).next, SESSION_ASK);
}

static void without_a_gate_it_waits_and_then_does_as_configured(void **state)
{
	struct session_step step;
	struct session s;
	int64_t end;

	(void)state;
	session_start(&s, &allow_conf, 0, T0);
	assert_int_equal(session_failed(&s, ERR_GONE, T0).say, SAY_GATE_AWAY);
	step = fail_on(&s, ERR_TIMEOUT, T0 + 250, T0 + MS_DAY, &end);
	assert_int_equal(step.end, SESSION_END_NO_GATE);
	assert_int_equal(step.verdict, VERDICT_ALLOW);
	assert_int_equal(end, T0 + 15 * MS_MINUTE);
	session_start(&s, &deny_conf, 0, T0);
	step = fail_on(&s, ERR_PROTOCOL, T0, T0 + MS_DAY, &end);
	assert_int_equal(step.end, SESSION_END_NO_GATE);
	assert_int_equal(step.verdict, VERDICT_DENY);
}

static void an_outage_counts_from_when_an_answer_was_due(void **state)
{
	struct answer answer = held(17, 0, 8 * MS_HOUR);
	struct session_step step;
	struct session s;

	(void)state;
	/* The first question: at once. */
	session_start(&s, &allow_conf, 0, T0);
	session_failed(&s, ERR_TIMEOUT, T0 + 10 * MS_SECOND);
	assert_int_equal(session_outage_ms(&s, T0 + 10 * MS_SECOND), 10 * MS_SECOND);
	/* One that waits: after its time; but a closed connection is noticed at once. */
	session_start(&s, &allow_conf, 0, T0);
	step = session_answered(&s, &answer, T0);
	session_failed(&s, ERR_TIMEOUT, T0 + step.wait_ms + 10 * MS_SECOND);
	assert_int_equal(session_outage_ms(&s, T0 + step.wait_ms + 10 * MS_SECOND), 10 * MS_SECOND);
	session_start(&s, &allow_conf, 0, T0);
	session_answered(&s, &answer, T0);
	session_failed(&s, ERR_GONE, T0 + 5 * MS_SECOND);
	assert_int_equal(session_outage_ms(&s, T0 + 5 * MS_SECOND), 0);
}

static void each_outage_of_a_hold_has_its_own_time(void **state)
{
	struct answer answer = held(17, 0, 8 * MS_HOUR);
	struct session_step step;
	struct session s;
	int64_t t;

	(void)state;
	session_start(&s, &deny_conf, 0, T0);
	session_answered(&s, &answer, T0);
	step = fail_on(&s, ERR_GONE, T0, T0 + 14 * MS_MINUTE, &t);
	assert_int_equal(step.next, SESSION_PAUSE);
	/* Another gate: it does not know ticket 17 and takes the hold up with what it is told. */
	step = session_resume(&s, t);
	assert_int_equal(step.ticket, 17);
	assert_int_equal(step.held_ms, t - T0);
	assert_int_equal(step.wait_ms, 0);
	answer = held(3, step.held_ms, 8 * MS_HOUR - step.held_ms);
	step = session_answered(&s, &answer, t);
	assert_int_equal(step.say, SAY_GATE_BACK | SAY_CHANGED);
	assert_int_equal(s.ticket, 3);
	step = fail_on(&s, ERR_GONE, t, t + 14 * MS_MINUTE, &t);
	assert_int_equal(step.next, SESSION_PAUSE);
	assert_true(session_outage_ms(&s, t) >= 28 * MS_MINUTE);
}

static void the_holds_own_end_comes_before_the_wait_for_a_gate(void **state)
{
	struct answer answer = held(17, 0, 5 * MS_MINUTE);
	struct session_step step;
	struct session s;
	int64_t end;

	(void)state;
	session_start(&s, &deny_conf, 0, T0);
	session_answered(&s, &answer, T0);
	step = fail_on(&s, ERR_GONE, T0 + 1000, T0 + MS_DAY, &end);
	assert_int_equal(step.end, SESSION_END_HOLD_OVER);
	assert_int_equal(step.verdict, VERDICT_THROTTLE);
	assert_int_equal(end, T0 + 5 * MS_MINUTE);
}

static void a_hold_whose_end_is_not_known_waits_for_the_gate_only(void **state)
{
	struct answer answer = held(17, 0, 0);
	struct session_step step;
	struct session s;
	int64_t end;

	(void)state;
	answer.ends_in_ms = OPT_NONE;
	session_start(&s, &deny_conf, 0, T0);
	session_answered(&s, &answer, T0);
	step = fail_on(&s, ERR_GONE, T0, T0 + MS_DAY, &end);
	assert_int_equal(step.end, SESSION_END_NO_GATE);
	/* Nor does an end help after which only the gate would know. */
	answer.ends_in_ms = OPT(MS_MINUTE);
	answer.then = VERDICT_NONE;
	session_start(&s, &deny_conf, 0, T0);
	session_answered(&s, &answer, T0);
	step = fail_on(&s, ERR_GONE, T0, T0 + MS_DAY, &end);
	assert_int_equal(step.end, SESSION_END_NO_GATE);
	assert_int_equal(end, T0 + 15 * MS_MINUTE);
}

static void a_gate_that_refuses_us_is_not_waited_for(void **state)
{
	struct session_step step;
	struct session s;

	(void)state;
	session_start(&s, &deny_conf, 0, T0);
	step = session_failed(&s, ERR_DENIED, T0);
	assert_int_equal(step.end, SESSION_END_NO_GATE);
	assert_int_equal(step.verdict, VERDICT_DENY);
	assert_int_equal(step.say, SAY_GATE_AWAY);
	session_start(&s, &allow_conf, 0, T0);
	assert_int_equal(session_failed(&s, ERR_INVALID, T0).end, SESSION_END_NO_GATE);
	session_start(&s, &allow_conf, 0, T0);
	assert_int_equal(session_failed(&s, ERR_BUSY, T0).next, SESSION_PAUSE);
}

static void giving_up_bounds_holds_and_outages(void **state)
{
	struct session_conf conf = allow_conf;
	struct answer answer = held(17, 0, 8 * MS_HOUR);
	struct session_step step;
	struct session s;
	int64_t end;

	(void)state;
	conf.give_up_ms = OPT(10 * MS_SECOND);
	session_start(&s, &conf, 0, T0);
	step = session_answered(&s, &answer, T0);
	assert_int_equal(step.wait_ms, 10 * MS_SECOND);
	step = session_answered(&s, &answer, T0 + 10 * MS_SECOND);
	assert_int_equal(step.end, SESSION_END_GAVE_UP);
	assert_int_equal(step.verdict, VERDICT_HOLD);
	session_start(&s, &conf, 0, T0);
	step = fail_on(&s, ERR_GONE, T0, T0 + MS_DAY, &end);
	assert_int_equal(step.end, SESSION_END_GAVE_UP);
	assert_int_equal(end, T0 + 10 * MS_SECOND);
	conf.give_up_ms = OPT(0);
	session_start(&s, &conf, 0, T0);
	assert_int_equal(session_answered(&s, &answer, T0).end, SESSION_END_GAVE_UP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_question_does_not_wait_and_a_verdict_ends_it),
		cmocka_unit_test(a_hold_is_asked_about_again_with_what_it_cost),
		cmocka_unit_test(a_line_comes_with_news_and_else_every_half_hour),
		cmocka_unit_test(a_gate_that_answers_at_once_is_not_asked_in_a_spin),
		cmocka_unit_test(without_a_gate_it_waits_and_then_does_as_configured),
		cmocka_unit_test(an_outage_counts_from_when_an_answer_was_due),
		cmocka_unit_test(each_outage_of_a_hold_has_its_own_time),
		cmocka_unit_test(the_holds_own_end_comes_before_the_wait_for_a_gate),
		cmocka_unit_test(a_hold_whose_end_is_not_known_waits_for_the_gate_only),
		cmocka_unit_test(a_gate_that_refuses_us_is_not_waited_for),
		cmocka_unit_test(giving_up_bounds_holds_and_outages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
