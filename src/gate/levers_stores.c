// SPDX-License-Identifier: MIT
/*
 * Which datastores a backup server has: its traffic-control rule slows what is written to each.
 *
 * Asked while the rule is set, at most once an hour. The answer has only those that
 * the token may see.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "gate/levers_impl.h"
#include "gate/remote.h"
#include "proxmox/pbs.h"

#define STORES_MS MS_HOUR
#define SOONER_MS (5 * MS_MINUTE) /* after a failure */

static struct server_part *part_find(struct levers *levers, const char *pbs)
{
	size_t i;

	for (i = 0; i < levers->n_servers; i++)
		if (strcmp(levers->servers[i].pbs, pbs) == 0)
			return &levers->servers[i];
	return NULL;
}

static void on_store(void *data, const char *store)
{
	struct server_part *part = data;

	if (part->n_stores < SERVER_STORES_MAX && strlen(store) < sizeof(part->stores[0]))
		snprintf(part->stores[part->n_stores++], sizeof(part->stores[0]), "%s", store);
}

static void on_stores(void *data, const char *body, size_t len, const struct err *call_err)
{
	struct levers *levers = data;
	struct server_part *part = part_find(levers, levers->stores_of);
	struct err err = call_err ? *call_err : (struct err){0};
	bool ok = false;

	if (part && !call_err) {
		part->n_stores = 0;
		ok = pbs_datastores_read(body, len, on_store, part, &err);
	}
	if (part && !ok) {
		log_info("Which datastores '%s' has is not known: %s", part->pbs, err.text);
		part->stores_ms = levers->now.boot_ms + SOONER_MS;
	}
	levers->stores_of[0] = '\0';
}

static void ask(struct levers *levers, struct server_part *part)
{
	struct remote *remote = remotes_find(levers->gate->remotes, API_PBS, part->pbs);
	struct api_call call = {0};
	struct err err = {0};

	part->stores_ms = levers->now.boot_ms + SOONER_MS;
	if (!remote || !pbs_datastores_get(&call, &err) ||
		!remote_call(remote, &call, false, "list the datastores", on_stores, levers, &err))
		return;
	part->stores_ms = levers->now.boot_ms + STORES_MS;
	snprintf(levers->stores_of, sizeof(levers->stores_of), "%s", part->pbs);
}

void stores_ask(struct levers *levers)
{
	size_t i;

	for (i = 0; levers->gate->remotes && i < levers->n_servers; i++)
		if (!levers->stores_of[0] && levers->servers[i].path > STEER_FREE &&
			levers->now.boot_ms >= levers->servers[i].stores_ms)
			ask(levers, &levers->servers[i]);
}

void stores_forget(struct levers *levers)
{
	if (levers->gate->remotes)
		remotes_forget(levers->gate->remotes, levers);
	levers->stores_of[0] = '\0';
}
