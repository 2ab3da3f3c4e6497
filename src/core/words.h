// SPDX-License-Identifier: MIT
/*
 * Enums and the words that stand for them in files, JSON and the database: one table for each enum,
 * indexed by its number, without a word for the invalid 0.
 */
#ifndef RG_CORE_WORDS_H
#define RG_CORE_WORDS_H

#include <stddef.h>

/* The index of `word` in the table, 0 if it is not there. */
int words_find(const char *const *words, size_t n, const char *word);

/* The word at `at`; NULL for 0 and past the end. */
const char *words_at(const char *const *words, size_t n, size_t at);

/* Defines NAME_word() and NAME_parse() over `table`. */
#define WORDS(function, type, table)                                                               \
	const char *function##_word(type value)                                                    \
	{                                                                                          \
		return words_at(table, sizeof(table) / sizeof((table)[0]), (size_t)value);         \
	}                                                                                          \
	type function##_parse(const char *word)                                                    \
	{                                                                                          \
		return (type)words_find(table, sizeof(table) / sizeof((table)[0]), word);          \
	}

#endif
