// SPDX-License-Identifier: MIT
/*
 * A policy in memory: what was loaded from a libconfig file (src/conf), read by match and decide.
 *
 * Immutable once loaded, owned by whoever loaded it (conf_policy_free()); core only reads it. Every
 * field of every rule is filled in: where the file says nothing, the loader has put the policy's
 * `defaults` or the shipped default, so that core never asks "is it set?". Texts are owned by the
 * policy.
 */
#ifndef RG_CORE_POLICY_H
#define RG_CORE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/moment.h"

#define RULE_NAME_MAX 64
#define STORAGE_NAME_MAX 100 /* Proxmox: pve-storage-id; PBS datastore names are shorter */
#define NODE_NAME_MAX 64

/* Ordered by strictness: of several arrays' verdicts the greatest wins. */
enum verdict { VERDICT_NONE = 0, VERDICT_ALLOW, VERDICT_THROTTLE, VERDICT_HOLD, VERDICT_DENY };

/* What happens to jobs that already write when a rule begins to match. */
enum running_act { RUNNING_NONE = 0, RUNNING_LEAVE, RUNNING_THROTTLE, RUNNING_STOP };

/* What happens to a throttled job that would outlast its own period: `protect` is given up stepwise
 * down to protect_min, it is held after all, or it goes as fast as it can. */
enum too_slow { TOO_SLOW_NONE = 0, TOO_SLOW_RELAX, TOO_SLOW_HOLD, TOO_SLOW_ALLOW };

/* What happens to garbage collection and verification of a backup server while the rule matches.
 * AUTO, the shipped one: stop while no redundancy is left, else leave. */
enum pbs_jobs { PBS_JOBS_NONE = 0, PBS_JOBS_AUTO, PBS_JOBS_LEAVE, PBS_JOBS_STOP };

/* The fields that `when` may name. */
enum field {
	FIELD_NONE = 0,
	FIELD_NAS,
	FIELD_ARRAY,
	FIELD_ROLE,
	FIELD_LEVEL,
	FIELD_OPERATION,
	FIELD_SYNC_STATE,
	FIELD_HEALTH,
	FIELD_SENSOR, /* a sensor word, or "blind": any but ok */
	FIELD_REDUNDANCY_LEFT,
	FIELD_PROGRESS,         /* ppm */
	FIELD_REMAINING,        /* ms */
	FIELD_RATE,             /* bytes/s */
	FIELD_RATE_OF_BASELINE, /* ppm */
	FIELD_STALLED_FOR,      /* ms */
	FIELD_CLIENT_READ,      /* bytes/s */
	FIELD_CLIENT_WRITE,     /* bytes/s */
	FIELD_LOAD,             /* hundredths */
	FIELD_STORAGE,
	FIELD_NODE,
	FIELD_GUEST,      /* vmid */
	FIELD_GUEST_TYPE, /* qemu, lxc */
	FIELD_MODE,       /* snapshot, suspend, stop */
	FIELD_PHASE,      /* job-init, job-start, backup-start */
	FIELD_CLIENT,     /* vzdump, run, wait, check */
	FIELD_BACKUP_AGE, /* ms */
	FIELD_TIME,       /* local time windows */
	FIELD_COUNT
};

/* How the value of a field is written and compared. */
enum field_type {
	FIELD_TYPE_NONE = 0,
	FIELD_TYPE_WORD,    /* an enum's word, compared as number */
	FIELD_TYPE_TEXT,    /* exact; a final '*' matches any ending */
	FIELD_TYPE_COUNT,   /* whole number with comparator: "<= 1" */
	FIELD_TYPE_LOAD,    /* decimal with comparator, kept in hundredths */
	FIELD_TYPE_PERCENT, /* ppm, comparator */
	FIELD_TYPE_SPAN,    /* ms, comparator */
	FIELD_TYPE_RATE,    /* bytes/s, comparator */
	FIELD_TYPE_TIME,    /* a window */
};

enum cmp { CMP_NONE = 0, CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE };

/* A weekly window of local time. from == to means the whole day; from > to passes midnight (belongs
 * to the day it began). */
struct window {
	uint8_t days;         /* bit 0 Monday .. bit 6 Sunday; 0x7f every day */
	int32_t from_s, to_s; /* seconds since local midnight, 0 .. 86400; to is exclusive */
};

struct value {
	enum cmp cmp;
	int64_t number;       /* the enum, count, ppm, ms, bytes/s or hundredths */
	const char *text;     /* FIELD_TYPE_TEXT; else NULL */
	struct window window; /* FIELD_TYPE_TIME */
};

