// SPDX-License-Identifier: MIT
/*
 * Sizes as task logs write them. Pure.
 *
 * Sources: pve-common PVE/CLIFormatter.pm and PVE/Format.pm render_bytes() ("3.09 GiB", "0.0 B"),
 * proxmox-human-byte Display ("287.845 MiB", "536 B"): a number, at most three digits after its
 * point, a blank, a unit of 1024s. "MB" is of older versions and means another thing in each of
 * them: such a text is none.
 */
#ifndef RG_PROXMOX_LOG_SIZE_H
#define RG_PROXMOX_LOG_SIZE_H

#include <stdint.h>

/* The size that `text` begins with, in bytes (rounded down), and where the text goes on; NULL, and
 * *ret untouched, where it begins with none, or with more than an int64_t holds. */
const char *log_size(const char *text, int64_t *ret);

/* Where `text` goes on after `start`; NULL where it does not begin with that. */
const char *log_after(const char *text, const char *start);

#endif
