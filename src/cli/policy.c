// SPDX-License-Identifier: MIT
/*
 * `policy check|show|test|try|defaults|facts`: policy files without a gate. Errors are
 * "file:line: sentence", one on each line, so that editors find them.
 */
#include "cli/policy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/given.h"
#include "conf/keys.h"
#include "conf/settings.h"

#define SHIPPED_POLICY "/etc/rebuildgate/policy.conf"

/* The file that the daemon would load; false with its configuration's errors. */
static bool configured(const char *config, char *ret, size_t size, struct conf_errors *errors)
{
	struct settings *settings = NULL;

	snprintf(ret, size, "%s", SHIPPED_POLICY);
	if (!config && access(SETTINGS_FILE, F_OK) != 0)
		return true;
	if (!settings_load(config ? config : SETTINGS_FILE, &settings, errors))
		return false;
	snprintf(ret, size, "%s", settings->policy);
	settings_free(settings);
	return true;
}

static bool read_stdin(struct policy_suite **ret, struct conf_errors *errors)
{
	struct buf text = {.max = CONF_FILE_SIZE_MAX + 1};
	bool good = false;
	char *room;
	ssize_t n = -1;

	while ((room = buf_room(&text, 4096)) && (n = read(STDIN_FILENO, room, 4096)) > 0)
		buf_used(&text, (size_t)n);
	if (!room)
		conf_error_add(
			errors, "-", 0, "the text is larger than %zu bytes", CONF_FILE_SIZE_MAX);
	else if (n < 0)
		conf_error_add(errors, "-", 0, "stdin cannot be read: %s", strerror(errno));
	else
		good = conf_suite_parse(buf_str(&text), text.len, "-", ret, errors);
	buf_release(&text);
	return good;
}

static bool open_suite(
	const char *file, const char *config, struct policy_suite **ret, struct conf_errors *errors)
{
	char path[SETTINGS_PATH_MAX];

	if (file && strcmp(file, "-") == 0)
		return read_stdin(ret, errors);
	if (file)
		return conf_suite_load(file, ret, errors);
	return configured(config, path, sizeof(path), errors) && conf_suite_load(path, ret, errors);
}

bool policy_suite_open(const char *file, const char *config, struct policy_suite **ret)
{
	struct conf_errors errors = {0};
	struct buf text = {0};
	bool good = open_suite(file, config, ret, &errors);

	if (!good) {
		conf_errors_print(&errors, &text);
		fputs(buf_str(&text), stderr);
	}
	buf_release(&text);
	conf_errors_release(&errors);
	return good;
}

static json_t *errors_json(const struct conf_errors *errors)
{
	json_t *list = json_array(), *entry;
	size_t i;

	for (i = 0; list && i < errors->n; i++) {
		entry = json_object();
		if (entry) {
			json_put_text(entry, "file", errors->list[i].file);
			json_put_int(entry, "line", errors->list[i].line);
			json_put_text(entry, "text", errors->list[i].text);
		}
		json_array_append_new(list, entry);
	}
	return list;
}

static void check_text(const struct out *out, const json_t *value, struct buf *buf)
{
	(void)out;
	buf_addf(buf, "%s: policy '%s' is good: ", out_text_of(value, "file"),
		out_text_of(value, "policy"));
	out_count(buf, out_int_of(value, "rules").v, "rule");
	buf_adds(buf, ", ");
	out_count(buf, out_int_of(value, "tests").v, "test");
	buf_addc(buf, '\n');
}

/* Bad files are told on stderr; as JSON both outcomes are one value on stdout. */
static int check(const struct cli_verb *verb, int argc, char **argv)
{
	const char *config = NULL;
	const struct cli_option options[] = {CLI_OPTION_CONFIG(&config)};
	struct out out;
	struct conf_errors errors = {0};
	struct policy_suite *suite = NULL;
	struct buf text = {0};
	json_t *value;
	struct err err = {0};
	int code;

	if (!cli_args(verb, argc, argv, options, CLI_COUNT(options), &out, &code))
		return code;
	value = json_object();
	code = open_suite(argv[1], config, &suite, &errors) ? CLI_OK : CLI_USAGE;
	conf_errors_print(&errors, &text);
	if (value) {
		json_put_bool(value, "good", suite != NULL);
		json_put(value, "errors", errors_json(&errors));
	}
	if (value && suite) {
		json_put_text(value, "file", suite->name);
		json_put_text(value, "policy", suite->policy->name);
		json_put_int(value, "rules", (int64_t)suite->policy->n_rules);
		json_put_int(value, "tests", (int64_t)suite->n_cases);
	}
	if (!suite && out.format == OUT_TEXT)
		fputs(buf_str(&text), stderr);
	else if (!out_show(&out, value, check_text, &err))
		code = cli_fail_err(verb->name, &err);
	json_decref(value);
	buf_release(&text);
	conf_errors_release(&errors);
	conf_suite_free(suite);
	return code;
}

/* Writes and releases the text of a verb that has no other form; returns the exit code. */
static int say(const struct cli_verb *verb, struct buf *text)
{
	struct err err = {0};
	int code = out_flush(text, &err) ? CLI_OK : cli_fail_err(verb->name, &err);

	buf_release(text);
	return code;
}

