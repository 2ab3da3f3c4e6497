// SPDX-License-Identifier: MIT
#include "proxmox/calendar.h"

#include <string.h>
#include <strings.h>
#include <time.h>

#define EVERY_DAY 0x7f

struct event {
	unsigned days;    /* bit 0 Sunday, as tm_wday */
	uint64_t hours;   /* bit for each of 24 */
	uint64_t minutes; /* bit for each of 60 */
};

static bool number(const char **at, unsigned max, unsigned *ret)
{
	unsigned v = 0;
	const char *p = *at;

	while (*p >= '0' && *p <= '9' && p - *at < 3)
		v = v * 10 + (unsigned)(*p++ - '0');
	if (p == *at || v > max)
		return false;
	*at = p;
	*ret = v;
	return true;
}

/* One of a list: "*", "5", "8..17", each with "/step" after it; a number with a step runs to the
 * end. */
static bool part(const char **at, unsigned max, uint64_t *ret)
{
	unsigned from = 0, to = max, step = 1, v;
	bool single = false;

	if (**at == '*') {
		++*at;
	} else {
		if (!number(at, max, &from))
			return false;
		single = true;
		to = from;
		if ((*at)[0] == '.' && (*at)[1] == '.') {
			*at += 2;
			single = false;
			if (!number(at, max, &to) || to < from)
				return false;
		}
	}
	if (**at == '/') {
		++*at;
		if (!number(at, max, &step) || !step)
			return false;
		if (single)
			to = max;
	}
	for (v = from; v <= to; v += step)
		*ret |= UINT64_C(1) << v;
	return true;
}

/* Up to `end` exactly. */
static bool list(const char *text, const char *end, unsigned max, uint64_t *ret)
{
	const char *at = text;

	*ret = 0;
	for (;;) {
		if (!part(&at, max, ret) || at > end)
			return false;
		if (at == end)
			return true;
		if (*at++ != ',')
			return false;
	}
}

/* "HOURS:MINUTES", or "MINUTES" of every hour. */
static bool time_part(const char *text, struct event *ret)
{
	const char *end = text + strlen(text), *colon = strchr(text, ':');

	if (!colon) {
		ret->hours = (UINT64_C(1) << 24) - 1;
		return list(text, end, 59, &ret->minutes);
	}
	return list(text, colon, 23, &ret->hours) && list(colon + 1, end, 59, &ret->minutes);
}

static bool weekday(const char **at, unsigned *ret)
{
	static const char names[7][10] = {
		"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"};
	unsigned i;
	size_t len = 0;

	while (((*at)[len] | 0x20) >= 'a' && ((*at)[len] | 0x20) <= 'z')
		len++;
	for (i = 0; i < 7; i++) {
		if ((len != 3 && len != strlen(names[i])) || strncasecmp(*at, names[i], len) != 0)
			continue;
		*at += len;
		*ret = i;
		return true;
	}
	return false;
}

static bool days_part(const char *text, unsigned *ret)
{
	const char *at = text;
	unsigned from, to, i;

	*ret = 0;
	for (;;) {
		if (!weekday(&at, &from))
			return false;
		to = from;
		if (at[0] == '.' && at[1] == '.') {
			at += 2;
			if (!weekday(&at, &to))
				return false;
		}
		/* Monday is the first day: "sat..sun" runs forward, "sun..mon" is none. */
		if ((from + 6) % 7 > (to + 6) % 7)
			return false;
		for (i = (from + 6) % 7; i <= (to + 6) % 7; i++)
			*ret |= 1U << ((i + 1) % 7);
		if (!*at)
			return true;
		if (*at++ != ',')
			return false;
	}
}

static bool word(const char *text, struct event *ret)
{
	static const struct {
		const char *word, *time;
		unsigned days;
	} words[] = {
		{"minutely", "*", EVERY_DAY},
		{"hourly", "*:0", EVERY_DAY},
		{"daily", "0:0", EVERY_DAY},
		{"weekly", "0:0", 1U << 1},
	};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasecmp(text, words[i].word) != 0)
			continue;
		ret->days = words[i].days;
		return time_part(words[i].time, ret);
	}
	return false;
}

static bool parse(const char *text, struct event *ret)
{
	char first[80], *blank, *second;
	size_t len;

	text += strspn(text, " \t");
	len = strlen(text);
	while (len && strchr(" \t\r\n", text[len - 1]))
		len--;
	if (!len || len >= sizeof(first))
		return false;
	memcpy(first, text, len);
	first[len] = '\0';
	if (word(first, ret))
		return true;
	ret->days = EVERY_DAY;
	blank = strpbrk(first, " \t");
	if (!blank)
		return days_part(first, &ret->days)
			? time_part("0:0", ret)
			: (ret->days = EVERY_DAY) && time_part(first, ret);
	*blank = '\0';
	second = blank + 1 + strspn(blank + 1, " \t");
	return days_part(first, &ret->days) && time_part(second, ret);
}

/* The first start on the day `days` after that of `from`, if it is after `after`. */
static bool on_day(
	const struct event *event, const struct tm *from, int days, time_t after, time_t *ret)
{
	struct tm tm = *from;
	int minute;
	time_t at;

	tm.tm_mday += days;
	tm.tm_hour = 12;
	tm.tm_isdst = -1;
	if (mktime(&tm) == (time_t)-1 || !(event->days >> tm.tm_wday & 1))
		return false;
	for (minute = 0; minute < 24 * 60; minute++) {
		if (!(event->hours >> (minute / 60) & 1) || !(event->minutes >> (minute % 60) & 1))
			continue;
		tm = *from;
		tm.tm_mday += days;
		tm.tm_hour = minute / 60;
		tm.tm_min = minute % 60;
		tm.tm_sec = 0;
		tm.tm_isdst = -1;
		at = mktime(&tm);
		if (at != (time_t)-1 && at > after) {
			*ret = at;
			return true;
		}
	}
	return false;
}

bool calendar_next(const char *event_text, int64_t utc_ms, int64_t *ret_utc_ms)
{
	time_t after = (time_t)(utc_ms / 1000), at;
	struct event event = {0};
	struct tm tm;
	int days;

	if (!parse(event_text, &event) || !localtime_r(&after, &tm))
		return false;
	for (days = 0; days <= 8; days++) {
		if (on_day(&event, &tm, days, after, &at)) {
			*ret_utc_ms = (int64_t)at * 1000;
			return true;
		}
	}
	return false;
}
