// SPDX-License-Identifier: MIT
/*
 * One NAS as the probe needs to know it: where it is and how to look at it. Plain data, copied
 * freely.
 *
 * Whoever fills it (the configuration) has checked it: `host` is a name or an address without
 * blanks, '@', '/' or '%', `user` without blanks, the files are absolute paths without '%' (libssh
 * would expand it).
 */
#ifndef RG_NAS_TARGET_H
#define RG_NAS_TARGET_H

#include <stdint.h>

#include "md/facts.h"

#define NAS_HOST_MAX 256
#define NAS_USER_MAX 64
#define NAS_PATH_MAX 512
#define NAS_COMMAND_MAX 1024
#define NAS_DEADLINE_MS INT64_C(5000)

struct nas_settings; /* conf/settings.h */

enum nas_via { NAS_VIA_NONE = 0, NAS_VIA_SSH, NAS_VIA_LOCAL };

struct nas_target {
	char name[NAS_NAME_MAX];
	enum nas_via via;
	char host[NAS_HOST_MAX];
	uint16_t port; /* 0 means 22 */
	char user[NAS_USER_MAX];
	char key_file[NAS_PATH_MAX];
	char known_hosts[NAS_PATH_MAX];
	char command[NAS_COMMAND_MAX]; /* "" for the standard look (md/look.h) */
	char root[NAS_PATH_MAX]; /* local only: put before /proc and /sys; "" for this machine's own
				  */
	int64_t deadline_ms;     /* for one whole look: connect, log in, run, read; 0 means
				    NAS_DEADLINE_MS */
};

/* Fills *ret from the configuration of one NAS; `deadline_ms` is for one whole look. */
void nas_target_from(const struct nas_settings *nas, int64_t deadline_ms, struct nas_target *ret);

/* The same for its levers (nas/order.h): with their user and key, and time enough for an order. */
void nas_target_levers(const struct nas_settings *nas, int64_t deadline_ms, struct nas_target *ret);

#endif
