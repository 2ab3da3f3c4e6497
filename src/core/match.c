// SPDX-License-Identifier: MIT
#include "core/match.h"

#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "core/reason.h"
#include "core/span.h"

/* Deeper trees than this cannot be written in a policy file; one is not known rather than a full
 * stack. */
#define COND_DEPTH_MAX 24

/* What a field is right now. */
struct actual {
	bool known;
	int64_t number;
	const char *text;
};

/* All that a test looks at, and where the first test that did not hold is told. */
struct matching {
	const struct inputs *in;
	const struct array_facts *array; /* NULL: not known */
	bool facts_known;
	struct text why;
	bool told;
};

static struct actual unknown(void)
{
	return (struct actual){false, 0, NULL};
}

static struct actual number(int64_t n)
{
	return (struct actual){true, n, NULL};
}

static struct actual measured(struct opt opt)
{
	return opt.known ? number(opt.v) : unknown();
}

/* Enums whose 0 is "not known". */
static struct actual word(int64_t n)
{
	return n ? number(n) : unknown();
}

static struct actual text(const char *s)
{
	return s[0] ? (struct actual){true, 0, s} : unknown();
}

static struct actual request_field(const struct matching *m, enum field field)
{
	const struct request *request = &m->in->request;

	switch ((int)field) {
	case FIELD_NAS:
		return text(m->in->mapping.nas);
	case FIELD_STORAGE:
		return text(request->storage);
	case FIELD_NODE:
		return text(request->node);
	case FIELD_GUEST:
		return word(request->guest);
	case FIELD_GUEST_TYPE:
		return word(request->guest_type);
	case FIELD_MODE:
		return word(request->mode);
	case FIELD_PHASE:
		return word(request->phase);
	case FIELD_CLIENT:
		return word(request->client);
	case FIELD_BACKUP_AGE:
		return measured(request->backup_age_ms);
	default:
		return unknown();
	}
}

/* Of an array that is gone only what it was is known. */
static struct actual absent_field(const struct array_facts *array, enum field field)
{
	switch ((int)field) {
	case FIELD_ARRAY:
		return text(array->name);
	case FIELD_ROLE:
		return word(array->role);
	case FIELD_LEVEL:
		return word(array->level);
	case FIELD_HEALTH:
		return word(array->health);
	default:
		return unknown();
	}
}

static struct actual array_field(const struct array_facts *array, enum field field)
{
	if (array->health == MD_HEALTH_ABSENT)
		return absent_field(array, field);
	switch ((int)field) {
	case FIELD_OPERATION:
		return word(array->operation);
	case FIELD_SYNC_STATE:
		return word(array->sync_state);
	case FIELD_REDUNDANCY_LEFT:
		return measured(array->redundancy_left);
	case FIELD_PROGRESS:
		return measured(array->progress_ppm);
	case FIELD_REMAINING:
		return measured(array->remaining_ms);
	case FIELD_RATE:
		return measured(array->rate);
	case FIELD_RATE_OF_BASELINE:
		return measured(array->rate_of_baseline_ppm);
	case FIELD_STALLED_FOR:
		return measured(array->stalled_ms);
	case FIELD_CLIENT_READ:
		return measured(array->client_read);
	case FIELD_CLIENT_WRITE:
		return measured(array->client_write);
	default:
		return absent_field(array, field);
	}
}

/* FIELD_SENSOR stands among them; it is asked before. */
static bool of_array(enum field field)
{
	return field >= FIELD_ARRAY && field <= FIELD_CLIENT_WRITE;
}

/* While the facts count as known the NAS counts as seen. Else it was never seen, or an array that
 * the storage is mapped to never was. */
static struct actual sensor_field(const struct matching *m)
{
	enum nas_sensor sensor = m->in->facts.sensor;

	if (m->facts_known)
		return number(SENSOR_OK);
	return number(sensor <= SENSOR_OK ? SENSOR_NEVER : sensor);
}

static struct actual actual_of(const struct matching *m, enum field field)
{
	if (field == FIELD_SENSOR)
		return sensor_field(m);
	if (field == FIELD_LOAD)
		return m->facts_known ? measured(m->in->facts.load_x100) : unknown();
	if (of_array(field))
		return m->facts_known && m->array ? array_field(m->array, field) : unknown();
	return request_field(m, field);
}

static bool compares(enum cmp cmp, int64_t a, int64_t b)
{
	switch (cmp) {
	case CMP_NE:
		return a != b;
	case CMP_LT:
		return a < b;
	case CMP_LE:
		return a <= b;
	case CMP_GT:
		return a > b;
	case CMP_GE:
		return a >= b;
	case CMP_NONE:
	case CMP_EQ:
	default:
		return a == b;
	}
}

/* "local*" covers every text that begins with "local". */
static bool text_fits(const char *pattern, const char *actual)
{
	size_t len = strlen(pattern);

	if (len && pattern[len - 1] == '*')
		return strncmp(pattern, actual, len - 1) == 0;
	return strcmp(pattern, actual) == 0;
}

