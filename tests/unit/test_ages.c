// SPDX-License-Identifier: MIT
/* How old the last backups are, by the record and by what is told. */
#include "store_room.h"

#include <systemd/sd-event.h>

#include "gate/ages.h"
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
	ages_done(ages, "backup", 100, now.utc_ms);
	AGE_IS(age_of(ages, "backup", 100), 0);
	ages_done(ages, "backup", 100, T0); /* an older one makes it no older */
	AGE_IS(age_of(ages, "backup", 100), 0);
	ages_done(ages, "backup", 100, now.utc_ms + MS_HOUR); /* the clock went back */
	AGE_IS(age_of(ages, "backup", 100), 0);
	ages_done(ages, "backup", 0, now.utc_ms);
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
		ages_done(ages, "backup", (i * 7919) % 211 + 1, T0 + i * MS_MINUTE);
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
	assert_false(ages_size(ages, &request).known);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
