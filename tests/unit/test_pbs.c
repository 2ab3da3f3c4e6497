// SPDX-License-Identifier: MIT
/* A backup server's traffic-control rules: made, read, compared; its timeframes, groups and time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "proxmox/pbs.h"

static const struct pbs_rule ours = {.name = "rebuildgate-nas1",
	.rate_in = 25000000,
	.timeframe = "mon 22:10-23:50",
	.comment = "made by rebuildgate on pve1: md0 rebuilds"};

static void is_call(struct api_call *call, const char *method, const char *path, const char *body)
{
	assert_string_equal(call->method, method);
	assert_string_equal(buf_str(&call->path), path);
	assert_string_equal(buf_str(&call->body), body);
	api_call_release(call);
}

static void a_rule_is_made_with_everything_at_once(void **state)
{
	struct pbs_rule rule = ours;
	struct api_call call;
	struct err err = {0};

	(void)state;
	assert_true(pbs_rule_create(&rule, &call, &err));
	is_call(&call, "POST", "/api2/json/config/traffic-control",
		"name=rebuildgate-nas1&rate-in=25000000&network=0.0.0.0%2F0&network=%3A%3A%2F0&"
		"timeframe=mon%2022%3A10-23%3A50&comment=made%20by%20rebuildgate%20on%20pve1%3A%20"
		"md0%20rebuilds");
	rule.n_networks = 1;
	snprintf(rule.networks[0], sizeof(rule.networks[0]), "10.1.0.0/16");
	snprintf(rule.timeframe_next, sizeof(rule.timeframe_next), "tue 0:00-0:20");
	assert_true(pbs_rule_update(&rule, &call, &err));
	is_call(&call, "PUT", "/api2/json/config/traffic-control/rebuildgate-nas1",
		"rate-in=25000000&network=10.1.0.0%2F16&timeframe=mon%2022%3A10-23%3A50&timeframe="
		"tue%200%3A00-0%3A20&comment=made%20by%20rebuildgate%20on%20pve1%3A%20md0%20"
		"rebuilds");
}

static void what_a_rule_no_longer_has_is_deleted_there(void **state)
{
	struct pbs_rule rule = ours;
	struct api_call call;
	struct err err = {0};

	(void)state;
	rule.timeframe[0] = rule.comment[0] = '\0';
	assert_true(pbs_rule_update(&rule, &call, &err));
	is_call(&call, "PUT", "/api2/json/config/traffic-control/rebuildgate-nas1",
		"rate-in=25000000&network=0.0.0.0%2F0&network=%3A%3A%2F0&delete=timeframe&"
		"delete=comment");
}

static void rule_refused(const struct pbs_rule *rule)
{
	struct api_call call;
	struct err err = {0};

	assert_false(pbs_rule_create(rule, &call, &err));
	assert_int_equal(err.kind, ERR_INVALID);
	assert_int_equal(call.path.len, 0);
	err.kind = ERR_NONE;
	assert_false(pbs_rule_update(rule, &call, &err));
	assert_int_equal(err.kind, ERR_INVALID);
}

static void a_rule_that_would_open_or_starve_is_never_made(void **state)
{
	static const int64_t rates[] = {0, -1, 1, PBS_RATE_LEAST - 1};
	static const char *const names[] = {"", "ab", ".abc", "-abc", "a/b/c", "a b c", "äöü"};
	struct pbs_rule rule = ours;
	struct api_call call;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		rule.rate_in = rates[i];
		rule_refused(&rule);
	}
	rule.rate_in = PBS_RATE_LEAST;
	assert_true(pbs_rule_create(&rule, &call, NULL));
	api_call_release(&call);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(rule.name, sizeof(rule.name), "%s", names[i]);
		rule_refused(&rule);
		assert_false(pbs_rule_delete(names[i], &call, NULL));
	}
	rule = ours;
	rule.n_networks = 1;
	snprintf(rule.networks[0], sizeof(rule.networks[0]), "10.1.0.0");
	rule_refused(&rule);
	rule = ours;
	snprintf(rule.comment, sizeof(rule.comment), "a\nb");
	rule_refused(&rule);
	assert_true(pbs_rule_delete(ours.name, &call, NULL));
	is_call(&call, "DELETE", "/api2/json/config/traffic-control/rebuildgate-nas1", "");
}

static void the_other_calls_have_their_paths(void **state)
{
	static const char upid[] = "UPID:pbs:00001001:00010001:00000001:6B0DF89E:reader:"
				   "nas\\x3avm-100:root@pam:";
	struct api_call call;
	struct err err = {0};

	(void)state;
	assert_true(pbs_rules_get(&call, &err));
	is_call(&call, "GET", "/api2/json/admin/traffic-control", "");
	assert_true(pbs_time_get(&call, &err));
	is_call(&call, "GET", "/api2/json/nodes/localhost/time", "");
	assert_true(pbs_tasks_get(true, NULL, &call, &err));
	is_call(&call, "GET", "/api2/json/nodes/localhost/tasks?running=1&limit=0", "");
	assert_true(pbs_tasks_get(false, "nas", &call, &err));
	is_call(&call, "GET", "/api2/json/nodes/localhost/tasks?limit=500&store=nas", "");
	assert_true(pbs_backups_get("nas", &call, &err));
	is_call(&call, "GET",
		"/api2/json/nodes/localhost/tasks?limit=500&store=nas&typefilter=backup", "");
	assert_false(pbs_backups_get("a/../b", &call, &err));
	assert_true(pbs_task_log_get(upid, &call, &err));
	is_call(&call, "GET",
		"/api2/json/nodes/localhost/tasks/UPID%3Apbs%3A00001001%3A00010001%3A00000001%3A"
		"6B0DF89E%3Areader%3Anas%5Cx3avm-100%3Aroot%40pam%3A/log?limit=5000",
		"");
	assert_false(pbs_task_log_get("UPID:pbs:x", &call, &err));
	assert_true(pbs_task_stop(upid, &call, &err));
	is_call(&call, "DELETE",
		"/api2/json/nodes/localhost/tasks/UPID%3Apbs%3A00001001%3A00010001%3A00000001%3A"
		"6B0DF89E%3Areader%3Anas%5Cx3avm-100%3Aroot%40pam%3A",
		"");
	assert_true(pbs_gc_start("nas", &call, &err));
	is_call(&call, "POST", "/api2/json/admin/datastore/nas/gc", "");
	assert_true(pbs_verify_start("nas", &call, &err));
	is_call(&call, "POST", "/api2/json/admin/datastore/nas/verify", "");
	assert_true(pbs_verify_job_run("v-1", &call, &err));
	is_call(&call, "POST", "/api2/json/admin/verify/v-1/run", "");
	assert_true(pbs_groups_get("nas", "a/b", &call, &err));
	is_call(&call, "GET", "/api2/json/admin/datastore/nas/groups?ns=a%2Fb", "");
	assert_true(pbs_groups_get("nas", "", &call, &err));
	is_call(&call, "GET", "/api2/json/admin/datastore/nas/groups", "");
	assert_true(pbs_namespaces_get("nas", &call, &err));
	is_call(&call, "GET", "/api2/json/admin/datastore/nas/namespace", "");
	assert_true(pbs_datastores_get(&call, &err));
	is_call(&call, "GET", "/api2/json/admin/datastore", "");
	assert_false(pbs_gc_start("a/../b", &call, &err));
	assert_false(pbs_verify_job_run("", &call, &err));
	assert_false(pbs_task_stop("UPID:pbs:x", &call, &err));
	assert_false(pbs_task_stop("../../x", &call, &err));
	assert_int_equal(err.kind, ERR_INVALID);
}

static struct pbs_rule got[8];
static size_t n_got;

static void take_rule(void *data, const struct pbs_rule *rule)
{
	assert_ptr_equal(data, got);
	assert_true(n_got < 8);
	got[n_got++] = *rule;
}

static bool read_rules(const char *text, struct err *err)
{
	n_got = 0;
	*err = (struct err){0};
	return pbs_rules_read(text, strlen(text), take_rule, got, err);
}

static void rules_are_read_as_the_server_prints_them(void **state)
{
	struct err err;

	(void)state;
	assert_true(read_rules(
		"{\"data\":[{\"name\":\"a-1\",\"network\":[\"0.0.0.0/0\",\"::/0\"],\"rate-in\":"
		"\"25000000 B\",\"timeframe\":[\"mon 22:10-23:50\",\"tue 0:00-0:20\"],\"comment\":"
		"\"x\\ny\",\"cur-rate-in\":1234,\"cur-rate-out\":0},{\"name\":\"b\",\"network\":"
		"[\"10.0.0.1/8\"],\"users\":[\"a@pbs\"],\"rate-out\":\"1.5 MiB\",\"burst-in\":\"7 "
		"MB\"}],\"digest\":\"00\"}",
		&err));
	assert_int_equal(n_got, 2);
	assert_string_equal(got[0].name, "a-1");
	assert_int_equal(got[0].rate_in, 25000000);
	assert_int_equal(got[0].n_networks, 2);
	assert_string_equal(got[0].networks[1], "::/0");
	assert_string_equal(got[0].timeframe, "mon 22:10-23:50");
	assert_string_equal(got[0].timeframe_next, "tue 0:00-0:20");
	assert_int_equal(got[0].n_timeframes, 2);
	assert_string_equal(got[0].comment, "x y");
	assert_true(got[0].cur_rate_in.known && got[0].cur_rate_in.v == 1234);
	assert_true(got[0].cur_rate_out.known && got[0].cur_rate_out.v == 0);
	assert_false(got[0].has_users);
	assert_true(got[1].has_users);
	assert_int_equal(got[1].rate_in, 0);
	assert_int_equal(got[1].rate_out, 1572864);
	assert_false(got[1].cur_rate_in.known);
	assert_true(read_rules("{\"data\":[]}", &err));
	assert_int_equal(n_got, 0);
}

static int64_t rate_of(const char *value)
{
	char text[200];
	struct err err;

	snprintf(text, sizeof(text),
		"{\"data\":[{\"name\":\"abc\",\"network\":[],\"rate-in\":%s}]}", value);
	return read_rules(text, &err) ? got[0].rate_in : -1;
}

static void a_rate_may_have_any_unit_of_the_server(void **state)
{
	(void)state;
	assert_int_equal(rate_of("\"64 KiB\""), 65536);
	assert_int_equal(rate_of("\"9.537 MiB\""), 10000269);
	assert_int_equal(rate_of("\"1.5KB\""), 1500);
	assert_int_equal(rate_of("\"2gb\""), 2000000000);
	assert_int_equal(rate_of("\"2 Ti\""), INT64_C(2199023255552));
	assert_int_equal(rate_of("\"1.125 PiB\""), INT64_C(1266637395197952));
	assert_int_equal(rate_of("\"14\""), 14);
	assert_int_equal(rate_of("\"14.4 B\""), 14);
	assert_int_equal(rate_of("77"), 77);
	assert_int_equal(rate_of("null"), 0);
	assert_int_equal(rate_of("\"\""), -1);
	assert_int_equal(rate_of("\"-1\""), -1);
	assert_int_equal(rate_of("\".5 MB\""), -1);
	assert_int_equal(rate_of("\"1. MB\""), -1);
	assert_int_equal(rate_of("\"1 MBs\""), -1);
	assert_int_equal(rate_of("\"1 iB\""), -1);
	assert_int_equal(rate_of("\"1e3\""), -1);
	assert_int_equal(rate_of("\"1 MB/s\""), -1);
	assert_int_equal(rate_of("\"99999999 PB\""), -1);
	assert_int_equal(rate_of("\"99999999999999999999\""), -1);
	assert_int_equal(rate_of("1.5"), -1);
	assert_int_equal(rate_of("true"), -1);
}

static void malformed_rules_are_not_read(void **state)
{
	static const char *const bad[] = {"", "{", "[]", "null", "{}", "{\"data\":null}",
		"{\"data\":{}}", "{\"data\":\"x\"}", "{\"data\":[1]}", "{\"data\":[{}]}",
		"{\"data\":[{\"name\":1,\"network\":[]}]}", "{\"data\":[{\"name\":\"abc\"}]}",
		"{\"data\":[{\"name\":\"abc\",\"network\":\"::/0\"}]}",
		"{\"data\":[{\"name\":\"abc\",\"network\":[\"x\"]}]}",
		"{\"data\":[{\"name\":\"abc\",\"network\":[1]}]}",
		"{\"data\":[{\"name\":\"abc\",\"network\":[\"1.2.3.4/33\"]}]}",
		"{\"data\":[{\"name\":\"abc\",\"network\":[],\"timeframe\":\"x\"}]}",
		"{\"data\":[{\"name\":\"abc\",\"network\":[],\"timeframe\":[1]}]}",
		"{\"data\":[{\"name\":\"abc\",\"network\":[],\"users\":\"x\"}]}",
		"{\"data\":[{\"name\":\"abc\",\"network\":[],\"cur-rate-in\":\"x\"}]}",
		"{\"data\":[{\"name\":\"abc\",\"network\":[],\"comment\":7}]}",
		"{\"data\":[{\"name\":\"abcdefghijabcdefghijabcdefghijabc\",\"network\":[]}]}",
		"{\"data\":[]} x", "{\"data\":[],\"data\":[]}"};
	struct err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (read_rules(bad[i], &err))
			fail_msg("%s was taken", bad[i]);
		assert_int_equal(err.kind, ERR_PROTOCOL);
		assert_int_equal(strncmp(err.text, "the traffic-control rules", 25), 0);
	}
	/* The sentence says which and what. */
	assert_false(read_rules("{\"data\":[{\"name\":\"abc\",\"network\":[]},{}]}", &err));
	assert_string_equal(
		err.text, "the traffic-control rules, element 1: member 'name' is missing");
	assert_int_equal(n_got, 1);
}

