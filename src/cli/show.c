// SPDX-License-Identifier: MIT
#include "cli/show.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

const char *show_first_reason(const json_t *answer)
{
	return out_text_of(json_array_get(out_list_of(answer, "reasons"), 0), "text");
}

void show_reasons(const json_t *answer, const char *indent, struct buf *buf)
{
	const json_t *list = out_list_of(answer, "reasons");
	size_t i;

	for (i = 0; i < json_array_size(list); i++)
		buf_addf(buf, "%s%s\n", indent, out_text_of(json_array_get(list, i), "text"));
}

void show_then(const json_t *answer, struct buf *buf)
{
	const char *then = out_text_of(answer, "then"), *then_act = out_text_of(answer, "then_act");

	if (*then)
		buf_addf(buf, ", then %s", then);
	if (*then_act && strcmp(then, then_act) != 0)
		buf_addf(buf, ", which acts as %s: no lever is set up", then_act);
}

void show_hold_end(const struct out *out, const json_t *answer, struct buf *buf)
{
	struct opt ends = out_int_of(answer, "ends_in_ms");
	char at[UNITS_TEXT_MAX], in[UNITS_TEXT_MAX];

	if (!ends.known || strcmp(out_text_of(answer, "act"), "hold") != 0)
		return;
	buf_addf(buf, "ends by itself at %s (in %s)",
		out_until(out, OPT(out->now_utc_ms + ends.v), at), out_span(ends, in));
	show_then(answer, buf);
}

void show_verdict(const json_t *answer, struct buf *buf)
{
	const char *act = out_text_of(answer, "act"), *verdict = out_text_of(answer, "verdict");
	const char *would_be = out_text_of(answer, "would_be"), *rule = out_text_of(answer, "rule");

	buf_adds(buf, verdict);
	if (*act && strcmp(act, verdict) != 0)
		buf_addf(buf, " (acts as %s)", act);
	if (*would_be && strcmp(would_be, verdict) != 0)
		buf_addf(buf, " (observed only: would be %s)", would_be);
	if (*rule)
		buf_addf(buf, ", rule '%s'", rule);
	if (out_int_of(answer, "step").known)
		buf_addf(buf, ", step %d", (int)out_int_of(answer, "step").v);
}

void show_answer(const struct out *out, const json_t *answer, struct buf *buf)
{
	show_verdict(answer, buf);
	buf_addc(buf, '\n');
	show_reasons(answer, "  ", buf);
	if (strcmp(out_text_of(answer, "act"), "hold") == 0 &&
		out_int_of(answer, "ends_in_ms").known) {
		buf_adds(buf, "  ");
		show_hold_end(out, answer, buf);
		buf_addc(buf, '\n');
	}
}

json_t *show_trace_json(const struct trace *trace)
{
	json_t *list = json_array(), *line;
	size_t i;

	for (i = 0; list && i < trace->n; i++) {
		line = json_object();
		if (line) {
			json_put_int(line, "step", trace->lines[i].step);
			json_put_text(line, "saw", trace->lines[i].text);
			json_put_bool(line, "settled", trace->lines[i].settled);
		}
		json_array_append_new(list, line);
	}
	return list;
}

void show_trace(const json_t *list, struct buf *buf)
{
	/* The steps of core/decide.h. */
	static const char *const steps[] = {"", "switch", "override", "storage", "sight", "rules",
		"no rule", "time", "observe"};
	int step, before = 0;
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *line = json_array_get(list, i);

		step = (int)out_int_of(line, "step").v;
		buf_addf(buf, "  %d %s %-9s %s\n", step,
			json_is_true(json_object_get(line, "settled")) ? "=>" : "  ",
			step > 0 && step < 9 && step != before ? steps[step] : "",
			out_text_of(line, "saw"));
		before = step;
	}
}

const char *show_age(struct opt age_ms, char *text)
{
	char span[UNITS_TEXT_MAX];

	if (!age_ms.known)
		snprintf(text, UNITS_TEXT_MAX, "never");
	else if (age_ms.v < MS_SECOND)
		snprintf(text, UNITS_TEXT_MAX, "just now");
	else
		snprintf(text, UNITS_TEXT_MAX, "%.40s ago", out_span(age_ms, span));
	return text;
}

void show_scope(const json_t *override, struct buf *buf)
{
	static const char *const texts[] = {"storage", "nas", "node"};
	static const char *const numbers[] = {"ticket", "guest"};
	const char *between = "";
	struct opt number;
	size_t i;

	for (i = 0; i < 2; i++) {
		number = out_int_of(override, numbers[i]);
		if (number.known && number.v) {
			buf_addf(buf, "%s%s %s%lld", between, numbers[i], i ? "" : "T",
				(long long)number.v);
			between = ", ";
		}
	}
	for (i = 0; i < 3; i++) {
		if (*out_text_of(override, texts[i])) {
			buf_addf(
				buf, "%s%s %s", between, texts[i], out_text_of(override, texts[i]));
			between = ", ";
		}
	}
	if (!*between)
		buf_adds(buf, "everything");
}

