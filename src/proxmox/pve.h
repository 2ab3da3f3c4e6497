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

/* Lines of a task's log, in order. */
bool pve_log_read(const char *body, size_t len,
	void (*each)(void *data, int64_t n, const char *line), void *data, struct err *err);

/* What a vzdump or restore task's log tells, line by line: all zero before the first line. Sources
 * of the lines: PVE/VZDump.pm exec_backup_task, PVE/API2/Qemu.pm, PVE/LXC/Create.pm. Pure. */
struct pve_log_facts {
	char storage[100]; /* of "starting new backup job: vzdump ... --storage S" */
	uint32_t guest;    /* being backed up now; 0 none */
	bool lxc;
	uint32_t restored_from; /* 1 where a restore reads from `storage` */
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
