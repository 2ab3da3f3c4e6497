// SPDX-License-Identifier: MIT
#include "cli/record.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"

void record_close(struct record *record)
{
	store_close(record->store);
	record->store = NULL;
}

bool record_database(const char *config, char ret[SETTINGS_PATH_MAX], struct err *err)
{
	struct settings *settings = NULL;

	snprintf(ret, SETTINGS_PATH_MAX, "%s", STORE_DEFAULT_PATH);
	if (!config && access(SETTINGS_FILE, F_OK) != 0)
		return true;
	if (!cli_settings(config, &settings, err))
		return false;
	snprintf(ret, SETTINGS_PATH_MAX, "%s", settings->database);
	settings_free(settings);
	return true;
}

bool record_open(const char *database, const char *config, char ret_path[SETTINGS_PATH_MAX],
	struct store **ret, struct err *err)
{
	if (database)
		snprintf(ret_path, SETTINGS_PATH_MAX, "%s", database);
	else if (!record_database(config, ret_path, err))
		return false;
	if (access(ret_path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
		return err_set(err, ERR_INVALID, "there is no database '%s'", ret_path);
	return store_open_reader(ret_path, ret, err);
}

/* Whether the database answers instead: it was named, or the call failed with `err` because the
 * gate is away. Where it cannot, `err` stays what it was, unless a person named a configuration
 * that is no good. */
static bool from_database(struct record *record, struct err *err)
{
	char path[SETTINGS_PATH_MAX];
	struct err why = {0};

	if (record->store)
		return true;
	if (record->database || (err->kind != ERR_GONE && err->kind != ERR_TIMEOUT))
		return false;
	if (!record_open(NULL, record->config, path, &record->store, &why)) {
		if (record->config)
			*err = why;
		return false;
	}
	fprintf(stderr, "rebuildgate %s: the gate is away: this is read from its database %s\n",
		record->verb, path);
	return true;
}

/* True once the gate answered; `err` is untouched where a database was named. */
static bool from_gate(struct record *record, const char *path, json_t **ret, struct err *err)
{
	char unused[SETTINGS_PATH_MAX];

	if (record->database && !record->store)
		record_open(record->database, NULL, unused, &record->store, err);
	return !record->database && !record->store && cli_call("GET", path, NULL, ret, err);
}

static struct opt unless_zero(int64_t n)
{
	return n ? OPT(n) : OPT_NONE;
}

static void filter_query(const struct store_filter *filter, struct buf *path)
{
	const struct {
		const char *name, *value;
	} texts[] = {{"storage", filter->storage}, {"nas", filter->nas}, {"node", filter->node},
		{"rule", filter->rule}, {"verdict", verdict_word(filter->verdict)}};
	const struct {
		const char *name;
		struct opt value;
	} numbers[] = {{"since", filter->since_utc_ms}, {"until", filter->until_utc_ms},
		{"guest", unless_zero(filter->guest)}, {"ticket", unless_zero(filter->ticket)},
		{"decision", unless_zero(filter->decision)},
		{"before", unless_zero(filter->before)}, {"after", filter->after},
		{"limit", unless_zero((int64_t)filter->limit)}};
	size_t i;

	for (i = 0; i < CLI_COUNT(texts); i++) {
		if (texts[i].value && *texts[i].value)
			cli_query(path, texts[i].name, texts[i].value);
	}
	for (i = 0; i < CLI_COUNT(numbers); i++) {
		if (numbers[i].value.known)
			cli_query_int(path, numbers[i].name, numbers[i].value.v);
	}
}

bool record_log(
	struct record *record, const struct store_filter *filter, json_t **ret, struct err *err)
{
	struct buf path = {0};
	bool done;

	*err = (struct err){0};
	buf_adds(&path, "/v1/log");
	filter_query(filter, &path);
	done = from_gate(record, buf_str(&path), ret, err) ||
		(from_database(record, err) && store_log_json(record->store, filter, 0, ret, err));
	buf_release(&path);
	return done;
}

bool record_stats(struct record *record, int64_t since_utc_ms, int64_t until_utc_ms, json_t **ret,
	struct err *err)
{
	struct buf path = {0};
	bool done;

	*err = (struct err){0};
	buf_adds(&path, "/v1/log/stats");
	cli_query_int(&path, "since", since_utc_ms);
	cli_query_int(&path, "until", until_utc_ms);
	done = from_gate(record, buf_str(&path), ret, err) ||
		(from_database(record, err) &&
			store_stats(record->store, since_utc_ms, until_utc_ms, ret, err));
	buf_release(&path);
	return done;
}

bool record_decision(struct record *record, int64_t id, json_t **ret, struct err *err)
{
	char path[64];

	*err = (struct err){0};
	snprintf(path, sizeof(path), "/v1/decisions/%lld", (long long)id);
	return from_gate(record, path, ret, err) ||
		(from_database(record, err) && store_decision_json(record->store, id, ret, err));
}
