// SPDX-License-Identifier: MIT
/*
 * Where the record says that a rule of ours is, and what becomes of one on a server that is
 * configured no more, or with another address.
 *
 * A rule acts again each week at its time until it is deleted. So the record tells its server's
 * address; one at another address than the name has now stands in it as "NAME at URL", never as
 * NAME. It is deleted with the address and token that it was made with, which only the gate knows
 * that made it: after a restart one that is left is told, and put back when its address is
 * configured again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "gate/levers.h"
#include "gate/pbs_lever_impl.h"

#define LEVER "traffic-control"
#define LEFT_MAX 32

static void target_at(const char *name, const char *url, char ret[PBS_TARGET_MAX])
{
	snprintf(ret, PBS_TARGET_MAX, "%.63s at %.90s", name, url);
}

/* The address in what the record says of a rule, "" where it says none. */
static void url_of(const char *after, char ret[SETTINGS_URL_MAX])
{
	json_t *rule = *after == '{' ? json_read(after, strlen(after), NULL) : NULL;

	ret[0] = '\0';
	if (json_is_object(rule) && !json_may_copy(rule, "url", ret, SETTINGS_URL_MAX, NULL))
		ret[0] = '\0';
	json_decref(rule);
}

/* It is as it was before us, or not; before the rule is made or after it is gone. */
bool pbs_lever_record(struct pbs_lever *lever, const char *after, bool put_back)
{
	if (!levers_record(lever->levers->gate, 0, LEVER, lever->target, "none", after,
		    lever->why[0] ? lever->why : NULL, put_back))
		return false;
	lever->recorded = !put_back;
	return true;
}

static void on_moved(void *data, const struct store_lever *action)
{
	struct pbs_lever *lever = data;
	char url[SETTINGS_URL_MAX];

	if (strcmp(action->lever, LEVER) != 0 || strcmp(action->target, lever->target) != 0)
		return;
	url_of(action->after, url);
	if (!url[0] || strcmp(url, lever->url) == 0)
		lever->recorded = true;
}

bool pbs_lever_look_up(struct pbs_lever *lever)
{
	struct err err = {0};

	if (!lever->looked_up)
		lever->looked_up =
			store_levers_moved(lever->levers->gate->store, on_moved, lever, &err);
	return lever->looked_up;
}

/* The record has it as `to` from now on, not as `from`. */
static void rename_row(
	struct gate *gate, const char *from, const char *to, const char *after, const char *why)
{
	levers_record(gate, 0, LEVER, to, "none", after, why, false);
	levers_record(gate, 0, LEVER, from, "none", "none", why, true);
}

void pbs_lever_moves_out(struct pbs_lever *lever)
{
	char target[PBS_TARGET_MAX], after[PBS_TEXT_MAX], why[300];

	target_at(lever->name, lever->url, target);
	if (strcmp(target, lever->target) == 0)
		return;
	snprintf(why, sizeof(why),
		"the address of '%s' was changed: our rule is at the former one, to be removed",
		lever->name);
	pbs_rule_text(&lever->sight.rule, lever->url, after, sizeof(after));
	if (lever->recorded)
		rename_row(lever->levers->gate, lever->target, target, after, why);
	memcpy(lever->target, target, sizeof(target));
}

void pbs_lever_moves_in(struct pbs_lever *lever)
{
	char after[PBS_TEXT_MAX];

	if (strcmp(lever->target, lever->name) == 0)
		return;
	pbs_rule_text(&lever->sight.rule, lever->url, after, sizeof(after));
	if (lever->recorded)
		rename_row(lever->levers->gate, lever->target, lever->name, after,
			"that address is configured again");
	snprintf(lever->target, sizeof(lever->target), "%s", lever->name);
}

