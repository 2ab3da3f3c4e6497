// SPDX-License-Identifier: MIT
/* /proc/mdstat by md_seq_show() and status_resync() of drivers/md/md.c, and the sections of a look.
 */
#include <stdio.h>
#include <string.h>

#include "disks.h"

#define BAR 20

static bool runs(const struct disk_array *array)
{
	return array->op != MD_OP_IDLE && array->op != MD_OP_FROZEN && !array->delayed;
}

static void print_members(const struct disk_array *array, struct buf *ret)
{
	int i;

	for (i = array->disks - 1; i >= 0; i--) {
		if (array->in_sync[i])
			buf_addf(ret, " sd%c3[%d]", 'a' + i, i);
		else if (i == array->rebuild_slot)
			buf_addf(ret, " sd%c3[%d]", 'a' + i, array->disks + array->n_spares_used);
		else if (array->faulty[i])
			buf_addf(ret, " sd%c3[%d](F)", 'a' + i, i);
	}
}

static int64_t blocks(const struct disk_array *array)
{
	switch ((int)array->level) {
	case MD_LEVEL_RAID6:
		return array->size_kib * (array->disks - 2);
	case MD_LEVEL_RAID5:
		return array->size_kib * (array->disks - 1);
	case MD_LEVEL_RAID10:
		return array->size_kib * array->disks / 2;
	default:
		return array->size_kib;
	}
}

static void print_level(const struct disk_array *array, struct buf *ret)
{
	int i;

	if (array->level == MD_LEVEL_RAID6 || array->level == MD_LEVEL_RAID5)
		buf_addf(ret, " level %d, 64k chunk, algorithm 2",
			array->level == MD_LEVEL_RAID6 ? 6 : 5);
	else if (array->level == MD_LEVEL_RAID10)
		buf_adds(ret, " 512K chunks 2 near-copies");
	buf_addf(ret, " [%d/%d] [", array->disks, array->disks - disks_missing(array));
	for (i = 0; i < array->disks; i++)
		buf_addc(ret, array->in_sync[i] ? 'U' : '_');
	buf_adds(ret, "]\n      ");
}

/* The kernel's mean since its oldest mark: it lags by up to 30 s. */
static double speed_kib(const struct disk_array *array, int64_t now_ms)
{
	int64_t ms = array->n_marks ? now_ms - array->marks[0].at_ms : 0;

	if (ms < 1000)
		ms = 1000;
	return (array->done_kib - (array->n_marks ? array->marks[0].kib : 0)) * 1000 / (double)ms;
}

static void print_progress(const struct disk_array *array, int64_t now_ms, struct buf *ret)
{
	/* mdstat says "resync" for a repair. */
	enum md_operation shown = array->op == MD_OP_REPAIR ? MD_OP_RESYNC : array->op;
	int64_t done = (int64_t)array->done_kib, permille = done * 1000 / array->size_kib;
	double speed = speed_kib(array, now_ms), left = (double)array->size_kib - array->done_kib;
	double tenths = left / (speed > 0 ? speed : 1) / 6;
	int i, n = (int)(permille / 50);

	buf_addc(ret, '[');
	for (i = 0; i < BAR; i++)
		buf_addc(ret, i < n ? '=' : i == n ? '>' : '.');
	buf_addf(ret, "]  %s =%3lld.%lld%% (%lld/%lld) finish=%lld.%lldmin speed=%lldK/sec\n      ",
		md_operation_word(shown), (long long)permille / 10, (long long)permille % 10,
		(long long)done, (long long)array->size_kib, (long long)tenths / 10,
		(long long)tenths % 10, (long long)speed);
}

static void print_array(const struct disk_array *array, int64_t now_ms, struct buf *ret)
{
	buf_addf(ret, "%s : active %s", array->name, md_level_word(array->level));
	print_members(array, ret);
	buf_addf(ret, "\n      %lld blocks super 1.2", (long long)blocks(array));
	print_level(array, ret);
	if (array->delayed)
		buf_adds(ret, "\tresync=DELAYED\n      ");
	else if (runs(array))
		print_progress(array, now_ms, ret);
	buf_addc(ret, '\n');
}

static const char *action(const struct disk_array *array)
{
	if (array->op == MD_OP_RECOVERY)
		return "recover";
	return md_operation_word(array->op);
}

static void print_md(const struct disk_array *array, struct buf *ret)
{
	buf_addf(ret,
		"#rg md %s\nsync_action=%s\ndegraded=%d\nsync_speed_min=1000 (system)\n"
		"sync_speed_max=200000 (system)\n",
		array->name, action(array), disks_missing(array));
}

/* A Synology's own two: healthy with four disks of eight slots. */
static void print_system(struct buf *ret)
{
	buf_adds(ret,
		"md1 : active raid1 sdd2[3] sdc2[2] sdb2[1] sda2[0]\n"
		"      2097088 blocks [8/4] [UUUU____]\n      \n"
		"md0 : active raid1 sdd1[3] sdc1[2] sdb1[1] sda1[0]\n"
		"      2490176 blocks [8/4] [UUUU____]\n      \n");
}

void disks_print(const struct disks *disks, struct buf *ret)
{
	size_t i;

	if (disks->empty)
		return;
	buf_addf(ret, "Personalities : [raid1] [raid6] [raid5] [raid4] [raid10] %s\n",
		disks->synology ? "[raidF1] " : "");
	for (i = disks->n_arrays; i-- > 0;)
		print_array(&disks->arrays[i], disks->now_ms, ret);
	if (disks->synology)
		print_system(ret);
	buf_adds(ret, "unused devices: <none>\n#rg diskstats\n");
	for (i = 0; i < disks->n_arrays; i++) {
		const struct disk_array *array = &disks->arrays[i];

		buf_addf(ret, "   9       %zu %s 1 0 %lld 0 1 0 %lld 0 0 0 0\n", i, array->name,
			(long long)(array->read / 512), (long long)(array->written / 512));
	}
	buf_adds(ret, "#rg loadavg\n0.42 0.40 0.38 1/321 4242\n");
	for (i = 0; i < disks->n_arrays; i++)
		print_md(&disks->arrays[i], ret);
	buf_adds(ret, "#rg end\n");
}
