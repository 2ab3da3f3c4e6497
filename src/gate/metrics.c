// SPDX-License-Identifier: MIT
/* GET /metrics: Prometheus' text format, version 0.0.4. An unknown number has no line. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gate/answer.h"
#include "gate/api.h"
#include "gate/desk_impl.h"
#include "gate/levers.h"
#include "gate/notify.h"
#include "gate/server.h"
#include "gate/watch.h"

/* A label's value. The name of an md device is what the NAS says it is: no control character of it
 * reaches who reads this in a terminal. */
static void label(struct buf *buf, const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			buf_addc(buf, '\\');
		buf_addc(buf, (unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text);
	}
}

static void head(struct buf *buf, const char *name, const char *type, const char *help)
{
	buf_addf(buf, "# HELP rebuildgate_%s %s\n# TYPE rebuildgate_%s %s\n", name, help, name,
		type);
}

static void plain(
	struct buf *buf, const char *name, const char *type, const char *help, int64_t value)
{
	head(buf, name, type, help);
	buf_addf(buf, "rebuildgate_%s %lld\n", name, (long long)value);
}

enum nas_metric { NAS_SEEN, NAS_AGE, NAS_LOOKS, NAS_FAILED, NAS_LOGINS, NAS_TOOK, NAS_COUNT };

static struct opt nas_value(struct watch *watch, enum nas_metric metric, const struct moment *now)
{
	const struct nas_facts *facts = watch_facts(watch, now);
	const struct watch_counts *counts = watch_counts(watch);

	switch (metric) {
	case NAS_SEEN:
		return OPT(facts->sensor == SENSOR_OK);
	case NAS_AGE:
		return facts->read_at_ms.known ? OPT((now->boot_ms - facts->read_at_ms.v) / 1000)
					       : OPT_NONE;
	case NAS_LOOKS:
		return OPT(counts->looks);
	case NAS_FAILED:
		return OPT(counts->failed);
	case NAS_LOGINS:
		return OPT(counts->logins);
	case NAS_TOOK:
		return OPT(counts->took_ms);
	case NAS_COUNT:
		break;
	}
	return OPT_NONE;
}

static void nas_metrics(struct gate *gate, const struct moment *now, struct buf *buf)
{
	static const struct {
		const char *name, *type, *help;
	} table[NAS_COUNT] = {
		[NAS_SEEN] = {"nas_seen", "gauge", "1 while the NAS can be seen"},
		[NAS_AGE] = {"nas_reading_age_seconds", "gauge", "Age of the last good reading"},
		[NAS_LOOKS] = {"nas_looks_total", "counter", "Looks at the NAS"},
		[NAS_FAILED] = {"nas_looks_failed_total", "counter", "Looks that failed"},
		[NAS_LOGINS] = {"nas_logins_total", "counter", "SSH logins"},
		[NAS_TOOK] = {"nas_look_milliseconds", "gauge", "Time that the last look took"},
	};
	struct opt value;
	size_t i;
	int m;

	for (m = 0; m < NAS_COUNT; m++) {
		head(buf, table[m].name, table[m].type, table[m].help);
		for (i = 0; i < gate->n_watches; i++) {
			value = nas_value(gate->watches[i], (enum nas_metric)m, now);
			if (!value.known)
				continue;
			buf_addf(buf, "rebuildgate_%s{nas=\"", table[m].name);
			label(buf, watch_name(gate->watches[i]));
			buf_addf(buf, "\"} %lld\n", (long long)value.v);
		}
	}
}

enum array_metric {
	ARRAY_OPERATION,
	ARRAY_HEALTH,
	ARRAY_MISSING,
	ARRAY_LEFT,
	ARRAY_PROGRESS,
	ARRAY_RATE,
	ARRAY_BASELINE,
	ARRAY_REMAINING,
	ARRAY_STALLED,
	ARRAY_READ,
	ARRAY_WRITE,
	ARRAY_COUNT
};

/* `ret_word` is a further label's value, or NULL. */
static struct opt array_value(
	const struct array_facts *array, enum array_metric metric, const char **ret_word)
{
	*ret_word = NULL;
	switch (metric) {
	case ARRAY_OPERATION:
		*ret_word = md_operation_word(array->operation);
		return OPT(1);
	case ARRAY_HEALTH:
		*ret_word = md_health_word(array->health);
		return OPT(1);
	case ARRAY_MISSING:
		return array->missing;
	case ARRAY_LEFT:
		return array->redundancy_left;
	case ARRAY_PROGRESS:
		return array->progress_ppm;
	case ARRAY_RATE:
		return array->rate;
	case ARRAY_BASELINE:
		return array->baseline;
	case ARRAY_REMAINING:
		return array->remaining_ms.known ? OPT(array->remaining_ms.v / 1000) : OPT_NONE;
	case ARRAY_STALLED:
		return array->stalled_ms.known ? OPT(array->stalled_ms.v / 1000) : OPT_NONE;
	case ARRAY_READ:
		return array->client_read;
	case ARRAY_WRITE:
		return array->client_write;
	case ARRAY_COUNT:
		break;
	}
	return OPT_NONE;
}

struct array_row {
	const char *name, *label, *help;
};

