// SPDX-License-Identifier: MIT
/* Lever 1: what the keepers of running guests tell, and what they are told. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/desk.h"
#include "gate/levers_impl.h"

#define AGAIN_FREE_MS (2 * MS_SECOND)
#define AGAIN_SET_MS MS_SECOND
#define AGAIN_LEAST_MS 500
/* Before it was measured a keeper that asks every second is taken to act after so long. */
#define DELAY_MS (2 * MS_SECOND)
#define DELAY_LEAST_MS 500
#define ACTS_MS 200               /* from our answer until QEMU has it */
#define RATE_LEAST INT64_C(65536) /* of a guest: less makes no sense */
/* Shipped max_pause of a guest's blocks, and where its writes go to a fleecing image. */
#define PAUSE_SHIPPED_MS (15 * MS_SECOND)
#define PAUSE_FLEECING_MS (2 * MS_MINUTE)
/* A keeper that freed its guest has told so by then; so has a guard whose keeper hung. */
#define LOST_MS (KEEPER_FREE_MS + 10 * MS_SECOND)
/* One that was lost is shown until its guest is put back, but no longer. */
#define LOST_SHOWN_MS MS_DAY

void keeper_target(const struct keeper *keeper, char ret[160])
{
	snprintf(ret, 160, "%s/%u", keeper->said.node, keeper->said.guest);
}

int64_t keeper_pause_ms(const struct keep_ask *said, struct opt max_pause_ms)
{
	if (!max_pause_ms.known)
		return said->fleecing ? PAUSE_FLEECING_MS : PAUSE_SHIPPED_MS;
	return keep_pause_within(max_pause_ms.v, said->fleecing);
}

bool keeper_alive(const struct levers *levers, const struct keeper *keeper)
{
	return keeper->said_ms && levers->now.boot_ms - keeper->said_ms < KEEPER_SILENT_MS;
}

struct keeper *keeper_of(struct levers *levers, int64_t ticket, uint32_t guest)
{
	size_t i;

	for (i = 0; i < LEVERS_KEEPERS; i++)
		if (levers->keepers[i].said_ms && levers->keepers[i].said.ticket == ticket &&
			levers->keepers[i].said.guest == guest)
			return &levers->keepers[i];
	return NULL;
}

static bool same(const struct keep_ask *a, const struct keep_ask *b)
{
	return a->guest == b->guest && strcmp(a->node, b->node) == 0;
}

/* The keeper of this guest, also one whose ticket has another number by now. */
static struct keeper *find(struct levers *levers, const struct keep_ask *ask)
{
	struct keeper *empty = NULL;
	size_t i;

	for (i = 0; i < LEVERS_KEEPERS; i++) {
		struct keeper *keeper = &levers->keepers[i];

		if (keeper->said_ms && same(&keeper->said, ask))
			return keeper;
		if (!keeper->said_ms && !empty)
			empty = keeper;
	}
	if (empty) {
		memset(empty, 0, sizeof(*empty));
		empty->path = STEER_FREE;
	}
	return empty;
}

int64_t keeper_delay(const struct keeper *keeper)
{
	size_t i, n = keeper->n_delays < KEEPER_DELAYS ? keeper->n_delays : KEEPER_DELAYS;
	int64_t longest = n ? DELAY_LEAST_MS : DELAY_MS;

	for (i = 0; i < n; i++)
		if (keeper->delays[i] > longest)
			longest = keeper->delays[i];
	return longest;
}

/* It tells that what it was told last is in force. It asks again a second after it was told: later,
 * and it took that long to set it. */
static void confirmed(struct keeper *keeper, int64_t now_ms)
{
	int64_t acted_ms = keeper->told_ms + ACTS_MS;

	if (now_ms - keeper->told_ms > DELAY_MS)
		acted_ms = now_ms;
	if (keeper->ordered_ms && keeper->told_ms)
		keeper->delays[keeper->n_delays++ % KEEPER_DELAYS] =
			(int32_t)(acted_ms - keeper->ordered_ms);
	keeper->applied_ms = now_ms;
}

static bool is_set(enum steer_path path)
{
	return path == STEER_LIMIT || path == STEER_REST;
}

static bool record(struct levers *levers, const struct keeper *keeper, enum steer_path path,
	int64_t rate, const char *why)
{
	char target[160], after[64];

	keeper_target(keeper, target);
	return levers_record(levers->gate, keeper->said.ticket, "block-jobs", target, "free",
		levers_path_text(path, rate, after), why, path == STEER_FREE);
}

