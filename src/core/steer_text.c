// SPDX-License-Identifier: MIT
/* The controller's words, and the sentence about what it does. */
#include "core/steer_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

static const char *const path_words[] = {NULL, "free", "open", "limit", "rest"};
static const char *const way_words[] = {NULL, "steady", "slices"};
static const char *const reason_words[STEER_REASON_COUNT] = {
	[STEER_NOTHING_TO_PROTECT] = "nothing-to-protect",
	[STEER_NO_JOB] = "no-job",
	[STEER_BLIND] = "blind",
	[STEER_MEASURING] = "measuring",
	[STEER_TRYING] = "trying",
	[STEER_KEEPING] = "keeping",
	[STEER_SQUEEZE] = "squeeze",
	[STEER_GIVING] = "giving",
	[STEER_SLICE] = "slice",
	[STEER_RESTING] = "resting",
	[STEER_DRAINING] = "draining",
	[STEER_NOT_OURS] = "not-ours",
	[STEER_NO_GRIP] = "no-grip",
	[STEER_FIXED] = "fixed",
	[STEER_OPENING] = "opening",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *steer_path_word(enum steer_path path)
{
	return (size_t)path < COUNT(path_words) ? path_words[path] : NULL;
}

enum steer_path steer_path_parse(const char *word)
{
	size_t i;

	for (i = 1; i < COUNT(path_words); i++) {
		if (strcmp(word, path_words[i]) == 0)
			return (enum steer_path)i;
	}
	return STEER_NONE;
}

const char *steer_way_word(enum steer_way way)
{
	return (size_t)way < COUNT(way_words) ? way_words[way] : NULL;
}

const char *steer_reason_word(enum steer_reason reason)
{
	return (size_t)reason < COUNT(reason_words) ? reason_words[reason] : NULL;
}

/* "md2 kept 83 % of its pace over 10min; " */
static size_t say_share(const struct step *st, char *text, size_t room)
{
	char share[UNITS_TEXT_MAX], span[UNITS_TEXT_MAX];
	struct steer_sum window = sight_window(st->s);
	const struct array_facts *array = st->in->array;
	int n;

	if (!st->ret->share_ppm.known) {
		n = snprintf(
			text, room, "what %s does undisturbed is not known yet; ", array->name);
		return (size_t)n;
	}
	n = snprintf(text, room, "%s kept %s of its pace over %s; ", array->name,
		percent_show(st->ret->share_ppm.v, share),
		span_show(window.ms < st->over ? window.ms : st->over, span));
	return (size_t)n;
}

enum figure { FIGURE_NONE = 0, FIGURE_PACE, FIGURE_LIMIT };

static const struct {
	const char *text;
	enum figure figure; /* that ends it */
	bool alone;         /* says nothing of the share */
} sentences[STEER_REASON_COUNT] = {
	[STEER_REASON_NONE] = {"", FIGURE_NONE, false},
	[STEER_NOTHING_TO_PROTECT] = {"nothing runs that a rule protects", FIGURE_NONE, true},
	[STEER_NO_JOB] = {"no throttled job writes", FIGURE_NONE, true},
	[STEER_BLIND] = {"nobody knows what the array does now: the path is not closed any "
			 "further, and opens soon",
		FIGURE_NONE, true},
	[STEER_MEASURING] = {"the backups rest until it is clear what it does without them",
		FIGURE_NONE, false},
	[STEER_TRYING] = {"tries whether full speed with rests moves more for them than ",
		FIGURE_PACE, false},
	[STEER_KEEPING] = {"the backups get ", FIGURE_PACE, false},
	[STEER_SQUEEZE] = {"that is too little: the backups are limited to ", FIGURE_LIMIT, false},
	[STEER_GIVING] = {"there is room: the backups are limited to ", FIGURE_LIMIT, false},
	[STEER_SLICE] = {"the backups write at full speed for a while, on average they get ",
		FIGURE_PACE, false},
	[STEER_RESTING] = {"the backups rest between two slices, on average they get ", FIGURE_PACE,
		false},
	[STEER_DRAINING] = {"the backups rest, and caches are still being written out", FIGURE_NONE,
		false},
	[STEER_NOT_OURS] = {"it is slow now, and not by these backups; they get ", FIGURE_PACE,
		false},
	[STEER_NO_GRIP] = {"the path is closed and clients write all the same: the lever does not "
			   "hold",
		FIGURE_NONE, false},
	[STEER_FIXED] = {"by the rule the backups are limited to ", FIGURE_LIMIT, false},
	[STEER_OPENING] = {"nothing runs any more that a rule protects: the path opens step by "
			   "step",
		FIGURE_NONE, true},
};

static const char trying_steady[] = "tries whether a steady limit moves more for them than ";

static void say_figure(const struct step *st, enum figure figure, char text[UNITS_TEXT_MAX])
{
	if (figure == FIGURE_LIMIT && st->ret->path != STEER_LIMIT)
		snprintf(text, UNITS_TEXT_MAX, "their full speed");
	else if (figure == FIGURE_LIMIT)
		rate_show(st->ret->rate, text);
	else if (figure == FIGURE_NONE)
		text[0] = '\0';
	else if (st->ret->pace.known)
		rate_show(st->ret->pace.v, text);
	else
		snprintf(text, UNITS_TEXT_MAX, "what nobody tells");
}

/* What the levers do not hold is not squeezed for. */
static void say_past(struct step *st)
{
	char *text = st->ret->text, past[UNITS_TEXT_MAX], figure[UNITS_TEXT_MAX];
	size_t room = sizeof(st->ret->text), at = say_share(st, text, room);

	rate_show(st->s->past, past);
	say_figure(st, FIGURE_PACE, figure);
	snprintf(text + at, room - at,
		"clients write about %s however closed the path is, and no rest helps against "
		"that: the backups that can be slowed get %s",
		past, figure);
}

void steer_say(struct step *st)
{
	enum steer_reason reason = st->ret->reason;
	const char *sentence = sentences[reason].text;
	char *text = st->ret->text, figure[UNITS_TEXT_MAX];
	size_t room = sizeof(st->ret->text), at = 0;

	if (st->s->phase == STEER_PHASE_STANDS && reason == STEER_NOT_OURS) {
		snprintf(text, room, "%s waits or stands still: no backup slows it down",
			st->in->array->name);
		return;
	}
	if (reason == STEER_TRYING && st->ret->way == STEER_STEADY)
		sentence = trying_steady;
	if (reason == STEER_NO_GRIP && st->s->past) {
		say_past(st);
		return;
	}
	say_figure(st, sentences[reason].figure, figure);
	if (!sentences[reason].alone)
		at = say_share(st, text, room);
	snprintf(text + at, room - at, "%s%s", sentence, figure);
}
