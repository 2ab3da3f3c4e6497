// SPDX-License-Identifier: MIT
/* The words of orders to a NAS, and what it answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nas/order.h"

static char line[ORDER_LINE_MAX];
static struct err err;

static void orders_are_words_with_an_end(void **state)
{
	(void)state;
	assert_true(order_look("md2", line, &err));
	assert_string_equal(line, "look md2\n");
	assert_true(order_free("md127", line, &err));
	assert_string_equal(line, "free md127\n");
	assert_true(order_resume("md_d0", line, &err));
	assert_string_equal(line, "resume md_d0\n");
	assert_true(order_pause("md2", 600, line, &err));
	assert_string_equal(line, "pause md2 600\n");
	assert_true(order_moved(line, &err));
	assert_string_equal(line, "moved\n");
}

static void an_order_says_who_gives_it(void **state)
{
	static const char *const bad[] = {"", "-", "_a", "a b", "a.b", "a\n", "ab;c",
		"a2345678901234567890123456789012345678901234567890"};
	size_t i;

	(void)state;
	assert_true(order_floor("md2", OPT(16000), OPT(4096), 600, line, &err));
	assert_true(order_by("pve1-0a1b2c3d", line, &err));
	assert_string_equal(line, "by pve1-0a1b2c3d floor md2 16000 4096 600\n");
	assert_true(order_moved(line, &err));
	assert_true(order_by(ORDER_ANYONE, line, &err));
	assert_string_equal(line, "by any moved\n");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err = (struct err){0};
		assert_true(order_look("md2", line, &err));
		assert_false(order_by(bad[i], line, &err));
		assert_int_equal(err.kind, ERR_INVALID);
		assert_string_equal(line, "look md2\n");
	}
}

static void whose_a_move_is_stands_in_the_answer(void **state)
{
	struct order_state got;

	(void)state;
	assert_true(order_answer(
		"ok array=md2 by=pve2-0b by_s=540 check_by=nas_x check_by_s=7\n", &got, &err));
	assert_string_equal(got.by, "pve2-0b");
	assert_int_equal(got.by_s.v, 540);
	assert_string_equal(got.check_by, "nas_x");
	assert_int_equal(got.check_by_s.v, 7);
	assert_true(order_answer("ok array=md2\n", &got, &err));
	assert_string_equal(got.by, "");
	assert_false(got.by_s.known || got.check_by_s.known);
	assert_false(order_answer("ok array=md2 by=a;b by_s=540\n", &got, &err));
	assert_int_equal(err.kind, ERR_PROTOCOL);
}

static void anothers_move_is_a_refusal_of_its_own(void **state)
{
	static const char *const none[] = {"ok array=md2\n", "error no\n", "error other\n",
		"error other=\n", "error other=a;b undo_s=5 no\n", "error other=a undo_s=x\n",
		"failed silent other=a undo_s=5\n", "error undo_s=5 other=a\n"};
	struct order_other other = {0};
	struct order_state got;
	size_t i;

	(void)state;
	assert_true(order_other(
		"error other=pve2-0b undo_s=540 md2 is moved by another: not touched\n", &other));
	assert_string_equal(other.name, "pve2-0b");
	assert_int_equal(other.undo_s, 540);
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_false(order_other(none[i], &other));
	err = (struct err){0};
	assert_false(order_answer("error other=pve2-0b undo_s=540 no\n", &got, &err));
	assert_int_equal(err.kind, ERR_DENIED);
}

static void a_script_that_knows_no_names_is_known(void **state)
{
	(void)state;
	assert_true(order_knows_no_names(
		"error the orders are look, floor, free, pause, resume and moved\n"));
	assert_false(order_knows_no_names("error there is no array md9 here\n"));
	assert_false(order_knows_no_names("failed exit-status the orders are\n"));
}

static void a_floor_leaves_what_it_does_not_name(void **state)
{
	(void)state;
	assert_true(order_floor("md2", OPT(16000), OPT(4096), 600, line, &err));
	assert_string_equal(line, "floor md2 16000 4096 600\n");
	assert_true(order_floor("md2", OPT(16000), OPT_NONE, 10, line, &err));
	assert_string_equal(line, "floor md2 16000 - 10\n");
	assert_true(order_floor("md2", OPT_NONE, OPT(17), 7200, line, &err));
	assert_string_equal(line, "floor md2 - 17 7200\n");
	assert_false(order_floor("md2", OPT_NONE, OPT_NONE, 600, line, &err));
	assert_int_equal(err.kind, ERR_INVALID);
}

static void numbers_out_of_range_are_no_order(void **state)
{
	static const struct {
		int64_t kib, pages, span;
		bool good;
	} rows[] = {
		{1, 17, 10, true},
		{10000000, 32768, 7200, true},
		{0, 17, 10, false},
		{-1, 17, 10, false},
		{10000001, 17, 10, false},
		{1, 16, 10, false},
		{1, 32769, 10, false},
		{1, 17, 9, false},
		{1, 17, 7201, false},
		{INT64_MAX, 17, 10, false},
		{1, INT64_MIN, 10, false},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		err = (struct err){0};
		assert_int_equal(order_floor("md2", OPT(rows[i].kib), OPT(rows[i].pages),
					 rows[i].span, line, &err),
			rows[i].good);
		assert_int_equal(err.kind, rows[i].good ? ERR_NONE : ERR_INVALID);
	}
	assert_false(order_pause("md2", 9, line, &err));
	assert_false(order_pause("md2", 7201, line, &err));
}

static void only_names_of_arrays_are_ordered_about(void **state)
{
	static const char *const good[] = {"md0", "md127", "md_d0", "md_NAS-2_a"};
	static const char *const bad[] = {"", "md", "md_", "sda", "mdx", "md2;reboot", "md2 md3",
		"md2\n", "../md2", "md2/..", "md_a.b", "md_$(x)", "md-2", "MD2",
		"md12345678901234567890123456789012"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(order_array(good[i]));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(order_array(bad[i]));
		assert_false(order_look(bad[i], line, &err));
		assert_int_equal(err.kind, ERR_INVALID);
		assert_false(order_floor(bad[i], OPT(1000), OPT_NONE, 60, line, &err));
	}
}

static void an_answer_says_what_stands_there(void **state)
{
	struct order_state got;

	(void)state;
	assert_true(order_answer("ok array=md2 level=raid6 disks=5 memory_kib=1024000 "
				 "speed_min=16000 speed_min_kind=local stripe_cache=4096 "
				 "operation=recover paused_at=5000192 undo_s=600\n",
		&got, &err));
	assert_string_equal(got.array, "md2");
	assert_string_equal(got.operation, "recover");
	assert_true(got.speed_min_local);
	assert_int_equal(got.raid_disks.v, 5);
	assert_int_equal(got.memory_kib.v, 1024000);
	assert_int_equal(got.speed_min_kib.v, 16000);
	assert_int_equal(got.stripe_cache.v, 4096);
	assert_int_equal(got.paused_at.v, 5000192);
	assert_int_equal(got.undo_s.v, 600);
}

static void what_is_not_said_is_unknown(void **state)
{
	struct order_state got;

	(void)state;
	assert_true(order_answer(
		"ok array=md1 speed_min=1000 speed_min_kind=system news=good", &got, &err));
	assert_false(got.speed_min_local);
	assert_false(got.stripe_cache.known);
	assert_false(got.paused_at.known);
	assert_false(got.undo_s.known);
	assert_false(got.memory_kib.known);
	assert_string_equal(got.operation, "");
}

static void a_refusal_is_the_nas_s_sentence(void **state)
{
	struct order_state got;

	(void)state;
	assert_false(order_answer("error there is no array md7 here\r\n", &got, &err));
	assert_int_equal(err.kind, ERR_DENIED);
	assert_string_equal(err.text, "there is no array md7 here");
	assert_false(order_answer("failed auth nas1 refuses the key", &got, &err));
	assert_int_equal(err.kind, ERR_GONE);
	assert_string_equal(err.text, "nas1 refuses the key");
}

static void other_texts_are_not_understood(void **state)
{
	static const char *const bad[] = {"", "\n", "okay", "Personalities : [raid6]", "ok",
		"ok level=raid6", "ok array=sda", "ok array=md2 disks=five",
		"ok array=md2 disks=", "ok array=md2 disks=-1",
		"ok array=md2 disks=99999999999999999999", "ok array=md2 junk",
		"ok array=md2 speed_min_kind=other", "ok moved=md2",
		"ok array=md2 operation=a-word-that-is-longer-than-any"};
	struct order_state got;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err = (struct err){0};
		assert_false(order_answer(bad[i], &got, &err));
		assert_int_equal(err.kind, ERR_PROTOCOL);
	}
}

static void the_moved_arrays_are_named(void **state)
{
	char names[3][MD_NAME_MAX];
	size_t n = 9;

	(void)state;
	assert_true(order_moved_answer("ok moved=-\n", 3, names, &n, &err));
	assert_int_equal(n, 0);
	assert_true(order_moved_answer("ok moved=md2,md_d0,md127\n", 3, names, &n, &err));
	assert_int_equal(n, 3);
	assert_string_equal(names[0], "md2");
	assert_string_equal(names[1], "md_d0");
	assert_string_equal(names[2], "md127");
	assert_false(order_moved_answer("ok moved=md2,md3,md4,md5\n", 3, names, &n, &err));
	assert_int_equal(err.kind, ERR_PROTOCOL);
	assert_false(order_moved_answer("ok moved=md2,,md3\n", 3, names, &n, &err));
	assert_false(order_moved_answer("ok moved=../x\n", 3, names, &n, &err));
	assert_false(order_moved_answer("ok array=md2\n", 3, names, &n, &err));
	assert_false(order_moved_answer("error no\n", 3, names, &n, &err));
	assert_int_equal(err.kind, ERR_DENIED);
}

static void a_refused_key_wants_patience(void **state)
{
	(void)state;
	assert_true(order_needs_patience("failed auth nas1 refuses the key\n"));
	assert_true(order_needs_patience("failed host-key it has changed\n"));
	assert_false(order_needs_patience("failed unreachable no route\n"));
	assert_false(order_needs_patience("error auth\n"));
	assert_false(order_needs_patience("ok array=md2\n"));
	assert_false(order_needs_patience("failed\n"));
	assert_false(order_needs_patience(""));
}

static void the_cache_stays_within_its_share_of_memory(void **state)
{
	(void)state;
	/* 1 GiB, five disks, 10 %: 104857 KiB in pages of 4 KiB on each of five disks. */
	assert_int_equal(order_stripe_pages(1048576, 5, 100000), 5242);
	assert_true(INT64_C(5242) * 4 * 5 <= 104857 && INT64_C(5243) * 4 * 5 > 104857);
	assert_int_equal(order_stripe_pages(INT64_C(64) << 20, 4, 500000), 32768);
	assert_int_equal(order_stripe_pages(65536, 8, 100000), 0);
	assert_int_equal(order_stripe_pages(51200, 5, 100000), 256);
	assert_int_equal(order_stripe_pages(51199, 5, 100000), 0);
	assert_int_equal(order_stripe_pages(0, 5, 100000), 0);
	assert_int_equal(order_stripe_pages(1048576, 0, 100000), 0);
	assert_int_equal(order_stripe_pages(1048576, 5, 0), 0);
	assert_int_equal(order_stripe_pages(1048576, 5, 1000001), 0);
	assert_int_equal(order_stripe_pages(INT64_MAX, 5, 100000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders_are_words_with_an_end),
		cmocka_unit_test(an_order_says_who_gives_it),
		cmocka_unit_test(whose_a_move_is_stands_in_the_answer),
		cmocka_unit_test(anothers_move_is_a_refusal_of_its_own),
		cmocka_unit_test(a_script_that_knows_no_names_is_known),
		cmocka_unit_test(a_floor_leaves_what_it_does_not_name),
		cmocka_unit_test(numbers_out_of_range_are_no_order),
		cmocka_unit_test(only_names_of_arrays_are_ordered_about),
		cmocka_unit_test(an_answer_says_what_stands_there),
		cmocka_unit_test(what_is_not_said_is_unknown),
		cmocka_unit_test(a_refusal_is_the_nas_s_sentence),
		cmocka_unit_test(other_texts_are_not_understood),
		cmocka_unit_test(the_moved_arrays_are_named),
		cmocka_unit_test(a_refused_key_wants_patience),
		cmocka_unit_test(the_cache_stays_within_its_share_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
