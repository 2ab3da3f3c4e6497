// SPDX-License-Identifier: MIT
/* What is asked and answered, as JSON. The calls themselves are tested with the hook. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/client.h"
#include "client/worker.h"

static void a_question_carries_what_is_known_and_nothing_else(void **state)
{
	struct ask ask = {.request = {.client = CLIENT_VZDUMP,
				  .phase = PHASE_BACKUP_START,
				  .storage = "nas",
				  .node = "pve1",
				  .guest = 101,
				  .guest_type = GUEST_LXC,
				  .mode = MODE_STOP,
				  .n_guests = 2,
				  .guests = {101, 102},
				  .next_start_utc_ms = OPT(5)},
		.worker = {.pid = 42, .start_ticks = 7, .boot_id = "b"},
		.upid = "UPID:x",
		.ticket = 17,
		.held_ms = 3,
		.wait_ms = 25000};
	json_t *value = ask_json(&ask);
	char *text = json_text(value, 0);

	(void)state;
	assert_string_equal(text,
		"{\"client\":\"vzdump\",\"phase\":\"backup-start\",\"storage\":\"nas\",\"node\":"
		"\"pve1\",\"guest\":101,\"guest_type\":\"lxc\",\"mode\":\"stop\",\"upid\":\"UPID:"
		"x\",\"worker\":{\"pid\":42,\"start_ticks\":7,\"boot_id\":\"b\"},\"ticket\":17,"
		"\"held_ms\":3,\"wait_ms\":25000,\"guests\":[101,102],\"next_start_utc_ms\":5}");
	free(text);
	json_decref(value);
	ask = (struct ask){
		.request = {.client = CLIENT_WAIT, .phase = PHASE_JOB_INIT, .storage = "s"}};
	value = ask_json(&ask);
	text = json_text(value, 0);
	assert_string_equal(text,
		"{\"client\":\"wait\",\"phase\":\"job-init\",\"storage\":\"s\","
		"\"ticket\":0,\"held_ms\":0,\"wait_ms\":0}");
	free(text);
	json_decref(value);
}

static bool read_text(const char *text, struct answer *ret, struct err *err)
{
	json_t *value = json_read(text, strlen(text), NULL);
	bool ok;

	assert_non_null(value);
	ok = answer_read(value, ret, err);
	json_decref(value);
	return ok;
}

static void an_answer_is_read_whole(void **state)
{
	struct answer answer;
	struct err err = {0};

	(void)state;
	assert_true(read_text(
		"{\"ticket\":17,\"decision\":412,\"act\":\"hold\",\"verdict\":\"hold\",\"would_"
		"be\":"
		"\"hold\",\"step\":5,\"rule\":\"rebuild\",\"nas\":\"nas1\",\"array\":\"md2\","
		"\"reasons\":[{\"code\":\"rule\",\"text\":\"one\"},{\"code\":\"note\",\"text\":"
		"\"two\"}],\"held_ms\":9,\"ends_in_ms\":10,\"ends_utc_ms\":11,\"then\":"
		"\"throttle\","
		"\"expected_ms\":null,\"released_by\":null,\"node\":\"n\",\"policy_hash\":\"x\","
		"\"recorded\":false,\"facts\":{\"name\":\"md2\",\"operation\":\"recovery\","
		"\"progress_ppm\":413000}}",
		&answer, &err));
	assert_int_equal(answer.ticket, 17);
	assert_int_equal(answer.decision, 412);
	assert_int_equal(answer.act, VERDICT_HOLD);
	assert_int_equal(answer.then, VERDICT_THROTTLE);
	assert_int_equal(answer.n_reasons, 2);
	assert_string_equal(answer.reasons[1].text, "two");
	assert_int_equal(answer.ends_in_ms.v, 10);
	assert_false(answer.expected_ms.known);
	assert_string_equal(answer.released_by, "");
	assert_false(answer.recorded);
	assert_string_equal(answer.operation, "recovery");
	assert_int_equal(answer.progress_ppm.v, 413000);
}

static void an_answer_without_a_verdict_is_none(void **state)
{
	static const char *const bad[] = {"{}", "[]",
		"{\"act\":\"maybe\",\"verdict\":\"allow\",\"reasons\":[]}",
		"{\"act\":\"allow\",\"reasons\":[]}", "{\"act\":\"allow\",\"verdict\":\"allow\"}",
		"{\"act\":\"allow\",\"verdict\":\"allow\",\"reasons\":[],\"ticket\":-1}",
		"{\"act\":\"hold\",\"verdict\":\"hold\",\"reasons\":[],\"ends_in_ms\":\"10\"}",
		"{\"act\":\"hold\",\"verdict\":\"hold\",\"reasons\":[],\"step\":9}"};
	struct answer answer = {.ticket = 5};
	struct err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err = (struct err){0};
		if (read_text(bad[i], &answer, &err))
			fail_msg("taken: %s", bad[i]);
		assert_int_equal(err.kind, ERR_PROTOCOL);
		assert_int_equal(strncmp(err.text, "the gate's answer is not understood", 35), 0);
	}
	assert_int_equal(answer.ticket, 5);
}

static void long_reasons_are_cut_between_characters(void **state)
{
	char text[1200] = "{\"act\":\"allow\",\"verdict\":\"allow\",\"reasons\":[{\"text\":\"x";
	struct answer answer;
	struct err err = {0};
	size_t i;

	(void)state;
	for (i = 0; i < 300; i++)
		strcat(text, "\xc3\xa4");
	strcat(text, "\"}]}");
	assert_true(read_text(text, &answer, &err));
	/* 399 bytes have room: x and 199 whole characters */
	assert_int_equal(strlen(answer.reasons[0].text), 399);
	assert_int_equal((unsigned char)answer.reasons[0].text[398], 0xa4);
}

static void a_process_is_known_by_more_than_its_number(void **state)
{
	struct worker worker;

	(void)state;
	worker_of(getpid(), &worker);
	assert_int_equal(worker.pid, getpid());
	assert_true(worker.start_ticks > 0);
	assert_int_equal(strlen(worker.boot_id), 36);
	assert_int_equal(worker_start_ticks(INT32_MAX), 0);
}

static void a_gate_that_is_not_there_is_gone(void **state)
{
	const struct gate_link link = {.socket = "/nonexistent/socket"};
	struct ask ask = {
		.request = {.client = CLIENT_WAIT, .phase = PHASE_JOB_INIT, .storage = "s"}};
	struct answer answer;
	struct err err = {0};

	(void)state;
	assert_false(client_ask(&link, &ask, &answer, &err));
	assert_int_equal(err.kind, ERR_GONE);
	assert_string_equal(
		err.text, "cannot connect to '/nonexistent/socket': No such file or directory");
	assert_false(client_get(&link, "/v1/status", NULL, &err));
	assert_int_equal(err.kind, ERR_GONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_question_carries_what_is_known_and_nothing_else),
		cmocka_unit_test(an_answer_is_read_whole),
		cmocka_unit_test(an_answer_without_a_verdict_is_none),
		cmocka_unit_test(long_reasons_are_cut_between_characters),
		cmocka_unit_test(a_process_is_known_by_more_than_its_number),
		cmocka_unit_test(a_gate_that_is_not_there_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
