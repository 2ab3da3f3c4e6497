// SPDX-License-Identifier: MIT
/* The guard: takes the guest's lock, has the keeper as its child, and puts back whatever that one
 * leaves when it dies. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "client/worker.h"
#include "journal.h"
#include "keeper.h"

/* For an earlier keeper of the guest to end: after SIGTERM, and after its guard's SIGKILL. */
#define EARLIER_MS (15 * MS_SECOND)
#define EARLIER_KILLED_MS (15 * MS_SECOND)
#define EARLIER_AGAIN_MS 100
/* Without a sign of life the keeper is taken for dead: nothing that it does between two lasts
 * longer than it sleeps, 10 s, but a node may be very busy. */
#define WATCH_MS (45 * MS_SECOND)
/* Where it should have resumed by now a guest's writes wait: no longer than this. Between two beats
 * it does one thing then, of 3 s at most. */
#define WATCH_PAUSED_MS (5 * MS_SECOND)
/* For a keeper that was told to end. */
#define GRACE_MS (20 * MS_SECOND)
#define STALE_MS (5 * MS_SECOND)
#define RESCUE_MS MS_MINUTE
/* What could not be put back by then is tried so often again: a paused job waits for nobody else,
 * and its guest's writes wait for it. */
#define RESCUE_AGAIN_MS (5 * MS_SECOND)

static bool read_arguments(int argc, char **argv, struct keeper *ret)
{
	uint64_t vmid, ticket, pid, ticks;

	if (argc != 8 || !u64_parse(argv[2], 1, UINT32_MAX, &vmid, NULL) ||
		!u64_parse(argv[3], 1, INT64_MAX, &ticket, NULL) ||
		!u64_parse(argv[4], 1, INT32_MAX, &pid, NULL) ||
		!u64_parse(argv[5], 1, INT64_MAX, &ticks, NULL) ||
		strlen(argv[6]) >= sizeof(ret->storage) || strlen(argv[7]) >= sizeof(ret->node))
		return false;
	ret->vmid = (uint32_t)vmid;
	ret->ticket = (int64_t)ticket;
	worker_of(getpid(), &ret->worker); /* for the boot id */
	ret->worker.pid = (int64_t)pid;
	ret->worker.start_ticks = (int64_t)ticks;
	memcpy(ret->storage, argv[6], strlen(argv[6]) + 1);
	memcpy(ret->node, argv[7], strlen(argv[7]) + 1);
	return true;
}

static void load(struct keeper *keeper)
{
	const char *file = getenv("REBUILDGATE_HOOK_CONF"), *root = getenv("REBUILDGATE_HOOK_ROOT");
	struct conf_errors errors = {0};

	keeper->root = root ? root : "";
	/* Its mistakes were told in job-init. */
	hook_conf_load(file ? file : HOOK_CONF_FILE, &keeper->conf, &errors);
	conf_errors_release(&errors);
	keeper_socket(keeper->root, keeper->vmid, keeper->socket, sizeof(keeper->socket));
}

static int lock_within(const struct keeper *keeper, int64_t ms)
{
	int64_t end_ms = clock_boot_ms() + ms;
	int fd;

	while ((fd = keeper_lock(keeper->root, keeper->vmid)) < 0 && clock_boot_ms() < end_ms)
		poll(NULL, 0, EARLIER_AGAIN_MS);
	return fd;
}

static void send_earlier(const struct keeper *keeper, int sig)
{
	struct worker owner;
	int fd;

	if (!keeper_lock_owner(keeper->root, keeper->vmid, &owner) ||
		(fd = pidfd_open((pid_t)owner.pid, 0)) < 0)
		return;
	if (worker_start_ticks(owner.pid) == owner.start_ticks)
		pidfd_send_signal(fd, sig, NULL, 0);
	close(fd);
}

/* An earlier backup's keeper must go first. */
static int take_lock(const struct keeper *keeper)
{
	int fd = keeper_lock(keeper->root, keeper->vmid);

	if (fd < 0) {
		send_earlier(keeper, SIGTERM);
		fd = lock_within(keeper, EARLIER_MS);
	}
	if (fd < 0) {
		send_earlier(keeper, SIGKILL);
		fd = lock_within(keeper, EARLIER_KILLED_MS);
	}
	return fd;
}

struct guard {
	struct keeper *keeper;
	int signals, heart;
	pid_t child;
	int status;
	bool told;
	int64_t end_ms;    /* when the child's time is over */
	int64_t resume_ms; /* and when, if it does not resume; INT64_MAX: nothing is paused */
};

static bool take_signals(struct guard *guard)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_SETMASK, &set, NULL))
		return false;
	guard->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return guard->signals >= 0;
}

static bool start(struct guard *guard)
{
	pid_t self = getpid();
	int pipe[2];

	if (pipe2(pipe, O_CLOEXEC | O_NONBLOCK))
		return false;
	guard->heart = pipe[0];
	guard->child = fork();
	if (guard->child == 0) {
		close(pipe[0]);
		close(guard->signals);
		setpgid(0, 0); /* what kills the one's group does not kill the other */
		_exit(keeper_run(guard->keeper, self, pipe[1]) ? 0 : 1);
	}
	close(pipe[1]);
	return guard->child > 0;
}

/* True when the child is reaped. */
static bool take_one(struct guard *guard)
{
	struct signalfd_siginfo info;

	while (read(guard->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD &&
			waitpid(guard->child, &guard->status, WNOHANG) == guard->child)
			return true;
		if (info.ssi_signo != SIGCHLD && !guard->told) {
			guard->told = true;
			guard->end_ms = clock_boot_ms() + GRACE_MS;
			kill(guard->child, SIGTERM);
		}
	}
	return false;
}

