// SPDX-License-Identifier: MIT
/* decide() by a table that carries the numbers of its steps: each step, each boundary, both sides.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/override.h"
#include "core/reason.h"
#include "decide_rows.h"

static void set_policy(const struct row *row)
{
	struct rule_settings *set = &made.rules[RULE_REBUILD].set;

	made_policy(&made);
	made.policy.enabled = !row->off;
	made.policy.observe = row->observe;
	if (row->unmapped)
		made.policy.unmapped = row->unmapped;
	if (row->fallback)
		made.policy.fallback = row->fallback;
	if (row->default_without)
		made.policy.defaults.without_lever = row->default_without;
	set->observe = row->rule_observe;
	if (row->on_expiry)
		set->on_expiry = row->on_expiry;
	if (row->mid_job)
		set->mid_job = row->mid_job;
	if (row->max_hold.known)
		set->max_hold = OPT_NONE;
	if (row->max_running)
		set->max_running = row->max_running;
	/* NOW_UTC is 2026-11-30 00:53 UTC, a Monday. */
	made.window = (struct window){row->window_open ? 0x7f : 0x7e, 0, 0};
	if (row->window_open || row->window_shut) {
		set->release_windows = &made.window;
		set->n_release_windows = 1;
	}
}

static void set_facts(const struct row *row)
{
	struct nas_facts *facts = &in.facts;

	snprintf(facts->name, sizeof(facts->name), "nas1");
	facts->sensor = row->sensor ? row->sensor : SENSOR_OK;
	if (row->blind.known)
		facts->blind_since_ms = OPT(NOW_BOOT - row->blind.v);
	if (row->no_array)
		return;
	facts->arrays[0] = made_array("md0", RECOVERY);
	facts->arrays[0].role = MD_ROLE_SYSTEM;
	facts->arrays[1] = made_array("md2", row->op ? row->op : IDLE);
	facts->arrays[1].remaining_ms = row->remaining;
	if (row->health)
		facts->arrays[1].health = row->health;
	facts->n_arrays = 2;
	if (row->op2)
		facts->arrays[facts->n_arrays++] = made_array("md3", row->op2);
}

static void set_inputs(const struct row *row)
{
	struct request *request = &in.request;
	size_t i;

	memset(&in, 0, sizeof(in));
	set_facts(row);
	if (!row->no_nas)
		snprintf(in.mapping.nas, sizeof(in.mapping.nas), "nas1");
	if (row->missing)
		snprintf(in.mapping.arrays[in.mapping.n_arrays++], MD_NAME_MAX, "md2");
	if (row->missing || row->md9_only)
		snprintf(in.mapping.arrays[in.mapping.n_arrays++], MD_NAME_MAX, "md9");
	in.lever = row->lever;
	request->client = row->client ? row->client : CLIENT_VZDUMP;
	request->phase = row->phase ? row->phase : PHASE_JOB_INIT;
	snprintf(request->storage, sizeof(request->storage), "backup");
	snprintf(request->node, sizeof(request->node), "pve1");
	request->guest = row->guest;
	request->n_guests = row->guests;
	for (i = 0; i < row->guests; i++)
		request->guests[i] = (uint32_t)(100 + i);
	if (row->next_start.known)
		request->next_start_utc_ms = OPT(NOW_UTC + row->next_start.v);
	in.ticket = row->ticket;
	in.queue = row->queue;
	for (i = 0; i < COUNT(row->o) && row->o[i].id; i++)
		in.overrides[in.n_overrides++] = row->o[i];
	in.now = (struct moment){NOW_BOOT, NOW_UTC, 0};
	if (row->tweak)
		row->tweak();
}

static void same_opt(const struct row *row, const char *what, struct opt got_opt, struct opt want)
{
	if (got_opt.known != want.known || got_opt.v != want.v)
		fail_msg("%d %s: %s is %d/%lld, not %d/%lld", row->about, row->name, what,
			got_opt.known, (long long)got_opt.v, want.known, (long long)want.v);
}

static void same_number(const struct row *row, const char *what, int64_t got_n, int64_t want)
{
	if (got_n != want)
		fail_msg("%d %s: %s is %lld, not %lld (%s)", row->about, row->name, what,
			(long long)got_n, (long long)want, got.reasons[0].text);
}

static void same_text(const struct row *row, const char *what, const char *got_s, const char *want)
{
	if (strcmp(got_s, want ? want : "") != 0)
		fail_msg("%d %s: %s is '%s', not '%s'", row->about, row->name, what, got_s,
			want ? want : "");
}

