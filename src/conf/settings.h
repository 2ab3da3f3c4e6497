// SPDX-License-Identifier: MIT
/*
 * The daemon's own configuration: /etc/rebuildgate/rebuildgate.conf, then conf.d/?*.conf beside it
 * in the order of their names.
 *
 * A later file overrides single settings and adds to `nas`, `storages`, `notify.webhooks` and
 * `notify.smtp`. Everything here has been checked: names are unique, storages name a NAS that there
 * is, paths are absolute, spans lie in their ranges. No secrets stand here, only the files that
 * hold them.
 */
#ifndef RG_CONF_SETTINGS_H
#define RG_CONF_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/errors.h"
#include "core/policy.h"
#include "core/request.h"
#include "md/facts.h"

#define SETTINGS_FILE "/etc/rebuildgate/rebuildgate.conf"
#define SETTINGS_PATH_MAX 512
#define SETTINGS_HOST_MAX 256
#define SETTINGS_WORD_MAX 64
#define SETTINGS_URL_MAX 512
#define SETTINGS_MAX_NAS 64
#define SETTINGS_MAX_ROLES 32
#define SETTINGS_MAX_STORAGES 256
#define SETTINGS_MAX_WEBHOOKS 8
#define SETTINGS_MAX_SMTP 4
#define SETTINGS_MAX_TO 8
#define SETTINGS_ADDRESS_MAX 256
#define SETTINGS_MAX_PVE 8
#define SETTINGS_MAX_PBS 8
#define SETTINGS_MAX_FINGERPRINTS 4
#define SETTINGS_MAX_NETWORKS 8
#define SETTINGS_NETWORK_MAX 64

enum settings_via { SETTINGS_VIA_NONE = 0, SETTINGS_VIA_SSH, SETTINGS_VIA_LOCAL };

/* What the NAS is, where the array roles come from (md/vendor.h has the rules of each). */
enum settings_vendor {
	SETTINGS_VENDOR_NONE = 0,
	SETTINGS_VENDOR_AUTO,
	SETTINGS_VENDOR_GENERIC,
	SETTINGS_VENDOR_SYNOLOGY,
	SETTINGS_VENDOR_QNAP,
};

struct role_settings {
	char array[MD_NAME_MAX];
	enum md_role role;
};

/* What may be moved on a NAS itself, through a second key whose forced command is
 * hooks/nas-levers: `levers = { ... }` in a NAS. Off unless it is written. */
struct nas_lever_settings {
	bool set;                         /* the group is there */
	char user[SETTINGS_WORD_MAX];     /* "root" */
	char key_file[SETTINGS_PATH_MAX]; /* /etc/rebuildgate/id_ed25519_levers */
	bool floor;                       /* sync_speed_min; true where the group is there */
	bool stripe_cache;                /* stripe_cache_size of RAID 4/5/6 too; false */
	int64_t stripe_memory_ppm;        /* at most this share of its memory; 100000 (10 %) */
	bool pause_check;                 /* a check or repair gives way to backups; false */
};

struct nas_settings {
	char name[NAS_NAME_MAX]; /* unique; letters, digits, '-', '_', '.' */
	enum settings_via via;
	char host[SETTINGS_HOST_MAX]; /* ssh: a name or an address, without blanks, '@', '/', '%' */
	uint16_t port;                /* 22 */
	char user[SETTINGS_WORD_MAX]; /* "rebuildgate" */
	char key_file[SETTINGS_PATH_MAX];    /* /etc/rebuildgate/id_ed25519 */
	char known_hosts[SETTINGS_PATH_MAX]; /* /etc/rebuildgate/known_hosts */
	enum settings_vendor vendor;         /* auto */
	char root[SETTINGS_PATH_MAX];        /* local: what /proc and /sys are below; "" */
	size_t n_roles;
	struct role_settings roles[SETTINGS_MAX_ROLES]; /* overrule what was recognised */
	struct nas_lever_settings levers;
};

/* A server's API: where it is, who we are, how its certificate is known. Fingerprints, else the CA
 * file, else the system's authorities; there is no way not to check. */
struct api_settings {
	char name[NAS_NAME_MAX];            /* unique among its kind */
	char url[SETTINGS_URL_MAX];         /* https://HOST:PORT, nothing after it */
	char token_file[SETTINGS_PATH_MAX]; /* one line, user@realm!id=SECRET (PBS: a colon) */
	size_t n_fingerprints;
	uint8_t fingerprints[SETTINGS_MAX_FINGERPRINTS][32]; /* SHA-256 of the certificate */
	char ca_file[SETTINGS_PATH_MAX];                     /* "" : none */
};

/* `pve = ( { ... } )`: a cluster, by any of its nodes. Read only, unless `stop_jobs`. */
struct pve_settings {
	struct api_settings api;
	bool stop_jobs; /* jobs that already write may be stopped where a rule says so; false */
};

/* `pbs = ( { ... } )` */
struct pbs_settings {
	struct api_settings api;
	bool throttle; /* a traffic-control rule of ours may be made; true */
	size_t n_networks;
	char networks[SETTINGS_MAX_NETWORKS][SETTINGS_NETWORK_MAX]; /* of that rule; none: all */
};

struct storage_settings {
	char name[STORAGE_NAME_MAX];       /* unique; as Proxmox calls it */
	struct mapping mapping;            /* n_arrays 0: all data arrays of the NAS */
	char pbs[NAS_NAME_MAX];            /* the backup server whose datastore it is, or "" */
	char datastore[SETTINGS_WORD_MAX]; /* its name there; as `name` where not written */
	char pve[NAS_NAME_MAX]; /* the cluster that has it; the only one where not written */
};

