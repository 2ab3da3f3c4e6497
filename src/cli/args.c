// SPDX-License-Identifier: MIT
/* A verb's arguments and its help, both from the same tables. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

#define FORMAT_OPTION "--output-format"
#define HELP_WIDTH 26

static const char *last_word(const char *name)
{
	const char *blank = strrchr(name, ' ');

	return blank ? blank + 1 : name;
}

static void usage_line(const struct cli_verb *verb, bool options, struct buf *buf)
{
	buf_addf(buf, "usage: rebuildgate %s", verb->name);
	if (options)
		buf_adds(buf, " [OPTIONS]");
	if (verb->args)
		buf_addf(buf, " %s", verb->args);
	buf_addc(buf, '\n');
}

static void option_help(const struct cli_option *options, size_t n, size_t at, struct buf *buf)
{
	struct buf names = {0};
	size_t i;

	buf_adds(&names, options[at].name);
	for (i = at + 1; i < n && !options[i].help; i++)
		buf_addf(&names, ", %s", options[i].name);
	if (options[at].arg)
		buf_addf(&names, " %s", options[at].arg);
	buf_addf(buf, "  %-*s  %s\n", HELP_WIDTH, buf_str(&names), options[at].help);
	buf_release(&names);
}

/* The verbs below this one, each with what it takes. */
static void below_help(const struct cli_verb *verb, struct buf *buf)
{
	struct buf call = {0};
	size_t i;

	for (i = 0; i < verb->n_verbs; i++) {
		const struct cli_verb *below = &verb->verbs[i];

		buf_clear(&call);
		buf_addf(&call, "%s%s%s", below->name, below->args ? " " : "",
			below->args ? below->args : "");
		buf_addf(buf, "%s  rebuildgate %-*s  %s\n", i ? "" : "\n", HELP_WIDTH,
			buf_str(&call), below->summary);
	}
	if (i)
		buf_adds(buf, "\nEach shows its options with --help.\n");
	buf_release(&call);
}

static void help(const struct cli_verb *verb, const struct cli_option *options, size_t n)
{
	bool any = n > 0 || verb->forms != CLI_TEXT_ONLY;
	struct buf buf = {0};
	size_t i;

	usage_line(verb, any, &buf);
	buf_addf(&buf, "\n%s\n%s", verb->summary, any ? "\n" : "");
	for (i = 0; i < n; i++) {
		if (options[i].help)
			option_help(options, n, i, &buf);
	}
	if (verb->forms != CLI_TEXT_ONLY)
		buf_addf(&buf,
			"  %-*s  text, json, json-pretty%s (default: PROXMOX_OUTPUT_FORMAT, "
			"else text)\n",
			HELP_WIDTH, FORMAT_OPTION " FORMAT",
			verb->forms == CLI_JSON_AND_CSV ? ", csv" : "");
	below_help(verb, &buf);
	out_flush(&buf, NULL);
	buf_release(&buf);
}

static const struct cli_option *option_find(
	const struct cli_option *options, size_t n, const char *arg, size_t len)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (strlen(options[i].name) == len && strncmp(options[i].name, arg, len) == 0)
			return &options[i];
	}
	return NULL;
}

struct walk {
	const struct cli_verb *verb;
	int argc;
	char **argv;
	const struct cli_option *options;
	size_t n;
	struct out *out;
};

