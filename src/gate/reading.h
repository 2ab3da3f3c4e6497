// SPDX-License-Identifier: MIT
/* What the looks at one NAS told so far: the tracker, its facts, and what of them outlives a
 * restart. */
#ifndef RG_GATE_READING_H
#define RG_GATE_READING_H

#include "base/buf.h"
#include "base/err.h"
#include "conf/settings.h"
#include "md/track.h"

struct store;

struct reading {
	struct track track;
	struct nas_facts facts; /* as of the last call below */
	char remembered[65];    /* SHA-256 of the memory that the record has */
	int64_t remembered_ms;  /* boot time */
	uint64_t signature;     /* of what was remembered: operations and health */
	struct opt outage_ms;   /* boot time since which the NAS has been blind, by the caller */
	bool outage_kept;       /* the record has it */
};

/* An outage that went on while no daemon looked for longer than this is another one. */
#define OUTAGE_GAP_MS MS_HOUR

/* Begins, with the record's memory of this NAS. `reading` is all zero. */
void reading_open(
	struct reading *reading, struct store *store, const struct nas_settings *settings);

/* A look returned this text; or failed. */
void reading_take(struct reading *reading, const char *text, size_t len, const struct moment *now);
void reading_failed(struct reading *reading, enum nas_sensor sensor, const char *text,
	const struct moment *now);

/* Brings `facts` up to `now`: a reading gets old. blind_since_ms is the caller's to set. */
void reading_at(struct reading *reading, const struct moment *now);

/* ERR_NOTFOUND. */
bool reading_forget(
	struct reading *reading, const char *array, const struct moment *now, struct err *err);

/* Whether it must be looked at often: an array does anything but rest, or one reading of two said
 * so. */
bool reading_busy(const struct reading *reading);

/* Whether the last reading said something new of an array, which counts only once a second one says
 * it too: a look soon tells. */
bool reading_unsure(const struct reading *reading);

/* Puts the memory into the batch under way, where it has changed: at most every 5 min, or at once
 * with `all`. */
void reading_remember(
	struct reading *reading, struct store *store, const struct moment *now, bool all);

/* The memory as text and back; for reading.c and its test. False without memory; for text that is
 * not one. */
bool memory_write(const struct track_memory *memory, struct buf *ret);
bool memory_read(const char *text, size_t len, struct track_memory *ret, struct err *err);

/* An outage as text: when it began, and when the NAS was blind last. Reading gives its beginning in
 * this boot's time (it may lie before the boot); unknown if it is over or is no such text. */
bool outage_write(int64_t since_utc_ms, int64_t last_utc_ms, struct buf *ret);
struct opt outage_read(const char *text, size_t len, const struct moment *now);

#endif
