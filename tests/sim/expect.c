// SPDX-License-Identifier: MIT
/* expect SUBJECT KEY=VALUE...: '=', '!=', '<', '<=', '>', '>=' and '~' (within 5 %). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "script.h"

enum kind { KIND_NONE = 0, KIND_TEXT, KIND_COUNT, KIND_SPAN, KIND_RATE, KIND_PERCENT };

struct actual {
	enum kind kind;
	bool known;
	int64_t v;
	char text[RULE_NAME_MAX];
};

static struct actual text(const char *s)
{
	struct actual a = {.kind = KIND_TEXT, .known = true};

	snprintf(a.text, sizeof(a.text), "%s", s ? s : "");
	return a;
}

static struct actual number(enum kind kind, int64_t v)
{
	return (struct actual){.kind = kind, .known = true, .v = v};
}

static struct actual opt(enum kind kind, struct opt v)
{
	return (struct actual){.kind = kind, .known = v.known, .v = v.v};
}

static struct actual since_start(int64_t at_ms)
{
	return (struct actual){.kind = KIND_SPAN, .known = at_ms >= 0, .v = at_ms - SIM_START_MS};
}

static struct actual decision_value(const struct decision *d, const char *key)
{
	if (!strcmp(key, "act"))
		return text(verdict_word(d->act));
	if (!strcmp(key, "verdict"))
		return text(verdict_word(d->verdict));
	if (!strcmp(key, "would_be"))
		return text(verdict_word(d->would_be));
	if (!strcmp(key, "then"))
		return text(verdict_word(d->then));
	if (!strcmp(key, "rule"))
		return text(d->rule);
	if (!strcmp(key, "array"))
		return text(d->array);
	if (!strcmp(key, "reason"))
		return text(reason_word(d->reasons[0].code));
	if (!strcmp(key, "step"))
		return number(KIND_COUNT, d->step);
	if (!strcmp(key, "protect"))
		return (struct actual){
			.kind = KIND_PERCENT, .known = d->protect_ppm > 0, .v = d->protect_ppm};
	if (!strcmp(key, "ends_in"))
		return opt(KIND_SPAN, d->ends_in_ms);
	if (!strcmp(key, "expected"))
		return opt(KIND_SPAN, d->expected_ms);
	return (struct actual){0};
}

static struct actual job_value(struct sim *sim, struct job *job, const char *key)
{
	struct ticket *ticket = ticket_find(&sim->gate.tickets, job->ticket);
	struct moment now = sim_moment(sim);
	/* The ticket's own, where it lives: an expected end moves with each look. */
	const struct decision *d = ticket ? &ticket->last : &job->last;

	(void)now;
	if (!strcmp(key, "state"))
		return text(job_state_word(sim, job));
	if (!strcmp(key, "ticket"))
		return text(ticket_state_word(job->ticket_state));
	if (!strcmp(key, "held"))
		return number(KIND_SPAN,
			job->held_since >= 0 && job->state == JOB_INIT ? sim->t - job->held_since
								       : job->held_ms);
	if (!strcmp(key, "age"))
		return opt(KIND_SPAN, sim_age(sim, job));
	if (!strcmp(key, "inside"))
		return number(KIND_SPAN, job->inside_ms);
	if (!strcmp(key, "went"))
		return since_start(job->go_ms);
	if (!strcmp(key, "began"))
		return since_start(job->begun_ms);
	if (!strcmp(key, "ended"))
		return since_start(job->ended_ms);
	if (!strcmp(key, "runs"))
		return number(KIND_COUNT, job->runs);
	if (!strcmp(key, "skipped"))
		return number(KIND_COUNT, job->skipped);
	if (!strcmp(key, "guest"))
		return number(KIND_COUNT, job->guest);
	if (!strcmp(key, "guests_done"))
		return number(KIND_COUNT, job->guests_done);
	if (!strcmp(key, "guests_failed"))
		return number(KIND_COUNT, job->guests_failed);
	if (!strcmp(key, "decisions"))
		return number(KIND_COUNT, job->n_decisions);
	return decision_value(d, key);
}

/* What is so, and not only seen. */
static struct actual truth(struct sim *sim, const struct disk_array *array, const char *key)
{
	double rate = disks_rate(array, sim->t);
	double left = ((double)array->size_kib - array->done_kib) * 1024;

