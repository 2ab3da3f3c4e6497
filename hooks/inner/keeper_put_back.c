// SPDX-License-Identifier: MIT
/* What keepers left that were killed together with their guards, put back by hand or by a unit. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../remember.h"
#include "../wire.h"
#include "client/worker.h"
#include "journal.h"
#include "keeper.h"

enum { EXIT_DONE = 0, EXIT_LEFT = 1, EXIT_USAGE = 2 };

/* For one guest. Its lock is held meanwhile, and a new keeper waits for that 15 s at least. */
#define EACH_MS (10 * MS_SECOND)

struct tally {
	size_t seen, left; /* guests with a note; where something is still to be done */
};

struct putting {
	const char *root; /* as struct hook's */
	const struct hook_conf *conf;
	struct tally *tally;
};

static void say_guest(uint32_t vmid, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say_guest(uint32_t vmid, const char *fmt, ...)
{
	va_list ap;

	printf("guest %" PRIu32 ": ", vmid);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

/* Who has the lock lives: a guard, a keeper whose guard is dead, or somebody who puts back. */
static void say_owner(const char *root, uint32_t vmid)
{
	struct worker owner;

	if (keeper_lock_owner(root, vmid, &owner) &&
		worker_start_ticks(owner.pid) == owner.start_ticks)
		say_guest(vmid, "its keeper lives (process %" PRId64 "), it is left alone",
			owner.pid);
	else
		say_guest(vmid,
			"its keeper lives, or it is being put back just now: it is left "
			"alone");
}

static void say_done(
	const struct putting *putting, uint32_t vmid, const struct keeper_applied *applied)
{
	if (!applied->n) {
		say_guest(vmid, "the backup that was slowed is over, nothing was to be put back");
		return;
	}
	if (!applied->resumed && !applied->freed) {
		say_guest(vmid, "its block jobs ran at their own speed already");
		return;
	}
	say_guest(vmid,
		"its block jobs run at their own speed again (%zu paused, %zu limited before)",
		applied->resumed, applied->freed);
	journal_say(putting->root, LOG_WARNING,
		"guest %" PRIu32
		": its keeper was dead; its block jobs run at their own speed again, by "
		"rebuildgate-vzdump " HOOK_PUT_BACK,
		vmid);
}

static bool locked(const struct putting *putting, uint32_t vmid)
{
	struct keeper_applied applied;

	if (!keeper_note_apply(putting->root, vmid, EACH_MS, &applied)) {
		say_guest(vmid, "its block jobs could not be put back, try again: %s", applied.why);
		journal_say(putting->root, LOG_ERR,
			"guest %" PRIu32 ": its keeper is dead and its block jobs could not be put "
			"back: %s",
			vmid, applied.why);
		return false;
	}
	say_done(putting, vmid, &applied);
	keeper_tell_dead(putting->root, putting->conf, vmid);
	return true;
}

static void one(const void *data, uint32_t vmid)
{
	const struct putting *putting = data;
	struct keeper_note note;
	int lock;

	putting->tally->seen++;
	lock = keeper_lock(putting->root, vmid);
	if (lock < 0 && errno == EWOULDBLOCK) {
		say_owner(putting->root, vmid);
		return;
	}
	if (lock < 0) {
		say_guest(vmid, "its lock cannot be opened: %s", strerror(errno));
		putting->tally->left++;
		return;
	}
	if (keeper_note_load(putting->root, vmid, &note)) {
		putting->tally->left += !locked(putting, vmid);
	} else if (keeper_note_there(putting->root, vmid)) {
		say_guest(vmid,
			"what its keeper noted is not understood: %s" REMEMBER_DIR
			"/keepers/%" PRIu32,
			putting->root, vmid);
		putting->tally->left++;
	} else { /* it, or a hook, was faster */
		say_guest(vmid, "it was put back just now");
	}
	close(lock);
}

static int refuse(const char *why)
{
	fprintf(stderr, "rebuildgate-vzdump %s: %s\n", HOOK_PUT_BACK, why);
	return EXIT_USAGE;
}

int keeper_put_back(int argc, char **argv)
{
	const char *root = getenv("REBUILDGATE_HOOK_ROOT"), *file = getenv("REBUILDGATE_HOOK_CONF");
	struct conf_errors errors = {0};
	struct hook_conf conf;
	struct tally tally = {0};
	struct putting putting = {.root = root ? root : "", .conf = &conf, .tally = &tally};
	struct err err = {0};

	(void)argv;
	if (argc != 2)
		return refuse("nothing else can be said with it");
	if (!root && geteuid() != 0)
		return refuse("it must be run as root, on the node whose guests it shall free");
	umask(077);
	signal(SIGPIPE, SIG_IGN); /* who reads may go, the guests are freed all the same */
	hook_conf_load(file ? file : HOOK_CONF_FILE, &conf, &errors);
	conf_errors_release(&errors); /* its mistakes are told in job-init */
	if (!keeper_note_each(putting.root, one, &putting, &err))
		return refuse(err.text);
	if (!tally.seen)
		puts("no keeper has left anything to be put back");
	return tally.left ? EXIT_LEFT : EXIT_DONE;
}
