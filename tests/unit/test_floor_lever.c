// SPDX-License-Identifier: MIT
/*
 * A NAS's own levers, with a real record and a child that plays the NAS: this program again, as
 * `--order NAME`. It writes each order down, and answers as nas-levers would, or what the file
 * "answer" says. Who gives an order is written into "names"; of another gate that has moved
 * something there the files "other" (an answer's words) and "others" (what is moved then) tell.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <systemd/sd-event.h>

#include "base/clock.h"
#include "gate/floor_lever_impl.h"
#include "gate/gate.h"
#include "store_room.h"

#define WAIT_MS 20000

static struct room *room;
static struct gate gate;
static struct settings settings;
static struct floor_levers *levers;
static struct floor_lever *lever;

/* ---- the NAS ---- */

static void file_write(const char *name, const char *how, const char *text)
{
	char path[160];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", getenv("FLOOR_TEST"), name);
	file = fopen(path, how);
	if (!file)
		abort();
	fputs(text, file);
	fclose(file);
}

/* Its whole text; "" where there is none. */
static void file_read(const char *name, char *ret, size_t size)
{
	char path[160];
	FILE *file;
	size_t n = 0;

	snprintf(path, sizeof(path), "%s/%s", getenv("FLOOR_TEST"), name);
	file = fopen(path, "r");
	if (file) {
		n = fread(ret, 1, size - 1, file);
		fclose(file);
	}
	ret[n] = '\0';
}

static void file_remove(const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", getenv("FLOOR_TEST"), name);
	unlink(path);
}

static void play(const char *order, char *ret, size_t size)
{
	static const char system[] = "speed_min=1000 speed_min_kind=system stripe_cache=256";
	char kib[32], pages[32], text[256], operation[32], other[120], refuses[32];
	char name[32] = "md2", array[100];

	sscanf(order, "%*s %31s", name);
	snprintf(array, sizeof(array), "array=%s level=raid6 disks=5 memory_kib=1048576", name);
	file_read("operation", operation, sizeof(operation));
	file_read("other", other, sizeof(other));
	if (other[0] && strncmp(order, "look", 4) != 0 && strncmp(order, "moved", 5) != 0) {
		snprintf(ret, size, "error other=pve2-0b undo_s=540 not touched\n");
		return;
	}
	file_read("moved", text, sizeof(text));
	if (strncmp(order, "moved", 5) == 0) {
		snprintf(ret, size, "ok moved=%s\n", text[0] ? text : "-");
	} else if (sscanf(order, "floor %*s %31s %31s", kib, pages) == 2) {
		file_read("refuses", refuses, sizeof(refuses));
		if (strcmp(refuses, "all") == 0 || strcmp(refuses, pages) == 0) {
			snprintf(ret, size, "error stripe_cache_size of %s does not take %s\n",
				name, pages);
			return;
		}
		file_write("moved", "w", "md2");
		snprintf(ret, size,
			"ok %s speed_min=%s speed_min_kind=%s stripe_cache=%s undo_s=600\n", array,
			strcmp(kib, "-") ? kib : "1000", strcmp(kib, "-") ? "local" : "system",
			strcmp(pages, "-") ? pages : "256");
	} else if (strncmp(order, "pause", 5) == 0) {
		file_write("moved", "w", "md2");
		snprintf(ret, size, "ok %s %s operation=idle paused_at=4096 undo_s=600\n", array,
			system);
	} else {
		if (strncmp(order, "look", 4) != 0)
			file_remove("moved");
		snprintf(ret, size, "ok %s %s operation=%s%s\n", array, system, operation, other);
	}
}

/* Takes the name off an order; false where there is none. */
static bool take_name(char *order, char ret[ORDER_NAME_MAX])
{
	int n = 0;

	if (sscanf(order, "by %48s %n", ret, &n) != 1)
		return false;
	memmove(order, order + n, strlen(order + n) + 1);
	return true;
}

/* For anyone: what others have moved is put back as well. */
static void play_anyone(const char *order, char *ret, size_t size)
{
	char others[64];

	file_read("others", others, sizeof(others));
	if (others[0] && strncmp(order, "moved", 5) == 0) {
		snprintf(ret, size, "ok moved=%s\n", others);
		return;
	}
	file_remove("other");
	play(order, ret, size);
}

static int nas_main(void)
{
	static const char older[] =
		"error the orders are look, floor, free, pause, resume and moved\n";
	char order[ORDER_LINE_MAX], line[ORDER_LINE_MAX], name[ORDER_NAME_MAX], says[16];
	bool named;

	while (fgets(order, sizeof(order), stdin)) {
		named = take_name(order, name);
		file_write("names", "w", named ? name : "-");
		file_write("orders", "a", named && strcmp(name, ORDER_ANYONE) == 0 ? "any: " : "");
		file_write("orders", "a", order);
		file_read("answer", line, sizeof(line));
		file_read("older", says, sizeof(says));
		if (named && says[0])
			snprintf(line, sizeof(line), "%s", older);
		else if (!line[0] && named && strcmp(name, ORDER_ANYONE) == 0)
			play_anyone(order, line, sizeof(line));
		else if (!line[0])
			play(order, line, sizeof(line));
		if (strncmp(line, "die", 3) == 0)
			return 1;
		fputs(line, stdout);
		fflush(stdout);
	}
	return 0;
}

/* ---- the gate ---- */

