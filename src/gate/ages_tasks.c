// SPDX-License-Identifier: MIT
/* What backups onto a backup server wrote: the log of each guest's last backup task there tells it.
 * Logs lie on the server itself: reading them touches no NAS. */
#include <stdio.h>
#include <string.h>

#include "gate/ages_impl.h"

/* The place of the guest's task, or a new one; NULL without room. */
static struct ages_task *place_of(struct ages *ages, uint32_t guest)
{
	size_t i;

	for (i = 0; i < ages->n_tasks; i++)
		if (ages->tasks[i].guest == guest)
			return &ages->tasks[i];
	if (ages->n_tasks == AGES_TASKS_MAX)
		return NULL;
	ages->tasks[ages->n_tasks] = (struct ages_task){.guest = guest};
	return &ages->tasks[ages->n_tasks++];
}

/* One whose size is known already is not read again. */
static bool is_known(struct ages *ages, uint32_t guest, int64_t utc_ms)
{
	const struct shelf *shelf = ages_find(ages, ages->storage);
	const struct age *age = shelf ? shelf_find(shelf, guest) : NULL;

	return age && age->moved[MOVED_WRITTEN].utc_ms >= utc_ms;
}

static void on_task(void *data, const struct pbs_task *task)
{
	const struct storage_settings *set;
	struct ages *ages = data;
	uint32_t guest = pbs_task_guest(task);
	struct ages_task *place;

	set = settings_storage(ages->gate->settings, ages->storage);
	if (!set || strcmp(task->store, set->datastore) != 0 || task->worker != PBS_WORKER_BACKUP ||
		!guest || !task->endtime_s.known || !pve_status_ok(task->status) ||
		is_known(ages, guest, task->endtime_s.v * MS_SECOND))
		return;
	place = place_of(ages, guest);
	if (!place || place->end_s >= task->endtime_s.v)
		return;
	place->end_s = task->endtime_s.v;
	snprintf(place->upid, sizeof(place->upid), "%s", task->upid);
}

bool ages_take_tasks(struct ages *ages, const char *body, size_t len, struct err *err)
{
	ages->n_tasks = ages->at_task = 0;
	return pbs_tasks_read(body, len, on_task, ages, err);
}

static void on_line(void *data, int64_t n, const char *line)
{
	(void)n;
	pbs_log_line(data, line);
}

bool ages_take_log(struct ages *ages, const char *body, size_t len, struct err *err)
{
	const struct ages_task *task = &ages->tasks[ages->at_task];
	struct pbs_log_facts facts = {0};
	struct opt written;

	if (!pve_log_read(body, len, on_line, &facts, err))
		return false;
	written = pbs_log_written(&facts);
	if (written.known)
		ages_moved(ages, ages->storage, task->guest, MOVED_WRITTEN, written.v,
			task->end_s * MS_SECOND);
	return true;
}
