// SPDX-License-Identifier: MIT
#include "client/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"

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

void worker_of(int64_t pid, struct worker *ret)
{
	char text[64];
	size_t len = 0;

	*ret = (struct worker){.pid = pid, .start_ticks = worker_start_ticks(pid)};
	if (read_small("/proc/sys/kernel/random/boot_id", text, sizeof(text)) > 0)
		len = strcspn(text, "\n");
	if (len < sizeof(ret->boot_id))
		memcpy(ret->boot_id, text, len);
}

void worker_node(char ret[NODE_NAME_MAX])
{
	char name[256] = "";
	size_t len;

	ret[0] = '\0';
	if (gethostname(name, sizeof(name) - 1))
		return;
	len = strcspn(name, ".");
	if (len >= NODE_NAME_MAX)
		return;
	memcpy(ret, name, len);
	ret[len] = '\0';
}
