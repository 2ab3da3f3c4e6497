// SPDX-License-Identifier: MIT
/* What the levers need: the APIs of Proxmox VE and Proxmox Backup Server, and what may be moved on
 * a NAS itself. */
#include <stdio.h>
#include <string.h>

#include "conf/checks.h"
#include "conf/settings_keys.h"
#include "conf/settings_read.h"

/* 32 bytes in hex with a colon between each two, and room for what is too long. */
#define FINGERPRINT_BYTES 32
#define FINGERPRINT_TEXT_MAX 128

void settings_levers(struct nas_settings *nas, struct node group, struct conf_errors *errors)
{
	struct nas_lever_settings *levers = &nas->levers;

	if (!group.set)
		return;
	levers->set = true;
	if (!settings_group(&keys_levers, levers, group, "'levers'", errors))
		return;
	if (nas->via == SETTINGS_VIA_LOCAL)
		node_error(group, errors,
			"'levers' needs via = \"ssh\": they are moved by a second key; this "
			"machine can be reached so as well, with host = \"127.0.0.1\"");
	else if (strcmp(levers->key_file, nas->key_file) == 0)
		node_error(group, errors,
			"'levers' needs a key_file of its own: what a key may do on the NAS is "
			"said with the key there, and '%s' may only look",
			nas->key_file);
	if (!levers->floor && !levers->stripe_cache && !levers->pause_check)
		node_error(group, errors,
			"'levers' has no effect: floor, stripe_cache and pause_check are all "
			"false; leave it out");
	else if (levers->stripe_cache && !levers->floor)
		node_error(group, errors,
			"'stripe_cache' has no effect without floor: a larger cache alone leaves a "
			"rebuild no more of its pace; set floor = true, or leave stripe_cache out");
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool fingerprint_parse(const char *text, uint8_t ret[FINGERPRINT_BYTES])
{
	size_t i;

	if (strlen(text) != (size_t)FINGERPRINT_BYTES * 3 - 1)
		return false;
	for (i = 0; i < FINGERPRINT_BYTES; i++, text += 3) {
		int high = hex_digit(text[0]), low = hex_digit(text[1]);

		if (high < 0 || low < 0 || (text[2] && text[2] != ':'))
			return false;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static bool list_empty(struct node list)
{
	return node_type(list) == NODE_LIST && !node_count(list);
}

static void read_fingerprints(
	struct api_settings *api, struct node group, struct conf_errors *errors)
{
	char texts[SETTINGS_MAX_FINGERPRINTS][FINGERPRINT_TEXT_MAX] = {{0}};
	struct node list = node_member(group, "fingerprints");
	int n, i;

	if (!list.set)
		return;
	if (list_empty(list)) {
		node_error(list, errors, "'fingerprints' is empty; leave it out");
		return;
	}
	n = schema_texts(list, texts[0], sizeof(texts[0]), SETTINGS_MAX_FINGERPRINTS, errors);
	for (i = 0; i < n; i++) {
		if (!fingerprint_parse(texts[i], api->fingerprints[i]))
			node_error(list, errors,
				"fingerprints: '%.100s' is not the SHA-256 of a certificate, 32 "
				"bytes in hex with ':' between them",
				texts[i]);
	}
	api->n_fingerprints = n > 0 ? (size_t)n : 0;
	if (api->ca_file[0])
		node_error(node_member(group, "ca_file"), errors,
			"'ca_file' and 'fingerprints' are two ways to know the same certificate; "
			"leave one of them out");
}

/* The part that both kinds have: `schema` is of what is the kind's own, at `own`. */
static void read_api(struct api_settings *api, const struct schema *schema, void *own,
	struct node group, const char *what, struct conf_errors *errors)
{
	struct schema_part parts[] = {{&keys_api, api, 0}, {schema, own, 0}};

	schema_defaults(&keys_api, api);
	schema_defaults(schema, own);
	schema_read(parts, 2, group, what, NULL, errors);
	read_fingerprints(api, group, errors);
}

static void read_pve(struct settings *set, struct node list, struct conf_errors *errors)
{
	size_t n = settings_groups(list, set->n_pve, SETTINGS_MAX_PVE, errors), i;

	for (i = 0; i < n; i++) {
		struct pve_settings *pve = &set->pve[set->n_pve];
		struct node group = node_at(list, i);

		memset(pve, 0, sizeof(*pve));
		read_api(&pve->api, &keys_pve, pve, group, "an entry of 'pve'", errors);
		if (pve->api.name[0] && settings_pve(set, pve->api.name))
			node_error(node_member(group, "name"), errors,
				"an entry of 'pve' called '%s' is configured already; names are "
				"unique",
				pve->api.name);
		set->n_pve++;
	}
}

static void read_networks(struct pbs_settings *pbs, struct node group, struct conf_errors *errors)
{
	struct node list = node_member(group, "networks");
	struct err err = {0};
	int n, i;

	if (!list.set)
		return;
	if (list_empty(list)) {
		node_error(list, errors, "'networks' is empty; leave it out for all of them");
		return;
	}
	if (!pbs->throttle)
		node_error(list, errors,
			"'networks' has no effect with throttle = false; leave one of them out");
	n = schema_texts(
		list, pbs->networks[0], SETTINGS_NETWORK_MAX, SETTINGS_MAX_NETWORKS, errors);
	for (i = 0; i < n; i++) {
		if (!check_network(pbs->networks[i], &err))
			node_error(list, errors, "networks: %s", err.text);
	}
	pbs->n_networks = n > 0 ? (size_t)n : 0;
}

static void read_pbs(struct settings *set, struct node list, struct conf_errors *errors)
{
	size_t n = settings_groups(list, set->n_pbs, SETTINGS_MAX_PBS, errors), i;

	for (i = 0; i < n; i++) {
		struct pbs_settings *pbs = &set->pbs[set->n_pbs];
		struct node group = node_at(list, i);

		memset(pbs, 0, sizeof(*pbs));
		read_api(&pbs->api, &keys_pbs, pbs, group, "an entry of 'pbs'", errors);
		read_networks(pbs, group, errors);
		if (pbs->api.name[0] && settings_pbs(set, pbs->api.name))
			node_error(node_member(group, "name"), errors,
				"an entry of 'pbs' called '%s' is configured already; names are "
				"unique",
				pbs->api.name);
		set->n_pbs++;
	}
}

void settings_servers(struct settings *set, struct node root, struct conf_errors *errors)
{
	read_pve(set, node_member(root, "pve"), errors);
	read_pbs(set, node_member(root, "pbs"), errors);
}

static void storage_server(const struct storage_settings *storage, const char *kind,
	const char *name, bool found, const char *file, struct conf_errors *errors)
{
	if (name[0] && !found)
		conf_error_add(errors, file, 0,
			"storage '%s' names the server %s = \"%s\", which is not configured; add "
			"it to %s = ( ... )",
			storage->name, kind, name, kind);
}

void settings_storage_servers(struct settings *set, const char *file, struct conf_errors *errors)
{
	size_t i;

	for (i = 0; i < set->n_storages; i++) {
		struct storage_settings *storage = &set->storages[i];

		storage_server(storage, "pbs", storage->pbs, settings_pbs(set, storage->pbs), file,
			errors);
		storage_server(storage, "pve", storage->pve, settings_pve(set, storage->pve), file,
			errors);
		if (!storage->pve[0] && set->n_pve == 1)
			snprintf(storage->pve, sizeof(storage->pve), "%s", set->pve[0].api.name);
		if (!storage->pbs[0] || storage->datastore[0])
			continue;
		if (strlen(storage->name) >= sizeof(storage->datastore))
			conf_error_add(errors, file, 0,
				"storage '%s' needs 'datastore': its own name is too long for that "
				"of one",
				storage->name);
		else
			memcpy(storage->datastore, storage->name, strlen(storage->name) + 1);
	}
}
