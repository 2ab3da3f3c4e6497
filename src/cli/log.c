// SPDX-License-Identifier: MIT
/* `log`: the decisions, oldest first in every form, asked for in pages so that no query of a person
 * ever delays a hook's answer. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/record.h"
#include "cli/show.h"

#define LOG_LAST_DEFAULT 50
#define LOG_LAST_MAX 1000000

struct texts {
	const char *since, *until, *last, *verdict, *guest, *ticket, *decision;
	const char *storage, *nas, *node, *rule;
};

static bool when_read(
	const char *name, const char *text, const struct out *out, struct opt *ret, struct err *err)
{
	const struct moment now = {.utc_ms = out->now_utc_ms, .utc_offset_s = out->utc_offset_s};

	if (!text)
		return true;
	if (!when_parse(text, &now, &ret->v, err))
		return err_prefix(err, "%s", name);
	ret->known = true;
	return true;
}

/* `letter` may stand before the number, as we show it: T17, #4711. */
static bool id_read(const char *name, const char *text, char letter, int64_t *ret, struct err *err)
{
	uint64_t number;

	if (!text)
		return true;
	if (letter && (*text == letter || *text == (letter | 0x20)))
		text++;
	if (!u64_parse(text, 1, INT64_MAX, &number, err))
		return err_prefix(err, "%s", name);
	*ret = (int64_t)number;
	return true;
}

/* Checked here, so that a typo is a sentence and not an empty list. */
static bool filter_read(const struct texts *texts, const struct out *out, struct store_filter *ret,
	uint64_t *ret_wanted, bool *ret_bounded, struct err *err)
{
	ret->storage = texts->storage;
	ret->nas = texts->nas;
	ret->node = texts->node;
	ret->rule = texts->rule;
	if (texts->verdict && !(ret->verdict = verdict_parse(texts->verdict)))
		return err_set(err, ERR_INVALID,
			"--verdict is one of allow, throttle, hold, deny, not '%s'",
			texts->verdict);
	*ret_wanted = LOG_LAST_DEFAULT;
	*ret_bounded = texts->last || (!texts->since && !texts->until && !texts->decision);
	if (texts->last && !u64_parse(texts->last, 0, LOG_LAST_MAX, ret_wanted, err))
		return err_prefix(err, "--last");
	return when_read("--since", texts->since, out, &ret->since_utc_ms, err) &&
		when_read("--until", texts->until, out, &ret->until_utc_ms, err) &&
		id_read("--guest", texts->guest, '\0', &ret->guest, err) &&
		id_read("--ticket", texts->ticket, 'T', &ret->ticket, err) &&
		id_read("--decision", texts->decision, '#', &ret->decision, err);
}

/* ---- forms ---- */

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
	bool stream; /* --follow: JSON is one object for each line, for a stream has no end */
	bool begun;
};

/* One row of a JSON list, indented as the list would be. */
static void json_row(const struct sink *sink, const json_t *row, struct buf *buf)
{
	bool pretty = sink->out.format == OUT_JSON_PRETTY && !sink->stream;
	char *text = json_text(row, pretty ? 3 : 0);
	const char *p;

	if (!text)
		buf->failed = true;
	if (sink->begun && !sink->stream)
		buf_addc(buf, ',');
	if (pretty)
		buf_adds(buf, "\n   ");
	for (p = text ? text : ""; *p; p++) {
		buf_addc(buf, *p);
		if (*p == '\n')
			buf_adds(buf, "   ");
	}
	if (sink->stream)
		buf_addc(buf, '\n');
	free(text);
}

static void sink_begin(const struct sink *sink, struct buf *buf)
{
	if (sink->out.format == OUT_CSV && sink->out.header)
		csv_header(buf);
	else if (sink->out.format != OUT_CSV && sink->out.format != OUT_TEXT && !sink->stream)
		buf_addc(buf, '[');
}

static bool sink_row(struct sink *sink, const json_t *row, struct buf *buf, struct err *err)
{
	json_t *plain = NULL;

	if (sink->out.format == OUT_CSV)
		csv_row(row, buf);
	else if (sink->out.format == OUT_TEXT && (plain = out_plain(row)))
		text_row(&sink->out, plain, buf);
	else if (sink->out.format == OUT_TEXT)
		return err_nomem(err);
	else
		json_row(sink, row, buf);
	json_decref(plain);
	sink->begun = true;
	return buf->len < 65536 || out_flush(buf, err);
}

static void sink_end(const struct sink *sink, struct buf *buf)
{
	if (sink->stream || sink->out.format == OUT_CSV || sink->out.format == OUT_TEXT)
		return;
	buf_adds(buf, sink->begun && sink->out.format == OUT_JSON_PRETTY ? "\n]\n" : "]\n");
}

/* ---- pages ---- */

struct reading {
	struct record record;
	struct store_filter filter;
	struct sink sink;
	struct buf buf;
};

/* All that matches and comes after `filter.after`, in order; *ret_more unless the end was met. */
static bool ascending_page(struct reading *reading, bool *ret_more, struct err *err)
{
	struct store_filter *filter = &reading->filter;
	json_t *page = NULL;
	const json_t *rows;
	struct opt next;
	size_t i, n;
	bool done = true;

	filter->limit = STORE_PAGE_MAX;
	if (!record_log(&reading->record, filter, &page, err))
		return false;
	rows = out_list_of(page, "decisions");
	n = json_array_size(rows);
	for (i = 0; done && i < n; i++)
		done = sink_row(&reading->sink, json_array_get(rows, i), &reading->buf, err);
	next = out_int_of(page, "next");
	*ret_more = next.known;
	if (next.known)
		filter->after = next;
	else if (n)
		filter->after = out_int_of(json_array_get(rows, n - 1), "id");
	json_decref(page);
	return done && out_flush(&reading->buf, err);
}

