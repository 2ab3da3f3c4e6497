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

#include "nas/key_file.h"

static char dir[] = "/tmp/test_nas_key_file.XXXXXX";
static char path[128];

static int dir_make(void **state)
{
	(void)state;
	unsetenv("CREDENTIALS_DIRECTORY");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/key", dir);
	return 0;
}

static int dir_remove(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static void file_write(const char *text, mode_t mode)
{
	FILE *file;

	unlink(path);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void assert_refused(const char *name, enum err_kind kind, const char *word)
{
	struct buf key = {0};
	struct err err = {0};

	assert_false(key_file_read(name, &key, &err));
	assert_int_equal(err.kind, kind);
	assert_non_null(strstr(err.text, word));
	assert_non_null(strstr(err.text, name));
	assert_int_equal(key.len, 0);
	key_file_wipe(&key);
}

static void a_private_file_is_read_whole(void **state)
{
	static const mode_t modes[] = {0600, 0400, 0700};
	struct buf key = {0};
	struct err err = {0};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		file_write("secret\nkey\n", modes[i]);
		assert_true(key_file_read(path, &key, &err));
		assert_string_equal(buf_str(&key), "secret\nkey\n");
		key_file_wipe(&key);
		assert_null(key.data);
	}
}

static void a_file_that_others_may_use_is_refused(void **state)
{
	static const mode_t modes[] = {0644, 0640, 0604, 0620, 0602, 0610, 0601, 0440};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		file_write("secret", modes[i]);
		assert_refused(path, ERR_DENIED, "mode 0");
	}
}

static void a_systemd_credential_may_show_group_read_and_no_more(void **state)
{
	struct buf key = {0};
	struct err err = {0};

	(void)state;
	setenv("CREDENTIALS_DIRECTORY", dir, 1);
	file_write("secret", 0440);
	assert_true(key_file_read(path, &key, &err));
	key_file_wipe(&key);
	file_write("secret", 0444);
	assert_refused(path, ERR_DENIED, "mode 0444");
	file_write("secret", 0460);
	assert_refused(path, ERR_DENIED, "mode 0460");
	setenv("CREDENTIALS_DIRECTORY", "/tmp", 1);
	file_write("secret", 0440); /* below it, but not in it */
	assert_refused(path, ERR_DENIED, "mode 0440");
	unsetenv("CREDENTIALS_DIRECTORY");
}

static void a_credential_is_found_by_its_name(void **state)
{
	struct buf key = {0};
	struct err err = {0};

	(void)state;
	unsetenv("CREDENTIALS_DIRECTORY");
	file_write("secret", 0440);
	assert_refused("credential:key", ERR_NOTFOUND, "LoadCredential=key:PATH");
	setenv("CREDENTIALS_DIRECTORY", dir, 1);
	assert_true(key_file_read("credential:key", &key, &err));
	assert_string_equal(buf_str(&key), "secret");
	key_file_wipe(&key);
	assert_refused("credential:../key", ERR_INVALID, "does not name");
	assert_refused("credential:..", ERR_INVALID, "does not name");
	assert_refused("credential:", ERR_INVALID, "does not name");
	assert_false(key_file_read("credential:other", &key, &err));
	assert_int_equal(err.kind, ERR_NOTFOUND);
	unsetenv("CREDENTIALS_DIRECTORY");
}

static void a_name_that_is_too_long_is_refused(void **state)
{
	char *name = malloc(5000);
	struct buf key = {0};
	struct err err = {0};

	(void)state;
	assert_non_null(name);
	memset(name, 'a', 4999);
	name[0] = '/';
	name[4999] = '\0';
	assert_false(key_file_read(name, &key, &err));
	assert_int_equal(err.kind, ERR_LIMIT);
	free(name);
}

static void links_folders_missing_and_empty_files_are_refused(void **state)
{
	char link[160];

	(void)state;
	file_write("secret", 0600);
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(symlink(path, link), 0);
	assert_refused(link, ERR_DENIED, "symbolic link");
	unlink(link);
	assert_refused(dir, ERR_DENIED, "not a regular file");
	assert_refused("/nonexistent/key", ERR_NOTFOUND, "does not exist");
	assert_int_equal(mkfifo(link, 0600), 0);
	assert_refused(link, ERR_DENIED, "not a regular file");
	unlink(link);
	file_write("", 0600);
	assert_refused(path, ERR_LIMIT, "no key");
	assert_int_equal(truncate(path, 65537), 0);
	assert_refused(path, ERR_LIMIT, "65537");
}

static void a_stranger_s_file_is_refused(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	file_write("secret", 0600);
	assert_int_equal(chown(path, 12345, 0), 0);
	assert_refused(path, ERR_DENIED, "belongs to user 12345");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_private_file_is_read_whole),
		cmocka_unit_test(a_file_that_others_may_use_is_refused),
		cmocka_unit_test(a_systemd_credential_may_show_group_read_and_no_more),
		cmocka_unit_test(a_credential_is_found_by_its_name),
		cmocka_unit_test(a_name_that_is_too_long_is_refused),
		cmocka_unit_test(links_folders_missing_and_empty_files_are_refused),
		cmocka_unit_test(a_stranger_s_file_is_refused),
	};

	return cmocka_run_group_tests(tests, dir_make, dir_remove);
}
