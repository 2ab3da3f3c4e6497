// SPDX-License-Identifier: MIT
/*
 * The gate's API (src/gate/API.md) as functions, for the hook and the operator's command.
 *
 * Each call is one HTTP request over the gate's Unix socket with a deadline of ours. Failures:
 * ERR_GONE (no socket, nobody listens, closed), ERR_TIMEOUT, ERR_DENIED (403, or the socket may not
 * be opened), ERR_NOTFOUND (404), ERR_INVALID (400, 409: the gate does not take what we said),
 * ERR_LIMIT (413), ERR_BUSY (429, 503, or woken), ERR_PROTOCOL (anything that is not this API).
 * The gate's own sentence is in the error's text where it gave one.
 */
#ifndef RG_CLIENT_CLIENT_H
#define RG_CLIENT_CLIENT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "core/decide.h"
#include "core/request.h"
#include "core/ticket.h"

struct gate_link {
	const char *socket;  /* not owned */
	int64_t deadline_ms; /* for one call, besides the time that an ask may wait; 0: 10 s */
	struct pollfd *wake; /* descriptors that end a call early (http/http.h); may be NULL */
	size_t n_wake;
};

/* A question: `request` and what else the gate may know about who asks. */
struct ask {
	struct request request;
	struct worker worker;
	char upid[160];
	char job_id[64];
	char command[128]; /* the command's name only: arguments may hold secrets */
	int64_t ticket;    /* that we believe to have; 0 = none */
	int64_t held_ms;   /* so far, as we counted it */
	int64_t wait_ms;   /* 0 .. ASK_WAIT_MAX_MS */
};

#define ASK_WAIT_MAX_MS (25 * MS_SECOND)

/* The gate's answer. Texts are "" and numbers unknown where the gate said null. */
struct answer {
	int64_t ticket;
	int64_t decision; /* 0: could not be recorded */
	enum verdict act, verdict, would_be;
	int step;
	char rule[RULE_NAME_MAX];
	char nas[NAS_NAME_MAX];
	char array[MD_NAME_MAX];
	size_t n_reasons;
	struct {
		char code[32]; /* core's reason_word() */
		char text[400];
	} reasons[DECISION_MAX_REASONS];
	int64_t held_ms;
	struct opt ends_in_ms;
	struct opt ends_utc_ms;
	enum verdict then;     /* when the hold ends */
	enum verdict then_act; /* what the job would do then: throttle may act as something else */
	struct opt expected_ms;
	char released_by[64];
	char node[NODE_NAME_MAX]; /* where the gate runs */
	bool recorded;
	/* Of the array that is the reason. */
	bool facts;
	char operation[16];
	struct opt progress_ppm;
};

/* What a phase of vzdump, or the end of a command, is told with. */
struct report {
	int64_t ticket;
	struct worker worker;
	const char *phase;          /* vzdump's word, or "run-end" */
	const char *storage, *node; /* NULL where not known, as all below */
	const char *mode, *guest_type, *hostname, *target;
	uint32_t guest; /* 0: not known */
	struct opt exit_status;
};

bool client_ask(
	const struct gate_link *link, const struct ask *ask, struct answer *ret, struct err *err);
bool client_report(const struct gate_link *link, const struct report *report, struct err *err);
bool client_withdraw(const struct gate_link *link, int64_t ticket, const struct worker *worker,
	const char *why, struct err *err);

/* Any call. `body` (may be NULL) stays the caller's; *ret (may be NULL) is the caller's. */
bool client_call(const struct gate_link *link, const char *method, const char *path,
	const json_t *body, json_t **ret, struct err *err);
bool client_get(const struct gate_link *link, const char *path, json_t **ret, struct err *err);

/* What the API carries, without a call: for client_ask(), and for tests. ask_json() is NULL without
 * memory. answer_read() fails with ERR_PROTOCOL. */
json_t *ask_json(const struct ask *ask);
bool answer_read(const json_t *value, struct answer *ret, struct err *err);

#endif
