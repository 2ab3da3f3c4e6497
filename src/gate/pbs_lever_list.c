// SPDX-License-Identifier: MIT
/* The list of lever 2's: one for each backup server that may be throttled, and those of servers
 * that are used no more, until their rule is gone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/pbs_lever_impl.h"

static struct pbs_lever *find_at(const struct pbs_levers *levers, const char *pbs, const char *url)
{
	size_t i;

	for (i = 0; levers && i < levers->n; i++)
		if (strcmp(levers->list[i]->name, pbs) == 0 &&
			strcmp(levers->list[i]->url, url) == 0)
			return levers->list[i];
	return NULL;
}

struct pbs_lever *pbs_levers_find(struct pbs_levers *levers, const char *pbs)
{
	size_t i;

	for (i = 0; levers && i < levers->n; i++)
		if (!levers->list[i]->retired && strcmp(levers->list[i]->name, pbs) == 0)
			return levers->list[i];
	return NULL;
}

const struct pbs_lever *pbs_levers_retired(const struct pbs_levers *levers, size_t i)
{
	size_t k;

	for (k = 0; levers && k < levers->n; k++)
		if (levers->list[k]->retired && i-- == 0)
			return levers->list[k];
	return NULL;
}

static bool owes(const struct pbs_lever *lever)
{
	if (lever->gave_up)
		return false;
	return (lever->sight.found && lever->sight.ours) || lever->maybe || lever->recorded ||
		lever->op >= PBS_OP_CREATE;
}

bool pbs_levers_owe(const struct pbs_levers *levers, const char *pbs, const char *url)
{
	const struct pbs_lever *lever = find_at(levers, pbs, url);

	return lever && owes(lever);
}

static void drop(struct pbs_levers *levers, size_t i)
{
	struct pbs_lever *lever = levers->list[i];

	remotes_forget(levers->gate->remotes, lever);
	timer_close(&lever->timer);
	free(lever);
	levers->list[i] = levers->list[--levers->n];
}

/* Those that are done with. Not from within their own callbacks. */
static void on_sweep(void *data)
{
	struct pbs_levers *levers = data;
	size_t i;

	for (i = levers->n; i-- > 0;)
		if (levers->list[i]->retired && pbs_lever_done(levers->list[i]))
			drop(levers, i);
	remotes_sweep(levers->gate->remotes);
}

static void on_timer(void *data)
{
	pbs_lever_work(data);
}

static struct pbs_lever *add(
	struct pbs_levers *levers, const char *name, const char *url, struct err *err)
{
	struct pbs_lever *lever;

	if (levers->n == sizeof(levers->list) / sizeof(levers->list[0])) {
		err_set(err, ERR_LIMIT, "too many servers are still to be put back");
		return NULL;
	}
	lever = calloc(1, sizeof(*lever));
	if (!lever) {
		err_nomem(err);
		return NULL;
	}
	lever->levers = levers;
	lever->want = STEER_FREE;
	snprintf(lever->why, sizeof(lever->why), "left there by an earlier gate");
	snprintf(lever->name, sizeof(lever->name), "%s", name);
	snprintf(lever->target, sizeof(lever->target), "%s", name);
	snprintf(lever->url, sizeof(lever->url), "%s", url);
	if (!timer_open(&lever->timer, levers->gate->loop, on_timer, lever, err)) {
		free(lever);
		return NULL;
	}
	levers->list[levers->n++] = lever;
	pbs_lever_look_up(lever);
	timer_at(&lever->timer, 0);
	return lever;
}

/* One that shall no longer be used is kept until its rule is gone, if its server is still there.
 * `set`: what is configured by its name now, NULL for nothing. */
static void retire(struct pbs_levers *levers, size_t i, const struct pbs_settings *set)
{
	struct pbs_lever *lever = levers->list[i];
	bool here = set && strcmp(set->api.url, lever->url) == 0;

	if (!lever->retired || lever->gone == here) {
		lever->retired_ms = clock_boot_ms();
		lever->retry_ms = 0;
		lever->failures = 0;
		lever->told = false;
		lever->trouble[0] = '\0';
	}
	lever->retired = true;
	lever->gone = !here;
	pbs_lever_want(lever, STEER_FREE, 0,
		here          ? "it shall not be throttled any more"
			: set ? "its address was changed"
			      : "it is no longer configured");
	if (set && !here)
		pbs_lever_moves_out(lever);
	if (owes(lever) &&
		remotes_find_at(levers->gate->remotes, API_PBS, lever->name, lever->url)) {
		timer_at(&lever->timer, 0);
		return;
	}
	if (owes(lever))
		pbs_lever_left(lever, "there are too many servers", true);
	drop(levers, i);
}

/* It is used, or again: token or networks may be others now. */
static void renew(struct pbs_lever *lever)
{
	lever->retired = lever->gone = lever->told = lever->gave_up = false;
	pbs_lever_moves_in(lever);
	lever->retry_ms = 0;
	lever->blind_rates = false;
	timer_at(&lever->timer, 0);
}

static void take_settings(struct pbs_levers *levers)
{
	const struct settings *settings = levers->gate->settings;
	const struct pbs_settings *set;
	struct pbs_lever *lever;
	struct err err = {0};
	size_t i;

	for (i = levers->n; i-- > 0;) {
		lever = levers->list[i];
		set = settings_pbs(settings, lever->name);
		if (set && set->throttle && strcmp(set->api.url, lever->url) == 0)
			renew(lever);
		else
			retire(levers, i, set);
	}
	for (i = 0; i < settings->n_pbs; i++) {
		set = &settings->pbs[i];
		if (set->throttle && !find_at(levers, set->api.name, set->api.url) &&
			!add(levers, set->api.name, set->api.url, &err))
			log_err("There is no lever for '%s': %s", set->api.name, err.text);
	}
}

/* What the record has of a server that is configured: where no lever is set up for it by
 * now it is put back all the same. */
static void take_left(struct pbs_levers *levers, const struct pbs_settings *set)
{
	struct pbs_lever *lever = find_at(levers, set->api.name, set->api.url);
	struct err err = {0};

	if (lever) {
		lever->recorded = true;
		return;
	}
	lever = add(levers, set->api.name, set->api.url, &err);
	if (lever)
		lever->retired = true;
	else
		log_err("What is left on '%s' is not put back now: %s", set->api.name, err.text);
}

void pbs_levers_settings(struct pbs_levers *levers)
{
	take_settings(levers);
	pbs_levers_sort_out(levers, false, take_left);
	timer_at(&levers->sweep, 0);
}

bool pbs_levers_open(struct gate *gate, struct pbs_levers **ret, struct err *err)
{
	struct pbs_levers *levers = calloc(1, sizeof(*levers));

	if (!levers)
		return err_nomem(err);
	levers->gate = gate;
	if (!timer_open(&levers->sweep, gate->loop, on_sweep, levers, err)) {
		free(levers);
		return false;
	}
	if (gate->settings) {
		take_settings(levers);
		pbs_levers_sort_out(levers, true, take_left);
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
		struct remote *remote =
			remotes_find_at(levers->gate->remotes, API_PBS, lever->name, lever->url);
		bool there = lever->sight.found || owes(lever);

		remotes_forget(levers->gate->remotes, lever);
		snprintf(lever->why, sizeof(lever->why), "the gate ends");
		if (there && remote)
			pbs_lever_delete_now(lever, remote, until);
		drop(levers, levers->n - 1);
	}
	timer_close(&levers->sweep);
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
	pbs_levers_give_up_left(levers);
}
