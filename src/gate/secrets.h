// SPDX-License-Identifier: MIT
/* For rebuildgated --check: whether the files of keys, tokens and passwords that the settings name
 * can be used. The gate starts without them and says so then; here it is said beforehand. */
#ifndef RG_GATE_SECRETS_H
#define RG_GATE_SECRETS_H

#include "base/buf.h"
#include "conf/settings.h"

/* Appends a line "FILE: whose: what is wrong" for each that cannot be used, and returns how many.
 * Root looks as the user who owns the database's folder, for that is whom the gate runs as; so this
 * process has other rights afterwards. A systemd credential is looked at only where this process
 * was given any. */
size_t secrets_check(const char *file, const struct settings *settings, struct buf *ret);

#endif
