// SPDX-License-Identifier: MIT
/*
 * The program that vzdump's `script:` names. It starts the real hook (rebuildgate-vzdump-inner,
 * next to it) as its child and makes something decided of whatever becomes of that child: a missing
 * library, a crash or an unknown exit status is `if_gate_down`, never a failed backup by accident.
 *
 * Needs libc only. What vzdump does is in PVE/VZDump.pm (run_hook_script) and PVE/Cmd.pm: no shell,
 * an empty environment, stdin at its end, stdout and stderr read until both are closed. The worker
 * may die (PR_SET_PDEATHSIG), or stop listening without dying (`vzdump --stop` interrupts only the
 * worker: stdout reports POLLERR), or send SIGTERM to the group, with SIGKILL 5 s later.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "remember.h"
#include "scan.h"
#include "wire.h"

#define CONF_FILE "/etc/rebuildgate/hook.conf"
#define CONF_MAX 65536
#define GRACE_MS 800 /* for the inner hook to withdraw its ticket, within a second in all */

struct outer {
	bool gates; /* one of the phases whose failure means something: job-init, job-start,
		       backup-start */
	const char *phase;
	pid_t worker, inner;
	int link, signals;
	unsigned long long worker_ticks; /* the worker's start time */
	bool aborted;                    /* somebody wants us to end */
	long long end_ms;                /* monotonic: when the inner hook's time is over; 0 none */
};

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *fmt, ...)
{
	char line[512] = "rebuildgate: ";
	size_t used = strlen(line);
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line + used, sizeof(line) - used - 1, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	used = strlen(line);
	line[used++] = '\n';
	/* Nobody to tell when stdout is gone. */
	if (write(STDOUT_FILENO, line, used) < 0)
		return;
}

