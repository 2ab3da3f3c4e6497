// SPDX-License-Identifier: MIT
/* The tracker over readings recorded on real md (tests/golden/readings): "@BOOT_MS", then one look,
 * until the next "@". */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/units.h"
#include "md/track.h"

#define MB 1000000

static struct track track;
static struct mdstat room;
static struct nas_facts facts;

static const struct array_facts *md(const char *name)
{
	const struct array_facts *array = nas_facts_find(&facts, name);

	assert_non_null(array);
	return array;
}

struct recording {
	char *data;
	char *next; /* at the next '@', or NULL */
};

static void recording_open(struct recording *recording, const char *name)
{
	char path[256];
	size_t size = 1 << 20, n;
	FILE *file;

	snprintf(path, sizeof(path), "tests/golden/readings/%s", name);
	file = fopen(path, "r");
	if (!file)
		fail_msg("%s is missing (run from the root)", path);
	recording->data = malloc(size);
	assert_non_null(recording->data);
	n = fread(recording->data, 1, size - 1, file);
	recording->data[n] = '\0';
	fclose(file);
	recording->next = recording->data;
	assert_int_equal(recording->data[0], '@');
	track_init(&track, "nas1", MD_VENDOR_AUTO, NULL, 0);
}

static bool recording_next(
	struct recording *recording, int64_t *ret_at_ms, char **ret_text, size_t *ret_len)
{
	char *line_end, *end;
	uint64_t at = 0;

	if (!recording->next)
		return false;
	line_end = strchr(recording->next, '\n');
	assert_non_null(line_end);
	assert_true(digits_parse(
		recording->next + 1, (size_t)(line_end - recording->next) - 1, INT64_MAX, &at));
	end = strstr(line_end, "\n@");
	*ret_at_ms = (int64_t)at;
	*ret_text = line_end + 1;
	*ret_len = end ? (size_t)(end + 1 - *ret_text) : strlen(*ret_text);
	recording->next = end ? end + 1 : NULL;
	return true;
}

/* Plays on until the array does `operation`; false if it never does. */
static bool play_until(struct recording *recording, const char *name, enum md_operation operation)
{
	int64_t at;
	size_t len;
	char *raw;

	while (recording_next(recording, &at, &raw, &len)) {
		assert_true(track_reading(&track, &room, raw, len, at, &facts));
		if (md(name)->operation == operation)
			return true;
	}
	return false;
}

static void a_recorded_write_wave_shows_by_the_second_reading(void **state)
{
	struct recording r;
	int64_t at, wave_at = 0;
	int since = 0;
	size_t len;
	char *raw;

	(void)state;
	recording_open(&r, "rebuild-write-wave.txt");
	while (recording_next(&r, &at, &raw, &len)) {
		const struct array_facts *a;

		assert_true(track_reading(&track, &room, raw, len, at, &facts));
		a = md("md2");
		if (!wave_at && a->client_write.known && a->client_write.v > MB)
			wave_at = at;
		if (wave_at && ++since == 2) {
			/* The kernel's mean still says 5 MB/s of 6. */
			assert_in_range(a->rate.v, 0, MB);
			assert_true(a->kernel_rate.v > 4 * MB);
		}
	}
	assert_true(since > 2);
	assert_true(md("md2")->done);
	assert_true(baseline_at(&track.arrays[0].baseline, MD_OP_RECOVERY, 950000).known);
	free(r.data);
}

static void a_recorded_check_is_paused_and_resumed(void **state)
{
	struct recording r;

	(void)state;
	recording_open(&r, "check-paused.txt");
	assert_true(play_until(&r, "md2", MD_OP_CHECK));
	assert_true(play_until(&r, "md2", MD_OP_IDLE));
	assert_int_equal(md("md2")->health, MD_HEALTH_OPTIMAL);
	assert_false(md("md2")->rate.known);
	assert_true(play_until(&r, "md2", MD_OP_CHECK));
	assert_true(md("md2")->calm_since_ms.known == false);
	free(r.data);
}

