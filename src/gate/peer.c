// SPDX-License-Identifier: MIT
#include "gate/peer.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

static bool in_group(gid_t wanted, gid_t gid, const gid_t *groups, size_t n)
{
	size_t i;

	if (gid == wanted)
		return true;
	for (i = 0; i < n; i++)
		if (groups[i] == wanted)
			return true;
	return false;
}

unsigned peer_roles(const struct roles *roles, uid_t uid, gid_t gid, const gid_t *groups, size_t n)
{
	unsigned ret = 0;

	if (uid == 0)
		return ROLE_LOOK | ROLE_OVERRIDE | ROLE_HOOK;
	if (uid == roles->own_uid)
		ret |= ROLE_LOOK | ROLE_HOOK;
	if (roles->has_look_gid && in_group(roles->look_gid, gid, groups, n))
		ret |= ROLE_LOOK;
	if (roles->has_override_gid && in_group(roles->override_gid, gid, groups, n))
		ret |= ROLE_LOOK | ROLE_OVERRIDE;
	return ret;
}

static bool groups_of(int fd, gid_t **ret, size_t *ret_n, struct err *err)
{
	socklen_t len = 0;
	gid_t *groups = NULL;

	*ret = NULL;
	*ret_n = 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) == 0)
		return true; /* none */
	if (errno != ERANGE)
		return err_sys(err, errno, "Cannot ask for the caller's groups");
	groups = malloc(len);
	if (!groups)
		return err_nomem(err);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) < 0) {
		free(groups);
		return err_sys(err, errno, "Cannot ask for the caller's groups");
	}
	*ret = groups;
	*ret_n = len / sizeof(*groups);
	return true;
}

static void name_of(uid_t uid, char *ret, size_t size)
{
	struct passwd entry, *found = NULL;
	char line[1024];
	FILE *file = fopen("/etc/passwd", "re");

	snprintf(ret, size, "uid %lu", (unsigned long)uid);
	if (!file)
		return;
	while (fgetpwent_r(file, &entry, line, sizeof(line), &found) == 0)
		if (found->pw_uid == uid) {
			snprintf(ret, size, "%s", found->pw_name);
			break;
		}
	fclose(file);
}

bool peer_of(int fd, const struct roles *roles, struct peer *ret, struct err *err)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);
	gid_t *groups = NULL;
	size_t n = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return err_sys(err, errno, "Cannot ask for the caller's credentials");
	if (!groups_of(fd, &groups, &n, err))
		return false;
	ret->pid = cred.pid;
	ret->uid = cred.uid;
	ret->roles = peer_roles(roles, cred.uid, cred.gid, groups, n);
	name_of(cred.uid, ret->name, sizeof(ret->name));
	free(groups);
	return true;
}
