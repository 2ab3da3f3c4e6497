// SPDX-License-Identifier: MIT
/*
 * The keeper: a small process beside one VM's backup that asks the gate how open the guest's path
 * shall be and brings the guest's block jobs there, through QEMU's local control socket.
 *
 * backup-start leaves it behind: this program again, with `--keeper`, in a session of its own and
 * without any descriptor of vzdump's, which waits for the end of its pipes. It is two processes:
 * the guard, which only waits, and the keeper proper, which the guard's death ends. Whatever
 * becomes of the keeper, the guard puts the jobs back: from the note that stands below /run before
 * anything is changed. Should both be killed at once, the next hook call that finds the note does
 * it, or whoever runs `rebuildgate-vzdump --put-back` before.
 *
 * One keeper for a guest, by a lock that both processes hold. It ends with the backup, with the
 * vzdump worker, on SIGTERM, and without a gate.
 */
#ifndef RG_HOOKS_KEEPER_H
#define RG_HOOKS_KEEPER_H

#include <poll.h>

#include "conf/hook_conf.h"
#include "core/ticket.h"
#include "keeping.h"

#define KEEPER_FLAG "--keeper"

struct hook;

/* Whose jobs, for which ticket. */
struct keeper {
	uint32_t vmid;
	int64_t ticket;
	char storage[STORAGE_NAME_MAX];
	char node[NODE_NAME_MAX];
	struct worker worker; /* vzdump's */
	const char *root;     /* as struct hook's */
	char socket[300];     /* QEMU's */
	struct hook_conf conf;
	struct keeping keeping;
};

/* keeper_start.c: for the hook. All of it is quick and best effort: a backup never waits for its
 * keeper. */
void keeper_start(const struct hook *hook);
void keeper_end(const struct hook *hook);    /* of this guest, if there is one: told to end */
void keeper_rescue(const struct hook *hook); /* puts back what dead keepers left, of any guest */

/* keeper_put_back.c: what `--put-back` runs: the same, for somebody who does not want to wait for
 * the next hook. One line on stdout for each guest; never touches one whose keeper lives. The
 * process's exit status: 0 nothing is left to be done, 1 something is, 2 wrong usage, not root, or
 * the notes cannot be read. */
int keeper_put_back(int argc, char **argv);

/* keeper_main.c: what `--keeper` runs; the process's exit status. */
int keeper_main(int argc, char **argv);

/* What the keeper writes to its guard before each thing that it does: that it lives, and until when
 * (boot time) a job may stay paused, should it never be heard of again; 0 where none is paused. */
struct keeper_beat {
	int64_t paused_until_ms;
};

/* keeper_loop.c: the keeper proper. `heart` gets its beats. True when everything is put back. */
bool keeper_run(struct keeper *keeper, pid_t guard, int heart);
/* The last word to the gate; `left`: the jobs are still to be put back. */
void keeper_tell_end(struct keeper *keeper, const char *trouble, bool left);
/* The same for one that is dead and whose guest is as it was: from its lock. */
void keeper_tell_dead(const char *root, const struct hook_conf *conf, uint32_t vmid);

/* keeper_note.c: what is remembered of a guest's jobs, below /run. */
struct keeper_note {
	size_t n;
	struct {
		char device[128];
		int64_t own_speed;
		bool paused;
	} jobs[QMP_MAX_JOBS];
};
/* What putting back found and did. */
struct keeper_applied {
	size_t n; /* jobs of the note that were still there: */
	size_t resumed;
	size_t freed;  /* got their own speed */
	char why[200]; /* it is not done yet, "" if it is */
};
/* The lock of a guest's keeper: a descriptor, or -1: errno is EWOULDBLOCK while another holds it.
 */
int keeper_lock(const char *root, uint32_t vmid);
/* Tells who holds it: the process `self`, a guard, as the keeper `keeper` (NULL: not told). */
bool keeper_lock_sign(int fd, const struct worker *self, const struct keeper *keeper);
/* Who signed it last, whether or not it still runs: false if nobody has. */
bool keeper_lock_owner(const char *root, uint32_t vmid, struct worker *ret);
/* As which keeper: fills vmid, ticket, worker, node and storage. False if nobody told. */
bool keeper_lock_keeper(const char *root, uint32_t vmid, struct keeper *ret);
/* The jobs that are touched: written before they are. False: it could not be written. */
bool keeper_note_save(const char *root, uint32_t vmid, const struct keeping *keeping);
bool keeper_note_load(const char *root, uint32_t vmid, struct keeper_note *ret);
void keeper_note_drop(const char *root, uint32_t vmid);
/* Whether there is a note, understood or not. */
bool keeper_note_there(const char *root, uint32_t vmid);
/* Puts back what the note says, until it is done or `deadline_ms` are over; then drops it. True
 * where nothing is left to be done. Who calls holds the lock. */
bool keeper_note_apply(
	const char *root, uint32_t vmid, int64_t deadline_ms, struct keeper_applied *ret);
/* Calls `each` for every guest that has a note. False where nobody can look: not our own folder. */
bool keeper_note_each(const char *root, void (*each)(const void *data, uint32_t vmid),
	const void *data, struct err *err);
/* The path of the guest's control socket. */
void keeper_socket(const char *root, uint32_t vmid, char *ret, size_t size);

#endif
