// SPDX-License-Identifier: MIT
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *buf_room(struct buf *buf, size_t len)
{
	size_t max = buf->max ? buf->max : BUF_MAX_DEFAULT;
	size_t need, cap;
	char *data;

	if (buf->failed || len > max || buf->len > max - len) {
		buf->failed = true;
		return NULL;
	}
	need = buf->len + len + 1;
	if (need > buf->cap) {
		cap = buf->cap ? buf->cap * 2 : 256;
		while (cap < need)
			cap *= 2;
		data = realloc(buf->data, cap);
		if (!data) {
			buf->failed = true;
			return NULL;
		}
		buf->data = data;
		buf->cap = cap;
	}
	return buf->data + buf->len;
}

void buf_used(struct buf *buf, size_t len)
{
	buf->len += len;
	buf->data[buf->len] = '\0';
}

bool buf_add(struct buf *buf, const void *data, size_t len)
{
	char *room = buf_room(buf, len);

	if (!room)
		return false;
	if (len)
		memcpy(room, data, len);
	buf_used(buf, len);
	return true;
}

bool buf_adds(struct buf *buf, const char *text)
{
	return buf_add(buf, text, strlen(text));
}

bool buf_addc(struct buf *buf, char c)
{
	return buf_add(buf, &c, 1);
}

bool buf_addf(struct buf *buf, const char *fmt, ...)
{
	va_list ap;
	char *room;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len < 0 || !(room = buf_room(buf, (size_t)len))) {
		buf->failed = true;
		return false;
	}
	va_start(ap, fmt);
	vsnprintf(room, (size_t)len + 1, fmt, ap);
	va_end(ap);
	buf_used(buf, (size_t)len);
	return true;
}

void buf_drop(struct buf *buf, size_t len)
{
	if (!buf->len)
		return;
	if (len > buf->len)
		len = buf->len;
	buf->len -= len;
	memmove(buf->data, buf->data + len, buf->len);
	buf->data[buf->len] = '\0';
}

void buf_clear(struct buf *buf)
{
	buf->len = 0;
	buf->failed = false;
	if (buf->data)
		buf->data[0] = '\0';
}

void buf_release(struct buf *buf)
{
	size_t max = buf->max;

	free(buf->data);
	*buf = (struct buf){.max = max};
}

const char *buf_str(const struct buf *buf)
{
	return buf->data ? buf->data : "";
}
