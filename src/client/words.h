// SPDX-License-Identifier: MIT
/*
 * The sentences of a job's log: what the gate answered, for whoever reads the task log or the mail
 * next morning.
 *
 * One line each, without prefix and line break, cut at WORDS_MAX. vzdump keeps the lines of the
 * job's phases in the mail (PVE/VZDump.pm), so they are few; each stands for itself.
 */
#ifndef RG_CLIENT_WORDS_H
#define RG_CLIENT_WORDS_H

#include "client/session.h"

#define WORDS_MAX 1024

/* A hold that begins, changed or goes on (SAY_HELD, SAY_CHANGED, SAY_STILL): array, percent,
 * expected end, latest end and what comes then, and the command that lets the job go and on which
 * node. */
void words_hold(const struct answer *answer, enum session_say what, int64_t held_ms,
	const struct moment *now, char ret[WORDS_MAX]);

/* An outage begins (`why`: the failed call's sentence). */
void words_gate_away(const struct session *session, const char *why, const struct moment *now,
	char ret[WORDS_MAX]);
/* It is over. */
void words_gate_back(const struct session *session, char ret[WORDS_MAX]);

/* How the asking ended. */
void words_end(const struct session *session, const struct session_step *step, char ret[WORDS_MAX]);

/* What a person should know although the job goes on: the NAS cannot be seen, the storage is mapped
 * to no array, nothing can be throttled, the decision could not be recorded, an observing policy
 * would have acted. At `at` = 0, 1, ... until false. */
bool words_warning(const struct answer *answer, size_t at, char ret[WORDS_MAX]);

/* What sort of answer it is: verdict, act and warnings. 0 for a plain go. A job that was told one
 * of this kind needs no second line when it asks again and is told the same. */
uint32_t words_kind(const struct answer *answer);

#endif
