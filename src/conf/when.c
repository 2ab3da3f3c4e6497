// SPDX-License-Identifier: MIT
#include "conf/when.h"

#include <stdlib.h>
#include <string.h>

#include "conf/nearest.h"
#include "conf/schema.h"
#include "conf/value.h"

static struct cond *cond_new(enum cond_kind kind, struct node node)
{
	struct cond *cond = calloc(1, sizeof(*cond));

	if (cond) {
		cond->kind = kind;
		cond->line = node.set ? node_line(node) : 0;
	}
	return cond;
}

struct cond *when_empty(void)
{
	return cond_new(COND_ALL, (struct node){NULL, NULL});
}

void when_free(struct cond *cond)
{
	while (cond) {
		struct cond *next = cond->next;
		size_t i;

		when_free(cond->child);
		for (i = 0; i < cond->n_values; i++)
			free((void *)(uintptr_t)cond->values[i].text);
		free(cond->values);
		free(cond);
		cond = next;
	}
}

static void *no_memory(struct node node, struct conf_errors *errors)
{
	node_error(node, errors, "there is no memory left");
	return NULL;
}

/* A count may be a plain number. */
static bool read_value(
	enum field field, struct node node, struct value *ret, struct conf_errors *errors)
{
	struct err err = {0};

	if (node_bad(node))
		return false;
	if (node_type(node) == NODE_INT && field_type(field) == FIELD_TYPE_COUNT) {
		if (node_int(node) < 0)
			return node_error(
				node, errors, "%s: a count is not negative", field_word(field));
		*ret = (struct value){.cmp = CMP_EQ, .number = node_int(node)};
		return true;
	}
	if (node_type(node) != NODE_TEXT)
		return node_error(node, errors, "%s is compared with a text in quotes, not %s",
			field_word(field), node_type_name(node));
	if (!value_parse(field, node_text(node), ret, &err))
		return node_error(node, errors, "%s: %s", field_word(field), err.text);
	if (!ret->text)
		return true;
	ret->text = strdup(ret->text);
	return ret->text || node_error(node, errors, "there is no memory left");
}

/* `progress = ["> 10%", "< 50%"]` means any of them, which is always so: people who write it mean
 * both. */
static bool check_bounds(const struct cond *cond, struct node node, struct conf_errors *errors)
{
	const char *field = field_word(cond->field);
	size_t i, k;

	if (field_type(cond->field) == FIELD_TYPE_TEXT || cond->field == FIELD_TIME)
		return true;
	for (i = 0; i < cond->n_values; i++) {
		for (k = 0; k < cond->n_values; k++) {
			int64_t low, high, other_low, other_high;

			if (!value_range(&cond->values[i], &low, &high) ||
				!value_range(&cond->values[k], &other_low, &other_high) ||
				low != INT64_MIN || other_high != INT64_MAX || i == k ||
				other_low == INT64_MIN || high < other_low - 1)
				continue;
			return node_error(node, errors,
				"%s: a list means any of its values, and these cover everything; "
				"for "
				"both bounds write one of them as not = { %s = ...; }",
				field, field);
		}
	}
	return true;
}

static bool check_twice(const struct cond *cond, struct node node, struct conf_errors *errors)
{
	size_t i, k;

	for (i = 0; i < cond->n_values; i++) {
		for (k = 0; k < i; k++) {
			if (!value_within(cond->field, &cond->values[i], &cond->values[k]) ||
				!value_within(cond->field, &cond->values[k], &cond->values[i]))
				continue;
			return node_error(node_at(node, i), errors, "%s names the same value twice",
				field_word(cond->field));
		}
	}
	return true;
}

static struct cond *read_test(enum field field, struct node node, struct conf_errors *errors)
{
	bool list = node_type(node) == NODE_LIST, good = true;
	size_t n = list ? node_count(node) : 1, i;
	struct cond *cond;

