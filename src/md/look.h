// SPDX-License-Identifier: MIT
/*
 * One look at a NAS: the fixed command that is run there, and the parts of what it printed. Pure.
 *
 * The command prints /proc/mdstat first, then lines that begin with "#rg " (no line of the kernel's
 * files does), each opening a section:
 *
 *     #rg diskstats       /proc/diskstats
 *     #rg loadavg         /proc/loadavg
 *     #rg md md2          NAME=VALUE for the files of /sys/block/md2/md that could be read
 *     #rg end             nothing after it
 *
 * A section counts only when the next marker has come: one that was cut, by a deadline or a lost
 * link, is as if it were absent. A NAS that allows only `cat /proc/mdstat` (a forced command)
 * prints no marker: then the whole text is mdstat, and whether it is whole is for its parser to
 * say.
 */
#ifndef RG_MD_LOOK_H
#define RG_MD_LOOK_H

#include "md/facts.h"

#define LOOK_MAX_TEXT ((size_t)256 << 10) /* of the whole look */

/* What /sys/block/NAME/md told; unknown where a file was absent or said something else. */
struct look_md {
	char name[MD_NAME_MAX];
	enum md_operation action; /* sync_action; MD_OP_NONE if it was not told */
	struct opt degraded;      /* may be negative (raid5 in a reshape) */
	struct opt speed_min;     /* bytes/s, for each disk */
	struct opt speed_max;
};

struct look {
	const char *mdstat; /* into the caller's text */
	size_t mdstat_len;
	bool mdstat_whole;     /* a marker followed */
	bool whole;            /* "#rg end" came */
	const char *diskstats; /* NULL if absent */
	size_t diskstats_len;
	struct opt load_x100; /* 1 minute load average in hundredths */
	size_t n_md;
	struct look_md md[MD_MAX_ARRAYS];
};

/* What one device did since it came up: field 3 and field 7 of
 * Documentation/admin-guide/iostats.rst. */
struct look_io {
	uint64_t read_sectors; /* of 512 bytes */
	uint64_t write_sectors;
};

/* The command: one line for any login shell, which starts a POSIX sh (dash, bash and busybox ash
 * were tried). Needs no right but to read. Exits 1 if /proc/mdstat cannot be read. */
const char *look_command(void);

/* The same look for the command="..." of an authorized_keys line: no double quote and no backslash
 * in it, because Dropbear takes no escape there; the account's own shell, a POSIX sh, runs it. */
const char *look_forced_command(void);

/* True once `text` holds all of /proc/mdstat followed by a marker: a look that hangs later may be
 * used as it is. */
bool look_has_mdstat(const char *text, size_t len);

/* Splits what the command (or `cat /proc/mdstat` alone) printed. Never fails: what is not there is
 * not there. */
void look_split(const char *text, size_t len, struct look *ret);

/* What the look says about the array `name`, or NULL. */
const struct look_md *look_md_find(const struct look *look, const char *name);

/* The counters of the block device `name`; false if the look did not tell them. */
bool look_io_find(const struct look *look, const char *name, struct look_io *ret);

#endif
