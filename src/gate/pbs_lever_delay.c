// SPDX-License-Identifier: MIT
#include "gate/pbs_lever_delay.h"

#include "proxmox/pbs.h"

#define CALLS_MS MS_SECOND /* what the calls are taken for at least, until enough was seen */
#define SLACK_LEAST INT64_C(32768)

static void note(struct pbs_times *times, int64_t ms)
{
	if (ms < 0)
		ms = 0;
	times->ms[times->n++ % PBS_DELAYS] = (int32_t)(ms < PBS_LATE_MAX_MS ? ms : PBS_LATE_MAX_MS);
}

static int64_t longest(const struct pbs_times *times)
{
	size_t i, n = times->n < PBS_DELAYS ? times->n : PBS_DELAYS;
	int64_t most = 0;

	for (i = 0; i < n; i++)
		if (times->ms[i] > most)
			most = times->ms[i];
	return most;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* What may pass in a second of a rate that is in force: reads come in pieces. */
static int64_t most_of(int64_t rate)
{
	return rate + rate / 4 + SLACK_LEAST;
}

/* A rise that is to be told from the old rate leads to twice as much at least. */
static enum pbs_awaits awaits(int64_t from, int64_t to, struct opt moved)
{
	if (from <= 0 || to <= 0 || !moved.known)
		return PBS_AWAITS_NOTHING;
	if (to < from && moved.v > most_of(to))
		return PBS_AWAITS_FALL;
	if (to / 2 >= from && moved.v >= from / 4 * 3)
		return PBS_AWAITS_RISE;
	return PBS_AWAITS_NOTHING;
}

void pbs_delay_set(struct pbs_delay *delay, int64_t from, int64_t to, struct opt moved,
	int64_t ordered_ms, int64_t now_ms)
{
	if (ordered_ms)
		note(&delay->trips, now_ms - ordered_ms);
	if (from == to)
		return;
	delay->from = from;
	delay->to = to;
	delay->ordered_ms = ordered_ms;
	delay->set_ms = now_ms;
	delay->acted_ms = 0;
	delay->against = false;
	delay->awaits = awaits(from, to, moved);
}

static void seen(struct pbs_delay *delay, int64_t acted_ms)
{
	delay->awaits = PBS_AWAITS_NOTHING;
	delay->acted_ms = acted_ms > delay->set_ms ? acted_ms : delay->set_ms;
	note(&delay->acts, delay->acted_ms - delay->set_ms);
	if (delay->ordered_ms)
		note(&delay->seen, delay->acted_ms - delay->ordered_ms);
}

void pbs_delay_look(struct pbs_delay *delay, struct opt moved, int64_t now_ms)
{
	bool late = now_ms - delay->set_ms >= PBS_LATE_MAX_MS;

	if (!delay->awaits || !moved.known)
		return;
	if (delay->awaits == PBS_AWAITS_RISE) {
		if (moved.v > most_of(delay->from))
			seen(delay, now_ms); /* in any part of the second that is told */
		else if (late)
			delay->awaits = PBS_AWAITS_NOTHING; /* there is no more to do */
		return;
	}
	delay->against = moved.v > most_of(delay->to);
	if (delay->against) {
		if (late)
			seen(delay, now_ms);
	} else if (moved.v >= delay->to / 4) {
		seen(delay, now_ms - PBS_CUR_MS); /* in all of the second that is told */
	} else if (late) {
		delay->awaits = PBS_AWAITS_NOTHING; /* nothing flows */
	}
}

bool pbs_delay_waits(const struct pbs_delay *delay, int64_t now_ms)
{
	return delay->awaits && now_ms - delay->set_ms < PBS_LATE_MAX_MS + PBS_CUR_MS;
}

bool pbs_delay_over(const struct pbs_delay *delay, int64_t now_ms)
{
	int64_t acts = longest(&delay->acts);

	if (delay->acted_ms)
		return true;
	if (delay->acts.n < PBS_DELAYS_SURE)
		acts = larger(acts, PBS_ACTS_MS);
	if (delay->against && pbs_delay_waits(delay, now_ms))
		acts = PBS_LATE_MAX_MS;
	return now_ms - delay->set_ms >= acts;
}

bool pbs_delay_measured(const struct pbs_delay *delay)
{
	return delay->seen.n >= PBS_DELAYS_SURE;
}

int64_t pbs_delay_of(const struct pbs_delay *delay)
{
	int64_t trip = longest(&delay->trips);
	int64_t late = larger(longest(&delay->seen), trip);

	if (!pbs_delay_measured(delay))
		late = larger(late, PBS_ACTS_MS + larger(trip, CALLS_MS));
	return late < PBS_LATE_MAX_MS ? late : PBS_LATE_MAX_MS;
}
