// SPDX-License-Identifier: MIT
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core_policy.h"
#include "wire/wire.h"

#define ROUNDS 2000

/* xorshift: the same numbers in each run. */
static uint64_t seed = UINT64_C(88172645463325252);

static int64_t pick(int64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (int64_t)(seed % (uint64_t)n);
}

static struct opt pick_opt(void)
{
	return pick(3) ? OPT(pick(1000000) - 1000) : OPT_NONE;
}

static void pick_text(char *text, size_t size)
{
	static const char *const parts[] = {
		"a", "md2", "\xc3\xa4", "\xe6\x97\xa5", "\"", "\\", "/", " "};
	size_t len = 0, n = (size_t)pick((int64_t)size);

	text[0] = '\0';
	while (len + 3 < n)
		len += (size_t)snprintf(text + len, size - len, "%s", parts[pick(8)]);
}

static json_t *through_text(json_t *value)
{
	char *text = json_text(value, 0);
	json_t *back;

	assert_non_null(text);
	back = json_read(text, strlen(text), NULL);
	assert_non_null(back);
	json_decref(value);
	free(text);
	return back;
}

static void pick_array(struct array_facts *array, int number)
{
	struct opt *numbers = &array->raid_disks;
	size_t i,
		n = (sizeof(*array) - offsetof(struct array_facts, raid_disks)) / sizeof(*numbers);

	snprintf(array->name, sizeof(array->name), "md%d", number);
	array->role = 1 + (enum md_role)pick(3);
	array->level = 1 + (enum md_level)pick(12);
	array->operation = 1 + (enum md_operation)pick(11);
	array->sync_state = 1 + (enum md_sync_state)pick(6);
	array->health = 1 + (enum md_health)pick(9);
	array->empty_slots = pick(2);
	array->done = pick(2);
	for (i = 0; i < n; i++)
		numbers[i] = pick_opt();
}

static void pick_override(struct override *override)
{
	memset(override, 0, sizeof(*override));
	override->id = pick(100);
	override->verdict = 1 + (enum verdict)pick(4);
	override->ticket = pick(3);
	override->guest = (uint32_t)pick(3) * 100;
	if (pick(2))
		pick_text(override->storage, sizeof(override->storage));
	if (pick(2))
		pick_text(override->node, sizeof(override->node));
	strcpy(override->nas, pick(2) ? "nas1" : "");
	override->created_utc_ms = pick(1000);
	override->until_utc_ms = pick(2) ? 1000 : 1900000000000;
	pick_text(override->by, sizeof(override->by));
	strcpy(override->reason, "because");
}

static void pick_request(struct request *request)
{
	size_t i;

	request->client = (enum client)pick(5);
	request->phase = (enum phase)pick(4);
	pick_text(request->storage, sizeof(request->storage));
	pick_text(request->node, sizeof(request->node));
	request->guest = (uint32_t)pick(4000000000);
	request->guest_type = (enum guest_type)pick(3);
	request->mode = (enum backup_mode)pick(4);
	request->n_guests = (size_t)pick(REQUEST_MAX_GUESTS + 1);
	for (i = 0; i < request->n_guests; i++)
		request->guests[i] = 1 + (uint32_t)pick(999999999);
	request->n_qemu = pick_opt();
	request->next_start_utc_ms = pick(2) ? OPT(1790000000000 + pick(200000000)) : pick_opt();
	request->backup_age_ms = pick_opt();
}

