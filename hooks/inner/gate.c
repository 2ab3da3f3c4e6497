// SPDX-License-Identifier: MIT
/* What the hook says to the gate in each phase, and what it makes of the answers. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/asking.h"
#include "inner.h"
#include "proxmox/calendar.h"
#include "proxmox/guests.h"
#include "proxmox/job.h"

/* Inside the job vzdump's lock is held, and other jobs wait for it (lockwait, 3 h): without a gate
 * the whole job waits no longer than this, all phases together. */
#define OUTAGE_IN_JOB_MS (30 * MS_SECOND)
/* A look at a NAS may take 5 s before the gate answers. */
#define ASK_MS (8 * MS_SECOND)
#define REPORT_MS (2 * MS_SECOND)
/* Once that time is used up, or the job was aborted, what only tells does not wait for a gate that
 * hangs. */
#define REPORT_SPENT_MS 300
#define WITHDRAW_MS 400
/* pvescheduler writes the state file just after it started the worker. */
#define STATE_FILE_MS MS_SECOND

#define COPY(to, from) snprintf(to, sizeof(to), "%s", from ? from : "")

static struct gate_link link_to(struct hook *hook)
{
	return (struct gate_link){.socket = hook->conf.gate, .wake = hook->wake, .n_wake = WAKE_N};
}

static void on_ticket(void *data, int64_t ticket)
{
	struct hook *hook = data;

	hook->note.ticket = ticket;
	memory_note_save(hook);
}

/* The job of this task; waits a moment for pvescheduler to write it down. */
static bool find_job(struct hook *hook, char ret[JOB_ID_MAX])
{
	int64_t end_ms = clock_boot_ms() + STATE_FILE_MS;
	char dir[300];

	if (!*hook->upid)
		return false;
	snprintf(dir, sizeof(dir), "%s" JOB_STATE_DIR, hook->root);
	if (access(dir, R_OK | X_OK))
		return false;
	while (!job_of_task(dir, hook->upid, ret)) {
		if (clock_boot_ms() >= end_ms || poll(hook->wake, WAKE_N, 100) > 0)
			return false;
	}
	return true;
}

static void add_job(struct hook *hook, struct ask *ask)
{
	char file[300], schedule[200];
	int64_t next;

	if (!find_job(hook, ask->job_id))
		return;
	snprintf(file, sizeof(file), "%s" JOB_CONFIG, hook->root);
	/* The next run counts from the start of this one: PVE/Jobs.pm get_last_runtime. */
	if (job_schedule_read(file, ask->job_id, schedule, sizeof(schedule)) &&
		calendar_next(schedule, hook->task.starttime_s * 1000, &next))
		ask->request.next_start_utc_ms = OPT(next);
}

/* Its guests on this node, and how many of them are virtual machines. */
static void add_guests(const struct hook *hook, struct ask *ask)
{
	struct guests guests;

	if (!guests_read(hook->root, ask->job_id, hook->task.vmid, hook->node, &guests))
		return;
	ask->request.n_guests = guests.n;
	memcpy(ask->request.guests, guests.ids, sizeof(guests.ids));
	ask->request.n_qemu = guests.n_qemu;
}

static void fill(const struct hook *hook, struct ask *ask)
{
	struct request *request = &ask->request;

	request->client = CLIENT_VZDUMP;
	request->phase = phase_parse(hook->phase);
	COPY(request->storage, hook->storage);
	COPY(request->node, hook->node);
	request->guest = hook->vmid;
	request->guest_type = hook->vmtype ? guest_type_parse(hook->vmtype) : GUEST_NONE;
	request->mode = hook->mode ? backup_mode_parse(hook->mode) : MODE_NONE;
	if (hook->task.vmid) {
		request->guests[0] = hook->task.vmid;
		request->n_guests = 1;
	}
	ask->worker = hook->worker;
	COPY(ask->upid, hook->upid);
	ask->ticket = hook->note.ticket;
}

