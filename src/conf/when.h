// SPDX-License-Identifier: MIT
/* Conditions: `when = { ... }` to a tree, back, and how two of them relate. */
#ifndef RG_CONF_WHEN_H
#define RG_CONF_WHEN_H

#include <stdbool.h>

#include "base/buf.h"
#include "conf/tree.h"
#include "core/policy.h"

#define WHEN_MAX_DEPTH 6   /* `any` and `not` within each other */
#define WHEN_MAX_VALUES 64 /* of one field */

/* The tree of a group; NULL where something is wrong. */
struct cond *when_read(struct node group, struct conf_errors *errors);

/* ALL of nothing. NULL without memory. */
struct cond *when_empty(void);

void when_free(struct cond *cond);

/* Appends "{ field = ...; any = (...); }" on one line. */
void when_print(const struct cond *cond, struct buf *ret);

/* True only where each situation that `b` matches is matched by `a`. False says nothing. Each step
 * takes one from *budget; at 0 the answer is false: trees could be made for which the search has no
 * end worth waiting for. */
bool when_implies(const struct cond *b, const struct cond *a, size_t *budget);

/* True where a test on `field` stands somewhere in the tree. */
bool when_names(const struct cond *cond, enum field field);

#endif
