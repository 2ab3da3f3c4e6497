// SPDX-License-Identifier: MIT
#include "gate/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/sight.h"
#include "gate/desk.h"
#include "gate/gate.h"
#include "gate/levers.h"
#include "gate/pending.h"
#include "gate/reading.h"
#include "nas/probe.h"

#define GRACE_MS MS_SECOND /* past the target's own deadline */
#define PAUSE_MAX_MS (5 * MS_MINUTE)
#define PATIENCE_FIRST_MS (15 * MS_MINUTE)
#define PATIENCE_MS MS_HOUR
/* What one look said for the first time is looked at again after so long (a one-sample blip of md
 * is over by then), so many times at most. */
#define CONFIRM_MS MS_SECOND
#define CONFIRM_MOST 3
#define GIVEN_UP_MAX 4
#define LEVERS_MS (2 * MS_SECOND) /* between looks while a lever is set */

struct watch {
	struct gate *gate;
	struct nas_settings settings;
	struct nas_target target;
	struct probe probe;
	struct sd_event_source *source; /* of probe.fd */
	struct timer due;               /* the next look */
	struct timer deadline;          /* of the look under way */
	bool looking;
	int64_t asked_ms;  /* the last look began */
	int64_t next_ms;   /* the next one is due */
	unsigned failures; /* in a row */
	unsigned partials; /* in a row */
	unsigned unsure;   /* in a row */
	bool patient;      /* the last failure was one that looking again makes worse */
	size_t n_given_up; /* children that do not die */
	int given_up[GIVEN_UP_MAX];
	struct sight sight;
	struct reading reading; /* tracker and facts */
	struct watch_counts counts;
};

static void begin_look(struct watch *watch);

const char *watch_name(const struct watch *watch)
{
	return watch->settings.name;
}

int64_t watch_next_ms(const struct watch *watch)
{
	return watch->next_ms;
}

const struct watch_counts *watch_counts(const struct watch *watch)
{
	return &watch->counts;
}

bool watch_busy(const struct watch *watch)
{
	return reading_busy(&watch->reading);
}

/* Something new was seen once and is about to be looked at again. A NAS that says something new
 * each time is looked at as often as any other. */
static bool confirming(const struct watch *watch)
{
	return !watch->failures && !watch->n_given_up && watch->unsure > 0 &&
		watch->unsure <= CONFIRM_MOST;
}

bool watch_awaited(const struct watch *watch)
{
	return watch->looking || confirming(watch);
}

static bool pausing(const struct watch *watch)
{
	return watch->failures > 0 || watch->n_given_up > 0;
}

/* From the beginning of one look to that of the next. */
static int64_t interval(const struct watch *watch)
{
	const struct settings *settings = watch->gate->settings;
	int64_t ms = settings->poll_ms;
	unsigned i, doublings = watch->failures ? watch->failures - 1 : watch->partials;

	if (watch->patient)
		return watch->failures > 1 ? PATIENCE_MS : PATIENCE_FIRST_MS;
	if (watch->n_given_up)
		return PAUSE_MAX_MS;
	if (confirming(watch) && !watch->partials)
		return ms < CONFIRM_MS ? ms : CONFIRM_MS;
	if (levers_busy(watch->gate->levers, watch_name(watch)) && ms > LEVERS_MS)
		ms = LEVERS_MS;
	else if (!watch->failures && !watch->partials && !watch_busy(watch) &&
		!desk_waits(watch->gate->desk, watch_name(watch)))
		return settings->idle_poll_ms;
	for (i = 0; i < doublings && ms < PAUSE_MAX_MS; i++)
		ms *= 2;
	return ms < PAUSE_MAX_MS || !doublings ? ms : PAUSE_MAX_MS;
}

void watch_replan(struct watch *watch)
{
	if (watch->looking || !watch->asked_ms) /* the first look has its own time */
		return;
	watch->next_ms = watch->asked_ms + interval(watch);
	timer_at(&watch->due, watch->next_ms);
}

/* The child is killed; whether it dies is the kernel's business, and told by watch_reaped(). */
static void drop_child(struct watch *watch)
{
	watch->source = sd_event_source_disable_unref(watch->source);
	if (watch->probe.fd < 0)
		return;
	probe_kill(&watch->probe);
	if (watch->probe.pid > 0 && watch->n_given_up < GIVEN_UP_MAX)
		watch->given_up[watch->n_given_up++] = watch->probe.pid;
	watch->probe = PROBE_NONE;
}