static enum part part_of(const struct session_step *step)
{
	return step->verdict == VERDICT_DENY ? PART_FAILS : PART_GOES_ON;
}

static void say_end(
	struct hook *hook, const struct session *session, const struct session_step *step)
{
	char line[WORDS_MAX];
	size_t i;

	words_end(session, step, line);
	hook_say_line(hook, line);
	if (step->end != SESSION_END_GO)
		return;
	for (i = 0; words_warning(&session->answer, i, line); i++)
		hook_say_line(hook, line);
	if (hook->note.said == words_kind(&session->answer))
		return;
	hook->note.said = words_kind(&session->answer);
	memory_note_save(hook);
}

enum part gate_job_init(struct hook *hook)
{
	struct gate_link link = link_to(hook);
	struct ask ask = {0};
	const struct asking asking = {&link, &ask, hook_say_line, on_ticket, hook};
	const struct session_conf conf = {.wait_for_gate_ms = hook->conf.wait_for_gate_ms,
		.if_gate_down = hook->conf.if_gate_down};
	struct session session;
	struct session_step step;

	fill(hook, &ask);
	add_job(hook, &ask);
	add_guests(hook, &ask);
	if (hook_woken(hook) || !asking_run(&asking, &session, &conf, &step))
		return PART_ABORTED;
	say_end(hook, &session, &step);
	return part_of(&step);
}

enum part gate_recheck(struct hook *hook)
{
	int64_t left_ms = OUTAGE_IN_JOB_MS - hook->note.outage_ms;
	struct gate_link link = link_to(hook);
	struct ask ask = {0};
	const struct asking asking = {&link, &ask, hook_say_line, on_ticket, hook};
	struct session_conf conf = {.if_gate_down = hook->conf.if_gate_down};
	struct session session;
	struct session_step step;
	int64_t outage_ms;

	link.deadline_ms = ASK_MS;
	conf.wait_for_gate_ms =
		left_ms < hook->conf.wait_for_gate_ms ? left_ms : hook->conf.wait_for_gate_ms;
	fill(hook, &ask);
	if (!asking_run(&asking, &session, &conf, &step))
		return PART_ABORTED;
	outage_ms = session_outage_ms(&session, clock_boot_ms());
	if (outage_ms > 0) {
		hook->note.outage_ms += outage_ms;
		memory_note_save(hook);
	}
	/* The hold before the job is told of there, and what goes on as the job was told needs no
	 * line for each guest. */
	step.held_ms = session.held_since_ms.known ? clock_boot_ms() - session.started_ms : 0;
	if (step.end != SESSION_END_GO || session.held_since_ms.known ||
		words_kind(&session.answer) != hook->note.said)
		say_end(hook, &session, &step);
	return part_of(&step);
}

void gate_report(struct hook *hook, const char *phase)
{
	struct gate_link link = link_to(hook);
	struct err err = {0};
	const struct report report = {
		.ticket = hook->note.ticket,
		.worker = hook->worker,
		.phase = phase,
		.storage = hook->storage,
		.node = hook->node,
		.mode = hook->mode,
		.guest = hook->vmid,
		.guest_type = hook->vmtype,
		.hostname = hook->hostname,
		.target = hook->target,
	};

	link.deadline_ms = REPORT_MS;
	if (hook->hurry || hook->note.outage_ms >= OUTAGE_IN_JOB_MS)
		link.deadline_ms = REPORT_SPENT_MS;
	/* A gate that is not there has been told of in job-init; the job goes on without it. */
	if (client_report(&link, &report, &err) || err.kind != ERR_TIMEOUT)
		return;
	hook->note.outage_ms += link.deadline_ms;
	memory_note_save(hook);
}

void gate_withdraw(struct hook *hook)
{
	struct gate_link link = {.socket = hook->conf.gate, .deadline_ms = WITHDRAW_MS};

	client_withdraw(&link, hook->note.ticket, &hook->worker, "the job was aborted", NULL);
}
