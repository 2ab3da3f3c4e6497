// SPDX-License-Identifier: MIT
/*
 * What the files of the levers share: levers.c (life, order of a run), levers_jobs.c (which jobs
 * are slowed, by which path), levers_steer.c (one controller for each array),
 * levers_pace.c (what jobs moved), levers_stores.c (servers' datastores), levers_keep.c (keepers),
 * levers_lost.c (those that died), levers_move.c (backup servers, the NAS's own levers),
 * levers_record.c (the record), levers_tell.c (the journal), levers_show.c (JSON).
 */
#ifndef RG_GATE_LEVERS_IMPL_H
#define RG_GATE_LEVERS_IMPL_H

#include "core/steer.h"
#include "core/ticket.h"
#include "gate/ages.h"
#include "gate/floor_lever.h"
#include "gate/gate.h"
#include "gate/levers.h"
#include "gate/pbs_lever.h"
#include "gate/tasks.h"
#include "gate/timer.h"

#define LEVERS_ARRAYS 64 /* steered at a time: bits of a job's `arrays` */
#define LEVERS_KEEPERS 256
#define LEVERS_JOBS (TICKETS_MAX + TASK_WRITERS_MAX)
#define LEVERS_PACES 64
#define LEVERS_SAID 256
#define LEVERS_RECORDED 128
#define SERVER_STORES_MAX 64
#define LEVERS_BUSY_MS (2 * MS_SECOND) /* between looks while something is set */
#define KEEPER_FREE_MS MS_MINUTE       /* a keeper without a gate frees its guest after so long */
#define KEEPER_SILENT_MS (20 * MS_SECOND)
/* What frees a guest whose keeper and guard are dead: to be run as root on its node. */
#define KEEPER_COMMAND "/usr/libexec/rebuildgate/rebuildgate-vzdump --put-back"
/* In the record, until the guest's next keeper or that command tells better. */
#define KEEPER_DEAD_WHY "its keeper is dead: to be put back by " KEEPER_COMMAND
#define KEEPER_TEXT 320
#define FLOOR_LACKS 240

/* By what a job is slowed. By the NAS's own floor alone: its path stays open, the rebuild yields
 * less. */
enum lever_by { BY_NOTHING = 0, BY_FLOOR, BY_KEEPER, BY_PBS };

/* A job that writes, or is about to. */
struct lever_job {
	int64_t ticket; /* 0: one that never asked */
	char upid[256];
	char node[NODE_NAME_MAX];
	char storage[STORAGE_NAME_MAX];
	char nas[NAS_NAME_MAX];
	char pbs[NAS_NAME_MAX]; /* the backup server that it goes through, or "" */
	uint32_t guest;         /* under way now; 0: none, or not known */
	bool throttled;
	bool unkept;     /* a virtual machine that no keeper sets, and none is to be expected */
	bool stop;       /* a rule that began to match says so */
	uint64_t arrays; /* those steered for it, by index */
	enum lever_by by;
	char rule[RULE_NAME_MAX];
	char floor_lacks[FLOOR_LACKS]; /* why the NAS's own floor does not; "" : it could */
	char text[320];                /* why it is slowed by that, or by nothing */
};

/* One array and its controller. */
struct steered {
	char nas[NAS_NAME_MAX]; /* "": free */
	char array[MD_NAME_MAX];
	struct steer steer;
	struct steer_output out; /* what holds now: the controller's, or what overrules it */
	/* Of the present run. */
	bool protects;
	bool restore; /* a restore reads: free */
	bool blind;
	bool others; /* something else writes, or may */
	struct steer_rule rule;
	struct opt max_pause_ms;
	int64_t jobs;      /* throttled, and reached by a lever */
	int64_t unreached; /* throttled, and reached by none but the NAS's own floor */
	int64_t units;     /* streams that share the path now */
	/* Over time. */
	int64_t read_at_ms; /* of the reading that was stepped on last */
	int64_t applied_ms; /* boot time since which the path is in force; 0: not yet */
	int64_t ordered_ms; /* boot time at which the path became what it is */
	int64_t known_ms;   /* boot time at which a job that is known may have written last */
	int64_t unseen_ms;  /* boot time at which somebody unknown wrote last; 0: nobody */
	int64_t floor_ms;   /* boot time at which the NAS's floor was wanted first; 0: it is not */
	bool floor_short;   /* it alone did not keep the share */
	bool floor_asked;   /* it is wanted, also where it is refused */
	int64_t step_kib;   /* the floor while the undisturbed pace is not known; 0: it is */
	int64_t step_ms;    /* boot time since which that one stands */
	struct opt share;   /* ppm, smoothed: whether the floor alone is enough */
	int64_t share_ms;
	int64_t kept_ms; /* boot time since which the share is kept without a break; 0: it is not */
	int64_t kept_seen_ms;
	enum moved moved_as; /* what its levers tell of what jobs move; NONE: nothing, or mixed */
	bool moved_mixed;
	enum moved kept_as;
	int64_t mixed_ms; /* boot time at which they told another measure, or several; 0 never */
	int64_t reads_ms; /* boot time at which clients read last while no token tells what; 0 */
	enum steer_path told_path;
	enum steer_way told_way;
	bool told_grip, told_restore, told_reads;
	int64_t told_ms;
};

