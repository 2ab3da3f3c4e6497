// SPDX-License-Identifier: MIT
/*
 * What a NAS's maker does with md: which arrays carry data, and where empty slots are normal. Pure.
 *
 * Synology's md0 (system) and md1 (swap) and QNAP's md9, md13 and the like are RAID 1 over all bays
 * of the model, also the empty ones: "[8/5] [UUUUU___]" is a healthy box with five disks. A lost
 * disk looks nearly the same; what tells them apart is a failed member, one that is rebuilt or
 * waits for it, or fewer members than in the sister array (md0 against md1, md9 against md13).
 */
#ifndef RG_MD_VENDOR_H
#define RG_MD_VENDOR_H

#include "md/mdstat.h"

enum md_vendor {
	MD_VENDOR_NONE = 0,
	MD_VENDOR_AUTO, /* by the text */
	MD_VENDOR_GENERIC,
	MD_VENDOR_SYNOLOGY,
	MD_VENDOR_QNAP,
};

/* What the configuration says of one array; overrules what the vendor would. */
struct md_role_rule {
	char array[MD_NAME_MAX];
	enum md_role role;
};

const char *md_vendor_word(enum md_vendor vendor);
enum md_vendor md_vendor_parse(const char *word);

/* `vendor`, or what the text shows if it is AUTO; never AUTO. */
enum md_vendor vendor_resolve(enum md_vendor vendor, const struct mdstat *mdstat);

/* `vendor` resolved. The first rule that names the array decides. */
enum md_role vendor_role(enum md_vendor vendor, const struct mdstat *mdstat,
	const struct mdstat_array *array, const struct md_role_rule *rules, size_t n_rules);

/* Whether the array has slots without a disk that mean nothing by themselves: a vendor's system
 * array with more slots than members. */
bool vendor_empty_slots(
	enum md_vendor vendor, const struct mdstat *mdstat, const struct mdstat_array *array);

/* As health_of(), but empty slots as above are no loss unless something says so. */
enum md_health vendor_health(
	enum md_vendor vendor, const struct mdstat *mdstat, const struct mdstat_array *array);

#endif
