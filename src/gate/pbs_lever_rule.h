// SPDX-License-Identifier: MIT
/*
 * Lever 2's rule: its name and signature, its rate, how long a rest may last. Pure.
 *
 * What always holds: a rate is never 0; what is below PBS_MOVES_LEAST is a rest, and a rest is over
 * after PBS_REST_MOST_MS until something has moved for PBS_REST_GAP_MS.
 */
#ifndef RG_GATE_PBS_LEVER_RULE_H
#define RG_GATE_PBS_LEVER_RULE_H

#include "core/steer.h"
#include "proxmox/pbs.h"

/* Connections, the start of a backup and requests share the rule's bucket: below this they may time
 * out (QMP `backup` at 125 s, proxmox-backup-client at 120 s). */
#define PBS_MOVES_LEAST (INT64_C(1) << 20)
#define PBS_MOVES_RATE (INT64_C(2) << 20)   /* between two rests */
#define PBS_REST_MOST_MS (55 * MS_SECOND)   /* and PBS_ACTS_MS until its end acts: 60 s */
#define PBS_REST_GAP_MS (15 * MS_SECOND)    /* of which 5 s until it acts */
#define PBS_OPEN_RATE INT64_C(100000000000) /* no limit in practice, but what passes is counted */
#define PBS_SPAN_MS (60 * MS_MINUTE)        /* a limit's timeframe ends so long from now */
#define PBS_REST_SPAN_MS (3 * MS_MINUTE)    /* a rest's: a dead gate starves nobody for long */
#define PBS_BEFORE_MS (2 * MS_MINUTE)       /* it began already: clocks differ */

/* "rebuildgate-NODE", shortened where it would be longer than PBS takes; a safe id. */
void pbs_own_name(const char *node, char ret[PBS_RULE_NAME_MAX]);
/* Its comment: who, why, until when (in the server's local time). */
void pbs_own_comment(const char *node, const char *why, int64_t until_utc_s, int64_t offset_s,
	char *ret, size_t size);
/* Whether the rule is ours: name and comment. */
bool pbs_own_is(const char *node, const struct pbs_rule *rule);
/* Whether some gate made it, this one or another node's. */
bool pbs_own_any(const struct pbs_rule *rule);

/* Whether `rule` (not ours, and for no users) covers the same connections as a rule for all: then
 * it is undefined which of the two counts. Its rate is one that ours must not lift. */
bool pbs_rule_for_all(const struct pbs_rule *rule);

/* How the rests went; all zero: there was none. */
struct pbs_rest {
	int64_t began_ms; /* of the rest under way, or the last one; 0: none */
	int64_t moves_ms; /* since when something moves again; 0: it rests */
};
/* The rate (bytes/s) that a wanted rest may have now. */
int64_t pbs_rest_rate(const struct pbs_rest *rest, int64_t now_ms);
/* When that changes by itself; INT64_MAX: it does not. */
int64_t pbs_rest_next(const struct pbs_rest *rest, int64_t now_ms);
/* This rate is in force from now on; 0: no rule. */
void pbs_rest_set(struct pbs_rest *rest, int64_t rate, int64_t now_ms);

/* The rule's rate for what is wanted; 0: no rule. `cap`: an administrator's own limit for the same
 * connections, 0 none. */
int64_t pbs_own_rate(enum steer_path path, int64_t rate, int64_t cap, const struct pbs_rest *rest,
	int64_t now_ms);
/* What a rate in force means. */
enum steer_path pbs_own_path(int64_t rate, int64_t cap);

#endif