/* It has said its last word, or is silent for good. */
static void forget(struct levers *levers, struct keeper *keeper, const char *why)
{
	char target[160];

	keeper_target(keeper, target);
	if (keeper->since_ms || levers_recorded_moved(levers, "block-jobs", target))
		record(levers, keeper, STEER_FREE, 0, why);
	keeper->said_ms = 0;
}

/* A silent keeper either freed its guest and could not tell, or is dead together with its guard. */
static void sweep(struct levers *levers, struct keeper *keeper)
{
	int64_t now = levers->now.boot_ms, silent_ms = now - keeper->said_ms;
	bool slows = keeper->since_ms && (is_set(keeper->path) || is_set(keeper->said.path));

	if (silent_ms <= KEEPER_FREE_MS)
		return;
	if (!slows)
		forget(levers, keeper, "its keeper is silent, and had set nothing");
	else if (keeper_is_over(levers, keeper))
		forget(levers, keeper, "its keeper is silent, and the backup of its guest is over");
	else if (keeper->lost_ms && now - keeper->lost_ms > LOST_SHOWN_MS)
		keeper->said_ms = 0; /* the record goes on saying that it was not put back */
	else if (!keeper->lost_ms && silent_ms > LOST_MS && now - levers->awake_ms > LOST_MS)
		keeper_lose(levers, keeper);
}

void keepers_sweep(struct levers *levers)
{
	int64_t now = levers->now.boot_ms;
	size_t i;

	/* While this machine slept nobody could ask. */
	if (!levers->swept_ms || now - levers->swept_ms > KEEPER_FREE_MS)
		levers->awake_ms = now;
	levers->swept_ms = now;
	for (i = 0; i < LEVERS_KEEPERS; i++)
		if (levers->keepers[i].said_ms && !levers->keepers[i].stuck)
			sweep(levers, &levers->keepers[i]);
}

static void tell_trouble(struct keeper *keeper)
{
	char target[160];

	if (strcmp(keeper->said.trouble, keeper->told) == 0)
		return;
	keeper_target(keeper, target);
	if (keeper->said.trouble[0])
		log_warning("The keeper of %s cannot do its work: %s ticket=%lld", target,
			keeper->said.trouble, (long long)keeper->said.ticket);
	else
		log_notice("The keeper of %s works again ticket=%lld", target,
			(long long)keeper->said.ticket);
	snprintf(keeper->told, sizeof(keeper->told), "%s", keeper->said.trouble);
}

/* Takes what it tells; a ticket that this gate does not know is found by its worker. */
static void take(struct levers *levers, struct keeper *keeper, const struct keep_ask *ask)
{
	const struct tickets *tickets = desk_tickets(levers->gate->desk);
	size_t i;

	keeper->said = *ask;
	keeper->said_ms = levers->now.boot_ms;
	keeper->stuck = ask->ending && is_set(ask->path);
	keeper->lost_ms = 0;
	for (i = 0; ask->worker.pid && i < tickets->n; i++)
		if (tickets->list[i].worker.pid == ask->worker.pid &&
			tickets->list[i].worker.start_ticks == ask->worker.start_ticks &&
			strcmp(tickets->list[i].request.node, ask->node) == 0)
			keeper->said.ticket = tickets->list[i].id;
	if (is_set(ask->path) && !keeper->since_ms)
		keeper->since_ms = levers->now.boot_ms; /* set by a gate before this one */
	if (ask->total.known && levers->gate->ages)
		ages_reads(levers->gate->ages, keeper->said.ticket, ask->storage, ask->guest,
			ask->total.v);
	tell_trouble(keeper);
}

static bool in_force(const struct keeper *keeper)
{
	const struct keep_ask *said = &keeper->said;

	if (!is_set(keeper->path))
		return !is_set(said->path);
	return said->path == keeper->path &&
		(keeper->path != STEER_LIMIT || said->rate == keeper->rate);
}

static const struct lever_job *job_of(const struct levers *levers, const struct keeper *keeper)
{
	size_t i;

	for (i = 0; i < levers->n_jobs; i++)
		if (levers->jobs[i].ticket && levers->jobs[i].ticket == keeper->said.ticket)
			return &levers->jobs[i];
	return NULL;
}

