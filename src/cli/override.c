// SPDX-License-Identifier: MIT
/* `override add|list|cancel`: an operator's verdict for a scope, with a reason and an end. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/show.h"
#include "core/policy.h"

struct add {
	const char *ticket, *guest, *storage, *nas, *node, *span, *until, *reason;
};

static bool put_number(json_t *body, const char *name, const char *text, struct err *err)
{
	uint64_t number;

	if (!text)
		return true;
	if (strcmp(name, "ticket") == 0 && (*text == 'T' || *text == 't'))
		text++;
	if (!u64_parse(text, 1, strcmp(name, "guest") == 0 ? 999999999 : INT64_MAX, &number, err))
		return err_prefix(err, "--%s", name);
	return json_put_int(body, name, (int64_t)number) || err_nomem(err);
}

static bool put_text(json_t *body, const char *name, const char *text, struct err *err)
{
	return !text || json_put_text(body, name, text) || err_nomem(err);
}

/* "07:00" is the next one here, where when_parse() takes the last. */
static bool is_clock_time(const char *text)
{
	return strchr(text, ':') && strspn(text, "0123456789:") == strlen(text);
}

static bool add_end(const struct add *add, const struct out *out, json_t *body, struct err *err)
{
	struct moment now = {.utc_ms = out->now_utc_ms, .utc_offset_s = out->utc_offset_s};
	int64_t span, until;

	if (add->span && add->until)
		return err_set(err, ERR_INVALID, "say --for or --until, not both");
	if (!add->span && !add->until)
		return err_set(err, ERR_INVALID,
			"say until when it counts: --for 2h, or --until \"2026-12-01 07:00\"");
	if (add->span) {
		if (!span_parse(add->span, &span, err))
			return err_prefix(err, "--for");
		until = out->now_utc_ms + span;
	} else if (!when_parse(add->until, &now, &until, err)) {
		return err_prefix(err, "--until");
	}
	if (add->until && is_clock_time(add->until) && until <= out->now_utc_ms)
		until += MS_DAY;
	if (until <= out->now_utc_ms)
		return err_set(err, ERR_INVALID, "an override must end in the future");
	return json_put_int(body, "until_utc_ms", until) || err_nomem(err);
}

static bool add_body(const char *verdict, const struct add *add, const struct out *out,
	json_t *body, struct err *err)
{
	if (!verdict_parse(verdict))
		return err_set(err, ERR_INVALID,
			"'%s' is no verdict: say allow, throttle, hold or deny", verdict);
	if (!add->reason || !*add->reason)
		return err_set(err, ERR_INVALID, "say why, for the record: --reason \"...\"");
	return put_text(body, "verdict", verdict, err) &&
		put_text(body, "reason", add->reason, err) &&
		put_number(body, "ticket", add->ticket, err) &&
		put_number(body, "guest", add->guest, err) &&
		put_text(body, "storage", add->storage, err) &&
		put_text(body, "nas", add->nas, err) && put_text(body, "node", add->node, err) &&
		add_end(add, out, body, err);
}

static void added_text(const struct out *out, const json_t *override, struct buf *buf)
{
	const char *warning = out_text_of(override, "warning");
	char until[UNITS_TEXT_MAX];

	buf_addf(buf, "override %lld: %s for ", (long long)out_int_of(override, "id").v,
		out_text_of(override, "verdict"));
	show_scope(override, buf);
	buf_addf(buf, ", until %s\n", out_until(out, out_int_of(override, "until_utc_ms"), until));
	if (*warning)
		buf_addf(buf, "warning: %s\n", warning);
}

static int override_add(const struct cli_verb *verb, int argc, char **argv)
{
	struct add add = {0};
	const struct cli_option options[] = {
		{"--for", "SPAN", "how long it counts: 2h", &add.span, NULL},
		{"--until", "TIME", "or until when: \"07:00\" (the next), \"2026-12-01 07:00\"",
			&add.until, NULL},
		{"--reason", "TEXT", "why, for the record", &add.reason, NULL},
		{"--ticket", "TICKET", "for this job only", &add.ticket, NULL},
		{"--guest", "ID", "for this guest only", &add.guest, NULL},
		{"--storage", "STORAGE", "for this storage only", &add.storage, NULL},
		{"--nas", "NAS", "for this NAS only", &add.nas, NULL},
		{"--node", "NODE", "for jobs of this Proxmox node only", &add.node, NULL}};
	json_t *body;
	struct err err = {0};
	struct out out;
	int code;

	if (!cli_args(verb, argc, argv, options, CLI_COUNT(options), &out, &code))
		return code;
	body = json_object();
	if (!body)
		err_nomem(&err);
	if (!body || !add_body(argv[1], &add, &out, body, &err))
		code = cli_fail_err(verb->name, &err);
	else
		code = cli_ask_and_show(
			verb, &out, "POST", "/v1/overrides", body, added_text, NULL);
	json_decref(body);
	return code;
}

static void list_text(const struct out *out, const json_t *answer, struct buf *buf)
{
	const json_t *list = out_list_of(answer, "overrides");

	if (json_array_size(list))
		show_overrides(out, list, "", buf);
	else
		buf_adds(buf, "no override is in force\n");
}

static int override_list(const struct cli_verb *verb, int argc, char **argv)
{
	bool all = false;
	const struct cli_option options[] = {
		{"--all", NULL, "those of the past as well", NULL, &all}};
	struct out out;
	int code;

	if (!cli_args(verb, argc, argv, options, CLI_COUNT(options), &out, &code))
		return code;
	return cli_ask_and_show(verb, &out, "GET", all ? "/v1/overrides?all=1" : "/v1/overrides",
		NULL, list_text, NULL);
}

static int override_cancel(const struct cli_verb *verb, int argc, char **argv)
{
	struct err err = {0};
	char path[64];
	uint64_t id;
	int code;

	if (!cli_args(verb, argc, argv, NULL, 0, NULL, &code))
		return code;
	if (!u64_parse(argv[1], 1, INT64_MAX, &id, NULL))
		return cli_fail(verb->name, CLI_USAGE, verb->need);
	snprintf(path, sizeof(path), "/v1/overrides/%llu", (unsigned long long)id);
	if (!cli_call("DELETE", path, NULL, NULL, &err))
		return cli_fail_err(verb->name, &err);
	printf("override %llu is cancelled\n", (unsigned long long)id);
	return CLI_OK;
}

int cli_override(const struct cli_verb *verb, int argc, char **argv)
{
	static const struct cli_verb verbs[] = {
		{.name = "override add",
			.run = override_add,
			.args = "VERDICT",
			.min = 1,
			.max = 1,
			.need = "name one verdict: rebuildgate override add allow --storage S "
				"--for 2h --reason \"...\"",
			.forms = CLI_JSON,
			.summary = "allow, throttle, hold or deny what it covers; without a scope: "
				   "everything"},
		{.name = "override list",
			.run = override_list,
			.forms = CLI_JSON,
			.summary = "those in force"},
		{.name = "override cancel",
			.run = override_cancel,
			.args = "ID",
			.min = 1,
			.max = 1,
			.need = "name one override by its number, as rebuildgate override list "
				"shows it",
			.summary = "end one before its time"},
	};

	return cli_group(verb, verbs, CLI_COUNT(verbs), argc, argv);
}
