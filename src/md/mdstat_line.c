// SPDX-License-Identifier: MIT
#include "md/mdstat_line.h"

#include <string.h>

#include "base/units.h"

#define DISKS_MAX 1000000 /* more than any raid_disks: keeps sums in 32 bits */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

struct mdline mdline_trim(struct mdline line)
{
	while (line.p < line.end && (is_blank(*line.p) || *line.p == '\r'))
		line.p++;
	while (line.p < line.end && (is_blank(line.end[-1]) || line.end[-1] == '\r'))
		line.end--;
	return line;
}

static size_t left(const struct mdline *l)
{
	return (size_t)(l->end - l->p);
}

bool mdline_begins(struct mdline line, const char *text)
{
	size_t len = strlen(text);

	return left(&line) >= len && memcmp(line.p, text, len) == 0;
}

bool mdline_holds(struct mdline line, const char *text)
{
	for (; line.p < line.end; line.p++) {
		if (mdline_begins(line, text))
			return true;
	}
	return false;
}

static bool take(struct mdline *l, const char *text)
{
	if (!mdline_begins(*l, text))
		return false;
	l->p += strlen(text);
	return true;
}

static bool take_blanks(struct mdline *l)
{
	const char *start = l->p;

	while (l->p < l->end && is_blank(*l->p))
		l->p++;
	return l->p > start;
}

static bool take_number(struct mdline *l, uint64_t max, uint64_t *ret)
{
	const char *start = l->p;

	while (l->p < l->end && is_digit(*l->p))
		l->p++;
	return digits_parse(start, (size_t)(l->p - start), max, ret);
}

static bool take_opt(struct mdline *l, uint64_t max, struct opt *ret)
{
	uint64_t n = 0;

	if (!take_number(l, max, &n))
		return false;
	*ret = OPT((int64_t)n);
	return true;
}

static struct mdline take_word(struct mdline *l)
{
	struct mdline word = {l->p, l->p};

	while (l->p < l->end && !is_blank(*l->p))
		l->p++;
	word.end = l->p;
	return word;
}

static struct mdstat_slice slice_of(const struct mdstat *mdstat, struct mdline word)
{
	return (struct mdstat_slice){(uint32_t)(word.p - mdstat->text), (uint32_t)left(&word)};
}

/* --- the first line --- */

bool mdline_is_array(struct mdline line)
{
	if (!mdline_begins(line, "md"))
		return false;
	take_word(&line);
	take_blanks(&line);
	if (!take(&line, ":"))
		return false;
	take_blanks(&line);
	return mdline_begins(line, "active") || mdline_begins(line, "inactive") ||
		mdline_begins(line, "broken");
}

static bool take_state(struct mdline *l, struct mdstat_array *array)
{
	array->read_only = MDSTAT_RO_NO;
	if (take(l, "inactive"))
		array->state = MDSTAT_INACTIVE;
	else if (take(l, "active"))
		array->state = MDSTAT_ACTIVE;
	else if (take(l, "broken"))
		array->state = MDSTAT_BROKEN;
	else
		return false;
	/* Linux before 2.6.39 prints no blank before it. */
	take_blanks(l);
	if (take(l, "(auto-read-only)"))
		array->read_only = MDSTAT_RO_AUTO;
	else if (take(l, "(read-only)"))
		array->read_only = MDSTAT_RO_YES;
	return l->p == l->end || is_blank(l->p[-1]) || is_blank(*l->p);
}