static int setup(void **state)
{
	struct nas_settings *nas = &settings.nas[0];

	if (room_setup(state) < 0)
		return -1;
	room = *state;
	setenv("FLOOR_TEST", room->folder, 1);
	room_open_store(room);
	settings = (struct settings){.n_nas = 1, .look_deadline_ms = 5000};
	strcpy(nas->name, "nas1");
	strcpy(nas->host, "nas.example");
	nas->via = SETTINGS_VIA_SSH;
	nas->levers = (struct nas_lever_settings){.set = true,
		.user = "root",
		.key_file = "/key",
		.floor = true,
		.stripe_cache = true,
		.stripe_memory_ppm = 100000,
		.pause_check = true};
	gate = (struct gate){
		.settings = &settings, .store = room->store, .program = "/proc/self/exe"};
	if (sd_event_new(&gate.loop) < 0)
		return -1;
	levers = NULL;
	lever = NULL;
	file_write("operation", "w", "recover");
	return 0;
}

static int stderr_kept = -1; /* while the journal is written to a file */

static void log_ends(void)
{
	if (stderr_kept < 0)
		return;
	dup2(stderr_kept, STDERR_FILENO);
	close(stderr_kept);
	stderr_kept = -1;
}

static int teardown(void **state)
{
	static const char *const names[] = {"orders", "answer", "moved", "operation", "names",
		"older", "other", "others", "refuses", "journal"};
	size_t i;

	log_ends();
	floor_levers_close(levers, 0);
	sd_event_unref(gate.loop);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		file_remove(names[i]);
	return room_teardown(state);
}

static void open_levers(void)
{
	MUST(floor_levers_open(&gate, &levers, &err_of_must));
	gate.floors = levers;
	lever = floor_lever_find(levers, "nas1");
	assert_non_null(lever);
}

/* The loop until nothing is under way and the next thing is far off. */
static void run(void)
{
	int64_t end = clock_boot_ms() + WAIT_MS;

	do {
		if (sd_event_run(gate.loop, 20 * 1000) < 0)
			fail_msg("the loop fails");
		if (clock_boot_ms() > end)
			fail_msg("an order takes for ever");
	} while (lever->doing || (!lever->listed && !lever->failures));
}

static void orders_are(const char *wanted)
{
	char got[1024];

	file_read("orders", got, sizeof(got));
	assert_string_equal(got, wanted);
	file_remove("orders");
}

struct moved {
	size_t n;
	char text[200];
};

static void on_moved(void *data, const struct store_lever *action)
{
	struct moved *moved = data;

	moved->n++;
	snprintf(moved->text, sizeof(moved->text), "%s %s: %s -> %s", action->lever, action->target,
		action->before, action->after);
}

static struct moved recorded(void)
{
	struct moved moved = {0};

	MUST(store_levers_moved(room->store, on_moved, &moved, &err_of_must));
	return moved;
}

static struct floor_state state_of(const char *array)
{
	struct floor_state state;

	floor_lever_state(lever, array, &state);
	return state;
}

/* A floor of 16000 KiB/s on md2. */
static void floored(void)
{
	open_levers();
	floor_lever_want(lever, "md2", OPT(16000), true, "a backup writes");
	run();
	orders_are("moved\nlook md2\nfloor md2 16000 5242 600\n");
}

/* ---- the journal: standard error, for a while into the file "journal" ---- */

static void log_begins(void)
{
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/journal", room->folder);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	stderr_kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (fd < 0 || stderr_kept < 0 || dup2(fd, STDERR_FILENO) < 0)
		abort();
	close(fd);
}

/* How often it says so. */
static int logged(const char *text)
{
	char journal[8192];
	const char *p = journal;
	int n = 0;

	file_read("journal", journal, sizeof(journal));
	while ((p = strstr(p, text)) != NULL) {
		n++;
		p++;
	}
	return n;
}

/* As when the minute after a refusal is over: until the next one, and what is asked after it. */
static void again_until_refused(void)
{
	int64_t end = clock_boot_ms() + WAIT_MS;

	lever->arrays[0].retry_ms = lever->arrays[0].retry_ms ? 1 : 0;
	floor_step(lever);
	while (lever->doing || !lever->listed || lever->arrays[0].retry_ms <= 1) {
		if (sd_event_run(gate.loop, 20 * 1000) < 0 || clock_boot_ms() > end)
			fail_msg("nothing is refused");
	}
}

static void a_floor_is_looked_at_recorded_and_set(void **data)
{
	struct floor_state state;
	struct moved moved;

	(void)data;
	floored();
	state = state_of("md2");
	assert_true(state.usable && state.moved && state.settled);
	assert_int_equal(state.kib_s.v, 16000);
	assert_int_equal(state.wanted_kib_s.v, 16000);
	assert_int_equal(state.stripe_pages.v, 5242);
	assert_int_equal(state.undo_s.v, 600);
	assert_true(state.since_ms > 0);
	moved = recorded();
	assert_int_equal(moved.n, 1);
	assert_string_equal(moved.text,
		"sync-speed nas1/md2: 1000 KiB/s (system), stripe cache 256 pages -> 16000 KiB/s "
		"(local), stripe cache 5242 pages");
}

static void small_changes_are_none(void **data)
{
	(void)data;
	floored();
	floor_lever_want(lever, "md2", OPT(17999), true, "a backup writes");
	floor_lever_want(lever, "md2", OPT(14001), true, "a backup writes");
	run();
	orders_are("");
	floor_lever_want(lever, "md2", OPT(13000), true, "a backup writes");
	run();
	orders_are("floor md2 13000 5242 600\n");
}

