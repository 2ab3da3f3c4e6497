// SPDX-License-Identifier: MIT
/* Conditions: three-valued, and the first test that did not hold is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/match.h"
#include "core_policy.h"

#define YES MATCH_YES
#define NO MATCH_NO
#define UNKNOWN MATCH_UNKNOWN

static struct inputs in;
static struct array_facts array;

/* A rebuild at 40 %, each field known. 2026-11-30 was a Monday. */
static void set_up(void)
{
	struct request *request = &in.request;

	memset(&in, 0, sizeof(in));
	in.facts.sensor = SENSOR_OK;
	in.facts.load_x100 = OPT(150);
	in.now = (struct moment){0, INT64_C(1796000000000), 0};
	snprintf(in.mapping.nas, sizeof(in.mapping.nas), "nas1");
	snprintf(request->storage, sizeof(request->storage), "nas-backup");
	snprintf(request->node, sizeof(request->node), "pve1");
	request->client = CLIENT_VZDUMP;
	request->phase = PHASE_JOB_INIT;
	request->n_guests = 2;
	request->guests[0] = 100;
	request->guests[1] = 101;
	request->guest_type = GUEST_LXC;
	request->mode = MODE_SNAPSHOT;
	request->backup_age_ms = OPT(26 * HOUR);
	array = made_array("md2", MD_OP_RECOVERY);
	array.health = MD_HEALTH_DEGRADED;
	array.redundancy_left = OPT(1);
	array.progress_ppm = OPT(400000);
	array.remaining_ms = OPT(6 * HOUR);
	array.rate = OPT(37000000);
	array.rate_of_baseline_ppm = OPT(950000);
	array.stalled_ms = OPT(0);
	array.client_read = OPT(2000000);
	array.client_write = OPT(1000);
}

static enum match test_of(enum field field, enum cmp cmp, int64_t n, const char *text)
{
	struct value value = {.cmp = cmp, .number = n, .text = text};
	struct cond test = {.kind = COND_TEST, .field = field, .values = &value, .n_values = 1};

	return cond_match(&test, &in, &array, true, NULL, 0);
}

static void each_field_is_compared(void **state)
{
	static const struct {
		enum field field;
		enum cmp cmp;
		int64_t n;
		const char *text;
		enum match want;
	} rows[] = {
		{FIELD_NAS, CMP_EQ, 0, "nas1", YES},
		{FIELD_NAS, CMP_EQ, 0, "nas2", NO},
		{FIELD_ARRAY, CMP_EQ, 0, "md2", YES},
		{FIELD_ARRAY, CMP_EQ, 0, "md*", YES},
		{FIELD_ARRAY, CMP_EQ, 0, "sd*", NO},
		{FIELD_ARRAY, CMP_EQ, 0, "*", YES},
		{FIELD_ARRAY, CMP_EQ, 0, "", NO},
		{FIELD_ARRAY, CMP_EQ, 0, NULL, NO},
		{FIELD_ROLE, CMP_EQ, MD_ROLE_DATA, NULL, YES},
		{FIELD_ROLE, CMP_EQ, MD_ROLE_SYSTEM, NULL, NO},
		{FIELD_LEVEL, CMP_EQ, MD_LEVEL_RAID6, NULL, YES},
		{FIELD_LEVEL, CMP_NE, MD_LEVEL_RAID6, NULL, NO},
		{FIELD_OPERATION, CMP_EQ, MD_OP_RECOVERY, NULL, YES},
		{FIELD_OPERATION, CMP_NONE, MD_OP_RECOVERY, NULL, YES},
		{FIELD_SYNC_STATE, CMP_EQ, MD_SYNC_RUNNING, NULL, YES},
		{FIELD_HEALTH, CMP_EQ, MD_HEALTH_DEGRADED, NULL, YES},
		{FIELD_SENSOR, CMP_EQ, SENSOR_OK, NULL, YES},
		{FIELD_SENSOR, CMP_EQ, FIELD_SENSOR_BLIND, NULL, NO},
		{FIELD_SENSOR, CMP_NE, FIELD_SENSOR_BLIND, NULL, YES},
		{FIELD_REDUNDANCY_LEFT, CMP_LE, 1, NULL, YES},
		{FIELD_REDUNDANCY_LEFT, CMP_LT, 1, NULL, NO},
		{FIELD_PROGRESS, CMP_GE, 400000, NULL, YES},
		{FIELD_PROGRESS, CMP_GE, 400001, NULL, NO},
		{FIELD_REMAINING, CMP_GT, 6 * HOUR, NULL, NO},
		{FIELD_REMAINING, CMP_GT, 6 * HOUR - 1, NULL, YES},
		{FIELD_RATE, CMP_LT, 37000001, NULL, YES},
		{FIELD_RATE_OF_BASELINE, CMP_LE, 949999, NULL, NO},
		{FIELD_STALLED_FOR, CMP_EQ, 0, NULL, YES},
		{FIELD_CLIENT_READ, CMP_GE, 2000000, NULL, YES},
		{FIELD_CLIENT_WRITE, CMP_NE, 1000, NULL, NO},
		{FIELD_LOAD, CMP_GT, 149, NULL, YES},
		{FIELD_STORAGE, CMP_EQ, 0, "nas-*", YES},
		{FIELD_NODE, CMP_EQ, 0, "pve1", YES},
		{FIELD_GUEST, CMP_EQ, 101, NULL, YES},
		{FIELD_GUEST, CMP_EQ, 102, NULL, NO},
		{FIELD_GUEST_TYPE, CMP_EQ, GUEST_QEMU, NULL, NO},
		{FIELD_MODE, CMP_EQ, MODE_SNAPSHOT, NULL, YES},
		{FIELD_PHASE, CMP_EQ, PHASE_JOB_INIT, NULL, YES},
		{FIELD_CLIENT, CMP_EQ, CLIENT_RUN, NULL, NO},
		{FIELD_BACKUP_AGE, CMP_GT, 24 * HOUR, NULL, YES},
		{FIELD_NONE, CMP_EQ, 0, NULL, UNKNOWN},
		{FIELD_COUNT, CMP_EQ, 0, NULL, UNKNOWN},
	};
	size_t i;

	(void)state;
	set_up();
	for (i = 0; i < COUNT(rows); i++) {
		enum match got = test_of(rows[i].field, rows[i].cmp, rows[i].n, rows[i].text);

		if (got != rows[i].want)
			fail_msg("row %zu, %s: %d", i, field_word(rows[i].field), (int)got);
	}
}

