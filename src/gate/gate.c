// SPDX-License-Identifier: MIT
/* The gate's life: its parts opened in order, its signals, its end. */
#include "gate/gate.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "client/worker.h"
#include "gate/ages.h"
#include "gate/api.h"
#include "gate/chores.h"
#include "gate/desk.h"
#include "gate/floor_lever.h"
#include "gate/levers.h"
#include "gate/load.h"
#include "gate/notify.h"
#include "gate/pbs_lever.h"
#include "gate/pending.h"
#include "gate/remote.h"
#include "gate/run.h"
#include "gate/server.h"
#include "gate/tasks.h"
#include "gate/waiters.h"
#include "gate/watch.h"
#include "gate/workers.h"

#define DRAIN_MS 700
#define PUT_BACK_MS (5 * MS_SECOND) /* for all levers, at the end */

static const int signal_numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
#define N_SIGNALS (sizeof(signal_numbers) / sizeof(signal_numbers[0]))

struct watch *gate_watch(const struct gate *gate, const char *nas)
{
	size_t i;

	for (i = 0; i < gate->n_watches; i++)
		if (strcmp(watch_name(gate->watches[i]), nas) == 0)
			return gate->watches[i];
	return NULL;
}

static void reap(struct gate *gate)
{
	int pid, status;
	size_t i;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (floor_levers_reaped(gate->floors, pid))
			continue;
		for (i = 0; i < gate->n_watches; i++)
			if (watch_reaped(gate->watches[i], pid))
				break;
	}
}

/* Nothing is lost by going: tickets are in the record, and who waits asks again. */
static void stop(struct gate *gate)
{
	if (gate->stopping)
		return;
	gate->stopping = true;
	log_notice("The gate stops");
	sd_notify(0, "STOPPING=1\nSTATUS=Answering those who wait");
	server_quiesce(gate->server);
	pending_flush(gate->pending);
	waiters_flush(gate->waiters);
	server_drain(gate->server, DRAIN_MS);
	sd_event_exit(gate->loop, 0);
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	struct gate *gate = data;

	(void)source;
	switch (info->ssi_signo) {
	case SIGCHLD:
		reap(gate);
		break;
	case SIGHUP:
		load_again(gate);
		break;
	default:
		stop(gate);
		break;
	}
	return 0;
}

