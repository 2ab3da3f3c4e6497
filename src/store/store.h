// SPDX-License-Identifier: MIT
/*
 * The record: what was decided, from what, and what became of each job; in SQLite.
 *
 * One process writes (the daemon: the spill's file lock sees to it), any number read. A step of the
 * daemon is one batch: store_begin(), any number of puts and adds, store_commit(). Nothing of a
 * batch is in the record before the commit, all of it is afterwards, and only then may an answer
 * leave. Where the database cannot be written, the batch goes to the spill, a file that was
 * allocated at the start, and from there into the database later, in order and exactly once. Ids
 * are given at the add, continue from the last known one, are never given twice and stay true when
 * a batch passes through the spill; an id that is missing in the record belongs to a batch that was
 * lost (it is in the journal).
 *
 * Decisions only grow and are chained: each row holds the hash of the one before it. Points in time
 * are UTC ms, spans ms. Functions that read work on both kinds of handle; those that write need the
 * writer's. Strings in rows given to a callback live until it returns.
 */
#ifndef RG_STORE_STORE_H
#define RG_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "core/ticket.h"

#define STORE_DEFAULT_PATH "/var/lib/rebuildgate/rebuildgate.db"
#define STORE_HASH_TEXT 65          /* SHA-256 in hex, with the NUL */
#define STORE_PAGE_MAX 500          /* rows of one page */
#define STORE_SPILL_BYTES (8 << 20) /* default size of the spill */

struct store;

struct store_options {
	const char *path;    /* of the database */
	const char *spill;   /* of the spill; NULL or "": PATH-spill */
	size_t spill_bytes;  /* 0: STORE_SPILL_BYTES */
	int busy_ms;         /* how long another writer is waited for; 0: 2 s */
	const char *boot_id; /* /proc/sys/kernel/random/boot_id; "" or NULL: not known */
};

/* Opens for writing; makes the file (0600), migrates, checks, and takes in what the spill holds.
 * False for what a person must put right before the daemon may run: another daemon has it
 * (ERR_BUSY), a newer schema or somebody else's file (ERR_INVALID), no memory. True with a store
 * that only spills where the database cannot be used now (full, unwritable, locked, corrupt): see
 * store_health(). */
bool store_open(const struct store_options *options, struct store **ret, struct err *err);

/* Opens for reading only, also while the daemon writes. */
bool store_open_reader(const char *path, struct store **ret, struct err *err);

/* Closes; a batch that was not committed is dropped. NULL is allowed. */
void store_close(struct store *store);

struct store_health {
	bool ok;          /* the database takes batches */
	int64_t spilled;  /* batches that wait in the spill */
	int64_t lost;     /* batches that neither took since the start */
	struct err why;   /* while not ok; ERR_NONE otherwise */
	struct err spill; /* why there is no spill; ERR_NONE otherwise */
};
void store_health(const struct store *store, struct store_health *ret);

/* Tries to make a store that is not ok work again and takes in some of what was spilled; does
 * nothing if nothing is wrong. Call every few seconds. True if all is well afterwards; false with
 * the reason otherwise, also while the spill is not empty yet. Blocks for 0.2 s at most. */
bool store_heal(struct store *store, struct err *err);

/* ---- A batch ---- */

void store_begin(struct store *store);

enum store_where {
	STORE_NONE = 0,
	STORE_RECORDED, /* in the database, on disk */
	STORE_SPILLED,  /* in the spill, on disk; err says why not in the database */
	STORE_LOST,     /* nowhere: write the journal (store_lost_each) */
};
enum store_where store_commit(struct store *store, struct err *err);

/* Drops what was put since store_begin(). */
void store_rollback(struct store *store);

/* After STORE_LOST, until the next store_begin(): each row of the batch as a line of JSON. */
void store_lost_each(struct store *store, void (*line)(void *data, const char *json), void *data);

/* The functions below put a row into the batch. They copy what they are given. Where memory runs
 * out the batch as a whole fails at its commit (STORE_LOST). */

struct store_decision {
	const struct inputs *inputs; /* its now.utc_ms is the row's time */
	const struct decision *decision;
	int64_t ticket; /* 0 = none */
	int64_t held_ms;
	const char *policy_hash;   /* of store_add_policy() */
	const char *upid, *job_id; /* may be NULL or "" */
};
/* Returns the decision's id; 0 where no id can be promised (the database could not be read since
 * the start and the spill is new: the row gets its id when it is taken in). */
int64_t store_add_decision(struct store *store, const struct store_decision *row);

/* Stores a policy's text once; ret_hash (its SHA-256) is filled in always. */
void store_add_policy(
	struct store *store, const char *text, int64_t utc_ms, char ret_hash[STORE_HASH_TEXT]);

