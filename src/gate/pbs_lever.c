// SPDX-License-Identifier: MIT
/* What the rule shall be, and what is done next for it: one call at a time, always by the newest
 * wish. */
#include "gate/pbs_lever.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/pbs_lever_impl.h"

#define FORMER_FIRST_MS (10 * MS_SECOND)
#define FORMER_LOOK_MS 200
#define FORMER_MOST_MS MS_HOUR        /* then a rule on a server that is not configured is left */
#define SAY_AGAIN_MS (10 * MS_MINUTE) /* another trouble of one that goes on */

int64_t pbs_lever_target(const struct pbs_lever *lever, int64_t now_ms)
{
	return pbs_own_rate(lever->want, lever->want_rate, lever->sight.cap, &lever->rest, now_ms);
}

static bool networks_differ(const struct pbs_lever *lever)
{
	const char *networks[PBS_MAX_NETWORKS];
	size_t i, k, n = pbs_lever_networks(lever, networks);

	for (i = 0; i < n; i++) {
		for (k = 0; k < lever->sight.rule.n_networks; k++)
			if (strcmp(networks[i], lever->sight.rule.networks[k]) == 0)
				break;
		if (k == lever->sight.rule.n_networks)
			return true;
	}
	return n != lever->sight.rule.n_networks;
}

/* Its timeframe is renewed at half its time, and where the server's zone has changed. */
static bool renewal_due(const struct pbs_lever *lever, int64_t now_ms)
{
	return now_ms > lever->end_ms - lever->end_span_ms / 2 ||
		(lever->clock_known && lever->offset_s != lever->end_offset_s);
}

bool pbs_lever_differs(const struct pbs_lever *lever, int64_t now_ms)
{
	const struct pbs_sight *sight = &lever->sight;
	int64_t target = pbs_lever_target(lever, now_ms);

	if (sight->found && !sight->ours)
		return false;
	if (!sight->known)
		return target > 0;
	if (!target || !sight->found)
		return sight->found != (target > 0);
	return sight->rule.rate_in != target || networks_differ(lever) ||
		renewal_due(lever, now_ms);
}

/* When to look again, or to change something by itself. */
static int64_t next_time(const struct pbs_lever *lever, int64_t now_ms)
{
	const struct pbs_sight *sight = &lever->sight;
	bool set = sight->found && sight->ours;
	int64_t next = sight->at_ms + (set ? PBS_READ_MS : PBS_PROBE_MS), at;

	if (set && !lever->confirmed)
		next = lever->set_ms + PBS_SOON_MS;
	else if (set && pbs_delay_waits(&lever->delay, now_ms))
		next = sight->at_ms + PBS_SOON_MS;
	if (lever->want == STEER_REST && (at = pbs_rest_next(&lever->rest, now_ms)) < next)
		next = at;
	at = lever->end_ms - lever->end_span_ms / 2 + 1;
	return set && at < next ? at : next;
}

/* The name has another address now, or the address another name: what was set before goes first,
 * where that takes no time. It may be the same server, and has one rule of ours. */
static bool waits_for_former(const struct pbs_lever *lever, int64_t now_ms)
{
	const struct pbs_levers *levers = lever->levers;
	size_t i;

	for (i = 0; !lever->retired && i < levers->n; i++) {
		const struct pbs_lever *former = levers->list[i];

		if (former->gone && !former->told &&
			(strcmp(former->name, lever->name) == 0 ||
				strcmp(former->url, lever->url) == 0) &&
			!pbs_lever_done(former) && now_ms - former->retired_ms < FORMER_FIRST_MS)
			return true;
	}
	return false;
}

/* True where there is nothing to do now, or nothing any more. */
static bool work_is_over(struct pbs_lever *lever, int64_t now_ms)
{
	if (waits_for_former(lever, now_ms)) {
		timer_at(&lever->timer, now_ms + FORMER_LOOK_MS);
		return true;
	}
	if (lever->gone && !lever->gave_up && !pbs_lever_done(lever) &&
		now_ms - lever->retired_ms > FORMER_MOST_MS)
		pbs_lever_left(lever, lever->trouble, true);
	if (!lever->retired || !pbs_lever_done(lever))
		return false;
	timer_off(&lever->timer);
	timer_at(&lever->levers->sweep, 0);
	return true;
}

