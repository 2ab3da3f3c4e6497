// SPDX-License-Identifier: MIT
#include "md/rate.h"

#include <string.h>

#define SECTOR 512
#define KIB 1024
#define PPM 1000000
#define RATE_MAX                                                                                   \
	(INT64_C(64) << 30) /* bytes/s: more than any md device does; tells a wrap from a restart  \
			     */

int64_t rate_muldiv(int64_t a, int64_t b, int64_t c)
{
	int64_t rest = a % c, whole = 0, sum = 0;

	if (__builtin_mul_overflow(a / c, b, &whole))
		return INT64_MAX;
	/* Scaling both down keeps their ratio to about a part in b's room; 128-bit division would
	 * need libgcc. */
	while (b && rest > INT64_MAX / b) {
		rest >>= 1;
		c >>= 1;
	}
	if (__builtin_add_overflow(whole, c ? rest * b / c : 0, &sum))
		return INT64_MAX;
	return sum;
}

static void run_begins(
	struct progress *progress, int64_t done_kib, int64_t total_kib, int64_t now_ms)
{
	*progress = (struct progress){
		.done_kib = OPT(done_kib),
		.total_kib = OPT(total_kib),
		.base_kib = OPT(done_kib),
		.base_at_ms = now_ms,
		.moved_at_ms = now_ms,
		.read_at_ms = now_ms,
		.run_at_ms = now_ms,
	};
}

void progress_read(struct progress *progress, int64_t done_kib, int64_t total_kib, int64_t now_ms)
{
	int64_t window = now_ms - progress->base_at_ms;

	progress->fresh = false;
	if (!progress->done_kib.known || progress->total_kib.v != total_kib ||
		done_kib < progress->done_kib.v) {
		run_begins(progress, done_kib, total_kib, now_ms);
		return;
	}
	if (done_kib > progress->done_kib.v)
		progress->moved_at_ms = now_ms;
	progress->done_kib.v = done_kib;
	progress->read_at_ms = now_ms;
	if (window < RATE_MIN_WINDOW_MS)
		return;
	if (window <= RATE_MAX_WINDOW_MS) {
		progress->rate =
			OPT(rate_muldiv(done_kib - progress->base_kib.v, KIB * MS_SECOND, window));
		progress->fresh = true;
		progress->window_at_ms = progress->base_at_ms;
	} else {
		progress->rate = OPT_NONE;
	}
	progress->base_kib.v = done_kib;
	progress->base_at_ms = now_ms;
}

void progress_end(struct progress *progress)
{
	*progress = (struct progress){0};
}

struct opt progress_share(const struct progress *progress)
{
	if (!progress->done_kib.known || progress->total_kib.v <= 0)
		return OPT_NONE;
	if (progress->done_kib.v >= progress->total_kib.v)
		return OPT(PPM);
	return OPT(rate_muldiv(progress->done_kib.v, PPM, progress->total_kib.v));
}

struct opt progress_remaining(const struct progress *progress)
{
	int64_t left = progress->total_kib.v - progress->done_kib.v;

	if (!progress->rate.known || progress->rate.v <= 0)
		return OPT_NONE;
	return OPT(left <= 0 ? 0 : rate_muldiv(left, KIB * MS_SECOND, progress->rate.v));
}

struct opt progress_stalled(const struct progress *progress)
{
	if (!progress->done_kib.known)
		return OPT_NONE;
	return OPT(progress->read_at_ms - progress->moved_at_ms);
}

/* The sectors of one window; false if the counter restarted. */
static bool delta(uint64_t before, uint64_t now, int64_t window_ms, uint64_t *ret)
{
	uint64_t n = now - before;

	if (now < before) {
		if (before > UINT32_MAX)
			return false;
		n = (now - before) & UINT32_MAX;
	}
	if (n > (uint64_t)RATE_MAX / SECTOR / 1000 * (uint64_t)window_ms)
		return false;
	*ret = n;
	return true;
}

static struct opt bytes_s(uint64_t sectors, int64_t window_ms)
{
	return OPT(rate_muldiv((int64_t)sectors, SECTOR * MS_SECOND, window_ms));
}

static void window_closes(struct client_load *load, uint64_t reads, uint64_t writes, int64_t window)
{
	load->read = bytes_s(reads, window);
	load->write = bytes_s(writes, window);
	if (load->read.v + load->write.v > CLIENT_QUIET)
		load->quiet_since_ms = OPT_NONE;
	else if (!load->quiet_since_ms.known)
		load->quiet_since_ms = OPT(load->at_ms);
}

void client_load_read(
	struct client_load *load, uint64_t read_sectors, uint64_t write_sectors, int64_t now_ms)
{
	int64_t window = now_ms - load->at_ms;
	uint64_t reads = 0, writes = 0;

	if (load->known && window < RATE_MIN_WINDOW_MS)
		return;
	if (load->known && window <= RATE_MAX_WINDOW_MS &&
		delta(load->read_sectors, read_sectors, window, &reads) &&
		delta(load->write_sectors, write_sectors, window, &writes))
		window_closes(load, reads, writes, window);
	else
		load->read = load->write = load->quiet_since_ms = OPT_NONE;
	load->known = true;
	load->read_sectors = read_sectors;
	load->write_sectors = write_sectors;
	load->at_ms = now_ms;
}

void client_load_lost(struct client_load *load)
{
	*load = (struct client_load){0};
}
