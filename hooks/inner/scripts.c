// SPDX-License-Identifier: MIT
/*
 * An administrator's own hook scripts: vzdump takes one script only, so we run theirs.
 *
 * They run as root with vzdump's arguments and environment, so only what root alone can have put
 * there is run: folder and file belong to root and nobody else may write them; no links.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "inner.h"

#define SCRIPTS_MAX 64
#define SCRIPT_GRACE_MS 250

/* Why it is not run, or NULL. */
static const char *refusal(const struct stat *st, bool folder)
{
	if (folder ? !S_ISDIR(st->st_mode) : !S_ISREG(st->st_mode))
		return folder ? "is no folder" : "is no regular file";
	if (st->st_uid != 0)
		return "does not belong to root";
	if (st->st_mode & 022)
		return "may be written by others than root";
	if (!folder && !(st->st_mode & 0111))
		return "is not executable";
	return NULL;
}

/* As run-parts(8) and editors leave them: not meant to be run. */
static int is_script(const struct dirent *entry)
{
	const char *name = entry->d_name;
	size_t len = strlen(name);

	return name[0] != '.' && name[len - 1] != '~' && !strstr(name, ".dpkg-");
}

static void __attribute__((noreturn))
become_script(const struct hook *hook, const char *path, pid_t parent)
{
	char *argv[5] = {NULL};
	char line[700];
	sigset_t none;
	int i, len;

	argv[0] = strdup(path);
	for (i = 1; i < 4 && hook->argv[i]; i++)
		argv[i] = hook->argv[i];
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (argv[0])
		execve(path, argv, hook->envp);
	len = snprintf(
		line, sizeof(line), "rebuildgate: %s cannot be run: %s\n", path, strerror(errno));
	if (len > 0 && write(STDOUT_FILENO, line, (size_t)len) < 0)
		_exit(127);
	_exit(126);
}

/* Waits for the script's end. False: something woke us. */
static bool wait_script(const struct hook *hook, int pidfd)
{
	struct pollfd fds[WAKE_N + 1];
	int i;

	memcpy(fds, hook->wake, sizeof(hook->wake));
	fds[WAKE_N] = (struct pollfd){.fd = pidfd, .events = POLLIN};
	for (;;) {
		if (poll(fds, WAKE_N + 1, -1) < 0 && errno != EINTR)
			return true;
		for (i = 0; i < WAKE_N; i++) {
			if (fds[i].revents)
				return false;
		}
		if (fds[WAKE_N].revents)
			return true;
	}
}

/* Nothing of ours may keep vzdump's pipes open. */
static void end_script(pid_t pid, int pidfd)
{
	struct pollfd fd = {.fd = pidfd, .events = POLLIN};
	int64_t end_ms = clock_boot_ms() + SCRIPT_GRACE_MS, left = SCRIPT_GRACE_MS;

	kill(pid, SIGTERM);
	while (left > 0 && poll(&fd, 1, (int)left) <= 0)
		left = end_ms - clock_boot_ms();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static enum part run(const struct hook *hook, const char *path, int *ret_status)
{
	pid_t self = getpid(), pid = fork();
	enum part part = PART_GOES_ON;
	int status = 0, pidfd;

	if (pid == 0)
		become_script(hook, path, self);
	pidfd = pid > 0 ? pidfd_open(pid, 0) : -1;
	if (pidfd < 0) {
		hook_say(hook, "%s cannot be run: %s", path, strerror(errno));
		if (pid > 0) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
		*ret_status = 126;
		/* Ours, not the script's: no reason to leave a guest frozen. */
		return hook_phase_gates(hook) ? PART_FAILS : PART_GOES_ON;
	}
	if (!wait_script(hook, pidfd)) {
		memory_abort(hook); /* first: vzdump starts its next guest meanwhile */
		end_script(pid, pidfd);
		part = PART_ABORTED;
	} else if (waitpid(pid, &status, 0) != pid || status != 0) {
		*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		hook_say(hook, "%s failed in %s with exit status %d: passed on to vzdump", path,
			hook->phase, *ret_status);
		part = PART_FAILS;
	}
	close(pidfd);
	return part;
}

static enum part check_and_run(
	const struct hook *hook, const char *dir, const char *name, bool tell, int *ret_status)
{
	char path[HOOK_PATH_MAX + 300];
	const char *why;
	struct stat st;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return PART_GOES_ON;
	if (lstat(path, &st))
		return PART_GOES_ON;
	why = refusal(&st, false);
	if (why) {
		if (tell)
			hook_say(hook, "%s is not run: it %s", path, why);
		return PART_GOES_ON;
	}
	return run(hook, path, ret_status);
}

enum part scripts_run(const struct hook *hook, const char *dir, bool tell, int *ret_status)
{
	enum part part = PART_GOES_ON;
	struct dirent **names = NULL;
	const char *why;
	struct stat st;
	int n, i;

	if (!*dir || lstat(dir, &st))
		return PART_GOES_ON;
	why = refusal(&st, true);
	if (why) {
		if (tell)
			hook_say(hook, "nothing in %s is run: it %s", dir, why);
		return PART_GOES_ON;
	}
	/* alphasort: by strcmp(3), as no locale is set. */
	n = scandir(dir, &names, is_script, alphasort);
	for (i = 0; i < n; i++) {
		if (part == PART_GOES_ON && i < SCRIPTS_MAX)
			part = check_and_run(hook, dir, names[i]->d_name, tell, ret_status);
		else if (part == PART_GOES_ON && i == SCRIPTS_MAX && tell)
			hook_say(hook, "only the first %d scripts in %s are run", SCRIPTS_MAX, dir);
		free(names[i]);
	}
	free(names);
	return part;
}
