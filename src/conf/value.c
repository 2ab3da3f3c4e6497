// SPDX-License-Identifier: MIT
#include "conf/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "conf/nearest.h"
#include "conf/schema.h"
#include "conf/window.h"
#include "md/facts.h"

static enum cmp take_cmp(const char **p)
{
	static const struct {
		const char *text;
		enum cmp cmp;
	} known[] = {
		{"<=", CMP_LE},
		{">=", CMP_GE},
		{"!=", CMP_NE},
		{"==", CMP_EQ},
		{"<", CMP_LT},
		{">", CMP_GT},
		{"=", CMP_EQ},
	};
	size_t i;

	while (**p == ' ')
		(*p)++;
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t len = strlen(known[i].text);

		if (strncmp(*p, known[i].text, len) == 0) {
			*p += len;
			while (**p == ' ')
				(*p)++;
			return known[i].cmp;
		}
	}
	return CMP_NONE;
}

/* "4", "4.5", "4.25" in hundredths. */
static bool load_parse(const char *text, int64_t *ret, struct err *err)
{
	const char *dot = strchr(text, '.');
	size_t len = dot ? (size_t)(dot - text) : strlen(text);
	size_t more = dot ? strlen(dot + 1) : 0;
	uint64_t whole = 0, part = 0;

	if (!digits_parse(text, len, 100000, &whole) || (len > 1 && text[0] == '0') ||
		(dot && (more > 2 || !digits_parse(dot + 1, more, 99, &part))))
		return err_set(err, ERR_INVALID,
			"'%.60s' is not a load such as \"4\" or \"2.5\" (two decimals at most)",
			text);
	*ret = (int64_t)(whole * 100 + (more == 1 ? part * 10 : part));
	return true;
}

static bool word_parse(enum field field, const char *text, int64_t *ret, struct err *err)
{
	struct nearest nearest = {.wrong = text};
	struct buf list = {0};
	const char *word;
	size_t i;

	*ret = field_value_parse(field, text);
	if (*ret >= 0)
		return true;
	for (i = 0; (word = field_word_at(field, i)); i++) {
		nearest_offer(&nearest, word);
		buf_addf(&list, "%s%s", i ? ", " : "", word);
	}
	if (nearest.best)
		err_set(err, ERR_INVALID,
			"there is no \"%.60s\"; did you mean \"%s\"? It is one of %s", text,
			nearest.best, buf_str(&list));
	else
		err_set(err, ERR_INVALID, "there is no \"%.60s\"; it is one of %s", text,
			buf_str(&list));
	buf_release(&list);
	return false;
}

bool value_parse_fact(enum field field, const char *text, int64_t *ret, struct err *err)
{
	uint64_t n = 0;

	switch (field_type(field)) {
	case FIELD_TYPE_WORD:
		return word_parse(field, text, ret, err);
	case FIELD_TYPE_COUNT:
		if (!u64_parse(text, 0, INT32_MAX, &n, err))
			return false;
		*ret = (int64_t)n;
		return true;
	case FIELD_TYPE_LOAD:
		return load_parse(text, ret, err);
	case FIELD_TYPE_PERCENT:
		return percent_parse(text, ret, err);
	case FIELD_TYPE_SPAN:
		return span_parse(text, ret, err);
	case FIELD_TYPE_RATE:
		return rate_parse(text, ret, err);
	case FIELD_TYPE_NONE:
	case FIELD_TYPE_TEXT:
	case FIELD_TYPE_TIME:
		break;
	}
	return err_set(err, ERR_INVALID, "'%.60s' is not a number", text);
}

static bool text_value(const char *text, struct value *ret, struct err *err)
{
	const char *star = strchr(text, '*');

	if (!text[0])
		return err_set(err, ERR_INVALID, "an empty text never matches");
	if (star && star[1])
		return err_set(err, ERR_INVALID,
			"'%.60s': a '*' may stand only at the end, where it matches any ending",
			text);
	ret->cmp = CMP_EQ;
	ret->text = text;
	return true;
}

/* Fields that are measured never hit a number exactly. */
static bool needs_cmp(enum field field)
{
	enum field_type type = field_type(field);

	return type == FIELD_TYPE_LOAD || type == FIELD_TYPE_PERCENT || type == FIELD_TYPE_SPAN ||
		type == FIELD_TYPE_RATE;
}

static bool never(enum field field, const struct value *value)
{
	int64_t low, high;
	int64_t max = field_type(field) == FIELD_TYPE_PERCENT && field != FIELD_RATE_OF_BASELINE
		? 1000000
		: INT64_MAX;

	if (value->cmp == CMP_NE)
		return false;
	return !value_range(value, &low, &high) || high < 0 || low > max;
}

