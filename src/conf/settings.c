// SPDX-License-Identifier: MIT
#include "conf/settings.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/file.h"
#include "conf/settings_keys.h"
#include "conf/settings_read.h"

#define DROPIN_FOLDER "conf.d"
#define DROPIN_TAIL ".conf"

void settings_defaults(struct settings *ret)
{
	char host[256] = "";

	memset(ret, 0, sizeof(*ret));
	schema_defaults(&keys_daemon, ret);
	schema_defaults(&keys_notify, &ret->notify);
	if (gethostname(host, sizeof(host) - 1) != 0 || !host[0])
		snprintf(host, sizeof(host), "localhost");
	host[strcspn(host, ".")] = '\0';
	snprintf(ret->node, sizeof(ret->node), "%.*s", (int)sizeof(ret->node) - 1, host);
}

/* A name that must be there by the time that all files have been read. */
static void check_storages(const struct settings *set, const char *file, struct conf_errors *errors)
{
	size_t i;

	for (i = 0; i < set->n_storages; i++) {
		const struct storage_settings *storage = &set->storages[i];

		if (!settings_nas(set, storage->mapping.nas))
			conf_error_add(errors, file, 0,
				"storage '%s' names the NAS '%s', which is not configured; add it "
				"to "
				"nas = ( ... )",
				storage->name, storage->mapping.nas);
	}
}

static void check_spans(const struct settings *set, const char *file, struct conf_errors *errors)
{
	if (set->idle_poll_ms < set->poll_ms)
		conf_error_add(errors, file, 0,
			"idle_poll is shorter than poll; it is the longer time, between looks at a "
			"NAS "
			"where nothing goes on");
	if (set->stale_after_ms <= set->idle_poll_ms)
		conf_error_add(errors, file, 0,
			"stale_after must be longer than idle_poll, or each reading is stale "
			"before "
			"the next look");
}

static bool read_file(struct settings *set, const char *file, struct conf_errors *errors)
{
	struct tree *tree = tree_load(file, errors);

	if (!tree)
		return false;
	settings_read(set, tree_root(tree), errors);
	tree_free(tree);
	return true;
}

/* "NAME.conf", but not what a dot hides from view. */
static int is_dropin(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name), tail = strlen(DROPIN_TAIL);

	return entry->d_name[0] != '.' && len > tail &&
		strcmp(entry->d_name + len - tail, DROPIN_TAIL) == 0;
}

/* Byte by byte, whatever the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* In the order of their names. No folder is no mistake. */
static void read_dropins(struct settings *set, const char *file, struct conf_errors *errors)
{
	char folder[CONF_FILE_MAX], path[CONF_FILE_MAX];
	struct dirent **entries = NULL;
	int n, i;

	if (!file_beside(file, DROPIN_FOLDER, folder, sizeof(folder))) {
		conf_error_add(errors, file, 0, "the name of this file is too long");
		return;
	}
	n = scandir(folder, &entries, is_dropin, by_name);
	if (n < 0 && errno != ENOENT)
		conf_error_add(errors, folder, 0, "the folder cannot be read: %s", strerror(errno));
	for (i = 0; i < n; i++) {
		int len = snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);

		if (len < 0 || (size_t)len >= sizeof(path))
			conf_error_add(
				errors, folder, 0, "the name '%s' is too long", entries[i]->d_name);
		else
			read_file(set, path, errors);
		free(entries[i]);
	}
	free(entries);
}

bool settings_load(const char *file, struct settings **ret, struct conf_errors *errors)
{
	struct settings *set = calloc(1, sizeof(*set));

	*ret = NULL;
	if (!set)
		return conf_error_add(errors, file, 0, "there is no memory left");
	settings_defaults(set);
	read_file(set, file, errors);
	read_dropins(set, file, errors);
	if (conf_errors_none(errors)) {
		check_storages(set, file, errors);
		settings_storage_servers(set, file, errors);
		check_spans(set, file, errors);
	}
	conf_errors_sort(errors);
	if (conf_errors_none(errors)) {
		*ret = set;
		return true;
	}
	settings_free(set);
	return false;
}

void settings_free(struct settings *settings)
{
	free(settings);
}

const struct nas_settings *settings_nas(const struct settings *settings, const char *name)
{
	size_t i;

	for (i = 0; i < settings->n_nas; i++) {
		if (strcmp(settings->nas[i].name, name) == 0)
			return &settings->nas[i];
	}
	return NULL;
}

const struct storage_settings *settings_storage(const struct settings *settings, const char *name)
{
	size_t i;

	for (i = 0; i < settings->n_storages; i++) {
		if (strcmp(settings->storages[i].name, name) == 0)
			return &settings->storages[i];
	}
	return NULL;
}

const struct pbs_settings *settings_pbs(const struct settings *settings, const char *name)
{
	size_t i;

	for (i = 0; i < settings->n_pbs; i++) {
		if (strcmp(settings->pbs[i].api.name, name) == 0)
			return &settings->pbs[i];
	}
	return NULL;
}

const struct pve_settings *settings_pve(const struct settings *settings, const char *name)
{
	size_t i;

	for (i = 0; i < settings->n_pve; i++) {
		if (strcmp(settings->pve[i].api.name, name) == 0)
			return &settings->pve[i];
	}
	return NULL;
}

void settings_mapping(const struct settings *settings, const char *storage, struct mapping *ret)
{
	const struct storage_settings *found = settings_storage(settings, storage);

	memset(ret, 0, sizeof(*ret));
	if (found)
		*ret = found->mapping;
}

const char *settings_vendor_word(enum settings_vendor vendor)
{
	static const char *const words[] = {
		[SETTINGS_VENDOR_NONE] = NULL,
		[SETTINGS_VENDOR_AUTO] = "auto",
		[SETTINGS_VENDOR_GENERIC] = "generic",
		[SETTINGS_VENDOR_SYNOLOGY] = "synology",
		[SETTINGS_VENDOR_QNAP] = "qnap",
	};

	return (size_t)vendor < sizeof(words) / sizeof(words[0]) ? words[vendor] : NULL;
}

const char *settings_via_word(enum settings_via via)
{
	return via == SETTINGS_VIA_SSH ? "ssh" : via == SETTINGS_VIA_LOCAL ? "local" : NULL;
}

static void add_name(struct buf *ret, bool differs, const char *name)
{
	if (differs)
		buf_addf(ret, "%s%s", ret->len ? ", " : "", name);
}

void settings_restart_needed(
	const struct settings *before, const struct settings *after, struct buf *ret)
{
	add_name(ret, strcmp(before->node, after->node) != 0, "node");
	add_name(ret, strcmp(before->socket, after->socket) != 0, "socket");
	add_name(ret, strcmp(before->socket_group, after->socket_group) != 0, "socket_group");
	add_name(ret, strcmp(before->database, after->database) != 0, "database");
	add_name(ret, strcmp(before->spill, after->spill) != 0, "spill");
	add_name(ret, before->spill_size != after->spill_size, "spill_size");
}
