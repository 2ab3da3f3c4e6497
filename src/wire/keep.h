// SPDX-License-Identifier: MIT
/*
 * What a keeper (hooks/inner: the process beside one guest's backup) and the gate say to each
 * other, as JSON: POST /v1/keep.
 *
 * Members have the names of the structs below; `path` is core's word (free, open, limit, rest). A
 * question must have ticket, worker, storage, guest, path and n_jobs; an answer path, again_ms and
 * max_pause_ms, and a rate where the path is a limit. What is written is in range.
 */
#ifndef RG_WIRE_KEEP_H
#define RG_WIRE_KEEP_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "core/steer.h"
#include "core/ticket.h"

#define KEEP_AGAIN_MIN_MS INT64_C(500)
#define KEEP_AGAIN_MAX_MS (10 * MS_SECOND)
#define KEEP_PAUSE_MAX_MS MS_HOUR /* what can be said */
/* The longest pause in one piece that a keeper makes, whatever it is told; with fleecing. */
#define KEEP_PAUSE_CAP_MS (60 * MS_SECOND)
#define KEEP_PAUSE_CAP_FLEECING_MS (10 * MS_MINUTE)
#define KEEP_MAX_JOBS 64

struct keep_ask {
	int64_t ticket;
	struct worker worker;
	char node[NODE_NAME_MAX];
	char storage[STORAGE_NAME_MAX];
	uint32_t guest;
	bool fleecing; /* guest writes go to a fleecing image first: long pauses are friendly */
	enum steer_path path; /* in force, read back; STEER_FREE before anything was set */
	int64_t rate;     /* bytes/s in force for STEER_LIMIT: the one that was answered, once no
			     job may go beyond it */
	int64_t n_jobs;   /* backup jobs listed; 0 before they began or after they ended */
	struct opt moved; /* bytes/s since the last ask */
	struct opt
		total; /* bytes that all its jobs will have read; unknown before the last began */
	bool ending;   /* the last word: it has put everything back */
	char trouble[200]; /* what does not work, "" if nothing */
};

struct keep_answer {
	enum steer_path path;
	int64_t rate;         /* bytes/s, this guest's part, for STEER_LIMIT */
	int64_t again_ms;     /* ask again after so long: 500 .. 10000 */
	int64_t max_pause_ms; /* longest pause in one piece; 0: no pause */
	char reason[200];
};

/* `pause_ms`, but no longer than a keeper makes it. */
int64_t keep_pause_within(int64_t pause_ms, bool fleecing);

/* Text of a body. Readers refuse what is missing, of the wrong type or out of range. */
bool keep_ask_write(const struct keep_ask *ask, struct buf *ret, struct err *err);
bool keep_ask_read(const char *text, size_t len, struct keep_ask *ret, struct err *err);
bool keep_answer_write(const struct keep_answer *answer, struct buf *ret, struct err *err);
bool keep_answer_read(const char *text, size_t len, struct keep_answer *ret, struct err *err);

/* The same as values: the caller's, NULL without memory. */
json_t *keep_ask_json(const struct keep_ask *ask);
bool keep_ask_of(const json_t *value, struct keep_ask *ret, struct err *err);
json_t *keep_answer_json(const struct keep_answer *answer);
bool keep_answer_of(const json_t *value, struct keep_answer *ret, struct err *err);

#endif
