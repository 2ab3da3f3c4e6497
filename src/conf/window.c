// SPDX-License-Identifier: MIT
#include "conf/window.h"

#include <stdio.h>
#include <string.h>

#define DAY_S 86400

static const char *const days[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};

int weekday_parse(const char *word, size_t len)
{
	int i;

	for (i = 0; i < 7; i++) {
		if (strlen(days[i]) == len && strncmp(days[i], word, len) == 0)
			return i;
	}
	return -1;
}

static bool take_two(const char **p, int max, int *ret)
{
	const char *s = *p;
	int n;

	if (s[0] < '0' || s[0] > '9' || s[1] < '0' || s[1] > '9')
		return false;
	n = (s[0] - '0') * 10 + (s[1] - '0');
	if (n > max)
		return false;
	*ret = n;
	*p = s + 2;
	return true;
}

bool daytime_take(const char **p, bool end, int32_t *ret_s)
{
	const char *s = *p;
	int hour = 0, minute = 0;

	if (!take_two(&s, 24, &hour) || *s++ != ':' || !take_two(&s, 59, &minute))
		return false;
	if (hour == 24 && (!end || minute))
		return false;
	*ret_s = hour * 3600 + minute * 60;
	*p = s;
	return true;
}

static bool take_day(const char **p, int *ret)
{
	size_t len = 0;

	while ((*p)[len] >= 'a' && (*p)[len] <= 'z')
		len++;
	*ret = weekday_parse(*p, len);
	if (*ret < 0)
		return false;
	*p += len;
	return true;
}

/* "mon-fri,sun". "fri-mon" goes over the week's end. */
static bool take_days(const char **p, uint8_t *ret)
{
	uint8_t set = 0;

	for (;;) {
		int from = 0, to = 0;

		if (!take_day(p, &from))
			return false;
		to = from;
		if (**p == '-') {
			(*p)++;
			if (!take_day(p, &to))
				return false;
		}
		for (; from != to; from = (from + 1) % 7)
			set |= (uint8_t)(1 << from);
		set |= (uint8_t)(1 << to);
		if (**p != ',')
			break;
		(*p)++;
		while (**p == ' ')
			(*p)++;
	}
	*ret = set;
	return true;
}

static bool take_window(const char *p, struct window *ret)
{
	if (*p >= 'a' && *p <= 'z') {
		if (!take_days(&p, &ret->days))
			return false;
		if (!*p)
			return true;
		if (*p != ' ')
			return false;
		while (*p == ' ')
			p++;
	}
	return daytime_take(&p, false, &ret->from_s) && *p++ == '-' &&
		daytime_take(&p, true, &ret->to_s) && !*p;
}

bool window_parse(const char *text, struct window *ret, struct err *err)
{
	struct window window = {.days = 0x7f};

	if (!take_window(text, &window))
		return err_set(err, ERR_INVALID,
			"'%.60s' is not a time such as \"22:00-06:00\", \"sat,sun\" or \"mon-fri "
			"22:00-06:00\" (days mon tue wed thu fri sat sun)",
			text);
	if (window.from_s == window.to_s && window.from_s)
		return err_set(err, ERR_INVALID,
			"'%.60s' ends when it begins; for whole days write the days only, or "
			"\"00:00-24:00\"",
			text);
	if (window.from_s == 0 && window.to_s == DAY_S)
		window.to_s = 0;
	*ret = window;
	return true;
}

static size_t days_print(uint8_t set, char text[WINDOW_TEXT_MAX])
{
	size_t used = 0;
	int i, end;

	for (i = 0; i < 7; i = end + 1) {
		end = i;
		if (!(set & 1 << i))
			continue;
		while (end < 6 && set & 1 << (end + 1))
			end++;
		used += (size_t)snprintf(
			text + used, WINDOW_TEXT_MAX - used, "%s%s", used ? "," : "", days[i]);
		if (end > i)
			used += (size_t)snprintf(text + used, WINDOW_TEXT_MAX - used, "%c%s",
				end > i + 1 ? '-' : ',', days[end]);
	}
	return used;
}

const char *window_print(const struct window *window, char text[WINDOW_TEXT_MAX])
{
	bool whole = window->from_s == window->to_s;
	size_t used = 0;

	text[0] = '\0';
	if (whole || window->days != 0x7f)
		used = days_print(window->days, text);
	if (!whole)
		snprintf(text + used, WINDOW_TEXT_MAX - used, "%s%02d:%02d-%02d:%02d",
			used ? " " : "", window->from_s / 3600, window->from_s / 60 % 60,
			window->to_s / 3600, window->to_s / 60 % 60);
	return text;
}
