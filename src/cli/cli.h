// SPDX-License-Identifier: MIT
/*
 * What the verbs of the operator's command share: exit codes, options, the way to the gate.
 *
 * Every verb is `int cli_NAME(int argc, char **argv)` with argv[0] its own name; it returns the
 * exit code. Errors go to stderr as "rebuildgate VERB: sentence".
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

/* The gate's socket: `rebuildgate --socket PATH`, else REBUILDGATE_SOCKET, else CLI_SOCKET. */
const char *cli_socket(void);
void cli_socket_set(const char *path);

/* "rebuildgate VERB: TEXT" to stderr; returns `code`. */
int cli_fail(const char *verb, int code, const char *text);

/* As cli_fail with the exit code that fits the error's kind. */
int cli_fail_err(const char *verb, const struct err *err);

/* One call to the gate; `body` may be NULL and stays the caller's. *ret (may be NULL) is the
 * caller's. */
bool cli_call(
	const char *method, const char *path, const json_t *body, json_t **ret, struct err *err);

/* Options as a table: each with a value unless `flag`. Walks argv from 1, stops at "--" or the
 * first that is no option unless `mixed`. */
struct cli_option {
	const char *name;   /* "--reason" */
	const char **value; /* where the value goes */
	bool *flag;         /* or, for an option without one */
};
/* Moves what is no option to the front of argv (from 1) and returns how many in *ret_n. Takes
 * --output-format for `out` (may be NULL). */
bool cli_options(int argc, char **argv, const struct cli_option *options, size_t n, struct out *out,
	bool csv, int *ret_n, struct err *err);

/* Appends `name=value` to a query, percent-encoded; the first gets '?', others '&'. */
void cli_query(struct buf *path, const char *name, const char *value);
void cli_query_int(struct buf *path, const char *name, int64_t value);

int cli_check(int argc, char **argv);
int cli_explain(int argc, char **argv);
int cli_log(int argc, char **argv);
int cli_log_stats(int argc, char **argv);
int cli_log_verify(int argc, char **argv);
int cli_nas(int argc, char **argv);
int cli_override(int argc, char **argv);
int cli_parse(int argc, char **argv);
int cli_policy(int argc, char **argv);
int cli_release(int argc, char **argv);
int cli_replay(int argc, char **argv);
int cli_run(int argc, char **argv);
int cli_status(int argc, char **argv);
int cli_tickets(int argc, char **argv);
int cli_wait(int argc, char **argv);

#endif
