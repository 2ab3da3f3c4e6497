// SPDX-License-Identifier: MIT
/*
 * The sentences: why a decision is what it is, for the task log, the journal, the record and
 * `explain`. One sentence each, without a full stop, cut at the buffer's end.
 */
#ifndef RG_CORE_REASON_H
#define RG_CORE_REASON_H

#include "core/decide.h"

/* A text that grows in a caller's buffer; what does not fit is cut. */
struct text {
	char *at;
	size_t size; /* at least 1 */
	size_t len;
};

void text_add(struct text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends a reason, or puts it before the others (it is the one shown). Past DECISION_MAX_REASONS
 * an appended one is dropped, and the last one where one is put first. */
void reason_add(struct decision *decision, enum reason_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void reason_first(struct decision *decision, enum reason_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Appends a line; past TRACE_MAX the last one is overwritten. `trace` may be NULL. */
void trace_add(struct trace *trace, int step, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* As trace_add() for what one rule saw of one array: there may be many, so they leave room for what
 * the other steps say. */
void trace_rule(struct trace *trace, int step, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Whose age request->backup_age_ms is. */
const char *reason_backup(const struct request *request);

/* What an array does: "md2 on nas1 is in recovery, 41.3 % done, about 2h 10min left at 37 MB/s". */
void array_sentence(struct text *text, const char *nas, const struct array_facts *array);

/* Why a NAS is not seen: "nas1 has not been seen for 12min (refused: TEXT)". */
void blind_sentence(struct text *text, const struct nas_facts *facts, const char *nas,
	const struct opt *blind_ms);

#endif
