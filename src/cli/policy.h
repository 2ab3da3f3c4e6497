// SPDX-License-Identifier: MIT
/* What the parts of `rebuildgate policy` share. */
#ifndef RG_CLI_POLICY_H
#define RG_CLI_POLICY_H

#include "cli/cli.h"
#include "conf/conf.h"

/* Loads a policy with its tests: `file`, "-" for stdin, or for NULL the one that `config` (NULL:
 * the shipped place) names. On failure all errors are on stderr, and false is returned. */
bool policy_suite_open(const char *file, const char *config, struct policy_suite **ret);

/* `policy try`: decides on facts given on the command line. */
int policy_try(const struct cli_verb *verb, int argc, char **argv);

#endif
