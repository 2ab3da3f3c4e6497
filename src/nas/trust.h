// SPDX-License-Identifier: MIT
/* What `rebuildgate nas trust NAME` needs: the key that a NAS offers now, and (known_hosts.h)
 * putting it on file. */
#ifndef RG_NAS_TRUST_H
#define RG_NAS_TRUST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "nas/known_hosts.h"
#include "nas/target.h"

#define HOST_KEY_PRINT_MAX 64

/* Connects just as far as the key exchange, which proves that the server has the key; no user name,
 * no login. Ends by `deadline_ms` (boot time; but see dial.h on name resolution). *ret_print
 * becomes "SHA256:...", *ret_line the line for nas_known_hosts_add() without a line break. */
bool nas_fetch_host_key(const struct nas_target *target, int64_t deadline_ms,
	char ret_print[HOST_KEY_PRINT_MAX], char ret_line[KNOWN_HOSTS_LINE_MAX], struct err *err);

#endif
