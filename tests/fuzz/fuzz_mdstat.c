// SPDX-License-Identifier: MIT
/* Any bytes as what a NAS said: parsed, judged, split and tracked. Aborts where something that
 * always holds does not. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "md/health.h"
#include "md/look.h"
#include "md/track.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

static struct mdstat mdstat;
static struct track track;
static struct nas_facts facts;

static void slice_holds(struct mdstat_slice slice, size_t size)
{
	HOLDS(slice.at <= size && slice.len <= size - slice.at);
}

static void array_holds(const struct mdstat_array *array, size_t size)
{
	static const enum md_vendor vendors[] = {
		MD_VENDOR_GENERIC, MD_VENDOR_SYNOLOGY, MD_VENDOR_QNAP};
	size_t i;

	HOLDS(array->name[0] && memchr(array->name, '\0', sizeof(array->name)));
	HOLDS(array->first_member + array->n_members <= mdstat.n_members);
	HOLDS(md_level_word(array->level) && md_operation_word(array->operation) &&
		md_sync_state_word(array->sync_state));
	slice_holds(array->level_text, size);
	slice_holds(array->metadata, size);
	slice_holds(array->slots, size);
	HOLDS(array->slots.len <= MDSTAT_MAX_SLOTS);
	for (i = 0; i < array->n_members; i++)
		slice_holds(mdstat.members[array->first_member + i].name, size);
	for (i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++) {
		enum md_health health = vendor_health(vendors[i], &mdstat, array);

		HOLDS(md_health_word(health));
		HOLDS(md_role_word(vendor_role(vendors[i], &mdstat, array, NULL, 0)));
		/* Nothing that was not understood is healthy or idle. */
		HOLDS(!array->damaged ||
			(health != MD_HEALTH_OPTIMAL && health != MD_HEALTH_NO_REDUNDANCY));
		HOLDS(!array->damaged || array->operation != MD_OP_IDLE);
	}
}

static void facts_hold(void)
{
	size_t i;

	HOLDS(nas_sensor_word(facts.sensor));
	HOLDS((facts.sensor == SENSOR_OK) == (facts.sensor_text[0] == '\0'));
	for (i = 0; i < facts.n_arrays; i++) {
		const struct array_facts *a = &facts.arrays[i];

		HOLDS(md_role_word(a->role) && md_level_word(a->level) &&
			md_operation_word(a->operation) && md_sync_state_word(a->sync_state) &&
			md_health_word(a->health));
		HOLDS(!a->done ||
			(a->operation == MD_OP_IDLE && a->missing.known && !a->missing.v));
		HOLDS(!a->calm_since_ms.known || a->operation == MD_OP_IDLE);
		HOLDS(!a->redundancy_left.known || a->redundancy_left.v >= 0);
		HOLDS(!a->rate.known || a->rate.v >= 0);
		HOLDS(!a->progress_ppm.known ||
			(a->progress_ppm.v >= 0 && a->progress_ppm.v <= 1000000));
	}
}

/* The text as three readings: whole, its first half, whole again. */
static void track_holds(const char *text, size_t size)
{
	track_init(&track, "nas", MD_VENDOR_AUTO, NULL, 0);
	track_reading(&track, &mdstat, text, size, 1000, &facts);
	facts_hold();
	track_reading(&track, &mdstat, text, size / 2, 11000, &facts);
	facts_hold();
	track_reading(&track, &mdstat, text, size, 21000, &facts);
	facts_hold();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1); /* exact: a read past the end is seen */
	size_t i;

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	HOLDS(mdstat_parse(text, size, &mdstat) == (mdstat.format == MDSTAT_GOOD));
	HOLDS(mdstat.format == MDSTAT_GOOD || (!mdstat.n_arrays && mdstat.why[0]));
	HOLDS(mdstat.format == MDSTAT_GOOD || mdstat.format == MDSTAT_NONE ||
		mdstat.format == MDSTAT_UNPARSEABLE || mdstat.format == MDSTAT_UNRAID);
	for (i = 0; i < mdstat.n_arrays; i++)
		array_holds(&mdstat.arrays[i], size);
	track_holds(text, size);
	free(text);
	return 0;
}
