// SPDX-License-Identifier: MIT
/*
 * Runs a session (client/session.h) for real: calls the gate, waits, says its lines through `say`.
 */
#ifndef RG_CLIENT_ASKING_H
#define RG_CLIENT_ASKING_H

#include "client/session.h"
#include "client/words.h"

struct asking {
	const struct gate_link *link; /* its `wake` ends the asking as well */
	struct ask *ask; /* whom and what for; ticket, held_ms, wait_ms are filled in */
	/* One line of the job's log. */
	void (*say)(void *data, const char *line);
	/* The ticket is known, or is another one than before; may be NULL. */
	void (*ticket)(void *data, int64_t ticket);
	void *data;
};

/* Asks until there is a verdict: true, and *ret_step is the SESSION_END. False: a wake descriptor
 * has something for the caller (its revents are set), the job still holds session->ticket. */
bool asking_run(const struct asking *asking, struct session *session,
	const struct session_conf *conf, struct session_step *ret_step);

#endif
