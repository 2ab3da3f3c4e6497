// SPDX-License-Identifier: MIT
/*
 * Which guests of this node a backup job has, as vzdump chooses them (PVE/VZDump.pm
 * get_included_guests): a pool's members, or a list, or all but those excluded; of the guests that
 * /etc/pve/.vmlist names with their node and type. Best effort: what cannot be found out is
 * unknown, never guessed.
 */
#ifndef RG_PROXMOX_GUESTS_H
#define RG_PROXMOX_GUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/request.h"

#define GUESTS_LIST "/etc/pve/.vmlist"
#define GUESTS_POOLS "/etc/pve/user.cfg"

struct guests {
	size_t n;                         /* 0: not known, or more than fit */
	uint32_t ids[REQUEST_MAX_GUESTS]; /* ascending */
	struct opt n_qemu;
};

/* Of the job `id` in the text of jobs.cfg. `pools` is the text of user.cfg, `vmlist` that of
 * .vmlist. False, and *ret empty, where that cannot be told. Pure. */
bool guests_of_job(const char *jobs, const char *id, const char *pools, const char *vmlist,
	const char *node, struct guests *ret);

/* Of a task that backs up one guest only: n_qemu is known where .vmlist has it on this node. Pure.
 */
void guests_of_one(uint32_t vmid, const char *vmlist, const char *node, struct guests *ret);

/* As above, from the files below `root` ("" but in tests): of the job `id`, or where that is ""
 * of guest `vmid`. */
bool guests_read(
	const char *root, const char *id, uint32_t vmid, const char *node, struct guests *ret);

#endif