static void pick_inputs(struct inputs *in)
{
	size_t i;

	memset(in, 0, sizeof(*in));
	pick_request(&in->request);
	strcpy(in->mapping.nas, pick(8) ? "nas1" : "");
	in->mapping.n_arrays = (size_t)pick(4);
	for (i = 0; i < in->mapping.n_arrays; i++)
		snprintf(in->mapping.arrays[i], MD_NAME_MAX, "md%zu", i);
	in->lever = pick(2);
	in->readers = pick(3) ? OPT(pick(3)) : OPT_NONE;
	in->predicted_ms = pick(2) ? OPT(pick(400000000)) : OPT_NONE;
	strcpy(in->facts.name, "nas1");
	in->facts.sensor = 1 + (enum nas_sensor)(pick(2) ? 0 : pick(14));
	pick_text(in->facts.sensor_text, sizeof(in->facts.sensor_text));
	in->facts.read_at_ms = pick_opt();
	in->facts.blind_since_ms = pick_opt();
	in->facts.load_x100 = pick_opt();
	in->facts.n_arrays = (size_t)pick(6);
	for (i = 0; i < in->facts.n_arrays; i++)
		pick_array(&in->facts.arrays[i], (int)i);
	in->ticket = (struct ticket_view){.id = pick(3),
		.was_held = pick(2),
		.only_restore = pick(3) == 0,
		.released = pick(2),
		.release_asked = pick(8) == 0,
		.expired = pick(4) == 0,
		.expired_to = (enum verdict)pick(5),
		.held_ms = pick(40000000),
		.recheck_ms = pick(1000000),
		.clear_ms = pick_opt(),
		.hold_step = (int)pick(6),
		.hold_blind_ms = pick_opt(),
		.too_slow_ppm = pick(3) ? OPT_NONE : OPT(pick(2) * 500000)};
	strcpy(in->ticket.hold_rule, pick(2) ? "rebuild" : "");
	in->queue = (struct queue_view){.ahead = pick(3),
		.running_nas = pick(3),
		.running_node = pick(2),
		.since_release_ms = pick_opt(),
		.backlog = pick(3)};
	in->n_overrides = (size_t)pick(4);
	for (i = 0; i < in->n_overrides; i++)
		pick_override(&in->overrides[i]);
	in->now = (struct moment){pick(100000000), 1790000000000 + pick(100000000), 3600};
}

static char *text_of(const struct decision *decision)
{
	json_t *value = wire_decision(decision);
	char *text = json_text(value, 0);

	json_decref(value);
	assert_non_null(text);
	return text;
}

static void same(const struct decision *a, const struct decision *b)
{
	char *one = text_of(a), *two = text_of(b);

	assert_string_equal(one, two);
	free(one);
	free(two);
}

/* decide() from what was read says what decide() said, to the last letter. */
static void inputs_decide_the_same_again(void **state)
{
	struct inputs *in = calloc(1, sizeof(*in)), *back = calloc(1, sizeof(*back));
	struct made_policy made;
	struct decision first, second;
	struct err err = {0};
	int round, steps[9] = {0}, reasons[REASON_COUNT] = {0}, relaxed = 0;
	size_t i;

	(void)state;
	made_policy(&made);
	made.rules[RULE_REBUILD].set.hold_to_rpo = true;
	made.rules[RULE_REBUILD].set.rpo_ms = OPT(500000);
	made.rules[RULE_CHECK].set.too_slow = TOO_SLOW_HOLD;
	made.rules[RULE_DELAYED].set.too_slow = TOO_SLOW_ALLOW;
	for (round = 0; round < ROUNDS; round++) {
		json_t *value;

		pick_inputs(in);
		decide(&made.policy, in, &first, NULL);
		value = through_text(wire_inputs(in));
		if (!wire_inputs_read(value, back, &err))
			fail_msg("%s", err.text);
		json_decref(value);
		assert_memory_equal(&in->queue, &back->queue, sizeof(in->queue));
		assert_memory_equal(&in->ticket, &back->ticket, sizeof(in->ticket));
		assert_memory_equal(&in->overrides, &back->overrides, sizeof(in->overrides));
		assert_memory_equal(&in->now, &back->now, sizeof(in->now));
		decide(&made.policy, back, &second, NULL);
		same(&first, &second);
		value = through_text(wire_decision(&first));
		if (!wire_decision_read(value, &second, &err))
			fail_msg("%s", err.text);
		json_decref(value);
		same(&first, &second);
		steps[first.step]++;
		for (i = 0; i < first.n_reasons; i++)
			reasons[first.reasons[i].code]++;
		relaxed += first.protect_ppm > 0 && first.protect_ppm < 800000;
	}
	if (!reasons[REASON_RESTORE] || !reasons[REASON_RPO] || !reasons[REASON_TOO_SLOW] ||
		!reasons[REASON_AGE] || !relaxed)
		fail_msg("restore %d, rpo %d, too-slow %d, age %d, relaxed %d",
			reasons[REASON_RESTORE], reasons[REASON_RPO], reasons[REASON_TOO_SLOW],
			reasons[REASON_AGE], relaxed);
	/* Steps 2 to 7 were all among them. */
	for (round = 2; round <= 7; round++) {
		if (!steps[round])
			fail_msg("no decision in step %d", round);
	}
	free(in);
	free(back);
}

