// SPDX-License-Identifier: MIT
#include "gate/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#define BACKLOG 128
#define SOCKET_MODE 0660

static bool take_passed(struct sock *sock, int n, struct err *err)
{
	int fd = SD_LISTEN_FDS_START;

	if (n != 1)
		return err_set(
			err, ERR_INVALID, "systemd passed %d sockets where one is expected", n);
	if (sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0) <= 0)
		return err_set(
			err, ERR_INVALID, "What systemd passed is no listening Unix stream socket");
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
		return err_sys(err, errno, "Cannot make the socket non-blocking");
	sock->fd = fd;
	sock->activated = true;
	return true;
}

/* Whether somebody answers there: a file that a killed daemon left does not. */
static bool somebody_listens(const struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool ret;

	if (fd < 0)
		return false;
	ret = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0 || errno == EAGAIN;
	close(fd);
	return ret;
}

static bool fill_addr(
	struct sockaddr_un *addr, const char *path, const char *suffix, struct err *err)
{
	int len;

	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	len = snprintf(addr->sun_path, sizeof(addr->sun_path), "%s%s", path, suffix);
	if (len < 0 || (size_t)len >= sizeof(addr->sun_path))
		return err_set(err, ERR_LIMIT, "The socket's path '%s' is too long", path);
	return true;
}

/* Under a temporary name first: nobody can connect before owner and mode are right. */
static bool make(struct sock *sock, const char *path, gid_t gid, struct err *err)
{
	struct sockaddr_un temp;
	struct stat st;
	mode_t mask;
	int rc;

	if (!fill_addr(&temp, path, ".new", err))
		return false;
	sock->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock->fd < 0)
		return err_sys(err, errno, "Cannot make a socket");
	unlink(temp.sun_path);
	mask = umask(0177);
	rc = bind(sock->fd, (const struct sockaddr *)&temp, sizeof(temp));
	umask(mask);
	if (rc < 0)
		return err_sys(err, errno, "Cannot make the socket '%s'", path);
	if ((gid != (gid_t)-1 && chown(temp.sun_path, (uid_t)-1, gid) < 0) ||
		chmod(temp.sun_path, SOCKET_MODE) < 0 || listen(sock->fd, BACKLOG) < 0 ||
		stat(temp.sun_path, &st) < 0 || rename(temp.sun_path, path) < 0) {
		err_sys(err, errno, "Cannot set up the socket '%s'", path);
		unlink(temp.sun_path);
		return false;
	}
	sock->dev = st.st_dev;
	sock->ino = st.st_ino;
	snprintf(sock->path, sizeof(sock->path), "%s", path);
	return true;
}

bool sock_open(struct sock *sock, const char *path, gid_t gid, struct err *err)
{
	struct sockaddr_un addr;
	int n;

	*sock = (struct sock){.fd = -1};
	n = sd_listen_fds(1);
	if (n != 0)
		return take_passed(sock, n, err);
	if (!fill_addr(&addr, path, "", err))
		return false;
	if (somebody_listens(&addr))
		return err_set(err, ERR_BUSY, "Another process already listens on '%s'", path);
	if (!make(sock, path, gid, err)) {
		if (sock->fd >= 0)
			close(sock->fd);
		sock->fd = -1;
		return false;
	}
	return true;
}

void sock_close(struct sock *sock)
{
	struct stat st;

	if (sock->fd < 0)
		return;
	close(sock->fd);
	sock->fd = -1;
	if (!sock->activated && stat(sock->path, &st) == 0 && st.st_dev == sock->dev &&
		st.st_ino == sock->ino)
		unlink(sock->path);
}
