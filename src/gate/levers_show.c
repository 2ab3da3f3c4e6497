// SPDX-License-Identifier: MIT
/* The levers as JSON: src/gate/API.md says what is in it. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "gate/levers_impl.h"
#include "gate/remote.h"
#include "gate/watch.h"

#define TOUCHED_READERS 16

static int64_t utc_of(const struct moment *now, int64_t boot_ms)
{
	return now->utc_ms - (now->boot_ms - boot_ms);
}

static struct opt opt_utc(const struct moment *now, int64_t boot_ms)
{
	return boot_ms ? OPT(utc_of(now, boot_ms)) : OPT_NONE;
}

static struct opt rate_of(enum steer_path path, int64_t rate)
{
	return path == STEER_LIMIT ? OPT(rate) : OPT_NONE;
}

/* Appends and takes over; nothing without memory. */
static void append(json_t *list, json_t *object)
{
	if (object)
		json_array_append_new(list, object);
}

static void put_path(json_t *object, enum steer_path path, int64_t rate)
{
	json_put_text(object, "path", steer_path_word(path ? path : STEER_FREE));
	json_put_opt(object, "rate", rate_of(path, rate));
}

static json_t *array_json(const struct levers *levers, const struct steered *s)
{
	json_t *object = json_object();

	json_put_text(object, "nas", s->nas);
	json_put_text(object, "array", s->array);
	put_path(object, s->out.path, s->out.rate);
	json_put_text(object, "way", s->out.way ? steer_way_word(s->out.way) : NULL);
	json_put_text(object, "reason", steer_reason_word(s->out.reason));
	json_put_text(object, "text", s->out.text);
	json_put_opt(object, "share_ppm", s->out.share_ppm);
	json_put_opt(object, "protect_ppm",
		s->protects && !s->rule.rate.known ? OPT(s->rule.protect_ppm) : OPT_NONE);
	json_put_opt(object, "over_ms", s->protects ? OPT(s->rule.over_ms) : OPT_NONE);
	json_put_opt(object, "pace", s->out.pace);
	json_put_int(object, "jobs", s->jobs);
	json_put_int(object, "unreached", s->unreached);
	json_put_opt(object, "again_ms",
		s->out.again_ms.known ? OPT(s->out.again_ms.v - levers->now.boot_ms) : OPT_NONE);
	return object;
}

static json_t *arrays_json(const struct levers *levers)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; list && i < LEVERS_ARRAYS; i++) {
		const struct steered *s = &levers->arrays[i];

		if (s->nas[0] && (s->protects || s->out.path > STEER_FREE))
			append(list, array_json(levers, s));
	}
	return list;
}

static json_t *lever_json(const char *lever, const char *target, bool set)
{
	json_t *object = json_object();

	json_put_text(object, "lever", lever);
	json_put_text(object, "target", target);
	json_put_bool(object, "set", set);
	return object;
}

/* How late a change acts: what slices and rests are counted by. */
static void put_delay(json_t *object, int64_t delay_ms, bool measured)
{
	json_put_int(object, "delay_ms", delay_ms);
	json_put_bool(object, "delay_measured", measured);
}

static json_t *keeper_json(const struct levers *levers, const struct keeper *keeper)
{
	const struct moment *now = &levers->now;
	char target[160], lost[KEEPER_TEXT];
	json_t *object;

	keeper_target(keeper, target);
	object = lever_json("block-jobs", target, keeper->since_ms != 0);
	put_path(object, keeper->path, keeper->rate);
	json_put_opt(object, "since_utc_ms", opt_utc(now, keeper->since_ms));
	json_put_opt(object, "until_utc_ms",
		keeper->since_ms && !keeper->lost_ms
			? OPT(utc_of(now, keeper->said_ms) + KEEPER_FREE_MS)
			: OPT_NONE);
	json_put_bool(object, "usable", keeper_alive(levers, keeper) && !keeper->said.trouble[0]);
	json_put_text(object, "trouble",
		keeper->lost_ms                        ? keeper_lost_text(keeper, lost)
			: keeper->said.trouble[0]      ? keeper->said.trouble
			: keeper_alive(levers, keeper) ? NULL
						       : "its keeper does not ask any more");
	json_put_opt(object, "moved", keeper->said.moved);
	put_delay(object, keeper_delay(keeper), keeper->n_delays > 0);
	json_put_int(object, "ticket", keeper->said.ticket);
	return object;
}

