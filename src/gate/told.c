// SPDX-License-Identifier: MIT
/* What hooks tell of their jobs, phase by phase. pve-manager PVE/VZDump.pm run_hook_script and
 * PVE/CLI/vzdump.pm name the phases; "run-end" is our own, for the end of a gated command. */
#include <stdio.h>
#include <string.h>

#include "gate/ages.h"
#include "gate/desk_impl.h"

enum told {
	TOLD_OTHER = 0, /* nothing changes by it, but the job is there and runs */
	TOLD_BEFORE,    /* job-init: it is there, and does not run yet */
	TOLD_START,
	TOLD_GUEST,
	TOLD_GUEST_DONE,
	TOLD_GUEST_FAILED,
	TOLD_END,
	TOLD_ABORT,
};

static enum told told_parse(const char *phase)
{
	static const struct {
		const char *word;
		enum told told;
	} table[] = {
		{"job-init", TOLD_BEFORE},
		{"job-start", TOLD_START},
		{"backup-start", TOLD_GUEST},
		{"backup-end", TOLD_GUEST_DONE},
		{"backup-abort", TOLD_GUEST_FAILED},
		{"job-end", TOLD_END},
		{"job-abort", TOLD_ABORT},
		{"run-end", TOLD_END},
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].word, phase))
			return table[i].told;
	return TOLD_OTHER;
}

/* A job that began while we were away: it runs, whatever it was told then. */
static struct ticket *take_up(struct desk *desk, const struct report *report)
{
	static struct ticket fresh;
	struct mapping mapping;
	const struct moment *now = &desk->now;

	memset(&fresh, 0, sizeof(fresh));
	if (desk->tickets.next_id < 1)
		desk->tickets.next_id = 1;
	fresh.id = report->ticket > desk->tickets.next_id ? desk->tickets.next_id : report->ticket;
	if (fresh.id < desk->tickets.next_id)
		fresh.id = desk->tickets.next_id;
	fresh.state = TICKET_RUNNING;
	fresh.request = report->request;
	fresh.request.client = strcmp(report->phase, "run-end") ? CLIENT_VZDUMP : CLIENT_RUN;
	fresh.request.phase = PHASE_JOB_INIT;
	fresh.worker = report->worker;
	fresh.asked_boot_ms = fresh.seen_boot_ms = now->boot_ms;
	fresh.asked_utc_ms = now->utc_ms;
	fresh.released_boot_ms = fresh.running_boot_ms = OPT(now->boot_ms);
	fresh.slot = true;
	settings_mapping(desk->gate->settings, report->request.storage, &mapping);
	snprintf(fresh.nas, sizeof(fresh.nas), "%s", mapping.nas);
	if (!ticket_restore(&desk->tickets, &fresh))
		return NULL;
	store_put_ticket(desk->gate->store, &fresh, now, TICKET_NONE,
		"its hook told of it, nobody had asked here");
	return ticket_find(&desk->tickets, fresh.id);
}

static void put_guest(struct desk *desk, int64_t ticket, const struct report *report,
	const char *outcome, bool ended)
{
	struct store_guest guest = {
		.ticket = ticket,
		.guest = report->request.guest,
		.guest_type = guest_type_word(report->request.guest_type),
		.mode = backup_mode_word(report->request.mode),
		.hostname = report->hostname,
		.target = report->target,
		.outcome = outcome,
		.began_utc_ms = ended ? 0 : desk->now.utc_ms,
		.ended_utc_ms = ended ? desk->now.utc_ms : 0,
	};

	if (guest.guest)
		store_put_guest(desk->gate->store, &guest);
}

/* The guest that was under way when its job was stopped. */
static void abort_guest(struct desk *desk, const struct ticket *ticket)
{
	struct report report = {0};

	report.request.guest = ticket->guest;
	put_guest(desk, ticket->id, &report, "aborted", true);
}

static void end_job(struct desk *desk, struct ticket_run *run, struct ticket *ticket,
	const struct report *report, bool aborted)
{
	char why[120] = "the job has ended";

	if (aborted) {
		abort_guest(desk, ticket);
		snprintf(why, sizeof(why), "the job was aborted");
	} else if (ticket->request.client == CLIENT_RUN && report->exit_status.known) {
		snprintf(why, sizeof(why), "the command has ended with status %lld",
			(long long)report->exit_status.v);
	}
	ticket_ended(run, ticket->id, why);
	step_tick(desk, run, NULL);
}

static void apply(struct desk *desk, struct ticket_run *run, struct ticket *ticket,
	const struct report *report)
{
	enum told told = told_parse(report->phase);

	ticket->seen_boot_ms = desk->now.boot_ms;
	switch (told) {
	case TOLD_BEFORE:
		break;
	case TOLD_OTHER:
	case TOLD_START:
		ticket_started(run, ticket->id);
		break;
	case TOLD_GUEST:
		ticket_started(run, ticket->id);
		ticket->guest = report->request.guest;
		put_guest(desk, ticket->id, report, "running", false);
		break;
	case TOLD_GUEST_DONE:
	case TOLD_GUEST_FAILED:
		if (told == TOLD_GUEST_DONE && desk->gate->ages)
			ages_done(desk->gate->ages, ticket->id, ticket->request.storage,
				report->request.guest, desk->now.utc_ms);
		put_guest(desk, ticket->id, report, told == TOLD_GUEST_DONE ? "done" : "failed",
			true);
		ticket->guest = 0;
		break;
	case TOLD_END:
	case TOLD_ABORT:
		end_job(desk, run, ticket, report, told == TOLD_ABORT);
		break;
	}
}

void desk_report(struct desk *desk, const struct report *report)
{
	struct ticket *ticket = desk_find(desk, report->ticket, &report->worker);
	struct ticket_run run;

	step_begin(desk, &run);
	if (!ticket)
		ticket = take_up(desk, report);
	if (ticket)
		apply(desk, &run, ticket, report);
	step_commit(desk);
	step_after(desk);
}
