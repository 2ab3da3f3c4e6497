// SPDX-License-Identifier: MIT
/* The lines of a scenario: what there is, and what happens. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "script.h"

static bool wrong(struct sim *sim, const struct words *words)
{
	return script_fail(
		sim, words, "'%s' makes no sense here, see tests/sim/README.md", word_at(words, 0));
}

static void may_span(const struct words *words, const char *key, int64_t *ret)
{
	const char *value = word_value(words, key);

	if (value)
		span_parse(value, ret, NULL);
}

/* "+1h", "-1h" */
static bool signed_span(const char *text, int64_t *ret)
{
	int64_t ms;

	if ((text[0] != '+' && text[0] != '-') || !span_parse(text + 1, &ms, NULL))
		return false;
	*ret = text[0] == '-' ? -ms : ms;
	return true;
}

/* --- what there is --- */

static bool do_begins(struct sim *sim, const struct words *words)
{
	struct moment now = {0};
	const char *offset = word_value(words, "offset");
	int64_t utc_ms, ms = 0;

	if (!when_parse(word_at(words, 1), &now, &utc_ms, NULL) ||
		(offset && !signed_span(offset, &ms)))
		return wrong(sim, words);
	sim->utc_base = utc_ms - SIM_START_MS;
	sim->offset_s = (int32_t)(ms / MS_SECOND);
	return true;
}

static bool do_settings(struct sim *sim, const struct words *words)
{
	const char *gate = word_value(words, "gate"), *node = word_value(words, "node");
	const char *down = word_value(words, "if_gate_down"), *lever = word_value(words, "lever");

	may_span(words, "poll", &sim->poll_ms);
	may_span(words, "idle_poll", &sim->idle_poll_ms);
	may_span(words, "fresh", &sim->fresh_ms);
	may_span(words, "stale", &sim->stale_ms);
	may_span(words, "silence", &sim->silence_ms);
	may_span(words, "wait_for_gate", &sim->wait_for_gate_ms);
	if (down)
		sim->if_gate_down = verdict_parse(down);
	if (gate)
		sim->gated = strcmp(gate, "no") != 0;
	if (lever)
		sim->lever = strcmp(lever, "no") != 0;
	if (node)
		snprintf(sim->own_node, sizeof(sim->own_node), "%s", node);
	return true;
}

static bool do_nas(struct sim *sim, const struct words *words)
{
	const char *vendor = word_value(words, "vendor");
	struct disks *disks;

	if (words->n < 2 || sim->n_nas == SIM_MAX_NAS)
		return wrong(sim, words);
	disks = &sim->nas[sim->n_nas++];
	disks_init(disks, word_at(words, 1));
	disks->now_ms = sim->t;
	disks->synology = vendor && !strcmp(vendor, "synology");
	may_span(words, "look", &disks->look_ms);
	return true;
}

/* "NAS/MD" */
static struct disk_array *array_of(struct sim *sim, const char *text, struct disks **ret)
{
	char nas[NAS_NAME_MAX];
	const char *slash = strchr(text, '/');

	if (!slash)
		return NULL;
	snprintf(nas, sizeof(nas), "%.*s", (int)(slash - text), text);
	*ret = sim_nas(sim, nas);
	if (!*ret)
		return NULL;
	disks_advance(*ret, sim->t);
	return disks_find(*ret, slash + 1);
}

static bool array_rates(const struct words *words, struct disk_array *array)
{
	const char *rate = word_value(words, "rate"), *inner = word_value(words, "inner");
	const char *written = word_value(words, "written");
	int64_t v;

	if (rate && !rate_parse(rate, &v, NULL))
		return false;
	if (rate)
		array->outer = array->inner = (double)v;
	if (inner && !rate_parse(inner, &v, NULL))
		return false;
	if (inner)
		array->inner = (double)v;
	if (written && !rate_parse(written, &v, NULL))
		return false;
	if (written)
		array->written_share = (double)v / array->outer;
	may_span(words, "back", &array->back_ms);
	return true;
}

