// SPDX-License-Identifier: MIT
/*
 * What a server may answer: every reader of src/proxmox on any bytes. Beyond not crashing: a reader
 * that fails says why, what a reader gives is within what its header promises, and what was read as
 * a rule can be written again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proxmox/pbs.h"
#include "proxmox/pve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool yes)
{
	if (!yes)
		abort();
}

static void told(bool ok, const struct err *err)
{
	must(ok == (err->kind == ERR_NONE));
	must(ok || (err->text[0] && (err->kind == ERR_PROTOCOL || err->kind == ERR_NOMEM)));
}

static void on_rule(void *data, const struct pbs_rule *rule)
{
	const char *const ours[] = {"10.0.0.0/8"};
	struct pbs_rule copy = *rule;
	struct api_call call;

	(void)data;
	must(rule->rate_in >= 0 && rule->rate_out >= 0);
	must(rule->n_networks <= PBS_MAX_NETWORKS);
	pbs_rule_hides(rule, ours, 1);
	pbs_rule_hides(rule, NULL, 0);
	copy.rate_in = PBS_RATE_LEAST;
	if (pbs_rule_update(&copy, &call, NULL))
		api_call_release(&call);
}

static void on_pbs_task(void *data, const struct pbs_task *task)
{
	struct pbs_task again;
	struct api_call call;

	(void)data;
	must(pbs_upid_parse(task->upid, &again) && again.worker == task->worker);
	must(pbs_task_stop(task->upid, &call, NULL));
	must(!strchr(buf_str(&call.path) + strlen("/api2/json/nodes/localhost/tasks/"), '/'));
	api_call_release(&call);
}

static void on_group(void *data, const struct pbs_group *group)
{
	(void)data;
	must(group->last_backup_s >= 0 && strlen(group->id) < sizeof(group->id));
}

static void on_ns(void *data, const char *ns)
{
	struct api_call call;

	(void)data;
	must(pbs_groups_get("store", ns, &call, NULL));
	api_call_release(&call);
}

static void on_pve_task(void *data, const struct pve_task *task)
{
	struct api_call call;

	(void)data;
	must(!task->running || (!task->endtime_s && !*task->status));
	if (pve_task_log_get("node", task->upid, 0, 50, &call, NULL))
		api_call_release(&call);
}

static void on_line(void *data, int64_t n, const char *line)
{
	must(n >= 0);
	pve_log_line(data, line);
}

static void on_backup(void *data, const struct pve_backup *backup)
{
	(void)data;
	must(backup->vmid > 0 && backup->ctime_s >= 0 && backup->size >= 0);
}

static void on_job(void *data, const struct pve_job *job)
{
	struct api_call call;

	(void)data;
	if (pve_included_volumes_get(job->id, &call, NULL))
		api_call_release(&call);
}

static void on_member(void *data, const struct pve_job_guest *guest)
{
	(void)data;
	must(guest->vmid > 0 && guest->size >= 0);
}

static void on_guest(void *data, const struct pve_guest *guest)
{
	(void)data;
	must(guest->vmid > 0 && strlen(guest->node) < sizeof(guest->node));
}

static void as_pbs(const char *text, size_t len)
{
	struct err err[5] = {{0}};
	int64_t offset = 0;
	char upid[256];

	told(pbs_rules_read(text, len, on_rule, NULL, &err[0]), &err[0]);
	told(pbs_tasks_read(text, len, on_pbs_task, NULL, &err[1]), &err[1]);
	told(pbs_groups_read(text, len, on_group, NULL, &err[2]), &err[2]);
	told(pbs_namespaces_read(text, len, on_ns, NULL, &err[3]), &err[3]);
	told(pbs_time_read(text, len, &offset, &err[4]), &err[4]);
	must(offset >= -64800 && offset <= 64800);
	pbs_started_read(text, len, upid, NULL);
}

static void as_pve(const char *text, size_t len)
{
	struct pve_log_facts facts = {0};
	struct err err[7] = {{0}};
	char status[128];
	bool running;

	told(pve_tasks_read(text, len, on_pve_task, NULL, &err[0]), &err[0]);
	told(pve_log_read(text, len, on_line, &facts, &err[1]), &err[1]);
	told(pve_content_read(text, len, on_backup, NULL, &err[2]), &err[2]);
	told(pve_jobs_read(text, len, on_job, NULL, &err[3]), &err[3]);
	told(pve_included_volumes_read(text, len, on_member, NULL, &err[4]), &err[4]);
	told(pve_guests_read(text, len, on_guest, NULL, &err[5]), &err[5]);
	told(pve_task_status_read(text, len, &running, status, &err[6]), &err[6]);
}

/* The same bytes as an error's text, as a token, as a line of a log. */
static void as_text(const char *text, size_t len)
{
	struct pve_log_facts facts = {0};
	struct pbs_task task;
	struct buf buf = {0};
	struct err err = {0};
	const char *p;

	api_ok(API_PVE, 400, text, len, "try", &err);
	for (p = err.text; *p; p++)
		must((unsigned char)*p >= 0x20 && *p != 0x7f);
	api_ok(API_PBS, 403, text, len, "try", &err);
	for (p = err.text; *p; p++)
		must((unsigned char)*p >= 0x20 && *p != 0x7f);
	if (api_authorization(API_PBS, text, &buf, NULL))
		must(!strpbrk(buf_str(&buf), "\r\n "));
	buf_clear(&buf);
	if (api_authorization(API_PVE, text, &buf, NULL))
		must(!strpbrk(buf_str(&buf), "\r\n ;"));
	buf_release(&buf);
	pve_log_line(&facts, text);
	must(strlen(facts.storage) < sizeof(facts.storage));
	pbs_upid_parse(text, &task);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	as_pbs(text, size);
	as_pve(text, size);
	as_text(text, size);
	free(text);
	return 0;
}
