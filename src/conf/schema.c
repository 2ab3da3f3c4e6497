// SPDX-License-Identifier: MIT
#include "conf/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "conf/nearest.h"
#include "conf/window.h"

static void *field_of(const struct schema_key *key, void *base)
{
	return (char *)base + key->offset;
}

static bool *word_of(const struct schema_key *key, void *base)
{
	return (bool *)(void *)((char *)base + key->word_at);
}

int schema_find(const struct schema *schema, const char *name)
{
	size_t i;

	for (i = 0; i < schema->n; i++) {
		if (strcmp(schema->keys[i].name, name) == 0)
			return (int)i;
	}
	return -1;
}

static bool in_range(const struct schema_key *key, int64_t v, struct err *err)
{
	char got[SCHEMA_NUMBER_MAX], min[SCHEMA_NUMBER_MAX], max[SCHEMA_NUMBER_MAX];

	if (v >= key->min && v <= key->max)
		return true;
	return err_set(err, ERR_INVALID, "%s lies between %s and %s, not at %s", key->name,
		schema_number_print(key->type, key->min, min),
		schema_number_print(key->type, key->max, max),
		schema_number_print(key->type, v, got));
}

static bool set_number(const struct schema_key *key, void *base, int64_t v, struct err *err)
{
	struct opt opt = OPT(v);
	uint16_t small = (uint16_t)v;

	if (!in_range(key, v, err))
		return false;
	if (key->word)
		*word_of(key, base) = false;
	if (key->size == sizeof(small))
		memcpy(field_of(key, base), &small, sizeof(small));
	else if (key->opt || key->type == SCHEMA_RATE)
		memcpy(field_of(key, base), &opt, sizeof(opt));
	else
		memcpy(field_of(key, base), &v, sizeof(v));
	return true;
}

static bool set_quantity(
	const struct schema_key *key, void *base, const char *text, struct err *err)
{
	int64_t v = 0;
	uint64_t n = 0;
	bool good = false;

	if (key->word && strcmp(text, key->word) == 0) {
		good = set_quantity(key, base, key->shipped, err);
		*word_of(key, base) = good;
		return good;
	}
	if (key->type == SCHEMA_SPAN)
		good = span_parse(text, &v, err);
	else if (key->type == SCHEMA_RATE)
		good = rate_parse(text, &v, err);
	else if (key->type == SCHEMA_SIZE)
		good = size_parse(text, &v, err);
	else if (key->type == SCHEMA_PERCENT)
		good = percent_parse(text, &v, err);
	else if (u64_parse(text, 0, INT32_MAX, &n, err)) {
		v = (int64_t)n;
		good = true;
	}
	if (!good) {
		err_prefix(err, "%s", key->name);
		return false;
	}
	return set_number(key, base, v, err);
}

static void words_list(const struct schema_word *words, struct buf *ret)
{
	size_t i;

	for (i = 0; words[i].word; i++)
		buf_addf(ret, "%s\"%s\"",
			i == 0                      ? ""
				: words[i + 1].word ? ", "
						    : " or ",
			words[i].word);
}

static bool set_word(const struct schema_key *key, void *base, const char *text, struct err *err)
{
	struct nearest nearest = {.wrong = text};
	struct buf list = {0};
	size_t i;

	for (i = 0; key->words[i].word; i++) {
		if (strcmp(key->words[i].word, text) == 0) {
			memcpy(field_of(key, base), &key->words[i].number, sizeof(int));
			return true;
		}
		nearest_offer(&nearest, key->words[i].word);
	}
	words_list(key->words, &list);
	err_set(err, ERR_INVALID, "%s cannot be \"%.60s\"; it is %s%s%s%s", key->name, text,
		buf_str(&list), nearest.best ? " (did you mean \"" : "",
		nearest.best ? nearest.best : "", nearest.best ? "\"?)" : "");
	buf_release(&list);
	return false;
}

/* "credential:NAME", as nas/key_file.h takes it. */
static bool is_credential(const char *text, size_t len)
{
	static const char scheme[] = "credential:";
	size_t before = sizeof(scheme) - 1;
	const char *p;

	if (len <= before || memcmp(text, scheme, before) != 0 || text[before] == '.')
		return false;
	for (p = text + before; *p; p++) {
		bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
			(*p >= '0' && *p <= '9') || strchr("-_.", *p);

		if (!plain)
			return false;
	}
	return true;
}

