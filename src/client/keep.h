// SPDX-License-Identifier: MIT
/* A keeper's question to the gate: POST /v1/keep. Failures as in client/client.h. */
#ifndef RG_CLIENT_KEEP_H
#define RG_CLIENT_KEEP_H

#include "client/client.h"
#include "wire/keep.h"

/* One question and its answer. The gate answers at once: link->deadline_ms can be short. */
bool client_keep(const struct gate_link *link, const struct keep_ask *ask, struct keep_answer *ret,
	struct err *err);

#endif