static bool hides(const char *theirs, bool users, const char *a, const char *b)
{
	const char *const networks[] = {a, b};
	struct pbs_rule rule = {.has_users = users, .n_networks = 1};

	snprintf(rule.networks[0], sizeof(rule.networks[0]), "%s", theirs);
	return pbs_rule_hides(&rule, networks, a ? (b ? 2 : 1) : 0);
}

static void the_longer_prefix_or_a_user_hides(void **state)
{
	struct pbs_rule rule = {0};

	(void)state;
	assert_true(hides("10.0.0.0/8", false, NULL, NULL));
	assert_true(hides("2001:db8::/32", false, NULL, NULL));
	/* The same prefix: the server's choice is not defined. */
	assert_true(hides("0.0.0.0/0", false, NULL, NULL));
	assert_true(hides("10.1.0.5/16", false, "10.1.0.0/16", NULL));
	/* Shorter, or elsewhere. */
	assert_false(hides("0.0.0.0/0", false, "10.0.0.0/8", NULL));
	assert_false(hides("10.0.0.0/15", false, "10.1.0.0/16", NULL));
	assert_false(hides("10.2.0.0/24", false, "10.1.0.0/16", NULL));
	assert_false(hides("10.0.0.0/8", false, "::/0", NULL));
	assert_true(hides("10.1.128.0/17", false, "192.168.0.0/16", "10.1.0.0/16"));
	/* A user's rule wins with any prefix, where they meet. */
	assert_true(hides("0.0.0.0/0", true, "10.1.0.0/16", NULL));
	assert_false(hides("192.168.0.0/16", true, "10.1.0.0/16", NULL));
	/* Odd bits. */
	assert_true(hides("10.1.1.6/31", false, "10.1.1.4/30", NULL));
	assert_false(hides("10.1.1.8/31", false, "10.1.1.4/30", NULL));
	assert_true(hides("10.1.1.1/32", false, "10.1.1.1/32", NULL));
	assert_false(hides("10.1.1.1/32", false, "10.1.1.2/32", NULL));
	/* More networks than were kept may be anywhere; a rule without any takes nothing. */
	assert_false(pbs_rule_hides(&rule, NULL, 0));
	rule.more_networks = true;
	assert_true(pbs_rule_hides(&rule, NULL, 0));
}

