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

void pbs_lever_work(struct pbs_lever *lever)
{
	struct remote *remote = remotes_find(lever->levers->gate->remotes, API_PBS, lever->name);
	int64_t now = clock_boot_ms(), next = next_time(lever, now);
	bool differs = pbs_lever_differs(lever, now);

	if (lever->op != PBS_OP_NONE)
		return;
	if (lever->sight.known && !differs)
		lever->ordered_ms = 0;
	if (!remote || (lever->retired && lever->sight.known && !lever->sight.found)) {
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
		log_warning("Lever traffic-control on '%s': %s", lever->name, text);
		lever->said_ms = now;
	} else if (!text[0] && lever->said_ms) {
		log_notice("Lever traffic-control on '%s' works again", lever->name);
		lever->said_ms = 0;
	}
	snprintf(lever->trouble, sizeof(lever->trouble), "%s", text);
}

static void on_timer(void *data)
{
	pbs_lever_work(data);
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
	snprintf(ret->trouble, sizeof(ret->trouble), "%s", lever->trouble);
	snprintf(ret->hidden_by, sizeof(ret->hidden_by), "%s", sight->hidden_by);
}

static struct pbs_lever *find(const struct pbs_levers *levers, const char *pbs)
{
	size_t i;

	for (i = 0; levers && i < levers->n; i++)
		if (strcmp(levers->list[i]->name, pbs) == 0)
			return levers->list[i];
	return NULL;
}

struct pbs_lever *pbs_levers_find(struct pbs_levers *levers, const char *pbs)
{
	struct pbs_lever *lever = find(levers, pbs);

	return lever && !lever->retired ? lever : NULL;
}

bool pbs_levers_owe(const struct pbs_levers *levers, const char *pbs)
{
	const struct pbs_lever *lever = find(levers, pbs);

	return lever &&
		((lever->sight.found && lever->sight.ours) || lever->maybe ||
			lever->op >= PBS_OP_CREATE);
}

static void drop(struct pbs_levers *levers, size_t i)
{
	struct pbs_lever *lever = levers->list[i];

	remotes_forget(levers->gate->remotes, lever);
	timer_close(&lever->timer);
	free(lever);
	levers->list[i] = levers->list[--levers->n];
}

static bool add(struct pbs_levers *levers, const char *name, struct err *err)
{
	struct pbs_lever *lever = calloc(1, sizeof(*lever));

	if (!lever)
		return err_nomem(err);
	lever->levers = levers;
	lever->want = STEER_FREE;
	snprintf(lever->why, sizeof(lever->why), "left there by an earlier gate");
	snprintf(lever->name, sizeof(lever->name), "%s", name);
	if (!timer_open(&lever->timer, levers->gate->loop, on_timer, lever, err)) {
		free(lever);
		return false;
	}
	levers->list[levers->n++] = lever;
	timer_at(&lever->timer, 0);
	return true;
}

/* One that shall no longer be used is kept until its rule is gone, if its server is still there. */
static void retire(struct pbs_levers *levers, size_t i)
{
	struct pbs_lever *lever = levers->list[i];
	bool server = remotes_find(levers->gate->remotes, API_PBS, lever->name);

	lever->retired = true;
	pbs_lever_want(lever, STEER_FREE, 0, "it is no longer configured");
	if (server && (lever->sight.found || lever->maybe || lever->op != PBS_OP_NONE))
		return;
	if (lever->sight.found)
		log_warning("'%s' is no longer configured: our traffic-control rule there acts "
			    "again each week at its time, until it is deleted",
			lever->name);
	drop(levers, i);
}

void pbs_levers_settings(struct pbs_levers *levers)
{
	const struct settings *settings = levers->gate->settings;
	const struct pbs_settings *set;
	struct pbs_lever *lever;
	struct err err = {0};
	size_t i;

	for (i = levers->n; i-- > 0;) {
		set = settings_pbs(settings, levers->list[i]->name);
		if (!set || !set->throttle)
			retire(levers, i);
	}
	for (i = 0; i < settings->n_pbs; i++) {
		set = &settings->pbs[i];
		if (!set->throttle)
			continue;
		lever = find(levers, set->api.name);
		if (lever) {
			lever->retired = false;
			lever->retry_ms = 0; /* token, address or networks may be others now */
			lever->blind_rates = false;
			timer_at(&lever->timer, 0);
		} else if (levers->n == SETTINGS_MAX_PBS * 2 || !add(levers, set->api.name, &err)) {
			log_err("There is no lever for '%s': %s", set->api.name, err.text);
		}
	}
}

/* What an earlier gate left where no lever is set up by now: it is put back where the server is
 * still known. */
static void take_moved(void *data, const struct store_lever *action)
{
	struct pbs_levers *levers = data;
	struct err err = {0};

	if (strcmp(action->lever, "traffic-control") != 0 || find(levers, action->target))
		return;
	if (!settings_pbs(levers->gate->settings, action->target))
		log_err("The record says that our traffic-control rule is on '%s', which is not "
			"configured any more: it acts again each week at its time, until it is "
			"deleted there by hand or '%s' is configured again",
			action->target, action->target);
	else if (levers->n < SETTINGS_MAX_PBS * 2 && add(levers, action->target, &err))
		levers->list[levers->n - 1]->retired = true;
}

bool pbs_levers_open(struct gate *gate, struct pbs_levers **ret, struct err *err)
{
	struct err unread = {0}; /* is told by others */
	struct pbs_levers *levers = calloc(1, sizeof(*levers));

	if (!levers)
		return err_nomem(err);
	levers->gate = gate;
	if (gate->settings) {
		pbs_levers_settings(levers);
		store_levers_moved(gate->store, take_moved, levers, &unread);
	}
	*ret = levers;
	return true;
}

void pbs_levers_close(struct pbs_levers *levers, int64_t deadline_ms)
{
	int64_t until = clock_boot_ms() + deadline_ms;

	if (!levers)
		return;
	while (levers->n) {
		struct pbs_lever *lever = levers->list[levers->n - 1];
		struct remote *remote = remotes_find(levers->gate->remotes, API_PBS, lever->name);
		bool there = lever->sight.found || lever->maybe;

		remotes_forget(levers->gate->remotes, lever);
		snprintf(lever->why, sizeof(lever->why), "the gate ends");
		if (there && remote)
			pbs_lever_delete_now(lever, remote, until);
		drop(levers, levers->n - 1);
	}
	free(levers);
}

void pbs_levers_reset(struct pbs_levers *levers)
{
	size_t i;

	for (i = 0; i < levers->n; i++) {
		struct pbs_lever *lever = levers->list[i];

		pbs_lever_want(lever, STEER_FREE, 0, "all levers are put back");
		lever->retry_ms = 0;
		lever->failures = 0;
		lever->sight.known = false;
		timer_at(&lever->timer, 0);
	}
}
