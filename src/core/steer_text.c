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

	if (!array)
		return 0;
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

static void say_way(const struct step *st, char *text, size_t room)
{
	char limit[UNITS_TEXT_MAX], pace[UNITS_TEXT_MAX];

	rate_show(st->ret->rate, limit);
	if (st->ret->pace.known)
		rate_show(st->ret->pace.v, pace);
	else
		snprintf(pace, sizeof(pace), "an unknown pace");
	switch (st->ret->reason) {
	case STEER_MEASURING:
		snprintf(
			text, room, "the backups rest until it is clear what it does without them");
		break;
	case STEER_TRYING:
		snprintf(text, room, "tries whether %s let the backups move more than %s",
			st->ret->way == STEER_STEADY ? "a steady limit" : "slices with rests",
			pace);
		break;
	case STEER_SLICE:
		snprintf(text, room, "the backups write at full speed for a while, %s on average",
			pace);
		break;
	case STEER_RESTING:
		snprintf(text, room, "the backups rest between two slices, %s on average", pace);
		break;
	case STEER_DRAINING:
		snprintf(text, room, "the backups rest, and caches are still being written out");
		break;
	case STEER_NOT_OURS:
		snprintf(text, room, "it is slow now, and not by these backups: they get %s", pace);
		break;
	case STEER_NO_GRIP:
		snprintf(text, room,
			"the path is closed and clients write all the same: the lever does not "
			"hold");
		break;
	case STEER_SQUEEZE:
		snprintf(
			text, room, "that is too little, and the backups are limited to %s", limit);
		break;
	case STEER_GIVING:
		snprintf(text, room, "there is room, and the backups get %s", limit);
		break;
	case STEER_KEEPING:
	case STEER_NOTHING_TO_PROTECT:
	case STEER_NO_JOB:
	case STEER_BLIND:
	case STEER_FIXED:
	case STEER_OPENING:
	case STEER_REASON_NONE:
	case STEER_REASON_COUNT:
	default:
		if (st->s->path == STEER_LIMIT)
			snprintf(text, room, "the backups are limited to %s", limit);
		else
			snprintf(text, room, "the backups write without a limit, %s", pace);
		break;
	}
}

/* Where the sentence is about no figures. */
static const char *const sentences[STEER_REASON_COUNT] = {
	[STEER_NO_JOB] = "no throttled job writes",
	[STEER_NOTHING_TO_PROTECT] = "nothing runs that a rule protects",
	[STEER_OPENING] = "nothing runs any more that a rule protects: the path opens step by step",
	[STEER_BLIND] = "nobody knows what the array does now: the path is not closed any "
			"further, and opens soon",
};

void steer_say(struct step *st)
{
	char *text = st->ret->text;
	size_t room = sizeof(st->ret->text), at;

	if (sentences[st->ret->reason]) {
		snprintf(text, room, "%s", sentences[st->ret->reason]);
		return;
	}
	at = say_share(st, text, room);
	say_way(st, text + at, room - at);
}
