// SPDX-License-Identifier: MIT
#include "conf/lex.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "conf/conf.h"
#include "conf/file.h"

#define INT_DIGITS_MAX 9 /* fits an int on every release of libconfig */

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool lex_fail(struct lex *lex, const char *fmt, ...)
{
	char text[400];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	conf_error_add(lex->errors, lex->scan->files[lex->file], lex->line, "%s", text);
	lex->token = TOKEN_ERROR;
	return false;
}

/* The texts of the whole file must be UTF-8 without NUL: they end up in JSON and in terminals. */
static bool check_bytes(struct lex *lex, const struct lex_source *src)
{
	size_t good = utf8_check(src->data, src->len), i;
	size_t nul = strnlen(src->data, src->len);
	int line = 1;

	if (nul < good)
		good = nul;
	if (good == src->len)
		return true;
	for (i = 0; i < good; i++)
		line += src->data[i] == '\n';
	conf_error_add(lex->errors, lex->scan->files[src->file], line,
		"a byte here (0x%02x) is not UTF-8 text; save the file as UTF-8",
		(unsigned char)src->data[good]);
	return false;
}

/* Takes `data`, which it owns from here. */
static bool push(struct lex *lex, char *data, size_t len, const char *name)
{
	struct scan *scan = lex->scan;
	struct lex_source *src;

	if (scan->n_files == SCAN_MAX_INCLUDES || lex->depth == LEX_MAX_NESTED) {
		free(data);
		return lex_fail(lex,
			"too many files are included, %d in all or %d within each other",
			SCAN_MAX_INCLUDES, LEX_MAX_NESTED);
	}
	scan->files[scan->n_files] = strdup(name);
	if (!scan->files[scan->n_files]) {
		free(data);
		return conf_error_add(lex->errors, name, 0, "there is no memory left");
	}
	src = &lex->stack[lex->depth++];
	*src = (struct lex_source){
		.data = data, .len = len, .line = 1, .file = scan->n_files++, .fresh = true};
	if (len >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
		src->at = 3; /* a byte order mark, as some editors leave it */
	if (!check_bytes(lex, src)) {
		lex->token = TOKEN_ERROR;
		return false;
	}
	return true;
}

bool lex_open_text(struct lex *lex, const char *text, size_t len, const char *name)
{
	char *data;

	if (len > CONF_FILE_SIZE_MAX)
		return conf_error_add(lex->errors, name, 0, "the text is larger than %zu bytes",
			CONF_FILE_SIZE_MAX);
	data = malloc(len + 1);
	if (!data)
		return conf_error_add(lex->errors, name, 0, "there is no memory left");
	if (len)
		memcpy(data, text, len);
	data[len] = '\0';
	return push(lex, data, len, name);
}

bool lex_open_file(struct lex *lex, const char *path)
{
	struct err err = {0};
	char *data = NULL;
	size_t len = 0;

	if (strlen(path) >= CONF_FILE_MAX)
		return conf_error_add(lex->errors, path, 0, "this file's name is too long");
	if (!file_read(path, CONF_FILE_SIZE_MAX, &data, &len, &err)) {
		if (lex->depth)
			return lex_fail(lex, "the included file %s", err.text);
		return conf_error_add(lex->errors, path, 0, "the file %s", err.text);
	}
	return push(lex, data, len, path);
}

/* The byte `ahead` of the current one; 0 past the end (a NUL is refused by check_bytes()). */
static char peek(const struct lex_source *src, size_t ahead)
{
	return src->at + ahead < src->len ? src->data[src->at + ahead] : '\0';
}

static void step(struct lex_source *src)
{
	char c = src->data[src->at++];

	if (c == '\n') {
		src->line++;
		src->fresh = true;
	} else if (c != ' ' && c != '\t' && c != '\r') {
		src->fresh = false;
	}
}

static void begin(struct lex *lex, const struct lex_source *src)
{
	lex->line = src->line;
	lex->file = src->file;
}

/* `src` stands on '/' '*'. */
static bool skip_block_comment(struct lex *lex, struct lex_source *src)
{
	begin(lex, src);
	step(src);
	step(src);
	while (src->at < src->len) {
		if (peek(src, 0) == '*' && peek(src, 1) == '/') {
			step(src);
			step(src);
			return true;
		}
		step(src);
	}
	return lex_fail(lex, "this comment has no end; '*/' is missing");
}

static bool skip_blanks(struct lex *lex, struct lex_source *src)
{
	for (;;) {
		char c = peek(src, 0), next = peek(src, 1);

		if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
			step(src);
		} else if (c == '#' || (c == '/' && next == '/')) {
			while (peek(src, 0) && peek(src, 0) != '\n')
				step(src);
		} else if (c == '/' && next == '*') {
			if (!skip_block_comment(lex, src))
				return false;
		} else {
			return true;
		}
	}
}

