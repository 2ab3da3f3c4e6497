// SPDX-License-Identifier: MIT
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FRACTION_DIGITS 9

struct unit {
	const char *name;
	uint64_t size;
};

/* Largest first: the printer takes them in this order, the parser demands it. */
static const struct unit span_units[] = {
	{"w", 7 * MS_DAY},
	{"d", MS_DAY},
	{"h", MS_HOUR},
	{"min", MS_MINUTE},
	{"m", MS_MINUTE},
	{"s", MS_SECOND},
	{"sec", MS_SECOND},
	{"ms", 1},
};

static const struct unit size_units[] = {
	{"TiB", UINT64_C(1) << 40},
	{"TB", UINT64_C(1000000000000)},
	{"GiB", UINT64_C(1) << 30},
	{"GB", UINT64_C(1000000000)},
	{"MiB", UINT64_C(1) << 20},
	{"MB", UINT64_C(1000000)},
	{"KiB", UINT64_C(1) << 10},
	{"kB", UINT64_C(1000)},
	{"KB", UINT64_C(1000)},
	{"B", 1},
};

/* What is printed: one name for each size, and no weeks. */
static const struct unit span_shown[] = {
	{"d", MS_DAY},
	{"h", MS_HOUR},
	{"min", MS_MINUTE},
	{"s", MS_SECOND},
	{"ms", 1},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

static const char *skip_blanks(const char *p)
{
	while (blank(*p))
		p++;
	return p;
}

bool digits_parse(const char *text, size_t len, uint64_t max, uint64_t *ret)
{
	uint64_t n = 0;
	size_t i;

	if (!len)
		return false;
	for (i = 0; i < len; i++) {
		unsigned int d;

		if (!digit(text[i]))
			return false;
		d = (unsigned int)(text[i] - '0');
		if (n > (UINT64_MAX - d) / 10)
			return false;
		n = n * 10 + d;
	}
	if (n > max)
		return false;
	*ret = n;
	return true;
}

/* The run of digits at *p, as people write it: no leading zero before another digit. Moves *p past
 * it. */
static bool take_number(const char **p, uint64_t *ret)
{
	const char *start = *p, *end = start;

	while (digit(*end))
		end++;
	if (end - start > 1 && *start == '0')
		return false;
	if (!digits_parse(start, (size_t)(end - start), UINT64_MAX, ret))
		return false;
	*p = end;
	return true;
}

/* An optional ".DIGITS" at *p as a count of 10^-FRACTION_DIGITS. */
static bool take_fraction(const char **p, uint64_t *ret)
{
	const char *s = *p;
	uint64_t n = 0;
	int i;

	*ret = 0;
	if (*s != '.')
		return true;
	s++;
	if (!digit(*s))
		return false;
	for (i = 0; i < FRACTION_DIGITS; i++)
		n = n * 10 + (digit(*s) ? (unsigned int)(*s++ - '0') : 0);
	if (digit(*s))
		return false;
	*ret = n;
	*p = s;
	return true;
}

static bool take_unit(const char **p, const struct unit *units, size_t n, uint64_t *ret)
{
	size_t len = 0, i;

	while (((*p)[len] >= 'a' && (*p)[len] <= 'z') || ((*p)[len] >= 'A' && (*p)[len] <= 'Z'))
		len++;
	for (i = 0; i < n; i++) {
		if (strlen(units[i].name) == len && strncmp(units[i].name, *p, len) == 0) {
			*ret = units[i].size;
			*p += len;
			return true;
		}
	}
	return false;
}

bool u64_parse(const char *text, uint64_t min, uint64_t max, uint64_t *ret, struct err *err)
{
	const char *p = skip_blanks(text);
	uint64_t n = 0;

	if (!take_number(&p, &n) || *skip_blanks(p))
		return err_set(
			err, ERR_INVALID, "'%.60s' is not a whole number such as '12'", text);
	if (n < min || n > max)
		return err_set(err, ERR_INVALID, "'%.60s' is not between %" PRIu64 " and %" PRIu64,
			text, min, max);
	*ret = n;
	return true;
}

/* "1h 30min": the parts in falling order of their units, so that a slip such as "30min 30min" is no
 * sum. */
static bool take_span(const char **p, int64_t *ret_ms)
{
	uint64_t sum = 0, n = 0, size = 0, last = UINT64_MAX;
	const char *s = *p;

	while (digit(*s)) {
		if (!take_number(&s, &n))
			return false;
		s = skip_blanks(s);
		if (!take_unit(&s, span_units, COUNT(span_units), &size) || size >= last)
			return false;
		if (n > (INT64_MAX - sum) / size)
			return false;
		sum += n * size;
		last = size;
		*p = s;
		s = skip_blanks(s);
	}
	if (last == UINT64_MAX)
		return false;
	*ret_ms = (int64_t)sum;
	return true;
}

static bool is_zero(const char *text)
{
	text = skip_blanks(text);
	return *text == '0' && !*skip_blanks(text + 1);
}

bool span_parse(const char *text, int64_t *ret_ms, struct err *err)
{
	const char *p = skip_blanks(text);
	int64_t ms = 0;

	if (!is_zero(text) && (!take_span(&p, &ms) || *skip_blanks(p)))
		return err_set(err, ERR_INVALID,
			"'%.60s' is not a duration such as '90s', '10min' or '1h 30min' (units ms, "
			"s, "
			"min, h, d, w)",
			text);
	*ret_ms = ms;
	return true;
}

/* Bytes as "1.5 GiB", then `tail` ("/s" or ""). A fraction of a byte is rounded to the nearest. */
static bool bytes_parse(const char *text, const char *tail, int64_t *ret)
{
	const uint64_t scale = 1000000000;
	const char *p = skip_blanks(text);
	uint64_t whole = 0, fraction = 0, size = 0, part;

	if (is_zero(text)) {
		*ret = 0;
		return true;
	}
	if (!take_number(&p, &whole) || !take_fraction(&p, &fraction))
		return false;
	p = skip_blanks(p);
	if (!take_unit(&p, size_units, COUNT(size_units), &size))
		return false;
	if (strncmp(p, tail, strlen(tail)) != 0 || *skip_blanks(p + strlen(tail)))
		return false;
	/* fraction < 10^9 and size <= 2^40: split so that no product leaves 64 bits. */
	part = size / scale * fraction + (size % scale * fraction + scale / 2) / scale;
	if (whole > (INT64_MAX - part) / size)
		return false;
	*ret = (int64_t)(whole * size + part);
	return true;
}

bool rate_parse(const char *text, int64_t *ret_bytes_s, struct err *err)
{
	if (!bytes_parse(text, "/s", ret_bytes_s))
		return err_set(err, ERR_INVALID,
			"'%.60s' is not a rate such as '150 MB/s' or '1.5 GiB/s' (units B, kB, MB, "
			"GB, TB, "
			"KiB, MiB, GiB, TiB, each with '/s')",
			text);
	return true;
}

bool size_parse(const char *text, int64_t *ret_bytes, struct err *err)
{
	if (!bytes_parse(text, "", ret_bytes))
		return err_set(err, ERR_INVALID,
			"'%.60s' is not a size such as '10 GiB' or '500 MB' (units B, kB, MB, GB, "
			"TB, KiB, "
			"MiB, GiB, TiB)",
			text);
	return true;
}

bool percent_parse(const char *text, int64_t *ret_ppm, struct err *err)
{
	const char *p = skip_blanks(text);
	uint64_t whole = 0, fraction = 0;
	bool good;

	good = take_number(&p, &whole) && take_fraction(&p, &fraction);
	if (good) {
		p = skip_blanks(p);
		good = *p == '%' && !*skip_blanks(p + 1) && fraction % 100000 == 0;
	}
	if (!good)
		return err_set(err, ERR_INVALID,
			"'%.60s' is not a percentage such as '80%%' or '97.5%%' (four decimals at "
			"most)",
			text);
	if (whole > 100 || (whole == 100 && fraction))
		return err_set(err, ERR_INVALID, "'%.60s' is more than 100%%", text);
	*ret_ppm = (int64_t)(whole * 10000 + fraction / 100000);
	return true;
}

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? (uint64_t)0 - (uint64_t)v : (uint64_t)v;
}

