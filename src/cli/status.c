// SPDX-License-Identifier: MIT
/* `status` and `check`: what is, and what a job would be told now. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/show.h"

/* "hold", "throttle (acts as allow)", "allow (would be hold)". */
static void verdict_text(const json_t *answer, struct buf *buf)
{
	const char *act = out_text_of(answer, "act"), *verdict = out_text_of(answer, "verdict");
	const char *would_be = out_text_of(answer, "would_be");

	buf_clear(buf);
	buf_adds(buf, verdict);
	if (strcmp(act, verdict) != 0)
		buf_addf(buf, " (acts as %s)", act);
	if (strcmp(would_be, verdict) != 0)
		buf_addf(buf, " (would be %s)", would_be);
}

static void storages_text(const struct out *out, const json_t *storages, struct buf *buf)
{
	static const char *const names[] = {"STORAGE", "NAS", "ARRAYS", "NOW", "RULE"};
	struct table table;
	struct buf cell = {0};
	size_t i, k;

	table_start(&table, CLI_COUNT(names), names);
	for (i = 0; i < json_array_size(storages); i++) {
		const json_t *storage = json_array_get(storages, i);
		const json_t *list = out_list_of(storage, "arrays");

		table_cell(&table, out_text_of(storage, "name"));
		table_cell(&table, out_text_of(storage, "nas"));
		buf_clear(&cell);
		for (k = 0; k < json_array_size(list); k++)
			buf_addf(&cell, "%s%s", k ? "," : "",
				json_string_value(json_array_get(list, k)));
		table_cell(&table, cell.len ? buf_str(&cell) : "all data");
		verdict_text(storage, &cell);
		table_cell(&table, buf_str(&cell));
		table_cell(&table, out_text_of(storage, "rule"));
		table_note(&table, show_first_reason(storage));
		buf_clear(&cell);
		show_hold_end(out, storage, &cell);
		table_note(&table, buf_str(&cell));
	}
	table_print(out, &table, "", buf);
	buf_release(&cell);
}

static void record_text(const json_t *record, struct buf *buf)
{
	bool good = json_is_true(json_object_get(record, "ok"));
	struct opt spilled = out_int_of(record, "spilled"), lost = out_int_of(record, "lost");
	const char *why = out_text_of(record, "text");

	if (!good)
		buf_addf(buf, "RECORD FAILS: %s\n", *why ? why : "no reason is known");
	else if (*why)
		buf_addf(buf, "NO SPILL FILE: %s\n", why);
	if (spilled.v > 0) {
		out_count(buf, spilled.v, "step");
		buf_adds(buf, " in the spill file, to be taken in later\n");
	}
	if (lost.v > 0) {
		out_count(buf, lost.v, "step");
		buf_adds(buf, " not recorded since the start: see the journal\n");
	}
}

static void gate_text(const struct out *out, const json_t *gate, struct buf *buf)
{
	const json_t *record = json_object_get(gate, "record");
	const json_t *notices = json_object_get(gate, "notices");
	char when[UNITS_TEXT_MAX];

	buf_addf(buf, "rebuildgate %s on %s since %s: policy '%s'", out_text_of(gate, "version"),
		out_text_of(gate, "node"), out_until(out, out_int_of(gate, "started_utc_ms"), when),
		out_text_of(gate, "policy"));
	if (json_is_false(json_object_get(gate, "enabled")))
		buf_adds(buf, ", SWITCHED OFF: nothing is held");
	if (json_is_true(json_object_get(gate, "observe")))
		buf_adds(buf, ", OBSERVES ONLY: nothing is held");
	buf_adds(buf, json_is_true(json_object_get(record, "ok")) ? ", record ok\n" : "\n");
	record_text(record, buf);
	if (*out_text_of(notices, "text"))
		buf_addf(buf, "A NOTICE WAS NOT TAKEN at %s: %s\n",
			out_until(out, out_int_of(notices, "failed_utc_ms"), when),
			out_text_of(notices, "text"));
}

static void throttle_text(const struct out *out, const json_t *status, struct buf *buf)
{
	struct buf part = {0};

	if (show_levers(out, status, "", false, &part))
		buf_addf(buf, "\n%s", buf_str(&part));
	buf_release(&part);
}

static void status_text(const struct out *out, const json_t *status, struct buf *buf)
{
	const json_t *list = out_list_of(status, "nas");
	size_t i;

	gate_text(out, json_object_get(status, "gate"), buf);
	for (i = 0; i < json_array_size(list); i++) {
		buf_addc(buf, '\n');
		buf_adds(buf, "NAS ");
		show_nas(out, json_array_get(list, i), buf);
	}
	if (!i)
		buf_adds(buf, "\nno NAS is configured\n");
	list = out_list_of(status, "storages");
	buf_adds(buf, json_array_size(list) ? "\n" : "\nno storage is configured\n");
	if (json_array_size(list))
		storages_text(out, list, buf);
	list = out_list_of(status, "tickets");
	buf_addc(buf, '\n');
	out_count(buf, (int64_t)json_array_size(list), "job");
	buf_adds(buf, " held or running\n");
	if (json_array_size(list))
		show_tickets(out, list, "  ", buf);
	throttle_text(out, status, buf);
	list = out_list_of(status, "overrides");
	if (json_array_size(list)) {
		buf_addc(buf, '\n');
		out_count(buf, (int64_t)json_array_size(list), "override");
		buf_adds(buf, " in force\n");
		show_overrides(out, list, "  ", buf);
	}
}

int cli_status(const struct cli_verb *verb, int argc, char **argv)
{
	struct out out;
	int code;

	if (!cli_args(verb, argc, argv, NULL, 0, &out, &code))
		return code;
	return cli_ask_and_show(verb, &out, "GET", "/v1/status", NULL, status_text, NULL);
}

int cli_check(const struct cli_verb *verb, int argc, char **argv)
{
	struct buf path = {0};
	struct out out;
	json_t *answer = NULL;
	const char *act;
	int code;

	if (!cli_args(verb, argc, argv, NULL, 0, &out, &code))
		return code;
	buf_adds(&path, "/v1/check");
	cli_query(&path, "storage", argv[1]);
	code = cli_ask_and_show(verb, &out, "GET", buf_str(&path), NULL, show_answer, &answer);
	act = out_text_of(answer, "act");
	if (code == CLI_OK && strcmp(act, "hold") == 0)
		code = CLI_HELD;
	else if (code == CLI_OK && strcmp(act, "deny") == 0)
		code = CLI_DENIED;
	json_decref(answer);
	buf_release(&path);
	return code;
}
