// SPDX-License-Identifier: MIT
/* What is steered, by which levers, and what else runs, as status and `levers` show it. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/show.h"

/* "limit 6.0 MB/s", "floor 20 MB/s", "rest". */
static const char *path_text(const json_t *object, char *text)
{
	const char *path = out_text_of(object, "path");
	struct opt rate = out_int_of(object, "rate");
	char number[UNITS_TEXT_MAX];

	if (!rate.known || (strcmp(path, "limit") != 0 && strcmp(path, "floor") != 0))
		return path;
	snprintf(text, 2 * UNITS_TEXT_MAX, "%s %s", path, out_rate(rate, number));
	return text;
}

/* "T17"; nothing where no ticket is known. */
static void ticket_cell(const json_t *object, struct table *table)
{
	struct opt ticket = out_int_of(object, "ticket");
	char text[24] = "";

	if (ticket.known && ticket.v)
		snprintf(text, sizeof(text), "T%lld", (long long)ticket.v);
	table_cell(table, text);
}

/* A table with a row for each of `list`; nothing where it is empty. */
struct shape {
	size_t n_names;
	const char *const *names;
	void (*row)(const struct out *out, const json_t *one, struct table *table);
};

static void rows(const struct out *out, const struct shape *shape, const json_t *list,
	const char *indent, struct buf *buf)
{
	struct table table;
	size_t i;

	if (!json_array_size(list))
		return;
	table_start(&table, shape->n_names, shape->names);
	for (i = 0; i < json_array_size(list); i++)
		shape->row(out, json_array_get(list, i), &table);
	table_print(out, &table, indent, buf);
}

/* Each array that backups are slowed on: what it keeps, what they get, and why. */
static void array_row(const struct out *out, const json_t *array, struct table *table)
{
	char text[2 * UNITS_TEXT_MAX];

	(void)out;
	snprintf(text, sizeof(text), "%.40s/%.40s", out_text_of(array, "nas"),
		out_text_of(array, "array"));
	table_cell(table, text);
	snprintf(text, sizeof(text), "%lld", (long long)out_int_of(array, "jobs").v);
	table_cell(table, text);
	table_cell(table, path_text(array, text));
	table_cell(table, out_text_of(array, "way"));
	table_cell(table, out_percent(out_int_of(array, "share_ppm"), text));
	table_cell(table, out_percent(out_int_of(array, "protect_ppm"), text));
	table_cell(table, out_rate(out_int_of(array, "pace"), text));
	table_note(table, out_text_of(array, "text"));
}

static const char *const array_names[] = {
	"ARRAY", "JOBS", "PATH", "WAY", "KEPT", "PROTECTED", "BACKUPS MOVE"};
static const struct shape array_shape = {CLI_COUNT(array_names), array_names, array_row};

static void touches(const json_t *lever, struct table *table)
{
	const json_t *list = out_list_of(lever, "touches");
	struct buf line = {0};
	size_t i;

	for (i = 0; i < json_array_size(list); i++)
		buf_addf(&line, "%s%s",
			i ? ", " : "slows too: ", json_string_value(json_array_get(list, i)));
	table_note(table, buf_str(&line));
	buf_release(&line);
}

/* "0.5 s", rounded up; where it is not measured that is said. */
static const char *delay_text(const json_t *lever, char *text)
{
	struct opt delay = out_int_of(lever, "delay_ms");
	bool measured = json_is_true(json_object_get(lever, "delay_measured"));
	int64_t tenths = delay.v / 100 + (delay.v % 100 > 0);

	if (!delay.known)
		return "";
	snprintf(text, 2 * UNITS_TEXT_MAX, "%lld.%lld s%s", (long long)(tenths / 10),
		(long long)(tenths % 10), measured ? "" : ", assumed");
	return text;
}

static void lever_row(const struct out *out, const json_t *lever, struct table *table)
{
	char text[2 * UNITS_TEXT_MAX];
	bool set = json_is_true(json_object_get(lever, "set"));

	table_cell(table, out_text_of(lever, "lever"));
	table_cell(table, out_text_of(lever, "target"));
	table_cell(table, set ? path_text(lever, text) : "free");
	table_cell(table, set ? out_when(out, out_int_of(lever, "since_utc_ms"), text) : "");
	table_cell(table, set ? out_when(out, out_int_of(lever, "until_utc_ms"), text) : "");
	table_cell(table, delay_text(lever, text));
	table_note(table, out_text_of(lever, "trouble"));
	if (*out_text_of(lever, "hidden_by")) {
		snprintf(text, sizeof(text), "the rule '%.60s' hides it",
			out_text_of(lever, "hidden_by"));
		table_note(table, text);
	}
	touches(lever, table);
}

