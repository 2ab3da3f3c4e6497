// SPDX-License-Identifier: MIT
/* What follows from the facts that were given. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/given_parts.h"

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
