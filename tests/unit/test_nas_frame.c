// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "nas/frame.h"

static void result_fill(struct probe_result *result, size_t raw_len)
{
	size_t i;

	probe_result_clear(result);
	probe_fail(result, SENSOR_DRIPPING, "%zu bytes came", raw_len);
	result->logged_in = true;
	for (i = 0; i < raw_len; i++)
		assert_true(buf_addc(&result->raw, (char)(i * 7 + i / 256)));
}

static void assert_same(const struct probe_result *a, const struct probe_result *b)
{
	assert_int_equal(a->sensor, b->sensor);
	assert_int_equal(a->logged_in, b->logged_in);
	assert_int_equal(a->partial, b->partial);
	assert_string_equal(a->text, b->text);
	assert_int_equal(a->raw.len, b->raw.len);
	if (a->raw.len)
		assert_memory_equal(a->raw.data, b->raw.data, a->raw.len);
}

/* Feeds in pieces of `step` bytes: only the last one may complete the frame. */
static void round_trip(size_t raw_len, size_t step)
{
	struct probe_result in = {0}, out = {0};
	struct frame_reader reader = {0};
	enum frame_state state = FRAME_MORE;
	struct buf frame = {0};
	struct err err = {0};
	size_t at, len;

	result_fill(&in, raw_len);
	assert_true(frame_write(&in, &frame, &err));
	for (at = 0; at < frame.len; at += len) {
		assert_int_equal(state, FRAME_MORE);
		len = frame.len - at < step ? frame.len - at : step;
		state = frame_read(&reader, frame.data + at, len, &out, &err);
	}
	assert_int_equal(state, FRAME_WHOLE);
	assert_same(&in, &out);
	frame_reader_release(&reader);
	probe_result_release(&in);
	probe_result_release(&out);
	buf_release(&frame);
}

static void a_frame_comes_back_as_it_went_in_pieces_of_any_size(void **state)
{
	(void)state;
	round_trip(0, 1);
	round_trip(0, 100);
	round_trip(1, 1);
	round_trip(300, 1);
	round_trip(300, 7);
	round_trip(70000, 4096);
	round_trip(PROBE_RAW_MAX, 16384);
	round_trip(PROBE_RAW_MAX, PROBE_RAW_MAX + 1000);
}

static void every_sensor_and_flag_comes_back(void **state)
{
	struct probe_result in = {0}, out = {0};
	struct frame_reader reader = {0};
	struct buf frame = {0};
	int sensor;

	(void)state;
	for (sensor = SENSOR_OK; sensor <= SENSOR_FAULT; sensor++) {
		probe_result_clear(&in);
		in.sensor = (enum nas_sensor)sensor;
		in.partial = sensor % 2;
		in.logged_in = sensor % 3;
		buf_clear(&frame);
		assert_true(frame_write(&in, &frame, NULL));
		assert_int_equal(
			frame_read(&reader, frame.data, frame.len, &out, NULL), FRAME_WHOLE);
		assert_same(&in, &out);
	}
	frame_reader_release(&reader);
	probe_result_release(&in);
	probe_result_release(&out);
	buf_release(&frame);
}

/* A whole frame with one byte changed. */
static enum frame_state read_bent(size_t at, unsigned char value, struct err *err)
{
	struct probe_result in = {0}, out = {0};
	struct frame_reader reader = {0};
	struct buf frame = {0};
	enum frame_state state;

	result_fill(&in, 10);
	assert_true(frame_write(&in, &frame, NULL));
	frame.data[at] = (char)value;
	state = frame_read(&reader, frame.data, frame.len, &out, err);
	if (state == FRAME_BROKEN) {
		assert_int_equal(out.sensor, SENSOR_NONE);
		assert_int_equal(
			frame_read(&reader, frame.data, frame.len, &out, NULL), FRAME_BROKEN);
	}
	frame_reader_release(&reader);
	probe_result_release(&in);
	probe_result_release(&out);
	buf_release(&frame);
	return state;
}

