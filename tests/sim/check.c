// SPDX-License-Identifier: MIT
/*
 * What must always hold, judged by what the models know and by the policy's numbers: by times, by
 * what the looks have shown, by which jobs are under way. Nothing here asks src/core what it thinks
 * but for the decision that is judged.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "sim.h"
#include "wire/wire.h"

/* Without a gate a hook inside its job goes on after 30 s. */
#define OUTAGE_SLACK_MS (35 * MS_SECOND)

const char *const invariant_names[INV_COUNT] = {
	[INV_BOUND] = "no hold is longer than its policy says",
	[INV_BLIND] = "unknown is never taken for idle",
	[INV_STARVE] = "no job waits where nothing holds it",
	[INV_SLOTS] =
		"releases never exceed max_running, one job on a node, one each release_interval",
	[INV_SETTLE] = "no release before settle is over, none is held again",
	[INV_LEAK] = "no ticket and no slot is left when all jobs are over",
	[INV_SAME] = "the same inputs give the same decision, through JSON too",
	[INV_ORDER] = "who asked first goes first",
	[INV_RECHECK] = "no job waits inside longer than recheck",
	[INV_OBSERVE] = "who only observes lets everything go",
	[INV_RESTORE] = "no job begins while a restore is known to read",
};

void check_broken(struct sim *sim, enum invariant which, const char *fmt, ...)
{
	char text[400], at[32];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!sim->broken[which]++)
		sim_complain(sim, "%s: broken at %s: %s", invariant_names[which],
			sim_time(sim, sim->t, at), text);
}

bool check_wanted(struct sim *sim, enum invariant which)
{
	sim->checked[which]++;
	return !sim->quiet_checks;
}

/* --- what the looks have shown --- */

static bool in_mask(unsigned mask, enum md_operation op)
{
	return mask >> op & 1;
}

static enum md_operation shown_of(const struct disk_array *array)
{
	return array->op;
}

int check_nas_at(const struct sim *sim, const char *name)
{
	size_t i;

	for (i = 0; i < sim->n_nas; i++) {
		if (strcmp(sim->nas[i].name, name) == 0)
			return (int)i;
	}
	return -1;
}

void check_opened(struct sim *sim, size_t at)
{
	struct ledger *ledger = &sim->gate.watches[at].ledger;
	int64_t released_ms = ledger->released_ms;
	size_t i;

	*ledger = (struct ledger){.released_ms = released_ms,
		.outage_since = sim->t,
		.ok_since = -1,
		.calm_since = -1};
	for (i = 0; i < DISKS_MAX_ARRAYS; i++)
		ledger->arrays[i].held_ms = -1;
}

static void outage(struct sim *sim, struct ledger *ledger, bool ok)
{
	int64_t settle = sim->gate.policy->defaults.settle_ms;

	if (ledger->ok_since >= 0 && sim->t - ledger->ok_since >= settle)
		ledger->outage_since = -1;
	if (ok && ledger->ok_since < 0)
		ledger->ok_since = sim->t;
	if (!ok) {
		if (ledger->outage_since < 0)
			ledger->outage_since = sim->t;
		ledger->ok_since = -1;
	}
	if (ok && sim->t - ledger->ok_since >= settle)
		ledger->outage_since = -1;
}

static void holds_now(struct sim *sim, size_t at)
{
	struct ledger *ledger = &sim->gate.watches[at].ledger;
	size_t i;

	for (i = 0; i < sim->nas[at].n_arrays; i++) {
		/* One look alone is believed by nobody: kernels print such blips. */
		if (sim->gate.source && ledger->arrays[i].same > 1 &&
			in_mask(sim->gate.source->holds, ledger->arrays[i].shown))
			ledger->arrays[i].held_ms = sim->t;
	}
}

void check_look(struct sim *sim, size_t at, bool ok)
{
	struct ledger *ledger = &sim->gate.watches[at].ledger;
	bool calm = ok;
	size_t i;

	outage(sim, ledger, ok);
	ledger->last_ok = ok;
	for (i = 0; ok && i < sim->nas[at].n_arrays; i++) {
		enum md_operation shown = shown_of(&sim->nas[at].arrays[i]);

		ledger->arrays[i].same = ledger->arrays[i].shown == shown && ledger->any
			? ledger->arrays[i].same + 1
			: 1;
		/* The first look counts at once. */
		if (!ledger->any)
			ledger->arrays[i].same = 2;
		ledger->arrays[i].shown = shown;
		calm = calm && shown == MD_OP_IDLE && ledger->arrays[i].same > 1;
	}
	ledger->any |= ok;
	holds_now(sim, at);
	if (!calm)
		ledger->calm_since = -1;
	else if (ledger->calm_since < 0)
		ledger->calm_since = sim->t;
}