static bool do_array(struct sim *sim, const struct words *words)
{
	const char *name = word_at(words, 1), *slash = strchr(name, '/');
	const char *level = word_value(words, "level"), *disks = word_value(words, "disks");
	const char *size = word_value(words, "size");
	char nas[NAS_NAME_MAX] = "";
	struct disk_array *array;
	uint64_t n = 6;
	int64_t bytes;

	if (slash)
		snprintf(nas, sizeof(nas), "%.*s", (int)(slash - name), name);
	if (!slash || !sim_nas(sim, nas) || (disks && !u64_parse(disks, 1, 12, &n, NULL)))
		return wrong(sim, words);
	array = disks_add(sim_nas(sim, nas), slash + 1,
		level ? md_level_parse(level) : MD_LEVEL_RAID6, (int)n);
	if (!array || !array_rates(words, array))
		return wrong(sim, words);
	if (size && !size_parse(size, &bytes, NULL))
		return wrong(sim, words);
	if (size)
		array->size_kib = bytes / 1024;
	return true;
}

static bool do_storage(struct sim *sim, const struct words *words)
{
	struct storage *storage;
	size_t i;

	if (words->n < 3 || words->n > 3 + 4 || sim->n_storages == SIM_MAX_STORAGES)
		return wrong(sim, words);
	storage = &sim->storages[sim->n_storages++];
	snprintf(storage->name, sizeof(storage->name), "%s", word_at(words, 1));
	snprintf(storage->mapping.nas, sizeof(storage->mapping.nas), "%s", word_at(words, 2));
	for (i = 3; i < words->n; i++)
		snprintf(storage->mapping.arrays[storage->mapping.n_arrays++], MD_NAME_MAX, "%s",
			word_at(words, i));
	return true;
}

static bool job_numbers(const struct words *words, struct job *job)
{
	const char *guests = word_value(words, "guests"), *guest = word_value(words, "guest");
	const char *size = word_value(words, "size"), *pace = word_value(words, "pace");
	const char *client = word_value(words, "client"), *age = word_value(words, "age");
	const char *predicted = word_value(words, "predicted");
	uint64_t n = 1, first = 100;
	int64_t span = 0;

	if ((guests && !u64_parse(guests, 1, 1000, &n, NULL)) ||
		(guest && !u64_parse(guest, 1, 1000000, &first, NULL)) ||
		(size && !size_parse(size, &job->size, NULL)) ||
		(pace && !rate_parse(pace, &job->pace, NULL)))
		return false;
	job->n_guests = (int)n;
	job->first_guest = (uint32_t)first;
	if (client)
		job->client = client_parse(client);
	may_span(words, "period", &job->period_ms);
	if (predicted)
		job->predicted_ms.known = span_parse(predicted, &job->predicted_ms.v, NULL);
	if (age && !span_parse(age, &span, NULL))
		return false;
	if (age)
		job->backed_up_ms = OPT(SIM_START_MS - span);
	if (job->n_guests > REQUEST_MAX_GUESTS)
		return false;
	return job->client != CLIENT_NONE && job->pace > 0;
}

static bool do_job(struct sim *sim, const struct words *words)
{
	const char *node = word_value(words, "node"), *storage = word_value(words, "storage");
	struct job *job;

	if (words->n < 2 || !node || !storage || sim->n_jobs == SIM_MAX_JOBS ||
		!sim_node(sim, node))
		return wrong(sim, words);
	job = &sim->jobs[sim->n_jobs++];
	*job = (struct job){.client = CLIENT_VZDUMP,
		.size = INT64_C(20000000000),
		.pace = 100000000,
		.wake_ms = SIM_NEVER,
		.held_since = -1,
		.inside_since = -1,
		.rule_held_ms = -1,
		.free_since = -1,
		.go_ms = -1,
		.begun_ms = -1,
		.ended_ms = -1};
	snprintf(job->name, sizeof(job->name), "%s", word_at(words, 1));
	snprintf(job->node, sizeof(job->node), "%s", node);
	snprintf(job->storage, sizeof(job->storage), "%s", storage);
	return job_numbers(words, job) || wrong(sim, words);
}

/* policy NAME|FILE [holds=OPS] [catches=OPS] */
static bool do_policy(struct sim *sim, const struct words *words)
{
	size_t i, before = sim->n_policies;

	if (words->n < 2 || !gate_policy(sim, word_at(words, 1)))
		return script_fail(sim, words, "policy '%s' is not usable", word_at(words, 1));
	for (i = before; i < sim->n_policies; i++) {
		sim->policies[i].holds = script_mask(word_value(words, "holds"));
		sim->policies[i].catches = script_mask(word_value(words, "catches"));
	}
	return true;
}

