// SPDX-License-Identifier: MIT
/* One file's tree into `struct settings`: inside src/conf only. */
#ifndef RG_CONF_SETTINGS_READ_H
#define RG_CONF_SETTINGS_READ_H

#include "conf/schema.h"
#include "conf/settings.h"
#include "conf/tree.h"

/* How many groups the list holds; 0 with an error where it is no list of groups, or where `have`
 * and they are more than `max`. */
size_t settings_groups(struct node list, size_t have, size_t max, struct conf_errors *errors);

/* One of them, after its defaults. */
bool settings_group(const struct schema *schema, void *base, struct node group, const char *what,
	struct conf_errors *errors);

/* The group `levers` of a NAS, and the lists `pve` and `pbs` (settings_servers.c). */
void settings_levers(struct nas_settings *nas, struct node group, struct conf_errors *errors);
void settings_servers(struct settings *set, struct node root, struct conf_errors *errors);

/* Once all files have been read: fills in what storages leave out about their servers. */
void settings_storage_servers(struct settings *set, const char *file, struct conf_errors *errors);

/* Overrides single settings of *set and adds to its lists. */
void settings_read(struct settings *set, struct node root, struct conf_errors *errors);

#endif
