// SPDX-License-Identifier: MIT
#include "journal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void journal_say(const char *root, int level, const char *fmt, ...)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	char line[900], *at;
	va_list ap;
	int fd, len;

	if (snprintf(to.sun_path, sizeof(to.sun_path), "%s/dev/log", root) >=
		(int)sizeof(to.sun_path))
		return;
	/* RFC 3164 without a time: the reader stamps it. */
	len = snprintf(line, sizeof(line), "<%d>rebuildgate-keeper[%ld]: ", LOG_DAEMON | level,
		(long)getpid());
	va_start(ap, fmt);
	vsnprintf(line + len, sizeof(line) - (size_t)len, fmt, ap);
	va_end(ap);
	/* One line, whatever a name or a reason holds. */
	for (at = line; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = ' ';
	}
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	/* Nobody to tell where there is no journal. */
	if (sendto(fd, line, strlen(line), MSG_NOSIGNAL, (const struct sockaddr *)&to, sizeof(to)) <
		0) {
		close(fd);
		return;
	}
	close(fd);
}
