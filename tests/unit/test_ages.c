// SPDX-License-Identifier: MIT
/* How old the last backups are, by the record and by what is told. */
#include "store_room.h"

#include <systemd/sd-event.h>

#include "base/clock.h"
#include "gate/ages.h"
#include "gate/ages_impl.h"
#include "gate/gate.h"

static const struct moment now = {.boot_ms = 1000, .utc_ms = T0 + 10 * MS_HOUR};

static void put(struct room *room, int64_t ticket, const char *storage, uint32_t vmid,
	const char *outcome, int64_t ended_utc_ms)
{
	static struct ticket job;
	struct store_guest guest = {
		.ticket = ticket, .guest = vmid, .outcome = outcome, .ended_utc_ms = ended_utc_ms};
	struct moment then = {.boot_ms = 1000, .utc_ms = T0};

	memset(&job, 0, sizeof(job));
	job.id = ticket;
	job.state = TICKET_ENDED;
	snprintf(job.request.storage, sizeof(job.request.storage), "%s", storage);
	store_begin(room->store);
	store_put_ticket(room->store, &job, &then, TICKET_RUNNING, "it has ended");
	store_put_guest(room->store, &guest);
	MUST(store_commit(room->store, &err_of_must) == STORE_RECORDED);
}

static void open_ages(struct room *room, struct gate *gate, struct ages **ret)
{
	memset(gate, 0, sizeof(*gate));
	gate->store = room->store;
	gate->settings = calloc(1, sizeof(*gate->settings));
	settings_defaults(gate->settings);
	assert_true(sd_event_new(&gate->loop) >= 0);
	MUST(ages_open(gate, ret, &err_of_must));
}

static void close_ages(struct gate *gate, struct ages *ages)
{
	ages_close(ages);
	sd_event_unref(gate->loop);
	free(gate->settings);
}

static struct opt age_of(struct ages *ages, const char *storage, uint32_t guest)
{
	static struct request request;

	memset(&request, 0, sizeof(request));
	snprintf(request.storage, sizeof(request.storage), "%s", storage);
	request.guest = guest;
	ages_fill(ages, &request, &now);
	return request.backup_age_ms;
}

/* A macro, so that a failure names its line. */
#define AGE_IS(age, ms)                                                                            \
	do {                                                                                       \
		struct opt age_now = (age);                                                        \
		assert_true(age_now.known);                                                        \
		assert_int_equal(age_now.v, ms);                                                   \
	} while (0)

static void the_record_tells_the_last_good_backup_of_each_guest(void **state)
{
	struct room *room = *state;
	struct ages *ages = NULL;
	struct gate gate;

	room_open_store(room);
	put(room, 1, "backup", 100, "done", T0 + 2 * MS_HOUR);
	put(room, 2, "backup", 100, "done", T0 + 5 * MS_HOUR);
	put(room, 3, "backup", 100, "failed", T0 + 9 * MS_HOUR);
	put(room, 4, "other", 100, "done", T0 + 9 * MS_HOUR);
	put(room, 5, "backup", 101, "aborted", T0 + MS_HOUR);
	put(room, 6, "backup", 102, "running", 0);
	open_ages(room, &gate, &ages);
	AGE_IS(age_of(ages, "backup", 100), 5 * MS_HOUR);
	AGE_IS(age_of(ages, "other", 100), MS_HOUR);
	assert_false(age_of(ages, "backup", 101).known);
	assert_false(age_of(ages, "backup", 102).known);
	assert_false(age_of(ages, "nowhere", 100).known);
	close_ages(&gate, ages);
}

static void one_that_ends_now_counts_from_now(void **state)
{
	struct room *room = *state;
	struct ages *ages = NULL;
	struct gate gate;

	room_open_store(room);
	put(room, 1, "backup", 100, "done", T0);
	open_ages(room, &gate, &ages);
	AGE_IS(age_of(ages, "backup", 100), 10 * MS_HOUR);
	ages_done(ages, 7, "backup", 100, now.utc_ms);
	AGE_IS(age_of(ages, "backup", 100), 0);
	ages_done(ages, 7, "backup", 100, T0); /* an older one makes it no older */
	AGE_IS(age_of(ages, "backup", 100), 0);
	ages_done(ages, 7, "backup", 100, now.utc_ms + MS_HOUR); /* the clock went back */
	AGE_IS(age_of(ages, "backup", 100), 0);
	ages_done(ages, 7, "backup", 0, now.utc_ms);
	assert_false(age_of(ages, "backup", 0).known);
	close_ages(&gate, ages);
}

