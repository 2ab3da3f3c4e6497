// SPDX-License-Identifier: MIT
/* `nas trust NAME`: shows the host key that a NAS offers, asks, and records it. Works without the
 * gate. */
#ifndef RG_CLI_TRUST_H
#define RG_CLI_TRUST_H

int cli_nas_trust(int argc, char **argv);

#endif
