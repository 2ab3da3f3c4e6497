// SPDX-License-Identifier: MIT
/*
 * The id of a Proxmox VE task: UPID:node:pid:pstart:starttime:type:id:user: with pid, pstart and
 * starttime in upper-case hex (pve-common src/PVE/Tools.pm upid_decode). Pure.
 */
#ifndef RG_PROXMOX_UPID_H
#define RG_PROXMOX_UPID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UPID_MAX 160

struct upid {
	char node[64];
	int64_t pid;
	int64_t pstart;      /* field 22 of /proc/PID/stat of the worker */
	int64_t starttime_s; /* UTC */
	char type[32];       /* "vzdump" */
	char id[64];         /* for vzdump the vmid if the job has one guest, else "" */
	uint32_t vmid;       /* that id, if it is one; else 0 */
};

/* False if the text is no UPID of Proxmox VE; then *ret is untouched. */
bool upid_parse(const char *text, struct upid *ret);

/* The UPID in a worker's title, "task UPID:...", as /proc/PID/cmdline has it (`len` bytes, NULs
 * included). False if there is none. */
bool upid_of_title(const char *cmdline, size_t len, char ret[UPID_MAX]);

#endif