static void of_a_job_the_oldest_that_is_known_counts(void **state)
{
	static struct request request;
	struct room *room = *state;
	struct ages *ages = NULL;
	struct gate gate;
	uint32_t i;

	room_open_store(room);
	open_ages(room, &gate, &ages);
	for (i = 200; i > 0; i--) /* in no order that helps */
		ages_done(ages, 7, "backup", (i * 7919) % 211 + 1, T0 + i * MS_MINUTE);
	memset(&request, 0, sizeof(request));
	snprintf(request.storage, sizeof(request.storage), "backup");
	request.backup_age_ms = OPT(77);
	ages_fill(ages, &request, &now);
	assert_false(request.backup_age_ms.known); /* its guests are not known */
	request.n_guests = 3;
	request.guests[0] = (50 * 7919) % 211 + 1;
	request.guests[1] = 9999;
	request.guests[2] = (40 * 7919) % 211 + 1;
	ages_fill(ages, &request, &now);
	AGE_IS(request.backup_age_ms, 10 * MS_HOUR - 40 * MS_MINUTE);
	request.n_guests = 1;
	request.guests[0] = 9999;
	ages_fill(ages, &request, &now);
	assert_false(request.backup_age_ms.known);
	close_ages(&gate, ages);
}

/* ---- sizes ---- */

/* What the last backups of so many guests moved; -1 not known. */
static int64_t size_of(
	struct ages *ages, enum moved as, const uint32_t *guests, size_t n, int64_t utc_ms)
{
	const struct moment at = {.boot_ms = 1000, .utc_ms = utc_ms};
	static struct request request;
	struct opt size;

	memset(&request, 0, sizeof(request));
	snprintf(request.storage, sizeof(request.storage), "backup");
	request.n_guests = n;
	memcpy(request.guests, guests, n * sizeof(*guests));
	size = ages_size(ages, &request, as, &at);
	return size.known ? size.v : -1;
}

static int64_t read_size(struct ages *ages, uint32_t guest)
{
	return size_of(ages, MOVED_READ, &guest, 1, now.utc_ms);
}

static int64_t written_size(struct ages *ages, uint32_t guest)
{
	return size_of(ages, MOVED_WRITTEN, &guest, 1, now.utc_ms);
}

static void a_backup_s_size_is_what_its_keeper_told(void **state)
{
	struct room *room = *state;
	struct ages *ages = NULL;
	struct gate gate;

	room_open_store(room);
	open_ages(room, &gate, &ages);
	ages_reads(ages, 7, "backup", 100, 5000);
	assert_int_equal(read_size(ages, 100), -1); /* it may yet fail */
	ages_done(ages, 7, "backup", 100, T0);
	assert_int_equal(read_size(ages, 100), 5000);
	assert_int_equal(written_size(ages, 100), -1);
	/* Its last word comes after. */
	ages_reads(ages, 7, "backup", 100, 5000);
	/* Another job's is not told for this one. */
	ages_done(ages, 8, "backup", 100, T0 + MS_HOUR);
	assert_int_equal(read_size(ages, 100), 5000);
	/* One that failed, and then one without a keeper. */
	ages_reads(ages, 9, "backup", 100, 6000);
	ages_done(ages, 10, "backup", 100, T0 + 2 * MS_HOUR);
	ages_done(ages, 9, "backup", 100, T0 + 2 * MS_HOUR);
	assert_int_equal(read_size(ages, 100), 5000);
	close_ages(&gate, ages);
}

static void the_newest_backup_s_size_counts(void **state)
{
	struct room *room = *state;
	struct ages *ages = NULL;
	struct gate gate;

	room_open_store(room);
	open_ages(room, &gate, &ages);
	ages_moved(ages, "backup", 100, MOVED_READ, 2000, T0);
	ages_moved(ages, "backup", 100, MOVED_READ, 1000, T0 - MS_DAY);
	assert_int_equal(read_size(ages, 100), 2000);
	ages_moved(ages, "backup", 100, MOVED_READ, 0, T0 + 1);
	assert_int_equal(read_size(ages, 100), 0); /* nothing had changed: that is known */
	ages_moved(ages, "backup", 0, MOVED_READ, 7, T0 + 1);
	assert_int_equal(read_size(ages, 0), -1);
	ages_moved(ages, "backup", 101, MOVED_READ, -7, T0 + 1);
	assert_int_equal(read_size(ages, 101), -1);
	close_ages(&gate, ages);
}

