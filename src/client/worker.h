// SPDX-License-Identifier: MIT
/* Who asks: what the gate must know of a process to know it again and never mistake another for it,
 * and the name of this node. */
#ifndef RG_CLIENT_WORKER_H
#define RG_CLIENT_WORKER_H

#include "core/request.h"
#include "core/ticket.h"

/* Field 22 of /proc/PID/stat (proc(5)); 0 if there is no such process. */
int64_t worker_start_ticks(int64_t pid);

/* Fills pid, start_ticks and boot_id. */
void worker_of(int64_t pid, struct worker *ret);

/* The host name up to its first dot, as Proxmox names nodes (pve-common INotify.pm nodename); "" if
 * it cannot be read. */
void worker_node(char ret[NODE_NAME_MAX]);

#endif
