// SPDX-License-Identifier: MIT
#include "md/track.h"

#include <stdio.h>
#include <string.h>

#include "md/health.h"
#include "md/look.h"

#define KIB 1024
#define PPM 1000000
#define KERNEL_RATE_MAX (INT64_C(1) << 30) /* KiB/s: above it the kernel's sum underflowed */

/* What one reading says of one array. */
struct seen {
	enum md_operation operation;
	enum md_sync_state sync_state;
	enum md_health health;
	struct opt missing;
	struct opt redundancy_left;
};

void track_init(struct track *track, const char *name, enum md_vendor vendor,
	const struct md_role_rule *rules, size_t n_rules)
{
	*track = (struct track){
		.vendor = vendor, .stale_ms = TRACK_STALE_MS, .sensor = SENSOR_NEVER};
	snprintf(track->name, sizeof(track->name), "%s", name);
	snprintf(track->sensor_text, sizeof(track->sensor_text), "not looked at yet");
	track->n_rules = n_rules < TRACK_MAX_RULES ? n_rules : TRACK_MAX_RULES;
	if (track->n_rules)
		memcpy(track->rules, rules, track->n_rules * sizeof(*rules));
}

static struct track_array *array_find(struct track *track, const char *name)
{
	size_t i;

	for (i = 0; i < track->n_arrays; i++) {
		if (strcmp(track->arrays[i].name, name) == 0)
			return &track->arrays[i];
	}
	return NULL;
}

static struct track_array *array_add(struct track *track, const char *name)
{
	struct track_array *array = &track->arrays[track->n_arrays++];

	*array = (struct track_array){.operation = MD_OP_UNKNOWN, .sync_state = MD_SYNC_UNKNOWN};
	snprintf(array->name, sizeof(array->name), "%s", name);
	array->facts = (struct array_facts){
		.role = MD_ROLE_DATA,
		.level = MD_LEVEL_UNKNOWN,
		.operation = MD_OP_UNKNOWN,
		.sync_state = MD_SYNC_UNKNOWN,
		.health = MD_HEALTH_UNKNOWN,
	};
	snprintf(array->facts.name, sizeof(array->facts.name), "%s", name);
	return array;
}

/* --- what one reading says --- */

/* The text says whether something runs or waits, sysfs says what it is; neither says it all. */
static void seen_operation(
	const struct mdstat_array *text, const struct look_md *md, struct seen *seen)
{
	enum md_operation action = md ? md->action : MD_OP_NONE;
	bool named = action != MD_OP_NONE && action != MD_OP_IDLE;

	seen->operation = text->operation;
	seen->sync_state = text->sync_state;
	switch (text->sync_state) {
	case MD_SYNC_RUNNING:
		/* mdstat prints a repair as a resync. "frozen" while the line still stands: it is
		 * being stopped. */
		if (action == MD_OP_REPAIR && text->operation == MD_OP_RESYNC)
			seen->operation = MD_OP_REPAIR;
		break;
	case MD_SYNC_DELAYED:
		seen->operation = named ? action : MD_OP_DELAYED;
		break;
	case MD_SYNC_PENDING:
		seen->operation = named ? action : MD_OP_PENDING;
		break;
	case MD_SYNC_NONE:
		/* sync_action names an operation also while it is only needed: it is about to
		 * start. */
		if (named)
			seen->operation = action;
		if (named && action != MD_OP_FROZEN)
			seen->sync_state = MD_SYNC_PENDING;
		break;
	case MD_SYNC_UNKNOWN:
		if (named)
			seen->operation = action;
		break;
	case MD_SYNC_REMOTE:
	case MD_SYNC_INVALID:
		break;
	}
}

/* A system array may have slots without a disk; fewer members than it once had is a loss all the
 * same. */
