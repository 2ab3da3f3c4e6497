// SPDX-License-Identifier: MIT
/* `policy try`: what a policy decides on facts given as 'operation=recovery progress=40%'. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/policy.h"
#include "cli/show.h"
#include "conf/given.h"
#include "core/decide.h"
#include "wire/wire.h"

#define GIVEN_MAX 32 /* options of that name */
#define WORD_MAX 256

static const char *skip_blanks(const char *p)
{
	while (*p == ' ' || *p == '\t' || *p == '\n')
		p++;
	return p;
}

static bool take(char *word, size_t *len, char c, struct err *err)
{
	if (*len + 1 >= WORD_MAX)
		return err_set(err, ERR_LIMIT, "a fact is longer than %d bytes", WORD_MAX - 1);
	word[(*len)++] = c;
	word[*len] = '\0';
	return true;
}

/* One "NAME=VALUE" at *p; a value with blanks stands in ' or ". Moves *p past it. */
static bool take_fact(const char **p, char name[WORD_MAX], char value[WORD_MAX], struct err *err)
{
	const char *s = *p;
	size_t len = 0;
	char quote = '\0';

	name[0] = value[0] = '\0';
	for (; *s && *s != '=' && *s != ' '; s++) {
		if (!take(name, &len, *s, err))
			return false;
	}
	if (*s != '=' || !len)
		return err_set(err, ERR_INVALID, "'%.60s' is not FIELD=VALUE", *p);
	s++;
	if (*s == '\'' || *s == '"')
		quote = *s++;
	for (len = 0; *s && (quote ? *s != quote : !strchr(" \t\n", *s)); s++) {
		if (!take(value, &len, *s, err))
			return false;
	}
	if (quote && *s++ != quote)
		return err_set(
			err, ERR_INVALID, "a %c is missing at the end of '%.60s'", quote, *p);
	*p = s;
	return true;
}

static bool names_array(const char *text)
{
	const char *at = strstr(text, "array=");

	return at && (at == text || at[-1] == ' ');
}

/* The facts of one option. One that names its array is about a new one, unless nothing was said
 * about the first yet. */
static bool take_given(struct given *given, const char *text, struct err *err)
{
	char name[WORD_MAX], value[WORD_MAX];
	const char *p = skip_blanks(text);

	if (names_array(p) && given_touched(given) && !given_array(given, err))
		return false;
	while (*p) {
		if (!take_fact(&p, name, value, err) || !given_set(given, name, value, err))
			return false;
		p = skip_blanks(p);
	}
	return true;
}

static void try_text(const struct out *out, const json_t *value, struct buf *buf)
{
	show_answer(out, value, buf);
	buf_adds(buf, "\nstep by step (=> where it was settled)\n");
	show_trace(out_list_of(value, "trace"), buf);
}

/* Decides and shows. The structs are large: the caller's heap. */
static bool decide_and_show(const struct policy *policy, const char *const *texts, size_t n,
	struct inputs *in, struct trace *trace, const struct out *out, struct err *err)
{
	struct decision *decision = calloc(1, sizeof(*decision));
	struct given given;
	json_t *value = NULL;
	bool done = false;
	size_t i;

	given_start(&given, in);
	for (i = 0; i < n; i++) {
		if (!take_given(&given, texts[i], err))
			goto out;
	}
	if (!given_finish(&given, policy, err))
		goto out;
	if (!decision) {
		err_nomem(err);
		goto out;
	}
	decide(policy, in, decision, trace);
	value = wire_decision(decision);
	if (!value || !json_put(value, "trace", show_trace_json(trace)))
		err_nomem(err);
	else
		done = out_show(out, value, try_text, err);
out:
	json_decref(value);
	free(decision);
	return done;
}

/* Takes the `--given` options out of argv; how many, or -1 where one has no value. */
static int take_options(int *argc, char **argv, const char *texts[GIVEN_MAX])
{
	static const char name[] = "--given";
	size_t len = sizeof(name) - 1;
	int n = 0, kept = 1, i;

	for (i = 1; i < *argc; i++) {
		const char *value = NULL;

		if (strncmp(argv[i], name, len) != 0 || (argv[i][len] && argv[i][len] != '=')) {
			argv[kept++] = argv[i];
			continue;
		}
		value = argv[i][len] ? argv[i] + len + 1 : i + 1 < *argc ? argv[++i] : NULL;
		if (!value || n == GIVEN_MAX)
			return -1;
		texts[n++] = value;
	}
	if (kept < *argc)
		argv[kept] = NULL;
	*argc = kept;
	return n;
}

int policy_try(const struct cli_verb *verb, int argc, char **argv)
{
	const char *texts[GIVEN_MAX], *file = NULL, *config = NULL, *unused = NULL;
	const struct cli_option options[] = {
		{"--given", "'FIELD=VALUE ...'",
			"facts: 'operation=recovery progress=40%'; again for another array",
			&unused, NULL},
		{"--policy", "FILE", "the policy, as FILE", &file, NULL},
		CLI_OPTION_CONFIG(&config)};
	struct policy_suite *suite = NULL;
	struct inputs *in = NULL;
	struct trace *trace = NULL;
	struct err err = {0};
	struct out out;
	int n = take_options(&argc, argv, texts), code;

	if (n < 0)
		return cli_fail(verb->name, CLI_USAGE,
			"--given needs facts: --given 'operation=recovery progress=40%'");
	if (!cli_args(verb, argc, argv, options, CLI_COUNT(options), &out, &code))
		return code;
	if (argv[1] && file)
		return cli_fail(verb->name, CLI_USAGE,
			"name one file at most; facts stand in --given 'FIELD=VALUE ...'");
	if (!policy_suite_open(argv[1] ? argv[1] : file, config, &suite))
		return CLI_USAGE;
	in = calloc(1, sizeof(*in));
	trace = calloc(1, sizeof(*trace));
	code = CLI_OK;
	if (!in || !trace)
		err_nomem(&err);
	if (!in || !trace ||
		!decide_and_show(suite->policy, texts, (size_t)n, in, trace, &out, &err))
		code = cli_fail_err(verb->name, &err);
	free(in);
	free(trace);
	conf_suite_free(suite);
	return code;
}