static void a_floor_is_renewed_as_it_is(void **data)
{
	(void)data;
	floored();
	assert_true(lever->arrays[0].renew_ms > clock_boot_ms() + FLOOR_RENEW_MS - MS_MINUTE);
	lever->arrays[0].renew_ms = clock_boot_ms();
	floor_lever_want(lever, "md2", OPT(16500), true, "a backup writes");
	run();
	orders_are("floor md2 16000 5242 600\n");
}

static void what_is_not_wanted_any_more_is_put_back(void **data)
{
	struct floor_state state;

	(void)data;
	floored();
	floor_lever_free(lever, "md2", "a restore reads");
	run();
	orders_are("free md2\n");
	state = state_of("md2");
	assert_true(state.usable && !state.moved && state.settled);
	assert_int_equal(state.since_ms, 0);
	assert_int_equal(recorded().n, 0);
	floor_lever_free(lever, "md2", "again");
	run();
	orders_are("");
}

static void the_first_reason_to_put_back_is_recorded(void **data)
{
	(void)data;
	floored();
	floor_lever_free_all(lever, "root wants everything put back");
	floor_lever_free(lever, "md2", "the floor keeps the share");
	assert_string_equal(lever->arrays[0].why, "root wants everything put back");
	run();
	orders_are("free md2\n");
}

static void the_settings_say_what_may_be_moved(void **data)
{
	(void)data;
	settings.nas[0].levers.stripe_cache = false;
	settings.nas[0].levers.pause_check = false;
	open_levers();
	floor_lever_want(lever, "md2", OPT(16000), true, "a backup writes");
	floor_lever_pause_check(lever, "md2", true, "a backup writes");
	run();
	orders_are("moved\nlook md2\nfloor md2 16000 - 600\n");
	assert_false(state_of("md2").check || state_of("md2").stripe);
}

static void a_cache_that_is_large_enough_stays(void **data)
{
	(void)data;
	settings.nas[0].levers.stripe_memory_ppm = 4882; /* 256 pages of five disks, and not more */
	open_levers();
	floor_lever_want(lever, "md2", OPT(16000), true, "a backup writes");
	run();
	orders_are("moved\nlook md2\nfloor md2 16000 - 600\n");
}

/* The share is of the NAS's memory, not of each array's. */
static void caches_of_two_arrays_share_what_they_may_take(void **data)
{
	(void)data;
	floored();
	floor_lever_want(lever, "md3", OPT(16000), true, "a backup writes");
	run();
	/* The first gives before the second takes. */
	orders_are("look md3\nfloor md2 16000 2621 600\nfloor md3 16000 2621 600\n");
	floor_lever_free(lever, "md3", "a restore reads");
	run();
	orders_are("free md3\nfloor md2 16000 5242 600\n");
}

/* Half of what there is would be no more than it had before us. */
static void a_cache_that_gives_way_gets_its_own_size(void **data)
{
	(void)data;
	settings.nas[0].levers.stripe_memory_ppm = 9000; /* 471 pages of five disks */
	open_levers();
	floor_lever_want(lever, "md2", OPT(16000), true, "a backup writes");
	run();
	orders_are("moved\nlook md2\nfloor md2 16000 471 600\n");
	floor_lever_want(lever, "md3", OPT(16000), true, "a backup writes");
	run();
	orders_are("look md3\nfloor md2 16000 256 600\nfloor md3 16000 - 600\n");
}

static void a_refused_cache_does_not_cost_the_floor(void **data)
{
	struct floor_state state;

	(void)data;
	file_write("refuses", "w", "5242");
	open_levers();
	floor_lever_want(lever, "md2", OPT(16000), true, "a backup writes");
	run();
	orders_are("moved\nlook md2\nfloor md2 16000 5242 600\nmoved\nfloor md2 16000 - 600\n");
	state = state_of("md2");
	assert_true(state.usable && state.moved && state.settled);
	assert_int_equal(state.kib_s.v, 16000);
	assert_string_equal(state.trouble,
		"without a larger stripe cache: stripe_cache_size of md2 does not take 5242");
	/* Nor is it asked for again while this floor is wanted. */
	lever->arrays[0].renew_ms = clock_boot_ms();
	floor_lever_want(lever, "md2", OPT(30000), true, "a backup writes");
	run();
	orders_are("floor md2 30000 - 600\n");
	file_remove("refuses");
	floor_lever_free(lever, "md2", "the backups are done");
	run();
	floor_lever_want(lever, "md2", OPT(16000), true, "the next one writes");
	run();
	orders_are("free md2\nfloor md2 16000 5242 600\n");
	assert_string_equal(state_of("md2").trouble, "");
}

/* It was not for the cache: then that is not what is said. */
static void a_floor_refused_also_without_its_cache_is_refused(void **data)
{
	int64_t end = clock_boot_ms() + WAIT_MS;

	(void)data;
	file_write("refuses", "w", "all");
	open_levers();
	floor_lever_want(lever, "md2", OPT(16000), true, "a backup writes");
	run();
	while (!lever->arrays[0].refused && clock_boot_ms() < end)
		sd_event_run(gate.loop, 20 * 1000);
	run();
	orders_are(
		"moved\nlook md2\nfloor md2 16000 5242 600\nmoved\nfloor md2 16000 - 600\nmoved\n");
	assert_false(state_of("md2").usable);
	assert_string_equal(state_of("md2").trouble, "stripe_cache_size of md2 does not take -");
}

