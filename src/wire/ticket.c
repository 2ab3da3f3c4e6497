// SPDX-License-Identifier: MIT
#include <string.h>

#include "wire/part.h"
#include "wire/wire.h"

#define MEMBER(name)                                                                               \
	{                                                                                          \
#name, offsetof(struct ticket, name)                                               \
	}

/* Points in boot time: these move when the ticket is read in another boot. */
static const struct opt_member points[] = {
	MEMBER(held_boot_ms),
	MEMBER(released_boot_ms),
	MEMBER(running_boot_ms),
	MEMBER(ended_boot_ms),
	MEMBER(clear_boot_ms),
	MEMBER(recheck_boot_ms),
};

int64_t ticket_held_ms(const struct ticket *ticket, const struct moment *now)
{
	int64_t end = now->boot_ms;

	if (!ticket->held_boot_ms.known)
		return ticket->held_before_ms;
	if (ticket->released_boot_ms.known)
		end = ticket->released_boot_ms.v;
	else if (ticket->ended_boot_ms.known)
		end = ticket->ended_boot_ms.v;
	if (end < ticket->held_boot_ms.v)
		end = ticket->held_boot_ms.v;
	return ticket->held_before_ms + end - ticket->held_boot_ms.v;
}

static struct opt running_ms(const struct ticket *ticket, const struct moment *now)
{
	int64_t end = ticket->ended_boot_ms.known ? ticket->ended_boot_ms.v : now->boot_ms;

	return ticket->running_boot_ms.known ? OPT(end - ticket->running_boot_ms.v) : OPT_NONE;
}

static struct opt ends_utc_ms(const struct ticket *ticket, const struct moment *now)
{
	const struct opt *in = &ticket->last.ends_in_ms;

	return in->known ? OPT(now->utc_ms + in->v) : OPT_NONE;
}

json_t *wire_ticket(const struct ticket *ticket, const struct moment *now)
{
	const struct request *request = &ticket->request;
	const struct decision *last = &ticket->last;
	uint32_t guest = ticket->guest ? ticket->guest : request->guest;
	json_t *object = json_object();

	return part_done(object,
		object && json_put_int(object, "ticket", ticket->id) &&
			json_put_text(object, "state", ticket_state_word(ticket->state)) &&
			json_put_text(object, "client", client_word(request->client)) &&
			json_put_text(object, "phase", phase_word(request->phase)) &&
			json_put_text(object, "storage", request->storage) &&
			json_put_text(object, "nas", ticket->nas) &&
			json_put_text(object, "node", request->node) &&
			json_put_opt(object, "guest", guest ? OPT(guest) : OPT_NONE) &&
			json_put_text(object, "upid", ticket->upid) &&
			json_put_text(object, "job_id", ticket->job_id) &&
			json_put_text(object, "command", ticket->command) &&
			json_put_int(object, "asked_utc_ms", ticket->asked_utc_ms) &&
			json_put_int(object, "held_ms", ticket_held_ms(ticket, now)) &&
			json_put_opt(object, "running_ms", running_ms(ticket, now)) &&
			json_put_text(object, "act", verdict_word(last->act)) &&
			json_put_text(object, "rule", last->rule) &&
			json_put(object, "reasons", wire_reasons(last)) &&
			json_put_opt(object, "ends_in_ms", last->ends_in_ms) &&
			json_put_opt(object, "ends_utc_ms", ends_utc_ms(ticket, now)) &&
			json_put_text(object, "then", verdict_word(last->then)) &&
			json_put_text(object, "then_act", verdict_word(last->then_act)) &&
			json_put_opt(object, "expected_ms", last->expected_ms) &&
			json_put_opt(object, "protect_ppm",
				last->protect_ppm ? OPT(last->protect_ppm) : OPT_NONE) &&
			json_put_text(object, "released_by", ticket->release_by) &&
			json_put_text(object, "release_reason", ticket->release_reason) &&
			json_put_int(object, "decision", ticket->last_decision_id));
}

