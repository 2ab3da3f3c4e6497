// SPDX-License-Identifier: MIT
#include "md/mdstat_line.h"

#include <string.h>

#include "base/units.h"

#define DISKS_MAX 1000000 /* more than any raid_disks: keeps sums in 32 bits */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct mdstat_slice slice_of(const struct mdstat *mdstat, struct scan word)
{
	return (struct mdstat_slice){(uint32_t)(word.p - mdstat->text), (uint32_t)scan_left(&word)};
}

/* --- the first line --- */

bool mdline_is_array(struct scan line)
{
	if (!scan_begins(line, "md"))
		return false;
	scan_word(&line);
	scan_blanks(&line);
	if (!scan_take(&line, ":"))
		return false;
	scan_blanks(&line);
	return scan_begins(line, "active") || scan_begins(line, "inactive") ||
		scan_begins(line, "broken");
}

static bool take_state(struct scan *l, struct mdstat_array *array)
{
	array->read_only = MDSTAT_RO_NO;
	if (scan_take(l, "inactive"))
		array->state = MDSTAT_INACTIVE;
	else if (scan_take(l, "active"))
		array->state = MDSTAT_ACTIVE;
	else if (scan_take(l, "broken"))
		array->state = MDSTAT_BROKEN;
	else
		return false;
	/* Linux before 2.6.39 prints no blank before it. */
	scan_blanks(l);
	if (scan_take(l, "(auto-read-only)"))
		array->read_only = MDSTAT_RO_AUTO;
	else if (scan_take(l, "(read-only)"))
		array->read_only = MDSTAT_RO_YES;
	return l->p == l->end || is_blank(l->p[-1]) || is_blank(*l->p);
}

/* The level's word; an inactive array has none, and its members come at once. */
static bool take_level(struct mdstat *mdstat, struct scan *l, struct mdstat_array *array)
{
	struct scan rest = *l, word = scan_word(&rest);
	char name[16];

	array->level = MD_LEVEL_UNKNOWN;
	if (word.p == word.end)
		return array->state == MDSTAT_INACTIVE;
	if (array->state == MDSTAT_INACTIVE && (scan_holds(word, "[") || is_digit(*word.p)))
		return true;
	if (array->state == MDSTAT_INACTIVE && scan_begins(word, "super"))
		return true;
	if (scan_holds(word, "[") || is_digit(*word.p) || scan_left(&word) >= sizeof(name))
		return false;
	memcpy(name, word.p, scan_left(&word));
	name[scan_left(&word)] = '\0';
	array->level_text = slice_of(mdstat, word);
	array->level = md_level_parse(name);
	if (array->level == MD_LEVEL_NONE || array->level == MD_LEVEL_CONTAINER)
		array->level = MD_LEVEL_UNKNOWN;
	*l = rest;
	return true;
}

static uint32_t flag_of(char letter)
{
	switch (letter) {
	case 'W':
		return MDSTAT_WRITE_MOSTLY;
	case 'J':
		return MDSTAT_JOURNAL;
	case 'F':
		return MDSTAT_FAULTY;
	case 'E':
		return MDSTAT_DISK_ERROR;
	case 'S':
		return MDSTAT_SPARE;
	case 'R':
		return MDSTAT_REPLACEMENT;
	default:
		return 0;
	}
}

/* "sda1[0](W)(S)". A device's name may hold anything but a blank. */
static bool member_read(const struct mdstat *mdstat, struct scan word, struct mdstat_member *ret)
{
	const char *start = word.p, *open;
	uint64_t number = 0;

	*ret = (struct mdstat_member){0};
	while (word.end - word.p > 3 && word.end[-1] == ')' && word.end[-3] == '(') {
		uint32_t flag = flag_of(word.end[-2]);

		if (!flag || (ret->flags & flag))
			return false;
		ret->flags |= flag;
		word.end -= 3;
	}
	if (scan_left(&word) < 4 || word.end[-1] != ']')
		return false;
	for (open = word.end - 2; open > start && is_digit(*open); open--)
		;
	if (open == start || *open != '[' || memchr(start, '[', (size_t)(open - start)))
		return false;
	if (!digits_parse(open + 1, (size_t)(word.end - 1 - (open + 1)), UINT32_MAX, &number))
		return false;
	ret->number = (uint32_t)number;
	ret->name = slice_of(mdstat, (struct scan){start, open});
	return true;
}

