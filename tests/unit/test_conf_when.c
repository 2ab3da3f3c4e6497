// SPDX-License-Identifier: MIT
#include "conf_room.h"

#include "conf/nearest.h"
#include "conf/value.h"
#include "conf/when.h"
#include "conf/window.h"
#include "md/facts.h"

static struct cond *reads(const char *when)
{
	struct conf_errors errors = {0};
	struct buf text = {0};
	struct tree *tree;
	struct cond *cond = NULL;

	buf_addf(&text, "when = %s;", when);
	tree = tree_parse(buf_str(&text), text.len, "t", &errors);
	if (tree)
		cond = when_read(node_member(tree_root(tree), "when"), &errors);
	errors_none(&errors);
	assert_non_null(cond);
	tree_free(tree);
	buf_release(&text);
	return cond;
}

static void conditions_print_as_they_read(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{ operation = \"recovery\"; }",
		"{ role = \"data\"; operation = [\"recovery\", \"reshape\"]; }",
		"{ progress = \"> 97.5%\"; remaining = \"<= 1h 30min\"; rate = \"< 20 MB/s\"; load "
		"= \">= 2.50\"; }",
		"{ redundancy_left = \"0\"; guest = [\"101\", \"!= 5\"]; }",
		"{ any = ({ sensor = \"blind\"; }, { not = { time = \"sat,sun 22:00-06:00\"; }; "
		"}); }",
		"{ storage = \"a \\\"b\\\\*\"; }",
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(texts); i++) {
		struct cond *cond = reads(texts[i]);
		struct buf text = {0};

		when_print(cond, &text);
		assert_string_equal(buf_str(&text), texts[i]);
		buf_release(&text);
		when_free(cond);
	}
}

static void a_test_has_its_values(void **state)
{
	struct cond *cond = reads(
		"{ redundancy_left = [1, \">= 3\"]; rate = \"< 1.5 MB/s\"; load = \"> 4.5\"; }");
	const struct cond *count = cond->child, *rate = count->next, *load = rate->next;

	(void)state;
	assert_int_equal(cond->kind, COND_ALL);
	assert_int_equal(count->field, FIELD_REDUNDANCY_LEFT);
	assert_int_equal(count->n_values, 2);
	assert_int_equal(count->values[0].cmp, CMP_EQ);
	assert_int_equal(count->values[0].number, 1);
	assert_int_equal(count->values[1].cmp, CMP_GE);
	assert_int_equal(count->values[1].number, 3);
	assert_int_equal(rate->values[0].number, 1500000);
	assert_int_equal(load->values[0].number, 450);
	assert_null(load->next);
	when_free(cond);
}

/* Whether the second implies the first. */
static bool within(const char *a, const char *b)
{
	struct cond *wide = reads(a), *narrow = reads(b);
	size_t budget = 1000;
	bool yes = when_implies(narrow, wide, &budget);

	when_free(wide);
	when_free(narrow);
	return yes;
}

