// SPDX-License-Identifier: MIT
/* What the server's rules say about ours. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate/pbs_lever_impl.h"

/* Longer prefixes than a rule for all has, and together just as much. */
static const char *const all[] = {"0.0.0.0/0", "::/0"};
static const char *const halves[] = {"0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1"};

static size_t networks_of(
	const struct pbs_lever *lever, bool tie, const char *ret[PBS_MAX_NETWORKS])
{
	const struct pbs_settings *set = settings_pbs(lever->levers->gate->settings, lever->name);
	const char *const *list = tie ? halves : all;
	size_t i, n = tie ? 4 : 2;

	if (set && set->n_networks) {
		for (i = 0; i < set->n_networks && i < SETTINGS_MAX_NETWORKS; i++)
			ret[i] = set->networks[i];
		return i;
	}
	for (i = 0; i < n; i++)
		ret[i] = list[i];
	return n;
}

size_t pbs_lever_networks(const struct pbs_lever *lever, const char *ret[PBS_MAX_NETWORKS])
{
	return networks_of(lever, lever->sight.tie, ret);
}

struct sighting {
	struct pbs_lever *lever;
	struct pbs_sight *sight;
	char name[PBS_RULE_NAME_MAX];
	size_t n; /* networks that ours has, or will have */
	const char *networks[PBS_MAX_NETWORKS];
};

static void on_rule(void *data, const struct pbs_rule *rule)
{
	struct sighting *at = data;
	struct pbs_sight *sight = at->sight;

	if (strcmp(rule->name, at->name) == 0) {
		sight->found = true;
		sight->ours = pbs_own_is(at->lever->levers->gate->settings->node, rule);
		sight->rule = *rule;
		sight->moved = rule->cur_rate_in;
		return;
	}
	if (pbs_rule_for_all(rule)) {
		sight->tie = true;
		if (rule->rate_in > 0 && (!sight->cap || rule->rate_in < sight->cap))
			sight->cap = rule->rate_in;
	}
}

static void on_other(void *data, const struct pbs_rule *rule)
{
	struct sighting *at = data;
	char *by = at->sight->hidden_by;

	if (!by[0] && strcmp(rule->name, at->name) != 0 && !pbs_own_any(rule) &&
		pbs_rule_hides(rule, at->networks, at->n))
		snprintf(by, sizeof(at->sight->hidden_by), "%s", rule->name);
}

/* The list's digest, for a change that must not overwrite another's. */
static void read_digest(const char *body, size_t len, char ret[65])
{
	json_t *value = json_read(body, len, NULL);
	const char *digest = NULL;

	if (json_is_object(value) && json_may_text(value, "digest", &digest, NULL) && digest &&
		strlen(digest) < 65 && strspn(digest, "0123456789abcdef") == strlen(digest))
		snprintf(ret, 65, "%s", digest);
	json_decref(value);
}

bool pbs_sight_read(struct pbs_lever *lever, const char *body, size_t len, int64_t now_ms,
	struct pbs_sight *ret, struct err *err)
{
	struct sighting at = {.lever = lever, .sight = ret};

	*ret = (struct pbs_sight){.known = true, .at_ms = now_ms, .changeable = true};
	pbs_own_name(lever->levers->gate->settings->node, at.name);
	if (!pbs_rules_read(body, len, on_rule, &at, err))
		return false;
	at.n = networks_of(lever, ret->tie, at.networks);
	if (!pbs_rules_read(body, len, on_other, &at, err))
		return false;
	read_digest(body, len, ret->digest);
	return true;
}

void pbs_rule_text(const struct pbs_rule *rule, const char *url, char *ret, size_t size)
{
	json_t *object = json_object(), *networks = json_array();
	char *text = NULL;
	size_t i;

	for (i = 0; networks && i < rule->n_networks; i++)
		json_array_append_new(networks, json_string(rule->networks[i]));
	if (json_put_int(object, "rate-in", rule->rate_in) &&
		json_put(object, "network", networks) &&
		json_put_text(object, "timeframe", rule->timeframe) &&
		json_put_text(object, "url", url))
		text = json_text(object, 0);
	snprintf(ret, size, "%s", text ? text : "a rule");
	free(text);
	json_decref(object);
}