static void an_unknown_field_is_neither(void **state)
{
	struct value value = {.cmp = CMP_NE, .number = 424242, .text = "x"};
	struct cond test = {.kind = COND_TEST, .values = &value, .n_values = 1};
	struct cond not = {.kind = COND_NOT, .child = &test};
	int field;

	(void)state;
	memset(&in, 0, sizeof(in));
	memset(&array, 0, sizeof(array));
	in.facts.sensor = SENSOR_OK;
	for (field = FIELD_NAS; field < FIELD_TIME; field++) {
		if (field == FIELD_SENSOR)
			continue;
		test.field = (enum field)field;
		assert_int_equal(cond_match(&test, &in, &array, true, NULL, 0), UNKNOWN);
		assert_int_equal(cond_match(&not, &in, &array, true, NULL, 0), UNKNOWN);
	}
}

/* md says "unknown" of what it does not print: no test holds on it, nor its `not`, but for the one
 * that asks for it. */
static void the_word_unknown_matches_only_itself(void **state)
{
	static const struct {
		enum field field;
		int64_t unknown, other;
	} rows[] = {{FIELD_OPERATION, MD_OP_UNKNOWN, MD_OP_RECOVERY},
		{FIELD_LEVEL, MD_LEVEL_UNKNOWN, MD_LEVEL_RAID6},
		{FIELD_SYNC_STATE, MD_SYNC_UNKNOWN, MD_SYNC_NONE},
		{FIELD_HEALTH, MD_HEALTH_UNKNOWN, MD_HEALTH_OPTIMAL}};
	size_t i;

	(void)state;
	set_up();
	array.operation = MD_OP_UNKNOWN;
	array.level = MD_LEVEL_UNKNOWN;
	array.sync_state = MD_SYNC_UNKNOWN;
	array.health = MD_HEALTH_UNKNOWN;
	for (i = 0; i < COUNT(rows); i++) {
		assert_int_equal(test_of(rows[i].field, CMP_EQ, rows[i].unknown, NULL), YES);
		assert_int_equal(test_of(rows[i].field, CMP_EQ, rows[i].other, NULL), UNKNOWN);
		assert_int_equal(test_of(rows[i].field, CMP_NE, rows[i].other, NULL), UNKNOWN);
		assert_int_equal(test_of(rows[i].field, CMP_NE, rows[i].unknown, NULL), UNKNOWN);
	}
}

