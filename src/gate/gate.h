// SPDX-License-Identifier: MIT
/*
 * The gate as a whole: what its parts share. One process, one thread, one loop; nothing here
 * blocks.
 *
 * How a step goes: something happens (a reading, a request, a timer, an end), the part that sees it
 * calls into the desk (desk.h), which drives the tickets, records what changed in one batch, and
 * only then lets answers, journal lines and notices out.
 */
#ifndef RG_GATE_GATE_H
#define RG_GATE_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/moment.h"
#include "conf/settings.h"
#include "core/policy.h"
#include "gate/peer.h"
#include "gate/sock.h"
#include "gate/timer.h"
#include "store/store.h"

struct sd_event;
struct sd_event_source;
struct ages;
struct desk;
struct floor_levers;
struct levers;
struct notify;
struct pbs_levers;
struct pending;
struct remotes;
struct server;
struct tasks;
struct waiters;
struct watch;
struct workers;

struct gate {
	struct sd_event *loop;
	const char *config;              /* the settings' file */
	char program[SETTINGS_PATH_MAX]; /* ourselves, for the probes */
	char boot_id[40];
	struct moment started;
	struct moment now;         /* of the step under way */
	struct settings *settings; /* owned */
	struct policy *policy;     /* owned */
	struct buf policy_text;    /* effective; what policy_hash is the SHA-256 of */
	char policy_hash[STORE_HASH_TEXT];
	struct roles roles;
	struct sock sock;
	struct server *server;
	struct store *store;
	struct desk *desk;
	struct notify *notify;
	struct workers *workers;
	struct waiters *waiters; /* asks of held jobs that wait for news */
	struct pending *pending; /* requests that wait for looks */
	struct remotes *remotes; /* API servers; each of these five NULL while not open */
	struct pbs_levers *pbs_levers;
	struct tasks *tasks;
	struct ages *ages;
	struct levers *levers;
	struct floor_levers *floors; /* the levers' own; NULL while not open */
	size_t n_watches;
	struct watch *watches[SETTINGS_MAX_NAS];
	struct sd_event_source *signals[4];
	struct timer chores_timer;
	int64_t retain_ms; /* boot time of the next removal of old rows */
	bool record_ok;    /* as last told */
	bool stopping;
};

/* The watch of this NAS, or NULL. */
struct watch *gate_watch(const struct gate *gate, const char *nas);

#endif
