// SPDX-License-Identifier: MIT
/* src/wire/keep and client/keep's body: what a keeper and the gate say to each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "wire/keep.h"

static struct keep_ask an_ask(void)
{
	return (struct keep_ask){.ticket = 17,
		.worker = {4711, 99, "b1"},
		.node = "pve1",
		.storage = "nas",
		.guest = 100,
		.fleecing = true,
		.path = STEER_LIMIT,
		.rate = 1000000,
		.n_jobs = 2,
		.moved = {true, 999000},
		.total = {true, 5000000000},
		.trouble = "QEMU does not answer"};
}

static void a_question_comes_back_as_it_was(void **state)
{
	struct keep_ask ask = an_ask(), back;
	struct buf text = {0};

	(void)state;
	assert_true(keep_ask_write(&ask, &text, NULL));
	assert_true(keep_ask_read(text.data, text.len, &back, NULL));
	assert_memory_equal(&back.worker, &ask.worker, sizeof(ask.worker));
	assert_int_equal(back.ticket, 17);
	assert_string_equal(back.node, "pve1");
	assert_string_equal(back.storage, "nas");
	assert_int_equal(back.guest, 100);
	assert_true(back.fleecing);
	assert_int_equal(back.path, STEER_LIMIT);
	assert_int_equal(back.rate, 1000000);
	assert_int_equal(back.n_jobs, 2);
	assert_true(back.moved.known);
	assert_int_equal(back.moved.v, 999000);
	assert_true(back.total.known);
	assert_int_equal(back.total.v, 5000000000);
	assert_false(back.ending);
	assert_string_equal(back.trouble, "QEMU does not answer");
	buf_release(&text);
}

static void what_is_not_known_stays_unknown(void **state)
{
	struct keep_ask ask = an_ask(), back;
	struct buf text = {0};

	(void)state;
	ask.moved = OPT_NONE;
	ask.total = OPT_NONE;
	ask.trouble[0] = '\0';
	ask.node[0] = '\0';
	ask.ending = true;
	ask.path = STEER_FREE;
	assert_true(keep_ask_write(&ask, &text, NULL));
	assert_true(keep_ask_read(text.data, text.len, &back, NULL));
	assert_false(back.moved.known);
	assert_false(back.total.known);
	assert_string_equal(back.trouble, "");
	assert_string_equal(back.node, "");
	assert_true(back.ending);
	buf_release(&text);
}

static void an_answer_comes_back_as_it_was(void **state)
{
	const struct keep_answer answer = {STEER_LIMIT, 5000000, 2000, 15000, "md2 keeps 80 %"};
	struct keep_answer back;
	struct buf text = {0};

	(void)state;
	assert_true(keep_answer_write(&answer, &text, NULL));
	assert_true(keep_answer_read(text.data, text.len, &back, NULL));
	assert_int_equal(back.path, STEER_LIMIT);
	assert_int_equal(back.rate, 5000000);
	assert_int_equal(back.again_ms, 2000);
	assert_int_equal(back.max_pause_ms, 15000);
	assert_string_equal(back.reason, "md2 keeps 80 %");
	buf_release(&text);
}

static void what_is_written_is_in_range(void **state)
{
	const struct keep_answer answer = {STEER_REST, 0, 0, 10 * MS_HOUR, ""};
	struct keep_answer back;
	struct buf text = {0};

	(void)state;
	assert_true(keep_answer_write(&answer, &text, NULL));
	assert_true(keep_answer_read(text.data, text.len, &back, NULL));
	assert_int_equal(back.again_ms, KEEP_AGAIN_MIN_MS);
	assert_int_equal(back.max_pause_ms, KEEP_PAUSE_MAX_MS);
	buf_release(&text);
}

#define ASK_HEAD "{\"ticket\":17,\"worker\":{\"pid\":1,\"start_ticks\":2},\"storage\":\"nas\","

#define NO_TICKET                                                                                  \
	"{\"ticket\":0,\"worker\":{\"pid\":1,\"start_ticks\":2},\"storage\":\"nas\","              \
	"\"guest\":100,\"n_jobs\":1,\"path\":\"free\"}"

static void a_bad_question_is_refused(void **state)
{
	static const char *const bad[] = {
		"[]",
		"{}",
		"nothing",
		ASK_HEAD "\"guest\":100,\"n_jobs\":0}",
		ASK_HEAD "\"guest\":100,\"n_jobs\":0,\"path\":null}",
		ASK_HEAD "\"guest\":100,\"n_jobs\":0,\"path\":\"shut\"}",
		ASK_HEAD "\"guest\":0,\"n_jobs\":0,\"path\":\"free\"}",
		ASK_HEAD "\"guest\":100,\"n_jobs\":65,\"path\":\"free\"}",
		ASK_HEAD "\"guest\":100,\"n_jobs\":-1,\"path\":\"free\"}",
		ASK_HEAD "\"guest\":100,\"n_jobs\":1,\"path\":\"free\",\"moved\":-5}",
		ASK_HEAD "\"guest\":100,\"n_jobs\":1,\"path\":\"free\",\"rate\":-5}",
		ASK_HEAD "\"guest\":100,\"n_jobs\":1,\"path\":\"free\",\"ending\":1}",
		NO_TICKET,
		"{\"ticket\":7,\"storage\":\"nas\",\"guest\":100,\"n_jobs\":1,\"path\":\"free\"}",
	};
	static const char good[] = ASK_HEAD "\"guest\":100,\"n_jobs\":1,\"path\":\"free\"}";
	struct keep_ask ask;
	struct err err;
	size_t i;

	(void)state;
	assert_true(keep_ask_read(good, strlen(good), &ask, NULL));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err = (struct err){0};
		if (keep_ask_read(bad[i], strlen(bad[i]), &ask, &err))
			fail_msg("taken: %s", bad[i]);
		assert_true(err.kind == ERR_INVALID || err.kind == ERR_LIMIT);
	}
}

static void a_bad_answer_is_refused(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{\"path\":null,\"again_ms\":500,\"max_pause_ms\":0}",
		"{\"path\":\"free\",\"max_pause_ms\":0}",
		"{\"path\":\"free\",\"again_ms\":499,\"max_pause_ms\":0}",
		"{\"path\":\"free\",\"again_ms\":10001,\"max_pause_ms\":0}",
		"{\"path\":\"free\",\"again_ms\":500}",
		"{\"path\":\"free\",\"again_ms\":500,\"max_pause_ms\":-1}",
		"{\"path\":\"limit\",\"again_ms\":500,\"max_pause_ms\":0}",
		"{\"path\":\"limit\",\"rate\":0,\"again_ms\":500,\"max_pause_ms\":0}",
		"{\"path\":\"limit\",\"rate\":-1,\"again_ms\":500,\"max_pause_ms\":0}",
	};
	static const char good[] = "{\"path\":\"rest\",\"again_ms\":500,\"max_pause_ms\":0}";
	struct keep_answer answer;
	size_t i;

	(void)state;
	assert_true(keep_answer_read(good, strlen(good), &answer, NULL));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (keep_answer_read(bad[i], strlen(bad[i]), &answer, NULL))
			fail_msg("taken: %s", bad[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_question_comes_back_as_it_was),
		cmocka_unit_test(what_is_not_known_stays_unknown),
		cmocka_unit_test(an_answer_comes_back_as_it_was),
		cmocka_unit_test(what_is_written_is_in_range),
		cmocka_unit_test(a_bad_question_is_refused),
		cmocka_unit_test(a_bad_answer_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
