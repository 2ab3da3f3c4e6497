// SPDX-License-Identifier: MIT
#include "nas/order.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "nas/probe.h"

#define KIB_S_MAX INT64_C(10000000)
/* raid5_set_cache_size() in drivers/md/raid5.c takes 17 to 32768. */
#define PAGES_MIN 17
#define PAGES_MAX INT64_C(32768)
#define PAGES_SHIPPED 256
#define PAGE_KIB 4
#define SPAN_MIN_S 10
#define SPAN_MAX_S 7200
#define PPM INT64_C(1000000)

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static bool consists_of(const char *text, const char *set)
{
	return *text && strspn(text, set) == strlen(text);
}

bool order_array(const char *name)
{
	if (strncmp(name, "md", 2) != 0 || strlen(name) >= MD_NAME_MAX)
		return false;
	if (name[2] == '_')
		return consists_of(name + 3, LETTERS DIGITS "_-");
	return consists_of(name + 2, DIGITS);
}

static bool is_name(const char *name)
{
	return *name != '-' && *name != '_' && strlen(name) < ORDER_NAME_MAX &&
		consists_of(name, LETTERS DIGITS "_-");
}

bool order_by(const char *name, char line[ORDER_LINE_MAX], struct err *err)
{
	char order[ORDER_LINE_MAX];

	if (!is_name(name))
		return err_set(err, ERR_INVALID, "'%.64s' is not the name of a gate", name);
	snprintf(order, sizeof(order), "%s", line);
	snprintf(line, ORDER_LINE_MAX, "by %s %.*s", name, ORDER_LINE_MAX - ORDER_NAME_MAX - 4,
		order);
	return true;
}

static bool check_array(const char *array, struct err *err)
{
	return order_array(array) ||
		err_set(err, ERR_INVALID, "'%.64s' is not the name of an md array", array);
}

static bool check_range(
	const char *what, int64_t v, int64_t min, int64_t max, const char *unit, struct err *err)
{
	return (v >= min && v <= max) ||
		err_set(err, ERR_INVALID, "%s of %lld %s is not between %lld and %lld", what,
			(long long)v, unit, (long long)min, (long long)max);
}

static bool check_span(int64_t span_s, struct err *err)
{
	return check_range("a span", span_s, SPAN_MIN_S, SPAN_MAX_S, "s", err);
}

static bool plain(const char *word, const char *array, char ret[ORDER_LINE_MAX], struct err *err)
{
	if (!check_array(array, err))
		return false;
	snprintf(ret, ORDER_LINE_MAX, "%s %s\n", word, array);
	return true;
}

bool order_look(const char *array, char ret[ORDER_LINE_MAX], struct err *err)
{
	return plain("look", array, ret, err);
}

bool order_free(const char *array, char ret[ORDER_LINE_MAX], struct err *err)
{
	return plain("free", array, ret, err);
}

bool order_resume(const char *array, char ret[ORDER_LINE_MAX], struct err *err)
{
	return plain("resume", array, ret, err);
}

bool order_moved(char ret[ORDER_LINE_MAX], struct err *err)
{
	(void)err;
	snprintf(ret, ORDER_LINE_MAX, "moved\n");
	return true;
}

/* A number, or "-". */
static const char *number_or_dash(struct opt number, char ret[24])
{
	if (number.known)
		snprintf(ret, 24, "%lld", (long long)number.v);
	else
		snprintf(ret, 24, "-");
	return ret;
}

bool order_floor(const char *array, struct opt kib_s, struct opt pages, int64_t span_s,
	char ret[ORDER_LINE_MAX], struct err *err)
{
	char speed[24], cache[24];

	if (!check_array(array, err) || !check_span(span_s, err))
		return false;
	if (!kib_s.known && !pages.known)
		return err_set(err, ERR_INVALID, "a floor needs a speed or a cache");
	if (kib_s.known && !check_range("a floor", kib_s.v, 1, KIB_S_MAX, "KiB/s", err))
		return false;
	if (pages.known &&
		!check_range("a stripe cache", pages.v, PAGES_MIN, PAGES_MAX, "pages", err))
		return false;
	snprintf(ret, ORDER_LINE_MAX, "floor %s %s %s %lld\n", array, number_or_dash(kib_s, speed),
		number_or_dash(pages, cache), (long long)span_s);
	return true;
}