bool watch_reaped(struct watch *watch, int pid)
{
	size_t i;

	for (i = 0; i < watch->n_given_up; i++)
		if (watch->given_up[i] == pid) {
			watch->given_up[i] = watch->given_up[--watch->n_given_up];
			watch_replan(watch);
			return true;
		}
	if (watch->probe.pid != pid)
		return false;
	watch->probe.pid = 0; /* the end of its socket tells the rest */
	return true;
}

static void tell_change(const struct watch *watch, bool lost)
{
	const struct nas_facts *facts = &watch->reading.facts;

	if (lost)
		log_warning("NAS '%s' cannot be seen: %s nas=%s sensor=%s", watch_name(watch),
			facts->sensor_text, watch_name(watch), nas_sensor_word(facts->sensor));
	else
		log_notice("NAS '%s' is seen again nas=%s", watch_name(watch), watch_name(watch));
}

static void end_look(struct watch *watch, const struct moment *now)
{
	struct nas_facts *facts = &watch->reading.facts;
	int64_t settle = watch->gate->policy->defaults.settle_ms;
	bool first = facts->sensor == SENSOR_NEVER || !watch->counts.looks, changed;

	watch->looking = false;
	watch->counts.looks++;
	watch->counts.took_ms = now->boot_ms - watch->asked_ms;
	timer_off(&watch->deadline);
	if (facts->sensor == SENSOR_OK) {
		watch->failures = 0;
		watch->unsure = reading_unsure(&watch->reading) ? watch->unsure + 1 : 0;
		changed = sight_seen(&watch->sight, now->boot_ms, settle) && !first;
	} else {
		watch->counts.failed++;
		watch->failures++;
		changed = sight_lost(&watch->sight, now->boot_ms, settle);
	}
	watch->patient = sensor_needs_patience(facts->sensor);
	facts->blind_since_ms = sight_blind_since(&watch->sight);
	watch->reading.outage_ms = watch->sight.outage_since_ms;
	if (changed)
		tell_change(watch, facts->sensor != SENSOR_OK);
	desk_looked(watch->gate->desk, &watch->reading, changed);
	levers_looked(watch->gate->levers, watch);
	watch_replan(watch);
	pending_check(watch->gate->pending);
}

static void fail_look(struct watch *watch, enum nas_sensor sensor, const char *text)
{
	struct moment now = clock_now();

	reading_failed(&watch->reading, sensor, text, &now);
	end_look(watch, &now);
}

static void on_deadline(void *data)
{
	struct watch *watch = data;
	bool local = watch->target.via == NAS_VIA_LOCAL;

	if (!watch->looking)
		return;
	drop_child(watch);
	fail_look(watch, local ? SENSOR_DEADLINE : SENSOR_SILENT,
		"The look did not end within its deadline, its process was killed");
}

static void take_result(struct watch *watch, const struct probe_result *result)
{
	struct moment now = clock_now();

	watch->counts.logins += result->logged_in;
	watch->partials = result->partial ? watch->partials + 1 : 0;
	if (result->sensor == SENSOR_OK)
		reading_take(&watch->reading, result->raw.data, result->raw.len, &now);
	else
		reading_failed(&watch->reading, result->sensor, result->text, &now);
	if (result->partial && watch->partials == 1)
		log_warning("NAS '%s' answered in part only: %s", watch_name(watch), result->text);
	end_look(watch, &now);
}

static int on_answer(sd_event_source *source, int fd, uint32_t revents, void *data)
{
	struct watch *watch = data;
	struct probe_result result = {0};
	struct err err = {0};
	int rc = probe_feed(&watch->probe, &result, &err);

	(void)source;
	(void)fd;
	(void)revents;
	if (rc > 0) {
		take_result(watch, &result);
	} else if (rc < 0) {
		drop_child(watch);
		if (watch->looking)
			fail_look(watch, SENSOR_FAULT, err.text);
	}
	probe_result_release(&result);
	return 0;
}

static bool spawn(struct watch *watch, struct err *err)
{
	char args[WATCH_ARGS_MAX][NAS_PATH_MAX + 32];
	const char *argv[WATCH_ARGS_MAX + 4] = {
		watch->gate->program, "--probe", watch->target.name};
	size_t i, n = watch_args(&watch->target, args);
	int rc;

	if (access(argv[0], X_OK) < 0)
		argv[0] = "/proc/self/exe"; /* replaced by an upgrade */
	for (i = 0; i < n; i++)
		argv[3 + i] = args[i];
	if (!probe_spawn(&watch->probe, argv, err))
		return false;
	rc = sd_event_add_io(
		watch->gate->loop, &watch->source, watch->probe.fd, EPOLLIN, on_answer, watch);
	if (rc < 0) {
		drop_child(watch);
		return err_sys(err, -rc, "Cannot watch the probe");
	}
	return true;
}

