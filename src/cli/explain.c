// SPDX-License-Identifier: MIT
/*
 * `explain ID` and `log stats`. explain decides the recorded request again, with a trace: what each
 * step saw, and why it stopped there. That the result is the one recorded is checked and said.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/show.h"
#include "conf/conf.h"
#include "wire/wire.h"

static json_t *trace_json(const struct trace *trace)
{
	json_t *list = json_array(), *line;
	size_t i;

	for (i = 0; list && i < trace->n; i++) {
		line = json_object();
		if (line) {
			json_put_int(line, "step", trace->lines[i].step);
			json_put_text(line, "saw", trace->lines[i].text);
			json_put_bool(line, "settled", trace->lines[i].settled);
		}
		json_array_append_new(list, line);
	}
	return list;
}

/* Decides again and adds "trace" and "same" to the answer. */
static bool decide_again(json_t *answer, struct err *err)
{
	const char *text = out_text_of(answer, "policy_text");
	struct inputs *inputs = calloc(1, sizeof(*inputs));
	struct trace *trace = calloc(1, sizeof(*trace));
	struct conf_errors errors = {0};
	struct policy *policy = NULL;
	struct decision decision;
	struct buf why = {0};
	bool done = false;

	if (!inputs || !trace) {
		err_nomem(err);
		goto out;
	}
	if (!conf_policy_parse(text, strlen(text), "the recorded policy", &policy, &errors)) {
		conf_errors_print(&errors, &why);
		err_set(err, ERR_CORRUPT, "%s", buf_str(&why));
		goto out;
	}
	if (!wire_inputs_read(json_object_get(answer, "inputs"), inputs, err))
		goto out;
	decide(policy, inputs, &decision, trace);
	done = json_put(answer, "trace", trace_json(trace)) &&
		json_put_bool(answer, "same",
			decision.verdict == verdict_parse(out_text_of(answer, "verdict")) &&
				decision.step == out_int_of(answer, "step").v &&
				strcmp(decision.rule, out_text_of(answer, "rule")) == 0);
	if (!done)
		err_nomem(err);
out:
	conf_errors_release(&errors);
	conf_policy_free(policy);
	buf_release(&why);
	free(inputs);
	free(trace);
	return done;
}

static void head_text(const struct out *out, const json_t *answer, struct buf *buf)
{
	struct opt ticket = out_int_of(answer, "ticket"), guest = out_int_of(answer, "guest");
	char text[UNITS_TEXT_MAX];

	buf_addf(buf, "decision %lld, %s\n", (long long)out_int_of(answer, "id").v,
		out_when(out, out_int_of(answer, "time_utc_ms"), text));
	buf_addf(buf, "  asked by  %s", out_text_of(answer, "client"));
	if (ticket.known && ticket.v)
		buf_addf(buf, " (T%lld)", (long long)ticket.v);
	buf_addf(buf, " on node %s, phase %s", out_text_of(answer, "node"),
		out_text_of(answer, "phase"));
	if (guest.known && guest.v)
		buf_addf(buf, ", guest %lld", (long long)guest.v);
	buf_addf(buf, "\n  storage   %s", out_text_of(answer, "storage"));
	if (*out_text_of(answer, "nas"))
		buf_addf(buf, " on NAS %s", out_text_of(answer, "nas"));
	if (*out_text_of(answer, "array"))
		buf_addf(buf, ", array %s", out_text_of(answer, "array"));
	if (*out_text_of(answer, "upid"))
		buf_addf(buf, "\n  task      %s", out_text_of(answer, "upid"));
	if (out_int_of(answer, "held_ms").v > 0)
		buf_addf(buf, "\n  held      %s before this decision",
			out_span(out_int_of(answer, "held_ms"), text));
	if (*out_text_of(answer, "override_by"))
		buf_addf(buf, "\n  override  %lld by %s: %s",
			(long long)out_int_of(answer, "override").v,
			out_text_of(answer, "override_by"), out_text_of(answer, "override_reason"));
	buf_addf(buf, "\n  policy    %.12s\n  verdict   ", out_text_of(answer, "policy_hash"));
	show_answer(out, answer, buf);
}