static void of_a_gone_array_only_what_it_was_is_known(void **state)
{
	(void)state;
	set_up();
	array.health = MD_HEALTH_ABSENT;
	assert_int_equal(test_of(FIELD_HEALTH, CMP_EQ, MD_HEALTH_ABSENT, NULL), YES);
	assert_int_equal(test_of(FIELD_ROLE, CMP_EQ, MD_ROLE_DATA, NULL), YES);
	assert_int_equal(test_of(FIELD_LEVEL, CMP_EQ, MD_LEVEL_RAID5, NULL), NO);
	assert_int_equal(test_of(FIELD_ARRAY, CMP_EQ, 0, "md2"), YES);
	assert_int_equal(test_of(FIELD_OPERATION, CMP_EQ, MD_OP_RECOVERY, NULL), UNKNOWN);
	assert_int_equal(test_of(FIELD_REDUNDANCY_LEFT, CMP_EQ, 1, NULL), UNKNOWN);
}

static enum match blindly(enum field field, int64_t n, const char *text)
{
	struct value value = {.cmp = CMP_EQ, .number = n, .text = text};
	struct cond test = {.kind = COND_TEST, .field = field, .values = &value, .n_values = 1};

	return cond_match(&test, &in, &array, false, NULL, 0);
}

static void blind_means_no_fact_is_known(void **state)
{
	(void)state;
	set_up();
	in.facts.sensor = SENSOR_REFUSED;
	assert_int_equal(blindly(FIELD_OPERATION, MD_OP_RECOVERY, NULL), UNKNOWN);
	assert_int_equal(blindly(FIELD_LOAD, 150, NULL), UNKNOWN);
	assert_int_equal(blindly(FIELD_STORAGE, 0, "nas-backup"), YES);
	assert_int_equal(blindly(FIELD_SENSOR, FIELD_SENSOR_BLIND, NULL), YES);
	assert_int_equal(blindly(FIELD_SENSOR, SENSOR_REFUSED, NULL), YES);
	assert_int_equal(blindly(FIELD_SENSOR, SENSOR_SILENT, NULL), NO);
	assert_int_equal(blindly(FIELD_SENSOR, SENSOR_OK, NULL), NO);
	in.facts.sensor = SENSOR_OK; /* an array that this NAS never had */
	assert_int_equal(blindly(FIELD_SENSOR, SENSOR_NEVER, NULL), YES);
	assert_int_equal(blindly(FIELD_SENSOR, SENSOR_OK, NULL), NO);
	in.facts.sensor = SENSOR_NONE;
	assert_int_equal(blindly(FIELD_SENSOR, FIELD_SENSOR_BLIND, NULL), YES);
}

static void what_was_known_last_is_asked_as_if_seen(void **state)
{
	(void)state;
	set_up();
	in.facts.sensor = SENSOR_REFUSED;
	assert_int_equal(test_of(FIELD_SENSOR, CMP_EQ, SENSOR_OK, NULL), YES);
	assert_int_equal(test_of(FIELD_OPERATION, CMP_EQ, MD_OP_RECOVERY, NULL), YES);
}

static void without_an_array_its_fields_are_unknown(void **state)
{
	struct value value = {.cmp = CMP_EQ, .number = MD_OP_RECOVERY};
	struct cond test = {
		.kind = COND_TEST, .field = FIELD_OPERATION, .values = &value, .n_values = 1};

	(void)state;
	set_up();
	assert_int_equal(cond_match(&test, &in, NULL, true, NULL, 0), UNKNOWN);
}

static void guests_of_a_job_are_any_of_them(void **state)
{
	(void)state;
	set_up();
	in.request.n_guests = 0;
	assert_int_equal(test_of(FIELD_GUEST, CMP_EQ, 100, NULL), UNKNOWN);
	in.request.n_guests = SIZE_MAX; /* cut to what there is room for */
	assert_int_equal(test_of(FIELD_GUEST, CMP_EQ, 999, NULL), NO);
	in.request.phase = PHASE_BACKUP_START;
	in.request.guest = 999;
	assert_int_equal(test_of(FIELD_GUEST, CMP_EQ, 999, NULL), YES);
	assert_int_equal(test_of(FIELD_GUEST, CMP_EQ, 100, NULL), NO);
}

/* Leaves of each kind for trees: role is data, level is not raid5, load unknown. */
static struct value role = {.cmp = CMP_EQ, .number = MD_ROLE_DATA};
static struct value level = {.cmp = CMP_EQ, .number = MD_LEVEL_RAID5};
static struct value load = {.cmp = CMP_GT, .number = 1};

