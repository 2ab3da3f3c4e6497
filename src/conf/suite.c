// SPDX-License-Identifier: MIT
/* A policy's own tests: reading them, and running one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "conf/conf.h"
#include "conf/given.h"
#include "conf/keys.h"
#include "conf/policy_read.h"

/* Stands in the list of facts before those of one more array. */
#define ARRAY_MARK "arrays"

#define CASE(field) offsetof(struct policy_case, field)

static const struct schema_word verdicts[] = {
	{"allow", VERDICT_ALLOW},
	{"throttle", VERDICT_THROTTLE},
	{"hold", VERDICT_HOLD},
	{"deny", VERDICT_DENY},
	{NULL, 0},
};

static const struct schema_key case_keys[] = {
	{.name = "name",
		.type = SCHEMA_TEXT,
		.offset = CASE(name),
		.size = sizeof(((struct policy_case *)NULL)->name),
		.min = 1,
		.help = "what the test is called"},
	{.name = "given", .type = SCHEMA_OTHER},
	{.name = "expect", .type = SCHEMA_OTHER},
};

struct expect {
	enum verdict verdict, act;
	int64_t step, protect;
	char rule[RULE_NAME_MAX];
	char reason[32];
};

#define EXPECT(field) offsetof(struct expect, field)

static const struct schema_key expect_keys[] = {
	{.name = "verdict",
		.type = SCHEMA_WORD,
		.offset = EXPECT(verdict),
		.words = verdicts,
		.shipped = "",
		.help = "the decision's verdict"},
	{.name = "act",
		.type = SCHEMA_WORD,
		.offset = EXPECT(act),
		.words = verdicts,
		.shipped = "",
		.help = "what the job does"},
	{.name = "step",
		.type = SCHEMA_COUNT,
		.offset = EXPECT(step),
		.min = 1,
		.max = 8,
		.shipped = "",
		.help = "the step that settled it"},
	{.name = "rule",
		.type = SCHEMA_TEXT,
		.offset = EXPECT(rule),
		.size = RULE_NAME_MAX,
		.shipped = "",
		.help = "the rule; \"\" for none"},
	{.name = "reason",
		.type = SCHEMA_TEXT,
		.offset = EXPECT(reason),
		.size = sizeof(((struct expect *)NULL)->reason),
		.shipped = "",
		.help = "the word of the first reason"},
	{.name = "protect",
		.type = SCHEMA_PERCENT,
		.offset = EXPECT(protect),
		.min = 1,
		.max = 1000000,
		.shipped = "",
		.help = "the share that a throttled job leaves to the rebuild"},
};

static const struct schema case_schema = {
	"A test", case_keys, sizeof(case_keys) / sizeof(case_keys[0])};
static const struct schema expect_schema = {
	"What it expects", expect_keys, sizeof(expect_keys) / sizeof(expect_keys[0])};

/* One fact as text, whatever it was written as; NULL with an error. */
static char *fact_text(struct node node, struct conf_errors *errors)
{
	struct buf text = {0};
	size_t i;
	char *copy;

	if (node_type(node) == NODE_TEXT)
		buf_adds(&text, node_text(node));
	else if (node_type(node) == NODE_INT)
		buf_addf(&text, "%d", node_int(node));
	else if (node_type(node) == NODE_BOOL)
		buf_adds(&text, node_bool(node) ? "true" : "false");
	else if (strcmp(node_name(node), "guest") != 0) {
		node_error(node, errors,
			"'%.60s' is one fact here: a text, a number, true or false",
			node_name(node));
		return NULL;
	}
	for (i = 0; i < node_count(node); i++) {
		if (node_type(node_at(node, i)) == NODE_INT)
			buf_addf(&text, "%s%d", i ? "," : "", node_int(node_at(node, i)));
	}
	copy = strdup(buf_str(&text));
	buf_release(&text);
	if (!copy)
		node_error(node, errors, "there is no memory left");
	return copy;
}

static bool add_fact(struct policy_case *test, const char *key, char *value, int line, size_t *cap)
{
	struct policy_given *fact;

	if (test->n_given == *cap) {
		size_t more = *cap ? *cap * 2 : 8;
		struct policy_given *list = realloc(test->given, more * sizeof(*list));

		if (!list)
			return false;
		test->given = list;
		*cap = more;
	}
	fact = &test->given[test->n_given];
	fact->key = strdup(key);
	fact->value = value;
	fact->line = line;
	test->n_given += fact->key != NULL;
	return fact->key != NULL;
}

static void read_facts(struct policy_case *test, struct node group, size_t *cap, bool top,
	struct conf_errors *errors);

static void read_arrays(
	struct policy_case *test, struct node list, size_t *cap, struct conf_errors *errors)
{
	size_t i;

