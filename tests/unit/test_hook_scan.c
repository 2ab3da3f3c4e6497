// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "../../hooks/scan.h"

static enum scan scan(const char *text)
{
	size_t len = strlen(text);
	char *copy = malloc(len + 1); /* exact size: an overrun is seen by the sanitizer */
	enum scan found;

	assert_non_null(copy);
	memcpy(copy, text, len + 1);
	found = scan_if_gate_down(copy, len);
	free(copy);
	return found;
}

static void the_setting_is_found_as_libconfig_writes_it(void **state)
{
	static const char *const deny[] = {
		"if_gate_down = \"deny\";",
		"if_gate_down=\"deny\"",
		"\tif_gate_down : \"deny\" ,\r\n",
		"gate = \"/run/x\";\n# a note\nif_gate_down = \"deny\"; // really\n",
		"/* if_gate_down = \"allow\"; */\nif_gate_down = \"deny\";\n",
		"a = \"/* no comment\";\nif_gate_down = \"deny\";\n",
		"a = \"\\\"# \";\nif_gate_down = /* here */ \"deny\";",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(deny) / sizeof(deny[0]); i++) {
		if (scan(deny[i]) != SCAN_DENY)
			fail_msg("not deny: %s", deny[i]);
	}
	assert_int_equal(scan("if_gate_down = \"allow\";\n"), SCAN_ALLOW);
}

static void what_is_commented_out_or_another_name_is_absent(void **state)
{
	(void)state;
	assert_int_equal(scan(""), SCAN_ABSENT);
	assert_int_equal(scan("# if_gate_down = \"deny\";\n"), SCAN_ABSENT);
	assert_int_equal(scan("// if_gate_down = \"deny\";\n"), SCAN_ABSENT);
	assert_int_equal(scan("/*\nif_gate_down = \"deny\";\n*/\n"), SCAN_ABSENT);
	assert_int_equal(scan("if_gate_downs = \"deny\";\n"), SCAN_ABSENT);
	assert_int_equal(scan("if_gate_dow"), SCAN_ABSENT);
}

static void anything_else_is_odd_and_never_guessed(void **state)
{
	static const char *const odd[] = {
		"if_gate_down = deny;",
		"if_gate_down = \"denied\";",
		"if_gate_down = \"de\" \"ny\";",
		"if_gate_down = \"deny",
		"if_gate_down \"deny\"",
		"if_gate_down",
		"if_gate_down =\n\"deny\";",
		"gate = \"x\"; if_gate_down = \"deny\";",
		"if_gate_down = \"deny\"; gate = \"x\";",
		"if_gate_down = \"deny\";\nif_gate_down = \"deny\";\n",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		if (scan(odd[i]) != SCAN_ODD)
			fail_msg("not odd: %s", odd[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_setting_is_found_as_libconfig_writes_it),
		cmocka_unit_test(what_is_commented_out_or_another_name_is_absent),
		cmocka_unit_test(anything_else_is_odd_and_never_guessed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
