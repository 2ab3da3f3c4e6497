// SPDX-License-Identifier: MIT
#include "md/vendor.h"

#include <string.h>

#include "md/health.h"

static const char *const vendor_words[] = {
	[MD_VENDOR_AUTO] = "auto",
	[MD_VENDOR_GENERIC] = "generic",
	[MD_VENDOR_SYNOLOGY] = "synology",
	[MD_VENDOR_QNAP] = "qnap",
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

const char *md_vendor_word(enum md_vendor vendor)
{
	return (size_t)vendor < COUNT(vendor_words) ? vendor_words[vendor] : NULL;
}

enum md_vendor md_vendor_parse(const char *word)
{
	size_t i;

	for (i = 1; i < COUNT(vendor_words); i++) {
		if (strcmp(vendor_words[i], word) == 0)
			return (enum md_vendor)i;
	}
	return MD_VENDOR_NONE;
}

static bool name_is(const struct mdstat_array *array, const char *name)
{
	return strcmp(array->name, name) == 0;
}

static bool is_raid1(const struct mdstat_array *array)
{
	return array && array->level == MD_LEVEL_RAID1;
}

static bool size_is(const struct mdstat_array *array, int64_t kib)
{
	return array->size_kib.known && array->size_kib.v == kib;
}

/* "sata1p5": how DSM 7 names disks. */
static bool is_dsm7_disk(const struct mdstat *mdstat, struct mdstat_slice name)
{
	return name.len > 4 && memcmp(mdstat->text + name.at, "sata", 4) == 0 &&
		mdstat->text[name.at + 4] >= '0' && mdstat->text[name.at + 4] <= '9';
}

static bool looks_synology(const struct mdstat *mdstat)
{
	const struct mdstat_array *md0 = mdstat_find(mdstat, "md0"),
				  *md1 = mdstat_find(mdstat, "md1");
	size_t i;

	if (mdstat->raidf1)
		return true;
	for (i = 0; i < mdstat->n_members; i++) {
		if (is_dsm7_disk(mdstat, mdstat->members[i].name) ||
			(mdstat->members[i].flags & MDSTAT_DISK_ERROR))
			return true;
	}
	/* The partitions that DSM makes: 2.4 or 8 GB for the system, 2 GB for swap, metadata 0.90.
	 */
	return is_raid1(md0) && is_raid1(md1) && !md0->metadata.len && !md1->metadata.len &&
		size_is(md1, 2097088) && (size_is(md0, 2490176) || size_is(md0, 8388544));
}

/* The sizes of the system partitions that QTS makes, seen on units of 2011 to 2024. */
static bool has_qnap_size(const struct mdstat_array *array)
{
	static const int64_t sizes[] = {530048, 530112, 458880, 7235136, 8283712};
	size_t i;

	for (i = 0; i < COUNT(sizes); i++) {
		if (size_is(array, sizes[i]))
			return true;
	}
	return false;
}

static bool looks_qnap(const struct mdstat *mdstat)
{
	size_t i, n = 0;

	if (is_raid1(mdstat_find(mdstat, "md9")) && is_raid1(mdstat_find(mdstat, "md13")))
		return true;
	for (i = 0; i < mdstat->n_arrays; i++)
		n += is_raid1(&mdstat->arrays[i]) && has_qnap_size(&mdstat->arrays[i]);
	return n >= 2;
}

enum md_vendor vendor_resolve(enum md_vendor vendor, const struct mdstat *mdstat)
{
	if (vendor != MD_VENDOR_AUTO && vendor != MD_VENDOR_NONE)
		return vendor;
	if (looks_synology(mdstat))
		return MD_VENDOR_SYNOLOGY;
	return looks_qnap(mdstat) ? MD_VENDOR_QNAP : MD_VENDOR_GENERIC;
}

static bool is_system(enum md_vendor vendor, const struct mdstat_array *array)
{
	static const char *const qnap[] = {"md9", "md13", "md256", "md321", "md322"};
	size_t i;

	if (!is_raid1(array))
		return false;
	if (vendor == MD_VENDOR_SYNOLOGY)
		return name_is(array, "md0") || name_is(array, "md1");
	if (vendor != MD_VENDOR_QNAP)
		return false;
	for (i = 0; i < COUNT(qnap); i++) {
		if (name_is(array, qnap[i]))
			return true;
	}
	return has_qnap_size(array);
}

/* DSM builds its SSD cache from the first partition of NVMe drives; volumes there begin at the
 * third. */
static bool is_synology_cache(const struct mdstat *mdstat, const struct mdstat_array *array)
{
	size_t i;

	for (i = 0; i < array->n_members; i++) {
		struct mdstat_slice name = mdstat->members[array->first_member + i].name;
		const char *p = mdstat->text + name.at;

		if (name.len < 9 || memcmp(p, "nvme", 4) != 0 ||
			memcmp(p + name.len - 2, "p1", 2) != 0)
			return false;
	}
	return array->n_members > 0;
}

enum md_role vendor_role(enum md_vendor vendor, const struct mdstat *mdstat,
	const struct mdstat_array *array, const struct md_role_rule *rules, size_t n_rules)
{
	size_t i;

	for (i = 0; i < n_rules; i++) {
		if (name_is(array, rules[i].array))
			return rules[i].role;
	}
	if (is_system(vendor, array))
		return MD_ROLE_SYSTEM;
	if (vendor == MD_VENDOR_SYNOLOGY && is_synology_cache(mdstat, array))
		return MD_ROLE_CACHE;
	return MD_ROLE_DATA;
}

/* Members without any of `flags`. */
static int64_t members_but(
	const struct mdstat *mdstat, const struct mdstat_array *array, uint32_t flags)
{
	int64_t n = 0;
	size_t i;

	for (i = 0; i < array->n_members; i++)
		n += !(mdstat->members[array->first_member + i].flags & flags);
	return n;
}

bool vendor_empty_slots(
	enum md_vendor vendor, const struct mdstat *mdstat, const struct mdstat_array *array)
{
	if (!is_system(vendor, array) || !array->raid_disks.known || !array->working.known)
		return false;
	return (array->slots_missing || array->working.v < array->raid_disks.v) &&
		members_but(mdstat, array, MDSTAT_SPARE | MDSTAT_REPLACEMENT) < array->raid_disks.v;
}

/* The array that has the same disks on a sound box. */
static const struct mdstat_array *sister(
	const struct mdstat *mdstat, const struct mdstat_array *array)
{
	static const char *const pairs[][2] = {{"md0", "md1"}, {"md9", "md13"}};
	size_t i;

	for (i = 0; i < COUNT(pairs); i++) {
		if (name_is(array, pairs[i][0]))
			return mdstat_find(mdstat, pairs[i][1]);
		if (name_is(array, pairs[i][1]))
			return mdstat_find(mdstat, pairs[i][0]);
	}
	return NULL;
}

enum md_health vendor_health(
	enum md_vendor vendor, const struct mdstat *mdstat, const struct mdstat_array *array)
{
	enum md_health health = health_of(mdstat, array);
	const struct mdstat_array *other;

	if (health != MD_HEALTH_DEGRADED || !vendor_empty_slots(vendor, mdstat, array))
		return health;
	/* A member that has a slot and is not in sync is rebuilt, or waits for it. */
	if (array->n_failed || array->operation == MD_OP_RECOVERY ||
		members_but(mdstat, array, MDSTAT_SPARE | MDSTAT_REPLACEMENT) > array->working.v)
		return MD_HEALTH_DEGRADED;
	other = sister(mdstat, array);
	if (is_raid1(other) && other->working.known && other->working.v > array->working.v)
		return MD_HEALTH_DEGRADED;
	return array->damaged ? MD_HEALTH_UNKNOWN : MD_HEALTH_OPTIMAL;
}
