// SPDX-License-Identifier: MIT
#include "md/look.h"

#include <string.h>

#include "base/units.h"

#define MARK "#rg "
#define KIB 1024

const char *look_command(void)
{
	/* No "!" and no line break: csh expands the one and ends at the other, even within quotes.
	 * The arrays' names come from the text already read: a second read of mdstat, or a glob
	 * over md/, may hang. `read` is built in: no fork for each file. */
	return "exec sh -c '"
	       "m=$(cat /proc/mdstat) || exit 1; printf \"%s\\n\" \"$m\"; "
	       "echo \"#rg diskstats\"; cat /proc/diskstats 2>/dev/null; "
	       "echo \"#rg loadavg\"; cat /proc/loadavg 2>/dev/null; "
	       "set -f; p=; for w in $m; do if [ \"$w\" = : ]; then "
	       "case $p in */*) ;; md*) echo \"#rg md $p\"; "
	       "for a in sync_action degraded sync_speed_min sync_speed_max; do v=; "
	       "{ read -r v < \"/sys/block/$p/md/$a\"; } 2>/dev/null && echo \"$a=$v\"; "
	       "done;; esac; fi; p=$w; done; "
	       "echo \"#rg end\"'";
}

const char *look_forced_command(void)
{
	/* With an empty IFS an unquoted $m is one word, as it was read; set -f: no glob. */
	return "IFS=; set -f; m=$(cat /proc/mdstat) || exit 1; echo $m; "
	       "echo '#rg diskstats'; cat /proc/diskstats 2>/dev/null; "
	       "echo '#rg loadavg'; cat /proc/loadavg 2>/dev/null; "
	       "unset IFS; p=; for w in $m; do if [ x$w = x: ]; then "
	       "case $p in */*) ;; md*) echo '#rg md' $p; "
	       "for a in sync_action degraded sync_speed_min sync_speed_max; do v=; "
	       "{ read -r v < /sys/block/$p/md/$a; } 2>/dev/null && echo $a=$v; "
	       "done;; esac; fi; p=$w; done; "
	       "echo '#rg end'";
}

struct line {
	const char *at;
	size_t len;
};

/* The next whole line (without its "\n" and a "\r" before it); false when no line break is left. */
static bool next_line(const char **p, const char *end, struct line *ret)
{
	const char *nl = memchr(*p, '\n', (size_t)(end - *p));

	if (!nl)
		return false;
	ret->at = *p;
	ret->len = (size_t)(nl - *p);
	if (ret->len && nl[-1] == '\r')
		ret->len--;
	*p = nl + 1;
	return true;
}

static bool is_mark(struct line line)
{
	return line.len > strlen(MARK) && memcmp(line.at, MARK, strlen(MARK)) == 0;
}

static bool line_is(struct line line, const char *text)
{
	return line.len == strlen(text) && memcmp(line.at, text, line.len) == 0;
}

/* If the line begins with `prefix`, the rest of it. */
static bool line_after(struct line line, const char *prefix, struct line *ret)
{
	size_t len = strlen(prefix);

	if (line.len < len || memcmp(line.at, prefix, len) != 0)
		return false;
	*ret = (struct line){line.at + len, line.len - len};
	return true;
}

static bool name_copy(struct line name, char ret[MD_NAME_MAX])
{
	if (!name.len || name.len >= MD_NAME_MAX || memchr(name.at, '\0', name.len))
		return false;
	memcpy(ret, name.at, name.len);
	ret[name.len] = '\0';
	return true;
}

/* action_names of drivers/md/md.c: "recover" there, "recovery" in mdstat. */
static enum md_operation action_of(struct line word)
{
	static const struct {
		const char *word;
		enum md_operation operation;
	} words[] = {
		{"idle", MD_OP_IDLE},
		{"recover", MD_OP_RECOVERY},
		{"resync", MD_OP_RESYNC},
		{"reshape", MD_OP_RESHAPE},
		{"check", MD_OP_CHECK},
		{"repair", MD_OP_REPAIR},
		{"frozen", MD_OP_FROZEN},
	};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (line_is(word, words[i].word))
			return words[i].operation;
	}
	return MD_OP_NONE;
}

static struct opt whole_number(struct line text, uint64_t max)
{
	bool negative = text.len && text.at[0] == '-';
	uint64_t n = 0;

	if (!digits_parse(text.at + negative, text.len - negative, max, &n))
		return OPT_NONE;
	return OPT(negative ? -(int64_t)n : (int64_t)n);
}

/* "1000 (system)" or "1000 (local)" in KiB/s. */
static struct opt speed(struct line text)
{
	const char *space = memchr(text.at, ' ', text.len);
	uint64_t kib = 0;

