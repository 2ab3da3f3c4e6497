// SPDX-License-Identifier: MIT
/* What servers are asked about backups: seldom, one call at a time, and only what a fresh reading
 * says is alive, because these calls read the mount. Whatever a call comes to, its storage is not
 * asked about again before `age_poll`; only where it never reached the server, or the server does
 * not have the datastore, it is tried sooner. Where it was not answered in time, nor is any other
 * storage of that server.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "gate/ages_impl.h"
#include "gate/desk.h"
#include "gate/watch.h"

#define SOONER_MS (10 * MS_MINUTE)

static const char *const words[] = {
	[AGES_OP_NONE] = "",
	[AGES_OP_NAMESPACES] = "list the namespaces",
	[AGES_OP_GROUPS] = "list the backup groups",
	[AGES_OP_TASKS] = "list the backup tasks",
	[AGES_OP_LOG] = "read a task's log",
	[AGES_OP_NODES] = "list the guests",
	[AGES_OP_CONTENT] = "list the storage's backups",
	[AGES_OP_JOB] = "list the job's volumes",
	[AGES_OP_HOMES] = "list the guests",
};

static bool is_fresh(const struct ages *ages, const char *storage)
{
	const struct storage_settings *set = settings_storage(ages->gate->settings, storage);
	struct watch *watch = set ? gate_watch(ages->gate, set->mapping.nas) : NULL;
	struct moment now = clock_now();

	return watch && watch_facts(watch, &now)->sensor == SENSOR_OK;
}

static void on_namespace(void *data, const char *ns)
{
	struct ages *ages = data;

	if (ages->n_namespaces < AGES_NAMESPACES_MAX && strlen(ns) < sizeof(ages->namespaces[0]))
		snprintf(ages->namespaces[ages->n_namespaces++], sizeof(ages->namespaces[0]), "%s",
			ns);
}

/* A guest of the same number in two namespaces is two clusters', and which one is meant is not
 * known: the newer one counts, for an age that is too small never makes a job overdue. */
static void on_group(void *data, const struct pbs_group *group)
{
	struct ages *ages = data;
	uint64_t guest = 0;

	if ((strcmp(group->type, "vm") != 0 && strcmp(group->type, "ct") != 0) ||
		!digits_parse(group->id, strlen(group->id), UINT32_MAX, &guest))
		return;
	ages_seen(ages, ages->storage, (uint32_t)guest, group->last_backup_s * MS_SECOND);
	ages_is_lxc(ages, ages->storage, (uint32_t)guest, strcmp(group->type, "ct") == 0);
}

/* pve-storage PVE/Storage/PBSPlugin.pm print_volid(): "STORAGE:backup/vm/100/TIME"; a file is
 * "STORAGE:backup/vzdump-qemu-100-..." (PVE/Storage.pm archive_info()). */
static bool is_named(const char *volid, const char *start)
{
	const char *name = strchr(volid, ':');

	return name && strncmp(name, start, strlen(start)) == 0;
}

static void on_content(void *data, const struct pve_backup *backup)
{
	struct ages *ages = data;
	struct shelf *shelf = ages_shelf(ages, ages->storage);
	int64_t utc_ms = backup->ctime_s * MS_SECOND;

	ages_seen(ages, ages->storage, backup->vmid, utc_ms);
	ages_is_lxc(ages, ages->storage, backup->vmid,
		is_named(backup->volid, ":backup/ct/") ||
			is_named(backup->volid, ":backup/vzdump-lxc-"));
	/* A snapshot's size is what it would restore to. */
	if (is_named(backup->volid, ":backup/vm/") || is_named(backup->volid, ":backup/ct/")) {
		if (shelf)
			shelf->files = false;
	} else if (backup->size > 0) {
		ages_moved(ages, ages->storage, backup->vmid, MOVED_WRITTEN, backup->size, utc_ms);
	}
}