static void as_expected(const struct row *row)
{
	same_number(row, "verdict", got.verdict, row->verdict);
	same_number(row, "step", got.step, row->step);
	same_number(row, "act", got.act, row->act ? row->act : row->verdict);
	same_number(row, "would_be", got.would_be, row->would_be ? row->would_be : row->verdict);
	same_number(row, "first reason", got.reasons[0].code, row->first);
	same_text(row, "rule", got.rule, row->rule);
	same_text(row, "array", got.array, row->array);
	same_opt(row, "ends_in", got.ends_in_ms, row->ends);
	same_number(row, "then", got.then, row->then);
	same_opt(row, "expected", got.expected_ms, row->expected);
	same_opt(row, "again", got.again_in_ms, row->again);
	same_number(row, "base_holds", got.base_holds, row->base_holds);
	same_number(row, "expires", got.expires, row->expires);
	same_number(row, "override", got.override_id, row->override_id);
	if (row->step != 1)
		same_number(row, "mid_job", got.mid_job, row->phase > PHASE_JOB_INIT);
}

/* What holds for every decision. */
static void as_always(const struct row *row)
{
	size_t i, settled = 0;

	same_number(row, "an answer", got.act >= ALLOW && got.act <= DENY, 1);
	same_number(row, "a hold that ends", got.act != HOLD || got.ends_in_ms.v > 0, 1);
	same_number(row, "reasons", got.n_reasons > 0, 1);
	for (i = 0; i < got.n_reasons; i++) {
		same_number(row, "a reason's code", got.reasons[i].code != REASON_NONE, 1);
		same_number(row, "a reason's text", strlen(got.reasons[i].text) > 5, 1);
	}
	for (i = 0; i < trace.n; i++) {
		/* Only step 5 finds arrays that step 4's rule decides for. */
		if (i && trace.lines[i].step < trace.lines[i - 1].step)
			same_number(row, "steps in order",
				trace.lines[i].step == 4 && trace.lines[i - 1].step == 5, 1);
		if (trace.lines[i].settled)
			same_number(row, "the settling step", trace.lines[i].step, got.step);
		settled += trace.lines[i].settled;
	}
	same_number(row, "settled lines", (int64_t)settled, 1);
	decide(&made.policy, &in, &again, NULL);
	same_number(row, "the same again", memcmp(&got, &again, sizeof(got)), 0);
}

static void each_step_decides(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		set_policy(&rows[i]);
		set_inputs(&rows[i]);
		decide(&made.policy, &in, &got, &trace);
		as_expected(&rows[i]);
		as_always(&rows[i]);
	}
}

/* Step 2's order: of each pair the first wins, wherever it stands. */
static void the_most_specific_override_wins(void **state)
{
	static const struct override pairs[][2] = {
		{O(1, ALLOW, .ticket = 3), O(2, DENY, .guest = 100, .storage = "backup")},
		{O(1, ALLOW, .guest = 100), O(2, DENY, .storage = "backup", .nas = "nas1")},
		{O(1, ALLOW, .storage = "backup"), O(2, DENY, .nas = "nas1", .node = "pve1")},
		{O(1, ALLOW, .nas = "nas1"), O(2, DENY, .node = "pve1")},
		{O(1, ALLOW, .node = "pve1"), O(2, DENY, .ticket = 0)},
		{O(1, ALLOW, .nas = "nas1", .node = "pve1"),
			O(2, DENY, .nas = "nas1", .created_utc_ms = 9)},
		{O(1, ALLOW, .node = "pve1", .created_utc_ms = 9), O(2, DENY, .node = "pve1")},
		{O(2, ALLOW, .node = "pve1"), O(1, DENY, .node = "pve1")},
		{O(2, ALLOW, .ticket = 0), O(1, DENY, .ticket = 0)},
	};
	size_t i;

	(void)state;
	set_inputs(&(struct row){.guests = 1, .ticket = {.id = 3}});
	in.n_overrides = 2;
	for (i = 0; i < COUNT(pairs); i++) {
		in.overrides[0] = pairs[i][0];
		in.overrides[1] = pairs[i][1];
		assert_ptr_equal(override_find(&in), &in.overrides[0]);
		in.overrides[0] = pairs[i][1];
		in.overrides[1] = pairs[i][0];
		assert_ptr_equal(override_find(&in), &in.overrides[1]);
	}
}

static void sentence_is(const struct array_facts *array, const char *want)
{
	char buf[200];
	struct text text = {buf, sizeof(buf), 0};

	array_sentence(&text, "nas1", array);
	assert_string_equal(buf, want);
}