static void seen_system(
	const struct mdstat_array *text, struct track_array *array, struct seen *seen)
{
	int64_t working = text->working.v, lost = array->working_best - working;

	if (seen->health == MD_HEALTH_OPTIMAL && lost > 0)
		seen->health = MD_HEALTH_DEGRADED;
	if (seen->health == MD_HEALTH_OPTIMAL)
		array->working_best = working;
	seen->missing = OPT(seen->health == MD_HEALTH_OPTIMAL ? 0 : lost > 0 ? lost : 1);
	seen->redundancy_left = OPT(working > 0 ? working - 1 : 0);
}

static struct opt redundancy_left(const struct mdstat_array *text, const struct seen *seen)
{
	struct opt whole = health_redundancy(text);

	if (seen->health == MD_HEALTH_FAILED)
		return OPT(0);
	if (text->state != MDSTAT_ACTIVE || !whole.known || !seen->missing.known)
		return OPT_NONE;
	return OPT(whole.v > seen->missing.v ? whole.v - seen->missing.v : 0);
}

static void seen_health(struct track *track, enum md_vendor vendor, const struct mdstat *mdstat,
	const struct mdstat_array *text, const struct look_md *md, struct seen *seen)
{
	struct track_array *array = array_find(track, text->name);

	seen->health = vendor_health(vendor, mdstat, text);
	if (text->working.known && !text->damaged &&
		vendor_role(vendor, mdstat, text, NULL, 0) == MD_ROLE_SYSTEM) {
		seen_system(text, array, seen);
		return;
	}
	seen->missing = health_missing(text);
	if (seen->health == MD_HEALTH_NO_REDUNDANCY || seen->health == MD_HEALTH_CONTAINER)
		seen->missing = OPT(0);
	/* Read a moment after the text: a disk may have gone in between. */
	if (md && md->degraded.known && md->degraded.v > seen->missing.v &&
		(seen->health == MD_HEALTH_OPTIMAL || seen->health == MD_HEALTH_UNKNOWN) &&
		md->degraded.v <= text->raid_disks.v) {
		seen->missing = md->degraded;
		seen->health = MD_HEALTH_DEGRADED;
	}
	seen->redundancy_left = redundancy_left(text, seen);
}

/* --- what the readings agree on --- */

static void settle(struct track_array *array, const struct seen *seen, int64_t since_ms)
{
	bool was_calm = array->operation == MD_OP_IDLE;
	bool was_running = array->sync_state == MD_SYNC_RUNNING;

	if (seen->sync_state != MD_SYNC_RUNNING ||
		(was_running && array->operation != seen->operation)) {
		progress_end(&array->progress);
		array->comeback = (struct comeback){0};
	}
	if (array->operation != seen->operation)
		array->operation_since_ms = OPT(since_ms);
	array->operation = seen->operation;
	array->sync_state = seen->sync_state;
	array->next_operation = MD_OP_NONE;
	if (seen->operation != MD_OP_IDLE)
		array->calm_since_ms = OPT_NONE;
	else if (!was_calm || !array->calm_since_ms.known)
		array->calm_since_ms = OPT(since_ms);
}

static void debounce(struct track_array *array, const struct seen *seen, int64_t now_ms)
{
	bool same = array->operation == seen->operation && array->sync_state == seen->sync_state;

	if (same || !array->seen || array->operation == MD_OP_UNKNOWN ||
		seen->operation == MD_OP_UNKNOWN) {
		settle(array, seen, now_ms);
		return;
	}
	/* Two readings that name the same new operation agree, also where it waited in one and runs
	 * in the other. */
	if (array->next_operation == seen->operation &&
		(array->next_sync_state == seen->sync_state ||
			array->operation != seen->operation)) {
		settle(array, seen, array->next_since_ms);
		return;
	}
	array->next_operation = seen->operation;
	array->next_sync_state = seen->sync_state;
	array->next_since_ms = now_ms;
}

