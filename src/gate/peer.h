// SPDX-License-Identifier: MIT
/* Who is at the other end of the socket, by what the kernel says and nothing else, and what they
 * may do. */
#ifndef RG_GATE_PEER_H
#define RG_GATE_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

enum role {
	ROLE_LOOK = 1,     /* may read everything that the API shows */
	ROLE_OVERRIDE = 2, /* may overrule the policy */
	ROLE_HOOK = 4,     /* may ask for jobs, and report on them */
};

/* Whom the configuration gives which role. */
struct roles {
	uid_t own_uid; /* that the gate runs as */
	bool has_look_gid, has_override_gid;
	gid_t look_gid, override_gid;
};

struct peer {
	pid_t pid;
	uid_t uid;
	unsigned roles; /* of enum role */
	char name[64];  /* login name; "uid 1000" where /etc/passwd has none */
};

/* The roles of a caller with these credentials. Root has all; the gate's own user looks and is a
 * hook. */
unsigned peer_roles(const struct roles *roles, uid_t uid, gid_t gid, const gid_t *groups, size_t n);

/* Asks the kernel (SO_PEERCRED, SO_PEERGROUPS). The name comes from /etc/passwd alone: a directory
 * service may hang. */
bool peer_of(int fd, const struct roles *roles, struct peer *ret, struct err *err);

#endif
