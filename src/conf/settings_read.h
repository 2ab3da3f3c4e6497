// SPDX-License-Identifier: MIT
/* One file's tree into `struct settings`: inside src/conf only. */
#ifndef RG_CONF_SETTINGS_READ_H
#define RG_CONF_SETTINGS_READ_H

#include "conf/settings.h"
#include "conf/tree.h"

/* Overrides single settings of *set and adds to its lists. */
void settings_read(struct settings *set, struct node root, struct conf_errors *errors);

#endif
