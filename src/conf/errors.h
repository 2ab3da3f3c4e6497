// SPDX-License-Identifier: MIT
/*
 * What is wrong with a file: a list, so that a person repairs all of it at once.
 *
 * Each entry is one sentence without a final full stop that says what is wrong and what would be
 * right. At most CONF_MAX_ERRORS are kept; the rest is counted. An all-zero struct is empty.
 */
#ifndef RG_CONF_ERRORS_H
#define RG_CONF_ERRORS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define CONF_MAX_ERRORS 50
#define CONF_FILE_MAX 512

struct conf_error {
	char file[CONF_FILE_MAX]; /* as it was named, or as @include names it */
	int line;                 /* 0 where the whole file is meant */
	char text[480];
};

struct conf_errors {
	size_t n;       /* entries kept */
	size_t dropped; /* further ones, only counted */
	struct conf_error *list;
};

/* Adds one. Without memory it is only counted. Returns false, so that a function can
 * `return conf_error_add(...)`. */
bool conf_error_add(struct conf_errors *errors, const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* True where nothing was added. */
bool conf_errors_none(const struct conf_errors *errors);

/* Orders the entries by file (in the order in which the files first appear) and line; entries of
 * one line keep their order. */
void conf_errors_sort(struct conf_errors *errors);

/* One line for each: "file:line: sentence\n" ("file: sentence\n" for line 0), and a last one that
 * counts the dropped ones. */
void conf_errors_print(const struct conf_errors *errors, struct buf *ret);

void conf_errors_release(struct conf_errors *errors);

#endif
