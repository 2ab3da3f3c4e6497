// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "client/words.h"

/* 2026-11-30T20:04:05Z, shown as 21:04 */
static const struct moment now = {
	.boot_ms = 5000000, .utc_ms = INT64_C(1796069045000), .utc_offset_s = 3600};

static struct answer held(void)
{
	struct answer answer = {.ticket = 17,
		.decision = 412,
		.act = VERDICT_HOLD,
		.verdict = VERDICT_HOLD,
		.rule = "rebuild",
		.array = "md2",
		.nas = "nas1",
		.node = "pve1",
		.n_reasons = 1,
		.recorded = true,
		.facts = true,
		.operation = "recovery",
		.progress_ppm = OPT(413000),
		.expected_ms = OPT(2 * MS_HOUR),
		.ends_in_ms = OPT(8 * MS_HOUR),
		.then = VERDICT_THROTTLE};

	strcpy(answer.reasons[0].code, reason_word(REASON_SETTLE));
	strcpy(answer.reasons[0].text, "the rebuild must have been over for 10min");
	return answer;
}

static void the_first_line_of_a_hold_says_all_that_a_person_needs(void **state)
{
	static const char *const parts[] = {"held: ", "md2 on nas1", "recovery at 41.3 %",
		"2026-11-30 23:04", "2026-12-01 05:04", "then the job goes on throttled",
		"on pve1: rebuildgate release T17 --reason", "decision 412"};
	struct answer answer = held();
	char line[WORDS_MAX];
	size_t i;

	(void)state;
	words_hold(&answer, SAY_HELD, 0, &now, line);
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!strstr(line, parts[i]))
			fail_msg("'%s' is not in: %s", parts[i], line);
	}
}

static void how_old_the_last_backup_is_stands_beside_a_hold(void **state)
{
	struct answer answer = held();
	char line[WORDS_MAX];

	(void)state;
	strcpy(answer.reasons[1].code, reason_word(REASON_AGE));
	strcpy(answer.reasons[1].text, "the guest's last good backup is 1d old");
	answer.n_reasons = 2;
	words_hold(&answer, SAY_STILL, 0, &now, line);
	assert_non_null(strstr(line, "; the guest's last good backup is 1d old; expected"));
}

static void a_throttle_says_that_it_was_relaxed(void **state)
{
	struct session session = {.answer = held()};
	struct session_step step = {
		.next = SESSION_END, .end = SESSION_END_GO, .verdict = VERDICT_THROTTLE};
	char line[WORDS_MAX];

	(void)state;
	strcpy(session.answer.reasons[1].code, reason_word(REASON_TOO_SLOW));
	strcpy(session.answer.reasons[1].text, "it would take 30h");
	session.answer.n_reasons = 2;
	words_end(&session, &step, line);
	assert_non_null(strstr(line, "go, throttled: the rebuild must"));
	assert_non_null(strstr(line, "; it would take 30h"));
	/* Where it is the first one it is not said twice. */
	session.answer.reasons[0] = session.answer.reasons[1];
	session.answer.n_reasons = 1;
	words_end(&session, &step, line);
	assert_null(strstr(strstr(line, "it would take 30h") + 1, "it would take 30h"));
}

static void an_array_that_the_reason_names_is_not_named_twice(void **state)
{
	struct answer answer = held();
	char line[WORDS_MAX];
	const char *first;

	(void)state;
	strcpy(answer.reasons[0].text, "md2 on nas1 is rebuilding, 41.3 % done");
	words_hold(&answer, SAY_HELD, 0, &now, line);
	first = strstr(line, "md2");
	assert_non_null(first);
	assert_null(strstr(first + 1, "md2"));
}

static void later_lines_say_how_long_it_has_been(void **state)
{
	struct answer answer = held();
	char line[WORDS_MAX];

	(void)state;
	words_hold(&answer, SAY_CHANGED, 90 * MS_MINUTE, &now, line);
	assert_non_null(strstr(line, "held for 1h 30min, now: "));
	assert_non_null(strstr(line, "release T17"));
	words_hold(&answer, SAY_STILL, 90 * MS_MINUTE, &now, line);
	assert_non_null(strstr(line, "still held after 1h 30min: "));
	assert_null(strstr(line, "release"));
}

static void no_name_can_break_a_line(void **state)
{
	struct answer answer = held();
	char line[WORDS_MAX];

	(void)state;
	memset(answer.reasons[0].text, 'x', sizeof(answer.reasons[0].text) - 1);
	memcpy(answer.reasons[0].text, "a\nb\rc\bd", 7);
	words_hold(&answer, SAY_HELD, 0, &now, line);
	assert_null(strpbrk(line, "\n\r\b"));
	assert_non_null(strstr(line, "a b c d"));
	assert_true(strlen(line) < WORDS_MAX);
}

static void an_outage_says_what_will_happen(void **state)
{
	struct session session = {
		.conf = {.wait_for_gate_ms = 15 * MS_MINUTE, .if_gate_down = VERDICT_ALLOW}};
	char line[WORDS_MAX];

	(void)state;
	words_gate_away(&session, "cannot connect", &now, line);
	assert_string_equal(line,
		"WARNING: no gate: cannot connect; waiting for it for 15min at "
		"most, then the job goes on ungated (if_gate_down = allow)");
	session.conf.if_gate_down = VERDICT_DENY;
	session.answer = held();
	session.then = VERDICT_ALLOW;
	session.ends_ms = OPT(now.boot_ms + 5 * MS_MINUTE);
	words_gate_away(&session, "cannot connect", &now, line);
	assert_non_null(strstr(line, "then the job fails (if_gate_down = deny)"));
	assert_non_null(strstr(line,
		"before that the hold ends at 2026-11-30 21:09 (in 5min), "
		"then the job goes on"));
	session.conf.wait_for_gate_ms = 0;
	words_gate_away(&session, "cannot connect", &now, line);
	assert_string_equal(line, "WARNING: no gate: cannot connect");
}