/* The number by which an enum says that it is not known: such a field matches only where a policy
 * asks for that very word. */
static int64_t unknown_number(enum field field)
{
	switch ((int)field) {
	case FIELD_LEVEL:
		return MD_LEVEL_UNKNOWN;
	case FIELD_OPERATION:
		return MD_OP_UNKNOWN;
	case FIELD_SYNC_STATE:
		return MD_SYNC_UNKNOWN;
	case FIELD_HEALTH:
		return MD_HEALTH_UNKNOWN;
	default:
		return -1;
	}
}

static bool value_holds(const struct value *value, enum field field, const struct actual *actual)
{
	if (field_type(field) == FIELD_TYPE_TEXT)
		return value->text && text_fits(value->text, actual->text);
	if (actual->number == unknown_number(field))
		return value->cmp != CMP_NE && value->number == actual->number;
	if (field == FIELD_SENSOR && value->number == FIELD_SENSOR_BLIND)
		return compares(value->cmp, actual->number != SENSOR_OK, true);
	return compares(value->cmp, actual->number, value->number);
}

static enum match any_value(const struct cond *test, const struct actual *actual)
{
	size_t i;

	for (i = 0; i < test->n_values; i++) {
		if (value_holds(&test->values[i], test->field, actual))
			return MATCH_YES;
	}
	return actual->number == unknown_number(test->field) ? MATCH_UNKNOWN : MATCH_NO;
}

/* In a job's own phases the guests are those of the job: any of them will do. */
static enum match guests_match(const struct matching *m, const struct cond *test)
{
	const struct request *request = &m->in->request;
	enum match found = MATCH_UNKNOWN;
	size_t i;

	for (i = 0; i < request->n_guests && i < REQUEST_MAX_GUESTS; i++) {
		struct actual guest = number(request->guests[i]);

		found = any_value(test, &guest);
		if (found == MATCH_YES)
			break;
	}
	return found;
}

static enum match time_match(const struct matching *m, const struct cond *test)
{
	size_t i;

	for (i = 0; i < test->n_values; i++) {
		if (window_holds(&test->values[i].window, &m->in->now))
			return MATCH_YES;
	}
	return MATCH_NO;
}

static enum match test_match(const struct matching *m, const struct cond *test)
{
	struct actual actual;

	if (test->field == FIELD_TIME)
		return time_match(m, test);
	if (test->field == FIELD_GUEST && m->in->request.phase != PHASE_BACKUP_START)
		return guests_match(m, test);
	actual = actual_of(m, test->field);
	if (!actual.known)
		return MATCH_UNKNOWN;
	return any_value(test, &actual);
}

static const char *field_name(enum field field)
{
	const char *name = field_word(field);

	return name ? name : "a field";
}

static void number_add(struct text *text, enum field field, int64_t n)
{
	const char *name = field_value_word(field, n);
	char shown[UNITS_TEXT_MAX];

	switch (field_type(field)) {
	case FIELD_TYPE_WORD:
		text_add(text, "%s", name ? name : "?");
		break;
	case FIELD_TYPE_LOAD:
		text_add(text, "%" PRId64 ".%02" PRId64, n / 100, n % 100);
		break;
	case FIELD_TYPE_PERCENT:
		text_add(text, "%s", percent_print(n, shown));
		break;
	case FIELD_TYPE_SPAN:
		text_add(text, "%s", span_print(n, shown));
		break;
	case FIELD_TYPE_RATE:
		text_add(text, "%s", rate_print(n, shown));
		break;
	case FIELD_TYPE_NONE:
	case FIELD_TYPE_TEXT:
	case FIELD_TYPE_COUNT:
	case FIELD_TYPE_TIME:
	default:
		text_add(text, "%" PRId64, n);
		break;
	}
}

/* "22:00-06:00", "sat,sun" or "sat,sun 22:00-06:00". */
static void window_add(struct text *text, const struct window *window)
{
	static const char names[7][4] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
	const char *before = "";
	int day;

	for (day = 0; day < 7 && window->days != 0x7f; day++) {
		if (!(window->days >> day & 1))
			continue;
		text_add(text, "%s%s", before, names[day]);
		before = ",";
	}
	if (window->from_s != window->to_s)
		text_add(text, "%s%02d:%02d-%02d:%02d", before[0] ? " " : "", window->from_s / 3600,
			window->from_s / 60 % 60, window->to_s / 3600, window->to_s / 60 % 60);
}

static void values_add(struct text *text, const struct cond *test)
{
	size_t i;

	for (i = 0; i < test->n_values; i++) {
		const struct value *value = &test->values[i];
		const char *cmp = cmp_word(value->cmp);

		if (i)
			text_add(text, "%s", i + 1 == test->n_values ? " or " : ", ");
		if (cmp && cmp[0])
			text_add(text, "%s ", cmp);
		if (test->field == FIELD_TIME)
			window_add(text, &value->window);
		else if (value->text)
			text_add(text, "%s", value->text);
		else
			number_add(text, test->field, value->number);
	}
}

