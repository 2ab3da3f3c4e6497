// SPDX-License-Identifier: MIT
#include "core/slow.h"

#include "base/units.h"
#include "core/pace.h"
#include "core/reason.h"
#include "core/span.h"

/* Until the job starts the next time; 0 or less where that is not known. */
static int64_t span_left(const struct deciding *d)
{
	const struct opt *start = &d->in->request.next_start_utc_ms;

	return start->known ? span_between(d->in->now.utc_ms, start->v) : 0;
}

bool slow_is(const struct deciding *d)
{
	const struct opt *predicted = &d->in->predicted_ms;
	int64_t left = span_left(d);

	return !deciding_mid_job(d) && d->base_step != 2 && d->in->lever && predicted->known &&
		left > 0 && predicted->v > left;
}

bool slow_holds(const struct deciding *d)
{
	return d->base == VERDICT_THROTTLE && d->set->too_slow == TOO_SLOW_HOLD && !d->at_once &&
		slow_is(d);
}

void slow_sentence(const struct deciding *d, struct text *text)
{
	char take[UNITS_TEXT_MAX], left[UNITS_TEXT_MAX], share[UNITS_TEXT_MAX];

	text_add(text, "throttled to ");
	if (d->set->rate.known)
		text_add(text, "%s", rate_show(d->set->rate.v, share));
	else
		text_add(text, "protect %s", percent_print(d->set->protect_ppm, share));
	text_add(text, " the job would take %s, and it starts again in %s",
		span_show(d->in->predicted_ms.v, take), span_show(span_left(d), left));
}

static void not_slowed(struct deciding *d, const char *why)
{
	d->ret->verdict = VERDICT_ALLOW;
	d->ret->step = 7;
	d->ret->too_slow_ppm = OPT(0);
	reason_first(d->ret, REASON_TOO_SLOW, "%s: it is not slowed", why);
	trace_add(d->trace, 7, "%s", d->ret->reasons[0].text);
}

static void relax(struct deciding *d, const char *why)
{
	const struct rule_settings *set = d->set;
	int64_t predicted = d->in->predicted_ms.v, left = span_left(d);
	int64_t share = pace_relax_ppm(predicted, left, set->protect_ppm, set->protect_min_ppm);
	int64_t takes = pace_at_share_ms(predicted, set->protect_ppm, share);
	char shown[UNITS_TEXT_MAX], span[UNITS_TEXT_MAX];

	d->protect_ppm = share;
	d->ret->too_slow_ppm = OPT(share);
	reason_add(d->ret, REASON_TOO_SLOW, "%s: %s is protected instead, with which it %s %s", why,
		percent_print(share, shown), takes > left ? "still takes" : "takes",
		span_show(takes, span));
	trace_add(d->trace, 7, "%s", d->ret->reasons[d->ret->n_reasons - 1].text);
}

/* What was decided when the whole job asked. */
static void remembered(struct deciding *d)
{
	const struct opt *share = &d->in->ticket.too_slow_ppm;
	char shown[UNITS_TEXT_MAX];

	d->ret->too_slow_ppm = *share;
	if (!share->known)
		return;
	if (share->v <= 0) {
		not_slowed(d, "the job would have taken too long throttled");
	} else if (share->v < d->protect_ppm) {
		d->protect_ppm = share->v;
		reason_add(d->ret, REASON_TOO_SLOW,
			"the job would have taken too long otherwise: %s is protected",
			percent_print(share->v, shown));
	}
}

void slow_step(struct deciding *d)
{
	char buf[200];
	struct text why = {buf, sizeof(buf), 0};

	d->protect_ppm = d->set->protect_ppm;
	if (d->ret->verdict != VERDICT_THROTTLE || !d->in->lever)
		return;
	if (d->ret->mid_job)
		remembered(d);
	if (!slow_is(d))
		return;
	slow_sentence(d, &why);
	if (d->set->too_slow == TOO_SLOW_ALLOW)
		not_slowed(d, buf);
	else if (d->set->too_slow == TOO_SLOW_RELAX && !d->set->rate.known)
		relax(d, buf);
	else
		reason_add(d->ret, REASON_TOO_SLOW, "%s", buf);
}