/* The level's word; an inactive array has none, and its members come at once. */
static bool take_level(struct mdstat *mdstat, struct mdline *l, struct mdstat_array *array)
{
	struct mdline rest = *l, word = take_word(&rest);
	char name[16];

	array->level = MD_LEVEL_UNKNOWN;
	if (word.p == word.end)
		return array->state == MDSTAT_INACTIVE;
	if (array->state == MDSTAT_INACTIVE && (mdline_holds(word, "[") || is_digit(*word.p)))
		return true;
	if (array->state == MDSTAT_INACTIVE && mdline_begins(word, "super"))
		return true;
	if (mdline_holds(word, "[") || is_digit(*word.p) || left(&word) >= sizeof(name))
		return false;
	memcpy(name, word.p, left(&word));
	name[left(&word)] = '\0';
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
static bool member_read(const struct mdstat *mdstat, struct mdline word, struct mdstat_member *ret)
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
	if (left(&word) < 4 || word.end[-1] != ']')
		return false;
	for (open = word.end - 2; open > start && is_digit(*open); open--)
		;
	if (open == start || *open != '[' || memchr(start, '[', (size_t)(open - start)))
		return false;
	if (!digits_parse(open + 1, (size_t)(word.end - 1 - (open + 1)), UINT32_MAX, &number))
		return false;
	ret->number = (uint32_t)number;
	ret->name = slice_of(mdstat, (struct mdline){start, open});
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

static bool geometry_read(struct mdstat *mdstat, struct mdstat_array *array, struct mdline l);

bool mdline_array(struct mdstat *mdstat, struct mdstat_array *array, struct mdline line)
{
	struct mdline name = take_word(&line), word, before;
	struct mdstat_member member;

	if (left(&name) >= MD_NAME_MAX)
		return false;
	memcpy(array->name, name.p, left(&name));
	array->name[left(&name)] = '\0';
	take_blanks(&line);
	take(&line, ":");
	take_blanks(&line);
	if (!take_state(&line, array))
		return false;
	take_blanks(&line);
	if (!take_level(mdstat, &line, array))
		return false;
	while (take_blanks(&line), line.p < line.end) {
		before = line;
		word = take_word(&line);
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
static bool take_metadata(struct mdstat *mdstat, struct mdstat_array *array, struct mdline *l)
{
	struct mdline word, check;
	uint64_t n;

	if (!take(l, "super"))
		return true;
	if (!take_blanks(l))
		return false;
	word = check = take_word(l);
	array->metadata = slice_of(mdstat, word);
	take_blanks(l);
	if (take(&check, "external:"))
		return check.p < check.end;
	if (take(&check, "non-persistent"))
		return check.p == check.end;
	return take_number(&check, 99, &n) && take(&check, ".") && take_number(&check, 99, &n) &&
		check.p == check.end;
}

/* "[n/m] [MAP]". Both numbers and the map are kept, also where they disagree. */
static bool take_map(struct mdstat *mdstat, struct mdstat_array *array, struct mdline *l)
{
	struct opt n = OPT_NONE, m = OPT_NONE;
	struct mdline map;
	bool negative;

	if (!take(l, "[") || !take_opt(l, DISKS_MAX, &n) || !take(l, "/"))
		return false;
	negative = take(l, "-");
	if (!take_opt(l, DISKS_MAX, &m) || !take(l, "]"))
		return false;
	array->raid_disks = n;
	array->working = OPT(negative ? -m.v : m.v);
	if (!take_blanks(l) || !take(l, "["))
		return false;
	map.p = l->p;
	while (l->p < l->end && (*l->p == 'U' || *l->p == '_' || *l->p == 'E')) {
		array->slots_missing += *l->p == '_';
		array->slots_error += *l->p == 'E';
		l->p++;
	}
	map.end = l->p;
	if (!take(l, "]"))
		return false;
	array->slots = slice_of(mdstat, map);
	return n.v > 0 && (int64_t)array->slots.len == n.v;
}

/* raid4, raid5, raid6: "level 5, 64k chunk, algorithm 2". */
static bool take_parity(struct mdline *l)
{
	uint64_t n;

	return take(l, "level ") && take_number(l, UINT32_MAX, &n) && take(l, ", ") &&
		take_number(l, UINT32_MAX, &n) && take(l, "k chunk, algorithm ") &&
		take_number(l, UINT32_MAX, &n) && take_blanks(l);
}

/* raid10: "512K chunks 2 near-copies 2 offset-copies 2 devices per set", each part only if it
 * matters. */
static bool take_copies(struct mdline *l, struct mdstat_array *array)
{
	while (l->p < l->end && is_digit(*l->p)) {
		uint64_t n = 0;

		if (!take_number(l, DISKS_MAX, &n))
			return false;
		if (take(l, "K chunks") || take(l, " devices per set")) {
			take_blanks(l);
			continue;
		}
		if (take(l, " near-copies"))
			array->near_copies = (uint32_t)n;
		else if (take(l, " far-copies") || take(l, " offset-copies"))
			array->far_copies = (uint32_t)n;
		else
			return false;
		if (!n)
			return false;
		take_blanks(l);
	}
	return true;
}

/* raid0 "64k chunks", linear "64k rounding"; Synology prints a map after it. */
static bool take_plain(
	struct mdstat *mdstat, struct mdstat_array *array, struct mdline *l, const char *word)
{
	uint64_t n;

	if (!take_number(l, UINT32_MAX, &n) || !take(l, word))
		return false;
	take_blanks(l);
	return l->p == l->end || take_map(mdstat, array, l);
}

/* A personality that we do not know may print anything; its map, if it ends in one, is read all the
 * same. */
static bool take_unknown(struct mdstat *mdstat, struct mdstat_array *array, struct mdline *l)
{
	struct mdline at;

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
static bool take_faulty(struct mdline *l)
{
	while (l->p < l->end) {
		struct mdline word = take_word(l);

		if (!mdline_begins(word, "Write") && !mdline_begins(word, "Read") &&
			!mdline_begins(word, "nfaults="))
			return false;
		take_blanks(l);
	}
	return true;
}

static bool take_personality(struct mdstat *mdstat, struct mdstat_array *array, struct mdline *l)
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
static bool geometry_read(struct mdstat *mdstat, struct mdstat_array *array, struct mdline l)
{
	if (!take_metadata(mdstat, array, &l) || !take_personality(mdstat, array, &l))
		return false;
	return l.p == l.end;
}

bool mdline_blocks(struct mdstat *mdstat, struct mdstat_array *array, struct mdline line)
{
	array->has_blocks = true;
	if (!take_opt(&line, INT64_MAX, &array->size_kib) || !take(&line, " blocks"))
		return false;
	take_blanks(&line);
	return geometry_read(mdstat, array, line);
}

/* --- the further lines --- */

enum mdline_kind mdline_kind(struct mdline line)
{
	uint64_t n;

	if (mdline_begins(line, "bitmap:"))
		return MDLINE_BITMAP;
	if (mdline_begins(line, "re") || mdline_begins(line, "check"))
		return mdline_holds(line, "=") ? MDLINE_SYNC : MDLINE_OTHER;
	if (mdline_begins(line, "[=") || mdline_begins(line, "[>"))
		return MDLINE_SYNC;
	if (take_number(&line, UINT64_MAX, &n) && mdline_begins(line, " blocks"))
		return MDLINE_BLOCKS;
	return MDLINE_OTHER;
}

static enum md_operation take_operation(struct mdline *l)
{
	if (take(l, "recovery") || take(l, "recover"))
		return MD_OP_RECOVERY;
	if (take(l, "resync"))
		return MD_OP_RESYNC;
	if (take(l, "reshape"))
		return MD_OP_RESHAPE;
	if (take(l, "check"))
		return MD_OP_CHECK;
	return MD_OP_NONE;
}

/* "resync=DELAYED" is said whatever operation waits; PENDING is a resync only; REMOTE (clustered
 * md) names its operation. */
static bool take_waiting(struct mdline *l, enum md_operation operation, struct mdstat_array *array)
{
	if (take(l, "DELAYED")) {
		array->operation = MD_OP_UNKNOWN;
		array->sync_state = MD_SYNC_DELAYED;
	} else if (take(l, "PENDING")) {
		array->operation = operation;
		array->sync_state = MD_SYNC_PENDING;
	} else if (take(l, "REMOTE")) {
		array->operation = operation;
		array->sync_state = MD_SYNC_REMOTE;
	} else {
		return false;
	}
	return l->p == l->end;
}

/* "12.6" as tenths. */
static bool take_tenths(struct mdline *l, struct opt *ret)
{
	uint64_t whole = 0, tenth = 0;

	if (!take_number(l, UINT64_MAX, &whole) || !take(l, ".") || !take_number(l, 9, &tenth))
		return false;
	*ret = OPT(whole > INT64_MAX / 10 - 1 ? INT64_MAX : (int64_t)(whole * 10 + tenth));
	return true;
}

/* " 12.6% (37043392/292945152) finish=127.5min speed=33440K/sec" */
static bool take_progress(struct mdline *l, struct mdstat_array *array)
{
	bool negative;

	take_blanks(l);
	if (!take_tenths(l, &array->percent_x10) || !take(l, "%") || !take_blanks(l) ||
		!take(l, "("))
		return false;
	if (!take_opt(l, INT64_MAX, &array->done_kib) || !take(l, "/") ||
		!take_opt(l, INT64_MAX, &array->total_kib) || !take(l, ")"))
		return false;
	if (!take_blanks(l) || !take(l, "finish=") || !take_tenths(l, &array->finish_x10) ||
		!take(l, "min"))
		return false;
	if (!take_blanks(l) || !take(l, "speed="))
		return false;
	/* %ld of an unsigned sum that may have underflowed (Linux 4.4). */
	negative = take(l, "-");
	if (!take_opt(l, INT64_MAX, &array->speed_kib_s) || !take(l, "K/sec"))
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

bool mdline_sync(struct mdstat_array *array, struct mdline line)
{
	bool bar = take(&line, "[");
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
	if (bar && (!take(&line, "]") || !take_blanks(&line)))
		return false;
	operation = take_operation(&line);
	if (operation == MD_OP_NONE)
		return false;
	if (!bar)
		return take(&line, "=") && take_waiting(&line, operation, array);
	take_blanks(&line);
	if (!take(&line, "="))
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
bool mdline_bitmap(struct mdline line)
{
	uint64_t n;

	if (!take(&line, "bitmap: ") || !take_number(&line, UINT64_MAX, &n) || !take(&line, "/") ||
		!take_number(&line, UINT64_MAX, &n) || !take(&line, " pages [") ||
		!take_number(&line, UINT64_MAX, &n) || !take(&line, "KB], ") ||
		!take_number(&line, UINT64_MAX, &n))
		return false;
	if (!take(&line, "KB chunk") && !take(&line, "B chunk"))
		return false;
	return line.p == line.end || (take(&line, ", file: ") && line.p < line.end);
}
