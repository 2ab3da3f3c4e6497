// SPDX-License-Identifier: MIT
/*
 * /proc/mdstat, by the grammar of md_seq_show() in drivers/md/md.c and of the personalities'
 * status(), from Linux 2.4 to now, and with what Synology adds. Pure: the caller gives the struct,
 * names are slices of the caller's text.
 *
 * What always holds: nothing is guessed. A line that is not the kernel's makes the array that it
 * stands in `damaged`: of such an array only what its other lines say plainly is told, never that
 * it is healthy or idle. A text that is empty, cut in a line, over a limit or no mdstat at all is
 * no reading: `format` says so and there are no arrays. Indentation, a prompt before the first line
 * and a missing first or last line change no meaning.
 */
#ifndef RG_MD_MDSTAT_H
#define RG_MD_MDSTAT_H

#include "md/facts.h"

#define MDSTAT_MAX_TEXT ((size_t)256 << 10)
#define MDSTAT_MAX_SLOTS 1920 /* roles that a 1.x superblock has room for: (4096 - 256) / 2 */
#define MDSTAT_MAX_MEMBERS (MDSTAT_MAX_TEXT / 5 + 1) /* " a[0]" each: what the text can hold */

enum mdstat_format {
	MDSTAT_INVALID = 0,
	MDSTAT_NONE,        /* nothing but blanks: no reading */
	MDSTAT_UNPARSEABLE, /* something, but not a whole mdstat */
	MDSTAT_UNRAID,      /* Unraid's own driver: recognised, not supported */
	MDSTAT_GOOD,
};

enum mdstat_state { MDSTAT_STATE_NONE = 0, MDSTAT_ACTIVE, MDSTAT_INACTIVE, MDSTAT_BROKEN };
enum mdstat_read_only { MDSTAT_RO_NONE = 0, MDSTAT_RO_NO, MDSTAT_RO_AUTO, MDSTAT_RO_YES };

enum mdstat_flag {
	MDSTAT_WRITE_MOSTLY = 1 << 0, /* (W) */
	MDSTAT_JOURNAL = 1 << 1,      /* (J) */
	MDSTAT_FAULTY = 1 << 2,       /* (F) */
	MDSTAT_DISK_ERROR = 1 << 3,   /* (E), Synology */
	MDSTAT_SPARE = 1 << 4,        /* (S); in an inactive array any member */
	MDSTAT_REPLACEMENT = 1 << 5,  /* (R) */
};

/* A part of the text; len 0 where nothing was printed. */
struct mdstat_slice {
	uint32_t at;
	uint32_t len;
};

struct mdstat_member {
	struct mdstat_slice name;
	uint32_t number; /* desc_nr: not the slot */
	uint32_t flags;  /* enum mdstat_flag */
};

struct mdstat_array {
	char name[MD_NAME_MAX];
	enum mdstat_state state;
	enum mdstat_read_only read_only;
	enum md_level level;
	struct mdstat_slice level_text; /* the word as printed */
	struct mdstat_slice metadata;   /* "1.2", "external:imsm", "non-persistent"; none is 0.90 */
	struct opt size_kib;
	struct opt raid_disks;     /* n of [n/m]: of the new geometry in a reshape */
	struct opt working;        /* m of [n/m]: may be more than n */
	struct mdstat_slice slots; /* "UU_U" */
	uint32_t slots_missing;    /* letters _ */
	uint32_t slots_error;      /* letters E */
	uint32_t near_copies;      /* raid10; 1 if not printed */
	uint32_t far_copies;
	enum md_operation operation; /* of the text: idle, recovery, resync, reshape, check; UNKNOWN
					while delayed */
	enum md_sync_state sync_state;
	struct opt percent_x10;
	struct opt done_kib;
	struct opt total_kib;
	struct opt speed_kib_s; /* the kernel's mean over 30 s; nonsense at times */
	struct opt finish_x10;  /* tenths of a minute, capped at INT64_MAX */
	size_t first_member;    /* in mdstat.members */
	size_t n_members;
	size_t n_failed; /* members with each flag */
	size_t n_error;
	size_t n_spare;
	bool has_blocks; /* the line with its size came */
	bool damaged;    /* some line of it was not understood */
};

struct mdstat {
	enum mdstat_format format;
	bool whole;     /* "unused devices:" came: the kernel's last line */
	char why[160];  /* a sentence unless GOOD */
	bool raidf1;    /* Synology's personality is loaded */
	size_t n_stray; /* lines after the first that belong to no array: one may be an array's,
			   garbled */
	const char *text;
	size_t n_arrays;
	size_t n_members;
	struct mdstat_array arrays[MD_MAX_ARRAYS];
	struct mdstat_member members[MDSTAT_MAX_MEMBERS];
};

/* Reads `len` bytes (any bytes, no NUL needed). True if it is a reading (format GOOD). `text` must
 * outlive `ret`. */
bool mdstat_parse(const char *text, size_t len, struct mdstat *ret);

const struct mdstat_array *mdstat_find(const struct mdstat *mdstat, const char *name);

/* Whether the slice says `word`. */
bool mdstat_says(const struct mdstat *mdstat, struct mdstat_slice slice, const char *word);

#endif
