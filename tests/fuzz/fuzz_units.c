// SPDX-License-Identifier: MIT
/* Any text as a quantity: what is taken prints to something that is taken again, as the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef bool parse_fn(const char *text, int64_t *ret, struct err *err);
typedef const char *print_fn(int64_t value, char text[UNITS_TEXT_MAX]);

static void round_trip(const char *text, parse_fn *parse, print_fn *print, print_fn *show)
{
	char printed[UNITS_TEXT_MAX];
	int64_t value = -1, again = -1;
	struct err err = {0};

	if (!parse(text, &value, &err)) {
		if (value != -1 || !err.text[0])
			abort();
		return;
	}
	show(value, printed);
	if (value < 0 || !parse(print(value, printed), &again, &err) || again != value)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct moment now = {
		.boot_ms = 1, .utc_ms = INT64_C(1796069045123), .utc_offset_s = -7200};
	char *text = malloc(size + 1), printed[UNITS_TEXT_MAX];
	int64_t value = 0, again = 0;
	uint64_t number = 0;

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	round_trip(text, span_parse, span_print, span_show);
	round_trip(text, rate_parse, rate_print, rate_show);
	round_trip(text, size_parse, size_print, size_show);
	round_trip(text, percent_parse, percent_print, percent_show);
	if (when_parse(text, &now, &value, NULL)) {
		when_show(value, now.utc_offset_s, printed);
		when_rfc3339(value, printed);
		if (value >= 0 && value < INT64_C(253402300800000) &&
			(!when_parse(printed, &now, &again, NULL) || again != value))
			abort();
	}
	u64_parse(text, 1, 1000, &number, NULL);
	digits_parse(text, size, UINT64_MAX, &number);
	free(text);
	return 0;
}
