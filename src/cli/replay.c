// SPDX-License-Identifier: MIT
/*
 * `replay`: decides all recorded requests again, from the inputs and the policies that were
 * recorded with them: the proof that a decision is what its policy says, or, with another policy,
 * what that one would have said. Rows are streamed; only what differs is kept, up to a bound.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/record.h"
#include "conf/conf.h"
#include "store/store.h"
#include "wire/wire.h"

#define ROWS_MAX 1000 /* that are listed as JSON; all are counted */
#define ROWS_SHOWN 50 /* as text */
#define VERDICTS 5

struct replay {
	struct store *store;
	const struct policy *other; /* NULL: each row's own */
	struct policy *own;         /* of `own_hash` */
	char own_hash[STORE_HASH_TEXT];
	struct inputs *in;
	int64_t decisions, identical, undecided;
	int64_t other_words; /* of the identical ones: other sentences in their reasons */
	int64_t counts[VERDICTS][VERDICTS]; /* recorded verdict, then the other policy's */
	json_t *rows;
	bool failed; /* no memory */
};

/* ---- deciding again ---- */

/* The policy that the row was decided by; NULL with a sentence. */
static const struct policy *own_policy(
	struct replay *replay, const struct store_row *row, struct err *err)
{
	struct conf_errors errors = {0};
	struct buf text = {0};
	char name[32];

	if (replay->own && strcmp(replay->own_hash, row->policy_hash) == 0)
		return replay->own;
	conf_policy_free(replay->own);
	replay->own = NULL;
	snprintf(name, sizeof(name), "policy %.12s", row->policy_hash);
	if (store_policy_text(replay->store, row->policy_hash, &text, err) &&
		!conf_policy_parse(buf_str(&text), text.len, name, &replay->own, &errors))
		err_set(err, ERR_INVALID, "its %s cannot be read any more: %.300s", name,
			errors.n ? errors.list[0].text : "out of memory");
	if (replay->own)
		snprintf(replay->own_hash, sizeof(replay->own_hash), "%s", row->policy_hash);
	conf_errors_release(&errors);
	buf_release(&text);
	return replay->own;
}

static bool decide_again(
	struct replay *replay, const struct store_row *row, struct decision *ret, struct err *err)
{
	const struct policy *policy = replay->other ? replay->other : own_policy(replay, row, err);
	json_t *value;
	bool good;

	if (!policy)
		return false;
	value = json_read(row->inputs, strlen(row->inputs), err);
	good = value && wire_inputs_read(value, replay->in, err);
	json_decref(value);
	if (!good)
		return err_prefix(err, "its inputs cannot be read");
	decide(policy, replay->in, ret, NULL);
	return true;
}

/* ---- what differs ---- */

static json_t *side(
	const char *verdict, const char *act, int step, const char *rule, const char *reason)
{
	json_t *object = json_object();

	if (object && json_put_text(object, "verdict", verdict) &&
		json_put_text(object, "act", act) && json_put_int(object, "step", step) &&
		json_put_text(object, "rule", rule) && json_put_text(object, "reason", reason))
		return object;
	json_decref(object);
	return NULL;
}

static json_t *recorded_side(const struct store_row *row)
{
	json_t *reasons = json_read(row->reasons, strlen(row->reasons), NULL);
	json_t *object = side(row->verdict, row->act, row->step, row->rule,
		out_text_of(json_array_get(reasons, 0), "text"));

	json_decref(reasons);
	return object;
}

static json_t *again_side(const struct decision *decision)
{
	return side(verdict_word(decision->verdict), verdict_word(decision->act), decision->step,
		decision->rule, decision->n_reasons ? decision->reasons[0].text : "");
}

/* `again` is NULL where it could not be decided; `why` says so. */
static void note(struct replay *replay, const struct store_row *row, const struct decision *again,
	const char *why)
{
	json_t *entry;

	if (json_array_size(replay->rows) >= ROWS_MAX)
		return;
	entry = json_object();
	if (!entry || !json_put_int(entry, "id", row->id) ||
		!json_put_int(entry, "time_utc_ms", row->time_utc_ms) ||
		!json_put_text(entry, "storage", row->storage) ||
		!json_put_text(entry, "node", row->node) ||
		!json_put(entry, "recorded", recorded_side(row)) ||
		(again && !json_put(entry, "again", again_side(again))) ||
		(why && !json_put_text(entry, "error", why))) {
		json_decref(entry);
		replay->failed = true;
	} else if (json_array_append_new(replay->rows, entry) != 0) {
		replay->failed = true;
	}
}

static void drop_words(json_t *decision)
{
	json_t *reason;
	size_t i;

	json_array_foreach(json_object_get(decision, "reasons"), i, reason)
	{
		json_object_del(reason, "text");
	}
}

