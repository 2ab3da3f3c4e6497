// SPDX-License-Identifier: MIT
/*
 * `rebuildgated --put-back`: what a gate that was killed had moved is put back, without a gate.
 *
 * By the record: it says what is moved, and gets to know what is back. Ends within 20 s whatever
 * the servers and the NAS do; what is not back then expires by itself, or is put back by the next
 * start.
 */
#ifndef RG_GATE_PUT_BACK_H
#define RG_GATE_PUT_BACK_H

#include "base/err.h"
#include "conf/settings.h"

/* True where nothing is moved any more. ERR_BUSY while a gate has the record: it is for that one to
 * do. Logs what could not be done. */
bool put_back(const char *config, struct settings *settings, struct err *err);

#endif
