// SPDX-License-Identifier: MIT
#include "core/hold.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"
#include "core/match.h"
#include "core/reason.h"
#include "core/slow.h"
#include "core/span.h"

/* A hold ends that long before the job's next start, so that the job does not run twice in a row.
 */
#define BEFORE_NEXT_START_MS MS_MINUTE

/* The latest end of a hold. */
struct end {
	int64_t left_ms; /* 0 or less: it is reached */
	enum reason_code code;
	enum verdict then;
};

static void end_sooner(struct end *end, int64_t left_ms, enum reason_code code, enum verdict then)
{
	if (left_ms < end->left_ms)
		*end = (struct end){left_ms, code, then};
}

static enum verdict milder(enum verdict a, enum verdict b)
{
	return a < b ? a : b;
}

/* Whatever comes after a hold is not one. */
static enum verdict after_hold(enum verdict verdict)
{
	return verdict == VERDICT_HOLD ? VERDICT_ALLOW : verdict_sane(verdict);
}

/* Steps 2 to 6 say hold, or a throttle that nothing can carry out, or that would take too long, and
 * that holds then. */
static bool base_holds(const struct deciding *d)
{
	if (d->base == VERDICT_HOLD || slow_holds(d))
		return true;
	return d->base == VERDICT_THROTTLE && !d->in->lever && !d->at_once &&
		d->set->without_lever == VERDICT_HOLD;
}

static bool for_blind(const struct policy *policy, const struct rule *rule)
{
	return rule && (rule->on_sensor || rule == &policy->sensor);
}

bool hold_to_rpo(const struct deciding *d, const struct rule_settings *set)
{
	return set->hold_to_rpo && set->rpo_ms.known && d->in->request.backup_age_ms.known;
}

/* The end that these settings give a hold. An age that is not known is not overdue: then max_hold
 * bounds it, which is the shipped one where "rpo" is written. */
static struct end end_by(
	const struct deciding *d, const struct rule_settings *set, enum verdict then)
{
	int64_t age = d->in->request.backup_age_ms.v;

	if (hold_to_rpo(d, set))
		return (struct end){span_between(age, set->rpo_ms.v), REASON_RPO, then};
	return (struct end){
		span_between(d->in->ticket.held_ms, set->max_hold.v), REASON_EXPIRED, then};
}

/* A rule for the blind says how long an outage may hold; the job's own time is that of any job. */
static struct end budget(const struct deciding *d, const struct rule *rule, enum verdict then)
{
	struct end usual = end_by(d, &d->policy->defaults, then);
	struct end own = rule ? end_by(d, &rule->set, then) : usual;

	if (for_blind(d->policy, rule) && own.code != REASON_RPO && own.left_ms < usual.left_ms)
		return usual;
	return own;
}

static void next_start(const struct deciding *d, struct end *end, enum verdict then)
{
	const struct opt *start = &d->in->request.next_start_utc_ms;
	int64_t left;

	if (!start->known)
		return;
	left = span_between(d->in->now.utc_ms, start->v);
	end_sooner(end, span_add(left, -BEFORE_NEXT_START_MS), REASON_NEXT_START, then);
}

static struct end end_of_hold(const struct deciding *d)
{
	enum verdict then = after_hold(d->set->on_expiry);
	int64_t held = d->in->ticket.held_ms;
	struct end end = budget(d, d->rule, then);

	/* At its end an override is no more; the rules decide then. */
	if (d->override)
		end_sooner(&end, span_between(d->in->now.utc_ms, d->override->until_utc_ms),
			REASON_OVERRIDE, VERDICT_NONE);
	if (d->outage && !hold_to_rpo(d, d->set)) {
		int64_t spent = d->blind_ms.known ? d->blind_ms.v : held;

		end_sooner(&end, span_between(spent, d->set->max_hold.v), REASON_EXPIRED, then);
	}
	next_start(d, &end, then);
	return end;
}