static void what_is_implied_is_seen(void **state)
{
	static const char *const pairs[][2] = {
		{"{}", "{ operation = \"check\"; }"},
		{"{ operation = [\"check\", \"repair\"]; }",
			"{ operation = \"repair\"; role = \"data\"; }"},
		{"{ progress = \"> 10%\"; }", "{ progress = \"> 10.5%\"; }"},
		{"{ progress = \"> 10%\"; }", "{ progress = \"> 10%\"; }"},
		{"{ redundancy_left = \"<= 1\"; }", "{ redundancy_left = [0, 1]; }"},
		{"{ guest = \"!= 5\"; }", "{ guest = \"> 5\"; }"},
		{"{ storage = \"nas*\"; }", "{ storage = [\"nas1\", \"nas2*\"]; }"},
		{"{ sensor = \"blind\"; }", "{ sensor = [\"auth\", \"stale\"]; }"},
		{"{ time = \"sat,sun\"; }", "{ time = \"sun 10:00-12:00\"; }"},
		{"{ time = \"20:00-23:00\"; }", "{ time = \"mon 21:00-22:00\"; }"},
		{"{ any = ({ level = \"raid5\"; }, { level = \"raid6\"; }); }",
			"{ level = \"raid6\"; }"},
		{"{ operation = \"check\"; }",
			"{ any = ({ operation = \"check\"; load = \"> 1\"; }, { operation = "
			"\"check\"; }); }"},
		{"{ not = { operation = \"check\"; }; }",
			"{ not = { operation = [\"check\", \"repair\"]; }; }"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(pairs); i++) {
		if (!within(pairs[i][0], pairs[i][1]))
			fail_msg("%s does not cover %s", pairs[i][0], pairs[i][1]);
	}
}

static void what_is_not_implied_is_left_alone(void **state)
{
	static const char *const pairs[][2] = {
		{"{ operation = \"check\"; }", "{}"},
		{"{ operation = \"check\"; role = \"data\"; }", "{ operation = \"check\"; }"},
		{"{ operation = \"check\"; }", "{ operation = [\"check\", \"repair\"]; }"},
		{"{ progress = \"> 10%\"; }", "{ progress = \">= 10%\"; }"},
		{"{ progress = \"> 10%\"; }", "{ progress = \"< 50%\"; }"},
		{"{ guest = \"!= 5\"; }", "{ guest = \">= 5\"; }"},
		{"{ storage = \"nas1\"; }", "{ storage = \"nas*\"; }"},
		{"{ sensor = \"auth\"; }", "{ sensor = \"blind\"; }"},
		{"{ time = \"sat\"; }", "{ time = \"sat 22:00-06:00\"; }"},
		{"{ time = \"22:00-06:00\"; }", "{ time = \"mon-sun\"; }"},
		{"{ time = \"00:00-12:00\"; }", "{ time = \"mon 22:00-06:00\"; }"},
		{"{ not = { operation = [\"check\", \"repair\"]; }; }",
			"{ not = { operation = \"check\"; }; }"},
		{"{ not = { operation = \"check\"; }; }", "{ operation = \"repair\"; }"},
		{"{ any = ({ level = \"raid5\"; }, { level = \"raid6\"; }); }",
			"{ role = \"data\"; }"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(pairs); i++) {
		if (within(pairs[i][0], pairs[i][1]))
			fail_msg("%s is said to cover %s", pairs[i][0], pairs[i][1]);
	}
}

static void without_budget_nothing_is_implied(void **state)
{
	struct cond *cond = reads("{ operation = \"check\"; }");
	size_t budget = 0;

	(void)state;
	assert_false(when_implies(cond, cond, &budget));
	when_free(cond);
}

static void windows_are_read_and_printed(void **state)
{
	static const struct {
		const char *text;
		uint8_t days;
		int32_t from_s, to_s;
		const char *prints;
	} good[] = {
		{"22:00-06:00", 0x7f, 79200, 21600, "22:00-06:00"},
		{"sat,sun", 0x60, 0, 0, "sat,sun"},
		{"mon-fri 08:30-17:45", 0x1f, 30600, 63900, "mon-fri 08:30-17:45"},
		{"fri-mon", 0x71, 0, 0, "mon,fri-sun"},
		{"mon, wed,sun 00:00-24:00", 0x45, 0, 0, "mon,wed,sun"},
		{"00:00-24:00", 0x7f, 0, 0, "mon-sun"},
		{"20:00-24:00", 0x7f, 72000, 86400, "20:00-24:00"},
	};
	static const char *const wrong[] = {"", "mo", "Sat", "sat,", "sat-", "22-06", "24:00-06:00",
		"22:60-06:00", "22:00", "22:00-06:00 sat", "22:00 - 06:00", "08:00-08:00",
		"sat 22:00", "1:00-2:00", "22:00-25:00", "22:00-24:30"};
	char text[WINDOW_TEXT_MAX];
	struct window window;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(good); i++) {
		assert_true(window_parse(good[i].text, &window, NULL));
		assert_int_equal(window.days, good[i].days);
		assert_int_equal(window.from_s, good[i].from_s);
		assert_int_equal(window.to_s, good[i].to_s);
		assert_string_equal(window_print(&window, text), good[i].prints);
	}
	for (i = 0; i < COUNT(wrong); i++) {
		if (window_parse(wrong[i], &window, NULL))
			fail_msg("'%s' was taken", wrong[i]);
	}
}

static void the_nearest_word_is_offered(void **state)
{
	static const char *const words[] = {
		"max_hold", "max_running", "mid_job", "settle", "over", "recovery"};
	static const struct {
		const char *wrong, *best;
	} pairs[] = {{"maxhold", "max_hold"}, {"max-hold", "max_hold"}, {"mid_jbo", "mid_job"},
		{"stetle", "settle"}, {"recover", "recovery"}, {"xyz", NULL}, {"o", NULL},
		{"max_runing", "max_running"}};
	size_t i, k;

	(void)state;
	for (i = 0; i < COUNT(pairs); i++) {
		struct nearest nearest = {.wrong = pairs[i].wrong};

		for (k = 0; k < COUNT(words); k++)
			nearest_offer(&nearest, words[k]);
		if (pairs[i].best)
			assert_string_equal(nearest.best, pairs[i].best);
		else
			assert_null(nearest.best);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_print_as_they_read),
		cmocka_unit_test(a_test_has_its_values),
		cmocka_unit_test(what_is_implied_is_seen),
		cmocka_unit_test(what_is_not_implied_is_left_alone),
		cmocka_unit_test(without_budget_nothing_is_implied),
		cmocka_unit_test(windows_are_read_and_printed),
		cmocka_unit_test(the_nearest_word_is_offered),
	};

	return cmocka_run_group_tests_name("conf_when", tests, NULL, NULL);
}
