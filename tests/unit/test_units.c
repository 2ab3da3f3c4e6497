// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/units.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

struct pair {
	const char *text;
	int64_t value;
};

typedef bool parse_fn(const char *text, int64_t *ret, struct err *err);
typedef const char *print_fn(int64_t value, char text[UNITS_TEXT_MAX]);

static void parses(parse_fn *parse, const struct pair *pairs, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		struct err err = {0};
		int64_t v = -7;

		if (!parse(pairs[i].text, &v, &err))
			fail_msg("'%s': %s", pairs[i].text, err.text);
		if (v != pairs[i].value)
			fail_msg("'%s' gives %lld", pairs[i].text, (long long)v);
	}
}

static void refuses(parse_fn *parse, const char *const *texts, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		struct err err = {0};
		int64_t v = -7;

		if (parse(texts[i], &v, &err))
			fail_msg("'%s' was taken", texts[i]);
		assert_int_equal(v, -7);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_true(strlen(err.text) > 10);
	}
}

static void prints(print_fn *print, const struct pair *pairs, size_t n)
{
	char text[UNITS_TEXT_MAX];
	size_t i;

	for (i = 0; i < n; i++)
		assert_string_equal(print(pairs[i].value, text), pairs[i].text);
}

static void a_span_is_a_sum_of_falling_units(void **state)
{
	static const struct pair good[] = {{"0", 0}, {" 0 ", 0}, {"0s", 0}, {"90s", 90000},
		{"10 min", 600000}, {"10m", 600000}, {"8h", 28800000}, {"1h 30min", 5400000},
		{"1h30min", 5400000}, {"2d", 172800000}, {"1w", 604800000}, {"500ms", 500},
		{"3 sec", 3000}, {"1d 2h 3min 4s 5ms", 93784005}, {"\t20h ", 72000000},
		{"9223372036854775807ms", INT64_MAX}};
	static const char *const bad[] = {"", " ", "90", "00", "-5s", "+5s", "1.5h", "05s", "0x10s",
		"1e3s", "s", "5 years", "5H", "30min 1h", "1h 1h", "1h,30min",
		"9223372036854775808ms", "99999999999999999999s", "15250284453w", "5s x", "5 s s",
		"\xff"};

	(void)state;
	parses(span_parse, good, COUNT(good));
	refuses(span_parse, bad, COUNT(bad));
}

static void a_rate_has_a_unit_for_each_second(void **state)
{
	static const struct pair good[] = {{"0", 0}, {"150 MB/s", 150000000},
		{"1.5 GiB/s", 1610612736}, {"800KiB/s", 819200}, {"1 B/s", 1}, {"2kB/s", 2000},
		{"2KB/s", 2000}, {"3 TB/s", 3000000000000}, {"0.0005 MB/s", 500}, {"0 MB/s", 0},
		{" 1 TiB/s ", 1099511627776}};
	static const char *const bad[] = {"", "150", "150 MB", "150 mb/s", "150 Mbit/s", "-1 MB/s",
		"1. MB/s", ".5 MB/s", "01 MB/s", "1.0000000001 MB/s", "1 MB /s", "1 MB/s/s",
		"9223372036855 MB/s", "8388608 TiB/s", "1,5 MB/s", "1 MB/min"};

	(void)state;
	parses(rate_parse, good, COUNT(good));
	refuses(rate_parse, bad, COUNT(bad));
}

static void a_size_is_bytes(void **state)
{
	static const struct pair good[] = {{"10 GiB", INT64_C(10737418240)}, {"500 MB", 500000000},
		{"0", 0}, {"0.1 KiB", 102}, {"8388607 TiB", INT64_C(9223370937343148032)}};
	static const char *const bad[] = {"10", "10 GiB/s", "10 G", "8388608 TiB", "GiB"};

	(void)state;
	parses(size_parse, good, COUNT(good));
	refuses(size_parse, bad, COUNT(bad));
}

static void a_percentage_ends_at_a_hundred(void **state)
{
	static const struct pair good[] = {{"80%", 800000}, {"97.5 %", 975000}, {"0%", 0},
		{"100%", 1000000}, {"0.0001%", 1}, {"100.0%", 1000000}};
	static const char *const bad[] = {
		"80", "100.1%", "101%", "-1%", "1.00001%", "080%", "8 0%", "%", "1%%"};

	(void)state;
	parses(percent_parse, good, COUNT(good));
	refuses(percent_parse, bad, COUNT(bad));
}

