// SPDX-License-Identifier: MIT
/* Lever 2's calls, and what comes of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "gate/levers.h"
#include "gate/pbs_lever_impl.h"

#define RETRY_FIRST_MS (2 * MS_SECOND)
#define RETRY_MAX_MS MS_MINUTE
#define FAILURES_MOST 3 /* in a row; then it is no lever any more */
#define STOLEN_MOST 3
#define STOLEN_WITHIN_MS (10 * MS_MINUTE)
#define STOLEN_PAUSE_MS (15 * MS_MINUTE)
#define RECORD_AGAIN_MS (10 * MS_SECOND)

static const char *const words[] = {
	[PBS_OP_NONE] = "",
	[PBS_OP_READ] = "read the traffic-control rules",
	[PBS_OP_CLOCK] = "read the server's clock",
	[PBS_OP_CREATE] = "make our traffic-control rule",
	[PBS_OP_UPDATE] = "change our traffic-control rule",
	[PBS_OP_DELETE] = "remove our traffic-control rule",
};

static bool needed(const struct pbs_lever *lever)
{
	return lever->retired || lever->want > STEER_FREE ||
		(lever->sight.found && lever->sight.ours);
}

static void retry_later(struct pbs_lever *lever, int64_t now_ms, bool patient)
{
	int64_t pause = RETRY_FIRST_MS;
	unsigned i;

	for (i = 0; i < lever->failures && pause < RETRY_MAX_MS; i++)
		pause *= 2;
	if (patient || pause > RETRY_MAX_MS)
		pause = RETRY_MAX_MS;
	lever->failures++;
	lever->retry_ms = now_ms + pause;
}

/* The call has failed, whichever it was. */
static void take_failure(
	struct pbs_lever *lever, enum pbs_op op, const struct err *err, int64_t now_ms)
{
	bool change = op == PBS_OP_UPDATE || op == PBS_OP_DELETE;

	if (change && err->kind == ERR_NOTFOUND) {
		lever->sight.known = false; /* somebody else removed it: look again */
		if (op == PBS_OP_DELETE)
			pbs_lever_record(lever, "none", true);
		return;
	}
	if (op == PBS_OP_READ && err->kind == ERR_DENIED && !lever->blind_rates && needed(lever)) {
		/* The rates need Sys.Audit, the list itself Sys.Modify as the changes do. */
		lever->blind_rates = true;
		return;
	}
	if (op >= PBS_OP_CREATE) {
		lever->sight.known = false; /* it may have come about all the same */
		lever->change_failed = true;
	}
	/* One that lost against another's change is simply made again. */
	if (change && err->kind == ERR_PROTOCOL && !lever->lost_race) {
		lever->lost_race = true;
		lever->retry_ms = now_ms + MS_SECOND;
		return;
	}
	retry_later(lever, now_ms, err->kind == ERR_DENIED);
	if (lever->gone) {
		if (!lever->told)
			pbs_lever_left(lever, err->text, false);
		return;
	}
	/* One answer that does not come is no reason to let everything go. */
	if (err->kind != ERR_DENIED && lever->usable && lever->failures < FAILURES_MOST)
		return;
	lever->usable = false;
	pbs_lever_trouble(lever, err->text);
}

/* Our rule is not as we left it. Whoever removes it again and again means it. */
static void notice_theft(struct pbs_lever *lever, const char *what, int64_t now_ms)
{
	log_warning("Our traffic-control rule on '%s' was %s by somebody else, it is set again",
		lever->target, what);
	lever->stolen = now_ms - lever->stolen_ms < STOLEN_WITHIN_MS ? lever->stolen + 1 : 1;
	lever->stolen_ms = now_ms;
	if (lever->stolen < STOLEN_MOST)
		return;
	lever->stolen = 0;
	lever->usable = false;
	lever->retry_ms = now_ms + STOLEN_PAUSE_MS;
	pbs_lever_trouble(lever,
		"Somebody removes or changes our traffic-control rule again and again: it is left "
		"alone for 15 minutes");
}

/* The record tells of a rule that is not there any more, and none is wanted: deleted by us, by an
 * earlier gate or by somebody else, it is put back. */
static void settle_record(struct pbs_lever *lever, int64_t now_ms)
{
	if (!pbs_lever_look_up(lever))
		return;
	if (lever->recorded && !lever->sight.found && !pbs_lever_target(lever, now_ms))
		pbs_lever_record(lever, "none", true);
}

