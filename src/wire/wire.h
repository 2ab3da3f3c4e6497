// SPDX-License-Identifier: MIT
/*
 * The core's structs as JSON and back: for the API, the record, and replay.
 *
 * Writers return a new value that the caller owns, NULL without memory. Readers fill *ret whole
 * (what is absent is zero, empty or unknown), ignore members that they do not know, and refuse a
 * member that is missing where there is no sense without it, of the wrong type, out of range, or a
 * word that we do not have; *ret is undefined then. Member names are those of the structs and of
 * src/gate/API.md: points in time are boot ms (*_ms with `since`, `at` or `boot` in the name) or
 * UTC ms (*_utc_ms), spans ms, rates bytes/s, shares ppm. Unknown is null, or absent where the form
 * is for the record.
 */
#ifndef RG_WIRE_WIRE_H
#define RG_WIRE_WIRE_H

#include "base/json.h"
#include "core/decide.h"
#include "core/ticket.h"

/* All that decide() looks at. Facts are cut to the arrays that the mapping covers; deciding again
 * from what was read gives the same decision. */
json_t *wire_inputs(const struct inputs *in);
bool wire_inputs_read(const json_t *value, struct inputs *ret, struct err *err);

/* `client`, `phase`, `storage`, `node`, `guest`, `guest_type`, `mode`, `guests`, `n_qemu`,
 * `next_start_utc_ms`, `backup_age_ms`: as in POST /v1/ask. */
json_t *wire_request(const struct request *request);
bool wire_request_read(const json_t *value, struct request *ret, struct err *err);

/* {"nas","arrays"}. */
json_t *wire_mapping(const struct mapping *mapping);
bool wire_mapping_read(const json_t *value, struct mapping *ret, struct err *err);

/* Exact: points in time as boot ms; unknown numbers are absent. */
json_t *wire_facts(const struct nas_facts *facts);
bool wire_facts_read(const json_t *value, struct nas_facts *ret, struct err *err);

/* As GET /v1/status shows them: `age_ms`, `blind_ms`, `operation_ms`, `calm_ms` up to `now` in
 * place of points, unknown numbers as null. */
json_t *wire_facts_show(const struct nas_facts *facts, const struct moment *now);
json_t *wire_array_show(const struct array_facts *array, const struct moment *now);

json_t *wire_decision(const struct decision *decision);
bool wire_decision_read(const json_t *value, struct decision *ret, struct err *err);
/* [{"code","text"}] */
json_t *wire_reasons(const struct decision *decision);

/* `verdict`, `until_utc_ms` and `reason` must be there; id, created_utc_ms and by may be absent (a
 * new one). */
json_t *wire_override(const struct override *override);
bool wire_override_read(const json_t *value, struct override *ret, struct err *err);

/* {"pid","start_ticks","boot_id"} */
json_t *wire_worker(const struct worker *worker);
bool wire_worker_read(const json_t *value, struct worker *ret, struct err *err);

/* A ticket as the API shows it. */
json_t *wire_ticket(const struct ticket *ticket, const struct moment *now);

/* How long it was held in job-init up to `now` (or until it was let go or ended). */
int64_t ticket_held_ms(const struct ticket *ticket, const struct moment *now);

/* The whole ticket for the record. When it is read in another boot than the one that `boot_id`
 * named when it was written (or where either is not known), its points in time are moved by way of
 * UTC; within one boot they are kept. */
json_t *wire_ticket_state(
	const struct ticket *ticket, const struct moment *now, const char *boot_id);
bool wire_ticket_state_read(const json_t *value, const struct moment *now, const char *boot_id,
	struct ticket *ret, struct err *err);

#endif