/* A new policy may hold what the old one did not. */
void check_policy(struct sim *sim)
{
	const struct policy *policy = sim->gate.policy;
	int64_t most = policy->defaults.recheck_ms;
	size_t i;

	for (i = 0; i < policy->n_rules; i++) {
		if (policy->rules[i].set.recheck_ms > most)
			most = policy->rules[i].set.recheck_ms;
	}
	if (policy->sensor.set.recheck_ms > most)
		most = policy->sensor.set.recheck_ms;
	if (most > sim->max_recheck_ms)
		sim->max_recheck_ms = most;
	for (i = 0; i < sim->n_nas; i++)
		holds_now(sim, i);
}

static bool covers(const struct mapping *mapping, const struct disk_array *array)
{
	size_t i;

	for (i = 0; i < mapping->n_arrays; i++) {
		if (strcmp(mapping->arrays[i], array->name) == 0)
			return true;
	}
	return mapping->n_arrays == 0;
}

/* --- who is under way, by the jobs themselves --- */

static bool has_slot(const struct sim *sim, const struct job *job)
{
	/* One that went on without a gate is not known to it before its hook tells of it. */
	if (job_over(job) || job->client == CLIENT_WAIT ||
		(job->ticket_state != TICKET_RELEASED && job->ticket_state != TICKET_RUNNING))
		return false;
	switch ((int)job->state) {
	case JOB_GUEST:
	case JOB_COPY:
		return true;
	case JOB_START:
		/* That it has the lock now the gate learns from its question. */
		if (job->ticket_state == TICKET_RUNNING)
			return true;
		return sim->t - job->go_ms < sim->gate.policy->start_grace_ms;
	case JOB_LOCK:
		return sim->t - job->go_ms < sim->gate.policy->start_grace_ms;
	default:
		return false;
	}
}

static int slots(struct sim *sim, const struct job *but, bool node)
{
	const struct mapping *mine = sim_mapping(sim, but->storage);
	size_t i;
	int n = 0;

	for (i = 0; i < sim->n_jobs; i++) {
		const struct job *job = &sim->jobs[i];

		if (job == but || !has_slot(sim, job))
			continue;
		if (node)
			n += job->client == CLIENT_VZDUMP && strcmp(job->node, but->node) == 0;
		else
			n += strcmp(sim_mapping(sim, job->storage)->nas, mine->nas) == 0;
	}
	return n;
}

static const struct rule_settings *settings_of(const struct sim *sim, const char *rule)
{
	const struct rule *found = policy_rule(sim->gate.policy, rule);

	return found ? &found->set : &sim->gate.policy->defaults;
}

bool check_for_blind(const struct policy *policy, const struct rule *rule)
{
	return rule && (rule->on_sensor || rule == &policy->sensor);
}

/* --- each decision --- */

static bool texts_same(json_t *a, json_t *b)
{
	char *one = a ? json_text(a, 0) : NULL, *two = b ? json_text(b, 0) : NULL;
	bool same = one && two && strcmp(one, two) == 0;

	free(one);
	free(two);
	json_decref(a);
	json_decref(b);
	return same;
}

/* Decides again from the inputs' JSON, as `rebuildgate replay` does. */
static void check_same(struct sim *sim, struct job *job, const struct outcome *outcome)
{
	static struct inputs again;
	static struct decision decided;
	json_t *json, *read;
	char *text;

	if (!check_wanted(sim, INV_SAME) ||
		(sim->replay_every > 1 && sim->gate.n_decisions % sim->replay_every))
		return;
	json = wire_inputs(outcome->inputs);
	text = json ? json_text(json, 0) : NULL;
	read = text ? json_read(text, strlen(text), NULL) : NULL;
	if (!read || !wire_inputs_read(read, &again, NULL)) {
		check_broken(sim, INV_SAME, "the inputs of %s cannot be read again", job->name);
	} else {
		decide(sim->gate.policy, &again, &decided, NULL);
		if (!texts_same(wire_decision(&decided), wire_decision(outcome->decision)))
			check_broken(sim, INV_SAME, "%s: %s in step %d, again %s in step %d",
				job->name, verdict_word(outcome->decision->verdict),
				outcome->decision->step, verdict_word(decided.verdict),
				decided.step);
	}
	free(text);
	json_decref(read);
	json_decref(json);
}

