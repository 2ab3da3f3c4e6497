// SPDX-License-Identifier: MIT
/*
 * What the APIs of Proxmox VE and Proxmox Backup Server have in common: a token, a request to be
 * made, an error to be understood. Nothing here does I/O but api_token_read(): requests are built
 * for src/http, answers are taken apart.
 *
 * Facts: PVE answers {"data": ...} and errors as {"message", "errors"}; PBS answers {"data": ...}
 * and errors as plain text. The token's header differs: see api_authorization().
 */
#ifndef RG_PROXMOX_API_H
#define RG_PROXMOX_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum api_kind { API_NONE = 0, API_PVE, API_PBS };

/* One call: what to ask of a server. */
struct api_call {
	const char *method; /* "GET", "POST", "PUT", "DELETE" */
	struct buf path;    /* "/api2/json/..." with its query, encoded; owned */
	struct buf body;    /* application/x-www-form-urlencoded; empty: none; owned */
};
void api_call_release(struct api_call *call);

/* The Authorization header's value for the token text as Proxmox shows it: "user@realm!id=SECRET"
 * (PVE) or "user@realm!id:SECRET" (PBS); both separators are taken for both, and a line's end after
 * it. Appended to `ret`, encoded as the server decodes it (PVE the whole value, PBS the secret);
 * the caller wipes it. ERR_INVALID with what is wrong (never the text itself). */
bool api_authorization(enum api_kind kind, const char *token, struct buf *ret, struct err *err);

/* Whether the status is a success (2xx); else the failure as one sentence, with the server's words
 * on one line, cut at 200 bytes, without control characters: ERR_DENIED for 401, 403 and the 400
 * that PBS answers where a handler itself checks (with the privilege and its path, where the server
 * names them), ERR_NOTFOUND for 404 and a 400 of "no such ...", ERR_BUSY for 502 to 504 and 595 to
 * 599 (the node asked cannot reach the one that it is about), ERR_PROTOCOL for the rest. `what` is
 * the call for people ("list the traffic-control rules"). */
bool api_ok(enum api_kind kind, long status, const char *body, size_t len, const char *what,
	struct err *err);

#endif
