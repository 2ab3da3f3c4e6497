// SPDX-License-Identifier: MIT
/*
 * A vzdump job as pve-manager runs it: job-init asks before any lock, then the node's lock (one
 * vzdump at a time; lockwait 3 h, then it fails without a word), job-start, for each guest
 * backup-start, the copy, backup-end, and job-end. A denied job-start ends in job-abort, a denied
 * backup-start costs that guest only. The asking is the hook's own loop, src/client/session.c; what
 * hooks/inner/gate.c adds (30 s without a gate inside the job, all phases together) is mirrored.
 */
#include <stdio.h>
#include <string.h>

#include "sim.h"

#define LOCKWAIT_MS (3 * MS_HOUR)
#define OUTAGE_IN_JOB_MS (30 * MS_SECOND)

static void go_on(struct sim *sim, struct job *job);

bool job_over(const struct job *job)
{
	return job->state == JOB_IDLE || job->state >= JOB_DONE;
}

const char *job_state_word(const struct sim *sim, const struct job *job)
{
	static const char *const words[] = {
		[JOB_IDLE] = "idle",
		[JOB_INIT] = "asking",
		[JOB_LOCK] = "lock",
		[JOB_START] = "starting",
		[JOB_GUEST] = "between",
		[JOB_COPY] = "copying",
		[JOB_HUNG] = "hung",
		[JOB_DONE] = "done",
		[JOB_DENIED] = "denied",
		[JOB_FAILED] = "failed",
		[JOB_ABORTED] = "aborted",
		[JOB_KILLED] = "killed",
	};
	bool holds = job->session.answer.act == VERDICT_HOLD;

	(void)sim;
	if (job->state == JOB_INIT && holds)
		return "held";
	if ((job->state == JOB_START || job->state == JOB_GUEST) && holds)
		return "waiting";
	return words[job->state];
}

static struct disk_array *target(struct sim *sim, const struct job *job, struct disks **ret)
{
	const struct mapping *mapping = sim_mapping(sim, job->storage);
	struct disks *disks = sim_nas(sim, mapping->nas);

	*ret = disks;
	if (!disks)
		return NULL;
	return disks_find(disks, mapping->n_arrays ? mapping->arrays[0] : disks->arrays[0].name);
}

static void write_change(struct sim *sim, struct job *job, bool writes)
{
	struct disks *disks;
	struct disk_array *array = target(sim, job, &disks);

	if (job->writes == writes)
		return;
	job->writes = writes;
	if (!array)
		return;
	disks_advance(disks, sim->t);
	disks_write(disks, array, writes ? (double)job->pace : -(double)job->pace);
}

/* --- vzdump's lock --- */

static void lock_next(struct sim *sim, struct node *node)
{
	size_t i;
	int first = -1;

	for (i = 0; i < sim->n_jobs; i++) {
		const struct job *job = &sim->jobs[i];

		if (job->state == JOB_LOCK && strcmp(job->node, node->name) == 0 &&
			(first < 0 || job->go_ms < sim->jobs[first].go_ms))
			first = (int)i;
	}
	node->holder = first;
	if (first >= 0) {
		sim->jobs[first].state = JOB_START;
		go_on(sim, &sim->jobs[first]);
	}
}

static void unlock(struct sim *sim, struct job *job)
{
	struct node *node = sim_node(sim, job->node);

	if (node && node->holder == (int)(job - sim->jobs))
		lock_next(sim, node);
}

static void lock(struct sim *sim, struct job *job)
{
	struct node *node = sim_node(sim, job->node);

	job->state = JOB_LOCK;
	job->wake_ms = sim->t + LOCKWAIT_MS;
	if (!node || node->holder >= 0)
		return;
	node->holder = (int)(job - sim->jobs);
	job->state = JOB_START;
	go_on(sim, job);
}

/* --- its end --- */

static void end(struct sim *sim, struct job *job, enum job_state how)
{
	write_change(sim, job, false);
	job->state = how;
	job->call = CALL_NONE;
	job->wake_ms = SIM_NEVER;
	job->ended_ms = sim->t;
	sim_line(sim, "%s %s", job->name, job_state_word(sim, job));
	unlock(sim, job);
}

/* Its process ends as well: on our own node the gate has a pidfd. */
static void end_silently(struct sim *sim, struct job *job, enum job_state how)
{
	end(sim, job, how);
	if (strcmp(job->node, sim->own_node) == 0)
		gate_worker_gone(sim, job);
}

