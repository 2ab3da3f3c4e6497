// SPDX-License-Identifier: MIT
#include "core/request.h"

#include "core/words.h"

static const char *const client_words[] = {
	[CLIENT_VZDUMP] = "vzdump",
	[CLIENT_RUN] = "run",
	[CLIENT_WAIT] = "wait",
	[CLIENT_CHECK] = "check",
};

/* The names that vzdump itself uses: pve-manager PVE/VZDump.pm run_hook_script. */
static const char *const phase_words[] = {
	[PHASE_JOB_INIT] = "job-init",
	[PHASE_JOB_START] = "job-start",
	[PHASE_BACKUP_START] = "backup-start",
};

static const char *const guest_type_words[] = {
	[GUEST_QEMU] = "qemu",
	[GUEST_LXC] = "lxc",
};

static const char *const mode_words[] = {
	[MODE_SNAPSHOT] = "snapshot",
	[MODE_SUSPEND] = "suspend",
	[MODE_STOP] = "stop",
};

WORDS(client, enum client, client_words)
WORDS(phase, enum phase, phase_words)
WORDS(guest_type, enum guest_type, guest_type_words)
WORDS(backup_mode, enum backup_mode, mode_words)
