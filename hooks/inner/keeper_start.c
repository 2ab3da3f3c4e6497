// SPDX-License-Identifier: MIT
/* A keeper's beginning and end, as the hook sees them. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "client/worker.h"
#include "inner.h"
#include "journal.h"
#include "keeper.h"

/* A hook waits no longer for a QEMU that is busy. */
#define RESCUE_MS 1500

/* Nothing of vzdump's and of the hook's stays open: vzdump reads its pipes to their end. */
static bool let_go(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), fd;

	if (null < 0)
		return false;
	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (dup2(null, fd) < 0)
			return false;
	}
	return !close_range(STDERR_FILENO + 1, ~0U, 0);
}

/* Only what tests set. */
static void environment(char *ret[4], char *conf, char *root, size_t size)
{
	const char *value = getenv("REBUILDGATE_HOOK_CONF");
	size_t n = 0;

	if (value && snprintf(conf, size, "REBUILDGATE_HOOK_CONF=%s", value) < (int)size)
		ret[n++] = conf;
	value = getenv("REBUILDGATE_HOOK_ROOT");
	if (value && snprintf(root, size, "REBUILDGATE_HOOK_ROOT=%s", value) < (int)size)
		ret[n++] = root;
	ret[n] = NULL;
}

static void __attribute__((noreturn)) become_keeper(const struct hook *hook)
{
	char flag[] = KEEPER_FLAG, name[] = "rebuildgate-keeper", vmid[24], ticket[24], pid[24],
	     ticks[24], storage[STORAGE_NAME_MAX], node[NODE_NAME_MAX], conf[700], root[700];
	char *argv[] = {name, flag, vmid, ticket, pid, ticks, storage, node, NULL};
	char *envp[4];
	sigset_t none;

	environment(envp, conf, root, sizeof(conf));
	snprintf(vmid, sizeof(vmid), "%" PRIu32, hook->vmid);
	snprintf(ticket, sizeof(ticket), "%" PRId64, hook->note.ticket);
	snprintf(pid, sizeof(pid), "%" PRId64, hook->worker.pid);
	snprintf(ticks, sizeof(ticks), "%" PRId64, hook->worker.start_ticks);
	snprintf(storage, sizeof(storage), "%s", hook->storage);
	snprintf(node, sizeof(node), "%s", hook->node);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (setsid() >= 0 && !chdir("/") && let_go())
		execve("/proc/self/exe", argv, envp);
	journal_say(hook->root, LOG_WARNING, "the keeper of guest %s cannot be started: %m", vmid);
	_exit(126);
}

void keeper_start(const struct hook *hook)
{
	if (!hook->conf.keeper || !hook->note.ticket || !hook->storage || !hook->vmtype ||
		strcmp(hook->vmtype, "qemu") != 0 || !hook->worker.start_ticks ||
		strlen(hook->storage) >= STORAGE_NAME_MAX)
		return;
	if (fork() == 0)
		become_keeper(hook);
}

/* One process and never another that has its number by now. */
static void end_process(const struct worker *who)
{
	int fd = pidfd_open((pid_t)who->pid, 0);

	if (fd < 0)
		return;
	if (worker_start_ticks(who->pid) == who->start_ticks)
		pidfd_send_signal(fd, SIGTERM, NULL, 0);
	close(fd);
}

/* What a keeper that is dead left. One that lives puts back itself. */
static void rescue(const void *data, uint32_t vmid)
{
	const struct hook *hook = data;
	struct keeper_note note;
	int lock;

	if (!keeper_note_load(hook->root, vmid, &note) ||
		(lock = keeper_lock(hook->root, vmid)) < 0)
		return;
	if (keeper_note_apply(hook->root, vmid, RESCUE_MS, NULL)) {
		/* A hook that is to end does not wait for the gate. */
		if (!hook->hurry && !hook_woken(hook))
			keeper_tell_dead(hook->root, &hook->conf, vmid);
	} else {
		journal_say(hook->root, LOG_WARNING,
			"guest %" PRIu32
			": what a keeper left of its block jobs could not be put back",
			vmid);
	}
	close(lock);
}

void keeper_rescue(const struct hook *hook)
{
	keeper_note_each(hook->root, rescue, hook, NULL);
}

void keeper_end(const struct hook *hook)
{
	struct worker owner;

	if (!hook->vmid)
		return;
	if (keeper_lock_owner(hook->root, hook->vmid, &owner))
		end_process(&owner);
	rescue(hook, hook->vmid);
}
