// SPDX-License-Identifier: MIT
/* How long a job may be held: by the policy's numbers, its backups' age, its next start, an outage.
 */
#include <string.h>

#include "check.h"

/* What depends on UTC is looked at once a minute at least. */
#define UTC_SLACK_MS (70 * MS_SECOND)

/* Its holds end with the age of the job's backups. */
static bool to_rpo(const struct sim *sim, const struct job *job, const struct rule_settings *set)
{
	return set->hold_to_rpo && sim_age(sim, job).known;
}

/* How long in all these settings may hold the job. */
static int64_t most_of(
	const struct sim *sim, const struct job *job, const struct rule_settings *set)
{
	if (!to_rpo(sim, job, set))
		return set->max_hold.v;
	return sim->t - job->held_since + set->rpo_ms.v - sim_age(sim, job).v;
}

/* How long a job may be held where `name` is what holds it. */
static int64_t most_held(const struct sim *sim, const struct job *job, const char *name)
{
	const struct policy *policy = sim->gate.policy;
	const struct rule *rule = policy_rule(policy, name);
	int64_t usual = most_of(sim, job, &policy->defaults);
	int64_t own = rule ? most_of(sim, job, &rule->set) : usual;

	if (!rule)
		return usual;
	if (check_for_blind(policy, rule) && !to_rpo(sim, job, &rule->set) && own < usual)
		return usual;
	return own;
}

/* In the queue, and while a restore reads, the budget is that of the rule that held the job last;
 * that of the defaults where none did. */
static const char *budget_of(const struct job *job)
{
	const struct decision *d = &job->last;

	if (d->base_holds)
		return d->hold_rule;
	return strcmp(d->rule, job->limit_rule) == 0 ? d->rule : "";
}

void check_bound(struct sim *sim, struct job *job)
{
	struct moment now = sim_moment(sim);
	int64_t held = sim->t - job->held_since;
	const char *rule = budget_of(job);

	/* A gate that is away has told its hook when the hold ends; a policy that it was given
	 * meanwhile counts from its first look on. */
	if (sim->gate.up && sim->t - sim->gate.started_ms > CHECK_SLACK_MS)
		job->may_ms = most_held(sim, job, rule);
	if (!check_wanted(sim, INV_BOUND))
		return;
	if (held > job->may_ms + CHECK_SLACK_MS)
		check_broken(sim, INV_BOUND, "%s is held for %lld s by '%s', which may %lld s",
			job->name, (long long)held / 1000, rule, (long long)job->may_ms / 1000);
	if (job->next_start_utc_ms.known && sim->t - sim->stepped_ms > UTC_SLACK_MS &&
		now.utc_ms > job->next_start_utc_ms.v - MS_MINUTE + UTC_SLACK_MS)
		check_broken(sim, INV_BOUND, "%s is held past its next start", job->name);
}

/* One outage has one budget. */
void check_outage(struct sim *sim, struct job *job)
{
	const struct policy *policy = sim->gate.policy;
	const struct rule *rule = policy_rule(policy, job->last.hold_rule);
	int at = check_nas_at(sim, sim_mapping(sim, job->storage)->nas);
	int64_t since;

	if (at < 0 || !job->last.base_holds || !check_for_blind(policy, rule) ||
		to_rpo(sim, job, &rule->set))
		return;
	since = sim->gate.watches[at].ledger.outage_since;
	if (since >= 0 && sim->t - since > rule->set.max_hold.v + CHECK_SLACK_MS)
		check_broken(sim, INV_BOUND,
			"%s is held blindly for %lld s of one outage, by '%s', which may %lld s",
			job->name, (long long)(sim->t - since) / 1000, rule->name,
			(long long)rule->set.max_hold.v / 1000);
}
