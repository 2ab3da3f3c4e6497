// SPDX-License-Identifier: MIT
#include "conf/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/lex.h"

/* The names of one group, to refuse a second one of the same name. */
struct names {
	size_t n, cap;
	struct name {
		char *text;
		int file, line;
	} * list;
};

static void names_release(struct names *names)
{
	while (names->n)
		free(names->list[--names->n].text);
	free(names->list);
}

static bool no_memory(struct lex *lex)
{
	return lex_fail(lex, "there is no memory left");
}

static bool names_add(struct names *names, struct lex *lex)
{
	const char *text = buf_str(&lex->word);
	size_t i;

	for (i = 0; i < names->n; i++) {
		if (strcmp(names->list[i].text, text) != 0)
			continue;
		return lex_fail(lex, "'%.60s' stands here a second time; the first is at %s:%d",
			text, lex->scan->files[names->list[i].file], names->list[i].line);
	}
	if (names->n == SCAN_MAX_NAMES)
		return lex_fail(lex, "more than %d settings stand in one group", SCAN_MAX_NAMES);
	if (names->n == names->cap) {
		size_t cap = names->cap ? names->cap * 2 : 16;
		struct name *list = realloc(names->list, cap * sizeof(*list));

		if (!list)
			return no_memory(lex);
		names->list = list;
		names->cap = cap;
	}
	names->list[names->n].text = strdup(text);
	if (!names->list[names->n].text)
		return no_memory(lex);
	names->list[names->n].file = lex->file;
	names->list[names->n++].line = lex->line;
	return true;
}

/* Begins a new line of the text, which stands for the current token. */
static bool new_line(struct lex *lex)
{
	struct scan *scan = lex->scan;

	if (scan->n_places == scan->cap_places) {
		size_t cap = scan->cap_places ? scan->cap_places * 2 : 64;
		struct scan_place *places = realloc(scan->places, cap * sizeof(*places));

		if (!places)
			return no_memory(lex);
		scan->places = places;
		scan->cap_places = cap;
	}
	if (scan->n_places)
		buf_addc(&scan->text, '\n');
	scan->places[scan->n_places++] = (struct scan_place){
		.file = lex->file, .line = lex->line, .bad = lex->token == TOKEN_BAD};
	return true;
}

static void add_quoted(struct buf *text, const char *word)
{
	buf_addc(text, '"');
	for (; *word; word++) {
		if (*word == '"' || *word == '\\')
			buf_addc(text, '\\');
		buf_addc(text, *word);
	}
	buf_addc(text, '"');
}

static bool is_mark(const struct lex *lex, char mark)
{
	return lex->token == TOKEN_MARK && lex->mark == mark;
}

/* Texts beside each other are one, as in C. */
static bool parse_text(struct lex *lex)
{
	struct buf joined = {0};
	bool good;

	while (lex->token == TOKEN_TEXT) {
		buf_adds(&joined, buf_str(&lex->word));
		lex_next(lex);
	}
	good = lex->token != TOKEN_ERROR;
	add_quoted(&lex->scan->text, buf_str(&joined));
	if (joined.failed)
		good = no_memory(lex);
	buf_release(&joined);
	return good;
}

static bool value_missing(struct lex *lex)
{
	const char *word = buf_str(&lex->word);

	if (lex->token == TOKEN_ERROR)
		return false;
	if (lex->token == TOKEN_NAME)
		return lex_fail(lex, "'%.60s' must stand in quotes: \"%.60s\"", word, word);
	if (lex->token == TOKEN_END)
		return lex_fail(lex, "the text ends where a value should stand");
	return lex_fail(lex, "'%c' stands where a value should stand", lex->mark);
}

static bool parse_group(struct lex *lex, int depth);
static bool parse_list(struct lex *lex, int depth);

static bool parse_value(struct lex *lex, int depth)
{
	struct buf *text = &lex->scan->text;

	if (lex->token == TOKEN_ERROR || !new_line(lex))
		return false;
	if (lex->token == TOKEN_TEXT)
		return parse_text(lex);
	if (is_mark(lex, '{'))
		return parse_group(lex, depth + 1);
	if (is_mark(lex, '(') || is_mark(lex, '['))
		return parse_list(lex, depth + 1);
	if (lex->token == TOKEN_INT)
		buf_adds(text, buf_str(&lex->word) + (buf_str(&lex->word)[0] == '+'));
	else if (lex->token == TOKEN_BAD)
		buf_addc(text, '0');
	else if (lex->token == TOKEN_BOOL)
		buf_adds(text, buf_str(&lex->word));
	else
		return value_missing(lex);
	lex_next(lex);
	return lex->token != TOKEN_ERROR;
}

