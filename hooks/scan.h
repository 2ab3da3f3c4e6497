// SPDX-License-Identifier: MIT
/*
 * One setting of hook.conf, read without libconfig: `if_gate_down`, for the hour in which the
 * library is what is missing. Libc only; no allocation.
 *
 * It understands libconfig's comments and texts, and one assignment of one quoted word that begins
 * a line. Anything else that names the setting is SCAN_ODD, never a guess.
 */
#ifndef RG_HOOKS_SCAN_H
#define RG_HOOKS_SCAN_H

#include <stddef.h>
#include <string.h>

enum scan { SCAN_ABSENT = 0, SCAN_ALLOW, SCAN_DENY, SCAN_ODD };

#define SCAN_KEY "if_gate_down"

/* Overwrites comments with blanks, in place; line breaks stay. */
static inline void scan_strip(char *text, size_t len)
{
	enum { CODE, STRING, LINE, BLOCK } state = CODE;
	size_t i;

	for (i = 0; i < len; i++) {
		char c = text[i], next = i + 1 < len ? text[i + 1] : '\0';

		if (state == STRING) {
			if (c == '\\')
				i++;
			else if (c == '"')
				state = CODE;
			continue;
		}
		if (state == CODE && c == '"')
			state = STRING;
		else if (state == CODE && (c == '#' || (c == '/' && next == '/')))
			state = LINE;
		else if (state == CODE && c == '/' && next == '*')
			state = BLOCK;
		if (state == LINE && c == '\n')
			state = CODE;
		if (state == BLOCK && c == '*' && next == '/') {
			text[i] = text[i + 1] = ' ';
			i++;
			state = CODE;
		} else if ((state == LINE || state == BLOCK) && c != '\n') {
			text[i] = ' ';
		}
	}
}

static inline size_t scan_blanks(const char *line, size_t len, size_t at)
{
	while (at < len && (line[at] == ' ' || line[at] == '\t' || line[at] == '\r'))
		at++;
	return at;
}

/* One line without comments. */
static inline enum scan scan_line(const char *line, size_t len)
{
	size_t at = scan_blanks(line, len, 0), word, end;
	enum scan found = SCAN_ODD;

	if (len - at < strlen(SCAN_KEY) || memcmp(line + at, SCAN_KEY, strlen(SCAN_KEY)))
		return memmem(line, len, SCAN_KEY, strlen(SCAN_KEY)) ? SCAN_ODD : SCAN_ABSENT;
	at += strlen(SCAN_KEY);
	if (at < len &&
		strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-*",
			line[at]))
		return SCAN_ABSENT;
	at = scan_blanks(line, len, at);
	if (at == len || (line[at] != '=' && line[at] != ':'))
		return SCAN_ODD;
	at = scan_blanks(line, len, at + 1);
	if (at == len || line[at] != '"')
		return SCAN_ODD;
	word = at + 1;
	for (end = word; end < len && line[end] != '"'; end++)
		;
	if (end == len)
		return SCAN_ODD;
	if (end - word == 5 && !memcmp(line + word, "allow", 5))
		found = SCAN_ALLOW;
	else if (end - word == 4 && !memcmp(line + word, "deny", 4))
		found = SCAN_DENY;
	at = scan_blanks(line, len, end + 1);
	if (at < len && (line[at] == ';' || line[at] == ','))
		at = scan_blanks(line, len, at + 1);
	return at == len ? found : SCAN_ODD;
}

/* The whole file; `text` is changed. Two assignments are odd, as they are to libconfig. */
static inline enum scan scan_if_gate_down(char *text, size_t len)
{
	enum scan found = SCAN_ABSENT, here;
	size_t start = 0, end;

	scan_strip(text, len);
	while (start < len) {
		for (end = start; end < len && text[end] != '\n'; end++)
			;
		here = scan_line(text + start, end - start);
		if (here != SCAN_ABSENT)
			found = found == SCAN_ABSENT ? here : SCAN_ODD;
		start = end + 1;
	}
	return found;
}

#endif