static bool take_content(struct ages *ages, const char *body, size_t len, struct err *err)
{
	struct shelf *shelf = ages_shelf(ages, ages->storage);
	bool ok;

	if (shelf)
		shelf->files = true;
	ok = pve_content_read(body, len, on_content, ages, err);
	if (shelf)
		shelf->files = shelf->files && ok;
	return ok;
}

static void on_guest(void *data, const struct pve_guest *guest)
{
	struct ages *ages = data;
	bool ours = strcmp(guest->node, ages->gate->settings->node) == 0;

	if (ours || !ages->node[0])
		snprintf(ages->node, sizeof(ages->node), "%s", guest->node);
}

static void on_job_guest(void *data, const struct pve_job_guest *guest)
{
	struct ages_job *job = data;

	if (job->n < REQUEST_MAX_GUESTS)
		job->guests[job->n++].guest = *guest;
	else
		job->too_many = true;
}

static bool take_job(struct ages *ages, const char *body, size_t len, struct err *err)
{
	struct ages_job *job = ages_job_of(ages, ages->server, ages->job);

	if (!job)
		return true;
	job->n = 0;
	job->known = job->too_many = false;
	memset(job->guests, 0, sizeof(job->guests));
	return pve_included_volumes_read(body, len, on_job_guest, job, err);
}

static void on_home(void *data, const struct pve_guest *guest)
{
	struct ages_job *job = data;
	size_t i;

	for (i = 0; i < job->n; i++)
		if (job->guests[i].guest.vmid == guest->vmid)
			snprintf(job->guests[i].node, sizeof(job->guests[i].node), "%s",
				guest->node);
}

static bool take_homes(struct ages *ages, const char *body, size_t len, struct err *err)
{
	struct ages_job *job = ages_job_of(ages, ages->server, ages->job);

	if (!job)
		return true;
	job->known = pve_guests_read(body, len, on_home, job, err) && !job->too_many;
	return job->known || job->too_many;
}

static void on_done(void *data, const char *body, size_t len, const struct err *err);

/* Builds and starts one call; false where it could not be (`err` says why). */
static bool ask(struct ages *ages, enum ages_op op, struct err *err)
{
	const struct storage_settings *set = settings_storage(ages->gate->settings, ages->storage);
	struct remote *remote = remotes_find(ages->gate->remotes, ages->kind, ages->server);
	const char *store = set ? set->datastore : "";
	struct api_call api = {0};
	bool ok = remote || err_set(err, ERR_GONE, "'%s' is not configured", ages->server);

	if (ok && op == AGES_OP_NAMESPACES)
		ok = pbs_namespaces_get(store, &api, err);
	else if (ok && op == AGES_OP_GROUPS)
		ok = pbs_groups_get(store, ages->namespaces[ages->at_namespace], &api, err);
	else if (ok && op == AGES_OP_TASKS)
		ok = pbs_backups_get(store, &api, err);
	else if (ok && op == AGES_OP_LOG)
		ok = pbs_task_log_get(ages->tasks[ages->at_task].upid, &api, err);
	else if (ok && (op == AGES_OP_NODES || op == AGES_OP_HOMES))
		ok = pve_guests_get(&api, err);
	else if (ok && op == AGES_OP_CONTENT)
		ok = pve_content_get(ages->node, ages->storage, &api, err);
	else if (ok)
		ok = pve_included_volumes_get(ages->job, &api, err);
	ok = ok && remote_call(remote, &api, false, words[op], on_done, ages, err);
	if (ok)
		ages->op = op;
	snprintf(ages->store, sizeof(ages->store), "%s", store);
	return ok;
}

