// SPDX-License-Identifier: MIT
#include "md/health.h"

#include <string.h>

struct opt health_missing(const struct mdstat_array *array)
{
	int64_t missing = (int64_t)array->slots_missing + array->slots_error;
	int64_t counted;

	if (!array->raid_disks.known || !array->working.known)
		return OPT_NONE;
	counted = array->raid_disks.v - array->working.v;
	if (counted > missing)
		missing = counted;
	if (array->damaged && !missing)
		return OPT_NONE;
	return OPT(missing);
}

struct opt health_redundancy(const struct mdstat_array *array)
{
	switch (array->level) {
	case MD_LEVEL_RAID1:
	case MD_LEVEL_MULTIPATH:
		return array->raid_disks.known ? OPT(array->raid_disks.v - 1) : OPT_NONE;
	case MD_LEVEL_RAID4:
	case MD_LEVEL_RAID5:
	case MD_LEVEL_RAIDF1:
		return OPT(1);
	case MD_LEVEL_RAID6:
		return OPT(2);
	case MD_LEVEL_RAID10:
		return OPT((int64_t)array->near_copies * array->far_copies - 1);
	case MD_LEVEL_RAID0:
	case MD_LEVEL_LINEAR:
	case MD_LEVEL_FAULTY:
		return OPT(0);
	case MD_LEVEL_NONE:
	case MD_LEVEL_UNKNOWN:
	case MD_LEVEL_CONTAINER:
		break;
	}
	return OPT_NONE;
}

/* Whether each set of copies has a member left: as _enough() in drivers/md/raid10.c goes round the
 * slots. */
static bool raid10_enough(const struct mdstat *mdstat, const struct mdstat_array *array)
{
	const char *map = mdstat->text + array->slots.at;
	uint64_t disks = array->slots.len, first = 0;
	uint64_t copies = (uint64_t)array->near_copies * array->far_copies;

	if (!disks)
		return true;
	if (copies > disks)
		copies = disks;
	do {
		uint64_t i, up = 0;

		for (i = 0; i < copies; i++)
			up += map[(first + i) % disks] == 'U';
		if (!up)
			return false;
		first = (first + array->near_copies) % disks;
	} while (first);
	return true;
}

static bool enough(const struct mdstat *mdstat, const struct mdstat_array *array, int64_t missing)
{
	struct opt redundancy = health_redundancy(array);

	if (array->level == MD_LEVEL_RAID10)
		return raid10_enough(mdstat, array);
	/* The new slots of a growing array are not filled yet; the old ones serve. */
	if (array->operation == MD_OP_RESHAPE && missing < array->raid_disks.v)
		return true;
	return !redundancy.known || missing <= redundancy.v;
}

static bool is_container(const struct mdstat *mdstat, const struct mdstat_array *array)
{
	static const char external[] = "external:";
	size_t len = sizeof(external) - 1;
	const char *p = mdstat->text + array->metadata.at;

	/* "/md127/0" and "-md127/0" are volumes in a container. */
	return array->metadata.len > len && memcmp(p, external, len) == 0 && p[len] != '/' &&
		p[len] != '-';
}

static bool is_plain(enum md_level level)
{
	return level == MD_LEVEL_RAID0 || level == MD_LEVEL_LINEAR || level == MD_LEVEL_FAULTY;
}

enum md_health health_of(const struct mdstat *mdstat, const struct mdstat_array *array)
{
	struct opt missing = health_missing(array);

	if (array->state == MDSTAT_BROKEN)
		return MD_HEALTH_FAILED;
	if (array->n_error || array->slots_error)
		return MD_HEALTH_ERROR;
	if (array->state == MDSTAT_INACTIVE)
		return is_container(mdstat, array) ? MD_HEALTH_CONTAINER : MD_HEALTH_INACTIVE;
	if (is_plain(array->level)) {
		if (array->n_failed || missing.v > 0)
			return MD_HEALTH_FAILED;
		return array->damaged ? MD_HEALTH_UNKNOWN : MD_HEALTH_NO_REDUNDANCY;
	}
	if (missing.v > 0)
		return enough(mdstat, array, missing.v) ? MD_HEALTH_DEGRADED : MD_HEALTH_FAILED;
	if (array->damaged || !missing.known || array->level == MD_LEVEL_UNKNOWN)
		return MD_HEALTH_UNKNOWN;
	return MD_HEALTH_OPTIMAL;
}
