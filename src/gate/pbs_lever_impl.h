// SPDX-License-Identifier: MIT
/* What lever 2's own files share: pbs_lever_list.c (the list of them), pbs_lever.c (what one wants
 * and does next), pbs_lever_call.c (the calls and what comes of them), pbs_lever_sight.c (what the
 * server's rules say), pbs_lever_former.c (the record; servers that are used no more). */
#ifndef RG_GATE_PBS_LEVER_IMPL_H
#define RG_GATE_PBS_LEVER_IMPL_H

#include "gate/gate.h"
#include "gate/pbs_lever.h"
#include "gate/pbs_lever_delay.h"
#include "gate/pbs_lever_rule.h"
#include "gate/remote.h"
#include "gate/timer.h"

#define PBS_READ_MS (3 * MS_SECOND)   /* between two looks while a rule of ours is there */
#define PBS_SOON_MS MS_SECOND         /* after a change: read back, until it is seen to act */
#define PBS_MOVED_MS (10 * MS_SECOND) /* what passes is not known any more by an older look */
#define PBS_FRESH_MS (5 * MS_SECOND)  /* no change by an older look than this */
#define PBS_PROBE_MS (5 * MS_MINUTE)  /* between two looks while nothing is wanted */
#define PBS_TARGET_MAX 160            /* of the record */
#define PBS_TEXT_MAX 1536             /* a rule as text for it */
#define PBS_CLOCK_MS (10 * MS_MINUTE) /* between two looks at the server's clock */

/* What one look at the server's rules said. */
struct pbs_sight {
	bool known;
	int64_t at_ms;
	bool found, ours; /* a rule with our name, and with our comment */
	struct pbs_rule rule;
	char digest[65];    /* of the list; "" : not told */
	bool changeable;    /* nothing was changed since: `digest` may be used */
	bool tie;           /* an administrator's rule is for all connections too */
	int64_t cap;        /* its rate; 0: none */
	char hidden_by[64]; /* a rule that takes connections from ours */
	struct opt moved;   /* cur-rate-in */
};

enum pbs_op {
	PBS_OP_NONE = 0,
	PBS_OP_READ,
	PBS_OP_CLOCK,
	PBS_OP_CREATE,
	PBS_OP_UPDATE,
	PBS_OP_DELETE
};

struct pbs_lever {
	struct pbs_levers *levers;
	char name[NAS_NAME_MAX];
	char url[SETTINGS_URL_MAX];
	char target[PBS_TARGET_MAX]; /* in record and journal: its name, or "NAME at URL" */
	struct timer timer;
	bool retired;       /* used no more: only put back */
	bool gone;          /* for its server is not configured any more at this address */
	int64_t retired_ms; /* boot time since which */
	bool told;          /* that the rule could not be removed */
	bool gave_up;       /* it is left there */

	enum steer_path want;
	int64_t want_rate;
	char why[200];
	int64_t ordered_ms; /* boot time at which that was wanted; 0: it is so, or under way */

	struct pbs_sight sight;
	struct pbs_rest rest;
	bool clock_known;
	int64_t clock_utc_s, clock_at_ms, offset_s; /* the server's */

	enum pbs_op op;        /* in flight */
	struct pbs_rule draft; /* of that change */
	int64_t draft_end_ms, draft_offset_s;
	int64_t draft_ordered_ms; /* 0: an earlier try had failed, its delay tells nothing */

	int64_t set_ms; /* boot time since when what is there is there */
	bool confirmed; /* read back since */
	struct pbs_delay delay;
	int64_t end_ms; /* boot time at which its timeframe ends */
	int64_t end_span_ms;
	int64_t end_offset_s; /* it was made with this offset */

	bool usable;
	bool change_failed; /* the last change did, and is still wanted */
	bool lost_race;     /* it was tried again once already */
	bool maybe;         /* a rule of ours may be there that was not seen yet */
	bool blind_rates;   /* Sys.Audit is missing: the rates cannot be read */
	bool looked_up;     /* what the record says of an earlier gate is known */
	bool recorded;      /* the record says that a rule of ours is there */
	unsigned failures;
	int64_t retry_ms; /* boot time; nothing before */
	char trouble[240];
	int64_t said_ms; /* boot time at which it was last said; 0: not */
	char warned_hidden[64];
	unsigned stolen;   /* our rule was taken away, in a row */
	int64_t stolen_ms; /* the last time */
};

struct pbs_levers {
	struct gate *gate;
	struct timer sweep; /* some are done with */
	size_t n;
	struct pbs_lever *list[SETTINGS_MAX_PBS * 2]; /* owned */
};

/* The networks of our rule; returns how many. */
size_t pbs_lever_networks(const struct pbs_lever *lever, const char *ret[PBS_MAX_NETWORKS]);

/* Takes a list of rules. */
bool pbs_sight_read(struct pbs_lever *lever, const char *body, size_t len, int64_t now_ms,
	struct pbs_sight *ret, struct err *err);
/* The rule as text for the record, and at which address it is. */
void pbs_rule_text(const struct pbs_rule *rule, const char *url, char *ret, size_t size);

/* Writes that it is about to be set to `after`, or (`put_back`) is as it was before us. */
bool pbs_lever_record(struct pbs_lever *lever, const char *after, bool put_back);
/* Finds out once whether the record has it as moved; false where it cannot be read. */
bool pbs_lever_look_up(struct pbs_lever *lever);
/* Its address is no longer, or again, the one that its name has. */
void pbs_lever_moves_out(struct pbs_lever *lever);
void pbs_lever_moves_in(struct pbs_lever *lever);
/* Says that the rule could not be removed, in journal and record. */
void pbs_lever_left(struct pbs_lever *lever, const char *reason, bool finally);
/* Whether one that is retired can be forgotten. */
bool pbs_lever_done(const struct pbs_lever *lever);
/* Each configured server on which the record has a rule of ours; the record has it by its name from
 * then on. At the start those that are not configured are told. */
void pbs_levers_sort_out(struct pbs_levers *levers, bool at_start,
	void (*each)(struct pbs_levers *levers, const struct pbs_settings *set));
/* At a reset: what the record has of addresses that nothing here looks after is an operator's. */
void pbs_levers_give_up_left(struct pbs_levers *levers);

/* The rate that our rule shall have now; 0: there shall be none. */
int64_t pbs_lever_target(const struct pbs_lever *lever, int64_t now_ms);
/* Whether what is there is not what shall be there. */
bool pbs_lever_differs(const struct pbs_lever *lever, int64_t now_ms);

/* Starts one call; its end calls pbs_lever_work() again. */
void pbs_lever_read(struct pbs_lever *lever, struct remote *remote);
void pbs_lever_clock(struct pbs_lever *lever, struct remote *remote);
void pbs_lever_change(struct pbs_lever *lever, struct remote *remote, int64_t now_ms);
/* Blocking: deletes our rule, where it is there. False where that is not sure. */
bool pbs_lever_delete_now(struct pbs_lever *lever, struct remote *remote, int64_t deadline_ms);

void pbs_lever_work(struct pbs_lever *lever);
/* What does not work; said when it is news. "" ends it. */
void pbs_lever_trouble(struct pbs_lever *lever, const char *text);

#endif
