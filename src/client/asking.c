// SPDX-License-Identifier: MIT
#include "client/asking.h"

#include <errno.h>

#include "base/clock.h"

static void say(
	const struct asking *asking, const struct session *session, unsigned what, const char *why)
{
	struct moment now = clock_now();
	char line[WORDS_MAX];

	if (what & SAY_GATE_AWAY) {
		words_gate_away(session, why, &now, line);
		asking->say(asking->data, line);
	}
	if (what & SAY_GATE_BACK) {
		words_gate_back(session, line);
		asking->say(asking->data, line);
	}
	what &= SAY_HELD | SAY_CHANGED | SAY_STILL;
	if (!what)
		return;
	words_hold(&session->answer, (enum session_say)what, session_held_ms(session, now.boot_ms),
		&now, line);
	asking->say(asking->data, line);
}

/* Waits. False when a wake descriptor has something. */
static bool pause_ms(const struct gate_link *link, int64_t ms)
{
	int64_t end_ms = clock_boot_ms() + ms, left = ms;
	int n;

	while (left > 0) {
		n = poll(link->wake, link->n_wake, (int)(left > 60000 ? 60000 : left));
		if (n > 0)
			return false;
		if (n < 0 && errno != EINTR)
			return true;
		left = end_ms - clock_boot_ms();
	}
	return true;
}

static bool woken(const struct gate_link *link)
{
	size_t i;

	for (i = 0; i < link->n_wake; i++) {
		if (link->wake[i].revents)
			return true;
	}
	return false;
}

/* One call. False when a wake descriptor ended it. */
static bool ask_once(const struct asking *asking, struct session *session,
	const struct session_step *step, struct session_step *ret)
{
	int64_t before = session->ticket;
	struct answer answer = {0};
	struct err err = {0};

	asking->ask->ticket = step->ticket;
	asking->ask->held_ms = step->held_ms;
	asking->ask->wait_ms = step->wait_ms;
	if (client_ask(asking->link, asking->ask, &answer, &err)) {
		*ret = session_answered(session, &answer, clock_boot_ms());
		if (session->ticket != before && asking->ticket)
			asking->ticket(asking->data, session->ticket);
	} else if (err.kind == ERR_BUSY && woken(asking->link)) {
		return false;
	} else {
		*ret = session_failed(session, err.kind, clock_boot_ms());
	}
	say(asking, session, ret->say, err.text);
	return true;
}

bool asking_run(const struct asking *asking, struct session *session,
	const struct session_conf *conf, struct session_step *ret_step)
{
	struct session_step step =
		session_start(session, conf, asking->ask->ticket, clock_boot_ms());

	while (step.next != SESSION_END) {
		if (step.next == SESSION_PAUSE) {
			if (!pause_ms(asking->link, step.pause_ms))
				return false;
			step = session_resume(session, clock_boot_ms());
		} else if (!ask_once(asking, session, &step, &step)) {
			return false;
		}
	}
	*ret_step = step;
	return true;
}
