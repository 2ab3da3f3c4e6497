// SPDX-License-Identifier: MIT
/* Taking a line apart from its left end. Each function that takes something moves `p` past it;
 * where it returns false, what `p` is does not matter any more unless it says so. Pure. */
#ifndef RG_MD_SCAN_H
#define RG_MD_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/moment.h"

struct scan {
	const char *p;
	const char *end;
};

size_t scan_left(const struct scan *l);

/* Without blanks, tabs and "\r" around it. */
struct scan scan_trim(struct scan line);
bool scan_begins(struct scan line, const char *text);
bool scan_holds(struct scan line, const char *text);

/* `text`, else false and nothing moved. */
bool scan_take(struct scan *l, const char *text);

/* Any blanks and tabs; false if there is none. */
bool scan_blanks(struct scan *l);

/* Digits, at least one, of a number up to `max`. */
bool scan_number(struct scan *l, uint64_t max, uint64_t *ret);
bool scan_opt(struct scan *l, uint64_t max, struct opt *ret); /* max <= INT64_MAX */

/* Everything up to the next blank; may be empty. */
struct scan scan_word(struct scan *l);

#endif
