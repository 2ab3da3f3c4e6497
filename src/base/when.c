// SPDX-License-Identifier: MIT
/* Points in time of base/units.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *skip_blanks(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

/* Days since 1970-01-01 of a date in the proleptic Gregorian calendar (years counted from March:
 * the leap day comes last). */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
	int64_t y = month > 2 ? year : year - 1;
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t yoe = y - era * 400;
	int64_t doy = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

struct date {
	int64_t year;
	int month, day, hour, min, sec, ms;
};

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static struct date date_of(int64_t ms)
{
	int64_t days = floor_div(ms, MS_DAY), rest = ms - days * MS_DAY;
	int64_t z = days + 719468, era = floor_div(z, 146097), doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
	struct date date = {
		.month = (int)(mp < 10 ? mp + 3 : mp - 9),
		.day = (int)(doy - (153 * mp + 2) / 5 + 1),
		.hour = (int)(rest / MS_HOUR),
		.min = (int)(rest % MS_HOUR / MS_MINUTE),
		.sec = (int)(rest % MS_MINUTE / MS_SECOND),
		.ms = (int)(rest % MS_SECOND),
	};

	date.year = yoe + era * 400 + (date.month <= 2);
	return date;
}

/* Exactly `n` digits at *p with min <= number <= max. */
static bool take_fixed(const char **p, int n, int64_t min, int64_t max, int64_t *ret)
{
	int64_t v = 0;
	int i;

	for (i = 0; i < n; i++) {
		if (!digit((*p)[i]))
			return false;
		v = v * 10 + ((*p)[i] - '0');
	}
	if (v < min || v > max)
		return false;
	*p += n;
	*ret = v;
	return true;
}

static bool take_char(const char **p, char c)
{
	if (**p != c)
		return false;
	(*p)++;
	return true;
}

/* "2026-11-30" as ms at its midnight. */
static bool take_date(const char **p, int64_t *ret_ms)
{
	int64_t year = 0, month = 0, day = 0, days;

	if (!take_fixed(p, 4, 1970, 9999, &year) || !take_char(p, '-') ||
		!take_fixed(p, 2, 1, 12, &month) || !take_char(p, '-') ||
		!take_fixed(p, 2, 1, 31, &day))
		return false;
	days = days_of(year, month, day);
	/* The 31st of a shorter month comes back as another day. */
	if (date_of(days * MS_DAY).day != day)
		return false;
	*ret_ms = days * MS_DAY;
	return true;
}

/* "21:00", "21:00:05" or "21:00:05.123" as ms of the day. */
static bool take_time(const char **p, int64_t *ret_ms)
{
	int64_t hour = 0, min = 0, sec = 0, ms = 0;

	if (!take_fixed(p, 2, 0, 23, &hour) || !take_char(p, ':') || !take_fixed(p, 2, 0, 59, &min))
		return false;
	if (take_char(p, ':')) {
		if (!take_fixed(p, 2, 0, 59, &sec))
			return false;
		if (take_char(p, '.') && !take_fixed(p, 3, 0, 999, &ms))
			return false;
	}
	*ret_ms = hour * MS_HOUR + min * MS_MINUTE + sec * MS_SECOND + ms;
	return true;
}

/* "Z", "+01:00" or nothing (then `local_ms`), as ms east of UTC. */
static bool take_zone(const char **p, int64_t local_ms, int64_t *ret_ms)
{
	int64_t hour = 0, min = 0;
	bool west = **p == '-';

	*ret_ms = local_ms;
	if (take_char(p, 'Z')) {
		*ret_ms = 0;
		return true;
	}
	if (!west && **p != '+')
		return true;
	(*p)++;
	if (!take_fixed(p, 2, 0, 14, &hour) || !take_char(p, ':') || !take_fixed(p, 2, 0, 59, &min))
		return false;
	*ret_ms = (hour * MS_HOUR + min * MS_MINUTE) * (west ? -1 : 1);
	return true;
}

static bool calendar_parse(const char *p, int64_t offset_ms, int64_t *ret)
{
	int64_t date = 0, time = 0, zone = offset_ms;

	if (!take_date(&p, &date))
		return false;
	if (*p == 'T' || (*p == ' ' && digit(p[1]))) {
		p++;
		if (!take_time(&p, &time) || !take_zone(&p, offset_ms, &zone))
			return false;
	}
	if (*skip_blanks(p))
		return false;
	*ret = date + time - zone;
	return true;
}

