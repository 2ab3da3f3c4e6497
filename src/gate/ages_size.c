// SPDX-License-Identifier: MIT
/* What backups move: what the last one of each guest did, and what a job's may. In the record's
 * memory, so that a gate that starts anew knows it. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/ages_impl.h"

#define MEMORY "ages:sizes"
#define SAVE_MS MS_MINUTE      /* between two writes */
#define KEPT_MS (100 * MS_DAY) /* longer than a quarter's job is away */
#define BYTES_MAX (INT64_MAX / 2)

static const char *const words[MOVED_COUNT] = {
	[MOVED_READ] = "read",
	[MOVED_WRITTEN] = "written",
};

const char *moved_word(enum moved as)
{
	return as > MOVED_NONE && as < MOVED_COUNT ? words[as] : "";
}

enum moved moved_parse(const char *word)
{
	int as;

	for (as = MOVED_NONE + 1; as < MOVED_COUNT; as++)
		if (strcmp(word, words[as]) == 0)
			return (enum moved)as;
	return MOVED_NONE;
}

void ages_moved(struct ages *ages, const char *storage, uint32_t guest, enum moved as,
	int64_t bytes, int64_t utc_ms)
{
	struct age *age = ages_place(ages, storage, guest);
	struct sized *sized = age ? &age->moved[as] : NULL;

	if (!sized || bytes < 0 || bytes > BYTES_MAX || utc_ms < sized->utc_ms ||
		(sized->bytes.known && sized->bytes.v == bytes && sized->utc_ms == utc_ms))
		return;
	*sized = (struct sized){OPT(bytes), utc_ms};
	ages->sizes_new = true;
}

void ages_is_lxc(struct ages *ages, const char *storage, uint32_t guest, bool lxc)
{
	struct age *age = ages_place(ages, storage, guest);

	if (age)
		age->lxc = lxc;
}

void ages_reads(
	struct ages *ages, int64_t ticket, const char *storage, uint32_t guest, int64_t bytes)
{
	struct age *age = ages_place(ages, storage, guest);

	if (!age)
		return;
	age->ticket = ticket;
	age->reads = bytes;
}

/* ---- what a job's backups may move ---- */

struct opt age_moved(const struct age *age, enum moved as, int64_t now_utc_ms)
{
	const struct sized *sized = &age->moved[as];

	return sized->bytes.known && now_utc_ms - sized->utc_ms <= KEPT_MS ? sized->bytes
									   : OPT_NONE;
}

/* All of a virtual machine's volumes, by any job that includes it: what a backup into a file
 * reads. */
static struct opt volumes_of(const struct ages *ages, const char *pve, uint32_t guest)
{
	size_t i, k;

	for (i = 0; i < ages->n_jobs; i++) {
		const struct ages_job *job = &ages->jobs[i];

		if (strcmp(job->pve, pve) != 0)
			continue;
		for (k = 0; k < job->n; k++)
			if (job->guests[k].guest.vmid == guest && !job->guests[k].guest.lxc &&
				job->guests[k].guest.size > 0)
				return OPT(job->guests[k].guest.size);
	}
	return OPT_NONE;
}

static struct opt size_of(
	struct ages *ages, const char *storage, uint32_t guest, enum moved as, int64_t now_utc_ms)
{
	const struct storage_settings *set = settings_storage(ages->gate->settings, storage);
	const struct shelf *shelf = ages_find(ages, storage);
	const struct age *age = shelf ? shelf_find(shelf, guest) : NULL;
	struct opt size = age ? age_moved(age, as, now_utc_ms) : OPT_NONE;

	if (as == MOVED_READ && age && age->lxc)
		return OPT(0);
	if (size.known || as != MOVED_READ)
		return size;
	if (set && set->pve[0] && shelf && shelf->files)
		size = volumes_of(ages, set->pve, guest);
	/* It read that at least. */
	return size.known || !age ? size : age_moved(age, MOVED_WRITTEN, now_utc_ms);
}

struct opt ages_size(
	struct ages *ages, const struct request *request, enum moved as, const struct moment *now)
{
	const uint32_t *guests = request->guest ? &request->guest : request->guests;
	size_t i, n = request->guest ? 1 : request->n_guests;
	int64_t sum = 0;
	struct opt size;

