// SPDX-License-Identifier: MIT
/*
 * The tokens of configuration text, through @include. See scan.h for what they are used for.
 */
#ifndef RG_CONF_LEX_H
#define RG_CONF_LEX_H

#include "conf/scan.h"

enum token {
	TOKEN_END = 0,
	TOKEN_ERROR, /* has been reported; nothing follows */
	TOKEN_NAME,
	TOKEN_TEXT,
	TOKEN_INT,
	TOKEN_BAD, /* a number that was refused */
	TOKEN_BOOL,
	TOKEN_MARK, /* = ; , { } [ ] ( ), in `mark` */
};

#define LEX_MAX_NESTED 10 /* files that include each other */

struct lex_source {
	char *data; /* owned */
	size_t len, at;
	int line, file;
	bool fresh; /* only blanks so far on this line */
};

struct lex {
	struct scan *scan; /* where the files' names go */
	struct conf_errors *errors;
	size_t depth;
	struct lex_source stack[LEX_MAX_NESTED];
	/* The current token: */
	enum token token;
	char mark;
	struct buf word; /* of a name, text (unescaped), number or bool */
	int line, file;  /* where it begins */
};

bool lex_open_file(struct lex *lex, const char *path);
bool lex_open_text(struct lex *lex, const char *text, size_t len, const char *name);
void lex_next(struct lex *lex);
void lex_release(struct lex *lex);

/* Reports at the current token and turns it into TOKEN_ERROR. Returns false. */
bool lex_fail(struct lex *lex, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
