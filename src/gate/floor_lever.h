// SPDX-License-Identifier: MIT
/*
 * The levers on a NAS itself (levers 4 and 5): the floor under md's resync, and a check that gives
 * way.
 *
 * One for each NAS with `levers = { ... }`, with an order child of its own (nas/order.h). The owner
 * says what it wants; this brings the NAS there and keeps it there: applies, reads back, renews
 * long before the NAS would undo it by itself, frees. What always holds: a change is in the record
 * (levers_record()) before it leaves, its being put back after it was read back; an order ends
 * within its deadline; after a refused key or a wrong host key there is patience (15 min, then an
 * hour); at the start whatever the record or the NAS itself says is moved is freed, unless it is
 * wanted again. Other gates may have levers on the same NAS: what one of them has moved is neither
 * freed nor overwritten until it is put back (the NAS keeps whose it is; hooks/nas-levers). Nothing
 * here blocks but floor_levers_close().
 */
#ifndef RG_GATE_FLOOR_LEVER_H
#define RG_GATE_FLOOR_LEVER_H

#include "base/err.h"
#include "base/moment.h"
#include "md/facts.h"

struct floor_lever;
struct floor_levers;
struct gate;

#define FLOOR_SPAN_S 600 /* the NAS undoes by itself what was not renewed for so long */
#define FLOOR_RENEW_MS (3 * MS_MINUTE)

/* Opens it for the gate's settings and begins to free what a gate before this one left moved. The
 * caller keeps *ret in gate->floors, where the gate's SIGCHLD finds it. */
bool floor_levers_open(struct gate *gate, struct floor_levers **ret, struct err *err);
/* Takes over gate->settings. A NAS that is no longer set up, or is so otherwise, is put back in the
 * background; pointers to its lever are no longer valid. The others that failed are tried anew. */
void floor_levers_settings(struct floor_levers *levers);
/* Puts everything back, blocking until that is done or `deadline_ms` (boot time), and frees. NULL
 * is allowed. */
void floor_levers_close(struct floor_levers *levers, int64_t deadline_ms);

/* Of this NAS; NULL where none is set up. Valid until floor_levers_settings(). */
struct floor_lever *floor_lever_find(struct floor_levers *levers, const char *nas);

/* The floor under a resync of `array`: at least `kib_s` KiB/s for each disk while it has work.
 * Unknown: none (as floor_lever_free()). `stripe`: also as much stripe cache as the settings and
 * the NAS's memory allow. `why`, one sentence, goes into the record. Cheap to call at each step:
 * acts only on a change, and smaller ones than an eighth of the floor in force are none. Ignored
 * where the settings do not allow it (`floor`, `stripe_cache`). */
void floor_lever_want(struct floor_lever *lever, const char *array, struct opt kib_s, bool stripe,
	const char *why);
void floor_lever_free(struct floor_lever *lever, const char *array, const char *why);

/* Interrupts the array's check or repair, or lets it go on. The NAS refuses it for anything else,
 * which is a trouble of the state. Ignored where the settings do not allow it (`pause_check`). */
void floor_lever_pause_check(
	struct floor_lever *lever, const char *array, bool pause, const char *why);

/* A person has asked, or mended something: a NAS that was not reached, or refused the key, is tried
 * now. */
void floor_lever_again(struct floor_lever *lever);

/* All of this NAS as it was before us, and every `want` and `pause` forgotten. */
void floor_lever_free_all(struct floor_lever *lever, const char *why);

/* As that, and also what other gates have moved there: for a person who wants it so. They may move
 * it again. Once, now: where the NAS is not reached nothing of theirs is freed. */
void floor_lever_free_others(struct floor_lever *lever, const char *why);
/* Of every NAS. */
void floor_levers_free_others(struct floor_levers *levers, const char *why);

struct floor_state {
	bool usable;  /* the last order was carried out, or none was given yet; false: it cannot be
			 counted on, `trouble` says why */
	bool floor;   /* the settings allow the floor, */
	bool stripe;  /* and the stripe cache, */
	bool check;   /* and the pause */
	bool moved;   /* something is, or may be, other than it was before us */
	bool settled; /* what is wanted is what was read back */
	struct opt kib_s;        /* sync_speed_min as read back */
	struct opt wanted_kib_s; /* unknown: none */
	struct opt stripe_pages; /* stripe_cache_size as read back; unknown: this level has none */
	bool paused;             /* we interrupted a check, and it rests */
	struct opt undo_s;       /* from the last answer: until the NAS undoes it by itself */
	int64_t since_ms;        /* boot time at which it was first moved; 0 while it is not */
	char trouble[240];       /* a sentence; "" : none */
};
/* `array` may be one that was never mentioned. */
void floor_lever_state(const struct floor_lever *lever, const char *array, struct floor_state *ret);

/* Calls `each` for every array that is moved, or was ordered about; for a NAS without such a one
 * once, with `array` "". */
void floor_levers_each(const struct floor_levers *levers,
	void (*each)(
		void *data, const char *nas, const char *array, const struct floor_state *state),
	void *data);

/* The child `pid` is reaped. True when it was one of these. NULL is allowed. */
bool floor_levers_reaped(struct floor_levers *levers, int pid);

#endif