/* The reasons that were recorded stand first now; a later release may give more. */
static bool reasons_cover(const json_t *recorded, const json_t *now)
{
	size_t n = json_array_size(recorded), i;

	for (i = 0; i < n; i++) {
		if (!json_equal(json_array_get(recorded, i), json_array_get(now, i)))
			return false;
	}
	return true;
}

/* All that was recorded is so now; a later release may record more. */
static bool covers(json_t *recorded, const json_t *now)
{
	const char *name;
	json_t *value;

	json_object_foreach(recorded, name, value)
	{
		const json_t *other = json_object_get(now, name);
		bool same = strcmp(name, "reasons") == 0 ? reasons_cover(value, other)
							 : json_equal(value, other);

		if (!same)
			return false;
	}
	return json_is_object(recorded);
}

/* Whether the decision is the recorded one. The sentences of its reasons may differ: another
 * release says the same in other words; *ret_words tells. */
static bool identical(struct replay *replay, const struct store_row *row,
	const struct decision *again, bool *ret_words)
{
	json_t *value = wire_decision(again), *recorded = NULL;
	char *text = value ? json_text(value, 0) : NULL;
	bool same = text && strcmp(text, row->decision) == 0;

	replay->failed |= !text;
	*ret_words = false;
	if (text && !same) {
		recorded = json_read(row->decision, strlen(row->decision), NULL);
		drop_words(recorded);
		drop_words(value);
		same = *ret_words = covers(recorded, value);
	}
	free(text);
	json_decref(recorded);
	json_decref(value);
	return same;
}

static bool each_row(void *data, const struct store_row *row)
{
	struct replay *replay = data;
	struct decision again;
	struct err err = {0};
	enum verdict recorded = verdict_parse(row->verdict);
	bool same, words = false;

	replay->decisions++;
	if (!decide_again(replay, row, &again, &err)) {
		replay->undecided++;
		note(replay, row, NULL, err.text);
		return !replay->failed;
	}
	same = replay->other ? again.verdict == recorded : identical(replay, row, &again, &words);
	replay->counts[recorded % VERDICTS][again.verdict % VERDICTS]++;
	replay->other_words += words;
	if (same)
		replay->identical++;
	else
		note(replay, row, &again, NULL);
	return !replay->failed;
}

/* ---- the answer ---- */

static json_t *changes_json(const struct replay *replay)
{
	json_t *list = json_array();
	int from, to;

	for (from = 1; list && from < VERDICTS; from++) {
		for (to = 1; to < VERDICTS; to++) {
			json_t *entry;

			if (!replay->counts[from][to])
				continue;
			entry = json_object();
			if (!entry ||
				!json_put_text(entry, "from", verdict_word((enum verdict)from)) ||
				!json_put_text(entry, "to", verdict_word((enum verdict)to)) ||
				!json_put_int(entry, "count", replay->counts[from][to]) ||
				json_array_append(list, entry) != 0) {
				json_decref(entry);
				json_decref(list);
				return NULL;
			}
			json_decref(entry);
		}
	}
	return list;
}

static json_t *answer(const struct replay *replay, const char *file)
{
	json_t *object = json_object();

	if (object && json_put_text(object, "policy", file) &&
		json_put_int(object, "decisions", replay->decisions) &&
		json_put_int(object, "identical", replay->identical) &&
		json_put_int(object, "other_words", replay->other_words) &&
		json_put_int(object, "different",
			replay->decisions - replay->identical - replay->undecided) &&
		json_put_int(object, "undecided", replay->undecided) &&
		json_put(object, "verdicts", changes_json(replay)) &&
		json_put(object, "rows", json_incref(replay->rows)))
		return object;
	json_decref(object);
	return NULL;
}

static const char *rule_text(const json_t *object, const char *name, char *text, size_t size)
{
	const json_t *one = json_object_get(object, name);
	const char *rule = out_text_of(one, "rule");

	snprintf(text, size, "%s, step %lld%s%s", out_text_of(one, "verdict"),
		(long long)out_int_of(one, "step").v, *rule ? ", " : "", rule);
	return text;
}

