// SPDX-License-Identifier: MIT
#include "proxmox/form.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

void form_encode(struct buf *buf, const char *text, const char *keep)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~";
	const char *p;

	for (p = text; *p; p++) {
		if (strchr(plain, *p) || strchr(keep, *p))
			buf_addc(buf, *p);
		else
			buf_addf(buf, "%%%02X", (unsigned int)(unsigned char)*p);
	}
}

void form_begin(struct api_call *call, const char *method, const char *path)
{
	*call = (struct api_call){.method = method};
	buf_adds(&call->path, "/api2/json");
	buf_adds(&call->path, path);
}

void form_segment(struct api_call *call, const char *text)
{
	buf_addc(&call->path, '/');
	form_encode(&call->path, text, "");
}

static void pair(struct buf *buf, const char *name, const char *value)
{
	form_encode(buf, name, "");
	buf_addc(buf, '=');
	form_encode(buf, value, "");
}

void form_query(struct api_call *call, const char *name, const char *value)
{
	bool first = !strchr(buf_str(&call->path), '?');

	buf_addc(&call->path, first ? '?' : '&');
	pair(&call->path, name, value);
}

void form_query_int(struct api_call *call, const char *name, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	form_query(call, name, text);
}

void form_field(struct api_call *call, const char *name, const char *value)
{
	if (call->body.len)
		buf_addc(&call->body, '&');
	pair(&call->body, name, value);
}

bool form_end(struct api_call *call, struct err *err)
{
	if (!call->path.failed && !call->body.failed)
		return true;
	api_call_release(call);
	return err_nomem(err);
}

bool form_name_ok(const char *text, const char *what, struct err *err)
{
	const char *p;

	if (!*text || strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
		return err_set(err, ERR_INVALID, "'%s' is not the name of %s", text, what);
	for (p = text; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f || *p == '/')
			return err_set(err, ERR_INVALID, "that is not the name of %s", what);
	}
	return true;
}

static bool answer_failed(const char *what, struct err *err)
{
	if (err && err->kind != ERR_NOMEM)
		err->kind = ERR_PROTOCOL;
	return err_prefix(err, "%s", what);
}

bool answer_bad(const char *what, size_t element, struct err *err)
{
	if (err && err->kind != ERR_NOMEM)
		err->kind = ERR_PROTOCOL;
	return err_prefix(err, "%s, element %zu", what, element);
}

const json_t *answer_data(
	const char *body, size_t len, const char *what, json_t **ret_root, struct err *err)
{
	json_t *root = json_read(body, len, err);
	const json_t *data;

	*ret_root = NULL;
	if (!root) {
		answer_failed(what, err);
		return NULL;
	}
	data = json_object_get(root, "data");
	if (!data) {
		json_decref(root);
		err_set(err, ERR_PROTOCOL, "%s: the answer has no 'data'", what);
		return NULL;
	}
	*ret_root = root;
	return data;
}

static const json_t *of_type(
	const json_t *data, bool right, const char *what, json_t **ret_root, struct err *err)
{
	if (data && right)
		return data;
	if (data)
		err_set(err, ERR_PROTOCOL, "%s: the answer's 'data' is of another kind", what);
	json_decref(*ret_root);
	*ret_root = NULL;
	return NULL;
}

const json_t *answer_list(
	const char *body, size_t len, const char *what, json_t **ret_root, struct err *err)
{
	const json_t *data = answer_data(body, len, what, ret_root, err);

	return of_type(data, json_is_array(data), what, ret_root, err);
}

const json_t *answer_object(
	const char *body, size_t len, const char *what, json_t **ret_root, struct err *err)
{
	const json_t *data = answer_data(body, len, what, ret_root, err);

	return of_type(data, json_is_object(data), what, ret_root, err);
}

bool answer_may_number(
	const json_t *object, const char *name, int64_t max, int64_t *ret, struct err *err)
{
	const json_t *value = json_object_get(object, name);
	const char *text;
	uint64_t number;

	if (!json_is_string(value))
		return json_may_int(object, name, 0, max, ret, err);
	text = json_string_value(value);
	if (!digits_parse(text, strlen(text), (uint64_t)max, &number))
		return err_set(err, ERR_INVALID, "member '%s' must be a number up to %lld", name,
			(long long)max);
	*ret = (int64_t)number;
	return true;
}

bool answer_get_number(
	const json_t *object, const char *name, int64_t max, int64_t *ret, struct err *err)
{
	const json_t *value = json_object_get(object, name);

	if (!value || json_is_null(value))
		return err_set(err, ERR_INVALID, "member '%s' is missing", name);
	return answer_may_number(object, name, max, ret, err);
}

bool answer_may_words(
	const json_t *object, const char *name, char *ret, size_t size, struct err *err)
{
	const char *text = NULL;
	size_t len, i;

	if (!json_may_text(object, name, &text, err))
		return false;
	if (!text)
		return true;
	len = strlen(text);
	if (len >= size) {
		len = size - 1;
		while (len && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
	}
	for (i = 0; i < len; i++)
		ret[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? ' ' : text[i];
	ret[len] = '\0';
	return true;
}

bool answer_may_flag(const json_t *object, const char *name, bool *ret, struct err *err)
{
	const json_t *value = json_object_get(object, name);
	int64_t number = *ret;

	if (json_is_boolean(value)) {
		*ret = json_is_true(value);
		return true;
	}
	if (!answer_may_number(object, name, 1, &number, err))
		return false;
	*ret = number != 0;
	return true;
}
