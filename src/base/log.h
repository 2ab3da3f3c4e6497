// SPDX-License-Identifier: MIT
/*
 * The journal: one line on stderr, `<N>` before it where systemd reads stderr (JOURNAL_STREAM is
 * set), else plain. Only mains and src/gate log; everything else returns errors. A line is one
 * sentence, then key=value pairs.
 */
#ifndef RG_BASE_LOG_H
#define RG_BASE_LOG_H

enum log_level {
	LOG_LEVEL_ERR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_NOTICE = 5,
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7,
};

/* Lines above `level` are dropped. LOG_LEVEL_INFO at start. */
void log_set_level(enum log_level level);

/* Writes one line in one write(2). Line breaks and control characters in it become blanks. */
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_err(...) log_line(LOG_LEVEL_ERR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...) log_line(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