	if (!strcmp(key, "true_rate"))
		return number(KIND_RATE, (int64_t)rate);
	if (!strcmp(key, "true_left") && rate > 0)
		return number(KIND_SPAN, (int64_t)(left / rate * 1000));
	if (!strcmp(key, "true_operation"))
		return text(md_operation_word(array->op));
	return (struct actual){0};
}

static struct actual array_value(const struct array_facts *facts, const char *key)
{
	static const struct {
		const char *key;
		enum kind kind;
		size_t offset;
	} table[] = {
		{"rate", KIND_RATE, offsetof(struct array_facts, rate)},
		{"kernel_rate", KIND_RATE, offsetof(struct array_facts, kernel_rate)},
		{"baseline", KIND_RATE, offsetof(struct array_facts, baseline)},
		{"client_write", KIND_RATE, offsetof(struct array_facts, client_write)},
		{"share", KIND_PERCENT, offsetof(struct array_facts, rate_of_baseline_ppm)},
		{"progress", KIND_PERCENT, offsetof(struct array_facts, progress_ppm)},
		{"remaining", KIND_SPAN, offsetof(struct array_facts, remaining_ms)},
		{"stalled", KIND_SPAN, offsetof(struct array_facts, stalled_ms)},
		{"missing", KIND_COUNT, offsetof(struct array_facts, missing)},
		{"redundancy_left", KIND_COUNT, offsetof(struct array_facts, redundancy_left)},
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (strcmp(key, table[i].key) == 0)
			return opt(table[i].kind,
				*(const struct opt *)(const void *)((const char *)facts +
					table[i].offset));
	}
	if (!strcmp(key, "operation"))
		return text(md_operation_word(facts->operation));
	if (!strcmp(key, "sync_state"))
		return text(md_sync_state_word(facts->sync_state));
	if (!strcmp(key, "health"))
		return text(md_health_word(facts->health));
	if (!strcmp(key, "role"))
		return text(md_role_word(facts->role));
	if (!strcmp(key, "settled"))
		return text(facts->done ? "yes" : "no");
	return (struct actual){0};
}

static struct actual nas_value(struct sim *sim, size_t at, const char *array, const char *key)
{
	const struct nas_facts *facts = watch_facts(sim, at);
	const struct array_facts *found;

	disks_advance(&sim->nas[at], sim->t);
	if (!array) {
		if (!strcmp(key, "sensor"))
			return text(nas_sensor_word(facts->sensor));
		if (!strcmp(key, "blind"))
			return opt(KIND_SPAN,
				facts->blind_since_ms.known ? OPT(sim->t - facts->blind_since_ms.v)
							    : OPT_NONE);
		if (!strcmp(key, "looks"))
			return number(KIND_COUNT, sim->gate.watches[at].looks);
		return (struct actual){0};
	}
	if (!strncmp(key, "true_", 5))
		return truth(sim, disks_find(&sim->nas[at], array), key);
	found = nas_facts_find(facts, array);
	return found ? array_value(found, key) : (struct actual){0};
}

static struct actual gate_value(const struct sim *sim, const char *key)
{
	const struct tickets *tickets = &sim->gate.tickets;
	int64_t held = 0, slots = 0;
	size_t i;

	for (i = 0; i < tickets->n; i++) {
		held += tickets->list[i].state == TICKET_HELD;
		slots += tickets->list[i].slot;
	}
	if (!strcmp(key, "tickets"))
		return number(KIND_COUNT, (int64_t)tickets->n);
	if (!strcmp(key, "held"))
		return number(KIND_COUNT, held);
	if (!strcmp(key, "slots"))
		return number(KIND_COUNT, slots);
	if (!strcmp(key, "decisions"))
		return number(KIND_COUNT, sim->gate.n_decisions);
	return (struct actual){0};
}

static struct actual value_of(struct sim *sim, const char *subject, const char *key)
{
	const char *slash = strchr(subject, '/');
	struct job *job = sim_job(sim, subject);
	size_t i, len = slash ? (size_t)(slash - subject) : strlen(subject);

	if (job)
		return job_value(sim, job, key);
	if (!strcmp(subject, "gate"))
		return gate_value(sim, key);
	for (i = 0; i < sim->n_nas; i++) {
		if (strlen(sim->nas[i].name) == len && strncmp(sim->nas[i].name, subject, len) == 0)
			return nas_value(sim, i, slash ? slash + 1 : NULL, key);
	}
	return (struct actual){0};
}

