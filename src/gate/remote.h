// SPDX-License-Identifier: MIT
/*
 * The API servers that the gate knows (`pve`, `pbs` in its settings), and calls to them.
 *
 * What always holds: nothing blocks (but remote_call_now(), for the gate's end); each call has a
 * deadline; one call at a time to each server and one urgent one beside it, others wait in a short
 * queue; after a failure of the server (not of one call) a pause that doubles up to 5 min, and
 * after a refused token 15 min, unless a lever has to be put back. The token is read for each call
 * from its file, under the conditions of a private key's, and wiped. How a server is, is said once
 * for each change; its token never.
 */
#ifndef RG_GATE_REMOTE_H
#define RG_GATE_REMOTE_H

#include "base/err.h"
#include "base/json.h"
#include "conf/settings.h"
#include "proxmox/api.h"

struct gate;
struct remote;
struct remotes;

#define REMOTE_CALL_MS INT64_C(15000) /* a call's deadline */
#define REMOTE_URGENT_MS INT64_C(8000)

/* `gate->settings` may still be NULL: then there is none before remotes_settings(). */
bool remotes_open(struct gate *gate, struct remotes **ret, struct err *err);
/* After a reload: those whose settings are the same go on; what others were asked ends with
 * ERR_GONE
 * (`done` is called). */
void remotes_settings(struct remotes *remotes);
void remotes_close(struct remotes *remotes);

/* NULL where it is not configured. Not to be kept: a reload frees it. */
struct remote *remotes_find(struct remotes *remotes, enum api_kind kind, const char *name);
/* That at this address; also one that is configured no more, as long as a lever there is to be put
 * back (pbs_levers_owe()). Such a one is sent the token that it had, never what its token file
 * holds by now. */
struct remote *remotes_find_at(
	struct remotes *remotes, enum api_kind kind, const char *name, const char *url);
/* Frees those that are configured no more and no longer needed for that. */
void remotes_sweep(struct remotes *remotes);
const char *remote_name(const struct remote *remote);
/* Why it cannot be used, "" where it can or is not known yet. */
const char *remote_trouble(const struct remote *remote);

/* A success has `body` (valid during the call), a failure `err`. */
typedef void (*remote_done)(void *data, const char *body, size_t len, const struct err *err);

/* A call that is not urgent would be taken now: no pause, and room in the queue. */
bool remote_may_ask(const struct remote *remote);
/* Starts or queues a call; takes over what `call` owns, also on failure. `urgent`: goes first, and
 * no pause holds it (a lever is put back or set). ERR_BUSY: pausing, or the queue is full. `done`
 * is never called from within. */
bool remote_call(struct remote *remote, struct api_call *call, bool urgent, const char *what,
	remote_done done, void *data, struct err *err);
/* Drops what was started with `data`, without calling `done`. */
void remote_forget(struct remote *remote, const void *data);
/* The same at all servers. */
void remotes_forget(struct remotes *remotes, const void *data);

/* Makes the call now and waits for its end: for the gate's own end only. Takes over `call` as
 * above. `ret_body` (may be NULL) gets a success's body. */
bool remote_call_now(struct remote *remote, struct api_call *call, int64_t deadline_ms,
	const char *what, struct buf *ret_body, struct err *err);

/* How it is: [{"kind","name","url","ok","text","since_utc_ms"}] for status; `ok` is null while
 * nothing was asked; one that can be used may still have a text: what is wrong in its settings.
 * NULL without memory. */
json_t *remotes_show(const struct remotes *remotes);

#endif