enum cond_kind { COND_NONE = 0, COND_ALL, COND_ANY, COND_NOT, COND_TEST };

/* A tree. ALL of nothing is true, ANY of nothing is false, NOT has one child. */
struct cond {
	enum cond_kind kind;
	struct cond *child;   /* first; NULL for TEST */
	struct cond *next;    /* sibling */
	enum field field;     /* TEST */
	struct value *values; /* TEST: any of them */
	size_t n_values;
	int line; /* in the file; 0 where none */
};

/* The settings that a rule may give and that `defaults` gives for those that do not. */
struct rule_settings {
	struct opt max_hold;    /* ms; unknown never happens for a rule that holds (shipped 8 h) */
	enum verdict on_expiry; /* allow, throttle or deny */
	enum verdict mid_job; /* what a hold becomes inside a running job: allow, throttle, deny */
	int64_t recheck_ms;   /* wait inside a running job, one budget for the whole job; shipped 5
				 min */
	int64_t settle_ms;    /* shipped 10 min */
	int64_t protect_ppm;  /* of the baseline; shipped 800000 */
	int64_t protect_min_ppm;    /* shipped 300000 */
	int64_t over_ms;            /* shipped 10 min */
	struct opt rate;            /* throttle to this many bytes/s instead of `protect` */
	enum verdict without_lever; /* what throttle becomes where nothing can be moved: allow,
				       hold, deny */
	enum running_act running;
	enum too_slow too_slow;  /* shipped relax */
	enum pbs_jobs pbs_jobs;  /* shipped auto */
	struct opt max_pause_ms; /* of a guest's block jobs; unknown: 15 s, with fleecing 2 min */
	bool hold_to_rpo;    /* max_hold = "rpo": until the first guest of the job reaches `rpo` */
	struct opt rpo_ms;   /* how old the last good backup of a guest may get */
	int64_t max_running; /* on one NAS while there is a backlog; shipped 1; at least 1 */
	int64_t release_interval_ms;    /* shipped 1 min */
	struct window *release_windows; /* any of them; none: always */
	size_t n_release_windows;
	bool observe;
	bool notify;
};

struct rule {
	char name[RULE_NAME_MAX];
	char note[256];    /* said with the verdict, may be "" */
	struct cond *when; /* never NULL: ALL of nothing where the file gives none */
	bool on_sensor;    /* `when` names the sensor: this rule is for a blind NAS */
	enum verdict verdict;
	struct rule_settings set;
	int line;
};

struct policy {
	char name[RULE_NAME_MAX];
	bool enabled;          /* false: step 1 */
	bool observe;          /* step 8 for everything */
	enum verdict unmapped; /* step 3; shipped allow */
	enum verdict fallback; /* `default`, step 6; shipped allow */
	struct rule sensor; /* used in step 4 where no rule of the file is for the sensor: hold 30
			       min, then allow */
	int64_t blind_limit_ms; /* shipped 24 h: a NAS blind for longer holds nothing */
	int64_t running_ttl_ms; /* shipped 24 h */
	int64_t start_grace_ms; /* shipped 10 min */
	struct rule_settings defaults;
	struct rule *rules;
	size_t n_rules;
};

const char *verdict_word(enum verdict verdict);
enum verdict verdict_parse(const char *word); /* 0 for another word */
const char *running_act_word(enum running_act act);
enum running_act running_act_parse(const char *word);
const char *too_slow_word(enum too_slow act);
enum too_slow too_slow_parse(const char *word);
const char *pbs_jobs_word(enum pbs_jobs act);
enum pbs_jobs pbs_jobs_parse(const char *word);
const char *field_word(enum field field);
enum field field_parse(const char *word);
enum field_type field_type(enum field field);
const char *cmp_word(enum cmp cmp); /* "" for EQ, "!=", "<", ... */

/* For a field of FIELD_TYPE_WORD: the number of the word, -1 if the field has no such word; and the
 * word of a number. For FIELD_SENSOR "blind" is FIELD_SENSOR_BLIND. field_word_at lists the words
 * for messages: at = 0, 1, ... until NULL. */
#define FIELD_SENSOR_BLIND 1000
int64_t field_value_parse(enum field field, const char *word);
const char *field_value_word(enum field field, int64_t number);
const char *field_word_at(enum field field, size_t at);

/* The rule called `name`, the built-in sensor rule included; NULL if there is none (any more). */
const struct rule *policy_rule(const struct policy *policy, const char *name);

#endif