static bool open_signals(struct gate *gate, struct err *err)
{
	sigset_t set;
	size_t i;
	int rc;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	for (i = 0; i < N_SIGNALS; i++)
		sigaddset(&set, signal_numbers[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_sys(err, errno, "Cannot block signals");
	for (i = 0; i < N_SIGNALS; i++) {
		rc = sd_event_add_signal(
			gate->loop, &gate->signals[i], signal_numbers[i], on_signal, gate);
		if (rc < 0)
			return err_sys(err, -rc, "Cannot take signals");
	}
	return true;
}

static void read_boot_id(struct gate *gate)
{
	struct worker self;

	worker_of(getpid(), &self);
	memcpy(gate->boot_id, self.boot_id, sizeof(gate->boot_id));
}

static void find_program(struct gate *gate)
{
	ssize_t n = readlink("/proc/self/exe", gate->program, sizeof(gate->program) - 1);

	if (n > 0)
		gate->program[n] = '\0';
	else
		snprintf(gate->program, sizeof(gate->program), "/proc/self/exe");
}

static void on_worker_gone(void *data, int64_t ticket)
{
	struct gate *gate = data;

	desk_worker_gone(gate->desk, ticket);
}

static bool open_parts(struct gate *gate, struct loaded *loaded, struct err *err)
{
	const struct store_options options = {
		.path = loaded->settings->database,
		.boot_id = gate->boot_id,
		.spill = loaded->settings->spill,
		.spill_bytes = (size_t)loaded->settings->spill_size,
	};

	struct store_health health;

	gate->record_ok = true;
	if (!store_open(&options, &gate->store, err))
		return false;
	store_health(gate->store, &health);
	if (health.spill.kind != ERR_NONE)
		log_err("There is no spill: %s; what the database does not take is kept in the "
			"journal only",
			health.spill.text);
	return workers_open(gate->loop, gate->boot_id, on_worker_gone, gate, &gate->workers, err) &&
		waiters_open(gate, &gate->waiters, err) &&
		pending_open(gate, &gate->pending, err) && notify_open(gate, &gate->notify, err) &&
		desk_open(gate, &gate->desk, err);
}

/* What needs the settings; a job that runs already is slowed again at once. */
static bool open_levers(struct gate *gate, struct err *err)
{
	return remotes_open(gate, &gate->remotes, err) &&
		pbs_levers_open(gate, &gate->pbs_levers, err) &&
		floor_levers_open(gate, &gate->floors, err) &&
		tasks_open(gate, &gate->tasks, err) && ages_open(gate, &gate->ages, err) &&
		levers_open(gate, &gate->levers, err);
}

/* The levers first, while what carries their orders is still there. */
static void close_levers(struct gate *gate)
{
	int64_t deadline_ms = clock_boot_ms() + PUT_BACK_MS;

	levers_close(gate->levers);
	gate->levers = NULL;
	tasks_close(gate->tasks);
	ages_close(gate->ages);
	if (gate->pbs_levers)
		pbs_levers_close(gate->pbs_levers, PUT_BACK_MS / 2);
	floor_levers_close(gate->floors, deadline_ms);
	remotes_close(gate->remotes);
	gate->pbs_levers = NULL;
	gate->floors = NULL;
	gate->tasks = NULL;
	gate->ages = NULL;
	gate->remotes = NULL;
}

/* The socket last: whoever can connect is answered. */
static bool open_door(struct gate *gate, struct err *err)
{
	gid_t gid = gate->roles.has_look_gid ? gate->roles.look_gid : (gid_t)-1;

	return sock_open(&gate->sock, gate->settings->socket, gid, err) &&
		server_open(&gate->server, gate->loop, gate->sock.fd, &gate->roles, api_handle,
			gate, err);
}

bool gate_open(struct gate *gate, struct loaded *loaded, struct err *err)
{
	struct err restore = {0};
	int rc;

	gate->sock.fd = -1;
	gate->started = gate->now = clock_now();
	read_boot_id(gate);
	find_program(gate);
	rc = sd_event_default(&gate->loop);
	if (rc < 0)
		return err_sys(err, -rc, "Cannot make the event loop");
	if (!open_signals(gate, err) || !open_parts(gate, loaded, err))
		return false;
	load_apply(gate, loaded);
	if (!desk_restore(gate->desk, &restore))
		log_err("Live tickets cannot be taken up again: %s", restore.text);
	if (!open_levers(gate, err) || !chores_open(gate, err) || !open_door(gate, err))
		return false;
	sd_event_set_watchdog(gate->loop, true);
	return true;
}

int gate_run(struct gate *gate)
{
	int rc;

	log_notice("The gate is open node=%s socket=%s policy=%s hash=%s nas=%zu",
		gate->settings->node, gate->settings->socket, gate->policy->name, gate->policy_hash,
		gate->n_watches);
	sd_notifyf(0, "READY=1\nSTATUS=Policy '%s', %zu NAS", gate->policy->name, gate->n_watches);
	rc = sd_event_loop(gate->loop);
	if (rc < 0)
		log_err("The event loop has failed: %s", strerror(-rc));
	return rc < 0 ? 1 : 0;
}

void gate_close(struct gate *gate)
{
	size_t i;

	if (gate->desk && gate->settings) {
		desk_remember(gate->desk);
		desk_anchor(gate->desk);
	}
	server_close(gate->server);
	sock_close(&gate->sock);
	close_levers(gate);
	chores_close(gate);
	for (i = 0; i < gate->n_watches; i++)
		watch_free(gate->watches[i]);
	gate->n_watches = 0;
	desk_close(gate->desk);
	notify_close(gate->notify);
	pending_close(gate->pending);
	waiters_close(gate->waiters);
	workers_close(gate->workers);
	store_close(gate->store);
	for (i = 0; i < N_SIGNALS; i++)
		sd_event_source_disable_unref(gate->signals[i]);
	sd_event_unref(gate->loop);
	settings_free(gate->settings);
	conf_policy_free(gate->policy);
	buf_release(&gate->policy_text);
}