static bool goes(enum verdict act)
{
	return act == VERDICT_ALLOW || act == VERDICT_THROTTLE;
}

/* Blind: neither the rules nor "no rule matched" may speak. Seen: no rule matched is not the answer
 * while an array does what the policy has a rule for. */
static void check_blind(struct sim *sim, struct job *job, const struct decision *d)
{
	const struct mapping *mapping = sim_mapping(sim, job->storage);
	int at = check_nas_at(sim, mapping->nas);
	const struct ledger *ledger;
	size_t i;

	if (at < 0 || d->step == 8 || !check_wanted(sim, INV_BLIND))
		return;
	ledger = &sim->gate.watches[at].ledger;
	if (!ledger->any || !ledger->last_ok) {
		if (d->step == 5 || d->step == 6)
			check_broken(sim, INV_BLIND, "%s: step %d says %s while %s is blind",
				job->name, d->step, verdict_word(d->verdict), mapping->nas);
		return;
	}
	for (i = 0; i < sim->nas[at].n_arrays; i++) {
		if (d->step == 6 && covers(mapping, &sim->nas[at].arrays[i]) &&
			ledger->arrays[i].same > 1 &&
			in_mask(sim->gate.source->catches, ledger->arrays[i].shown))
			check_broken(sim, INV_BLIND, "%s: no rule matched, but %s does %s",
				job->name, sim->nas[at].arrays[i].name,
				md_operation_word(ledger->arrays[i].shown));
	}
}

/* Let go by the rules and the queue: not by an operator, an override, the end of its time or of an
 * outage's budget, nor because its NAS is long blind. */
static bool ordinary(const struct decision *d)
{
	enum reason_code first = d->reasons[0].code;

	return goes(d->act) && d->step >= 3 && d->step <= 6 && first != REASON_BLIND_BUDGET &&
		first != REASON_BLIND_LIMIT && !d->expires;
}

static void check_restore(struct sim *sim, struct job *job)
{
	int at = check_nas_at(sim, sim_mapping(sim, job->storage)->nas);

	if (at >= 0 && check_wanted(sim, INV_RESTORE) && sim->readers[at].known &&
		sim->readers[at].v > 0)
		check_broken(sim, INV_RESTORE, "%s goes while %lld restores read from %s",
			job->name, (long long)sim->readers[at].v, sim->nas[at].name);
}

static void check_settle(struct sim *sim, struct job *job)
{
	const struct mapping *mapping = sim_mapping(sim, job->storage);
	int at = check_nas_at(sim, mapping->nas);
	int64_t settle = settings_of(sim, job->rule_held)->settle_ms;
	size_t i;

	if (at < 0 || job->rule_held_ms < 0 || !sim->gate.source->holds ||
		!check_wanted(sim, INV_SETTLE))
		return;
	for (i = 0; i < sim->nas[at].n_arrays; i++) {
		int64_t held = sim->gate.watches[at].ledger.arrays[i].held_ms;

		if (covers(mapping, &sim->nas[at].arrays[i]) && held >= 0 && sim->t - held < settle)
			check_broken(sim, INV_SETTLE,
				"%s goes %lld ms after %s was seen to be busy, settle is %lld",
				job->name, (long long)(sim->t - held), sim->nas[at].arrays[i].name,
				(long long)settle);
	}
}

static void check_slots(struct sim *sim, struct job *job)
{
	const struct rule_settings *set = settings_of(sim, job->limit_rule);
	int64_t most = set->max_running, ago;
	int at = check_nas_at(sim, sim_mapping(sim, job->storage)->nas);
	int running = slots(sim, job, false);

	if (!check_wanted(sim, INV_SLOTS))
		return;
	if (sim_mapping(sim, job->storage)->nas[0] && running >= most)
		check_broken(sim, INV_SLOTS, "%s goes while %d are under way, max_running is %lld",
			job->name, running, (long long)most);
	ago = at < 0 ? SIM_NEVER : sim->t - sim->gate.watches[at].ledger.released_ms;
	if (ago < set->release_interval_ms)
		check_broken(sim, INV_SLOTS,
			"%s goes %lld s after the last one, release_interval is %lld s", job->name,
			(long long)ago / 1000, (long long)set->release_interval_ms / 1000);
	if (job->client == CLIENT_VZDUMP && slots(sim, job, true) > 0)
		check_broken(sim, INV_SLOTS, "%s goes while another one of %s is under way",
			job->name, job->node);
}