/* The next minute is not for the cache again. */
static void a_floor_that_stays_refused_is_told_once(void **data)
{
	(void)data;
	file_write("refuses", "w", "all");
	log_begins();
	open_levers();
	floor_lever_want(lever, "md2", OPT(16000), true, "a backup writes");
	again_until_refused();
	file_remove("orders");
	again_until_refused();
	log_ends();
	orders_are("floor md2 16000 - 600\nmoved\n");
	assert_int_equal(logged("is not carried out"), 2); /* with the cache, and without it */
}

static void a_nas_that_does_not_tell_what_is_moved_is_not_hammered(void **data)
{
	int i;

	(void)data;
	file_write("answer", "w", "error /run is full\n");
	log_begins();
	open_levers();
	run();
	for (i = 0; i < 4; i++) {
		lever->not_before_ms = 0;
		floor_step(lever);
		run();
	}
	log_ends();
	assert_true(lever->not_before_ms > clock_boot_ms() + MS_MINUTE);
	assert_int_equal(logged("can be moved again"), 0);
	assert_int_equal(logged("cannot be moved"), 1);
}

static void what_the_record_says_is_moved_is_put_back_at_the_start(void **data)
{
	(void)data;
	store_begin(room->store);
	store_add_lever(room->store,
		&(struct store_lever){.utc_ms = T0,
			.lever = "sync-speed",
			.target = "nas1/md2",
			.before = "1000 (system)",
			.after = "16000 (local)"});
	assert_int_equal(store_commit(room->store, NULL), STORE_RECORDED);
	file_write("moved", "w", "md2");
	open_levers();
	assert_true(state_of("md2").moved);
	run();
	orders_are("moved\nfree md2\n");
	assert_int_equal(recorded().n, 0);
	assert_false(state_of("md2").moved);
}

static void what_the_nas_has_undone_meanwhile_is_back_in_the_record(void **data)
{
	(void)data;
	store_begin(room->store);
	store_add_lever(room->store,
		&(struct store_lever){.utc_ms = T0,
			.lever = "check",
			.target = "nas1/md2",
			.before = "check",
			.after = "interrupted"});
	store_add_lever(room->store,
		&(struct store_lever){.utc_ms = T0,
			.lever = "sync-speed",
			.target = "gone/md2",
			.before = "1000 (system)",
			.after = "9000 (local)"});
	assert_int_equal(store_commit(room->store, NULL), STORE_RECORDED);
	open_levers();
	run();
	orders_are("moved\n");
	assert_int_equal(recorded().n, 0); /* that of a NAS which is not set up any more, too */
}

static void what_only_the_nas_knows_is_put_back_too(void **data)
{
	(void)data;
	file_write("moved", "w", "md2,md_d0");
	open_levers();
	run();
	orders_are("moved\nresume md2\nfree md2\nresume md_d0\nfree md_d0\n");
	assert_false(state_of("md2").moved || state_of("md_d0").moved);
}

static void a_check_rests_and_goes_on(void **data)
{
	struct floor_state state;
	struct moved moved;

	(void)data;
	file_write("operation", "w", "check");
	open_levers();
	floor_lever_pause_check(lever, "md2", true, "backups write");
	run();
	orders_are("moved\nlook md2\npause md2 600\n");
	state = state_of("md2");
	assert_true(state.usable && state.paused && state.moved && state.settled);
	moved = recorded();
	assert_string_equal(moved.text, "check nas1/md2: check -> interrupted");
	lever->arrays[0].pause_renew_ms = clock_boot_ms();
	floor_lever_pause_check(lever, "md2", true, "backups write");
	run();
	orders_are("pause md2 600\n");
	floor_lever_pause_check(lever, "md2", false, "the backups are done");
	run();
	orders_are("resume md2\n");
	assert_false(state_of("md2").paused || state_of("md2").moved);
	assert_int_equal(recorded().n, 0);
}

static void nothing_but_a_check_is_interrupted(void **data)
{
	(void)data;
	open_levers(); /* md2 is in recovery */
	floor_lever_pause_check(lever, "md2", true, "backups write");
	run();
	orders_are("moved\nlook md2\n");
	assert_int_equal(recorded().n, 0);
	assert_true(state_of("md2").usable);
	assert_non_null(strstr(state_of("md2").trouble, "no check to interrupt"));
	assert_false(lever->arrays[0].want_pause); /* not even the next one */
}

static void a_check_waits_for_a_recovery(void **data)
{
	(void)data;
	file_write("operation", "w", "check");
	open_levers();
	floor_lever_pause_check(lever, "md2", true, "backups write");
	run();
	file_write("answer", "w", "ok array=md2 operation=recover paused_at=4096 undo_s=0\n");
	floor_lever_pause_check(lever, "md2", false, "the backups are done");
	run();
	assert_true(state_of("md2").moved);
	assert_int_equal(recorded().n, 1);
	file_remove("answer");
	file_remove("orders");
	floor_lever_want(lever, "md2", OPT(9000), false, "a floor is not held up by that");
	run();
	orders_are("floor md2 9000 - 600\n");
	lever->arrays[0].resume_ms = 1;
	floor_step(lever);
	run();
	orders_are("resume md2\n");
	assert_int_equal(recorded().n, 1); /* the floor */
}

