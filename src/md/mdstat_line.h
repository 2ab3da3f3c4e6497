// SPDX-License-Identifier: MIT
/* What stands in one line of /proc/mdstat. For md/mdstat.c only. Each reader returns false if the
 * line is not the kernel's. */
#ifndef RG_MD_MDSTAT_LINE_H
#define RG_MD_MDSTAT_LINE_H

#include "md/mdstat.h"
#include "md/scan.h"

enum mdline_kind { MDLINE_OTHER = 0, MDLINE_BLOCKS, MDLINE_SYNC, MDLINE_BITMAP };

/* "mdNAME : active|inactive|broken...". */
bool mdline_is_array(struct scan line);

/* Which line after the first one of an array this is, by how it begins. */
enum mdline_kind mdline_kind(struct scan line);

/* The first line of an array. Appends its members to mdstat->members. array->name stays "" if it
 * has no name of ours. */
bool mdline_array(struct mdstat *mdstat, struct mdstat_array *array, struct scan line);

/* "N blocks super 1.2 level 5, ... [n/m] [MAP]". */
bool mdline_blocks(struct mdstat *mdstat, struct mdstat_array *array, struct scan line);

/* "[=>...]  recovery =  8.5% (1/2) finish=1.0min speed=1K/sec", "resync=DELAYED". A running
 * operation is told even if the rest of its line is missing. */
bool mdline_sync(struct mdstat_array *array, struct scan line);

bool mdline_bitmap(struct scan line);

#endif