static void member_add(
	struct mdstat *mdstat, struct mdstat_array *array, const struct mdstat_member *member)
{
	mdstat->members[mdstat->n_members++] = *member;
	array->n_members++;
	array->n_failed += (member->flags & MDSTAT_FAULTY) != 0;
	array->n_error += (member->flags & MDSTAT_DISK_ERROR) != 0;
	array->n_spare += (member->flags & MDSTAT_SPARE) != 0;
}

static bool geometry_read(struct mdstat *mdstat, struct mdstat_array *array, struct scan l);

bool mdline_array(struct mdstat *mdstat, struct mdstat_array *array, struct scan line)
{
	struct scan name = scan_word(&line), word, before;
	struct mdstat_member member;

	if (scan_left(&name) >= MD_NAME_MAX)
		return false;
	memcpy(array->name, name.p, scan_left(&name));
	array->name[scan_left(&name)] = '\0';
	scan_blanks(&line);
	scan_take(&line, ":");
	scan_blanks(&line);
	if (!take_state(&line, array))
		return false;
	scan_blanks(&line);
	if (!take_level(mdstat, &line, array))
		return false;
	while (scan_blanks(&line), line.p < line.end) {
		before = line;
		word = scan_word(&line);
		if (member_read(mdstat, word, &member)) {
			if (mdstat->n_members == MDSTAT_MAX_MEMBERS)
				return false;
			member_add(mdstat, array, &member);
			continue;
		}
		/* Without a member there is no second line; Linux 2.2 printed no line break at all.
		 */
		if (array->n_members)
			return mdline_kind(before) == MDLINE_BLOCKS &&
				mdline_blocks(mdstat, array, before);
		return geometry_read(mdstat, array, before);
	}
	/* An active array without members prints its geometry here. */
	return array->n_members || array->state == MDSTAT_INACTIVE;
}

/* --- the second line --- */

/* " super 1.2", " super external:imsm", " super non-persistent", or nothing (0.90). */
static bool take_metadata(struct mdstat *mdstat, struct mdstat_array *array, struct scan *l)
{
	struct scan word, check;
	uint64_t n;

	if (!scan_take(l, "super"))
		return true;
	if (!scan_blanks(l))
		return false;
	word = check = scan_word(l);
	array->metadata = slice_of(mdstat, word);
	scan_blanks(l);
	if (scan_take(&check, "external:"))
		return check.p < check.end;
	if (scan_take(&check, "non-persistent"))
		return check.p == check.end;
	return scan_number(&check, 99, &n) && scan_take(&check, ".") &&
		scan_number(&check, 99, &n) && check.p == check.end;
}

/* "[n/m] [MAP]". Both numbers and the map are kept, also where they disagree. */
static bool take_map(struct mdstat *mdstat, struct mdstat_array *array, struct scan *l)
{
	struct opt n = OPT_NONE, m = OPT_NONE;
	struct scan map;
	bool negative;

	if (!scan_take(l, "[") || !scan_opt(l, DISKS_MAX, &n) || !scan_take(l, "/"))
		return false;
	negative = scan_take(l, "-");
	if (!scan_opt(l, DISKS_MAX, &m) || !scan_take(l, "]"))
		return false;
	array->raid_disks = n;
	array->working = OPT(negative ? -m.v : m.v);
	if (!scan_blanks(l) || !scan_take(l, "["))
		return false;
	map.p = l->p;
	while (l->p < l->end && (*l->p == 'U' || *l->p == '_' || *l->p == 'E')) {
		array->slots_missing += *l->p == '_';
		array->slots_error += *l->p == 'E';
		l->p++;
	}
	map.end = l->p;
	if (!scan_take(l, "]"))
		return false;
	array->slots = slice_of(mdstat, map);
	return n.v > 0 && (int64_t)array->slots.len == n.v;
}

/* raid4, raid5, raid6: "level 5, 64k chunk, algorithm 2". */
static bool take_parity(struct scan *l)
{
	uint64_t n;

	return scan_take(l, "level ") && scan_number(l, UINT32_MAX, &n) && scan_take(l, ", ") &&
		scan_number(l, UINT32_MAX, &n) && scan_take(l, "k chunk, algorithm ") &&
		scan_number(l, UINT32_MAX, &n) && scan_blanks(l);
}

/* raid10: "512K chunks 2 near-copies 2 offset-copies 2 devices per set", each part only if it
 * matters. */
