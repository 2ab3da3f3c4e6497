// SPDX-License-Identifier: MIT
/*
 * `run` and `wait`: the gate for anything that is no vzdump job.
 *
 * Settings come from the hook's file, so that a node has one place for "what if the gate is away";
 * options overrule. What is said goes to stderr, the command has the terminal to itself.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/cli.h"
#include "client/asking.h"
#include "client/worker.h"
#include "conf/hook_conf.h"

#define REPORT_MS (2 * MS_SECOND)

struct run {
	struct ask ask;
	struct session_conf conf;
	struct session session;
	struct pollfd wake;
	char socket[HOOK_PATH_MAX]; /* as the hook's file names it */
	sigset_t before;            /* the signal mask that the command gets */
};

static void say(void *data, const char *line)
{
	(void)data;
	fprintf(stderr, "rebuildgate: %s\n", line);
}

/* Signals come through a descriptor from here on. */
static bool take_signals(struct run *run, struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, &run->before))
		return err_sys(err, errno, "cannot take signals");
	run->wake.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	run->wake.events = POLLIN;
	if (run->wake.fd < 0)
		return err_sys(err, errno, "cannot take signals");
	return true;
}

static bool next_signal(const struct run *run, struct signalfd_siginfo *ret)
{
	return read(run->wake.fd, ret, sizeof(*ret)) == (ssize_t)sizeof(*ret);
}

static bool read_settings(struct run *run, const char *timeout, const char *if_gate_down,
	const char *wait_for_gate, struct err *err)
{
	const char *file = getenv("REBUILDGATE_HOOK_CONF");
	struct conf_errors errors = {0};
	struct hook_conf conf;
	struct buf text = {0};

	if (!hook_conf_load(file && *file ? file : HOOK_CONF_FILE, &conf, &errors)) {
		conf_errors_print(&errors, &text);
		fprintf(stderr, "%s", buf_str(&text));
		buf_release(&text);
	}
	conf_errors_release(&errors);
	snprintf(run->socket, sizeof(run->socket), "%s", conf.gate);
	cli_socket_configured(run->socket);
	run->conf.wait_for_gate_ms = conf.wait_for_gate_ms;
	run->conf.if_gate_down = conf.if_gate_down;
	if (wait_for_gate && !span_parse(wait_for_gate, &run->conf.wait_for_gate_ms, err))
		return err_prefix(err, "--wait-for-gate");
	if (timeout && !span_parse(timeout, &run->conf.give_up_ms.v, err))
		return err_prefix(err, "--timeout");
	run->conf.give_up_ms.known = timeout != NULL;
	if (if_gate_down) {
		run->conf.if_gate_down = verdict_parse(if_gate_down);
		if (run->conf.if_gate_down != VERDICT_ALLOW &&
			run->conf.if_gate_down != VERDICT_DENY)
			return err_set(err, ERR_INVALID,
				"--if-gate-down is 'allow' or 'deny', not '%s'", if_gate_down);
	}
	return true;
}

static void tell(struct run *run, const char *phase, struct opt status)
{
	const struct gate_link link = {.socket = cli_socket(), .deadline_ms = REPORT_MS};
	const struct report report = {.ticket = run->session.ticket,
		.worker = run->ask.worker,
		.phase = phase,
		.storage = run->ask.request.storage,
		.node = run->ask.request.node,
		.exit_status = status};

	/* A gate that went away meanwhile notices by itself when we end. */
	client_report(&link, &report, NULL);
}

static void withdraw(struct run *run, const char *why)
{
	const struct gate_link link = {.socket = cli_socket(), .deadline_ms = REPORT_MS};

	client_withdraw(&link, run->session.ticket, &run->ask.worker, why, NULL);
}

/* The end of the asking as an exit code; CLI_OK: go. */
static int exit_of_end(struct run *run, const struct session_step *step)
{
	switch (step->end) {
	case SESSION_END_GO:
		return CLI_OK;
	case SESSION_END_NO_GATE:
		/* A gate that is there and refuses us is no gate that is away. */
		if (session_refused(&run->session))
			return run->session.failed == ERR_DENIED ? CLI_DENIED : CLI_USAGE;
		return step->verdict == VERDICT_DENY ? CLI_GATE_AWAY : CLI_OK;
	case SESSION_END_HOLD_OVER:
		return step->verdict == VERDICT_DENY ? CLI_DENIED : CLI_OK;
	case SESSION_END_GAVE_UP:
		withdraw(run, "its time to wait is over");
		return run->session.failed ? CLI_GATE_AWAY : CLI_HELD;
	case SESSION_END_DENIED:
	case SESSION_END_NONE:
		break;
	}
	return CLI_DENIED;
}

static void say_end(struct run *run, const struct session_step *step)
{
	bool plain = step->end == SESSION_END_GO && step->verdict == VERDICT_ALLOW &&
		step->held_ms < MS_SECOND;
	char line[WORDS_MAX];
	size_t i;

	words_end(&run->session, step, line);
	if (!plain)
		say(NULL, line);
	for (i = 0; step->end == SESSION_END_GO && words_warning(&run->session.answer, i, line);
		i++)
		say(NULL, line);
}

