// SPDX-License-Identifier: MIT
#include "keeping.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

enum mode { MODE_OPEN = 1, MODE_LIMITS, MODE_PAUSES };

void keeping_start(struct keeping *keeping, int64_t now_ms)
{
	*keeping =
		(struct keeping){.started_ms = now_ms, .answered_ms = now_ms, .looked_ms = now_ms};
}

/* keeping->n where there is none. */
static size_t index_of(const struct keeping *keeping, const char *device)
{
	size_t i;

	for (i = 0; i < keeping->n; i++) {
		if (strcmp(keeping->jobs[i].device, device) == 0)
			break;
	}
	return i;
}

static struct keeping_job *find(struct keeping *keeping, const char *device)
{
	size_t i = index_of(keeping, device);

	return i < keeping->n ? &keeping->jobs[i] : NULL;
}

static bool is_listed(const struct qmp_state *state, const char *device)
{
	size_t i;

	for (i = 0; i < state->n; i++) {
		if (strcmp(state->jobs[i].device, device) == 0)
			return true;
	}
	return false;
}

static bool settable(const struct qmp_job *job)
{
	return qmp_job_active(job) || strcmp(job->status, "created") == 0;
}

static bool can_be_set(const struct keeping *keeping, const char *device)
{
	size_t i;

	for (i = 0; i < keeping->last.n; i++) {
		if (strcmp(keeping->last.jobs[i].device, device) == 0)
			return settable(&keeping->last.jobs[i]);
	}
	return false;
}

static int64_t n_active(const struct keeping *keeping)
{
	int64_t n = 0;
	size_t i;

	for (i = 0; i < keeping->last.n; i++)
		n += qmp_job_active(&keeping->last.jobs[i]);
	return n;
}

/* A job that is gone is forgotten: one of its name that comes later is another backup's. */
static void forget_gone(struct keeping *keeping)
{
	size_t i, kept = 0;

	for (i = 0; i < keeping->n; i++) {
		if (is_listed(&keeping->last, keeping->jobs[i].device))
			keeping->jobs[kept++] = keeping->jobs[i];
	}
	keeping->n = kept;
}

/* The longest pause; 0 where there shall be none. */
static int64_t cap_ms(const struct keeping *keeping)
{
	return keep_pause_within(keeping->answer.max_pause_ms, keeping->fleecing);
}

/* Whether the gate wants a pause, and one is possible. */
static bool shall_pause(const struct keeping *keeping)
{
	return !keeping->ending && keeping->answer.path == STEER_REST && !keeping->cannot_pause &&
		cap_ms(keeping) > 0;
}

/* *ret_rate: of all jobs together. */
static enum mode mode(const struct keeping *keeping, int64_t *ret_rate)
{
	*ret_rate = 0;
	if (keeping->ending)
		return MODE_OPEN;
	if (shall_pause(keeping))
		return keeping->breath_ms.known ? MODE_OPEN : MODE_PAUSES;
	if (keeping->answer.path == STEER_LIMIT)
		*ret_rate = keeping->answer.rate;
	else if (keeping->answer.path == STEER_REST)
		*ret_rate = KEEPING_LEAST_RATE;
	return *ret_rate ? MODE_LIMITS : MODE_OPEN;
}

static bool is_open(const struct keeping *keeping)
{
	int64_t rate;

	return mode(keeping, &rate) == MODE_OPEN;
}

static void take_job(struct keeping *keeping, const struct qmp_job *job, int64_t offset)
{
	struct keeping_job *own = find(keeping, job->device);

	if (!own) {
		if (keeping->n == QMP_MAX_JOBS)
			return;
		own = &keeping->jobs[keeping->n++];
		*own = (struct keeping_job){.offset = offset};
		memcpy(own->device, job->device, sizeof(own->device));
	}
	if (job->offset > own->offset)
		keeping->moved += job->offset - own->offset;
	own->offset = job->offset;
	own->paused = own->paused && job->paused;
	if (is_open(keeping))
		own->touched = own->touched && (own->paused || job->speed != own->own_speed);
	if (!own->touched)
		own->own_speed = job->speed;
}