static void finish(struct sim *sim, struct job *job)
{
	if (job->backed_up_ms.known && !job->guests_failed)
		job->backed_up_ms = OPT(sim->t);
	job->state = JOB_DONE; /* for whom the gate lets go because of it */
	gate_report(sim, job, job->client == CLIENT_RUN ? "run-end" : "job-end");
	end(sim, job, JOB_DONE);
}

static void fail_start(struct sim *sim, struct job *job)
{
	job->state = JOB_FAILED;
	gate_report(sim, job, "job-abort");
	end(sim, job, JOB_FAILED);
}

/* --- the copies --- */

static void copy(struct sim *sim, struct job *job)
{
	job->state = JOB_COPY;
	job->wake_ms = sim->t + job->size * 1000 / job->pace;
	write_change(sim, job, true);
}

static void next_guest(struct sim *sim, struct job *job)
{
	if (job->guest == job->n_guests) {
		finish(sim, job);
		return;
	}
	job->guest++;
	job->state = JOB_GUEST;
	go_on(sim, job);
}

static void guest_fails(struct sim *sim, struct job *job)
{
	job->guests_failed++;
	sim_line(sim, "%s guest %d fails", job->name, job->guest);
	gate_report(sim, job, "backup-abort");
	next_guest(sim, job);
}

static void copy_ends(struct sim *sim, struct job *job)
{
	write_change(sim, job, false);
	job->guests_done++;
	if (job->client == CLIENT_RUN) {
		finish(sim, job);
		return;
	}
	gate_report(sim, job, "backup-end");
	next_guest(sim, job);
}

/* --- asking --- */

static void inside_ends(struct sim *sim, struct job *job)
{
	if (job->inside_since >= 0)
		job->inside_ms += sim->t - job->inside_since;
	job->inside_since = -1;
}

/* The gate, or its absence, has said what happens. */
static void verdict(struct sim *sim, struct job *job, const struct session_step *step)
{
	enum job_state state = job->state;
	bool denied = step->verdict == VERDICT_DENY;

	job->session.answer.act = VERDICT_NONE;
	if (job->held_since >= 0 && state == JOB_INIT)
		job->held_ms = sim->t - job->held_since;
	if (step->end != SESSION_END_GO && step->end != SESSION_END_DENIED)
		sim_line(sim, "%s goes on without a gate: %s", job->name,
			verdict_word(step->verdict));
	if (state == JOB_INIT) {
		if (denied) {
			end_silently(sim, job, JOB_DENIED);
			return;
		}
		job->go_ms = sim->t;
		if (job->client == CLIENT_WAIT)
			end(sim, job, JOB_DONE);
		else if (job->client == CLIENT_RUN)
			copy(sim, job);
		else
			lock(sim, job);
		return;
	}
	inside_ends(sim, job);
	job->outage_ms += session_outage_ms(&job->session, sim->t);
	if (denied && state == JOB_START) {
		fail_start(sim, job);
	} else if (denied) {
		guest_fails(sim, job);
	} else if (state == JOB_START) {
		job->begun_ms = sim->t;
		gate_report(sim, job, "job-start");
		next_guest(sim, job);
	} else {
		gate_report(sim, job, "backup-start");
		copy(sim, job);
	}
}

static void take_step(struct sim *sim, struct job *job, const struct session_step *step)
{
	if (step->next == SESSION_END) {
		verdict(sim, job, step);
		return;
	}
	job->step = *step;
	if (step->next == SESSION_PAUSE) {
		job->call = CALL_PAUSE;
		job->wake_ms = sim->t + step->pause_ms;
		return;
	}
	job->call = CALL_NONE;
	gate_ask(sim, job);
}

/* The answer has come; it is read when the job's turn is. */
void job_answered(struct sim *sim, struct job *job, bool failed)
{
	job->call = failed ? CALL_FAILED : CALL_ANSWERED;
	job->wake_ms = sim->t;
}

static void read_answer(struct sim *sim, struct job *job)
{
	bool failed = job->call == CALL_FAILED, held;
	struct session_step step;

	job->call = CALL_NONE;
	job->wake_ms = SIM_NEVER;
	step = failed ? session_failed(&job->session, ERR_GONE, sim->t)
		      : session_answered(&job->session, &job->answer, sim->t);
	held = !failed && job->answer.act == VERDICT_HOLD;
	if (held && job->state == JOB_INIT && job->held_since < 0)
		job->held_since = sim->t;
	if (held && job->state != JOB_INIT && job->inside_since < 0)
		job->inside_since = sim->t;
	take_step(sim, job, &step);
}