static void an_array_is_told_in_one_sentence(void **state)
{
	struct array_facts array = made_array("md2", RECOVERY);

	(void)state;
	sentence_is(&array, "md2 on nas1 is in recovery");
	array.progress_ppm = OPT(413000);
	array.rate = OPT(37000000);
	sentence_is(&array, "md2 on nas1 is in recovery, 41.3 % done, 37 MB/s");
	array.remaining_ms = OPT(2 * HOUR + 10 * MIN);
	array.rate_of_baseline_ppm = OPT(970000);
	array.health = MD_HEALTH_DEGRADED;
	array.missing = OPT(1);
	array.redundancy_left = OPT(1);
	sentence_is(&array,
		"md2 on nas1 is in recovery, 41.3 % done, about 2h 10min left at 37 MB/s "
		"(97.0 % of its undisturbed pace), degraded, may lose 1 more disk");
	array = made_array("md2", MD_OP_FROZEN);
	array.stalled_ms = OPT(90 * MIN);
	array.missing = OPT(2);
	array.redundancy_left = OPT(0);
	sentence_is(&array, "md2 on nas1 is frozen, not moved for 1h 30min, may lose 0 more disks");
	array = made_array("md2", MD_OP_RESYNC);
	array.sync_state = MD_SYNC_DELAYED;
	array.stalled_ms = OPT(0);
	array.missing = OPT(0);
	array.redundancy_left = OPT(2);
	sentence_is(&array, "md2 on nas1 is in resync (delayed)");
	array.sync_state = MD_SYNC_PENDING;
	array.missing = OPT_NONE;
	sentence_is(&array, "md2 on nas1 is in resync (pending)");
	array = made_array("md2", IDLE);
	array.health = (enum md_health)99;
	sentence_is(&array, "md2 on nas1 is idle");
	array.operation = MD_OP_UNKNOWN;
	sentence_is(&array, "md2 on nas1 does something that is not known");
	array.operation = (enum md_operation)99;
	sentence_is(&array, "md2 on nas1 does something that is not known");
	array.health = MD_HEALTH_ABSENT;
	sentence_is(&array, "md2 on nas1 was there and is gone");
}

static void a_long_sentence_is_cut(void **state)
{
	char buf[8];
	struct text text = {buf, sizeof(buf), 0};

	(void)state;
	text_add(&text, "%s", "12345");
	text_add(&text, "%s", "67890");
	text_add(&text, "%s", "x");
	assert_string_equal(buf, "1234567");
	assert_int_equal(text.len, 7);
}

static void the_first_reason_is_the_one_shown(void **state)
{
	size_t i;

	(void)state;
	memset(&got, 0, sizeof(got));
	for (i = 0; i < DECISION_MAX_REASONS + 2; i++)
		reason_add(&got, REASON_ARRAY, "number %zu", i);
	assert_int_equal(got.n_reasons, DECISION_MAX_REASONS);
	assert_string_equal(got.reasons[DECISION_MAX_REASONS - 1].text, "number 11");
	reason_first(&got, REASON_RULE, "in front");
	assert_int_equal(got.n_reasons, DECISION_MAX_REASONS);
	assert_string_equal(got.reasons[0].text, "in front");
	assert_string_equal(got.reasons[1].text, "number 0");
	assert_string_equal(got.reasons[DECISION_MAX_REASONS - 1].text, "number 10");
}

static bool reasons_tell(enum reason_code code, const char *words)
{
	size_t i;

	for (i = 0; i < got.n_reasons; i++) {
		if (got.reasons[i].code == code && strstr(got.reasons[i].text, words))
			return true;
	}
	return false;
}

static void decide_row(const struct row *row)
{
	set_policy(row);
	set_inputs(row);
	decide(&made.policy, &in, &got, &trace);
}