/* What all jobs will have read. A job knows its length when it begins, and is listed until the last
 * one is done: with all of them there and begun it is known, and stays so. */
static void add_up(struct keeping *keeping, const struct qmp_state *state)
{
	int64_t total = 0, len;
	size_t i;

	if (!state->n || state->n < keeping->n_most)
		return;
	keeping->n_most = state->n;
	keeping->total = OPT_NONE;
	for (i = 0; i < state->n; i++) {
		const struct qmp_job *job = &state->jobs[i];

		len = job->len > job->offset ? job->len : job->offset;
		if (strcmp(job->status, "created") == 0 || len < 0 || total > INT64_MAX - len)
			return;
		total += len;
	}
	keeping->total = OPT(total);
}

static void take(struct keeping *keeping, const struct qmp_state *state)
{
	bool first = !keeping->seen;
	size_t i;

	add_up(keeping, state);
	keeping->last = *state;
	forget_gone(keeping);
	for (i = 0; i < state->n; i++)
		take_job(keeping, &state->jobs[i], first ? state->jobs[i].offset : 0);
}

void keeping_looked(struct keeping *keeping, const struct qmp_state *state, int64_t now_ms)
{
	take(keeping, state);
	keeping->looked_ms = now_ms;
	keeping->look_error[0] = '\0';
	if (state->n && !keeping->mark_ms.known) {
		keeping->mark_ms = OPT(now_ms);
		keeping->moved = 0;
	}
	keeping->seen = keeping->seen || state->n;
	keeping->gone = state->n || !keeping->seen ? 0 : keeping->gone + 1;
}

void keeping_not_looked(struct keeping *keeping, const struct err *why, int64_t now_ms)
{
	const struct qmp_state none = {0};

	if (why->kind == ERR_GONE) {
		keeping_looked(keeping, &none, now_ms);
		return;
	}
	keeping->looked_ms = now_ms;
	snprintf(keeping->look_error, sizeof(keeping->look_error), "%.199s", why->text);
}

/* Bytes/s since the gate was told last; as told then where nobody has looked since. */
static struct opt pace(const struct keeping *keeping)
{
	int64_t span_ms = keeping->looked_ms - keeping->mark_ms.v;

	if (!keeping->mark_ms.known || span_ms <= 0)
		return keeping->pace;
	if (keeping->moved > INT64_MAX / MS_SECOND)
		return OPT_NONE;
	return OPT(keeping->moved * MS_SECOND / span_ms);
}

void keeping_answered(struct keeping *keeping, const struct keep_answer *answer, int64_t now_ms)
{
	keeping->answer = *answer;
	keeping->answered_ms = now_ms;
	keeping->pace = pace(keeping);
	if (!keeping->mark_ms.known || keeping->looked_ms == keeping->mark_ms.v)
		return;
	keeping->mark_ms = OPT(keeping->looked_ms);
	keeping->moved = 0;
}

void keeping_tick(struct keeping *keeping, int64_t now_ms)
{
	if (keeping->breath_ms.known && now_ms >= keeping->breath_ms.v)
		keeping->breath_ms = OPT_NONE;
	if (!shall_pause(keeping) || !n_active(keeping)) {
		keeping->piece_ms = OPT_NONE;
	} else if (!keeping->breath_ms.known && !keeping->piece_ms.known) {
		keeping->piece_ms = OPT(now_ms);
	} else if (keeping->piece_ms.known && now_ms - keeping->piece_ms.v >= cap_ms(keeping)) {
		keeping->breath_ms = OPT(now_ms + (now_ms - keeping->piece_ms.v));
		keeping->piece_ms = OPT_NONE;
	}
}

