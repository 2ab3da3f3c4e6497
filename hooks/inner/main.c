// SPDX-License-Identifier: MIT
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "../wire.h"
#include "base/units.h"
#include "inner.h"
#include "keeper.h"

#define LINE_SIZE 1200

void hook_say_line(void *data, const char *text)
{
	char line[LINE_SIZE];
	int len = snprintf(line, sizeof(line), "rebuildgate: %s\n", text);

	(void)data;
	if (len >= (int)sizeof(line)) {
		len = (int)sizeof(line) - 1;
		line[len - 1] = '\n';
	}
	/* Nobody to tell when stdout is gone: its POLLERR ends us. */
	if (len > 0 && write(STDOUT_FILENO, line, (size_t)len) < 0)
		return;
}

void hook_say(const struct hook *hook, const char *fmt, ...)
{
	char text[LINE_SIZE];
	va_list ap;

	(void)hook;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	hook_say_line(NULL, text);
}

bool hook_woken(const struct hook *hook)
{
	struct pollfd fds[WAKE_N];

	memcpy(fds, hook->wake, sizeof(fds));
	return poll(fds, WAKE_N, 0) > 0;
}

static bool is_phase(const struct hook *hook, const char *phase)
{
	return strcmp(hook->phase, phase) == 0;
}

bool hook_phase_gates(const struct hook *hook)
{
	return is_phase(hook, "job-init") || is_phase(hook, "job-start") ||
		is_phase(hook, "backup-start");
}

/* Signals come through a descriptor; the end of vzdump's stdout and of the outer hook likewise. */
static bool start_waking(struct hook *hook)
{
	sigset_t set;
	int i;

	for (i = 0; i < WAKE_N; i++)
		hook->wake[i] = (struct pollfd){.fd = -1};
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return false;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	hook->wake[WAKE_SIGNAL].fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	hook->wake[WAKE_SIGNAL].events = POLLIN;
	hook->wake[WAKE_STDOUT].fd = STDOUT_FILENO;
	return hook->wake[WAKE_SIGNAL].fd >= 0;
}

static void load_conf(struct hook *hook)
{
	const char *file = getenv("REBUILDGATE_HOOK_CONF");
	struct conf_errors errors = {0};
	struct buf text = {0};
	char *line, *end;

	if (!hook_conf_load(file ? file : HOOK_CONF_FILE, &hook->conf, &errors) &&
		is_phase(hook, "job-init")) {
		conf_errors_print(&errors, &text);
		for (line = text.data; line && *line; line = end + 1) {
			end = strchrnul(line, '\n');
			hook_say(hook, "WARNING: %.*s", (int)(end - line), line);
			if (!*end)
				break;
		}
	}
	buf_release(&text);
	conf_errors_release(&errors);
}

static bool read_arguments(struct hook *hook, int argc)
{
	uint64_t vmid = 0;

	if (argc != 2 && argc != 4)
		return false;
	if (argc == 4) {
		if (!u64_parse(hook->argv[3], 1, UINT32_MAX, &vmid, NULL))
			return false;
		hook->mode = hook->argv[2];
		hook->vmid = (uint32_t)vmid;
	}
	return true;
}

/* The end with a status other than 0, announced so that the outer hook believes it. */
static int fail(const struct hook *hook, int status)
{
	char text[32];
	int len = snprintf(text, sizeof(text), HOOK_FAIL, status);

	if (hook->wake[WAKE_OUTER].fd >= 0 && write(HOOK_FD, text, (size_t)len) < 0)
		return status;
	return status;
}

static enum part job_init(struct hook *hook, int *ret_status)
{
	enum part part;

	memory_clean(hook);
	memory_note_drop(hook);
	keeper_rescue(hook);
	part = scripts_run(hook, hook->conf.hooks_early_dir, true, ret_status);
	if (part != PART_GOES_ON)
		return part;
	if (!hook->storage)
		hook_say(hook, "this job writes to no storage (dumpdir): it is not gated");
	else
		part = gate_job_init(hook);
	if (part != PART_GOES_ON)
		return part;
	part = scripts_run(hook, hook->conf.hooks_dir, true, ret_status);
	/* After a failed job-init vzdump runs no further phase that would tell it. */
	if (part == PART_FAILS && hook->storage)
		gate_report(hook, "job-abort");
	return part;
}

