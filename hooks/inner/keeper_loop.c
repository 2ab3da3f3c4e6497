// SPDX-License-Identifier: MIT
/* The keeper proper: looks, asks, sets, until it is over. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "client/keep.h"
#include "client/worker.h"
#include "journal.h"
#include "keeper.h"

#define QMP_MS (2 * MS_SECOND)
#define ASK_MS (3 * MS_SECOND)
#define ASK_LEAST_MS 300
#define ASK_END_MS MS_SECOND
/* Until a gate that does not answer is asked again. */
#define RETRY_MS MS_SECOND
#define PUT_BACK_MS (10 * MS_SECOND)
#define PUT_BACK_AGAIN_MS 200
/* What is set changes every few seconds with slices: it is told no more often than this. */
#define SAY_MS MS_MINUTE
#define FLEECING_TRIES 3
/* A question needs no look that is newer than this: vzdump and others want their turn as well. */
#define FRESH_MS 900

enum { WAKE_TOLD = 0, WAKE_WORKER_GONE, N_WAKE };

struct loop {
	struct keeper *keeper;
	struct pollfd wake[N_WAKE];
	int heart;
	int64_t ask_ms;
	struct opt said_ms;
	enum steer_path said;
	bool changed; /* something was set */
	bool noted;   /* there is a note */
	int fleecing_tries;
	char gate_why[300]; /* why it did not answer last */
};

static bool woken(struct loop *loop)
{
	return poll(loop->wake, N_WAKE, 0) > 0;
}

static void beat(const struct loop *loop)
{
	struct opt until = keeping_paused_until(&loop->keeper->keeping, clock_boot_ms());
	const struct keeper_beat now = {until.known ? until.v : 0};

	/* A full pipe has beats enough. */
	if (write(loop->heart, &now, sizeof(now)) < 0)
		return;
}

static void look(struct loop *loop)
{
	struct keeper *keeper = loop->keeper;
	struct qmp_state state;
	struct err err = {0};

	beat(loop);
	if (!qmp_bring(keeper->socket, NULL, QMP_MS, &state, &err)) {
		keeping_not_looked(&keeper->keeping, &err, clock_boot_ms());
		return;
	}
	keeping_looked(&keeper->keeping, &state, clock_boot_ms());
	if (!state.n || loop->fleecing_tries >= FLEECING_TRIES)
		return;
	beat(loop);
	/* Where it cannot be found out, none. */
	if (qmp_fleecing(keeper->socket, QMP_MS, &keeper->keeping.fleecing, NULL))
		loop->fleecing_tries = FLEECING_TRIES;
	else
		loop->fleecing_tries++;
}

static void look_if_due(struct loop *loop)
{
	const struct keeping *keeping = &loop->keeper->keeping;
	int64_t now_ms = clock_boot_ms();

	if (now_ms >= keeping_look_ms(keeping) ||
		(now_ms >= loop->ask_ms && now_ms - keeping->looked_ms >= FRESH_MS))
		look(loop);
}

static void fill(const struct keeper *keeper, struct keep_ask *ret)
{
	*ret = (struct keep_ask){
		.ticket = keeper->ticket, .worker = keeper->worker, .guest = keeper->vmid};
	memcpy(ret->node, keeper->node, sizeof(ret->node));
	memcpy(ret->storage, keeper->storage, sizeof(ret->storage));
	keeping_tell(&keeper->keeping, ret);
}

/* No longer than until something must change by itself. */
static int64_t ask_deadline_ms(const struct keeping *keeping)
{
	int64_t left_ms = keeping_wake_ms(keeping) - clock_boot_ms();

	if (left_ms < ASK_LEAST_MS)
		return ASK_LEAST_MS;
	return left_ms < ASK_MS ? left_ms : ASK_MS;
}