static void note_hidden(struct pbs_lever *lever)
{
	const char *by = lever->sight.hidden_by;

	if (by[0] && needed(lever) && strcmp(by, lever->warned_hidden) != 0) {
		log_warning(
			"The traffic-control rule '%s' on '%s' is more specific than ours: what "
			"it covers is not throttled",
			by, lever->target);
		snprintf(lever->warned_hidden, sizeof(lever->warned_hidden), "%s", by);
	}
}

static void take_rules(struct pbs_lever *lever, const char *body, size_t len, int64_t now_ms)
{
	struct pbs_sight before = lever->sight, sight;
	bool had = before.known && before.found && before.ours;
	struct err err = {0};

	if (!pbs_sight_read(lever, body, len, now_ms, &sight, &err)) {
		take_failure(lever, PBS_OP_READ, &err, now_ms);
		return;
	}
	lever->sight = sight;
	lever->maybe = false;
	pbs_delay_look(&lever->delay, sight.moved, now_ms);
	lever->change_failed = lever->change_failed && pbs_lever_differs(lever, now_ms);
	lever->usable = lever->usable || !lever->change_failed;
	settle_record(lever, now_ms);
	note_hidden(lever);
	if (sight.found && !sight.ours) {
		lever->usable = false;
		if (lever->retired && lever->recorded)
			pbs_lever_record(lever, "not ours", true);
		pbs_lever_trouble(lever,
			"A traffic-control rule with our name is there that we did not make: it is "
			"left alone");
		return;
	}
	if (had && !sight.found && lever->want > STEER_FREE)
		notice_theft(lever, "removed", now_ms);
	else if (had && sight.found && sight.rule.rate_in != before.rule.rate_in)
		notice_theft(lever, "changed", now_ms);
	else
		lever->confirmed = true;
	if (!lever->usable || lever->change_failed)
		return;
	lever->failures = 0;
	pbs_lever_trouble(lever,
		lever->blind_rates ? "The token has no Sys.Audit on /: what passes cannot be read"
				   : "");
}

/* The server's own time, and its zone; src/api2/node/time.rs. */
static void take_clock(struct pbs_lever *lever, const char *body, size_t len, int64_t now_ms)
{
	json_t *value = json_read(body, len, NULL);
	struct err err = {0};
	int64_t time_s = 0;

	if (pbs_time_read(body, len, &lever->offset_s, &err) &&
		json_get_int(json_object_get(value, "data"), "time", 0, INT64_MAX / 2000, &time_s,
			&err)) {
		lever->clock_known = true;
		lever->clock_utc_s = time_s;
		lever->clock_at_ms = now_ms;
	} else {
		take_failure(lever, PBS_OP_CLOCK, &err, now_ms);
	}
	json_decref(value);
}

/* "all clients of that server", or the networks that the settings name. */
static void clients_text(const struct pbs_rule *rule, char *ret, size_t size)
{
	size_t i, n = 0;

	if (!rule->n_networks || strcmp(rule->networks[0], "0.0.0.0/0") == 0 ||
		strcmp(rule->networks[0], "0.0.0.0/1") == 0) {
		snprintf(ret, size, "all clients of that server");
		return;
	}
	n = (size_t)snprintf(ret, size, "clients in ");
	for (i = 0; i < rule->n_networks && n < size; i++)
		n += (size_t)snprintf(ret + n, size - n, "%s%s", i ? ", " : "", rule->networks[i]);
}

