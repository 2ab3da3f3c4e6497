// SPDX-License-Identifier: MIT
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static enum log_level log_level = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
	log_level = level;
}

void log_line(enum log_level level, const char *fmt, ...)
{
	char line[2048];
	size_t len = 0, i;
	va_list ap;
	int n;

	if (level > log_level)
		return;
	if (getenv("JOURNAL_STREAM"))
		len = (size_t)snprintf(line, sizeof(line), "<%d>", (int)level);
	va_start(ap, fmt);
	n = vsnprintf(line + len, sizeof(line) - len - 1, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	len += (size_t)n < sizeof(line) - len - 1 ? (size_t)n : sizeof(line) - len - 2;
	for (i = 0; i < len; i++) {
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			line[i] = ' ';
	}
	line[len++] = '\n';
	/* Nobody to tell when stderr is gone. */
	if (write(STDERR_FILENO, line, len) < 0)
		return;
}
