// SPDX-License-Identifier: MIT
/* What the state of an array in /proc/mdstat means: what is missing, what may still be lost. Pure;
 * no vendor's habits here. */
#ifndef RG_MD_HEALTH_H
#define RG_MD_HEALTH_H

#include "md/mdstat.h"

/* Slots without a member that is in sync; a Synology's E counts as missing. Where [n/m] and the map
 * disagree the worse counts, but m above n (a degraded count of -1) says nothing. Unknown without a
 * map or on a damaged array whose map shows no loss. */
struct opt health_missing(const struct mdstat_array *array);

/* How many disks the array may lose when it is whole: raid1 n - 1, raid4, raid5 and raidF1 1, raid6
 * 2, raid10 copies - 1 (at least), raid0, linear and faulty 0; unknown for others and for inactive
 * arrays. */
struct opt health_redundancy(const struct mdstat_array *array);

/* From the text alone. A loss that is seen counts also on a damaged array; "optimal" is never said
 * of one. */
enum md_health health_of(const struct mdstat *mdstat, const struct mdstat_array *array);

#endif
