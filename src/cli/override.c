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

static bool add_end(const struct add *add, const struct out *out, json_t *body, struct err *err)
{
	struct moment now = {.utc_ms = out->now_utc_ms, .utc_offset_s = out->utc_offset_s};
	int64_t span, until;

	if (!add->span == !add->until)
		return err_set(err, ERR_INVALID,
			"say until when it counts: --for 2h, or --until \"2026-12-01 07:00\"");
	if (add->span) {
		if (!span_parse(add->span, &span, err))
			return err_prefix(err, "--for");
		until = out->now_utc_ms + span;
	} else if (!when_parse(add->until, &now, &until, err)) {
		return err_prefix(err, "--until");
	}
	if (until <= out->now_utc_ms)
		return err_set(err, ERR_INVALID, "an override must end in the future");
	return json_put_int(body, "until_utc_ms", until) || err_nomem(err);
}

static bool add_body(const char *verdict, const struct add *add, const struct out *out,
	json_t *body, struct err *err)
{
	if (!verdict_parse(verdict))
		return err_set(err, ERR_INVALID, "'%s' is not one of allow, throttle, hold, deny",
			verdict);
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
	char until[UNITS_TEXT_MAX];

	buf_addf(buf, "override %lld: %s for ", (long long)out_int_of(override, "id").v,
		out_text_of(override, "verdict"));
	show_scope(override, buf);
	buf_addf(buf, ", until %s\n", out_when(out, out_int_of(override, "until_utc_ms"), until));
}

static int override_add(int argc, char **argv)
{
	struct add add = {0};
	const struct cli_option options[] = {{"--ticket", &add.ticket, NULL},
		{"--guest", &add.guest, NULL}, {"--storage", &add.storage, NULL},
		{"--nas", &add.nas, NULL}, {"--node", &add.node, NULL}, {"--for", &add.span, NULL},
		{"--until", &add.until, NULL}, {"--reason", &add.reason, NULL}};
	json_t *body = json_object(), *answer = NULL;
	struct err err;
	struct out out;
	int n, code = CLI_OK;

	out_init(&out);
	if (!body) {
		err_nomem(&err);
	} else if (!cli_options(argc, argv, options, sizeof(options) / sizeof(options[0]), &out,
			   false, &n, &err)) {
		;
	} else if (n != 1) {
		err_set(&err, ERR_INVALID,
			"name one verdict: rebuildgate override add allow --storage S --for 2h "
			"--reason \"...\"");
	} else if (add_body(argv[1], &add, &out, body, &err) &&
		cli_call("POST", "/v1/overrides", body, &answer, &err) &&
		out_show(&out, answer, added_text, &err)) {
		goto out;
	}
	code = cli_fail_err("override", &err);
out:
	json_decref(body);
	json_decref(answer);
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

static int override_list(int argc, char **argv)
{
	bool all = false;
	const struct cli_option options[] = {{"--all", NULL, &all}};
	json_t *answer = NULL;
	struct err err;
	struct out out;
	int n, code = CLI_OK;

	out_init(&out);
	if (!cli_options(argc, argv, options, 1, &out, false, &n, &err) ||
		!cli_call("GET", all ? "/v1/overrides?all=1" : "/v1/overrides", NULL, &answer,
			&err) ||
		!out_show(&out, answer, list_text, &err))
		code = cli_fail_err("override", &err);
	json_decref(answer);
	return code;
}

static int override_cancel(int argc, char **argv)
{
	struct err err;
	char path[64];
	uint64_t id;
	int n;

	if (!cli_options(argc, argv, NULL, 0, NULL, false, &n, &err))
		return cli_fail_err("override", &err);
	if (n != 1 || !u64_parse(argv[1], 1, INT64_MAX, &id, NULL))
		return cli_fail("override", CLI_USAGE,
			"name one override by its number (see rebuildgate override list)");
	snprintf(path, sizeof(path), "/v1/overrides/%llu", (unsigned long long)id);
	if (!cli_call("DELETE", path, NULL, NULL, &err))
		return cli_fail_err("override", &err);
	printf("override %llu is cancelled\n", (unsigned long long)id);
	return CLI_OK;
}

int cli_override(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} verbs[] = {{"add", override_add}, {"list", override_list}, {"cancel", override_cancel}};
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].run(argc - 1, argv + 1);
	}
	return cli_fail("override", CLI_USAGE, "say one of add, list, cancel");
}
