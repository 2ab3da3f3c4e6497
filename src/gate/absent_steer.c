// SPDX-License-Identifier: MIT
/* The controller where it is not built in: weak; only a rule's own rate is kept. */
#include "core/steer.h"

#include <stdio.h>
#include <string.h>

#define WEAK __attribute__((weak))

WEAK void steer_step(struct steer *steer, const struct steer_input *in, struct steer_output *ret)
{
	bool limit = in->protects && in->rule.rate.known && in->jobs > 0;

	(void)steer;
	*ret = (struct steer_output){.path = limit ? STEER_LIMIT : STEER_FREE};
	ret->rate = in->rule.rate.v;
	ret->reason = limit ? STEER_FIXED : STEER_NOTHING_TO_PROTECT;
	snprintf(ret->text, sizeof(ret->text), "%s",
		limit ? "the rule's own rate" : "nothing to protect");
}

static const char *const paths[] = {"", "free", "open", "limit", "rest"};

WEAK const char *steer_path_word(enum steer_path path)
{
	return paths[path];
}

WEAK enum steer_path steer_path_parse(const char *word)
{
	int i;

	for (i = 1; i < 5; i++)
		if (strcmp(paths[i], word) == 0)
			return (enum steer_path)i;
	return STEER_NONE;
}

WEAK const char *steer_way_word(enum steer_way way)
{
	return way == STEER_SLICES ? "slices" : "steady";
}

WEAK const char *steer_reason_word(enum steer_reason reason)
{
	return reason == STEER_FIXED ? "fixed" : "nothing-to-protect";
}
