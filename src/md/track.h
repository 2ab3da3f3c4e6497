// SPDX-License-Identifier: MIT
/*
 * From the readings of one NAS to its facts. Pure: the caller gives the struct, the text and the
 * time.
 *
 * What always holds:
 * - A first reading counts at once; after it a change of operation counts when two readings in a
 * row say it (kernels print one-sample blips), a loss of redundancy at once, and so does "we no
 * longer know".
 * - An array that was there and is gone is a fault (MD_HEALTH_ABSENT) until track_forget().
 * - A reading that is empty, cut or not understood changes no array's facts: the sensor says what
 * is wrong.
 * - Times are boot time of this machine. A reading older than the one before is dropped.
 */
#ifndef RG_MD_TRACK_H
#define RG_MD_TRACK_H

#include "md/baseline.h"
#include "md/comeback.h"
#include "md/facts.h"
#include "md/mdstat.h"
#include "md/rate.h"
#include "md/vendor.h"

#define TRACK_MAX_RULES 32
#define TRACK_STALE_MS (5 * MS_MINUTE) /* default for track.stale_ms */

/* One array as we know it. For track.c only, but for reading in tests. */
struct track_array {
	char name[MD_NAME_MAX];
	bool seen;    /* since track_init(): else from memory only */
	bool present; /* in the last good reading */
	enum md_level level;
	int64_t raid_disks;   /* 0 while not known */
	int64_t working_best; /* of a system array with empty slots: most members seen */
	/* What two readings agreed on, and what the last one said otherwise. */
	enum md_operation operation, next_operation;
	enum md_sync_state sync_state, next_sync_state;
	int64_t next_since_ms;
	struct opt operation_since_ms;
	struct opt calm_since_ms;
	struct progress progress;
	struct client_load load;
	struct comeback comeback;
	struct baseline baseline;
	struct array_facts facts; /* as last filled */
};

struct track {
	char name[NAS_NAME_MAX];
	enum md_vendor vendor; /* as configured */
	size_t n_rules;
	struct md_role_rule rules[TRACK_MAX_RULES];
	int64_t stale_ms; /* a good reading older than this is SENSOR_STALE; may be set after
			     track_init() */
	enum nas_sensor sensor;
	char sensor_text[256];
	struct opt read_at_ms;
	struct opt blind_since_ms;
	struct opt load_x100;
	size_t n_arrays;
	struct track_array arrays[MD_MAX_ARRAYS];
};

/* What must outlive a restart of the daemon: plain data. */
struct track_memory_array {
	char name[MD_NAME_MAX];
	enum md_role role;
	enum md_level level;
	int64_t raid_disks;
	int64_t working_best;
	struct baseline baseline;
	/* What it did and how it was when it was seen last: stands until the first reading. */
	enum md_operation operation; /* 0: not known */
	enum md_health health;       /* 0: not known */
	struct opt redundancy_left;
};

struct track_memory {
	size_t n_arrays;
	struct track_memory_array arrays[MD_MAX_ARRAYS];
};

/* Nothing known, sensor SENSOR_NEVER. `rules` (at most TRACK_MAX_RULES are kept) are copied. */
void track_init(struct track *track, const char *name, enum md_vendor vendor,
	const struct md_role_rule *rules, size_t n_rules);

/* Takes what one look returned (see md/look.h; `cat /proc/mdstat` alone will do) at `now_ms`.
 * `room` is where the text is parsed: one for all tracks will do. Fills `ret` (may be NULL). True
 * if it was a reading. */
bool track_reading(struct track *track, struct mdstat *room, const char *text, size_t len,
	int64_t now_ms, struct nas_facts *ret);

/* A look failed: why (any sensor but OK) and a sentence for people. */
void track_blind(struct track *track, enum nas_sensor sensor, const char *sentence, int64_t now_ms);

/* The facts at `now_ms`: SENSOR_STALE once the last good reading is older than stale_ms. While
 * blind the arrays are those of the last good reading. */
void track_facts(const struct track *track, int64_t now_ms, struct nas_facts *ret);

/* An absent array is forgotten; of one that is there, what was learned (baseline, how many members
 * a system array had). False if no array of that name is known. */
bool track_forget(struct track *track, const char *array);

/* What to keep; and what was kept, before the first reading (arrays already known stay as they
 * are). An array of the memory that the first reading does not show is absent. */
void track_memory_get(const struct track *track, struct track_memory *ret);
void track_memory_set(struct track *track, const struct track_memory *memory);

#endif
