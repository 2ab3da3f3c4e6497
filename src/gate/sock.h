// SPDX-License-Identifier: MIT
/* The Unix socket that the gate listens on: from systemd where it hands one over, else made here.
 */
#ifndef RG_GATE_SOCK_H
#define RG_GATE_SOCK_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct sock {
	int fd;         /* listening, non-blocking; -1 while closed */
	bool activated; /* systemd's: its file is not ours to remove */
	char path[108];
	dev_t dev;
	ino_t ino;
};

/* Takes the one socket that systemd passed (the environment is cleaned), or makes `path` with mode
 * 0660, owned by `gid`
 * ((gid_t)-1: left as it is). The file appears under its name with its final owner and mode.
 * ERR_BUSY where another process listens on it. */
bool sock_open(struct sock *sock, const char *path, gid_t gid, struct err *err);

/* Closes, and removes the file where it is still the one made here. */
void sock_close(struct sock *sock);

#endif
