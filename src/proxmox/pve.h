// SPDX-License-Identifier: MIT
/*
 * Proxmox VE: calls that the gate makes with a read-only token, and their answers. No I/O here.
 *
 * Sources: PVE/API2/Tasks.pm, PVE/API2/Cluster.pm, PVE/API2/Backup.pm, PVE/API2/Storage/Content.pm,
 * PVE/API2/Storage/Config.pm. Privileges: Sys.Audit on / (tasks, jobs); Datastore.AllocateSpace on
 * the storage and VM.Backup on the guests for the content; Datastore.Audit or AllocateSpace on a
 * storage that the list of storages shall have; Sys.Modify on /nodes/NODE only for stopping a job.
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
bool pve_guests_get(struct api_call *ret, struct err *err);   /* /cluster/resources?type=vm */
bool pve_storages_get(struct api_call *ret, struct err *err); /* /storage: those that one may see */

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
 * ("recovering backed-up configuration from 'S:backup/...'").
 *
 * What a guest's part moved: PVE/VZDump/QemuServer.pm query_backup_status_loop ("transferred 3.09
 * GiB in 62 seconds (51.0 MiB/s)": all that its block jobs read, zeros and what the server has
 * already too; "using fast incremental mode (dirty-bitmap), 2.2 GiB dirty of 5.0 GiB total"), and
 * of a container proxmox-backup pbs-client/src/backup_writer.rs upload_stream() ("root.pxar: had to
 * backup 4.5 MiB of 12 GiB (compressed 2.1 MiB) in 0.54 s ..."). Pure. */
struct pve_log_facts {
	char storage[100]; /* of the job; for a restore what it reads from; "" where not told */
	uint32_t guest;    /* being backed up now; 0 none */
	bool lxc;
	/* Of the guest whose part goes on, or ended last. Bytes: */
	struct opt read;        /* that a virtual machine's backup read */
	struct opt written;     /* that a container's backup sent to the server, compressed */
	bool odd;               /* a line that should tell is not as it should be: not known */
	uint32_t restored_from; /* 1 where a restore reads from `storage` or `datastore` */
	char archive[256];      /* the file that a restore reads, where the log names one */
	char datastore[128];    /* that a restore from a backup server reads, and the server */
	char server[256];
	char ns[256]; /* and the namespace; "" the root, or not told */
};
void pve_log_line(struct pve_log_facts *facts, const char *line);

/* "INFO: Backup started at 2026-11-30 21:00:00", "Backup finished at ..." (the line after "Finished
 * Backup of VM"), "Failed at ...": in the node's local time, whose zone no line names
 * (exec_backup_task: strftime("%F %H:%M:%S", localtime())). `ret_local_s`: seconds since 1970 as if
 * that were UTC; untouched for any other line. Pure. */
enum pve_log_mark { PVE_LOG_NONE = 0, PVE_LOG_STARTED, PVE_LOG_FINISHED, PVE_LOG_FAILED };
enum pve_log_mark pve_log_time(const char *line, int64_t *ret_local_s);

/* /storage: those that hold files or are a backup server's; others hold no backups. */
struct pve_storage {
	char id[100];
	char path[256];      /* where its files are, without a slash at the end; "" none */
	char server[256];    /* a backup server's host, and what is there */
	char datastore[128]; /* "" : it is none */
	char ns[256];        /* "" : the root */
	char nodes[512];     /* "a,b" that have it; "" all */
};
bool pve_storages_read(const char *body, size_t len,
	void (*each)(void *data, const struct pve_storage *storage), void *data, struct err *err);
/* Whether this node has it. Pure, as the next two. */
bool pve_storage_on(const struct pve_storage *storage, const char *node);
/* The length of its own path where `path` lies below it, else 0: of several the longest has it. */
size_t pve_storage_holds(const struct pve_storage *storage, const char *path);
/* Whether it is this datastore of this host (a name or address, one of IPv6 with or without
 * brackets), whatever the namespace. */
bool pve_storage_is(const struct pve_storage *storage, const char *server, const char *datastore);

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
