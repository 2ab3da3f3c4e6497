// SPDX-License-Identifier: MIT
/* The words of policies and requests, and the table of fields. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/decide.h"
#include "core/span.h"
#include "core/ticket.h"
#include "core_policy.h"

typedef const char *word_fn(int number);
typedef int parse_fn(const char *word);

#define BOTH(name, type)                                                                           \
	static const char *name##_text(int number)                                                 \
	{                                                                                          \
		return name##_word((type)number);                                                  \
	}                                                                                          \
	static int name##_number(const char *word)                                                 \
	{                                                                                          \
		return (int)name##_parse(word);                                                    \
	}

BOTH(verdict, enum verdict)
BOTH(running_act, enum running_act)
BOTH(too_slow, enum too_slow)
BOTH(pbs_jobs, enum pbs_jobs)
BOTH(field, enum field)
BOTH(client, enum client)
BOTH(phase, enum phase)
BOTH(guest_type, enum guest_type)
BOTH(backup_mode, enum backup_mode)
BOTH(reason, enum reason_code)
BOTH(ticket_state, enum ticket_state)

static const struct {
	const char *name;
	word_fn *word;
	parse_fn *parse;
	int last;
} enums[] = {
	{"verdict", verdict_text, verdict_number, VERDICT_DENY},
	{"running_act", running_act_text, running_act_number, RUNNING_STOP},
	{"too_slow", too_slow_text, too_slow_number, TOO_SLOW_ALLOW},
	{"pbs_jobs", pbs_jobs_text, pbs_jobs_number, PBS_JOBS_STOP},
	{"field", field_text, field_number, FIELD_COUNT - 1},
	{"client", client_text, client_number, CLIENT_CHECK},
	{"phase", phase_text, phase_number, PHASE_BACKUP_START},
	{"guest_type", guest_type_text, guest_type_number, GUEST_LXC},
	{"backup_mode", backup_mode_text, backup_mode_number, MODE_STOP},
	{"reason", reason_text, reason_number, REASON_COUNT - 1},
	{"ticket_state", ticket_state_text, ticket_state_number, TICKET_LOST},
};

static void each_enum_has_a_word_that_comes_back(void **state)
{
	size_t i;
	int n;

	(void)state;
	for (i = 0; i < COUNT(enums); i++) {
		for (n = 1; n <= enums[i].last; n++) {
			const char *word = enums[i].word(n);

			if (!word || enums[i].parse(word) != n)
				fail_msg("%s %d: '%s'", enums[i].name, n, word ? word : "(none)");
		}
		assert_null(enums[i].word(0));
		assert_null(enums[i].word(enums[i].last + 1));
		assert_null(enums[i].word(-1));
		assert_int_equal(enums[i].parse(""), 0);
		assert_int_equal(enums[i].parse("Allow"), 0);
	}
}

static void the_words_are_those_of_the_documents(void **state)
{
	(void)state;
	assert_string_equal(verdict_word(VERDICT_THROTTLE), "throttle");
	assert_string_equal(phase_word(PHASE_BACKUP_START), "backup-start");
	assert_string_equal(field_word(FIELD_RATE_OF_BASELINE), "rate_of_baseline");
	assert_string_equal(reason_word(REASON_BLIND_HOLD_GOES_ON), "blind-hold-goes-on");
	assert_string_equal(ticket_state_word(TICKET_WITHDRAWN), "withdrawn");
	assert_string_equal(cmp_word(CMP_EQ), "");
	assert_string_equal(cmp_word(CMP_NE), "!=");
	assert_string_equal(cmp_word(CMP_LE), "<=");
	assert_string_equal(cmp_word(CMP_GT), ">");
	assert_null(cmp_word(99));
}

static void each_field_has_a_type(void **state)
{
	int field;

	(void)state;
	for (field = 1; field < FIELD_COUNT; field++)
		assert_int_not_equal(field_type((enum field)field), FIELD_TYPE_NONE);
	assert_int_equal(field_type(FIELD_NONE), FIELD_TYPE_NONE);
	assert_int_equal(field_type(FIELD_COUNT), FIELD_TYPE_NONE);
	assert_int_equal(field_type(FIELD_LOAD), FIELD_TYPE_LOAD);
	assert_int_equal(field_type(FIELD_GUEST), FIELD_TYPE_COUNT);
	assert_int_equal(field_type(FIELD_STALLED_FOR), FIELD_TYPE_SPAN);
	assert_int_equal(field_type(FIELD_TIME), FIELD_TYPE_TIME);
}

static void a_field_of_words_lists_all_of_them(void **state)
{
	static const struct {
		enum field field;
		size_t n;
	} lists[] = {{FIELD_ROLE, MD_ROLE_CACHE}, {FIELD_LEVEL, MD_LEVEL_CONTAINER},
		{FIELD_OPERATION, MD_OP_REMOTE}, {FIELD_SYNC_STATE, MD_SYNC_REMOTE},
		{FIELD_HEALTH, MD_HEALTH_ABSENT}, {FIELD_SENSOR, SENSOR_FAULT + 1},
		{FIELD_GUEST_TYPE, GUEST_LXC}, {FIELD_MODE, MODE_STOP},
		{FIELD_PHASE, PHASE_BACKUP_START}, {FIELD_CLIENT, CLIENT_CHECK}};
	const char *word;
	size_t i, at;

	(void)state;
	for (i = 0; i < COUNT(lists); i++) {
		for (at = 0; (word = field_word_at(lists[i].field, at)) != NULL; at++) {
			int64_t number = field_value_parse(lists[i].field, word);

			assert_true(number > 0);
			assert_string_equal(field_value_word(lists[i].field, number), word);
		}
		assert_int_equal(at, lists[i].n);
		assert_null(field_word_at(lists[i].field, 100000));
	}
}

static void other_words_and_fields_are_refused(void **state)
{
	(void)state;
	assert_int_equal(field_value_parse(FIELD_OPERATION, "recovery"), MD_OP_RECOVERY);
	assert_int_equal(field_value_parse(FIELD_OPERATION, "rebuild"), -1);
	assert_int_equal(field_value_parse(FIELD_SENSOR, "blind"), FIELD_SENSOR_BLIND);
	assert_int_equal(field_value_parse(FIELD_OPERATION, "blind"), -1);
	assert_int_equal(field_value_parse(FIELD_STORAGE, "recovery"), -1);
	assert_null(field_value_word(FIELD_OPERATION, 0));
	assert_null(field_value_word(FIELD_OPERATION, -5));
	assert_null(field_value_word(FIELD_OPERATION, FIELD_SENSOR_BLIND));
	assert_null(field_value_word(FIELD_SENSOR, FIELD_SENSOR_BLIND + 1));
	assert_null(field_value_word(FIELD_STORAGE, 1));
	assert_null(field_word_at(FIELD_NONE, 0));
}

static void a_rule_is_found_by_its_name(void **state)
{
	static struct made_policy made;

	(void)state;
	made_policy(&made);
	assert_ptr_equal(policy_rule(&made.policy, "resync"), &made.rules[RULE_RESYNC]);
	assert_ptr_equal(policy_rule(&made.policy, "sensor"), &made.policy.sensor);
	assert_null(policy_rule(&made.policy, "gone"));
	assert_null(policy_rule(&made.policy, ""));
}

static void spans_stop_at_the_ends(void **state)
{
	(void)state;
	assert_int_equal(span_add(2, 3), 5);
	assert_true(span_add(INT64_MAX, 1) == INT64_MAX);
	assert_true(span_add(INT64_MIN, -1) == INT64_MIN);
	assert_int_equal(span_between(2, 5), 3);
	assert_true(span_between(-2, INT64_MAX) == INT64_MAX);
	assert_true(span_between(2, INT64_MIN) == INT64_MIN);
}

static void spans_since_a_point_may_be_unknown(void **state)
{
	(void)state;
	assert_false(span_since(OPT_NONE, 5).known);
	assert_int_equal(span_since(OPT(2), 5).v, 3);
	assert_true(span_since(OPT(9), 5).known);
	assert_int_equal(span_since(OPT(9), 5).v, 0);
	assert_int_equal(span_sooner(OPT(2), OPT(5)).v, 2);
	assert_int_equal(span_sooner(OPT(5), OPT(2)).v, 2);
	assert_int_equal(span_sooner(OPT_NONE, OPT(2)).v, 2);
	assert_int_equal(span_sooner(OPT(2), OPT_NONE).v, 2);
	assert_false(span_sooner(OPT_NONE, OPT_NONE).known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_enum_has_a_word_that_comes_back),
		cmocka_unit_test(the_words_are_those_of_the_documents),
		cmocka_unit_test(each_field_has_a_type),
		cmocka_unit_test(a_field_of_words_lists_all_of_them),
		cmocka_unit_test(other_words_and_fields_are_refused),
		cmocka_unit_test(a_rule_is_found_by_its_name),
		cmocka_unit_test(spans_stop_at_the_ends),
		cmocka_unit_test(spans_since_a_point_may_be_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