static bool too_deep(struct lex *lex, int depth)
{
	if (depth <= SCAN_MAX_DEPTH)
		return false;
	lex_fail(lex, "groups and lists are nested deeper than %d here", SCAN_MAX_DEPTH);
	return true;
}

/* At '(' or '['. An array of libconfig's '[' is a list of single values; both are written as '('.
 */
static bool parse_list(struct lex *lex, int depth)
{
	bool array = lex->mark == '[';
	char end = array ? ']' : ')';

	if (too_deep(lex, depth))
		return false;
	buf_addc(&lex->scan->text, '(');
	lex_next(lex);
	while (!is_mark(lex, end)) {
		if (array && lex->token == TOKEN_MARK && strchr("{([", lex->mark))
			return lex_fail(lex,
				"'[ ]' holds single values only; write '( )' around "
				"groups and lists");
		if (!parse_value(lex, depth))
			return false;
		if (is_mark(lex, end))
			break;
		if (!is_mark(lex, ','))
			return lex->token != TOKEN_ERROR &&
				lex_fail(lex,
					"a ',' or the end of the list, '%c', is missing before "
					"this",
					end);
		buf_addc(&lex->scan->text, ',');
		lex_next(lex);
	}
	/* "a, b, )": libconfig 1.5 takes the last comma, newer ones too. */
	if (lex->scan->text.len && lex->scan->text.data[lex->scan->text.len - 1] == ',')
		lex->scan->text.data[--lex->scan->text.len] = '\0';
	buf_addc(&lex->scan->text, ')');
	lex_next(lex);
	return lex->token != TOKEN_ERROR;
}

static bool parse_setting(struct lex *lex, struct names *names, int depth)
{
	if (lex->token != TOKEN_NAME) {
		if (lex->token == TOKEN_ERROR)
			return false;
		if (lex->token == TOKEN_MARK)
			return lex_fail(lex, "'%c' stands where the name of a setting should stand",
				lex->mark);
		return lex_fail(lex, "a value stands where the name of a setting should stand");
	}
	if (!names_add(names, lex) || !new_line(lex))
		return false;
	buf_adds(&lex->scan->text, buf_str(&lex->word));
	buf_addc(&lex->scan->text, '=');
	lex_next(lex);
	if (!is_mark(lex, '='))
		return lex->token != TOKEN_ERROR &&
			lex_fail(lex, "after '%.60s' comes '=' and a value",
				names->list[names->n - 1].text);
	lex_next(lex);
	if (!parse_value(lex, depth))
		return false;
	buf_addc(&lex->scan->text, ';');
	if (is_mark(lex, ';') || is_mark(lex, ','))
		lex_next(lex);
	return lex->token != TOKEN_ERROR;
}

/* Settings up to `end`, which is '}' or, for 0, the end of the text. */
static bool parse_settings(struct lex *lex, char end, int depth)
{
	struct names names = {0};
	bool good = true;

	while (good && lex->token != TOKEN_END && !(end && is_mark(lex, end)))
		good = parse_setting(lex, &names, depth);
	if (good && end && lex->token == TOKEN_END)
		good = lex_fail(lex, "the text ends inside a group; a '%c' is missing", end);
	names_release(&names);
	return good;
}

static bool parse_group(struct lex *lex, int depth)
{
	if (too_deep(lex, depth))
		return false;
	buf_addc(&lex->scan->text, '{');
	lex_next(lex);
	if (!parse_settings(lex, '}', depth))
		return false;
	buf_addc(&lex->scan->text, '}');
	lex_next(lex);
	return lex->token != TOKEN_ERROR;
}

static bool scan_all(struct lex *lex)
{
	bool good;

	lex_next(lex);
	good = lex->token != TOKEN_ERROR && parse_settings(lex, '\0', 0);
	buf_addc(&lex->scan->text, '\n');
	if (good && lex->scan->text.failed)
		good = no_memory(lex);
	return good;
}

bool scan_file(struct scan *scan, const char *file, struct conf_errors *errors)
{
	struct lex lex = {.scan = scan, .errors = errors};
	bool good = lex_open_file(&lex, file) && scan_all(&lex);

	lex_release(&lex);
	return good;
}

bool scan_text(struct scan *scan, const char *text, size_t len, const char *name,
	struct conf_errors *errors)
{
	struct lex lex = {.scan = scan, .errors = errors};
	bool good = lex_open_text(&lex, text, len, name) && scan_all(&lex);

	lex_release(&lex);
	return good;
}

void scan_release(struct scan *scan)
{
	while (scan->n_files)
		free(scan->files[--scan->n_files]);
	free(scan->places);
	buf_release(&scan->text);
	memset(scan, 0, sizeof(*scan));
}