static void a_refusal_is_told_and_tried_again_later(void **data)
{
	struct floor_state state;

	(void)data;
	open_levers();
	run();
	file_remove("orders");
	file_write("answer", "w", "error sync_speed_min of md2 does not take 16000\n");
	floor_lever_want(lever, "md2", OPT(16000), false, "a backup writes");
	run();
	state = state_of("md2");
	assert_false(state.usable || state.settled);
	assert_string_equal(state.trouble, "sync_speed_min of md2 does not take 16000");
	assert_true(state_of("md3").usable); /* nothing is wrong with the NAS */
	orders_are("look md2\n");
	floor_lever_want(lever, "md2", OPT(20000), false, "a backup writes");
	run();
	orders_are("");
	file_remove("answer");
	lever->arrays[0].retry_ms = 1;
	floor_step(lever);
	run();
	orders_are("look md2\nfloor md2 20000 - 600\n");
	assert_true(state_of("md2").usable && state_of("md2").settled);
	assert_string_equal(state_of("md2").trouble, "");
}

static void a_floor_that_was_refused_is_asked_about(void **data)
{
	(void)data;
	floored();
	file_write("answer", "w", "error no\n");
	floor_lever_want(lever, "md2", OPT(30000), false, "a backup writes");
	sd_event_run(gate.loop, 20 * 1000);
	while (lever->doing == ORDER_FLOOR)
		sd_event_run(gate.loop, 20 * 1000);
	file_remove("answer");
	file_remove("moved"); /* the NAS has undone what it refused */
	run();
	lever->not_before_ms = 0;
	floor_step(lever);
	run();
	assert_false(state_of("md2").moved);
	assert_int_equal(recorded().n, 0);
}

static void a_nas_that_is_not_reached_is_not_hammered(void **data)
{
	struct floor_state state;

	(void)data;
	floored();
	file_write("answer", "w", "failed unreachable nas.example cannot be reached\n");
	floor_lever_want(lever, "md2", OPT(30000), true, "a backup writes");
	run();
	state = state_of("md2");
	assert_false(state.usable);
	assert_true(state.moved); /* as far as anybody knows */
	assert_string_equal(state.trouble, "nas.example cannot be reached");
	orders_are("floor md2 30000 5242 600\n");
	floor_lever_want(lever, "md2", OPT(50000), true, "a backup writes");
	floor_lever_free(lever, "md2", "not now");
	run();
	orders_are("");
	assert_true(lever->not_before_ms > clock_boot_ms());
	assert_true(lever->not_before_ms < clock_boot_ms() + MS_MINUTE);
	file_remove("answer");
	lever->not_before_ms = 0;
	floor_step(lever);
	run();
	orders_are("free md2\n");
	assert_true(state_of("md2").usable);
	assert_int_equal(recorded().n, 0);
}

static void after_a_refused_key_there_is_patience(void **data)
{
	(void)data;
	file_write("answer", "w", "failed auth nas.example refuses the key\n");
	open_levers();
	run();
	assert_true(lever->not_before_ms > clock_boot_ms() + 14 * MS_MINUTE);
	floor_lever_want(lever, "md2", OPT(30000), true, "a backup writes");
	run();
	orders_are("moved\n");
	assert_false(state_of("md2").usable);
	lever->not_before_ms = 0;
	floor_step(lever);
	run();
	assert_true(lever->not_before_ms > clock_boot_ms() + 59 * MS_MINUTE);
}

struct shown {
	size_t n;
	char text[300];
};

static void on_shown(
	void *data, const char *nas, const char *array, const struct floor_state *state)
{
	struct shown *shown = data;

	shown->n++;
	snprintf(shown->text, sizeof(shown->text), "%s/%s %s%s", nas, array,
		state->usable ? "usable" : "", state->trouble);
}

static void a_nas_without_an_order_is_shown_with_its_trouble(void **data)
{
	struct shown shown = {0};

	(void)data;
	file_write("answer", "w", "failed auth nas.example refuses the key\n");
	open_levers();
	run();
	floor_levers_each(levers, on_shown, &shown);
	assert_int_equal(shown.n, 1);
	assert_string_equal(shown.text, "nas1/ nas.example refuses the key");
	file_remove("answer");
	floor_lever_again(lever); /* patience is over for who asks */
	run();
	floor_lever_want(lever, "md2", OPT(16000), true, "a backup writes");
	run();
	shown = (struct shown){0};
	floor_levers_each(levers, on_shown, &shown);
	assert_int_equal(shown.n, 1);
	assert_string_equal(shown.text, "nas1/md2 usable");
}

static void a_reload_tries_a_refused_key_anew(void **data)
{
	(void)data;
	file_write("answer", "w", "failed auth nas.example refuses the key\n");
	open_levers();
	run();
	assert_false(state_of("").usable);
	file_remove("answer");
	file_remove("orders");
	floor_levers_settings(levers);
	run();
	orders_are("moved\n");
	assert_true(state_of("").usable);
	floor_levers_settings(levers);
	run();
	orders_are("");
}

/* Nobody wants a lever that is not usable: it must not stay so for that. */
static void a_nas_that_failed_is_asked_until_it_answers(void **data)
{
	(void)data;
	open_levers();
	run();
	file_remove("orders");
	file_write("answer", "w", "failed unreachable nas.example cannot be reached\n");
	floor_lever_want(lever, "md2", OPT(16000), true, "a backup writes");
	run();
	orders_are("look md2\n");
	floor_lever_free(lever, "md2", "no lever");
	assert_false(state_of("").usable);
	file_remove("answer");
	lever->not_before_ms = 0;
	floor_step(lever);
	run();
	orders_are("moved\n");
	assert_true(state_of("").usable);
}