/* What is not covered by the mapping is not recorded, all else is exact. */
static void inputs_are_cut_to_the_mapped_arrays(void **state)
{
	struct inputs *in = calloc(1, sizeof(*in)), *back = calloc(1, sizeof(*back));
	struct err err = {0};
	json_t *value;

	(void)state;
	pick_inputs(in);
	in->facts.n_arrays = 6;
	pick_array(&in->facts.arrays[5], 5);
	in->mapping.n_arrays = 1;
	strcpy(in->mapping.arrays[0], "md5");
	value = through_text(wire_inputs(in));
	assert_true(wire_inputs_read(value, back, &err));
	assert_int_equal(back->facts.n_arrays, 1);
	assert_memory_equal(
		&back->facts.arrays[0], &in->facts.arrays[5], sizeof(struct array_facts));
	json_decref(value);
	free(in);
	free(back);
}

static void facts_and_requests_come_back_exactly(void **state)
{
	struct inputs *in = calloc(1, sizeof(*in)), *back = calloc(1, sizeof(*back));
	int round;

	(void)state;
	for (round = 0; round < ROUNDS; round++) {
		json_t *value;

		pick_inputs(in);
		memset(back, 0, sizeof(*back));
		value = through_text(wire_facts(&in->facts));
		assert_true(wire_facts_read(value, &back->facts, NULL));
		assert_memory_equal(&in->facts, &back->facts, sizeof(in->facts));
		json_decref(value);
		value = through_text(wire_request(&in->request));
		assert_true(wire_request_read(value, &back->request, NULL));
		assert_memory_equal(&in->request, &back->request, sizeof(in->request));
		json_decref(value);
		value = through_text(wire_mapping(&in->mapping));
		assert_true(wire_mapping_read(value, &back->mapping, NULL));
		assert_memory_equal(&in->mapping, &back->mapping, sizeof(in->mapping));
		json_decref(value);
		pick_override(&in->overrides[0]);
		value = through_text(wire_override(&in->overrides[0]));
		assert_true(wire_override_read(value, &back->overrides[0], NULL));
		assert_memory_equal(
			&in->overrides[0], &back->overrides[0], sizeof(struct override));
		json_decref(value);
	}
	free(in);
	free(back);
}

static void pick_ticket(struct ticket *ticket)
{
	memset(ticket, 0, sizeof(*ticket));
	ticket->id = 1 + pick(100);
	ticket->state = 1 + (enum ticket_state)pick(7);
	pick_request(&ticket->request);
	ticket->worker = (struct worker){.pid = pick(40000), .start_ticks = pick(40000)};
	strcpy(ticket->worker.boot_id, pick(2) ? "boot" : "");
	pick_text(ticket->upid, sizeof(ticket->upid));
	pick_text(ticket->job_id, sizeof(ticket->job_id));
	pick_text(ticket->command, sizeof(ticket->command));
	ticket->asked_boot_ms = pick(5000);
	ticket->asked_utc_ms = pick(5000);
	ticket->seen_boot_ms = pick(5000);
	ticket->held_boot_ms = pick_opt();
	ticket->held_before_ms = pick(5000);
	ticket->released_boot_ms = pick_opt();
	ticket->running_boot_ms = pick_opt();
	ticket->ended_boot_ms = pick_opt();
	ticket->clear_boot_ms = pick_opt();
	ticket->recheck_boot_ms = pick_opt();
	ticket->recheck_used_ms = pick(5000);
	ticket->release_asked = pick(2);
	pick_text(ticket->release_by, sizeof(ticket->release_by));
	pick_text(ticket->release_reason, sizeof(ticket->release_reason));
	ticket->expired = pick(2);
	ticket->expired_to = (enum verdict)pick(5);
	pick_text(ticket->hold_rule, sizeof(ticket->hold_rule));
	ticket->hold_step = (int)pick(6);
	ticket->hold_blind_ms = pick_opt();
	ticket->only_restore = pick(2);
	ticket->too_slow_ppm = pick_opt();
	ticket->last.protect_ppm = pick(1000001);
	ticket->last.too_slow_ppm = pick_opt();
	ticket->slot = pick(2);
	ticket->took_queue = pick(2);
	pick_text(ticket->nas, sizeof(ticket->nas));
	ticket->last.verdict = ticket->last.would_be = ticket->last.act = (enum verdict)pick(5);
	ticket->last.n_reasons = 1;
	ticket->last.reasons[0].code = REASON_RULE;
	ticket->last.ends_in_ms = pick_opt();
	ticket->last_decision_id = pick(5000);
	ticket->guest = (uint32_t)pick(5000);
}

