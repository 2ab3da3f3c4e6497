// SPDX-License-Identifier: MIT
/*
 * How late a change of lever 2's rule acts, by what passes through the rule. Pure.
 *
 * A server looks a connection's rule up again when 5 s have passed since it last did
 * (PBS_ACTS_MS), and tells what passed as the mean of its last whole second (PBS_CUR_MS;
 * proxmox-backup src/traffic_control_cache.rs compute_current_rates(), called once a second). So
 * a change can be seen to act where something flowed that the new rate forbids, or where the old
 * rate held something back: one that is too small for that, a rule that is made or goes, and a time
 * when nothing flows tell nothing.
 *
 * What always holds: a delay is counted from the moment at which the path was chosen, with the
 * calls until it is set in it, and lies between the longest of these lately and PBS_LATE_MAX_MS.
 */
#ifndef RG_GATE_PBS_LEVER_DELAY_H
#define RG_GATE_PBS_LEVER_DELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/moment.h"

#define PBS_CUR_MS MS_SECOND /* what passes now is the mean of so long, just over */
#define PBS_LATE_MAX_MS (10 * MS_SECOND)
#define PBS_DELAYS 8 /* of the last changes the longest counts */
/* Connections are anywhere between two looks when a change comes: fewer than so many that were
 * seen to act may all have been lucky, and what the server promises is not undercut by them. */
#define PBS_DELAYS_SURE 4

/* What shall be seen of a change. */
enum pbs_awaits { PBS_AWAITS_NOTHING = 0, PBS_AWAITS_FALL, PBS_AWAITS_RISE };

struct pbs_times {
	size_t n;
	int32_t ms[PBS_DELAYS]; /* the last ones, at n % PBS_DELAYS */
};

/* All zero: nothing was changed yet. */
struct pbs_delay {
	/* The last change. */
	enum pbs_awaits awaits; /* NOTHING: there is nothing to see, or it was seen */
	int64_t from, to;       /* rates, bytes/s; 0: no rule */
	int64_t ordered_ms;     /* boot time at which it was chosen; 0: not told */
	int64_t set_ms;         /* at which the server had it */
	int64_t acted_ms;       /* at which it acted, as was seen; 0: it was not */
	bool against;           /* the last look saw more pass than it lets */
	/* Of the last few. */
	struct pbs_times trips; /* from chosen until the server had it */
	struct pbs_times seen;  /* from chosen until seen to act */
	struct pbs_times acts;  /* from the server had it until seen to act */
};

/* The server has a change since `now_ms`. `moved`: what passed through the rule before, bytes/s.
 * The same rate again (a timeframe is renewed) is in force as it was. */
void pbs_delay_set(struct pbs_delay *delay, int64_t from, int64_t to, struct opt moved,
	int64_t ordered_ms, int64_t now_ms);

/* What passes now, as told at `now_ms`. */
void pbs_delay_look(struct pbs_delay *delay, struct opt moved, int64_t now_ms);

/* Whether it pays to look again soon. */
bool pbs_delay_waits(const struct pbs_delay *delay, int64_t now_ms);

/* Whether the last change acts: seen, or as far as is known by the time that has passed. */
bool pbs_delay_over(const struct pbs_delay *delay, int64_t now_ms);

/* How late a change acts: the longest of the last few, ms. Until enough were seen it is never less
 * than what the server promises, with the calls. */
int64_t pbs_delay_of(const struct pbs_delay *delay);
/* Whether enough were seen. */
bool pbs_delay_measured(const struct pbs_delay *delay);

#endif
