// SPDX-License-Identifier: MIT
#include "md/facts.h"

#include <string.h>

static const char *const role_words[] = {
	[MD_ROLE_DATA] = "data",
	[MD_ROLE_SYSTEM] = "system",
	[MD_ROLE_CACHE] = "cache",
};

static const char *const level_words[] = {
	[MD_LEVEL_UNKNOWN] = "unknown",
	[MD_LEVEL_LINEAR] = "linear",
	[MD_LEVEL_RAID0] = "raid0",
	[MD_LEVEL_RAID1] = "raid1",
	[MD_LEVEL_RAID4] = "raid4",
	[MD_LEVEL_RAID5] = "raid5",
	[MD_LEVEL_RAID6] = "raid6",
	[MD_LEVEL_RAID10] = "raid10",
	[MD_LEVEL_RAIDF1] = "raidF1",
	[MD_LEVEL_MULTIPATH] = "multipath",
	[MD_LEVEL_FAULTY] = "faulty",
	[MD_LEVEL_CONTAINER] = "container",
};

static const char *const operation_words[] = {
	[MD_OP_UNKNOWN] = "unknown",
	[MD_OP_IDLE] = "idle",
	[MD_OP_RECOVERY] = "recovery",
	[MD_OP_RESYNC] = "resync",
	[MD_OP_RESHAPE] = "reshape",
	[MD_OP_CHECK] = "check",
	[MD_OP_REPAIR] = "repair",
	[MD_OP_FROZEN] = "frozen",
	[MD_OP_DELAYED] = "delayed",
	[MD_OP_PENDING] = "pending",
	[MD_OP_REMOTE] = "remote",
};

static const char *const sync_state_words[] = {
	[MD_SYNC_UNKNOWN] = "unknown",
	[MD_SYNC_NONE] = "none",
	[MD_SYNC_RUNNING] = "running",
	[MD_SYNC_DELAYED] = "delayed",
	[MD_SYNC_PENDING] = "pending",
	[MD_SYNC_REMOTE] = "remote",
};

static const char *const health_words[] = {
	[MD_HEALTH_UNKNOWN] = "unknown",
	[MD_HEALTH_OPTIMAL] = "optimal",
	[MD_HEALTH_DEGRADED] = "degraded",
	[MD_HEALTH_FAILED] = "failed",
	[MD_HEALTH_ERROR] = "error",
	[MD_HEALTH_INACTIVE] = "inactive",
	[MD_HEALTH_CONTAINER] = "container",
	[MD_HEALTH_NO_REDUNDANCY] = "no-redundancy",
	[MD_HEALTH_ABSENT] = "absent",
};

static const char *const sensor_words[] = {
	[SENSOR_OK] = "ok",
	[SENSOR_NEVER] = "never",
	[SENSOR_STALE] = "stale",
	[SENSOR_REFUSED] = "refused",
	[SENSOR_UNREACHABLE] = "unreachable",
	[SENSOR_HOST_KEY] = "host-key",
	[SENSOR_AUTH] = "auth",
	[SENSOR_SILENT] = "silent",
	[SENSOR_DRIPPING] = "dripping",
	[SENSOR_TOO_MUCH] = "too-much-output",
	[SENSOR_EXIT_STATUS] = "exit-status",
	[SENSOR_NOT_UNDERSTOOD] = "not-understood",
	[SENSOR_DEADLINE] = "deadline",
	[SENSOR_FAULT] = "fault",
};

static int word_find(const char *const *words, size_t n, const char *word)
{
	size_t i;

	for (i = 1; i < n; i++) {
		if (strcmp(words[i], word) == 0)
			return (int)i;
	}
	return 0;
}

static const char *word_at(const char *const *words, size_t n, size_t at)
{
	return at < n ? words[at] : NULL;
}

#define WORDS(function, type, table)                                                               \
	const char *function##_word(type value)                                                    \
	{                                                                                          \
		return word_at(table, sizeof(table) / sizeof((table)[0]), (size_t)value);          \
	}                                                                                          \
	type function##_parse(const char *word)                                                    \
	{                                                                                          \
		return (type)word_find(table, sizeof(table) / sizeof((table)[0]), word);           \
	}

WORDS(md_role, enum md_role, role_words)
WORDS(md_level, enum md_level, level_words)
WORDS(md_operation, enum md_operation, operation_words)
WORDS(md_sync_state, enum md_sync_state, sync_state_words)
WORDS(md_health, enum md_health, health_words)
WORDS(nas_sensor, enum nas_sensor, sensor_words)

const struct array_facts *nas_facts_find(const struct nas_facts *facts, const char *name)
{
	size_t i;

	for (i = 0; i < facts->n_arrays; i++) {
		if (strcmp(facts->arrays[i].name, name) == 0)
			return &facts->arrays[i];
	}
	return NULL;
}
