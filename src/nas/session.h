// SPDX-License-Identifier: MIT
/*
 * libssh as this program uses it: one session, never blocking, one absolute deadline for whatever
 * is done with it. For src/nas only (it includes libssh's header).
 *
 * libssh's blocking calls have no total bound, so every session is non-blocking and session_wait()
 * is the only place that waits. No configuration file, agent, certificate or identity but the
 * target's own key is ever used: an operator's
 * ~/.ssh must not change what the gate does.
 */
#ifndef RG_NAS_SESSION_H
#define RG_NAS_SESSION_H

#include <libssh/libssh.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nas/frame.h"
#include "nas/target.h"

#define KEY_PRINT_MAX 64 /* "SHA256:" and 43 characters */

/* Connects and exchanges keys; sends nothing about ourselves. `known_hosts` only makes the server
 * offer the kind of key that is recorded there. On success the caller frees *ret_ssh with
 * session_close(). */
bool session_open(const struct nas_target *target, const char *known_hosts, int64_t deadline_ms,
	ssh_session *ret_ssh, struct probe_result *result);

/* session_open(), the host key checked against target->known_hosts, and a login with
 * target->key_file. The key file is checked before anything leaves this machine, the host key
 * before the login. */
bool session_login(const struct nas_target *target, int64_t deadline_ms, ssh_session *ret_ssh,
	struct probe_result *result);

/* Waits until libssh can go on. False once the deadline has passed. */
bool session_wait(ssh_session ssh, int64_t deadline_ms);

/* Says good-bye without waiting and frees; NULL is allowed. */
void session_close(ssh_session ssh);

/* "SHA256:..." of a key, as ssh-keygen -l prints it; "" when it cannot be computed. */
void key_print(ssh_key key, char ret[KEY_PRINT_MAX]);

/* The same of the key that the server proved to have. */
void session_print(ssh_session ssh, char ret[KEY_PRINT_MAX]);

#endif