static bool state_put(json_t *object, const struct ticket *ticket)
{
	return json_put_int(object, "ticket", ticket->id) &&
		json_put_text(object, "state", ticket_state_word(ticket->state)) &&
		json_put(object, "request", wire_request(&ticket->request)) &&
		json_put(object, "worker", wire_worker(&ticket->worker)) &&
		json_put_text(object, "upid", ticket->upid) &&
		json_put_text(object, "job_id", ticket->job_id) &&
		json_put_text(object, "command", ticket->command) &&
		json_put_int(object, "asked_boot_ms", ticket->asked_boot_ms) &&
		json_put_int(object, "asked_utc_ms", ticket->asked_utc_ms) &&
		json_put_int(object, "seen_boot_ms", ticket->seen_boot_ms) &&
		part_put_opts(object, points, PART_COUNT(points), ticket, false) &&
		json_put_int(object, "held_before_ms", ticket->held_before_ms) &&
		json_put_int(object, "recheck_used_ms", ticket->recheck_used_ms) &&
		json_put_bool(object, "release_asked", ticket->release_asked) &&
		json_put_text(object, "release_by", ticket->release_by) &&
		json_put_text(object, "release_reason", ticket->release_reason) &&
		json_put_bool(object, "expired", ticket->expired) &&
		json_put_text(object, "expired_to", verdict_word(ticket->expired_to)) &&
		json_put_text(object, "hold_rule", ticket->hold_rule) &&
		json_put_int(object, "hold_step", ticket->hold_step) &&
		json_put_opt(object, "hold_blind_ms", ticket->hold_blind_ms) &&
		json_put_bool(object, "only_restore", ticket->only_restore) &&
		json_put_opt(object, "too_slow_ppm", ticket->too_slow_ppm) &&
		json_put_bool(object, "slot", ticket->slot) &&
		json_put_bool(object, "took_queue", ticket->took_queue) &&
		json_put_text(object, "nas", ticket->nas) &&
		json_put(object, "last", wire_decision(&ticket->last)) &&
		json_put_int(object, "last_decision_id", ticket->last_decision_id) &&
		json_put_int(object, "guest", ticket->guest);
}

json_t *wire_ticket_state(
	const struct ticket *ticket, const struct moment *now, const char *boot_id)
{
	json_t *object = json_object();

	return part_done(object,
		object && state_put(object, ticket) && json_put_text(object, "boot_id", boot_id) &&
			json_put_int(object, "at_boot_ms", now->boot_ms) &&
			json_put_int(object, "at_utc_ms", now->utc_ms));
}

static bool texts_read(const json_t *value, struct ticket *ret, struct err *err)
{
	return json_may_copy(value, "upid", ret->upid, sizeof(ret->upid), err) &&
		json_may_copy(value, "job_id", ret->job_id, sizeof(ret->job_id), err) &&
		json_may_copy(value, "command", ret->command, sizeof(ret->command), err) &&
		json_may_copy(value, "release_by", ret->release_by, sizeof(ret->release_by), err) &&
		json_may_copy(value, "release_reason", ret->release_reason,
			sizeof(ret->release_reason), err) &&
		json_may_copy(value, "hold_rule", ret->hold_rule, sizeof(ret->hold_rule), err) &&
		json_may_copy(value, "nas", ret->nas, sizeof(ret->nas), err);
}

