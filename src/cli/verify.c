// SPDX-License-Identifier: MIT
/* `log verify`: the proof that no decision was altered, read from the database itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/record.h"
#include "store/store.h"

static bool show_progress(void *data, int64_t done, int64_t total)
{
	const bool *terminal = data;

	if (*terminal && done % 10000 == 0)
		fprintf(stderr, "\r%lld of %lld decisions", (long long)done, (long long)total);
	return true;
}

static json_t *findings_json(const struct store_report *report)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; list && i < report->n_findings; i++) {
		const struct store_finding *finding = &report->findings[i];
		json_t *entry = json_object();

		if (!entry || !json_put_text(entry, "fault", store_fault_word(finding->fault)) ||
			!json_put_opt(entry, "id", finding->id ? OPT(finding->id) : OPT_NONE) ||
			!json_put_text(entry, "text", finding->text)) {
			json_decref(entry);
			json_decref(list);
			return NULL;
		}
		if (json_array_append_new(list, entry) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *report_json(
	const char *database, const char *anchor, const struct store_report *report)
{
	json_t *object = json_object();

	if (object && json_put_text(object, "database", database) &&
		json_put_bool(object, "ok", !report->faults) &&
		json_put_int(object, "decisions", report->decisions) &&
		json_put_int(object, "segments", report->segments) &&
		json_put_int(object, "pruned", report->pruned) &&
		json_put_int(object, "policies", report->policies) &&
		json_put_int(object, "unused", report->unused) &&
		json_put_int(object, "head_id", report->head.id) &&
		json_put_text(object, "head", report->head.hash) &&
		json_put_text(object, "anchor", anchor) &&
		json_put_opt(object, "anchor_id",
			report->anchor_id ? OPT(report->anchor_id) : OPT_NONE) &&
		json_put_int(object, "faults", report->faults) &&
		json_put(object, "findings", findings_json(report)))
		return object;
	json_decref(object);
	return NULL;
}

static void findings_text(const json_t *value, struct buf *buf)
{
	const json_t *list = out_list_of(value, "findings");
	struct opt faults = out_int_of(value, "faults");
	size_t i, n = json_array_size(list);

	buf_adds(buf, "NOT intact: ");
	out_count(buf, faults.v, "fault");
	buf_addc(buf, '\n');
	for (i = 0; i < n; i++)
		buf_addf(buf, "  %s\n", out_text_of(json_array_get(list, i), "text"));
	if (faults.v > (int64_t)n)
		buf_addf(buf, "  and %lld more\n", (long long)faults.v - (long long)n);
}

static void report_text(const struct out *out, const json_t *value, struct buf *buf)
{
	struct opt pruned = out_int_of(value, "pruned"), unused = out_int_of(value, "unused");
	struct opt anchor = out_int_of(value, "anchor_id");

	(void)out;
	if (out_int_of(value, "faults").v)
		findings_text(value, buf);
	else {
		buf_adds(buf, "intact: ");
		out_count(buf, out_int_of(value, "decisions").v, "decision");
		buf_addc(buf, '\n');
	}
	if (pruned.v) {
		out_count(buf, pruned.v, "older decision");
		buf_adds(buf, " let go by retention, in ");
		out_count(buf, out_int_of(value, "segments").v, "closed segment");
		buf_addc(buf, '\n');
	}
	if (unused.v) {
		out_count(buf, unused.v, "id");
		buf_adds(buf,
			" without a row: what was answered under them, if anything, "
			"stands in the journal\n");
	}
	if (anchor.known)
		buf_addf(buf, "the head that was given is that of decision %lld\n",
			(long long)anchor.v);
	buf_addf(buf, "database %s\n", out_text_of(value, "database"));
	buf_addf(buf, "head %s (decision %lld)\n", out_text_of(value, "head"),
		(long long)out_int_of(value, "head_id").v);
}

static bool is_hash(const char *text)
{
	return strlen(text) == STORE_HASH_TEXT - 1 &&
		strspn(text, "0123456789abcdefABCDEF") == STORE_HASH_TEXT - 1;
}

/* Reads and verifies `database`, or what the configuration names; ret_path is which. */
static bool verify(const char *database, const char *config, const char *anchor, char *ret_path,
	struct store_report *report, struct err *err)
{
	bool terminal = isatty(STDERR_FILENO);
	struct store *store = NULL;
	bool good;

	if (!record_open(database, config, ret_path, &store, err))
		return false;
	good = store_verify(store, anchor, show_progress, &terminal, report, err);
	if (terminal && report->decisions >= 10000)
		fputs("\r\033[K", stderr);
	store_close(store);
	return good;
}

int cli_log_verify(const struct cli_verb *verb, int argc, char **argv)
{
	const char *database = NULL, *config = NULL, *anchor = NULL;
	const struct cli_option options[] = {
		{"--head", "HASH", "a head that was kept elsewhere: it must be in the chain",
			&anchor, NULL},
		{"--database", "FILE", "this database, not the one that the configuration names",
			&database, NULL},
		CLI_OPTION_CONFIG(&config)};
	struct store_report *report;
	char path[SETTINGS_PATH_MAX];
	struct err err = {0};
	struct out out;
	json_t *value;
	int code;

	if (!cli_args(verb, argc, argv, options, CLI_COUNT(options), &out, &code))
		return code;
	if (anchor && !is_hash(anchor))
		return cli_fail(
			verb->name, CLI_USAGE, "--head takes the 64 hexadecimal digits of a head");
	report = malloc(sizeof(*report));
	if (!report)
		err_nomem(&err);
	if (!report || !verify(database, config, anchor, path, report, &err)) {
		code = cli_fail_err(verb->name, &err);
	} else {
		value = report_json(path, anchor, report);
		if (!value)
			err_nomem(&err);
		if (!value || !out_show(&out, value, report_text, &err))
			code = cli_fail_err(verb->name, &err);
		else
			code = report->faults ? CLI_FAILED : CLI_OK;
		json_decref(value);
	}
	free(report);
	return code;
}
