// SPDX-License-Identifier: MIT
#include "script.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

/* Jobs that are left at a scenario's end have so long to end by themselves. */
#define DRAIN_MS (12 * MS_DAY)

bool script_fail(struct sim *sim, const struct words *words, const char *fmt, ...)
{
	char text[500];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	sim_complain(sim, "%s:%d: %s", sim->script->name, words->line, text);
	sim->failed++;
	return false;
}

const char *word_at(const struct words *words, size_t i)
{
	return i < words->n ? words->text + words->at[i] : "";
}

const char *word_value(const struct words *words, const char *key)
{
	size_t i, len = strlen(key);

	for (i = 0; i < words->n; i++) {
		const char *word = word_at(words, i);

		if (strncmp(word, key, len) == 0 && word[len] == '=')
			return word + len + 1;
	}
	return NULL;
}

bool clock_parse(const char *text, int64_t *ret_boot_ms)
{
	int hours, minutes, seconds = 0, used = 0;

	if (sscanf(text, "%d:%2d%n", &hours, &minutes, &used) < 2)
		return false;
	if (text[used] == ':' && sscanf(text + used, ":%2d", &seconds) < 1)
		return false;
	*ret_boot_ms = SIM_START_MS + hours * MS_HOUR + minutes * MS_MINUTE + seconds * MS_SECOND;
	return hours >= 0 && minutes < 60 && seconds < 60;
}

/* Splits at blanks; a part in quotes is one, also after "KEY=". '#' begins a comment. */
static void split(const char *text, size_t len, int line, struct words *ret)
{
	char *to = ret->text, *end = ret->text + sizeof(ret->text) - 1;
	size_t i = 0;
	bool quoted = false, in_word = false;

	memset(ret, 0, sizeof(*ret));
	ret->line = line;
	for (; i < len && to < end && (quoted || text[i] != '#'); i++) {
		bool blank = text[i] == ' ' || text[i] == '\t';

		if (blank && !quoted) {
			if (in_word)
				*to++ = '\0';
			in_word = false;
			continue;
		}
		if (!in_word) {
			if (ret->n == WORDS_IN_LINE)
				return;
			ret->at[ret->n++] = (uint16_t)(to - ret->text);
			in_word = true;
		}
		if (text[i] == '"')
			quoted = !quoted;
		else
			*to++ = text[i];
	}
	*to = '\0';
}

/* The words from `first` on. */
static bool add_act(struct sim *sim, int64_t at_ms, const struct words *words, size_t first)
{
	struct script *script = sim->script;
	size_t cap = script->cap ? script->cap * 2 : 64;
	struct act *act;

	if (script->n_acts == script->cap) {
		struct act *list = realloc(script->acts, cap * sizeof(*list));

		if (!list)
			return false;
		script->acts = list;
		script->cap = cap;
	}
	act = &script->acts[script->n_acts];
	*act = (struct act){.at_ms = at_ms, .order = script->n_acts++, .words = *words};
	act->words.n -= first;
	memmove(act->words.at, act->words.at + first, act->words.n * sizeof(act->words.at[0]));
	return true;
}

/* at CLOCK [every SPAN times N] ACTION... */
static bool read_at(struct sim *sim, const struct words *words)
{
	int64_t at, every = 0;
	uint64_t times = 1, i;
	size_t first = 2;

	if (words->n < 3 || !clock_parse(word_at(words, 1), &at))
		return script_fail(sim, words, "at HOURS:MINUTES ACTION is wanted");
	if (words->n > 6 && !strcmp(word_at(words, 2), "every")) {
		if (!span_parse(word_at(words, 3), &every, NULL) ||
			strcmp(word_at(words, 4), "times") ||
			!u64_parse(word_at(words, 5), 1, 10000, &times, NULL))
			return script_fail(sim, words, "every SPAN times COUNT is wanted");
		first = 6;
	}
	for (i = 0; i < times; i++) {
		if (!add_act(sim, at + (int64_t)i * every, words, first))
			return false;
	}
	return true;
}

