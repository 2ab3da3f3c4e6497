// SPDX-License-Identifier: MIT
/* The lines of the text, and to which array each belongs. What stands in a line: md/mdstat_line.c.
 */
#include "md/mdstat.h"

#include <stdio.h>
#include <string.h>

#include "md/mdstat_line.h"

struct reader {
	struct mdstat *mdstat;
	struct mdstat_array *array; /* the last one, or NULL */
	bool header;
	bool blank;    /* an empty line came after the last line of `array` */
	bool twice;    /* a second reading follows */
	size_t blanks; /* before the line */
	size_t indent; /* of the first line of `array` */
	bool last_ok;  /* if the text ends in this line, it does not end inside it */
};

static bool fail(struct mdstat *mdstat, enum mdstat_format format, const char *why)
{
	mdstat->format = format;
	mdstat->n_arrays = 0;
	mdstat->n_members = 0;
	snprintf(mdstat->why, sizeof(mdstat->why), "%s", why);
	return false;
}

bool mdstat_says(const struct mdstat *mdstat, struct mdstat_slice slice, const char *word)
{
	return slice.len == strlen(word) && memcmp(mdstat->text + slice.at, word, slice.len) == 0;
}

const struct mdstat_array *mdstat_find(const struct mdstat *mdstat, const char *name)
{
	size_t i;

	for (i = 0; i < mdstat->n_arrays; i++) {
		if (strcmp(mdstat->arrays[i].name, name) == 0)
			return &mdstat->arrays[i];
	}
	return NULL;
}

/* Whether a line begins, or as far as it goes might begin, like one of the kernel's: then its end
 * was cut off. */
static bool like_the_kernels(struct scan line)
{
	static const char *const begins[] = {
		"md", "unused devices:", "bitmap:", "re", "check", "[=", "[>", "super "};
	size_t i;

	for (i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		size_t len = strlen(begins[i]);

		if (scan_left(&line) < len)
			len = scan_left(&line);
		if (memcmp(line.p, begins[i], len) == 0)
			return true;
	}
	return *line.p >= '0' && *line.p <= '9';
}

/* A line that is nobody's. Before the first line of mdstat it is a prompt or a banner; in an array
 * it may be the half of a line that says that a disk is gone. */
static void stray_line(struct reader *r, struct scan line)
{
	bool outside = r->array && r->blank && r->array->has_blocks;

	/* A prompt after the last array. */
	r->last_ok = outside && !like_the_kernels(line);
	if (r->array && !outside)
		r->array->damaged = true;
	else if (r->header || r->array)
		r->mdstat->n_stray++;
	/* An array's first line, garbled: what follows is not of the array before it. */
	if (scan_begins(line, "md"))
		r->array = NULL;
}

static void array_begins(struct reader *r, struct scan line)
{
	struct mdstat *m = r->mdstat;
	struct mdstat_array *array;

	if (m->whole) {
		r->twice = true;
		return;
	}
	if (m->n_arrays == MD_MAX_ARRAYS) {
		fail(m, MDSTAT_UNPARSEABLE, "more arrays than are taken (128)");
		return;
	}
	array = &m->arrays[m->n_arrays];
	*array = (struct mdstat_array){.level = MD_LEVEL_UNKNOWN,
		.first_member = m->n_members,
		.near_copies = 1,
		.far_copies = 1,
		.operation = MD_OP_IDLE,
		.sync_state = MD_SYNC_NONE};
	r->last_ok = mdline_array(m, array, line);
	if (!array->name[0]) {
		stray_line(r, line);
		return;
	}
	if (mdstat_find(m, array->name))
		r->twice = true;
	if (!r->last_ok)
		array->damaged = true;
	if (array->slots.len > MDSTAT_MAX_SLOTS)
		fail(m, MDSTAT_UNPARSEABLE, "an array with more slots than are taken (1920)");
	r->array = array;
	r->indent = r->blanks;
	r->blank = false;
	m->n_arrays++;
}

/* A line that says more of the array begun last. */
static void array_goes_on(struct reader *r, struct scan line)
{
	struct mdstat_array *array = r->array;
	bool ok;

	if (!array) {
		stray_line(r, line);
		return;
	}
	switch (mdline_kind(line)) {
	case MDLINE_BLOCKS:
		ok = !array->has_blocks && mdline_blocks(r->mdstat, array, line);
		break;
	case MDLINE_SYNC:
		ok = mdline_sync(array, line);
		break;
	case MDLINE_BITMAP:
		ok = mdline_bitmap(line);
		break;
	case MDLINE_OTHER:
	default:
		stray_line(r, line);
		return;
	}
	r->last_ok = ok;
	if (!ok)
		array->damaged = true;
	if (array->slots.len > MDSTAT_MAX_SLOTS)
		fail(r->mdstat, MDSTAT_UNPARSEABLE,
			"an array with more slots than are taken (1920)");
}

/* The first line is words in brackets ("[1 linear]" up to Linux 2.2) and nothing else. */
static bool is_personalities(struct scan line)
{
	scan_take(&line, "Personalities :");
	while (scan_blanks(&line), scan_take(&line, "[")) {
		while (line.p < line.end && *line.p != ']' && *line.p != '[')
			line.p++;
		if (!scan_take(&line, "]"))
			return false;
	}
	return line.p == line.end;
}