#define KEEPER_DELAYS 8
struct keeper {
	int64_t said_ms; /* boot time of its last ask; 0: free */
	struct keep_ask said;
	enum steer_path path; /* as answered last */
	int64_t rate;
	int64_t since_ms;   /* boot time since which it is set; 0: not */
	int64_t applied_ms; /* boot time at which it told that the answer is in force; 0: not yet */
	bool stuck;      /* its keeper has ended and could not put back: a guard goes on trying */
	int64_t lost_ms; /* boot time at which it was taken for dead with its guest slowed; 0 */
	int64_t ordered_ms; /* boot time at which the path that it was told last was chosen, */
	int64_t told_ms;    /* and at which it was told */
	size_t n_delays;    /* measured so far: from the one until it acted */
	int32_t delays[KEEPER_DELAYS];
	char told[200]; /* its trouble, as last told */
};

/* One backup server's part. */
struct server_part {
	char pbs[NAS_NAME_MAX];
	int64_t jobs;
	enum steer_path path;
	int64_t rate;
	int64_t since_ms; /* boot time since which something is wanted of it; 0: not */
	char why[200];
	int64_t stores_ms; /* boot time; it is not asked for its datastores before */
	size_t n_stores;
	char stores[SERVER_STORES_MAX][SETTINGS_WORD_MAX]; /* as far as the token sees them */
};

/* What a storage's backups moved at the share that was protected. */
struct paced {
	char storage[STORAGE_NAME_MAX];
	int64_t pace; /* bytes/s */
	enum moved as;
	int64_t protect_ppm;
	int64_t used_ms;
};

/* What was said of a job once. */
enum {
	SAID_UNREACHED = 1 << 0,
	SAID_THROTTLED = 1 << 2,
	SAID_NO_GRIP = 1 << 3, /* its server's rule did not hold: by its keepers from then on */
};
struct said {
	unsigned stop_tried; /* by which settings, with what known: see stop_job() */
	unsigned stops;      /* tries */
	int64_t ticket;
	uint64_t upid; /* hash; 0: a ticket's */
	unsigned what;
	uint32_t guest;   /* under way, */
	int64_t guest_ms; /* since this boot time */
	int64_t used_ms;
};

/* A lever as the record has it. */
#define RECORDED_WORDS 6
struct recorded {
	char lever[24], target[160];
	bool moved;
	bool dead; /* by a keeper that is dead, as the record says: nothing puts it back by itself
		    */
	struct {
		char word[32]; /* the beginning of what it was set to */
		int64_t at_ms;
	} words[RECORDED_WORDS];
	int64_t thinned; /* changes since the last row */
	int64_t used_ms;
};

struct levers {
	struct gate *gate;
	struct timer timer;
	struct moment now; /* of the run */
	int64_t frozen_ms; /* boot time until which an operator wants nothing moved; 0: not */
	char frozen_by[64];
	size_t n_jobs;
	struct lever_job jobs[LEVERS_JOBS];
	struct steered arrays[LEVERS_ARRAYS];
	struct keeper keepers[LEVERS_KEEPERS];
	size_t n_servers;
	struct server_part servers[SETTINGS_MAX_PBS];
	struct paced paces[LEVERS_PACES];
	char stores_of[NAS_NAME_MAX]; /* is being asked for its datastores; "": none */
	bool paces_new;               /* other than what the record has */
	int64_t paces_saved_ms;
	struct said said[LEVERS_SAID];
	struct recorded recorded[LEVERS_RECORDED];
	int64_t orphans_ms; /* boot time at which keepers that a gate before us left are done */
	int64_t swept_ms;   /* boot time of the last look for silent keepers, */
	int64_t awake_ms;   /* and since which these looks came as they should */
	struct task_writer writers[TASK_WRITERS_MAX];
	size_t n_overrides;
	struct override overrides[OVERRIDE_MAX];
	struct inputs scratch;
	unsigned reloads;
	bool closing;
};

/* levers.c */
/* Collects, steps, moves: everything, by what is known now. */
void levers_run(struct levers *levers);
bool levers_frozen(const struct levers *levers);
struct opt levers_readers(struct levers *levers, const char *nas);

/* levers_jobs.c: fills jobs, and what the run knows of each array. */
void levers_collect(struct levers *levers);
/* The server's lever, if it may be counted on (or was never tried); NULL else. */
struct pbs_lever *levers_pbs_usable(struct levers *levers, const char *pbs);

