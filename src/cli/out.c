// SPDX-License-Identifier: MIT
#include "cli/out.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/clock.h"
#include "base/units.h"

void out_init(struct out *out, bool csv)
{
	const char *format = getenv("PROXMOX_OUTPUT_FORMAT");
	const char *no_header = getenv("PROXMOX_OUTPUT_NO_HEADER");
	struct moment now = clock_now();

	*out = (struct out){
		.format = OUT_TEXT,
		.header = !no_header || strcmp(no_header, "1") != 0,
		.utc_offset_s = now.utc_offset_s,
		.now_utc_ms = now.utc_ms,
	};
	/* An unknown word in the environment is not this command's business: text, as if it were
	 * not set. */
	if (format)
		out_format_parse(out, format, csv, NULL);
}

bool out_format_parse(struct out *out, const char *word, bool csv, struct err *err)
{
	static const struct {
		const char *word;
		enum out_format format;
	} formats[] = {{"text", OUT_TEXT}, {"json", OUT_JSON}, {"json-pretty", OUT_JSON_PRETTY},
		{"csv", OUT_CSV}};
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (strcmp(word, formats[i].word) == 0 && (csv || formats[i].format != OUT_CSV)) {
			out->format = formats[i].format;
			return true;
		}
	}
	return err_set(err, ERR_INVALID,
		"output format '%s' is not one of text, json, json-pretty%s", word,
		csv ? ", csv" : "");
}

bool out_flush(struct buf *buf, struct err *err)
{
	size_t done = 0;
	ssize_t n;

	if (buf->failed)
		return err_nomem(err);
	while (done < buf->len) {
		n = write(STDOUT_FILENO, buf->data + done, buf->len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, errno, "cannot write to stdout");
		done += (size_t)n;
	}
	buf_clear(buf);
	return true;
}

/* C0, DEL, and C1 in UTF-8 (0xc2 0x80 to 0xc2 0x9f) become blanks. */
static bool scrub_text(json_t *value)
{
	char *copy = strdup(json_string_value(value));
	unsigned char *p = (unsigned char *)copy;
	bool done;

	for (; p && *p; p++) {
		if (*p < 0x20 || *p == 0x7f)
			*p = ' ';
		else if (*p == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f)
			p[0] = p[1] = ' ';
	}
	done = copy && json_string_set(value, copy) == 0;
	free(copy);
	return done;
}

/* Depth is bounded by json_read(). */
static bool scrub(json_t *value)
{
	const char *name;
	json_t *member;
	size_t i;

	if (json_is_string(value))
		return scrub_text(value);
	json_object_foreach(value, name, member)
	{
		if (!scrub(member))
			return false;
	}
	json_array_foreach(value, i, member)
	{
		if (!scrub(member))
			return false;
	}
	return true;
}

json_t *out_plain(const json_t *value)
{
	json_t *copy = json_deep_copy(value);

	if (copy && scrub(copy))
		return copy;
	json_decref(copy);
	return NULL;
}

bool out_show(const struct out *out, const json_t *value, out_text text, struct err *err)
{
	struct buf buf = {0};
	json_t *plain = NULL;
	char *json = NULL;
	bool done = false;

	if (out->format == OUT_TEXT || out->format == OUT_CSV) {
		plain = out_plain(value);
		if (!plain) {
			err_nomem(err);
			goto out;
		}
		text(out, plain, &buf);
	} else {
		json = json_text(value, out->format == OUT_JSON_PRETTY ? 3 : 0);
		if (!json) {
			err_nomem(err);
			goto out;
		}
		buf_adds(&buf, json);
		buf_addc(&buf, '\n');
	}
	done = out_flush(&buf, err);
out:
	json_decref(plain);
	free(json);
	buf_release(&buf);
	return done;
}

void table_start(struct table *table, size_t n_columns, const char *const *names)
{
	*table = (struct table){.n_columns = n_columns};
	memcpy(table->names, names, n_columns * sizeof(*names));
}

void table_cell(struct table *table, const char *text)
{
	if (!text || !*text)
		text = "-";
	if (table->n_cells && table->n_cells % table->n_columns == 0)
		buf_add(&table->notes, "", 1);
	buf_add(&table->cells, text, strlen(text) + 1);
	table->n_cells++;
}

