// SPDX-License-Identifier: MIT
/* Lever 2's rule: whose it is, its rate, how long a rest may last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gate/pbs_lever_rule.h"

static void a_name_is_one_that_the_server_takes(void **state)
{
	char name[PBS_RULE_NAME_MAX], other[PBS_RULE_NAME_MAX];

	(void)state;
	pbs_own_name("pve1", name);
	assert_string_equal(name, "rebuildgate-pve1");
	pbs_own_name("a-node-with-a-very-long-name-1", name);
	pbs_own_name("a-node-with-a-very-long-name-2", other);
	assert_int_equal(strlen(name), PBS_RULE_NAME_MAX - 1);
	assert_string_not_equal(name, other);
	pbs_own_name("b\xc3\xb6se node/", name);
	assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-"), strlen(name));
	pbs_own_name("b__se_node_", other);
	assert_string_not_equal(name, other);
}

static void ours_is_what_has_our_name_and_our_comment(void **state)
{
	struct pbs_rule rule = {0};

	(void)state;
	pbs_own_name("pve1", rule.name);
	pbs_own_comment(
		"pve1", "md2 is rebuilt", 1796083200, 3600, rule.comment, sizeof(rule.comment));
	assert_non_null(strstr(rule.comment, "rebuildgate on pve1: md2 is rebuilt; until "));
	assert_true(pbs_own_is("pve1", &rule));
	assert_true(pbs_own_any(&rule));
	assert_false(pbs_own_is("pve2", &rule));
	snprintf(rule.comment, sizeof(rule.comment), "rebuildgate on pve11: x");
	assert_false(pbs_own_is("pve1", &rule));
	rule.comment[0] = '\0';
	assert_false(pbs_own_is("pve1", &rule));
	pbs_own_comment("pve1", "x", 0, 0, rule.comment, sizeof(rule.comment));
	snprintf(rule.name, sizeof(rule.name), "office");
	assert_false(pbs_own_is("pve1", &rule));
	assert_false(pbs_own_any(&rule));
}

static void a_comment_tells_the_servers_time_and_holds_nothing_that_it_refuses(void **state)
{
	char text[256], why[400];
	size_t i, n;

	(void)state;
	pbs_own_comment("n", "why", 1796083200, 3600, text, sizeof(text)); /* 00:00 UTC */
	assert_non_null(strstr(text, "until 01:00"));
	pbs_own_comment("n", "why", 1796083200, -1800, text, sizeof(text));
	assert_non_null(strstr(text, "until 23:30"));
	pbs_own_comment("n", "a\nb\tc\x7f", 0, 0, text, sizeof(text));
	for (i = 0; text[i]; i++)
		assert_true((unsigned char)text[i] >= 0x20 && text[i] != 0x7f);
	/* Long ones are cut at a whole character, wherever that falls. */
	for (n = 140; n < 170; n++) {
		memset(why, 'x', n);
		snprintf(why + n, sizeof(why) - n, "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac");
		pbs_own_comment("n", why, 0, 0, text, sizeof(text));
		assert_non_null(strstr(text, "; until 00:00"));
		for (i = 0; text[i]; i++)
			if ((unsigned char)text[i] == 0xe2) {
				assert_int_equal((unsigned char)text[i + 1], 0x82);
				assert_int_equal((unsigned char)text[i + 2], 0xac);
			}
	}
}

static void another_rule_for_all_is_seen_and_another_gates_is_none(void **state)
{
	struct pbs_rule rule = {.name = "office", .n_networks = 1};

	(void)state;
	snprintf(rule.networks[0], sizeof(rule.networks[0]), "0.0.0.0/0");
	assert_true(pbs_rule_for_all(&rule));
	rule.has_users = true;
	assert_false(pbs_rule_for_all(&rule));
	rule.has_users = false;
	snprintf(rule.networks[0], sizeof(rule.networks[0]), "10.0.0.0/8");
	assert_false(pbs_rule_for_all(&rule));
	snprintf(rule.networks[0], sizeof(rule.networks[0]), "::/0");
	pbs_own_name("pve2", rule.name);
	pbs_own_comment("pve2", "x", 0, 0, rule.comment, sizeof(rule.comment));
	assert_false(pbs_rule_for_all(&rule));
}

static void no_rate_is_nothing_and_none_lifts_an_administrators(void **state)
{
	static const enum steer_path paths[] = {STEER_OPEN, STEER_LIMIT, STEER_REST};
	static const int64_t rates[] = {0, 1, 65536, 1000000, 5000000, INT64_C(1) << 50, INT64_MAX};
	static const int64_t caps[] = {0, 1000, 2000000, 50000000};
	struct pbs_rest rest = {0};
	size_t i, k, m;
	int64_t rate;

	(void)state;
	assert_int_equal(pbs_own_rate(STEER_FREE, 5000000, 0, &rest, 1), 0);
	assert_int_equal(pbs_own_rate(STEER_NONE, 5000000, 0, &rest, 1), 0);
	for (i = 0; i < 3; i++)
		for (k = 0; k < 7; k++)
			for (m = 0; m < 4; m++) {
				rate = pbs_own_rate(paths[i], rates[k], caps[m], &rest, 1);
				assert_true(rate >= PBS_RATE_LEAST);
				assert_true(rate <= PBS_OPEN_RATE);
				assert_true(paths[i] == STEER_REST || rate >= PBS_MOVES_LEAST);
				assert_true(!caps[m] || rate <= caps[m] || rate <= PBS_MOVES_LEAST);
			}
	assert_int_equal(pbs_own_rate(STEER_LIMIT, 5000000, 0, &rest, 1), 5000000);
	assert_int_equal(pbs_own_rate(STEER_LIMIT, 1000, 0, &rest, 1), PBS_MOVES_LEAST);
}

