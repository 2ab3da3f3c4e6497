// SPDX-License-Identifier: MIT
/* `log`: the decisions, asked for in pages so that no query of a person ever delays a hook's
 * answer. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/show.h"

#define LOG_PAGE 500
#define LOG_LAST_DEFAULT 50

struct filter {
	const char *since, *until, *last;
	const char *storage, *nas, *node, *guest, *verdict, *rule, *ticket, *decision;
	bool follow;
};

/* Everything but the page: `ids` are numbers, checked here so that a typo is a sentence and not an
 * empty list. */
static bool filter_query(
	const struct filter *filter, const struct out *out, struct buf *path, struct err *err)
{
	const struct moment now = {.utc_ms = out->now_utc_ms, .utc_offset_s = out->utc_offset_s};
	const struct {
		const char *name, *value;
		enum { AS_TEXT, AS_NUMBER, AS_WHEN } as;
	} fields[] = {{"since", filter->since, AS_WHEN}, {"until", filter->until, AS_WHEN},
		{"storage", filter->storage, AS_TEXT}, {"nas", filter->nas, AS_TEXT},
		{"node", filter->node, AS_TEXT}, {"guest", filter->guest, AS_NUMBER},
		{"verdict", filter->verdict, AS_TEXT}, {"rule", filter->rule, AS_TEXT},
		{"ticket", filter->ticket, AS_NUMBER}, {"decision", filter->decision, AS_NUMBER}};
	const char *text;
	uint64_t number;
	int64_t when;
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		text = fields[i].value;
		if (!text)
			continue;
		switch (fields[i].as) {
		case AS_TEXT:
			cli_query(path, fields[i].name, text);
			break;
		case AS_NUMBER:
			if ((*text == 'T' || *text == 't') && strcmp(fields[i].name, "ticket") == 0)
				text++;
			if (!u64_parse(text, 1, INT64_MAX, &number, err))
				return err_prefix(err, "--%s", fields[i].name);
			cli_query_int(path, fields[i].name, (int64_t)number);
			break;
		case AS_WHEN:
			if (!when_parse(text, &now, &when, err))
				return err_prefix(err, "--%s", fields[i].name);
			cli_query_int(path, fields[i].name, when);
			break;
		}
	}
	return true;
}

static void csv_cell(struct buf *buf, const char *text, bool last)
{
	const char *p;

	if (strpbrk(text, ",\"\r\n")) {
		buf_addc(buf, '"');
		for (p = text; *p; p++)
			buf_addf(buf, *p == '"' ? "\"\"" : "%c", *p);
		buf_addc(buf, '"');
	} else {
		buf_adds(buf, text);
	}
	buf_addc(buf, last ? '\n' : ',');
}

static const char *const csv_texts[] = {"client", "phase", "storage", "node", "nas", "array",
	"mode", "verdict", "would_be", "act", "rule"};
static const char *const csv_numbers[] = {"ticket", "guest", "step", "held_ms", "override"};

static void csv_header(struct buf *buf)
{
	size_t i;

	buf_adds(buf, "id,time,");
	for (i = 0; i < sizeof(csv_texts) / sizeof(csv_texts[0]); i++)
		csv_cell(buf, csv_texts[i], false);
	for (i = 0; i < sizeof(csv_numbers) / sizeof(csv_numbers[0]); i++)
		csv_cell(buf, csv_numbers[i], false);
	buf_adds(buf, "override_by,override_reason,policy_hash,reason\n");
}

static void csv_row(const json_t *row, struct buf *buf)
{
	char text[UNITS_TEXT_MAX];
	struct opt number;
	size_t i;

	buf_addf(buf, "%lld,%s,", (long long)out_int_of(row, "id").v,
		when_rfc3339(out_int_of(row, "time_utc_ms").v, text));
	for (i = 0; i < sizeof(csv_texts) / sizeof(csv_texts[0]); i++)
		csv_cell(buf, out_text_of(row, csv_texts[i]), false);
	for (i = 0; i < sizeof(csv_numbers) / sizeof(csv_numbers[0]); i++) {
		number = out_int_of(row, csv_numbers[i]);
		if (number.known)
			buf_addf(buf, "%lld", (long long)number.v);
		buf_addc(buf, ',');
	}
	csv_cell(buf, out_text_of(row, "override_by"), false);
	csv_cell(buf, out_text_of(row, "override_reason"), false);
	csv_cell(buf, out_text_of(row, "policy_hash"), false);
	csv_cell(buf, show_first_reason(row), true);
}