	if (node_type(list) != NODE_LIST) {
		node_error(list, errors,
			"'arrays' is a list of groups: arrays = ( { array = "
			"\"md3\"; operation = \"check\"; } )");
		return;
	}
	for (i = 0; i < node_count(list); i++) {
		if (!add_fact(test, ARRAY_MARK, NULL, node_line(node_at(list, i)), cap)) {
			node_error(list, errors, "there is no memory left");
			return;
		}
		read_facts(test, node_at(list, i), cap, false, errors);
	}
}

static void read_facts(struct policy_case *test, struct node group, size_t *cap, bool top,
	struct conf_errors *errors)
{
	size_t i;

	if (node_type(group) != NODE_GROUP) {
		node_error(group, errors,
			"'given' is a group of facts: given = { operation = "
			"\"recovery\"; }");
		return;
	}
	for (i = 0; i < node_count(group); i++) {
		struct node node = node_at(group, i);
		char *value;

		if (top && strcmp(node_name(node), ARRAY_MARK) == 0)
			continue; /* those come after the facts of the first one */
		value = node_bad(node) ? NULL : fact_text(node, errors);
		if (value && !add_fact(test, node_name(node), value, node_line(node), cap)) {
			free(value);
			node_error(node, errors, "there is no memory left");
		}
	}
	if (top && node_member(group, ARRAY_MARK).set)
		read_arrays(test, node_member(group, ARRAY_MARK), cap, errors);
}

static void read_expect(struct policy_case *test, struct node test_node,
	const struct policy *policy, struct conf_errors *errors)
{
	struct node group = node_member(test_node, "expect"), rule;
	struct expect expect = {0};
	struct schema_part part = {&expect_schema, &expect, 0};

	if (!group.set || !node_count(group)) {
		node_error(group.set ? group : test_node, errors,
			"a test needs expect = { verdict = \"...\"; } with at least one of "
			"verdict, "
			"act, step, rule, reason and protect");
		return;
	}
	if (!schema_read(&part, 1, group, "'expect'", NULL, errors))
		return;
	rule = node_member(group, "rule");
	test->verdict = expect.verdict;
	test->act = expect.act;
	test->step = (int)expect.step;
	test->protect_ppm = expect.protect;
	test->has_rule = rule.set != NULL;
	snprintf(test->rule, sizeof(test->rule), "%s", expect.rule);
	test->reason = expect.reason[0] ? reason_parse(expect.reason) : REASON_NONE;
	if (policy && expect.rule[0] && !policy_rule(policy, expect.rule))
		node_error(rule, errors, "the policy has no rule '%s'", expect.rule);
	if (expect.reason[0] && test->reason == REASON_NONE)
		node_error(node_member(group, "reason"), errors,
			"there is no reason '%s'; a decision's reasons show their words with "
			"--output-format json",
			expect.reason);
}

/* The facts one by one on inputs that nobody uses, for their errors. */
static void check_facts(const struct policy_case *test, const struct policy *policy,
	struct inputs *scratch, struct conf_errors *errors)
{
	struct given given;
	struct err err = {0};
	bool good = true;
	size_t i;

	given_start(&given, scratch);
	for (i = 0; i < test->n_given; i++) {
		const struct policy_given *fact = &test->given[i];
		bool set = fact->value ? given_set(&given, fact->key, fact->value, &err)
				       : given_array(&given, &err);

		if (!set)
			good = conf_error_add(errors, test->file, fact->line, "%s", err.text);
	}
	if (good && policy && !given_finish(&given, policy, &err))
		conf_error_add(errors, test->file, test->line, "%s", err.text);
}

static void read_case(struct policy_suite *suite, struct policy_case *test, struct node node,
	struct inputs *scratch, struct conf_errors *errors)
{
	struct schema_part part = {&case_schema, test, 0};
	struct node given = node_member(node, "given");
	size_t cap = 0;

	test->file = node_file(node);
	test->line = node_line(node);
	schema_read(&part, 1, node, "a test", NULL, errors);
	if (node_type(node) != NODE_GROUP)
		return;
	if (given.set)
		read_facts(test, given, &cap, true, errors);
	check_facts(test, suite->policy, scratch, errors);
	read_expect(test, node, suite->policy, errors);
}

static bool read_cases(struct policy_suite *suite, struct node list, struct conf_errors *errors)
{
	struct inputs *scratch;
	size_t n = node_count(list), i;

	if (!list.set)
		return true;
	if (node_type(list) != NODE_LIST || n > POLICY_MAX_CASES)
		return node_error(list, errors,
			"'tests' is a list of at most %d groups: tests = ( { name = \"...\"; given "
			"= "
			"{ ... }; expect = { ... } } )",
			POLICY_MAX_CASES);
	if (!n)
		return true;
	suite->cases = calloc(n, sizeof(*suite->cases));
	scratch = calloc(1, sizeof(*scratch));
	if (suite->cases && scratch) {
		suite->n_cases = n;
		for (i = 0; i < n; i++)
			read_case(suite, &suite->cases[i], node_at(list, i), scratch, errors);
	} else {
		node_error(list, errors, "there is no memory left");
	}
	free(scratch);
	return conf_errors_none(errors);
}