static void timeframes(int64_t utc_s, int64_t offset_s, int64_t span_s, size_t n, const char *first,
	const char *second)
{
	char text[2][64] = {"", ""};

	assert_int_equal(pbs_timeframe(utc_s, offset_s, span_s, text), n);
	if (n > 0)
		assert_string_equal(text[0], first);
	if (n > 1)
		assert_string_equal(text[1], second);
}

static void a_timeframe_is_of_the_servers_own_week(void **state)
{
	/* Mon 2026-11-30 22:12:30 UTC */
	const int64_t monday = INT64_C(1796076750);

	(void)state;
	timeframes(monday, 0, 5400, 1, "mon 22:10-23:42", NULL);
	/* In whole minutes, never later than asked; two hours at most, a minute at least. */
	timeframes(monday, 0, 5429, 1, "mon 22:10-23:42", NULL);
	timeframes(monday, -36000, 999999, 1, "mon 12:10-14:12", NULL);
	timeframes(monday, 0, 0, 1, "mon 22:10-22:13", NULL);
	timeframes(monday, 3600 * 5 + 1800, 3600, 1, "tue 3:40-4:42", NULL);
}

static void a_timeframe_over_midnight_is_two(void **state)
{
	const int64_t monday = INT64_C(1796076750);

	(void)state;
	timeframes(monday, 0, 7200, 2, "mon 22:10-23:59", "tue 0:00-0:12");
	timeframes(monday, 3600, 7200, 2, "mon 23:10-23:59", "tue 0:00-1:12");
	/* Sunday to Monday. */
	timeframes(monday - 86400, 0, 7200, 2, "sun 22:10-23:59", "mon 0:00-0:12");
	/* 00:01: what lies before midnight begins there. */
	timeframes(monday + 6450, 0, 600, 2, "mon 23:58-23:59", "tue 0:00-0:10");
	/* Ends at midnight itself. */
	timeframes(monday + 50, 0, 6400, 1, "mon 22:11-23:59", NULL);
	/* In a day's last minute, which no timeframe has. */
	timeframes(INT64_C(1796083170), 0, 60, 1, "mon 23:57-23:59", NULL);
}