static void a_recorded_frozen_rebuild_is_not_done(void **state)
{
	struct recording r;

	(void)state;
	recording_open(&r, "frozen.txt");
	assert_true(play_until(&r, "md2", MD_OP_RECOVERY));
	assert_true(play_until(&r, "md2", MD_OP_FROZEN));
	assert_false(md("md2")->done);
	assert_false(md("md2")->calm_since_ms.known);
	assert_int_equal(md("md2")->health, MD_HEALTH_DEGRADED);
	free(r.data);
}

static void a_recorded_new_disk_that_fails_leaves_it_degraded(void **state)
{
	struct recording r;

	(void)state;
	recording_open(&r, "new-disk-fails.txt");
	assert_true(play_until(&r, "md2", MD_OP_RECOVERY));
	assert_true(play_until(&r, "md2", MD_OP_IDLE));
	assert_false(md("md2")->done);
	assert_int_equal(md("md2")->redundancy_left.v, 1);
	free(r.data);
}

static void a_recorded_delayed_array_runs_when_the_first_is_done(void **state)
{
	struct recording r;

	(void)state;
	recording_open(&r, "second-array-delayed.txt");
	assert_true(play_until(&r, "md2", MD_OP_IDLE));
	assert_true(md("md2")->done);
	assert_int_equal(md("md3")->operation, MD_OP_RECOVERY);
	assert_false(md("md3")->done);
	free(r.data);
}

static void a_recorded_reshape_loses_nothing(void **state)
{
	struct recording r;

	(void)state;
	recording_open(&r, "reshape.txt");
	assert_true(play_until(&r, "md2", MD_OP_RESHAPE));
	assert_int_equal(md("md2")->redundancy_left.v, 2);
	assert_true(play_until(&r, "md2", MD_OP_IDLE));
	assert_true(md("md2")->done);
	free(r.data);
}

static void check_invariants(const char *name)
{
	size_t i;

	for (i = 0; i < facts.n_arrays; i++) {
		const struct array_facts *a = &facts.arrays[i];

		if (!a->role || !a->level || !a->operation || !a->sync_state || !a->health)
			fail_msg("%s: %s has an invalid 0", name, a->name);
		if (a->done &&
			(a->operation != MD_OP_IDLE || a->missing.v ||
				a->health != MD_HEALTH_OPTIMAL))
			fail_msg("%s: %s is done but is not", name, a->name);
		if (a->operation != MD_OP_IDLE && a->calm_since_ms.known)
			fail_msg("%s: %s is calm but is not", name, a->name);
		if ((a->rate.known && a->rate.v < 0) ||
			(a->progress_ppm.known && a->progress_ppm.v > 1000000))
			fail_msg("%s: %s has wrong numbers", name, a->name);
	}
}

static void every_recording_is_understood_whole_and_cut(void **state)
{
	DIR *dir = opendir("tests/golden/readings");
	const struct dirent *entry;
	int n = 0;

	(void)state;
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		struct recording r;
		int64_t at;
		size_t len;
		char *raw;

		if (!strstr(entry->d_name, ".txt"))
			continue;
		recording_open(&r, entry->d_name);
		while (recording_next(&r, &at, &raw, &len)) {
			if (!track_reading(&track, &room, raw, len, at, &facts))
				fail_msg("%s @%lld: %s", entry->d_name, (long long)at,
					facts.sensor_text);
			check_invariants(entry->d_name);
			/* The same look, cut: a deadline passed. */
			track_reading(&track, &room, raw, len * (size_t)(n % 97) / 97, at, &facts);
			check_invariants(entry->d_name);
			n++;
		}
		free(r.data);
	}
	closedir(dir);
	assert_true(n > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recorded_write_wave_shows_by_the_second_reading),
		cmocka_unit_test(a_recorded_check_is_paused_and_resumed),
		cmocka_unit_test(a_recorded_frozen_rebuild_is_not_done),
		cmocka_unit_test(a_recorded_new_disk_that_fails_leaves_it_degraded),
		cmocka_unit_test(a_recorded_delayed_array_runs_when_the_first_is_done),
		cmocka_unit_test(a_recorded_reshape_loses_nothing),
		cmocka_unit_test(every_recording_is_understood_whole_and_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