static bool take(struct ages *ages, enum ages_op op, const char *body, size_t len, struct err *err)
{
	struct shelf *shelf;

	switch (op) {
	case AGES_OP_NONE:
		break;
	case AGES_OP_NAMESPACES:
		ages->n_namespaces = ages->at_namespace = 0;
		shelf = ages_find(ages, ages->storage);
		if (shelf)
			shelf->missing[0] = '\0';
		return pbs_namespaces_read(body, len, on_namespace, ages, err);
	case AGES_OP_GROUPS:
		return pbs_groups_read(body, len, on_group, ages, err);
	case AGES_OP_TASKS:
		return ages_take_tasks(ages, body, len, err);
	case AGES_OP_LOG:
		return ages_take_log(ages, body, len, err);
	case AGES_OP_NODES:
		ages->node[0] = '\0';
		if (!pve_guests_read(body, len, on_guest, ages, err))
			return false;
		if (!ages->node[0])
			snprintf(ages->node, sizeof(ages->node), "%s", ages->gate->settings->node);
		return true;
	case AGES_OP_CONTENT:
		return take_content(ages, body, len, err);
	case AGES_OP_JOB:
		return take_job(ages, body, len, err);
	case AGES_OP_HOMES:
		return take_homes(ages, body, len, err);
	}
	return true;
}

/* What follows in the same storage's round; NONE: it is done. */
static enum ages_op follower(struct ages *ages, enum ages_op op)
{
	if (op == AGES_OP_NODES)
		return AGES_OP_CONTENT;
	if (op == AGES_OP_JOB)
		return AGES_OP_HOMES;
	if (op == AGES_OP_NAMESPACES) {
		if (!ages->n_namespaces) /* none may be seen: the root says why */
			on_namespace(ages, "");
		return AGES_OP_GROUPS;
	}
	if (op == AGES_OP_GROUPS)
		return ++ages->at_namespace < ages->n_namespaces ? AGES_OP_GROUPS : AGES_OP_TASKS;
	if (op == AGES_OP_TASKS)
		return ages->n_tasks ? AGES_OP_LOG : AGES_OP_NONE;
	if (op == AGES_OP_LOG && ++ages->at_task < ages->n_tasks)
		return AGES_OP_LOG;
	return AGES_OP_NONE;
}

/* What reads the mount is asked only where a reading says that it is alive. */
static bool reads_mount(enum ages_op op)
{
	return op != AGES_OP_HOMES && op != AGES_OP_TASKS && op != AGES_OP_LOG;
}

/* A namespace, or a log, that may not be read hides nothing of the others. */
static bool goes_on(enum ages_op op, const struct err *err)
{
	if (op == AGES_OP_LOG)
		return err->kind != ERR_TIMEOUT && err->kind != ERR_BUSY && err->kind != ERR_GONE;
	return op == AGES_OP_GROUPS && err->kind == ERR_DENIED;
}

static bool asks_of(const struct ages *ages, const struct storage_settings *set)
{
	if (ages->kind == API_PBS)
		return strcmp(set->pbs, ages->server) == 0;
	return !set->pbs[0] && strcmp(set->pve, ages->server) == 0;
}

/* A call that was given up may hang on within the server, in a mount: the server is asked about no
 * other storage beside it. */
static void leave_alone(struct ages *ages)
{
	const struct settings *settings = ages->gate->settings;
	int64_t next_ms = clock_boot_ms() + settings->age_poll_ms;
	struct shelf *shelf;
	size_t i;

	for (i = 0; i < settings->n_storages; i++) {
		if (!asks_of(ages, &settings->storages[i]))
			continue;
		shelf = ages_shelf(ages, settings->storages[i].name);
		if (shelf)
			shelf->next_ms = next_ms;
	}
}

/* The server does not have the datastore (a namespace that it does not have is nothing of it). True
 * where that is no news. */
static bool is_missing(struct ages *ages, struct shelf *shelf)
{
	if (strcmp(shelf->missing, ages->store) == 0)
		return true;
	snprintf(shelf->missing, sizeof(shelf->missing), "%s", ages->store);
	return false;
}