/* A throttled guest that should have a keeper and has none: what is said of it stands where its
 * keeper would. */
static json_t *unkept_json(struct levers *levers, const struct lever_job *job)
{
	const struct keeper *keeper = keeper_of(levers, job->ticket, job->guest);
	char target[160], text[240];
	json_t *object;

	if (!job->throttled || !job->unkept || keeper)
		return NULL;
	snprintf(target, sizeof(target), "%s/%u", job->node, job->guest);
	object = lever_json("block-jobs", target, false);
	put_path(object, STEER_FREE, 0);
	json_put_bool(object, "usable", false);
	json_put_text(object, "trouble", unkept_text(levers, job, text));
	json_put_int(object, "ticket", job->ticket);
	return object;
}

/* A job that is not to be slowed and goes through the same server. */
static void add_bystanders(const struct levers *levers, const char *pbs, json_t *list)
{
	char text[STORAGE_NAME_MAX + 40];
	size_t i;

	for (i = 0; i < levers->n_jobs; i++) {
		const struct lever_job *job = &levers->jobs[i];

		if (job->throttled || strcmp(job->pbs, pbs) != 0)
			continue;
		if (job->ticket)
			snprintf(text, sizeof(text), "job T%lld onto %s", (long long)job->ticket,
				job->storage);
		else
			snprintf(text, sizeof(text), "a job of %.30s onto %s", job->node,
				job->storage);
		append(list, json_string(text));
	}
}

static const char *datastore_of(const struct storage_settings *storage)
{
	return storage->datastore[0] ? storage->datastore : storage->name;
}

/* Whether a throttled job writes to the datastore: then it is not slowed by the way. */
static bool is_meant(const struct levers *levers, const char *pbs, const char *store)
{
	const struct settings *settings = levers->gate->settings;
	size_t i;

	for (i = 0; i < levers->n_jobs; i++) {
		const struct storage_settings *storage =
			settings_storage(settings, levers->jobs[i].storage);

		if (levers->jobs[i].throttled && storage && !strcmp(storage->pbs, pbs) &&
			!strcmp(datastore_of(storage), store))
			return true;
	}
	return false;
}

static void add_store(const struct levers *levers, const char *pbs, const char *store, json_t *list)
{
	size_t i;

	if (is_meant(levers, pbs, store))
		return;
	for (i = 0; i < json_array_size(list); i++)
		if (strcmp(json_string_value(json_array_get(list, i)), store) == 0)
			return;
	append(list, json_string(store));
}

/* Restores from datastores that are no storage here (those from one of ours free the rule): what
 * they read goes the other way, which has no rate; what they ask for shares ours. */
static void add_readers(const struct levers *levers, const char *pbs, json_t *list)
{
	struct task_reader readers[TOUCHED_READERS];
	char text[sizeof(readers[0].store) + 40];
	size_t i, n = tasks_readers_elsewhere(levers->gate->tasks, pbs, readers, TOUCHED_READERS);

	for (i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "what a restore from %s asks for", readers[i].store);
		append(list, json_string(text));
	}
}

/* What else the rule slows: all of a host's streams share it. The token need not see all
 * datastores. */
static json_t *touches_json(const struct levers *levers, const struct server_part *part)
{
	const struct settings *settings = levers->gate->settings;
	json_t *list = json_array();
	size_t i;

	for (i = 0; list && i < settings->n_storages; i++)
		if (strcmp(settings->storages[i].pbs, part->pbs) == 0)
			add_store(levers, part->pbs, datastore_of(&settings->storages[i]), list);
	for (i = 0; list && i < part->n_stores; i++)
		add_store(levers, part->pbs, part->stores[i], list);
	if (!list)
		return NULL;
	append(list, json_string("any other datastore of this server"));
	add_bystanders(levers, part->pbs, list);
	add_readers(levers, part->pbs, list);
	return list;
}