static void a_child_that_dies_is_a_failure_of_one_order(void **data)
{
	(void)data;
	floored();
	file_write("answer", "w", "die\n");
	floor_lever_want(lever, "md2", OPT(30000), true, "a backup writes");
	run();
	assert_false(state_of("md2").usable);
	assert_non_null(strstr(state_of("md2").trouble, "ended without an answer"));
	file_remove("answer");
	file_remove("orders");
	lever->not_before_ms = 0;
	floor_step(lever);
	run();
	orders_are("floor md2 30000 5242 600\n");
	assert_true(state_of("md2").usable && state_of("md2").settled);
}

static void a_program_that_cannot_be_started_is_told(void **data)
{
	(void)data;
	open_levers();
	lever->link.n_given_up = ORDER_GIVEN_UP;
	floor_lever_want(lever, "md2", OPT(30000), true, "a backup writes");
	run();
	assert_false(state_of("md2").usable);
	assert_non_null(strstr(state_of("md2").trouble, "cannot be killed"));
	lever->link.n_given_up = 0;
}

static void what_another_key_says_is_not_understood(void **data)
{
	(void)data;
	file_write("answer", "w", "Personalities : [raid6]\n");
	open_levers();
	run();
	assert_false(state_of("").usable);
	assert_non_null(strstr(state_of("").trouble, "forced command"));
}

