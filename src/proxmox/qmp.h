// SPDX-License-Identifier: MIT
/*
 * A guest's block jobs over QEMU's local control socket (/var/run/qemu-server/VMID.qmp).
 *
 * QEMU serves one client at a time there, and vzdump itself asks each second: every function below
 * connects, does what it must and disconnects, within `deadline_ms` in all (a second is plenty),
 * retrying while another client is served. Nothing here keeps a connection.
 *
 * A backup has one job for each disk, "drive-scsi0" and so on, in a transaction that runs them one
 * after another (pve-qemu pve-backup.c, job_txn_new_seq): those to come are `created`, those done
 * are `waiting` until the last one is. Only a job that is under way is paused or resumed; a speed
 * can be given before it starts, too.
 *
 * Failures: ERR_GONE (no socket, or QEMU is gone), ERR_TIMEOUT, ERR_PROTOCOL (no QMP), ERR_DENIED
 * (the socket may not be opened, or QEMU refuses a command: its own sentence is in the text),
 * ERR_SYS, ERR_NOMEM.
 */
#ifndef RG_PROXMOX_QMP_H
#define RG_PROXMOX_QMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define QMP_DIR "/var/run/qemu-server"
#define QMP_MAX_JOBS 64

struct qmp_job {
	char device[128]; /* the job's id: "drive-scsi0" */
	char status[24];  /* created, running, paused, ... */
	int64_t speed;    /* bytes/s; 0 unlimited */
	int64_t offset, len;
	bool paused; /* by a command or for a moment by QEMU itself; false for one only created */
};

/* What was done, and what is there after it. */
struct qmp_state {
	size_t n;
	struct qmp_job jobs[QMP_MAX_JOBS]; /* of type backup only */
};

/* Whether a job is under way: it can be paused, and what it has copied grows. */
bool qmp_job_active(const struct qmp_job *job);

/* What one job shall be. */
struct qmp_order {
	bool pause;
	int64_t speed; /* bytes/s; 0 unlimited */
};

/* Says what a listed job shall be; false leaves it alone. */
struct qmp_wants {
	bool (*want)(void *data, const struct qmp_job *job, struct qmp_order *ret);
	void *data;
};

/* Lists the backup jobs, brings each of them to what `wants` (NULL: only looks) says, and lists
 * them again, in one connection. Only what differs is sent. A job that ended meanwhile is no
 * failure. With ERR_DENIED *ret is what was read back; with another failure it is empty. */
bool qmp_bring(const char *socket, const struct qmp_wants *wants, int64_t deadline_ms,
	struct qmp_state *ret, struct err *err);

enum qmp_path { QMP_NONE = 0, QMP_LOOK, QMP_FREE, QMP_LIMIT, QMP_PAUSE };

/* As qmp_bring(), the same for all jobs: QMP_LOOK changes nothing, QMP_FREE resumes those paused
 * and sets their speed to `rate` (what it was before; 0 no limit), QMP_LIMIT resumes and sets
 * `rate` (> 0) bytes/s, QMP_PAUSE pauses. */
bool qmp_backup_jobs(const char *socket, enum qmp_path path, int64_t rate, int64_t deadline_ms,
	struct qmp_state *ret, struct err *err);

/* Whether the backup that runs puts guest writes into a fleecing image first: the block graph has a
 * snapshot-access node then, from which the job reads (pve-backup.c setup_snapshot_access), and
 * none otherwise. */
bool qmp_fleecing(const char *socket, int64_t deadline_ms, bool *ret, struct err *err);

#endif