	if (as <= MOVED_NONE || as >= MOVED_COUNT)
		return OPT_NONE;
	for (i = 0; i < n; i++) {
		size = size_of(ages, request->storage, guests[i], as, now->utc_ms);
		if (!size.known || sum > BYTES_MAX - size.v)
			return OPT_NONE;
		sum += size.v;
	}
	return n ? OPT(sum) : OPT_NONE;
}

/* ---- the record's memory ---- */

static bool put(json_t *list, const struct shelf *shelf, const struct age *age, enum moved as)
{
	json_t *object = json_object();
	bool ok = object && json_put_text(object, "storage", shelf->storage) &&
		json_put_int(object, "guest", age->guest) &&
		json_put_bool(object, "lxc", age->lxc) &&
		json_put_text(object, "as", moved_word(as)) &&
		json_put_int(object, "bytes", age->moved[as].bytes.v) &&
		json_put_int(object, "utc_ms", age->moved[as].utc_ms) &&
		json_array_append(list, object) == 0;

	json_decref(object);
	return ok;
}

static char *sizes_text(const struct ages *ages, int64_t now_utc_ms)
{
	json_t *list = json_array();
	char *text = NULL;
	bool ok = list;
	size_t i, k;
	int as;

	for (i = 0; i < ages->n_shelves; i++)
		for (k = 0; k < ages->shelves[i].n; k++)
			for (as = MOVED_NONE + 1; ok && as < MOVED_COUNT; as++)
				if (age_moved(&ages->shelves[i].list[k], (enum moved)as, now_utc_ms)
						.known)
					ok = put(list, &ages->shelves[i], &ages->shelves[i].list[k],
						(enum moved)as);
	if (ok)
		text = json_text(list, 0);
	json_decref(list);
	return text;
}

/* Only where the database takes them: the room of the spill is for decisions and levers. */
void sizes_save(struct ages *ages, bool now)
{
	const struct moment at = clock_now();
	struct store_health health;
	struct err err = {0};
	char *text;

	if (!ages->sizes_new || !ages->gate->store ||
		(!now && ages->sizes_saved_ms && at.boot_ms - ages->sizes_saved_ms < SAVE_MS))
		return;
	store_health(ages->gate->store, &health);
	if (!health.ok)
		return;
	ages->sizes_new = false;
	ages->sizes_saved_ms = at.boot_ms;
	text = sizes_text(ages, at.utc_ms);
	if (!text)
		return;
	store_begin(ages->gate->store);
	store_put_memory(ages->gate->store, MEMORY, text, at.utc_ms);
	if (store_commit(ages->gate->store, &err) == STORE_LOST)
		log_info("How much backups move is not recorded: %s", err.text);
	free(text);
}

static bool take(struct ages *ages, const json_t *object, int64_t now_utc_ms)
{
	char storage[STORAGE_NAME_MAX] = "", word[16] = "";
	int64_t guest = 0, bytes = 0, utc_ms = 0;
	enum moved as;
	bool lxc = false;

	if (!json_copy_text(object, "storage", storage, sizeof(storage), NULL) ||
		!json_get_int(object, "guest", 1, UINT32_MAX, &guest, NULL) ||
		!json_copy_text(object, "as", word, sizeof(word), NULL) ||
		!json_get_int(object, "bytes", 0, BYTES_MAX, &bytes, NULL) ||
		!json_get_int(object, "utc_ms", 0, INT64_MAX, &utc_ms, NULL) ||
		!json_may_bool(object, "lxc", &lxc, NULL))
		return false;
	as = moved_parse(word);
	if (as && now_utc_ms - utc_ms <= KEPT_MS) {
		ages_moved(ages, storage, (uint32_t)guest, as, bytes, utc_ms);
		ages_is_lxc(ages, storage, (uint32_t)guest, lxc);
	}
	return as != MOVED_NONE;
}

void sizes_load(struct ages *ages)
{
	int64_t now = clock_now().utc_ms;
	struct buf text = {0};
	json_t *list = NULL;
	size_t i, odd = 0;

	if (store_memory(ages->gate->store, MEMORY, &text, NULL))
		list = json_read(text.data, text.len, NULL);
	for (i = 0; i < json_array_size(list); i++)
		odd += !take(ages, json_array_get(list, i), now);
	if (odd)
		log_info("%zu sizes in the record are none: they are left out", odd);
	ages->sizes_new = false;
	json_decref(list);
	buf_release(&text);
}
