// SPDX-License-Identifier: MIT
#include "core/policy.h"

#include <string.h>

#include "core/request.h"
#include "core/words.h"
#include "md/facts.h"

static const char *const verdict_words[] = {
	[VERDICT_ALLOW] = "allow",
	[VERDICT_THROTTLE] = "throttle",
	[VERDICT_HOLD] = "hold",
	[VERDICT_DENY] = "deny",
};

static const char *const running_words[] = {
	[RUNNING_LEAVE] = "leave",
	[RUNNING_THROTTLE] = "throttle",
	[RUNNING_STOP] = "stop",
};

static const char *const too_slow_words[] = {
	[TOO_SLOW_RELAX] = "relax",
	[TOO_SLOW_HOLD] = "hold",
	[TOO_SLOW_ALLOW] = "allow",
};

static const char *const pbs_jobs_words[] = {
	[PBS_JOBS_AUTO] = "auto",
	[PBS_JOBS_LEAVE] = "leave",
	[PBS_JOBS_STOP] = "stop",
};

static const char *const field_words[] = {
	[FIELD_NAS] = "nas",
	[FIELD_ARRAY] = "array",
	[FIELD_ROLE] = "role",
	[FIELD_LEVEL] = "level",
	[FIELD_OPERATION] = "operation",
	[FIELD_SYNC_STATE] = "sync_state",
	[FIELD_HEALTH] = "health",
	[FIELD_SENSOR] = "sensor",
	[FIELD_REDUNDANCY_LEFT] = "redundancy_left",
	[FIELD_PROGRESS] = "progress",
	[FIELD_REMAINING] = "remaining",
	[FIELD_RATE] = "rate",
	[FIELD_RATE_OF_BASELINE] = "rate_of_baseline",
	[FIELD_STALLED_FOR] = "stalled_for",
	[FIELD_CLIENT_READ] = "client_read",
	[FIELD_CLIENT_WRITE] = "client_write",
	[FIELD_LOAD] = "load",
	[FIELD_STORAGE] = "storage",
	[FIELD_NODE] = "node",
	[FIELD_GUEST] = "guest",
	[FIELD_GUEST_TYPE] = "guest_type",
	[FIELD_MODE] = "mode",
	[FIELD_PHASE] = "phase",
	[FIELD_CLIENT] = "client",
	[FIELD_BACKUP_AGE] = "backup_age",
	[FIELD_TIME] = "time",
};

static const enum field_type field_types[FIELD_COUNT] = {
	[FIELD_NAS] = FIELD_TYPE_TEXT,
	[FIELD_ARRAY] = FIELD_TYPE_TEXT,
	[FIELD_ROLE] = FIELD_TYPE_WORD,
	[FIELD_LEVEL] = FIELD_TYPE_WORD,
	[FIELD_OPERATION] = FIELD_TYPE_WORD,
	[FIELD_SYNC_STATE] = FIELD_TYPE_WORD,
	[FIELD_HEALTH] = FIELD_TYPE_WORD,
	[FIELD_SENSOR] = FIELD_TYPE_WORD,
	[FIELD_REDUNDANCY_LEFT] = FIELD_TYPE_COUNT,
	[FIELD_PROGRESS] = FIELD_TYPE_PERCENT,
	[FIELD_REMAINING] = FIELD_TYPE_SPAN,
	[FIELD_RATE] = FIELD_TYPE_RATE,
	[FIELD_RATE_OF_BASELINE] = FIELD_TYPE_PERCENT,
	[FIELD_STALLED_FOR] = FIELD_TYPE_SPAN,
	[FIELD_CLIENT_READ] = FIELD_TYPE_RATE,
	[FIELD_CLIENT_WRITE] = FIELD_TYPE_RATE,
	[FIELD_LOAD] = FIELD_TYPE_LOAD,
	[FIELD_STORAGE] = FIELD_TYPE_TEXT,
	[FIELD_NODE] = FIELD_TYPE_TEXT,
	[FIELD_GUEST] = FIELD_TYPE_COUNT,
	[FIELD_GUEST_TYPE] = FIELD_TYPE_WORD,
	[FIELD_MODE] = FIELD_TYPE_WORD,
	[FIELD_PHASE] = FIELD_TYPE_WORD,
	[FIELD_CLIENT] = FIELD_TYPE_WORD,
	[FIELD_BACKUP_AGE] = FIELD_TYPE_SPAN,
	[FIELD_TIME] = FIELD_TYPE_TIME,
};