static bool windows(const struct policy *policy)
{
	size_t i;

	for (i = 0; i < policy->n_rules; i++) {
		if (policy->rules[i].set.n_release_windows)
			return true;
	}
	return policy->defaults.n_release_windows > 0;
}

/* As the gate sees it: one that was killed on another node counts until it is lost. */
static bool node_busy(const struct sim *sim, const char *node)
{
	const struct tickets *tickets = &sim->gate.tickets;
	size_t i;

	for (i = 0; i < tickets->n; i++) {
		if (tickets->list[i].slot && !strcmp(tickets->list[i].request.node, node))
			return true;
	}
	return false;
}

static void check_order(struct sim *sim, struct job *job)
{
	size_t i;

	if (windows(sim->gate.policy) || sim->gate.n_overrides || !check_wanted(sim, INV_ORDER))
		return;
	for (i = 0; i < sim->n_jobs; i++) {
		struct job *other = &sim->jobs[i];

		if (other == job || other->ticket_state != TICKET_HELD ||
			other->ticket >= job->ticket || other->state != JOB_INIT ||
			strcmp(other->storage, job->storage) != 0 || other->operator_hold ||
			node_busy(sim, other->node))
			continue;
		check_broken(sim, INV_ORDER, "%s goes before %s, which asked first", job->name,
			other->name);
	}
}

static void note_hold(struct sim *sim, struct job *job, const struct decision *d)
{
	const struct rule *rule = policy_rule(sim->gate.policy, d->hold_rule);

	if (!d->base_holds)
		return;
	job->operator_hold = d->hold_step == 2;
	/* A blindness or an operator's hold after a rule's changes nothing of what it asks for. */
	if ((d->hold_step != 2 && !check_for_blind(sim->gate.policy, rule)) ||
		job->rule_held_ms < 0)
		memcpy(job->limit_rule, d->hold_rule, sizeof(job->limit_rule));
	if ((d->hold_step == 4 || d->hold_step == 5) && rule &&
		!check_for_blind(sim->gate.policy, rule)) {
		memcpy(job->rule_held, d->hold_rule, sizeof(job->rule_held));
		job->rule_held_ms = sim->t;
	}
}

/* A decision about a job that was let go before. */
static bool ticket_was_released(const struct outcome *outcome)
{
	return outcome->before == TICKET_RELEASED || outcome->before == TICKET_RUNNING;
}

void check_decided(struct sim *sim, struct job *job, const struct outcome *outcome)
{
	const struct decision *d = outcome->decision;
	bool init = !d->mid_job;
	size_t i;
	int at;

	sim_line(sim, "%s (T%lld, %s): %s%s%s, step %d%s%s: %s", job->name,
		(long long)outcome->ticket, init ? "job-init" : "inside", verdict_word(d->verdict),
		d->act != d->verdict ? ", does " : "",
		d->act != d->verdict ? verdict_word(d->act) : "", d->step,
		d->rule[0] ? ", rule " : "", d->rule, d->reasons[0].text);
	if (!job->ticket)
		job->ticket = outcome->ticket;
	check_same(sim, job, outcome);
	check_blind(sim, job, d);
	if (sim->gate.policy->observe && check_wanted(sim, INV_OBSERVE) && d->act != VERDICT_ALLOW)
		check_broken(sim, INV_OBSERVE, "%s: %s", job->name, verdict_word(d->act));
	if (init && job->was_released && d->act == VERDICT_HOLD && check_wanted(sim, INV_SETTLE))
		check_broken(sim, INV_SETTLE, "%s is held again after it was let go", job->name);
	if (init && goes(d->act) && !ticket_was_released(outcome) && ordinary(d))
		check_restore(sim, job);
	if (init && goes(d->act) && outcome->before == TICKET_HELD && ordinary(d) &&
		job->held_otherwise) {
		check_settle(sim, job);
		check_slots(sim, job);
		check_order(sim, job);
	}
	at = check_nas_at(sim, sim_mapping(sim, job->storage)->nas);
	if (init && goes(d->act) && outcome->before == TICKET_HELD && at >= 0 &&
		job->held_otherwise)
		sim->gate.watches[at].ledger.released_ms = sim->t;
	if (init && d->act == VERDICT_HOLD)
		note_hold(sim, job, d);
	if (init && d->act == VERDICT_HOLD && d->reasons[0].code != REASON_RESTORE)
		job->held_otherwise = true;
	if (init && goes(d->act))
		job->was_released = true;
	for (i = 0; i < sim->n_jobs && goes(d->act); i++)
		sim->jobs[i].free_since = -1; /* it is somebody's turn */
	job->last = *d;
	job->n_decisions++;
}

