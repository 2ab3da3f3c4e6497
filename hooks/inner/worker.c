// SPDX-License-Identifier: MIT
/* Who runs this job: vzdump's worker, told by the outer hook, and what its title says. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../wire.h"
#include "base/units.h"
#include "client/worker.h"
#include "inner.h"

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
	int fd;

	snprintf(path, sizeof(path), "/proc/%lld/cmdline", (long long)hook->worker.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	len = read(fd, title, sizeof(title));
	close(fd);
	if (len <= 0 || !upid_of_title(title, (size_t)len, hook->upid))
		return;
	if (!upid_parse(hook->upid, &hook->task))
		hook->upid[0] = '\0';
}

void worker_find(struct hook *hook)
{
	struct worker told = {0};

	if (read_hello(&told)) {
		hook->wake[WAKE_OUTER].fd = HOOK_FD;
		worker_of(told.pid, &hook->worker);
		/* As the outer hook saw it: its parent may be gone by now. */
		hook->worker.start_ticks = told.start_ticks;
	} else {
		worker_of(getppid(), &hook->worker);
	}
	read_title(hook);
	if (*hook->task.node)
		snprintf(hook->node, sizeof(hook->node), "%s", hook->task.node);
	else
		worker_node(hook->node);
}