static struct cond leaf(enum match want)
{
	static const enum field fields[] = {
		[NO] = FIELD_LEVEL, [YES] = FIELD_ROLE, [UNKNOWN] = FIELD_LOAD};
	static struct value *const values[] = {[NO] = &level, [YES] = &role, [UNKNOWN] = &load};

	return (struct cond){
		.kind = COND_TEST, .field = fields[want], .values = values[want], .n_values = 1};
}

static void trees_are_three_valued(void **state)
{
	static const enum match all[3][3] = {
		[NO] = {[NO] = NO, [YES] = NO, [UNKNOWN] = NO},
		[YES] = {[NO] = NO, [YES] = YES, [UNKNOWN] = UNKNOWN},
		[UNKNOWN] = {[NO] = NO, [YES] = UNKNOWN, [UNKNOWN] = UNKNOWN},
	};
	static const enum match any[3][3] = {
		[NO] = {[NO] = NO, [YES] = YES, [UNKNOWN] = UNKNOWN},
		[YES] = {[NO] = YES, [YES] = YES, [UNKNOWN] = YES},
		[UNKNOWN] = {[NO] = UNKNOWN, [YES] = YES, [UNKNOWN] = UNKNOWN},
	};
	static const enum match not [3] = {[NO] = YES, [YES] = NO, [UNKNOWN] = UNKNOWN};
	int a, b;

	(void)state;
	set_up();
	in.facts.load_x100 = OPT_NONE;
	for (a = 0; a < 3; a++) {
		for (b = 0; b < 3; b++) {
			struct cond second = leaf((enum match)b), first = leaf((enum match)a);
			struct cond tree = {.kind = COND_ALL, .child = &first};

			first.next = &second;
			assert_int_equal(cond_match(&tree, &in, &array, true, NULL, 0), all[a][b]);
			tree.kind = COND_ANY;
			assert_int_equal(cond_match(&tree, &in, &array, true, NULL, 0), any[a][b]);
			first.next = NULL;
			tree.kind = COND_NOT;
			assert_int_equal(cond_match(&tree, &in, &array, true, NULL, 0), not [a]);
		}
	}
}

static void trees_of_nothing(void **state)
{
	struct cond tree = {.kind = COND_ALL};
	char why[80];

	(void)state;
	set_up();
	assert_int_equal(cond_match(&tree, &in, &array, true, why, sizeof(why)), YES);
	tree.kind = COND_ANY;
	assert_int_equal(cond_match(&tree, &in, &array, true, why, sizeof(why)), NO);
	assert_string_equal(why, "'any' of nothing never holds");
	tree.kind = COND_NOT;
	assert_int_equal(cond_match(&tree, &in, &array, true, why, sizeof(why)), UNKNOWN);
	tree.kind = COND_NONE;
	assert_int_equal(cond_match(&tree, &in, &array, true, why, sizeof(why)), UNKNOWN);
	tree = (struct cond){.kind = COND_TEST, .field = FIELD_ROLE};
	assert_int_equal(cond_match(&tree, &in, &array, true, why, sizeof(why)), NO);
}

static void a_tree_too_deep_is_unknown(void **state)
{
	struct cond nots[101];
	size_t i;

	(void)state;
	set_up();
	nots[100] = leaf(YES);
	for (i = 0; i < 100; i++)
		nots[i] = (struct cond){.kind = COND_NOT, .child = &nots[i + 1]};
	assert_int_equal(cond_match(&nots[90], &in, &array, true, NULL, 0), YES);
	assert_int_equal(cond_match(&nots[91], &in, &array, true, NULL, 0), NO);
	assert_int_equal(cond_match(&nots[0], &in, &array, true, NULL, 0), UNKNOWN);
	for (i = 0; i < 100; i++)
		nots[i].kind = i % 2 ? COND_ALL : COND_ANY;
	assert_int_equal(cond_match(&nots[80], &in, &array, true, NULL, 0), YES);
	assert_int_equal(cond_match(&nots[0], &in, &array, true, NULL, 0), UNKNOWN);
}

static void why_of(const struct cond *cond, enum match result, const char *want)
{
	char why[200];

	assert_int_equal(cond_match(cond, &in, &array, true, why, sizeof(why)), result);
	assert_string_equal(why, want);
}

