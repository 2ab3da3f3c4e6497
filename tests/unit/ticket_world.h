// SPDX-License-Identifier: MIT
/* A world for the tests of tickets: two NAS that do what md2_does() says, a log of what was told.
 */
#ifndef TESTS_UNIT_TICKET_WORLD_H
#define TESTS_UNIT_TICKET_WORLD_H

#include "core/ticket.h"
#include "core_policy.h"

#define UTC0 INT64_C(1796000000000)
#define LOG_MAX 64

struct told {
	enum outcome_kind kind;
	int64_t ticket;
	enum ticket_state before, after;
	enum verdict act;
	enum reason_code code;
	char why[160];
};

static struct made_policy made;
static struct tickets tickets;
static struct inputs scratch;
static struct nas_facts facts;
static struct opt readers, predicted;
static bool lever;
static struct override overrides[2];
static size_t n_overrides;
static struct world world;
static struct ticket_run run;
static struct told told[LOG_MAX];
static size_t n_told;
static int64_t next_decision;

static inline void look(void *data, struct inputs *ret)
{
	const char *storage = ret->request.storage;

	(void)data;
	if (strcmp(storage, "unmapped") == 0)
		return;
	snprintf(ret->mapping.nas, sizeof(ret->mapping.nas), "%s",
		strcmp(storage, "other") == 0 ? "nas2" : "nas1");
	ret->facts = facts;
	ret->readers = readers;
	ret->predicted_ms = predicted;
	ret->lever = lever;
}

static inline size_t in_force(void *data, const struct moment *now, struct override *ret)
{
	(void)data;
	(void)now;
	memcpy(ret, overrides, n_overrides * sizeof(ret[0]));
	return n_overrides;
}

static inline int64_t emit(void *data, const struct outcome *outcome)
{
	struct told *entry = &told[n_told % LOG_MAX];

	assert_ptr_equal(data, &world);
	assert_int_equal(outcome->subject->id, outcome->ticket);
	assert_int_equal(outcome->subject->state, outcome->after);
	if (outcome->kind == OUTCOME_UNCHANGED)
		return 0;
	*entry = (struct told){outcome->kind, outcome->ticket, outcome->before, outcome->after,
		VERDICT_NONE, REASON_NONE, ""};
	if (outcome->kind == OUTCOME_STATE) {
		assert_null(outcome->decision);
		assert_true(strlen(outcome->why) > 5);
		snprintf(entry->why, sizeof(entry->why), "%s", outcome->why);
	} else {
		assert_ptr_equal(outcome->inputs, &scratch);
		entry->act = outcome->decision->act;
		entry->code = outcome->decision->reasons[0].code;
	}
	n_told++;
	return outcome->kind == OUTCOME_DECIDED ? ++next_decision : 0;
}

static inline void md2_does(enum md_operation operation)
{
	facts.arrays[0] = made_array("md2", operation);
	facts.n_arrays = 1;
	facts.sensor = SENSOR_OK;
	facts.blind_since_ms = OPT_NONE;
}

static inline int set_up(void **state)
{
	(void)state;
	made_policy(&made);
	memset(&tickets, 0, sizeof(tickets));
	memset(&facts, 0, sizeof(facts));
	md2_does(MD_OP_IDLE);
	n_overrides = 0;
	readers = predicted = OPT_NONE;
	lever = false;
	n_told = 0;
	next_decision = 0;
	world = (struct world){NULL, &made.policy, look, in_force};
	run = (struct ticket_run){&tickets, &world, {HOUR, UTC0, 0}, &scratch, emit, &world};
	return 0;
}

static inline void later(int64_t ms)
{
	run.now.boot_ms += ms;
	run.now.utc_ms += ms;
}

static inline struct ticket asks(enum client client, const char *node, int64_t pid)
{
	struct ticket ask = {.worker = {.pid = pid, .start_ticks = 7, .boot_id = "boot"}};

	ask.request.client = client;
	ask.request.phase = PHASE_JOB_INIT;
	snprintf(ask.request.storage, sizeof(ask.request.storage), "backup");
	snprintf(ask.request.node, sizeof(ask.request.node), "%s", node);
	return ask;
}

static inline int64_t ask_as(enum client client, const char *node, int64_t pid)
{
	struct ticket ask = asks(client, node, pid);

	return ticket_ask(&run, &ask)->id;
}

static inline enum ticket_state state_of(int64_t id)
{
	struct ticket *ticket = ticket_find(&tickets, id);

	return ticket ? ticket->state : TICKET_NONE;
}

static inline const struct told *last_told(void)
{
	assert_true(n_told > 0);
	return &told[(n_told - 1) % LOG_MAX];
}

static inline void tick_after(int64_t ms)
{
	later(ms);
	ticket_tick(&run, NULL);
}

#endif