static void a_ticket_comes_back_exactly_within_a_boot(void **state)
{
	struct ticket *ticket = calloc(1, sizeof(*ticket)), *back = calloc(1, sizeof(*back));
	struct moment then = {.boot_ms = 5000, .utc_ms = 1790000000000};
	struct moment now = {.boot_ms = 9000, .utc_ms = 1790003600000}; /* the clock stepped */
	struct err err = {0};
	int round;

	(void)state;
	for (round = 0; round < ROUNDS; round++) {
		json_t *value;

		pick_ticket(ticket);
		value = through_text(wire_ticket_state(ticket, &then, "boot-1"));
		if (!wire_ticket_state_read(value, &now, "boot-1", back, &err))
			fail_msg("%s", err.text);
		assert_memory_equal(ticket, back, sizeof(*ticket));
		json_decref(value);
	}
	free(ticket);
	free(back);
}

static void a_ticket_of_an_earlier_boot_is_moved_by_utc(void **state)
{
	struct ticket *ticket = calloc(1, sizeof(*ticket)), *back = calloc(1, sizeof(*back));
	struct moment then = {.boot_ms = 500000, .utc_ms = 1790000500000};
	struct moment now = {.boot_ms = 60000, .utc_ms = 1790000600000}; /* 100 s later, booted */
	json_t *value;

	(void)state;
	pick_ticket(ticket);
	ticket->held_boot_ms = OPT(200000); /* 300 s before `then` */
	ticket->released_boot_ms = OPT_NONE;
	ticket->ended_boot_ms = OPT_NONE;
	ticket->held_before_ms = 0;
	ticket->seen_boot_ms = 500000;
	value = through_text(wire_ticket_state(ticket, &then, "boot-1"));
	assert_true(wire_ticket_state_read(value, &now, "boot-2", back, NULL));
	assert_int_equal(back->seen_boot_ms, -40000);
	assert_false(back->released_boot_ms.known);
	assert_int_equal(ticket_held_ms(back, &now), 400000);
	json_decref(value);
	free(ticket);
	free(back);
}

static void a_held_time_ends_when_the_job_is_let_go(void **state)
{
	struct moment now = {.boot_ms = 9000};
	struct ticket ticket = {.held_before_ms = 100};

	(void)state;
	assert_int_equal(ticket_held_ms(&ticket, &now), 100);
	ticket.held_boot_ms = OPT(4000);
	assert_int_equal(ticket_held_ms(&ticket, &now), 5100);
	ticket.released_boot_ms = OPT(6000);
	assert_int_equal(ticket_held_ms(&ticket, &now), 2100);
	ticket.released_boot_ms = OPT_NONE;
	ticket.ended_boot_ms = OPT(5000);
	assert_int_equal(ticket_held_ms(&ticket, &now), 1100);
}

static void shown_facts_have_spans_and_nulls(void **state)
{
	struct nas_facts *facts = calloc(1, sizeof(*facts));
	struct moment now = {.boot_ms = 10000};
	const json_t *array;
	json_t *value;

	(void)state;
	strcpy(facts->name, "nas1");
	facts->sensor = SENSOR_OK;
	facts->read_at_ms = OPT(4000);
	facts->n_arrays = 1;
	facts->arrays[0] = made_array("md2", MD_OP_RECOVERY);
	facts->arrays[0].operation_since_ms = OPT(1000);
	value = wire_facts_show(facts, &now);
	assert_int_equal(json_integer_value(json_object_get(value, "age_ms")), 6000);
	assert_true(json_is_null(json_object_get(value, "blind_ms")));
	array = json_array_get(json_object_get(value, "arrays"), 0);
	assert_int_equal(json_integer_value(json_object_get(array, "operation_ms")), 9000);
	assert_true(json_is_null(json_object_get(array, "rate")));
	assert_string_equal(json_string_value(json_object_get(array, "operation")), "recovery");
	json_decref(value);
	free(facts);
}