static void all_that_mattered_is_told(void **state)
{
	(void)state;
	decide_row(&(struct row){.op = RECOVERY, .op2 = MD_OP_RESYNC});
	assert_true(reasons_tell(REASON_RULE, "rule 'rebuild': md2 on nas1 is in recovery"));
	assert_true(reasons_tell(REASON_NOTE, "one failure nearer"));
	assert_true(reasons_tell(REASON_ARRAY, "also throttle, rule 'resync': md3 on nas1"));
	assert_false(reasons_tell(REASON_ARRAY, "md2"));
	decide_row(&(struct row){.op = RECOVERY, .missing = true});
	assert_true(reasons_tell(REASON_ARRAY, "array md9 was never seen on nas1"));
	decide_row(&(struct row){.no_array = true});
	assert_true(reasons_tell(REASON_BLIND, "no data array was ever seen on nas1"));
	decide_row(&(struct row){
		.sensor = SENSOR_REFUSED, .blind = OPT(12 * MIN), .tweak = a_blind_sentence});
	assert_true(reasons_tell(REASON_BLIND,
		"nas1 has not been seen for 12min (refused: connection refused): rule 'sensor'"));
	assert_true(reasons_tell(REASON_NOTE, "look at the NAS"));
	decide_row(&(struct row){
		.sensor = SENSOR_REFUSED, .blind = OPT(12 * MIN), .tweak = seen_in_between});
	assert_true(reasons_tell(
		REASON_BLIND, "nas1 has been seen only on and off for 12min (refused)"));
	decide_row(&(struct row){.sensor = SENSOR_REFUSED, .tweak = seen_in_between});
	assert_true(reasons_tell(REASON_BLIND, "nas1 has not been seen (refused)"));
	decide_row(&(struct row){.op = RECOVERY, .sensor = SENSOR_SILENT, .blind = OPT(MIN)});
	assert_true(reasons_tell(REASON_BLIND_HOLD_GOES_ON,
		"rule 'rebuild' goes on, as last seen: md2 on nas1 is in recovery"));
	assert_true(reasons_tell(REASON_BLIND, "nas1 has not been seen for 1min (silent)"));
	decide_row(&(struct row){.op = MD_OP_RESYNC});
	assert_true(reasons_tell(REASON_NO_LEVER, "no lever is set up"));
	decide_row(&(struct row){.op = RECOVERY, .phase = PHASE_JOB_START});
	assert_true(reasons_tell(REASON_RECHECK, "waits for 5min at most, then throttle"));
	decide_row(&(struct row){.queue = {.ahead = 2}});
	assert_true(reasons_tell(REASON_QUEUE_BEHIND, "2 held jobs for nas1 asked before"));
	decide_row(&(struct row){.op = RECOVERY, .ticket = {HELD, .held_ms = 8 * HOUR}});
	assert_true(reasons_tell(REASON_EXPIRED, "held for 8h, as long as the policy allows: thr"));
	decide_row(&(struct row){.op = RECOVERY, .next_start = OPT(MIN)});
	assert_true(reasons_tell(REASON_NEXT_START, "next start is near, the hold ends: throttle"));
	decide_row(&(struct row){.ticket = {HELD, .clear_ms = OPT(3 * MIN)}});
	assert_true(reasons_tell(REASON_SETTLE,
		"no rule holds it any more, it goes on after 10min of that (settle), 7min to go"));
	decide_row(&(struct row){.o = {O(7, HOLD, .ticket = 0)}});
	assert_true(reasons_tell(REASON_OVERRIDE, "override 7 by anna says hold: she knows"));
}

static bool trace_tells(int step, const char *words)
{
	size_t i;

	for (i = 0; i < trace.n; i++) {
		if (trace.lines[i].step == step && strstr(trace.lines[i].text, words))
			return true;
	}
	return false;
}

/* What comes after a hold is told as what it does, not only as what it is called. */
static void a_hold_tells_what_the_job_does_afterwards(void **state)
{
	static const struct {
		enum verdict on_expiry, without_lever;
		bool lever;
		enum verdict act;
	} ends[] = {
		{THROTTLE, ALLOW, false, ALLOW},
		{THROTTLE, DENY, false, DENY},
		{THROTTLE, HOLD, false, ALLOW}, /* it waited already */
		{THROTTLE, DENY, true, THROTTLE},
		{ALLOW, DENY, false, ALLOW},
		{DENY, ALLOW, false, DENY},
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(ends); i++) {
		const struct row row = {.op = MD_OP_RECOVERY, .lever = ends[i].lever};

		set_policy(&row);
		set_inputs(&row);
		made.rules[RULE_REBUILD].set.on_expiry = ends[i].on_expiry;
		made.rules[RULE_REBUILD].set.without_lever = ends[i].without_lever;
		decide(&made.policy, &in, &got, NULL);
		assert_int_equal(got.act, HOLD);
		assert_int_equal(got.then, ends[i].on_expiry);
		assert_int_equal(got.then_act, ends[i].act);
	}
}

