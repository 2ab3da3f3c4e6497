// SPDX-License-Identifier: MIT
#include "conf/given.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "conf/nearest.h"
#include "conf/value.h"
#include "conf/window.h"

#define NOON_MS (12 * MS_HOUR)
/* Monday 2026-01-05, 00:00 UTC. */
#define MONDAY_MS INT64_C(1767571200000)
#define BOOT_MS (30 * MS_DAY)

static bool text_put(char *ret, size_t size, const char *text, struct err *err)
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
	in->now = (struct moment){.boot_ms = BOOT_MS, .utc_ms = MONDAY_MS + 2 * MS_DAY + NOON_MS};
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
	now->utc_ms = MONDAY_MS + days * MS_DAY + at;
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
		return text_put(in->mapping.nas, sizeof(in->mapping.nas), value, err);
	case FIELD_STORAGE:
		return text_put(in->request.storage, sizeof(in->request.storage), value, err);
	case FIELD_NODE:
		return text_put(in->request.node, sizeof(in->request.node), value, err);
	case FIELD_TIME:
		return set_time(&in->now, value, err);
	case FIELD_GUEST:
		return set_guests(&in->request, value, err);
	default:
		return text_put(in->facts.arrays[given->at].name, MD_NAME_MAX, value, err);
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

static bool parse_yes(const char *value, bool *ret, struct err *err)
{
	*ret = strcmp(value, "true") == 0;
	return *ret || strcmp(value, "false") == 0 ||
		err_set(err, ERR_INVALID, "true or false belongs here");
}

static bool parse_span(const char *value, struct opt *ret, struct err *err)
{
	ret->known = span_parse(value, &ret->v, err);
	return ret->known;
}

static bool parse_count(const char *value, int64_t *ret, struct err *err)
{
	uint64_t n = 0;

	if (!u64_parse(value, 0, 100000, &n, err))
		return false;
	*ret = (int64_t)n;
	return true;
}

static bool set_baseline(struct given *given, const char *value, struct err *err)
{
	struct opt *baseline = &given->in->facts.arrays[given->at].baseline;

	baseline->known = rate_parse(value, &baseline->v, err);
	return baseline->known;
}

static bool set_missing(struct given *given, const char *value, struct err *err)
{
	struct opt *missing = &given->in->facts.arrays[given->at].missing;

	missing->known = parse_count(value, &missing->v, err);
	given->missing[given->at] = missing->known;
	return missing->known;
}

static bool set_held_for(struct given *given, const char *value, struct err *err)
{
	return parse_span(value, &given->held_ms, err);
}

static bool set_held_by(struct given *given, const char *value, struct err *err)
{
	return text_put(given->held_by, sizeof(given->held_by), value, err);
}

static bool set_blind_for(struct given *given, const char *value, struct err *err)
{
	return parse_span(value, &given->blind_ms, err);
}

static bool set_clear_for(struct given *given, const char *value, struct err *err)
{
	return parse_span(value, &given->in->ticket.clear_ms, err);
}

static bool set_recheck(struct given *given, const char *value, struct err *err)
{
	return span_parse(value, &given->in->ticket.recheck_ms, err);
}

static bool set_since_release(struct given *given, const char *value, struct err *err)
{
	return parse_span(value, &given->in->queue.since_release_ms, err);
}

static bool set_next_start(struct given *given, const char *value, struct err *err)
{
	struct opt *next = &given->in->request.next_start_utc_ms;

	if (!parse_span(value, next, err))
		return false;
	if (next->v > INT64_MAX / 2)
		return err_set(err, ERR_INVALID, "'%.60s' is too long", value);
	return true;
}

static bool set_released(struct given *given, const char *value, struct err *err)
{
	return parse_yes(value, &given->in->ticket.released, err);
}

static bool set_release_asked(struct given *given, const char *value, struct err *err)
{
	return parse_yes(value, &given->in->ticket.release_asked, err);
}

static bool set_lever(struct given *given, const char *value, struct err *err)
{
	return parse_yes(value, &given->in->lever, err);
}

static bool set_ahead(struct given *given, const char *value, struct err *err)
{
	return parse_count(value, &given->in->queue.ahead, err);
}

static bool set_running(struct given *given, const char *value, struct err *err)
{
	return parse_count(value, &given->in->queue.running_nas, err);
}

static bool set_running_node(struct given *given, const char *value, struct err *err)
{
	return parse_count(value, &given->in->queue.running_node, err);
}

static bool set_mapped(struct given *given, const char *value, struct err *err)
{
	bool yes = false;

	if (!parse_yes(value, &yes, err))
		return false;
	if (!yes)
		memset(&given->in->mapping, 0, sizeof(given->in->mapping));
	return true;
}

