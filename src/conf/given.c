// SPDX-License-Identifier: MIT
#include "conf/given.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "conf/given_parts.h"
#include "conf/nearest.h"
#include "conf/value.h"
#include "conf/window.h"

#define NOON_MS (12 * MS_HOUR)
#define BOOT_MS (30 * MS_DAY)

bool given_text(char *ret, size_t size, const char *text, struct err *err)
{
	if (!text[0] || strlen(text) >= size)
		return err_set(err, ERR_INVALID, "a text of 1 to %zu bytes belongs here", size - 1);
	snprintf(ret, size, "%s", text);
	return true;
}

static void array_start(struct array_facts *array, size_t at)
{
	memset(array, 0, sizeof(*array));
	snprintf(array->name, sizeof(array->name), "md%zu", at + 2);
	array->role = MD_ROLE_DATA;
	array->level = MD_LEVEL_RAID6;
	array->operation = MD_OP_IDLE;
	array->raid_disks = OPT(8);
}

void given_start(struct given *given, struct inputs *in)
{
	memset(given, 0, sizeof(*given));
	memset(in, 0, sizeof(*in));
	given->in = in;
	in->now = (struct moment){
		.boot_ms = BOOT_MS, .utc_ms = GIVEN_MONDAY_MS + 2 * MS_DAY + NOON_MS};
	in->request.client = CLIENT_VZDUMP;
	in->request.phase = PHASE_JOB_INIT;
	in->request.mode = MODE_SNAPSHOT;
	snprintf(in->request.storage, sizeof(in->request.storage), "backup");
	snprintf(in->request.node, sizeof(in->request.node), "pve1");
	snprintf(in->mapping.nas, sizeof(in->mapping.nas), "nas1");
	in->facts.sensor = SENSOR_OK;
	in->facts.n_arrays = 1;
	array_start(&in->facts.arrays[0], 0);
}

bool given_array(struct given *given, struct err *err)
{
	size_t at = given->at + 1;

	if (at == GIVEN_MAX_ARRAYS)
		return err_set(err, ERR_LIMIT, "more than %d arrays are given", GIVEN_MAX_ARRAYS);
	given->at = at;
	array_start(&given->in->facts.arrays[at], at);
	given->in->facts.n_arrays = at + 1;
	return true;
}

bool given_touched(const struct given *given)
{
	return given->known[given->at] != 0 || given->missing[given->at];
}

/* "101" or "101,102": one guest in its own phase, or those of the job. */
static bool set_guests(struct request *request, const char *value, struct err *err)
{
	request->n_guests = 0;
	while (*value) {
		const char *end = strchr(value, ',');
		size_t len = end ? (size_t)(end - value) : strlen(value);
		uint64_t id = 0;

		if (request->n_guests == REQUEST_MAX_GUESTS ||
			!digits_parse(value, len, UINT32_MAX, &id) || !id)
			return err_set(err, ERR_INVALID,
				"guests are numbers such as 101, with ',' between them");
		request->guests[request->n_guests++] = (uint32_t)id;
		value += len + (end != NULL);
	}
	return true;
}

/* "sat", "23:30" or "sat 23:30", in local time, which is UTC here. */
static bool set_time(struct moment *now, const char *value, struct err *err)
{
	size_t len = strcspn(value, " ");
	int day = weekday_parse(value, len);
	int64_t days = 2, at = NOON_MS;
	int32_t seconds = 0;
	const char *p = value;

	if (day >= 0) {
		days = day;
		p += len;
		while (*p == ' ')
			p++;
	}
	if (*p || day < 0) {
		if (!daytime_take(&p, false, &seconds) || *p)
			return err_set(err, ERR_INVALID,
				"a time is written \"23:30\", \"sat\" or \"sat 23:30\"");
		at = seconds * MS_SECOND;
	}
	now->utc_ms = GIVEN_MONDAY_MS + days * MS_DAY + at;
	return true;
}

/* The NAS is blind in some way; "blind" takes one of them. */
static enum nas_sensor sensor_of(int64_t n)
{
	return n == FIELD_SENSOR_BLIND ? SENSOR_UNREACHABLE : (enum nas_sensor)n;
}

static bool set_request_text(
	struct given *given, enum field field, const char *value, struct err *err)
{
	struct inputs *in = given->in;