/* The ticket as it is now: columns, and the whole for store_tickets_live(). If `before` is not its
 * state now or `why` is not empty, an event is recorded as well. */
void store_put_ticket(struct store *store, const struct ticket *ticket, const struct moment *now,
	enum ticket_state before, const char *why);

/* What became of a guest in a job; a second put of the same ticket and guest replaces what is known
 * (NULL and 0 leave what was there). */
struct store_guest {
	int64_t ticket;
	uint32_t guest;
	const char *guest_type, *mode, *hostname, *target; /* may be NULL */
	const char *outcome;                /* "running", "done", "failed", "aborted" */
	int64_t began_utc_ms, ended_utc_ms; /* 0 = not known */
};
void store_put_guest(struct store *store, const struct store_guest *guest);

/* A new override; its id is set. ERR_INVALID without a verdict, reason, `by`, or an end after its
 * beginning. In force for store_overrides() once committed. */
bool store_override_add(struct store *store, struct override *override, struct err *err);
/* ERR_NOTFOUND unless it is in force. */
bool store_override_cancel(
	struct store *store, int64_t id, const char *by, int64_t utc_ms, struct err *err);

/* The facts of a reading. Thinned here: kept when something that a policy may ask for by word has
 * changed (sensor, an array's operation, sync state or health, missing disks), else every 5 min. */
void store_add_reading(
	struct store *store, const struct nas_facts *facts, const struct moment *now);

/* What the tracker must remember of a NAS over a restart: an opaque text. */
void store_put_memory(struct store *store, const char *nas, const char *text, int64_t utc_ms);

/* A lever that is about to be moved (written before it is), or was put back. */
struct store_lever {
	int64_t utc_ms, ticket; /* ticket 0: not for one */
	const char *lever;      /* kind: "block-jobs", "traffic-control", "sync-speed", "check" */
	const char *target;     /* what it is set on: "pve1/101", "pbs1", "nas1/md2" */
	const char *before, *after; /* values as text; `before` is what it was when untouched */
	const char *why;            /* one sentence, or NULL */
	bool put_back;              /* it is as it was before us */
};
void store_add_lever(struct store *store, const struct store_lever *action);

/* The levers whose last action did not put them back, oldest first; what waits in the spill
 * counts. The texts are valid during the call of `each` only. */
bool store_levers_moved(struct store *store,
	void (*each)(void *data, const struct store_lever *action), void *data, struct err *err);
/* The last actions, newest first. */
bool store_lever_actions(struct store *store, size_t limit,
	void (*each)(void *data, const struct store_lever *action), void *data, struct err *err);

/* ---- Reading ---- */

/* When each guest's last good backup onto each storage ended, by the tickets that the database
 * holds. */
bool store_backups(struct store *store,
	void (*each)(void *data, const char *storage, uint32_t guest, int64_t ended_utc_ms),
	void *data, struct err *err);

/* The id for the first new ticket after a restart. */
int64_t store_next_ticket(const struct store *store);

/* Each live ticket in the order of asking, its points in time turned into those of this boot. What
 * waits in the spill counts. A ticket that cannot be read is skipped and counted. */
bool store_tickets_live(struct store *store, const struct moment *now,
	void (*each)(void *data, const struct ticket *ticket), void *data, size_t *ret_unreadable,
	struct err *err);
/* The tickets that ended last, newest first. */
bool store_tickets_ended(struct store *store, const struct moment *now, size_t limit,
	void (*each)(void *data, const struct ticket *ticket), void *data, struct err *err);

/* Those in force at `utc_ms`, newest last; from memory. Returns how many were written. */
size_t store_overrides(const struct store *store, int64_t utc_ms, struct override *ret, size_t max);

struct store_override {
	struct override override;
	int64_t cancelled_utc_ms; /* 0 = not cancelled */
	char cancelled_by[64];
};
/* All of them, newest first, also those of the past. */
bool store_overrides_all(struct store *store, size_t limit,
	void (*each)(void *data, const struct store_override *override), void *data,
	struct err *err);

/* Appends the text to `ret`; ERR_NOTFOUND if there is none. */
bool store_memory(struct store *store, const char *nas, struct buf *ret, struct err *err);
bool store_policy_text(struct store *store, const char *hash, struct buf *ret, struct err *err);

/* A decision as it was recorded. Texts are never NULL: "" where there is nothing. */
struct store_row {
	int64_t id, time_utc_ms, ticket, guest, held_ms, override_id;
	int step;
	const char *client, *phase, *storage, *node, *nas, *array, *mode;
	const char *verdict, *would_be, *act, *rule, *upid, *job_id;
	const char *override_by, *override_reason;
	const char *reasons; /* JSON: [{"code","text"}] */
	const char *policy_hash, *hash;
	const char *inputs;   /* JSON for wire_inputs_read(); "" in store_log() */
	const char *decision; /* JSON of wire_decision(); "" in store_log() */
};
/* Returns false to stop. */
typedef bool (*store_row_fn)(void *data, const struct store_row *row);