static long long now_ms(void)
{
	struct timespec ts = {0};

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (long long)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static ssize_t read_file(const char *path, char *ret, size_t size)
{
	/* Not blocking: a FIFO in a file's place must not stop a backup. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	ssize_t n, len = 0;

	if (fd < 0)
		return -1;
	while ((size_t)len < size - 1 && (n = read(fd, ret + len, size - 1 - (size_t)len)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			len = -1;
			break;
		}
		len += n;
	}
	close(fd);
	if (len >= 0)
		ret[len] = '\0';
	return len;
}

/* Field 22 of /proc/PID/stat (proc(5)); 0 where it cannot be read. */
static unsigned long long start_ticks(pid_t pid)
{
	unsigned long long ticks = 0;
	char path[40], text[1024];
	const char *at;
	int field;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	if (read_file(path, text, sizeof(text)) <= 0)
		return 0;
	at = strrchr(text, ')'); /* the name before it may hold anything */
	for (field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	for (at = at ? at + 1 : ""; *at >= '0' && *at <= '9'; at++)
		ticks = ticks * 10 + (unsigned long long)(*at - '0');
	return ticks;
}

/* What hook.conf says about a gate that is not there. */
static bool deny_without_gate(void)
{
	static char text[CONF_MAX];
	const char *file = getenv("REBUILDGATE_HOOK_CONF");
	ssize_t len = read_file(file ? file : CONF_FILE, text, sizeof(text));
	enum scan found = len > 0 ? scan_if_gate_down(text, (size_t)len) : SCAN_ABSENT;

	if (found == SCAN_ODD)
		say("WARNING: if_gate_down in %s is not understood, taken as allow",
			file ? file : CONF_FILE);
	return found == SCAN_DENY;
}

/* The inner hook is no use: `why` says what became of it. */
static int without_inner(const struct outer *outer, const char *why)
{
	if (!outer->gates)
		return 0;
	if (deny_without_gate()) {
		say("FAILED: %s in %s, and if_gate_down is deny", why, outer->phase);
		return HOOK_EXIT_FAIL;
	}
	say("WARNING: %s in %s: this backup goes on UNGATED (if_gate_down = allow)", why,
		outer->phase);
	return 0;
}

static int abort_status(const struct outer *outer)
{
	return outer->gates ? HOOK_EXIT_FAIL : 0;
}

static bool inner_path(char *ret, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", ret, size - 1);
	char *slash;

	if (len <= 0)
		return false;
	ret[len] = '\0';
	slash = strrchr(ret, '/');
	if (!slash || (size_t)(slash + 1 - ret) + sizeof(HOOK_INNER) > size)
		return false;
	memcpy(slash + 1, HOOK_INNER, sizeof(HOOK_INNER));
	return true;
}

/* In the child: becomes the inner hook, with our end of the link as HOOK_FD. Signals that end it
 * stay blocked until it listens to them: one that comes while its libraries are loaded must not
 * kill it before it has remembered the abort. */
static void __attribute__((noreturn))
become_inner(const char *path, char **argv, char **envp, int link, pid_t outer)
{
	char text[32];
	sigset_t child;
	int len;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != outer)
		_exit(HOOK_EXIT_FAIL);
	if (link == HOOK_FD)
		fcntl(link, F_SETFD, 0);
	else
		dup2(link, HOOK_FD);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_UNBLOCK, &child, NULL);
	execve(path, argv, envp);
	len = snprintf(text, sizeof(text), HOOK_EXEC, errno);
	if (write(HOOK_FD, text, (size_t)len) < 0)
		_exit(126);
	_exit(127);
}

static bool start_inner(struct outer *outer, char **argv, char **envp)
{
	char path[4096], hello[80];
	int pair[2], len;
	pid_t self = getpid();

	if (!inner_path(path, sizeof(path)) ||
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return false;
	len = snprintf(hello, sizeof(hello), HOOK_HELLO, (long)outer->worker, outer->worker_ticks);
	outer->link = pair[0];
	outer->inner = -1;
	if (write(pair[0], hello, (size_t)len) == len)
		outer->inner = fork();
	if (outer->inner == 0)
		become_inner(path, argv, envp, pair[1], self);
	close(pair[1]);
	return outer->inner > 0;
}

/* Somebody stopped this job. Remembered here and at once: the inner hook may be done already or
 * busy with a script, and vzdump, whose call of us has failed by now, starts its next guest
 * meanwhile. */
static void remember_abort(const struct outer *outer)
{
	const char *root = getenv("REBUILDGATE_HOOK_ROOT");
	char name[REMEMBER_NAME], boot_id[64];

	if (remember_name(outer->worker, (long long)outer->worker_ticks, name) &&
		read_file("/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id)) > 0)
		remember_put(root ? root : "", REMEMBER_ABORTED, name, boot_id);
}

/* Whether process `pid` is a child of `parent` by the name `name`: fields 2 and 4 of
 * /proc/PID/stat. A dead one that nobody reaped is one as well. */
static bool is_child(const char *pid, pid_t parent, const char *name)
{
	char path[300], text[1024], want[64];
	const char *start, *end;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	if (read_file(path, text, sizeof(text)) <= 0)
		return false;
	start = strchr(text, '(');
	end = strrchr(text, ')');
	if (!start || !end || strlen(end) < 5 || (size_t)(end - start - 1) != strlen(name) ||
		memcmp(start + 1, name, strlen(name)) != 0)
		return false;
	snprintf(want, sizeof(want), " %ld ", (long)parent);
	return strncmp(end + 3, want, strlen(want)) == 0; /* after ") S" */
}

/* Whether the worker has another child that is a hook: a call that a signal interrupted, which
 * vzdump has left alone, dead or alive (PVE/Cmd.pm run neither ends nor reaps it; in any other case
 * it reaps one before the next). So a signal that ended a hook before its main() is known too. */
static bool earlier_was_left(const struct outer *outer)
{
	char name[17] = "", self[24];
	const struct dirent *entry;
	bool found = false;
	DIR *proc;

	if (prctl(PR_GET_NAME, name) || !(proc = opendir("/proc")))
		return false;
	snprintf(self, sizeof(self), "%ld", (long)getpid());
	while (!found && (entry = readdir(proc)))
		found = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
			strcmp(entry->d_name, self) != 0 &&
			is_child(entry->d_name, outer->worker, name);
	closedir(proc);
	return found;
}

/* Passes the end on, once. */
static void end_inner(struct outer *outer)
{
	if (!outer->aborted)
		remember_abort(outer);
	kill(outer->inner, SIGTERM);
	if (!outer->aborted)
		outer->end_ms = now_ms() + GRACE_MS;
	outer->aborted = true;
}

/* Reads one signal; true when the inner hook is reaped. */
static bool take_signal(struct outer *outer, int *ret_status)
{
	struct signalfd_siginfo info;

	if (read(outer->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return false;
	if (info.ssi_signo == SIGCHLD)
		return waitpid(outer->inner, ret_status, WNOHANG) == outer->inner;
	end_inner(outer);
	return false;
}

/* Until the inner hook is reaped (true), or its time after a signal is over (false). */
static bool wait_inner(struct outer *outer, int *ret_status)
{
	struct pollfd fds[2] = {{.fd = outer->signals, .events = POLLIN}, {.fd = STDOUT_FILENO}};
	long long left;
	int n;

	for (;;) {
		left = outer->end_ms ? outer->end_ms - now_ms() : -1;
		if (outer->end_ms && left <= 0)
			return false;
		n = poll(fds, 2, (int)left);
		if (n < 0 && errno != EINTR)
			return false;
		if (n <= 0)
			continue;
		if (fds[0].revents && take_signal(outer, ret_status))
			return true;
		if (fds[1].revents) {
			fds[1].fd = -1;
			end_inner(outer);
		}
	}
}

/* A signal that came, or a reader that went, while the inner hook was ending. */
static void look_once_more(struct outer *outer)
{
	struct pollfd fds[2] = {{.fd = outer->signals, .events = POLLIN}, {.fd = STDOUT_FILENO}};
	struct signalfd_siginfo info;
	bool late = false;

	if (outer->aborted || poll(fds, 2, 0) <= 0)
		return;
	while (read(outer->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		late = late || info.ssi_signo != SIGCHLD;
	if (!late && !fds[1].revents)
		return;
	outer->aborted = true;
	remember_abort(outer);
}

/* What the ended inner hook means for vzdump. */
static int verdict(const struct outer *outer, int status)
{
	char said[64] = "", want[64], why[120];
	ssize_t n = recv(outer->link, said, sizeof(said) - 1, MSG_DONTWAIT);
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	said[n > 0 ? n : 0] = '\0';
	if (code == 0)
		return 0;
	snprintf(want, sizeof(want), HOOK_FAIL, code);
	if (code > 0 && strcmp(said, want) == 0)
		return code;
	if (strncmp(said, "exec ", 5) == 0)
		snprintf(why, sizeof(why), "%s cannot be started", HOOK_INNER);
	else if (code == 127)
		snprintf(why, sizeof(why), "%s does not start (exit status 127: a library?)",
			HOOK_INNER);
	else if (code >= 0)
		snprintf(why, sizeof(why), "%s ended with exit status %d", HOOK_INNER, code);
	else
		snprintf(why, sizeof(why), "%s was ended by signal %d", HOOK_INNER,
			WTERMSIG(status));
	return without_inner(outer, why);
}

static bool take_signals(struct outer *outer)
{
	sigset_t set;

	signal(SIGPIPE, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &set, NULL))
		return false;
	outer->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return outer->signals >= 0;
}

/* Descriptors 0 to 2 exist from here on, so that nothing else becomes one of them. */
static void have_standard_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_NOCTTY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static bool phase_gates(const char *phase)
{
	return strcmp(phase, "job-init") == 0 || strcmp(phase, "job-start") == 0 ||
		strcmp(phase, "backup-start") == 0;
}

/* Nobody's backup hangs on this: there is nothing to be decided of what becomes of it. */
static int put_back(char **argv, char **envp)
{
	char path[4096];

	if (inner_path(path, sizeof(path)))
		execve(path, argv, envp);
	say("%s cannot be started: %s", HOOK_INNER, strerror(errno));
	return HOOK_EXIT_FAIL;
}

int main(int argc, char **argv, char **envp)
{
	struct outer outer = {.worker = getppid(), .phase = argc > 1 ? argv[1] : ""};
	int status = 0;
	bool listens;

	if (strcmp(outer.phase, HOOK_PUT_BACK) == 0)
		return put_back(argv, envp);
	have_standard_fds();
	listens = take_signals(&outer); /* first: one that comes before is remembered by nobody */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	outer.gates = phase_gates(outer.phase);
	if (getppid() != outer.worker)
		return abort_status(&outer);
	outer.worker_ticks = start_ticks(outer.worker);
	if (outer.gates && earlier_was_left(&outer))
		remember_abort(&outer);
	if (!listens || !start_inner(&outer, argv, envp))
		return without_inner(&outer, HOOK_INNER " cannot be started");
	signal(SIGPIPE, SIG_IGN);
	if (!wait_inner(&outer, &status)) {
		kill(outer.inner, SIGKILL);
		return abort_status(&outer);
	}
	look_once_more(&outer);
	if (outer.aborted)
		return abort_status(&outer);
	return verdict(&outer, status);
}