static int hex_digit(char c)
{
	if (digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* `src` stands on a backslash. The escapes are libconfig's. */
static bool take_escape(struct lex *lex, struct lex_source *src)
{
	static const char from[] = "\\\"";
	const char *at;
	char c = peek(src, 1);
	int high = hex_digit(peek(src, 2)), low = high < 0 ? -1 : hex_digit(peek(src, 3));

	at = c ? strchr(from, c) : NULL;
	if (at) {
		buf_addc(&lex->word, *at);
		src->at += 2;
		return true;
	}
	if (c == 'x' && low >= 0 && high * 16 + low >= 0x20 && high * 16 + low < 0x7f) {
		buf_addc(&lex->word, (char)(high * 16 + low));
		src->at += 4;
		return true;
	}
	lex->line = src->line;
	return lex_fail(lex,
		"a text takes the escapes \\\\, \\\" and \\x20 to \\x7e only; write a "
		"backslash as \\\\");
}

/* `src` stands on '"'. */
static bool take_text(struct lex *lex, struct lex_source *src)
{
	lex->token = TOKEN_TEXT;
	step(src);
	for (;;) {
		char c = peek(src, 0);

		if (src->at >= src->len || c == '\n')
			return lex_fail(lex, "this text has no end; a '\"' is missing on the line");
		if (c == '"') {
			step(src);
			return true;
		}
		if ((unsigned char)c < 0x20 || c == 0x7f)
			return lex_fail(lex, "a text holds no control characters (0x%02x here)",
				(unsigned int)c);
		if (c == '\\') {
			if (!take_escape(lex, src))
				return false;
			continue;
		}
		buf_addc(&lex->word, c);
		step(src);
	}
}

/* Says what is wrong with a number; the scan goes on behind it. */
static void refuse_number(struct lex *lex, const char *what)
{
	lex_fail(lex, "'%.40s' %s", buf_str(&lex->word), what);
	lex->token = TOKEN_BAD;
}

#define WHOLE_OR_QUANTITY                                                                          \
	"; a count is a whole number, a quantity a text with its unit, for example \"1.5 GiB/s\""

/* A number, or what looks like one: everything that people write in its place is taken as a whole,
 * so that the sentence can be right. */
static void take_number(struct lex *lex, struct lex_source *src)
{
	const char *digits;
	size_t n = 0;
	char c;

	while ((c = peek(src, 0)) && (digit(c) || letter(c) || strchr(".+-_%", c))) {
		buf_addc(&lex->word, c);
		step(src);
	}
	digits = buf_str(&lex->word);
	digits += *digits == '-' || *digits == '+';
	while (digit(digits[n]))
		n++;
	lex->token = TOKEN_INT;
	if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
		refuse_number(lex, "is hexadecimal; write the number in decimal");
	else if (digits[n] == '.')
		refuse_number(lex, "is a fraction" WHOLE_OR_QUANTITY);
	else if (n && (digits[n] == 'e' || digits[n] == 'E'))
		refuse_number(lex, "has an exponent" WHOLE_OR_QUANTITY);
	else if (n && digits[n])
		refuse_number(
			lex, "must stand in quotes, for example \"8h\", \"80%\" or \"1 GiB\"");
	else if (!n)
		refuse_number(lex, "is not a number");
	else if (digits[0] == '0' && n > 1)
		refuse_number(lex,
			"begins with 0, which some programs read as octal; write it without the 0");
	else if (n > INT_DIGITS_MAX)
		refuse_number(lex,
			"is too large for a plain number; a quantity is a text with its "
			"unit, for example \"3 GB\"");
}

static void take_word(struct lex *lex, struct lex_source *src)
{
	const char *word;
	char c;

	while ((c = peek(src, 0)) && (letter(c) || digit(c) || strchr("-_*", c))) {
		buf_addc(&lex->word, c);
		step(src);
	}
	word = buf_str(&lex->word);
	lex->token = TOKEN_NAME;
	if (strcasecmp(word, "true") == 0 || strcasecmp(word, "false") == 0)
		lex->token = TOKEN_BOOL;
}

/* `src` stands on '@' as the first of its line. Opens the file; the next token comes from there. */
static bool take_include(struct lex *lex, struct lex_source *src)
{
	static const char word[] = "@include";
	char path[CONF_FILE_MAX];
	size_t i;

	if (src->len - src->at < sizeof(word) - 1 ||
		memcmp(src->data + src->at, word, sizeof(word) - 1) != 0)
		return lex_fail(lex, "after '@' only '@include \"FILE\"' is known");
	src->at += sizeof(word) - 1;
	while (peek(src, 0) == ' ' || peek(src, 0) == '\t')
		step(src);
	if (peek(src, 0) != '"' || !take_text(lex, src) || !lex->word.len) {
		if (lex->token != TOKEN_ERROR || !lex->word.len)
			lex_fail(lex, "'@include' needs a file name in quotes: @include \"FILE\"");
		return false;
	}
	if (!file_beside(lex->scan->files[src->file], buf_str(&lex->word), path, sizeof(path)))
		return lex_fail(lex, "the included file's name is too long");
	for (i = 0; i < lex->depth; i++) {
		if (strcmp(lex->scan->files[lex->stack[i].file], path) == 0)
			return lex_fail(lex, "'%s' includes itself", path);
	}
	return lex_open_file(lex, path);
}

static void take_token(struct lex *lex, struct lex_source *src)
{
	char c = peek(src, 0);

	if (c == '"') {
		take_text(lex, src);
	} else if (digit(c) || c == '-' || c == '+' || c == '.') {
		take_number(lex, src);
	} else if (letter(c) || c == '*') {
		take_word(lex, src);
	} else if (strchr("=:;,{}[]()", c)) {
		lex->token = TOKEN_MARK;
		lex->mark = c == ':' ? '=' : c;
		step(src);
	} else if ((unsigned char)c >= 0x80) {
		lex_fail(lex, "letters beyond ASCII stand in texts and comments only");
	} else {
		lex_fail(lex, "'%c' cannot stand here", c);
	}
}

void lex_next(struct lex *lex)
{
	struct lex_source *src;

	if (lex->token == TOKEN_ERROR)
		return;
	while (lex->depth) {
		src = &lex->stack[lex->depth - 1];
		if (!skip_blanks(lex, src))
			return;
		buf_clear(&lex->word);
		begin(lex, src);
		if (src->at >= src->len) {
			if (lex->depth == 1)
				break;
			free(src->data);
			lex->depth--;
		} else if (peek(src, 0) == '@' && src->fresh) {
			if (!take_include(lex, src)) {
				lex->token = TOKEN_ERROR;
				return;
			}
		} else {
			take_token(lex, src);
			if (lex->word.failed)
				lex_fail(lex, "there is no memory left");
			return;
		}
	}
	lex->token = TOKEN_END;
}

void lex_release(struct lex *lex)
{
	while (lex->depth)
		free(lex->stack[--lex->depth].data);
	buf_release(&lex->word);
}
