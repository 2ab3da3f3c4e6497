// SPDX-License-Identifier: MIT
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

static void an_error_is_a_kind_and_a_sentence(void **state)
{
	struct err err = {0};

	(void)state;
	assert_false(err_set(&err, ERR_NOTFOUND, "no array '%s'", "md2"));
	assert_int_equal(err.kind, ERR_NOTFOUND);
	assert_string_equal(err.text, "no array 'md2'");
	assert_false(err_prefix(&err, "nas '%s'", "nas1"));
	assert_string_equal(err.text, "nas 'nas1': no array 'md2'");
	assert_int_equal(err.kind, ERR_NOTFOUND);
	assert_false(err_sys(&err, ENOENT, "cannot open '%s'", "x"));
	assert_int_equal(err.kind, ERR_SYS);
	assert_int_equal(err.sys, ENOENT);
	assert_string_equal(err.text, "cannot open 'x': No such file or directory");
	assert_false(err_set(&err, ERR_INVALID, "no"));
	assert_int_equal(err.sys, 0);
	assert_false(err_nomem(NULL));
	assert_false(err_set(NULL, ERR_INVALID, "no"));
	assert_false(err_prefix(NULL, "no"));
}

static void a_long_error_is_cut_not_overrun(void **state)
{
	char text[2000];
	struct err err = {0};
	int i;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	err_set(&err, ERR_LIMIT, "%s", text);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	for (i = 0; i < 100; i++)
		err_prefix(&err, "%s", "context");
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	err_sys(&err, EIO, "%s", text);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void a_buffer_grows_and_ends_in_nul(void **state)
{
	struct buf buf = {0};
	size_t i;

	(void)state;
	assert_string_equal(buf_str(&buf), "");
	for (i = 0; i < 1000; i++)
		assert_true(buf_addf(&buf, "%zu,", i % 10));
	assert_int_equal(buf.len, 2000);
	assert_int_equal(strlen(buf.data), 2000);
	buf_drop(&buf, 1998);
	assert_string_equal(buf_str(&buf), "9,");
	assert_true(buf_addc(&buf, '!'));
	assert_true(buf_adds(&buf, "x"));
	assert_string_equal(buf_str(&buf), "9,!x");
	buf_drop(&buf, 100);
	assert_string_equal(buf_str(&buf), "");
	buf_release(&buf);
	assert_null(buf.data);
	buf_drop(&buf, 1);
}

static void a_buffer_keeps_its_bound(void **state)
{
	struct buf buf = {.max = 10};
	char *room;

	(void)state;
	assert_true(buf_adds(&buf, "0123456789"));
	assert_false(buf_addc(&buf, 'x'));
	assert_true(buf.failed);
	assert_int_equal(buf.len, 10);
	buf_clear(&buf);
	assert_false(buf.failed);
	room = buf_room(&buf, 4);
	assert_non_null(room);
	memcpy(room, "abcd", 4);
	buf_used(&buf, 3);
	assert_string_equal(buf_str(&buf), "abc");
	assert_null(buf_room(&buf, SIZE_MAX));
	assert_true(buf.failed);
	buf_release(&buf);
	assert_int_equal(buf.max, 10);
}

static json_t *object_of(const char *text)
{
	struct err err = {0};
	json_t *value = json_read(text, strlen(text), &err);

	if (!value)
		fail_msg("%s", err.text);
	return value;
}

static void json_getters_say_what_is_wrong(void **state)
{
	json_t *o = object_of("{\"name\":\"nas1\",\"n\":5,\"yes\":true,\"nil\":null,\"f\":1.5}");
	const char *text = "before";
	char copy[5] = "x", small[4] = "x";
	struct opt opt = OPT(1);
	struct err err = {0};
	bool yes = false;
	int64_t n = 7;

	(void)state;
	assert_true(json_get_text(o, "name", &text, &err));
	assert_string_equal(text, "nas1");
	assert_true(json_copy_text(o, "name", copy, sizeof(copy), &err));
	assert_string_equal(copy, "nas1");
	assert_false(json_copy_text(o, "name", small, sizeof(small), &err));
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_string_equal(small, "x");
	assert_true(json_get_int(o, "n", 0, 5, &n, &err) && n == 5);
	assert_false(json_get_int(o, "n", 6, 9, &n, &err));
	assert_string_equal(err.text, "member 'n' must be a whole number from 6 to 9");
	assert_false(json_get_int(o, "f", 0, 9, &n, &err));
	assert_false(json_get_int(o, "gone", 0, 9, &n, &err));
	assert_string_equal(err.text, "member 'gone' is missing");
	assert_false(json_get_text(o, "nil", &text, &err));
	assert_false(json_get_text(o, "n", &text, &err));
	assert_string_equal(text, "nas1");
	assert_true(json_get_bool(o, "yes", &yes, &err) && yes);
	assert_false(json_get_bool(o, "n", &yes, &err));
	assert_true(json_may_opt(o, "nil", &opt, &err) && opt.known);
	assert_true(json_may_opt(o, "n", &opt, &err) && opt.v == 5);
	assert_true(json_may_text(o, "gone", &text, &err));
	json_decref(o);
}

static void json_that_is_not_one_value_is_refused(void **state)
{
	static const char *const bad[] = {"", "{", "{} x", "{\"a\":1,\"a\":2}", "nul", "\xff"};
	struct err err = {0};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_null(json_read(bad[i], strlen(bad[i]), &err));
		assert_int_equal(err.kind, ERR_INVALID);
	}
}

static void json_is_written_in_order_whatever_the_bytes(void **state)
{
	json_t *o = json_object();
	char *text;

	(void)state;
	assert_true(json_put_text(o, "z", "caf\xe9"));
	assert_true(json_put_int(o, "a", INT64_MAX));
	assert_true(json_put_opt(o, "b", OPT_NONE));
	assert_true(json_put_bool(o, "c", true));
	assert_true(json_put_text(o, "d", ""));
	text = json_text(o, 0);
	assert_string_equal(text,
		"{\"z\":\"caf?\",\"a\":9223372036854775807,\"b\":null,\"c\":true,\"d\":null}");
	free(text);
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_is_a_kind_and_a_sentence),
		cmocka_unit_test(a_long_error_is_cut_not_overrun),
		cmocka_unit_test(a_buffer_grows_and_ends_in_nul),
		cmocka_unit_test(a_buffer_keeps_its_bound),
		cmocka_unit_test(json_getters_say_what_is_wrong),
		cmocka_unit_test(json_that_is_not_one_value_is_refused),
		cmocka_unit_test(json_is_written_in_order_whatever_the_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
