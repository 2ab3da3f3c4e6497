// SPDX-License-Identifier: MIT
/*
 * A NAS that does not exist: arrays that rebuild, are written to, fail; and what its kernel would
 * print of them. Time is a parameter. Rates are bytes/s for each disk, as md counts.
 *
 * One md rule matters here: arrays share their disks, so one of them syncs at a time, the others
 * wait ("resync=DELAYED", drivers/md/md.c md_do_sync).
 */
#ifndef RG_SIM_DISKS_H
#define RG_SIM_DISKS_H

#include "base/buf.h"
#include "md/facts.h"

#define DISKS_MAX_ARRAYS 4
#define DISKS_MAX_SLOTS 12
#define DISKS_MARKS 10 /* SYNC_MARKS */

struct disk_array {
	char name[MD_NAME_MAX];
	enum md_level level;
	int disks;
	int64_t size_kib;     /* of one disk's share */
	double outer, inner;  /* undisturbed rate at the beginning and at the end */
	double written_share; /* what is left of it while clients write */
	int64_t back_ms;      /* from the end of the writes until all of it is back */

	bool in_sync[DISKS_MAX_SLOTS];
	bool faulty[DISKS_MAX_SLOTS]; /* the failed disk is still listed */
	int rebuild_slot;             /* -1: none */
	int n_spares_used;            /* each new disk has a new number */
	enum md_operation op, frozen_op;
	bool delayed;
	double done_kib;
	double client_write, written, client_read, read; /* rates; bytes since the start */
	int64_t quiet_at_ms;                             /* when writes ended last */
	bool ever_written;
	/* The kernel's own marks for speed=: every 3 s, the last ten. */
	struct {
		int64_t at_ms;
		double kib;
	} marks[DISKS_MARKS];
	int n_marks;
};

struct disks {
	char name[NAS_NAME_MAX];
	bool synology;         /* prints raidF1 among the personalities, and md0 and md1 */
	int64_t look_ms;       /* how long a look takes */
	enum nas_sensor blind; /* SENSOR_OK: it can be seen */
	bool empty;            /* answers, with an empty text */
	int64_t now_ms;
	int64_t up_ms; /* when it has rebooted; 0: it is up */
	size_t n_arrays;
	struct disk_array arrays[DISKS_MAX_ARRAYS];
};

void disks_init(struct disks *disks, const char *name);
struct disk_array *disks_add(struct disks *disks, const char *name, enum md_level level, int n);
struct disk_array *disks_find(struct disks *disks, const char *name);

/* Lets everything run up to `now_ms`. */
void disks_advance(struct disks *disks, int64_t now_ms);

/* Each returns false where it makes no sense now. Call disks_advance() before. */
bool disks_fail(struct disks *disks, struct disk_array *array);         /* one more disk */
bool disks_fail_in_turn(struct disks *disks, struct disk_array *array); /* the new disk */
bool disks_begin(struct disks *disks, struct disk_array *array, enum md_operation op);
bool disks_stop(struct disks *disks, struct disk_array *array); /* echo idle > sync_action */
bool disks_freeze(struct disks *disks, struct disk_array *array);
bool disks_thaw(struct disks *disks, struct disk_array *array);
void disks_write(struct disks *disks, struct disk_array *array, double change);
void disks_reboot(struct disks *disks, int64_t for_ms);

/* How a look that begins now will go. */
int64_t disks_look_ms(const struct disks *disks);

double disks_rate(const struct disk_array *array, int64_t now_ms);
double disks_undisturbed(const struct disk_array *array);
int disks_missing(const struct disk_array *array);
bool disks_busy(const struct disk_array *array); /* anything but idle */

/* What look_command() would print there. */
void disks_print(const struct disks *disks, struct buf *ret);

#endif
