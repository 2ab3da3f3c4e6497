// SPDX-License-Identifier: MIT
/* The API's calls (API.md), one file for each group. Each answers its call exactly once, now or
 * later. */
#ifndef RG_GATE_API_H
#define RG_GATE_API_H

#include "base/json.h"
#include "conf/settings.h"
#include "core/decide.h"

struct call;
struct gate;
struct watch;

/* One request after routing: `arg` is the path's variable part ("" where there is none), `body` the
 * JSON of the body (NULL where there is none; not ours to free). Both live until the function
 * returns. */
struct api_args {
	const char *arg;
	const json_t *body;
};
typedef void (*api_fn)(struct gate *gate, struct call *call, const struct api_args *args);

/* The server's handler; `data` is the gate. */
void api_handle(void *data, struct call *call);

/* api_job.c */
void api_ask(struct gate *gate, struct call *call, const struct api_args *args);
void api_report(struct gate *gate, struct call *call, const struct api_args *args);
void api_withdraw(struct gate *gate, struct call *call, const struct api_args *args);
/* api_show.c */
void api_check(struct gate *gate, struct call *call, const struct api_args *args);
void api_status(struct gate *gate, struct call *call, const struct api_args *args);
void api_nas(struct gate *gate, struct call *call, const struct api_args *args);
void api_nas_look(struct gate *gate, struct call *call, const struct api_args *args);
void api_nas_forget(struct gate *gate, struct call *call, const struct api_args *args);
void api_policy(struct gate *gate, struct call *call, const struct api_args *args);
void api_version(struct gate *gate, struct call *call, const struct api_args *args);
/* api_tickets.c */
void api_tickets(struct gate *gate, struct call *call, const struct api_args *args);
void api_release(struct gate *gate, struct call *call, const struct api_args *args);
void api_overrides(struct gate *gate, struct call *call, const struct api_args *args);
void api_override_add(struct gate *gate, struct call *call, const struct api_args *args);
void api_override_cancel(struct gate *gate, struct call *call, const struct api_args *args);
/* api_log.c */
void api_log(struct gate *gate, struct call *call, const struct api_args *args);
void api_stats(struct gate *gate, struct call *call, const struct api_args *args);
void api_decision(struct gate *gate, struct call *call, const struct api_args *args);
/* api_keep.c */
void api_keep(struct gate *gate, struct call *call, const struct api_args *args);
/* api_levers.c */
void api_levers(struct gate *gate, struct call *call, const struct api_args *args);
void api_levers_reset(struct gate *gate, struct call *call, const struct api_args *args);
/* metrics.c */
void api_metrics(struct gate *gate, struct call *call, const struct api_args *args);

/* Lists of what is live, for more than one call. NULL without memory. */
json_t *api_tickets_json(struct gate *gate);
json_t *api_overrides_json(struct gate *gate);

/* A number from the query: unknown where it is not given. False (and ERR_INVALID) for anything but
 * digits within [0, max]. */
bool api_query_int(
	struct call *call, const char *name, int64_t max, struct opt *ret, struct err *err);

/* Whether the query says NAME=1. */
bool api_query_flag(struct call *call, const char *name);

#endif
