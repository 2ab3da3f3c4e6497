// SPDX-License-Identifier: MIT
/* A keeper asks how open its guest's path shall be. */
#include <stdlib.h>

#include "gate/answer.h"
#include "gate/api.h"
#include "gate/gate.h"
#include "gate/levers.h"
#include "gate/server.h"

void api_keep(struct gate *gate, struct call *call, const struct api_args *args)
{
	const struct buf *body = call_body(call);
	struct keep_ask ask;
	struct keep_answer answer;
	struct buf text = {0};
	struct err err = {0};

	(void)args;
	if (!keep_ask_read(buf_str(body), body->len, &ask, &err)) {
		answer_err(call, &err);
		return;
	}
	if (!gate->levers) {
		answer_fail(call, ERR_BUSY, "The gate moves no levers now");
		return;
	}
	levers_keep(gate->levers, &ask, &answer);
	if (!keep_answer_write(&answer, &text, &err)) {
		buf_release(&text);
		answer_err(call, &err);
		return;
	}
	call_answer(call, 200, "application/json", text.data, text.len);
}
