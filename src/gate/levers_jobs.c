// SPDX-License-Identifier: MIT
/* Which jobs are slowed, and by which path. */
#include <stdio.h>
#include <string.h>

#include "core/override.h"
#include "gate/desk.h"
#include "gate/desk_impl.h"
#include "gate/levers_impl.h"
#include "gate/matched.h"
#include "gate/watch.h"

#define UNSEEN_LEAST INT64_C(1048576) /* bytes/s that are somebody's backup, or the like */
#define UNSEEN_MS MS_MINUTE           /* who wrote no longer ago may go on */

/* What is to be done with a job because of one array. */
enum says { SAYS_NOTHING = 0, SAYS_THROTTLE, SAYS_STOP };

struct pbs_lever *levers_pbs_usable(struct levers *levers, const char *pbs)
{
	struct pbs_lever_state state;
	struct pbs_lever *lever;

	if (!pbs[0] || !levers->gate->pbs_levers)
		return NULL;
	lever = pbs_levers_find(levers->gate->pbs_levers, pbs);
	if (!lever)
		return NULL;
	pbs_lever_state(lever, &state);
	return state.usable || !state.trouble[0] ? lever : NULL;
}

/* Facts of the NAS into the scratch inputs, once for all of its jobs in a row. */
static void look_at(struct levers *levers, const struct mapping *mapping)
{
	struct inputs *in = &levers->scratch;

	if (strcmp(in->facts.name, mapping->nas) != 0)
		world_facts(levers->gate, mapping->nas, &levers->now, &in->facts);
	in->mapping = *mapping;
}

/* The request as a rule sees it now: the guest under way counts. */
static void ask_as(struct inputs *in, const struct ticket *ticket)
{
	in->request = ticket->request;
	if (!ticket->guest)
		return;
	in->request.phase = PHASE_BACKUP_START;
	in->request.guest = ticket->guest;
	in->request.guest_type = ticket->inside_type;
	if (ticket->inside_mode)
		in->request.mode = ticket->inside_mode;
}

/* Whether the rule began to match while the job runs: what was decided under it already stands. */
static bool began(const struct ticket *ticket, const struct rule *rule)
{
	if (ticket->release_asked || (ticket->expired && ticket->expired_to == VERDICT_ALLOW))
		return false;
	return ticket->last.mid_job || ticket->last.act != VERDICT_ALLOW ||
		strcmp(ticket->last.rule, rule->name) != 0;
}

static enum says says(enum running_act act)
{
	switch (act) {
	case RUNNING_THROTTLE:
		return SAYS_THROTTLE;
	case RUNNING_STOP:
		return SAYS_STOP;
	case RUNNING_NONE:
	case RUNNING_LEAVE:
		break;
	}
	return SAYS_NOTHING;
}

static enum says rule_says(const struct ticket *ticket, const struct rule *rule)
{
	if (!rule || rule->verdict <= VERDICT_ALLOW)
		return SAYS_NOTHING;
	if (!ticket)
		return says(rule->set.running);
	if (ticket->last.act == VERDICT_THROTTLE)
		return SAYS_THROTTLE;
	return began(ticket, rule) ? says(rule->set.running) : SAYS_NOTHING;
}

static int64_t protected_ppm(
	const struct ticket *ticket, const struct rule_settings *set, const char *rule)
{
	if (ticket && ticket->last.act == VERDICT_THROTTLE && ticket->last.protect_ppm > 0 &&
		strcmp(ticket->last.rule, rule) == 0)
		return ticket->last.protect_ppm;
	return set->protect_ppm;
}

static struct opt least(struct opt a, struct opt b)
{
	if (!a.known || (b.known && b.v < a.v))
		return b;
	return a;
}

/* The strictest of the jobs counts. */
static void add_rule(struct steered *steered, const struct rule_settings *set, int64_t protect_ppm)
{
	if (!steered->protects || protect_ppm > steered->rule.protect_ppm) {
		steered->rule.protect_ppm = protect_ppm;
		steered->rule.over_ms = set->over_ms;
	}
	steered->rule.rate = least(steered->rule.rate, set->rate);
	steered->max_pause_ms = least(steered->max_pause_ms, set->max_pause_ms);
	steered->protects = true;
}