/* Each change of one member of good inputs makes them bad, and the sentence names it. */
static void what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *path, *member, *json;
	} cases[] = {
		{"", "request", NULL},
		{"", "facts", "[]"},
		{"", "overrides", "7"},
		{"", "lever", "1"},
		{"", "now", NULL},
		{"request", "client", "\"nobody\""},
		{"request", "phase", NULL},
		{"request", "guest", "-1"},
		{"request", "guests", "[0]"},
		{"request", "guests", "[\"100\"]"},
		{"request", "storage", "5"},
		{"mapping", "arrays", "[\"\"]"},
		{"facts", "sensor", "\"fine\""},
		{"facts", "sensor", NULL},
		{"facts", "arrays", NULL},
		{"ticket", "held_ms", "1.5"},
		{"ticket", "hold_step", "9"},
		{"ticket", "expired_to", "\"maybe\""},
		{"queue", "ahead", "-1"},
		{"now", "utc_offset_s", "100000"},
	};
	struct inputs *in = calloc(1, sizeof(*in));
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = {0};
		json_t *value, *inner;

		pick_inputs(in);
		value = wire_inputs(in);
		inner = *cases[i].path ? json_object_get(value, cases[i].path) : value;
		if (cases[i].json)
			json_object_set_new(inner, cases[i].member,
				json_read(cases[i].json, strlen(cases[i].json), NULL));
		else
			json_object_del(inner, cases[i].member);
		if (wire_inputs_read(value, in, &err))
			fail_msg(
				"taken: %s.%s = %s", cases[i].path, cases[i].member, cases[i].json);
		if (!strstr(err.text, cases[i].member))
			fail_msg("'%s' does not name '%s'", err.text, cases[i].member);
		json_decref(value);
	}
	free(in);
}

static void unknown_members_are_ignored(void **state)
{
	static const char text[] = "{\"client\":\"run\",\"phase\":\"job-init\",\"storage\":\"s\","
				   "\"new\":{\"a\":[1]},\"guest\":null,\"guests\":null,"
				   "\"mode\":null}";
	json_t *value = json_read(text, strlen(text), NULL);
	struct request request;

	(void)state;
	assert_true(wire_request_read(value, &request, NULL));
	assert_int_equal(request.client, CLIENT_RUN);
	assert_string_equal(request.storage, "s");
	assert_int_equal(request.guest, 0);
	json_decref(value);
}

static void an_older_record_without_later_members_is_read(void **state)
{
	struct inputs *in = calloc(1, sizeof(*in)), *back = calloc(1, sizeof(*back));
	struct err err = {0};
	json_t *value;

	(void)state;
	assert_non_null(in);
	assert_non_null(back);
	pick_inputs(in);
	in->queue.backlog = 7;
	value = wire_inputs(in);
	assert_true(wire_inputs_read(value, back, &err));
	assert_int_equal(back->queue.backlog, 7);
	assert_int_equal(json_object_del(json_object_get(value, "queue"), "backlog"), 0);
	assert_true(wire_inputs_read(value, back, &err));
	assert_int_equal(back->queue.backlog, 0);
	assert_int_equal(back->queue.ahead, in->queue.ahead);
	json_decref(value);
	/* What is not known is not written: such a row has the form of an older one. */
	in->readers = in->predicted_ms = in->ticket.too_slow_ppm = in->request.n_qemu = OPT_NONE;
	value = wire_inputs(in);
	assert_null(json_object_get(value, "readers"));
	assert_null(json_object_get(value, "predicted_ms"));
	assert_null(json_object_get(json_object_get(value, "ticket"), "too_slow_ppm"));
	assert_null(json_object_get(json_object_get(value, "request"), "n_qemu"));
	memset(back, 0xff, sizeof(*back));
	assert_true(wire_inputs_read(value, back, &err));
	assert_false(back->readers.known || back->predicted_ms.known ||
		back->ticket.too_slow_ppm.known || back->request.n_qemu.known);
	json_decref(value);
	free(in);
	free(back);
}