static void each_end_has_its_sentence(void **state)
{
	static const struct {
		enum session_end end;
		enum verdict verdict;
		const char *begin;
	} rows[] = {
		{SESSION_END_GO, VERDICT_ALLOW, "go after a hold of 2h: the rebuild"},
		{SESSION_END_GO, VERDICT_THROTTLE, "go, throttled after a hold of 2h"},
		{SESSION_END_DENIED, VERDICT_DENY, "DENIED after a hold of 2h: the rebuild"},
		{SESSION_END_HOLD_OVER, VERDICT_ALLOW,
			"WARNING: no gate, and the hold's time is over after a hold of 2h: the "
			"job goes on ungated"},
		{SESSION_END_NO_GATE, VERDICT_ALLOW,
			"WARNING: no gate after a hold of 2h: the job goes on UNGATED"},
		{SESSION_END_NO_GATE, VERDICT_DENY,
			"WARNING: no gate after a hold of 2h: the job fails"},
		{SESSION_END_GAVE_UP, VERDICT_HOLD, "still held after 5min, given up: the"},
	};
	struct session session = {.conf.give_up_ms = OPT(5 * MS_MINUTE), .answer = held()};
	struct session_step step = {.held_ms = 2 * MS_HOUR};
	char line[WORDS_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		step.end = rows[i].end;
		step.verdict = rows[i].verdict;
		words_end(&session, &step, line);
		if (strncmp(line, rows[i].begin, strlen(rows[i].begin)) != 0)
			fail_msg("not '%s...': %s", rows[i].begin, line);
	}
	strcpy(session.answer.released_by, "alice");
	step = (struct session_step){.end = SESSION_END_GO, .verdict = VERDICT_ALLOW};
	words_end(&session, &step, line);
	assert_non_null(strstr(line, "go, released by alice: "));
}

static void what_is_not_as_usual_is_a_warning(void **state)
{
	struct answer answer = held();
	char line[WORDS_MAX];

	(void)state;
	assert_false(words_warning(&answer, 0, line));
	answer.n_reasons = 2;
	strcpy(answer.reasons[0].code, reason_word(REASON_UNMAPPED));
	strcpy(answer.reasons[0].text, "storage 'x' is mapped to no array");
	strcpy(answer.reasons[1].code, reason_word(REASON_NO_LEVER));
	strcpy(answer.reasons[1].text, "no lever is set up");
	answer.recorded = false;
	assert_true(words_warning(&answer, 0, line));
	assert_string_equal(line, "WARNING: storage 'x' is mapped to no array");
	assert_true(words_warning(&answer, 1, line));
	assert_string_equal(line, "WARNING: no lever is set up");
	assert_true(words_warning(&answer, 2, line));
	assert_non_null(strstr(line, "could not record"));
	assert_false(words_warning(&answer, 3, line));
}

static void a_rule_s_note_is_said_with_the_reason(void **state)
{
	struct session session = {.answer = held()};
	const struct session_step step = {.end = SESSION_END_GO, .verdict = VERDICT_ALLOW};
	char line[WORDS_MAX];

	(void)state;
	session.answer.n_reasons = 2;
	strcpy(session.answer.reasons[0].text, "md2 on nas1 is idle, degraded");
	strcpy(session.answer.reasons[1].code, reason_word(REASON_NOTE));
	strcpy(session.answer.reasons[1].text, "replace the disk");
	words_end(&session, &step, line);
	assert_non_null(strstr(line, "go: md2 on nas1 is idle, degraded; replace the disk"));
	words_hold(&session.answer, SAY_HELD, 0, &now, line);
	assert_non_null(strstr(line, "held: md2 on nas1 is idle, degraded; replace the disk"));
}

static void answers_of_one_kind_are_told_once(void **state)
{
	struct answer answer = {
		.act = VERDICT_ALLOW, .verdict = VERDICT_ALLOW, .recorded = true, .n_reasons = 1};
	uint32_t throttled;

	(void)state;
	assert_int_equal(words_kind(&answer), 0);
	strcpy(answer.rule, "check or repair");
	answer.held_ms = MS_HOUR;
	assert_int_equal(words_kind(&answer), 0);
	answer.verdict = VERDICT_THROTTLE;
	throttled = words_kind(&answer);
	assert_int_not_equal(throttled, 0);
	answer.act = VERDICT_THROTTLE;
	assert_int_not_equal(words_kind(&answer), throttled);
	answer.act = answer.verdict = VERDICT_ALLOW;
	answer.recorded = false;
	assert_int_not_equal(words_kind(&answer), 0);
	answer.recorded = true;
	strcpy(answer.reasons[0].code, reason_word(REASON_BLIND));
	assert_int_not_equal(words_kind(&answer), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_line_of_a_hold_says_all_that_a_person_needs),
		cmocka_unit_test(how_old_the_last_backup_is_stands_beside_a_hold),
		cmocka_unit_test(a_throttle_says_that_it_was_relaxed),
		cmocka_unit_test(an_array_that_the_reason_names_is_not_named_twice),
		cmocka_unit_test(later_lines_say_how_long_it_has_been),
		cmocka_unit_test(no_name_can_break_a_line),
		cmocka_unit_test(an_outage_says_what_will_happen),
		cmocka_unit_test(each_end_has_its_sentence),
		cmocka_unit_test(what_is_not_as_usual_is_a_warning),
		cmocka_unit_test(a_rule_s_note_is_said_with_the_reason),
		cmocka_unit_test(answers_of_one_kind_are_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
