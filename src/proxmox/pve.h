// SPDX-License-Identifier: MIT
/*
 * Proxmox VE: calls that the gate makes with a read-only token, and their answers. No I/O here.
 *
 * Sources: PVE/API2/Tasks.pm, PVE/API2/Cluster.pm, PVE/API2/Backup.pm, PVE/API2/Storage/Content.pm.
 * Privileges: Sys.Audit on / (tasks, jobs); Datastore.AllocateSpace on the storage and VM.Backup on
 * the guests for the content; Sys.Modify on /nodes/NODE only for stopping a job.
 */
#ifndef RG_PROXMOX_PVE_H
#define RG_PROXMOX_PVE_H

#include "base/moment.h"
#include "proxmox/api.h"
#include "proxmox/upid.h"

/* Calls. `ret` must be all zero or released; on failure it is empty. A name that cannot be one is
 * ERR_INVALID. */
bool pve_cluster_tasks_get(struct api_call *ret, struct err *err); /* /cluster/tasks */
bool pve_node_tasks_get(const char *node, struct api_call *ret, struct err *err); /* active */
bool pve_task_status_get(const char *node, const char *upid, struct api_call *ret, struct err *err);
bool pve_task_log_get(const char *node, const char *upid, int64_t start, int64_t limit,
	struct api_call *ret, struct err *err);
bool pve_task_stop(const char *node, const char *upid, struct api_call *ret, struct err *err);
bool pve_included_volumes_get(const char *job, struct api_call *ret, struct err *err);
bool pve_jobs_get(struct api_call *ret, struct err *err); /* /cluster/backup */
bool pve_content_get(const char *node, const char *storage, struct api_call *ret, struct err *err);
bool pve_guests_get(struct api_call *ret, struct err *err); /* /cluster/resources?type=vm */

/* Answers (the body of a success): `each` for each element, in order; malformed is ERR_PROTOCOL.
 * Tasks with an id that is no UPID of a kind that we know (longer than UPID_MAX) are left out. */
struct pve_task {
	char upid[UPID_MAX];
	struct upid parts;
	char user[128];
	bool running;
	char status[128];  /* "" while it runs */
	int64_t endtime_s; /* 0 while it runs */
};
bool pve_tasks_read(const char *body, size_t len,
	void (*each)(void *data, const struct pve_task *task), void *data, struct err *err);

/* /nodes/NODE/tasks/UPID/status; `ret_status` is "" while it runs. */
bool pve_task_status_read(
	const char *body, size_t len, bool *ret_running, char ret_status[128], struct err *err);

/* Whether a finished task's status is a success: "OK", or "WARNINGS: n". */
bool pve_status_ok(const char *status);

/* Lines of a task's log, in order; `n` counts from 1. */
bool pve_log_read(const char *body, size_t len,
	void (*each)(void *data, int64_t n, const char *line), void *data, struct err *err);

/* What a vzdump or restore task's log tells, line by line: all zero before the first line. Sources
 * of the lines: PVE/VZDump.pm exec_backup_task ("starting new backup job: vzdump 100 --storage S",
 * "Starting Backup of VM 100 (qemu)", "Finished Backup of VM 100 (00:01:23)", "Backup of VM 100
 * failed - ..."), PVE/QemuServer.pm restore_vma_archive ("restore vma archive: zstd -q -d -c
 * /mnt/pve/S/dump/... | vma extract ..."), restore_proxmox_backup_archive ("restore proxmox backup
 * image: /usr/bin/pbs-restore --repository USER@HOST:STORE vm/100/TIME ..."), PVE/API2/LXC.pm
 * ("recovering backed-up configuration from 'S:backup/...'"). Pure. */
struct pve_log_facts {
	char storage[100]; /* of the job; for a restore what it reads from; "" where not told */
	uint32_t guest;    /* being backed up now; 0 none */
	bool lxc;
	uint32_t restored_from; /* 1 where a restore reads from `storage` or `datastore` */
	char archive[256];      /* the file that a restore reads, where the log names one */
	char datastore[128];    /* that a restore from a backup server reads, and the server */
	char server[256];
};
void pve_log_line(struct pve_log_facts *facts, const char *line);

struct pve_backup {
	char volid[256];
	uint32_t vmid;
	int64_t ctime_s;
	int64_t size; /* bytes; 0 not told */
};
bool pve_content_read(const char *body, size_t len,
	void (*each)(void *data, const struct pve_backup *backup), void *data, struct err *err);

/* /cluster/backup */
struct pve_job {
	char id[128];
	char storage[100];
	char schedule[128];
	char script[256]; /* the job's own hook script: it replaces vzdump.conf's; "" none */
	bool enabled;
};
bool pve_jobs_read(const char *body, size_t len,
	void (*each)(void *data, const struct pve_job *job), void *data, struct err *err);

/* Guests of the job; not those that no longer exist. */
struct pve_job_guest {
	uint32_t vmid;
	bool lxc;
	int64_t size; /* bytes of its volumes that are included; 0 not told */
};
bool pve_included_volumes_read(const char *body, size_t len,
	void (*each)(void *data, const struct pve_job_guest *guest), void *data, struct err *err);

struct pve_guest {
	uint32_t vmid;
	bool lxc;
	char node[64];
};
bool pve_guests_read(const char *body, size_t len,
	void (*each)(void *data, const struct pve_guest *guest), void *data, struct err *err);

#endif
