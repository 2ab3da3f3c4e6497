// SPDX-License-Identifier: MIT
#include "proxmox/log_size.h"

#include <string.h>

#include "base/units.h"

#define DIGITS "0123456789"
#define PLACES_MAX 3

const char *log_after(const char *text, const char *start)
{
	size_t len = strlen(start);

	return text && strncmp(text, start, len) == 0 ? text + len : NULL;
}

/* 1024 to the power of the unit; 0 where there is none. */
static int64_t unit_at(const char *text, const char **ret_end)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	size_t i, len = strspn(text, "KMGTPiB");

	for (i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (len != strlen(units[i]) || strncmp(text, units[i], len) != 0)
			continue;
		*ret_end = text + len;
		return INT64_C(1) << (10 * i);
	}
	return 0;
}

const char *log_size(const char *text, int64_t *ret)
{
	size_t n = strspn(text, DIGITS), places = 0;
	const char *at = text + n, *point = at + 1, *end = NULL;
	uint64_t whole = 0, part = 0;
	int64_t unit, tenths = 1, bytes;
	size_t i;

	if (*at == '.') {
		places = strspn(point, DIGITS);
		at = point + places;
		if (!places || places > PLACES_MAX)
			return NULL;
	}
	unit = *at == ' ' ? unit_at(at + 1, &end) : 0;
	if (!n || !unit || !digits_parse(text, n, INT64_MAX / (uint64_t)unit - 1, &whole) ||
		(places && !digits_parse(point, places, UINT64_MAX, &part)))
		return NULL;
	for (i = 0; i < places; i++)
		tenths *= 10;
	/* At most 999 x 2^50. */
	bytes = (int64_t)whole * unit + (int64_t)part * unit / tenths;
	*ret = bytes;
	return end;
}