/* "operation is idle, not recovery or frozen" */
static void tell_test(struct matching *m, const struct cond *test, enum match result)
{
	struct actual actual = actual_of(m, test->field);
	char shown[UNITS_TEXT_MAX];

	text_add(&m->why, "%s ", field_name(test->field));
	if (result == MATCH_UNKNOWN) {
		text_add(&m->why, "is not known");
		return;
	}
	if (test->field == FIELD_TIME)
		text_add(&m->why, "is %s",
			when_show(m->in->now.utc_ms, m->in->now.utc_offset_s, shown));
	else
		text_add(&m->why, "is %s",
			actual.text            ? actual.text
				: actual.known ? ""
					       : "another");
	if (actual.known && !actual.text)
		number_add(&m->why, test->field, actual.number);
	text_add(&m->why, ", not ");
	values_add(&m->why, test);
}

/* The first one only, and only where somebody wants to know. */
static void tell(struct matching *m, const struct cond *cond, enum match result)
{
	if (m->told || !m->why.size)
		return;
	m->told = true;
	if (cond->kind == COND_TEST) {
		tell_test(m, cond, result);
	} else if (cond->kind == COND_NOT) {
		text_add(&m->why, "what 'not' rules out is so");
		if (cond->child->kind == COND_TEST) {
			text_add(&m->why, ": %s ", field_name(cond->child->field));
			values_add(&m->why, cond->child);
		}
	} else {
		text_add(&m->why, "'any' of nothing never holds");
	}
}

static enum match eval(struct matching *m, const struct cond *cond, int depth);

/* A `not` whose child is not known is not known either. */
static enum match eval_not(struct matching *m, const struct cond *cond, int depth)
{
	bool told = m->told;
	size_t len = m->why.len;
	enum match child = cond->child ? eval(m, cond->child, depth + 1) : MATCH_UNKNOWN;

	if (child == MATCH_UNKNOWN)
		return MATCH_UNKNOWN;
	/* What the child said is the contrary of what matters here. */
	m->told = told;
	m->why.len = len;
	if (child == MATCH_NO)
		return MATCH_YES;
	tell(m, cond, MATCH_NO);
	return MATCH_NO;
}

/* ALL ends at its first NO, ANY at its first YES: `stop`. */
static enum match eval_list(
	struct matching *m, const struct cond *cond, int depth, enum match stop, enum match other)
{
	enum match result = other;
	const struct cond *child;
	bool told = m->told;
	size_t len = m->why.len;

	for (child = cond->child; child; child = child->next) {
		enum match one = eval(m, child, depth + 1);

		if (one == stop) {
			result = stop;
			break;
		}
		if (one == MATCH_UNKNOWN)
			result = MATCH_UNKNOWN;
	}
	if (result == MATCH_YES) {
		m->told = told;
		m->why.len = len;
	} else if (!cond->child) {
		tell(m, cond, result);
	}
	return result;
}

static enum match eval(struct matching *m, const struct cond *cond, int depth)
{
	enum match result;

	if (depth >= COND_DEPTH_MAX)
		return MATCH_UNKNOWN;
	switch (cond->kind) {
	case COND_ALL:
		return eval_list(m, cond, depth, MATCH_NO, MATCH_YES);
	case COND_ANY:
		return eval_list(m, cond, depth, MATCH_YES, MATCH_NO);
	case COND_NOT:
		return eval_not(m, cond, depth);
	case COND_TEST:
		result = test_match(m, cond);
		if (result != MATCH_YES)
			tell(m, cond, result);
		return result;
	case COND_NONE:
	default:
		return MATCH_UNKNOWN;
	}
}

enum match cond_match(const struct cond *cond, const struct inputs *in,
	const struct array_facts *array, bool facts_known, char *ret_why, size_t size)
{
	struct matching m = {.in = in, .array = array, .facts_known = facts_known};

	if (ret_why && size) {
		m.why = (struct text){ret_why, size, 0};
		ret_why[0] = '\0';
	}
	return eval(&m, cond, 0);
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

bool window_holds(const struct window *window, const struct moment *now)
{
	int64_t local_ms = span_add(now->utc_ms, now->utc_offset_s * MS_SECOND);
	int64_t day = floor_div(local_ms, MS_DAY);
	int64_t at = (local_ms - day * MS_DAY) / MS_SECOND;
	/* 1970-01-01 was a Thursday: bit 3. */
	int64_t today = (day % 7 + 7 + 3) % 7, yesterday = (today + 6) % 7;
	bool begins = window->days >> today & 1, goes_on = window->days >> yesterday & 1;

	if (window->from_s == window->to_s)
		return begins;
	if (window->from_s < window->to_s)
		return begins && at >= window->from_s && at < window->to_s;
	return (begins && at >= window->from_s) || (goes_on && at < window->to_s);
}
