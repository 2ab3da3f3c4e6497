// SPDX-License-Identifier: MIT
/* Parts of answers that several verbs show: reasons, scopes, how a hold ends. All append to `buf`.
 */
#ifndef RG_CLI_SHOW_H
#define RG_CLI_SHOW_H

#include "cli/out.h"
#include "core/decide.h"

/* The first reason's sentence, or "". */
const char *show_first_reason(const json_t *answer);

/* Every reason on a line of its own, `indent` before each. */
void show_reasons(const json_t *answer, const char *indent, struct buf *buf);

/* "hold (acts as allow), rule 'rebuild', step 5". */
void show_verdict(const json_t *answer, struct buf *buf);

/* ", then throttle, which acts as allow: no lever is set up", or nothing. */
void show_then(const json_t *answer, struct buf *buf);

/* "ends by itself at 2026-12-01 05:30 (in 3h 2min), then throttle", or nothing where nothing is
 * held. */
void show_hold_end(const struct out *out, const json_t *answer, struct buf *buf);

/* The text form of an answer to check: verdict, reasons, hold's end. */
void show_answer(const struct out *out, const json_t *answer, struct buf *buf);

/* What decide() saw: [{"step","saw","settled"}]; NULL without memory. */
json_t *show_trace_json(const struct trace *trace);

/* A line for each, "=>" before the one that settled it. */
void show_trace(const json_t *list, struct buf *buf);

/* How old a reading is: "just now", "12s ago", "never". */
const char *show_age(struct opt age_ms, char *text);

/* "nas1: ok, read 3s ago", and a table of its arrays below. */
void show_nas(const struct out *out, const json_t *nas, struct buf *buf);

/* "storage nas-backup, node pve1", "everything". */
void show_scope(const json_t *override, struct buf *buf);

/* Table of tickets, of overrides. */
void show_tickets(const struct out *out, const json_t *list, const char *indent, struct buf *buf);
/* What is steered and by which levers, what else runs, which servers cannot be asked; `all`: levers
 * that are free as well. False where there is nothing to show. */
bool show_levers(
	const struct out *out, const json_t *answer, const char *indent, bool all, struct buf *buf);
void show_lever_actions(const struct out *out, const json_t *list, struct buf *buf);
void show_overrides(const struct out *out, const json_t *list, const char *indent, struct buf *buf);

#endif
