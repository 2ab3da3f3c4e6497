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
#define PBS_MAX_NETWORKS 16
#define PBS_RATE_LEAST INT64_C(65536) /* bytes/s in a rest */
#define PBS_ACTS_MS INT64_C(5000)     /* a change acts within */

struct pbs_rule {
	char name[PBS_RULE_NAME_MAX];
	int64_t rate_in;  /* bytes/s; 0: none given (unlimited) */
	int64_t rate_out; /* as read; never written */
	size_t n_networks;
	char networks[PBS_MAX_NETWORKS][64];
	bool more_networks;       /* it had more than fit; as read */
	bool has_users;           /* a rule for users beats one for networks only */
	char timeframe[128];      /* the first; "" : always */
	char timeframe_next[128]; /* the second, what lies behind a midnight; "" : none */
	size_t n_timeframes;      /* as read; what is written are the two above */
	char comment[256];
	struct opt cur_rate_in, cur_rate_out; /* bytes/s now; from /admin/traffic-control only */
};

/* Calls. `ret` must be all zero or released; on failure it is empty. A name that cannot be one is
 * ERR_INVALID. */
bool pbs_rules_get(struct api_call *ret, struct err *err); /* /admin/traffic-control */
/* ERR_INVALID for a rate below PBS_RATE_LEAST (0 would mean unlimited), a name that is not 3..32 of
 * [A-Za-z0-9_][A-Za-z0-9._-]*, a network that is none, a comment with control characters. No
 * networks: all of both families. The burst is left to its default, the rate. */
bool pbs_rule_create(const struct pbs_rule *rule, struct api_call *ret, struct err *err);
/* Rate, networks, timeframes and comment at once; what the rule has of them no longer (a timeframe,
 * the comment) is deleted there. A rule that is not there: the server answers 400 with "no such
 * ...", which api_ok() makes ERR_NOTFOUND. */
bool pbs_rule_update(const struct pbs_rule *rule, struct api_call *ret, struct err *err);
bool pbs_rule_delete(const char *name, struct api_call *ret, struct err *err);
bool pbs_time_get(struct api_call *ret, struct err *err); /* /nodes/localhost/time: its zone */
/* `store` NULL: of all. The server's filter by store knows no reader tasks (check_job_store() in
 * src/api2/node/tasks.rs): who looks for restores passes NULL and compares pbs_task.store. Not
 * `running`: the newest 500. */
bool pbs_tasks_get(bool running, const char *store, struct api_call *ret, struct err *err);
/* A store's backups: the newest 500. */
bool pbs_backups_get(const char *store, struct api_call *ret, struct err *err);
/* Its lines are read as a cluster's (pve_log_read()). */
bool pbs_task_log_get(const char *upid, struct api_call *ret, struct err *err);
bool pbs_task_stop(const char *upid, struct api_call *ret, struct err *err);
bool pbs_gc_start(const char *store, struct api_call *ret, struct err *err);
bool pbs_verify_start(const char *store, struct api_call *ret, struct err *err); /* all of it */
bool pbs_verify_job_run(const char *id, struct api_call *ret, struct err *err);
bool pbs_groups_get(const char *store, const char *ns, struct api_call *ret, struct err *err);
bool pbs_namespaces_get(const char *store, struct api_call *ret, struct err *err);
/* The answer has those only that the token may see. */
bool pbs_datastores_get(struct api_call *ret, struct err *err);

/* Answers (the body of a success). `each` is called for each element, in order, before a later
 * element is looked at; a malformed answer is ERR_PROTOCOL and says what was wrong. */
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
/* What a UPID of PBS tells: UPID:node:pid:pstart:task_id:starttime:type:id:authid: with the id
 * escaped as systemd does (proxmox-schema/src/upid.rs). False if the text is none; then *ret is
 * untouched. `endtime_s` and `status` stay empty. */
bool pbs_upid_parse(const char *text, struct pbs_task *ret);
/* The guest that a task is about, by its id "STORE:[NAMESPACE:]vm/100[/TIME]"; 0 none. */
uint32_t pbs_task_guest(const struct pbs_task *task);

/* What a backup task's log tells, line by line: all zero before the first. Source: proxmox-backup
 * src/api2/backup/environment.rs log_upload_stat(), for each archive "Upload statistics for
 * 'drive-scsi0.img.fidx'", "Size: ...", "Chunk count: ...", then, unless it has no chunks, "Upload
 * size: 4194304 (12%)" (of the chunks that the client sent, before compression) and, unless that is
 * 0, "Compression: 52%" (of it). Pure. */
struct pbs_log_facts {
	int archives;
	int64_t upload; /* of the archive that is told of now; 0 none, or done */
	int64_t sum;
	bool odd; /* something is not as it should be */
};
void pbs_log_line(struct pbs_log_facts *facts, const char *line);
/* After the last line: bytes that the server wrote, within a percent; unknown unless each archive's
 * are. */
struct opt pbs_log_written(const struct pbs_log_facts *facts);

/* The UPID of a task that a call has started (garbage collection, verification). */
bool pbs_started_read(const char *body, size_t len, char ret[256], struct err *err);

struct pbs_group {
	char type[8]; /* vm, ct, host */
	char id[64];
	int64_t last_backup_s; /* UTC */
};
bool pbs_groups_read(const char *body, size_t len,
	void (*each)(void *data, const struct pbs_group *group), void *data, struct err *err);
bool pbs_namespaces_read(const char *body, size_t len, void (*each)(void *data, const char *ns),
	void *data, struct err *err);
bool pbs_datastores_read(const char *body, size_t len, void (*each)(void *data, const char *store),
	void *data, struct err *err);
/* The server's local time minus UTC, in seconds (from `time` and `localtime`). */
bool pbs_time_read(const char *body, size_t len, int64_t *ret_offset_s, struct err *err);

/* A timeframe of the server's calendar ("mon 22:10-23:50" of its local time) that contains `utc_s`
 * and ends `span_s` later (at least a minute, at most two hours; in whole minutes, not later). It
 * begins two minutes earlier, so that a clock of the server that is a little behind is within it.
 * Cut at the server's midnight into two. The calendar's hours end at 23 and its ends are exclusive
 * (proxmox-time parse_hm_time(), time_match()): no timeframe contains a day's last minute, so there
 * the rule rests for one. Pure. Writes at most two texts and returns how many. */
size_t pbs_timeframe(int64_t utc_s, int64_t offset_s, int64_t span_s, char ret[2][64]);

/* Whether `rule` takes connections away from one with `networks` (none: all): a user's rule that
 * meets them, a longer prefix within them, or the same prefix (then the server's choice is not
 * defined). Its timeframe is not looked at. Pure. */
bool pbs_rule_hides(const struct pbs_rule *rule, const char *const *networks, size_t n);

#endif
