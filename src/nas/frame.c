// SPDX-License-Identifier: MIT
#include "nas/frame.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define HEAD_LEN ((size_t)12)
#define FLAG_LOGGED_IN 1U
#define FLAG_PARTIAL 2U
#define FLAGS_ALL (FLAG_LOGGED_IN | FLAG_PARTIAL)

static const char magic[4] = {'R', 'G', 'P', '1'};

struct head {
	enum nas_sensor sensor;
	unsigned flags;
	size_t text_len;
	size_t raw_len;
};

bool probe_fail(struct probe_result *result, enum nas_sensor sensor, const char *fmt, ...)
{
	va_list ap;
	char *c;

	result->sensor = sensor;
	va_start(ap, fmt);
	vsnprintf(result->text, sizeof(result->text), fmt, ap);
	va_end(ap);
	for (c = result->text; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = ' ';
	}
	return false;
}

void probe_result_clear(struct probe_result *result)
{
	result->sensor = SENSOR_NONE;
	result->logged_in = false;
	result->partial = false;
	result->text[0] = '\0';
	result->raw.max = PROBE_RAW_MAX;
	buf_clear(&result->raw);
}

void probe_result_release(struct probe_result *result)
{
	buf_release(&result->raw);
	probe_result_clear(result);
}

bool frame_write(const struct probe_result *result, struct buf *out, struct err *err)
{
	size_t text_len = strnlen(result->text, sizeof(result->text) - 1);
	size_t raw_len = result->raw.len;
	unsigned char head[HEAD_LEN];

	if (raw_len > PROBE_RAW_MAX)
		return err_set(err, ERR_LIMIT, "a look's output of %zu bytes is larger than %zu",
			raw_len, PROBE_RAW_MAX);
	memcpy(head, magic, sizeof(magic));
	head[4] = (unsigned char)result->sensor;
	head[5] = (unsigned char)((result->logged_in ? FLAG_LOGGED_IN : 0) |
		(result->partial ? FLAG_PARTIAL : 0));
	head[6] = (unsigned char)(text_len >> 8);
	head[7] = (unsigned char)(text_len & 0xff);
	head[8] = (unsigned char)(raw_len >> 24);
	head[9] = (unsigned char)(raw_len >> 16 & 0xff);
	head[10] = (unsigned char)(raw_len >> 8 & 0xff);
	head[11] = (unsigned char)(raw_len & 0xff);
	if (!buf_add(out, head, sizeof(head)) || !buf_add(out, result->text, text_len) ||
		!buf_add(out, buf_str(&result->raw), raw_len))
		return err_nomem(err);
	return true;
}

static bool head_read(const unsigned char *in, size_t len, struct head *ret, struct err *err)
{
	if (memcmp(in, magic, len < sizeof(magic) ? len : sizeof(magic)) != 0)
		return err_set(err, ERR_PROTOCOL, "the probe's answer does not begin as a frame");
	*ret = (struct head){0};
	if (len < HEAD_LEN)
		return true;
	ret->sensor = (enum nas_sensor)in[4];
	ret->flags = in[5];
	ret->text_len = (size_t)in[6] << 8 | in[7];
	ret->raw_len = (size_t)in[8] << 24 | (size_t)in[9] << 16 | (size_t)in[10] << 8 | in[11];
	if (!nas_sensor_word(ret->sensor))
		return err_set(err, ERR_PROTOCOL, "the probe's answer has the unknown sensor %u",
			(unsigned)in[4]);
	if (ret->flags & ~FLAGS_ALL)
		return err_set(
			err, ERR_PROTOCOL, "the probe's answer has unknown flags 0x%x", ret->flags);
	if (ret->text_len >= PROBE_TEXT_MAX || ret->raw_len > PROBE_RAW_MAX)
		return err_set(err, ERR_PROTOCOL,
			"the probe's answer claims a sentence of %zu and an output of %zu bytes",
			ret->text_len, ret->raw_len);
	return true;
}

static bool result_take(
	struct probe_result *ret, const struct head *head, const char *body, struct err *err)
{
	probe_result_clear(ret);
	ret->sensor = head->sensor;
	ret->logged_in = head->flags & FLAG_LOGGED_IN;
	ret->partial = head->flags & FLAG_PARTIAL;
	memcpy(ret->text, body, head->text_len);
	ret->text[head->text_len] = '\0';
	if (!buf_add(&ret->raw, body + head->text_len, head->raw_len))
		return err_nomem(err);
	return true;
}

enum frame_state frame_read(struct frame_reader *reader, const void *data, size_t len,
	struct probe_result *ret, struct err *err)
{
	struct buf *in = &reader->in;
	struct head head = {0};
	size_t whole;

	in->max = HEAD_LEN + PROBE_TEXT_MAX + PROBE_RAW_MAX;
	if (reader->broken) {
		err_set(err, ERR_PROTOCOL, "the probe's answer was broken before");
		return FRAME_BROKEN;
	}
	reader->broken = true;
	if (len > in->max - in->len) {
		err_set(err, ERR_PROTOCOL, "the probe's answer is longer than a frame can be");
		return FRAME_BROKEN;
	}
	if (!buf_add(in, data, len)) {
		err_nomem(err);
		return FRAME_BROKEN;
	}
	if (!head_read((const unsigned char *)buf_str(in), in->len, &head, err))
		return FRAME_BROKEN;
	whole = HEAD_LEN + head.text_len + head.raw_len;
	if (in->len > whole) {
		err_set(err, ERR_PROTOCOL, "the probe's answer goes on after its frame");
		return FRAME_BROKEN;
	}
	if (in->len == whole && !result_take(ret, &head, in->data + HEAD_LEN, err))
		return FRAME_BROKEN;
	reader->broken = false;
	if (in->len < whole)
		return FRAME_MORE;
	buf_clear(in);
	return FRAME_WHOLE;
}

void frame_reader_release(struct frame_reader *reader)
{
	buf_release(&reader->in);
	reader->broken = false;
}
