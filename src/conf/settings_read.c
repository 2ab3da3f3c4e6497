// SPDX-License-Identifier: MIT
#include "conf/settings_read.h"

#include <stdio.h>
#include <string.h>

#include "conf/checks.h"
#include "conf/nearest.h"
#include "conf/settings_keys.h"

static const struct {
	enum notify_event event;
	const char *word;
} events[] = {
	{NOTIFY_HOLD, "hold"},
	{NOTIFY_RELEASED, "released"},
	{NOTIFY_EXPIRED, "expired"},
	{NOTIFY_DENIED, "denied"},
	{NOTIFY_LOST, "lost"},
	{NOTIFY_BLIND, "blind"},
	{NOTIFY_SEES, "sees"},
	{NOTIFY_RULE, "rule"},
	{NOTIFY_RECORD, "record"},
	{NOTIFY_UNGATED, "ungated"},
	{NOTIFY_STOPPED, "stopped"},
	{NOTIFY_KEEPER, "keeper"},
};

#define N_EVENTS (sizeof(events) / sizeof(events[0]))

const char *notify_event_word(enum notify_event event)
{
	size_t i;

	for (i = 0; i < N_EVENTS; i++) {
		if (events[i].event == event)
			return events[i].word;
	}
	return NULL;
}

size_t settings_groups(struct node list, size_t have, size_t max, struct conf_errors *errors)
{
	size_t n = node_count(list), i;

	if (!list.set)
		return 0;
	if (node_type(list) != NODE_LIST) {
		node_error(list, errors, "'%s' is a list of groups, %s = ( { ... } ), not %s",
			node_name(list), node_name(list), node_type_name(list));
		return 0;
	}
	if (have + n > max) {
		node_error(list, errors, "%zu entries stand in '%s'; %zu are the most", have + n,
			node_name(list), max);
		return 0;
	}
	for (i = 0; i < n; i++) {
		if (node_type(node_at(list, i)) == NODE_GROUP)
			continue;
		node_error(node_at(list, i), errors, "'%s' lists groups { }, not %s",
			node_name(list), node_type_name(node_at(list, i)));
		return 0;
	}
	return n;
}

bool settings_group(const struct schema *schema, void *base, struct node group, const char *what,
	struct conf_errors *errors)
{
	struct schema_part part = {schema, base, 0};

	schema_defaults(schema, base);
	return schema_read(&part, 1, group, what, NULL, errors);
}

static void read_roles(struct nas_settings *nas, struct node list, struct conf_errors *errors)
{
	size_t n = settings_groups(list, 0, SETTINGS_MAX_ROLES, errors), i, k;

	for (i = 0; i < n; i++) {
		struct role_settings *role = &nas->roles[i];

		if (!settings_group(
			    &keys_role, role, node_at(list, i), "an entry of 'roles'", errors))
			continue;
		for (k = 0; k < i; k++) {
			if (strcmp(nas->roles[k].array, role->array) == 0)
				node_error(node_at(list, i), errors,
					"array '%s' has a role already", role->array);
		}
	}
	nas->n_roles = n;
}

/* `root` is for local ones, all that has to do with SSH for the others. */
static void check_via(const struct nas_settings *nas, struct node group, struct conf_errors *errors)
{
	static const char *const ssh_only[] = {"host", "port", "user", "key_file", "known_hosts"};
	size_t i;

	if (nas->via == SETTINGS_VIA_SSH && !nas->host[0])
		node_error(group, errors,
			"NAS '%s' needs 'host', its name or address, to be looked at by SSH; this "
			"machine itself is via = \"local\"",
			nas->name);
	if (nas->via == SETTINGS_VIA_SSH && nas->root[0])
		node_error(node_member(group, "root"), errors,
			"'root' has an effect with via = \"local\" only");
	for (i = 0; nas->via == SETTINGS_VIA_LOCAL && i < 5; i++) {
		if (node_member(group, ssh_only[i]).set)
			node_error(node_member(group, ssh_only[i]), errors,
				"'%s' has an effect with via = \"ssh\" only", ssh_only[i]);
	}
}

