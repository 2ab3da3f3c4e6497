// SPDX-License-Identifier: MIT
#include "core/reason.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "core/words.h"

/* What the other steps say always has room. */
#define TRACE_RULES_MAX (TRACE_MAX - 16)

static const char *const reason_words[] = {
	[REASON_GATE_OFF] = "gate-off",
	[REASON_OVERRIDE] = "override",
	[REASON_UNMAPPED] = "unmapped",
	[REASON_BLIND] = "blind",
	[REASON_BLIND_HOLD_GOES_ON] = "blind-hold-goes-on",
	[REASON_BLIND_LIMIT] = "blind-limit",
	[REASON_BLIND_BUDGET] = "blind-budget",
	[REASON_RULE] = "rule",
	[REASON_NO_RULE] = "no-rule",
	[REASON_RELEASED] = "released",
	[REASON_RELEASE_ASKED] = "release-asked",
	[REASON_EXPIRED] = "expired",
	[REASON_NEXT_START] = "next-start",
	[REASON_SETTLE] = "settle",
	[REASON_QUEUE_BEHIND] = "queue-behind",
	[REASON_QUEUE_NAS] = "queue-nas",
	[REASON_QUEUE_NODE] = "queue-node",
	[REASON_QUEUE_INTERVAL] = "queue-interval",
	[REASON_QUEUE_WINDOW] = "queue-window",
	[REASON_MID_JOB] = "mid-job",
	[REASON_RECHECK] = "recheck",
	[REASON_NO_LEVER] = "no-lever",
	[REASON_OBSERVE] = "observe",
	[REASON_NOTE] = "note",
	[REASON_ARRAY] = "array",
	[REASON_RESTORE] = "restore",
	[REASON_RPO] = "rpo",
	[REASON_TOO_SLOW] = "too-slow",
	[REASON_AGE] = "age",
};

WORDS(reason, enum reason_code, reason_words)

void text_add(struct text *text, const char *fmt, ...)
{
	va_list ap;
	size_t room = text->size - text->len;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text->at + text->len, room, fmt, ap);
	va_end(ap);
	text->len += (size_t)n < room ? (size_t)n : room - 1;
}

void reason_add(struct decision *decision, enum reason_code code, const char *fmt, ...)
{
	struct reason *reason;
	va_list ap;

	if (decision->n_reasons == DECISION_MAX_REASONS)
		return;
	reason = &decision->reasons[decision->n_reasons++];
	reason->code = code;
	va_start(ap, fmt);
	vsnprintf(reason->text, sizeof(reason->text), fmt, ap);
	va_end(ap);
}

void reason_first(struct decision *decision, enum reason_code code, const char *fmt, ...)
{
	struct reason *reasons = decision->reasons;
	va_list ap;

	if (decision->n_reasons < DECISION_MAX_REASONS)
		decision->n_reasons++;
	memmove(&reasons[1], &reasons[0], (decision->n_reasons - 1) * sizeof(reasons[0]));
	reasons[0].code = code;
	va_start(ap, fmt);
	vsnprintf(reasons[0].text, sizeof(reasons[0].text), fmt, ap);
	va_end(ap);
}

static void trace_line(struct trace *trace, int step, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

static void trace_line(struct trace *trace, int step, const char *fmt, va_list ap)
{
	struct trace_line *line;

	if (trace->n < TRACE_MAX)
		trace->n++;
	line = &trace->lines[trace->n - 1];
	line->step = step;
	line->settled = false;
	vsnprintf(line->text, sizeof(line->text), fmt, ap);
}

void trace_add(struct trace *trace, int step, const char *fmt, ...)
{
	va_list ap;

	if (!trace)
		return;
	va_start(ap, fmt);
	trace_line(trace, step, fmt, ap);
	va_end(ap);
}

void trace_rule(struct trace *trace, int step, const char *fmt, ...)
{
	va_list ap;

	if (!trace || trace->n > TRACE_RULES_MAX)
		return;
	if (trace->n == TRACE_RULES_MAX) {
		trace_add(trace, step, "more arrays and rules than there is room to tell of");
		return;
	}
	va_start(ap, fmt);
	trace_line(trace, step, fmt, ap);
	va_end(ap);
}

const char *reason_backup(const struct request *request)
{
	return request->guest ? "the guest's last good backup"
			      : "the oldest of its guests' last good backups";
}

/* How far the operation is and how fast. */
static void progress_add(struct text *text, const struct array_facts *array)
{
	char shown[UNITS_TEXT_MAX];

	if (array->sync_state == MD_SYNC_DELAYED || array->sync_state == MD_SYNC_PENDING)
		text_add(text, " (%s)", md_sync_state_word(array->sync_state));
	if (array->progress_ppm.known)
		text_add(text, ", %s done", percent_show(array->progress_ppm.v, shown));
	if (array->remaining_ms.known)
		text_add(text, ", about %s left", span_show(array->remaining_ms.v, shown));
	if (array->rate.known)
		text_add(text, "%s %s", array->remaining_ms.known ? " at" : ",",
			rate_show(array->rate.v, shown));
	if (array->rate_of_baseline_ppm.known)
		text_add(text, " (%s of its undisturbed pace)",
			percent_show(array->rate_of_baseline_ppm.v, shown));
	if (array->stalled_ms.known && array->stalled_ms.v > 0)
		text_add(text, ", not moved for %s", span_show(array->stalled_ms.v, shown));
}

void array_sentence(struct text *text, const char *nas, const struct array_facts *array)
{
	const char *operation = md_operation_word(array->operation);

	text_add(text, "%s on %s ", array->name, nas);
	if (array->health == MD_HEALTH_ABSENT) {
		text_add(text, "was there and is gone");
		return;
	}
	if (array->operation <= MD_OP_UNKNOWN || !operation)
		text_add(text, "does something that is not known");
	else
		text_add(text, "is %s%s",
			array->operation >= MD_OP_RECOVERY && array->operation <= MD_OP_REPAIR
				? "in "
				: "",
			operation);
	progress_add(text, array);
	if (array->health > MD_HEALTH_OPTIMAL && md_health_word(array->health))
		text_add(text, ", %s", md_health_word(array->health));
	if (array->redundancy_left.known && array->missing.known && array->missing.v > 0)
		text_add(text, ", may lose %" PRId64 " more disk%s", array->redundancy_left.v,
			array->redundancy_left.v == 1 ? "" : "s");
}

void blind_sentence(struct text *text, const struct nas_facts *facts, const char *nas,
	const struct opt *blind_ms)
{
	const char *word = nas_sensor_word(facts->sensor);
	char shown[UNITS_TEXT_MAX];

	/* A point that is not known is 0. */
	bool between = blind_ms->known && facts->read_at_ms.v > facts->blind_since_ms.v;

	/* An outage goes on until the NAS was seen for a while: core/sight.h. */
	text_add(text, between ? "%s has been seen only on and off" : "%s has not been seen", nas);
	if (blind_ms->known)
		text_add(text, " for %s", span_show(blind_ms->v, shown));
	text_add(text, " (%s", word ? word : "never");
	if (facts->sensor_text[0])
		text_add(text, ": %s", facts->sensor_text);
	text_add(text, ")");
}