static void take_change(struct pbs_lever *lever, enum pbs_op op, int64_t now_ms)
{
	int64_t rate = op == PBS_OP_DELETE ? 0 : lever->draft.rate_in;
	char text[UNITS_TEXT_MAX], clients[240];

	clients_text(&lever->draft, clients, sizeof(clients));
	if (op == PBS_OP_CREATE)
		log_notice(
			"The traffic to '%s' stands under our traffic-control rule, %s now: %s. It "
			"is for %s, other datastores' too; what restores read has no limit, what "
			"they ask for shares the rule",
			lever->target,
			rate >= PBS_OPEN_RATE ? "without a limit" : rate_show(rate, text),
			lever->why, clients);
	if (op == PBS_OP_DELETE) {
		pbs_lever_record(lever, "none", true);
		log_notice("Our traffic-control rule on '%s' is removed", lever->target);
	}
	pbs_rest_set(&lever->rest, rate, now_ms);
	pbs_delay_set(&lever->delay,
		lever->sight.found && lever->sight.ours ? lever->sight.rule.rate_in : 0, rate,
		now_ms - lever->sight.at_ms < PBS_MOVED_MS ? lever->sight.moved : OPT_NONE,
		lever->draft_ordered_ms, now_ms);
	lever->set_ms = now_ms;
	lever->end_ms = lever->draft_end_ms;
	lever->end_span_ms = lever->draft_end_ms - now_ms;
	lever->end_offset_s = lever->draft_offset_s;
	lever->confirmed = false;
	lever->sight.found = lever->sight.ours = rate > 0;
	lever->sight.rule = lever->draft;
	lever->sight.changeable = false;
	lever->usable = true;
	lever->change_failed = lever->lost_race = lever->maybe = false;
	lever->failures = 0;
	pbs_lever_trouble(lever, "");
}

static void on_done(void *data, const char *body, size_t len, const struct err *err)
{
	struct pbs_lever *lever = data;
	enum pbs_op op = lever->op;
	int64_t now = clock_boot_ms();

	lever->op = PBS_OP_NONE;
	if (err)
		take_failure(lever, op, err, now);
	else if (op == PBS_OP_READ)
		take_rules(lever, body, len, now);
	else if (op == PBS_OP_CLOCK)
		take_clock(lever, body, len, now);
	else
		take_change(lever, op, now);
	pbs_lever_work(lever);
}

static void call(struct pbs_lever *lever, struct remote *remote, struct api_call *api,
	enum pbs_op op, bool urgent)
{
	struct err err = {0};

	if (remote_call(remote, api, urgent, words[op], on_done, lever, &err))
		lever->op = op;
	else
		take_failure(lever, op, &err, clock_boot_ms());
}

/* The list of the configuration needs the same privilege as the changes do (Sys.Modify on /), that
 * with the rates only Sys.Audit: the one while nothing is set, to know what may be done here; the
 * other while something is. pbs src/api2/config/traffic_control.rs,
 * src/api2/admin/traffic_control.rs */
static bool build_read(const struct pbs_lever *lever, struct api_call *ret, struct err *err)
{
	if (!lever->blind_rates && lever->sight.found && lever->sight.ours)
		return pbs_rules_get(ret, err);
	ret->method = "GET";
	return buf_adds(&ret->path, "/api2/json/config/traffic-control") || err_nomem(err);
}

void pbs_lever_read(struct pbs_lever *lever, struct remote *remote)
{
	struct api_call api = {0};
	struct err err = {0};

	if (build_read(lever, &api, &err))
		call(lever, remote, &api, PBS_OP_READ, needed(lever));
	else
		take_failure(lever, PBS_OP_READ, &err, clock_boot_ms());
}

void pbs_lever_clock(struct pbs_lever *lever, struct remote *remote)
{
	struct api_call api = {0};
	struct err err = {0};

	if (pbs_time_get(&api, &err))
		call(lever, remote, &api, PBS_OP_CLOCK, true);
	else
		take_failure(lever, PBS_OP_CLOCK, &err, clock_boot_ms());
}

/* The rule that shall be there. */
static void draft_rule(struct pbs_lever *lever, int64_t rate, int64_t now_ms)
{
	const char *node = lever->levers->gate->settings->node;
	struct pbs_rule *rule = &lever->draft;
	int64_t span = rate < PBS_MOVES_LEAST ? PBS_REST_SPAN_MS : PBS_SPAN_MS;
	int64_t utc_s = lever->clock_utc_s + (now_ms - lever->clock_at_ms) / MS_SECOND;
	const char *networks[PBS_MAX_NETWORKS];
	char frames[2][64] = {{0}};
	size_t i;

	*rule = (struct pbs_rule){.rate_in = rate};
	pbs_own_name(node, rule->name);
	rule->n_networks = pbs_lever_networks(lever, networks);
	for (i = 0; i < rule->n_networks; i++)
		snprintf(rule->networks[i], sizeof(rule->networks[i]), "%s", networks[i]);
	rule->n_timeframes = pbs_timeframe(utc_s - PBS_BEFORE_MS / MS_SECOND, lever->offset_s,
		(span + PBS_BEFORE_MS) / MS_SECOND, frames);
	snprintf(rule->timeframe, sizeof(rule->timeframe), "%s", frames[0]);
	snprintf(rule->timeframe_next, sizeof(rule->timeframe_next), "%s", frames[1]);
	pbs_own_comment(node, lever->why, utc_s + span / MS_SECOND, lever->offset_s, rule->comment,
		sizeof(rule->comment));
	lever->draft_end_ms = now_ms + span;
	lever->draft_offset_s = lever->offset_s;
}