static void what_is_in_force_is_told_as_a_path(void **state)
{
	(void)state;
	assert_int_equal(pbs_own_path(0, 0), STEER_FREE);
	assert_int_equal(pbs_own_path(PBS_RATE_LEAST, 0), STEER_REST);
	assert_int_equal(pbs_own_path(PBS_MOVES_RATE, 0), STEER_LIMIT);
	assert_int_equal(pbs_own_path(PBS_OPEN_RATE, 0), STEER_OPEN);
	assert_int_equal(pbs_own_path(50000000, 50000000), STEER_OPEN);
}

/* Ten minutes in which nothing but rests is wanted, in steps of a second; a change takes effect
 * `lag` later. Returns the longest time in one piece in which less than PBS_MOVES_LEAST passed. */
static int64_t longest_rest(int64_t lag_ms, int64_t *ret_rested)
{
	struct pbs_rest rest = {0};
	int64_t now, rate = 0, wanted, began = 0, longest = 0, acts = 0, in_force = 0;

	*ret_rested = 0;
	for (now = 1000; now < 10 * MS_MINUTE; now += MS_SECOND) {
		wanted = pbs_own_rate(STEER_REST, 0, 0, &rest, now);
		if (wanted != rate) {
			pbs_rest_set(&rest, wanted, now);
			rate = wanted;
			acts = now + lag_ms;
		}
		if (now >= acts)
			in_force = rate;
		if (in_force && in_force < PBS_MOVES_LEAST) {
			began = began ? began : now;
			*ret_rested += MS_SECOND;
		} else {
			began = 0;
		}
		if (began && now - began > longest)
			longest = now - began;
	}
	return longest;
}

static void a_rest_ends_by_itself_within_a_minute_whatever_is_wanted(void **state)
{
	int64_t rested;

	(void)state;
	assert_in_range(longest_rest(0, &rested), 50 * MS_SECOND, MS_MINUTE);
	assert_true(rested > 7 * MS_MINUTE);
	assert_in_range(longest_rest(PBS_ACTS_MS, &rested), 50 * MS_SECOND, MS_MINUTE);
	assert_true(rested > 7 * MS_MINUTE);
}

static void a_moment_of_opening_does_not_make_two_rests_of_one(void **state)
{
	struct pbs_rest rest = {0};

	(void)state;
	pbs_rest_set(&rest, PBS_RATE_LEAST, 1000);
	pbs_rest_set(&rest, PBS_OPEN_RATE, 41000);
	pbs_rest_set(&rest, PBS_RATE_LEAST, 43000);
	assert_int_equal(pbs_rest_rate(&rest, 55000), PBS_RATE_LEAST);
	assert_int_equal(pbs_rest_rate(&rest, 56000), PBS_MOVES_RATE);
	assert_int_equal(pbs_rest_next(&rest, 43000), 56000);
	/* After a real pause it is another one. */
	pbs_rest_set(&rest, PBS_MOVES_RATE, 56000);
	assert_int_equal(pbs_rest_rate(&rest, 57000), PBS_MOVES_RATE);
	assert_int_equal(pbs_rest_next(&rest, 57000), 56000 + PBS_REST_GAP_MS);
	assert_int_equal(pbs_rest_rate(&rest, 56000 + PBS_REST_GAP_MS), PBS_RATE_LEAST);
	pbs_rest_set(&rest, PBS_RATE_LEAST, 56000 + PBS_REST_GAP_MS);
	assert_int_equal(pbs_rest_rate(&rest, 56000 + PBS_REST_GAP_MS + 50000), PBS_RATE_LEAST);
	assert_int_equal(pbs_rest_next(&rest, 56000 + PBS_REST_GAP_MS),
		56000 + PBS_REST_GAP_MS + PBS_REST_MOST_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_one_that_the_server_takes),
		cmocka_unit_test(ours_is_what_has_our_name_and_our_comment),
		cmocka_unit_test(
			a_comment_tells_the_servers_time_and_holds_nothing_that_it_refuses),
		cmocka_unit_test(another_rule_for_all_is_seen_and_another_gates_is_none),
		cmocka_unit_test(no_rate_is_nothing_and_none_lifts_an_administrators),
		cmocka_unit_test(what_is_in_force_is_told_as_a_path),
		cmocka_unit_test(a_rest_ends_by_itself_within_a_minute_whatever_is_wanted),
		cmocka_unit_test(a_moment_of_opening_does_not_make_two_rests_of_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