unsigned script_mask(const char *text)
{
	char copy[200];
	char *next = copy, *word;
	unsigned mask = 0;

	if (!text)
		return 0;
	snprintf(copy, sizeof(copy), "%s", text);
	while ((word = strsep(&next, ",")))
		mask |= 1U << md_operation_parse(word);
	return mask & ~1U;
}

/* define NAME [holds=OPS] [catches=OPS] ... end */
static const char *read_define(
	struct sim *sim, const struct words *words, const char *text, int *line)
{
	struct sim_policy *policy = &sim->policies[sim->n_policies];
	const char *end = strstr(text, "\nend\n"), *p;

	if (words->n < 2 || !end || sim->n_policies == SIM_MAX_POLICIES) {
		script_fail(sim, words, "define NAME, the policy's lines, end");
		return NULL;
	}
	snprintf(policy->name, sizeof(policy->name), "%s", word_at(words, 1));
	policy->holds = script_mask(word_value(words, "holds"));
	policy->catches = script_mask(word_value(words, "catches"));
	policy->text = strndup(text, (size_t)(end + 1 - text));
	sim->n_policies++;
	for (p = text; p < end + 5; p++)
		*line += *p == '\n';
	return end + 5;
}

bool script_load(struct sim *sim, const char *name, const char *text)
{
	struct words words;
	const char *at = text;
	int line = 0;

	sim->script = calloc(1, sizeof(*sim->script));
	if (!sim->script)
		return false;
	snprintf(sim->script->name, sizeof(sim->script->name), "%s", name);
	while (*at) {
		size_t len = strcspn(at, "\n");

		split(at, len, ++line, &words);
		at += len + (at[len] == '\n');
		if (!words.n)
			continue;
		if (!strcmp(word_at(&words, 0), "define")) {
			at = read_define(sim, &words, at, &line);
			if (!at)
				return false;
		} else if (!strcmp(word_at(&words, 0), "at")) {
			if (!read_at(sim, &words))
				return false;
		} else if (!strcmp(word_at(&words, 0), "until")) {
			if (words.n != 2 ||
				!clock_parse(word_at(&words, 1), &sim->script->until_ms))
				return script_fail(sim, &words, "until HOURS:MINUTES is wanted");
		} else if (!act_do(sim, &words)) {
			return false;
		}
	}
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct act *one = a, *two = b;

	if (one->at_ms != two->at_ms)
		return one->at_ms < two->at_ms ? -1 : 1;
	return one->order < two->order ? -1 : 1;
}

/* Every job ends by itself in the end, and then nothing may be left. */
static void drain(struct sim *sim)
{
	int64_t end = sim->t + DRAIN_MS;
	size_t i;

	if (!sim->gate.up)
		gate_start(sim);
	while (!sim_quiet(sim) && sim->t < end)
		if (!sim_run(sim, sim->t + MS_HOUR))
			return;
	for (i = 0; i < sim->n_jobs; i++)
		job_kill(sim, &sim->jobs[i]);
	/* What a job of another node held is lost after running_ttl. */
	if (sim->gate.tickets.n)
		sim_run(sim, sim->t + sim->gate.policy->running_ttl_ms + MS_MINUTE);
	check_end(sim);
}

bool script_run(struct sim *sim)
{
	struct script *script = sim->script;
	size_t i;

	if (script->n_acts)
		qsort(script->acts, script->n_acts, sizeof(*script->acts), by_time);
	if (sim->gated && !sim->gate.policy)
		return script_fail(sim, &(struct words){0}, "no policy is named");
	if (sim->gated)
		gate_start(sim);
	for (i = 0; i < script->n_acts; i++) {
		struct act *act = &script->acts[i];

		if (!sim_run(sim, act->at_ms))
			return false;
		act_do(sim, &act->words);
	}
	if (script->until_ms && !sim_run(sim, script->until_ms))
		return false;
	if (sim->gated)
		drain(sim);
	return true;
}

void script_free(struct script *script)
{
	if (!script)
		return;
	free(script->acts);
	free(script);
}
