// SPDX-License-Identifier: MIT
/* `levers`: what the gate has moved to slow backups, and putting it back. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/record.h"
#include "cli/show.h"

#define ACTIONS_MAX 500

static void levers_text(const struct out *out, const json_t *answer, struct buf *buf)
{
	const json_t *actions = out_list_of(answer, "actions");

	if (!show_levers(out, answer, "", true, buf))
		buf_adds(buf, "no lever is set up\n");
	if (!json_array_size(actions))
		return;
	buf_addc(buf, '\n');
	show_lever_actions(out, actions, buf);
}

static void reset_text(const struct out *out, const json_t *answer, struct buf *buf)
{
	const json_t *list = out_list_of(answer, "levers");
	size_t i;

	(void)out;
	if (!json_array_size(list))
		buf_adds(buf, "no lever was moved\n");
	if (json_is_true(json_object_get(answer, "others")))
		buf_adds(buf,
			"what other gates have moved on a NAS is put back too; they may move it "
			"again\n");
	for (i = 0; i < json_array_size(list); i++) {
		const json_t *lever = json_array_get(list, i);
		const char *trouble = out_text_of(lever, "trouble");

		buf_addf(buf, "%s on %s: %s%s%s\n", out_text_of(lever, "lever"),
			out_text_of(lever, "target"),
			json_is_true(json_object_get(lever, "set")) ? "is being put back"
								    : "put back",
			*trouble ? ", but: " : "", trouble);
	}
}

static int levers_reset(const struct cli_verb *verb, int argc, char **argv)
{
	const char *reason = NULL, *span = NULL;
	bool others = false;
	const struct cli_option options[] = {
		{"--reason", "TEXT", "why, for the record", &reason, NULL},
		{"--for", "SPAN", "and move none again for so long: 2h", &span, NULL},
		{"--others", NULL, "also what other gates have moved on a NAS of this one", NULL,
			&others}};
	json_t *body = NULL;
	struct err err = {0};
	int64_t for_ms = 0;
	struct out out;
	int code;

	if (!cli_args(verb, argc, argv, options, CLI_COUNT(options), &out, &code))
		return code;
	if (!reason || !*reason)
		return cli_fail(verb->name, CLI_USAGE, "say why, for the record: --reason \"...\"");
	if (span && !span_parse(span, &for_ms, &err)) {
		err_prefix(&err, "--for");
		return cli_fail_err(verb->name, &err);
	}
	body = json_object();
	if (!body || !json_put_text(body, "reason", reason) ||
		!json_put_int(body, "for_ms", for_ms) || !json_put_bool(body, "others", others)) {
		err_nomem(&err);
		code = cli_fail_err(verb->name, &err);
	} else {
		code = cli_ask_and_show(
			verb, &out, "POST", "/v1/levers/reset", body, reset_text, NULL);
	}
	json_decref(body);
	if (code == CLI_GATE_AWAY)
		fputs("rebuildgate levers reset: without the gate, as root: "
		      "rebuildgated --put-back\n",
			stderr);
	return code;
}

/* What the record of a gate that is away says: which levers stand where they should not. */
static void take_moved(void *data, const struct store_lever *action)
{
	json_t *lever = json_object();

	if (!lever || !json_put_text(lever, "lever", action->lever) ||
		!json_put_text(lever, "target", action->target) ||
		!json_put_bool(lever, "set", true) ||
		!json_put_text(lever, "path", action->after) ||
		!json_put_text(lever, "before", action->before) ||
		!json_put_int(lever, "since_utc_ms", action->utc_ms) ||
		json_array_append(data, lever) != 0) {
		json_decref(lever);
		return;
	}
	json_decref(lever);
}

static int show_record(const struct cli_verb *verb, const struct out *out, const char *database)
{
	char path[SETTINGS_PATH_MAX];
	json_t *answer = json_object(), *list = json_array();
	struct store *store = NULL;
	struct err err = {0};
	bool done;

	done = (answer && list) || err_nomem(&err);
	done = done && record_open(database, NULL, path, &store, &err) &&
		store_levers_moved(store, take_moved, list, &err);
	if (done) {
		done = json_put(answer, "levers", json_incref(list)) || err_nomem(&err);
		done = done && out_show(out, answer, levers_text, &err);
	}
	store_close(store);
	json_decref(list);
	json_decref(answer);
	return done ? CLI_OK : cli_fail_err(verb->name, &err);
}

int cli_levers(const struct cli_verb *verb, int argc, char **argv)
{
	static const struct cli_verb below[] = {
		{.name = "levers reset",
			.run = levers_reset,
			.forms = CLI_JSON,
			.summary = "put everything back now"},
	};
	const char *actions = NULL, *database = NULL;
	const struct cli_option options[] = {
		{"--actions", "N", "the last N changes as well, newest first", &actions, NULL},
		CLI_OPTION_DATABASE(&database)};
	struct cli_verb self = *verb;
	struct err err = {0};
	char path[64] = "/v1/levers";
	struct out out;
	uint64_t n;
	int code;

	self.verbs = below;
	self.n_verbs = CLI_COUNT(below);
	if (cli_below(&self, argc, argv, &code) ||
		!cli_args(&self, argc, argv, options, CLI_COUNT(options), &out, &code))
		return code;
	if (database)
		return show_record(verb, &out, database);
	if (actions) {
		if (!u64_parse(actions, 1, ACTIONS_MAX, &n, &err)) {
			err_prefix(&err, "--actions");
			return cli_fail_err(verb->name, &err);
		}
		snprintf(path, sizeof(path), "/v1/levers?actions=%llu", (unsigned long long)n);
	}
	return cli_ask_and_show(verb, &out, "GET", path, NULL, levers_text, NULL);
}