static void the_trace_tells_what_each_step_saw(void **state)
{
	(void)state;
	decide_row(&(struct row){.op = MD_OP_RESYNC, .queue = {.ahead = 1}});
	assert_true(trace_tells(1, "switched on"));
	assert_true(trace_tells(2, "no override is in force"));
	assert_true(trace_tells(3, "'backup' is mapped to nas1"));
	assert_true(trace_tells(4, "nas1 is seen"));
	assert_true(trace_tells(
		5, "rule 'rebuild' on md2: operation is resync, not recovery, reshape or frozen"));
	assert_true(trace_tells(5, "rule 'resync' matches md2: throttle"));
	assert_true(trace_tells(7, "it waits 8h more at most, then throttle"));
	assert_true(trace_tells(7, "1 held job for nas1 asked before"));
	assert_true(trace_tells(8, "only observes"));
	decide_row(&(struct row){.o = {O(7, HOLD, .ticket = 0)}});
	assert_true(trace_tells(7, "it waits 1h more at most, then as the rules say then"));
}

static void a_trace_of_many_rules_keeps_the_other_steps(void **state)
{
	static struct rule many[TRACE_MAX + 10];
	size_t i;

	(void)state;
	set_policy(&(struct row){0});
	set_inputs(&(struct row){.op = IDLE});
	for (i = 0; i < COUNT(many); i++)
		many[i] = made.rules[RULE_REBUILD];
	made.policy.rules = many;
	made.policy.n_rules = COUNT(many);
	decide(&made.policy, &in, &got, &trace);
	assert_true(trace.n < TRACE_MAX);
	assert_true(trace_tells(5, "more arrays and rules than there is room to tell of"));
	assert_true(trace_tells(6, "allow: no rule"));
	assert_true(trace_tells(7, "nothing to wait for"));
	assert_int_equal(got.step, 6);
}

static void a_full_trace_keeps_its_last_line(void **state)
{
	size_t i;

	(void)state;
	trace.n = 0;
	for (i = 0; i <= TRACE_MAX; i++)
		trace_add(&trace, 5, "line %zu", i);
	assert_int_equal(trace.n, TRACE_MAX);
	assert_string_equal(trace.lines[TRACE_MAX - 1].text, "line 96");
}

static void a_decision_differs_by_what_people_see(void **state)
{
	struct decision a = {.verdict = HOLD, .act = HOLD, .step = 5, .rule = "x"}, b = a;

	(void)state;
	a.reasons[0].code = b.reasons[0].code = REASON_RULE;
	b.ends_in_ms = OPT(5);
	assert_false(decision_differs(&a, &b));
	b.verdict = ALLOW;
	assert_true(decision_differs(&a, &b));
	b = a;
	b.act = ALLOW;
	assert_true(decision_differs(&a, &b));
	b = a;
	b.step = 7;
	assert_true(decision_differs(&a, &b));
	b = a;
	b.rule[0] = 'y';
	assert_true(decision_differs(&a, &b));
	b = a;
	b.reasons[0].code = REASON_SETTLE;
	assert_true(decision_differs(&a, &b));
}

static void a_mapping_covers_what_it_lists_or_all_data_arrays(void **state)
{
	struct mapping mapping = {.nas = "nas1"};
	struct array_facts data = made_array("md2", IDLE), sys = made_array("md0", IDLE);

	(void)state;
	sys.role = MD_ROLE_SYSTEM;
	assert_true(mapping_covers(&mapping, &data));
	assert_false(mapping_covers(&mapping, &sys));
	snprintf(mapping.arrays[0], MD_NAME_MAX, "md3");
	snprintf(mapping.arrays[1], MD_NAME_MAX, "md0");
	mapping.n_arrays = 2;
	assert_false(mapping_covers(&mapping, &data));
	assert_true(mapping_covers(&mapping, &sys));
	mapping.n_arrays = SIZE_MAX;
	assert_false(mapping_covers(&mapping, &data));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_step_decides),
		cmocka_unit_test(the_most_specific_override_wins),
		cmocka_unit_test(an_array_is_told_in_one_sentence),
		cmocka_unit_test(a_long_sentence_is_cut),
		cmocka_unit_test(the_first_reason_is_the_one_shown),
		cmocka_unit_test(all_that_mattered_is_told),
		cmocka_unit_test(a_hold_tells_what_the_job_does_afterwards),
		cmocka_unit_test(the_trace_tells_what_each_step_saw),
		cmocka_unit_test(a_trace_of_many_rules_keeps_the_other_steps),
		cmocka_unit_test(a_full_trace_keeps_its_last_line),
		cmocka_unit_test(a_decision_differs_by_what_people_see),
		cmocka_unit_test(a_mapping_covers_what_it_lists_or_all_data_arrays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
