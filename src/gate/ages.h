// SPDX-License-Identifier: MIT
/*
 * How old the last good backup of a guest is, and how much it moved.
 *
 * Ages: first from our own record of backup-end, then from the servers: a PBS datastore's groups in
 * each namespace, a storage's content; at most every `age_poll`, one call at a time, only while the
 * NAS's reading is fresh and no earlier call hangs, because these calls read the mount. Task logs
 * lie elsewhere and need no reading. Unknown is not overdue.
 *
 * Sizes: of the last backup that told, in two measures that may differ by ten and that are never
 * taken for each other. READ is what a virtual machine's block jobs read: what its keeper sees
 * move. With a dirty bitmap that is what was dirty (QEMU block/backup.c backup_init_bcs_bitmap()
 * makes that the job's `len`), else all, zeros and what the server has already too. It is told by
 * the keeper (each job's `len` once the last has begun), and by the task's log. WRITTEN is what
 * arrived: a file's size, what a container's backup sent, compressed.
 *
 * What cannot be known stays unknown, for a prediction that is too long relaxes a protection or
 * holds a job for nothing. So no measure of an upper bound counts: not what a snapshot on a backup
 * server would restore to (its `size` there, also in a storage's content), which overstates each
 * backup but the first; not READ for WRITTEN. A lower bound does (WRITTEN for READ): what would be
 * too slow with less is so with more. No keeper slows a container: by a pace in READ it takes no
 * time. The volumes of a virtual machine are what a backup into a
 * file reads, and count as READ there; onto a backup server they do not. A size is forgotten after
 * 100 days. A job's size is known only with that of each of its guests.
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

/* What a size, or a pace, counts. */
enum moved { MOVED_NONE = 0, MOVED_READ, MOVED_WRITTEN, MOVED_COUNT };
const char *moved_word(enum moved as); /* read, written */
enum moved moved_parse(const char *word);

/* A backup of this guest onto this storage ended well, just now. What its keeper told of this
 * ticket is what it moved. */
void ages_done(
	struct ages *ages, int64_t ticket, const char *storage, uint32_t guest, int64_t utc_ms);
/* It is a container, or a virtual machine. */
void ages_is_lxc(struct ages *ages, const char *storage, uint32_t guest, bool lxc);
/* What the backup under way will have read, as its keeper tells. */
void ages_reads(
	struct ages *ages, int64_t ticket, const char *storage, uint32_t guest, int64_t bytes);
/* A backup of that time moved so much. An older one than is known counts for nothing. */
void ages_moved(struct ages *ages, const char *storage, uint32_t guest, enum moved as,
	int64_t bytes, int64_t utc_ms);

/* Which datastores that storages name a backup server does not have, in a sentence; "" where all
 * are there or not known. */
void ages_missing(const struct ages *ages, const char *pbs, char *ret, size_t size);

/* A server tells of one. */
void ages_seen(struct ages *ages, const char *storage, uint32_t guest, int64_t utc_ms);

/* Fills request->backup_age_ms: of the guest, or of those of the job that are known the oldest;
 * unknown where none is. */
void ages_fill(struct ages *ages, struct request *request, const struct moment *now);

/* Bytes that the last backups of the job's guests moved, so measured; unknown unless it is known of
 * each of them, and where the job's guests are not. */
struct opt ages_size(
	struct ages *ages, const struct request *request, enum moved as, const struct moment *now);

/* The guests of a job of jobs.cfg on the request's node, where its cluster has told all of them and
 * on which node each is: fills n_guests, guests and n_qemu, which must be empty; else leaves the
 * request as it is. */
void ages_job(struct ages *ages, const char *storage, const char *job_id, struct request *request);

/* [{"storage","guest","age_ms","source","size","read","written"}] for status; `source`: "record",
 * "server"; `size`: what is known of the last two, first what was written. */
json_t *ages_show(const struct ages *ages);

#endif
