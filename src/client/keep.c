// SPDX-License-Identifier: MIT
#include "client/keep.h"

bool client_keep(const struct gate_link *link, const struct keep_ask *ask, struct keep_answer *ret,
	struct err *err)
{
	json_t *body = keep_ask_json(ask), *value = NULL;
	struct err why = {0};
	bool ok;

	if (!body)
		return err_nomem(err);
	ok = client_call(link, "POST", "/v1/keep", body, &value, err);
	if (ok && !keep_answer_of(value, ret, &why))
		ok = err_set(
			err, ERR_PROTOCOL, "the gate's answer is not understood: %s", why.text);
	json_decref(body);
	json_decref(value);
	return ok;
}
