// SPDX-License-Identifier: MIT
/*
 * `explain ID`: decides the recorded request again, with a trace: what each
 * step saw, and why it stopped there. That the result is the one recorded is checked and said.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/record.h"
#include "cli/show.h"
#include "conf/conf.h"
#include "wire/wire.h"

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
	done = json_put(answer, "trace", show_trace_json(trace)) &&
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

static void label(struct buf *buf, const char *name)
{
	buf_addf(buf, "  %-9s ", name);
}

/* Where the request came from. */
static void request_text(const json_t *answer, struct buf *buf)
{
	struct opt ticket = out_int_of(answer, "ticket"), guest = out_int_of(answer, "guest");

	label(buf, "asked by");
	buf_adds(buf, out_text_of(answer, "client"));
	if (ticket.known)
		buf_addf(buf, " (ticket T%lld)", (long long)ticket.v);
	if (*out_text_of(answer, "node"))
		buf_addf(buf, " on node %s", out_text_of(answer, "node"));
	buf_addf(buf, ", in phase %s", out_text_of(answer, "phase"));
	if (guest.known)
		buf_addf(buf, ", guest %lld", (long long)guest.v);
	buf_addc(buf, '\n');
	label(buf, "storage");
	buf_adds(buf, out_text_of(answer, "storage"));
	if (*out_text_of(answer, "nas"))
		buf_addf(buf, " on NAS %s", out_text_of(answer, "nas"));
	if (*out_text_of(answer, "array"))
		buf_addf(buf, ", array %s", out_text_of(answer, "array"));
	buf_addc(buf, '\n');
	if (*out_text_of(answer, "upid")) {
		label(buf, "task");
		buf_addf(buf, "%s\n", out_text_of(answer, "upid"));
	}
	if (*out_text_of(answer, "job_id")) {
		label(buf, "job");
		buf_addf(buf, "%s\n", out_text_of(answer, "job_id"));
	}
}

/* The hold's end as it stood then. */
static void end_text(const struct out *out, const json_t *answer, struct buf *buf)
{
	const json_t *decision = json_object_get(answer, "decision");
	struct opt ends = out_int_of(decision, "ends_in_ms"),
		   at = out_int_of(answer, "time_utc_ms");
	char when[UNITS_TEXT_MAX], span[UNITS_TEXT_MAX];

	if (strcmp(out_text_of(answer, "act"), "hold") != 0 || !ends.known)
		return;
	label(buf, "until");
	buf_addf(buf, "%s at the latest (%s later)", out_until(out, OPT(at.v + ends.v), when),
		out_span(ends, span));
	show_then(decision, buf);
	buf_addc(buf, '\n');
}

static void head_text(const struct out *out, const json_t *answer, struct buf *buf)
{
	char text[UNITS_TEXT_MAX];

	buf_addf(buf, "decision %lld, %s: ", (long long)out_int_of(answer, "id").v,
		out_when(out, out_int_of(answer, "time_utc_ms"), text));
	show_verdict(answer, buf);
	buf_addc(buf, '\n');
	show_reasons(answer, "  ", buf);
	buf_addc(buf, '\n');
	request_text(answer, buf);
	if (out_int_of(answer, "held_ms").v > 0) {
		label(buf, "held");
		buf_addf(buf, "%s before this decision\n",
			out_span(out_int_of(answer, "held_ms"), text));
	}
	end_text(out, answer, buf);
	if (*out_text_of(answer, "override_by")) {
		label(buf, "override");
		buf_addf(buf, "%lld by %s: %s\n", (long long)out_int_of(answer, "override").v,
			out_text_of(answer, "override_by"), out_text_of(answer, "override_reason"));
	}
	if (*out_text_of(answer, "released_by")) {
		label(buf, "let go");
		buf_addf(buf, "by %s: %s\n", out_text_of(answer, "released_by"),
			out_text_of(answer, "release_reason"));
	}
	label(buf, "policy");
	buf_addf(buf, "%.12s\n", out_text_of(answer, "policy_hash"));
}

static void explain_text(const struct out *out, const json_t *answer, struct buf *buf)
{
	head_text(out, answer, buf);
	buf_adds(buf, "\nstep by step (=> where it was settled)\n");
	show_trace(out_list_of(answer, "trace"), buf);
	if (json_is_false(json_object_get(answer, "same")))
		buf_adds(buf,
			"\nDecided again from the record, the result is NOT the one recorded: run "
			"`rebuildgate log verify`.\n");
}

int cli_explain(const struct cli_verb *verb, int argc, char **argv)
{
	struct record record = {.verb = verb->name};
	const struct cli_option options[] = {
		CLI_OPTION_DATABASE(&record.database), CLI_OPTION_CONFIG(&record.config)};
	json_t *answer = NULL;
	struct err err = {0};
	struct out out;
	uint64_t id;
	int code;

	if (!cli_args(verb, argc, argv, options, CLI_COUNT(options), &out, &code))
		return code;
	if (!u64_parse(*argv[1] == '#' ? argv[1] + 1 : argv[1], 1, INT64_MAX, &id, NULL))
		return cli_fail(verb->name, CLI_USAGE, verb->need);
	code = CLI_OK;
	if (!record_decision(&record, (int64_t)id, &answer, &err) || !decide_again(answer, &err) ||
		!out_show(&out, answer, explain_text, &err))
		code = cli_fail_err(verb->name, &err);
	json_decref(answer);
	record_close(&record);
	return code;
}