/* Asks until there is a verdict. Returns the exit code; CLI_OK: go. */
static int ask(struct run *run)
{
	const struct gate_link link = {.socket = cli_socket(), .wake = &run->wake, .n_wake = 1};
	const struct asking asking = {.link = &link, .ask = &run->ask, .say = say};
	struct session_step step;
	struct signalfd_siginfo info;
	int signal;

	if (!asking_run(&asking, &run->session, &run->conf, &step)) {
		signal = next_signal(run, &info) ? (int)info.ssi_signo : SIGTERM;
		withdraw(run, "interrupted");
		return 128 + signal;
	}
	/* The refusal has been said as it came. */
	if (step.end != SESSION_END_NO_GATE || !session_refused(&run->session))
		say_end(run, &step);
	return exit_of_end(run, &step);
}

static bool prepare(struct run *run, const char *storage, struct err *err)
{
	struct request *request = &run->ask.request;

	if (!*storage || strlen(storage) >= sizeof(request->storage))
		return err_set(err, ERR_INVALID, "'%s' is no storage's name", storage);
	memcpy(request->storage, storage, strlen(storage) + 1);
	request->phase = PHASE_JOB_INIT;
	worker_node(request->node);
	worker_of(getpid(), &run->ask.worker);
	return take_signals(run, err);
}

static void __attribute__((noreturn)) become(const struct run *run, char **command)
{
	int code;

	sigprocmask(SIG_SETMASK, &run->before, NULL);
	execvp(command[0], command);
	code = errno == ENOENT ? 127 : 126;
	fprintf(stderr, "rebuildgate run: '%s' cannot be run: %s\n", command[0], strerror(errno));
	_exit(code);
}

/* Waits for the command, passing signals on. Those from the terminal (SI_KERNEL) it has got itself.
 */
static int wait_command(const struct run *run, pid_t pid)
{
	struct pollfd fd = {.fd = run->wake.fd, .events = POLLIN};
	struct signalfd_siginfo info;
	int status;

	for (;;) {
		if (poll(&fd, 1, -1) < 0 && errno != EINTR)
			break;
		if (!next_signal(run, &info))
			continue;
		if (info.ssi_signo != SIGCHLD) {
			if (info.ssi_code != SI_KERNEL)
				kill(pid, (int)info.ssi_signo);
			continue;
		}
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return CLI_FAILED;
}

static int run_command(struct run *run, char **command)
{
	pid_t pid;
	int code;

	tell(run, "job-start", OPT_NONE);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		become(run, command);
	if (pid < 0) {
		code = cli_fail("run", CLI_FAILED, strerror(errno));
	} else {
		code = wait_command(run, pid);
	}
	tell(run, "run-end", OPT(code));
	return code;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int cli_run(const struct cli_verb *verb, int argc, char **argv)
{
	const char *storage = NULL, *timeout = NULL, *if_gate_down = NULL, *wait_for_gate = NULL;
	const struct cli_option options[] = {
		{"--storage", "STORAGE", "where the command writes to", &storage, NULL},
		{"--timeout", "SPAN",
			"wait so long at most, then exit 75; without: to the hold's "
			"end",
			&timeout, NULL},
		{"--if-gate-down", "allow|deny", "without a gate (hook.conf, else allow)",
			&if_gate_down, NULL},
		{"--wait-for-gate", "SPAN",
			"how long a gate that is away is waited for "
			"(hook.conf, else 15min)",
			&wait_for_gate, NULL},
	};
	struct run run = {.ask.request.client = CLIENT_RUN};
	struct err err = {0};
	int at = 1, code;

	while (at < argc && strcmp(argv[at], "--") != 0)
		at++;
	if (!cli_args(verb, at, argv, options, CLI_COUNT(options), NULL, &code))
		return code;
	if (!storage || at + 1 >= argc)
		return cli_fail(verb->name, CLI_USAGE, verb->need);
	if (!read_settings(&run, timeout, if_gate_down, wait_for_gate, &err))
		return cli_fail(verb->name, CLI_USAGE, err.text);
	snprintf(run.ask.command, sizeof(run.ask.command), "%s", base_name(argv[at + 1]));
	if (!prepare(&run, storage, &err))
		return cli_fail_err(verb->name, &err);
	code = ask(&run);
	return code == CLI_OK ? run_command(&run, argv + at + 1) : code;
}

int cli_wait(const struct cli_verb *verb, int argc, char **argv)
{
	const char *timeout = NULL, *wait_for_gate = NULL;
	const struct cli_option options[] = {
		{"--timeout", "SPAN", "wait so long at most, then exit 75", &timeout, NULL},
		{"--wait-for-gate", "SPAN",
			"how long a gate that is away is waited for "
			"(hook.conf, else 15min), then exit 69",
			&wait_for_gate, NULL},
	};
	struct run run = {.ask.request.client = CLIENT_WAIT, .conf.wait_only = true};
	struct err err = {0};
	int code;

	if (!cli_args(verb, argc, argv, options, CLI_COUNT(options), NULL, &code))
		return code;
	/* Whoever waits decides by the exit code: no gate is never "go". */
	if (!read_settings(&run, timeout, "deny", wait_for_gate, &err))
		return cli_fail(verb->name, CLI_USAGE, err.text);
	if (!prepare(&run, argv[1], &err))
		return cli_fail_err(verb->name, &err);
	/* The gate ends a wait with its last answer: there is nothing to report. */
	return ask(&run);
}
