// SPDX-License-Identifier: MIT
/* One value of a condition: its text to `struct value`, and back. */
#ifndef RG_CONF_VALUE_H
#define RG_CONF_VALUE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/policy.h"

/* Parses `text` for `field`. A text value points into `text`: it lives as long as that does. */
bool value_parse(enum field field, const char *text, struct value *ret, struct err *err);

/* Parses a plain fact, without comparator, of a field that is a number or a word. */
bool value_parse_fact(enum field field, const char *text, int64_t *ret, struct err *err);

/* Appends the quoted text that parses to the same value. */
void value_print(enum field field, const struct value *value, struct buf *ret);

/* True where each value that `b` covers is covered by `a`. */
bool value_within(enum field field, const struct value *b, const struct value *a);

/* The whole numbers that a comparator covers, as a range; false where there is none. NE covers
 * everything but one and is not a range. */
bool value_range(const struct value *value, int64_t *ret_low, int64_t *ret_high);

#endif
