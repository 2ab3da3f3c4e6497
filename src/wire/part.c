// SPDX-License-Identifier: MIT
#include "wire/part.h"

bool part_put_opts(
	json_t *object, const struct opt_member *members, size_t n, const void *base, bool nulls)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const struct opt *v =
			(const struct opt *)(const void *)((const char *)base + members[i].offset);

		if ((v->known || nulls) && !json_put_opt(object, members[i].name, *v))
			return false;
	}
	return true;
}

bool part_get_opts(const json_t *object, const struct opt_member *members, size_t n, void *base,
	struct err *err)
{
	size_t i;

	for (i = 0; i < n; i++) {
		struct opt *v = (struct opt *)(void *)((char *)base + members[i].offset);

		if (!json_may_opt(object, members[i].name, v, err))
			return false;
	}
	return true;
}

bool part_get_word(const json_t *object, const char *name, const char **ret_word, struct err *err)
{
	if (!json_object_get(object, name))
		return err_set(err, ERR_INVALID, "member '%s' is missing", name);
	return json_may_text(object, name, ret_word, err);
}

bool part_bad_word(const char *name, const char *word, struct err *err)
{
	return err_set(err, ERR_INVALID, "member '%s' cannot be '%.64s'", name, word);
}

bool part_get_object(const json_t *object, const char *name, const json_t **ret, struct err *err)
{
	const json_t *value = json_object_get(object, name);

	if (!value)
		return err_set(err, ERR_INVALID, "member '%s' is missing", name);
	if (!json_is_object(value))
		return err_set(err, ERR_INVALID, "member '%s' must be an object", name);
	*ret = value;
	return true;
}

bool part_get_list(
	const json_t *object, const char *name, size_t max, const json_t **ret, struct err *err)
{
	const json_t *value = json_object_get(object, name);

	if (!value)
		return err_set(err, ERR_INVALID, "member '%s' is missing", name);
	if (!json_is_array(value))
		return err_set(err, ERR_INVALID, "member '%s' must be a list", name);
	if (json_array_size(value) > max)
		return err_set(err, ERR_LIMIT, "member '%s' has more than %zu entries", name, max);
	*ret = value;
	return true;
}

bool part_is_object(const json_t *value, const char *what, struct err *err)
{
	if (json_is_object(value))
		return true;
	return err_set(err, ERR_INVALID, "%s must be an object", what);
}

json_t *part_done(json_t *object, bool good)
{
	if (good)
		return object;
	json_decref(object);
	return NULL;
}
