// SPDX-License-Identifier: MIT
#include "client/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

static void add(char line[WORDS_MAX], const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(char line[WORDS_MAX], const char *fmt, ...)
{
	size_t used = strlen(line);
	va_list ap;
	char *p;

	va_start(ap, fmt);
	vsnprintf(line + used, WORDS_MAX - used, fmt, ap);
	va_end(ap);
	/* vzdump ends a line at \n, \r and \b (PVE/Cmd.pm); nothing in a name may do so. */
	for (p = line + used; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = ' ';
	}
}

static bool has_reason(const struct answer *answer, enum reason_code code)
{
	size_t i;

	for (i = 0; i < answer->n_reasons; i++) {
		if (reason_parse(answer->reasons[i].code) == code)
			return true;
	}
	return false;
}

static const char *reason_text(const struct answer *answer, enum reason_code code)
{
	size_t i;

	for (i = 0; i < answer->n_reasons; i++) {
		if (reason_parse(answer->reasons[i].code) == code)
			return answer->reasons[i].text;
	}
	return "";
}

static void add_array(char line[WORDS_MAX], const struct answer *answer)
{
	char text[UNITS_TEXT_MAX];

	add(line, " (%s on %s: %s", answer->array, answer->nas, answer->operation);
	if (answer->progress_ppm.known)
		add(line, " at %s", percent_show(answer->progress_ppm.v, text));
	add(line, ")");
}

/* The first reason, the array with its percentage where the reason does not name it, what the rule
 * has to say (its note), that a throttle would take too long, and the age of the last good backup
 * (which stands beside holds). */
static void add_why(char line[WORDS_MAX], const struct answer *answer)
{
	static const enum reason_code more[] = {REASON_NOTE, REASON_TOO_SLOW, REASON_AGE};
	const char *first = answer->n_reasons ? answer->reasons[0].text : "";
	size_t i;

	add(line, "%s", *first ? first : "no reason given");
	if (answer->facts && *answer->array && !strstr(first, answer->array))
		add_array(line, answer);
	for (i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		const char *text = reason_text(answer, more[i]);

		if (*text && text != first)
			add(line, "; %s", text);
	}
}

static const char *then_text(enum verdict then, enum verdict act)
{
	if (then == VERDICT_THROTTLE && act == VERDICT_ALLOW)
		return "then the job goes on at full speed (throttle, but no lever is set up)";
	if (then == VERDICT_THROTTLE && act == VERDICT_DENY)
		return "then the job is denied (throttle, but no lever is set up)";
	switch (then) {
	case VERDICT_ALLOW:
		return "then the job goes on";
	case VERDICT_THROTTLE:
		return "then the job goes on throttled";
	case VERDICT_DENY:
		return "then the job is denied";
	case VERDICT_HOLD:
	case VERDICT_NONE:
		break;
	}
	return "then the gate decides again";
}

/* "2026-11-30 23:10 (in 2h 10min)", without seconds. */
static void add_when(char line[WORDS_MAX], int64_t in_ms, const struct moment *now)
{
	char when[UNITS_TEXT_MAX], span[UNITS_TEXT_MAX];

	when_show(now->utc_ms + in_ms, now->utc_offset_s, when);
	if (strlen(when) > 3)
		when[strlen(when) - 3] = '\0';
	add(line, "%s (in %s)", when, span_show(in_ms, span));
}

static void add_ends(char line[WORDS_MAX], const struct answer *answer, const struct moment *now)
{
	if (answer->expected_ms.known) {
		add(line, "; expected to be over at ");
		add_when(line, answer->expected_ms.v, now);
	}
	if (answer->ends_in_ms.known) {
		add(line, "; this hold ends at the latest at ");
		add_when(line, answer->ends_in_ms.v, now);
		add(line, ", %s", then_text(answer->then, answer->then_act));
	}
}

void words_hold(const struct answer *answer, enum session_say what, int64_t held_ms,
	const struct moment *now, char ret[WORDS_MAX])
{
	char text[UNITS_TEXT_MAX];

	ret[0] = '\0';
	if (what == SAY_HELD)
		add(ret, "held: ");
	else if (what == SAY_CHANGED)
		add(ret, "held for %s, now: ", span_show(held_ms, text));
	else
		add(ret, "still held after %s: ", span_show(held_ms, text));
	add_why(ret, answer);
	add_ends(ret, answer, now);
	if (what != SAY_STILL && answer->ticket) {
		add(ret, "; to let it go now, as root%s%s: ", *answer->node ? " on " : "",
			answer->node);
		add(ret, "rebuildgate release T%lld --reason \"...\"", (long long)answer->ticket);
	}
	if (what != SAY_STILL && answer->decision)
		add(ret, " [decision %lld]", (long long)answer->decision);
}

void words_gate_away(const struct session *session, const char *why, const struct moment *now,
	char ret[WORDS_MAX])
{
	const struct session_conf *conf = &session->conf;
	char span[UNITS_TEXT_MAX];

	ret[0] = '\0';
	add(ret, session_refused(session) ? "WARNING: no verdict: %s" : "WARNING: no gate: %s",
		why);
	if (conf->wait_for_gate_ms <= 0 || session_refused(session))
		return;
	add(ret, "; waiting for it for %s at most, then %s",
		span_show(conf->wait_for_gate_ms, span),
		conf->wait_only ? "it is given up"
			: conf->if_gate_down == VERDICT_DENY
			? "the job fails (if_gate_down = deny)"
			: "the job goes on ungated (if_gate_down = allow)");
	if (session->answer.act != VERDICT_HOLD || !session->ends_ms.known ||
		session->ends_ms.v - now->boot_ms >= conf->wait_for_gate_ms)
		return;
	add(ret, "; before that the hold ends at ");
	add_when(ret, session->ends_ms.v > now->boot_ms ? session->ends_ms.v - now->boot_ms : 0,
		now);
	add(ret, ", %s", then_text(session->then, session->answer.then_act));
}

void words_gate_back(const struct session *session, char ret[WORDS_MAX])
{
	ret[0] = '\0';
	add(ret, "the gate is back");
	if (session->answer.act == VERDICT_HOLD && session->ticket)
		add(ret, ", this job is its ticket T%lld", (long long)session->ticket);
}

static void add_after(char line[WORDS_MAX], int64_t held_ms)
{
	char text[UNITS_TEXT_MAX];

	if (held_ms >= MS_SECOND)
		add(line, " after a hold of %s", span_show(held_ms, text));
}

void words_end(const struct session *session, const struct session_step *step, char ret[WORDS_MAX])
{
	const struct answer *answer = &session->answer;
	char text[UNITS_TEXT_MAX];

	ret[0] = '\0';
	switch (step->end) {
	case SESSION_END_GO:
		add(ret, step->verdict == VERDICT_THROTTLE ? "go, throttled" : "go");
		add_after(ret, step->held_ms);
		if (*answer->released_by)
			add(ret, ", released by %s", answer->released_by);
		add(ret, ": ");
		add_why(ret, answer);
		break;
	case SESSION_END_DENIED:
		add(ret, "DENIED");
		add_after(ret, step->held_ms);
		add(ret, ": ");
		add_why(ret, answer);
		break;
	case SESSION_END_HOLD_OVER:
		add(ret, "WARNING: no gate, and the hold's time is over");
		add_after(ret, step->held_ms);
		add(ret, ": the job %s",
			step->verdict == VERDICT_DENY ? "is denied" : "goes on ungated");
		break;
	case SESSION_END_NO_GATE:
		add(ret, session->conf.wait_only ? "no gate, given up" : "WARNING: no gate");
		add_after(ret, step->held_ms);
		if (!session->conf.wait_only)
			add(ret, ": the job %s",
				step->verdict == VERDICT_DENY
					? "fails (if_gate_down = deny)"
					: "goes on UNGATED (if_gate_down = allow)");
		break;
	case SESSION_END_GAVE_UP:
		span_show(session->conf.give_up_ms.v, text);
		if (session->failed != ERR_NONE) {
			add(ret, "no gate, given up after %s", text);
			break;
		}
		add(ret, "still held after %s, given up: ", text);
		add_why(ret, answer);
		break;
	case SESSION_END_NONE:
		break;
	}
	if (answer->decision && (step->end == SESSION_END_GO || step->end == SESSION_END_DENIED))
		add(ret, " [decision %lld, T%lld]", (long long)answer->decision,
			(long long)session->ticket);
}

/* The first reason stands in the line itself; a warning says that it is not as usual. */
static const enum reason_code warnings[] = {REASON_UNMAPPED, REASON_BLIND, REASON_BLIND_LIMIT,
	REASON_BLIND_BUDGET, REASON_NO_LEVER, REASON_OBSERVE};
#define N_WARNINGS (sizeof(warnings) / sizeof(warnings[0]))

uint32_t words_kind(const struct answer *answer)
{
	uint32_t kind = answer->verdict == VERDICT_ALLOW ? 0 : (uint32_t)answer->verdict;
	size_t i;

	if (answer->act != VERDICT_ALLOW)
		kind |= (uint32_t)answer->act << 4;
	for (i = 0; i < N_WARNINGS; i++) {
		if (has_reason(answer, warnings[i]))
			kind |= UINT32_C(1) << (8 + i);
	}
	return answer->recorded ? kind : kind | UINT32_C(1) << (8 + N_WARNINGS);
}

bool words_warning(const struct answer *answer, size_t at, char ret[WORDS_MAX])
{
	size_t i;

	ret[0] = '\0';
	for (i = 0; i < N_WARNINGS; i++) {
		if (!has_reason(answer, warnings[i]))
			continue;
		if (at-- == 0) {
			add(ret, "WARNING: %s", reason_text(answer, warnings[i]));
			return true;
		}
	}
	if (!answer->recorded && at == 0) {
		add(ret, "WARNING: the gate could not record this decision");
		return true;
	}
	return false;
}
