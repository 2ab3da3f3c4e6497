// SPDX-License-Identifier: MIT
/*
 * A look over SSH: one exec of one command on a session that is held open over many looks.
 *
 * Every look ends by its deadline (only name resolution may block past it) and every way in which
 * it can fail has its own sensor and sentence. A session that turns out to be gone before anything
 * came is replaced within the same look; one that stopped answering costs that look, and the next
 * one logs in anew.
 */
#ifndef RG_NAS_SSH_H
#define RG_NAS_SSH_H

#include <stdbool.h>
#include <stdint.h>

#include "nas/frame.h"
#include "nas/target.h"

/* The held session; all-zero is none. */
struct nas_ssh {
	struct ssh_session_struct *session;
};

/*
 * Looks until `deadline_ms` (boot time): logs in if no session is held, runs `command`, collects
 * its output in result->raw. `result` must be all-zero or cleared. SENSOR_OK: the command ended
 * with status 0, or (then result->partial with its sentence) mdstat came whole (look_has_mdstat()
 * in md/look.h) but the rest did not. The sensor is never SENSOR_NOT_UNDERSTOOD: what the text
 * means is for the reader of it.
 */
void nas_ssh_look(struct nas_ssh *link, const struct nas_target *target, const char *command,
	int64_t deadline_ms, struct probe_result *result);

/* What to poll for POLLIN between looks, -1 while no session is held; and what to call then: it
 * answers the server's keepalives and drops a session that the server has ended. */
int nas_ssh_fd(const struct nas_ssh *link);
void nas_ssh_tend(struct nas_ssh *link);

/* Ends the session. */
void nas_ssh_drop(struct nas_ssh *link);

#endif