/* Never above what the job had before us, 0 being no limit. */
static int64_t at_most(int64_t rate, int64_t own_speed)
{
	return own_speed && own_speed < rate ? own_speed : rate;
}

static bool want(const struct keeping *keeping, const struct qmp_job *job, struct qmp_order *ret)
{
	size_t i = index_of(keeping, job->device);
	const struct keeping_job *own = &keeping->jobs[i];
	int64_t rate, part;
	enum mode now = mode(keeping, &rate);

	if (i == keeping->n || !settable(job) || (now == MODE_OPEN && !own->touched))
		return false;
	/* A backup's jobs run one after another, and so each may have all of it; others share it.
	 */
	part = n_active(keeping) > 1 ? rate / n_active(keeping) : rate;
	/* A pause that is not ours is nobody's to end but its maker's. */
	*ret = (struct qmp_order){.pause = job->paused && !own->paused, .speed = own->own_speed};
	if (now == MODE_LIMITS) {
		ret->speed = at_most(part ? part : 1, own->own_speed);
	} else if (now == MODE_PAUSES && qmp_job_active(job)) {
		ret->pause = true;
		ret->speed = job->speed;
	} else if (now == MODE_PAUSES) {
		/* It may begin before anybody looks again. */
		ret->speed = at_most(KEEPING_LEAST_RATE, own->own_speed);
	}
	return true;
}

bool keeping_want(void *data, const struct qmp_job *job, struct qmp_order *ret)
{
	return want(data, job, ret);
}

static bool job_differs(const struct qmp_job *job, const struct qmp_order *order)
{
	return job->speed != order->speed || (qmp_job_active(job) && job->paused != order->pause);
}

bool keeping_differs(struct keeping *keeping)
{
	struct keeping_job *own;
	struct qmp_order order;
	bool any = false;
	size_t i;

	for (i = 0; i < keeping->last.n; i++) {
		const struct qmp_job *job = &keeping->last.jobs[i];

		if (!want(keeping, job, &order) || !job_differs(job, &order))
			continue;
		own = find(keeping, job->device);
		own->touched = true;
		own->paused = own->paused || (order.pause && !job->paused && qmp_job_active(job));
		any = true;
	}
	return any;
}

void keeping_set(struct keeping *keeping, const struct qmp_state *state, const struct err *why)
{
	take(keeping, state);
	keeping->set_error[0] = '\0';
	if (why)
		keeping_not_set(keeping, why);
}

void keeping_not_set(struct keeping *keeping, const struct err *why)
{
	int64_t rate;

	if (why->kind == ERR_DENIED && mode(keeping, &rate) == MODE_PAUSES)
		keeping->cannot_pause = true;
	snprintf(keeping->set_error, sizeof(keeping->set_error), "%.199s", why->text);
}

bool keeping_touches(const struct keeping *keeping)
{
	size_t i;

	for (i = 0; i < keeping->n; i++) {
		if (keeping->jobs[i].touched && can_be_set(keeping, keeping->jobs[i].device))
			return true;
	}
	return false;
}

struct opt keeping_paused_until(const struct keeping *keeping, int64_t now_ms)
{
	int64_t end_ms = keeping->piece_ms.v + cap_ms(keeping);
	size_t i;

	for (i = 0; i < keeping->n; i++) {
		if (keeping->jobs[i].paused)
			return OPT(keeping->piece_ms.known && end_ms > now_ms ? end_ms : now_ms);
	}
	return OPT_NONE;
}

void keeping_put_back(struct keeping *keeping)
{
	keeping->ending = true;
}

/* Whether all jobs are as they shall be, by the last reading. */
static bool as_wanted(const struct keeping *keeping)
{
	struct qmp_order order;
	size_t i;

	for (i = 0; i < keeping->last.n; i++) {
		if (want(keeping, &keeping->last.jobs[i], &order) &&
			job_differs(&keeping->last.jobs[i], &order))
			return false;
	}
	return keeping->last.n > 0;
}