static bool take_copies(struct scan *l, struct mdstat_array *array)
{
	while (l->p < l->end && is_digit(*l->p)) {
		uint64_t n = 0;

		if (!scan_number(l, DISKS_MAX, &n))
			return false;
		if (scan_take(l, "K chunks") || scan_take(l, " devices per set")) {
			scan_blanks(l);
			continue;
		}
		if (scan_take(l, " near-copies"))
			array->near_copies = (uint32_t)n;
		else if (scan_take(l, " far-copies") || scan_take(l, " offset-copies"))
			array->far_copies = (uint32_t)n;
		else
			return false;
		if (!n)
			return false;
		scan_blanks(l);
	}
	return true;
}

/* raid0 "64k chunks", linear "64k rounding"; Synology prints a map after it. */
static bool take_plain(
	struct mdstat *mdstat, struct mdstat_array *array, struct scan *l, const char *word)
{
	uint64_t n;

	if (!scan_number(l, UINT32_MAX, &n) || !scan_take(l, word))
		return false;
	scan_blanks(l);
	return l->p == l->end || take_map(mdstat, array, l);
}

/* A personality that we do not know may print anything; its map, if it ends in one, is read all the
 * same. */
static bool take_unknown(struct mdstat *mdstat, struct mdstat_array *array, struct scan *l)
{
	struct scan at;

	for (at = *l; at.p < at.end; at.p++) {
		if (*at.p != '[')
			continue;
		*l = at;
		return take_map(mdstat, array, l);
	}
	l->p = l->end;
	return true;
}

/* drivers/md/md-faulty.c, faulty_status(): " WriteTransient=2(8)", " WriteAll", " nfaults=0". */
static bool take_faulty(struct scan *l)
{
	while (l->p < l->end) {
		struct scan word = scan_word(l);

		if (!scan_begins(word, "Write") && !scan_begins(word, "Read") &&
			!scan_begins(word, "nfaults="))
			return false;
		scan_blanks(l);
	}
	return true;
}

static bool take_personality(struct mdstat *mdstat, struct mdstat_array *array, struct scan *l)
{
	switch (array->level) {
	case MD_LEVEL_RAID1:
	case MD_LEVEL_MULTIPATH:
		return take_map(mdstat, array, l);
	case MD_LEVEL_RAID4:
	case MD_LEVEL_RAID5:
	case MD_LEVEL_RAID6:
	case MD_LEVEL_RAIDF1:
		return take_parity(l) && take_map(mdstat, array, l);
	case MD_LEVEL_RAID10:
		return take_copies(l, array) && take_map(mdstat, array, l);
	case MD_LEVEL_RAID0:
		return take_plain(mdstat, array, l, "k chunks");
	case MD_LEVEL_LINEAR:
		return take_plain(mdstat, array, l, "k rounding");
	case MD_LEVEL_FAULTY:
		return take_faulty(l);
	case MD_LEVEL_NONE:
	case MD_LEVEL_UNKNOWN:
	case MD_LEVEL_CONTAINER:
		break;
	}
	return !array->level_text.len || take_unknown(mdstat, array, l);
}

/* What follows the size: metadata, then what the personality's status() prints. */
static bool geometry_read(struct mdstat *mdstat, struct mdstat_array *array, struct scan l)
{
	if (!take_metadata(mdstat, array, &l) || !take_personality(mdstat, array, &l))
		return false;
	return l.p == l.end;
}

bool mdline_blocks(struct mdstat *mdstat, struct mdstat_array *array, struct scan line)
{
	array->has_blocks = true;
	if (!scan_opt(&line, INT64_MAX, &array->size_kib) || !scan_take(&line, " blocks"))
		return false;
	scan_blanks(&line);
	return geometry_read(mdstat, array, line);
}

/* --- the further lines --- */

enum mdline_kind mdline_kind(struct scan line)
{
	uint64_t n;

	if (scan_begins(line, "bitmap:"))
		return MDLINE_BITMAP;
	if (scan_begins(line, "re") || scan_begins(line, "check"))
		return scan_holds(line, "=") ? MDLINE_SYNC : MDLINE_OTHER;
	if (scan_begins(line, "[=") || scan_begins(line, "[>"))
		return MDLINE_SYNC;
	if (scan_number(&line, UINT64_MAX, &n) && scan_begins(line, " blocks"))
		return MDLINE_BLOCKS;
	return MDLINE_OTHER;
}

static enum md_operation take_operation(struct scan *l)
{
	if (scan_take(l, "recovery") || scan_take(l, "recover"))
		return MD_OP_RECOVERY;
	if (scan_take(l, "resync"))
		return MD_OP_RESYNC;
	if (scan_take(l, "reshape"))
		return MD_OP_RESHAPE;
	if (scan_take(l, "check"))
		return MD_OP_CHECK;
	return MD_OP_NONE;
}

