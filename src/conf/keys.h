// SPDX-License-Identifier: MIT
/* What a policy file may hold: the tables that reading, printing and policy/README.md share. */
#ifndef RG_CONF_KEYS_H
#define RG_CONF_KEYS_H

#include "conf/schema.h"

/* Flags of rule settings: what a verdict must be able to become for the setting to matter. */
#define KEY_HOLDS (1u << 0)     /* while it holds */
#define KEY_THROTTLES (1u << 1) /* while it throttles */
#define KEY_PROTECTS (1u << 2)  /* while it throttles by `protect`, not by `rate` */
#define KEY_TO_RPO (1u << 3)    /* while max_hold is "rpo" */

extern const struct schema keys_policy;   /* struct policy: the file itself */
extern const struct schema keys_rule;     /* struct rule: what is the rule's own */
extern const struct schema keys_settings; /* struct rule_settings: a rule's, and `defaults` */
extern const struct schema keys_sensor;   /* struct rule: the group `sensor` */

/* Appends the tables of all defaults as Markdown, as they stand in policy/README.md. */
void keys_document(struct buf *ret);

#endif