	switch ((int)field) {
	case FIELD_NAS:
		return given_text(in->mapping.nas, sizeof(in->mapping.nas), value, err);
	case FIELD_STORAGE:
		return given_text(in->request.storage, sizeof(in->request.storage), value, err);
	case FIELD_NODE:
		return given_text(in->request.node, sizeof(in->request.node), value, err);
	case FIELD_TIME:
		return set_time(&in->now, value, err);
	case FIELD_GUEST:
		return set_guests(&in->request, value, err);
	default:
		return given_text(in->facts.arrays[given->at].name, MD_NAME_MAX, value, err);
	}
}

static void set_request_number(struct inputs *in, enum field field, int64_t n)
{
	switch ((int)field) {
	case FIELD_SENSOR:
		in->facts.sensor = sensor_of(n);
		break;
	case FIELD_LOAD:
		in->facts.load_x100 = OPT(n);
		break;
	case FIELD_GUEST_TYPE:
		in->request.guest_type = (enum guest_type)n;
		break;
	case FIELD_MODE:
		in->request.mode = (enum backup_mode)n;
		break;
	case FIELD_PHASE:
		in->request.phase = (enum phase)n;
		break;
	case FIELD_CLIENT:
		in->request.client = (enum client)n;
		break;
	case FIELD_BACKUP_AGE:
		in->request.backup_age_ms = OPT(n);
		break;
	default:
		break;
	}
}

static void set_array_enum(struct array_facts *array, enum field field, int64_t n)
{
	if (field == FIELD_ROLE)
		array->role = (enum md_role)n;
	else if (field == FIELD_LEVEL)
		array->level = (enum md_level)n;
	else if (field == FIELD_OPERATION)
		array->operation = (enum md_operation)n;
	else if (field == FIELD_SYNC_STATE)
		array->sync_state = (enum md_sync_state)n;
	else
		array->health = (enum md_health)n;
}

static struct opt *array_opt(struct array_facts *array, enum field field)
{
	switch ((int)field) {
	case FIELD_REDUNDANCY_LEFT:
		return &array->redundancy_left;
	case FIELD_PROGRESS:
		return &array->progress_ppm;
	case FIELD_REMAINING:
		return &array->remaining_ms;
	case FIELD_RATE:
		return &array->rate;
	case FIELD_RATE_OF_BASELINE:
		return &array->rate_of_baseline_ppm;
	case FIELD_STALLED_FOR:
		return &array->stalled_ms;
	case FIELD_CLIENT_READ:
		return &array->client_read;
	case FIELD_CLIENT_WRITE:
		return &array->client_write;
	default:
		return NULL;
	}
}

static bool of_array(enum field field)
{
	return field >= FIELD_ARRAY && field <= FIELD_CLIENT_WRITE && field != FIELD_SENSOR;
}

static bool set_field(struct given *given, enum field field, const char *value, struct err *err)
{
	struct array_facts *array = &given->in->facts.arrays[given->at];
	struct opt *opt = array_opt(array, field);
	int64_t n = 0;

	if (of_array(field))
		given->known[given->at] |= UINT64_C(1) << field;
	if (field_type(field) == FIELD_TYPE_TEXT || field == FIELD_TIME || field == FIELD_GUEST)
		return set_request_text(given, field, value, err);
	if (!value_parse_fact(field, value, &n, err))
		return false;
	if (opt)
		*opt = OPT(n);
	else if (of_array(field))
		set_array_enum(array, field, n);
	else
		set_request_number(given->in, field, n);
	return true;
}

static bool unknown_key(const char *key, struct err *err)
{
	struct nearest nearest = {.wrong = key};
	const char *name, *help;
	size_t i;
	int field;

	for (field = 1; field < FIELD_COUNT; field++)
		nearest_offer(&nearest, field_word((enum field)field));
	for (i = 0; (name = given_name_at(i, &help)); i++)
		nearest_offer(&nearest, name);
	if (nearest.best)
		return err_set(err, ERR_INVALID, "'%.60s' is no fact; did you mean '%s'?", key,
			nearest.best);
	return err_set(err, ERR_INVALID,
		"'%.60s' is no fact; policy/README.md lists those that there are", key);
}

bool given_set(struct given *given, const char *key, const char *value, struct err *err)
{
	enum field field = field_parse(key);
	bool known = true, good;

	good = field ? set_field(given, field, value, err)
		     : given_extra(given, key, value, &known, err);
	if (!known)
		return unknown_key(key, err);
	return good || err_prefix(err, "%s", key);
}