static void what_was_read_is_not_taken_for_what_arrived(void **state)
{
	struct room *room = *state;
	struct ages *ages = NULL;
	struct gate gate;

	room_open_store(room);
	open_ages(room, &gate, &ages);
	ages_moved(ages, "backup", 100, MOVED_READ, 9000, T0);
	assert_int_equal(written_size(ages, 100), -1);
	/* But it read what arrived, at least. */
	ages_moved(ages, "backup", 101, MOVED_WRITTEN, 300, T0);
	assert_int_equal(written_size(ages, 101), 300);
	assert_int_equal(read_size(ages, 101), 300);
	ages_moved(ages, "backup", 101, MOVED_READ, 4000, T0 - MS_DAY);
	assert_int_equal(read_size(ages, 101), 4000);
	close_ages(&gate, ages);
}

/* No keeper slows it, so that a keeper's pace says nothing of it. */
static void a_container_takes_no_time_by_what_keepers_tell(void **state)
{
	const uint32_t guests[] = {100, 101};
	struct room *room = *state;
	struct ages *ages = NULL;
	struct gate gate;

	room_open_store(room);
	open_ages(room, &gate, &ages);
	ages_moved(ages, "backup", 100, MOVED_READ, 2000, clock_now().utc_ms);
	ages_moved(ages, "backup", 101, MOVED_WRITTEN, 300, clock_now().utc_ms);
	assert_int_equal(size_of(ages, MOVED_READ, guests, 2, now.utc_ms), 2300);
	ages_is_lxc(ages, "backup", 101, true);
	assert_int_equal(size_of(ages, MOVED_READ, guests, 2, now.utc_ms), 2000);
	assert_int_equal(written_size(ages, 101), 300);
	close_ages(&gate, ages);
	open_ages(room, &gate, &ages);
	assert_int_equal(size_of(ages, MOVED_READ, guests, 2, now.utc_ms), 2000);
	/* The number is another guest's now. */
	ages_is_lxc(ages, "backup", 101, false);
	assert_int_equal(size_of(ages, MOVED_READ, guests, 2, now.utc_ms), 2300);
	close_ages(&gate, ages);
}

static void a_job_s_size_is_known_with_that_of_each_guest(void **state)
{
	const uint32_t guests[] = {100, 101, 102};
	struct room *room = *state;
	struct ages *ages = NULL;
	struct gate gate;

	room_open_store(room);
	open_ages(room, &gate, &ages);
	ages_moved(ages, "backup", 100, MOVED_READ, 2000, T0);
	ages_moved(ages, "backup", 101, MOVED_READ, 300, T0);
	ages_moved(ages, "other", 102, MOVED_READ, 70, T0);
	assert_int_equal(size_of(ages, MOVED_READ, guests, 2, now.utc_ms), 2300);
	assert_int_equal(size_of(ages, MOVED_READ, guests, 3, now.utc_ms), -1);
	assert_int_equal(size_of(ages, MOVED_READ, guests, 0, now.utc_ms), -1);
	assert_int_equal(size_of(ages, MOVED_NONE, guests, 2, now.utc_ms), -1);
	ages_moved(ages, "backup", 102, MOVED_READ, INT64_MAX / 2, T0);
	assert_int_equal(size_of(ages, MOVED_READ, guests, 3, now.utc_ms), -1);
	close_ages(&gate, ages);
}

static void sizes_are_forgotten_after_a_long_while(void **state)
{
	const uint32_t guest = 100;
	struct room *room = *state;
	struct ages *ages = NULL;
	struct gate gate;

	room_open_store(room);
	open_ages(room, &gate, &ages);
	ages_moved(ages, "backup", 100, MOVED_READ, 2000, T0);
	assert_int_equal(size_of(ages, MOVED_READ, &guest, 1, T0 + 100 * MS_DAY), 2000);
	assert_int_equal(size_of(ages, MOVED_READ, &guest, 1, T0 + 100 * MS_DAY + 1), -1);
	close_ages(&gate, ages);
}