/* Appends as many of the span's units as `parts` says, largest first. */
static const char *span_text(int64_t ms, int parts, const char *zero, char text[UNITS_TEXT_MAX])
{
	uint64_t rest = magnitude(ms);
	size_t used = 0, i;

	if (!rest) {
		snprintf(text, UNITS_TEXT_MAX, "%s", zero);
		return text;
	}
	text[0] = '\0';
	if (ms < 0)
		used = (size_t)snprintf(text, UNITS_TEXT_MAX, "-");
	for (i = 0; i < COUNT(span_shown) && parts > 0; i++) {
		uint64_t n = rest / span_shown[i].size;

		if (used > 1 && parts == 1 && !n)
			break; /* "1d", not "1d 5min": the second part is the next unit */
		if (!n)
			continue;
		rest %= span_shown[i].size;
		used += (size_t)snprintf(text + used, UNITS_TEXT_MAX - used, "%s%" PRIu64 "%s",
			used > (ms < 0) ? " " : "", n, span_shown[i].name);
		parts--;
	}
	return text;
}

const char *span_print(int64_t ms, char text[UNITS_TEXT_MAX])
{
	return span_text(ms, (int)COUNT(span_shown), "0", text);
}

const char *span_show(int64_t ms, char text[UNITS_TEXT_MAX])
{
	uint64_t size = magnitude(ms);

	if (size >= MS_SECOND && size < MS_MINUTE)
		ms -= ms % MS_SECOND;
	return span_text(ms, 2, "0s", text);
}

