// SPDX-License-Identifier: MIT
/* How the command shows things: tables, notes below rows, points in time, and texts that others
 * wrote. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/units.h"
#include "cli/out.h"
#include "cli/show.h"

static const char *const names[] = {"NAME", "N", "LAST"};

static void a_table_is_as_wide_as_its_cells(void **state)
{
	const struct out out = {.header = true};
	struct buf buf = {0};
	struct table table;

	(void)state;
	table_start(&table, 3, names);
	table_cell(&table, "a");
	table_cell(&table, "");
	table_cell(&table, "x");
	table_cell(&table, "longer");
	table_cell(&table, "1");
	table_cell(&table, NULL);
	table_print(&out, &table, "", &buf);
	assert_string_equal(buf_str(&buf),
		"NAME    N  LAST\n"
		"a       -  x\n"
		"longer  1  -\n");
	buf_release(&buf);
}

static void width_is_columns_not_bytes(void **state)
{
	const struct out out = {.header = false};
	struct buf buf = {0};
	struct table table;

	(void)state;
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		skip();
	table_start(&table, 2, names);
	table_cell(&table, "ä");
	table_cell(&table, "1");
	table_cell(&table, "ab");
	table_cell(&table, "2");
	table_print(&out, &table, "", &buf);
	assert_string_equal(buf_str(&buf), "ä   1\nab  2\n");
	buf_release(&buf);
}

static void notes_stand_below_their_own_row(void **state)
{
	const struct out out = {.header = false};
	struct buf buf = {0};
	struct table table;

	(void)state;
	table_start(&table, 2, names);
	table_cell(&table, "a");
	table_cell(&table, "1");
	table_note(&table, "");
	table_cell(&table, "b");
	table_cell(&table, "2");
	table_note(&table, "first");
	table_note(&table, "");
	table_note(&table, "second");
	table_cell(&table, "c");
	table_cell(&table, "3");
	table_print(&out, &table, "  ", &buf);
	assert_string_equal(buf_str(&buf),
		"  a  1\n"
		"  b  2\n"
		"      first\n"
		"      second\n"
		"  c  3\n");
	buf_release(&buf);
}

static void an_empty_table_is_its_header(void **state)
{
	const struct out out = {.header = true};
	struct buf buf = {0};
	struct table table;

	(void)state;
	table_start(&table, 3, names);
	table_print(&out, &table, "", &buf);
	assert_string_equal(buf_str(&buf), "NAME  N  LAST\n");
	buf_release(&buf);
}

static void what_others_wrote_is_plain(void **state)
{
	static const char text[] = "[{\"a\":\"x\\u001b[31m\\ny\\u0085z\\u007f\",\"b\":7},\"\\té\"]";
	json_t *value = json_read(text, sizeof(text) - 1, NULL), *plain;

	(void)state;
	assert_non_null(value);
	plain = out_plain(value);
	assert_non_null(plain);
	assert_string_equal(out_text_of(json_array_get(plain, 0), "a"), "x [31m y  z ");
	assert_int_equal(out_int_of(json_array_get(plain, 0), "b").v, 7);
	assert_string_equal(json_string_value(json_array_get(plain, 1)), " é");
	/* The value itself, which JSON shows, is what it was. */
	assert_non_null(strchr(out_text_of(json_array_get(value, 0), "a"), '\n'));
	json_decref(plain);
	json_decref(value);
}

static void times_are_local_and_to_the_minute_where_it_is_enough(void **state)
{
	const struct out out = {.utc_offset_s = 3600};
	char text[UNITS_TEXT_MAX];

	(void)state;
	assert_string_equal(out_when(&out, OPT(1796000405000), text), "2026-11-30 02:00:05");
	assert_string_equal(out_until(&out, OPT(1796000405000), text), "2026-11-30 02:00");
	assert_string_equal(out_when(&out, OPT_NONE, text), "-");
	assert_string_equal(out_until(&out, OPT_NONE, text), "-");
}

static void one_is_one(void **state)
{
	struct buf buf = {0};

	(void)state;
	out_count(&buf, 0, "job");
	buf_addc(&buf, ' ');
	out_count(&buf, 1, "job");
	buf_addc(&buf, ' ');
	out_count(&buf, 2, "job");
	assert_string_equal(buf_str(&buf), "0 jobs 1 job 2 jobs");
	buf_release(&buf);
}

