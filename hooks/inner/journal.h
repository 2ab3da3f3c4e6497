// SPDX-License-Identifier: MIT
/*
 * The journal for a process without a standard error: one datagram to /dev/log for each line, as
 * syslog(3) does, to the daemon facility. It never waits: a line that finds no reader is lost.
 */
#ifndef RG_HOOKS_JOURNAL_H
#define RG_HOOKS_JOURNAL_H

#include <syslog.h>

/* `root` is "", or in tests what stands for /. `level` is LOG_ERR .. LOG_INFO. */
void journal_say(const char *root, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
