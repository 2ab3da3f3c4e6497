// SPDX-License-Identifier: MIT
#include "md/scan.h"

#include <string.h>

#include "base/units.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

struct scan scan_trim(struct scan line)
{
	while (line.p < line.end && (is_blank(*line.p) || *line.p == '\r'))
		line.p++;
	while (line.p < line.end && (is_blank(line.end[-1]) || line.end[-1] == '\r'))
		line.end--;
	return line;
}

size_t scan_left(const struct scan *l)
{
	return (size_t)(l->end - l->p);
}

bool scan_begins(struct scan line, const char *text)
{
	size_t len = strlen(text);

	return scan_left(&line) >= len && memcmp(line.p, text, len) == 0;
}

bool scan_holds(struct scan line, const char *text)
{
	for (; line.p < line.end; line.p++) {
		if (scan_begins(line, text))
			return true;
	}
	return false;
}

bool scan_take(struct scan *l, const char *text)
{
	if (!scan_begins(*l, text))
		return false;
	l->p += strlen(text);
	return true;
}

bool scan_blanks(struct scan *l)
{
	const char *start = l->p;

	while (l->p < l->end && is_blank(*l->p))
		l->p++;
	return l->p > start;
}

bool scan_number(struct scan *l, uint64_t max, uint64_t *ret)
{
	const char *start = l->p;

	while (l->p < l->end && is_digit(*l->p))
		l->p++;
	return digits_parse(start, (size_t)(l->p - start), max, ret);
}

bool scan_opt(struct scan *l, uint64_t max, struct opt *ret)
{
	uint64_t n = 0;

	if (!scan_number(l, max, &n))
		return false;
	*ret = OPT((int64_t)n);
	return true;
}

struct scan scan_word(struct scan *l)
{
	struct scan word = {l->p, l->p};

	while (l->p < l->end && !is_blank(*l->p))
		l->p++;
	word.end = l->p;
	return word;
}
