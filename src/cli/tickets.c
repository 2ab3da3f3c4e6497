// SPDX-License-Identifier: MIT
/* `tickets` and `release`: the jobs that asked, and letting one go. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/show.h"

static void tickets_text(const struct out *out, const json_t *answer, struct buf *buf)
{
	const json_t *list = out_list_of(answer, "tickets");

	if (json_array_size(list))
		show_tickets(out, list, "", buf);
	else
		buf_adds(buf, "no job is held or running\n");
}

int cli_tickets(const struct cli_verb *verb, int argc, char **argv)
{
	bool all = false;
	const struct cli_option options[] = {
		{"--all", NULL, "the last 200 ended ones as well", NULL, &all}};
	struct out out;
	int code;

	if (!cli_args(verb, argc, argv, options, CLI_COUNT(options), &out, &code))
		return code;
	return cli_ask_and_show(verb, &out, "GET", all ? "/v1/tickets?all=1" : "/v1/tickets", NULL,
		tickets_text, NULL);
}

/* "T17" or "17". */
static bool ticket_parse(const char *text, uint64_t *ret, struct err *err)
{
	if (u64_parse(*text == 'T' || *text == 't' ? text + 1 : text, 1, INT64_MAX, ret, NULL))
		return true;
	return err_set(err, ERR_INVALID, "'%s' is not a ticket: they look like T17", text);
}

static void released_text(const struct out *out, const json_t *answer, struct buf *buf)
{
	(void)out;
	buf_addf(buf, "T%lld is let go\n", (long long)out_int_of(answer, "ticket").v);
}

static bool release(uint64_t id, const char *reason, const struct out *out, struct err *err)
{
	json_t *body = json_object(), *answer = NULL;
	char path[64];
	bool done = false;

	snprintf(path, sizeof(path), "/v1/tickets/%llu/release", (unsigned long long)id);
	if (!body || !json_put_text(body, "reason", reason))
		err_nomem(err);
	else if (cli_call("POST", path, body, &answer, err))
		done = json_put_int(answer, "ticket", (int64_t)id) || err_nomem(err);
	done = done && out_show(out, answer, released_text, err);
	json_decref(body);
	json_decref(answer);
	return done;
}

int cli_release(const struct cli_verb *verb, int argc, char **argv)
{
	const char *reason = NULL;
	const struct cli_option options[] = {
		{"--reason", "TEXT", "why, for the record", &reason, NULL}};
	struct err err = {0};
	struct out out;
	uint64_t id;
	int code;

	if (!cli_args(verb, argc, argv, options, CLI_COUNT(options), &out, &code))
		return code;
	if (!reason || !*reason)
		return cli_fail(verb->name, CLI_USAGE, "say why, for the record: --reason \"...\"");
	if (!ticket_parse(argv[1], &id, &err) || !release(id, reason, &out, &err))
		return cli_fail_err(verb->name, &err);
	return CLI_OK;
}