static void begin_asking(struct sim *sim, struct job *job)
{
	struct session_conf conf = {
		.wait_for_gate_ms = sim->wait_for_gate_ms, .if_gate_down = sim->if_gate_down};
	int64_t left = OUTAGE_IN_JOB_MS - job->outage_ms;
	struct session_step step;

	if (!sim->gated) {
		step = (struct session_step){
			.next = SESSION_END, .end = SESSION_END_GO, .verdict = VERDICT_ALLOW};
		verdict(sim, job, &step);
		return;
	}
	if (job->state != JOB_INIT && left < conf.wait_for_gate_ms)
		conf.wait_for_gate_ms = left > 0 ? left : 0;
	step = session_start(&job->session, &conf, job->ticket, sim->t);
	take_step(sim, job, &step);
}

/* The next phase, in its own turn. */
static void go_on(struct sim *sim, struct job *job)
{
	job->call = CALL_NONE;
	job->wake_ms = sim->t;
}

bool job_start(struct sim *sim, struct job *job)
{
	int64_t at = job - sim->jobs;

	if (!job_over(job)) {
		job->skipped++; /* its state is still "started": pvescheduler leaves it alone */
		return false;
	}
	job->state = JOB_INIT;
	job->runs++;
	job->started_ms = sim->t;
	job->go_ms = job->begun_ms = job->ended_ms = -1;
	job->worker = (struct worker){
		.pid = (int64_t)job->runs * SIM_MAX_JOBS + at, .start_ticks = sim->t};
	snprintf(job->worker.boot_id, sizeof(job->worker.boot_id), "%s", SIM_BOOT_ID);
	job->next_start_utc_ms =
		job->period_ms ? OPT(sim_moment(sim).utc_ms + job->period_ms) : OPT_NONE;
	job->ticket = 0;
	job->guest = job->guests_done = job->guests_failed = 0;
	job->outage_ms = 0;
	job->decisions = job->told = 0;
	job->n_decisions = 0;
	memset(&job->last, 0, sizeof(job->last));
	job->held_since = job->inside_since = job->rule_held_ms = job->free_since = -1;
	job->held_ms = job->inside_ms = 0;
	job->may_ms = SIM_NEVER / 2;
	job->rule_held[0] = job->limit_rule[0] = '\0';
	job->was_released = job->operator_hold = job->held_otherwise = false;
	job->ticket_state = TICKET_NONE;
	sim_line(sim, "%s starts", job->name);
	go_on(sim, job);
	return true;
}

void job_due(struct sim *sim, struct job *job)
{
	struct session_step step;

	job->wake_ms = SIM_NEVER;
	switch (job->call) {
	case CALL_ANSWERED:
	case CALL_FAILED:
		read_answer(sim, job);
		return;
	case CALL_WAITS:
		gate_answer_waiting(sim, job);
		return;
	case CALL_PAUSE:
		step = session_resume(&job->session, sim->t);
		take_step(sim, job, &step);
		return;
	case CALL_LOOK:
		return;
	case CALL_NONE:
		break;
	}
	if (job->state == JOB_INIT || job->state == JOB_START || job->state == JOB_GUEST)
		begin_asking(sim, job);
	else if (job->state == JOB_LOCK)
		end_silently(sim, job, JOB_FAILED);
	else if (job->state == JOB_COPY)
		copy_ends(sim, job);
}

/* SIGKILL: nobody says a word. */
void job_kill(struct sim *sim, struct job *job)
{
	if (job_over(job))
		return;
	inside_ends(sim, job);
	end_silently(sim, job, JOB_KILLED);
}

/* SIGTERM, or Stop in the web interface: the hook that waits gives its ticket back, vzdump runs
 * job-abort. */
void job_abort(struct sim *sim, struct job *job)
{
	enum job_state state = job->state;

	if (job_over(job))
		return;
	inside_ends(sim, job);
	job->call = CALL_NONE;
	job->state = JOB_ABORTED;
	if (state == JOB_INIT)
		gate_withdraw(sim, job);
	else if (state != JOB_LOCK)
		gate_report(sim, job, "job-abort");
	end_silently(sim, job, JOB_ABORTED);
}

/* Stopped with SIGSTOP, say: its process is there and says nothing. */
void job_hang(struct sim *sim, struct job *job)
{
	if (job_over(job))
		return;
	write_change(sim, job, false);
	inside_ends(sim, job);
	job->call = CALL_NONE;
	job->wake_ms = SIM_NEVER;
	job->state = JOB_HUNG;
	sim_line(sim, "%s hangs", job->name);
}