static void expire(struct deciding *d, const struct end *end)
{
	struct decision *ret = d->ret;
	int64_t age = d->in->request.backup_age_ms.v;
	char held[UNITS_TEXT_MAX], rpo[UNITS_TEXT_MAX];

	ret->verdict = end->then;
	ret->step = 7;
	ret->expires = true;
	if (end->code == REASON_NEXT_START)
		reason_first(ret, end->code, "the job's next start is near, the hold ends: %s",
			verdict_word(end->then));
	else if (end->code == REASON_RPO)
		reason_first(ret, end->code,
			"%s is %s old, and may not get older than %s (rpo): %s",
			reason_backup(&d->in->request), span_show(age, held),
			span_show(span_add(age, end->left_ms), rpo), verdict_word(end->then));
	else
		reason_first(ret, end->code, "held for %s, as long as the policy allows: %s",
			span_show(d->in->ticket.held_ms, held), verdict_word(end->then));
}

static void wait_until(struct deciding *d, const struct end *end)
{
	const char *then = end->then ? verdict_word(end->then) : "as the rules say then";
	char shown[UNITS_TEXT_MAX];

	d->waits = true;
	trace_add(d->trace, 7, "it waits %s more at most, then %s", span_show(end->left_ms, shown),
		then);
	d->ret->ends_in_ms = OPT(end->left_ms);
	d->ret->again_in_ms = span_sooner(d->ret->again_in_ms, d->ret->ends_in_ms);
	d->ret->then = end->then;
}

static void held_as_too_slow(struct deciding *d)
{
	char buf[200];
	struct text why = {buf, sizeof(buf), 0};

	slow_sentence(d, &why);
	d->ret->verdict = VERDICT_HOLD;
	d->ret->step = 7;
	reason_first(d->ret, REASON_TOO_SLOW, "%s: held", buf);
}

/* In job-init, where a rule, an override or the blindness holds. */
static void hold(struct deciding *d)
{
	struct end end = end_of_hold(d);

	if (end.left_ms <= 0) {
		expire(d, &end);
		return;
	}
	if (slow_holds(d))
		held_as_too_slow(d);
	wait_until(d, &end);
	if (d->array && d->array->remaining_ms.known)
		d->ret->expected_ms = OPT(span_add(d->array->remaining_ms.v, d->set->settle_ms));
}

/* Inside a running job: it waits a little, then goes on as mid_job says. */
static void wait_inside(struct deciding *d)
{
	enum verdict then = after_hold(d->set->mid_job);
	struct end end = {
		span_between(d->in->ticket.recheck_ms, d->set->recheck_ms), REASON_RECHECK, then};
	char shown[UNITS_TEXT_MAX];

	if (end.left_ms > 0) {
		wait_until(d, &end);
		reason_add(d->ret, REASON_RECHECK, "the running job waits for %s at most, then %s",
			span_show(end.left_ms, shown), verdict_word(end.then));
		return;
	}
	d->ret->verdict = end.then;
	d->ret->step = 7;
	reason_first(d->ret, REASON_MID_JOB, "a running job is not held any longer (mid_job): %s",
		verdict_word(end.then));
}

/* The first thing that a job in the queue waits for. */
struct queueing {
	const struct rule *rule; /* that held it; NULL: not known, or only the queue did */
	const struct rule_settings *set;
	enum reason_code waits_for; /* 0: for nothing */
	struct opt left_ms;         /* where known */
	char text[200];
};

/* Not knowing of any restore is none. */
static bool restore_reads(const struct deciding *d)
{
	return d->in->mapping.nas[0] && d->in->readers.known && d->in->readers.v > 0;
}

/* While a restore reads nothing begins to write there. */
static void wait_restore(const struct deciding *d, struct queueing *q)
{
	struct text text = {q->text, sizeof(q->text), 0};
	int64_t n = d->in->readers.v;

	if (!restore_reads(d))
		return;
	q->waits_for = REASON_RESTORE;
	text_add(&text, "%" PRId64 " restore%s from %s, no job starts before %s done", n,
		n == 1 ? " reads" : "s read", d->in->mapping.nas, n == 1 ? "it is" : "they are");
}

/* How long nothing must have held it. After a mere blindness no longer than that took. */
static int64_t settle_needed(const struct deciding *d, const struct queueing *q)
{
	const struct ticket_view *ticket = &d->in->ticket;
	int64_t blind = ticket->hold_blind_ms.v;

	if (!ticket->was_held || ticket->hold_step == 0 || ticket->hold_step == 2)
		return 0;
	if (ticket->hold_step == 4 && for_blind(d->policy, q->rule) &&
		ticket->hold_blind_ms.known && blind < q->set->settle_ms)
		return blind;
	return q->set->settle_ms;
}

