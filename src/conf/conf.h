// SPDX-License-Identifier: MIT
/*
 * Policy files: libconfig text to `struct policy`, and back.
 *
 * What always holds:
 * - A file either gives a whole, checked policy, or errors: all of them at once, each with file,
 *   line and what would be right. Unknown names, wrong types, missing units, rules that can never
 *   match and settings without effect are errors, never guesses.
 * - The same bytes give the same policy with every release of libconfig. Its lexer wraps large
 *   integers, reads "010" differently from release to release and (1.5) loses memory at a syntax
 *   error; so our own scanner (scan.h) reads the files and the @includes, refuses what libconfig
 *   would misread, and hands it one clean text that it cannot refuse. A gate that is told to reload
 *   a broken file a million times loses no memory.
 * - conf_policy_print() is canonical: loading what it printed gives the same policy, and printing
 *   that gives the same bytes. This text is what a decision's policy hash is computed over.
 *
 * @include "FILE" stands on a line of its own and is relative to the folder of the file that it
 * stands in.
 */
#ifndef RG_CONF_CONF_H
#define RG_CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "conf/errors.h"
#include "core/decide.h"
#include "core/policy.h"

#define CONF_FILE_SIZE_MAX ((size_t)1 << 20) /* of one file */
#define POLICY_MAX_RULES 200
#define POLICY_MAX_CASES 200

/* Reads and checks `file`, its tests too (they are not run). On success *ret is the caller's
 * (conf_policy_free()); on failure it is NULL and `errors` says why. */
bool conf_policy_load(const char *file, struct policy **ret, struct conf_errors *errors);

/* As conf_policy_load() for `len` bytes of text; `name` stands for the file in messages, and its
 * folder is what @include is relative to. */
bool conf_policy_parse(const char *text, size_t len, const char *name, struct policy **ret,
	struct conf_errors *errors);

void conf_policy_free(struct policy *policy); /* NULL is fine */

/* Appends the effective policy, complete (every default written out, no tests), as libconfig text.
 * False without memory (ret->failed). */
bool conf_policy_print(const struct policy *policy, struct buf *ret);

/* The policy that the program ships as its own defaults: no rules, everything else as documented in
 * policy/README.md. NULL without memory. */
struct policy *conf_policy_shipped(void);

/* A policy's own tests: `tests = ( { name; given = {...}; expect = {...} } )`. */
struct policy_given {
	char *key, *value; /* a field of `when`, or one of those that conf/given.h adds */
	int line;
};

struct policy_case {
	char name[128];
	const char *file; /* owned by the suite */
	int line;
	size_t n_given;
	struct policy_given *given;
	enum verdict verdict; /* NONE: not asked for; so is each of the following */
	enum verdict act;
	int step;
	bool has_rule; /* rule "" means: no rule */
	char rule[RULE_NAME_MAX];
	enum reason_code reason; /* the first one */
	int64_t protect_ppm;     /* 0: not asked for */
};

struct policy_suite {
	struct policy *policy;
	size_t n_cases;
	struct policy_case *cases;
	char *name; /* the file as it was named */
};

bool conf_suite_load(const char *file, struct policy_suite **ret, struct conf_errors *errors);
bool conf_suite_parse(const char *text, size_t len, const char *name, struct policy_suite **ret,
	struct conf_errors *errors);
void conf_suite_free(struct policy_suite *suite);

struct policy_case_result {
	bool good;
	struct decision decision;
	char why[240]; /* what differs; "" where good */
};

/* Runs case `at` against `policy` (the suite's own, or another). False without memory. */
bool conf_case_run(const struct policy *policy, const struct policy_case *test,
	struct policy_case_result *ret, struct trace *trace);

#endif