/* "101", "rsync": what the job is about. */
static const char *subject(const json_t *ticket, char *text)
{
	struct opt guest = out_int_of(ticket, "guest");

	if (guest.known && guest.v) {
		snprintf(text, UNITS_TEXT_MAX, "guest %lld", (long long)guest.v);
		return text;
	}
	return out_text_of(ticket, "command");
}

static void ticket_notes(const struct out *out, const json_t *ticket, struct table *table)
{
	struct opt decision = out_int_of(ticket, "decision");
	struct buf line = {0};

	buf_adds(&line, show_first_reason(ticket));
	if (line.len && decision.v > 0)
		buf_addf(&line, " [decision %lld]", (long long)decision.v);
	table_note(table, buf_str(&line));
	buf_clear(&line);
	if (strcmp(out_text_of(ticket, "state"), "held") == 0)
		show_hold_end(out, ticket, &line);
	table_note(table, buf_str(&line));
	buf_clear(&line);
	if (*out_text_of(ticket, "released_by"))
		buf_addf(&line, "let go by %s: %s", out_text_of(ticket, "released_by"),
			out_text_of(ticket, "release_reason"));
	table_note(table, buf_str(&line));
	buf_clear(&line);
	if (*out_text_of(ticket, "upid"))
		buf_addf(&line, "task %s", out_text_of(ticket, "upid"));
	if (*out_text_of(ticket, "job_id"))
		buf_addf(&line, "%sjob %s", line.len ? ", " : "", out_text_of(ticket, "job_id"));
	table_note(table, buf_str(&line));
	buf_release(&line);
}

void show_tickets(const struct out *out, const json_t *list, const char *indent, struct buf *buf)
{
	static const char *const names[] = {
		"TICKET", "STATE", "STORAGE", "NODE", "CLIENT", "WHAT", "ASKED", "HELD", "RUNNING"};
	char cell[UNITS_TEXT_MAX];
	struct table table;
	size_t i;

	table_start(&table, sizeof(names) / sizeof(names[0]), names);
	for (i = 0; i < json_array_size(list); i++) {
		const json_t *ticket = json_array_get(list, i);

		snprintf(cell, sizeof(cell), "T%lld", (long long)out_int_of(ticket, "ticket").v);
		table_cell(&table, cell);
		table_cell(&table, out_text_of(ticket, "state"));
		table_cell(&table, out_text_of(ticket, "storage"));
		table_cell(&table, out_text_of(ticket, "node"));
		table_cell(&table, out_text_of(ticket, "client"));
		table_cell(&table, subject(ticket, cell));
		table_cell(&table, out_until(out, out_int_of(ticket, "asked_utc_ms"), cell));
		table_cell(&table, out_span(out_int_of(ticket, "held_ms"), cell));
		table_cell(&table, out_span(out_int_of(ticket, "running_ms"), cell));
		ticket_notes(out, ticket, &table);
	}
	table_print(out, &table, indent, buf);
}

static void cancelled_note(const struct out *out, const json_t *override, struct table *table)
{
	struct opt at = out_int_of(override, "cancelled_utc_ms");
	struct buf line = {0};
	char when[UNITS_TEXT_MAX];

	if (!at.known)
		return;
	buf_addf(&line, "cancelled at %s by %s", out_until(out, at, when),
		out_text_of(override, "cancelled_by"));
	table_note(table, buf_str(&line));
	buf_release(&line);
}

void show_overrides(const struct out *out, const json_t *list, const char *indent, struct buf *buf)
{
	static const char *const names[] = {"OVERRIDE", "VERDICT", "FOR", "UNTIL", "BY"};
	char cell[UNITS_TEXT_MAX];
	struct table table;
	struct buf scope = {0};
	size_t i;

	table_start(&table, sizeof(names) / sizeof(names[0]), names);
	for (i = 0; i < json_array_size(list); i++) {
		const json_t *override = json_array_get(list, i);

		snprintf(cell, sizeof(cell), "%lld", (long long)out_int_of(override, "id").v);
		table_cell(&table, cell);
		table_cell(&table, out_text_of(override, "verdict"));
		buf_clear(&scope);
		show_scope(override, &scope);
		table_cell(&table, buf_str(&scope));
		table_cell(&table, out_until(out, out_int_of(override, "until_utc_ms"), cell));
		table_cell(&table, out_text_of(override, "by"));
		table_note(&table, out_text_of(override, "reason"));
		cancelled_note(out, override, &table);
	}
	table_print(out, &table, indent, buf);
	buf_release(&scope);
}