static void failed(struct ages *ages, enum ages_op op, const struct err *err)
{
	struct shelf *shelf = ages_shelf(ages, ages->storage);
	bool missing = op == AGES_OP_NAMESPACES && err->kind == ERR_NOTFOUND;

	if (shelf && (err->kind == ERR_BUSY || err->kind == ERR_GONE || missing) &&
		shelf->next_ms > clock_boot_ms() + SOONER_MS)
		shelf->next_ms = clock_boot_ms() + SOONER_MS;
	if (shelf && missing && is_missing(ages, shelf))
		return;
	if (err->kind == ERR_TIMEOUT)
		leave_alone(ages);
	if (op == AGES_OP_JOB || op == AGES_OP_HOMES) {
		log_info("What a job backs up is not known: %s job=%s", err->text, ages->job);
		return;
	}
	log_info("How %s on '%s' %s is not known: %s",
		op == AGES_OP_TASKS || op == AGES_OP_LOG ? "much backups" : "old backups",
		ages->storage, op == AGES_OP_TASKS || op == AGES_OP_LOG ? "wrote" : "are",
		err->text);
}

static void on_done(void *data, const char *body, size_t len, const struct err *call_err)
{
	struct ages *ages = data;
	enum ages_op op = ages->op, next = AGES_OP_NONE;
	struct err err = call_err ? *call_err : (struct err){0};
	bool ok = !call_err && take(ages, op, body, len, &err);

	ages->op = AGES_OP_NONE;
	if (!ok)
		failed(ages, op, &err);
	if (ok || goes_on(op, &err))
		next = follower(ages, op);
	if (next && (!reads_mount(next) || is_fresh(ages, ages->storage)) && !ask(ages, next, &err))
		failed(ages, next, &err);
	if (ages->op == AGES_OP_NONE)
		ages_work(ages);
}

static bool begin_storage(struct ages *ages, const struct storage_settings *set, int64_t now_ms)
{
	struct shelf *shelf = ages_shelf(ages, set->name);
	bool pbs = set->pbs[0];
	struct err err = {0};

	if (!shelf || now_ms < shelf->next_ms || (!pbs && !set->pve[0]) ||
		!is_fresh(ages, set->name))
		return false;
	shelf->next_ms = now_ms + ages->gate->settings->age_poll_ms;
	ages->kind = pbs ? API_PBS : API_PVE;
	snprintf(ages->server, sizeof(ages->server), "%s", pbs ? set->pbs : set->pve);
	snprintf(ages->storage, sizeof(ages->storage), "%s", set->name);
	if (ask(ages, pbs ? AGES_OP_NAMESPACES : AGES_OP_NODES, &err))
		return true;
	failed(ages, AGES_OP_NAMESPACES, &err);
	return false;
}

/* The jobs of those who wait or run; reads the cluster's configuration only. */
static bool begin_job(struct ages *ages, const struct ticket *ticket, int64_t now_ms)
{
	const struct storage_settings *set =
		settings_storage(ages->gate->settings, ticket->request.storage);
	struct ages_job *job;
	struct err err = {0};

	if (!set || !set->pve[0] || !ticket->job_id[0])
		return false;
	job = ages_job_of(ages, set->pve, ticket->job_id);
	if (!job || now_ms < job->next_ms)
		return false;
	job->next_ms = now_ms + ages->gate->settings->age_poll_ms;
	ages->kind = API_PVE;
	snprintf(ages->server, sizeof(ages->server), "%s", set->pve);
	snprintf(ages->storage, sizeof(ages->storage), "%s", set->name);
	snprintf(ages->job, sizeof(ages->job), "%s", ticket->job_id);
	if (ask(ages, AGES_OP_JOB, &err))
		return true;
	job->next_ms = now_ms + SOONER_MS;
	failed(ages, AGES_OP_JOB, &err);
	return false;
}

void ages_work(struct ages *ages)
{
	const struct settings *settings = ages->gate->settings;
	const struct tickets *tickets = desk_tickets(ages->gate->desk);
	int64_t now = clock_boot_ms();
	size_t i;

	if (ages->op != AGES_OP_NONE)
		return;
	for (i = 0; i < tickets->n; i++)
		if (begin_job(ages, &tickets->list[i], now))
			return;
	for (i = 0; i < settings->n_storages; i++)
		if (begin_storage(ages, &settings->storages[i], now))
			return;
}