static void read_counters(struct track_array *array, const struct mdstat_array *text,
	const struct look *look, const struct seen *seen, int64_t now_ms)
{
	struct look_io io;

	if (look_io_find(look, array->name, &io))
		client_load_read(&array->load, io.read_sectors, io.write_sectors, now_ms);
	else
		client_load_lost(&array->load);
	array->progress.fresh = false;
	if (seen->sync_state != MD_SYNC_RUNNING || !text->done_kib.known)
		return;
	/* The counter of an operation that is not believed yet must not mix with the one that is.
	 */
	if (array->sync_state == MD_SYNC_RUNNING && array->operation != seen->operation)
		return;
	progress_read(&array->progress, text->done_kib.v, text->total_kib.v, now_ms);
	if (array->next_operation == MD_OP_NONE)
		comeback_read(&array->comeback, &array->baseline, array->operation,
			&array->progress, &array->load);
}

static void fill_rates(const struct track_array *array, struct array_facts *facts)
{
	/* Begun, but by one reading only. */
	bool believed = array->sync_state == MD_SYNC_RUNNING;
	const struct progress none = {0}, *progress = believed ? &array->progress : &none;

	facts->progress_ppm = progress_share(progress);
	facts->remaining_ms = progress_remaining(progress);
	facts->rate = progress->rate;
	facts->stalled_ms = progress_stalled(progress);
	facts->baseline = OPT_NONE;
	facts->rate_of_baseline_ppm = OPT_NONE;
	if (facts->progress_ppm.known)
		facts->baseline =
			baseline_at(&array->baseline, array->operation, facts->progress_ppm.v);
	if (facts->baseline.known && facts->rate.known)
		facts->rate_of_baseline_ppm =
			OPT(rate_muldiv(facts->rate.v, PPM, facts->baseline.v));
	facts->client_read = array->load.read;
	facts->client_write = array->load.write;
}

static struct opt kernel_rate(const struct mdstat_array *text)
{
	if (!text->speed_kib_s.known || text->speed_kib_s.v < 0 ||
		text->speed_kib_s.v > KERNEL_RATE_MAX)
		return OPT_NONE;
	return OPT(text->speed_kib_s.v * KIB);
}

/* Also where the second reading has yet to agree that nothing runs, an array is not done. */
static bool is_done(const struct track_array *array, const struct seen *seen)
{
	return array->operation == MD_OP_IDLE && array->sync_state == MD_SYNC_NONE &&
		seen->operation == MD_OP_IDLE && seen->missing.known && seen->missing.v == 0 &&
		seen->health != MD_HEALTH_UNKNOWN && seen->health != MD_HEALTH_INACTIVE &&
		seen->health != MD_HEALTH_FAILED && seen->health != MD_HEALTH_ERROR;
}

static void array_reading(struct track *track, enum md_vendor vendor, const struct mdstat *mdstat,
	const struct mdstat_array *text, const struct look *look, int64_t now_ms)
{
	struct track_array *array = array_find(track, text->name);
	const struct look_md *md = look_md_find(look, text->name);
	struct array_facts *facts = &array->facts;
	struct seen seen = {0};

	seen_operation(text, md, &seen);
	seen_health(track, vendor, mdstat, text, md, &seen);
	debounce(array, &seen, now_ms);
	read_counters(array, text, look, &seen, now_ms);
	array->seen = array->present = true;
	if (text->level != MD_LEVEL_UNKNOWN)
		array->level = text->level;
	if (text->raid_disks.known)
		array->raid_disks = text->raid_disks.v;
	facts->role = vendor_role(vendor, mdstat, text, track->rules, track->n_rules);
	facts->level = seen.health == MD_HEALTH_CONTAINER ? MD_LEVEL_CONTAINER : text->level;
	facts->operation = array->operation;
	facts->sync_state = array->sync_state;
	facts->health = seen.health;
	facts->empty_slots = vendor_empty_slots(vendor, mdstat, text);
	facts->done = is_done(array, &seen);
	facts->raid_disks = text->raid_disks;
	facts->missing = seen.missing;
	facts->redundancy_left = seen.redundancy_left;
	facts->kernel_rate = kernel_rate(text);
	facts->sync_speed_min = md ? md->speed_min : OPT_NONE;
	facts->sync_speed_max = md ? md->speed_max : OPT_NONE;
	facts->operation_since_ms = array->operation_since_ms;
	facts->calm_since_ms = array->calm_since_ms;
	fill_rates(array, facts);
}

