// SPDX-License-Identifier: MIT
/* `status` and `check`: what is, and what a job would be told now. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/show.h"

static void arrays_text(const struct out *out, const json_t *arrays, struct buf *buf)
{
	static const char *const names[] = {"ARRAY", "ROLE", "LEVEL", "HEALTH", "OPERATION",
		"PROGRESS", "RATE", "OF BASELINE", "TIME LEFT", "MAY LOSE", "CLIENTS WRITE"};
	char cell[UNITS_TEXT_MAX];
	struct table table;
	struct opt left;
	size_t i;

	table_start(&table, sizeof(names) / sizeof(names[0]), names);
	for (i = 0; i < json_array_size(arrays); i++) {
		const json_t *array = json_array_get(arrays, i);
		const char *operation = out_text_of(array, "operation");
		const char *state = out_text_of(array, "sync_state");

		table_cell(&table, out_text_of(array, "name"));
		table_cell(&table, out_text_of(array, "role"));
		table_cell(&table, out_text_of(array, "level"));
		table_cell(&table, out_text_of(array, "health"));
		if (*state && strcmp(state, "none") != 0 && strcmp(state, "running") != 0 &&
			strcmp(state, operation) != 0) {
			snprintf(cell, sizeof(cell), "%.20s (%.20s)", operation, state);
			operation = cell;
		}
		table_cell(&table, operation);
		table_cell(&table, out_percent(out_int_of(array, "progress_ppm"), cell));
		table_cell(&table, out_rate(out_int_of(array, "rate"), cell));
		table_cell(&table, out_percent(out_int_of(array, "rate_of_baseline_ppm"), cell));
		table_cell(&table, out_span(out_int_of(array, "remaining_ms"), cell));
		left = out_int_of(array, "redundancy_left");
		snprintf(cell, sizeof(cell), "%lld disk%s", (long long)left.v,
			left.v == 1 ? "" : "s");
		table_cell(&table, left.known ? cell : "");
		table_cell(&table, out_rate(out_int_of(array, "client_write"), cell));
	}
	table_print(out, &table, "  ", buf);
}

static void nas_text(const struct out *out, const json_t *nas, struct buf *buf)
{
	char text[UNITS_TEXT_MAX];
	struct opt age = out_int_of(nas, "age_ms"), blind = out_int_of(nas, "blind_ms");
	struct opt load = out_int_of(nas, "load_x100");

	buf_addf(buf, "NAS %s: ", out_text_of(nas, "name"));
	if (strcmp(out_text_of(nas, "sensor"), "ok") == 0)
		buf_adds(buf, "ok");
	else
		buf_addf(buf, "BLIND (%s)%s%s", out_text_of(nas, "sensor"),
			blind.known ? " for " : "", blind.known ? out_span(blind, text) : "");
	if (age.known)
		buf_addf(buf, ", read %s ago", out_span(age, text));
	if (load.known)
		buf_addf(buf, ", load %lld.%02lld", (long long)(load.v / 100),
			(long long)(load.v % 100));
	buf_addc(buf, '\n');
	if (*out_text_of(nas, "sensor_text"))
		buf_addf(buf, "  %s\n", out_text_of(nas, "sensor_text"));
	if (json_array_size(out_list_of(nas, "arrays")))
		arrays_text(out, out_list_of(nas, "arrays"), buf);
}

static void storages_text(const struct out *out, const json_t *storages, struct buf *buf)
{
	static const char *const names[] = {"STORAGE", "NAS", "ARRAYS", "VERDICT", "RULE", "WHY"};
	struct table table;
	struct buf arrays = {0};
	size_t i, k;

	table_start(&table, sizeof(names) / sizeof(names[0]), names);
	for (i = 0; i < json_array_size(storages); i++) {
		const json_t *storage = json_array_get(storages, i);
		const json_t *list = out_list_of(storage, "arrays");

		table_cell(&table, out_text_of(storage, "name"));
		table_cell(&table, out_text_of(storage, "nas"));
		buf_clear(&arrays);
		for (k = 0; k < json_array_size(list); k++)
			buf_addf(&arrays, "%s%s", k ? "," : "",
				json_string_value(json_array_get(list, k)));
		table_cell(&table, *buf_str(&arrays) ? buf_str(&arrays) : "all data");
		table_cell(&table, out_text_of(storage, "verdict"));
		table_cell(&table, out_text_of(storage, "rule"));
		table_cell(&table, show_first_reason(storage));
	}
	table_print(out, &table, "", buf);
	buf_release(&arrays);
}

static void status_text(const struct out *out, const json_t *status, struct buf *buf)
{
	const json_t *gate = json_object_get(status, "gate"),
		     *record = json_object_get(gate, "record");
	const json_t *list = out_list_of(status, "nas");
	size_t i;

	buf_addf(buf, "rebuildgate %s on %s: policy '%s'", out_text_of(gate, "version"),
		out_text_of(gate, "node"), out_text_of(gate, "policy"));
	if (json_is_false(json_object_get(gate, "enabled")))
		buf_adds(buf, ", SWITCHED OFF");
	if (json_is_true(json_object_get(gate, "observe")))
		buf_adds(buf, ", observes only");
	if (json_is_true(json_object_get(record, "ok")))
		buf_adds(buf, ", record ok\n");
	else
		buf_addf(buf, ", RECORD FAILS: %s\n", out_text_of(record, "text"));
	if (out_int_of(record, "spilled").v > 0)
		buf_addf(buf, "%lld decisions wait in the spill file\n",
			(long long)out_int_of(record, "spilled").v);
	for (i = 0; i < json_array_size(list); i++) {
		buf_addc(buf, '\n');
		nas_text(out, json_array_get(list, i), buf);
	}
	buf_addc(buf, '\n');
	storages_text(out, out_list_of(status, "storages"), buf);
	list = out_list_of(status, "tickets");
	buf_addf(buf, "\n%zu job%s held or running\n", json_array_size(list),
		json_array_size(list) == 1 ? "" : "s");
	if (json_array_size(list))
		show_tickets(out, list, "  ", buf);
	list = out_list_of(status, "overrides");
	if (json_array_size(list)) {
		buf_addf(buf, "\n%zu override%s in force\n", json_array_size(list),
			json_array_size(list) == 1 ? "" : "s");
		show_overrides(out, list, "  ", buf);
	}
}

int cli_status(int argc, char **argv)
{
	struct err err;
	struct out out;
	json_t *status = NULL;
	int n, code = CLI_OK;

	out_init(&out);
	if (!cli_options(argc, argv, NULL, 0, &out, false, &n, &err))
		return cli_fail_err("status", &err);
	if (n > 0)
		return cli_fail("status", CLI_USAGE, "it takes no arguments");
	if (!cli_call("GET", "/v1/status", NULL, &status, &err) ||
		!out_show(&out, status, status_text, &err))
		code = cli_fail_err("status", &err);
	json_decref(status);
	return code;
}

int cli_check(int argc, char **argv)
{
	const char *node = NULL, *act;
	const struct cli_option options[] = {{"--node", &node, NULL}};
	struct buf path = {0};
	struct err err;
	struct out out;
	json_t *answer = NULL;
	int n, code = CLI_OK;

	out_init(&out);
	if (!cli_options(argc, argv, options, 1, &out, false, &n, &err))
		return cli_fail_err("check", &err);
	if (n != 1)
		return cli_fail("check", CLI_USAGE, "name one storage: rebuildgate check STORAGE");
	buf_adds(&path, "/v1/check");
	cli_query(&path, "storage", argv[1]);
	if (node)
		cli_query(&path, "node", node);
	if (!cli_call("GET", buf_str(&path), NULL, &answer, &err) ||
		!out_show(&out, answer, show_answer, &err)) {
		code = cli_fail_err("check", &err);
		goto out;
	}
	act = out_text_of(answer, "act");
	if (strcmp(act, "hold") == 0)
		code = CLI_HELD;
	else if (strcmp(act, "deny") == 0)
		code = CLI_DENIED;
out:
	json_decref(answer);
	buf_release(&path);
	return code;
}
