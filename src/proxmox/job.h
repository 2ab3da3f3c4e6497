// SPDX-License-Identifier: MIT
/*
 * Which backup job a vzdump task belongs to, and when it is scheduled: from pvescheduler's state
 * files (/var/lib/pve-manager/jobs/vzdump-ID.json, PVE/Jobs.pm) and /etc/pve/jobs.cfg. Both are
 * best effort: a task started by hand belongs to no job.
 */
#ifndef RG_PROXMOX_JOB_H
#define RG_PROXMOX_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define JOB_ID_MAX 64
#define JOB_STATE_DIR "/var/lib/pve-manager/jobs"
#define JOB_CONFIG "/etc/pve/jobs.cfg"

/* The id of the job whose last task is `upid`. Reads `dir`. */
bool job_of_task(const char *dir, const char *upid, char ret_id[JOB_ID_MAX]);

/* The value of a key of the job in the text of jobs.cfg. False if there is no such job, it has no
 * such key, or the value does not fit. Pure. */
bool job_value(const char *config, const char *id, const char *key, char *ret, size_t size);

/* The `schedule` of the job in the text of jobs.cfg (a section config, pve-common
 * SectionConfig.pm). False if there is no such job, or it has none. Pure. */
bool job_schedule(const char *config, const char *id, char *ret, size_t size);

/* As job_schedule(), from the file. */
bool job_schedule_read(const char *file, const char *id, char *ret, size_t size);

/* A whole file of up to 1 MiB. */
bool job_file_read(const char *file, struct buf *ret);

#endif