static void ask_gate(struct loop *loop)
{
	struct keeper *keeper = loop->keeper;
	struct gate_link link = {.socket = keeper->conf.gate,
		.deadline_ms = ask_deadline_ms(&keeper->keeping),
		.wake = loop->wake,
		.n_wake = N_WAKE};
	struct keep_answer answer;
	struct keep_ask ask;
	struct err err = {0};

	beat(loop);
	fill(keeper, &ask);
	if (client_keep(&link, &ask, &answer, &err)) {
		keeping_answered(&keeper->keeping, &answer, clock_boot_ms());
		loop->ask_ms = clock_boot_ms() + answer.again_ms;
	} else {
		snprintf(loop->gate_why, sizeof(loop->gate_why), "%.299s", err.text);
		loop->ask_ms = clock_boot_ms() + RETRY_MS;
	}
}

/* One line of what is in force now. */
static void say(struct loop *loop)
{
	struct keeper *keeper = loop->keeper;
	const struct keeping *keeping = &keeper->keeping;
	int64_t now_ms = clock_boot_ms();
	char rate[UNITS_TEXT_MAX], what[80] = "";
	struct keep_ask ask = {0};
	const char *why;

	keeping_tell(keeping, &ask);
	why = *ask.trouble ? ask.trouble : keeping->answer.reason;
	if (loop->said_ms.known && now_ms - loop->said_ms.v < SAY_MS &&
		(ask.path != STEER_FREE || loop->said == STEER_FREE))
		return;
	loop->said_ms = OPT(now_ms);
	loop->said = ask.path;
	if (ask.path == STEER_LIMIT)
		snprintf(what, sizeof(what), "limited to %s", rate_show(ask.rate, rate));
	else
		snprintf(what, sizeof(what), "%s",
			ask.path == STEER_REST ? "paused" : "not limited any more");
	journal_say(keeper->root, LOG_NOTICE,
		"guest %" PRIu32 ": its block jobs are %s, for ticket T%" PRId64 "%s%s",
		keeper->vmid, what, keeper->ticket, *why ? ": " : "", why);
}

/* Brings the jobs to what is wanted, if anything differs. */
static void set(struct loop *loop)
{
	struct keeper *keeper = loop->keeper;
	struct keeping *keeping = &keeper->keeping;
	const struct qmp_wants wants = {keeping_want, keeping};
	struct qmp_state state;
	struct err err = {0};

	if (keeping_differs(keeping)) {
		if (!keeper_note_save(keeper->root, keeper->vmid, keeping)) {
			err_set(&err, ERR_SYS, "what is changed cannot be written down below /run");
			keeping_not_set(keeping, &err);
			return;
		}
		loop->noted = loop->changed = true;
		beat(loop); /* a pause's end is known before there is a pause */
		if (qmp_bring(keeper->socket, &wants, QMP_MS, &state, &err)) {
			keeping_set(keeping, &state, NULL);
			if (!keeping->ending)
				say(loop);
		} else if (err.kind == ERR_DENIED && state.n) {
			keeping_set(keeping, &state, &err);
		} else {
			keeping_not_set(keeping, &err);
		}
	}
	if (loop->noted && !keeping_touches(keeping)) {
		keeper_note_drop(keeper->root, keeper->vmid);
		loop->noted = false;
	}
}

static void sleep_until(struct loop *loop, int64_t at_ms)
{
	int64_t left_ms = at_ms - clock_boot_ms();

	if (left_ms > 0)
		poll(loop->wake, N_WAKE, (int)left_ms);
}

static enum keeping_end keep(struct loop *loop)
{
	struct keeping *keeping = &loop->keeper->keeping;
	enum keeping_end end = KEEPING_GOES_ON;
	int64_t next_ms;

	while (end == KEEPING_GOES_ON && !woken(loop)) {
		look_if_due(loop);
		if (clock_boot_ms() >= loop->ask_ms)
			ask_gate(loop);
		keeping_tick(keeping, clock_boot_ms());
		set(loop);
		next_ms = keeping_wake_ms(keeping);
		if (loop->ask_ms < next_ms)
			next_ms = loop->ask_ms;
		if (keeping_look_ms(keeping) < next_ms)
			next_ms = keeping_look_ms(keeping);
		end = keeping_over(keeping, clock_boot_ms());
		beat(loop);
		if (end == KEEPING_GOES_ON)
			sleep_until(loop, next_ms);
	}
	return end;
}