void table_note(struct table *table, const char *text)
{
	size_t len = table->notes.len;

	if (!*text)
		return;
	if (len && table->notes.data[len - 1] != '\0')
		buf_addc(&table->notes, '\n');
	buf_adds(&table->notes, text);
}

/* Columns on a terminal; bytes where the text is not valid in the locale. */
static size_t width_of(const char *text)
{
	wchar_t wide[512];
	size_t n = mbstowcs(wide, text, sizeof(wide) / sizeof(wide[0]) - 1);
	int width;

	if (n == (size_t)-1)
		return strlen(text);
	wide[n] = L'\0';
	width = wcswidth(wide, n);
	return width < 0 ? strlen(text) : (size_t)width;
}

static void row_print(struct buf *buf, const char *indent, const char *const *cells,
	const size_t *widths, size_t n)
{
	size_t i;

	buf_adds(buf, indent);
	for (i = 0; i < n; i++) {
		buf_adds(buf, cells[i]);
		if (i + 1 < n)
			buf_addf(buf, "%*s", (int)(widths[i] - width_of(cells[i]) + 2), "");
	}
	buf_addc(buf, '\n');
}

/* Each line of a row's notes, deeper than the row. Returns where the next row's begin. */
static const char *notes_print(struct buf *buf, const char *indent, const char *notes)
{
	size_t len;

	while (*notes) {
		len = strcspn(notes, "\n");
		buf_addf(buf, "%s    %.*s\n", indent, (int)len, notes);
		notes += len + (notes[len] == '\n');
	}
	return notes + 1;
}

void table_print(const struct out *out, struct table *table, const char *indent, struct buf *buf)
{
	const char *notes;
	size_t widths[TABLE_MAX_COLUMNS] = {0}, i, n = table->n_columns;
	const char *row[TABLE_MAX_COLUMNS], *cell = buf_str(&table->cells);

	buf_add(&table->notes, "", 1);
	if (table->cells.failed || table->notes.failed) {
		buf->failed = true;
		goto out;
	}
	for (i = 0; out->header && i < n; i++)
		widths[i] = width_of(table->names[i]);
	for (i = 0; i < table->n_cells; i++, cell += strlen(cell) + 1) {
		if (width_of(cell) > widths[i % n])
			widths[i % n] = width_of(cell);
	}
	if (out->header)
		row_print(buf, indent, table->names, widths, n);
	cell = buf_str(&table->cells);
	notes = table->notes.data;
	for (i = 0; i < table->n_cells; i++, cell += strlen(cell) + 1) {
		row[i % n] = cell;
		if (i % n == n - 1) {
			row_print(buf, indent, row, widths, n);
			notes = notes_print(buf, indent, notes);
		}
	}
out:
	buf_release(&table->notes);
	buf_release(&table->cells);
}

const char *out_text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

struct opt out_int_of(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	return json_is_integer(value) ? OPT(json_integer_value(value)) : OPT_NONE;
}

const json_t *out_list_of(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	return json_is_array(value) ? value : NULL;
}

const char *out_span(struct opt ms, char *text)
{
	return ms.known ? span_show(ms.v, text) : "-";
}

const char *out_rate(struct opt bytes_s, char *text)
{
	return bytes_s.known ? rate_show(bytes_s.v, text) : "-";
}

const char *out_percent(struct opt ppm, char *text)
{
	return ppm.known ? percent_show(ppm.v, text) : "-";
}

const char *out_when(const struct out *out, struct opt utc_ms, char *text)
{
	if (!utc_ms.known)
		snprintf(text, UNITS_TEXT_MAX, "-");
	else
		when_show(utc_ms.v, out->utc_offset_s, text);
	return text;
}

const char *out_until(const struct out *out, struct opt utc_ms, char *text)
{
	char *last_colon;

	out_when(out, utc_ms, text);
	last_colon = strrchr(text, ':');
	if (last_colon)
		*last_colon = '\0';
	return text;
}

void out_count(struct buf *buf, int64_t n, const char *noun)
{
	buf_addf(buf, "%lld %s%s", (long long)n, noun, n == 1 ? "" : "s");
}