static void read_nas(struct settings *set, struct node list, struct conf_errors *errors)
{
	size_t n = settings_groups(list, set->n_nas, SETTINGS_MAX_NAS, errors), i;

	for (i = 0; i < n; i++) {
		struct nas_settings *nas = &set->nas[set->n_nas];
		struct node group = node_at(list, i);

		memset(nas, 0, sizeof(*nas));
		if (settings_group(&keys_nas, nas, group, "a NAS", errors))
			check_via(nas, group, errors);
		read_roles(nas, node_member(group, "roles"), errors);
		settings_levers(nas, node_member(group, "levers"), errors);
		if (nas->name[0] && settings_nas(set, nas->name))
			node_error(node_member(group, "name"), errors,
				"a NAS called '%s' is configured already; names are unique",
				nas->name);
		set->n_nas++;
	}
}

static void read_arrays(struct mapping *mapping, struct node group, struct conf_errors *errors)
{
	struct node list = node_member(group, "arrays");
	struct err err = {0};
	int n, i;

	if (!list.set)
		return;
	if (node_type(list) == NODE_LIST && !node_count(list)) {
		node_error(list, errors,
			"'arrays' is empty; leave it out for all data arrays of the NAS");
		return;
	}
	n = schema_texts(list, mapping->arrays[0], MD_NAME_MAX, MAPPING_MAX_ARRAYS, errors);
	for (i = 0; i < n; i++) {
		if (!check_label(mapping->arrays[i], &err))
			node_error(list, errors, "arrays: %s", err.text);
	}
	mapping->n_arrays = n > 0 ? (size_t)n : 0;
}

static void read_storages(struct settings *set, struct node list, struct conf_errors *errors)
{
	size_t n = settings_groups(list, set->n_storages, SETTINGS_MAX_STORAGES, errors), i, k;

	for (i = 0; i < n; i++) {
		struct storage_settings *storage = &set->storages[set->n_storages];
		struct node group = node_at(list, i);

		memset(storage, 0, sizeof(*storage));
		settings_group(&keys_storage, storage, group, "a storage", errors);
		read_arrays(&storage->mapping, group, errors);
		if (storage->datastore[0] && !storage->pbs[0])
			node_error(node_member(group, "datastore"), errors,
				"'datastore' has an effect together with 'pbs' only, the backup "
				"server that it is on");
		for (k = 0; k < set->n_storages && storage->name[0]; k++) {
			if (strcmp(set->storages[k].name, storage->name) == 0)
				node_error(node_member(group, "name"), errors,
					"a storage called '%s' is configured already; names are "
					"unique",
					storage->name);
		}
		set->n_storages++;
	}
}

static unsigned int event_bit(struct node node, struct conf_errors *errors)
{
	struct nearest nearest = {.wrong = ""};
	size_t i;

	if (node_type(node) == NODE_TEXT)
		nearest.wrong = node_text(node);
	for (i = 0; i < N_EVENTS; i++) {
		if (strcmp(events[i].word, nearest.wrong) == 0)
			return events[i].event;
		nearest_offer(&nearest, events[i].word);
	}
	node_error(node, errors,
		"events: there is no \"%.40s\"%s%s%s; it is one of hold, released, expired, "
		"denied, "
		"lost, blind, sees, rule, record, ungated, stopped, keeper",
		nearest.wrong, nearest.best ? " (did you mean \"" : "",
		nearest.best ? nearest.best : "", nearest.best ? "\"?)" : "");
	return 0;
}

