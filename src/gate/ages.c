// SPDX-License-Identifier: MIT
/* What is known of backups' ages. */
#include "gate/ages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/ages_impl.h"

#define TICK_MS (5 * MS_SECOND)
#define FIRST_MS (10 * MS_SECOND)

struct shelf *ages_find(struct ages *ages, const char *storage)
{
	size_t i;

	for (i = 0; i < ages->n_shelves; i++)
		if (strcmp(ages->shelves[i].storage, storage) == 0)
			return &ages->shelves[i];
	return NULL;
}

struct shelf *ages_shelf(struct ages *ages, const char *storage)
{
	struct shelf *shelf = ages_find(ages, storage);

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

const struct age *shelf_find(const struct shelf *shelf, uint32_t guest)
{
	size_t at = place_of(shelf, guest);

	return at < shelf->n && shelf->list[at].guest == guest ? &shelf->list[at] : NULL;
}

static struct age *shelf_age(struct shelf *shelf, uint32_t guest)
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

struct age *ages_place(struct ages *ages, const char *storage, uint32_t guest)
{
	struct shelf *shelf = guest ? ages_shelf(ages, storage) : NULL;

	return shelf ? shelf_age(shelf, guest) : NULL;
}

void ages_done(
	struct ages *ages, int64_t ticket, const char *storage, uint32_t guest, int64_t utc_ms)
{
	struct age *age = ages_place(ages, storage, guest);

	if (!age)
		return;
	if (utc_ms > age->own_utc_ms)
		age->own_utc_ms = utc_ms;
	if (ticket && age->ticket == ticket)
		ages_moved(ages, storage, guest, MOVED_READ, age->reads, utc_ms);
	age->ticket = 0;
}

void ages_seen(struct ages *ages, const char *storage, uint32_t guest, int64_t utc_ms)
{
	struct age *age = ages_place(ages, storage, guest);

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
	const struct age *age = guest ? shelf_find(shelf, guest) : NULL;

	return age ? last_of(age) : 0;
}

void ages_fill(struct ages *ages, struct request *request, const struct moment *now)
{
	const struct shelf *shelf = ages_find(ages, request->storage);
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
	/* One that may or may not be among them makes the rest no list of them. */
	for (i = 0; job && i < job->n; i++)
		if (!job->guests[i].node[0])
			return;
	for (i = 0; job && i < job->n; i++) {
		if (strcmp(job->guests[i].node, request->node) != 0)
			continue;
		if (!request->n_guests)
			request->n_qemu = OPT(0);
		request->guests[request->n_guests++] = job->guests[i].guest.vmid;
		request->n_qemu.v += !job->guests[i].guest.lxc;
	}
}

static json_t *show(const struct shelf *shelf, const struct age *age, int64_t now)
{
	struct opt read = age_moved(age, MOVED_READ, now);
	struct opt written = age_moved(age, MOVED_WRITTEN, now);
	json_t *object = json_object();
	int64_t last = last_of(age);

	if (json_put_text(object, "storage", shelf->storage) &&
		json_put_int(object, "guest", age->guest) &&
		json_put_opt(
			object, "age_ms", last ? OPT(now > last ? now - last : 0) : OPT_NONE) &&
		json_put_text(object, "source",
			!last                             ? NULL
				: age->own_utc_ms == last ? "record"
							  : "server") &&
		json_put_opt(object, "size", written.known ? written : read) &&
		json_put_opt(object, "read", read) && json_put_opt(object, "written", written))
		return object;
	json_decref(object);
	return NULL;
}

json_t *ages_show(const struct ages *ages)
{
	json_t *list = json_array(), *object;
	int64_t now = clock_now().utc_ms;
	size_t i, k;
	bool ok = list;

	for (i = 0; ages && i < ages->n_shelves; i++)
		for (k = 0; ok && k < ages->shelves[i].n; k++) {
			object = show(&ages->shelves[i], &ages->shelves[i].list[k], now);
			ok = object && json_array_append_new(list, object) == 0;
		}
	if (ok)
		return list;
	json_decref(list);
	return NULL;
}

static void on_backup(void *data, const char *storage, uint32_t guest, int64_t ended_utc_ms)
{
	ages_done(data, 0, storage, guest, ended_utc_ms);
}

static void on_timer(void *data)
{
	struct ages *ages = data;

	ages_work(ages);
	sizes_save(ages, false);
	timer_at(&ages->timer, clock_boot_ms() + TICK_MS);
}

void ages_missing(const struct ages *ages, const char *pbs, char *ret, size_t size)
{
	size_t i, used = 0;

	ret[0] = '\0';
	for (i = 0; ages && i < ages->n_shelves && used < size; i++) {
		const struct shelf *shelf = &ages->shelves[i];
		const struct storage_settings *set =
			settings_storage(ages->gate->settings, shelf->storage);

		if (!shelf->missing[0] || !set || strcmp(set->pbs, pbs) != 0 ||
			strcmp(set->datastore, shelf->missing) != 0)
			continue;
		used += (size_t)snprintf(ret + used, size - used,
			"%sthere is no datastore '%s', which storage '%s' names", used ? "; " : "",
			shelf->missing, shelf->storage);
	}
}

void ages_settings(struct ages *ages)
{
	size_t i;

	for (i = 0; i < ages->n_shelves; i++)
		if (ages->shelves[i].missing[0])
			ages->shelves[i].next_ms = 0; /* it may be another one now */
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
	sizes_load(ages);
	timer_at(&ages->timer, clock_boot_ms() + FIRST_MS);
	*ret = ages;
	return true;
}

void ages_close(struct ages *ages)
{
	size_t i;

	if (!ages)
		return;
	sizes_save(ages, true);
	remotes_forget(ages->gate->remotes, ages);
	timer_close(&ages->timer);
	for (i = 0; i < ages->n_shelves; i++)
		free(ages->shelves[i].list);
	free(ages);
}