bool order_pause(const char *array, int64_t span_s, char ret[ORDER_LINE_MAX], struct err *err)
{
	if (!check_array(array, err) || !check_span(span_s, err))
		return false;
	snprintf(ret, ORDER_LINE_MAX, "pause %s %lld\n", array, (long long)span_s);
	return true;
}

/* A word of a line: up to the next blank or the line's end. */
struct word {
	const char *at;
	size_t len;
};

static struct word next_word(const char **p)
{
	struct word word;

	*p += strspn(*p, " ");
	word.at = *p;
	word.len = strcspn(*p, " \r\n");
	*p += word.len;
	return word;
}

static bool word_is(struct word word, const char *text)
{
	return word.len == strlen(text) && memcmp(word.at, text, word.len) == 0;
}

static bool word_copy(struct word word, char *ret, size_t size)
{
	if (word.len >= size)
		return false;
	memcpy(ret, word.at, word.len);
	ret[word.len] = '\0';
	return true;
}

/* "KEY=VALUE"; false for a word without '='. */
static bool word_split(struct word word, struct word *ret_key, struct word *ret_value)
{
	const char *equals = memchr(word.at, '=', word.len);

	if (!equals)
		return false;
	*ret_key = (struct word){word.at, (size_t)(equals - word.at)};
	*ret_value = (struct word){equals + 1, word.len - ret_key->len - 1};
	return true;
}

/* What comes after the first word, as a sentence. */
static bool refusal(const char *rest, enum err_kind kind, struct err *err)
{
	rest += strspn(rest, " ");
	return err_set(err, kind, "%.*s", (int)strcspn(rest, "\r\n"), rest);
}

/* The first word is "ok", and *p is behind it; else the error that it is. */
static bool begins_ok(const char **p, struct err *err)
{
	const char *line = *p;
	struct word word = next_word(p);

	if (word_is(word, "ok"))
		return true;
	if (word_is(word, "error"))
		return refusal(*p, ERR_DENIED, err);
	if (word_is(word, "failed")) {
		next_word(p);
		return refusal(*p, ERR_GONE, err);
	}
	return err_set(err, ERR_PROTOCOL,
		"the NAS answers '%.*s', which nas-levers does not say: is it the forced command "
		"of this key there?",
		(int)strcspn(line, "\r\n") > 80 ? 80 : (int)strcspn(line, "\r\n"), line);
}

static bool take_number(struct word value, struct opt *ret)
{
	uint64_t v = 0;

	if (!digits_parse(value.at, value.len, INT64_MAX, &v))
		return false;
	*ret = OPT((int64_t)v);
	return true;
}

static bool take_name(struct word value, char ret[ORDER_NAME_MAX])
{
	return word_copy(value, ret, ORDER_NAME_MAX) && is_name(ret);
}

static bool take(struct word key, struct word value, struct order_state *ret)
{
	static const struct {
		const char *key;
		size_t at;
	} numbers[] = {
		{"disks", offsetof(struct order_state, raid_disks)},
		{"memory_kib", offsetof(struct order_state, memory_kib)},
		{"speed_min", offsetof(struct order_state, speed_min_kib)},
		{"stripe_cache", offsetof(struct order_state, stripe_cache)},
		{"paused_at", offsetof(struct order_state, paused_at)},
		{"undo_s", offsetof(struct order_state, undo_s)},
		{"by_s", offsetof(struct order_state, by_s)},
		{"check_by_s", offsetof(struct order_state, check_by_s)},
	};
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (word_is(key, numbers[i].key))
			return take_number(value, (struct opt *)((char *)ret + numbers[i].at));
	if (word_is(key, "array"))
		return word_copy(value, ret->array, sizeof(ret->array));
	if (word_is(key, "operation"))
		return word_copy(value, ret->operation, sizeof(ret->operation));
	if (word_is(key, "by"))
		return take_name(value, ret->by);
	if (word_is(key, "check_by"))
		return take_name(value, ret->check_by);
	if (word_is(key, "speed_min_kind")) {
		ret->speed_min_local = word_is(value, "local");
		return ret->speed_min_local || word_is(value, "system");
	}
	return true; /* a newer nas-levers may say more */
}