/* What is told. Bits. */
enum notify_event {
	NOTIFY_HOLD = 1 << 0,     /* a hold begins */
	NOTIFY_RELEASED = 1 << 1, /* a held job goes on */
	NOTIFY_EXPIRED = 1 << 2,  /* a hold's time was over */
	NOTIFY_DENIED = 1 << 3,   /* a job was refused */
	NOTIFY_LOST = 1 << 4,     /* a job vanished */
	NOTIFY_BLIND = 1 << 5,    /* a NAS cannot be seen */
	NOTIFY_SEES = 1 << 6,     /* it can be seen again */
	NOTIFY_RULE = 1 << 7,     /* a rule with notify = true matched */
	NOTIFY_RECORD = 1 << 8,   /* the record cannot be written, or can be again */
	NOTIFY_UNGATED = 1 << 9,  /* a backup writes that never asked */
	NOTIFY_STOPPED = 1 << 10, /* a running job or task was stopped, or is run again */
	NOTIFY_KEEPER = 1 << 11,  /* a keeper died and left its guest's backup slowed */
};
#define NOTIFY_SHIPPED                                                                             \
	(NOTIFY_HOLD | NOTIFY_EXPIRED | NOTIFY_LOST | NOTIFY_BLIND | NOTIFY_SEES | NOTIFY_RULE |   \
		NOTIFY_RECORD | NOTIFY_UNGATED | NOTIFY_STOPPED | NOTIFY_KEEPER)
const char *notify_event_word(enum notify_event event); /* "hold", "released", ... */

struct webhook_settings {
	char url[SETTINGS_URL_MAX]; /* https, or http to this machine only */
	unsigned int events;        /* of enum notify_event */
};

struct smtp_settings {
	char url[SETTINGS_URL_MAX]; /* smtp://HOST[:PORT] or smtps:// */
	char from[SETTINGS_ADDRESS_MAX];
	size_t n_to; /* at least 1 */
	char to[SETTINGS_MAX_TO][SETTINGS_ADDRESS_MAX];
	char user[SETTINGS_WORD_MAX];          /* "" : no login */
	char password_file[SETTINGS_PATH_MAX]; /* "" : no login */
	unsigned int events;
};

struct notify_settings {
	int64_t repeat_ms; /* the same event about the same thing is not told again before; 1 h */
	int64_t max_per_hour; /* for each target; 30 */
	size_t n_webhooks;
	struct webhook_settings webhooks[SETTINGS_MAX_WEBHOOKS];
	size_t n_smtp;
	struct smtp_settings smtp[SETTINGS_MAX_SMTP];
};

struct settings {
	char node[NODE_NAME_MAX]; /* host name up to the first dot */
	char socket[SETTINGS_PATH_MAX];
	char socket_group[SETTINGS_WORD_MAX];
	char override_group[SETTINGS_WORD_MAX]; /* "" : root only */
	char database[SETTINGS_PATH_MAX];
	char spill[SETTINGS_PATH_MAX]; /* "" : DATABASE-spill */
	int64_t spill_size;            /* bytes; 4 MiB */
	enum verdict if_record_fails;  /* allow (shipped) or deny */
	int64_t retention_ms;          /* 800 d */
	char policy[SETTINGS_PATH_MAX];
	int64_t poll_ms;          /* 10 s */
	int64_t idle_poll_ms;     /* 60 s */
	int64_t fresh_ms;         /* 5 s: a request that finds an older reading triggers a look */
	int64_t look_deadline_ms; /* 5 s */
	int64_t stale_after_ms;   /* 90 s */
	int64_t silence_ms;       /* 90 s: a held ticket nobody asked for is withdrawn */
	size_t n_nas;
	struct nas_settings nas[SETTINGS_MAX_NAS];
	size_t n_storages;
	struct storage_settings storages[SETTINGS_MAX_STORAGES];
	size_t n_pve;
	struct pve_settings pve[SETTINGS_MAX_PVE];
	size_t n_pbs;
	struct pbs_settings pbs[SETTINGS_MAX_PBS];
	int64_t task_poll_ms; /* 10 s: between two looks at a server's running tasks */
	int64_t age_poll_ms;  /* 6 h: between two looks at a storage's backups */
	struct notify_settings notify;
};

/* Fills *ret with the shipped defaults: no NAS, no storage. */
void settings_defaults(struct settings *ret);

/* Reads `file` and conf.d beside it. On success *ret is the caller's (settings_free()); on failure
 * it is NULL and `errors` says why. */
bool settings_load(const char *file, struct settings **ret, struct conf_errors *errors);
void settings_free(struct settings *settings);

const struct nas_settings *settings_nas(const struct settings *settings, const char *name);
const struct storage_settings *settings_storage(const struct settings *settings, const char *name);
const struct pbs_settings *settings_pbs(const struct settings *settings, const char *name);
const struct pve_settings *settings_pve(const struct settings *settings, const char *name);
/* The mapping of `storage`; an all-empty one where it is not configured. */
void settings_mapping(const struct settings *settings, const char *storage, struct mapping *ret);

const char *settings_vendor_word(enum settings_vendor vendor);
const char *settings_via_word(enum settings_via via);

/* What differs between two configurations and takes effect only at a restart, as a comma separated
 * list of names; "" if nothing does. */
void settings_restart_needed(
	const struct settings *before, const struct settings *after, struct buf *ret);

#endif