static bool show_all(struct reading *reading, struct err *err)
{
	bool more = true;

	reading->filter.after = OPT(0);
	while (more) {
		if (!ascending_page(reading, &more, err))
			return false;
	}
	return true;
}

/* The newest `wanted` that match: pages from the newest, shown the other way round. */
static bool show_last(struct reading *reading, uint64_t wanted, struct err *err)
{
	json_t *list = json_array(), *page = NULL;
	struct opt before = OPT(reading->filter.before);
	bool done = list || err_nomem(err);
	size_t i;

	while (done && before.known && json_array_size(list) < wanted) {
		reading->filter.limit = wanted - json_array_size(list);
		reading->filter.before = before.v;
		done = record_log(&reading->record, &reading->filter, &page, err);
		if (!done)
			break;
		for (i = 0; i < json_array_size(out_list_of(page, "decisions")); i++)
			json_array_append(list, json_array_get(out_list_of(page, "decisions"), i));
		before = out_int_of(page, "next");
		json_decref(page);
		page = NULL;
	}
	for (i = json_array_size(list); done && i > 0; i--)
		done = sink_row(&reading->sink, json_array_get(list, i - 1), &reading->buf, err);
	json_decref(list);
	reading->filter.before = 0;
	return done;
}

/* The newest decision there is, of whatever sort: what comes after it is new. */
static bool newest(struct reading *reading, struct opt *ret, struct err *err)
{
	const struct store_filter all = {.limit = 1};
	json_t *page = NULL;

	if (!record_log(&reading->record, &all, &page, err))
		return false;
	*ret = OPT(out_int_of(json_array_get(out_list_of(page, "decisions"), 0), "id").v);
	json_decref(page);
	return true;
}

static bool follow(struct reading *reading, struct err *err)
{
	bool more = false;

	for (;;) {
		if (!ascending_page(reading, &more, err))
			return false;
		if (!more)
			poll(NULL, 0, 1000);
	}
}

/* `wanted`: the newest so many; unless `bounded`, all. */
static bool show(struct reading *reading, uint64_t wanted, bool bounded, struct err *err)
{
	struct opt before_us = OPT_NONE;

	/* Asked first: what is decided while we show is followed, and shown once. */
	if (reading->sink.stream && bounded && !newest(reading, &before_us, err))
		return false;
	sink_begin(&reading->sink, &reading->buf);
	if (bounded && before_us.known)
		reading->filter.before = before_us.v + 1;
	if (!(bounded ? show_last(reading, wanted, err) : show_all(reading, err)))
		return false;
	sink_end(&reading->sink, &reading->buf);
	if (!out_flush(&reading->buf, err))
		return false;
	if (!reading->sink.stream)
		return true;
	if (bounded)
		reading->filter.after = before_us;
	return follow(reading, err);
}

static const struct cli_verb below[] = {
	{.name = "log stats",
		.run = cli_log_stats,
		.forms = CLI_JSON,
		.summary = "counts by verdict, rule, NAS and storage, and the time held"},
	{.name = "log verify",
		.run = cli_log_verify,
		.forms = CLI_JSON,
		.summary = "the proof that no recorded decision was altered or taken out"},
};

int cli_log(const struct cli_verb *verb, int argc, char **argv)
{
	struct cli_verb self = *verb;
	struct texts t = {0};
	struct reading reading = {.record.verb = verb->name};
	const struct cli_option options[] = {
		{"--since", "TIME", "not before; \"yesterday\", \"-2h\", \"2026-11-30 21:00\"",
			&t.since, NULL},
		{"--until", "TIME", "before", &t.until, NULL},
		{"--last", "N", "the newest N (without --since and --until: 50)", &t.last, NULL},
		{"-n", "N", NULL, &t.last, NULL},
		{"--storage", "STORAGE", "of this storage", &t.storage, NULL},
		{"--nas", "NAS", "of this NAS", &t.nas, NULL},
		{"--node", "NODE", "of this Proxmox node", &t.node, NULL},
		{"--guest", "ID", "of this guest", &t.guest, NULL},
		{"--verdict", "VERDICT", "allow, throttle, hold or deny", &t.verdict, NULL},
		{"--rule", "RULE", "by this rule of the policy", &t.rule, NULL},
		{"--ticket", "TICKET", "of this job", &t.ticket, NULL},
		{"--decision", "ID", "this one", &t.decision, NULL},
		{"--follow", NULL, "go on with what is decided from now on", NULL,
			&reading.sink.stream},
		{"-f", NULL, NULL, NULL, &reading.sink.stream},
		CLI_OPTION_DATABASE(&reading.record.database),
		CLI_OPTION_CONFIG(&reading.record.config),
	};
	struct err err = {0};
	uint64_t wanted;
	bool bounded;
	int code;

	self.verbs = below;
	self.n_verbs = CLI_COUNT(below);
	if (cli_below(&self, argc, argv, &code) ||
		!cli_args(&self, argc, argv, options, CLI_COUNT(options), &reading.sink.out, &code))
		return code;
	if (!filter_read(&t, &reading.sink.out, &reading.filter, &wanted, &bounded, &err) ||
		!show(&reading, wanted, bounded, &err))
		code = cli_fail_err(verb->name, &err);
	else
		code = CLI_OK;
	record_close(&reading.record);
	buf_release(&reading.buf);
	return code;
}