/* --- what happens to arrays --- */

static bool array_event(struct sim *sim, const struct words *words)
{
	const char *what = word_at(words, 0);
	enum md_operation op = md_operation_parse(word_at(words, 2));
	struct disks *disks = NULL;
	struct disk_array *array = array_of(sim, word_at(words, 1), &disks);
	bool done = false;
	int64_t rate = 0;

	if (!array)
		return wrong(sim, words);
	if (!strcmp(what, "fail"))
		done = disks_fail(disks, array);
	else if (!strcmp(what, "fail-in-turn"))
		done = disks_fail_in_turn(disks, array);
	else if (!strcmp(what, "begin"))
		done = op != MD_OP_NONE && disks_begin(disks, array, op);
	else if (!strcmp(what, "stop"))
		done = disks_stop(disks, array);
	else if (!strcmp(what, "freeze"))
		done = disks_freeze(disks, array);
	else if (!strcmp(what, "thaw"))
		done = disks_thaw(disks, array);
	else if (!strcmp(what, "write"))
		done = rate_parse(word_at(words, 2), &rate, NULL);
	if (!strcmp(what, "write") && done)
		disks_write(disks, array, (double)rate - array->client_write);
	sim_line(sim, "%s %s %s%s", what, word_at(words, 1), word_at(words, 2),
		done ? "" : " (makes no sense now)");
	/* In a random scenario such a line just does nothing. */
	return done || sim->lenient || wrong(sim, words);
}

static bool nas_event(struct sim *sim, const struct words *words)
{
	struct disks *disks = sim_nas(sim, word_at(words, 1));
	const char *what = word_at(words, 0);
	enum nas_sensor sensor = nas_sensor_parse(word_at(words, 2));
	int64_t ms = 0;

	if (!disks)
		return wrong(sim, words);
	disks_advance(disks, sim->t);
	sim_line(sim, "%s %s %s", what, word_at(words, 1), word_at(words, 2));
	if (!strcmp(what, "sees")) {
		disks->up_ms = 0;
		disks->blind = SENSOR_OK;
		disks->empty = false;
	} else if (!strcmp(what, "blind") && sensor > SENSOR_STALE) {
		disks->blind = sensor;
	} else if (!strcmp(what, "empty")) {
		disks->empty = true;
	} else if (!strcmp(what, "reboot") && span_parse(word_at(words, 2), &ms, NULL)) {
		disks_reboot(disks, ms);
	} else {
		return wrong(sim, words);
	}
	return true;
}

/* restore NAS COUNT|unknown: so many read from there, as far as the gate is told. */
static bool do_restore(struct sim *sim, const struct words *words)
{
	bool unknown = !strcmp(word_at(words, 2), "unknown");
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < sim->n_nas && strcmp(sim->nas[i].name, word_at(words, 1)); i++)
		;
	if (i == sim->n_nas || (!unknown && !u64_parse(word_at(words, 2), 0, 100, &n, NULL)))
		return wrong(sim, words);
	sim_line(sim, "restore %s %s", word_at(words, 1), word_at(words, 2));
	sim->readers[i] = unknown ? OPT_NONE : OPT((int64_t)n);
	if (sim->gate.up)
		gate_changed(sim);
	return true;
}

/* takes JOB SPAN|unknown: what is foreseen of it now. */
static bool do_takes(struct sim *sim, const struct words *words)
{
	struct job *job = sim_job(sim, word_at(words, 1));
	struct opt span = OPT_NONE;

	if (!job)
		return wrong(sim, words);
	span.known = span_parse(word_at(words, 2), &span.v, NULL);
	if (!span.known && strcmp(word_at(words, 2), "unknown") != 0)
		return wrong(sim, words);
	job->predicted_ms = span;
	return true;
}

/* --- what people do --- */

static bool job_event(struct sim *sim, const struct words *words)
{
	struct job *job = sim_job(sim, word_at(words, 1));
	const char *what = word_at(words, 0);

	if (!job)
		return wrong(sim, words);
	if (!strcmp(what, "start"))
		job_start(sim, job);
	else if (!strcmp(what, "kill"))
		job_kill(sim, job);
	else if (!strcmp(what, "abort"))
		job_abort(sim, job);
	else if (!strcmp(what, "hang"))
		job_hang(sim, job);
	else if (!strcmp(what, "release"))
		return gate_release(sim, job, "the operator says so") || sim->lenient ||
			script_fail(sim, words, "%s does not wait", job->name);
	return true;
}

