// SPDX-License-Identifier: MIT
/*
 * What the files of a NAS's own levers share: floor_lever.c (life, what is wanted, what is told),
 * floor_step.c (which order comes next, what its answer means), floor_other.c (whose a move is:
 * other gates), floor_note.c (the record and the journal).
 */
#ifndef RG_GATE_FLOOR_LEVER_IMPL_H
#define RG_GATE_FLOOR_LEVER_IMPL_H

#include "conf/settings.h"
#include "gate/floor_lever.h"
#include "gate/order_link.h"
#include "gate/timer.h"

#define FLOOR_ARRAYS 32 /* of one NAS, at a time */
#define FLOOR_WHY_MAX 240

enum floor_order {
	ORDER_NONE = 0,
	ORDER_MOVED,
	ORDER_LOOK,
	ORDER_FLOOR,
	ORDER_FREE,
	ORDER_PAUSE,
	ORDER_RESUME,
};

struct floor_array {
	char name[MD_NAME_MAX]; /* "": free */
	/* What is wanted. */
	struct opt want_kib;
	bool want_stripe;
	bool want_pause;
	char why[FLOOR_WHY_MAX];       /* of the floor, */
	char pause_why[FLOOR_WHY_MAX]; /* of the pause */
	/* What stands there, by the last answer. */
	struct order_state now;
	int64_t looked_ms; /* 0: none yet */
	/* What we moved, or may have moved: set before the order leaves. */
	bool floor_moved, check_moved;
	bool floor_recorded, check_recorded;
	struct opt set_kib, set_pages; /* by the last floor that was carried out */
	int64_t own_pages;             /* of the cache before us, while set_pages is known */
	bool no_cache; /* the NAS refused a larger one: not asked for again while one is wanted */
	char no_cache_why[FLOOR_WHY_MAX];
	bool floor_set; /* there was one since it was moved */
	int64_t renew_ms, pause_renew_ms;
	int64_t since_ms;
	char before[96];            /* of the floor, when untouched */
	char check_before[24];      /* "check" or "repair" */
	enum floor_order refused;   /* by the NAS, and not carried out since; ORDER_NONE: none */
	int64_t retry_ms;           /* no order about the floor before */
	char other[ORDER_NAME_MAX]; /* the gate that has moved its floor; "": none that we met */
	int64_t resume_ms;          /* no order to go on before */
	char trouble[FLOOR_WHY_MAX];
};

struct floor_lever {
	struct gate *gate;
	struct nas_settings settings;
	struct order_link link;
	struct timer due;
	bool retired;              /* no longer set up: only put back */
	bool closing;              /* the gate ends */
	bool listed;               /* the NAS has told what is moved there */
	char name[ORDER_NAME_MAX]; /* of this gate, in its orders */
	bool nameless;             /* the nas-levers there knows no names: then none is said */
	bool nameless_said;        /* that is in the journal, and it knew none since */
	bool anyones;              /* what others have moved is put back too */
	enum floor_order doing;
	size_t at;                 /* the array that it is about */
	char said[ORDER_NAME_MAX]; /* the name that it was given under; "": without one */
	struct opt kib, pages;
	unsigned failures; /* in a row */
	bool patient;
	int64_t not_before_ms;
	int64_t used_ms; /* boot time of the last order */
	char trouble[FLOOR_WHY_MAX];
	struct floor_array arrays[FLOOR_ARRAYS];
};

struct floor_levers {
	struct gate *gate;
	size_t n;
	struct floor_lever *levers[2 * SETTINGS_MAX_NAS]; /* retired ones among them */
};

/* The entry of this array; NULL where there are too many. */
struct floor_array *floor_array_get(struct floor_lever *lever, const char *name);
const struct floor_array *floor_array_find(const struct floor_lever *lever, const char *name);

/* Whether a floor or a cache is wanted that the settings allow. */
bool floor_wanted(const struct floor_lever *lever, const struct floor_array *array);
bool floor_moved(const struct floor_lever *lever);

/* Gives the next order, if one is due and none under way, and sets the timer for the one after. */
void floor_step(struct floor_lever *lever);
/* For order_link: the answer to the order under way. */
void floor_answered(void *data, const char *line);

/* The name of the gate with these settings: the same for as long as node, machine and database are.
 */
void floor_name(const struct settings *settings, char ret[ORDER_NAME_MAX]);
/* The name to say with the order that lever->doing is; "": none. */
const char *floor_name_to_say(const struct floor_lever *lever);
/* Puts it before the order and keeps it as lever->said. */
bool floor_say_name(struct floor_lever *lever, char line[ORDER_LINE_MAX], struct err *err);
/* The order about this array was refused, because another gate has moved it. */
void floor_refused_for_other(struct floor_lever *lever, struct floor_array *array, int64_t now,
	const struct order_other *other);
/* What an answer about this array tells of other gates. */
void floor_look_for_other(struct floor_lever *lever, struct floor_array *array, int64_t now);
/* The NAS answers as one that knows no names. */
void floor_forget_name(struct floor_lever *lever);
/* It is asked anew what is moved there, and whether it knows names. */
void floor_list_again(struct floor_lever *lever);

/* Takes over what the record says a gate before this one left moved. */
bool floor_take_record(struct floor_levers *levers, struct err *err);
/* Into the record, before it is done. False where it must not be done. */
bool floor_record(const struct floor_lever *lever, struct floor_array *array);
bool floor_record_check(const struct floor_lever *lever, struct floor_array *array);
/* It is as it was before us: record, journal, and what is known of it. */
void floor_put_back(const struct floor_lever *lever, struct floor_array *array, const char *why);
void floor_check_put_back(
	const struct floor_lever *lever, struct floor_array *array, const char *why);
/* It is no longer ours, and another's to put back: as these, without a word in the journal. */
void floor_forget(const struct floor_lever *lever, struct floor_array *array, const char *why);
void floor_check_forget(
	const struct floor_lever *lever, struct floor_array *array, const char *why);

#endif
