// SPDX-License-Identifier: MIT
/* A verb's arguments: options anywhere, what is left in front, and what is wrong. Sentences go to
 * stderr, help to stdout; the shell tests read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/cli.h"

static const char *text_value;
static bool flag;

static const struct cli_option options[] = {
	{"--text", "TEXT", "a text", &text_value, NULL},
	{"-t", "TEXT", NULL, &text_value, NULL},
	{"--flag", NULL, "a flag", NULL, &flag},
};

/* The exit code, or -1 to go on. */
static int args(const struct cli_verb *verb, int argc, char **argv, struct out *out)
{
	int code = -1;

	text_value = NULL;
	flag = false;
	if (cli_args(verb, argc, argv, options, CLI_COUNT(options), out, &code))
		return -1;
	assert_int_not_equal(code, -1);
	return code;
}

static char *kept[16];
static char **argv;

#define ARGS(verb, out, ...)                                                                       \
	({                                                                                         \
		char *argv_[] = {"verb", __VA_ARGS__, NULL};                                       \
		memcpy(kept, argv_, sizeof(argv_));                                                \
		argv = kept;                                                                       \
		args(verb, (int)CLI_COUNT(argv_) - 1, argv, out);                                  \
	})

static const struct cli_verb two = {.name = "verb", .need = "two", .min = 1, .max = 2};

static void options_stand_anywhere(void **state)
{
	(void)state;
	assert_int_equal(ARGS(&two, NULL, "a", "--text", "x", "b", "--flag"), -1);
	assert_string_equal(argv[1], "a");
	assert_string_equal(argv[2], "b");
	assert_null(argv[3]);
	assert_string_equal(text_value, "x");
	assert_true(flag);
	assert_int_equal(ARGS(&two, NULL, "--text=y=z", "a"), -1);
	assert_string_equal(text_value, "y=z");
	assert_null(argv[2]);
	assert_int_equal(ARGS(&two, NULL, "-t", "z", "a"), -1);
	assert_string_equal(text_value, "z");
}

static void after_two_dashes_nothing_is_an_option(void **state)
{
	(void)state;
	assert_int_equal(ARGS(&two, NULL, "--", "--flag", "--help"), -1);
	assert_string_equal(argv[1], "--flag");
	assert_string_equal(argv[2], "--help");
	assert_false(flag);
}

static void a_lone_dash_is_a_file(void **state)
{
	(void)state;
	assert_int_equal(ARGS(&two, NULL, "-"), -1);
	assert_string_equal(argv[1], "-");
}

static void mistakes_are_usage_errors(void **state)
{
	static const struct cli_verb none = {.name = "none"};

	(void)state;
	assert_int_equal(ARGS(&two, NULL, "a", "--text"), CLI_USAGE);
	assert_int_equal(ARGS(&two, NULL, "a", "--flag=1"), CLI_USAGE);
	assert_int_equal(ARGS(&two, NULL, "a", "--other"), CLI_USAGE);
	assert_int_equal(ARGS(&two, NULL, "a", "--tex", "x"), CLI_USAGE);
	assert_int_equal(ARGS(&two, NULL, "--flag"), CLI_USAGE);
	assert_int_equal(ARGS(&two, NULL, "a", "b", "c"), CLI_USAGE);
	assert_int_equal(ARGS(&none, NULL, "a"), CLI_USAGE);
	/* A verb with text only does not take the format. */
	assert_int_equal(ARGS(&two, NULL, "a", "--output-format", "json"), CLI_USAGE);
}

static void the_format_is_taken_where_there_is_a_choice(void **state)
{
	static const struct cli_verb json = {.name = "json", .forms = CLI_JSON};
	static const struct cli_verb csv = {.name = "csv", .forms = CLI_JSON_AND_CSV};
	struct out out;

	(void)state;
	setenv("PROXMOX_OUTPUT_FORMAT", "json", 1);
	assert_int_equal(ARGS(&json, &out, "--flag"), -1);
	assert_int_equal(out.format, OUT_JSON);
	assert_int_equal(ARGS(&json, &out, "--output-format=text"), -1);
	assert_int_equal(out.format, OUT_TEXT);
	assert_int_equal(ARGS(&json, &out, "--output-format", "csv"), CLI_USAGE);
	assert_int_equal(ARGS(&csv, &out, "--output-format", "csv"), -1);
	assert_int_equal(out.format, OUT_CSV);
	unsetenv("PROXMOX_OUTPUT_FORMAT");
}

static int ran;

static int run_below(const struct cli_verb *verb, int argc, char **below_argv)
{
	ran = argc;
	assert_string_equal(verb->name, "verb below");
	assert_string_equal(below_argv[0], "below");
	return 42;
}

static void a_verb_below_is_found_by_its_last_word(void **state)
{
	static const struct cli_verb below[] = {{.name = "verb below", .run = run_below}};
	static const struct cli_verb group = {.name = "verb"};
	char *call[] = {"verb", "below", "x", NULL}, *wrong[] = {"verb", "elsewhere", NULL};

	(void)state;
	assert_int_equal(cli_group(&group, below, 1, 3, call), 42);
	assert_int_equal(ran, 2);
	assert_int_equal(cli_group(&group, below, 1, 2, wrong), CLI_USAGE);
	assert_int_equal(cli_group(&group, below, 1, 1, wrong), CLI_USAGE);
}

static void a_query_is_encoded(void **state)
{
	struct buf path = {0};

	(void)state;
	buf_adds(&path, "/v1/log");
	cli_query(&path, "storage", "a b&c=d/ü");
	cli_query_int(&path, "limit", 500);
	assert_string_equal(buf_str(&path), "/v1/log?storage=a%20b%26c%3Dd%2F%C3%BC&limit=500");
	buf_release(&path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_stand_anywhere),
		cmocka_unit_test(after_two_dashes_nothing_is_an_option),
		cmocka_unit_test(a_lone_dash_is_a_file),
		cmocka_unit_test(mistakes_are_usage_errors),
		cmocka_unit_test(the_format_is_taken_where_there_is_a_choice),
		cmocka_unit_test(a_verb_below_is_found_by_its_last_word),
		cmocka_unit_test(a_query_is_encoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
