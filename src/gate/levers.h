// SPDX-License-Identifier: MIT
/*
 * The levers: which there are for which job, what they shall do, what they do.
 *
 * One controller (core/steer.h) for each mapped array that throttled jobs write to; its path is
 * divided among the keepers of running guests (lever 1), the backup servers' rules (2) and, tried
 * first where it is set up, the NAS's own floor (4); a check gives way (5). What always holds: each
 * change is in the record before it is made; a restore frees the levers of its NAS within two
 * readings; everything is put back at the gate's end, at its start and by `levers reset`; a lever
 * that does not work is said and counts as none.
 */
#ifndef RG_GATE_LEVERS_H
#define RG_GATE_LEVERS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "core/decide.h"
#include "core/request.h"
#include "wire/keep.h"

struct gate;
struct levers;
struct watch;

bool levers_open(struct gate *gate, struct levers **ret, struct err *err);
void levers_settings(struct levers *levers);
/* Puts everything back, as far as that goes within a few seconds. */
void levers_close(struct levers *levers);

/* Whether something is set up that could slow this job: core's `lever`. Of `in`, what else a rule
 * may look at counts too: by the NAS's own floor not every rule can be carried out. */
bool levers_can(struct levers *levers, const struct inputs *in);
/* How long the job would take throttled, where its size and the pace are known. */
struct opt levers_predict(struct levers *levers, const struct request *request);

/* A look at this NAS has ended. */
void levers_looked(struct levers *levers, struct watch *watch);
/* Tickets, policy, tasks or overrides have changed. */
void levers_changed(struct levers *levers);
/* A lever is set on this NAS: look every 2 s. */
bool levers_busy(const struct levers *levers, const char *nas);

/* A keeper asks. */
void levers_keep(struct levers *levers, const struct keep_ask *ask, struct keep_answer *ret);

/* An operator's word: everything back now, and nothing moved again for `span_ms` (ten seconds at
 * least, so that all of it is back once). Tells as JSON what was moved. */
json_t *levers_reset(struct levers *levers, const char *by, int64_t span_ms);

/* Writes a lever's change into the record, before it is made. False where it could not be recorded:
 * then it must not be made (putting back always may). */
bool levers_record(struct gate *gate, int64_t ticket, const char *lever, const char *target,
	const char *before, const char *after, const char *why, bool put_back);

/* For status and `rebuildgate levers`. */
json_t *levers_show(struct levers *levers);
/* What throttled backups moved, by storage, as in GET /v1/levers. NULL without memory. */
json_t *levers_paces(const struct levers *levers);
/* What a live ticket gets: {"path","rate","by","share_ppm","text"}; JSON's null where it is not
 * throttled. */
json_t *levers_ticket(struct levers *levers, int64_t ticket);
/* Prometheus' text, appended. */
void levers_metrics(struct levers *levers, struct buf *buf);

#endif