/* Test cases outlive the tree: from here their file is the suite's. */
static bool suite_read(
	struct policy_suite **ret, struct tree *tree, const char *name, struct conf_errors *errors)
{
	struct policy_suite *suite = calloc(1, sizeof(*suite));
	struct node root = tree_root(tree);
	size_t i;

	if (suite)
		suite->name = strdup(name);
	if (!suite || !suite->name) {
		free(suite);
		return node_error(root, errors, "there is no memory left");
	}
	suite->policy = policy_read(root, errors);
	read_cases(suite, node_member(root, "tests"), errors);
	for (i = 0; i < suite->n_cases; i++)
		suite->cases[i].file = suite->name;
	conf_errors_sort(errors);
	if (suite->policy && conf_errors_none(errors)) {
		*ret = suite;
		return true;
	}
	conf_suite_free(suite);
	return false;
}

bool conf_suite_load(const char *file, struct policy_suite **ret, struct conf_errors *errors)
{
	struct tree *tree = tree_load(file, errors);
	bool good;

	*ret = NULL;
	if (!tree)
		return false;
	good = suite_read(ret, tree, file, errors);
	tree_free(tree);
	return good;
}

bool conf_suite_parse(const char *text, size_t len, const char *name, struct policy_suite **ret,
	struct conf_errors *errors)
{
	struct tree *tree = tree_parse(text, len, name, errors);
	bool good;

	*ret = NULL;
	if (!tree)
		return false;
	good = suite_read(ret, tree, name, errors);
	tree_free(tree);
	return good;
}

void conf_suite_free(struct policy_suite *suite)
{
	size_t i, k;

	if (!suite)
		return;
	for (i = 0; i < suite->n_cases; i++) {
		for (k = 0; k < suite->cases[i].n_given; k++) {
			free(suite->cases[i].given[k].key);
			free(suite->cases[i].given[k].value);
		}
		free(suite->cases[i].given);
	}
	free(suite->cases);
	conf_policy_free(suite->policy);
	free(suite->name);
	free(suite);
}

static const char *or_none(const char *text)
{
	return text && text[0] ? text : "none";
}

/* Writes the first thing that differs. */
static bool compare(const struct policy_case *test, const struct decision *got, char *why, size_t n)
{
	char shown[UNITS_TEXT_MAX], wanted[UNITS_TEXT_MAX];

	why[0] = '\0';
	if (test->verdict && test->verdict != got->verdict)
		snprintf(why, n, "verdict is %s, not %s", or_none(verdict_word(got->verdict)),
			verdict_word(test->verdict));
	else if (test->act && test->act != got->act)
		snprintf(why, n, "act is %s, not %s", or_none(verdict_word(got->act)),
			verdict_word(test->act));
	else if (test->has_rule && strcmp(test->rule, got->rule) != 0)
		snprintf(why, n, "rule is %s, not %s", or_none(got->rule), or_none(test->rule));
	else if (test->step && test->step != got->step)
		snprintf(why, n, "step is %d, not %d", got->step, test->step);
	else if (test->reason && test->reason != got->reasons[0].code)
		snprintf(why, n, "reason is %s, not %s", or_none(reason_word(got->reasons[0].code)),
			or_none(reason_word(test->reason)));
	else if (test->protect_ppm && test->protect_ppm != got->protect_ppm)
		snprintf(why, n, "protect is %s, not %s",
			got->protect_ppm ? percent_print(got->protect_ppm, shown) : "nothing",
			percent_print(test->protect_ppm, wanted));
	return !why[0];
}

bool conf_case_run(const struct policy *policy, const struct policy_case *test,
	struct policy_case_result *ret, struct trace *trace)
{
	struct inputs *in = calloc(1, sizeof(*in));
	struct given given;
	struct err err = {0};
	bool good = true;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	if (!in)
		return false;
	given_start(&given, in);
	for (i = 0; i < test->n_given && good; i++) {
		const struct policy_given *fact = &test->given[i];

		good = fact->value ? given_set(&given, fact->key, fact->value, &err)
				   : given_array(&given, &err);
	}
	good = good && given_finish(&given, policy, &err);
	if (good) {
		decide(policy, in, &ret->decision, trace);
		ret->good = compare(test, &ret->decision, ret->why, sizeof(ret->why));
	} else {
		snprintf(ret->why, sizeof(ret->why), "%.200s", err.text);
	}
	free(in);
	return true;
}