/* The lines of Linux 2.2 and 2.4 after the personalities: "read_ahead 1024 sectors" or "read_ahead
 * not set", and Red Hat's "Event: 8". */
static bool is_old_head(struct scan line)
{
	uint64_t n;

	if (scan_take(&line, "Event: "))
		return scan_number(&line, UINT64_MAX, &n) && line.p == line.end;
	if (!scan_take(&line, "read_ahead "))
		return false;
	return (scan_take(&line, "not set") ||
		       (scan_number(&line, UINT64_MAX, &n) && scan_take(&line, " sectors"))) &&
		line.p == line.end;
}

static void take_line(struct reader *r, struct scan line)
{
	struct mdstat *m = r->mdstat;

	if (line.p == line.end) {
		r->blank = true;
		/* More blanks than the text as a whole is indented by: the begin of a line. */
		r->last_ok = r->blanks <= r->indent;
		return;
	}
	if (scan_begins(line, "Personalities :")) {
		if (r->header || r->array)
			r->twice = true;
		r->header = true;
		r->last_ok = is_personalities(line);
		/* An array's first line may be joined to it. */
		m->n_stray += !r->last_ok;
		m->raidf1 = scan_holds(line, "[raidF1]");
	} else if (scan_begins(line, "unused devices:")) {
		/* Before anything else it is no end of an mdstat. */
		m->whole = m->whole || r->header || r->array;
		r->last_ok = true;
	} else if (mdline_is_array(line)) {
		array_begins(r, line);
	} else if (!m->whole) {
		if (r->header && !r->array && is_old_head(line))
			r->last_ok = true;
		else
			array_goes_on(r, line);
	}
}

/* The kernel prints the size of every array that has members: what ends before it was cut. */
static bool cut(const struct reader *r, const char *text, size_t len)
{
	const struct mdstat_array *array = r->array;

	if (r->mdstat->whole)
		return false;
	if (text[len - 1] != '\n' && !r->last_ok)
		return true;
	return array && array->n_members && !array->has_blocks;
}

static void close_array(struct mdstat_array *array)
{
	if (array->n_members && !array->has_blocks)
		array->damaged = true;
	if (array->damaged && array->sync_state == MD_SYNC_NONE) {
		array->operation = MD_OP_UNKNOWN;
		array->sync_state = MD_SYNC_UNKNOWN;
	}
}

/* The keys of Unraid's /proc/mdstat (lime-technology's md.c), which has no line of the kernel's. */
static bool is_unraid(struct scan line)
{
	static const char *const keys[] = {
		"mdState=", "mdNumDisks=", "mdResync=", "mdResyncAction="};
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (scan_begins(line, keys[i]))
			return true;
	}
	return false;
}

static bool judge(const struct reader *r, const char *text, size_t len, bool unraid)
{
	struct mdstat *m = r->mdstat;
	size_t i;

	if (!r->header && !m->n_arrays)
		return unraid ? fail(m, MDSTAT_UNRAID,
					"Unraid is not supported: its driver is not Linux md")
			      : fail(m, MDSTAT_UNPARSEABLE, "the text is not /proc/mdstat");
	if (r->twice)
		return fail(m, MDSTAT_UNPARSEABLE,
			"the text holds an array, or mdstat as a whole, twice");
	if (cut(r, text, len) || (!m->n_arrays && !m->whole))
		return fail(m, MDSTAT_UNPARSEABLE, "the text was cut");
	if (!m->n_arrays && m->n_stray)
		return fail(m, MDSTAT_UNPARSEABLE,
			"no line of the text tells of an array as the kernel does");
	for (i = 0; i < m->n_arrays; i++)
		close_array(&m->arrays[i]);
	m->format = MDSTAT_GOOD;
	return true;
}

bool mdstat_parse(const char *text, size_t len, struct mdstat *ret)
{
	struct reader r = {.mdstat = ret};
	const char *p = text, *end = text + len;
	bool unraid = false, something = false;

	ret->format = MDSTAT_INVALID;
	ret->whole = ret->raidf1 = false;
	ret->why[0] = '\0';
	ret->text = text;
	ret->n_arrays = ret->n_members = ret->n_stray = 0;
	if (len > MDSTAT_MAX_TEXT)
		return fail(ret, MDSTAT_UNPARSEABLE, "the text is longer than 256 KiB");
	if (len && memchr(text, '\0', len))
		return fail(ret, MDSTAT_UNPARSEABLE, "the text holds NUL bytes");
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		struct scan raw = {p, nl ? nl : end}, line = scan_trim(raw);

		scan_blanks(&raw);
		r.blanks = (size_t)(raw.p - p);
		something = something || line.p != line.end;
		unraid = unraid || is_unraid(line);
		take_line(&r, line);
		if (ret->format != MDSTAT_INVALID)
			return false; /* over a limit */
		p = nl ? nl + 1 : end;
	}
	if (!something)
		return fail(ret, MDSTAT_NONE, "the text is empty");
	return judge(&r, text, len, unraid);
}
