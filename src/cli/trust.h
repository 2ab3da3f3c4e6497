// SPDX-License-Identifier: MIT
/* Getting to know a NAS, without the gate. `nas trust NAME`: shows the host key that a NAS offers,
 * asks, and records it.  */
#ifndef RG_CLI_TRUST_H
#define RG_CLI_TRUST_H

#include "cli/cli.h"

int cli_nas_trust(const struct cli_verb *verb, int argc, char **argv);

/* `nas authorized-key NAME`: the line for the NAS's authorized_keys, which allows our key to look
 * and nothing else. */
int cli_nas_authorized_key(const struct cli_verb *verb, int argc, char **argv);

/* `nas levers-key NAME`: the line for root's authorized_keys there, which allows the second key
 * what hooks/nas-levers does and nothing else. */
int cli_nas_levers_key(const struct cli_verb *verb, int argc, char **argv);

#endif
