// SPDX-License-Identifier: MIT
/*
 * A growing string of bytes with a hard upper bound.
 *
 * Always NUL-terminated after the last byte (the NUL is not counted), so `data` can be printed once
 * it is not NULL. A failed append sets `failed` and every later append does nothing: build a text
 * in many steps, test `failed` once. Reset with buf_clear(), free with buf_release(); an all-zero
 * struct is empty.
 */
#ifndef RG_BASE_BUF_H
#define RG_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data; /* owned; NULL until the first append */
	size_t len;
	size_t cap;
	size_t max; /* bytes at most; 0 means BUF_MAX_DEFAULT */
	bool failed;
};

#define BUF_MAX_DEFAULT ((size_t)64 << 20)

/* Appends `len` bytes. False (and `failed`) without memory or past `max`; then nothing was
 * appended. */
bool buf_add(struct buf *buf, const void *data, size_t len);
bool buf_adds(struct buf *buf, const char *text);
bool buf_addc(struct buf *buf, char c);
bool buf_addf(struct buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Makes room for `len` more bytes and returns where they go, or NULL; tell what was used with
 * buf_used(). */
char *buf_room(struct buf *buf, size_t len);
void buf_used(struct buf *buf, size_t len);

/* Drops the first `len` bytes (at most all). */
void buf_drop(struct buf *buf, size_t len);

/* Empties; keeps the memory. */
void buf_clear(struct buf *buf);

/* Frees; the struct is empty and usable afterwards, `max` is kept. */
void buf_release(struct buf *buf);

/* The text, never NULL. */
const char *buf_str(const struct buf *buf);

#endif
