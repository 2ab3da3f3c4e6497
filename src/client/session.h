// SPDX-License-Identifier: MIT
/*
 * Asking until there is a verdict: "ask, wait, ask again", shared by the vzdump hook and by
 * `rebuildgate run` and `wait`.
 *
 * The decisions of this loop are a pure machine: the caller tells what happened (an answer, a call
 * that failed) and when, in boot time, and is told what to do next and what is worth a line. No
 * I/O, no clock. client/asking.h runs it for real.
 *
 * Without a gate: whoever asks waits `wait_for_gate_ms` for each outage, or until the hold's own
 * end as the gate last said it, whichever comes first; then `if_gate_down` decides, or what the
 * gate said would come at the hold's end. An outage begins with the first failed call after an
 * answer (when that should have been answered) and ends with the next answer. A gate that refuses
 * us (403, 400) is as good as none, and waiting for it is of no use.
 */
#ifndef RG_CLIENT_SESSION_H
#define RG_CLIENT_SESSION_H

#include "client/client.h"

/* Every this often a hold that goes on is worth a line. */
#define SESSION_STILL_MS (30 * MS_MINUTE)

struct session_conf {
	int64_t wait_for_gate_ms;
	enum verdict if_gate_down; /* allow or deny */
	struct opt give_up_ms;     /* of waiting, held or not: run and wait's --timeout */
	bool wait_only;            /* nothing is run afterwards: no gate is never "go" */
};

enum session_next {
	SESSION_NONE = 0,
	SESSION_ASK,   /* ask now; ask.ticket, held_ms, wait_ms from the step */
	SESSION_PAUSE, /* wait pause_ms, then session_resume() */
	SESSION_END,
};

enum session_end {
	SESSION_END_NONE = 0,
	SESSION_END_GO,        /* the gate said allow, or throttle */
	SESSION_END_DENIED,    /* the gate said deny */
	SESSION_END_HOLD_OVER, /* no gate, and the hold's end came: `then` says what now */
	SESSION_END_NO_GATE,   /* no gate for too long: if_gate_down */
	SESSION_END_GAVE_UP,   /* give_up_ms passed */
};

/* What is worth a line; bits. */
enum session_say {
	SAY_HELD = 1,       /* a hold begins */
	SAY_CHANGED = 2,    /* its reason, rule, end or ticket is another one */
	SAY_STILL = 4,      /* nothing new for SESSION_STILL_MS */
	SAY_GATE_AWAY = 8,  /* an outage begins */
	SAY_GATE_BACK = 16, /* and is over */
};

struct session_step {
	enum session_next next;
	unsigned say;     /* SAY_ bits */
	int64_t pause_ms; /* SESSION_PAUSE */
	int64_t ticket;   /* SESSION_ASK */
	int64_t held_ms;  /* SESSION_ASK, and for the last line: time held in all */
	int64_t wait_ms;  /* SESSION_ASK */
	enum session_end end;
	enum verdict
		verdict; /* SESSION_END: allow, throttle or deny; hold for SESSION_END_GAVE_UP */
};

struct session {
	struct session_conf conf;
	int64_t started_ms;
	int64_t asked_ms;         /* when the last ask went out */
	int64_t wait_ms;          /* what it was to wait there */
	struct opt held_since_ms; /* boot time at which the hold began, as if without a break */
	struct opt ends_ms;       /* boot time at which the hold ends */
	enum verdict then;        /* what comes then */
	struct opt outage_ms;     /* since when no gate answers */
	int64_t outages_ms;       /* of earlier outages, all together */
	int64_t said_ms;          /* last line about the hold */
	int64_t pause_ms;         /* last pause between two tries */
	enum err_kind failed;     /* kind of the last failed call; ERR_NONE after an answer */
	int64_t ticket;
	struct answer answer; /* the last one, with `act` 0 before the first */
};

/* Begins. `ticket` is one that we have from before (0: none). */
struct session_step session_start(
	struct session *session, const struct session_conf *conf, int64_t ticket, int64_t boot_ms);
struct session_step session_answered(
	struct session *session, const struct answer *answer, int64_t boot_ms);
struct session_step session_failed(struct session *session, enum err_kind kind, int64_t boot_ms);
struct session_step session_resume(struct session *session, int64_t boot_ms);

/* Time held so far; 0 if it never was. */
int64_t session_held_ms(const struct session *session, int64_t boot_ms);

/* Whether the last call was refused: by a gate that is there, so that waiting is of no use. */
bool session_refused(const struct session *session);

/* Time without a gate so far, all outages together. */
int64_t session_outage_ms(const struct session *session, int64_t boot_ms);

#endif
