// SPDX-License-Identifier: MIT
/*
 * Windows of local time as people write them: "22:00-06:00", "sat,sun", "mon-fri 22:00-06:00".
 */
#ifndef RG_CONF_WINDOW_H
#define RG_CONF_WINDOW_H

#include <stdbool.h>

#include "base/err.h"
#include "core/policy.h"

#define WINDOW_TEXT_MAX 64

bool window_parse(const char *text, struct window *ret, struct err *err);

/* A form that parses to the same window. Returns `text`. */
const char *window_print(const struct window *window, char text[WINDOW_TEXT_MAX]);

/* "mon" is 0; -1 for another word of `len` bytes. */
int weekday_parse(const char *word, size_t len);

/* "HH:MM" at *p as seconds since midnight; moves *p past it. 24:00 only where `end`. */
bool daytime_take(const char **p, bool end, int32_t *ret_s);

#endif
