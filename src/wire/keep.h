// SPDX-License-Identifier: MIT
/*
 * What a keeper (hooks/inner: the process beside one guest's backup) and the gate say to each
 * other, as JSON: POST /v1/keep.
 */
#ifndef RG_WIRE_KEEP_H
#define RG_WIRE_KEEP_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "core/steer.h"
#include "core/ticket.h"

struct keep_ask {
	int64_t ticket;
	struct worker worker;
	char node[NODE_NAME_MAX];
	char storage[STORAGE_NAME_MAX];
	uint32_t guest;
	bool fleecing; /* guest writes go to a fleecing image first: long pauses are friendly */
	enum steer_path path; /* in force, read back; STEER_FREE before anything was set */
	int64_t rate;         /* bytes/s in force for STEER_LIMIT */
	int64_t n_jobs;       /* backup jobs listed; 0 before they began or after they ended */
	struct opt moved;     /* bytes/s since the last ask */
	bool ending;          /* the last word: it has put everything back */
	char trouble[200];    /* what does not work, "" if nothing */
};

struct keep_answer {
	enum steer_path path;
	int64_t rate;         /* bytes/s, this guest's part, for STEER_LIMIT */
	int64_t again_ms;     /* ask again after so long: 500 .. 10000 */
	int64_t max_pause_ms; /* longest pause in one piece */
	char reason[200];
};

bool keep_ask_write(const struct keep_ask *ask, struct buf *ret, struct err *err);
bool keep_ask_read(const char *text, size_t len, struct keep_ask *ret, struct err *err);
bool keep_answer_write(const struct keep_answer *answer, struct buf *ret, struct err *err);
bool keep_answer_read(const char *text, size_t len, struct keep_answer *ret, struct err *err);

#endif