	if (!n || n > WHEN_MAX_VALUES) {
		node_error(node, errors, "%s lists %zu values; it needs 1 to %d", field_word(field),
			n, WHEN_MAX_VALUES);
		return NULL;
	}
	cond = cond_new(COND_TEST, node);
	if (!cond)
		return no_memory(node, errors);
	cond->field = field;
	cond->values = calloc(n, sizeof(*cond->values));
	if (!cond->values) {
		when_free(cond);
		return no_memory(node, errors);
	}
	cond->n_values = n;
	for (i = 0; i < n; i++) {
		if (!read_value(field, list ? node_at(node, i) : node, &cond->values[i], errors))
			good = false;
	}
	if (good && check_bounds(cond, node, errors) && check_twice(cond, node, errors))
		return cond;
	when_free(cond);
	return NULL;
}

static struct cond *read_group(struct node group, int depth, struct conf_errors *errors);

static struct cond *read_not(struct node node, int depth, struct conf_errors *errors)
{
	struct cond *cond;

	if (node_type(node) != NODE_GROUP || !node_count(node)) {
		node_error(node, errors,
			"'not' takes a group with at least one condition: not = { "
			"operation = \"check\"; }");
		return NULL;
	}
	cond = cond_new(COND_NOT, node);
	if (!cond)
		return no_memory(node, errors);
	cond->child = read_group(node, depth + 1, errors);
	if (cond->child)
		return cond;
	when_free(cond);
	return NULL;
}

static struct cond *read_any(struct node node, int depth, struct conf_errors *errors)
{
	struct cond *cond, **tail;
	bool good = true;
	size_t i;

	if (node_type(node) != NODE_LIST || !node_count(node)) {
		node_error(node, errors,
			"'any' takes a list of groups: any = ( { operation = "
			"\"recovery\"; }, { health = \"degraded\"; } )");
		return NULL;
	}
	cond = cond_new(COND_ANY, node);
	if (!cond)
		return no_memory(node, errors);
	tail = &cond->child;
	for (i = 0; i < node_count(node); i++) {
		struct node one = node_at(node, i);

		if (node_type(one) != NODE_GROUP || !node_count(one)) {
			good = node_error(one, errors,
				"'any' takes groups with at least one condition each, not %s",
				node_type(one) == NODE_GROUP ? "an empty one"
							     : node_type_name(one));
			continue;
		}
		*tail = read_group(one, depth + 1, errors);
		if (*tail)
			tail = &(*tail)->next;
		else
			good = false;
	}
	if (good)
		return cond;
	when_free(cond);
	return NULL;
}

static struct cond *unknown_field(struct node node, struct conf_errors *errors)
{
	const char *name = node_name(node);
	struct nearest nearest = {.wrong = name};
	int field;

	if (strcmp(name, "all") == 0) {
		node_error(node, errors,
			"'all' is not needed: the conditions of a group must all hold");
		return NULL;
	}
	for (field = 1; field < FIELD_COUNT; field++)
		nearest_offer(&nearest, field_word((enum field)field));
	nearest_offer(&nearest, "any");
	nearest_offer(&nearest, "not");
	if (nearest.best)
		node_error(node, errors, "'%.60s' is no condition; did you mean '%s'?", name,
			nearest.best);
	else
		node_error(node, errors,
			"'%.60s' is no condition; policy/README.md lists those that there are",
			name);
	return NULL;
}

static struct cond *read_member(struct node node, int depth, struct conf_errors *errors)
{
	const char *name = node_name(node);
	enum field field;

	if (strcmp(name, "any") == 0)
		return read_any(node, depth, errors);
	if (strcmp(name, "not") == 0)
		return read_not(node, depth, errors);
	field = field_parse(name);
	return field ? read_test(field, node, errors) : unknown_field(node, errors);
}

static struct cond *read_group(struct node group, int depth, struct conf_errors *errors)
{
	struct cond *cond, **tail;
	bool good = true;
	size_t i;

	if (depth > WHEN_MAX_DEPTH) {
		node_error(
			group, errors, "conditions are nested deeper than %d here", WHEN_MAX_DEPTH);
		return NULL;
	}
	cond = cond_new(COND_ALL, group);
	if (!cond)
		return no_memory(group, errors);
	tail = &cond->child;
	for (i = 0; i < node_count(group); i++) {
		*tail = read_member(node_at(group, i), depth, errors);
		if (*tail)
			tail = &(*tail)->next;
		else
			good = false;
	}
	if (good)
		return cond;
	when_free(cond);
	return NULL;
}