static void what_is_no_object_is_refused(void **state)
{
	json_t *value = json_array();
	struct ticket *ticket = calloc(1, sizeof(*ticket));
	struct inputs *in = calloc(1, sizeof(*in));
	struct moment now = {0};

	(void)state;
	assert_false(wire_inputs_read(value, in, NULL));
	assert_false(wire_request_read(value, &in->request, NULL));
	assert_false(wire_facts_read(value, &in->facts, NULL));
	assert_false(wire_mapping_read(value, &in->mapping, NULL));
	assert_false(wire_override_read(value, &in->overrides[0], NULL));
	assert_false(wire_decision_read(value, &ticket->last, NULL));
	assert_false(wire_worker_read(value, &ticket->worker, NULL));
	assert_false(wire_ticket_state_read(value, &now, "", ticket, NULL));
	json_decref(value);
	free(ticket);
	free(in);
}

static void a_shown_ticket_has_the_apis_members(void **state)
{
	static const char *const members[] = {"ticket", "state", "client", "phase", "storage",
		"nas", "node", "guest", "upid", "job_id", "command", "asked_utc_ms", "held_ms",
		"running_ms", "act", "rule", "reasons", "ends_in_ms", "ends_utc_ms", "then",
		"then_act", "expected_ms", "protect_ppm", "released_by", "release_reason",
		"decision"};
	struct ticket *ticket = calloc(1, sizeof(*ticket));
	struct moment now = {.boot_ms = 5000, .utc_ms = 1790000000000};
	json_t *value;
	size_t i;

	(void)state;
	pick_ticket(ticket);
	ticket->last.ends_in_ms = OPT(500);
	value = wire_ticket(ticket, &now);
	assert_int_equal(json_object_size(value), sizeof(members) / sizeof(members[0]));
	for (i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		assert_non_null(json_object_get(value, members[i]));
	assert_int_equal(json_integer_value(json_object_get(value, "ends_utc_ms")), 1790000000500);
	json_decref(value);
	free(ticket);
}

/* From each of its allocations on jansson gets no memory: NULL or a sentence, never a crash or a
 * leak. */
static long allowed = LONG_MAX;

static void *failing_malloc(size_t size)
{
	return allowed > 0 && allowed-- ? malloc(size) : NULL;
}

static void no_memory_is_an_error(void **state)
{
	struct inputs *in = calloc(1, sizeof(*in));
	struct ticket *ticket = calloc(1, sizeof(*ticket));
	struct moment now = {0};
	json_t *value = NULL;
	long n;

	(void)state;
	json_set_alloc_funcs(failing_malloc, free);
	do {
		pick_inputs(in);
		in->facts.n_arrays = in->n_overrides = 1;
		pick_array(&in->facts.arrays[0], 0);
		in->mapping.n_arrays = 0;
		in->facts.arrays[0].role = MD_ROLE_DATA;
	} while (in->request.n_guests > 8);
	for (n = 0; !value; n++) {
		allowed = n;
		value = wire_inputs(in);
		assert_true(n < 5000);
	}
	assert_true(n > 50);
	json_decref(value);
	pick_ticket(ticket);
	ticket->request.n_guests = 0;
	for (n = 0, value = NULL; !value; n++) {
		allowed = n;
		value = wire_ticket_state(ticket, &now, "boot");
	}
	json_decref(value);
	for (n = 0, value = NULL; !value; n++) {
		allowed = n;
		value = wire_facts_show(&in->facts, &now);
	}
	json_decref(value);
	allowed = LONG_MAX;
	json_set_alloc_funcs(malloc, free);
	free(in);
	free(ticket);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inputs_decide_the_same_again),
		cmocka_unit_test(inputs_are_cut_to_the_mapped_arrays),
		cmocka_unit_test(facts_and_requests_come_back_exactly),
		cmocka_unit_test(a_ticket_comes_back_exactly_within_a_boot),
		cmocka_unit_test(a_ticket_of_an_earlier_boot_is_moved_by_utc),
		cmocka_unit_test(a_held_time_ends_when_the_job_is_let_go),
		cmocka_unit_test(shown_facts_have_spans_and_nulls),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(unknown_members_are_ignored),
		cmocka_unit_test(an_older_record_without_later_members_is_read),
		cmocka_unit_test(what_is_no_object_is_refused),
		cmocka_unit_test(a_shown_ticket_has_the_apis_members),
		cmocka_unit_test(no_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