static void fill_answer(struct levers *levers, const struct keeper *keeper,
	const struct steered *steered, struct keep_answer *ret)
{
	int64_t left;

	ret->path = keeper->path;
	ret->rate = keeper->path == STEER_LIMIT ? keeper->rate : 0;
	ret->again_ms = steered && keeper->path != STEER_FREE ? AGAIN_SET_MS : AGAIN_FREE_MS;
	ret->max_pause_ms =
		keeper_pause_ms(&keeper->said, steered ? steered->max_pause_ms : OPT_NONE);
	if (!steered || !steered->out.again_ms.known)
		return;
	left = steered->out.again_ms.v - levers->now.boot_ms + 20;
	if (left < ret->again_ms)
		ret->again_ms = left < AGAIN_LEAST_MS ? AGAIN_LEAST_MS : left;
}

/* The change is in the record before the keeper hears of it. */
static void set(struct levers *levers, struct keeper *keeper, enum steer_path path, int64_t rate,
	const char *why)
{
	bool was = keeper->since_ms != 0;

	if (path == keeper->path && (path != STEER_LIMIT || rate == keeper->rate))
		return;
	if ((is_set(path) || was) && !record(levers, keeper, path, rate, why) && is_set(path))
		return;
	keeper->path = path;
	keeper->rate = rate;
	keeper->applied_ms = 0;
	keeper->told_ms = levers->now.boot_ms;
	if (is_set(path) && !was)
		keeper->since_ms = levers->now.boot_ms;
	if (path == STEER_FREE)
		keeper->since_ms = 0;
}

/* `before_ms`: when it asked last before this. */
static void answer(
	struct levers *levers, struct keeper *keeper, int64_t before_ms, struct keep_answer *ret)
{
	const struct lever_job *job = job_of(levers, keeper);
	struct job_path path = {.path = STEER_FREE, .units = 1};
	int64_t rate = 0;

	if (job && job->by == BY_KEEPER)
		path = levers_path(levers, job->arrays);
	if (path.path == STEER_LIMIT) {
		rate = path.rate / path.units;
		rate = rate > RATE_LEAST ? rate : RATE_LEAST;
	}
	snprintf(ret->reason, sizeof(ret->reason), "%s",
		path.steered ? path.steered->out.text
			     : "nothing that this guest writes to is to be protected now");
	/* Set by a gate before this one: it is to be taken back, in the record too. */
	if (path.path == STEER_FREE && keeper->path == STEER_FREE && keeper->since_ms)
		keeper->path = STEER_OPEN;
	set(levers, keeper, path.path, rate, ret->reason);
	/* What was chosen before it asked last does not say how late it is. */
	if (keeper->told_ms == levers->now.boot_ms)
		keeper->ordered_ms = path.steered && path.steered->ordered_ms >= before_ms
			? path.steered->ordered_ms
			: 0;
	if (!keeper->applied_ms && in_force(keeper))
		confirmed(keeper, levers->now.boot_ms);
	fill_answer(levers, keeper, path.steered, ret);
}

void levers_keep(struct levers *levers, const struct keep_ask *asked, struct keep_answer *ret)
{
	struct keep_ask ask = *asked;
	struct keeper *keeper;
	int64_t before_ms;
	bool news;

	*ret = (struct keep_answer){.path = STEER_FREE, .again_ms = AGAIN_FREE_MS};
	ret->max_pause_ms = keeper_pause_ms(&ask, OPT_NONE);
	levers->now = levers->gate->now = clock_now();
	if (!ask.node[0])
		snprintf(ask.node, sizeof(ask.node), "%s", levers->gate->settings->node);
	keeper = find(levers, &ask);
	if (!keeper || levers->closing) {
		snprintf(ret->reason, sizeof(ret->reason), "%s",
			keeper ? "the gate stops" : "there are too many keepers");
		return;
	}
	before_ms = keeper->said_ms;
	news = !keeper->said_ms || keeper->said.n_jobs != ask.n_jobs ||
		keeper->said.ticket != ask.ticket;
	take(levers, keeper, &ask);
	if (keeper->stuck) {
		snprintf(ret->reason, sizeof(ret->reason), "it is still to be put back");
		levers_changed(levers);
		return;
	}
	if (ask.ending) {
		snprintf(ret->reason, sizeof(ret->reason), "the backup of this guest is done");
		forget(levers, keeper, "this guest is freed, and has no keeper any more");
		levers_changed(levers);
		return;
	}
	if (news)
		levers_run(levers);
	answer(levers, keeper, before_ms ? before_ms : levers->now.boot_ms, ret);
}
