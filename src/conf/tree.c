// SPDX-License-Identifier: MIT
#include "conf/tree.h"

#include <libconfig.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "conf/scan.h"

struct tree {
	config_t config;
	struct scan scan;
};

/* libconfig cannot refuse what the scan wrote; should it do so all the same, its own words are the
 * best there are. */
static bool tree_read(struct tree *tree, struct conf_errors *errors)
{
	int line;

	if (config_read_string(&tree->config, buf_str(&tree->scan.text)) == CONFIG_TRUE)
		return true;
	line = config_error_line(&tree->config);
	if (line > 0 && (size_t)line <= tree->scan.n_places) {
		const struct scan_place *place = &tree->scan.places[line - 1];

		return conf_error_add(errors, tree->scan.files[place->file], place->line,
			"libconfig refuses this: %s", config_error_text(&tree->config));
	}
	return conf_error_add(errors, tree->scan.files[0], 0, "libconfig refuses this: %s",
		config_error_text(&tree->config));
}

static struct tree *tree_new(const char *file, struct conf_errors *errors)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	if (tree)
		config_init(&tree->config);
	else
		conf_error_add(errors, file, 0, "there is no memory left");
	return tree;
}

static struct tree *tree_finish(struct tree *tree, bool scanned, struct conf_errors *errors)
{
	if (scanned && tree_read(tree, errors))
		return tree;
	tree_free(tree);
	return NULL;
}

struct tree *tree_load(const char *file, struct conf_errors *errors)
{
	struct tree *tree = tree_new(file, errors);

	return tree ? tree_finish(tree, scan_file(&tree->scan, file, errors), errors) : NULL;
}

struct tree *tree_parse(const char *text, size_t len, const char *name, struct conf_errors *errors)
{
	struct tree *tree = tree_new(name, errors);

	return tree ? tree_finish(tree, scan_text(&tree->scan, text, len, name, errors), errors)
		    : NULL;
}

void tree_free(struct tree *tree)
{
	if (!tree)
		return;
	config_destroy(&tree->config);
	scan_release(&tree->scan);
	free(tree);
}

struct node tree_root(const struct tree *tree)
{
	return (struct node){tree, config_root_setting(&tree->config)};
}

const char *node_name(struct node node)
{
	const char *name = node.set ? config_setting_name(node.set) : NULL;

	return name ? name : "";
}

enum node_type node_type(struct node node)
{
	if (!node.set)
		return NODE_NONE;
	switch (config_setting_type(node.set)) {
	case CONFIG_TYPE_GROUP:
		return NODE_GROUP;
	case CONFIG_TYPE_LIST:
	case CONFIG_TYPE_ARRAY:
		return NODE_LIST;
	case CONFIG_TYPE_STRING:
		return NODE_TEXT;
	case CONFIG_TYPE_INT:
		return NODE_INT;
	case CONFIG_TYPE_BOOL:
		return NODE_BOOL;
	default:
		return NODE_NONE;
	}
}

const char *node_type_name(struct node node)
{
	static const char *const names[] = {
		[NODE_NONE] = "nothing",
		[NODE_GROUP] = "a group { }",
		[NODE_LIST] = "a list",
		[NODE_TEXT] = "a text",
		[NODE_INT] = "a number",
		[NODE_BOOL] = "true or false",
	};

	return names[node_type(node)];
}

size_t node_count(struct node node)
{
	enum node_type type = node_type(node);

	if (type != NODE_GROUP && type != NODE_LIST)
		return 0;
	return (size_t)config_setting_length(node.set);
}

struct node node_at(struct node node, size_t at)
{
	return (struct node){node.tree, config_setting_get_elem(node.set, (unsigned int)at)};
}

struct node node_member(struct node node, const char *name)
{
	struct node member = {node.tree, NULL};

	if (node_type(node) == NODE_GROUP)
		member.set = config_setting_get_member(node.set, name);
	return member;
}

const char *node_text(struct node node)
{
	const char *text = config_setting_get_string(node.set);

	return text ? text : "";
}

int node_int(struct node node)
{
	return config_setting_get_int(node.set);
}

bool node_bool(struct node node)
{
	return config_setting_get_bool(node.set) != 0;
}

static const struct scan_place *place_of(struct node node)
{
	static const struct scan_place top = {0, 0, false};
	unsigned int line = node.set ? config_setting_source_line(node.set) : 0;

	if (line == 0 || line > node.tree->scan.n_places)
		return &top;
	return &node.tree->scan.places[line - 1];
}

const char *node_file(struct node node)
{
	return node.tree->scan.files[place_of(node)->file];
}

int node_line(struct node node)
{
	return place_of(node)->line;
}

/* A setting's line is that of its name; the value of a bad one stands on the next. */
bool node_bad(struct node node)
{
	unsigned int line = node.set ? config_setting_source_line(node.set) : 0;

	if (line == 0)
		return false;
	line += node_name(node)[0] != '\0';
	return line <= node.tree->scan.n_places && node.tree->scan.places[line - 1].bad;
}

bool node_error(struct node node, struct conf_errors *errors, const char *fmt, ...)
{
	char text[480];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return conf_error_add(errors, node_file(node), node_line(node), "%s", text);
}
