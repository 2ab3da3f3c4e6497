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

void show_hold_end(const struct out *out, const json_t *answer, struct buf *buf)
{
	struct opt ends = out_int_of(answer, "ends_in_ms");
	const char *then = out_text_of(answer, "then"), *then_act = out_text_of(answer, "then_act");
	char at[UNITS_TEXT_MAX], in[UNITS_TEXT_MAX];

	if (!ends.known || strcmp(out_text_of(answer, "act"), "hold") != 0)
		return;
	buf_addf(buf, "ends by itself at %s (in %s)",
		out_when(out, OPT(out->now_utc_ms + ends.v), at), out_span(ends, in));
	if (*then)
		buf_addf(buf, ", then %s", then);
	if (*then_act && strcmp(then, then_act) != 0)
		buf_addf(buf, ", which acts as %s: no lever is set up", then_act);
}

void show_answer(const struct out *out, const json_t *answer, struct buf *buf)
{
	const char *act = out_text_of(answer, "act"), *verdict = out_text_of(answer, "verdict");
	const char *would_be = out_text_of(answer, "would_be"), *rule = out_text_of(answer, "rule");

	buf_adds(buf, verdict);
	if (strcmp(act, verdict) != 0)
		buf_addf(buf, " (acts as %s)", act);
	if (strcmp(would_be, verdict) != 0)
		buf_addf(buf, " (observed only: would be %s)", would_be);
	if (*rule)
		buf_addf(buf, ", rule '%s'", rule);
	if (out_int_of(answer, "step").known)
		buf_addf(buf, ", step %d", (int)out_int_of(answer, "step").v);
	buf_addc(buf, '\n');
	show_reasons(answer, "  ", buf);
	if (strcmp(act, "hold") == 0 && out_int_of(answer, "ends_in_ms").known) {
		buf_adds(buf, "  ");
		show_hold_end(out, answer, buf);
		buf_addc(buf, '\n');
	}
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

void show_tickets(const struct out *out, const json_t *list, const char *indent, struct buf *buf)
{
	static const char *const names[] = {"TICKET", "STATE", "CLIENT", "STORAGE", "NODE", "GUEST",
		"HELD", "ENDS AT", "THEN", "WHY"};
	char cell[UNITS_TEXT_MAX];
	struct table table;
	struct opt number;
	size_t i;

	table_start(&table, sizeof(names) / sizeof(names[0]), names);
	for (i = 0; i < json_array_size(list); i++) {
		const json_t *ticket = json_array_get(list, i);

		number = out_int_of(ticket, "ticket");
		snprintf(cell, sizeof(cell), "T%lld", (long long)number.v);
		table_cell(&table, cell);
		table_cell(&table, out_text_of(ticket, "state"));
		table_cell(&table, out_text_of(ticket, "client"));
		table_cell(&table, out_text_of(ticket, "storage"));
		table_cell(&table, out_text_of(ticket, "node"));
		number = out_int_of(ticket, "guest");
		snprintf(cell, sizeof(cell), "%lld", (long long)number.v);
		table_cell(&table, number.known && number.v ? cell : "");
		table_cell(&table, out_span(out_int_of(ticket, "held_ms"), cell));
		table_cell(&table, out_when(out, out_int_of(ticket, "ends_utc_ms"), cell));
		table_cell(&table, out_text_of(ticket, "then"));
		table_cell(&table, show_first_reason(ticket));
	}
	table_print(out, &table, indent, buf);
}

void show_overrides(const struct out *out, const json_t *list, const char *indent, struct buf *buf)
{
	static const char *const names[] = {
		"OVERRIDE", "VERDICT", "SCOPE", "UNTIL", "BY", "REASON"};
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
		if (out_int_of(override, "cancelled_utc_ms").known)
			table_cell(&table, "cancelled");
		else
			table_cell(
				&table, out_when(out, out_int_of(override, "until_utc_ms"), cell));
		table_cell(&table, out_text_of(override, "by"));
		table_cell(&table, out_text_of(override, "reason"));
	}
	table_print(out, &table, indent, buf);
	buf_release(&scope);
}
