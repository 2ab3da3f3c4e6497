// SPDX-License-Identifier: MIT
/* The nearest right word for a wrong one. */
#ifndef RG_CONF_NEAREST_H
#define RG_CONF_NEAREST_H

#include <stddef.h>

#define NEAREST_WORD_MAX 48

struct nearest {
	const char *wrong;
	const char *best; /* NULL where nothing is near enough */
	size_t distance;
};

/* Offers one right word: all are offered in turn, the first of the nearest wins. */
void nearest_offer(struct nearest *nearest, const char *word);

#endif