static void throttle_on(struct levers *levers, struct lever_job *job, const struct ticket *ticket,
	const struct array_facts *array, const struct rule *rule)
{
	const struct rule_settings *set = rule ? &rule->set : &levers->gate->policy->defaults;
	const char *name = rule ? rule->name : "";
	struct steered *steered;

	job->throttled = true;
	if (!job->floor_lacks[0])
		floor_reaches(levers, job->nas, array, set->rate, job->floor_lacks);
	if (!job->rule[0])
		snprintf(job->rule, sizeof(job->rule), "%s", name);
	if (!matched_works(array) && !set->rate.known)
		return;
	steered = steered_make(levers, job->nas, array->name);
	if (!steered)
		return;
	add_rule(steered, set, protected_ppm(ticket, set, name));
	job->arrays |= UINT64_C(1) << (steered - levers->arrays);
}

/* All arrays that the job writes to, with `ticket` NULL for one that never asked. */
static void judge(struct levers *levers, struct lever_job *job, const struct ticket *ticket)
{
	struct inputs *in = &levers->scratch;
	const struct override *over = override_find(in);
	enum verdict by = over ? over->verdict : VERDICT_NONE;
	const struct rule *rule;
	size_t i;

	if (by == VERDICT_ALLOW || !levers->gate->policy->enabled || levers->gate->policy->observe)
		return;
	for (i = 0; i < in->facts.n_arrays; i++) {
		const struct array_facts *array = &in->facts.arrays[i];
		struct steered *steered;

		if (!mapping_covers(&in->mapping, array))
			continue;
		rule = matched_on(levers->gate->policy, in, array);
		if (by == VERDICT_THROTTLE && (rule || matched_works(array)))
			throttle_on(levers, job, ticket, array, rule);
		else if (rule_says(ticket, rule) == SAYS_THROTTLE)
			throttle_on(levers, job, ticket, array, rule);
		else if (rule_says(ticket, rule) == SAYS_STOP) {
			/* Slowed until it is gone: a stop may be refused, or nobody be able to. */
			job->stop = true;
			throttle_on(levers, job, ticket, array, rule);
		}
		steered = steered_find(levers, job->nas, array->name);
		/* One that opens gradually goes on with the jobs that it had. */
		if (steered && !steered->protects && steered->out.path > STEER_FREE &&
			levers_said(levers, job, SAID_THROTTLED))
			job->arrays |= UINT64_C(1) << (steered - levers->arrays);
	}
}

static struct keeper *any_keeper(struct levers *levers, int64_t ticket)
{
	size_t i;

	for (i = 0; i < LEVERS_KEEPERS; i++)
		if (levers->keepers[i].said_ms && levers->keepers[i].said.ticket == ticket &&
			keeper_alive(levers, &levers->keepers[i]))
			return &levers->keepers[i];
	return NULL;
}

/* Whether a keeper sets the guest under way, or is to be expected for the next one. */
static bool by_keeper(struct levers *levers, struct lever_job *job, const struct ticket *ticket)
{
	if (any_keeper(levers, ticket->id))
		return true;
	if (ticket->request.client != CLIENT_VZDUMP) {
		snprintf(job->text, sizeof(job->text),
			"a command's writes onto storage '%s' cannot be slowed", job->storage);
		return false;
	}
	/* Its keeper begins with the backup, and may have lost an earlier gate. */
	if (ticket->guest && ticket->inside_type != GUEST_LXC &&
		levers_guest_ms(levers, job) < KEEPER_FREE_MS)
		return true;
	if (ticket->guest && ticket->inside_type != GUEST_LXC) {
		job->unkept = true;
		unkept_text(levers, job, job->text);
		return false;
	}
	if (ticket->guest) {
		snprintf(job->text, sizeof(job->text),
			"guest %u is a container and not written through a backup server: nothing "
			"can slow it while it runs (its next run: bwlimit)",
			ticket->guest);
		return false;
	}
	if (ticket->request.n_qemu.known && ticket->request.n_qemu.v == 0) {
		snprintf(job->text, sizeof(job->text),
			"all its guests are containers and not written through a backup server: "
			"nothing can slow them while they run (the next run: bwlimit)");
		return false;
	}
	return true;
}

/* Clients wrote more than the server's rule let through (another rule may hide it): from then on
 * the job's keepers are the better lever. */
static bool no_grip(struct levers *levers, const struct lever_job *job)
{
	size_t i;

	for (i = 0; i < LEVERS_ARRAYS; i++)
		if ((job->arrays >> i & 1) && levers->arrays[i].out.no_grip)
			levers_say_once(levers, job, SAID_NO_GRIP);
	return levers_said(levers, job, SAID_NO_GRIP);
}

