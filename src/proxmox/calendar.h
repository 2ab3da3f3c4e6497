// SPDX-License-Identifier: MIT
/*
 * When a backup job starts next: the common forms of Proxmox's calendar events
 * ("21:00", "mon..fri 22:00", "sat 18:15", "8..17,22:0/15", "daily"; pve-docs, "Calendar Events"),
 * in local time. Forms with a date are not understood: then the next start is not known, which is
 * never wrong.
 */
#ifndef RG_PROXMOX_CALENDAR_H
#define RG_PROXMOX_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

/* The first start after `utc_ms`, in this machine's time zone. False for a form that is not
 * understood. */
bool calendar_next(const char *event, int64_t utc_ms, int64_t *ret_utc_ms);

#endif
