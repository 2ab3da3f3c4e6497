// SPDX-License-Identifier: MIT
#include "md/comeback.h"

#include <string.h>

#define PPM 1000000
#define TRICKLE                                                                                    \
	INT64_C(1048576) /* bytes/s: what a resting job lets through begins nothing anew           \
			  */
#define FAR_PPM 750000   /* of the least that is expected: it was disturbed */
#define STRETCH_MS (25 * MS_SECOND)
#define GROWN_PPM 1100000 /* from the first of the stretches to the last: it grows */
#define STILL_PPM 1040000 /* it does not */
#define SPAN_MAX_MS (15 * MS_MINUTE)

/* One window. */
struct window {
	int64_t from_ms, to_ms;
	int64_t at_ppm;   /* where the operation is */
	int64_t rate;     /* bytes/s */
	struct opt least; /* bytes/s that are to be expected undisturbed, if known */
	bool drained;     /* clients have been quiet for long enough before */
};

/* The quiet is over: how long must the next one last? */
static void quiet_ends(struct comeback *comeback)
{
	int64_t span = 2 * comeback->low_ms;

	if (!comeback->since_ms.known)
		return;
	if (span > SPAN_MAX_MS)
		span = SPAN_MAX_MS;
	if (span > comeback->span_ms)
		comeback->span_ms = span;
	else if (comeback->back && comeback->hurt)
		comeback->span_ms -= (comeback->span_ms - span) / 2;
	comeback->since_ms = OPT_NONE;
}

static void quiet_begins(struct comeback *comeback, const struct window *window)
{
	*comeback = (struct comeback){
		.since_ms = OPT(window->from_ms),
		.hurt = comeback->low,
		.span_ms = comeback->span_ms,
	};
}

/* By two windows in a row. */
static void see_back(struct comeback *comeback, const struct window *window)
{
	int64_t ms = window->to_ms - window->from_ms, both = ms + comeback->rate_ms;

	if (comeback->back)
		return;
	if (!window->least.known)
		comeback->back = true;
	else if (comeback->rate.known)
		comeback->back = window->rate * ms + comeback->rate.v * comeback->rate_ms >=
			window->least.v * both;
	if (!comeback->back)
		comeback->low_ms = window->from_ms - comeback->since_ms.v;
}

static int64_t stretch_rate(const struct comeback *comeback, int at)
{
	return comeback->stretches[at].bytes_ms / comeback->stretches[at].ms;
}

/* Adds a window to the last stretch. True when that is complete, and there are as many as are
 * compared. */
static bool stretch_add(struct comeback *comeback, const struct window *window)
{
	int last = COMEBACK_STRETCHES - 1, n = comeback->n_stretches;

	if (!n || comeback->stretches[n - 1].ms >= STRETCH_MS) {
		if (n > last)
			memmove(&comeback->stretches[0], &comeback->stretches[1],
				(size_t)last * sizeof(comeback->stretches[0]));
		else
			n = ++comeback->n_stretches;
		memset(&comeback->stretches[n - 1], 0, sizeof(comeback->stretches[0]));
	}
	comeback->stretches[n - 1].ms += window->to_ms - window->from_ms;
	comeback->stretches[n - 1].bytes_ms += window->rate * (window->to_ms - window->from_ms);
	return n > last && comeback->stretches[last].ms >= STRETCH_MS;
}

/* Whether the pace has stopped to grow; true if it is seen to grow. */
static bool see_growth(struct comeback *comeback, const struct window *window)
{
	int last = COMEBACK_STRETCHES - 1;
	int64_t was, is;

	if (comeback->flat || !stretch_add(comeback, window))
		return false;
	was = stretch_rate(comeback, 0);
	is = stretch_rate(comeback, last);
	comeback->flat = is < rate_muldiv(was, STILL_PPM, PPM);
	/* It is not late, it is slower than it was. */
	if (comeback->flat && !comeback->back) {
		comeback->back = true;
		comeback->low_ms = 0;
	}
	if (is <= rate_muldiv(was, GROWN_PPM, PPM))
		return false;
	comeback->low_ms = window->to_ms - comeback->stretches[last].ms - comeback->since_ms.v;
	return true;
}

/* Whether a window in the quiet is long enough after its begin. */
static bool counts(const struct comeback *comeback, const struct window *window)
{
	int64_t need = 2 * comeback->low_ms;

	if (comeback->flat)
		return true;
	if (need < comeback->span_ms)
		need = comeback->span_ms;
	return comeback->back && window->from_ms - comeback->since_ms.v >= need;
}

/* Clients are quiet in this window. */
static void quiet_window(struct comeback *comeback, struct baseline *baseline,
	enum md_operation operation, const struct window *window)
{
	if (!comeback->since_ms.known)
		quiet_begins(comeback, window);
	see_back(comeback, window);
	if (see_growth(comeback, window)) {
		baseline_forget(baseline, operation, window->at_ppm, comeback->taken);
		comeback->taken = 0;
	}
	comeback->rate = OPT(window->rate);
	comeback->rate_ms = window->to_ms - window->from_ms;
	if (window->drained && counts(comeback, window)) {
		baseline_add(baseline, operation, window->at_ppm, window->rate);
		comeback->taken++;
	}
}

/* Clients do something. */
static void busy_window(struct comeback *comeback, const struct window *window, int64_t io)
{
	comeback->rate = OPT_NONE;
	comeback->low =
		window->least.known && window->rate < rate_muldiv(window->least.v, FAR_PPM, PPM);
	if (io > TRICKLE)
		quiet_ends(comeback);
}

void comeback_read(struct comeback *comeback, struct baseline *baseline,
	enum md_operation operation, const struct progress *progress,
	const struct client_load *load)
{
	struct opt at = progress_share(progress), quiet = load->quiet_since_ms;
	struct window window;

	if (!load->read.known || !load->write.known) {
		comeback->since_ms = OPT_NONE;
		return;
	}
	if (!progress->fresh || !at.known)
		return;
	window = (struct window){
		.from_ms = progress->window_at_ms,
		.to_ms = progress->read_at_ms,
		.at_ppm = at.v,
		.rate = progress->rate.v,
		.least = baseline_least(baseline, operation, at.v),
		.drained = progress->window_at_ms >= quiet.v + COMEBACK_DRAIN_MS,
	};
	if (quiet.known)
		quiet_window(comeback, baseline, operation, &window);
	else
		busy_window(comeback, &window, load->read.v + load->write.v);
}
