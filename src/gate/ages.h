// SPDX-License-Identifier: MIT
/*
 * How old the last good backup of a guest is, and how large it was.
 *
 * First from our own record of backup-end, then from the servers: a PBS datastore's groups in each
 * namespace, a storage's content; at most every `age_poll`, one call at a time, only while the
 * NAS's reading is fresh and no earlier call hangs, because these calls read the mount. Unknown is
 * not overdue.
 */
#ifndef RG_GATE_AGES_H
#define RG_GATE_AGES_H

#include "base/err.h"
#include "base/json.h"
#include "base/moment.h"
#include "core/request.h"

struct ages;
struct gate;

bool ages_open(struct gate *gate, struct ages **ret, struct err *err);
void ages_settings(struct ages *ages);
void ages_close(struct ages *ages);

/* A backup of this guest onto this storage ended well, just now. */
void ages_done(struct ages *ages, const char *storage, uint32_t guest, int64_t utc_ms);

/* A server tells of one. */
void ages_seen(struct ages *ages, const char *storage, uint32_t guest, int64_t utc_ms);

/* Fills request->backup_age_ms: of the guest, or of those of the job that are known the oldest;
 * unknown where none is. */
void ages_fill(struct ages *ages, struct request *request, const struct moment *now);

/* Bytes that the job's guests had at their last backup or have as volumes; unknown unless all are
 * known. */
struct opt ages_size(struct ages *ages, const struct request *request);

/* The guests of a job of jobs.cfg on the request's node, where its cluster has told them: fills
 * n_guests, guests and n_qemu, which must be empty; else leaves the request as it is. */
void ages_job(struct ages *ages, const char *storage, const char *job_id, struct request *request);

/* [{"storage","guest","age_ms","source"}] for status; `source`: "record", "server". */
json_t *ages_show(const struct ages *ages);

#endif