/* What is known of an array that is no longer there: its name, its role, what it was. */
static void array_absent(struct track_array *array)
{
	struct array_facts was = array->facts;

	array->present = false;
	array->operation = MD_OP_UNKNOWN;
	array->sync_state = MD_SYNC_UNKNOWN;
	array->next_operation = MD_OP_NONE;
	array->operation_since_ms = array->calm_since_ms = OPT_NONE;
	progress_end(&array->progress);
	client_load_lost(&array->load);
	array->facts = (struct array_facts){
		.role = was.role,
		.level = array->level ? array->level : MD_LEVEL_UNKNOWN,
		.operation = MD_OP_UNKNOWN,
		.sync_state = MD_SYNC_UNKNOWN,
		.health = MD_HEALTH_ABSENT,
		.raid_disks = array->raid_disks ? OPT(array->raid_disks) : OPT_NONE,
	};
	memcpy(array->facts.name, array->name, sizeof(array->name));
}

static bool not_understood(struct track *track, const char *why, int64_t now_ms)
{
	track_blind(track, SENSOR_NOT_UNDERSTOOD, why, now_ms);
	return false;
}

/* Makes room for the reading's new arrays; false, and nothing changed, if they are too many. */
static bool arrays_known(struct track *track, const struct mdstat *mdstat)
{
	size_t i, n_new = 0;

	for (i = 0; i < mdstat->n_arrays; i++)
		n_new += !array_find(track, mdstat->arrays[i].name);
	if (track->n_arrays + n_new > MD_MAX_ARRAYS)
		return false;
	for (i = 0; i < mdstat->n_arrays; i++) {
		if (!array_find(track, mdstat->arrays[i].name))
			array_add(track, mdstat->arrays[i].name);
	}
	return true;
}

static bool take_reading(
	struct track *track, struct mdstat *room, const struct look *look, int64_t now_ms)
{
	enum md_vendor vendor;
	size_t i;

	if (!mdstat_parse(look->mdstat, look->mdstat_len, room))
		return not_understood(track, room->why, now_ms);
	/* Alone, a text without the kernel's last line may have lost arrays, or the line that says
	 * "recovery". */
	if (!room->whole && !look->mdstat_whole)
		return not_understood(track, "the text of /proc/mdstat was cut", now_ms);
	if (room->n_stray)
		return not_understood(
			track, "/proc/mdstat holds lines that are not the kernel's", now_ms);
	if (!arrays_known(track, room))
		return not_understood(
			track, "more arrays than are taken (128), forgotten ones included", now_ms);
	vendor = vendor_resolve(track->vendor, room);
	for (i = 0; i < room->n_arrays; i++)
		array_reading(track, vendor, room, &room->arrays[i], look, now_ms);
	for (i = 0; i < track->n_arrays; i++) {
		if (!mdstat_find(room, track->arrays[i].name))
			array_absent(&track->arrays[i]);
	}
	track->load_x100 = look->load_x100;
	track->sensor = SENSOR_OK;
	track->sensor_text[0] = '\0';
	track->read_at_ms = OPT(now_ms);
	track->blind_since_ms = OPT_NONE;
	return true;
}

bool track_reading(struct track *track, struct mdstat *room, const char *text, size_t len,
	int64_t now_ms, struct nas_facts *ret)
{
	struct look look;
	bool good = false;

	if (!track->read_at_ms.known || now_ms >= track->read_at_ms.v) {
		look_split(text, len, &look);
		good = take_reading(track, room, &look, now_ms);
	}
	if (ret)
		track_facts(track, now_ms, ret);
	return good;
}

