// SPDX-License-Identifier: MIT
/* Who runs this job: vzdump's worker, told by the outer hook, and what its title says. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../wire.h"
#include "base/units.h"
#include "inner.h"

static ssize_t read_small(const char *path, char *ret, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n;

	if (fd < 0)
		return -1;
	do
		n = read(fd, ret, size - 1);
	while (n < 0 && errno == EINTR);
	close(fd);
	ret[n > 0 ? n : 0] = '\0';
	return n;
}

int64_t worker_start_ticks(int64_t pid)
{
	char path[48], text[1024];
	const char *at;
	uint64_t ticks = 0;
	int field;

	snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	if (read_small(path, text, sizeof(text)) <= 0)
		return 0;
	at = strrchr(text, ')'); /* the name before it may hold anything */
	for (field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (!at || !digits_parse(at + 1, strcspn(at + 1, " \n"), INT64_MAX, &ticks))
		return 0;
	return (int64_t)ticks;
}

static void read_boot_id(struct worker *worker)
{
	char text[64];
	size_t len;

	if (read_small("/proc/sys/kernel/random/boot_id", text, sizeof(text)) <= 0)
		return;
	len = strcspn(text, "\n");
	if (len >= sizeof(worker->boot_id))
		return;
	memcpy(worker->boot_id, text, len);
	worker->boot_id[len] = '\0';
}

/* "rebuildgate-hook 1 PID TICKS\n", HOOK_HELLO. */
static bool parse_hello(const char *text, struct worker *worker)
{
	static const char head[] = "rebuildgate-hook 1 ";
	const char *pid = text + sizeof(head) - 1, *blank;
	uint64_t number, ticks;

	if (strncmp(text, head, sizeof(head) - 1) != 0 || !(blank = strchr(pid, ' ')) ||
		!digits_parse(pid, (size_t)(blank - pid), INT32_MAX, &number) ||
		!digits_parse(blank + 1, strcspn(blank + 1, "\n"), INT64_MAX, &ticks))
		return false;
	worker->pid = (int64_t)number;
	worker->start_ticks = (int64_t)ticks;
	return true;
}

/* What the outer hook said; false when this was not started by one. */
static bool read_hello(struct worker *worker)
{
	char text[80] = "";
	struct stat st;
	ssize_t n;

	if (fstat(HOOK_FD, &st) || !S_ISSOCK(st.st_mode))
		return false;
	n = recv(HOOK_FD, text, sizeof(text) - 1, MSG_DONTWAIT);
	text[n > 0 ? n : 0] = '\0';
	if (!parse_hello(text, worker))
		return false;
	fcntl(HOOK_FD, F_SETFD, FD_CLOEXEC);
	return true;
}

static void read_title(struct hook *hook)
{
	char path[48], title[512];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%lld/cmdline", (long long)hook->worker.pid);
	len = read_small(path, title, sizeof(title));
	if (len <= 0 || !upid_of_title(title, (size_t)len, hook->upid))
		return;
	if (!upid_parse(hook->upid, &hook->task))
		hook->upid[0] = '\0';
}

/* A node's name is its host name up to the first dot (pve-common INotify.pm nodename). */
static void find_node(struct hook *hook)
{
	char name[256] = "";
	const char *node = name;

	if (*hook->task.node)
		node = hook->task.node;
	else if (gethostname(name, sizeof(name) - 1))
		return;
	snprintf(hook->node, sizeof(hook->node), "%.*s",
		(int)(strcspn(node, ".") % sizeof(hook->node)), node);
}

void worker_find(struct hook *hook)
{
	if (read_hello(&hook->worker)) {
		hook->wake[WAKE_OUTER].fd = HOOK_FD;
	} else {
		hook->worker.pid = getppid();
		hook->worker.start_ticks = worker_start_ticks(hook->worker.pid);
	}
	read_boot_id(&hook->worker);
	read_title(hook);
	find_node(hook);
}
