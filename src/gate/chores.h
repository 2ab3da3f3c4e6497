// SPDX-License-Identifier: MIT
/* What is done every few seconds whether anything happens or not: silence, a record that does not
 * work, old rows. */
#ifndef RG_GATE_CHORES_H
#define RG_GATE_CHORES_H

#include "base/err.h"

struct gate;

bool chores_open(struct gate *gate, struct err *err);
void chores_close(struct gate *gate);

#endif
