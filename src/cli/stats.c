// SPDX-License-Identifier: MIT
/* `log stats`: how often what was decided, and how long it was held. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/record.h"
#include "cli/show.h"

#define NAMES_MAX 1024

struct count {
	const char *name;
	json_int_t n;
};

/* Most first, then by name. */
static int by_count(const void *a, const void *b)
{
	const struct count *one = a, *other = b;

	if (one->n != other->n)
		return one->n < other->n ? 1 : -1;
	return strcmp(one->name, other->name);
}

static void counts_text(const char *by, const char *none, const json_t *counts, struct buf *buf)
{
	struct count list[NAMES_MAX];
	size_t n = 0, i;
	const char *name;
	json_t *value;

	if (!json_object_size(counts))
		return;
	buf_addf(buf, "by %s\n", by);
	json_object_foreach((json_t *)(uintptr_t)counts, name, value)
	{
		if (n < NAMES_MAX)
			list[n++] = (struct count){name, json_integer_value(value)};
	}
	qsort(list, n, sizeof(list[0]), by_count);
	for (i = 0; i < n; i++)
		buf_addf(buf, "  %8lld  %s\n", (long long)list[i].n,
			*list[i].name ? list[i].name : none);
	if (json_object_size(counts) > n)
		buf_addf(buf, "  and %zu more\n", json_object_size(counts) - n);
}

static void stats_text(const struct out *out, const json_t *stats, struct buf *buf)
{
	char from[UNITS_TEXT_MAX], to[UNITS_TEXT_MAX];
	struct opt holds = out_int_of(stats, "holds");

	out_count(buf, out_int_of(stats, "decisions").v, "decision");
	buf_addf(buf, " from %s to %s (whole hours)\n",
		out_until(out, out_int_of(stats, "since_utc_ms"), from),
		out_until(out, out_int_of(stats, "until_utc_ms"), to));
	counts_text("verdict", "none", json_object_get(stats, "verdicts"), buf);
	counts_text("rule", "no rule", json_object_get(stats, "rules"), buf);
	counts_text("NAS", "no NAS", json_object_get(stats, "nas"), buf);
	counts_text("storage", "no storage", json_object_get(stats, "storages"), buf);
	out_count(buf, holds.v, "hold");
	buf_adds(buf, " ended in that time");
	if (holds.v)
		buf_addf(buf, ", %s in all, the longest %s",
			out_span(out_int_of(stats, "held_ms"), from),
			out_span(out_int_of(stats, "longest_ms"), to));
	buf_addc(buf, '\n');
}

int cli_log_stats(const struct cli_verb *verb, int argc, char **argv)
{
	const char *since = "-7d", *until = "now";
	struct record record = {.verb = verb->name};
	const struct cli_option options[] = {
		{"--since", "TIME", "from here (a week ago)", &since, NULL},
		{"--until", "TIME", "to here (now)", &until, NULL},
		CLI_OPTION_DATABASE(&record.database), CLI_OPTION_CONFIG(&record.config)};
	struct moment now = {0};
	struct err err = {0};
	struct out out;
	json_t *stats = NULL;
	int64_t from = 0, to = 0;
	int code;

	if (!cli_args(verb, argc, argv, options, CLI_COUNT(options), &out, &code))
		return code;
	now.utc_ms = out.now_utc_ms;
	now.utc_offset_s = out.utc_offset_s;
	code = CLI_OK;
	if (!when_parse(since, &now, &from, &err))
		err_prefix(&err, "--since");
	else if (!when_parse(until, &now, &to, &err))
		err_prefix(&err, "--until");
	else if (to < from)
		err_set(&err, ERR_INVALID, "--until lies before --since");
	if (err.kind || !record_stats(&record, from, to, &stats, &err) ||
		!out_show(&out, stats, stats_text, &err))
		code = cli_fail_err(verb->name, &err);
	json_decref(stats);
	record_close(&record);
	return code;
}
