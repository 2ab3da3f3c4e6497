// SPDX-License-Identifier: MIT
/* Values of a schema's table as text: as they stand in a file, and in the documentation. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "conf/schema.h"
#include "conf/window.h"

static const void *field_of_const(const struct schema_key *key, const void *base)
{
	return (const char *)base + key->offset;
}

/* A number in the unit of its type, for messages and for printing. */
const char *schema_number_print(enum schema_type type, int64_t v, char text[SCHEMA_NUMBER_MAX])
{
	char units[UNITS_TEXT_MAX];

	if (type == SCHEMA_SPAN)
		snprintf(text, SCHEMA_NUMBER_MAX, "%s", span_print(v, units));
	else if (type == SCHEMA_RATE)
		snprintf(text, SCHEMA_NUMBER_MAX, "%s", rate_print(v, units));
	else if (type == SCHEMA_SIZE)
		snprintf(text, SCHEMA_NUMBER_MAX, "%s", size_print(v, units));
	else if (type == SCHEMA_PERCENT)
		snprintf(text, SCHEMA_NUMBER_MAX, "%s", percent_print(v, units));
	else
		snprintf(text, SCHEMA_NUMBER_MAX, "%" PRId64, v);
	return text;
}

void schema_quote(struct buf *ret, const char *text)
{
	buf_addc(ret, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buf_addc(ret, '\\');
		buf_addc(ret, *text);
	}
	buf_addc(ret, '"');
}

static void print_number(const struct schema_key *key, const void *base, struct buf *ret)
{
	char text[SCHEMA_NUMBER_MAX];
	struct opt opt;
	uint16_t small;
	int64_t v;
	bool word = false;

	if (key->word)
		memcpy(&word, (const char *)base + key->word_at, sizeof(word));
	if (word) {
		schema_quote(ret, key->word);
		return;
	}
	if (key->size == sizeof(small)) {
		memcpy(&small, field_of_const(key, base), sizeof(small));
		v = small;
	} else if (key->opt || key->type == SCHEMA_RATE) {
		memcpy(&opt, field_of_const(key, base), sizeof(opt));
		v = opt.v;
	} else {
		memcpy(&v, field_of_const(key, base), sizeof(v));
	}
	schema_number_print(key->type, v, text);
	if (key->type == SCHEMA_COUNT)
		buf_adds(ret, text);
	else
		schema_quote(ret, text);
}

static void print_windows(const struct schema_key *key, const void *base, struct buf *ret)
{
	struct schema_windows windows;
	char text[WINDOW_TEXT_MAX];
	size_t i;

	memcpy(&windows, field_of_const(key, base), sizeof(windows));
	buf_addc(ret, '[');
	for (i = 0; i < windows.n; i++) {
		buf_adds(ret, i ? ", " : "");
		schema_quote(ret, window_print(&windows.list[i], text));
	}
	buf_addc(ret, ']');
}

static void print_value(const struct schema_key *key, const void *base, struct buf *ret)
{
	const void *field = field_of_const(key, base);
	bool yes;
	int number;
	size_t i;

	switch (key->type) {
	case SCHEMA_NONE:
	case SCHEMA_OTHER:
		return;
	case SCHEMA_BOOL:
		memcpy(&yes, field, sizeof(yes));
		buf_adds(ret, yes ? "true" : "false");
		return;
	case SCHEMA_TEXT:
	case SCHEMA_PATH:
		schema_quote(ret, field);
		return;
	case SCHEMA_WORD:
		memcpy(&number, field, sizeof(number));
		for (i = 0; key->words[i].word && key->words[i].number != number; i++)
			;
		schema_quote(ret, key->words[i].word ? key->words[i].word : "");
		return;
	case SCHEMA_WINDOWS:
		print_windows(key, base, ret);
		return;
	case SCHEMA_SPAN:
	case SCHEMA_RATE:
	case SCHEMA_SIZE:
	case SCHEMA_PERCENT:
	case SCHEMA_COUNT:
		print_number(key, base, ret);
		return;
	}
}

void schema_print_key(const struct schema_key *key, const void *base, int depth, struct buf *ret)
{
	while (depth-- > 0)
		buf_addc(ret, '\t');
	buf_addf(ret, "%s = ", key->name);
	print_value(key, base, ret);
	buf_adds(ret, ";\n");
}

/* What may be written, for the documentation. */
static void document_value(const struct schema_key *key, struct buf *ret)
{
	char min[SCHEMA_NUMBER_MAX], max[SCHEMA_NUMBER_MAX];
	static const char *const names[] = {
		[SCHEMA_BOOL] = "true, false",
		[SCHEMA_TEXT] = "text",
		[SCHEMA_PATH] = "path",
		[SCHEMA_SPAN] = "duration",
		[SCHEMA_RATE] = "rate",
		[SCHEMA_SIZE] = "size",
		[SCHEMA_PERCENT] = "percentage",
		[SCHEMA_COUNT] = "number",
		[SCHEMA_WINDOWS] = "times",
	};

	if (key->type == SCHEMA_WORD) {
		size_t i;

		for (i = 0; key->words[i].word; i++)
			buf_addf(ret, "%s%s", i ? ", " : "", key->words[i].word);
		return;
	}
	buf_adds(ret, names[key->type]);
	if (key->secret)
		buf_adds(ret, ", credential:NAME");
	if (key->type == SCHEMA_SPAN || key->type == SCHEMA_RATE || key->type == SCHEMA_SIZE ||
		key->type == SCHEMA_PERCENT || key->type == SCHEMA_COUNT)
		buf_addf(ret, ", %s to %s", schema_number_print(key->type, key->min, min),
			schema_number_print(key->type, key->max, max));
	if (key->word)
		buf_addf(ret, ", or %s", key->word);
}

void schema_document(const struct schema *schema, struct buf *ret)
{
	size_t i;

	buf_adds(ret, "| setting | value | default | what it does |\n|---|---|---|---|\n");
	for (i = 0; i < schema->n; i++) {
		const struct schema_key *key = &schema->keys[i];

		if (key->type == SCHEMA_OTHER)
			continue;
		buf_addf(ret, "| `%s` | ", key->name);
		document_value(key, ret);
		if (!key->shipped)
			buf_adds(ret, " | must be given");
		else
			buf_addf(ret, " | %s", key->shipped[0] ? key->shipped : "none");
		buf_addf(ret, " | %s |\n", key->help);
	}
}