static void a_clock_that_was_never_set_has_no_timeframe(void **state)
{
	(void)state;
	timeframes(100, 0, 600, 0, NULL, NULL);
	timeframes(-5, 0, 600, 0, NULL, NULL);
}

static char names[256];

static void take_group(void *data, const struct pbs_group *group)
{
	size_t at = strlen(names);

	(void)data;
	snprintf(names + at, sizeof(names) - at, "%s/%s@%lld ", group->type, group->id,
		(long long)group->last_backup_s);
}

static void take_name(void *data, const char *ns)
{
	size_t at = strlen(names);

	(void)data;
	snprintf(names + at, sizeof(names) - at, "<%s>", ns);
}

static void groups_and_namespaces_are_read(void **state)
{
	static const char groups[] =
		"{\"data\":[{\"backup-type\":\"vm\",\"backup-id\":\"100\",\"last-backup\":"
		"1796000000,"
		"\"backup-count\":3,\"files\":[]},{\"backup-type\":\"host\",\"backup-id\":\"a.b\","
		"\"last-backup\":5}]}";
	static const char spaces[] =
		"{\"data\":[{\"ns\":\"\"},{\"ns\":\"a/b\",\"comment\":\"x\"}]}";
	static const char stores[] = "{\"data\":[{\"store\":\"store1\",\"comment\":\"x\"},"
				     "{\"store\":\"store2\"}]}";
	static const char *const bad[] = {"{\"data\":[{\"backup-type\":\"vm\"}]}",
		"{\"data\":[null]}",
		"{\"data\":[{\"backup-type\":\"vm\",\"backup-id\":\"1\",\"last-backup\":-1}]}",
		"{\"data\":[{\"backup-type\":\"long-type\",\"backup-id\":\"\",\"last-backup\":1}]}",
		"{\"data\":[{\"ns\":null}]}", "{\"data\":7}"};
	struct err err = {0};
	size_t i;

	(void)state;
	names[0] = '\0';
	assert_true(pbs_groups_read(groups, strlen(groups), take_group, NULL, &err));
	assert_string_equal(names, "vm/100@1796000000 host/a.b@5 ");
	names[0] = '\0';
	assert_true(pbs_namespaces_read(spaces, strlen(spaces), take_name, NULL, &err));
	assert_string_equal(names, "<><a/b>");
	names[0] = '\0';
	assert_true(pbs_datastores_read(stores, strlen(stores), take_name, NULL, &err));
	assert_string_equal(names, "<store1><store2>");
	assert_false(pbs_datastores_read(spaces, strlen(spaces), take_name, NULL, &err));
	assert_int_equal(err.kind, ERR_PROTOCOL);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err = (struct err){0};
		assert_false(pbs_groups_read(bad[i], strlen(bad[i]), take_group, NULL, &err));
		assert_int_equal(err.kind, ERR_PROTOCOL);
		err = (struct err){0};
		assert_false(pbs_namespaces_read(bad[i], strlen(bad[i]), take_name, NULL, &err));
		assert_int_equal(err.kind, ERR_PROTOCOL);
	}
}