bool order_answer(const char *line, struct order_state *ret, struct err *err)
{
	struct order_state state = {0};
	struct word word, key, value;
	const char *p = line;

	if (!begins_ok(&p, err))
		return false;
	for (word = next_word(&p); word.len; word = next_word(&p))
		if (!word_split(word, &key, &value) || !take(key, value, &state))
			return err_set(err, ERR_PROTOCOL,
				"nas-levers says '%.*s', which is no KEY=VALUE that we know",
				word.len > 64 ? 64 : (int)word.len, word.at);
	if (!order_array(state.array))
		return err_set(err, ERR_PROTOCOL, "nas-levers does not say of which array");
	*ret = state;
	return true;
}

/* The next word, if it is "KEY=VALUE". */
static bool next_value(const char **p, const char *key, struct word *ret)
{
	struct word found;

	return word_split(next_word(p), &found, ret) && word_is(found, key);
}

bool order_other(const char *line, struct order_other *ret)
{
	struct order_other other;
	struct opt undo_s = {0};
	struct word value;

	if (!word_is(next_word(&line), "error") || !next_value(&line, "other", &value) ||
		!take_name(value, other.name) || !next_value(&line, "undo_s", &value) ||
		!take_number(value, &undo_s))
		return false;
	other.undo_s = undo_s.v;
	*ret = other;
	return true;
}

bool order_knows_no_names(const char *line)
{
	return strncmp(line, "error the orders are ", 21) == 0;
}

bool order_moved_answer(
	const char *line, size_t max, char (*ret)[MD_NAME_MAX], size_t *ret_n, struct err *err)
{
	struct word word, key, value;
	const char *p = line;
	size_t n = 0, len;

	if (!begins_ok(&p, err))
		return false;
	word = next_word(&p);
	if (!word_split(word, &key, &value) || !word_is(key, "moved"))
		return err_set(err, ERR_PROTOCOL, "nas-levers does not say what is moved");
	while (value.len && !word_is(value, "-")) {
		const char *comma = memchr(value.at, ',', value.len);

		len = comma ? (size_t)(comma - value.at) : value.len;
		if (n == max || !word_copy((struct word){value.at, len}, ret[n], MD_NAME_MAX) ||
			!order_array(ret[n]))
			return err_set(
				err, ERR_PROTOCOL, "nas-levers names arrays that there cannot be");
		n++;
		value.at += comma ? len + 1 : len;
		value.len -= comma ? len + 1 : len;
	}
	*ret_n = n;
	return true;
}

bool order_needs_patience(const char *line)
{
	struct word word = next_word(&line);
	char sensor[32];

	if (!word_is(word, "failed"))
		return false;
	word = next_word(&line);
	return word_copy(word, sensor, sizeof(sensor)) &&
		sensor_needs_patience(nas_sensor_parse(sensor));
}

int64_t order_stripe_pages(int64_t memory_kib, int64_t disks, int64_t share_ppm)
{
	int64_t pages;

	if (memory_kib <= 0 || disks <= 0 || share_ppm <= 0 || memory_kib > INT64_MAX / PPM ||
		share_ppm > PPM)
		return 0;
	pages = memory_kib * share_ppm / PPM / PAGE_KIB / disks;
	if (pages < PAGES_SHIPPED)
		return 0;
	return pages < PAGES_MAX ? pages : PAGES_MAX;
}
