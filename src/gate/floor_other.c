// SPDX-License-Identifier: MIT
/*
 * Several gates may have levers on one NAS: a second cluster, an old gate after a move. Each says
 * its name with its orders, the NAS keeps it with what was moved (hooks/nas-levers), and whoever
 * has moved something is the only one to change it until it is put back.
 */
#include <stdio.h>
#include <string.h>
#include <systemd/sd-id128.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "gate/floor_lever_impl.h"
#include "gate/gate.h"

#define NODE_SHOWN 24 /* of its name, for the reader */
#define MARK_CHARS 8  /* of the digest, for uniqueness */

/* The machine ID itself is not to be shown to others (machine-id(5)). */
static const sd_id128_t gate_id = {.bytes = {0x4b, 0x1d, 0x0f, 0x62, 0x9a, 0x3c, 0x47, 0x5e, 0x8e,
					   0x21, 0xb7, 0xd4, 0x06, 0xf9, 0x5a, 0x13}};

static bool plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* The node's name alone is not enough: many a cluster begins with "pve1". Nor would a name kept in
 * the database be: it moves along with a copy, and the old gate may still run. */
void floor_name(const struct settings *settings, char ret[ORDER_NAME_MAX])
{
	char text[sizeof(sd_id128_t) + SETTINGS_PATH_MAX], mark[STORE_HASH_TEXT] = "";
	sd_id128_t machine = SD_ID128_NULL;
	size_t i, n = 0, len = strlen(settings->database);

	/* Without one (a container that was never set up) the node and the path must do. */
	if (sd_id128_get_machine_app_specific(gate_id, &machine) < 0)
		machine = SD_ID128_NULL;
	memcpy(text, &machine, sizeof(machine));
	memcpy(text + sizeof(machine), settings->database, len);
	if (!store_sha256(text, sizeof(machine) + len, mark))
		mark[0] = '\0';
	for (i = 0; settings->node[i] && n < NODE_SHOWN; i++)
		if (plain(settings->node[i]) || (n && settings->node[i] == '-'))
			ret[n++] = settings->node[i];
	snprintf(ret + n, ORDER_NAME_MAX - n, "%s%.*s", n ? "-" : "gate-", MARK_CHARS, mark);
}

const char *floor_name_to_say(const struct floor_lever *lever)
{
	bool back = lever->doing == ORDER_MOVED || lever->doing == ORDER_FREE ||
		lever->doing == ORDER_RESUME;

	if (lever->nameless)
		return "";
	return lever->anyones && back ? ORDER_ANYONE : lever->name;
}

bool floor_say_name(struct floor_lever *lever, char line[ORDER_LINE_MAX], struct err *err)
{
	snprintf(lever->said, sizeof(lever->said), "%s", floor_name_to_say(lever));
	return !lever->said[0] || order_by(lever->said, line, err);
}

void floor_forget_name(struct floor_lever *lever)
{
	lever->nameless = true;
	if (lever->nameless_said)
		return;
	lever->nameless_said = true;
	log_warning("The nas-levers on NAS '%s' is older than this gate and does not know whose a "
		    "move is: install hooks/nas-levers of this version there; until then gates "
		    "that share this NAS free each other's moves nas=%s",
		lever->settings.name, lever->settings.name);
}

void floor_list_again(struct floor_lever *lever)
{
	lever->listed = false;
	lever->nameless = false;
}

void floor_lever_free_others(struct floor_lever *lever, const char *why)
{
	log_notice("The levers of NAS '%s' are put back, also what other gates have moved there: "
		   "%s nas=%s",
		lever->settings.name, why, lever->settings.name);
	lever->anyones = true;
	lever->not_before_ms = 0; /* now: not_reached() ends it */
	floor_list_again(lever);
	floor_lever_free_all(lever, why);
}

void floor_levers_free_others(struct floor_levers *levers, const char *why)
{
	size_t i;

	for (i = 0; i < levers->n; i++)
		if (!levers->levers[i]->retired)
			floor_lever_free_others(levers->levers[i], why);
}

static void sentence(const char *name, int64_t undo_s, char *ret, size_t size)
{
	struct moment now = clock_now();
	char when[UNITS_TEXT_MAX];

	/* The time of day of "2026-11-30 21:04:05". */
	when_show(now.utc_ms + undo_s * MS_SECOND, now.utc_offset_s, when);
	snprintf(ret, size, "moved by another gate (%s) until %.5s; not touched", name, when + 11);
}

/* It is looked at again when it may have ended, and now and then before: the other may free it. */
static void met(struct floor_lever *lever, struct floor_array *array, int64_t now, const char *name,
	int64_t undo_s, const char *text)
{
	int64_t ms =
		undo_s < FLOOR_RENEW_MS / MS_SECOND ? (undo_s + 1) * MS_SECOND : FLOOR_RENEW_MS;

	if (strcmp(array->other, name) != 0)
		log_notice("The floor under %s on %s is %s nas=%s array=%s", array->name,
			lever->settings.name, text, lever->settings.name, array->name);
	snprintf(array->other, sizeof(array->other), "%s", name);
	snprintf(array->trouble, sizeof(array->trouble), "%s", text);
	array->retry_ms = now + ms;
}

void floor_look_for_other(struct floor_lever *lever, struct floor_array *array, int64_t now)
{
	char text[FLOOR_WHY_MAX];

	if (array->now.by[0]) {
		sentence(array->now.by, array->now.by_s.v, text, sizeof(text));
		met(lever, array, now, array->now.by, array->now.by_s.v, text);
	} else if (array->other[0]) {
		log_notice("The floor under %s on %s is no longer moved by another gate nas=%s "
			   "array=%s",
			array->name, lever->settings.name, lever->settings.name, array->name);
		array->other[0] = '\0';
		array->retry_ms = 0;
	}
}

/* What was ours has ended there by itself before another could move it. */
void floor_refused_for_other(struct floor_lever *lever, struct floor_array *array, int64_t now,
	const struct order_other *other)
{
	char text[FLOOR_WHY_MAX];

	sentence(other->name, other->undo_s, text, sizeof(text));
	if (lever->doing == ORDER_FLOOR || lever->doing == ORDER_FREE) {
		floor_forget(lever, array, text);
		met(lever, array, now, other->name, other->undo_s, text);
		return;
	}
	log_notice("The check of %s on %s is %s nas=%s array=%s", array->name, lever->settings.name,
		text, lever->settings.name, array->name);
	array->want_pause = false;
	floor_check_forget(lever, array, text);
	snprintf(array->trouble, sizeof(array->trouble), "%s", text);
}
