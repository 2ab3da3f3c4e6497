// SPDX-License-Identifier: MIT
/* A NAS and its arrays, as status and `nas look` show them. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/show.h"

/* "recovery", "resync (delayed)". */
static const char *operation_text(const json_t *array, char *text)
{
	const char *operation = out_text_of(array, "operation");
	const char *state = out_text_of(array, "sync_state");

	if (!*state || strcmp(state, "none") == 0 || strcmp(state, "running") == 0 ||
		strcmp(state, operation) == 0)
		return operation;
	snprintf(text, UNITS_TEXT_MAX, "%.20s (%.20s)", operation, state);
	return text;
}

static void part(struct buf *line, const char *before, const char *value, const char *after)
{
	buf_addf(line, "%s%s%s%s", line->len ? "; " : "", before, value, after);
}

/* What is worth a line below an array's row only while it is so. */
static void array_notes(const json_t *array, struct table *table)
{
	struct opt missing = out_int_of(array, "missing"), disks = out_int_of(array, "raid_disks");
	struct opt stalled = out_int_of(array, "stalled_ms"), rate = out_int_of(array, "rate");
	struct opt lasts = out_int_of(array, "operation_ms"), base = out_int_of(array, "baseline");
	struct opt writes = out_int_of(array, "client_write");
	struct opt reads = out_int_of(array, "client_read");
	bool busy = strcmp(out_text_of(array, "operation"), "idle") != 0;
	char text[UNITS_TEXT_MAX];
	struct buf line = {0};

	if (strcmp(out_text_of(array, "health"), "absent") == 0)
		part(&line, "was there and is not any more",
			"; if it was taken out: rebuildgate nas forget NAS ARRAY", "");
	if (missing.known && missing.v > 0) {
		snprintf(text, sizeof(text), "%lld of %lld disks missing", (long long)missing.v,
			(long long)disks.v);
		part(&line, text, "", "");
	}
	if (busy && lasts.known)
		part(&line, out_text_of(array, "operation"), " for ", out_span(lasts, text));
	if (rate.known && base.known)
		part(&line, "usually ", out_rate(base, text), " here");
	if (stalled.known && stalled.v > 0)
		part(&line, "NOT MOVED for ", out_span(stalled, text), "");
	if (writes.known && writes.v > 0)
		part(&line, "clients write ", out_rate(writes, text), "");
	if (reads.known && reads.v > 0)
		part(&line, "clients read ", out_rate(reads, text), "");
	table_note(table, buf_str(&line));
	buf_release(&line);
}

static void arrays_text(const struct out *out, const json_t *arrays, struct buf *buf)
{
	static const char *const names[] = {"ARRAY", "ROLE", "LEVEL", "HEALTH", "OPERATION",
		"PROGRESS", "RATE", "OF BASELINE", "TIME LEFT", "MAY LOSE"};
	char cell[UNITS_TEXT_MAX];
	struct table table;
	struct opt left;
	size_t i;

	table_start(&table, CLI_COUNT(names), names);
	for (i = 0; i < json_array_size(arrays); i++) {
		const json_t *array = json_array_get(arrays, i);

		table_cell(&table, out_text_of(array, "name"));
		table_cell(&table, out_text_of(array, "role"));
		table_cell(&table, out_text_of(array, "level"));
		table_cell(&table, out_text_of(array, "health"));
		table_cell(&table, operation_text(array, cell));
		table_cell(&table, out_percent(out_int_of(array, "progress_ppm"), cell));
		table_cell(&table, out_rate(out_int_of(array, "rate"), cell));
		table_cell(&table, out_percent(out_int_of(array, "rate_of_baseline_ppm"), cell));
		table_cell(&table, out_span(out_int_of(array, "remaining_ms"), cell));
		left = out_int_of(array, "redundancy_left");
		snprintf(cell, sizeof(cell), "%lld disk%s", (long long)left.v,
			left.v == 1 ? "" : "s");
		table_cell(&table, left.known ? cell : "");
		array_notes(array, &table);
	}
	table_print(out, &table, "  ", buf);
}

void show_nas(const struct out *out, const json_t *nas, struct buf *buf)
{
	const char *sensor = out_text_of(nas, "sensor");
	char text[UNITS_TEXT_MAX];
	struct opt age = out_int_of(nas, "age_ms"), blind = out_int_of(nas, "blind_ms");
	struct opt load = out_int_of(nas, "load_x100");

	buf_addf(buf, "%s: ", out_text_of(nas, "name"));
	if (strcmp(sensor, "ok") == 0)
		buf_adds(buf, "ok");
	else
		buf_addf(buf, "BLIND (%s)%s%s", sensor, blind.known ? " for " : "",
			blind.known ? out_span(blind, text) : "");
	buf_addf(buf, ", read %s", show_age(age, text));
	if (load.known)
		buf_addf(buf, ", load %lld.%02lld", (long long)(load.v / 100),
			(long long)(load.v % 100));
	buf_addc(buf, '\n');
	if (*out_text_of(nas, "sensor_text"))
		buf_addf(buf, "  %s\n", out_text_of(nas, "sensor_text"));
	if (json_array_size(out_list_of(nas, "arrays")))
		arrays_text(out, out_list_of(nas, "arrays"), buf);
	else if (strcmp(sensor, "ok") == 0)
		buf_adds(buf, "  it has no md array\n");
}