static void the_servers_zone_is_what_its_clocks_differ_by(void **state)
{
	static const char good[] = "{\"data\":{\"timezone\":\"Asia/Kolkata\",\"time\":1796076750,"
				   "\"localtime\":1796096550}}";
	static const char west[] = "{\"data\":{\"time\":1796076750,\"localtime\":1796058750}}";
	static const char *const bad[] = {"{\"data\":{\"time\":1}}", "{\"data\":[]}",
		"{\"data\":{\"time\":1,\"localtime\":\"2\"}}",
		"{\"data\":{\"time\":1796076750,\"localtime\":1}}"};
	struct err err = {0};
	int64_t offset = 7;
	size_t i;

	(void)state;
	assert_true(pbs_time_read(good, strlen(good), &offset, &err));
	assert_int_equal(offset, 19800);
	assert_true(pbs_time_read(west, strlen(west), &offset, &err));
	assert_int_equal(offset, -18000);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err = (struct err){0};
		assert_false(pbs_time_read(bad[i], strlen(bad[i]), &offset, &err));
		assert_int_equal(err.kind, ERR_PROTOCOL);
	}
	assert_int_equal(offset, -18000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_is_made_with_everything_at_once),
		cmocka_unit_test(what_a_rule_no_longer_has_is_deleted_there),
		cmocka_unit_test(a_rule_that_would_open_or_starve_is_never_made),
		cmocka_unit_test(the_other_calls_have_their_paths),
		cmocka_unit_test(rules_are_read_as_the_server_prints_them),
		cmocka_unit_test(a_rate_may_have_any_unit_of_the_server),
		cmocka_unit_test(malformed_rules_are_not_read),
		cmocka_unit_test(the_longer_prefix_or_a_user_hides),
		cmocka_unit_test(a_timeframe_is_of_the_servers_own_week),
		cmocka_unit_test(a_timeframe_over_midnight_is_two),
		cmocka_unit_test(a_clock_that_was_never_set_has_no_timeframe),
		cmocka_unit_test(groups_and_namespaces_are_read),
		cmocka_unit_test(the_servers_zone_is_what_its_clocks_differ_by),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