struct store_filter {
	struct opt since_utc_ms, until_utc_ms;   /* until is exclusive */
	const char *storage, *nas, *node, *rule; /* NULL or "": any */
	enum verdict verdict;                    /* 0: any */
	int64_t guest, ticket, decision;         /* 0: any */
	int64_t before;                          /* ids smaller than; 0: from the newest */
	struct opt after;                        /* ids greater than: then ascending */
	size_t limit;                            /* 0 or more than STORE_PAGE_MAX: that */
};
/* One page. *ret_next is where the next one goes on (`before`, or `after` when ascending), 0 at the
 * end. The page ends early when `budget_ms` is used up, with *ret_next set. */
bool store_log(struct store *store, const struct store_filter *filter, int64_t budget_ms,
	store_row_fn each, void *data, int64_t *ret_next, struct err *err);

/* One decision whole; ERR_NOTFOUND if there is none. */
bool store_decision(
	struct store *store, int64_t id, store_row_fn each, void *data, struct err *err);

/* All decisions after `after`, ascending, whole, streamed; no budget: for the CLI. */
bool store_walk(struct store *store, int64_t after, store_row_fn each, void *data, struct err *err);

/* The row as the API's log shows it. NULL without memory. */
json_t *store_row_json(const struct store_row *row);

/* One page as GET /v1/log answers: {"decisions","next"}. */
bool store_log_json(struct store *store, const struct store_filter *filter, int64_t budget_ms,
	json_t **ret, struct err *err);

/* One decision as GET /v1/decisions/ID answers: the row, "inputs", "decision", "hash",
 * "policy_text" (null where it is missing), "released_by" and "release_reason" of its ticket.
 * ERR_NOTFOUND if there is none. */
bool store_decision_json(struct store *store, int64_t id, json_t **ret, struct err *err);

/* Counts of whole UTC hours from `since` to `until` (both widened to full hours):
 * {"since_utc_ms","until_utc_ms","decisions","verdicts":{},"rules":{},"nas":{},"storages":{},
 * "holds","held_ms","longest_ms"}. From tallies: its cost does not grow with the decisions. */
bool store_stats(struct store *store, int64_t since_utc_ms, int64_t until_utc_ms, json_t **ret,
	struct err *err);

/* ---- The chain ---- */

struct store_head {
	int64_t id; /* 0 = no decision yet */
	char hash[STORE_HASH_TEXT];
};
/* The last decision in the database; for the journal. */
void store_head(const struct store *store, struct store_head *ret);

enum store_fault {
	STORE_FAULT_NONE = 0,
	STORE_FAULT_ROW,     /* a row is not what was written */
	STORE_FAULT_LINK,    /* a row does not follow the one before it: one is missing or moved */
	STORE_FAULT_SEGMENT, /* a closed segment was changed, or its end is not met */
	STORE_FAULT_POLICY,  /* a policy's text is missing or is not the one decided by */
	STORE_FAULT_HEAD,    /* the anchored head is nowhere in the chain */
	STORE_FAULT_FILE,    /* SQLite's own integrity check */
};
const char *store_fault_word(enum store_fault fault); /* "row", "link", ... */

struct store_finding {
	enum store_fault fault;
	int64_t id; /* of the decision or segment; 0 = none */
	char text[300];
};
struct store_report {
	int64_t decisions, segments, pruned, policies; /* `pruned`: rows of closed segments */
	int64_t unused; /* ids between the first and the last that no row has */
	int64_t faults; /* all of them */
	struct store_head head;
	int64_t anchor_id; /* of the row whose hash the anchor is; 0 = none given or not found */
	size_t n_findings;
	struct store_finding findings[32]; /* the first ones */
};
/* Verifies everything in one snapshot. `anchor` may be NULL: a head that was kept elsewhere, in
 * hex. `progress` may be NULL: called now and then; returns false to stop (ERR_TIMEOUT). False only
 * where it could not be verified; what was found stands in the report. */
bool store_verify(struct store *store, const char *anchor,
	bool (*progress)(void *data, int64_t done, int64_t total), void *data,
	struct store_report *ret, struct err *err);

/* One small step of retention: closes a segment of decisions older than `before_utc_ms`, or deletes
 * up to `max_rows` rows of closed segments, ended tickets and readings. Call again while *ret_more.
 * Not inside a batch. */
bool store_retain(struct store *store, int64_t before_utc_ms, int64_t now_utc_ms, size_t max_rows,
	bool *ret_more, struct err *err);

/* SHA-256 of `len` bytes in hex. False without memory. */
bool store_sha256(const void *data, size_t len, char ret_hex[STORE_HASH_TEXT]);

#endif
