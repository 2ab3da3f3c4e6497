// SPDX-License-Identifier: MIT
#include "disks.h"

#include <stdio.h>
#include <string.h>

#define KIB 1024.0
#define STEP_MS (3 * MS_SECOND) /* SYNC_MARK_STEP */

void disks_init(struct disks *disks, const char *name)
{
	*disks = (struct disks){.look_ms = 300, .blind = SENSOR_OK};
	snprintf(disks->name, sizeof(disks->name), "%s", name);
}

struct disk_array *disks_add(struct disks *disks, const char *name, enum md_level level, int n)
{
	struct disk_array *array;
	int i;

	if (disks->n_arrays == DISKS_MAX_ARRAYS || n < 1 || n > DISKS_MAX_SLOTS)
		return NULL;
	array = &disks->arrays[disks->n_arrays++];
	*array = (struct disk_array){.level = level,
		.disks = n,
		.size_kib = INT64_C(4000000000000) / 1024,
		.outer = 100e6,
		.inner = 100e6,
		.written_share = 0.4,
		.back_ms = 8 * MS_MINUTE,
		.rebuild_slot = -1,
		.op = MD_OP_IDLE};
	snprintf(array->name, sizeof(array->name), "%s", name);
	for (i = 0; i < n; i++)
		array->in_sync[i] = true;
	return array;
}

struct disk_array *disks_find(struct disks *disks, const char *name)
{
	size_t i;

	for (i = 0; i < disks->n_arrays; i++) {
		if (strcmp(disks->arrays[i].name, name) == 0)
			return &disks->arrays[i];
	}
	return NULL;
}

int disks_missing(const struct disk_array *array)
{
	int n = 0, i;

	for (i = 0; i < array->disks; i++)
		n += !array->in_sync[i];
	return n;
}

bool disks_busy(const struct disk_array *array)
{
	return array->op != MD_OP_IDLE;
}

static bool syncs(const struct disk_array *array)
{
	return disks_busy(array) && array->op != MD_OP_FROZEN && !array->delayed;
}

double disks_undisturbed(const struct disk_array *array)
{
	double way = array->done_kib / (double)array->size_kib;

	return array->outer + (array->inner - array->outer) * (way > 1 ? 1 : way);
}

double disks_rate(const struct disk_array *array, int64_t now_ms)
{
	double share = 1, back;

	if (!syncs(array))
		return 0;
	if (array->client_write > 0) {
		share = array->written_share;
	} else if (array->ever_written && now_ms - array->quiet_at_ms < array->back_ms) {
		back = (double)(now_ms - array->quiet_at_ms) / (double)array->back_ms;
		share = array->written_share + (1 - array->written_share) * back;
	}
	return disks_undisturbed(array) * share;
}

static void mark(struct disk_array *array, int64_t now_ms)
{
	if (array->n_marks && now_ms - array->marks[array->n_marks - 1].at_ms < STEP_MS)
		return;
	if (array->n_marks == DISKS_MARKS) {
		memmove(array->marks, array->marks + 1,
			(DISKS_MARKS - 1) * sizeof(array->marks[0]));
		array->n_marks--;
	}
	array->marks[array->n_marks].at_ms = now_ms;
	array->marks[array->n_marks++].kib = array->done_kib;
}

/* Where arrays wait, the first of them goes on. */
static void next_one(struct disks *disks)
{
	size_t i;

	for (i = 0; i < disks->n_arrays; i++) {
		if (syncs(&disks->arrays[i]))
			return;
	}
	for (i = 0; i < disks->n_arrays; i++) {
		if (disks->arrays[i].delayed) {
			disks->arrays[i].delayed = false;
			disks->arrays[i].n_marks = 0;
			return;
		}
	}
}

static void finish(struct disks *disks, struct disk_array *array)
{
	if (array->op == MD_OP_RECOVERY && array->rebuild_slot >= 0) {
		array->in_sync[array->rebuild_slot] = true;
		array->faulty[array->rebuild_slot] = false;
	}
	array->rebuild_slot = -1;
	array->op = MD_OP_IDLE;
	array->done_kib = 0;
	array->delayed = false;
	next_one(disks);
}

static void step(struct disks *disks, struct disk_array *array, int64_t ms)
{
	double s = (double)ms / 1000;

	array->written += array->client_write * s;
	array->read += array->client_read * s;
	if (!syncs(array) || disks->up_ms)
		return;
	array->done_kib += disks_rate(array, disks->now_ms + ms / 2) * s / KIB;
	mark(array, disks->now_ms + ms);
	if (array->done_kib >= (double)array->size_kib)
		finish(disks, array);
}

static bool any_syncs(const struct disks *disks)
{
	size_t i;

	for (i = 0; i < disks->n_arrays; i++) {
		if (syncs(&disks->arrays[i]))
			return true;
	}
	return false;
}

static void back_up(struct disks *disks)
{
	disks->up_ms = 0;
	disks->blind = SENSOR_OK;
}