/* One option at argv[*at], with its value in the same or the next argument. */
static bool option_take(const struct walk *walk, int *at, struct err *err)
{
	const char *arg = walk->argv[*at], *equals = strchr(arg, '='), *value = NULL;
	size_t len = equals ? (size_t)(equals - arg) : strlen(arg);
	const struct cli_option *option = option_find(walk->options, walk->n, arg, len);
	bool format =
		walk->out && len == strlen(FORMAT_OPTION) && strncmp(arg, FORMAT_OPTION, len) == 0;

	if (!option && !format)
		return err_set(err, ERR_INVALID,
			"there is no option '%.*s': see rebuildgate %s --help", (int)len, arg,
			walk->verb->name);
	if (option && option->flag) {
		if (equals)
			return err_set(
				err, ERR_INVALID, "option '%s' takes no value", option->name);
		*option->flag = true;
		return true;
	}
	if (equals)
		value = equals + 1;
	else if (*at + 1 < walk->argc)
		value = walk->argv[++*at];
	if (!value)
		return err_set(err, ERR_INVALID, "option '%.*s' needs a value: %.*s %s", (int)len,
			arg, (int)len, arg, format ? "json" : option->arg);
	if (format)
		return out_format_parse(
			walk->out, value, walk->verb->forms == CLI_JSON_AND_CSV, err);
	*option->value = value;
	return true;
}

static bool is_help(const char *arg)
{
	return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

/* Moves what is no option to the front; *ret_help where help is asked for. */
static bool walk_args(const struct walk *walk, int *ret_plain, bool *ret_help, struct err *err)
{
	int i, plain = 1;

	for (i = 1; i < walk->argc && !*ret_help; i++) {
		char *arg = walk->argv[i];

		if (strcmp(arg, "--") == 0) {
			for (i++; i < walk->argc; i++)
				walk->argv[plain++] = walk->argv[i];
		} else if (is_help(arg)) {
			*ret_help = true;
		} else if (arg[0] != '-' || arg[1] == '\0') {
			walk->argv[plain++] = arg;
		} else if (!option_take(walk, &i, err)) {
			return false;
		}
	}
	if (plain < walk->argc)
		walk->argv[plain] = NULL;
	*ret_plain = plain - 1;
	return true;
}

bool cli_args(const struct cli_verb *verb, int argc, char **argv, const struct cli_option *options,
	size_t n, struct out *out, int *ret_code)
{
	const struct walk walk = {verb, argc, argv, options, n, out};
	struct err err = {0};
	bool asked = false;
	int plain = 0;

	if (out)
		out_init(out, verb->forms == CLI_JSON_AND_CSV);
	if (!walk_args(&walk, &plain, &asked, &err)) {
		*ret_code = cli_fail(verb->name, CLI_USAGE, err.text);
		return false;
	}
	if (asked) {
		help(verb, options, n);
		*ret_code = CLI_OK;
		return false;
	}
	if (plain >= verb->min && plain <= verb->max)
		return true;
	if (verb->need)
		err_set(&err, ERR_INVALID, "%s", verb->need);
	else
		err_set(&err, ERR_INVALID, "it takes options only, not '%s'", argv[1]);
	*ret_code = cli_fail(verb->name, CLI_USAGE, err.text);
	return false;
}

bool cli_below(const struct cli_verb *verb, int argc, char **argv, int *ret_code)
{
	size_t i;

	for (i = 0; argc > 1 && i < verb->n_verbs; i++) {
		if (strcmp(argv[1], last_word(verb->verbs[i].name)) == 0) {
			*ret_code = verb->verbs[i].run(&verb->verbs[i], argc - 1, argv + 1);
			return true;
		}
	}
	return false;
}

int cli_group(
	const struct cli_verb *verb, const struct cli_verb *verbs, size_t n, int argc, char **argv)
{
	struct cli_verb self = *verb;
	struct buf text = {0};
	int code;
	size_t i;

	self.verbs = verbs;
	self.n_verbs = n;
	if (cli_below(&self, argc, argv, &code))
		return code;
	if (argc > 1 && is_help(argv[1])) {
		help(&self, NULL, 0);
		return CLI_OK;
	}
	if (argc > 1)
		buf_addf(&text, "there is no '%s %s': ", verb->name, argv[1]);
	buf_adds(&text, "say one of ");
	for (i = 0; i < n; i++)
		buf_addf(&text, "%s%s", i ? ", " : "", last_word(verbs[i].name));
	code = cli_fail(verb->name, CLI_USAGE, buf_str(&text));
	buf_release(&text);
	return code;
}
