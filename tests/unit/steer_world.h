// SPDX-License-Identifier: MIT
/* One array and its controller, for the controller's tests: reading by reading, as the test says.
 */
#ifndef RG_TESTS_UNIT_STEER_WORLD_H
#define RG_TESTS_UNIT_STEER_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/steer.h"

#define MBS INT64_C(1000000)

/* An array of 20 MB/s undisturbed, with a lever that acts within 0.5 s and may rest for 2 min. */
static struct {
	struct steer steer;
	struct steer_input in;
	struct steer_output out;
	struct array_facts array;
	int64_t rate, write; /* bytes/s of the next readings */
	bool stuck;          /* the lever does not answer */
} w;

static inline int fresh(void **state)
{
	(void)state;
	memset(&w, 0, sizeof(w));
	strcpy(w.array.name, "md2");
	w.array.operation = MD_OP_RECOVERY;
	w.array.sync_state = MD_SYNC_RUNNING;
	w.array.baseline = OPT(20 * MBS);
	w.array.progress_ppm = OPT(100000);
	w.in.now_ms = 1000000;
	w.in.array = &w.array;
	w.in.protects = true;
	w.in.rule = (struct steer_rule){.protect_ppm = 800000, .over_ms = 600000};
	w.in.jobs = 1;
	w.in.only_ours = true;
	w.in.range = (struct steer_range){.delay_ms = 500, .rest_max_ms = 120000};
	w.rate = 20 * MBS;
	return 0;
}

/* A step without a reading, `ms` later. */
static inline void wait(int64_t ms)
{
	enum steer_path path = w.out.path;
	int64_t rate = w.out.rate;

	w.in.now_ms += ms;
	steer_step(&w.steer, &w.in, &w.out);
	w.in.fresh = false;
	if (w.stuck) {
		w.in.applied = false;
		w.in.applied_ms = 0;
	} else if (w.out.path != path || w.out.rate != rate || !w.in.applied) {
		w.in.applied = true;
		w.in.applied_ms = w.in.now_ms;
	}
}

/* A step with a reading, `ms` later. */
static inline void look_after(int64_t ms)
{
	w.array.rate = OPT(w.rate);
	w.array.client_write = OPT(w.write);
	w.in.fresh = true;
	w.in.read_at_ms = w.in.now_ms + ms;
	wait(ms);
}

static inline void look(int n)
{
	while (n--)
		look_after(2000);
}

/* Looks until the path is this, for 10 min at most. */
static inline void look_until(enum steer_path path)
{
	int i;

	for (i = 0; i < 300 && w.out.path != path; i++)
		look(1);
	assert_int_equal(w.out.path, path);
}

/* What a rebuild that yields to writers does: they write at full speed where they may. */
static inline void look_yielding(int n)
{
	while (n--) {
		bool open = w.out.path == STEER_OPEN;

		w.rate = open ? 2 * MBS : 20 * MBS;
		w.write = open ? 50 * MBS : 0;
		look(1);
	}
}

#endif
