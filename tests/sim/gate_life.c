// SPDX-License-Identifier: MIT
/* The gate's policy, its start and its end: src/gate/load.c, desk_restore() and the part of main.c
 * that stops. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"
#include "wire/wire.h"

static const struct sim_policy *policy_named(struct sim *sim, const char *name)
{
	size_t i;

	for (i = 0; i < sim->n_policies; i++) {
		if (strcmp(sim->policies[i].name, name) == 0)
			return &sim->policies[i];
	}
	if (sim->n_policies == SIM_MAX_POLICIES)
		return NULL;
	snprintf(sim->policies[i].name, sizeof(sim->policies[i].name), "%s", name);
	sim->n_policies++;
	return &sim->policies[i];
}

bool gate_policy(struct sim *sim, const char *name)
{
	const struct sim_policy *source = policy_named(sim, name);
	struct conf_errors errors = {0};
	struct policy *policy = NULL;
	struct buf text = {0};

	if (!source)
		return false;
	if (source->text)
		conf_policy_parse(source->text, strlen(source->text), name, &policy, &errors);
	else
		conf_policy_load(name, &policy, &errors);
	if (!policy) {
		conf_errors_print(&errors, &text);
		sim_complain(sim, "policy %s: %s", name, buf_str(&text));
	}
	buf_release(&text);
	conf_errors_release(&errors);
	if (!policy)
		return false;
	/* Rules are named by text in tickets: nothing points into the old one but this. */
	conf_policy_free(sim->gate.policy);
	sim->gate.policy = policy;
	sim->gate.source = source;
	check_policy(sim);
	if (sim->gate.up)
		gate_changed(sim);
	return true;
}

/* What the record holds, through its JSON, as store_tickets_live() gives it back. */
static void restore(struct sim *sim, const struct saved *saved)
{
	static struct ticket ticket;
	struct moment now = sim_moment(sim);
	json_t *json = wire_ticket_state(&saved->ticket, &saved->at, SIM_BOOT_ID);
	char *text = json ? json_text(json, 0) : NULL;
	json_t *again = text ? json_read(text, strlen(text), NULL) : NULL;
	struct err err = {0};

	if (!again || !wire_ticket_state_read(again, &now, SIM_BOOT_ID, &ticket, &err) ||
		!ticket_restore(&sim->gate.tickets, &ticket)) {
		sim_complain(sim, "T%lld cannot be taken up again: %s", (long long)saved->ticket.id,
			err.text);
		sim->failed++;
	}
	json_decref(again);
	free(text);
	json_decref(json);
}

/* As workers_watch(): those of our own node whose process has ended meanwhile. */
static void lose_gone(struct sim *sim)
{
	struct tickets *tickets = &sim->gate.tickets;
	size_t i = 0;

	while (i < tickets->n) {
		const struct ticket *ticket = &tickets->list[i];
		const struct job *job = &sim->jobs[ticket->worker.pid % SIM_MAX_JOBS];
		bool alive = !job_over(job) && job->worker.pid == ticket->worker.pid;

		if (!alive && strcmp(ticket->request.node, sim->own_node) == 0)
			gate_ticket_gone(sim, ticket->id);
		else
			i++;
	}
}

void gate_start(struct sim *sim)
{
	struct sim_gate *gate = &sim->gate;
	int64_t next_id = gate->tickets.next_id;
	size_t i;

	if (gate->up)
		return;
	memset(&gate->tickets, 0, sizeof(gate->tickets));
	gate->up = true;
	gate->started_ms = sim->t;
	gate->chores_ms = sim->t + SIM_CHORES_MS;
	gate->tick_ms = SIM_NEVER;
	for (i = 0; i < gate->n_saved; i++)
		restore(sim, &gate->saved[i]);
	if (gate->tickets.next_id < next_id)
		gate->tickets.next_id = next_id;
	for (i = 0; i < sim->n_jobs; i++)
		sim->jobs[i].decisions = sim->jobs[i].told = 0;
	for (i = 0; i < sim->n_nas; i++)
		watch_open(sim, i);
	lose_gone(sim);
}

/* SIGTERM answers whoever waits as things stand; kill -9 does not. */
void gate_stop(struct sim *sim, bool killed)
{
	struct sim_gate *gate = &sim->gate;
	size_t i;

	if (!gate->up)
		return;
	for (i = 0; i < sim->n_nas; i++)
		watch_save(sim, i);
	for (i = 0; i < sim->n_jobs && !killed; i++) {
		if (sim->jobs[i].call == CALL_WAITS)
			gate_answer_waiting(sim, &sim->jobs[i]);
	}
	gate->up = false;
	for (i = 0; i < sim->n_jobs; i++) {
		if (sim->jobs[i].call == CALL_WAITS || sim->jobs[i].call == CALL_LOOK)
			job_answered(sim, &sim->jobs[i], true);
	}
}
