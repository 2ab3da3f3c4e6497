// SPDX-License-Identifier: MIT
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

json_t *json_read(const char *text, size_t len, struct err *err)
{
	json_error_t where;
	json_t *value = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);

	if (!value)
		err_set(err, ERR_INVALID, "not JSON: line %d, column %d: %s", where.line,
			where.column, where.text);
	return value;
}

char *json_text(const json_t *value, int indent)
{
	/* 15 digits print a decimal fraction as it was written: 1.6, not 1.6000000000000001. */
	return json_dumps(value,
		JSON_ENCODE_ANY | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15) |
			(indent ? JSON_INDENT((size_t)indent) : JSON_COMPACT));
}

static const json_t *member(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	return json_is_null(value) ? NULL : value;
}

static bool missing(const char *name, struct err *err)
{
	return err_set(err, ERR_INVALID, "member '%s' is missing", name);
}

bool json_may_text(const json_t *object, const char *name, const char **ret, struct err *err)
{
	const json_t *value = member(object, name);

	if (!value)
		return true;
	if (!json_is_string(value))
		return err_set(err, ERR_INVALID, "member '%s' must be a text", name);
	*ret = json_string_value(value);
	return true;
}

bool json_get_text(const json_t *object, const char *name, const char **ret, struct err *err)
{
	if (!member(object, name))
		return missing(name, err);
	return json_may_text(object, name, ret, err);
}

bool json_may_copy(const json_t *object, const char *name, char *ret, size_t size, struct err *err)
{
	const char *text = NULL;

	if (!json_may_text(object, name, &text, err))
		return false;
	if (!text)
		return true;
	if (strlen(text) >= size)
		return err_set(
			err, ERR_LIMIT, "member '%s' is longer than %zu bytes", name, size - 1);
	memcpy(ret, text, strlen(text) + 1);
	return true;
}

bool json_copy_text(const json_t *object, const char *name, char *ret, size_t size, struct err *err)
{
	if (!member(object, name))
		return missing(name, err);
	return json_may_copy(object, name, ret, size, err);
}

bool json_may_int(const json_t *object, const char *name, int64_t min, int64_t max, int64_t *ret,
	struct err *err)
{
	const json_t *value = member(object, name);

	if (!value)
		return true;
	if (!json_is_integer(value) || json_integer_value(value) < min ||
		json_integer_value(value) > max)
		return err_set(err, ERR_INVALID,
			"member '%s' must be a whole number from %lld to %lld", name,
			(long long)min, (long long)max);
	*ret = json_integer_value(value);
	return true;
}

bool json_get_int(const json_t *object, const char *name, int64_t min, int64_t max, int64_t *ret,
	struct err *err)
{
	if (!member(object, name))
		return missing(name, err);
	return json_may_int(object, name, min, max, ret, err);
}

bool json_may_bool(const json_t *object, const char *name, bool *ret, struct err *err)
{
	const json_t *value = member(object, name);

	if (!value)
		return true;
	if (!json_is_boolean(value))
		return err_set(err, ERR_INVALID, "member '%s' must be true or false", name);
	*ret = json_is_true(value);
	return true;
}

bool json_get_bool(const json_t *object, const char *name, bool *ret, struct err *err)
{
	if (!member(object, name))
		return missing(name, err);
	return json_may_bool(object, name, ret, err);
}

bool json_may_opt(const json_t *object, const char *name, struct opt *ret, struct err *err)
{
	int64_t v = 0;

	if (!member(object, name))
		return true;
	if (!json_may_int(object, name, INT64_MIN, INT64_MAX, &v, err))
		return false;
	*ret = OPT(v);
	return true;
}

bool json_put(json_t *object, const char *name, json_t *value)
{
	return value && json_object_set_new(object, name, value) == 0;
}

bool json_put_text(json_t *object, const char *name, const char *text)
{
	json_t *value;
	char *copy, *p;

	if (!text || !*text)
		return json_put(object, name, json_null());
	value = json_string(text);
	if (!value && (copy = strdup(text))) {
		/* Not UTF-8: what a NAS or a guest's name may hold must not lose the whole answer.
		 */
		for (p = copy; *p; p++) {
			if ((unsigned char)*p >= 0x80)
				*p = '?';
		}
		value = json_string(copy);
		free(copy);
	}
	return json_put(object, name, value);
}

bool json_put_int(json_t *object, const char *name, int64_t v)
{
	return json_put(object, name, json_integer(v));
}

bool json_put_bool(json_t *object, const char *name, bool v)
{
	return json_put(object, name, json_boolean(v));
}

bool json_put_opt(json_t *object, const char *name, struct opt v)
{
	return json_put(object, name, v.known ? json_integer(v.v) : json_null());
}