void pbs_lever_left(struct pbs_lever *lever, const char *reason, bool finally)
{
	char after[PBS_TEXT_MAX + 16], text[PBS_TEXT_MAX];

	lever->told = true;
	lever->gave_up = finally;
	if (reason != lever->trouble)
		snprintf(lever->trouble, sizeof(lever->trouble), "%s", reason);
	snprintf(text, sizeof(text),
		"Our traffic-control rule on '%s' could not be removed%s: %s. %s it acts again "
		"each week at its time, until it is deleted there by hand or that address is "
		"configured again",
		lever->target, finally ? "" : " yet", reason,
		finally ? "It is not tried any more:" : "It is tried for an hour; if it stays,");
	if (finally)
		log_err("%s", text);
	else
		log_warning("%s", text);
	/* As another setting than the rule: rows of the same one are few. */
	snprintf(after, sizeof(after), "{\"left\":true,");
	pbs_rule_text(&lever->sight.rule, lever->url, text, sizeof(text));
	if (text[0] == '{')
		snprintf(after + strlen(after), sizeof(after) - strlen(after), "%s", text + 1);
	else
		snprintf(after, sizeof(after), "left there");
	snprintf(text, sizeof(text),
		"it could not be removed%s: %.150s; it acts again each week at its time",
		finally ? "" : " yet", reason);
	levers_record(lever->levers->gate, 0, LEVER, lever->target, "none", after, text, false);
}

bool pbs_lever_done(const struct pbs_lever *lever)
{
	const struct pbs_sight *sight = &lever->sight;

	if (lever->op != PBS_OP_NONE)
		return false;
	return lever->gave_up || (sight->known && !lever->maybe && !(sight->found && sight->ours));
}

/* What the record has of moved rules. */
struct left {
	size_t n;
	struct {
		char target[PBS_TARGET_MAX], after[PBS_TEXT_MAX];
	} list[LEFT_MAX];
};

static void on_left(void *data, const struct store_lever *action)
{
	struct left *left = data;

	if (strcmp(action->lever, LEVER) != 0 || left->n == LEFT_MAX)
		return;
	snprintf(left->list[left->n].target, PBS_TARGET_MAX, "%s", action->target);
	snprintf(left->list[left->n].after, PBS_TEXT_MAX, "%s", action->after);
	left->n++;
}

/* The server that this target is now; NULL: none that is configured. The record is set right where
 * it has the name for another address, or the address for one that has its name again. */
static const struct pbs_settings *sort_out(
	struct pbs_levers *levers, char target[PBS_TARGET_MAX], const char *after)
{
	const struct settings *settings = levers->gate->settings;
	const struct pbs_settings *set = settings_pbs(settings, target);
	char url[SETTINGS_URL_MAX], other[PBS_TARGET_MAX];
	size_t i;

	url_of(after, url);
	if (set && url[0] && strcmp(url, set->api.url) != 0) {
		target_at(set->api.name, url, other);
		rename_row(levers->gate, target, other, after,
			"its address was changed while no gate ran: our rule is at the former one");
		memcpy(target, other, sizeof(other));
		set = NULL;
	}
	if (set)
		return set;
	for (i = 0; i < settings->n_pbs; i++) {
		const char *name = settings->pbs[i].api.name;

		target_at(name, settings->pbs[i].api.url, other);
		if (strcmp(target, other) != 0)
			continue;
		rename_row(levers->gate, target, name, after, "that address is configured again");
		return &settings->pbs[i];
	}
	return NULL;
}

void pbs_levers_sort_out(struct pbs_levers *levers, bool at_start,
	void (*each)(struct pbs_levers *levers, const struct pbs_settings *set))
{
	struct left *left = calloc(1, sizeof(*left));
	const struct pbs_settings *set;
	struct err unread = {0}; /* is told by others */
	size_t i;

	if (left)
		store_levers_moved(levers->gate->store, on_left, left, &unread);
	for (i = 0; left && i < left->n; i++) {
		char *target = left->list[i].target;

		set = sort_out(levers, target, left->list[i].after);
		if (set)
			each(levers, set);
		else if (at_start)
			log_err("The record says that our traffic-control rule is on '%s', which "
				"is not configured any more: it acts again each week at its time, "
				"until it is deleted there by hand (then `rebuildgate levers "
				"reset` "
				"ends this) or '%s' is configured again",
				target, target);
	}
	free(left);
}

void pbs_levers_give_up_left(struct pbs_levers *levers)
{
	struct left *left = calloc(1, sizeof(*left));
	struct err unread = {0}; /* is told by others */
	size_t i, k;

	if (left)
		store_levers_moved(levers->gate->store, on_left, left, &unread);
	for (i = 0; left && i < left->n; i++) {
		const char *target = left->list[i].target;

		for (k = 0; k < levers->n; k++)
			if (strcmp(levers->list[k]->target, target) == 0)
				break;
		if (k == levers->n)
			levers_record(levers->gate, 0, LEVER, target, "none", "none",
				"levers were reset while that address was not configured: taken as "
				"deleted there by hand",
				true);
	}
	free(left);
}