struct cond *when_read(struct node group, struct conf_errors *errors)
{
	if (node_type(group) == NODE_GROUP)
		return read_group(group, 0, errors);
	node_error(group, errors,
		"'when' is a group of conditions: when = { operation = "
		"\"recovery\"; }");
	return NULL;
}

static void print_test(const struct cond *cond, struct buf *ret)
{
	size_t i;

	buf_addf(ret, "%s = ", field_word(cond->field));
	if (cond->n_values > 1)
		buf_addc(ret, '[');
	for (i = 0; i < cond->n_values; i++) {
		buf_adds(ret, i ? ", " : "");
		value_print(cond->field, &cond->values[i], ret);
	}
	if (cond->n_values > 1)
		buf_addc(ret, ']');
}

void when_print(const struct cond *cond, struct buf *ret)
{
	const struct cond *child;

	switch (cond->kind) {
	case COND_NONE:
		return;
	case COND_TEST:
		print_test(cond, ret);
		return;
	case COND_NOT:
		buf_adds(ret, "not = ");
		when_print(cond->child, ret);
		return;
	case COND_ANY:
		buf_adds(ret, "any = (");
		for (child = cond->child; child; child = child->next) {
			when_print(child, ret);
			buf_adds(ret, child->next ? ", " : "");
		}
		buf_addc(ret, ')');
		return;
	case COND_ALL:
		buf_addc(ret, '{');
		for (child = cond->child; child; child = child->next) {
			buf_addc(ret, ' ');
			when_print(child, ret);
			buf_addc(ret, ';');
		}
		buf_adds(ret, cond->child ? " }" : "}");
		return;
	}
}

bool when_names(const struct cond *cond, enum field field)
{
	const struct cond *child;

	if (cond->kind == COND_TEST)
		return cond->field == field;
	for (child = cond->child; child; child = child->next) {
		if (when_names(child, field))
			return true;
	}
	return false;
}

/* Each value of `b` lies within one of `a`. */
static bool test_implies(const struct cond *b, const struct cond *a)
{
	size_t i, k;

	if (b->field != a->field)
		return false;
	for (i = 0; i < b->n_values; i++) {
		for (k = 0; k < a->n_values; k++) {
			if (value_within(b->field, &b->values[i], &a->values[k]))
				break;
		}
		if (k == a->n_values)
			return false;
	}
	return true;
}

static bool implies(const struct cond *b, const struct cond *a, size_t *budget);

/* One of the children of `b`, which all hold, is enough. */
static bool some_child_implies(const struct cond *b, const struct cond *a, size_t *budget)
{
	const struct cond *child;

	for (child = b->child; child; child = child->next) {
		if (implies(child, a, budget))
			return true;
	}
	return false;
}

/*
 * Sound in the three-valued logic of match.h, where a condition matches only where it is YES: if b
 * is YES, a is. For `not`: b = not x, a = not y, and y implies x; x is NO, and since each test of y
 * lies within one of x on the same field, y is NO as well.
 */
static bool implies(const struct cond *b, const struct cond *a, size_t *budget)
{
	const struct cond *child;

	if (!*budget)
		return false;
	(*budget)--;
	if (a->kind == COND_ALL) {
		for (child = a->child; child; child = child->next) {
			if (!implies(b, child, budget))
				return false;
		}
		return true;
	}
	if (b->kind == COND_ANY) {
		for (child = b->child; child; child = child->next) {
			if (!implies(child, a, budget))
				return false;
		}
		return true;
	}
	if (a->kind == COND_ANY) {
		for (child = a->child; child; child = child->next) {
			if (implies(b, child, budget))
				return true;
		}
	}
	if (b->kind == COND_ALL)
		return some_child_implies(b, a, budget);
	if (b->kind == COND_TEST && a->kind == COND_TEST)
		return test_implies(b, a);
	if (b->kind == COND_NOT && a->kind == COND_NOT)
		return implies(a->child, b->child, budget);
	return false;
}

bool when_implies(const struct cond *b, const struct cond *a, size_t *budget)
{
	return implies(b, a, budget);
}
