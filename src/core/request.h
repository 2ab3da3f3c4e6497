// SPDX-License-Identifier: MIT
/*
 * Who asks for what: one question to the gate, and what an operator may have said about it.
 *
 * Plain data without pointers. An empty text or a 0 enum means "not known"; a condition on it does
 * not match.
 */
#ifndef RG_CORE_REQUEST_H
#define RG_CORE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/moment.h"
#include "core/policy.h"
#include "md/facts.h"

#define REQUEST_MAX_GUESTS 256

enum client { CLIENT_NONE = 0, CLIENT_VZDUMP, CLIENT_RUN, CLIENT_WAIT, CLIENT_CHECK };
/* The phases in which a question is asked; run and wait ask as job-init. pve-manager PVE/VZDump.pm
 * run_hook_script. */
enum phase { PHASE_NONE = 0, PHASE_JOB_INIT, PHASE_JOB_START, PHASE_BACKUP_START };
enum guest_type { GUEST_NONE = 0, GUEST_QEMU, GUEST_LXC };
enum backup_mode { MODE_NONE = 0, MODE_SNAPSHOT, MODE_SUSPEND, MODE_STOP };

struct request {
	enum client client;
	enum phase phase;
	char storage[STORAGE_NAME_MAX];
	char node[NODE_NAME_MAX];
	uint32_t guest; /* vmid in backup-start; 0 in job phases */
	enum guest_type guest_type;
	enum backup_mode mode;
	size_t n_guests; /* of the job, where it could be identified; 0 = not known */
	uint32_t guests[REQUEST_MAX_GUESTS];
	struct opt n_qemu; /* how many of the job's guests are virtual machines, where known */
	struct opt next_start_utc_ms; /* the job's next start, where known: a hold ends before it */
	struct opt backup_age_ms;     /* age of the last good backup, where known */
};

/* Which arrays a storage writes to. n_arrays == 0 with a NAS: all of its data arrays. nas "" means
 * unmapped. */
#define MAPPING_MAX_ARRAYS 16
struct mapping {
	char nas[NAS_NAME_MAX];
	size_t n_arrays;
	char arrays[MAPPING_MAX_ARRAYS][MD_NAME_MAX];
};

#define OVERRIDE_MAX 256
/* An operator's verdict. Scope: every non-empty field must fit; none set means all. */
struct override {
	int64_t id;
	enum verdict verdict;
	int64_t ticket; /* 0 = any */
	uint32_t guest; /* 0 = any */
	char storage[STORAGE_NAME_MAX];
	char nas[NAS_NAME_MAX];
	char node[NODE_NAME_MAX];
	int64_t created_utc_ms;
	int64_t until_utc_ms; /* of no effect from then on */
	char by[64];          /* login name */
	char reason[256];
};

const char *client_word(enum client client);
enum client client_parse(const char *word);
const char *phase_word(enum phase phase);
enum phase phase_parse(const char *word);
const char *guest_type_word(enum guest_type type);
enum guest_type guest_type_parse(const char *word);
const char *backup_mode_word(enum backup_mode mode);
enum backup_mode backup_mode_parse(const char *word);

#endif
