// SPDX-License-Identifier: MIT
/* Parts of answers that several verbs show: reasons, scopes, how a hold ends. All append to `buf`.
 */
#ifndef RG_CLI_SHOW_H
#define RG_CLI_SHOW_H

#include "cli/out.h"

/* The first reason's sentence, or "". */
const char *show_first_reason(const json_t *answer);

/* Every reason on a line of its own, `indent` before each. */
void show_reasons(const json_t *answer, const char *indent, struct buf *buf);

/* "ends by itself at 2026-12-01 05:30:00 (in 3h 2min), then throttle", or nothing where nothing is
 * held. */
void show_hold_end(const struct out *out, const json_t *answer, struct buf *buf);

/* The text form of an answer to check: verdict, reasons, hold's end. */
void show_answer(const struct out *out, const json_t *answer, struct buf *buf);

/* "storage nas-backup, node pve1", "everything". */
void show_scope(const json_t *override, struct buf *buf);

/* Table of tickets, of overrides. */
void show_tickets(const struct out *out, const json_t *list, const char *indent, struct buf *buf);
void show_overrides(const struct out *out, const json_t *list, const char *indent, struct buf *buf);

#endif