void track_blind(struct track *track, enum nas_sensor sensor, const char *sentence, int64_t now_ms)
{
	track->sensor = sensor;
	snprintf(track->sensor_text, sizeof(track->sensor_text), "%s", sentence);
	if (!track->blind_since_ms.known)
		track->blind_since_ms = OPT(now_ms);
}

void track_facts(const struct track *track, int64_t now_ms, struct nas_facts *ret)
{
	size_t i;

	memset(ret, 0, sizeof(*ret));
	memcpy(ret->name, track->name, sizeof(ret->name));
	memcpy(ret->sensor_text, track->sensor_text, sizeof(ret->sensor_text));
	ret->sensor = track->sensor;
	ret->read_at_ms = track->read_at_ms;
	ret->blind_since_ms = track->blind_since_ms;
	ret->load_x100 = track->load_x100;
	ret->n_arrays = track->n_arrays;
	for (i = 0; i < track->n_arrays; i++)
		ret->arrays[i] = track->arrays[i].facts;
	if (ret->sensor == SENSOR_OK && now_ms - track->read_at_ms.v > track->stale_ms) {
		ret->sensor = SENSOR_STALE;
		ret->blind_since_ms = OPT(track->read_at_ms.v + track->stale_ms);
		snprintf(ret->sensor_text, sizeof(ret->sensor_text),
			"the last reading is %lld s old",
			(long long)((now_ms - track->read_at_ms.v) / MS_SECOND));
	}
}

bool track_forget(struct track *track, const char *name)
{
	struct track_array *array = array_find(track, name);
	size_t at;

	if (!array)
		return false;
	if (array->present) {
		array->working_best = 0;
		array->baseline = (struct baseline){0};
		array->comeback = (struct comeback){0};
		return true;
	}
	at = (size_t)(array - track->arrays);
	memmove(array, array + 1, (track->n_arrays - at - 1) * sizeof(*array));
	track->n_arrays--;
	return true;
}

void track_memory_get(const struct track *track, struct track_memory *ret)
{
	size_t i;

	memset(ret, 0, sizeof(*ret));
	ret->n_arrays = track->n_arrays;
	for (i = 0; i < track->n_arrays; i++) {
		const struct track_array *array = &track->arrays[i];
		struct track_memory_array *kept = &ret->arrays[i];

		memcpy(kept->name, array->name, sizeof(kept->name));
		kept->role = array->facts.role;
		kept->level = array->level;
		kept->raid_disks = array->raid_disks;
		kept->working_best = array->working_best;
		kept->baseline = array->baseline;
		kept->operation = array->facts.operation;
		kept->health = array->facts.health;
		kept->redundancy_left = array->facts.redundancy_left;
	}
}

void track_memory_set(struct track *track, const struct track_memory *memory)
{
	size_t i;

	for (i = 0; i < memory->n_arrays && track->n_arrays < MD_MAX_ARRAYS; i++) {
		const struct track_memory_array *kept = &memory->arrays[i];
		struct track_array *array;

		if (!memchr(kept->name, '\0', sizeof(kept->name)) || array_find(track, kept->name))
			continue;
		array = array_add(track, kept->name);
		array->level = kept->level;
		array->raid_disks = kept->raid_disks;
		array->working_best = kept->working_best;
		array->baseline = kept->baseline;
		array->facts.role = kept->role ? kept->role : MD_ROLE_DATA;
		array->facts.level = kept->level ? kept->level : MD_LEVEL_UNKNOWN;
		if (kept->raid_disks)
			array->facts.raid_disks = OPT(kept->raid_disks);
		if (kept->operation)
			array->facts.operation = kept->operation;
		if (kept->health)
			array->facts.health = kept->health;
		array->facts.redundancy_left = kept->redundancy_left;
	}
}