static const char *const lever_names[] = {"LEVER", "ON", "STANDS", "SINCE", "EXPIRES", "ACTS IN"};
static const struct shape lever_shape = {CLI_COUNT(lever_names), lever_names, lever_row};

static void task_row(const struct out *out, const json_t *task, struct table *table)
{
	char text[UNITS_TEXT_MAX];

	table_cell(table, out_text_of(task, "kind"));
	table_cell(table,
		*out_text_of(task, "node") ? out_text_of(task, "node")
					   : out_text_of(task, "server"));
	table_cell(table, out_text_of(task, "storage"));
	table_cell(table, out_text_of(task, "nas"));
	ticket_cell(task, table);
	table_cell(table, out_when(out, out_int_of(task, "since_utc_ms"), text));
	if (json_is_true(json_object_get(task, "stopped")))
		table_note(table, "stopped; runs again when the rebuild is done");
	table_note(table, out_text_of(task, "text"));
}

static const char *const task_names[] = {"TASK", "ON", "STORAGE", "NAS", "TICKET", "SINCE"};
static const struct shape task_shape = {CLI_COUNT(task_names), task_names, task_row};

/* A server that cannot be asked, or has not what the settings name, is worth a line. */
static void servers_text(
	const struct out *out, const json_t *list, const char *indent, struct buf *buf)
{
	char when[UNITS_TEXT_MAX];
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *server = json_array_get(list, i);

		if (!*out_text_of(server, "text"))
			continue;
		buf_addf(buf, "%s%s %s", indent,
			strcmp(out_text_of(server, "kind"), "pbs") == 0 ? "backup server"
									: "cluster",
			out_text_of(server, "name"));
		if (!json_is_true(json_object_get(server, "ok")))
			buf_addf(buf, ", since %s",
				out_until(out, out_int_of(server, "since_utc_ms"), when));
		buf_addf(buf, ": %s\n", out_text_of(server, "text"));
	}
}

bool show_levers(
	const struct out *out, const json_t *answer, const char *indent, bool all, struct buf *buf)
{
	const json_t *list = out_list_of(answer, "levers");
	struct opt frozen = out_int_of(answer, "frozen_until_utc_ms");
	size_t before = buf->len, i;
	json_t *moved = json_array();
	char when[UNITS_TEXT_MAX];

	rows(out, &array_shape, out_list_of(answer, "arrays"), indent, buf);
	for (i = 0; moved && i < json_array_size(list); i++) {
		json_t *lever = json_array_get(list, i);

		if (all || json_is_true(json_object_get(lever, "set")) ||
			*out_text_of(lever, "trouble"))
			json_array_append(moved, lever);
	}
	rows(out, &lever_shape, moved, indent, buf);
	json_decref(moved);
	rows(out, &task_shape, out_list_of(answer, "tasks"), indent, buf);
	servers_text(out, out_list_of(answer, "servers"), indent, buf);
	if (frozen.known && frozen.v > out->now_utc_ms)
		buf_addf(buf, "%sno lever is moved before %s\n", indent,
			out_until(out, frozen, when));
	return buf->len > before;
}

/* What the record says of a backup server's rule is the rule itself, to be made again from it: here
 * its rate, and until when it holds. */
static const char *action_text(const char *said, char *text, size_t size)
{
	struct err err = {0};
	json_t *rule = *said == '{' ? json_read(said, strlen(said), &err) : NULL;
	const char *frame = out_text_of(rule, "timeframe");
	char number[UNITS_TEXT_MAX];

	if (!rule || !out_int_of(rule, "rate-in").known) {
		json_decref(rule);
		return said;
	}
	snprintf(text, size, "rate-in %s%s%.60s", out_rate(out_int_of(rule, "rate-in"), number),
		*frame ? ", " : "", frame);
	json_decref(rule);
	return text;
}

static void action_row(const struct out *out, const json_t *action, struct table *table)
{
	char text[UNITS_TEXT_MAX], said[128];

	table_cell(table, out_when(out, out_int_of(action, "time_utc_ms"), text));
	table_cell(table, out_text_of(action, "lever"));
	table_cell(table, out_text_of(action, "target"));
	table_cell(table, action_text(out_text_of(action, "before"), said, sizeof(said)));
	table_cell(table,
		json_is_true(json_object_get(action, "put_back"))
			? "put back"
			: action_text(out_text_of(action, "after"), said, sizeof(said)));
	ticket_cell(action, table);
	table_note(table, out_text_of(action, "why"));
}

static const char *const action_names[] = {"TIME", "LEVER", "ON", "BEFORE", "AFTER", "TICKET"};
static const struct shape action_shape = {CLI_COUNT(action_names), action_names, action_row};

void show_lever_actions(const struct out *out, const json_t *list, struct buf *buf)
{
	rows(out, &action_shape, list, "", buf);
}
