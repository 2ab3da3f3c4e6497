// SPDX-License-Identifier: MIT
/*
 * Tables that say what a group of a configuration file may hold. One entry for each setting serves
 * reading, checking, its default, printing, the nearest right name, and the documentation.
 *
 * Groups, lists of groups and conditions are entries too (SCHEMA_OTHER), so that their names are
 * known; their owner reads them.
 */
#ifndef RG_CONF_SCHEMA_H
#define RG_CONF_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "conf/tree.h"

enum schema_type {
	SCHEMA_NONE = 0,
	SCHEMA_OTHER,   /* read by the owner */
	SCHEMA_BOOL,    /* bool */
	SCHEMA_TEXT,    /* char[size] */
	SCHEMA_PATH,    /* char[size]: absolute, or "" where min is 0 */
	SCHEMA_SPAN,    /* int64_t ms */
	SCHEMA_RATE,    /* struct opt, bytes/s */
	SCHEMA_SIZE,    /* int64_t bytes */
	SCHEMA_PERCENT, /* int64_t ppm */
	SCHEMA_COUNT,   /* int64_t or uint16_t, a plain number */
	SCHEMA_WORD,    /* int or enum */
	SCHEMA_WINDOWS, /* struct schema_windows */
};

struct schema_word {
	const char *word; /* NULL ends the table */
	int number;
};

/* As in struct rule_settings: a pointer, then a count; owned. */
struct window;
struct schema_windows {
	struct window *list;
	size_t n;
};

struct schema_key {
	const char *name;
	enum schema_type type;
	size_t offset;    /* in the struct that the table describes */
	size_t size;      /* TEXT, PATH: of the array */
	int64_t min, max; /* of numbers; TEXT and PATH: min 1 refuses "" */
	const struct schema_word *words;
	const char *shipped; /* as written in a file, without quotes; NULL: must be given (or
				OTHER) */
	const char *help;
	bool (*check)(const char *text, struct err *err); /* TEXT: may be NULL */
	bool opt;                                         /* SPAN: the field is a struct opt */
	const char *word; /* SPAN: may stand in place of the number, which is the shipped one then;
			     else NULL */
	size_t word_at;   /* ... and the offset of the bool that says so */
	bool secret;      /* PATH: "credential:NAME", a systemd credential, is taken as well */
	unsigned int flags; /* the owner's */
};

struct schema {
	const char *title;
	const struct schema_key *keys; /* at most 64 */
	size_t n;
};

struct schema_part {
	const struct schema *schema;
	void *base;     /* the struct that it describes */
	uint64_t given; /* out: bit i: keys[i] stands in the group */
};

/* What more to say about an unknown name, or NULL. */
typedef const char *schema_hint(const char *name);

/* Sets every key that has a default. */
void schema_defaults(const struct schema *schema, void *base);

/* Reads a group by one or more tables. False if anything was wrong. `what` names the group in
 * messages ("a rule"). */
bool schema_read(struct schema_part *parts, size_t n, struct node group, const char *what,
	schema_hint *hint, struct conf_errors *errors);

/* Sets one value from a node. */
bool schema_set(
	const struct schema_key *key, void *base, struct node value, struct conf_errors *errors);

/* Appends "NAME = VALUE;" and a line break with `depth` tabs before it. */
void schema_print_key(const struct schema_key *key, const void *base, int depth, struct buf *ret);

/* A number in the unit of its type; returns `text`. */
#define SCHEMA_NUMBER_MAX 64
const char *schema_number_print(enum schema_type type, int64_t v, char text[SCHEMA_NUMBER_MAX]);

/* Appends a quoted text with what must be escaped. */
void schema_quote(struct buf *ret, const char *text);

/* Appends a Markdown table: setting, value, default, what it does. */
void schema_document(const struct schema *schema, struct buf *ret);

/* The index of `name`, or -1. */
int schema_find(const struct schema *schema, const char *name);

/* Reads a list of texts, or one text: how many; -1 with an error. Each must be shorter than `size`
 * and is copied to ret + i * size. */
int schema_texts(struct node list, char *ret, size_t size, size_t max, struct conf_errors *errors);

#endif