void disks_advance(struct disks *disks, int64_t now_ms)
{
	size_t i;

	while (disks->now_ms < now_ms) {
		int64_t ms = now_ms - disks->now_ms;

		if (ms > STEP_MS && any_syncs(disks))
			ms = STEP_MS;
		if (disks->up_ms && disks->now_ms + ms > disks->up_ms)
			ms = disks->up_ms - disks->now_ms;
		for (i = 0; i < disks->n_arrays; i++)
			step(disks, &disks->arrays[i], ms);
		disks->now_ms += ms;
		if (disks->up_ms && disks->now_ms >= disks->up_ms)
			back_up(disks);
	}
}

static int survives(const struct disk_array *array)
{
	switch ((int)array->level) {
	case MD_LEVEL_RAID6:
		return 2;
	case MD_LEVEL_RAID5:
	case MD_LEVEL_RAID4:
	case MD_LEVEL_RAID10:
		return 1;
	case MD_LEVEL_RAID1:
		return array->disks - 1;
	default:
		return 0;
	}
}

bool disks_fail(struct disks *disks, struct disk_array *array)
{
	int i = 0;

	while (i < array->disks && !array->in_sync[array->disks - 1 - i])
		i++;
	if (i == array->disks)
		return false;
	i = array->disks - 1 - i;
	array->in_sync[i] = false;
	array->faulty[i] = true;
	/* Nothing is left to rebuild from. */
	if (disks_missing(array) > survives(array) && disks_busy(array)) {
		array->rebuild_slot = -1;
		array->op = MD_OP_IDLE;
		array->delayed = false;
		next_one(disks);
	}
	return true;
}

bool disks_fail_in_turn(struct disks *disks, struct disk_array *array)
{
	if (array->rebuild_slot < 0)
		return false;
	array->faulty[array->rebuild_slot] = true;
	array->rebuild_slot = -1;
	array->op = MD_OP_IDLE;
	array->done_kib = 0;
	array->delayed = false;
	next_one(disks);
	return true;
}

bool disks_begin(struct disks *disks, struct disk_array *array, enum md_operation op)
{
	int slot = 0;

	if (disks_busy(array))
		return false;
	if (op == MD_OP_RECOVERY) {
		while (slot < array->disks && array->in_sync[slot])
			slot++;
		if (slot == array->disks || disks_missing(array) > survives(array))
			return false;
		array->faulty[slot] = false; /* taken out, another one put in */
		array->rebuild_slot = slot;
		array->n_spares_used++;
	}
	array->delayed = any_syncs(disks);
	array->op = op;
	array->done_kib = 0;
	array->n_marks = 0;
	mark(array, disks->now_ms);
	return true;
}

bool disks_stop(struct disks *disks, struct disk_array *array)
{
	if (!disks_busy(array) || array->op == MD_OP_RECOVERY)
		return false;
	array->op = MD_OP_IDLE;
	array->delayed = false;
	array->done_kib = 0;
	next_one(disks);
	return true;
}

bool disks_freeze(struct disks *disks, struct disk_array *array)
{
	if (!syncs(array))
		return false;
	array->frozen_op = array->op;
	array->op = MD_OP_FROZEN;
	next_one(disks);
	return true;
}

bool disks_thaw(struct disks *disks, struct disk_array *array)
{
	if (array->op != MD_OP_FROZEN)
		return false;
	array->delayed = any_syncs(disks);
	array->op = array->frozen_op;
	array->n_marks = 0;
	mark(array, disks->now_ms);
	return true;
}

void disks_write(struct disks *disks, struct disk_array *array, double change)
{
	bool wrote = array->client_write > 0;

	array->client_write += change;
	if (array->client_write < 0.5)
		array->client_write = 0;
	if (wrote && array->client_write <= 0) {
		array->quiet_at_ms = disks->now_ms;
		array->ever_written = true;
	}
}

/* A rebuild goes on where its checkpoint says (superblock 1.x recovery_offset); counters of
 * devices start anew. */
void disks_reboot(struct disks *disks, int64_t for_ms)
{
	size_t i;

	disks->up_ms = disks->now_ms + for_ms;
	disks->blind = SENSOR_UNREACHABLE;
	for (i = 0; i < disks->n_arrays; i++) {
		disks->arrays[i].written = disks->arrays[i].read = 0;
		disks->arrays[i].n_marks = 0;
		mark(&disks->arrays[i], disks->up_ms);
	}
}

int64_t disks_look_ms(const struct disks *disks)
{
	switch (disks->blind) {
	case SENSOR_OK:
		return disks->look_ms;
	case SENSOR_SILENT:
	case SENSOR_DRIPPING:
	case SENSOR_DEADLINE:
	case SENSOR_UNREACHABLE:
		return 5 * MS_SECOND;
	case SENSOR_NONE:
	case SENSOR_NEVER:
	case SENSOR_STALE:
	case SENSOR_REFUSED:
	case SENSOR_HOST_KEY:
	case SENSOR_AUTH:
	case SENSOR_TOO_MUCH:
	case SENSOR_EXIT_STATUS:
	case SENSOR_NOT_UNDERSTOOD:
	case SENSOR_FAULT:
		break;
	}
	return 100;
}
