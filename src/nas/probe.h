// SPDX-License-Identifier: MIT
/*
 * The probe: one child process for each NAS, which looks when it is told to.
 *
 * A child of its own, because looking can hang beyond all help (name resolution, a local /proc read
 * behind a stuck lock) and because SSH libraries have holes: a crash is the fact SENSOR_FAULT,
 * never a dead gate. It holds the SSH session open over many looks. Parent and child share one
 * socket: the parent sends PROBE_ASK, the child answers one frame (nas/frame.h). The child ends
 * when the socket's other end is closed, and is killed by the kernel when its parent dies.
 *
 * What the parent owes:
 * - A deadline of its own, a second past the target's. When it has passed: probe_kill(), count the
 * look as SENSOR_DEADLINE (or SENSOR_SILENT over SSH), and start a new child for the next look.
 * - Reaping. A child in uninterruptible sleep does not die of SIGKILL until the kernel lets it go:
 * never wait for it. probe_kill() closes the socket and gives the process up; it is reaped by
 * probe_reap() or by whoever gets SIGCHLD, whenever that may be. Do not start children without
 * bound while given-up ones live: back off (up to 5 min).
 * - Patience. After a sensor for which sensor_needs_patience() is true, the next look is after 15
 * min, then hourly, or when an operator asks (`rebuildgate nas look`): some NAS ban an address
 * after a few failed logins, and neither a refused key nor a changed host key heals by itself.
 * - After result.partial a process may be left hanging on the NAS: look less often while that goes
 * on.
 */
#ifndef RG_NAS_PROBE_H
#define RG_NAS_PROBE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "nas/frame.h"
#include "nas/target.h"

#define PROBE_ASK 'L'

struct probe {
	pid_t pid; /* 0 when there is no child left to reap */
	int fd;    /* poll it for POLLIN; -1 when there is no child to talk to */
	bool asked;
	struct frame_reader reader;
};

#define PROBE_NONE ((struct probe){.fd = -1})

/*
 * The child's whole life: answers each PROBE_ASK that comes from `in_fd` with one frame on `out_fd`
 * (they may be the same socket), until `in_fd` ends. Returns the exit status: 0 after the end of
 * `in_fd`, 1 when the parent cannot be talked to.
 */
int probe_main(const struct nas_target *target, int in_fd, int out_fd);

/* Starts argv[0] (a path; argv ends with NULL) with our end of a socket as its stdin and stdout,
 * our stderr, no other file, default signals and none blocked. `probe` must be PROBE_NONE or
 * killed; probe->pid and ->fd are set. */
bool probe_spawn(struct probe *probe, const char *const argv[], struct err *err);

/* Asks for one look. ERR_BUSY while one is under way, ERR_GONE without a child. Does not block. */
bool probe_ask(struct probe *probe, struct err *err);

/* To be called when probe->fd is readable; reads what is there without blocking. 0: not whole yet.
 * 1: *ret is the answer to the look that was asked for (release it with probe_result_release()).
 * -1: the child has ended or does not keep to the frame, `err` says which: the caller kills it and
 * counts the look as SENSOR_FAULT. `ret` must be all-zero or cleared. */
int probe_feed(struct probe *probe, struct probe_result *ret, struct err *err);

/* Kills the child, closes the socket, forgets a look under way. Does not wait: probe->pid stays
 * until it is reaped. */
void probe_kill(struct probe *probe);

/* True when no child is left (then probe->pid is 0): reaps without waiting. */
bool probe_reap(struct probe *probe);

/* Whether looking again soon would do harm; see above. */
bool sensor_needs_patience(enum nas_sensor sensor);

#endif
