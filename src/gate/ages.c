// SPDX-License-Identifier: MIT
/* What is known of backups' ages and sizes. */
#include "gate/ages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/ages_impl.h"

#define TICK_MS (5 * MS_SECOND)
#define FIRST_MS (10 * MS_SECOND)

static struct shelf *find_shelf(struct ages *ages, const char *storage)
{
	size_t i;

	for (i = 0; i < ages->n_shelves; i++)
		if (strcmp(ages->shelves[i].storage, storage) == 0)
			return &ages->shelves[i];
	return NULL;
}

struct shelf *ages_shelf(struct ages *ages, const char *storage)
{
	struct shelf *shelf = find_shelf(ages, storage);

	if (shelf || ages->n_shelves == AGES_SHELVES_MAX || !storage[0])
		return shelf;
	shelf = &ages->shelves[ages->n_shelves++];
	snprintf(shelf->storage, sizeof(shelf->storage), "%s", storage);
	return shelf;
}

/* The first place whose guest is not smaller. */
static size_t place_of(const struct shelf *shelf, uint32_t guest)
{
	size_t from = 0, to = shelf->n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (shelf->list[middle].guest < guest)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static const struct age *find_age(const struct shelf *shelf, uint32_t guest)
{
	size_t at = place_of(shelf, guest);

	return at < shelf->n && shelf->list[at].guest == guest ? &shelf->list[at] : NULL;
}

struct age *shelf_age(struct shelf *shelf, uint32_t guest)
{
	size_t at = place_of(shelf, guest), cap = shelf->cap ? shelf->cap * 2 : 16;
	struct age *list;

	if (at < shelf->n && shelf->list[at].guest == guest)
		return &shelf->list[at];
	if (shelf->n == AGES_GUESTS_MAX)
		return NULL;
	if (shelf->n == shelf->cap) {
		list = realloc(shelf->list, cap * sizeof(*list));
		if (!list)
			return NULL;
		shelf->list = list;
		shelf->cap = cap;
	}
	memmove(&shelf->list[at + 1], &shelf->list[at], (shelf->n - at) * sizeof(*shelf->list));
	shelf->list[at] = (struct age){.guest = guest};
	shelf->n++;
	return &shelf->list[at];
}

void ages_done(struct ages *ages, const char *storage, uint32_t guest, int64_t utc_ms)
{
	struct shelf *shelf = guest ? ages_shelf(ages, storage) : NULL;
	struct age *age = shelf ? shelf_age(shelf, guest) : NULL;

	if (age && utc_ms > age->own_utc_ms)
		age->own_utc_ms = utc_ms;
}

void ages_seen(struct ages *ages, const char *storage, uint32_t guest, int64_t utc_ms)
{
	struct shelf *shelf = guest ? ages_shelf(ages, storage) : NULL;
	struct age *age = shelf ? shelf_age(shelf, guest) : NULL;

	if (age && utc_ms > age->server_utc_ms)
		age->server_utc_ms = utc_ms;
}

static int64_t last_of(const struct age *age)
{
	return age->own_utc_ms > age->server_utc_ms ? age->own_utc_ms : age->server_utc_ms;
}

/* When the guest was backed up last; 0 where that is not known. */
static int64_t last_backup(const struct shelf *shelf, uint32_t guest)
{
	const struct age *age = guest ? find_age(shelf, guest) : NULL;

	return age ? last_of(age) : 0;
}

void ages_fill(struct ages *ages, struct request *request, const struct moment *now)
{
	const struct shelf *shelf = find_shelf(ages, request->storage);
	int64_t oldest = 0, last;
	size_t i;

	request->backup_age_ms = OPT_NONE;
	if (!shelf)
		return;
	if (request->guest)
		oldest = last_backup(shelf, request->guest);
	for (i = 0; !request->guest && i < request->n_guests; i++) {
		last = last_backup(shelf, request->guests[i]);
		if (last && (!oldest || last < oldest))
			oldest = last;
	}
	if (oldest)
		request->backup_age_ms = OPT(now->utc_ms > oldest ? now->utc_ms - oldest : 0);
}

/* What its volumes hold, by any job that includes it. */
static int64_t volumes_of(const struct ages *ages, const char *pve, uint32_t guest)
{
	size_t i, k;

	for (i = 0; i < ages->n_jobs; i++) {
		const struct ages_job *job = &ages->jobs[i];

		if (strcmp(job->pve, pve) != 0)
			continue;
		for (k = 0; k < job->n; k++)
			if (job->guests[k].guest.vmid == guest)
				return job->guests[k].guest.size;
	}
	return 0;
}

static int64_t size_of(struct ages *ages, const char *storage, uint32_t guest)
{
	const struct storage_settings *set = settings_storage(ages->gate->settings, storage);
	const struct shelf *shelf = find_shelf(ages, storage);
	const struct age *age = shelf ? find_age(shelf, guest) : NULL;

	if (age && age->size)
		return age->size;
	return set && set->pve[0] ? volumes_of(ages, set->pve, guest) : 0;
}

struct opt ages_size(struct ages *ages, const struct request *request)
{
	int64_t sum = 0, size;
	size_t i;

	if (request->guest) {
		size = size_of(ages, request->storage, request->guest);
		return size ? OPT(size) : OPT_NONE;
	}
	for (i = 0; i < request->n_guests; i++) {
		size = size_of(ages, request->storage, request->guests[i]);
		if (!size || sum > INT64_MAX - size)
			return OPT_NONE;
		sum += size;
	}
	return sum ? OPT(sum) : OPT_NONE;
}

struct ages_job *ages_job_of(struct ages *ages, const char *pve, const char *id)
{
	struct ages_job *job;
	size_t i;

	for (i = 0; i < ages->n_jobs; i++)
		if (strcmp(ages->jobs[i].pve, pve) == 0 && strcmp(ages->jobs[i].id, id) == 0)
			return &ages->jobs[i];
	if (ages->n_jobs == AGES_JOBS_MAX)
		return NULL;
	job = &ages->jobs[ages->n_jobs++];
	*job = (struct ages_job){0};
	snprintf(job->pve, sizeof(job->pve), "%s", pve);
	snprintf(job->id, sizeof(job->id), "%s", id);
	return job;
}

void ages_job(struct ages *ages, const char *storage, const char *job_id, struct request *request)
{
	const struct storage_settings *set = settings_storage(ages->gate->settings, storage);
	const struct ages_job *job = NULL;
	size_t i;

	for (i = 0; set && i < ages->n_jobs; i++)
		if (ages->jobs[i].known && strcmp(ages->jobs[i].pve, set->pve) == 0 &&
			strcmp(ages->jobs[i].id, job_id) == 0)
			job = &ages->jobs[i];
	for (i = 0; job && i < job->n; i++) {
		if (strcmp(job->guests[i].node, request->node) != 0)
			continue;
		if (!request->n_guests)
			request->n_qemu = OPT(0);
		request->guests[request->n_guests++] = job->guests[i].guest.vmid;
		request->n_qemu.v += !job->guests[i].guest.lxc;
	}
}

json_t *ages_show(const struct ages *ages)
{
	json_t *list = json_array(), *object;
	int64_t now = clock_now().utc_ms;
	size_t i, k;
	bool ok = list;

	for (i = 0; ages && i < ages->n_shelves; i++)
		for (k = 0; ok && k < ages->shelves[i].n; k++) {
			const struct age *age = &ages->shelves[i].list[k];
			int64_t last = last_of(age);

			object = json_object();
			ok = json_put_text(object, "storage", ages->shelves[i].storage) &&
				json_put_int(object, "guest", age->guest) &&
				json_put_opt(object, "age_ms",
					last ? OPT(now > last ? now - last : 0) : OPT_NONE) &&
				json_put_text(object, "source",
					!last                             ? NULL
						: age->own_utc_ms == last ? "record"
									  : "server") &&
				json_put_opt(
					object, "size", age->size ? OPT(age->size) : OPT_NONE) &&
				json_array_append(list, object) == 0;
			json_decref(object);
		}
	if (ok)
		return list;
	json_decref(list);
	return NULL;
}

static void on_backup(void *data, const char *storage, uint32_t guest, int64_t ended_utc_ms)
{
	ages_done(data, storage, guest, ended_utc_ms);
}

static void on_timer(void *data)
{
	struct ages *ages = data;

	ages_work(ages);
	timer_at(&ages->timer, clock_boot_ms() + TICK_MS);
}

void ages_settings(struct ages *ages)
{
	timer_at(&ages->timer, clock_boot_ms() + FIRST_MS);
}

bool ages_open(struct gate *gate, struct ages **ret, struct err *err)
{
	struct ages *ages = calloc(1, sizeof(*ages));
	struct err unread = {0};

	if (!ages)
		return err_nomem(err);
	ages->gate = gate;
	if (!timer_open(&ages->timer, gate->loop, on_timer, ages, err)) {
		free(ages);
		return false;
	}
	if (!store_backups(gate->store, on_backup, ages, &unread))
		log_warning("When guests were backed up last cannot be read from the record: %s",
			unread.text);
	timer_at(&ages->timer, clock_boot_ms() + FIRST_MS);
	*ret = ages;
	return true;
}

void ages_close(struct ages *ages)
{
	size_t i;

	if (!ages)
		return;
	remotes_forget(ages->gate->remotes, ages);
	timer_close(&ages->timer);
	for (i = 0; i < ages->n_shelves; i++)
		free(ages->shelves[i].list);
	free(ages);
}
