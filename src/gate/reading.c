// SPDX-License-Identifier: MIT
#include "gate/reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/store.h"

#define REMEMBER_MS (5 * MS_MINUTE)

/* Where the text of one look is parsed; large, and used by one look at a time. */
static struct mdstat room;

static enum md_vendor vendor_of(enum settings_vendor vendor)
{
	switch (vendor) {
	case SETTINGS_VENDOR_GENERIC:
		return MD_VENDOR_GENERIC;
	case SETTINGS_VENDOR_SYNOLOGY:
		return MD_VENDOR_SYNOLOGY;
	case SETTINGS_VENDOR_QNAP:
		return MD_VENDOR_QNAP;
	case SETTINGS_VENDOR_NONE:
	case SETTINGS_VENDOR_AUTO:
		break;
	}
	return MD_VENDOR_AUTO;
}

static void recall(struct reading *reading, struct store *store, const char *nas)
{
	struct track_memory *memory = calloc(1, sizeof(*memory));
	struct buf text = {0};
	struct err err = {0};

	if (!memory)
		return;
	if (store_memory(store, nas, &text, &err)) {
		if (memory_read(text.data, text.len, memory, &err)) {
			track_memory_set(&reading->track, memory);
			store_sha256(text.data, text.len, reading->remembered);
		}
	}
	if (err.kind != ERR_NONE && err.kind != ERR_NOTFOUND)
		log_warning("What was known of NAS '%s' cannot be read: %s", nas, err.text);
	buf_release(&text);
	free(memory);
}

/* A name that no NAS can have. */
static void outage_key(const char *nas, char ret[NAS_NAME_MAX + 8])
{
	snprintf(ret, NAS_NAME_MAX + 8, "outage:%s", nas);
}

static void recall_outage(struct reading *reading, struct store *store, const char *nas)
{
	struct moment now = clock_now();
	char key[NAS_NAME_MAX + 8];
	struct buf text = {0};

	outage_key(nas, key);
	if (store_memory(store, key, &text, NULL) && text.len) {
		reading->outage_ms = outage_read(text.data, text.len, &now);
		reading->outage_kept = true;
	}
	buf_release(&text);
}

/* A restart does not renew the time for which jobs are held blindly. */
static void remember_outage(struct reading *reading, struct store *store, const struct moment *now)
{
	struct buf text = {0};
	char key[NAS_NAME_MAX + 8];

	if (!reading->outage_ms.known && !reading->outage_kept)
		return;
	outage_key(reading->track.name, key);
	/* The record takes no empty text: an object without members is no outage. */
	if (reading->outage_ms.known
			? outage_write(now->utc_ms - (now->boot_ms - reading->outage_ms.v),
				  now->utc_ms, &text)
			: buf_adds(&text, "{}"))
		store_put_memory(store, key, buf_str(&text), now->utc_ms);
	reading->outage_kept = reading->outage_ms.known;
	buf_release(&text);
}

/* Changes with what a policy may hold for: an array's operation or health. */
static uint64_t signature(const struct track *track)
{
	uint64_t sum = 1;
	size_t i;

	for (i = 0; i < track->n_arrays; i++)
		sum = sum * 1000003 + (uint64_t)track->arrays[i].facts.operation * 64 +
			(uint64_t)track->arrays[i].facts.health;
	return sum;
}

void reading_open(struct reading *reading, struct store *store, const struct nas_settings *settings)
{
	struct md_role_rule rules[SETTINGS_MAX_ROLES];
	size_t i;

	for (i = 0; i < settings->n_roles; i++) {
		snprintf(rules[i].array, sizeof(rules[i].array), "%s", settings->roles[i].array);
		rules[i].role = settings->roles[i].role;
	}
	track_init(&reading->track, settings->name, vendor_of(settings->vendor), rules,
		settings->n_roles);
	recall(reading, store, settings->name);
	recall_outage(reading, store, settings->name);
	track_facts(&reading->track, 0, &reading->facts);
}

void reading_at(struct reading *reading, const struct moment *now)
{
	track_facts(&reading->track, now->boot_ms, &reading->facts);
}

void reading_take(struct reading *reading, const char *text, size_t len, const struct moment *now)
{
	track_reading(&reading->track, &room, text, len, now->boot_ms, NULL);
	reading_at(reading, now);
}

void reading_failed(
	struct reading *reading, enum nas_sensor sensor, const char *text, const struct moment *now)
{
	track_blind(&reading->track, sensor, text, now->boot_ms);
	reading_at(reading, now);
}

bool reading_forget(
	struct reading *reading, const char *array, const struct moment *now, struct err *err)
{
	if (!track_forget(&reading->track, array))
		return err_set(err, ERR_NOTFOUND, "NAS '%s' has no array '%s'", reading->track.name,
			array);
	reading_at(reading, now);
	return true;
}

bool reading_busy(const struct reading *reading)
{
	const struct track *track = &reading->track;
	size_t i;

	for (i = 0; i < track->n_arrays; i++) {
		const struct track_array *array = &track->arrays[i];

		if (!array->present)
			continue;
		if (array->operation != MD_OP_IDLE)
			return true;
		if (array->next_operation != MD_OP_NONE &&
			array->next_operation != array->operation)
			return true;
	}
	return false;
}

bool reading_unsure(const struct reading *reading)
{
	const struct track *track = &reading->track;
	size_t i;

	for (i = 0; i < track->n_arrays; i++)
		if (track->arrays[i].present && track->arrays[i].next_operation != MD_OP_NONE)
			return true;
	return false;
}

void reading_remember(
	struct reading *reading, struct store *store, const struct moment *now, bool all)
{
	struct track_memory *memory;
	struct buf text = {0};
	char hash[65];

	remember_outage(reading, store, now);
	if (!all && reading->remembered[0] && reading->signature == signature(&reading->track) &&
		now->boot_ms - reading->remembered_ms < REMEMBER_MS)
		return;
	memory = calloc(1, sizeof(*memory));
	if (!memory)
		return;
	track_memory_get(&reading->track, memory);
	if (memory->n_arrays && memory_write(memory, &text) &&
		store_sha256(text.data, text.len, hash)) {
		reading->remembered_ms = now->boot_ms;
		reading->signature = signature(&reading->track);
		if (strcmp(hash, reading->remembered) != 0) {
			store_put_memory(store, reading->track.name, buf_str(&text), now->utc_ms);
			memcpy(reading->remembered, hash, sizeof(hash));
		}
	}
	buf_release(&text);
	free(memory);
}
