// SPDX-License-Identifier: MIT
#include "nas/probe.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The daemon's loop blocks signals and takes them from a descriptor: the child must not inherit
 * that. */
static int spawn_attributes(posix_spawnattr_t *attr)
{
	sigset_t none, all;
	int error;

	sigemptyset(&none);
	sigfillset(&all);
	error = posix_spawnattr_setsigmask(attr, &none);
	if (!error)
		error = posix_spawnattr_setsigdefault(attr, &all);
	if (!error)
		error = posix_spawnattr_setflags(
			attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	return error;
}

static int spawn_files(posix_spawn_file_actions_t *files, int child_fd)
{
	int error = posix_spawn_file_actions_adddup2(files, child_fd, STDIN_FILENO);

	if (!error)
		error = posix_spawn_file_actions_adddup2(files, child_fd, STDOUT_FILENO);
	if (!error)
		error = posix_spawn_file_actions_addclosefrom_np(files, STDERR_FILENO + 1);
	return error;
}

/* posix_spawn() wants the arguments as `char *const[]` and does not change them. */
static int spawn(const char *const argv[], int child_fd, pid_t *ret_pid)
{
	union {
		const char *const *in;
		char *const *out;
	} args = {.in = argv};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int error;

	error = posix_spawn_file_actions_init(&files);
	if (error)
		return error;
	error = posix_spawnattr_init(&attr);
	if (error)
		goto out;
	error = spawn_attributes(&attr);
	if (!error)
		error = spawn_files(&files, child_fd);
	if (!error)
		error = posix_spawn(ret_pid, argv[0], &files, &attr, args.out, environ);
	posix_spawnattr_destroy(&attr);
out:
	posix_spawn_file_actions_destroy(&files);
	return error;
}

bool probe_spawn(struct probe *probe, const char *const argv[], struct err *err)
{
	int pair[2];
	pid_t pid = 0;
	int error;

	if (probe->fd >= 0 || probe->pid > 0)
		return err_set(err, ERR_BUSY, "the probe's child is still there");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, errno, "cannot make a socket for the probe");
	error = spawn(argv, pair[1], &pid);
	close(pair[1]);
	if (error) {
		close(pair[0]);
		return err_sys(err, error, "cannot start the probe '%s'", argv[0]);
	}
	*probe = (struct probe){.pid = pid, .fd = pair[0]};
	return true;
}

bool probe_ask(struct probe *probe, struct err *err)
{
	char ask = PROBE_ASK;

	if (probe->fd < 0)
		return err_set(err, ERR_GONE, "the probe has no child");
	if (probe->asked)
		return err_set(err, ERR_BUSY, "the probe is looking already");
	if (send(probe->fd, &ask, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
		return err_sys(err, errno, "cannot ask the probe");
	probe->asked = true;
	return true;
}

int probe_feed(struct probe *probe, struct probe_result *ret, struct err *err)
{
	enum frame_state state = FRAME_MORE;
	char chunk[16384];
	ssize_t n;

	while (state == FRAME_MORE) {
		n = recv(probe->fd, chunk, sizeof(chunk), MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return 0;
		if (n < 0)
			err_sys(err, errno, "cannot read the probe's answer");
		else if (n == 0)
			err_set(err, ERR_GONE, "the probe ended without an answer");
		else if (!probe->asked)
			err_set(err, ERR_PROTOCOL, "the probe answers without having been asked");
		if (n <= 0 || !probe->asked)
			return -1;
		state = frame_read(&probe->reader, chunk, (size_t)n, ret, err);
	}
	if (state == FRAME_BROKEN)
		return -1;
	probe->asked = false;
	return 1;
}

void probe_kill(struct probe *probe)
{
	if (probe->pid > 0)
		kill(probe->pid, SIGKILL);
	if (probe->fd >= 0)
		close(probe->fd);
	probe->fd = -1;
	probe->asked = false;
	frame_reader_release(&probe->reader);
}

bool probe_reap(struct probe *probe)
{
	pid_t got;

	if (probe->pid <= 0)
		return true;
	got = waitpid(probe->pid, NULL, WNOHANG);
	/* ECHILD: somebody else has reaped it. */
	if (got == probe->pid || (got < 0 && errno == ECHILD))
		probe->pid = 0;
	return probe->pid == 0;
}

bool sensor_needs_patience(enum nas_sensor sensor)
{
	return sensor == SENSOR_HOST_KEY || sensor == SENSOR_AUTH;
}