static bool do_override(struct sim *sim, const struct words *words)
{
	struct override override = {.verdict = verdict_parse(word_at(words, 1)),
		.created_utc_ms = sim_moment(sim).utc_ms,
		.by = "operator",
		.reason = "the scenario says so"};
	const char *job = word_value(words, "job"), *storage = word_value(words, "storage");
	const char *nas = word_value(words, "nas"), *node = word_value(words, "node");
	const char *guest = word_value(words, "guest");
	struct job *found = job ? sim_job(sim, job) : NULL;
	uint64_t vmid = 0;
	int64_t ms = MS_HOUR;

	if (!override.verdict || (job && !found) ||
		(guest && !u64_parse(guest, 1, 1000000, &vmid, NULL)))
		return wrong(sim, words);
	may_span(words, "for", &ms);
	override.until_utc_ms = override.created_utc_ms + ms;
	override.guest = (uint32_t)vmid;
	if (found && !found->ticket)
		return sim->lenient || script_fail(sim, words, "%s has no ticket", job);
	if (found)
		override.ticket = found->ticket;
	snprintf(override.storage, sizeof(override.storage), "%s", storage ? storage : "");
	snprintf(override.nas, sizeof(override.nas), "%s", nas ? nas : "");
	snprintf(override.node, sizeof(override.node), "%s", node ? node : "");
	sim_line(sim, "override %lld %s", (long long)sim->gate.next_override, word_at(words, 1));
	return gate_override(sim, &override) || sim->lenient || wrong(sim, words);
}

static bool do_cancel(struct sim *sim, const struct words *words)
{
	uint64_t id = 0;

	if (!u64_parse(word_at(words, 1), 1, 1000, &id, NULL))
		return wrong(sim, words);
	return gate_override_cancel(sim, (int64_t)id) || sim->lenient || wrong(sim, words);
}

static bool do_gate(struct sim *sim, const struct words *words)
{
	const char *what = word_at(words, 1);

	sim_line(sim, "gate %s", what);
	if (!strcmp(what, "start"))
		gate_start(sim);
	else if (!strcmp(what, "stop"))
		gate_stop(sim, false);
	else if (!strcmp(what, "kill"))
		gate_stop(sim, true);
	else if (!strcmp(what, "restart"))
		gate_stop(sim, false), gate_start(sim);
	else
		return wrong(sim, words);
	return true;
}

/* The machine's UTC clock steps; the local time's offset changes (daylight saving). */
static bool do_clock(struct sim *sim, const struct words *words)
{
	int64_t ms;

	if (!signed_span(word_at(words, 1), &ms))
		return wrong(sim, words);
	sim_line(sim, "%s %s", word_at(words, 0), word_at(words, 1));
	if (!strcmp(word_at(words, 0), "clock"))
		sim->utc_base += ms, sim->stepped_ms = sim->t;
	else
		sim->offset_s = (int32_t)(ms / MS_SECOND);
	return true;
}

bool act_do(struct sim *sim, const struct words *words)
{
	static const struct {
		const char *name;
		bool (*act)(struct sim *sim, const struct words *words);
	} table[] = {
		{"begins", do_begins},
		{"settings", do_settings},
		{"nas", do_nas},
		{"array", do_array},
		{"storage", do_storage},
		{"job", do_job},
		{"policy", do_policy},
		{"fail", array_event},
		{"fail-in-turn", array_event},
		{"begin", array_event},
		{"stop", array_event},
		{"freeze", array_event},
		{"thaw", array_event},
		{"write", array_event},
		{"blind", nas_event},
		{"sees", nas_event},
		{"empty", nas_event},
		{"reboot", nas_event},
		{"restore", do_restore},
		{"takes", do_takes},
		{"start", job_event},
		{"kill", job_event},
		{"abort", job_event},
		{"hang", job_event},
		{"release", job_event},
		{"override", do_override},
		{"cancel", do_cancel},
		{"gate", do_gate},
		{"clock", do_clock},
		{"offset", do_clock},
		{"expect", expect_check},
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (strcmp(word_at(words, 0), table[i].name) == 0)
			return table[i].act(sim, words);
	}
	return script_fail(sim, words, "'%s' is nothing that a scenario knows", word_at(words, 0));
}
