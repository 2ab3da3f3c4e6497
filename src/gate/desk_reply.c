// SPDX-License-Identifier: MIT
/* What a job that asks is told. */
#include <stdio.h>
#include <string.h>

#include "gate/desk_impl.h"
#include "wire/wire.h"

void reply_fill(struct desk *desk, const struct ticket *ticket, struct reply *ret)
{
	/* One that is over has no card any more, and would keep a new one for ever. */
	bool live = ticket_find(&desk->tickets, ticket->id) == ticket;
	struct card *card = live ? card_of(desk, ticket->id) : NULL;

	memset(ret, 0, sizeof(*ret));
	ret->ticket = ticket->id;
	ret->decision_id = ticket->last_decision_id;
	ret->decision = ticket->last;
	ret->recorded = true;
	ret->held_ms = ticket_held_ms(ticket, &desk->now);
	ret->decided_boot_ms = ticket->decided_boot_ms;
	snprintf(ret->nas, sizeof(ret->nas), "%s", ticket->nas);
	snprintf(ret->released_by, sizeof(ret->released_by), "%s", ticket->release_by);
	if (card) {
		ret->news = card->told != card->decisions;
		card->told = card->decisions;
	}
}

/* The record did not take it: if_record_fails answers in the policy's place. */
void reply_unrecorded(struct desk *desk, struct reply *ret)
{
	enum verdict act = desk->gate->settings->if_record_fails;

	ret->recorded = false;
	ret->news = true;
	ret->decision.act = act;
	ret->decision.ends_in_ms = OPT_NONE;
	snprintf(ret->unrecorded, sizeof(ret->unrecorded),
		"The record cannot be written (%.160s): %s by if_record_fails",
		desk->record_err.text[0] ? desk->record_err.text : "no reason known",
		verdict_word(act));
}

/* From the effect: the ticket may have left the list. */
static void reply_effect(struct desk *desk, const struct effect *effect, struct reply *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->ticket = effect->ticket;
	ret->decision_id = effect->decision_id;
	ret->decision = effect->decision;
	ret->recorded = true;
	ret->news = true;
	ret->held_ms = effect->held_ms;
	ret->decided_boot_ms = desk->now.boot_ms;
	snprintf(ret->nas, sizeof(ret->nas), "%s", effect->nas);
	snprintf(ret->released_by, sizeof(ret->released_by), "%s", effect->released_by);
}

bool desk_news(struct desk *desk, int64_t ticket, struct reply *ret)
{
	const struct effect *decided = effect_of(desk, ticket, OUTCOME_DECIDED);
	const struct effect *state = effect_of(desk, ticket, OUTCOME_STATE);
	struct ticket *now = ticket_find(&desk->tickets, ticket);

	if (!decided && !state)
		return false;
	if (now)
		reply_fill(desk, now, ret);
	else if (decided)
		reply_effect(desk, decided, ret);
	if (!now && !decided) {
		memset(ret, 0, sizeof(*ret));
		ret->ticket = ticket;
		ret->over = true;
		snprintf(ret->why, sizeof(ret->why), "%s", state->why);
	}
	if (decided && !desk_recorded(desk))
		reply_unrecorded(desk, ret);
	return true;
}