static const char *const cmp_words[] = {
	[CMP_NONE] = "",
	[CMP_EQ] = "",
	[CMP_NE] = "!=",
	[CMP_LT] = "<",
	[CMP_LE] = "<=",
	[CMP_GT] = ">",
	[CMP_GE] = ">=",
};

WORDS(verdict, enum verdict, verdict_words)
WORDS(running_act, enum running_act, running_words)
WORDS(too_slow, enum too_slow, too_slow_words)
WORDS(pbs_jobs, enum pbs_jobs, pbs_jobs_words)
WORDS(field, enum field, field_words)

enum field_type field_type(enum field field)
{
	return (size_t)field < FIELD_COUNT ? field_types[field] : FIELD_TYPE_NONE;
}

const char *cmp_word(enum cmp cmp)
{
	return words_at(cmp_words, sizeof(cmp_words) / sizeof(cmp_words[0]), (size_t)cmp);
}

/* One shape for the word functions of all enums. */
#define WORD_OF(name, type)                                                                        \
	static const char *name##_of(int64_t number)                                               \
	{                                                                                          \
		return name##_word((type)number);                                                  \
	}

WORD_OF(md_role, enum md_role)
WORD_OF(md_level, enum md_level)
WORD_OF(md_operation, enum md_operation)
WORD_OF(md_sync_state, enum md_sync_state)
WORD_OF(md_health, enum md_health)
WORD_OF(nas_sensor, enum nas_sensor)
WORD_OF(guest_type, enum guest_type)
WORD_OF(backup_mode, enum backup_mode)
WORD_OF(phase, enum phase)
WORD_OF(client, enum client)

static const char *(*const word_fns[FIELD_COUNT])(int64_t number) = {
	[FIELD_ROLE] = md_role_of,
	[FIELD_LEVEL] = md_level_of,
	[FIELD_OPERATION] = md_operation_of,
	[FIELD_SYNC_STATE] = md_sync_state_of,
	[FIELD_HEALTH] = md_health_of,
	[FIELD_SENSOR] = nas_sensor_of,
	[FIELD_GUEST_TYPE] = guest_type_of,
	[FIELD_MODE] = backup_mode_of,
	[FIELD_PHASE] = phase_of,
	[FIELD_CLIENT] = client_of,
};

const char *field_value_word(enum field field, int64_t number)
{
	if (field_type(field) != FIELD_TYPE_WORD || number < 0 || number > FIELD_SENSOR_BLIND)
		return NULL;
	if (field == FIELD_SENSOR && number == FIELD_SENSOR_BLIND)
		return "blind";
	return word_fns[field](number);
}

/* After a sensor's own words comes "blind". */
static int64_t number_at(enum field field, size_t at)
{
	if (field == FIELD_SENSOR && at == SENSOR_FAULT)
		return FIELD_SENSOR_BLIND;
	return at < FIELD_SENSOR_BLIND ? (int64_t)at + 1 : 0;
}

const char *field_word_at(enum field field, size_t at)
{
	return field_value_word(field, number_at(field, at));
}

int64_t field_value_parse(enum field field, const char *word)
{
	const char *known;
	size_t at;

	for (at = 0; (known = field_word_at(field, at)) != NULL; at++) {
		if (strcmp(known, word) == 0)
			return number_at(field, at);
	}
	return -1;
}

const struct rule *policy_rule(const struct policy *policy, const char *name)
{
	size_t i;

	if (!name[0])
		return NULL;
	for (i = 0; i < policy->n_rules; i++) {
		if (strcmp(policy->rules[i].name, name) == 0)
			return &policy->rules[i];
	}
	return strcmp(policy->sensor.name, name) == 0 ? &policy->sensor : NULL;
}