static unsigned int read_events(struct node group, struct conf_errors *errors)
{
	struct node list = node_member(group, "events");
	unsigned int set = 0;
	size_t i;

	if (!list.set)
		return NOTIFY_SHIPPED;
	if (node_type(list) != NODE_LIST || !node_count(list)) {
		node_error(list, errors,
			"'events' is a list of words: events = [\"hold\", "
			"\"expired\"]; leave it out for the usual ones");
		return 0;
	}
	for (i = 0; i < node_count(list); i++)
		set |= event_bit(node_at(list, i), errors);
	return set;
}

static void read_webhooks(
	struct notify_settings *notify, struct node list, struct conf_errors *errors)
{
	size_t n = settings_groups(list, notify->n_webhooks, SETTINGS_MAX_WEBHOOKS, errors), i;

	for (i = 0; i < n; i++) {
		struct webhook_settings *hook = &notify->webhooks[notify->n_webhooks++];

		memset(hook, 0, sizeof(*hook));
		settings_group(&keys_webhook, hook, node_at(list, i), "a webhook", errors);
		hook->events = read_events(node_at(list, i), errors);
	}
}

static void read_to(struct smtp_settings *smtp, struct node group, struct conf_errors *errors)
{
	struct node list = node_member(group, "to");
	struct err err = {0};
	int n, i;

	if (!list.set || (node_type(list) == NODE_LIST && !node_count(list))) {
		node_error(list.set ? list : group, errors,
			"mail needs 'to', the addresses that it goes to: to = "
			"[\"root@example.com\"]");
		return;
	}
	n = schema_texts(list, smtp->to[0], SETTINGS_ADDRESS_MAX, SETTINGS_MAX_TO, errors);
	for (i = 0; i < n; i++) {
		if (!check_address(smtp->to[i], &err))
			node_error(list, errors, "to: %s", err.text);
	}
	smtp->n_to = n > 0 ? (size_t)n : 0;
}

static void read_smtp(struct notify_settings *notify, struct node list, struct conf_errors *errors)
{
	size_t n = settings_groups(list, notify->n_smtp, SETTINGS_MAX_SMTP, errors), i;

	for (i = 0; i < n; i++) {
		struct smtp_settings *smtp = &notify->smtp[notify->n_smtp++];
		struct node group = node_at(list, i);

		memset(smtp, 0, sizeof(*smtp));
		settings_group(&keys_smtp, smtp, group, "an entry of 'smtp'", errors);
		read_to(smtp, group, errors);
		smtp->events = read_events(group, errors);
		if (!smtp->user[0] != !smtp->password_file[0])
			node_error(group, errors,
				"'user' and 'password_file' stand together, or neither of them");
	}
}

static void read_notify(struct settings *set, struct node group, struct conf_errors *errors)
{
	struct schema_part part = {&keys_notify, &set->notify, 0};

	if (!group.set)
		return;
	schema_read(&part, 1, group, "'notify'", NULL, errors);
	read_webhooks(&set->notify, node_member(group, "webhooks"), errors);
	read_smtp(&set->notify, node_member(group, "smtp"), errors);
}

static const char *hint_top(const char *name)
{
	if (schema_find(&keys_nas, name) >= 0)
		return "it stands in an entry of nas = ( { ... } )";
	if (strcmp(name, "rules") == 0 || strcmp(name, "defaults") == 0)
		return "it stands in the policy's file";
	if (schema_find(&keys_notify, name) >= 0)
		return "it stands in notify = { }";
	if (schema_find(&keys_api, name) >= 0 || strcmp(name, "stop_jobs") == 0)
		return "it stands in an entry of pve = ( { ... } ) or pbs = ( { ... } )";
	return NULL;
}

void settings_read(struct settings *set, struct node root, struct conf_errors *errors)
{
	struct schema_part part = {&keys_daemon, set, 0};

	schema_read(&part, 1, root, "rebuildgate.conf", hint_top, errors);
	read_nas(set, node_member(root, "nas"), errors);
	read_storages(set, node_member(root, "storages"), errors);
	settings_servers(set, root, errors);
	read_notify(set, node_member(root, "notify"), errors);
}
