// SPDX-License-Identifier: MIT
/*
 * The spill: where batches go while the database cannot be written.
 *
 * One file of a fixed size, written full once so that a full disk does not stop it. Two header
 * slots that are written in turns, then frames: each with the epoch, a sequence number from 1, a
 * length and a SHA-256 over all of it. A frame that a crash cut is as if it had never been; nobody
 * was told of it, because an append returns only after fdatasync(2). spill_reset() begins a new
 * epoch, which makes all frames of the old one invalid at once. Whoever takes frames in remembers
 * (epoch, seq) together with what it did: taking in twice is then taking in once.
 *
 * The file is locked (flock(2)) while open: there is one writer. Private to src/store.
 */
#ifndef RG_STORE_SPILL_H
#define RG_STORE_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define SPILL_EPOCH_LEN 16
#define SPILL_MARKS 3
#define SPILL_BYTES_MIN ((size_t)64 << 10)
#define SPILL_BYTES_MAX ((size_t)1 << 30)

struct spill;

/* Makes the file (0600) where it is not there; a larger or smaller one keeps its size. ERR_BUSY
 * where another process has it, ERR_INVALID where it is no spill. */
bool spill_open(const char *path, size_t bytes, struct spill **ret, struct err *err);
void spill_close(struct spill *spill); /* NULL is allowed */

const unsigned char *spill_epoch(const struct spill *spill);
int64_t spill_count(const struct spill *spill); /* frames that are there */
uint64_t spill_last(const struct spill *spill); /* the last one's sequence number, 0 if none */
bool spill_is_new(const struct spill *spill);   /* it was made just now */

/* Appends one frame; on disk when it returns. ERR_LIMIT when there is no room. */
bool spill_append(struct spill *spill, const void *data, size_t len, struct err *err);

/* Frames from the beginning: *offset is 0 at first and moves on. False at the end. */
bool spill_read(struct spill *spill, size_t *offset, struct buf *ret, uint64_t *ret_seq);

/* Forgets all frames. */
bool spill_reset(struct spill *spill, struct err *err);

/* Numbers that outlive the frames: upper bounds of ids that were given, for a start without a
 * database. Written when a mark is raised. */
int64_t spill_mark(const struct spill *spill, size_t which);
bool spill_set_mark(struct spill *spill, size_t which, int64_t value, struct err *err);

#endif