/* "1.5" for fraction 500000000; no dot when there is none. */
static void decimal_text(uint64_t whole, uint64_t fraction, char text[UNITS_TEXT_MAX])
{
	size_t len;

	snprintf(text, UNITS_TEXT_MAX, "%" PRIu64 ".%09" PRIu64, whole, fraction);
	len = strlen(text);
	while (text[len - 1] == '0')
		text[--len] = '\0';
	if (text[len - 1] == '.')
		text[--len] = '\0';
}

/* The rest of a division by `size` as a count of 10^-9, if that is exact. */
static bool fraction_of(uint64_t rest, uint64_t size, uint64_t *ret)
{
	uint64_t fraction = 0;
	int i;

	for (i = 0; i < FRACTION_DIGITS; i++) {
		rest *= 10;
		fraction = fraction * 10 + rest / size;
		rest %= size;
	}
	*ret = fraction;
	return rest == 0;
}

/* The shortest of the exact forms; of equals the larger unit. */
static const char *bytes_text(int64_t bytes, const char *tail, char text[UNITS_TEXT_MAX])
{
	uint64_t n = magnitude(bytes), fraction;
	char number[UNITS_TEXT_MAX], form[UNITS_TEXT_MAX];
	size_t i;

	snprintf(text, UNITS_TEXT_MAX, "%s%" PRIu64 " B%s", bytes < 0 ? "-" : "", n, tail);
	if (!n) {
		snprintf(text, UNITS_TEXT_MAX, "0");
		return text;
	}
	for (i = COUNT(size_units); i-- > 0;) {
		if (n < size_units[i].size ||
			!fraction_of(n % size_units[i].size, size_units[i].size, &fraction))
			continue;
		if (strcmp(size_units[i].name, "KB") == 0)
			continue;
		decimal_text(n / size_units[i].size, fraction, number);
		if ((size_t)snprintf(form, sizeof(form), "%s%.30s %s%s", bytes < 0 ? "-" : "",
			    number, size_units[i].name, tail) <= strlen(text))
			memcpy(text, form, sizeof(form));
	}
	return text;
}

const char *rate_print(int64_t bytes_s, char text[UNITS_TEXT_MAX])
{
	return bytes_text(bytes_s, "/s", text);
}

const char *size_print(int64_t bytes, char text[UNITS_TEXT_MAX])
{
	return bytes_text(bytes, "", text);
}

const char *percent_print(int64_t ppm, char text[UNITS_TEXT_MAX])
{
	uint64_t n = magnitude(ppm);
	char number[UNITS_TEXT_MAX];

	decimal_text(n / 10000, n % 10000 * 100000, number);
	snprintf(text, UNITS_TEXT_MAX, "%s%.40s%%", ppm < 0 ? "-" : "", number);
	return text;
}

/* One decimal below 10, none above. `step` is 1000 or 1024. */
static const char *bytes_show(int64_t bytes, uint64_t step, const char *const names[5],
	const char *tail, char text[UNITS_TEXT_MAX])
{
	uint64_t n = magnitude(bytes), size = 1, tenths;
	const char *sign = bytes < 0 ? "-" : "";
	size_t i = 0;

	/* 999.6 of a unit would be shown as 1000: that is 1.0 of the next. */
	while (i < 4 && n >= size * step - (size > 1 ? size / 2 : 0)) {
		size *= step;
		i++;
	}
	tenths = n / size * 10 + (n % size * 10 + size / 2) / size;
	if (i == 0 || tenths >= 100)
		snprintf(text, UNITS_TEXT_MAX, "%s%" PRIu64 " %s%s", sign,
			n / size + (n % size >= size - size / 2 && size > 1), names[i], tail);
	else
		snprintf(text, UNITS_TEXT_MAX, "%s%" PRIu64 ".%" PRIu64 " %s%s", sign, tenths / 10,
			tenths % 10, names[i], tail);
	return text;
}

const char *rate_show(int64_t bytes_s, char text[UNITS_TEXT_MAX])
{
	static const char *const names[5] = {"B", "kB", "MB", "GB", "TB"};

	return bytes_show(bytes_s, 1000, names, "/s", text);
}

const char *size_show(int64_t bytes, char text[UNITS_TEXT_MAX])
{
	static const char *const names[5] = {"B", "KiB", "MiB", "GiB", "TiB"};

	return bytes_show(bytes, 1024, names, "", text);
}

/* Cut, not rounded: 99.96 % done must not read as 100 %. */
const char *percent_show(int64_t ppm, char text[UNITS_TEXT_MAX])
{
	uint64_t n = magnitude(ppm);

	snprintf(text, UNITS_TEXT_MAX, "%s%" PRIu64 ".%" PRIu64 " %%", ppm < 0 ? "-" : "",
		n / 10000, n % 10000 / 1000);
	return text;
}
