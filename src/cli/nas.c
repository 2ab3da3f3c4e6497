// SPDX-License-Identifier: MIT
/* `nas list|look|forget`, and the table of all `nas` verbs. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/show.h"
#include "cli/trust.h"

static void list_text(const struct out *out, const json_t *answer, struct buf *buf)
{
	static const char *const names[] = {"NAS", "SENSOR", "READ", "NEXT LOOK IN", "ARRAYS"};
	const json_t *list = out_list_of(answer, "nas");
	char cell[UNITS_TEXT_MAX];
	struct table table;
	struct opt next;
	size_t i;

	table_start(&table, CLI_COUNT(names), names);
	for (i = 0; i < json_array_size(list); i++) {
		const json_t *nas = json_array_get(list, i);

		table_cell(&table, out_text_of(nas, "name"));
		table_cell(&table, out_text_of(nas, "sensor"));
		table_cell(&table, show_age(out_int_of(nas, "age_ms"), cell));
		next = out_int_of(nas, "next_look_ms");
		table_cell(&table, next.known && next.v < MS_SECOND ? "now" : out_span(next, cell));
		snprintf(cell, sizeof(cell), "%zu", json_array_size(out_list_of(nas, "arrays")));
		table_cell(&table, cell);
		table_note(&table, out_text_of(nas, "sensor_text"));
	}
	table_print(out, &table, "", buf);
}

/* A NAS's name as one segment of a path; one that no NAS can have (conf/settings.h) is a mistake.
 */
static bool nas_path(struct buf *path, const char *name, const char *what, struct err *err)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

	if (!*name || strspn(name, letters) != strlen(name))
		return err_set(
			err, ERR_INVALID, "'%s' is no NAS's name: see rebuildgate nas list", name);
	buf_addf(path, "/v1/nas/%s/%s", name, what);
	return true;
}

static int nas_list(const struct cli_verb *verb, int argc, char **argv)
{
	struct out out;
	int code;

	if (!cli_args(verb, argc, argv, NULL, 0, &out, &code))
		return code;
	return cli_ask_and_show(verb, &out, "GET", "/v1/nas", NULL, list_text, NULL);
}

static int nas_look(const struct cli_verb *verb, int argc, char **argv)
{
	struct buf path = {0};
	json_t *answer = NULL;
	struct err err = {0};
	struct out out;
	int code;

	if (!cli_args(verb, argc, argv, NULL, 0, &out, &code))
		return code;
	if (!nas_path(&path, argv[1], "look", &err))
		return cli_fail_err(verb->name, &err);
	code = cli_ask_and_show(verb, &out, "POST", buf_str(&path), NULL, show_nas, &answer);
	if (code == CLI_OK && strcmp(out_text_of(answer, "sensor"), "ok") != 0)
		code = CLI_FAILED;
	json_decref(answer);
	buf_release(&path);
	return code;
}

static int nas_forget(const struct cli_verb *verb, int argc, char **argv)
{
	struct buf path = {0};
	struct err err = {0};
	json_t *body;
	int code;

	if (!cli_args(verb, argc, argv, NULL, 0, NULL, &code))
		return code;
	if (!nas_path(&path, argv[1], "forget", &err))
		return cli_fail_err(verb->name, &err);
	body = json_object();
	if (!body || !json_put_text(body, "array", argv[2]))
		err_nomem(&err);
	else if (cli_call("POST", buf_str(&path), body, NULL, &err))
		printf("%s on %s is forgotten\n", argv[2], argv[1]);
	code = err.kind ? cli_fail_err(verb->name, &err) : CLI_OK;
	json_decref(body);
	buf_release(&path);
	return code;
}

int cli_nas(const struct cli_verb *verb, int argc, char **argv)
{
	static const struct cli_verb verbs[] = {
		{.name = "nas list",
			.run = nas_list,
			.forms = CLI_JSON,
			.summary = "each NAS: whether it is seen, and when it was read"},
		{.name = "nas look",
			.run = nas_look,
			.args = "NAME",
			.min = 1,
			.max = 1,
			.need = "name one NAS: rebuildgate nas look NAME",
			.forms = CLI_JSON,
			.summary = "look at it now; exit status 1 if it cannot be seen"},
		{.name = "nas trust",
			.run = cli_nas_trust,
			.args = "NAME",
			.min = 1,
			.max = 1,
			.need = "name one NAS: rebuildgate nas trust NAME",
			.summary = "show the host key that it offers, ask, and record it"},
		{.name = "nas authorized-key",
			.run = cli_nas_authorized_key,
			.args = "NAME",
			.min = 1,
			.max = 1,
			.need = "name one NAS: rebuildgate nas authorized-key NAME",
			.summary = "the line for its authorized_keys: our key may look, and "
				   "nothing else"},
		{.name = "nas levers-key",
			.run = cli_nas_levers_key,
			.args = "NAME",
			.min = 1,
			.max = 1,
			.need = "name one NAS: rebuildgate nas levers-key NAME",
			.summary = "the line for root's authorized_keys there: our second key may "
				   "move its levers"},
		{.name = "nas forget",
			.run = nas_forget,
			.args = "NAME ARRAY",
			.min = 2,
			.max = 2,
			.need = "name a NAS and one of its arrays: rebuildgate nas forget NAME "
				"ARRAY",
			.summary = "an array that was removed is absent no more"},
	};

	return cli_group(verb, verbs, CLI_COUNT(verbs), argc, argv);
}