static bool set_override(struct given *given, const char *value, struct err *err)
{
	struct override *override = &given->in->overrides[0];

	override->verdict = verdict_parse(value);
	if (!override->verdict)
		return err_set(err, ERR_INVALID,
			"an override is \"allow\", \"throttle\", \"hold\" or \"deny\"");
	override->id = 1;
	override->created_utc_ms = MONDAY_MS - MS_HOUR;
	override->until_utc_ms = INT64_MAX;
	snprintf(override->by, sizeof(override->by), "operator");
	snprintf(override->reason, sizeof(override->reason), "given");
	given->in->n_overrides = 1;
	return true;
}

/* `name` stays in step with policy/README.md, which a test compares. */
static const struct extra {
	const char *name;
	bool (*set)(struct given *given, const char *value, struct err *err);
	const char *help;
} extras[] = {
	{"baseline", set_baseline, "the undisturbed pace of the rebuild"},
	{"missing", set_missing, "how many disks the array lacks"},
	{"held_for", set_held_for, "the job has been held for so long already"},
	{"held_by", set_held_by, "the rule that held it; without it, what would hold it now"},
	{"clear_for", set_clear_for, "for how long nothing would have held it any more"},
	{"recheck_used", set_recheck, "how long it has waited inside the running job"},
	{"blind_for", set_blind_for, "how long the NAS has not been seen (1min)"},
	{"released", set_released, "true: it was let go before"},
	{"release_asked", set_release_asked, "true: an operator asked to let it go"},
	{"lever", set_lever, "true: something is set up that could slow the job"},
	{"ahead", set_ahead, "held jobs of this NAS that asked before"},
	{"running", set_running, "jobs that run on this NAS"},
	{"running_node", set_running_node, "jobs of this node that hold or wait for vzdump's lock"},
	{"since_release", set_since_release,
		"the time since a held job of this NAS was let go last"},
	{"next_start", set_next_start, "the time until the job starts the next time"},
	{"mapped", set_mapped, "false: the storage is mapped to no array"},
	{"override", set_override, "the verdict of an operator's override for everything"},
};

#define N_EXTRAS (sizeof(extras) / sizeof(extras[0]))

const char *given_name_at(size_t at, const char **ret_help)
{
	if (at >= N_EXTRAS)
		return NULL;
	*ret_help = extras[at].help;
	return extras[at].name;
}

static bool unknown_key(const char *key, struct err *err)
{
	struct nearest nearest = {.wrong = key};
	size_t i;
	int field;

	for (field = 1; field < FIELD_COUNT; field++)
		nearest_offer(&nearest, field_word((enum field)field));
	for (i = 0; i < N_EXTRAS; i++)
		nearest_offer(&nearest, extras[i].name);
	if (nearest.best)
		return err_set(err, ERR_INVALID, "'%.60s' is no fact; did you mean '%s'?", key,
			nearest.best);
	return err_set(err, ERR_INVALID,
		"'%.60s' is no fact; policy/README.md lists those that there are", key);
}

bool given_set(struct given *given, const char *key, const char *value, struct err *err)
{
	enum field field = field_parse(key);
	size_t i;

	for (i = 0; i < N_EXTRAS && !field; i++) {
		if (strcmp(extras[i].name, key) != 0)
			continue;
		return extras[i].set(given, value, err) || err_prefix(err, "%s", key);
	}
	if (!field)
		return unknown_key(key, err);
	return set_field(given, field, value, err) || err_prefix(err, "%s", key);
}

static int64_t full_redundancy(const struct array_facts *array)
{
	switch (array->level) {
	case MD_LEVEL_RAID6:
		return 2;
	case MD_LEVEL_RAID1:
	case MD_LEVEL_RAID4:
	case MD_LEVEL_RAID5:
	case MD_LEVEL_RAID10:
	case MD_LEVEL_RAIDF1:
		return 1;
	case MD_LEVEL_NONE:
	case MD_LEVEL_UNKNOWN:
	case MD_LEVEL_LINEAR:
	case MD_LEVEL_RAID0:
	case MD_LEVEL_MULTIPATH:
	case MD_LEVEL_FAULTY:
	case MD_LEVEL_CONTAINER:
		break;
	}
	return 0;
}

/* Missing disks, redundancy and health each follow from the others, and from a recovery. */
static void finish_redundancy(
	struct array_facts *array, uint64_t known, bool missing_given, int64_t full)
{
	bool health = known & UINT64_C(1) << FIELD_HEALTH;
	bool left = known & UINT64_C(1) << FIELD_REDUNDANCY_LEFT;

	if (!missing_given && left)
		array->missing =
			OPT(array->redundancy_left.v < full ? full - array->redundancy_left.v : 0);
	else if (!missing_given)
		array->missing = OPT(array->operation == MD_OP_RECOVERY ||
			(health && array->health == MD_HEALTH_DEGRADED));
	if (!left)
		array->redundancy_left = OPT(array->missing.v < full ? full - array->missing.v : 0);
	if (health)
		return;
	if (array->missing.v)
		array->health = array->missing.v > full ? MD_HEALTH_FAILED : MD_HEALTH_DEGRADED;
	else
		array->health = full ? MD_HEALTH_OPTIMAL : MD_HEALTH_NO_REDUNDANCY;
}