/* "27:10" is a span here as well. */
static bool wanted_parse(enum kind kind, const char *value, int64_t *ret)
{
	uint64_t n;

	switch (kind) {
	case KIND_SPAN:
		if (clock_parse(value, ret)) {
			*ret -= SIM_START_MS;
			return true;
		}
		return span_parse(value, ret, NULL);
	case KIND_RATE:
		return rate_parse(value, ret, NULL);
	case KIND_PERCENT:
		return percent_parse(value, ret, NULL);
	case KIND_COUNT:
		if (!u64_parse(value, 0, INT64_MAX, &n, NULL))
			return false;
		*ret = (int64_t)n;
		return true;
	case KIND_NONE:
	case KIND_TEXT:
		break;
	}
	return false;
}

static bool holds(const struct actual *actual, const char *op, const char *value)
{
	int64_t v;

	if (actual->kind == KIND_TEXT)
		return (strcmp(actual->text, value) == 0) == (op[0] != '!');
	if (!strcmp(value, "unknown"))
		return actual->known == (op[0] == '!');
	if (!actual->known || !wanted_parse(actual->kind, value, &v))
		return false;
	switch (op[0]) {
	case '~':
		return llabs(actual->v - v) <= v / 20;
	case '<':
		return op[1] ? actual->v <= v : actual->v < v;
	case '>':
		return op[1] ? actual->v >= v : actual->v > v;
	case '!':
		return actual->v != v;
	default:
		return actual->v == v;
	}
}

static void show(const struct actual *actual, char ret[80])
{
	char units[UNITS_TEXT_MAX];

	if (actual->kind == KIND_TEXT)
		snprintf(ret, 80, "'%s'", actual->text);
	else if (!actual->known)
		snprintf(ret, 80, "unknown");
	else if (actual->kind == KIND_SPAN)
		snprintf(ret, 80, "%s (%lld:%02lld:%02lld)", span_print(actual->v, units),
			(long long)(actual->v / MS_HOUR), (long long)(actual->v / MS_MINUTE % 60),
			(long long)(actual->v / MS_SECOND % 60));
	else if (actual->kind == KIND_RATE)
		snprintf(ret, 80, "%s", rate_show(actual->v, units));
	else if (actual->kind == KIND_PERCENT)
		snprintf(ret, 80, "%s", percent_show(actual->v, units));
	else
		snprintf(ret, 80, "%lld", (long long)actual->v);
}

static bool one(struct sim *sim, const struct words *words, const char *subject, const char *test)
{
	size_t len = strcspn(test, "=!<>~"), n = strspn(test + len, "=!<>~");
	char key[40], op[4], shown[80];
	struct actual actual;

	if (!len || len >= sizeof(key) || !n || n >= sizeof(op))
		return script_fail(sim, words, "'%s': KEY=VALUE is wanted", test);
	snprintf(key, sizeof(key), "%.*s", (int)len, test);
	snprintf(op, sizeof(op), "%.*s", (int)n, test + len);
	actual = value_of(sim, subject, key);
	if (actual.kind == KIND_NONE)
		return script_fail(sim, words, "there is no '%s' of '%s'", key, subject);
	if (holds(&actual, op, test + len + n))
		return true;
	show(&actual, shown);
	return script_fail(sim, words, "expected %s %s, it is %s", subject, test, shown);
}

/* expect order JOB JOB...: let go in this order. */
static bool order(struct sim *sim, const struct words *words)
{
	size_t i;

	for (i = 2; i < words->n; i++) {
		const struct job *job = sim_job(sim, word_at(words, i));
		const struct job *before = i > 2 ? sim_job(sim, word_at(words, i - 1)) : NULL;

		if (!job || job->go_ms < 0)
			return script_fail(sim, words, "%s was not let go", word_at(words, i));
		if (before && before->go_ms >= job->go_ms)
			return script_fail(
				sim, words, "%s went before %s", job->name, before->name);
	}
	return true;
}

bool expect_check(struct sim *sim, const struct words *words)
{
	bool good = true;
	size_t i;

	sim->expected++;
	if (words->n < 3)
		return script_fail(sim, words, "expect SUBJECT KEY=VALUE... is wanted");
	if (!strcmp(word_at(words, 1), "order"))
		return order(sim, words);
	for (i = 2; i < words->n; i++)
		good = one(sim, words, word_at(words, 1), word_at(words, i)) && good;
	return good;
}