static void explain_text(const struct out *out, const json_t *answer, struct buf *buf)
{
	const json_t *list = out_list_of(answer, "trace");
	size_t i;

	head_text(out, answer, buf);
	buf_adds(buf, "\nstep by step\n");
	for (i = 0; i < json_array_size(list); i++) {
		const json_t *line = json_array_get(list, i);

		buf_addf(buf, "  %d %s %s\n", (int)out_int_of(line, "step").v,
			json_is_true(json_object_get(line, "settled")) ? "=>" : "  ",
			out_text_of(line, "saw"));
	}
	if (json_is_false(json_object_get(answer, "same")))
		buf_adds(buf,
			"\nDecided again from the record, the result is NOT the one recorded: run "
			"`rebuildgate log verify`.\n");
}

int cli_explain(int argc, char **argv)
{
	struct err err;
	struct out out;
	json_t *answer = NULL;
	char path[64];
	uint64_t id;
	int n, code = CLI_OK;

	out_init(&out);
	if (!cli_options(argc, argv, NULL, 0, &out, false, &n, &err))
		return cli_fail_err("explain", &err);
	if (n != 1 || !u64_parse(*argv[1] == '#' ? argv[1] + 1 : argv[1], 1, INT64_MAX, &id, NULL))
		return cli_fail("explain", CLI_USAGE,
			"name one decision by its number, as log, status and the task log show it");
	snprintf(path, sizeof(path), "/v1/decisions/%llu", (unsigned long long)id);
	if (!cli_call("GET", path, NULL, &answer, &err) || !decide_again(answer, &err) ||
		!out_show(&out, answer, explain_text, &err))
		code = cli_fail_err("explain", &err);
	json_decref(answer);
	return code;
}

static void counts_text(const char *title, const json_t *counts, struct buf *buf)
{
	const char *name;
	json_t *value;

	buf_addf(buf, "%s\n", title);
	json_object_foreach((json_t *)(uintptr_t)counts, name, value) buf_addf(
		buf, "  %10lld  %s\n", (long long)json_integer_value(value), *name ? name : "-");
}

static void stats_text(const struct out *out, const json_t *stats, struct buf *buf)
{
	char from[UNITS_TEXT_MAX], to[UNITS_TEXT_MAX];

	buf_addf(buf, "%lld decisions from %s to %s\n", (long long)out_int_of(stats, "decisions").v,
		out_when(out, out_int_of(stats, "since_utc_ms"), from),
		out_when(out, out_int_of(stats, "until_utc_ms"), to));
	counts_text("by verdict", json_object_get(stats, "verdicts"), buf);
	counts_text("by rule", json_object_get(stats, "rules"), buf);
	counts_text("by NAS", json_object_get(stats, "nas"), buf);
	counts_text("by storage", json_object_get(stats, "storages"), buf);
	buf_addf(buf, "%lld holds, %s in all, the longest %s\n",
		(long long)out_int_of(stats, "holds").v,
		out_span(out_int_of(stats, "held_ms"), from),
		out_span(out_int_of(stats, "longest_ms"), to));
}

int cli_log_stats(int argc, char **argv)
{
	const char *since = "-7d", *until = "now";
	const struct cli_option options[] = {{"--since", &since, NULL}, {"--until", &until, NULL}};
	struct moment now = {0};
	struct buf path = {0};
	struct err err;
	struct out out;
	json_t *stats = NULL;
	int64_t from, to;
	int n, code = CLI_OK;

	out_init(&out);
	now.utc_ms = out.now_utc_ms;
	now.utc_offset_s = out.utc_offset_s;
	buf_adds(&path, "/v1/log/stats");
	if (!cli_options(argc, argv, options, 2, &out, false, &n, &err) ||
		!when_parse(since, &now, &from, &err) || !when_parse(until, &now, &to, &err)) {
		code = cli_fail_err("log stats", &err);
		goto out;
	}
	cli_query_int(&path, "since", from);
	cli_query_int(&path, "until", to);
	if (!cli_call("GET", buf_str(&path), NULL, &stats, &err) ||
		!out_show(&out, stats, stats_text, &err))
		code = cli_fail_err("log stats", &err);
out:
	json_decref(stats);
	buf_release(&path);
	return code;
}