static bool numbers_read(const json_t *value, struct ticket *ret, struct err *err)
{
	int64_t hold_step = 0, guest = 0;

	if (!json_get_int(value, "ticket", 1, INT64_MAX, &ret->id, err) ||
		!json_get_int(
			value, "asked_boot_ms", INT64_MIN, INT64_MAX, &ret->asked_boot_ms, err) ||
		!json_get_int(
			value, "asked_utc_ms", INT64_MIN, INT64_MAX, &ret->asked_utc_ms, err) ||
		!json_get_int(
			value, "seen_boot_ms", INT64_MIN, INT64_MAX, &ret->seen_boot_ms, err) ||
		!json_get_int(
			value, "held_before_ms", INT64_MIN, INT64_MAX, &ret->held_before_ms, err) ||
		!json_get_int(value, "recheck_used_ms", INT64_MIN, INT64_MAX, &ret->recheck_used_ms,
			err) ||
		!json_get_int(value, "hold_step", 0, 8, &hold_step, err) ||
		!json_may_opt(value, "hold_blind_ms", &ret->hold_blind_ms, err) ||
		!json_may_opt(value, "too_slow_ppm", &ret->too_slow_ppm, err) ||
		!json_get_int(
			value, "last_decision_id", 0, INT64_MAX, &ret->last_decision_id, err) ||
		!json_get_int(value, "guest", 0, UINT32_MAX, &guest, err))
		return false;
	ret->hold_step = (int)hold_step;
	ret->guest = (uint32_t)guest;
	return part_get_opts(value, points, PART_COUNT(points), ret, err);
}

static bool flags_read(const json_t *value, struct ticket *ret, struct err *err)
{
	return json_get_bool(value, "release_asked", &ret->release_asked, err) &&
		json_may_bool(value, "only_restore", &ret->only_restore, err) &&
		json_get_bool(value, "expired", &ret->expired, err) &&
		json_get_bool(value, "slot", &ret->slot, err) &&
		json_get_bool(value, "took_queue", &ret->took_queue, err) &&
		PART_GET_ENUM(value, "state", ticket_state_parse, &ret->state, err) &&
		PART_GET_ENUM(value, "expired_to", verdict_parse, &ret->expired_to, err);
}

/* Wraps where a record that somebody edited would overflow. */
static int64_t moved(int64_t point_ms, int64_t by_ms)
{
	return (int64_t)((uint64_t)point_ms + (uint64_t)by_ms);
}

static void points_move(struct ticket *ticket, int64_t by_ms)
{
	size_t i;

	ticket->asked_boot_ms = moved(ticket->asked_boot_ms, by_ms);
	ticket->seen_boot_ms = moved(ticket->seen_boot_ms, by_ms);
	for (i = 0; i < PART_COUNT(points); i++) {
		struct opt *v = (struct opt *)(void *)((char *)ticket + points[i].offset);

		if (v->known)
			v->v = moved(v->v, by_ms);
	}
}

bool wire_ticket_state_read(const json_t *value, const struct moment *now, const char *boot_id,
	struct ticket *ret, struct err *err)
{
	const json_t *request = NULL, *worker = NULL, *last = NULL;
	const char *written_in = NULL;
	int64_t at_boot = 0, at_utc = 0;

	memset(ret, 0, sizeof(*ret));
	if (!part_is_object(value, "a ticket", err) ||
		!part_get_object(value, "request", &request, err) ||
		!part_get_object(value, "worker", &worker, err) ||
		!part_get_object(value, "last", &last, err) || !texts_read(value, ret, err) ||
		!numbers_read(value, ret, err) || !flags_read(value, ret, err) ||
		!wire_request_read(request, &ret->request, err) ||
		!wire_worker_read(worker, &ret->worker, err) ||
		!wire_decision_read(last, &ret->last, err) ||
		!json_may_text(value, "boot_id", &written_in, err) ||
		!json_get_int(value, "at_boot_ms", -(INT64_C(1) << 60), INT64_C(1) << 60, &at_boot,
			err) ||
		!json_get_int(
			value, "at_utc_ms", -(INT64_C(1) << 60), INT64_C(1) << 60, &at_utc, err))
		return false;
	if (!written_in || !boot_id || !*boot_id || strcmp(written_in, boot_id) != 0)
		points_move(ret, (now->boot_ms - now->utc_ms) - (at_boot - at_utc));
	return true;
}
