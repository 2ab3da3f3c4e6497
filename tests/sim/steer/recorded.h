// SPDX-License-Identifier: MIT
/* The recorded rebuilds of tests/golden/steer: read, and what they show by themselves. */
#ifndef RG_TESTS_SIM_STEER_RECORDED_H
#define RG_TESTS_SIM_STEER_RECORDED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/moment.h"

#define RECORDED_MAX 256
#define RECORDED_QUIET 0.1 /* MB/s that clients write at most where nobody does */

struct recorded_row {
	int64_t ms, done_kib, written_kib, read_kib, sent_kib;
	char phase[16];
	/* of the window that ends with this row, MB/s; the first has none */
	double seconds, pace, written, sent;
};

/* Where a stream ran, from its first reading to the last that caches may have written in. */
struct recorded_part {
	char name[16];
	double seconds, done_mb, written_mb, sent_mb;
};

struct recorded {
	char name[32];
	int n;
	struct recorded_row rows[RECORDED_MAX];
	/* MB/s, of windows of about 2 s without a stream: the mean, and how far they lie from it on
	 * average */
	double idle, spread;
};

static inline double recorded_rate(int64_t from_kib, int64_t to_kib, double seconds)
{
	return (double)(to_kib - from_kib) * 1024 / 1e6 / seconds;
}

static inline bool recorded_idle(const struct recorded *r, int at)
{
	return at > 0 && strcmp(r->rows[at].phase, "idle") == 0 &&
		strcmp(r->rows[at - 1].phase, "idle") == 0;
}

static inline void recorded_sum_up(struct recorded *r)
{
	double sum = 0, off = 0;
	int i, n = 0;

	for (i = 1; i < r->n; i++) {
		struct recorded_row *row = &r->rows[i];

		row->seconds = (double)(row->ms - row[-1].ms) / 1000;
		row->pace = recorded_rate(row[-1].done_kib, row->done_kib, row->seconds);
		row->written = recorded_rate(row[-1].written_kib, row->written_kib, row->seconds);
		row->sent = recorded_rate(row[-1].sent_kib, row->sent_kib, row->seconds);
		if (!recorded_idle(r, i))
			continue;
		sum += row->pace;
		n++;
	}
	r->idle = sum / n;
	for (i = 1; i < r->n; i++) {
		double more = r->rows[i].pace - r->idle;

		if (recorded_idle(r, i))
			off += more < 0 ? -more : more;
	}
	r->spread = off / n;
}

/* False where the file is missing, or holds a line that is none. */
static inline bool recorded_open(struct recorded *r, const char *name)
{
	char path[128], line[256];
	FILE *file;

	memset(r, 0, sizeof(*r));
	snprintf(r->name, sizeof(r->name), "%s", name);
	snprintf(path, sizeof(path), "tests/golden/steer/%s.txt", name);
	file = fopen(path, "r");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		struct recorded_row *row = &r->rows[r->n];
		long long v[5];

		if (line[0] == '#')
			continue;
		if (r->n == RECORDED_MAX ||
			sscanf(line, "%lld %lld %lld %lld %lld %15s", &v[0], &v[1], &v[2], &v[3],
				&v[4], row->phase) != 6) {
			fclose(file);
			return false;
		}
		row->ms = v[0];
		row->done_kib = v[1];
		row->written_kib = v[2];
		row->read_kib = v[3];
		row->sent_kib = v[4];
		r->n++;
	}
	fclose(file);
	recorded_sum_up(r);
	return r->n > 100;
}

/* The next part from row `*at` on; false where there is none. */
static inline bool recorded_part_next(const struct recorded *r, int *at, struct recorded_part *ret)
{
	const struct recorded_row *from;
	int i = *at;

	while (i < r->n && (strcmp(r->rows[i].phase, "idle") == 0 || i == 0))
		i++;
	if (i >= r->n)
		return false;
	from = &r->rows[i - 1];
	memset(ret, 0, sizeof(*ret));
	memcpy(ret->name, r->rows[i].phase, sizeof(ret->name));
	while (i < r->n && strcmp(r->rows[i].phase, "idle") != 0)
		i++;
	ret->seconds = (double)(r->rows[i - 1].ms - from->ms) / 1000;
	ret->done_mb = recorded_rate(from->done_kib, r->rows[i - 1].done_kib, 1);
	ret->written_mb = recorded_rate(from->written_kib, r->rows[i - 1].written_kib, 1);
	ret->sent_mb = recorded_rate(from->sent_kib, r->rows[i - 1].sent_kib, 1);
	*at = i;
	return true;
}

#endif
