// SPDX-License-Identifier: MIT
/* How the API answers: JSON, or a failure with its kind and one sentence. */
#ifndef RG_GATE_ANSWER_H
#define RG_GATE_ANSWER_H

#include "base/err.h"
#include "base/json.h"
#include "gate/desk.h"

struct call;
struct gate;

/* Takes `value` over; NULL is answered as lack of memory. */
void answer_json(struct call *call, unsigned status, json_t *value);

/* {"error": {"kind","text"}} with the status of the kind. */
void answer_err(struct call *call, const struct err *err);
void answer_fail(struct call *call, enum err_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* What POST /v1/ask answers. */
void answer_reply(struct gate *gate, struct call *call, const struct reply *reply);

/* "invalid", "denied", ...: the word for a kind in a failure. */
const char *answer_kind_word(enum err_kind kind);

#endif
