// SPDX-License-Identifier: MIT
/* A policy file's tree to `struct policy`: inside src/conf only; others include conf/conf.h. */
#ifndef RG_CONF_POLICY_READ_H
#define RG_CONF_POLICY_READ_H

#include "conf/conf.h"
#include "conf/tree.h"

/* NULL with errors; the caller frees the policy. */
struct policy *policy_read(struct node root, struct conf_errors *errors);

/* Rules that can never match or that contradict themselves (policy_check.c). `rules` is the list in
 * the file. */
void policy_check_rules(const struct policy *policy, struct node root, struct conf_errors *errors);

/* What one rule's own settings contradict. `given` are bits of keys_settings, `set` the group. */
void policy_check_settings(const struct rule_settings *set, enum verdict verdict, uint64_t given,
	struct node group, const char *what, struct conf_errors *errors);

/* True where `rule` is for a blind NAS whatever else is so: then the policy's own is never used. */
bool policy_rule_covers_blind(const struct rule *rule);

/* Bits of keys_settings that matter for such a verdict. */
uint64_t policy_settings_used(const struct rule_settings *set, enum verdict verdict);

#endif
