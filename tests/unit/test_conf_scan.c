// SPDX-License-Identifier: MIT
#include "conf_room.h"

#include "conf/scan.h"
#include "conf/tree.h"

static struct tree *reads(const char *text)
{
	struct conf_errors errors = {0};
	struct tree *tree = tree_parse(text, strlen(text), "t", &errors);

	errors_none(&errors);
	assert_non_null(tree);
	return tree;
}

static void each_value_has_its_type_and_line(void **state)
{
	struct tree *tree = reads("a = \"x\";\nb : 5,\nc = TRUE\nd = { e = -7; }\nf = (\n1,\n"
				  "\"t\",\n{ g = false; },\n);\n");
	struct node root = tree_root(tree), list = node_member(root, "f");

	(void)state;
	assert_int_equal(node_count(root), 5);
	assert_string_equal(node_text(node_member(root, "a")), "x");
	assert_int_equal(node_int(node_member(root, "b")), 5);
	assert_true(node_bool(node_member(root, "c")));
	assert_int_equal(node_type(node_member(root, "d")), NODE_GROUP);
	assert_int_equal(node_int(node_member(node_member(root, "d"), "e")), -7);
	assert_int_equal(node_line(node_member(root, "d")), 4);
	assert_int_equal(node_count(list), 3);
	assert_int_equal(node_line(node_at(list, 0)), 6);
	assert_int_equal(node_line(node_at(list, 1)), 7);
	assert_int_equal(node_line(node_at(list, 2)), 8);
	assert_int_equal(node_type(node_member(root, "none")), NODE_NONE);
	tree_free(tree);
}

static void texts_are_joined_and_escapes_undone(void **state)
{
	struct tree *tree = reads("a = \"one \" // between\n  \"two\"; b = \"q\\\"b\\\\x\\x41\"; c "
				  "= \"\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80\";");
	struct node root = tree_root(tree);

	(void)state;
	assert_string_equal(node_text(node_member(root, "a")), "one two");
	assert_int_equal(node_line(node_member(root, "a")), 1);
	assert_string_equal(node_text(node_member(root, "b")), "q\"b\\xA");
	assert_string_equal(
		node_text(node_member(root, "c")), "\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80");
	tree_free(tree);
}

static void comments_marks_and_line_ends_of_all_kinds_are_taken(void **state)
{
	struct tree *tree = reads("\xef\xbb\xbf# one\r\n// two\n/* three\n*/ a = 1 b = 2\r\n");

	(void)state;
	assert_int_equal(node_line(node_member(tree_root(tree), "b")), 4);
	tree_free(tree);
	tree_free(reads(""));
}

static void what_libconfig_would_misread_is_refused(void **state)
{
	static const char *const wrong[] = {"3000000000", "1000000000", "0xFFFFFFFF", "0x1", "010",
		"00", "1.5", ".5", "1e5", "5L", "5LL", "8h", "80%", "-", "+", "--1"};
	char text[64];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(wrong); i++) {
		struct conf_errors errors = {0};
		struct tree *tree;

		snprintf(text, sizeof(text), "b = 1;\na = %s;\n", wrong[i]);
		tree = tree_parse(text, strlen(text), "t", &errors);
		if (!tree || errors.n != 1 || errors.list[0].line != 2)
			fail_msg("'%s' was taken", wrong[i]);
		assert_true(node_bad(node_member(tree_root(tree), "a")));
		assert_false(node_bad(node_member(tree_root(tree), "b")));
		tree_free(tree);
		conf_errors_release(&errors);
	}
}

static void numbers_of_nine_digits_are_exact(void **state)
{
	struct tree *tree = reads("a = 999999999; b = -999999999; c = +5; d = 0;");
	struct node root = tree_root(tree);

	(void)state;
	assert_int_equal(node_int(node_member(root, "a")), 999999999);
	assert_int_equal(node_int(node_member(root, "b")), -999999999);
	assert_int_equal(node_int(node_member(root, "c")), 5);
	assert_int_equal(node_int(node_member(root, "d")), 0);
	tree_free(tree);
}