static void what_cannot_be_recorded_is_not_done(void **data)
{
	char spill[96];

	(void)data;
	open_levers();
	run();
	file_remove("orders");
	/* A record that takes nothing more: no file to write, no spill. */
	room_close_store(room);
	snprintf(spill, sizeof(spill), "%s/none/spill", room->folder);
	MUST(store_open(&(struct store_options){.path = room->db,
				.spill = spill,
				.spill_bytes = 128 << 10,
				.busy_ms = 10,
				.boot_id = BOOT},
		&room->store, &err_of_must));
	gate.store = room->store;
	{
		sqlite3 *other = NULL;

		assert_int_equal(sqlite3_open(room->db, &other), SQLITE_OK);
		assert_int_equal(
			sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
		floor_lever_want(lever, "md2", OPT(16000), true, "a backup writes");
		run();
		sqlite3_close(other);
	}
	orders_are("look md2\n");
	assert_false(state_of("md2").moved || state_of("md2").usable);
	assert_non_null(strstr(state_of("md2").trouble, "cannot be recorded"));
}

static void the_end_of_the_gate_puts_back(void **data)
{
	(void)data;
	floored();
	floor_levers_close(levers, clock_boot_ms() + WAIT_MS);
	levers = NULL;
	orders_are("free md2\n");
	assert_int_equal(recorded().n, 0);
}

static void the_end_of_the_gate_is_not_held_up(void **data)
{
	int64_t began;

	(void)data;
	floored();
	file_write("answer", "w", "failed unreachable it is gone\n");
	began = clock_boot_ms();
	floor_levers_close(levers, clock_boot_ms() + 10 * WAIT_MS);
	levers = NULL;
	assert_true(clock_boot_ms() - began < WAIT_MS);
	orders_are("free md2\n"); /* once, and no more */
	assert_int_equal(recorded().n, 1);
}

static void a_nas_that_is_no_longer_set_up_is_freed(void **data)
{
	(void)data;
	floored();
	settings.n_nas = 0;
	floor_levers_settings(levers);
	assert_null(floor_lever_find(levers, "nas1"));
	while (levers->n)
		if (sd_event_run(gate.loop, 20 * 1000) < 0)
			fail_msg("the loop fails");
	orders_are("free md2\n");
	assert_int_equal(recorded().n, 0);
}

static void another_key_makes_another_lever(void **data)
{
	(void)data;
	floored();
	strcpy(settings.nas[0].levers.key_file, "/other");
	floor_levers_settings(levers);
	assert_int_equal(levers->n, 2);
	assert_true(floor_lever_find(levers, "nas1") != lever);
	lever = floor_lever_find(levers, "nas1");
	assert_string_equal(lever->link.target.key_file, "/other");
	while (levers->n > 1)
		sd_event_run(gate.loop, 20 * 1000);
	run();
	assert_int_equal(recorded().n, 0);
	floor_levers_settings(levers);
	assert_true(floor_lever_find(levers, "nas1") == lever);
}

/* ---- other gates ---- */

static void a_gate_has_a_name_of_its_own(void **data)
{
	char name[ORDER_NAME_MAX], again[ORDER_NAME_MAX], line[ORDER_LINE_MAX] = "moved\n";

	(void)data;
	strcpy(settings.node, "pve1");
	strcpy(settings.database, "/var/lib/a");
	floor_name(&settings, name);
	floor_name(&settings, again);
	assert_string_equal(name, again);
	assert_memory_equal(name, "pve1-", 5);
	assert_int_equal(strlen(name), 13);
	MUST(order_by(name, line, &err_of_must));
	strcpy(settings.database, "/var/lib/b");
	floor_name(&settings, again);
	assert_string_not_equal(name, again);
	strcpy(settings.node, "-a.very long;name-that-a-node-may-not-have-at-all-but-who-knows");
	floor_name(&settings, again);
	strcpy(line, "moved\n");
	MUST(order_by(again, line, &err_of_must));
	open_levers();
	run();
	file_read("names", line, sizeof(line));
	assert_string_equal(line, again);
}

/* Another gate moves md2: "by" and for how long. */
static void another_moves(void)
{
	file_write("other", "w", " by=pve2-0b by_s=540");
}

static void what_another_gate_moves_is_not_touched(void **data)
{
	struct floor_state state;

	(void)data;
	another_moves();
	open_levers();
	floor_lever_want(lever, "md2", OPT(16000), true, "a backup writes");
	run();
	orders_are("moved\nlook md2\n");
	state = state_of("md2");
	assert_false(state.usable || state.moved || state.settled);
	assert_memory_equal(state.trouble, "moved by another gate (pve2-0b) until ", 38);
	assert_string_equal(state.trouble + 43, "; not touched");
	assert_int_equal(recorded().n, 0);
	assert_true(state_of("md3").usable);
	floor_lever_free(lever, "md2", "it is not usable");
	run();
	orders_are("");
	/* Whether it still is, is asked although nobody wants anything. */
	assert_true(lever->arrays[0].retry_ms <= clock_boot_ms() + FLOOR_RENEW_MS);
	assert_true(lever->arrays[0].retry_ms > clock_boot_ms() + MS_MINUTE);
	lever->arrays[0].retry_ms = 1;
	floor_step(lever);
	run();
	orders_are("look md2\n");
	assert_false(state_of("md2").usable);
	file_remove("other");
	lever->arrays[0].retry_ms = 1;
	floor_step(lever);
	run();
	orders_are("look md2\n");
	assert_true(state_of("md2").usable);
	assert_string_equal(state_of("md2").trouble, "");
	floor_step(lever);
	run();
	orders_are("");
}

static void another_gate_that_was_first_keeps_it(void **data)
{
	(void)data;
	floored();
	another_moves(); /* ours has ended there meanwhile */
	floor_lever_want(lever, "md2", OPT(30000), true, "a backup writes");
	run();
	orders_are("floor md2 30000 5242 600\n");
	assert_false(state_of("md2").moved || state_of("md2").usable);
	assert_memory_equal(state_of("md2").trouble, "moved by another gate (pve2-0b) until ", 38);
	assert_int_equal(recorded().n, 0); /* it is the other's to put back */
}

static void what_became_anothers_is_not_put_back(void **data)
{
	(void)data;
	floored();
	another_moves();
	floor_lever_free(lever, "md2", "done");
	run();
	orders_are("free md2\n");
	assert_false(state_of("md2").moved);
	assert_int_equal(recorded().n, 0);
}

static void a_check_that_became_anothers_is_left(void **data)
{
	(void)data;
	file_write("operation", "w", "check");
	open_levers();
	floor_lever_pause_check(lever, "md2", true, "backups write");
	run();
	file_remove("orders");
	another_moves();
	floor_lever_pause_check(lever, "md2", false, "the backups are done");
	run();
	orders_are("resume md2\n");
	assert_false(state_of("md2").moved || state_of("md2").paused);
	assert_true(state_of("md2").usable); /* the floor is another matter */
	assert_int_equal(recorded().n, 0);
}

static void a_person_may_want_all_put_back(void **data)
{
	(void)data;
	floored();
	another_moves();
	file_write("others", "w", "md2,md_d0");
	floor_lever_free_others(lever, "root wants everything put back");
	run();
	orders_are(
		"any: moved\nany: resume md2\nany: free md2\nany: resume md_d0\nany: free md_d0\n");
	assert_false(state_of("md2").moved || lever->anyones);
	assert_int_equal(recorded().n, 0);
	floor_lever_want(lever, "md2", OPT(16000), false, "a backup writes");
	run();
	orders_are("floor md2 16000 - 600\n");
	file_write("answer", "w", "failed unreachable nas.example cannot be reached\n");
	floor_lever_free_others(lever, "root wants everything put back");
	run();
	assert_false(lever->anyones); /* wanted now, and not at some later time */
}

/* Not at some later time: it is tried although the NAS was not reached, and that was it. */
static void what_others_moved_is_put_back_now_or_not_at_all(void **data)
{
	(void)data;
	file_write("answer", "w", "failed auth nas.example refuses the key\n");
	open_levers();
	run();
	file_remove("orders");
	file_write("others", "w", "md2");
	floor_lever_free_others(lever, "root wants everything put back");
	run();
	orders_are("any: moved\n");
	assert_false(lever->anyones);
	file_remove("answer");
	lever->not_before_ms = 0;
	floor_step(lever);
	run();
	orders_are("moved\n");
	/* And where it is reached again by then, nothing is left to wait for. */
	lever->failures = 1;
	lever->not_before_ms = clock_boot_ms() + MS_HOUR;
	floor_lever_free_others(lever, "root wants everything put back");
	run();
	orders_are("any: moved\nany: resume md2\nany: free md2\n");
	assert_false(lever->anyones);
}

/* An answer that is under way tells of our own moves only. */
static void what_others_moved_is_asked_for_by_a_list_of_its_own(void **data)
{
	(void)data;
	open_levers();
	file_write("others", "w", "md2");
	while (lever->doing != ORDER_MOVED)
		sd_event_run(gate.loop, 20 * 1000);
	floor_lever_free_others(lever, "root wants everything put back");
	run();
	orders_are("moved\nany: moved\nany: resume md2\nany: free md2\n");
	assert_false(lever->anyones || state_of("md2").moved);
}

/* An array that is gone is nobody's. */
static void what_was_anothers_and_is_gone_is_not_asked_for_any_more(void **data)
{
	(void)data;
	another_moves();
	open_levers();
	floor_lever_want(lever, "md2", OPT(16000), true, "a backup writes");
	run();
	floor_lever_free(lever, "md2", "it is not usable");
	file_remove("orders");
	file_write("answer", "w", "error there is no array md2\n");
	lever->arrays[0].retry_ms = 1;
	floor_step(lever);
	run();
	orders_are("look md2\n");
	assert_true(state_of("md2").usable); /* who wants it looks first */
	file_remove("answer");
	lever->arrays[0].retry_ms = 1;
	floor_step(lever);
	run();
	orders_are("");
}

static void an_older_script_is_told_of_once(void **data)
{
	(void)data;
	file_write("older", "w", "yes");
	file_write("refuses", "w", "all");
	log_begins();
	open_levers();
	floor_lever_want(lever, "md2", OPT(16000), false, "a backup writes");
	again_until_refused();
	again_until_refused();
	log_ends();
	assert_int_equal(logged("is older than this gate"), 1);
	file_remove("older");
	floor_lever_again(lever);
	run();
	assert_false(lever->nameless || lever->nameless_said);
}

static void an_older_script_is_told_of_and_works(void **data)
{
	char name[ORDER_NAME_MAX];

	(void)data;
	file_write("older", "w", "yes");
	open_levers();
	floor_lever_want(lever, "md2", OPT(16000), false, "a backup writes");
	run();
	orders_are("moved\nmoved\nlook md2\nfloor md2 16000 - 600\n");
	file_read("names", name, sizeof(name));
	assert_string_equal(name, "-");
	assert_true(state_of("md2").usable && state_of("md2").settled);
	assert_non_null(strstr(state_of("md2").trouble, "nas-levers there is older"));
	assert_non_null(strstr(state_of("md2").trouble, "install"));
	file_remove("older"); /* mended */
	floor_lever_again(lever);
	run();
	orders_are("moved\n");
	assert_string_equal(state_of("md2").trouble, "");
	floor_lever_free(lever, "md2", "done");
	run();
	orders_are("free md2\n");
	file_read("names", name, sizeof(name));
	assert_string_equal(name, lever->name);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(a_floor_is_looked_at_recorded_and_set),
		TEST(small_changes_are_none),
		TEST(a_floor_is_renewed_as_it_is),
		TEST(what_is_not_wanted_any_more_is_put_back),
		TEST(the_first_reason_to_put_back_is_recorded),
		TEST(the_settings_say_what_may_be_moved),
		TEST(a_cache_that_is_large_enough_stays),
		TEST(caches_of_two_arrays_share_what_they_may_take),
		TEST(a_cache_that_gives_way_gets_its_own_size),
		TEST(a_refused_cache_does_not_cost_the_floor),
		TEST(a_floor_refused_also_without_its_cache_is_refused),
		TEST(a_floor_that_stays_refused_is_told_once),
		TEST(a_nas_that_does_not_tell_what_is_moved_is_not_hammered),
		TEST(what_the_record_says_is_moved_is_put_back_at_the_start),
		TEST(what_the_nas_has_undone_meanwhile_is_back_in_the_record),
		TEST(what_only_the_nas_knows_is_put_back_too),
		TEST(a_check_rests_and_goes_on),
		TEST(nothing_but_a_check_is_interrupted),
		TEST(a_check_waits_for_a_recovery),
		TEST(a_refusal_is_told_and_tried_again_later),
		TEST(a_floor_that_was_refused_is_asked_about),
		TEST(a_nas_that_is_not_reached_is_not_hammered),
		TEST(after_a_refused_key_there_is_patience),
		TEST(a_nas_without_an_order_is_shown_with_its_trouble),
		TEST(a_reload_tries_a_refused_key_anew),
		TEST(a_nas_that_failed_is_asked_until_it_answers),
		TEST(a_child_that_dies_is_a_failure_of_one_order),
		TEST(a_program_that_cannot_be_started_is_told),
		TEST(what_another_key_says_is_not_understood),
		TEST(what_cannot_be_recorded_is_not_done),
		TEST(the_end_of_the_gate_puts_back),
		TEST(the_end_of_the_gate_is_not_held_up),
		TEST(a_nas_that_is_no_longer_set_up_is_freed),
		TEST(another_key_makes_another_lever),
		TEST(a_gate_has_a_name_of_its_own),
		TEST(what_another_gate_moves_is_not_touched),
		TEST(another_gate_that_was_first_keeps_it),
		TEST(what_became_anothers_is_not_put_back),
		TEST(a_check_that_became_anothers_is_left),
		TEST(a_person_may_want_all_put_back),
		TEST(what_others_moved_is_put_back_now_or_not_at_all),
		TEST(what_others_moved_is_asked_for_by_a_list_of_its_own),
		TEST(what_was_anothers_and_is_gone_is_not_asked_for_any_more),
		TEST(an_older_script_is_told_of_and_works),
		TEST(an_older_script_is_told_of_once),
	};

	if (argc > 1 && strcmp(argv[1], "--order") == 0)
		return nas_main();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
