// SPDX-License-Identifier: MIT
/*
 * What the verbs of the operator's command share: exit codes, the table of verbs, options, the way
 * to the gate.
 *
 * Every verb is a row of a table: `struct cli_verb` is what it is called by, checked by and
 * explained by. Its function returns the exit code. Errors go to stderr as "rebuildgate VERB:
 * sentence".
 */
#ifndef RG_CLI_CLI_H
#define RG_CLI_CLI_H

#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"
#include "cli/out.h"

/* Documented in --help and in the manual page. 69, 75 and 77 as in sysexits(3). */
enum cli_exit {
	CLI_OK = 0,
	CLI_FAILED = 1,     /* it was asked and the answer is no, or something broke */
	CLI_USAGE = 2,      /* wrong options, a bad file */
	CLI_NO_READING = 3, /* parse: nothing understood */
	CLI_GATE_AWAY = 69, /* EX_UNAVAILABLE */
	CLI_HELD = 75,      /* EX_TEMPFAIL */
	CLI_DENIED = 77,    /* EX_NOPERM: denied, or not allowed to ask */
};

#define CLI_SOCKET "/run/rebuildgate/rebuildgate.sock"

/* The gate's socket: `rebuildgate --socket PATH`, else REBUILDGATE_SOCKET, else what
 * cli_socket_configured() was told, else CLI_SOCKET. Texts stay the caller's. */
const char *cli_socket(void);
void cli_socket_set(const char *path);
void cli_socket_configured(const char *path);

/* "rebuildgate VERB: TEXT" to stderr; returns `code`. */
int cli_fail(const char *verb, int code, const char *text);

/* As cli_fail with the exit code that fits the error's kind. */
int cli_fail_err(const char *verb, const struct err *err);

/* One call to the gate; `body` may be NULL and stays the caller's. *ret (may be NULL) is the
 * caller's. */
bool cli_call(
	const char *method, const char *path, const json_t *body, json_t **ret, struct err *err);

struct settings;
/* Reads the daemon's configuration; NULL is the shipped place. The first error as a sentence, and
 * how many more. *ret is the caller's (settings_free()). */
bool cli_settings(const char *config, struct settings **ret, struct err *err);

/* What a verb's answer can be shown as. */
enum cli_forms { CLI_TEXT_ONLY = 0, CLI_JSON, CLI_JSON_AND_CSV };

struct cli_verb {
	const char *name;    /* as it is called: "log stats" */
	const char *args;    /* what it takes besides options: "STORAGE", "[FILE]", NULL */
	const char *need;    /* what is said where there are too few or too many of those */
	const char *summary; /* one line */
	int (*run)(const struct cli_verb *verb, int argc, char **argv);
	int min, max; /* how many arguments */
	enum cli_forms forms;
	const struct cli_verb *verbs; /* those below it, for its help; may be NULL */
	size_t n_verbs;
};

struct cli_option {
	const char *name;   /* "--reason" */
	const char *arg;    /* "TEXT"; NULL for a flag */
	const char *help;   /* NULL: another name of the option before */
	const char **value; /* where the value goes */
	bool *flag;         /* or, for a flag, what it sets */
};

/* Options that many verbs have. */
#define CLI_OPTION_CONFIG(value)                                                                   \
	{                                                                                          \
		"--config", "FILE", "the daemon's configuration", value, NULL                      \
	}
#define CLI_OPTION_DATABASE(value)                                                                 \
	{                                                                                          \
		"--database", "FILE", "read this database; the gate is not asked", value, NULL     \
	}
#define CLI_COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Reads argv (argv[0] is the verb's last word): options anywhere before "--", and moves what is no
 * option to argv[1], argv[2], ..., NULL. `out` (NULL for CLI_TEXT_ONLY) is made ready. False when
 * there is nothing more to do: help was shown, or a sentence said; *ret_code is the exit code. */
bool cli_args(const struct cli_verb *verb, int argc, char **argv, const struct cli_option *options,
	size_t n, struct out *out, int *ret_code);

/* Runs the verb below `verb` that argv[1] names; false if it names none. */
bool cli_below(const struct cli_verb *verb, int argc, char **argv, int *ret_code);

/* A verb that only has verbs below it. */
int cli_group(
	const struct cli_verb *verb, const struct cli_verb *verbs, size_t n, int argc, char **argv);

/* Appends `name=value` to a query, percent-encoded; the first gets '?', others '&'. */
void cli_query(struct buf *path, const char *name, const char *value);
void cli_query_int(struct buf *path, const char *name, int64_t value);

/* Asks the gate and shows its answer; returns the exit code. *ret (may be NULL) is the caller's. */
int cli_ask_and_show(const struct cli_verb *verb, const struct out *out, const char *method,
	const char *path, const json_t *body, out_text text, json_t **ret);

int cli_check(const struct cli_verb *verb, int argc, char **argv);
int cli_explain(const struct cli_verb *verb, int argc, char **argv);
int cli_levers(const struct cli_verb *verb, int argc, char **argv);
int cli_log(const struct cli_verb *verb, int argc, char **argv);
int cli_log_stats(const struct cli_verb *verb, int argc, char **argv);
int cli_log_verify(const struct cli_verb *verb, int argc, char **argv);
int cli_nas(const struct cli_verb *verb, int argc, char **argv);
int cli_override(const struct cli_verb *verb, int argc, char **argv);
int cli_parse(const struct cli_verb *verb, int argc, char **argv);
int cli_policy(const struct cli_verb *verb, int argc, char **argv);
int cli_release(const struct cli_verb *verb, int argc, char **argv);
int cli_replay(const struct cli_verb *verb, int argc, char **argv);
int cli_run(const struct cli_verb *verb, int argc, char **argv);
int cli_status(const struct cli_verb *verb, int argc, char **argv);
int cli_tickets(const struct cli_verb *verb, int argc, char **argv);
int cli_wait(const struct cli_verb *verb, int argc, char **argv);

#endif
