// SPDX-License-Identifier: MIT
#include "core/rules.h"

#include <string.h>

#include "core/match.h"
#include "core/reason.h"

static const struct array_facts *array_find(const struct nas_facts *facts, const char *name)
{
	size_t i;

	for (i = 0; i < facts->n_arrays && i < MD_MAX_ARRAYS; i++) {
		if (strcmp(facts->arrays[i].name, name) == 0)
			return &facts->arrays[i];
	}
	return NULL;
}

/* The arrays of the storage; at least one entry, in which `array` may be NULL. */
static size_t arrays_of(const struct inputs *in, struct found list[MD_MAX_ARRAYS])
{
	const struct mapping *mapping = &in->mapping;
	size_t n = 0, i;

	memset(list, 0, MD_MAX_ARRAYS * sizeof(list[0]));
	for (; n < mapping->n_arrays && n < MAPPING_MAX_ARRAYS; n++) {
		list[n].name = mapping->arrays[n];
		list[n].array = array_find(&in->facts, mapping->arrays[n]);
	}
	if (n)
		return n;
	for (i = 0; i < in->facts.n_arrays && i < MD_MAX_ARRAYS; i++) {
		if (!mapping_covers(mapping, &in->facts.arrays[i]))
			continue;
		list[n].name = in->facts.arrays[i].name;
		list[n++].array = &in->facts.arrays[i];
	}
	if (n)
		return n;
	list[0].name = "";
	return 1;
}

const struct rule *rules_for_blind(const struct policy *policy, const struct inputs *in)
{
	size_t i;

	for (i = 0; i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];

		if (rule->on_sensor &&
			cond_match(rule->when, in, NULL, false, NULL, 0) == MATCH_YES)
			return rule;
	}
	return &policy->sensor;
}

/* The first rule that matches the array. */
static void judge(const struct deciding *d, int step, struct trace *trace, struct found *one)
{
	char why[200];
	size_t i;

	if (!one->array) {
		trace_rule(trace, step,
			one->name[0] ? "array %s was never seen" : "no data array was ever seen%s",
			one->name);
		if (step == 5) {
			one->rule = rules_for_blind(d->policy, d->in);
			one->verdict = verdict_sane(one->rule->verdict);
		}
		return;
	}
	for (i = 0; i < d->policy->n_rules; i++) {
		const struct rule *rule = &d->policy->rules[i];

		if (cond_match(rule->when, d->in, one->array, true, why, sizeof(why)) ==
			MATCH_YES) {
			trace_rule(trace, step, "rule '%s' matches %s: %s", rule->name, one->name,
				verdict_word(verdict_sane(rule->verdict)));
			one->rule = rule;
			one->verdict = verdict_sane(rule->verdict);
			return;
		}
		trace_rule(trace, step, "rule '%s' on %s: %s", rule->name, one->name, why);
	}
}

static bool stricter(const struct found *a, const struct found *b)
{
	if (a->verdict != b->verdict)
		return a->verdict > b->verdict;
	return a->array && !b->array;
}

void rules_find(struct deciding *d, int step, struct found *ret)
{
	struct found list[MD_MAX_ARRAYS];
	size_t n = arrays_of(d->in, list), i;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < n; i++) {
		judge(d, step, d->trace, &list[i]);
		if (list[i].rule && (!ret->rule || stricter(&list[i], ret)))
			*ret = list[i];
	}
}

void rules_others(struct deciding *d, const struct found *chosen)
{
	struct found list[MD_MAX_ARRAYS];
	size_t n = arrays_of(d->in, list), i;

	for (i = 0; i < n; i++) {
		char buf[200];
		struct text what = {buf, sizeof(buf), 0};

		judge(d, 5, NULL, &list[i]);
		if (!list[i].rule || list[i].name == chosen->name)
			continue;
		if (list[i].array)
			array_sentence(&what, d->in->mapping.nas, list[i].array);
		else
			text_add(&what, "array %s was never seen on %s", list[i].name,
				d->in->mapping.nas);
		reason_add(d->ret, REASON_ARRAY, "also %s, rule '%s': %s",
			verdict_word(list[i].verdict), list[i].rule->name, buf);
	}
}
