// SPDX-License-Identifier: MIT
/*
 * The known_hosts file: which key is on file for a NAS, and adding one. Matching of names (lists,
 * patterns, hashed names) is libssh's own, the same that checks the key at each login. The daemon
 * only reads the file; `rebuildgate nas trust` writes it.
 */
#ifndef RG_NAS_KNOWN_HOSTS_H
#define RG_NAS_KNOWN_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "nas/target.h"

#define KNOWN_HOSTS_NAME_MAX (NAS_HOST_MAX + 16)
#define KNOWN_HOSTS_LINE_MAX 4096

/* How known_hosts names host and port: in lower case, "[host]:port" for any port but 22 (0 is 22).
 */
void known_hosts_name(const char *host, uint16_t port, char ret[KNOWN_HOSTS_NAME_MAX]);

/* The fingerprints that target->known_hosts has for the target, "SHA256:..., SHA256:...", as many
 * as fit whole; "another key" when there is none. */
void known_hosts_prints(const struct nas_target *target, char *ret, size_t size);

/*
 * Records `line` ("NAME TYPE BASE64", as nas_fetch_host_key() gives it) for host and port in
 * `file`, which is made (mode 0644) if it is not there and replaced in one step, with the mode and
 * owner that it had. A key that is on file already is success. Another key for the same host is
 * ERR_DENIED unless `replace`; then all its entries go, but an entry that names other hosts as well
 * is ERR_INVALID: a person must edit that one. Comments and other hosts stay.
 */
bool nas_known_hosts_add(const char *file, const char *host, uint16_t port, const char *line,
	bool replace, struct err *err);

#endif
