// SPDX-License-Identifier: MIT
/* Configuration files as bytes, and the names of files beside them. */
#ifndef RG_CONF_FILE_H
#define RG_CONF_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* The whole of a regular file of at most `max` bytes, with a NUL after it; malloc()ed. */
bool file_read(const char *path, size_t max, char **ret, size_t *ret_len, struct err *err);

/* `name`, if it is relative, as seen from the folder of `beside`. False where it does not fit. */
bool file_beside(const char *beside, const char *name, char *ret, size_t size);

/* The first byte that is no UTF-8, or `len`. */
size_t utf8_check(const char *data, size_t len);

#endif
