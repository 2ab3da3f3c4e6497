// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "nas/known_hosts.h"

/* Two Ed25519 keys, and the name "nas" hashed with a salt (|1|SALT|HMAC-SHA1). */
#define KEY_A "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
#define KEY_B "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICAhIiMkJSYnKCkqKywtLi8wMTIzNDU2Nzg5Ojs8PT4/"
#define HASHED_NAS "|1|dHdlbnR5IGJ5dGVzIG9mIHNhbHQ=|phIXbgtp3XbrJgGpnlKGl5iSDAM="

static char dir[] = "/tmp/test_nas_known_hosts.XXXXXX";
static char path[128];

static int dir_make(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/known_hosts", dir);
	return 0;
}

static int dir_remove(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir); /* fails if a file was left beside it */
}

static void file_set(const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0600), 0);
}

static void assert_file(const char *want)
{
	char text[4096];
	FILE *file = fopen(path, "r");
	size_t len;

	assert_non_null(file);
	len = fread(text, 1, sizeof(text) - 1, file);
	text[len] = '\0';
	fclose(file);
	assert_string_equal(text, want);
}

static mode_t file_mode(void)
{
	struct stat st = {0};

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static void add(const char *host, uint16_t port, const char *line, bool replace)
{
	struct err err = {0};

	if (!nas_known_hosts_add(path, host, port, line, replace, &err))
		fail_msg("%s", err.text);
}

static void assert_refused(const char *line, bool replace, enum err_kind kind, const char *word)
{
	struct err err = {0};

	assert_false(nas_known_hosts_add(path, "nas", 22, line, replace, &err));
	assert_int_equal(err.kind, kind);
	assert_non_null(strstr(err.text, word));
}

static void names_are_in_lower_case_with_any_port_but_22(void **state)
{
	char name[KNOWN_HOSTS_NAME_MAX];

	(void)state;
	known_hosts_name("NAS.lan", 22, name);
	assert_string_equal(name, "nas.lan");
	known_hosts_name("nas.lan", 0, name);
	assert_string_equal(name, "nas.lan");
	known_hosts_name("10.0.0.2", 2222, name);
	assert_string_equal(name, "[10.0.0.2]:2222");
	known_hosts_name("FE80::1", 22, name);
	assert_string_equal(name, "fe80::1");
}

static void a_missing_file_is_made(void **state)
{
	(void)state;
	unlink(path);
	add("nas", 22, "nas " KEY_A, false);
	assert_file("nas " KEY_A "\n");
	assert_int_equal(file_mode(), 0644);
}

static void other_lines_the_mode_and_a_missing_line_break_are_minded(void **state)
{
	(void)state;
	file_set("# comment\n\nelsewhere " KEY_B "\n[nas]:2222 " KEY_B);
	add("nas", 22, "nas " KEY_A, false);
	assert_file("# comment\n\nelsewhere " KEY_B "\n[nas]:2222 " KEY_B "\nnas " KEY_A "\n");
	assert_int_equal(file_mode(), 0600);
}

static void the_same_key_again_changes_nothing(void **state)
{
	struct stat before = {0}, after = {0};

	(void)state;
	file_set("x,nas " KEY_A " comment\n");
	assert_int_equal(stat(path, &before), 0);
	add("NAS", 22, "nas " KEY_A, false);
	add("nas", 22, "nas " KEY_A, true);
	assert_int_equal(stat(path, &after), 0);
	assert_file("x,nas " KEY_A " comment\n");
	assert_true(before.st_ino == after.st_ino);
}

static void another_key_is_refused_and_replaced_when_told_so(void **state)
{
	(void)state;
	file_set("a " KEY_B "\nnas " KEY_B "\nb " KEY_B "\n");
	assert_refused("nas " KEY_A, false, ERR_DENIED, "SHA256:");
	assert_file("a " KEY_B "\nnas " KEY_B "\nb " KEY_B "\n");
	add("nas", 22, "nas " KEY_A, true);
	assert_file("a " KEY_B "\nb " KEY_B "\nnas " KEY_A "\n");
}

static void a_port_of_its_own_is_another_host(void **state)
{
	(void)state;
	file_set("nas " KEY_B "\n");
	add("nas", 2222, "[nas]:2222 " KEY_A, true);
	assert_file("nas " KEY_B "\n[nas]:2222 " KEY_A "\n");
}

static void a_hashed_name_is_known(void **state)
{
	(void)state;
	file_set(HASHED_NAS " " KEY_B "\n");
	assert_refused("nas " KEY_A, false, ERR_DENIED, "another host key");
	add("nas", 22, "nas " KEY_A, true);
	assert_file("nas " KEY_A "\n");
}

static void an_entry_for_other_hosts_too_is_left_to_a_person(void **state)
{
	(void)state;
	file_set("nas,other " KEY_B "\n");
	assert_refused("nas " KEY_A, true, ERR_INVALID, "other hosts");
	file_set("na? " KEY_B "\n");
	assert_refused("nas " KEY_A, true, ERR_INVALID, "other hosts");
	assert_file("na? " KEY_B "\n");
}

static void a_line_that_is_none_is_refused(void **state)
{
	(void)state;
	file_set("nas " KEY_B "\n");
	assert_refused("", true, ERR_INVALID, "no known_hosts line");
	assert_refused("other " KEY_A, true, ERR_INVALID, "no known_hosts line");
	assert_refused("nas ssh-ed25519 AAAA", true, ERR_INVALID, "no known_hosts line");
	assert_refused("nas " KEY_A "\nall " KEY_A, true, ERR_INVALID, "no known_hosts line");
	assert_file("nas " KEY_B "\n");
}

static void a_folder_that_is_not_there_is_told(void **state)
{
	struct err err = {0};

	(void)state;
	assert_false(nas_known_hosts_add(
		"/nonexistent/known_hosts", "nas", 22, "nas " KEY_A, false, &err));
	assert_int_equal(err.kind, ERR_SYS);
	assert_non_null(strstr(err.text, "/nonexistent/known_hosts"));
}

static void known_fingerprints_are_listed(void **state)
{
	struct nas_target target = {.host = "nas"};
	char prints[256];

	(void)state;
	snprintf(target.known_hosts, sizeof(target.known_hosts), "%s", path);
	file_set("nas " KEY_A "\nother " KEY_A "\nnas " KEY_B "\n");
	known_hosts_prints(&target, prints, sizeof(prints));
	assert_string_equal(prints,
		"SHA256:ZkAslGjFiUHdGf/WUL8rQvkib4PTvQatUV0OUQSncCA, "
		"SHA256:LVC7PY6ur9Dk+WVIYQsgEU2uvTXAor8XoYLl+ZmNyRo");
	assert_true(strlen(prints) == 102);
	known_hosts_prints(&target, prints, 102); /* no room for the NUL of the second */
	assert_int_equal(strlen(prints), 50);
	file_set("other " KEY_A "\n");
	known_hosts_prints(&target, prints, sizeof(prints));
	assert_string_equal(prints, "another key");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_in_lower_case_with_any_port_but_22),
		cmocka_unit_test(a_missing_file_is_made),
		cmocka_unit_test(other_lines_the_mode_and_a_missing_line_break_are_minded),
		cmocka_unit_test(the_same_key_again_changes_nothing),
		cmocka_unit_test(another_key_is_refused_and_replaced_when_told_so),
		cmocka_unit_test(a_port_of_its_own_is_another_host),
		cmocka_unit_test(a_hashed_name_is_known),
		cmocka_unit_test(an_entry_for_other_hosts_too_is_left_to_a_person),
		cmocka_unit_test(a_line_that_is_none_is_refused),
		cmocka_unit_test(a_folder_that_is_not_there_is_told),
		cmocka_unit_test(known_fingerprints_are_listed),
	};

	return cmocka_run_group_tests(tests, dir_make, dir_remove);
}
