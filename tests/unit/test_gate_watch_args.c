// SPDX-License-Identifier: MIT
/* What a probe is told on its command line says the same to the probe. Built from the gate's own
 * source. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "gate/watch_args.c"

static char text[WATCH_ARGS_MAX][NAS_PATH_MAX + 32];

static void goes_over(const struct nas_target *target)
{
	char *args[WATCH_ARGS_MAX + 1] = {0};
	struct nas_target again;
	struct err err = {0};
	size_t i, n = watch_args(target, text);

	assert_true(n <= WATCH_ARGS_MAX);
	for (i = 0; i < n; i++)
		args[i] = text[i];
	assert_true(watch_target(target->name, args, &again, &err));
	assert_memory_equal(target, &again, sizeof(again));
}

static void a_target_over_ssh_goes_over_whole(void **state)
{
	const struct nas_target target = {
		.name = "nas1",
		.via = NAS_VIA_SSH,
		.host = "fe80::1",
		.port = 2222,
		.user = "gate",
		.key_file = "/etc/rebuildgate/a key=with signs",
		.known_hosts = "/etc/rebuildgate/known_hosts",
		.deadline_ms = 1500,
	};

	(void)state;
	goes_over(&target);
}

static void a_local_one_too(void **state)
{
	const struct nas_target target = {
		.name = "here",
		.via = NAS_VIA_LOCAL,
		.root = "/tmp/x",
		.deadline_ms = 5000,
	};

	(void)state;
	goes_over(&target);
}

static void refused(const char *word)
{
	char copy[64];
	char *args[] = {copy, NULL};
	struct nas_target target;
	struct err err = {0};

	snprintf(copy, sizeof(copy), "%s", word);
	assert_false(watch_target("nas1", args, &target, &err));
	assert_int_not_equal(err.kind, ERR_NONE);
}

static void what_says_nothing_is_refused(void **state)
{
	(void)state;
	refused("host");
	refused("hosts=x");
	refused("hos=x");
	refused("port=65536");
	refused("port=-1");
	refused("deadline_ms=0");
	refused("=x");
}

static void the_settings_become_a_target(void **state)
{
	static struct settings settings = {.look_deadline_ms = 3000};
	static const struct nas_settings nas = {
		.name = "nas1", .via = SETTINGS_VIA_SSH, .host = "nas", .port = 22, .user = "u"};
	struct nas_target target;

	(void)state;
	nas_target_from(&nas, settings.look_deadline_ms, &target);
	assert_int_equal(target.via, NAS_VIA_SSH);
	assert_int_equal(target.deadline_ms, 3000);
	assert_string_equal(target.host, "nas");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_target_over_ssh_goes_over_whole),
		cmocka_unit_test(a_local_one_too),
		cmocka_unit_test(what_says_nothing_is_refused),
		cmocka_unit_test(the_settings_become_a_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