/* The active jobs' speeds together; 0 where one has none. */
static int64_t speed_in_all(const struct keeping *keeping)
{
	int64_t total = 0;
	size_t i;

	for (i = 0; i < keeping->last.n; i++) {
		const struct qmp_job *job = &keeping->last.jobs[i];

		if (!qmp_job_active(job))
			continue;
		if (!job->speed || job->speed > INT64_MAX - total)
			return 0;
		total += job->speed;
	}
	return total;
}

static bool all_paused(const struct keeping *keeping)
{
	int64_t n = 0;
	size_t i;

	for (i = 0; i < keeping->last.n; i++)
		n += qmp_job_active(&keeping->last.jobs[i]) && keeping->last.jobs[i].paused;
	return n && n == n_active(keeping);
}

/* What is in force, as read back. */
static enum steer_path in_force(const struct keeping *keeping, int64_t *ret_rate)
{
	int64_t rate, total = speed_in_all(keeping);
	bool limits = mode(keeping, &rate) == MODE_LIMITS && as_wanted(keeping);

	*ret_rate = 0;
	if (all_paused(keeping) && keeping_touches(keeping))
		return STEER_REST;
	if (limits && keeping->answer.path == STEER_REST)
		return STEER_REST;
	if (limits || (total && keeping_touches(keeping))) {
		*ret_rate = limits ? rate : total;
		return STEER_LIMIT;
	}
	return keeping->answer.path == STEER_OPEN && !keeping->ending ? STEER_OPEN : STEER_FREE;
}

static void trouble(const struct keeping *keeping, char *ret, size_t size)
{
	char span[UNITS_TEXT_MAX];

	ret[0] = '\0';
	if (keeping->breath_ms.known && shall_pause(keeping))
		snprintf(ret, size,
			"a rest is longer than the longest pause of %s: the jobs go on for as long",
			span_show(cap_ms(keeping), span));
	else if (*keeping->set_error || *keeping->look_error)
		snprintf(ret, size, "%s",
			*keeping->set_error ? keeping->set_error : keeping->look_error);
}

void keeping_tell(const struct keeping *keeping, struct keep_ask *ret)
{
	ret->fleecing = keeping->fleecing;
	ret->path = in_force(keeping, &ret->rate);
	ret->n_jobs = (int64_t)keeping->last.n;
	ret->moved = pace(keeping);
	ret->total = keeping->total;
	trouble(keeping, ret->trouble, sizeof(ret->trouble));
}

enum keeping_end keeping_over(const struct keeping *keeping, int64_t now_ms)
{
	if (keeping->gone >= 2)
		return KEEPING_DONE;
	if (!keeping->seen && now_ms - keeping->started_ms >= KEEPING_WAIT_MS)
		return KEEPING_NEVER;
	if (now_ms - keeping->answered_ms >= KEEPING_LOST_MS)
		return KEEPING_LOST;
	return KEEPING_GOES_ON;
}

int64_t keeping_look_ms(const struct keeping *keeping)
{
	if (!keeping->seen || keeping->gone || *keeping->look_error || *keeping->set_error)
		return keeping->looked_ms + KEEPING_SOON_MS;
	if (keeping_touches(keeping) || !is_open(keeping))
		return keeping->looked_ms + KEEPING_LOOK_MS;
	return keeping->looked_ms + KEEPING_IDLE_MS;
}

int64_t keeping_wake_ms(const struct keeping *keeping)
{
	int64_t at = keeping->answered_ms + KEEPING_LOST_MS, other;

	other = keeping->started_ms + KEEPING_WAIT_MS;
	if (!keeping->seen && other < at)
		at = other;
	if (keeping->breath_ms.known && keeping->breath_ms.v < at)
		at = keeping->breath_ms.v;
	other = keeping->piece_ms.v + cap_ms(keeping);
	if (keeping->piece_ms.known && other < at)
		at = other;
	return at;
}