static void begin_look(struct watch *watch)
{
	struct err err = {0};

	if (watch->looking)
		return;
	watch->asked_ms = clock_boot_ms();
	watch->looking = true;
	timer_off(&watch->due);
	if ((watch->probe.fd < 0 && !spawn(watch, &err)) || !probe_ask(&watch->probe, &err)) {
		drop_child(watch);
		fail_look(watch, SENSOR_FAULT, err.text);
		return;
	}
	timer_at(&watch->deadline, watch->asked_ms + watch->target.deadline_ms + GRACE_MS);
}

static void on_due(void *data)
{
	struct watch *watch = data;

	if (watch->n_given_up >= GIVEN_UP_MAX) {
		watch->asked_ms = clock_boot_ms();
		watch_replan(watch);
		return;
	}
	begin_look(watch);
}

bool watch_freshen(struct watch *watch, const struct moment *now)
{
	const struct nas_facts *facts = &watch->reading.facts;

	if (watch_awaited(watch))
		return true;
	if (facts->sensor == SENSOR_OK && facts->read_at_ms.known &&
		now->boot_ms - facts->read_at_ms.v <= watch->gate->settings->fresh_ms)
		return false;
	if (pausing(watch) && now->boot_ms < watch->next_ms)
		return false;
	if (watch->n_given_up < GIVEN_UP_MAX)
		begin_look(watch);
	return watch->looking;
}

bool watch_look(struct watch *watch, struct err *err)
{
	if (watch->n_given_up >= GIVEN_UP_MAX)
		return err_set(err, ERR_BUSY,
			"%zu earlier looks at '%s' hang in the kernel and cannot be killed",
			watch->n_given_up, watch_name(watch));
	begin_look(watch);
	return true;
}

bool watch_forget(struct watch *watch, const char *array, struct err *err)
{
	struct moment now = clock_now();

	if (!reading_forget(&watch->reading, array, &now, err))
		return false;
	watch_facts(watch, &now);
	desk_looked(watch->gate->desk, &watch->reading, false);
	return true;
}

const struct nas_facts *watch_facts(struct watch *watch, const struct moment *now)
{
	struct nas_facts *facts = &watch->reading.facts;

	reading_at(&watch->reading, now);
	if (facts->sensor != SENSOR_OK)
		sight_lost(&watch->sight, now->boot_ms, watch->gate->policy->defaults.settle_ms);
	facts->blind_since_ms = sight_blind_since(&watch->sight);
	return facts;
}

struct reading *watch_reading(struct watch *watch)
{
	return &watch->reading;
}

void watch_settings(struct watch *watch)
{
	struct nas_target before = watch->target;

	nas_target_from(&watch->settings, watch->gate->settings->look_deadline_ms, &watch->target);
	watch->reading.track.stale_ms = watch->gate->settings->stale_after_ms;
	/* A child knows its target from its arguments; one that is looking ends its look first. */
	if (before.deadline_ms != watch->target.deadline_ms && !watch->looking)
		drop_child(watch);
	watch_replan(watch);
}

bool watch_same(const struct watch *watch, const struct nas_settings *settings)
{
	return memcmp(&watch->settings, settings, sizeof(*settings)) == 0;
}

struct watch *watch_new(
	struct gate *gate, const struct nas_settings *settings, int64_t after_ms, struct err *err)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	int64_t now = clock_boot_ms();

	if (!watch) {
		err_nomem(err);
		return NULL;
	}
	watch->gate = gate;
	watch->settings = *settings;
	watch->probe = PROBE_NONE;
	nas_target_from(settings, gate->settings->look_deadline_ms, &watch->target);
	if (!timer_open(&watch->due, gate->loop, on_due, watch, err) ||
		!timer_open(&watch->deadline, gate->loop, on_deadline, watch, err)) {
		watch_free(watch);
		return NULL;
	}
	reading_open(&watch->reading, gate->store, settings);
	watch->reading.track.stale_ms = gate->settings->stale_after_ms;
	watch->sight.outage_since_ms = watch->reading.outage_ms;
	sight_lost(&watch->sight, now, 0);
	watch->reading.facts.blind_since_ms = sight_blind_since(&watch->sight);
	watch->next_ms = now + after_ms;
	timer_at(&watch->due, watch->next_ms);
	return watch;
}

void watch_free(struct watch *watch)
{
	if (!watch)
		return;
	drop_child(watch);
	timer_close(&watch->due);
	timer_close(&watch->deadline);
	free(watch);
}
