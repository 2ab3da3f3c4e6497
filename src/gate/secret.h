// SPDX-License-Identifier: MIT
/* A password's file: read only when nobody else can read it, wiped after use. */
#ifndef RG_GATE_SECRET_H
#define RG_GATE_SECRET_H

#include "nas/key_file.h"

/* The file's first line, under the same conditions as a private key's file (nas/key_file.h). */
bool secret_read(const char *path, struct buf *ret, struct err *err);
void secret_wipe(struct buf *secret);

#endif
