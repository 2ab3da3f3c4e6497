// SPDX-License-Identifier: MIT
/*
 * Proxmox Backup Server: calls that the gate makes, and their answers. No I/O here.
 *
 * Sources: pbs-api-types/src/traffic_control.rs, src/api2/config/traffic_control.rs,
 * src/traffic_control_cache.rs, src/api2/node/tasks.rs. In: client to server. A rate of 0 means
 * unlimited there, so it is never sent. A change acts on running connections within 5 s. `rate-out`
 * is never set: it would slow restores.
 */
#ifndef RG_PROXMOX_PBS_H
#define RG_PROXMOX_PBS_H

#include "base/moment.h"
#include "proxmox/api.h"

#define PBS_RULE_NAME_MAX 33 /* with the NUL; 3..32 of a safe id */
#define PBS_MAX_NETWORKS 8
#define PBS_RATE_LEAST INT64_C(65536) /* bytes/s in a rest */
#define PBS_ACTS_MS INT64_C(5000)     /* a change acts within */

struct pbs_rule {
	char name[PBS_RULE_NAME_MAX];
	int64_t rate_in;  /* bytes/s; 0: none given (unlimited) */
	int64_t rate_out; /* as read; never written */
	size_t n_networks;
	char networks[PBS_MAX_NETWORKS][64];
	bool has_users;      /* a rule for users beats one for networks only */
	char timeframe[128]; /* the first; "" : always */
	size_t n_timeframes;
	char comment[256];
	struct opt cur_rate_in, cur_rate_out; /* bytes/s now; from /admin/traffic-control only */
};

/* Calls. `ret` must be all zero or released. */
bool pbs_rules_get(struct api_call *ret, struct err *err); /* /admin/traffic-control */
bool pbs_rule_create(const struct pbs_rule *rule, struct api_call *ret, struct err *err);
bool pbs_rule_update(const struct pbs_rule *rule, struct api_call *ret, struct err *err);
bool pbs_rule_delete(const char *name, struct api_call *ret, struct err *err);
bool pbs_time_get(struct api_call *ret, struct err *err); /* /nodes/localhost/time: its zone */
bool pbs_tasks_get(bool running, const char *store, struct api_call *ret, struct err *err);
bool pbs_task_stop(const char *upid, struct api_call *ret, struct err *err);
bool pbs_gc_start(const char *store, struct api_call *ret, struct err *err);
bool pbs_verify_start(const char *store, struct api_call *ret, struct err *err);
bool pbs_verify_job_run(const char *id, struct api_call *ret, struct err *err);
bool pbs_groups_get(const char *store, const char *ns, struct api_call *ret, struct err *err);
bool pbs_namespaces_get(const char *store, struct api_call *ret, struct err *err);

/* Answers (the body of a success). `each` is called for each element; a malformed answer is
 * ERR_PROTOCOL and says what was wrong. */
bool pbs_rules_read(const char *body, size_t len,
	void (*each)(void *data, const struct pbs_rule *rule), void *data, struct err *err);

enum pbs_worker {
	PBS_WORKER_NONE = 0,
	PBS_WORKER_BACKUP,
	PBS_WORKER_READER, /* a restore, or a remote's pull: reads */
	PBS_WORKER_GC,
	PBS_WORKER_VERIFY,
	PBS_WORKER_PRUNE,
	PBS_WORKER_SYNC,
	PBS_WORKER_TAPE,
	PBS_WORKER_OTHER,
};
const char *pbs_worker_word(enum pbs_worker worker);

struct pbs_task {
	char upid[256];
	enum pbs_worker worker;
	char type[64]; /* worker_type as the server says it */
	char id[128];  /* worker_id, unescaped: "store:vm/100", "store", "store:job" */
	char store[128];
	char user[128];
	int64_t starttime_s;
	struct opt endtime_s;
	char status[128]; /* "" while it runs; "OK", ... */
};
bool pbs_tasks_read(const char *body, size_t len,
	void (*each)(void *data, const struct pbs_task *task), void *data, struct err *err);

struct pbs_group {
	char type[8]; /* vm, ct, host */
	char id[64];
	int64_t last_backup_s; /* UTC */
};
bool pbs_groups_read(const char *body, size_t len,
	void (*each)(void *data, const struct pbs_group *group), void *data, struct err *err);
bool pbs_namespaces_read(const char *body, size_t len, void (*each)(void *data, const char *ns),
	void *data, struct err *err);
/* The server's local time minus UTC, in seconds (from `time` and `localtime`). */
bool pbs_time_read(const char *body, size_t len, int64_t *ret_offset_s, struct err *err);

/* A timeframe of the server's calendar ("mon 22:10-23:50" of its local time) that contains `utc_s`
 * and ends `span_s` later (at most two hours; cut at its midnight into two). Pure. Writes at most
 * two texts and returns how many. */
size_t pbs_timeframe(int64_t utc_s, int64_t offset_s, int64_t span_s, char ret[2][64]);

/* Whether `rule` takes connections away from one with `networks` (a user's rule, or a longer
 * prefix within them): then ours is hidden for them. Pure. */
bool pbs_rule_hides(const struct pbs_rule *rule, const char *const *networks, size_t n);

#endif