static void array_lines(struct watch *watch, const struct array_row *row, enum array_metric metric,
	const struct moment *now, struct buf *buf)
{
	const struct nas_facts *facts = watch_facts(watch, now);
	const char *word;
	struct opt value;
	size_t i;

	for (i = 0; i < facts->n_arrays; i++) {
		value = array_value(&facts->arrays[i], metric, &word);
		if (!value.known)
			continue;
		buf_addf(buf, "rebuildgate_%s{nas=\"", row->name);
		label(buf, facts->name);
		buf_adds(buf, "\",md=\"");
		label(buf, facts->arrays[i].name);
		if (word)
			buf_addf(buf, "\",%s=\"%s", row->label, word);
		buf_addf(buf, "\"} %lld\n", (long long)value.v);
	}
}

static void array_metrics(struct gate *gate, const struct moment *now, struct buf *buf)
{
	static const struct array_row table[ARRAY_COUNT] = {
		[ARRAY_OPERATION] = {"md_operation", "operation",
			"What the array does: 1 for the label's operation"},
		[ARRAY_HEALTH] = {"md_health", "health",
			"How the array is: 1 for the label's health"},
		[ARRAY_MISSING] = {"md_missing_disks", NULL, "Slots without an in-sync member"},
		[ARRAY_LEFT] = {"md_redundancy_left", NULL, "Disks that the array may still lose"},
		[ARRAY_PROGRESS] = {"md_progress_ppm", NULL,
			"Progress of the operation in parts per million"},
		[ARRAY_RATE] = {"md_sync_bytes_per_second", NULL,
			"Pace of the operation for each disk"},
		[ARRAY_BASELINE] = {"md_baseline_bytes_per_second", NULL,
			"Undisturbed pace at this position"},
		[ARRAY_REMAINING] = {"md_remaining_seconds", NULL, "Time left by our own rate"},
		[ARRAY_STALLED] = {"md_stalled_seconds", NULL, "Since the done counter moved last"},
		[ARRAY_READ] = {"md_client_read_bytes_per_second", NULL, "Read from the array"},
		[ARRAY_WRITE] = {"md_client_write_bytes_per_second", NULL, "Written to the array"},
	};
	size_t i;
	int m;

	for (m = 0; m < ARRAY_COUNT; m++) {
		head(buf, table[m].name, "gauge", table[m].help);
		for (i = 0; i < gate->n_watches; i++)
			array_lines(gate->watches[i], &table[m], (enum array_metric)m, now, buf);
	}
}

static void job_metrics(struct gate *gate, struct buf *buf)
{
	const struct tickets *tickets = desk_tickets(gate->desk);
	const struct desk_counts *counts = desk_counts(gate->desk);
	int64_t by_state[TICKET_LOST + 1] = {0};
	static const enum ticket_state states[] = {TICKET_HELD, TICKET_RELEASED, TICKET_RUNNING};
	size_t i;

	for (i = 0; i < tickets->n; i++)
		by_state[tickets->list[i].state]++;
	head(buf, "tickets", "gauge", "Live jobs by state");
	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		buf_addf(buf, "rebuildgate_tickets{state=\"%s\"} %lld\n",
			ticket_state_word(states[i]), (long long)by_state[states[i]]);
	head(buf, "decisions_total", "counter", "Decisions since the start by verdict");
	for (i = VERDICT_ALLOW; i <= VERDICT_DENY; i++)
		buf_addf(buf, "rebuildgate_decisions_total{verdict=\"%s\"} %lld\n",
			verdict_word((enum verdict)i), (long long)counts->decisions[i]);
	plain(buf, "decisions_unrecorded_total", "counter",
		"Decisions that the database did not take at once", counts->unrecorded);
}

static void gate_metrics(struct gate *gate, struct buf *buf)
{
	const struct notify_counts *notices = notify_counts(gate->notify);
	struct store_health health;

	store_health(gate->store, &health);
	plain(buf, "record_ok", "gauge", "1 while the database takes decisions", health.ok);
	plain(buf, "record_spilled", "gauge", "Batches that wait to be taken in", health.spilled);
	plain(buf, "record_lost_total", "counter", "Batches that are in the journal only",
		health.lost);
	plain(buf, "notices_sent_total", "counter", "Notices that a target took", notices->sent);
	plain(buf, "notices_failed_total", "counter", "Notices that no try brought to their target",
		notices->failed);
	plain(buf, "notices_dropped_total", "counter", "Notices not sent: repeated, or too many",
		notices->dropped);
	plain(buf, "connections", "gauge", "Open connections",
		(int64_t)server_connections(gate->server));
	plain(buf, "start_time_seconds", "gauge", "When the gate started",
		gate->started.utc_ms / 1000);
	head(buf, "info", "gauge", "1, with what runs here");
	buf_adds(buf, "rebuildgate_info{version=\"" RG_VERSION "\",policy=\"");
	label(buf, gate->policy->name);
	buf_addf(buf, "\",policy_hash=\"%s\"} 1\n", gate->policy_hash);
}

void api_metrics(struct gate *gate, struct call *call, const struct api_args *args)
{
	struct moment now = clock_now();
	struct buf buf = {0};

	(void)args;
	gate_metrics(gate, &buf);
	job_metrics(gate, &buf);
	nas_metrics(gate, &now, &buf);
	array_metrics(gate, &now, &buf);
	levers_metrics(gate->levers, &buf);
	if (buf.failed)
		buf_release(&buf);
	call_answer(call, 200, "text/plain; version=0.0.4; charset=utf-8", buf.data, buf.len);
}
