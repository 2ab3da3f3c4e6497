// SPDX-License-Identifier: MIT
#include "client/session.h"

#include <string.h>

#define PAUSE_FIRST_MS 250
#define PAUSE_MAX_MS (5 * MS_SECOND)
/* A gate that answers a waiting question at once, again and again, is not asked faster than this.
 */
#define ASK_SPACING_MS MS_SECOND

int64_t session_held_ms(const struct session *session, int64_t boot_ms)
{
	if (!session->held_since_ms.known || boot_ms < session->held_since_ms.v)
		return 0;
	return boot_ms - session->held_since_ms.v;
}

bool session_refused(const struct session *session)
{
	return session->failed == ERR_DENIED || session->failed == ERR_INVALID ||
		session->failed == ERR_LIMIT;
}

int64_t session_outage_ms(const struct session *session, int64_t boot_ms)
{
	int64_t now = session->outage_ms.known ? boot_ms - session->outage_ms.v : 0;

	return session->outages_ms + now;
}

static struct session_step ended(
	const struct session *session, enum session_end end, enum verdict verdict, int64_t boot_ms)
{
	return (struct session_step){.next = SESSION_END,
		.end = end,
		.verdict = verdict,
		.ticket = session->ticket,
		.held_ms = session_held_ms(session, boot_ms)};
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Time until we give up, or INT64_MAX. */
static int64_t left_ms(const struct session *session, int64_t boot_ms)
{
	if (!session->conf.give_up_ms.known)
		return INT64_MAX;
	return session->started_ms + session->conf.give_up_ms.v - boot_ms;
}

static struct session_step ask(struct session *session, int64_t boot_ms)
{
	/* The first question is answered at once, so that the first line does not wait. */
	int64_t wait = session->answer.act == VERDICT_HOLD && !session->outage_ms.known
		? ASK_WAIT_MAX_MS
		: 0;

	wait = least(wait, left_ms(session, boot_ms));
	session->asked_ms = boot_ms;
	session->wait_ms = wait > 0 ? wait : 0;
	return (struct session_step){.next = SESSION_ASK,
		.ticket = session->ticket,
		.held_ms = session_held_ms(session, boot_ms),
		.wait_ms = session->wait_ms};
}

struct session_step session_start(
	struct session *session, const struct session_conf *conf, int64_t ticket, int64_t boot_ms)
{
	*session = (struct session){.conf = *conf, .started_ms = boot_ms, .ticket = ticket};
	return ask(session, boot_ms);
}

/* A job in the queue waits there, whoever is before it: each job that ends moves all the others. */
static const char *first_code(const struct answer *answer)
{
	const char *word = answer->n_reasons ? answer->reasons[0].code : "";
	enum reason_code code = reason_parse(word);

	if (code == REASON_QUEUE_BEHIND || code == REASON_QUEUE_NAS || code == REASON_QUEUE_NODE ||
		code == REASON_QUEUE_INTERVAL)
		return "queue";
	return word;
}

/* Whether a person would call it another hold. Progress alone does not count, nor does an end that
 * moved by less than it takes to tell. */
static bool is_news(const struct session *session, const struct answer *now, int64_t boot_ms)
{
	const struct answer *old = &session->answer;
	int64_t moved;

	if (old->act != now->act || old->verdict != now->verdict || old->then != now->then ||
		old->ticket != now->ticket || strcmp(old->rule, now->rule) ||
		strcmp(old->array, now->array) || strcmp(old->nas, now->nas) ||
		strcmp(old->operation, now->operation) || strcmp(first_code(old), first_code(now)))
		return true;
	if (session->ends_ms.known != now->ends_in_ms.known)
		return true;
	moved = session->ends_ms.known ? boot_ms + now->ends_in_ms.v - session->ends_ms.v : 0;
	return moved > 2 * MS_MINUTE || moved < -2 * MS_MINUTE;
}

static unsigned what_to_say(struct session *session, const struct answer *now, int64_t boot_ms)
{
	unsigned say = 0;

	if (session->answer.act != VERDICT_HOLD)
		say = SAY_HELD;
	else if (is_news(session, now, boot_ms))
		say = SAY_CHANGED;
	else if (boot_ms - session->said_ms >= SESSION_STILL_MS)
		say = SAY_STILL;
	if (say)
		session->said_ms = boot_ms;
	return say;
}

static void take(struct session *session, const struct answer *answer, int64_t boot_ms)
{
	if (answer->ticket)
		session->ticket = answer->ticket;
	if (answer->act == VERDICT_HOLD) {
		session->held_since_ms = OPT(boot_ms - answer->held_ms);
		session->ends_ms =
			answer->ends_in_ms.known ? OPT(boot_ms + answer->ends_in_ms.v) : OPT_NONE;
		session->then = answer->then;
	}
	session->answer = *answer;
	session->failed = ERR_NONE;
	session->pause_ms = 0;
}

/* The gate may know of a hold that we do not: before a restart of ours. */
static struct session_step decided(
	const struct session *session, enum session_end end, int64_t boot_ms)
{
	struct session_step step = ended(session, end, session->answer.act, boot_ms);

	if (session->answer.held_ms > step.held_ms)
		step.held_ms = session->answer.held_ms;
	return step;
}

struct session_step session_answered(
	struct session *session, const struct answer *answer, int64_t boot_ms)
{
	struct session_step step;
	unsigned say = 0;

	if (session->outage_ms.known) {
		say = SAY_GATE_BACK;
		session->outages_ms += boot_ms - session->outage_ms.v;
		session->outage_ms = OPT_NONE;
	}
	if (answer->act == VERDICT_HOLD)
		say |= what_to_say(session, answer, boot_ms);
	take(session, answer, boot_ms);
	if (answer->act == VERDICT_DENY) {
		step = decided(session, SESSION_END_DENIED, boot_ms);
	} else if (answer->act != VERDICT_HOLD) {
		step = decided(session, SESSION_END_GO, boot_ms);
	} else if (left_ms(session, boot_ms) <= 0) {
		step = ended(session, SESSION_END_GAVE_UP, VERDICT_HOLD, boot_ms);
	} else if (!(say & SAY_HELD) && boot_ms - session->asked_ms < ASK_SPACING_MS) {
		step = (struct session_step){.next = SESSION_PAUSE,
			.pause_ms = session->asked_ms + ASK_SPACING_MS - boot_ms};
	} else {
		step = ask(session, boot_ms);
	}
	step.say = say;
	return step;
}

/* Whether a hold's end, and what comes then, is known without the gate. */
static bool has_own_end(const struct session *session)
{
	return session->answer.act == VERDICT_HOLD && session->ends_ms.known &&
		(session->then == VERDICT_ALLOW || session->then == VERDICT_THROTTLE ||
			session->then == VERDICT_DENY);
}

/* What a failed call, or a pause without a gate, leads to. */
static struct session_step without_gate(struct session *session, int64_t boot_ms)
{
	int64_t waited = boot_ms - session->outage_ms.v, pause;

	if (has_own_end(session) && boot_ms >= session->ends_ms.v)
		return ended(session, SESSION_END_HOLD_OVER, session->then, boot_ms);
	if (left_ms(session, boot_ms) <= 0)
		return ended(session, SESSION_END_GAVE_UP, VERDICT_HOLD, boot_ms);
	if (session_refused(session) || waited >= session->conf.wait_for_gate_ms)
		return ended(session, SESSION_END_NO_GATE, session->conf.if_gate_down, boot_ms);
	pause = session->pause_ms ? least(session->pause_ms * 2, PAUSE_MAX_MS) : PAUSE_FIRST_MS;
	session->pause_ms = pause;
	pause = least(pause, session->conf.wait_for_gate_ms - waited);
	pause = least(pause, left_ms(session, boot_ms));
	if (has_own_end(session))
		pause = least(pause, session->ends_ms.v - boot_ms);
	return (struct session_step){.next = SESSION_PAUSE, .pause_ms = pause};
}

struct session_step session_failed(struct session *session, enum err_kind kind, int64_t boot_ms)
{
	struct session_step step;
	unsigned say = 0;

	session->failed = kind;
	if (!session->outage_ms.known) {
		/* A call that timed out had no gate for as long as it waited beyond its own time.
		 */
		session->outage_ms = OPT(least(session->asked_ms + session->wait_ms, boot_ms));
		say = SAY_GATE_AWAY;
	}
	step = without_gate(session, boot_ms);
	step.say = say;
	return step;
}

struct session_step session_resume(struct session *session, int64_t boot_ms)
{
	return ask(session, boot_ms);
}