static void rows_text(const struct out *out, const json_t *value, struct buf *buf)
{
	static const char *const names[] = {"ID", "TIME", "STORAGE", "RECORDED", "NOW"};
	const json_t *rows = out_list_of(value, "rows");
	struct opt all = out_int_of(value, "different"), un = out_int_of(value, "undecided");
	size_t i, n = json_array_size(rows) < ROWS_SHOWN ? json_array_size(rows) : ROWS_SHOWN;
	char text[160], when[UNITS_TEXT_MAX];
	struct table table;

	if (!n)
		return;
	table_start(&table, 5, names);
	for (i = 0; i < n; i++) {
		const json_t *row = json_array_get(rows, i);

		snprintf(text, sizeof(text), "%lld", (long long)out_int_of(row, "id").v);
		table_cell(&table, text);
		table_cell(&table, out_when(out, out_int_of(row, "time_utc_ms"), when));
		table_cell(&table, out_text_of(row, "storage"));
		table_cell(&table, rule_text(row, "recorded", text, sizeof(text)));
		table_cell(&table,
			json_object_get(row, "again") ? rule_text(row, "again", text, sizeof(text))
						      : out_text_of(row, "error"));
	}
	buf_addc(buf, '\n');
	table_print(out, &table, "", buf);
	if (all.v + un.v > (int64_t)n)
		buf_addf(buf, "and %lld more\n", (long long)(all.v + un.v) - (long long)n);
}

static void counts_text(const struct out *out, const json_t *value, struct buf *buf)
{
	static const char *const names[] = {"RECORDED", "NOW", "DECISIONS"};
	const json_t *list = out_list_of(value, "verdicts");
	struct table table;
	char text[32];
	size_t i;

	table_start(&table, 3, names);
	for (i = 0; i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);

		table_cell(&table, out_text_of(entry, "from"));
		table_cell(&table, out_text_of(entry, "to"));
		snprintf(text, sizeof(text), "%lld", (long long)out_int_of(entry, "count").v);
		table_cell(&table, text);
	}
	table_print(out, &table, "", buf);
}

static void answer_text(const struct out *out, const json_t *value, struct buf *buf)
{
	struct opt words = out_int_of(value, "other_words"), un = out_int_of(value, "undecided");
	const char *file = out_text_of(value, "policy");

	out_count(buf, out_int_of(value, "decisions").v, "decision");
	if (*file)
		buf_addf(buf, ", %lld with another verdict under %s\n",
			(long long)out_int_of(value, "different").v, file);
	else
		buf_addf(buf, ", %lld identical\n", (long long)out_int_of(value, "identical").v);
	if (words.v)
		buf_addf(buf,
			"%lld of them give their reasons in other words: another release decided "
			"them\n",
			(long long)words.v);
	if (un.v)
		buf_addf(buf, "%lld could not be decided again\n", (long long)un.v);
	if (*file && out_int_of(value, "decisions").v) {
		buf_adds(buf,
			"Each from what was known then; what another verdict would have led "
			"to later is not played through.\n\n");
		counts_text(out, value, buf);
	}
	rows_text(out, value, buf);
}

/* ---- the verb ---- */

static int run(
	const struct cli_verb *verb, struct replay *replay, const char *file, const struct out *out)
{
	struct err err = {0};
	json_t *value = NULL;
	int code = CLI_OK;

	replay->in = malloc(sizeof(*replay->in));
	replay->rows = json_array();
	if (!replay->in || !replay->rows) {
		err_nomem(&err);
	} else if (store_walk(replay->store, 0, each_row, replay, &err)) {
		value = replay->failed ? NULL : answer(replay, file);
		if (!value)
			err_nomem(&err);
	}
	if (!value || !out_show(out, value, answer_text, &err))
		code = cli_fail_err(verb->name, &err);
	else if (replay->undecided || (!file && replay->identical != replay->decisions))
		code = CLI_FAILED;
	json_decref(value);
	return code;
}

static struct policy *other_policy(const char *file)
{
	struct conf_errors errors = {0};
	struct policy *policy = NULL;
	struct buf text = {0};

	if (!conf_policy_load(file, &policy, &errors)) {
		conf_errors_print(&errors, &text);
		fputs(buf_str(&text), stderr);
	}
	buf_release(&text);
	conf_errors_release(&errors);
	return policy;
}

int cli_replay(const struct cli_verb *verb, int argc, char **argv)
{
	const char *database = NULL, *config = NULL, *file = NULL;
	const struct cli_option options[] = {
		{"--policy", "FILE", "decide by this policy, and show what it changes", &file,
			NULL},
		{"--database", "FILE", "this database, not the one that the configuration names",
			&database, NULL},
		CLI_OPTION_CONFIG(&config)};
	char path[SETTINGS_PATH_MAX];
	struct policy *policy = NULL;
	struct replay replay = {0};
	struct err err = {0};
	struct out out;
	int code;

	if (!cli_args(verb, argc, argv, options, CLI_COUNT(options), &out, &code))
		return code;
	if (file && !(policy = other_policy(file)))
		return CLI_USAGE;
	replay.other = policy;
	code = record_open(database, config, path, &replay.store, &err)
		? run(verb, &replay, file, &out)
		: cli_fail_err(verb->name, &err);
	store_close(replay.store);
	json_decref(replay.rows);
	free(replay.in);
	conf_policy_free(replay.own);
	conf_policy_free(policy);
	return code;
}
