// SPDX-License-Identifier: MIT
/*
 * What the readings of one NAS mean: the facts that a policy decides on.
 *
 * Plain data, copied freely: no pointers. Every number that may be unknown is a `struct opt`; an
 * enum is never its invalid 0 once the tracker (md/track.h) has filled the struct. An unknown is
 * never idle and never healthy. Percentages are parts per million, rates bytes per second, spans
 * and points ms (see base/moment.h).
 */
#ifndef RG_MD_FACTS_H
#define RG_MD_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/moment.h"

#define MD_NAME_MAX 32    /* with the NUL; DISK_NAME_LEN in include/linux/blkdev.h */
#define MD_MAX_ARRAYS 128 /* on one NAS */
#define NAS_NAME_MAX 64

enum md_role { MD_ROLE_NONE = 0, MD_ROLE_DATA, MD_ROLE_SYSTEM, MD_ROLE_CACHE };

enum md_level {
	MD_LEVEL_NONE = 0,
	MD_LEVEL_UNKNOWN, /* not printed (inactive), or a word that we do not know */
	MD_LEVEL_LINEAR,
	MD_LEVEL_RAID0,
	MD_LEVEL_RAID1,
	MD_LEVEL_RAID4,
	MD_LEVEL_RAID5,
	MD_LEVEL_RAID6,
	MD_LEVEL_RAID10,
	MD_LEVEL_RAIDF1, /* Synology */
	MD_LEVEL_MULTIPATH,
	MD_LEVEL_FAULTY,
	MD_LEVEL_CONTAINER, /* external metadata: IMSM, DDF */
};

/* What the array does. DELAYED, PENDING and REMOTE are used only where sysfs does not tell which
 * operation it is that waits; where it does, the operation is named and `sync_state` says that it
 * waits. */
enum md_operation {
	MD_OP_NONE = 0,
	MD_OP_UNKNOWN,
	MD_OP_IDLE,
	MD_OP_RECOVERY,
	MD_OP_RESYNC,
	MD_OP_RESHAPE,
	MD_OP_CHECK,
	MD_OP_REPAIR,
	MD_OP_FROZEN,
	MD_OP_DELAYED,
	MD_OP_PENDING,
	MD_OP_REMOTE,
};

enum md_sync_state {
	MD_SYNC_INVALID = 0,
	MD_SYNC_UNKNOWN,
	MD_SYNC_NONE,
	MD_SYNC_RUNNING,
	MD_SYNC_DELAYED,
	MD_SYNC_PENDING,
	MD_SYNC_REMOTE,
};

enum md_health {
	MD_HEALTH_NONE = 0,
	MD_HEALTH_UNKNOWN,
	MD_HEALTH_OPTIMAL,
	MD_HEALTH_DEGRADED,
	MD_HEALTH_FAILED,
	MD_HEALTH_ERROR, /* Synology's E */
	MD_HEALTH_INACTIVE,
	MD_HEALTH_CONTAINER,
	MD_HEALTH_NO_REDUNDANCY,
	MD_HEALTH_ABSENT, /* was there, is gone: a fault until it is forgotten */
};

/* Whether we can see the NAS, and if not, why not. Every value but OK is "blind". */
enum nas_sensor {
	SENSOR_NONE = 0,
	SENSOR_OK,
	SENSOR_NEVER,          /* not looked at yet */
	SENSOR_STALE,          /* the last look worked but is too old */
	SENSOR_REFUSED,        /* connection refused */
	SENSOR_UNREACHABLE,    /* no route, name not found, connect timed out */
	SENSOR_HOST_KEY,       /* unknown or changed host key */
	SENSOR_AUTH,           /* key refused, or our key file not usable */
	SENSOR_SILENT,         /* connected, then nothing came */
	SENSOR_DRIPPING,       /* bytes came, but not all in time */
	SENSOR_TOO_MUCH,       /* more than 256 KiB */
	SENSOR_EXIT_STATUS,    /* the command failed */
	SENSOR_NOT_UNDERSTOOD, /* no reading, or Unraid */
	SENSOR_DEADLINE, /* the look did not end within its deadline (local reads, our own child) */
	SENSOR_FAULT,    /* our probe crashed or could not be started */
};

struct array_facts {
	char name[MD_NAME_MAX]; /* as in /proc/mdstat: "md2" */
	enum md_role role;
	enum md_level level;
	enum md_operation operation;   /* debounced */
	enum md_sync_state sync_state; /* debounced */
	enum md_health health;         /* a loss counts at once */
	bool empty_slots; /* a vendor's system array with more slots than disks: normal */
	bool done;        /* nothing runs, waits or is frozen, and nothing is missing */
	struct opt raid_disks;
	struct opt missing; /* slots without an in-sync member; 0 where empty slots are normal */
	struct opt redundancy_left; /* disks that it may still lose */
	struct opt progress_ppm;    /* of the running operation */
	struct opt remaining_ms;    /* by our own rate */
	struct opt rate;            /* bytes/s for each disk, from the done counter and our clock */
	struct opt kernel_rate;     /* what md prints as speed=; for showing only */
	struct opt baseline;        /* bytes/s undisturbed at this position */
	struct opt rate_of_baseline_ppm;
	struct opt stalled_ms;     /* since the done counter moved last; 0 while it moves */
	struct opt client_read;    /* bytes/s */
	struct opt client_write;   /* bytes/s */
	struct opt sync_speed_min; /* bytes/s */
	struct opt sync_speed_max; /* bytes/s */
	struct opt
		operation_since_ms; /* boot time at which `operation` began, as far as we saw it */
	struct opt calm_since_ms;   /* boot time since which nothing runs, waits or is frozen */
};

struct nas_facts {
	char name[NAS_NAME_MAX];
	enum nas_sensor sensor;
	char sensor_text[256];     /* a sentence for any sensor but OK; else "" */
	struct opt read_at_ms;     /* boot time of the last good reading */
	struct opt blind_since_ms; /* boot time; known while sensor is not OK; see core/sight.h for
				      what interrupts it */
	struct opt load_x100;      /* 1 minute load average in hundredths */
	size_t n_arrays;           /* facts of the last good reading, also while blind */
	struct array_facts arrays[MD_MAX_ARRAYS];
};

/* The words used everywhere (policy, JSON, database, text); NULL for the invalid 0. `_parse`
 * returns 0 for others. */
const char *md_role_word(enum md_role role);
const char *md_level_word(enum md_level level);
const char *md_operation_word(enum md_operation operation);
const char *md_sync_state_word(enum md_sync_state state);
const char *md_health_word(enum md_health health);
const char *nas_sensor_word(enum nas_sensor sensor);
enum md_role md_role_parse(const char *word);
enum md_level md_level_parse(const char *word);
enum md_operation md_operation_parse(const char *word);
enum md_sync_state md_sync_state_parse(const char *word);
enum md_health md_health_parse(const char *word);
enum nas_sensor nas_sensor_parse(const char *word);

/* The array called `name`, or NULL. */
const struct array_facts *nas_facts_find(const struct nas_facts *facts, const char *name);

#endif
