// SPDX-License-Identifier: MIT
/* The canonical bytes: what they are, and that no two rows share them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/chain.h"

static const unsigned char zero[CHAIN_HASH_LEN];

#define F(text)                                                                                    \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}

static void a_row_is_the_hash_before_and_netstrings(void **state)
{
	static const struct chain_field fields[] = {F("hold"), {NULL, 0}, F(""), F("a,1:b")};
	static const char want[] = "4:hold,~,0:,5:a,1:b,";
	unsigned char prev[CHAIN_HASH_LEN];
	char got[128];
	size_t n;

	(void)state;
	memset(prev, 0xa5, sizeof(prev));
	n = chain_bytes(prev, fields, 4, got, sizeof(got));
	assert_int_equal(n, sizeof(prev) + sizeof(want) - 1);
	assert_memory_equal(got, prev, sizeof(prev));
	assert_memory_equal(got + sizeof(prev), want, sizeof(want) - 1);
}

static void another_split_gives_other_bytes(void **state)
{
	static const struct chain_field rows[][2] = {{F("ab"), F("c")}, {F("a"), F("bc")},
		{F("abc"), F("")}, {F("abc"), {NULL, 0}}, {F("2:ab,"), F("c")},
		{F("1:c"), F("ab")}};
	char got[6][128] = {{0}};
	size_t i, j;

	(void)state;
	for (i = 0; i < 6; i++)
		chain_bytes(zero, rows[i], 2, got[i], sizeof(got[i]));
	for (i = 0; i < 6; i++) {
		for (j = 0; j < i; j++)
			assert_memory_not_equal(got[i], got[j], sizeof(got[i]));
	}
}

static void the_row_before_counts(void **state)
{
	static const struct chain_field field = F("x");
	unsigned char prev[CHAIN_HASH_LEN] = {1};
	char a[64] = {0}, b[64] = {0};

	(void)state;
	chain_bytes(zero, &field, 1, a, sizeof(a));
	chain_bytes(prev, &field, 1, b, sizeof(b));
	assert_memory_not_equal(a, b, sizeof(a));
}

/* At each size the same length is told, and nothing is written past the end. */
static void a_small_buffer_is_never_passed(void **state)
{
	static const struct chain_field fields[] = {F("hello"), {NULL, 0}, F("you")};
	char got[64];
	size_t need = chain_bytes(zero, fields, 3, NULL, 0), size, i;

	(void)state;
	assert_int_equal(need, CHAIN_HASH_LEN + 8 + 2 + 6);
	for (size = 0; size <= need; size++) {
		memset(got, '#', sizeof(got));
		assert_int_equal(chain_bytes(zero, fields, 3, got, size), need);
		for (i = size; i < sizeof(got); i++)
			assert_int_equal(got[i], '#');
	}
	assert_int_equal(got[need - 1], ',');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_is_the_hash_before_and_netstrings),
		cmocka_unit_test(another_split_gives_other_bytes),
		cmocka_unit_test(the_row_before_counts),
		cmocka_unit_test(a_small_buffer_is_never_passed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