static void wait_settle(const struct deciding *d, struct queueing *q)
{
	int64_t needed = settle_needed(d, q), clear = d->in->ticket.clear_ms.v;
	char for_ms[UNITS_TEXT_MAX], of_ms[UNITS_TEXT_MAX];
	struct text text = {q->text, sizeof(q->text), 0};

	if (clear >= needed)
		return;
	q->waits_for = REASON_SETTLE;
	q->left_ms = OPT(span_between(clear, needed));
	text_add(&text, "no rule holds it any more, it goes on after %s of that (settle), %s to go",
		span_show(needed, of_ms), span_show(needed - clear, for_ms));
}

static void wait_node(const struct deciding *d, struct queueing *q)
{
	struct text text = {q->text, sizeof(q->text), 0};

	if (d->in->queue.running_node <= 0)
		return;
	q->waits_for = REASON_QUEUE_NODE;
	text_add(&text, "another job of node %s is under way, one at a time on a node",
		d->in->request.node);
}

static void wait_window(const struct deciding *d, struct queueing *q)
{
	struct text text = {q->text, sizeof(q->text), 0};
	size_t i;

	for (i = 0; i < q->set->n_release_windows; i++) {
		if (window_holds(&q->set->release_windows[i], &d->in->now))
			return;
	}
	if (!i)
		return;
	q->waits_for = REASON_QUEUE_WINDOW;
	text_add(&text, "no release_window is open now");
}

static void wait_behind(const struct deciding *d, struct queueing *q)
{
	struct text text = {q->text, sizeof(q->text), 0};
	int64_t ahead = d->in->queue.ahead;

	if (ahead <= 0)
		return;
	q->waits_for = REASON_QUEUE_BEHIND;
	text_add(&text, "%" PRId64 " held job%s for %s asked before", ahead, ahead == 1 ? "" : "s",
		d->in->mapping.nas);
}

static void wait_slot(const struct deciding *d, struct queueing *q)
{
	struct text text = {q->text, sizeof(q->text), 0};
	int64_t running = d->in->queue.running_nas;
	int64_t most = q->set->max_running > 0 ? q->set->max_running : 1;

	if (running < most)
		return;
	q->waits_for = REASON_QUEUE_NAS;
	text_add(&text, "%" PRId64 " running on %s, at most %" PRId64 " (max_running)", running,
		d->in->mapping.nas, most);
}

static void wait_interval(const struct deciding *d, struct queueing *q)
{
	struct text text = {q->text, sizeof(q->text), 0};
	const struct opt *since = &d->in->queue.since_release_ms;
	char ago[UNITS_TEXT_MAX], every[UNITS_TEXT_MAX];

	if (!since->known || since->v >= q->set->release_interval_ms)
		return;
	q->waits_for = REASON_QUEUE_INTERVAL;
	q->left_ms = OPT(span_between(since->v, q->set->release_interval_ms));
	text_add(&text,
		"the last one for %s was released %s ago, the next goes %s after it "
		"(release_interval)",
		d->in->mapping.nas, span_show(since->v, ago),
		span_show(q->set->release_interval_ms, every));
}

/* It takes its turn: jobs that were held, by more than restores, and newcomers until those are
 * gone. */
static bool takes_turn(const struct deciding *d)
{
	const struct ticket_view *ticket = &d->in->ticket;

	return (ticket->was_held && !ticket->only_restore) || d->in->queue.ahead > 0 ||
		d->in->queue.backlog > 0;
}

/* The queue is for jobs that take turns, and for all while a restore reads. */
static bool queue_applies(const struct deciding *d)
{
	bool goes = d->base == VERDICT_ALLOW || d->base == VERDICT_THROTTLE;

	if (d->base == VERDICT_THROTTLE && !d->in->lever)
		goes = d->set->without_lever != VERDICT_DENY;
	return goes && !d->at_once && d->base_step != 2 && !deciding_mid_job(d) &&
		(takes_turn(d) || restore_reads(d));
}

