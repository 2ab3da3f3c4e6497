// SPDX-License-Identifier: MIT
/*
 * A guest's block jobs over QEMU's local control socket (/var/run/qemu-server/VMID.qmp).
 *
 * QEMU serves one client at a time there, and vzdump itself asks each second: every function below
 * connects, does what it must and disconnects, within `deadline_ms` in all (a second is plenty),
 * retrying while another client is served. Nothing here keeps a connection.
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
	bool paused;
};

/* What was done, and what is there after it. */
struct qmp_state {
	size_t n;
	struct qmp_job jobs[QMP_MAX_JOBS]; /* of type backup only */
};

enum qmp_path { QMP_NONE = 0, QMP_LOOK, QMP_FREE, QMP_LIMIT, QMP_PAUSE };

/* Lists the backup jobs, and unless QMP_LOOK brings each of them to `path` in one connection:
 * QMP_FREE resumes those paused and sets their speed to `rate` (what it was before us; 0 no limit),
 * QMP_LIMIT resumes and sets `rate` (> 0) bytes/s, QMP_PAUSE pauses. A job that ended meanwhile is
 * no failure. `ret` is read back afterwards. ERR_GONE: no socket, or QEMU is gone; ERR_TIMEOUT;
 * ERR_PROTOCOL; ERR_DENIED. */
bool qmp_backup_jobs(const char *socket, enum qmp_path path, int64_t rate, int64_t deadline_ms,
	struct qmp_state *ret, struct err *err);

#endif