static enum md_sync_state sync_state_of(enum md_operation operation)
{
	switch (operation) {
	case MD_OP_RECOVERY:
	case MD_OP_RESYNC:
	case MD_OP_RESHAPE:
	case MD_OP_CHECK:
	case MD_OP_REPAIR:
		return MD_SYNC_RUNNING;
	case MD_OP_DELAYED:
		return MD_SYNC_DELAYED;
	case MD_OP_PENDING:
		return MD_SYNC_PENDING;
	case MD_OP_REMOTE:
		return MD_SYNC_REMOTE;
	case MD_OP_NONE:
	case MD_OP_UNKNOWN:
		return MD_SYNC_UNKNOWN;
	case MD_OP_IDLE:
	case MD_OP_FROZEN:
		break;
	}
	return MD_SYNC_NONE;
}

static void finish_array(
	struct array_facts *array, uint64_t known, bool missing_given, const struct moment *now)
{
	bool gone = array->health == MD_HEALTH_ABSENT || array->health == MD_HEALTH_INACTIVE;

	if (gone && !(known & UINT64_C(1) << FIELD_OPERATION))
		array->operation = MD_OP_UNKNOWN;
	if (!(known & UINT64_C(1) << FIELD_SYNC_STATE))
		array->sync_state = sync_state_of(array->operation);
	if (!gone)
		finish_redundancy(array, known, missing_given, full_redundancy(array));
	if (array->operation == MD_OP_IDLE)
		array->calm_since_ms = OPT(now->boot_ms - MS_DAY);
	else
		array->operation_since_ms = OPT(now->boot_ms - MS_HOUR);
	array->done = array->operation == MD_OP_IDLE && !gone && array->missing.v == 0;
}

static void finish_sensor(struct given *given)
{
	struct nas_facts *facts = &given->in->facts;
	int64_t boot = given->in->now.boot_ms;
	int64_t blind = given->blind_ms.known ? given->blind_ms.v : MS_MINUTE;

	snprintf(facts->name, sizeof(facts->name), "%s", given->in->mapping.nas);
	facts->read_at_ms = OPT(boot);
	if (facts->sensor == SENSOR_OK)
		return;
	facts->blind_since_ms = OPT(blind < boot ? boot - blind : 0);
	facts->read_at_ms = facts->blind_since_ms;
	if (facts->sensor == SENSOR_NEVER) {
		facts->read_at_ms = OPT_NONE;
		facts->n_arrays = 0;
	}
}

/* What held the job so far: the rule named, or the one that would hold it now. */
static bool finish_hold(struct given *given, const struct policy *policy, struct err *err)
{
	struct ticket_view *ticket = &given->in->ticket;
	struct decision *now;
	const struct rule *rule;

	if (!given->held_ms.known && !given->held_by[0])
		return true;
	now = calloc(1, sizeof(*now));
	if (!now)
		return err_nomem(err);
	decide(policy, given->in, now, NULL);
	rule = given->held_by[0] ? policy_rule(policy, given->held_by) : NULL;
	if (given->held_by[0] && !rule)
		err_set(err, ERR_INVALID, "held_by: the policy has no rule '%s'", given->held_by);
	if (rule) {
		snprintf(ticket->hold_rule, sizeof(ticket->hold_rule), "%s", rule->name);
		ticket->hold_step = rule->on_sensor ? 4 : 5;
	} else if (now->base_holds) {
		memcpy(ticket->hold_rule, now->hold_rule, sizeof(ticket->hold_rule));
		ticket->hold_step = now->hold_step;
	}
	if (ticket->hold_step == 4)
		ticket->hold_blind_ms = given->blind_ms.known ? given->blind_ms : OPT(MS_MINUTE);
	ticket->id = 1;
	ticket->was_held = true;
	ticket->held_ms = given->held_ms.v;
	free(now);
	return rule || !given->held_by[0];
}

static void finish_guests(struct request *request)
{
	if (request->phase != PHASE_BACKUP_START || !request->n_guests)
		return;
	request->guest = request->guests[0];
	if (request->n_guests == 1)
		request->n_guests = 0;
}

bool given_finish(struct given *given, const struct policy *policy, struct err *err)
{
	struct inputs *in = given->in;
	size_t i;

	for (i = 0; i < in->facts.n_arrays; i++)
		finish_array(&in->facts.arrays[i], given->known[i], given->missing[i], &in->now);
	finish_sensor(given);
	finish_guests(&in->request);
	if (in->request.next_start_utc_ms.known)
		in->request.next_start_utc_ms.v += in->now.utc_ms;
	return finish_hold(given, policy, err);
}
