// SPDX-License-Identifier: MIT
/* What the parts of `rebuildgate policy` share. */
#ifndef RG_CLI_POLICY_H
#define RG_CLI_POLICY_H

#include "cli/cli.h"
#include "conf/conf.h"

/* Loads a policy with its tests: `file`, "-" for stdin, or the configured one for NULL. On failure
 * all errors are on stderr, and false is returned. */
bool policy_suite_open(const char *file, struct policy_suite **ret);

/* `policy try`: decides on facts given on the command line. */
int policy_try(int argc, char **argv);

/* {"step","saw","settled"} for each line. NULL without memory. */
json_t *policy_trace_json(const struct trace *trace);

/* The lines of such a list, "=>" before the one that settled it. */
void policy_trace_text(const json_t *list, struct buf *buf);

#endif