static void the_environment_says_the_format(void **state)
{
	struct out out;

	(void)state;
	setenv("PROXMOX_OUTPUT_FORMAT", "json-pretty", 1);
	setenv("PROXMOX_OUTPUT_NO_HEADER", "1", 1);
	out_init(&out, false);
	assert_int_equal(out.format, OUT_JSON_PRETTY);
	assert_false(out.header);
	setenv("PROXMOX_OUTPUT_FORMAT", "csv", 1);
	setenv("PROXMOX_OUTPUT_NO_HEADER", "0", 1);
	out_init(&out, false);
	assert_int_equal(out.format, OUT_TEXT);
	assert_true(out.header);
	out_init(&out, true);
	assert_int_equal(out.format, OUT_CSV);
	unsetenv("PROXMOX_OUTPUT_FORMAT");
	unsetenv("PROXMOX_OUTPUT_NO_HEADER");
	out_init(&out, true);
	assert_int_equal(out.format, OUT_TEXT);
}

static json_t *value_of(const char *text)
{
	json_t *value = json_read(text, strlen(text), NULL);

	assert_non_null(value);
	return value;
}

static void an_answer_says_verdict_end_and_what_then(void **state)
{
	const struct out out = {.now_utc_ms = 1796000400000};
	json_t *answer =
		value_of("{\"verdict\":\"hold\",\"act\":\"hold\",\"would_be\":\"hold\",\"rule\":"
			 "\"r\",\"step\":5,"
			 "\"reasons\":[{\"code\":\"rule\",\"text\":\"why\"},{\"code\":\"x\","
			 "\"text\":\"also\"}],"
			 "\"ends_in_ms\":3600000,\"then\":\"throttle\",\"then_act\":\"allow\"}");
	struct buf buf = {0};

	(void)state;
	show_answer(&out, answer, &buf);
	assert_string_equal(buf_str(&buf),
		"hold, rule 'r', step 5\n"
		"  why\n"
		"  also\n"
		"  ends by itself at 2026-11-30 02:00 (in 1h), then throttle, which acts as allow: "
		"no lever is set up\n");
	buf_clear(&buf);
	json_put_text(answer, "act", "allow");
	json_put_text(answer, "verdict", "throttle");
	show_answer(&out, answer, &buf);
	assert_string_equal(buf_str(&buf),
		"throttle (acts as allow) (observed only: would be "
		"hold), rule 'r', step 5\n  why\n  also\n");
	buf_release(&buf);
	json_decref(answer);
}

static void a_scope_names_all_it_has(void **state)
{
	json_t *override = value_of("{\"ticket\":17,\"guest\":101,\"storage\":\"s\",\"nas\":null,"
				    "\"node\":\"n\"}");
	json_t *all = value_of("{\"ticket\":0}");
	struct buf buf = {0};

	(void)state;
	show_scope(override, &buf);
	assert_string_equal(buf_str(&buf), "ticket T17, guest 101, storage s, node n");
	buf_clear(&buf);
	show_scope(all, &buf);
	assert_string_equal(buf_str(&buf), "everything");
	buf_release(&buf);
	json_decref(override);
	json_decref(all);
}

static void a_trace_names_each_step_once(void **state)
{
	struct trace *trace = calloc(1, sizeof(*trace));
	struct buf buf = {0};
	json_t *list;

	(void)state;
	assert_non_null(trace);
	trace->n = 3;
	trace->lines[0].step = 1;
	memcpy(trace->lines[0].text, "on", 3);
	trace->lines[1].step = trace->lines[2].step = 5;
	memcpy(trace->lines[1].text, "no", 3);
	memcpy(trace->lines[2].text, "hold", 5);
	trace->lines[2].settled = true;
	list = show_trace_json(trace);
	show_trace(list, &buf);
	assert_string_equal(buf_str(&buf),
		"  1    switch    on\n"
		"  5    rules     no\n"
		"  5 =>           hold\n");
	buf_release(&buf);
	json_decref(list);
	free(trace);
}

static void a_readings_age_is_said_as_people_do(void **state)
{
	char text[UNITS_TEXT_MAX];

	(void)state;
	assert_string_equal(show_age(OPT_NONE, text), "never");
	assert_string_equal(show_age(OPT(999), text), "just now");
	assert_string_equal(show_age(OPT(61000), text), "1min 1s ago");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_as_wide_as_its_cells),
		cmocka_unit_test(width_is_columns_not_bytes),
		cmocka_unit_test(notes_stand_below_their_own_row),
		cmocka_unit_test(an_empty_table_is_its_header),
		cmocka_unit_test(what_others_wrote_is_plain),
		cmocka_unit_test(times_are_local_and_to_the_minute_where_it_is_enough),
		cmocka_unit_test(one_is_one),
		cmocka_unit_test(the_environment_says_the_format),
		cmocka_unit_test(an_answer_says_verdict_end_and_what_then),
		cmocka_unit_test(a_scope_names_all_it_has),
		cmocka_unit_test(a_trace_names_each_step_once),
		cmocka_unit_test(a_readings_age_is_said_as_people_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
