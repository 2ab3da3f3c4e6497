// SPDX-License-Identifier: MIT
#include "conf/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool conf_error_add(struct conf_errors *errors, const char *file, int line, const char *fmt, ...)
{
	struct conf_error *entry;
	va_list args;

	if (!errors->list)
		errors->list = calloc(CONF_MAX_ERRORS, sizeof(*errors->list));
	if (!errors->list || errors->n == CONF_MAX_ERRORS) {
		errors->dropped++;
		return false;
	}
	entry = &errors->list[errors->n++];
	snprintf(entry->file, sizeof(entry->file), "%s", file);
	entry->line = line;
	va_start(args, fmt);
	vsnprintf(entry->text, sizeof(entry->text), fmt, args);
	va_end(args);
	return false;
}

bool conf_errors_none(const struct conf_errors *errors)
{
	return !errors->n && !errors->dropped;
}

/* Where the file of entry `at` first appears. */
static size_t file_rank(const struct conf_errors *errors, size_t at)
{
	size_t i;

	for (i = 0; i < at; i++) {
		if (strcmp(errors->list[i].file, errors->list[at].file) == 0)
			break;
	}
	return i;
}

/* Insertion sort: stable, and there are 50 at most. */
void conf_errors_sort(struct conf_errors *errors)
{
	size_t rank[CONF_MAX_ERRORS];
	size_t i, j;

	for (i = 0; i < errors->n; i++)
		rank[i] = file_rank(errors, i);
	for (i = 1; i < errors->n; i++) {
		for (j = i; j > 0; j--) {
			struct conf_error *a = &errors->list[j - 1], *b = &errors->list[j];
			struct conf_error swap;
			size_t r;

			if (rank[j - 1] < rank[j] || (rank[j - 1] == rank[j] && a->line <= b->line))
				break;
			swap = *a;
			*a = *b;
			*b = swap;
			r = rank[j - 1];
			rank[j - 1] = rank[j];
			rank[j] = r;
		}
	}
}

void conf_errors_print(const struct conf_errors *errors, struct buf *ret)
{
	size_t i;

	for (i = 0; i < errors->n; i++) {
		const struct conf_error *entry = &errors->list[i];

		if (entry->line)
			buf_addf(ret, "%s:%d: %s\n", entry->file, entry->line, entry->text);
		else
			buf_addf(ret, "%s: %s\n", entry->file, entry->text);
	}
	if (errors->dropped && errors->n)
		buf_addf(ret, "%s: %zu more errors are not shown\n", errors->list[0].file,
			errors->dropped);
	else if (errors->dropped)
		buf_adds(ret, "there is no memory left\n");
}

void conf_errors_release(struct conf_errors *errors)
{
	free(errors->list);
	memset(errors, 0, sizeof(*errors));
}
