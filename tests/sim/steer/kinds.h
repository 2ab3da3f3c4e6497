// SPDX-License-Identifier: MIT
/* Families of arrays and writers, and levers. B: disks without seeks, S: disks that seek, both as
 * measured on an md RAID 6 of five disks of 20 MB/s under kernel 6.1. */
#ifndef RG_TESTS_SIM_STEER_KINDS_H
#define RG_TESTS_SIM_STEER_KINDS_H

#include "plant.h"

enum { B_QD1, B_BUFFERED, S_QD1, S_SYNC, S_BUFFERED, S_CACHE, FULLY, NEVER, SLOW, N_KINDS };

static const struct plant_kind kinds[N_KINDS] = {
	[B_QD1] = {"B QD1",
		{{0, 1}, {1, .95}, {2, .93}, {4, .87}, {8, .75}, {12, .64}, {16, .56}, {24, .37},
			{27.6, .15}},
		20, .5, .03, .8, 0, 0, 0},
	[B_BUFFERED] = {"B buffered",
		{{0, 1}, {1, .95}, {2, .93}, {4, .87}, {8, .75}, {16, .56}, {24, .37}, {40, .15},
			{54.6, .04}},
		20, .5, .03, .8, 200, 110, 0},
	[S_QD1] = {"S QD1",
		{{0, 1}, {.5, .93}, {1, .79}, {2, .65}, {3.5, .63}, {4, .56}, {8, .47},
			{17.7, .09}},
		17.5, .5, .07, 1.7, 0, 0, 0},
	[S_SYNC] = {"S sync x4",
		{{0, 1}, {.5, .93}, {1, .79}, {2, .65}, {3.5, .63}, {4, .56}, {8, .47}, {17.7, .09},
			{29.6, .02}},
		17.5, .5, .07, 1.7, 0, 0, 0},
	[S_BUFFERED] = {"S buffered",
		{{0, 1}, {1, .91}, {4, .84}, {6, .83}, {9, .72}, {20, .45}, {56, .1}}, 17.5, .5,
		.07, 4, 150, 110, 0},
	[S_CACHE] = {"S big cache",
		{{0, 1}, {1, .91}, {4, .84}, {6, .83}, {9, .72}, {20, .45}, {56, .1}}, 17.5, .5,
		.07, 4, 3400, 110, 0},
	[FULLY] = {"yields fully", {{0, 1}, {.3, .02}, {60, .02}}, 37, .5, .05, 2, 100, 110, 0},
	[NEVER] = {"never yields", {{0, 1}, {60, .97}}, 37, .5, .05, 2, 100, 110, 0},
	[SLOW] = {"slow to return", {{0, 1}, {6, .87}, {12, .75}, {24, .58}, {40, .43}}, 37, .5,
		.05, 480, 100, 110, 0},
};

struct lever_kind {
	const char *name;
	int64_t over;
	struct plant_lever lever;
};

enum { QMP, FLEECED, PBS, QMP_60S, FLEECED_60S, PBS_60S, N_LEVERS };

static const struct lever_kind levers[N_LEVERS] = {
	[QMP] = {"qmp 10min", 600000, {{500, 0, 15000, 0}, 300, 300, false, false}},
	[FLEECED] = {"fleeced 10min", 600000, {{500, 0, 120000, 0}, 300, 300, false, false}},
	[PBS] = {"pbs 10min", 600000, {{6000, 65536, 60000, 0}, 1000, 4000, false, true}},
	[QMP_60S] = {"qmp 60s", 60000, {{500, 0, 15000, 0}, 300, 300, false, false}},
	[FLEECED_60S] = {"fleeced 60s", 60000, {{500, 0, 120000, 0}, 300, 300, false, false}},
	[PBS_60S] = {"pbs 60s", 60000, {{6000, 65536, 60000, 0}, 1000, 4000, false, true}},
};

#endif