static void why_one(enum field field, enum cmp cmp, int64_t n, const char *text, const char *want)
{
	struct value value = {.cmp = cmp, .number = n, .text = text};
	struct cond test = {.kind = COND_TEST, .field = field, .values = &value, .n_values = 1};

	why_of(&test, NO, want);
}

static void the_test_that_did_not_hold_is_told(void **state)
{
	struct value ops[] = {{.cmp = CMP_EQ, .number = MD_OP_RESYNC},
		{.cmp = CMP_EQ, .number = MD_OP_RESHAPE}, {.cmp = CMP_EQ, .number = 99}};
	struct cond test = {
		.kind = COND_TEST, .field = FIELD_OPERATION, .values = ops, .n_values = 3};

	(void)state;
	set_up();
	why_of(&test, NO, "operation is recovery, not resync, reshape or ?");
	why_one(FIELD_STORAGE, CMP_EQ, 0, "usb", "storage is nas-backup, not usb");
	why_one(FIELD_REDUNDANCY_LEFT, CMP_LT, 1, NULL, "redundancy_left is 1, not < 1");
	why_one(FIELD_LOAD, CMP_GE, 205, NULL, "load is 1.50, not >= 2.05");
	why_one(FIELD_PROGRESS, CMP_GT, 975000, NULL, "progress is 40%, not > 97.5%");
	why_one(FIELD_REMAINING, CMP_LE, HOUR, NULL, "remaining is 6h, not <= 1h");
	why_one(FIELD_RATE, CMP_NE, 37000000, NULL, "rate is 37 MB/s, not != 37 MB/s");
	why_one(FIELD_REDUNDANCY_LEFT, (enum cmp)99, 4, NULL, "redundancy_left is 1, not 4");
	why_one(FIELD_GUEST, CMP_EQ, 7, NULL, "guest is another, not 7");
	test.field = (enum field)77;
	why_of(&test, UNKNOWN, "a field is not known");
	array.rate = OPT_NONE;
	test.field = FIELD_RATE;
	why_of(&test, UNKNOWN, "rate is not known");
}

static void in_a_tree_it_is_the_first(void **state)
{
	struct cond second = leaf(UNKNOWN), first = leaf(NO), child = leaf(YES);
	struct cond tree = {.kind = COND_ALL, .child = &first},
		    not = {.kind = COND_NOT, .child = &child};

	(void)state;
	set_up();
	in.facts.load_x100 = OPT_NONE;
	first.next = &second;
	why_of(&tree, NO, "level is raid6, not raid5");
	tree.kind = COND_ANY;
	why_of(&tree, UNKNOWN, "level is raid6, not raid5");
	why_of(&not, NO, "what 'not' rules out is so: role data");
	tree.kind = COND_ALL;
	first = leaf(YES);
	not .child = &tree;
	why_of(&not, NO, "what 'not' rules out is so");
	/* An `any` that holds says nothing of what in it did not. */
	first = leaf(NO);
	first.next = &child;
	tree.kind = COND_ANY;
	child.next = NULL;
	tree.next = &second;
	not = (struct cond){.kind = COND_ALL, .child = &tree};
	why_of(&not, UNKNOWN, "load is not known");
	/* A `not` that holds neither. */
	first = leaf(NO);
	tree = (struct cond){.kind = COND_NOT, .child = &first, .next = &second};
	why_of(&not, UNKNOWN, "load is not known");
}

static void a_small_buffer_cuts_the_reason(void **state)
{
	struct cond test = leaf(NO);
	char why[6] = "xxxxx";

	(void)state;
	set_up();
	assert_int_equal(cond_match(&test, &in, &array, true, why, sizeof(why)), NO);
	assert_string_equal(why, "level");
	memset(why, 'x', sizeof(why));
	assert_int_equal(cond_match(&test, &in, &array, true, why, 0), NO);
	assert_int_equal(why[0], 'x');
}

#define AT(days, hours, minutes)                                                                   \
	(INT64_C(1796000000000) - 53 * MIN - 20 * SEC + (days)*MS_DAY + (hours)*HOUR +             \
		(minutes)*MIN)
#define S(hours, minutes) ((hours)*3600 + (minutes)*60)
#define MONDAY 1
#define WEEKEND 0x60
#define DAILY 0x7f

