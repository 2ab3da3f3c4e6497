// SPDX-License-Identifier: MIT
/* Inside src/proxmox: how a call is put together, and how an answer is opened. */
#ifndef RG_PROXMOX_FORM_H
#define RG_PROXMOX_FORM_H

#include "base/json.h"
#include "proxmox/api.h"

/* Appends `text` with everything but RFC 3986's unreserved characters, and what `keep` lists, as
 * %XX. */
void form_encode(struct buf *buf, const char *text, const char *keep);

/* A call is begun, gets its parts in order (segments, then query, then fields) and is ended; only
 * the end can fail. */
void form_begin(struct api_call *call, const char *method, const char *path);
void form_segment(struct api_call *call, const char *text); /* "/" and the text, encoded */
void form_query(struct api_call *call, const char *name, const char *value);
void form_query_int(struct api_call *call, const char *name, int64_t value);
void form_field(struct api_call *call, const char *name, const char *value);
bool form_end(struct api_call *call, struct err *err);

/* Whether a name may stand in a path: not empty, no '/', no control characters, no "." or "..".
 * `what` is for the sentence. */
bool form_name_ok(const char *text, const char *what, struct err *err);

/* An answer's `data`, which must be a list, or an object; NULL on failure (ERR_PROTOCOL, with
 * `what` before the reason). *ret_root owns it: json_decref(). */
const json_t *answer_list(
	const char *body, size_t len, const char *what, json_t **ret_root, struct err *err);
const json_t *answer_object(
	const char *body, size_t len, const char *what, json_t **ret_root, struct err *err);
const json_t *answer_data(
	const char *body, size_t len, const char *what, json_t **ret_root, struct err *err);

/* Makes a reader's failure ERR_PROTOCOL and names the element: "WHAT, element N: ...". */
bool answer_bad(const char *what, size_t element, struct err *err);

/* A whole number, or decimal digits as a text: Perl's JSON writes both. Absent or null leaves *ret
 * as it was. */
bool answer_may_number(
	const json_t *object, const char *name, int64_t max, int64_t *ret, struct err *err);
bool answer_get_number(
	const json_t *object, const char *name, int64_t max, int64_t *ret, struct err *err);

/* As json_may_copy(), but a text that does not fit is cut (within UTF-8) instead of refused: for
 * words of people. Control characters become blanks. */
bool answer_may_words(
	const json_t *object, const char *name, char *ret, size_t size, struct err *err);

/* true, false, 1, 0, "1", "0". */
bool answer_may_flag(const json_t *object, const char *name, bool *ret, struct err *err);

#endif