static bool copy_text(const struct schema_key *key, void *base, const char *text, size_t len)
{
	memset(field_of(key, base), 0, key->size);
	memcpy(field_of(key, base), text, len);
	return true;
}

static bool set_text(const struct schema_key *key, void *base, const char *text, struct err *err)
{
	size_t len = strlen(text);

	if (!len && key->min > 0)
		return err_set(err, ERR_INVALID, "%s must not be empty", key->name);
	if (len >= key->size)
		return err_set(
			err, ERR_INVALID, "%s is longer than %zu bytes", key->name, key->size - 1);
	if (key->secret && is_credential(text, len))
		return copy_text(key, base, text, len);
	if (key->type == SCHEMA_PATH && len && text[0] != '/')
		return err_set(err, ERR_INVALID,
			"%s is a path from the root, beginning with '/'%s, not \"%.60s\"",
			key->name, key->secret ? ", or \"credential:NAME\"" : "", text);
	if (key->check && len && !key->check(text, err))
		return err_prefix(err, "%s", key->name);
	return copy_text(key, base, text, len);
}

static bool set_from_text(
	const struct schema_key *key, void *base, const char *text, struct err *err)
{
	bool yes = strcmp(text, "true") == 0;

	switch (key->type) {
	case SCHEMA_NONE:
	case SCHEMA_OTHER:
	case SCHEMA_WINDOWS:
		return true;
	case SCHEMA_BOOL:
		memcpy(field_of(key, base), &yes, sizeof(yes));
		return true;
	case SCHEMA_TEXT:
	case SCHEMA_PATH:
		return set_text(key, base, text, err);
	case SCHEMA_WORD:
		return set_word(key, base, text, err);
	case SCHEMA_SPAN:
	case SCHEMA_RATE:
	case SCHEMA_SIZE:
	case SCHEMA_PERCENT:
	case SCHEMA_COUNT:
		return set_quantity(key, base, text, err);
	}
	return true;
}

void schema_defaults(const struct schema *schema, void *base)
{
	size_t i;

	for (i = 0; i < schema->n; i++) {
		const struct schema_key *key = &schema->keys[i];
		bool stays_unknown =
			key->shipped && !key->shipped[0] && (key->opt || key->type == SCHEMA_RATE);

		if (key->shipped && !stays_unknown)
			set_from_text(key, base, key->shipped, NULL);
	}
}

static const char *wanted(const struct schema_key *key)
{
	switch (key->type) {
	case SCHEMA_BOOL:
		return "true or false, without quotes";
	case SCHEMA_SPAN:
		return "a duration in quotes with its unit, such as \"10min\" or \"1h 30min\"";
	case SCHEMA_RATE:
		return "a rate in quotes with its unit, such as \"150 MB/s\"";
	case SCHEMA_SIZE:
		return "a size in quotes with its unit, such as \"4 MiB\"";
	case SCHEMA_PERCENT:
		return "a percentage in quotes, such as \"80%\"";
	case SCHEMA_COUNT:
		return "a plain number without quotes";
	case SCHEMA_WINDOWS:
		return "a time such as \"22:00-06:00\", or a list of them";
	case SCHEMA_NONE:
	case SCHEMA_OTHER:
	case SCHEMA_TEXT:
	case SCHEMA_PATH:
	case SCHEMA_WORD:
		break;
	}
	return "a text in quotes";
}

static bool wrong_type(const struct schema_key *key, struct node value, struct conf_errors *errors)
{
	return node_error(
		value, errors, "%s is %s, not %s", key->name, wanted(key), node_type_name(value));
}

static bool set_windows(
	const struct schema_key *key, void *base, struct node value, struct conf_errors *errors)
{
	bool list = node_type(value) == NODE_LIST, good = true;
	size_t n = list ? node_count(value) : 1, i;
	struct schema_windows windows = {0};
	struct window *copy;

	if (n > 0) {
		windows.list = calloc(n, sizeof(*windows.list));
		if (!windows.list)
			return node_error(value, errors, "there is no memory left");
	}
	for (i = 0; i < n; i++) {
		struct node one = list ? node_at(value, i) : value;
		struct err err = {0};

		if (node_bad(one))
			good = false;
		else if (node_type(one) != NODE_TEXT)
			good = wrong_type(key, one, errors);
		else if (!window_parse(node_text(one), &windows.list[i], &err))
			good = node_error(one, errors, "%s: %s", key->name, err.text);
	}
	windows.n = n;
	if (!good) {
		free(windows.list);
		return false;
	}
	memcpy(&copy, field_of(key, base), sizeof(copy));
	free(copy);
	memcpy(field_of(key, base), &windows, sizeof(windows));
	/* The list belongs to what `base` is part of. */
	// cppcheck-suppress memleak
	return true;
}