	if (!space || !digits_parse(text.at, (size_t)(space - text.at), INT64_MAX / KIB, &kib))
		return OPT_NONE;
	return OPT((int64_t)kib * KIB);
}

static void md_value(struct line line, struct look_md *md)
{
	struct line value;

	if (line_after(line, "sync_action=", &value))
		md->action = action_of(value);
	else if (line_after(line, "degraded=", &value))
		md->degraded = whole_number(value, INT32_MAX);
	else if (line_after(line, "sync_speed_min=", &value))
		md->speed_min = speed(value);
	else if (line_after(line, "sync_speed_max=", &value))
		md->speed_max = speed(value);
}

static void md_section(struct line name, const char *p, const char *end, struct look *look)
{
	struct look_md md = {0};
	struct line line;

	if (look->n_md == MD_MAX_ARRAYS || !name_copy(name, md.name))
		return;
	while (next_line(&p, end, &line))
		md_value(line, &md);
	look->md[look->n_md++] = md;
}

/* "0.42 ...": two digits after the point (fs/proc/loadavg.c). */
static void loadavg_section(const char *p, const char *end, struct look *look)
{
	uint64_t whole = 0, part = 0;
	struct line line;
	const char *dot;

	if (!next_line(&p, end, &line) || !(dot = memchr(line.at, '.', line.len)))
		return;
	if (dot + 3 >= line.at + line.len || dot[3] != ' ')
		return;
	if (digits_parse(line.at, (size_t)(dot - line.at), INT32_MAX, &whole) &&
		digits_parse(dot + 1, 2, 99, &part))
		look->load_x100 = OPT((int64_t)(whole * 100 + part));
}

/* One whole section: what stood between its marker and the next. */
static void section(struct line mark, const char *p, const char *end, struct look *look)
{
	struct line name;

	if (line_is(mark, MARK "diskstats")) {
		look->diskstats = p;
		look->diskstats_len = (size_t)(end - p);
	} else if (line_is(mark, MARK "loadavg")) {
		loadavg_section(p, end, look);
	} else if (line_after(mark, MARK "md ", &name)) {
		md_section(name, p, end, look);
	}
}

void look_split(const char *text, size_t len, struct look *ret)
{
	const char *p = text, *end = text + len, *start = text;
	struct line line, mark = {NULL, 0};

	*ret = (struct look){.mdstat = text, .mdstat_len = len};
	while (next_line(&p, end, &line)) {
		if (!is_mark(line))
			continue;
		if (!mark.at) {
			ret->mdstat_len = (size_t)(line.at - text);
			ret->mdstat_whole = true;
		} else {
			section(mark, start, line.at, ret);
		}
		if (line_is(line, MARK "end")) {
			ret->whole = true;
			return;
		}
		mark = line;
		start = p;
	}
}

bool look_has_mdstat(const char *text, size_t len)
{
	const char *p = text;
	struct line line;

	while (next_line(&p, text + len, &line)) {
		if (is_mark(line))
			return true;
	}
	return false;
}

const struct look_md *look_md_find(const struct look *look, const char *name)
{
	size_t i;

	for (i = 0; i < look->n_md; i++) {
		if (strcmp(look->md[i].name, name) == 0)
			return &look->md[i];
	}
	return NULL;
}

static bool next_word(struct line *line, struct line *ret)
{
	while (line->len && (*line->at == ' ' || *line->at == '\t')) {
		line->at++;
		line->len--;
	}
	ret->at = line->at;
	ret->len = 0;
	while (line->len && *line->at != ' ' && *line->at != '\t') {
		line->at++;
		line->len--;
		ret->len++;
	}
	return ret->len != 0;
}

/* MAJOR MINOR NAME, then reads, reads merged, sectors read, ms, writes, writes merged, sectors
 * written. */
static bool io_line(struct line line, const char *name, struct look_io *ret)
{
	struct line word;
	int field;

	for (field = 1; field <= 10; field++) {
		uint64_t n = 0;

		if (!next_word(&line, &word))
			return false;
		if (field == 3) {
			if (!line_is(word, name))
				return false;
			continue;
		}
		if (!digits_parse(word.at, word.len, UINT64_MAX, &n))
			return false;
		if (field == 6)
			ret->read_sectors = n;
		if (field == 10)
			ret->write_sectors = n;
	}
	return true;
}

bool look_io_find(const struct look *look, const char *name, struct look_io *ret)
{
	const char *p = look->diskstats;
	struct look_io io = {0};
	struct line line;

	if (!p)
		return false;
	while (next_line(&p, look->diskstats + look->diskstats_len, &line)) {
		if (io_line(line, name, &io)) {
			*ret = io;
			return true;
		}
	}
	return false;
}
