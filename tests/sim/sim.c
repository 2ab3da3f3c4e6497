// SPDX-License-Identifier: MIT
/* The clock, and what happens next. */
#include "sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Things that may happen at one instant before we say that time stands still. */
#define SAME_TIME_MAX 20000

struct sim *sim_new(void)
{
	struct sim *sim = calloc(1, sizeof(*sim));

	if (!sim)
		return NULL;
	sim->t = SIM_START_MS;
	sim->utc_base = INT64_C(1796000000000) - SIM_START_MS;
	sim->gated = true;
	snprintf(sim->own_node, sizeof(sim->own_node), "pve1");
	sim->poll_ms = 10 * MS_SECOND;
	sim->idle_poll_ms = MS_MINUTE;
	sim->fresh_ms = 5 * MS_SECOND;
	sim->look_deadline_ms = 5 * MS_SECOND;
	sim->stale_ms = sim->silence_ms = 90 * MS_SECOND;
	sim->wait_for_gate_ms = 15 * MS_MINUTE;
	sim->if_gate_down = VERDICT_ALLOW;
	sim->replay_every = 1;
	sim->gate.next_decision = sim->gate.next_override = 1;
	return sim;
}

void sim_free(struct sim *sim)
{
	size_t i;

	if (!sim)
		return;
	for (i = 0; i < sim->n_policies; i++)
		free(sim->policies[i].text);
	for (i = 0; i < SIM_MAX_NAS; i++)
		free(sim->gate.watches[i].memory);
	conf_policy_free(sim->gate.policy);
	script_free(sim->script);
	buf_release(&sim->report);
	free(sim);
}

struct moment sim_moment(const struct sim *sim)
{
	return (struct moment){sim->t, sim->t + sim->utc_base, sim->offset_s};
}

const char *sim_time(const struct sim *sim, int64_t t, char ret[32])
{
	int64_t ms = t - SIM_START_MS, s = ms / 1000;

	(void)sim;
	snprintf(ret, 32, "%lld:%02lld:%02lld.%03lld", (long long)(s / 3600),
		(long long)(s / 60 % 60), (long long)(s % 60), (long long)(ms % 1000));
	return ret;
}

void sim_line(struct sim *sim, const char *fmt, ...)
{
	char *line = sim->lines[sim->n_lines % SIM_TRACE], at[32];
	int len;
	va_list args;

	/* What led to the first failure is worth keeping, and no more. */
	if (sim->report.len && !sim->trace && sim->after_failure++ > 1)
		return;
	sim->n_lines++;
	len = snprintf(line, sizeof(sim->lines[0]), "%s ", sim_time(sim, sim->t, at));
	va_start(args, fmt);
	vsnprintf(line + len, sizeof(sim->lines[0]) - (size_t)len, fmt, args);
	va_end(args);
	if (sim->trace)
		printf("# %s\n", line);
}

void sim_complain(struct sim *sim, const char *fmt, ...)
{
	char line[600];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	buf_addf(&sim->report, "# %s\n", line);
	if (sim->trace)
		printf("# !! %s\n", line);
}

struct disks *sim_nas(struct sim *sim, const char *name)
{
	size_t i;

	for (i = 0; i < sim->n_nas; i++) {
		if (strcmp(sim->nas[i].name, name) == 0)
			return &sim->nas[i];
	}
	return NULL;
}

struct job *sim_job(struct sim *sim, const char *name)
{
	size_t i;

	for (i = 0; i < sim->n_jobs; i++) {
		if (strcmp(sim->jobs[i].name, name) == 0)
			return &sim->jobs[i];
	}
	return NULL;
}

struct opt sim_age(const struct sim *sim, const struct job *job)
{
	return job->backed_up_ms.known ? OPT(sim->t - job->backed_up_ms.v) : OPT_NONE;
}

struct job *sim_job_of(struct sim *sim, int64_t ticket)
{
	size_t i;

	for (i = 0; ticket && i < sim->n_jobs; i++) {
		if (sim->jobs[i].ticket == ticket)
			return &sim->jobs[i];
	}
	return NULL;
}

struct node *sim_node(struct sim *sim, const char *name)
{
	size_t i;

	for (i = 0; i < sim->n_nodes; i++) {
		if (strcmp(sim->nodes[i].name, name) == 0)
			return &sim->nodes[i];
	}
	if (sim->n_nodes == SIM_MAX_NODES)
		return NULL;
	snprintf(sim->nodes[i].name, sizeof(sim->nodes[i].name), "%s", name);
	sim->nodes[i].holder = -1;
	sim->n_nodes++;
	return &sim->nodes[i];
}

const struct mapping *sim_mapping(struct sim *sim, const char *storage)
{
	static const struct mapping none;
	size_t i;

	for (i = 0; i < sim->n_storages; i++) {
		if (strcmp(sim->storages[i].name, storage) == 0)
			return &sim->storages[i].mapping;
	}
	return &none;
}

bool sim_quiet(const struct sim *sim)
{
	size_t i;

	for (i = 0; i < sim->n_jobs; i++) {
		if (!job_over(&sim->jobs[i]) && sim->jobs[i].state != JOB_HUNG)
			return false;
	}
	return true;
}

static int64_t next_time(const struct sim *sim)
{
	int64_t next = gate_next(sim);
	size_t i;

	for (i = 0; i < sim->n_jobs; i++) {
		if (sim->jobs[i].wake_ms < next)
			next = sim->jobs[i].wake_ms;
	}
	return next;
}

static bool one_thing(struct sim *sim)
{
	size_t i;

	if (gate_due(sim))
		return true;
	for (i = 0; i < sim->n_jobs; i++) {
		if (sim->jobs[i].wake_ms <= sim->t) {
			job_due(sim, &sim->jobs[i]);
			return true;
		}
	}
	return false;
}

bool sim_run(struct sim *sim, int64_t t)
{
	int n;

	for (;;) {
		int64_t next = next_time(sim);

		if (next > t) {
			if (t > sim->t)
				sim->t = t;
			return true;
		}
		if (next > sim->t)
			sim->t = next;
		for (n = 0; one_thing(sim); n++) {
			if (n > SAME_TIME_MAX) {
				sim_complain(sim, "time stands still");
				sim->failed++;
				return false;
			}
		}
		check_now(sim);
	}
}