static void a_head_that_lies_breaks_the_reader_for_good(void **state)
{
	struct err err = {0};

	(void)state;
	assert_int_equal(read_bent(0, 'X', &err), FRAME_BROKEN);
	assert_int_equal(err.kind, ERR_PROTOCOL);
	assert_int_equal(read_bent(3, '2', &err), FRAME_BROKEN);
	assert_int_equal(read_bent(4, SENSOR_NONE, &err), FRAME_BROKEN);
	assert_int_equal(read_bent(4, SENSOR_FAULT + 1, &err), FRAME_BROKEN);
	assert_int_equal(read_bent(4, 255, &err), FRAME_BROKEN);
	assert_int_equal(read_bent(5, 4, &err), FRAME_BROKEN);
	assert_int_equal(read_bent(6, 1, &err), FRAME_BROKEN);    /* sentence of 256 and more */
	assert_int_equal(read_bent(8, 0x80, &err), FRAME_BROKEN); /* 2 GiB of output */
	assert_int_equal(read_bent(9, 4, &err), FRAME_BROKEN);    /* 256 KiB + 10 */
	assert_non_null(strstr(err.text, "claims"));
	assert_int_equal(read_bent(11, 9, &err), FRAME_BROKEN); /* one byte too many follows */
	assert_int_equal(read_bent(11, 11, &err), FRAME_MORE);  /* one byte is still to come */
}

static void a_wrong_start_is_refused_at_its_first_byte(void **state)
{
	struct probe_result out = {0};
	struct frame_reader reader = {0};

	(void)state;
	assert_int_equal(frame_read(&reader, "m", 1, &out, NULL), FRAME_BROKEN);
	frame_reader_release(&reader);
	assert_int_equal(frame_read(&reader, "R", 1, &out, NULL), FRAME_MORE);
	assert_int_equal(frame_read(&reader, "E", 1, &out, NULL), FRAME_BROKEN);
	frame_reader_release(&reader);
}

static void more_than_a_frame_can_be_is_not_even_stored(void **state)
{
	static char flood[PROBE_RAW_MAX + 1000];
	struct probe_result out = {0};
	struct frame_reader reader = {0};

	(void)state;
	memcpy(flood, "RGP1", 4);
	assert_int_equal(frame_read(&reader, flood, sizeof(flood), &out, NULL), FRAME_BROKEN);
	assert_int_equal(reader.in.len, 0);
	frame_reader_release(&reader);
}

static void output_past_the_limit_is_not_framed(void **state)
{
	struct probe_result in = {0};
	struct buf frame = {0};
	struct err err = {0};
	char byte = 'x';

	(void)state;
	result_fill(&in, PROBE_RAW_MAX);
	assert_false(buf_add(&in.raw, &byte, 1)); /* a cleared result holds no more */
	in.raw.max = PROBE_RAW_MAX + 1;
	in.raw.failed = false;
	assert_true(buf_add(&in.raw, &byte, 1));
	assert_false(frame_write(&in, &frame, &err));
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_int_equal(frame.len, 0);
	probe_result_release(&in);
	buf_release(&frame);
}

static void a_sentence_is_cut_and_has_no_control_characters(void **state)
{
	struct probe_result result = {0};
	char long_text[1000];

	(void)state;
	memset(long_text, 'a', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	assert_false(probe_fail(&result, SENSOR_AUTH, "%s", long_text));
	assert_int_equal(strlen(result.text), PROBE_TEXT_MAX - 1);
	probe_fail(&result, SENSOR_AUTH, "a\nb\033[2Jc\x7f\xc3\xa9");
	assert_string_equal(result.text, "a b [2Jc \xc3\xa9");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_comes_back_as_it_went_in_pieces_of_any_size),
		cmocka_unit_test(every_sensor_and_flag_comes_back),
		cmocka_unit_test(a_head_that_lies_breaks_the_reader_for_good),
		cmocka_unit_test(a_wrong_start_is_refused_at_its_first_byte),
		cmocka_unit_test(more_than_a_frame_can_be_is_not_even_stored),
		cmocka_unit_test(output_past_the_limit_is_not_framed),
		cmocka_unit_test(a_sentence_is_cut_and_has_no_control_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
