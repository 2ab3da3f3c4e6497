// SPDX-License-Identifier: MIT
/*
 * The vzdump hook's own file, /etc/rebuildgate/hook.conf: where the gate is, and what happens
 * without it. A missing file means that every setting has its default.
 */
#ifndef RG_CONF_HOOK_CONF_H
#define RG_CONF_HOOK_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "conf/errors.h"
#include "core/policy.h"

#define HOOK_CONF_FILE "/etc/rebuildgate/hook.conf"
#define HOOK_PATH_MAX 512

struct hook_conf {
	char gate[HOOK_PATH_MAX];            /* socket; /run/rebuildgate/rebuildgate.sock */
	int64_t wait_for_gate_ms;            /* for each outage; 15 min */
	enum verdict if_gate_down;           /* allow (shipped) or deny */
	bool keeper;                         /* beside each VM's backup; true */
	char hooks_dir[HOOK_PATH_MAX];       /* /etc/rebuildgate/hooks.d; "" runs none */
	char hooks_early_dir[HOOK_PATH_MAX]; /* /etc/rebuildgate/hooks-early.d; "" runs none */
};

/* Fills *ret with the shipped defaults. */
void hook_conf_defaults(struct hook_conf *ret);

/* Reads `file`. Always leaves *ret usable: on failure (false, `errors` says why) it holds what
 * could be read and the default for everything else, so that the caller may go on with it and say
 * so. */
bool hook_conf_load(const char *file, struct hook_conf *ret, struct conf_errors *errors);

/* Appends the table of all settings as Markdown, as it stands in packaging/conf/README.md. */
void hook_conf_document(struct buf *ret);

#endif