static void sizes_survive_the_gate(void **state)
{
	struct room *room = *state;
	struct ages *ages = NULL;
	struct gate gate;
	int64_t today = clock_now().utc_ms;
	char text[400];

	room_open_store(room);
	open_ages(room, &gate, &ages);
	ages_moved(ages, "backup", 100, MOVED_READ, 2000, today);
	ages_moved(ages, "backup", 100, MOVED_WRITTEN, 0, today - MS_DAY);
	close_ages(&gate, ages);
	open_ages(room, &gate, &ages);
	assert_int_equal(read_size(ages, 100), 2000);
	assert_int_equal(written_size(ages, 100), 0);
	close_ages(&gate, ages);
	/* What is none is left out. */
	snprintf(text, sizeof(text),
		"[7, "
		"{\"storage\":\"backup\",\"guest\":100,\"as\":\"guessed\",\"bytes\":1,\"utc_ms\":%"
		"lld},"
		" {\"storage\":\"backup\",\"guest\":101,\"as\":\"read\",\"bytes\":-1,\"utc_ms\":%"
		"lld},"
		" {\"storage\":\"backup\",\"guest\":102,\"as\":\"read\",\"bytes\":5,\"utc_ms\":%"
		"lld}]",
		(long long)today, (long long)today, (long long)today);
	store_begin(room->store);
	store_put_memory(room->store, "ages:sizes", text, today);
	MUST(store_commit(room->store, &err_of_must) == STORE_RECORDED);
	open_ages(room, &gate, &ages);
	assert_int_equal(read_size(ages, 100), -1);
	assert_int_equal(read_size(ages, 101), -1);
	assert_int_equal(read_size(ages, 102), 5);
	close_ages(&gate, ages);
}

/* ---- a job of the cluster ---- */

static void a_job_whose_guests_are_only_partly_told_has_none(void **state)
{
	static struct request request;
	struct room *room = *state;
	struct ages *ages = NULL;
	struct ages_job *job;
	struct gate gate;

	room_open_store(room);
	open_ages(room, &gate, &ages);
	gate.settings->n_storages = 1;
	snprintf(
		gate.settings->storages[0].name, sizeof(gate.settings->storages[0].name), "backup");
	snprintf(gate.settings->storages[0].pve, sizeof(gate.settings->storages[0].pve), "lab");
	job = ages_job_of(ages, "lab", "night");
	job->known = true;
	job->n = 3;
	job->guests[0].guest = (struct pve_job_guest){.vmid = 100, .size = 1000};
	job->guests[1].guest = (struct pve_job_guest){.vmid = 101, .size = 1000};
	job->guests[2].guest = (struct pve_job_guest){.vmid = 102, .lxc = true};
	snprintf(job->guests[0].node, sizeof(job->guests[0].node), "pve1");
	snprintf(job->guests[2].node, sizeof(job->guests[2].node), "pve1");
	memset(&request, 0, sizeof(request));
	snprintf(request.node, sizeof(request.node), "pve1");
	ages_job(ages, "backup", "night", &request);
	assert_int_equal(request.n_guests, 0);
	snprintf(job->guests[1].node, sizeof(job->guests[1].node), "pve2");
	ages_job(ages, "backup", "night", &request);
	assert_int_equal(request.n_guests, 2);
	assert_int_equal(request.guests[1], 102);
	assert_int_equal(request.n_qemu.v, 1);
	/* Volumes are what is read only where a backup is a file. */
	assert_int_equal(read_size(ages, 100), -1);
	ages_shelf(ages, "backup")->files = true;
	assert_int_equal(read_size(ages, 100), 1000);
	assert_int_equal(written_size(ages, 100), -1);
	assert_int_equal(read_size(ages, 102), -1);
	close_ages(&gate, ages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_record_tells_the_last_good_backup_of_each_guest,
			room_setup, room_teardown),
		cmocka_unit_test_setup_teardown(
			one_that_ends_now_counts_from_now, room_setup, room_teardown),
		cmocka_unit_test_setup_teardown(
			of_a_job_the_oldest_that_is_known_counts, room_setup, room_teardown),
		cmocka_unit_test_setup_teardown(
			a_backup_s_size_is_what_its_keeper_told, room_setup, room_teardown),
		cmocka_unit_test_setup_teardown(
			the_newest_backup_s_size_counts, room_setup, room_teardown),
		cmocka_unit_test_setup_teardown(
			what_was_read_is_not_taken_for_what_arrived, room_setup, room_teardown),
		cmocka_unit_test_setup_teardown(
			a_job_s_size_is_known_with_that_of_each_guest, room_setup, room_teardown),
		cmocka_unit_test_setup_teardown(
			a_container_takes_no_time_by_what_keepers_tell, room_setup, room_teardown),
		cmocka_unit_test_setup_teardown(
			sizes_are_forgotten_after_a_long_while, room_setup, room_teardown),
		cmocka_unit_test_setup_teardown(sizes_survive_the_gate, room_setup, room_teardown),
		cmocka_unit_test_setup_teardown(a_job_whose_guests_are_only_partly_told_has_none,
			room_setup, room_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