static bool build_change(
	struct pbs_lever *lever, enum pbs_op op, struct api_call *ret, struct err *err)
{
	bool ok = op == PBS_OP_DELETE ? pbs_rule_delete(lever->sight.rule.name, ret, err)
		: op == PBS_OP_CREATE ? pbs_rule_create(&lever->draft, ret, err)
				      : pbs_rule_update(&lever->draft, ret, err);

	if (!ok)
		return false;
	/* A change that was made meanwhile by somebody else makes this one fail. It is hex. */
	if (op == PBS_OP_DELETE && lever->sight.digest[0])
		buf_addf(&ret->path, "?digest=%s", lever->sight.digest);
	if (op == PBS_OP_UPDATE && lever->sight.digest[0])
		buf_addf(&ret->body, "&digest=%s", lever->sight.digest);
	return true;
}

void pbs_lever_change(struct pbs_lever *lever, struct remote *remote, int64_t now_ms)
{
	int64_t rate = pbs_lever_target(lever, now_ms);
	enum pbs_op op = !rate ? PBS_OP_DELETE : lever->sight.found ? PBS_OP_UPDATE : PBS_OP_CREATE;
	char after[PBS_TEXT_MAX] = "none";
	struct api_call api = {0};
	struct err err = {0};

	/* What changes by itself, such as the end of a rest, is chosen now. */
	lever->draft_ordered_ms = lever->change_failed ? 0
		: lever->ordered_ms                    ? lever->ordered_ms
						       : now_ms;
	lever->ordered_ms = 0;
	if (rate) {
		draft_rule(lever, rate, now_ms);
		pbs_rule_text(&lever->draft, lever->url, after, sizeof(after));
	} else {
		lever->draft = (struct pbs_rule){0};
	}
	/* That it is put back is written when it is. */
	if (rate && !pbs_lever_record(lever, after, false)) {
		lever->usable = false;
		lever->change_failed = true;
		lever->retry_ms = now_ms + RECORD_AGAIN_MS;
		pbs_lever_trouble(lever, "The change could not be recorded, so it is not made");
		return;
	}
	if (build_change(lever, op, &api, &err)) {
		lever->maybe = rate > 0;
		call(lever, remote, &api, op, true);
		return;
	}
	api_call_release(&api);
	take_failure(lever, op, &err, now_ms);
}

bool pbs_lever_delete_now(struct pbs_lever *lever, struct remote *remote, int64_t deadline_ms)
{
	struct api_call api = {0};
	struct buf body = {0};
	struct err err = {0};
	bool ok, foreign;

	lever->blind_rates = true; /* the plain list */
	ok = build_read(lever, &api, &err) &&
		remote_call_now(remote, &api, deadline_ms - clock_boot_ms(), words[PBS_OP_READ],
			&body, &err) &&
		pbs_sight_read(lever, body.data, body.len, clock_boot_ms(), &lever->sight, &err);
	buf_release(&body);
	if (ok && lever->sight.found && lever->sight.ours) {
		api = (struct api_call){0};
		ok = build_change(lever, PBS_OP_DELETE, &api, &err) &&
			remote_call_now(remote, &api, deadline_ms - clock_boot_ms(),
				words[PBS_OP_DELETE], NULL, &err);
		ok = ok || err.kind == ERR_NOTFOUND;
	}
	foreign = ok && lever->sight.found && !lever->sight.ours;
	if (foreign)
		snprintf(lever->why, sizeof(lever->why), "%s",
			"somebody has made our rule theirs (its comment is another): left there");
	if (ok && (lever->recorded || !foreign))
		pbs_lever_record(lever, foreign ? "not ours" : "none", true);
	else if (!ok)
		log_warning("Our traffic-control rule on '%s' may still be there: %s. %s",
			lever->target, err.text,
			lever->gone ? "It acts again each week at its time, until it is deleted "
				      "there by hand or that address is configured again"
				    : "It is without effect once its time is over, and is removed "
				      "at the next start");
	return ok;
}
