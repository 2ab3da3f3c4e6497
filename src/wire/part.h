// SPDX-License-Identifier: MIT
/* What the codecs of this folder share; private to it. */
#ifndef RG_WIRE_PART_H
#define RG_WIRE_PART_H

#include <stddef.h>

#include "base/json.h"

/* A `struct opt` of a larger struct, by name. */
struct opt_member {
	const char *name;
	size_t offset;
};

/* Writes the opts of `base`; unknown ones as null if `nulls`, else not at all. */
bool part_put_opts(
	json_t *object, const struct opt_member *members, size_t n, const void *base, bool nulls);
bool part_get_opts(const json_t *object, const struct opt_member *members, size_t n, void *base,
	struct err *err);

/* A word of an enum: *ret_word is NULL for null. The member must be there. */
bool part_get_word(const json_t *object, const char *name, const char **ret_word, struct err *err);

/* The sentence for a word that is none of ours. Returns false. */
bool part_bad_word(const char *name, const char *word, struct err *err);

/* A member that must be an object, or a list of at most `max` values. */
bool part_get_object(const json_t *object, const char *name, const json_t **ret, struct err *err);
bool part_get_list(
	const json_t *object, const char *name, size_t max, const json_t **ret, struct err *err);

/* Refuses what is no object, saying what it should be. */
bool part_is_object(const json_t *value, const char *what, struct err *err);

/* Releases `object` and returns NULL unless `good`. */
json_t *part_done(json_t *object, bool good);

/* Reads a word into an enum of any type: null is 0. `parse` is the enum's own function. */
#define PART_GET_ENUM(object, name, parse, ret, err)                                               \
	({                                                                                         \
		const char *part_word = NULL;                                                      \
		bool part_ok = part_get_word(object, name, &part_word, err);                       \
		if (part_ok && part_word) {                                                        \
			*(ret) = parse(part_word);                                                 \
			if (!*(ret))                                                               \
				part_ok = part_bad_word(name, part_word, err);                     \
		}                                                                                  \
		part_ok;                                                                           \
	})

/* As above; the member may be absent. */
#define PART_MAY_ENUM(object, name, parse, ret, err)                                               \
	(!json_object_get(object, name) || PART_GET_ENUM(object, name, parse, ret, err))

#define PART_COUNT(table) (sizeof(table) / sizeof((table)[0]))

#endif