static void each_slip_has_its_sentence(void **state)
{
	static const struct {
		const char *text, *says;
	} slips[] = {
		{"a = hold;", "t:1: 'hold' must stand in quotes"},
		{"a = \"x", "t:1: this text has no end"},
		{"a = \"x\ny\";", "t:1: this text has no end"},
		{"a = \"\\n\";", "t:1: a text takes the escapes"},
		{"a = \"\\x00\";", "t:1: a text takes the escapes"},
		{"a = \"\t\";", "t:1: a text holds no control characters"},
		{"\n/* x", "t:2: this comment has no end"},
		{"a = 1;\na = 2;", "t:2: 'a' stands here a second time; the first is at t:1"},
		{"a = { b = 1; ", "t:1: the text ends inside a group"},
		{"a = ( 1, 2", "t:1: a ',' or the end of the list, ')', is missing"},
		{"a = ( 1 2 );", "t:1: a ',' or the end of the list, ')', is missing"},
		{"a = [ ( 1 ) ];", "t:1: '[ ]' holds single values only"},
		{"a = ;", "t:1: ';' stands where a value should stand"},
		{"a =", "t:1: the text ends where a value should stand"},
		{"a;", "t:1: after 'a' comes '=' and a value"},
		{"5 = a;", "t:1: a value stands where the name of a setting should stand"},
		{"}", "t:1: '}' stands where the name"},
		{"_a = 1;", "t:1: '_' cannot stand here"},
		{"\xc3\xbc = 1;", "t:1: letters beyond ASCII"},
		{"a = 1;\nb = \"\xff\";", "t:2: a byte here (0xff) is not UTF-8"},
		{"a = \"\xed\xa0\x80\";", "t:1: a byte here (0xed) is not UTF-8"},
		{"a = \"\xc0\x80\";", "t:1: a byte here (0xc0) is not UTF-8"},
		{"a = \"\xe0\x80\x80\";", "t:1: a byte here (0xe0) is not UTF-8"},
		{"a = \"\xf4\x90\x80\x80\";", "t:1: a byte here (0xf4) is not UTF-8"},
		{"a = \"\xf0\x9f\x98", "t:1: a byte here (0xf0) is not UTF-8"},
		{"x @include \"y\"", "t:1: '@' cannot stand here"},
		{"@inc \"y\"", "t:1: after '@' only '@include"},
		{"@include y", "t:1: '@include' needs a file name in quotes"},
		{"@include \"\"", "t:1: '@include' needs a file name in quotes"},
		{"@include \"/nowhere/at/all\"",
			"t:1: the included file '/nowhere/at/all' cannot be read"},
		{"@include \"/dev/zero\"",
			"t:1: the included file '/dev/zero' is not a regular file"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(slips); i++) {
		struct conf_errors errors = {0};

		assert_null(tree_parse(slips[i].text, strlen(slips[i].text), "t", &errors));
		errors_have(&errors, slips[i].says);
	}
}

static void a_nul_byte_is_no_end(void **state)
{
	struct conf_errors errors = {0};

	(void)state;
	assert_null(tree_parse("a = 1;\n\0b = 2;", 14, "t", &errors));
	errors_have(&errors, "t:2: a byte here (0x00)");
}

static void depth_names_and_size_are_bounded(void **state)
{
	struct conf_errors errors = {0};
	struct buf text = {0};
	int i;

	(void)state;
	buf_adds(&text, "a = ");
	for (i = 0; i < 100000; i++)
		buf_addc(&text, '(');
	assert_null(tree_parse(buf_str(&text), text.len, "t", &errors));
	errors_have(&errors, "nested deeper than");
	buf_clear(&text);
	for (i = 0; i <= SCAN_MAX_NAMES; i++)
		buf_addf(&text, "a%d = 1;\n", i);
	assert_null(tree_parse(buf_str(&text), text.len, "t", &errors));
	errors_have(&errors, "more than 1000 settings");
	buf_clear(&text);
	for (i = 0; i < 1 << 18; i++)
		buf_adds(&text, "######");
	assert_null(tree_parse(buf_str(&text), text.len, "t", &errors));
	errors_have(&errors, "larger than");
	buf_release(&text);
}

static void includes_are_relative_to_the_file_that_names_them(void **state)
{
	struct room *room = *state;
	struct conf_errors errors = {0};
	struct tree *tree;
	struct node root;

	room_file(room, "sub/more.conf", "\nc = 3;\n");
	room_file(room, "sub/inc.conf", "b = 2;\n@include \"more.conf\"\n");
	room_file(room, "main.conf", "a = 1;\n  @include \"sub/inc.conf\" // here\nd = 4;\n");
	tree = tree_load(room->path, &errors);
	errors_none(&errors);
	assert_non_null(tree);
	root = tree_root(tree);
	assert_int_equal(node_count(root), 4);
	assert_non_null(strstr(node_file(node_member(root, "c")), "/sub/more.conf"));
	assert_int_equal(node_line(node_member(root, "c")), 2);
	assert_string_equal(node_file(node_member(root, "d")), room->path);
	assert_int_equal(node_line(node_member(root, "d")), 3);
	tree_free(tree);
}

static void an_include_of_itself_ends(void **state)
{
	struct room *room = *state;
	struct conf_errors errors = {0};

	room_file(room, "sub/inc.conf", "@include \"more.conf\"\n");
	room_file(room, "sub/more.conf", "x = 1;\n@include \"inc.conf\"\n");
	room_file(room, "main.conf", "@include \"sub/inc.conf\"\n");
	assert_null(tree_load(room->path, &errors));
	errors_have(&errors, "sub/more.conf:2: '");
}

static void a_missing_file_and_a_folder_are_said(void **state)
{
	struct room *room = *state;
	struct conf_errors errors = {0};

	assert_null(tree_load("/nowhere/x.conf", &errors));
	errors_have(&errors, "'/nowhere/x.conf' cannot be read: No such file");
	assert_null(tree_load(room->folder, &errors));
	errors_have(&errors, "is not a regular file");
}

static void fifty_errors_are_kept_and_the_rest_is_counted(void **state)
{
	struct conf_errors errors = {0};
	int i;

	(void)state;
	for (i = 0; i < 60; i++)
		conf_error_add(&errors, i % 2 ? "b" : "a", 60 - i, "e%d", i);
	assert_int_equal(errors.n, CONF_MAX_ERRORS);
	conf_errors_sort(&errors);
	assert_string_equal(errors.list[0].file, "a");
	assert_int_equal(errors.list[0].line, 12);
	assert_int_equal(errors.list[24].line, 60);
	assert_string_equal(errors.list[25].file, "b");
	errors_have(&errors, "10 more errors");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_value_has_its_type_and_line),
		cmocka_unit_test(texts_are_joined_and_escapes_undone),
		cmocka_unit_test(comments_marks_and_line_ends_of_all_kinds_are_taken),
		cmocka_unit_test(what_libconfig_would_misread_is_refused),
		cmocka_unit_test(numbers_of_nine_digits_are_exact),
		cmocka_unit_test(each_slip_has_its_sentence),
		cmocka_unit_test(a_nul_byte_is_no_end),
		cmocka_unit_test(depth_names_and_size_are_bounded),
		cmocka_unit_test_setup_teardown(
			includes_are_relative_to_the_file_that_names_them, room_open, room_close),
		cmocka_unit_test_setup_teardown(an_include_of_itself_ends, room_open, room_close),
		cmocka_unit_test_setup_teardown(
			a_missing_file_and_a_folder_are_said, room_open, room_close),
		cmocka_unit_test(fifty_errors_are_kept_and_the_rest_is_counted),
	};

	return cmocka_run_group_tests_name("conf_scan", tests, NULL, NULL);
}