/* "resync=DELAYED" is said whatever operation waits; PENDING is a resync only; REMOTE (clustered
 * md) names its operation. */
static bool take_waiting(struct scan *l, enum md_operation operation, struct mdstat_array *array)
{
	if (scan_take(l, "DELAYED")) {
		array->operation = MD_OP_UNKNOWN;
		array->sync_state = MD_SYNC_DELAYED;
	} else if (scan_take(l, "PENDING")) {
		array->operation = operation;
		array->sync_state = MD_SYNC_PENDING;
	} else if (scan_take(l, "REMOTE")) {
		array->operation = operation;
		array->sync_state = MD_SYNC_REMOTE;
	} else {
		return false;
	}
	return l->p == l->end;
}

/* "12.6" as tenths. */
static bool take_tenths(struct scan *l, struct opt *ret)
{
	uint64_t whole = 0, tenth = 0;

	if (!scan_number(l, UINT64_MAX, &whole) || !scan_take(l, ".") || !scan_number(l, 9, &tenth))
		return false;
	*ret = OPT(whole > INT64_MAX / 10 - 1 ? INT64_MAX : (int64_t)(whole * 10 + tenth));
	return true;
}

/* " 12.6% (37043392/292945152) finish=127.5min speed=33440K/sec" */
static bool take_progress(struct scan *l, struct mdstat_array *array)
{
	bool negative;

	scan_blanks(l);
	if (!take_tenths(l, &array->percent_x10) || !scan_take(l, "%") || !scan_blanks(l) ||
		!scan_take(l, "("))
		return false;
	if (!scan_opt(l, INT64_MAX, &array->done_kib) || !scan_take(l, "/") ||
		!scan_opt(l, INT64_MAX, &array->total_kib) || !scan_take(l, ")"))
		return false;
	if (!scan_blanks(l) || !scan_take(l, "finish=") || !take_tenths(l, &array->finish_x10) ||
		!scan_take(l, "min"))
		return false;
	if (!scan_blanks(l) || !scan_take(l, "speed="))
		return false;
	/* %ld of an unsigned sum that may have underflowed (Linux 4.4). */
	negative = scan_take(l, "-");
	if (!scan_opt(l, INT64_MAX, &array->speed_kib_s) || !scan_take(l, "K/sec"))
		return false;
	if (negative)
		array->speed_kib_s.v = -array->speed_kib_s.v;
	return l->p == l->end;
}

static void forget_progress(struct mdstat_array *array)
{
	array->percent_x10 = array->done_kib = array->total_kib = OPT_NONE;
	array->speed_kib_s = array->finish_x10 = OPT_NONE;
}

bool mdline_sync(struct mdstat_array *array, struct scan line)
{
	bool bar = scan_take(&line, "[");
	enum md_operation operation;

	if (array->sync_state != MD_SYNC_NONE) {
		/* Two of them: one belongs to an array whose first line is lost. */
		array->operation = MD_OP_UNKNOWN;
		array->sync_state = MD_SYNC_UNKNOWN;
		forget_progress(array);
		return false;
	}
	while (bar && line.p < line.end && (*line.p == '=' || *line.p == '>' || *line.p == '.'))
		line.p++;
	if (bar && (!scan_take(&line, "]") || !scan_blanks(&line)))
		return false;
	operation = take_operation(&line);
	if (operation == MD_OP_NONE)
		return false;
	if (!bar)
		return scan_take(&line, "=") && take_waiting(&line, operation, array);
	scan_blanks(&line);
	if (!scan_take(&line, "="))
		return false;
	array->operation = operation;
	array->sync_state = MD_SYNC_RUNNING;
	if (!take_progress(&line, array)) {
		forget_progress(array);
		return false;
	}
	return true;
}

/* "bitmap: 0/4 pages [0KB], 65536KB chunk, file: /a b" (md_bitmap_status()). */
bool mdline_bitmap(struct scan line)
{
	uint64_t n;

	if (!scan_take(&line, "bitmap: ") || !scan_number(&line, UINT64_MAX, &n) ||
		!scan_take(&line, "/") || !scan_number(&line, UINT64_MAX, &n) ||
		!scan_take(&line, " pages [") || !scan_number(&line, UINT64_MAX, &n) ||
		!scan_take(&line, "KB], ") || !scan_number(&line, UINT64_MAX, &n))
		return false;
	if (!scan_take(&line, "KB chunk") && !scan_take(&line, "B chunk"))
		return false;
	return line.p == line.end || (scan_take(&line, ", file: ") && line.p < line.end);
}
