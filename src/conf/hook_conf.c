// SPDX-License-Identifier: MIT
#include "conf/hook_conf.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "conf/schema.h"

static const struct schema_word go_or_not[] = {
	{"allow", VERDICT_ALLOW},
	{"deny", VERDICT_DENY},
	{NULL, 0},
};

#define HOOK(field) offsetof(struct hook_conf, field)

static const struct schema_key hook_keys[] = {
	{.name = "gate",
		.type = SCHEMA_PATH,
		.offset = HOOK(gate),
		.size = HOOK_PATH_MAX,
		.min = 1,
		.shipped = "/run/rebuildgate/rebuildgate.sock",
		.help = "the gate's socket"},
	{.name = "wait_for_gate",
		.type = SCHEMA_SPAN,
		.offset = HOOK(wait_for_gate_ms),
		.max = 7 * MS_DAY,
		.shipped = "15min",
		.help = "how long a job waits for a gate that is away, for each outage"},
	{.name = "if_gate_down",
		.type = SCHEMA_WORD,
		.offset = HOOK(if_gate_down),
		.words = go_or_not,
		.shipped = "allow",
		.help = "what a job does then"},
	{.name = "keeper",
		.type = SCHEMA_BOOL,
		.offset = HOOK(keeper),
		.shipped = "true",
		.help = "a keeper beside each VM's backup, through which the gate slows its block "
			"jobs"},
	{.name = "hooks_dir",
		.type = SCHEMA_PATH,
		.offset = HOOK(hooks_dir),
		.size = HOOK_PATH_MAX,
		.shipped = "/etc/rebuildgate/hooks.d",
		.help = "scripts that run after the decision, in every phase"},
	{.name = "hooks_early_dir",
		.type = SCHEMA_PATH,
		.offset = HOOK(hooks_early_dir),
		.size = HOOK_PATH_MAX,
		.shipped = "/etc/rebuildgate/hooks-early.d",
		.help = "scripts that run before the decision, in job-init only"},
};

static const struct schema keys_hook = {
	"The hook", hook_keys, sizeof(hook_keys) / sizeof(hook_keys[0])};

void hook_conf_defaults(struct hook_conf *ret)
{
	memset(ret, 0, sizeof(*ret));
	schema_defaults(&keys_hook, ret);
}

void hook_conf_document(struct buf *ret)
{
	schema_document(&keys_hook, ret);
}

bool hook_conf_load(const char *file, struct hook_conf *ret, struct conf_errors *errors)
{
	struct schema_part part = {&keys_hook, ret, 0};
	struct tree *tree;

	hook_conf_defaults(ret);
	if (access(file, F_OK) != 0 && errno == ENOENT)
		return true;
	tree = tree_load(file, errors);
	if (!tree)
		return false;
	schema_read(&part, 1, tree_root(tree), "the hook's file", NULL, errors);
	tree_free(tree);
	conf_errors_sort(errors);
	return conf_errors_none(errors);
}