/* One line for a decision: what journalctl's readers expect, newest last. */
static void text_row(const struct out *out, const json_t *row, struct buf *buf)
{
	struct opt guest = out_int_of(row, "guest"), ticket = out_int_of(row, "ticket");
	const char *verdict = out_text_of(row, "verdict"), *act = out_text_of(row, "act");
	const char *would_be = out_text_of(row, "would_be");
	char when[UNITS_TEXT_MAX];

	buf_addf(buf, "%s  #%lld", out_when(out, out_int_of(row, "time_utc_ms"), when),
		(long long)out_int_of(row, "id").v);
	if (ticket.known && ticket.v)
		buf_addf(buf, " T%lld", (long long)ticket.v);
	buf_addf(buf, "  %s %s %s", out_text_of(row, "node"), out_text_of(row, "client"),
		out_text_of(row, "storage"));
	if (strcmp(out_text_of(row, "phase"), "job-init") != 0)
		buf_addf(buf, " %s", out_text_of(row, "phase"));
	if (guest.known && guest.v)
		buf_addf(buf, " guest %lld", (long long)guest.v);
	buf_addf(buf, ": %s", verdict);
	if (strcmp(act, verdict) != 0)
		buf_addf(buf, " (acts as %s)", act);
	if (strcmp(would_be, verdict) != 0)
		buf_addf(buf, " (would be %s)", would_be);
	buf_addf(buf, ", %s\n", show_first_reason(row));
}

struct sink {
	struct out out;
	json_t *all; /* json formats without --follow: one list */
	bool wrote_header;
};

/* Takes the rows of a page in ascending order. */
static bool sink_rows(
	struct sink *sink, const json_t *rows, bool newest_first, bool follow, struct err *err)
{
	size_t i, n = json_array_size(rows);
	struct buf buf = {0};
	const json_t *row;
	char *line;
	bool done;

	for (i = 0; i < n; i++) {
		row = json_array_get(rows, newest_first ? n - 1 - i : i);
		if (sink->out.format == OUT_CSV) {
			if (!sink->wrote_header && sink->out.header)
				csv_header(&buf);
			sink->wrote_header = true;
			csv_row(row, &buf);
		} else if (sink->out.format == OUT_TEXT) {
			text_row(&sink->out, row, &buf);
		} else if (follow) {
			/* One object for each line, whichever JSON was asked for: a stream has no
			 * end to indent. */
			line = json_text(row, 0);
			buf_adds(&buf, line ? line : "");
			buf_addc(&buf, '\n');
			free(line);
		}
	}
	done = out_flush(&buf, err);
	buf_release(&buf);
	return done;
}

/* Collects the pages newest first into one list, at most `wanted` rows (0 = all that match). */
static bool collect(const struct filter *filter, const struct out *out, uint64_t wanted,
	json_t *list, struct err *err)
{
	struct opt before = OPT_NONE;
	struct buf path = {0};
	json_t *page = NULL;
	uint64_t left, limit;
	bool done = false;
	size_t i, n;

	for (;;) {
		left = wanted ? wanted - json_array_size(list) : LOG_PAGE;
		limit = left < LOG_PAGE ? left : LOG_PAGE;
		buf_clear(&path);
		buf_adds(&path, "/v1/log");
		if (!filter_query(filter, out, &path, err))
			goto out;
		cli_query_int(&path, "limit", (int64_t)limit);
		if (before.known)
			cli_query_int(&path, "before", before.v);
		if (!cli_call("GET", buf_str(&path), NULL, &page, err))
			goto out;
		n = json_array_size(out_list_of(page, "decisions"));
		for (i = 0; i < n; i++)
			json_array_append(list, json_array_get(out_list_of(page, "decisions"), i));
		before = out_int_of(page, "next");
		json_decref(page);
		page = NULL;
		if (!before.known || (wanted && json_array_size(list) >= wanted))
			break;
	}
	done = true;
out:
	json_decref(page);
	buf_release(&path);
	return done;
}

