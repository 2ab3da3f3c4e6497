// SPDX-License-Identifier: MIT
/* Who may do what, by credentials alone. Built from the gate's own source. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "gate/peer.c"

static const struct roles roles = {
	.own_uid = 900,
	.has_look_gid = true,
	.look_gid = 50,
	.has_override_gid = true,
	.override_gid = 60,
};

static void root_may_everything(void **state)
{
	(void)state;
	assert_int_equal(peer_roles(&roles, 0, 0, NULL, 0), ROLE_LOOK | ROLE_OVERRIDE | ROLE_HOOK);
}

static void the_gates_own_user_looks_and_is_a_hook(void **state)
{
	(void)state;
	assert_int_equal(peer_roles(&roles, 900, 900, NULL, 0), ROLE_LOOK | ROLE_HOOK);
}

static void groups_count_the_first_and_the_others(void **state)
{
	const gid_t others[] = {1, 2, 60};

	(void)state;
	assert_int_equal(peer_roles(&roles, 1000, 50, NULL, 0), ROLE_LOOK);
	assert_int_equal(peer_roles(&roles, 1000, 60, NULL, 0), ROLE_LOOK | ROLE_OVERRIDE);
	assert_int_equal(peer_roles(&roles, 1000, 1000, others, 3), ROLE_LOOK | ROLE_OVERRIDE);
	assert_int_equal(peer_roles(&roles, 1000, 1000, others, 2), 0);
}

static void a_group_that_is_not_configured_gives_nothing(void **state)
{
	const struct roles none = {.own_uid = 900};
	const gid_t zero[] = {0};

	(void)state;
	assert_int_equal(peer_roles(&none, 1000, 0, zero, 1), 0);
}

static void the_kernel_says_who_is_there(void **state)
{
	struct peer peer;
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_true(peer_of(fds[0], &roles, &peer, NULL));
	assert_int_equal(peer.uid, geteuid());
	assert_int_equal(peer.pid, getpid());
	if (geteuid() == 0)
		assert_string_equal(peer.name, "root");
	close(fds[0]);
	close(fds[1]);
	assert_false(peer_of(fds[0], &roles, &peer, NULL));
}

static void who_has_no_name_is_a_number(void **state)
{
	char name[64];

	(void)state;
	name_of(0, name, sizeof(name));
	assert_string_equal(name, "root");
	name_of(4242424, name, sizeof(name));
	assert_string_equal(name, "uid 4242424");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_may_everything),
		cmocka_unit_test(the_gates_own_user_looks_and_is_a_hook),
		cmocka_unit_test(groups_count_the_first_and_the_others),
		cmocka_unit_test(a_group_that_is_not_configured_gives_nothing),
		cmocka_unit_test(the_kernel_says_who_is_there),
		cmocka_unit_test(who_has_no_name_is_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