static int show(const struct cli_verb *verb, int argc, char **argv)
{
	const char *config = NULL;
	const struct cli_option options[] = {CLI_OPTION_CONFIG(&config)};
	struct policy_suite *suite = NULL;
	struct buf text = {0};
	int code;

	if (!cli_args(verb, argc, argv, options, CLI_COUNT(options), NULL, &code))
		return code;
	if (!policy_suite_open(argv[1], config, &suite))
		return CLI_USAGE;
	conf_policy_print(suite->policy, &text);
	code = say(verb, &text);
	conf_suite_free(suite);
	return code;
}

/* One case as TAP, which a person can read as well. */
static bool test_one(const struct policy_suite *suite, size_t at, struct buf *buf)
{
	const struct policy_case *test = &suite->cases[at];
	struct policy_case_result result;
	struct trace *trace = calloc(1, sizeof(*trace));
	size_t i;

	if (!trace || !conf_case_run(suite->policy, test, &result, trace)) {
		free(trace);
		buf->failed = true;
		return false;
	}
	buf_addf(buf, "%sok %zu - %s\n", result.good ? "" : "not ", at + 1, test->name);
	if (!result.good) {
		buf_addf(buf, "#   %s:%d: %s\n", test->file, test->line, result.why);
		for (i = 0; i < trace->n; i++)
			buf_addf(buf, "#   step %d%s %s\n", trace->lines[i].step,
				trace->lines[i].settled ? " =>" : ":", trace->lines[i].text);
	}
	free(trace);
	return result.good;
}

static int test(const struct cli_verb *verb, int argc, char **argv)
{
	const char *config = NULL;
	const struct cli_option options[] = {CLI_OPTION_CONFIG(&config)};
	struct policy_suite *suite = NULL;
	struct buf buf = {0};
	size_t failed = 0, i;
	int code;

	if (!cli_args(verb, argc, argv, options, CLI_COUNT(options), NULL, &code))
		return code;
	if (!policy_suite_open(argv[1], config, &suite))
		return CLI_USAGE;
	buf_addf(&buf, "1..%zu%s\n", suite->n_cases,
		suite->n_cases ? "" : " # skipped: the policy has no tests");
	for (i = 0; i < suite->n_cases; i++)
		failed += !test_one(suite, i, &buf);
	if (failed)
		buf_addf(&buf, "# %zu of %zu tests failed\n", failed, suite->n_cases);
	code = say(verb, &buf);
	if (code == CLI_OK && failed)
		code = CLI_FAILED;
	conf_suite_free(suite);
	return code;
}

static int defaults(const struct cli_verb *verb, int argc, char **argv)
{
	struct buf text = {0};
	int code;

	if (!cli_args(verb, argc, argv, NULL, 0, NULL, &code))
		return code;
	keys_document(&text);
	return say(verb, &text);
}

/* "recovery, resync, ..." of a field that has words; what it is compared with, of the others. */
static void fact_values(enum field field, struct buf *buf)
{
	static const char *const types[] = {
		[FIELD_TYPE_TEXT] = "text",
		[FIELD_TYPE_COUNT] = "number",
		[FIELD_TYPE_LOAD] = "load",
		[FIELD_TYPE_PERCENT] = "percentage",
		[FIELD_TYPE_SPAN] = "duration",
		[FIELD_TYPE_RATE] = "rate",
		[FIELD_TYPE_TIME] = "time",
	};
	const char *word;
	size_t i;

	if (field_type(field) != FIELD_TYPE_WORD)
		buf_adds(buf, types[field_type(field)]);
	for (i = 0; field_type(field) == FIELD_TYPE_WORD && (word = field_word_at(field, i)); i++)
		buf_addf(buf, "%s%s", i ? ", " : "", word);
}

/* What `when` may name, then what only tests and `try` may. */
static int facts(const struct cli_verb *verb, int argc, char **argv)
{
	struct buf text = {0};
	const char *name, *help;
	int field, code;
	size_t i;

	if (!cli_args(verb, argc, argv, NULL, 0, NULL, &code))
		return code;
	for (field = 1; field < FIELD_COUNT; field++) {
		buf_addf(&text, "%s\t", field_word((enum field)field));
		fact_values((enum field)field, &text);
		buf_addc(&text, '\n');
	}
	for (i = 0; (name = given_name_at(i, &help)); i++)
		buf_addf(&text, "%s\tgiven only: %s\n", name, help);
	return say(verb, &text);
}

#define ONE_FILE .args = "[FILE]", .max = 1, .need = "name one file at most"

int cli_policy(const struct cli_verb *verb, int argc, char **argv)
{
	static const struct cli_verb verbs[] = {
		{.name = "policy check",
			.run = check,
			ONE_FILE,
			.forms = CLI_JSON,
			.summary = "whether a policy file is good; every error with its line"},
		{.name = "policy show",
			.run = show,
			ONE_FILE,
			.summary = "the effective policy, with all defaults filled in"},
		{.name = "policy test",
			.run = test,
			ONE_FILE,
			.summary = "run the tests that the policy brings along"},
		{.name = "policy try",
			.run = policy_try,
			ONE_FILE,
			.forms = CLI_JSON,
			.summary = "what it decides on facts that you give, step by step"},
		{.name = "policy defaults",
			.run = defaults,
			.summary = "every setting with its default"},
		{.name = "policy facts",
			.run = facts,
			.summary = "every field that `when` and --given may name"},
	};

	return cli_group(verb, verbs, CLI_COUNT(verbs), argc, argv);
}
