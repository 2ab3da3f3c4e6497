// SPDX-License-Identifier: MIT
/* The file of a secret, a private key, a token or a password: read only when nobody else can read
 * it. libssh does not look at the mode; this does. */
#ifndef RG_NAS_KEY_FILE_H
#define RG_NAS_KEY_FILE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* Appends the file's bytes to `out`. `name` is its path, or "credential:NAME" for
 * $CREDENTIALS_DIRECTORY/NAME, where systemd puts a unit's credentials. Refused are: a symbolic
 * link, anything but a regular file, an owner who is neither root nor ourselves, any right for
 * group or others, more than 64 KiB. One exception: a systemd credential (a file in
 * $CREDENTIALS_DIRECTORY) may be readable by its group, for that is how systemd's access list shows
 * in the mode. What is checked is what is read (one open file). The caller wipes `out` with
 * key_file_wipe(). */
bool key_file_read(const char *name, struct buf *out, struct err *err);

/* Overwrites and frees. */
void key_file_wipe(struct buf *key);

#endif