/* Why not even the NAS's own floor helps, where one is set up. */
static void add_floor_lacks(struct lever_job *job)
{
	size_t len = strlen(job->text);

	if (job->floor_lacks[0])
		snprintf(job->text + len, sizeof(job->text) - len, "%s%s", len ? "; " : "",
			job->floor_lacks);
}

static void choose(struct levers *levers, struct lever_job *job, const struct ticket *ticket)
{
	struct pbs_lever *lever = levers_pbs_usable(levers, job->pbs);
	struct pbs_lever_state state = {0};
	char guest[48] = "";

	job->by = BY_NOTHING;
	if (lever && ticket && no_grip(levers, job) && any_keeper(levers, ticket->id))
		lever = NULL;
	if (lever) {
		job->by = BY_PBS;
		snprintf(job->text, sizeof(job->text), "by a rule on backup server '%s'", job->pbs);
		return;
	}
	if (ticket && by_keeper(levers, job, ticket)) {
		job->by = BY_KEEPER;
		snprintf(job->text, sizeof(job->text), "by the keepers of its virtual machines");
		return;
	}
	if (floor_usable(levers, job->nas, "") && !job->floor_lacks[0]) {
		job->by = BY_FLOOR;
		snprintf(job->text, sizeof(job->text), "by the floor of NAS '%s' only", job->nas);
		return;
	}
	if (job->pbs[0] && levers->gate->pbs_levers &&
		(lever = pbs_levers_find(levers->gate->pbs_levers, job->pbs))) {
		pbs_lever_state(lever, &state);
		if (job->unkept)
			snprintf(guest, sizeof(guest), "guest %u has no keeper (any more); ",
				job->guest);
		snprintf(job->text, sizeof(job->text), "%sbackup server '%s': %.140s", guest,
			job->pbs, state.trouble);
	} else if (!ticket) {
		snprintf(job->text, sizeof(job->text),
			"it never asked, and does not go through a backup server that is set up "
			"here");
	}
	add_floor_lacks(job);
}

static struct lever_job *job_new(struct levers *levers, const char *storage)
{
	const struct storage_settings *set = settings_storage(levers->gate->settings, storage);
	struct lever_job *job;

	if (!set || !set->mapping.nas[0] || levers->n_jobs == LEVERS_JOBS)
		return NULL;
	job = &levers->jobs[levers->n_jobs];
	memset(job, 0, sizeof(*job));
	snprintf(job->storage, sizeof(job->storage), "%s", storage);
	snprintf(job->nas, sizeof(job->nas), "%s", set->mapping.nas);
	snprintf(job->pbs, sizeof(job->pbs), "%s", set->pbs);
	look_at(levers, &set->mapping);
	levers->n_jobs++;
	return job;
}

static void take_ticket(struct levers *levers, const struct ticket *ticket)
{
	struct inputs *in = &levers->scratch;
	struct lever_job *job;

	if (ticket->state != TICKET_RELEASED && ticket->state != TICKET_RUNNING)
		return;
	job = job_new(levers, ticket->request.storage);
	if (!job)
		return;
	job->ticket = ticket->id;
	job->guest = ticket->guest;
	snprintf(job->node, sizeof(job->node), "%s", ticket->request.node);
	snprintf(job->upid, sizeof(job->upid), "%s", ticket->upid);
	ask_as(in, ticket);
	in->ticket.id = ticket->id;
	judge(levers, job, ticket);
	choose(levers, job, ticket);
}

static void take_writer(struct levers *levers, const struct task_writer *writer)
{
	struct inputs *in = &levers->scratch;
	struct lever_job *job = job_new(levers, writer->storage);

	if (!job)
		return;
	snprintf(job->upid, sizeof(job->upid), "%s", writer->upid);
	snprintf(job->node, sizeof(job->node), "%s", writer->node);
	if (writer->pbs[0])
		snprintf(job->pbs, sizeof(job->pbs), "%s", writer->pbs);
	memset(&in->request, 0, sizeof(in->request));
	in->request.client = CLIENT_VZDUMP;
	in->request.phase = PHASE_JOB_INIT;
	snprintf(in->request.storage, sizeof(in->request.storage), "%s", writer->storage);
	snprintf(in->request.node, sizeof(in->request.node), "%s", writer->node);
	in->ticket.id = 0;
	judge(levers, job, NULL);
	choose(levers, job, NULL);
}

