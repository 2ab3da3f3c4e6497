// SPDX-License-Identifier: MIT
/*
 * A configuration as a tree of nodes, each with the file and line where it was written: what
 * libconfig makes of the text that scan.h has checked. The only header of the program that stands
 * before libconfig; the nodes belong to the tree.
 */
#ifndef RG_CONF_TREE_H
#define RG_CONF_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/errors.h"

struct tree;
struct config_setting_t;

struct node {
	const struct tree *tree;
	struct config_setting_t *set; /* NULL: there is none */
};

enum node_type { NODE_NONE = 0, NODE_GROUP, NODE_LIST, NODE_TEXT, NODE_INT, NODE_BOOL };

/* NULL where the file cannot be used. A tree with new errors has nodes that are bad. */
struct tree *tree_load(const char *file, struct conf_errors *errors);
struct tree *tree_parse(const char *text, size_t len, const char *name, struct conf_errors *errors);
void tree_free(struct tree *tree);

struct node tree_root(const struct tree *tree);
const char *node_name(struct node node); /* "" for the root and for elements of lists */
enum node_type node_type(struct node node);
const char *node_type_name(struct node node); /* "a group", "a text", ... */
size_t node_count(struct node node);          /* of a group's members, a list's elements */
struct node node_at(struct node node, size_t at);
struct node node_member(struct node node, const char *name);
const char *node_text(struct node node);
int node_int(struct node node);
bool node_bool(struct node node);
const char *node_file(struct node node);
int node_line(struct node node);
bool node_bad(struct node node); /* refused by the scan already: pass over it */

/* conf_error_add() with the node's place. Returns false. */
bool node_error(struct node node, struct conf_errors *errors, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