void pbs_lever_work(struct pbs_lever *lever)
{
	struct remote *remote =
		remotes_find_at(lever->levers->gate->remotes, API_PBS, lever->name, lever->url);
	int64_t now = clock_boot_ms(), next = next_time(lever, now);
	bool differs = pbs_lever_differs(lever, now);

	if (lever->op != PBS_OP_NONE || work_is_over(lever, now))
		return;
	if (lever->sight.known && !differs)
		lever->ordered_ms = 0;
	if (!remote) {
		timer_off(&lever->timer);
	} else if (now < lever->retry_ms) {
		timer_at(&lever->timer, lever->retry_ms);
	} else if (!lever->sight.known || (!differs && now >= next) ||
		(differs &&
			(!lever->sight.changeable || now - lever->sight.at_ms > PBS_FRESH_MS))) {
		pbs_lever_read(lever, remote);
	} else if (pbs_lever_target(lever, now) > 0 &&
		(!lever->clock_known || now - lever->clock_at_ms > PBS_CLOCK_MS)) {
		pbs_lever_clock(lever, remote);
	} else if (differs) {
		pbs_lever_change(lever, remote, now);
	} else {
		timer_at(&lever->timer, next);
	}
	/* A call that could not be started has set when it is tried again. */
	if (remote && lever->op == PBS_OP_NONE && clock_boot_ms() < lever->retry_ms)
		timer_at(&lever->timer, lever->retry_ms);
}

void pbs_lever_trouble(struct pbs_lever *lever, const char *text)
{
	int64_t now = clock_boot_ms();
	bool news = !lever->said_ms || now - lever->said_ms > SAY_AGAIN_MS;

	if (text[0] && news && strncmp(lever->trouble, text, sizeof(lever->trouble) - 1) != 0) {
		log_warning("Lever traffic-control on '%s': %s", lever->target, text);
		lever->said_ms = now;
	} else if (!text[0] && lever->said_ms) {
		log_notice("Lever traffic-control on '%s' works again", lever->target);
		lever->said_ms = 0;
	}
	snprintf(lever->trouble, sizeof(lever->trouble), "%s", text);
}

void pbs_lever_want(struct pbs_lever *lever, enum steer_path path, int64_t rate, const char *why)
{
	if (path == STEER_NONE)
		path = STEER_FREE;
	if (path != STEER_LIMIT)
		rate = 0;
	if (lever->want == path && lever->want_rate == rate)
		return;
	lever->want = path;
	lever->want_rate = rate;
	lever->ordered_ms = clock_boot_ms();
	snprintf(lever->why, sizeof(lever->why), "%s", why ? why : "");
	timer_at(&lever->timer, 0);
}

const char *pbs_lever_target_name(const struct pbs_lever *lever)
{
	return lever->target;
}

/* Also while nothing is asked of it: a server that cannot be used is no lever. */
static void tell_trouble(const struct pbs_lever *lever, char *ret, size_t size)
{
	const struct remote *remote =
		remotes_find_at(lever->levers->gate->remotes, API_PBS, lever->name, lever->url);

	if (lever->told)
		snprintf(ret, size, "our rule there could not be removed yet: %s", lever->trouble);
	else if (lever->retired && !lever->trouble[0])
		snprintf(ret, size, "it is used no more: our rule there is being removed");
	else
		snprintf(ret, size, "%s",
			lever->trouble[0] || !remote ? lever->trouble : remote_trouble(remote));
}

void pbs_lever_state(const struct pbs_lever *lever, struct pbs_lever_state *ret)
{
	const struct pbs_sight *sight = &lever->sight;
	int64_t now = clock_boot_ms(), rate = sight->found && sight->ours ? sight->rule.rate_in : 0;

	*ret = (struct pbs_lever_state){
		.path = pbs_own_path(rate, sight->cap),
		.since_ms = lever->delay.acted_ms ? lever->delay.acted_ms : lever->delay.set_ms,
		.delay_ms = pbs_delay_of(&lever->delay),
		.measured = pbs_delay_measured(&lever->delay),
		.until_ms = sight->found && sight->ours ? lever->end_ms : 0,
		.moved = now - sight->at_ms < PBS_MOVED_MS ? sight->moved : OPT_NONE,
		.usable = lever->usable,
	};
	ret->rate = ret->path == STEER_LIMIT || ret->path == STEER_REST ? rate : 0;
	ret->settled = sight->known && lever->confirmed &&
		rate ==
			pbs_own_rate(
				lever->want, lever->want_rate, sight->cap, &lever->rest, now) &&
		(lever->want != STEER_REST || ret->path == STEER_REST) &&
		pbs_delay_over(&lever->delay, now);
	tell_trouble(lever, ret->trouble, sizeof(ret->trouble));
	snprintf(ret->hidden_by, sizeof(ret->hidden_by), "%s", sight->hidden_by);
}
