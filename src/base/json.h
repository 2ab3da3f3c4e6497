// SPDX-License-Identifier: MIT
/*
 * JSON, by jansson: the only place that includes its header. What is added here is strict reading:
 * every getter says in a sentence which member is missing or of the wrong type, and numbers are
 * whole and in range.
 *
 * Not for src/md and src/core, which are pure.
 */
#ifndef RG_BASE_JSON_H
#define RG_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/moment.h"

/* Parses exactly `len` bytes: one value, no duplicate members, nothing after it. NULL on failure.
 * Caller owns it. */
json_t *json_read(const char *text, size_t len, struct err *err);

/* Compact (indent 0) or indented text, members in the order in which they were set; malloc()ed;
 * NULL without memory. */
char *json_text(const json_t *value, int indent);

/* Required members. On failure *ret is untouched. The text stays owned by `object`. */
bool json_get_text(const json_t *object, const char *name, const char **ret, struct err *err);
bool json_get_int(const json_t *object, const char *name, int64_t min, int64_t max, int64_t *ret,
	struct err *err);
bool json_get_bool(const json_t *object, const char *name, bool *ret, struct err *err);

/* Copies a required text into `ret` of `size` bytes; a longer one is ERR_LIMIT. */
bool json_copy_text(
	const json_t *object, const char *name, char *ret, size_t size, struct err *err);

/* Members that may be absent or null: then *ret is left as it was and true is returned; a wrong
 * type is an error. */
bool json_may_text(const json_t *object, const char *name, const char **ret, struct err *err);
bool json_may_copy(const json_t *object, const char *name, char *ret, size_t size, struct err *err);
bool json_may_int(const json_t *object, const char *name, int64_t min, int64_t max, int64_t *ret,
	struct err *err);
bool json_may_bool(const json_t *object, const char *name, bool *ret, struct err *err);
bool json_may_opt(const json_t *object, const char *name, struct opt *ret, struct err *err);

/* Setters that build an object; false without memory or for text that is not UTF-8 (replaced by '?'
 * beforehand). */
bool json_put_text(json_t *object, const char *name, const char *text); /* NULL or "" sets null */
bool json_put_int(json_t *object, const char *name, int64_t v);
bool json_put_bool(json_t *object, const char *name, bool v);
bool json_put_opt(json_t *object, const char *name, struct opt v); /* null while unknown */
bool json_put(
	json_t *object, const char *name, json_t *value); /* steals `value`, also on failure */

#endif
