// SPDX-License-Identifier: MIT
/*
 * How a verb says what it has to say: the same facts as text for people and as JSON for programs.
 *
 * A verb has its answer as one JSON value (mostly what the gate answered) and a function that
 * writes it as text; out_show() picks. The format comes from
 * --output-format, else from PROXMOX_OUTPUT_FORMAT, as with Proxmox's own tools;
 * PROXMOX_OUTPUT_NO_HEADER=1 leaves a table's header out.
 */
#ifndef RG_CLI_OUT_H
#define RG_CLI_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

enum out_format { OUT_NONE = 0, OUT_TEXT, OUT_JSON, OUT_JSON_PRETTY, OUT_CSV };

struct out {
	enum out_format format;
	bool header;
	int32_t utc_offset_s; /* for showing points in time */
	int64_t now_utc_ms;
};

/* What the environment says: PROXMOX_OUTPUT_FORMAT ("csv" where `csv` is true), else text, with a
 * header unless PROXMOX_OUTPUT_NO_HEADER is 1. */
void out_init(struct out *out, bool csv);

/* "text", "json", "json-pretty", and where `csv` is true "csv". */
bool out_format_parse(struct out *out, const char *word, bool csv, struct err *err);

typedef void (*out_text)(const struct out *out, const json_t *value, struct buf *buf);

/* A copy for a terminal: no text in it holds control characters, so that what somebody wrote (a
 * reason, a host's name) neither breaks a line nor moves the cursor. NULL without memory. */
json_t *out_plain(const json_t *value);

/* Writes `value` to stdout. False when stdout does not take it, or without memory. */
bool out_show(const struct out *out, const json_t *value, out_text text, struct err *err);

/* Writes what `buf` holds to stdout. */
bool out_flush(struct buf *buf, struct err *err);

/* A table of texts: columns as wide as their widest cell, two blanks between, nothing after the
 * last. Cells are copied. */
#define TABLE_MAX_COLUMNS 16
struct table {
	size_t n_columns;
	const char *names[TABLE_MAX_COLUMNS]; /* header; static texts */
	struct buf cells;                     /* NUL-terminated texts, row by row */
	struct buf notes;                     /* the same: what stands below each row */
	size_t n_cells;
};
void table_start(struct table *table, size_t n_columns, const char *const *names);
void table_cell(struct table *table, const char *text); /* "" or NULL is shown as "-" */
/* A line of its own below the row whose cells were given last, indented: for what is too long for a
 * column. Nothing for "". */
void table_note(struct table *table, const char *text);
void table_print(const struct out *out, struct table *table, const char *indent,
	struct buf *buf); /* and frees */

/* Members of an answer, never NULL and never failing: "" and OPT_NONE where a member is absent or
 * of another type. */
const char *out_text_of(const json_t *object, const char *name);
struct opt out_int_of(const json_t *object, const char *name);
const json_t *out_list_of(const json_t *object,
	const char *name); /* an array, maybe NULL; json_array_size(NULL) is 0 */

/* Shown forms, "-" while unknown; `text` is a buffer of UNITS_TEXT_MAX. */
const char *out_span(struct opt ms, char *text);
const char *out_rate(struct opt bytes_s, char *text);
const char *out_percent(struct opt ppm, char *text);
const char *out_when(const struct out *out, struct opt utc_ms, char *text);  /* to the second */
const char *out_until(const struct out *out, struct opt utc_ms, char *text); /* to the minute */

/* "1 job", "4 jobs": appended. */
void out_count(struct buf *buf, int64_t n, const char *noun);

#endif