static bool number_value(enum field field, const char *text, struct value *ret, struct err *err)
{
	const char *p = text;
	enum cmp cmp = take_cmp(&p);

	if (cmp != CMP_NONE && field_type(field) == FIELD_TYPE_WORD)
		return err_set(err, ERR_INVALID,
			"words take no comparator; for anything but a word write not = { %s = "
			"\"...\"; }",
			field_word(field));
	if (!value_parse_fact(field, p, &ret->number, err))
		return false;
	if (needs_cmp(field) && (cmp == CMP_NONE || cmp == CMP_EQ || cmp == CMP_NE))
		return err_set(err, ERR_INVALID,
			"a measured value needs a comparator that can hold; write \"> %.40s\" or "
			"\"< "
			"%.40s\"",
			p, p);
	ret->cmp = cmp == CMP_NONE ? CMP_EQ : cmp;
	if (never(field, ret))
		return err_set(err, ERR_INVALID, "\"%.60s\" never holds", text);
	return true;
}

bool value_parse(enum field field, const char *text, struct value *ret, struct err *err)
{
	struct value value = {.cmp = CMP_EQ};
	bool good;

	if (field == FIELD_TIME)
		good = window_parse(text, &value.window, err);
	else if (field_type(field) == FIELD_TYPE_TEXT)
		good = text_value(text, &value, err);
	else
		good = number_value(field, text, &value, err);
	if (good)
		*ret = value;
	return good;
}

static void number_print(enum field field, int64_t n, struct buf *ret)
{
	char text[UNITS_TEXT_MAX];

	switch (field_type(field)) {
	case FIELD_TYPE_WORD:
		buf_adds(ret, field_value_word(field, n));
		break;
	case FIELD_TYPE_LOAD:
		buf_addf(ret, "%" PRId64, n / 100);
		if (n % 100)
			buf_addf(ret, ".%02" PRId64, n % 100);
		break;
	case FIELD_TYPE_PERCENT:
		buf_adds(ret, percent_print(n, text));
		break;
	case FIELD_TYPE_SPAN:
		buf_adds(ret, span_print(n, text));
		break;
	case FIELD_TYPE_RATE:
		buf_adds(ret, rate_print(n, text));
		break;
	case FIELD_TYPE_NONE:
	case FIELD_TYPE_TEXT:
	case FIELD_TYPE_TIME:
	case FIELD_TYPE_COUNT:
		buf_addf(ret, "%" PRId64, n);
		break;
	}
}

void value_print(enum field field, const struct value *value, struct buf *ret)
{
	char window[WINDOW_TEXT_MAX];
	const char *cmp = cmp_word(value->cmp);

	if (field == FIELD_TIME) {
		schema_quote(ret, window_print(&value->window, window));
	} else if (field_type(field) == FIELD_TYPE_TEXT) {
		schema_quote(ret, value->text);
	} else {
		buf_addf(ret, "\"%s%s", cmp, cmp[0] ? " " : "");
		number_print(field, value->number, ret);
		buf_addc(ret, '"');
	}
}

bool value_range(const struct value *value, int64_t *ret_low, int64_t *ret_high)
{
	int64_t n = value->number;

	*ret_low = INT64_MIN;
	*ret_high = INT64_MAX;
	switch (value->cmp) {
	case CMP_NONE:
	case CMP_EQ:
		*ret_low = *ret_high = n;
		return true;
	case CMP_NE:
		return false;
	case CMP_LT:
		*ret_high = n - 1;
		return n > INT64_MIN;
	case CMP_LE:
		*ret_high = n;
		return true;
	case CMP_GT:
		*ret_low = n < INT64_MAX ? n + 1 : n;
		return n < INT64_MAX;
	case CMP_GE:
		*ret_low = n;
		return true;
	}
	return false;
}

static bool text_within(const char *b, const char *a)
{
	size_t len = strlen(a);

	if (len && a[len - 1] == '*')
		return strncmp(b, a, len - 1) == 0;
	return strcmp(b, a) == 0;
}

static bool number_within(const struct value *b, const struct value *a)
{
	int64_t a_low, a_high, b_low, b_high;

	if (a->cmp == CMP_NE) {
		if (b->cmp == CMP_NE)
			return a->number == b->number;
		return value_range(b, &b_low, &b_high) && (a->number < b_low || a->number > b_high);
	}
	return value_range(a, &a_low, &a_high) && value_range(b, &b_low, &b_high) &&
		a_low <= b_low && a_high >= b_high;
}

/* Same days or more, and the same hours or whole days. */
static bool window_within(const struct window *b, const struct window *a)
{
	bool whole = a->from_s == a->to_s;

	if (b->days & ~a->days)
		return false;
	if (a->from_s == b->from_s && a->to_s == b->to_s)
		return true;
	if (b->from_s == b->to_s)
		return false;
	/* What passes midnight belongs to two days: only every day whole covers it. */
	if (b->from_s > b->to_s)
		return whole && a->days == 0x7f;
	return whole || (a->from_s < a->to_s && a->from_s <= b->from_s && a->to_s >= b->to_s);
}

bool value_within(enum field field, const struct value *b, const struct value *a)
{
	if (field == FIELD_TIME)
		return window_within(&b->window, &a->window);
	if (field_type(field) == FIELD_TYPE_TEXT)
		return text_within(b->text, a->text);
	if (field == FIELD_SENSOR && a->number == FIELD_SENSOR_BLIND)
		return b->number != SENSOR_OK;
	return number_within(b, a);
}