static json_t *server_json(const struct levers *levers, const struct server_part *part)
{
	struct pbs_lever *lever = pbs_levers_find(levers->gate->pbs_levers, part->pbs);
	struct pbs_lever_state state;
	json_t *object;

	if (!lever)
		return NULL;
	pbs_lever_state(lever, &state);
	object = lever_json("traffic-control", part->pbs, state.path > STEER_FREE);
	put_path(object, state.path, state.rate);
	json_put_opt(object, "since_utc_ms",
		state.path > STEER_FREE ? opt_utc(&levers->now, part->since_ms) : OPT_NONE);
	json_put_opt(object, "until_utc_ms", opt_utc(&levers->now, state.until_ms));
	json_put_bool(object, "usable", state.usable);
	json_put_text(object, "trouble", state.trouble);
	json_put_text(object, "hidden_by", state.hidden_by);
	json_put_bool(object, "settled", state.settled);
	json_put_opt(object, "moved", state.moved);
	put_delay(object, state.delay_ms, state.measured);
	json_put(object, "touches",
		state.path > STEER_FREE ? touches_json(levers, part) : json_array());
	return object;
}

/* Our rule on a server that is used no more, until it is removed. */
static json_t *retired_json(const struct levers *levers, const struct pbs_lever *lever)
{
	struct pbs_lever_state state;
	json_t *object;

	pbs_lever_state(lever, &state);
	object = lever_json("traffic-control", pbs_lever_target_name(lever), true);
	put_path(object, state.path, state.rate);
	json_put_opt(object, "since_utc_ms", opt_utc(&levers->now, state.since_ms));
	json_put_opt(object, "until_utc_ms", opt_utc(&levers->now, state.until_ms));
	json_put_bool(object, "usable", false);
	json_put_text(object, "trouble", state.trouble);
	return object;
}

struct floor_list {
	const struct levers *levers;
	json_t *list;
};

static json_t *floor_json(const struct levers *levers, const char *lever, const char *target,
	bool set, const struct floor_state *state)
{
	const struct moment *now = &levers->now;
	json_t *object = lever_json(lever, target, set);

	json_put_opt(object, "since_utc_ms", set ? opt_utc(now, state->since_ms) : OPT_NONE);
	json_put_opt(object, "until_utc_ms",
		set && state->undo_s.known ? OPT(now->utc_ms + state->undo_s.v * MS_SECOND)
					   : OPT_NONE);
	json_put_bool(object, "usable", state->usable);
	json_put_text(object, "trouble", state->trouble);
	return object;
}

static void add_floor(
	void *data, const char *nas, const char *array, const struct floor_state *state)
{
	struct floor_list *floors = data;
	bool paused = state->paused;
	json_t *object;
	char target[NAS_NAME_MAX + MD_NAME_MAX];

	snprintf(target, sizeof(target), "%s%s%s", nas, *array ? "/" : "", array);
	if (state->floor) {
		object = floor_json(
			floors->levers, "sync-speed", target, state->moved && !paused, state);
		json_put_text(object, "path", state->moved && !paused ? "floor" : "free");
		json_put_opt(
			object, "rate", state->kib_s.known ? OPT(state->kib_s.v * 1024) : OPT_NONE);
		json_put_opt(object, "stripe_cache", state->stripe_pages);
		append(floors->list, object);
	}
	if (!state->check)
		return;
	object = floor_json(floors->levers, "check", target, paused, state);
	json_put_text(object, "path", paused ? "rest" : "free");
	append(floors->list, object);
}

static json_t *levers_json(struct levers *levers, bool moved_only)
{
	struct floor_list floors = {levers, json_array()};
	json_t *list = floors.list, *kept;
	const struct pbs_lever *retired;
	size_t i;

	for (i = 0; i < LEVERS_KEEPERS; i++)
		if (levers->keepers[i].said_ms)
			append(list, keeper_json(levers, &levers->keepers[i]));
	for (i = 0; i < levers->n_jobs; i++)
		append(list, unkept_json(levers, &levers->jobs[i]));
	for (i = 0; levers->gate->pbs_levers && i < levers->n_servers; i++)
		append(list, server_json(levers, &levers->servers[i]));
	for (i = 0; (retired = pbs_levers_retired(levers->gate->pbs_levers, i)); i++)
		append(list, retired_json(levers, retired));
	if (levers->gate->floors)
		floor_levers_each(levers->gate->floors, add_floor, &floors);
	if (!moved_only)
		return list;
	kept = json_array();
	for (i = 0; i < json_array_size(list); i++)
		if (json_is_true(json_object_get(json_array_get(list, i), "set")))
			json_array_append(kept, json_array_get(list, i));
	json_decref(list);
	return kept;
}

