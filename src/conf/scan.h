// SPDX-License-Identifier: MIT
/*
 * Reads configuration text and its @includes, checks its form, and writes it anew for libconfig.
 *
 * libconfig's own reader differs from release to release: it wraps large integers or does not,
 * reads "010" as ten or as eight, resolves @include from the working directory, and (1.5) loses
 * memory when it meets a syntax error. Here the files are read and checked by the same grammar, a
 * little stricter, and written out again: without comments, texts joined and escaped in one way,
 * decimal integers of nine digits at most, lists with '(' only, each name and each value on a line
 * of its own. libconfig can only accept that text, whatever its release, and the line of each of
 * its settings leads back to the file and line where it was really written.
 */
#ifndef RG_CONF_SCAN_H
#define RG_CONF_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "conf/errors.h"

#define SCAN_MAX_DEPTH 24    /* of groups and lists */
#define SCAN_MAX_INCLUDES 64 /* files of one configuration */
#define SCAN_MAX_NAMES 1000  /* settings of one group */

struct scan_place {
	int file;
	int line;
	bool bad; /* its value was refused here already: an error has been added */
};

struct scan {
	struct buf text;
	size_t n_places, cap_places;
	struct scan_place *places; /* of line 1, 2, ... of the text */
	int n_files;
	char *files[SCAN_MAX_INCLUDES];
};

/* False where the text cannot be used at all (`errors` says why). True with new errors means that
 * single values are `bad`. `scan` must be all zero. */
bool scan_file(struct scan *scan, const char *file, struct conf_errors *errors);
bool scan_text(struct scan *scan, const char *text, size_t len, const char *name,
	struct conf_errors *errors);

void scan_release(struct scan *scan);

#endif
