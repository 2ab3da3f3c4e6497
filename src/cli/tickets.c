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

int cli_tickets(int argc, char **argv)
{
	bool all = false;
	const struct cli_option options[] = {{"--all", NULL, &all}};
	struct err err;
	struct out out;
	json_t *answer = NULL;
	int n, code = CLI_OK;

	out_init(&out);
	if (!cli_options(argc, argv, options, 1, &out, false, &n, &err))
		return cli_fail_err("tickets", &err);
	if (n > 0)
		return cli_fail("tickets", CLI_USAGE, "it takes no arguments");
	if (!cli_call("GET", all ? "/v1/tickets?all=1" : "/v1/tickets", NULL, &answer, &err) ||
		!out_show(&out, answer, tickets_text, &err))
		code = cli_fail_err("tickets", &err);
	json_decref(answer);
	return code;
}

/* "T17" or "17". */
static bool ticket_parse(const char *text, uint64_t *ret, struct err *err)
{
	if (u64_parse(*text == 'T' || *text == 't' ? text + 1 : text, 1, INT64_MAX, ret, NULL))
		return true;
	return err_set(err, ERR_INVALID, "'%s' is not a ticket: they look like T17", text);
}

int cli_release(int argc, char **argv)
{
	const char *reason = NULL;
	const struct cli_option options[] = {{"--reason", &reason, NULL}};
	struct err err;
	struct out out;
	char path[64];
	json_t *body = NULL;
	uint64_t id;
	int n, code = CLI_OK;

	out_init(&out);
	if (!cli_options(argc, argv, options, 1, &out, false, &n, &err))
		return cli_fail_err("release", &err);
	if (n != 1)
		return cli_fail("release", CLI_USAGE,
			"name one ticket: rebuildgate release T17 --reason \"...\"");
	if (!reason || !*reason)
		return cli_fail("release", CLI_USAGE, "say why, for the record: --reason \"...\"");
	if (!ticket_parse(argv[1], &id, &err))
		return cli_fail_err("release", &err);
	snprintf(path, sizeof(path), "/v1/tickets/%llu/release", (unsigned long long)id);
	body = json_object();
	if (!body || !json_put_text(body, "reason", reason))
		err_nomem(&err);
	else if (cli_call("POST", path, body, NULL, &err)) {
		printf("T%llu is let go\n", (unsigned long long)id);
		goto out;
	}
	code = cli_fail_err("release", &err);
out:
	json_decref(body);
	return code;
}
