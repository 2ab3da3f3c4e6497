// SPDX-License-Identifier: MIT
/* `nas list|look|forget`, and the way to `nas trust`. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/trust.h"

static void list_text(const struct out *out, const json_t *answer, struct buf *buf)
{
	static const char *const names[] = {"NAS", "SENSOR", "READ", "NEXT LOOK", "ARRAYS", "WHY"};
	const json_t *list = out_list_of(answer, "nas");
	char cell[UNITS_TEXT_MAX];
	struct table table;
	struct opt age;
	size_t i;

	table_start(&table, sizeof(names) / sizeof(names[0]), names);
	for (i = 0; i < json_array_size(list); i++) {
		const json_t *nas = json_array_get(list, i);

		table_cell(&table, out_text_of(nas, "name"));
		table_cell(&table, out_text_of(nas, "sensor"));
		age = out_int_of(nas, "age_ms");
		if (age.known) {
			char span[UNITS_TEXT_MAX];

			snprintf(cell, sizeof(cell), "%.40s ago", out_span(age, span));
		}
		table_cell(&table, age.known ? cell : "never");
		table_cell(&table, out_span(out_int_of(nas, "next_look_ms"), cell));
		snprintf(cell, sizeof(cell), "%zu", json_array_size(out_list_of(nas, "arrays")));
		table_cell(&table, cell);
		table_cell(&table, out_text_of(nas, "sensor_text"));
	}
	table_print(out, &table, "", buf);
}

static void look_text(const struct out *out, const json_t *nas, struct buf *buf)
{
	const json_t *arrays = out_list_of(nas, "arrays");
	size_t i;

	(void)out;
	buf_addf(buf, "%s: %s", out_text_of(nas, "name"), out_text_of(nas, "sensor"));
	if (*out_text_of(nas, "sensor_text"))
		buf_addf(buf, ", %s", out_text_of(nas, "sensor_text"));
	buf_addc(buf, '\n');
	for (i = 0; i < json_array_size(arrays); i++) {
		const json_t *array = json_array_get(arrays, i);

		buf_addf(buf, "  %s: %s, %s\n", out_text_of(array, "name"),
			out_text_of(array, "health"), out_text_of(array, "operation"));
	}
}

/* A NAS's name as one segment of a path. */
static void nas_path(struct buf *path, const char *name, const char *what)
{
	struct buf query = {0};

	cli_query(&query, "n", name);
	buf_addf(path, "/v1/nas/%s/%s", buf_str(&query) + strlen("?n="), what);
	buf_release(&query);
}

static int nas_list(int argc, char **argv)
{
	json_t *answer = NULL;
	struct err err;
	struct out out;
	int n, code = CLI_OK;

	out_init(&out);
	if (!cli_options(argc, argv, NULL, 0, &out, false, &n, &err) ||
		!cli_call("GET", "/v1/nas", NULL, &answer, &err) ||
		!out_show(&out, answer, list_text, &err))
		code = cli_fail_err("nas", &err);
	json_decref(answer);
	return code;
}

static int nas_look(int argc, char **argv)
{
	struct buf path = {0};
	json_t *answer = NULL;
	struct err err;
	struct out out;
	int n, code = CLI_OK;

	out_init(&out);
	if (!cli_options(argc, argv, NULL, 0, &out, false, &n, &err)) {
		code = cli_fail_err("nas", &err);
		goto out;
	}
	if (n != 1) {
		code = cli_fail("nas", CLI_USAGE, "name one NAS: rebuildgate nas look NAME");
		goto out;
	}
	nas_path(&path, argv[1], "look");
	if (!cli_call("POST", buf_str(&path), NULL, &answer, &err) ||
		!out_show(&out, answer, look_text, &err))
		code = cli_fail_err("nas", &err);
	else if (strcmp(out_text_of(answer, "sensor"), "ok") != 0)
		code = CLI_FAILED;
out:
	json_decref(answer);
	buf_release(&path);
	return code;
}

static int nas_forget(int argc, char **argv)
{
	json_t *body = json_object();
	struct buf path = {0};
	struct err err;
	int n, code = CLI_OK;

	if (!cli_options(argc, argv, NULL, 0, NULL, false, &n, &err)) {
		code = cli_fail_err("nas", &err);
		goto out;
	}
	if (n != 2) {
		code = cli_fail("nas", CLI_USAGE,
			"name a NAS and one of its arrays: rebuildgate nas forget NAS ARRAY");
		goto out;
	}
	nas_path(&path, argv[1], "forget");
	if (!body || !json_put_text(body, "array", argv[2])) {
		err_nomem(&err);
		code = cli_fail_err("nas", &err);
	} else if (!cli_call("POST", buf_str(&path), body, NULL, &err)) {
		code = cli_fail_err("nas", &err);
	} else {
		printf("%s on %s is forgotten\n", argv[2], argv[1]);
	}
out:
	json_decref(body);
	buf_release(&path);
	return code;
}

int cli_nas(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} verbs[] = {{"list", nas_list}, {"look", nas_look}, {"trust", cli_nas_trust},
		{"authorized-key", cli_nas_authorized_key}, {"forget", nas_forget}};
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].run(argc - 1, argv + 1);
	}
	return cli_fail("nas", CLI_USAGE,
		"say one of list, look NAME, authorized-key NAME, trust NAME, forget NAME ARRAY");
}