/* True when no job is left that is not as it was. */
static bool put_back(struct loop *loop)
{
	struct keeping *keeping = &loop->keeper->keeping;
	int64_t end_ms = clock_boot_ms() + PUT_BACK_MS;

	keeping_put_back(keeping);
	while (keeping_touches(keeping) && clock_boot_ms() < end_ms) {
		look(loop);
		set(loop);
		if (keeping_touches(keeping))
			poll(NULL, 0, PUT_BACK_AGAIN_MS);
	}
	if (!keeping_touches(keeping))
		keeper_note_drop(loop->keeper->root, loop->keeper->vmid);
	return !keeping_touches(keeping);
}

static void say_end(const struct loop *loop, enum keeping_end end, bool was_set, bool done)
{
	const struct keeper *keeper = loop->keeper;
	const char *put = !was_set ? "nothing was set"
		: done             ? "its block jobs run at their own speed again"
				   : "its block jobs could not be put back yet";
	char why[400] = "the backup is over";

	if (loop->wake[WAKE_TOLD].revents)
		snprintf(why, sizeof(why), "told to end");
	else if (loop->wake[WAKE_WORKER_GONE].revents)
		snprintf(why, sizeof(why), "vzdump's worker has ended");
	else if (end == KEEPING_NEVER)
		snprintf(why, sizeof(why), "no block job of a backup came");
	else if (end == KEEPING_LOST)
		snprintf(why, sizeof(why),
			"no gate for a minute (%s), the backup goes on unslowed to its end, also "
			"when the gate is back",

			loop->gate_why);
	journal_say(keeper->root,
		!done                         ? LOG_ERR
			: end == KEEPING_LOST ? LOG_WARNING
					      : LOG_INFO,
		"guest %" PRIu32 ": %s; %s, the keeper ends", keeper->vmid, why, put);
}

void keeper_tell_end(struct keeper *keeper, const char *trouble, bool left)
{
	struct gate_link link = {.socket = keeper->conf.gate, .deadline_ms = ASK_END_MS};
	struct keep_answer answer;
	struct keep_ask ask;

	fill(keeper, &ask);
	ask.ending = true;
	if (left)
		ask.path = STEER_REST;
	if (trouble)
		snprintf(ask.trouble, sizeof(ask.trouble), "%s", trouble);
	client_keep(&link, &ask, &answer, NULL);
}

void keeper_tell_dead(const char *root, const struct hook_conf *conf, uint32_t vmid)
{
	struct keeper keeper;

	if (!keeper_lock_keeper(root, vmid, &keeper))
		return;
	keeper.conf = *conf;
	keeper_tell_end(&keeper, NULL, false);
}

static bool start_waking(struct loop *loop, pid_t guard)
{
	const struct worker *worker = &loop->keeper->worker;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	loop->wake[WAKE_TOLD] = (struct pollfd){
		.events = POLLIN, .fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
	loop->wake[WAKE_WORKER_GONE] =
		(struct pollfd){.events = POLLIN, .fd = pidfd_open((pid_t)worker->pid, 0)};
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	return !sigprocmask(SIG_SETMASK, &set, NULL) && getppid() == guard &&
		loop->wake[WAKE_TOLD].fd >= 0 && loop->wake[WAKE_WORKER_GONE].fd >= 0 &&
		worker_start_ticks(worker->pid) == worker->start_ticks;
}

bool keeper_run(struct keeper *keeper, pid_t guard, int heart)
{
	struct loop loop = {.keeper = keeper, .heart = heart};
	enum keeping_end end;
	bool was_set, done;

	keeping_start(&keeper->keeping, clock_boot_ms());
	if (!start_waking(&loop, guard))
		return true;
	end = keep(&loop);
	was_set = loop.changed;
	done = put_back(&loop);
	say_end(&loop, end, was_set, done);
	keeper_tell_end(keeper, NULL, false);
	return done;
}