bool schema_set(
	const struct schema_key *key, void *base, struct node value, struct conf_errors *errors)
{
	enum node_type type = node_type(value);
	struct err err = {0};
	bool good, yes;

	if (node_bad(value))
		return false;
	if (key->type == SCHEMA_OTHER)
		return true;
	if (key->type == SCHEMA_WINDOWS)
		return set_windows(key, base, value, errors);
	if (key->type == SCHEMA_BOOL) {
		if (type != NODE_BOOL)
			return wrong_type(key, value, errors);
		yes = node_bool(value);
		memcpy(field_of(key, base), &yes, sizeof(yes));
		return true;
	}
	if (type != (key->type == SCHEMA_COUNT ? NODE_INT : NODE_TEXT))
		return wrong_type(key, value, errors);
	good = key->type == SCHEMA_COUNT ? set_number(key, base, node_int(value), &err)
					 : set_from_text(key, base, node_text(value), &err);
	return good || node_error(value, errors, "%s", err.text);
}

static bool unknown_name(struct schema_part *parts, size_t n, struct node member, const char *what,
	schema_hint *hint, struct conf_errors *errors)
{
	const char *name = node_name(member), *more = hint ? hint(name) : NULL;
	struct nearest nearest = {.wrong = name};
	size_t i, k;

	if (more)
		return node_error(
			member, errors, "'%.60s' is no setting of %s: %s", name, what, more);
	for (i = 0; i < n; i++) {
		for (k = 0; k < parts[i].schema->n; k++)
			nearest_offer(&nearest, parts[i].schema->keys[k].name);
	}
	if (nearest.best)
		return node_error(member, errors, "'%.60s' is no setting of %s; did you mean '%s'?",
			name, what, nearest.best);
	return node_error(member, errors, "'%.60s' is no setting of %s", name, what);
}

static bool missing_names(struct schema_part *parts, size_t n, struct node group, const char *what,
	struct conf_errors *errors)
{
	bool good = true;
	size_t i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; k < parts[i].schema->n; k++) {
			const struct schema_key *key = &parts[i].schema->keys[k];

			if (key->shipped || key->type == SCHEMA_OTHER ||
				parts[i].given & UINT64_C(1) << k)
				continue;
			good = node_error(
				group, errors, "%s needs '%s': %s", what, key->name, key->help);
		}
	}
	return good;
}

bool schema_read(struct schema_part *parts, size_t n, struct node group, const char *what,
	schema_hint *hint, struct conf_errors *errors)
{
	bool good = true;
	size_t at, i;

	if (node_type(group) != NODE_GROUP)
		return node_error(
			group, errors, "%s is a group { }, not %s", what, node_type_name(group));
	for (at = 0; at < node_count(group); at++) {
		struct node member = node_at(group, at);
		int found = -1;

		for (i = 0; i < n && found < 0; i++)
			found = schema_find(parts[i].schema, node_name(member));
		if (found < 0) {
			good = unknown_name(parts, n, member, what, hint, errors);
			continue;
		}
		i--;
		parts[i].given |= UINT64_C(1) << found;
		if (!schema_set(&parts[i].schema->keys[found], parts[i].base, member, errors))
			good = false;
	}
	return missing_names(parts, n, group, what, errors) && good;
}

int schema_texts(struct node list, char *ret, size_t size, size_t max, struct conf_errors *errors)
{
	bool many = node_type(list) == NODE_LIST;
	size_t n = many ? node_count(list) : 1, i;

	if (n > max) {
		node_error(list, errors, "'%s' holds %zu texts; %zu are the most", node_name(list),
			n, max);
		return -1;
	}
	for (i = 0; i < n; i++) {
		struct node one = many ? node_at(list, i) : list;

		if (node_bad(one))
			return -1;
		if (node_type(one) != NODE_TEXT || !node_text(one)[0] ||
			strlen(node_text(one)) >= size) {
			node_error(one, errors,
				"'%s' holds texts of 1 to %zu bytes, such as %s = [\"...\"]",
				node_name(list), size - 1, node_name(list));
			return -1;
		}
		snprintf(ret + i * size, size, "%s", node_text(one));
	}
	return (int)n;
}