/* levers_steer.c */
struct steered *steered_find(struct levers *levers, const char *nas, const char *array);
struct steered *steered_make(struct levers *levers, const char *nas, const char *array);
/* What a run knows of it before the jobs say theirs. */
void steered_begin(struct levers *levers, struct steered *steered);
void steered_step(struct levers *levers, struct steered *steered);
/* The path that all arrays of a job leave it, and its text; FREE where none is steered. */
struct job_path {
	enum steer_path path;
	int64_t rate;  /* of the whole path */
	int64_t units; /* that share it */
	const struct steered *steered;
};
struct job_path levers_path(struct levers *levers, uint64_t arrays);
/* Whether the job's path is steered for this array. */
bool steered_has(const struct levers *levers, const struct steered *s, const struct lever_job *job);

/* levers_pace.c */
/* What a storage's backups moved, all together, and at which protected share; NULL where it was
 * never measured. */
const struct paced *levers_paced(struct levers *levers, const char *storage);
/* After each step: remembers what the array's jobs move, where it tells something. */
void paces_note(struct levers *levers, struct steered *steered);
void paces_load(struct levers *levers);
void paces_save(struct levers *levers);

/* levers_keep.c */
/* How late a change acts with this keeper: the longest of the last few times. */
int64_t keeper_delay(const struct keeper *keeper);
struct keeper *keeper_of(struct levers *levers, int64_t ticket, uint32_t guest);
bool keeper_alive(const struct levers *levers, const struct keeper *keeper);
/* Those that are silent for good are forgotten, or told of. */
void keepers_sweep(struct levers *levers);
void keeper_target(const struct keeper *keeper, char ret[160]);
/* The longest pause in one piece; `max_pause_ms`: the rule's. */
int64_t keeper_pause_ms(const struct keep_ask *said, struct opt max_pause_ms);

/* levers_lost.c */
/* Whether the gate knows that the backup of its guest is over. */
bool keeper_is_over(const struct levers *levers, const struct keeper *keeper);
/* It is silent for good with its guest slowed, without a last word: it and its guard are dead. Told
 * once, in the journal, the record and the notices. */
void keeper_lose(struct levers *levers, struct keeper *keeper);
/* What is to be done where it was. */
const char *keeper_lost_text(const struct keeper *keeper, char ret[KEEPER_TEXT]);
/* A gate before this one had slowed the guest `target`, and nobody has asked since: told, if its
 * backup still runs. */
void keeper_orphan_tell(const struct levers *levers, const char *target);
/* Why no keeper slows the guest that the job is at. */
const char *unkept_text(const struct levers *levers, const struct lever_job *job, char ret[240]);

/* levers_move.c */
void servers_move(struct levers *levers);
void servers_free(struct levers *levers, const char *why);
void floors_move(struct levers *levers);
/* Clients read, and no token tells whether that is a restore: the floor would be set and is not. */
bool floor_gives_way(struct levers *levers, const struct steered *steered);
#define READS_TEXT "clients read, and no token tells whether that is a restore"
/* Adds that to what is said of the array. */
void floor_say(struct levers *levers, struct steered *steered);

/* levers_stores.c: asks servers whose rule is set which datastores it slows. */
void stores_ask(struct levers *levers);
void stores_forget(struct levers *levers);

struct floor_lever *levers_floor(struct levers *levers, const char *nas);
/* The least that the NAS's own floor may be counted on for: it is set up, allowed and works. */
bool floor_usable(struct levers *levers, const char *nas, const char *array);
/* Whether it protects this array from who writes there under a rule with this `rate` (unknown: by
 * its share); why not in `ret_why`, one sentence, "" where none is set up. */
bool floor_reaches(struct levers *levers, const char *nas, const struct array_facts *array,
	struct opt rate, char ret_why[FLOOR_LACKS]);

/* levers_tell.c */
void levers_tell(struct levers *levers);
/* True the first time. */
bool levers_say_once(struct levers *levers, const struct lever_job *job, unsigned what);
bool levers_said(struct levers *levers, const struct lever_job *job, unsigned what);
/* How long the guest under way has been so, as far as we saw it. */
int64_t levers_guest_ms(struct levers *levers, const struct lever_job *job);

/* levers_record.c */
/* The levers whose keepers an earlier gate left: taken as moved until they tell. */
void levers_recorded_open(struct levers *levers);
void levers_orphans(struct levers *levers);
/* Whether the record has it as moved. */
bool levers_recorded_moved(const struct levers *levers, const char *lever, const char *target);

/* levers_show.c: those that are moved now, as in GET /v1/levers. NULL without memory. */
json_t *levers_moved_json(struct levers *levers);

/* The path as the record and the journal write it: "free", "limit 10 MB/s", ... */
const char *levers_path_text(enum steer_path path, int64_t rate, char ret[64]);

#endif
