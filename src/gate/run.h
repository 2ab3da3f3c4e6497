// SPDX-License-Identifier: MIT
/* For main.c: the gate from its opening to its end. */
#ifndef RG_GATE_RUN_H
#define RG_GATE_RUN_H

#include "base/err.h"

struct gate;
struct loaded;

/* Opens all parts with this configuration, which it takes over; `gate` is all zero but for
 * `config`. gate_close() also after a failure. */
bool gate_open(struct gate *gate, struct loaded *loaded, struct err *err);

/* Runs until a signal ends it. Returns the exit status. */
int gate_run(struct gate *gate);
void gate_close(struct gate *gate);

#endif