static void whole_numbers_keep_their_bounds(void **state)
{
	struct err err = {0};
	uint64_t n = 7;

	(void)state;
	assert_true(u64_parse(" 12 ", 1, 20, &n, &err));
	assert_int_equal(n, 12);
	assert_true(u64_parse("18446744073709551615", 0, UINT64_MAX, &n, &err));
	assert_true(n == UINT64_MAX);
	n = 7;
	assert_false(u64_parse("18446744073709551616", 0, UINT64_MAX, &n, &err));
	assert_false(u64_parse("0", 1, 20, &n, &err));
	assert_string_equal(err.text, "'0' is not between 1 and 20");
	assert_false(u64_parse("21", 1, 20, &n, &err));
	assert_false(u64_parse("012", 1, 20, &n, &err));
	assert_false(u64_parse("1 2", 1, 20, &n, &err));
	assert_false(u64_parse("", 0, 20, &n, &err));
	assert_int_equal(n, 7);
}

static void kernel_digits_may_lead_with_zeros(void **state)
{
	uint64_t n = 7;

	(void)state;
	assert_true(digits_parse("0042x", 4, 100, &n));
	assert_int_equal(n, 42);
	n = 7;
	assert_false(digits_parse("42x", 3, 100, &n));
	assert_false(digits_parse("", 0, 100, &n));
	assert_false(digits_parse("101", 3, 100, &n));
	assert_false(digits_parse("18446744073709551616", 20, UINT64_MAX, &n));
	assert_int_equal(n, 7);
	assert_true(digits_parse("18446744073709551615", 20, UINT64_MAX, &n));
	assert_true(n == UINT64_MAX);
}

static void exact_forms_are_the_shortest(void **state)
{
	static const struct pair spans[] = {{"0", 0}, {"1h 30min", 5400000}, {"7d", 604800000},
		{"1s 1ms", 1001}, {"1d 5min", 86700000}, {"-5s", -5000}};
	static const struct pair rates[] = {{"0", 0}, {"150 MB/s", 150000000}, {"1234 B/s", 1234},
		{"1.5 GiB/s", 1610612736}, {"1 KiB/s", 1024}, {"1.5 kB/s", 1500},
		{"37 MB/s", 37000000}};
	static const struct pair percents[] = {
		{"97.5%", 975000}, {"80%", 800000}, {"0%", 0}, {"100%", 1000000}, {"0.0001%", 1}};

	(void)state;
	prints(span_print, spans, COUNT(spans));
	prints(rate_print, rates, COUNT(rates));
	prints(percent_print, percents, COUNT(percents));
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *seed >> 1;
}

static void what_is_printed_parses_to_the_same(void **state)
{
	uint64_t seed = 1;
	int i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		int64_t v = (int64_t)(next_random(&seed) >> (i % 63)), back = -1;
		char text[UNITS_TEXT_MAX];
		struct err err = {0};

		assert_true(span_parse(span_print(v, text), &back, &err));
		assert_true(back == v);
		assert_true(rate_parse(rate_print(v, text), &back, &err));
		assert_true(back == v);
		assert_true(size_parse(size_print(v, text), &back, &err));
		assert_true(back == v);
		assert_true(percent_parse(percent_print(v % 1000001, text), &back, &err));
		assert_true(back == v % 1000001);
	}
}

static void rounded_forms_read_well(void **state)
{
	static const struct pair spans[] = {{"0s", 0}, {"450ms", 450}, {"42s", 42999},
		{"1min 30s", 90000}, {"1h 32min", 5520000 + 7000}, {"1h", 3605000},
		{"2d 3h", 183600000}, {"-1min", -60000}};
	static const struct pair rates[] = {{"0 B/s", 0}, {"999 B/s", 999}, {"1.0 kB/s", 1000},
		{"37 MB/s", 37400000}, {"9.9 MB/s", 9940000}, {"10 MB/s", 9960000},
		{"1.0 MB/s", 999700}, {"1.1 GB/s", 1100000000}};
	static const struct pair sizes[] = {
		{"1.5 TiB", INT64_C(1649267441664)}, {"1023 B", 1023}, {"16 MiB", 16777216}};
	static const struct pair percents[] = {
		{"41.3 %", 413900}, {"99.9 %", 999999}, {"100.0 %", 1000000}, {"0.0 %", 0}};

	(void)state;
	prints(span_show, spans, COUNT(spans));
	prints(rate_show, rates, COUNT(rates));
	prints(size_show, sizes, COUNT(sizes));
	prints(percent_show, percents, COUNT(percents));
}