static void wait_in_queue(struct deciding *d)
{
	static void (*const waits[])(const struct deciding *d, struct queueing *q) = {wait_restore,
		wait_settle, wait_node, wait_window, wait_behind, wait_slot, wait_interval};
	const struct ticket_view *ticket = &d->in->ticket;
	struct queueing q = {.rule = policy_rule(d->policy, ticket->hold_rule)};
	struct end end;
	size_t n = takes_turn(d) ? sizeof(waits) / sizeof(waits[0]) : 1, i;

	q.set = q.rule ? &q.rule->set : &d->policy->defaults;
	for (i = 0; i < n && !q.waits_for; i++)
		waits[i](d, &q);
	if (!q.waits_for) {
		trace_add(d->trace, 7, "it need not wait any longer");
		return;
	}
	/* Nothing but the queue holds it: never stricter than what the rules say now. */
	end = budget(d, q.rule, milder(after_hold(q.set->on_expiry), d->base));
	next_start(d, &end, end.then);
	if (end.left_ms <= 0) {
		expire(d, &end);
		return;
	}
	d->ret->verdict = VERDICT_HOLD;
	d->ret->step = 7;
	if (q.rule)
		snprintf(d->ret->rule, sizeof(d->ret->rule), "%s", q.rule->name);
	d->ret->again_in_ms = q.left_ms;
	if (q.waits_for == REASON_SETTLE)
		d->ret->expected_ms = q.left_ms;
	reason_first(d->ret, q.waits_for, "%s", q.text);
	wait_until(d, &end);
}

/* An operator let the job go. */
static void release(struct deciding *d)
{
	bool denies = !d->in->lever && d->set->without_lever == VERDICT_DENY;

	if (d->base != VERDICT_THROTTLE || denies)
		d->ret->verdict = VERDICT_ALLOW;
	d->ret->step = 7;
	reason_first(d->ret, REASON_RELEASE_ASKED,
		"it was let go by a release, and is not held any more");
}

/* It was let go before and has not begun yet: that answer stands. */
static void stays_released(struct deciding *d)
{
	if (d->base <= VERDICT_THROTTLE)
		return;
	d->ret->verdict = VERDICT_ALLOW;
	d->ret->step = 7;
	reason_first(d->ret, REASON_RELEASED, "it was let go before");
}

/* Its time is over: what came then stands, unless the rules are milder by now. */
static void stays_expired(struct deciding *d)
{
	enum verdict then = after_hold(d->in->ticket.expired_to);

	if (d->base <= then && d->base != VERDICT_HOLD)
		return;
	d->ret->verdict = then;
	d->ret->step = 7;
	reason_first(d->ret, REASON_EXPIRED, "its time to be held is over: %s",
		verdict_word(d->ret->verdict));
}

void hold_step(struct deciding *d)
{
	const struct ticket_view *ticket = &d->in->ticket;
	struct decision *ret = d->ret;
	size_t before = d->trace ? d->trace->n : 0;

	ret->mid_job = deciding_mid_job(d);
	ret->base_holds = base_holds(d);
	if (ret->base_holds) {
		/* A rule that goes on blindly is a rule: what it asks for afterwards stays. */
		ret->hold_step = d->base_step;
		if (d->base_step == 4 && !for_blind(d->policy, d->rule))
			ret->hold_step = 5;
		if (d->rule)
			snprintf(ret->hold_rule, sizeof(ret->hold_rule), "%s", d->rule->name);
	}
	if (d->base_step == 2 && d->base == VERDICT_DENY)
		trace_add(d->trace, 7, "nothing wins over an operator's deny");
	else if (ticket->release_asked)
		release(d);
	else if (ticket->expired)
		stays_expired(d);
	else if (ticket->released && !ret->mid_job)
		stays_released(d);
	else if (ret->base_holds && ret->mid_job)
		wait_inside(d);
	else if (ret->base_holds)
		hold(d);
	else if (queue_applies(d))
		wait_in_queue(d);
	else
		trace_add(d->trace, 7, "nothing to wait for");
	if (d->trace && (d->trace->n == before || ret->step == 7))
		trace_add(d->trace, 7, "%s", ret->reasons[0].text);
}
