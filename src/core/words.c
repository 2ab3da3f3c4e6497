// SPDX-License-Identifier: MIT
#include "core/words.h"

#include <string.h>

int words_find(const char *const *words, size_t n, const char *word)
{
	size_t i;

	for (i = 1; i < n; i++) {
		if (strcmp(words[i], word) == 0)
			return (int)i;
	}
	return 0;
}

const char *words_at(const char *const *words, size_t n, size_t at)
{
	return at < n ? words[at] : NULL;
}