static void hear(struct guard *guard)
{
	struct keeper_beat beats[32];
	ssize_t n = read(guard->heart, beats, sizeof(beats));
	size_t heard = n > 0 ? (size_t)n / sizeof(beats[0]) : 0; /* each is written in one piece */
	int64_t now_ms = clock_boot_ms(), until_ms;

	if (n == 0) { /* it is about to be reaped */
		close(guard->heart);
		guard->heart = -1;
	}
	if (!heard)
		return;
	if (!guard->told)
		guard->end_ms = now_ms + WATCH_MS;
	until_ms = beats[heard - 1].paused_until_ms;
	guard->resume_ms = INT64_MAX;
	if (until_ms)
		guard->resume_ms = (until_ms > now_ms ? until_ms : now_ms) + WATCH_PAUSED_MS;
}

static int64_t patience_ms(const struct guard *guard)
{
	int64_t end_ms = guard->resume_ms < guard->end_ms ? guard->resume_ms : guard->end_ms;
	int64_t left_ms = end_ms - clock_boot_ms();

	return left_ms > 0 ? left_ms : 0;
}

/* Until the child is reaped; kills it when its time is over. */
static void watch(struct guard *guard)
{
	struct pollfd fds[2] = {{.fd = guard->signals, .events = POLLIN}, {.events = POLLIN}};
	int64_t left_ms;

	guard->end_ms = clock_boot_ms() + WATCH_MS;
	guard->resume_ms = INT64_MAX;
	for (;;) {
		left_ms = patience_ms(guard);
		fds[1].fd = guard->heart;
		fds[0].revents = fds[1].revents = 0;
		poll(fds, 2, (int)left_ms);
		if (fds[0].revents && take_one(guard))
			return;
		if (fds[1].revents) {
			hear(guard);
		} else if (!left_ms) {
			kill(guard->child, SIGKILL);
			waitpid(guard->child, &guard->status, 0);
			return;
		}
	}
}

/* Whether somebody wants it to end; it has no child any more. */
static bool told_to_end(const struct guard *guard)
{
	struct pollfd fd = {.fd = guard->signals, .events = POLLIN};
	struct signalfd_siginfo info;

	poll(&fd, 1, (int)RESCUE_AGAIN_MS);
	while (read(guard->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			return true;
	return false;
}

/* QEMU did not answer for so long: until it does or is gone, or a later keeper or the end of this
 * backup takes over. */
static bool rescue_later(const struct guard *guard, const char *trouble)
{
	struct keeper *keeper = guard->keeper;
	bool done = false;

	while (!done && !told_to_end(guard)) {
		done = keeper_note_apply(keeper->root, keeper->vmid, STALE_MS, NULL);
		if (!done) /* also to a gate that has started anew */
			keeper_tell_end(keeper, trouble, true);
	}
	if (!done && !keeper_note_apply(keeper->root, keeper->vmid, STALE_MS, NULL))
		return false;
	journal_say(keeper->root, LOG_NOTICE,
		"guest %" PRIu32 ": its block jobs run at their own speed again", keeper->vmid);
	keeper_tell_end(keeper, NULL, false);
	return true;
}

/* The keeper did not put everything back. */
static int after_death(const struct guard *guard)
{
	struct keeper *keeper = guard->keeper;
	char how[80], said[200];
	bool done;

	if (WIFSIGNALED(guard->status))
		snprintf(how, sizeof(how), "was killed by signal %d", WTERMSIG(guard->status));
	else
		snprintf(how, sizeof(how), "ended with status %d", WEXITSTATUS(guard->status));
	done = keeper_note_apply(keeper->root, keeper->vmid, RESCUE_MS, NULL);
	snprintf(said, sizeof(said), "the keeper %s; its block jobs %s", how,
		done ? "run at their own speed again"
		     : "could not be put back yet, it is tried again until they are");
	journal_say(keeper->root, done ? LOG_WARNING : LOG_ERR, "guest %" PRIu32 ": %s",
		keeper->vmid, said);
	keeper_tell_end(keeper, said, !done);
	return done || rescue_later(guard, said) ? 0 : 1;
}

int keeper_main(int argc, char **argv)
{
	struct keeper keeper = {0};
	struct guard guard = {.keeper = &keeper};
	struct worker self;
	int lock;

	prctl(PR_SET_NAME, "rebuildgate-kee");
	if (!read_arguments(argc, argv, &keeper))
		return 2;
	load(&keeper);
	lock = take_lock(&keeper);
	worker_of(getpid(), &self);
	if (lock < 0 || !keeper_lock_sign(lock, &self, &keeper)) {
		journal_say(keeper.root, LOG_WARNING,
			"guest %" PRIu32 ": an earlier keeper does not end, there is no other",
			keeper.vmid);
		return 1;
	}
	keeper_note_apply(keeper.root, keeper.vmid, STALE_MS, NULL);
	if (!take_signals(&guard) || !start(&guard)) {
		journal_say(keeper.root, LOG_WARNING,
			"guest %" PRIu32 ": the keeper cannot be started: %m", keeper.vmid);
		return 1;
	}
	watch(&guard);
	if (WIFEXITED(guard.status) && WEXITSTATUS(guard.status) == 0)
		return 0;
	return after_death(&guard);
}
