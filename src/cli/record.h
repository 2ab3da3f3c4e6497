// SPDX-License-Identifier: MIT
/*
 * The record for whoever asks: from the gate, or from its database where a person names one or the
 * gate is away. The answers are the same, member by member.
 */
#ifndef RG_CLI_RECORD_H
#define RG_CLI_RECORD_H

#include "base/err.h"
#include "base/json.h"
#include "conf/settings.h"
#include "store/store.h"

struct record {
	const char *verb;     /* for the line that says where the answer comes from */
	const char *database; /* NULL: ask the gate */
	const char *config;   /* names the database where the gate is away */
	struct store *store;  /* once it is read */
};

void record_close(struct record *record);

/* {"decisions","next"}. */
bool record_log(
	struct record *record, const struct store_filter *filter, json_t **ret, struct err *err);

bool record_stats(struct record *record, int64_t since_utc_ms, int64_t until_utc_ms, json_t **ret,
	struct err *err);

/* One decision whole, with its policy's text. */
bool record_decision(struct record *record, int64_t id, json_t **ret, struct err *err);

/* The database that the configuration names; the shipped one where there is no configuration. */
bool record_database(const char *config, char ret[SETTINGS_PATH_MAX], struct err *err);

/* Opens `database`, or, where it is NULL, that of record_database(). ret_path is what was meant. */
bool record_open(const char *database, const char *config, char ret_path[SETTINGS_PATH_MAX],
	struct store **ret, struct err *err);

#endif