static void windows_are_local_time(void **state)
{
	static const struct {
		struct window window;
		int64_t utc;
		int32_t offset;
		bool want;
	} rows[] = {
		{{DAILY, S(8, 0), S(10, 0)}, AT(0, 8, 0), 0, true},
		{{DAILY, S(8, 0), S(10, 0)}, AT(0, 8, 0) - 1, 0, false},
		{{DAILY, S(8, 0), S(10, 0)}, AT(0, 10, 0) - 1, 0, true},
		{{DAILY, S(8, 0), S(10, 0)}, AT(0, 10, 0), 0, false},
		{{DAILY, S(8, 0), S(10, 0)}, AT(0, 7, 0), 3600, true},
		{{DAILY, S(8, 0), S(10, 0)}, AT(0, 7, 0), -3600, false},
		{{MONDAY, S(8, 0), S(10, 0)}, AT(0, 9, 0), 0, true},
		{{MONDAY, S(8, 0), S(10, 0)}, AT(1, 9, 0), 0, false},
		{{MONDAY, S(8, 0), S(10, 0)}, AT(7, 9, 0), 0, true},
		/* Passes midnight: belongs to the day it began. */
		{{MONDAY, S(22, 0), S(6, 0)}, AT(0, 23, 0), 0, true},
		{{MONDAY, S(22, 0), S(6, 0)}, AT(0, 21, 59), 0, false},
		{{MONDAY, S(22, 0), S(6, 0)}, AT(1, 5, 59), 0, true},
		{{MONDAY, S(22, 0), S(6, 0)}, AT(1, 6, 0), 0, false},
		{{MONDAY, S(22, 0), S(6, 0)}, AT(0, 5, 0), 0, false},
		{{MONDAY, S(22, 0), S(6, 0)}, AT(1, 23, 0), 0, false},
		{{MONDAY, S(22, 0), S(6, 0)}, AT(0, 12, 0), 0, false},
		{{WEEKEND, 0, 0}, AT(5, 0, 0), 0, true},
		{{WEEKEND, 0, 0}, AT(6, 23, 59), 0, true},
		{{WEEKEND, 0, 0}, AT(7, 0, 0), 0, false},
		{{WEEKEND, 0, 0}, AT(4, 23, 30), 3600, true},
		{{DAILY, 0, S(24, 0)}, AT(3, 23, 59), 0, true},
		/* 1969-12-31 was a Wednesday. */
		{{0x04, S(23, 0), S(24, 0)}, -1, 0, true},
		{{0x08, S(0, 0), S(1, 0)}, 0, 0, true},
		{{DAILY, 0, 0}, INT64_MAX, 50400, true},
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		struct moment now = {0, rows[i].utc, rows[i].offset};

		if (window_holds(&rows[i].window, &now) != rows[i].want)
			fail_msg("row %zu", i);
	}
}

static void time_is_a_field_too(void **state)
{
	struct value values[] = {{.window = {DAILY, S(22, 0), S(6, 30)}},
		{.window = {MONDAY, S(8, 0), S(9, 0)}}, {.window = {WEEKEND, 0, 0}}};
	struct cond test = {
		.kind = COND_TEST, .field = FIELD_TIME, .values = values, .n_values = 3};

	(void)state;
	set_up();
	in.now.utc_ms = AT(5, 12, 0);
	assert_int_equal(cond_match(&test, &in, &array, true, NULL, 0), YES);
	in.now.utc_ms = AT(0, 12, 5);
	in.now.utc_offset_s = 3600;
	why_of(&test, NO,
		"time is 2026-11-30 13:05:00, not 22:00-06:30, mon 08:00-09:00 or sat,sun");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_field_is_compared),
		cmocka_unit_test(an_unknown_field_is_neither),
		cmocka_unit_test(the_word_unknown_matches_only_itself),
		cmocka_unit_test(of_a_gone_array_only_what_it_was_is_known),
		cmocka_unit_test(blind_means_no_fact_is_known),
		cmocka_unit_test(what_was_known_last_is_asked_as_if_seen),
		cmocka_unit_test(without_an_array_its_fields_are_unknown),
		cmocka_unit_test(guests_of_a_job_are_any_of_them),
		cmocka_unit_test(trees_are_three_valued),
		cmocka_unit_test(trees_of_nothing),
		cmocka_unit_test(a_tree_too_deep_is_unknown),
		cmocka_unit_test(the_test_that_did_not_hold_is_told),
		cmocka_unit_test(in_a_tree_it_is_the_first),
		cmocka_unit_test(a_small_buffer_cuts_the_reason),
		cmocka_unit_test(windows_are_local_time),
		cmocka_unit_test(time_is_a_field_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