void check_state(struct sim *sim, struct job *job, const struct outcome *outcome)
{
	sim_line(sim, "%s (T%lld): %s -> %s: %s", job->name, (long long)outcome->ticket,
		ticket_state_word(outcome->before) ? ticket_state_word(outcome->before) : "new",
		ticket_state_word(outcome->after), outcome->why);
}

/* --- at each instant --- */

static bool slot_of(const struct tickets *tickets, const char *nas, const struct job *job)
{
	size_t i;

	for (i = 0; i < tickets->n; i++) {
		const struct ticket *ticket = &tickets->list[i];
		bool lock = job->client == CLIENT_VZDUMP &&
			ticket->request.client == CLIENT_VZDUMP &&
			!strcmp(ticket->request.node, job->node);

		if (ticket->slot && (lock || !strcmp(ticket->nas, nas)))
			return true;
	}
	return false;
}

/* The longest that the queue may take from one that goes to the next, where nobody is under way. */
static int64_t queue_most(const struct sim *sim)
{
	const struct policy *policy = sim->gate.policy;
	int64_t settle = policy->defaults.settle_ms,
		interval = policy->defaults.release_interval_ms;
	size_t i;

	for (i = 0; i < policy->n_rules; i++) {
		const struct rule_settings *set = &policy->rules[i].set;

		settle = set->settle_ms > settle ? set->settle_ms : settle;
		interval =
			set->release_interval_ms > interval ? set->release_interval_ms : interval;
	}
	return settle + interval;
}

/* All is calm, nobody is under way, and still it waits. */
static void check_starve(struct sim *sim, struct job *job)
{
	const char *nas = sim_mapping(sim, job->storage)->nas;
	int at = check_nas_at(sim, nas);
	bool free_now;

	if (at < 0 || !check_wanted(sim, INV_STARVE))
		return;
	free_now = sim->gate.watches[at].ledger.calm_since >= 0 &&
		!slot_of(&sim->gate.tickets, nas, job) && !sim->gate.n_overrides &&
		!(sim->readers[at].known && sim->readers[at].v > 0) && !windows(sim->gate.policy);
	if (!free_now)
		job->free_since = -1;
	else if (job->free_since < 0)
		job->free_since = sim->t;
	if (free_now &&
		sim->t - job->free_since > queue_most(sim) + 2 * sim->poll_ms + CHECK_SLACK_MS)
		check_broken(sim, INV_STARVE,
			"%s waits, but %s has been calm and free for %lld s: %s", job->name, nas,
			(long long)(sim->t - job->free_since) / 1000, job->last.reasons[0].text);
}

void check_now(struct sim *sim)
{
	size_t i;

	for (i = 0; i < sim->n_jobs; i++) {
		struct job *job = &sim->jobs[i];
		bool held = job->state == JOB_INIT && job->held_since >= 0 &&
			(job->last.act == VERDICT_HOLD || !sim->gate.up);
		int64_t inside =
			job->inside_ms + (job->inside_since >= 0 ? sim->t - job->inside_since : 0);

		if (held)
			check_bound(sim, job);
		if (held && sim->gate.up && sim->t - sim->gate.started_ms > CHECK_SLACK_MS) {
			check_outage(sim, job);
			check_starve(sim, job);
		}
		if (job->inside_since < 0 && !job->inside_ms)
			continue;
		if (check_wanted(sim, INV_RECHECK) &&
			inside > sim->max_recheck_ms + OUTAGE_SLACK_MS + CHECK_SLACK_MS)
			check_broken(sim, INV_RECHECK, "%s waits inside for %lld s", job->name,
				(long long)inside / 1000);
	}
}

void check_end(struct sim *sim)
{
	const struct tickets *tickets = &sim->gate.tickets;
	size_t i;

	if (!sim->gate.up || !check_wanted(sim, INV_LEAK))
		return;
	for (i = 0; i < tickets->n; i++)
		check_broken(sim, INV_LEAK, "T%lld of %s is left, %s%s",
			(long long)tickets->list[i].id, tickets->list[i].request.node,
			ticket_state_word(tickets->list[i].state),
			tickets->list[i].slot ? ", with a slot" : "");
	for (i = 0; i < sim->n_jobs; i++) {
		if (sim->jobs[i].writes && job_over(&sim->jobs[i]))
			check_broken(
				sim, INV_LEAK, "%s is over and still writes", sim->jobs[i].name);
	}
}