static enum part inside_job(struct hook *hook, int *ret_status)
{
	enum part part;

	memory_note_load(hook);
	hook->hurry = memory_was_aborted(hook);
	if (hook->hurry) {
		hook_say(hook, "this job was aborted: %s fails", hook->phase);
		return PART_FAILS;
	}
	if (hook->storage) {
		part = gate_recheck(hook);
		if (part != PART_GOES_ON)
			return part;
		gate_report(hook, hook->phase);
	}
	part = scripts_run(hook, hook->conf.hooks_dir, false, ret_status);
	if (part == PART_GOES_ON && is_phase(hook, "backup-start"))
		keeper_start(hook);
	return part;
}

static enum part other_phase(struct hook *hook, int *ret_status)
{
	memory_note_load(hook);
	hook->hurry = memory_was_aborted(hook);
	if (is_phase(hook, "backup-end") || is_phase(hook, "backup-abort") ||
		is_phase(hook, "log-end"))
		keeper_end(hook);
	if (hook->storage)
		gate_report(hook, hook->phase);
	if (is_phase(hook, "job-end") || is_phase(hook, "job-abort"))
		memory_note_drop(hook);
	return hook_woken(hook) ? PART_ABORTED
				: scripts_run(hook, hook->conf.hooks_dir, false, ret_status);
}

/* Somebody wants the job to end. First what works without the gate: vzdump may start the next guest
 * all the same. */
static void aborted(struct hook *hook)
{
	memory_abort(hook);
	if (is_phase(hook, "job-init") && hook->storage)
		gate_withdraw(hook);
}

static int run_phase(struct hook *hook)
{
	int status = HOOK_EXIT_FAIL;
	enum part part;

	if (is_phase(hook, "job-init"))
		part = job_init(hook, &status);
	else if (hook_phase_gates(hook))
		part = inside_job(hook, &status);
	else
		part = other_phase(hook, &status);
	/* One that came while the gate was told, or a script ran that took no notice. */
	if (part == PART_ABORTED || (part == PART_GOES_ON && hook_woken(hook))) {
		aborted(hook);
		return hook_phase_gates(hook) ? fail(hook, HOOK_EXIT_FAIL) : 0;
	}
	return part == PART_FAILS ? fail(hook, status) : 0;
}

int main(int argc, char **argv, char **envp)
{
	const char *root = getenv("REBUILDGATE_HOOK_ROOT");
	struct hook hook = {
		.argv = argv,
		.envp = envp,
		.phase = argc > 1 ? argv[1] : "",
		.storage = getenv("STOREID"),
		.vmtype = getenv("VMTYPE"),
		.hostname = getenv("HOSTNAME"),
		.target = getenv("TARGET"),
		.root = root ? root : "",
	};
	pid_t parent = getppid();

	if (argc > 1 && is_phase(&hook, KEEPER_FLAG))
		return keeper_main(argc, argv);
	if (argc > 1 && is_phase(&hook, HOOK_PUT_BACK))
		return keeper_put_back(argc, argv);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (!start_waking(&hook))
		return 70;
	worker_find(&hook);
	if (hook.storage && !*hook.storage)
		hook.storage = NULL;
	if (!read_arguments(&hook, argc)) {
		hook_say(&hook,
			"usage: rebuildgate-vzdump PHASE [MODE VMID], called by vzdump; or "
			"rebuildgate-vzdump " HOOK_PUT_BACK);
		return fail(&hook, 2);
	}
	load_conf(&hook);
	if (getppid() != parent) {
		aborted(&hook);
		return HOOK_EXIT_FAIL;
	}
	return run_phase(&hook);
}