static bool follow(const struct filter *filter, struct sink *sink, int64_t after, struct err *err)
{
	struct filter rest = *filter;
	struct buf path = {0};
	json_t *page = NULL;
	const json_t *rows;
	bool done = false;
	size_t n;

	rest.since = NULL;
	for (;;) {
		buf_clear(&path);
		buf_adds(&path, "/v1/log");
		if (!filter_query(&rest, &sink->out, &path, err))
			goto out;
		cli_query_int(&path, "after", after);
		cli_query_int(&path, "limit", LOG_PAGE);
		if (!cli_call("GET", buf_str(&path), NULL, &page, err))
			goto out;
		rows = out_list_of(page, "decisions");
		n = json_array_size(rows);
		if (n)
			after = out_int_of(json_array_get(rows, n - 1), "id").v;
		if (!sink_rows(sink, rows, false, true, err))
			goto out;
		json_decref(page);
		page = NULL;
		if (n < LOG_PAGE)
			poll(NULL, 0, 1000);
	}
out:
	json_decref(page);
	buf_release(&path);
	return done;
}

static bool log_show(const struct filter *filter, struct sink *sink, struct err *err)
{
	uint64_t wanted = filter->since || filter->until || filter->decision ? 0 : LOG_LAST_DEFAULT;
	json_t *list = json_array();
	struct buf buf = {0};
	bool done = false;
	int64_t newest;
	char *text;

	if (!list) {
		err_nomem(err);
		goto out;
	}
	if (filter->last && !u64_parse(filter->last, 1, 1000000, &wanted, err)) {
		err_prefix(err, "--last");
		goto out;
	}
	if (!collect(filter, &sink->out, wanted, list, err))
		goto out;
	if (sink->out.format == OUT_TEXT || sink->out.format == OUT_CSV || filter->follow) {
		if (!sink_rows(sink, list, true, filter->follow, err))
			goto out;
	} else {
		text = json_text(list, sink->out.format == OUT_JSON_PRETTY ? 3 : 0);
		buf_adds(&buf, text ? text : "");
		buf_addc(&buf, '\n');
		free(text);
		if (!out_flush(&buf, err))
			goto out;
	}
	newest = out_int_of(json_array_get(list, 0), "id").v;
	done = !filter->follow || follow(filter, sink, newest, err);
out:
	buf_release(&buf);
	json_decref(list);
	return done;
}

int cli_log(int argc, char **argv)
{
	struct filter f = {0};
	const struct cli_option options[] = {{"--since", &f.since, NULL},
		{"--until", &f.until, NULL}, {"--last", &f.last, NULL}, {"-n", &f.last, NULL},
		{"--storage", &f.storage, NULL}, {"--nas", &f.nas, NULL}, {"--node", &f.node, NULL},
		{"--guest", &f.guest, NULL}, {"--verdict", &f.verdict, NULL},
		{"--rule", &f.rule, NULL}, {"--ticket", &f.ticket, NULL},
		{"--decision", &f.decision, NULL}, {"--follow", NULL, &f.follow},
		{"-f", NULL, &f.follow}};
	struct sink sink = {0};
	struct err err;
	int n;

	if (argc > 1 && strcmp(argv[1], "stats") == 0)
		return cli_log_stats(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "verify") == 0)
		return cli_log_verify(argc - 1, argv + 1);
	out_init(&sink.out);
	if (!cli_options(argc, argv, options, sizeof(options) / sizeof(options[0]), &sink.out, true,
		    &n, &err))
		return cli_fail_err("log", &err);
	if (n > 0)
		return cli_fail("log", CLI_USAGE,
			"it takes options only, or one of: log stats, log verify");
	return log_show(&f, &sink, &err) ? CLI_OK : cli_fail_err("log", &err);
}