json_t *levers_moved_json(struct levers *levers)
{
	return levers_json(levers, true);
}

json_t *levers_show(struct levers *levers)
{
	struct gate *gate = levers->gate;
	json_t *object = json_object();

	levers->now = clock_now();
	json_put(object, "arrays", arrays_json(levers));
	json_put(object, "levers", levers_json(levers, false));
	json_put(object, "servers", gate->remotes ? remotes_show(gate->remotes) : json_array());
	json_put(object, "tasks", gate->tasks ? tasks_show(gate->tasks) : json_array());
	json_put_opt(object, "frozen_until_utc_ms",
		levers_frozen(levers) ? OPT(utc_of(&levers->now, levers->frozen_ms)) : OPT_NONE);
	return object;
}

static const char *by_word(enum lever_by by)
{
	if (by == BY_KEEPER)
		return "block-jobs";
	if (by == BY_FLOOR)
		return "sync-speed";
	return by == BY_PBS ? "traffic-control" : NULL;
}

static json_t *job_json(struct levers *levers, const struct lever_job *job)
{
	struct job_path path = {.path = STEER_FREE, .units = 1};
	json_t *object = json_object();

	if (job->by > BY_FLOOR)
		path = levers_path(levers, job->arrays);
	put_path(object, path.path, path.rate / path.units);
	json_put_text(object, "by", by_word(job->by));
	json_put_opt(object, "share_ppm", path.steered ? path.steered->out.share_ppm : OPT_NONE);
	json_put_text(object, "text",
		path.steered
			? path.steered->out.text
			: (job->by <= BY_FLOOR ? job->text : "nothing is to be protected now"));
	return object;
}

json_t *levers_ticket(struct levers *levers, int64_t ticket)
{
	size_t i;

	for (i = 0; levers && i < levers->n_jobs; i++)
		if (levers->jobs[i].ticket == ticket && levers->jobs[i].throttled)
			return job_json(levers, &levers->jobs[i]);
	return json_null();
}

static void number(struct buf *buf, const char *name, const struct steered *s, struct opt value)
{
	if (value.known)
		buf_addf(buf, "rebuildgate_%s{nas=\"%s\",md=\"%s\"} %lld\n", name, s->nas, s->array,
			(long long)value.v);
}

static struct opt metric(const struct steered *s, size_t which)
{
	switch (which) {
	case 0:
		return OPT(s->out.path);
	case 1:
		return rate_of(s->out.path, s->out.rate);
	case 2:
		return s->out.share_ppm;
	case 3:
		return s->protects ? OPT(s->rule.protect_ppm) : OPT_NONE;
	case 4:
		return s->out.pace;
	default:
		return OPT(s->jobs);
	}
}

void levers_metrics(struct levers *levers, struct buf *buf)
{
	static const struct {
		const char *name, *help;
	} table[] = {
		{"throttle_path", "How open the backups' path is: 1 free, 2 open, 3 limit, 4 rest"},
		{"throttle_limit_bytes_per_second", "The limit of that path"},
		{"throttle_share_ppm", "Share of its undisturbed pace that the operation kept"},
		{"throttle_protect_ppm", "Share that the rule protects"},
		{"throttle_backup_bytes_per_second", "What backups moved over the same time"},
		{"throttle_jobs", "Jobs that are throttled and reached by a lever"},
	};
	size_t i, m;

	for (m = 0; levers && m < sizeof(table) / sizeof(table[0]); m++) {
		buf_addf(buf, "# HELP rebuildgate_%s %s\n# TYPE rebuildgate_%s gauge\n",
			table[m].name, table[m].help, table[m].name);
		for (i = 0; i < LEVERS_ARRAYS; i++) {
			const struct steered *s = &levers->arrays[i];

			if (s->nas[0] && (s->protects || s->out.path > STEER_FREE))
				number(buf, table[m].name, s, metric(s, m));
		}
	}
}