/* 2026-11-30T20:04:05.123Z, in a zone one hour east. */
static const struct moment noon = {
	.boot_ms = 5, .utc_ms = INT64_C(1796069045123), .utc_offset_s = 3600};

static bool when_here(const char *text, int64_t *ret, struct err *err)
{
	return when_parse(text, &noon, ret, err);
}

static void a_point_in_time_is_local_unless_it_says_otherwise(void **state)
{
	const int64_t midnight = INT64_C(1795993200000); /* 2026-11-30 00:00 local */
	const struct pair good[] = {{"2026-11-30", midnight},
		{"2026-11-30 21:00", midnight + 21 * MS_HOUR},
		{"2026-11-30T21:00:05Z", midnight + 22 * MS_HOUR + 5000},
		{"2026-11-30T21:00:05", midnight + 21 * MS_HOUR + 5000},
		{"2026-11-30T21:00:05.250+02:00", midnight + 20 * MS_HOUR + 5250},
		{"21:00", midnight + 21 * MS_HOUR}, {"22:00", midnight - 2 * MS_HOUR},
		{"today", midnight}, {"yesterday", midnight - MS_DAY}, {"now", noon.utc_ms},
		{"-2h", noon.utc_ms - 2 * MS_HOUR}, {"2h ago", noon.utc_ms - 2 * MS_HOUR},
		{"1h 30min ago", noon.utc_ms - 90 * MS_MINUTE},
		{"@1796000000", INT64_C(1796000000000)}, {" 2024-02-29 ", INT64_C(1709161200000)}};
	static const char *const bad[] = {"", "2026-02-29", "2026-13-01", "2026-1-1",
		"2026-11-30 25:00", "24:00", "9:00", "2h", "tomorrow", "2026-11-30T",
		"2026-11-30 21:00x", "-", "@", "@-5", "1969-12-31", "100000000w ago",
		"2026-11-30T21:00:05Z Z"};

	(void)state;
	parses(when_here, good, COUNT(good));
	refuses(when_here, bad, COUNT(bad));
}

static void points_print_in_both_forms(void **state)
{
	char text[UNITS_TEXT_MAX];
	int64_t back = 0;
	struct err err = {0};

	(void)state;
	assert_string_equal(when_rfc3339(noon.utc_ms, text), "2026-11-30T20:04:05.123Z");
	assert_true(when_parse(text, &noon, &back, &err));
	assert_true(back == noon.utc_ms);
	assert_string_equal(when_show(noon.utc_ms, 3600, text), "2026-11-30 21:04:05");
	assert_string_equal(when_show(0, -3600, text), "1969-12-31 23:00:00");
	assert_string_equal(when_rfc3339(INT64_MAX, text), "9999-12-31T23:59:59.999Z");
	assert_string_equal(when_rfc3339(INT64_MIN, text), "0000-01-01T00:00:00.000Z");
	assert_string_equal(when_rfc3339(INT64_C(951782400000), text), "2000-02-29T00:00:00.000Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_span_is_a_sum_of_falling_units),
		cmocka_unit_test(a_rate_has_a_unit_for_each_second),
		cmocka_unit_test(a_size_is_bytes),
		cmocka_unit_test(a_percentage_ends_at_a_hundred),
		cmocka_unit_test(whole_numbers_keep_their_bounds),
		cmocka_unit_test(kernel_digits_may_lead_with_zeros),
		cmocka_unit_test(exact_forms_are_the_shortest),
		cmocka_unit_test(what_is_printed_parses_to_the_same),
		cmocka_unit_test(rounded_forms_read_well),
		cmocka_unit_test(a_point_in_time_is_local_unless_it_says_otherwise),
		cmocka_unit_test(points_print_in_both_forms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
