// SPDX-License-Identifier: MIT
#include "conf/nearest.h"

#include <string.h>

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

/* '-' and '_' are the same to people, and so is case. */
static char fold(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return c == '-' ? '_' : c;
}

/* Edits from `a` to `b`: insert, delete, replace, swap of neighbours (optimal string alignment). */
static size_t edits(const char *a, const char *b)
{
	size_t rows[3][NEAREST_WORD_MAX + 1];
	size_t *two = rows[0], *last = rows[1], *row = rows[2], *swap;
	size_t na = strlen(a), nb = strlen(b), i, j;

	if (na > NEAREST_WORD_MAX || nb > NEAREST_WORD_MAX)
		return NEAREST_WORD_MAX;
	memset(rows, 0, sizeof(rows));
	for (j = 0; j <= nb; j++)
		last[j] = j;
	for (i = 1; i <= na; i++) {
		row[0] = i;
		for (j = 1; j <= nb; j++) {
			char ca = fold(a[i - 1]), cb = fold(b[j - 1]);

			row[j] = min3(last[j] + 1, row[j - 1] + 1, last[j - 1] + (ca != cb));
			if (i > 1 && j > 1 && ca == fold(b[j - 2]) && fold(a[i - 2]) == cb &&
				two[j - 2] + 1 < row[j])
				row[j] = two[j - 2] + 1;
		}
		swap = two;
		two = last;
		last = row;
		row = swap;
	}
	return last[nb];
}

void nearest_offer(struct nearest *nearest, const char *word)
{
	size_t len = strlen(nearest->wrong), d = edits(nearest->wrong, word);
	size_t limit = len < 4 ? 1 : len < 8 ? 2 : 3;

	/* "recover" for "recovery": the beginning of a word, or a word and something after it */
	if (d > limit && len >= 4 && strlen(word) >= 4 &&
		(strncmp(word, nearest->wrong, len) == 0 ||
			strncmp(word, nearest->wrong, strlen(word)) == 0))
		d = limit;
	if (d > limit || (nearest->best && d >= nearest->distance))
		return;
	nearest->best = word;
	nearest->distance = d;
}
