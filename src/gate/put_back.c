// SPDX-License-Identifier: MIT
#include "gate/put_back.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "client/worker.h"
#include "gate/floor_lever.h"
#include "gate/gate.h"
#include "gate/pbs_lever.h"
#include "gate/remote.h"

#define WHOLE_MS (20 * MS_SECOND)
#define LAST_MS (3 * MS_SECOND) /* of it, for what is done one after another at the end */
#define LOOK_MS 100

/* Keepers free their guests by themselves within a minute, and where one is dead only root on its
 * node can (rebuildgate-vzdump --put-back): nothing is to be done for them here. Nor can it be for
 * a backup server that is not configured any more. */
static bool ours(const struct gate *gate, const struct store_lever *action)
{
	if (strcmp(action->lever, "traffic-control") == 0)
		return settings_pbs(gate->settings, action->target) != NULL;
	return strcmp(action->lever, "block-jobs") != 0;
}

struct counting {
	const struct gate *gate;
	size_t n;
};

static void count(void *data, const struct store_lever *action)
{
	struct counting *counting = data;

	counting->n += ours(counting->gate, action);
}

static void say(void *data, const struct store_lever *action)
{
	if (ours(data, action))
		log_err("%s of %s is still moved (%s): it expires by itself; the next start of the "
			"gate puts it back lever=%s target=%s",
			action->lever, action->target, action->after, action->lever,
			action->target);
}

static void say_begin(size_t n)
{
	if (n == SIZE_MAX)
		log_notice("Whatever a gate left moved is put back");
	else if (n == 1)
		log_notice("1 lever stands where a gate left it, it is put back");
	else
		log_notice("%zu levers stand where a gate left them, they are put back", n);
}

/* A record that cannot be read says nothing: then there is as much to do as before. */
static size_t moved(struct gate *gate)
{
	struct counting counting = {.gate = gate};
	struct err err = {0};

	if (!store_levers_moved(gate->store, count, &counting, &err)) {
		log_err("The record does not tell which levers are moved: %s", err.text);
		return SIZE_MAX;
	}
	return counting.n;
}

struct waiting {
	struct gate *gate;
	struct timer timer;
	int64_t until_ms;
};

static void on_time(void *data)
{
	struct waiting *waiting = data;
	int64_t now = clock_boot_ms();
	int pid, status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		floor_levers_reaped(waiting->gate->floors, pid);
	if (now >= waiting->until_ms || !moved(waiting->gate))
		sd_event_exit(waiting->gate->loop, 0);
	else
		timer_at(&waiting->timer, now + LOOK_MS);
}

/* The parts find by themselves what an earlier gate left, and free it. */
static bool work(struct gate *gate, int64_t end_ms, struct err *err)
{
	struct waiting waiting = {.gate = gate, .until_ms = end_ms - LAST_MS};
	int rc = sd_event_default(&gate->loop);
	bool ok;

	if (rc < 0)
		return err_sys(err, -rc, "Cannot make the event loop");
	ok = remotes_open(gate, &gate->remotes, err) &&
		pbs_levers_open(gate, &gate->pbs_levers, err) &&
		floor_levers_open(gate, &gate->floors, err) &&
		timer_open(&waiting.timer, gate->loop, on_time, &waiting, err);
	if (ok) {
		timer_at(&waiting.timer, clock_boot_ms() + LOOK_MS);
		rc = sd_event_loop(gate->loop);
		ok = rc >= 0 || err_sys(err, -rc, "The event loop has failed");
	}
	timer_close(&waiting.timer);
	if (gate->pbs_levers)
		pbs_levers_close(gate->pbs_levers, LAST_MS / 2);
	floor_levers_close(gate->floors, clock_boot_ms() + LAST_MS / 2);
	if (gate->remotes)
		remotes_close(gate->remotes);
	sd_event_unref(gate->loop);
	return ok;
}

static bool open_record(struct gate *gate, struct err *err)
{
	const struct store_options options = {
		.path = gate->settings->database,
		.boot_id = gate->boot_id,
		.spill = gate->settings->spill,
		.spill_bytes = (size_t)gate->settings->spill_size,
	};
	struct worker self;

	worker_of(getpid(), &self);
	memcpy(gate->boot_id, self.boot_id, sizeof(gate->boot_id));
	if (store_open(&options, &gate->store, err))
		return true;
	if (err->kind == ERR_BUSY)
		err_prefix(err,
			"A gate runs here, it is for that one to put its levers back "
			"(rebuildgate levers reset)");
	return false;
}

bool put_back(const char *config, struct settings *settings, struct err *err)
{
	static struct gate gate;
	int64_t end_ms = clock_boot_ms() + WHOLE_MS;
	bool ok = true;
	size_t n;

	if (access(settings->database, F_OK) < 0 && errno == ENOENT)
		return true; /* no gate has ever moved anything here */
	gate.config = config;
	gate.settings = settings;
	gate.started = gate.now = clock_now();
	snprintf(gate.program, sizeof(gate.program), "/proc/self/exe");
	if (!open_record(&gate, err))
		return false;
	n = moved(&gate);
	if (n) {
		say_begin(n);
		ok = work(&gate, end_ms, err);
		n = moved(&gate);
		if (n)
			store_levers_moved(gate.store, say, &gate, err);
		if (ok && n)
			ok = err_set(err, ERR_TIMEOUT, "Not everything could be put back");
	}
	store_close(gate.store);
	return ok;
}