static bool word_is(const char *p, const char *word)
{
	size_t len = strlen(word);

	return strncmp(p, word, len) == 0 && !*skip_blanks(p + len);
}

/* The span in "-2h" and "2h ago". */
static bool span_back(const char *p, int64_t *ret_ms)
{
	char span[UNITS_TEXT_MAX];
	size_t len;

	if (*p == '-') {
		/* A second sign is refused by span_parse(). */
		return span_parse(p + 1, ret_ms, NULL);
	}
	len = strlen(p);
	while (len && skip_blanks(p + len - 1)[0] == '\0')
		len--;
	if (len < 4 || len - 3 >= sizeof(span) || strncmp(p + len - 3, "ago", 3) != 0)
		return false;
	memcpy(span, p, len - 3);
	span[len - 3] = '\0';
	return span_parse(span, ret_ms, NULL);
}

/* "now", "today", "yesterday", "@SECONDS", "-2h", "2h ago". */
static bool relative_parse(const char *p, const struct moment *now, int64_t offset_ms, int64_t *ret)
{
	int64_t days = floor_div(now->utc_ms + offset_ms, MS_DAY), span = 0;
	int64_t midnight = days * MS_DAY - offset_ms;
	uint64_t n = 0;

	if (word_is(p, "now") || word_is(p, "today") || word_is(p, "yesterday")) {
		*ret = *p == 'n' ? now->utc_ms : *p == 't' ? midnight : midnight - MS_DAY;
		return true;
	}
	if (*p == '@') {
		if (!digit(p[1]) || !u64_parse(p + 1, 0, INT64_MAX / 1000000, &n, NULL))
			return false;
		*ret = (int64_t)n * MS_SECOND;
		return true;
	}
	if (!span_back(p, &span) || span > now->utc_ms)
		return false;
	*ret = now->utc_ms - span;
	return true;
}

static bool time_of_day_parse(
	const char *p, const struct moment *now, int64_t offset_ms, int64_t *ret)
{
	int64_t midnight = floor_div(now->utc_ms + offset_ms, MS_DAY) * MS_DAY - offset_ms,
		time = 0;

	if (!take_time(&p, &time) || *skip_blanks(p))
		return false;
	*ret = midnight + time;
	if (*ret > now->utc_ms)
		*ret -= MS_DAY;
	return true;
}

bool when_parse(const char *text, const struct moment *now, int64_t *ret_utc_ms, struct err *err)
{
	const char *p = skip_blanks(text);
	int64_t offset_ms = (int64_t)now->utc_offset_s * 1000, at = 0;

	if (!calendar_parse(p, offset_ms, &at) && !time_of_day_parse(p, now, offset_ms, &at) &&
		!relative_parse(p, now, offset_ms, &at))
		return err_set(err, ERR_INVALID,
			"'%.60s' is not a point in time such as '2026-11-30 21:00', '21:00', "
			"'yesterday' or "
			"'2h ago'",
			text);
	*ret_utc_ms = at;
	return true;
}

/* What fits in years 0 to 9999; a point outside is a bug elsewhere and is shown at the limit. */
static struct date date_within(int64_t ms)
{
	const int64_t max = INT64_C(253402300799999), min = INT64_C(-62167219200000);

	return date_of(ms > max ? max : ms < min ? min : ms);
}

const char *when_show(int64_t utc_ms, int32_t utc_offset_s, char text[UNITS_TEXT_MAX])
{
	int64_t shift = (int64_t)utc_offset_s * 1000, local = utc_ms;
	struct date d;

	if (!__builtin_add_overflow(utc_ms, shift, &local))
		utc_ms = local;
	d = date_within(utc_ms);
	snprintf(text, UNITS_TEXT_MAX, "%04d-%02d-%02d %02d:%02d:%02d", (int)d.year, d.month, d.day,
		d.hour, d.min, d.sec);
	return text;
}

const char *when_rfc3339(int64_t utc_ms, char text[UNITS_TEXT_MAX])
{
	struct date d = date_within(utc_ms);

	snprintf(text, UNITS_TEXT_MAX, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", (int)d.year, d.month,
		d.day, d.hour, d.min, d.sec, d.ms);
	return text;
}