/* What the run knows of the arrays before the jobs say theirs. */
static void begin_arrays(struct levers *levers)
{
	size_t i;

	for (i = 0; i < LEVERS_ARRAYS; i++) {
		struct steered *steered = &levers->arrays[i];

		if (!steered->nas[0])
			continue;
		steered_begin(levers, steered);
	}
}

/* Streams: each keeper whose guest copies now, each job through a backup server. */
static int64_t units_of(struct levers *levers, const struct lever_job *job)
{
	int64_t n = 0;
	size_t i;

	if (job->by == BY_PBS)
		return 1;
	for (i = 0; job->by == BY_KEEPER && job->ticket && i < LEVERS_KEEPERS; i++)
		n += levers->keepers[i].said_ms && levers->keepers[i].said.ticket == job->ticket &&
			levers->keepers[i].said.n_jobs > 0 &&
			keeper_alive(levers, &levers->keepers[i]);
	return n;
}

/* A job that nothing slows writes beside those that are. */
static void count_job(struct levers *levers, const struct lever_job *job)
{
	size_t i;

	for (i = 0; i < LEVERS_ARRAYS; i++) {
		struct steered *steered = &levers->arrays[i];

		if (!steered->nas[0] || strcmp(steered->nas, job->nas) != 0)
			continue;
		steered->known_ms = levers->now.boot_ms;
		if (!(job->arrays >> i & 1) || job->by <= BY_FLOOR)
			steered->others = true;
		if (!(job->arrays >> i & 1))
			continue;
		if (job->by <= BY_FLOOR) {
			steered->unreached++;
			continue;
		}
		steered->jobs++;
		steered->units += units_of(levers, job);
	}
}

static bool any_job(const struct levers *levers, const char *nas)
{
	size_t i;

	for (i = 0; i < levers->n_jobs; i++)
		if (strcmp(levers->jobs[i].nas, nas) == 0)
			return true;
	return false;
}

/* Somebody writes whom nobody here knows, to an array whose rule throttles jobs that write: the
 * NAS's own floor is the lever for that, until nobody has written for a while. */
static void take_unseen(struct levers *levers, const struct storage_settings *storage)
{
	const char *nas = storage->mapping.nas;
	const struct array_facts *array;
	const struct rule *rule;
	struct steered *steered;
	char name[MD_NAME_MAX] = "";
	bool writes;

	if (!nas[0] || any_job(levers, nas) || !floor_usable(levers, nas, ""))
		return;
	rule = matched_rule(levers->gate, storage->name, name);
	if (!rule || rule->verdict <= VERDICT_ALLOW || rule->set.running != RUNNING_THROTTLE ||
		rule->set.rate.known)
		return;
	look_at(levers, &storage->mapping);
	array = nas_facts_find(&levers->scratch.facts, name);
	steered = steered_find(levers, nas, name);
	if (!array || !matched_works(array))
		return;
	/* Caches go on writing for a job that has just ended. */
	writes = array->client_write.known && array->client_write.v >= UNSEEN_LEAST &&
		!(steered && levers->now.boot_ms - steered->known_ms < UNSEEN_MS);
	if (!writes &&
		!(steered && steered->floor_ms &&
			levers->now.boot_ms - steered->unseen_ms < UNSEEN_MS))
		return;
	steered = steered_make(levers, nas, name);
	if (!steered)
		return;
	if (writes)
		steered->unseen_ms = levers->now.boot_ms;
	add_rule(steered, &rule->set, rule->set.protect_ppm);
	steered->unreached++;
	steered->others = true;
}

void levers_collect(struct levers *levers)
{
	const struct tickets *tickets = desk_tickets(levers->gate->desk);
	struct inputs *in = &levers->scratch;
	size_t i, n = 0;

	levers->n_jobs = 0;
	in->facts.name[0] = '\0';
	in->now = levers->now;
	in->n_overrides = store_overrides(
		levers->gate->store, levers->now.utc_ms, in->overrides, OVERRIDE_MAX);
	begin_arrays(levers);
	for (i = 0; i < tickets->n; i++)
		take_ticket(levers, &tickets->list[i]);
	if (levers->gate->tasks)
		n = tasks_writers(levers->gate->tasks, levers->writers, TASK_WRITERS_MAX);
	for (i = 0; i < n; i++)
		take_writer(levers, &levers->writers[i]);
	for (i = 0; i < levers->n_jobs; i++)
		count_job(levers, &levers->jobs[i]);
	for (i = 0; levers->gate->floors && i < levers->gate->settings->n_storages; i++)
		take_unseen(levers, &levers->gate->settings->storages[i]);
}
