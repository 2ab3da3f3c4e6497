// SPDX-License-Identifier: MIT
/*
 * Writes decisions into a record as the daemon does, to be killed while it does so; and looks
 * afterwards whether all that it had answered is there.
 *
 * write DB COUNT [POLICY]: commits decisions, each decided by POLICY (a file; none: the shipped
 * defaults), and prints each id once its commit has returned; now and then it locks the database
 * itself, so that batches go through the spill, lets old rows go, and has a ticket and a policy in
 * the batch.
 *
 * fill DB COUNT [POLICY]: COUNT decisions in large batches, over many storages, guests and nodes.
 *
 * check DB IDS: whether each id of the file IDS is in the record (or older than its first row);
 * takes in what the spill holds.
 *
 * full DB BALLAST [POLICY]: commits until the disk is full and batches go to the spill, some more,
 * then removes the file BALLAST, heals and goes on.
 *
 * sql DB SQL: what somebody with the sqlite3 shell may do to the file.
 *
 * bench DB: times of filtered pages and of stats.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "conf/conf.h"
#include "store/store.h"

#define T0 INT64_C(1790000000000)

struct writer {
	const char *path;
	struct store *store;
	struct policy *policy;
	struct buf policy_text;
	char policy_hash[STORE_HASH_TEXT];
	struct inputs in;
	struct ticket ticket;
	sqlite3 *lock;
	uint64_t seed;
	int64_t last_ticket;
};

static void die(const char *what, const struct err *err)
{
	fprintf(stderr, "store-writer: %s: %s\n", what, err ? err->text : "");
	exit(1);
}

static uint64_t pick(struct writer *writer, uint64_t n)
{
	writer->seed ^= writer->seed << 13;
	writer->seed ^= writer->seed >> 7;
	writer->seed ^= writer->seed << 17;
	return writer->seed % n;
}

static void open_store(struct writer *writer)
{
	struct store_options options = {.path = writer->path,
		.spill_bytes = 1 << 20,
		.busy_ms = 5,
		.boot_id = "11111111-2222-3333-4444-555555555555"};
	struct err err = {0};

	if (!store_open(&options, &writer->store, &err))
		die("open", &err);
}

static void make_request(struct writer *writer, int64_t n)
{
	struct inputs *in = &writer->in;
	struct array_facts *md = &in->facts.arrays[0];

	memset(in, 0, sizeof(*in));
	in->request.client = CLIENT_VZDUMP;
	in->request.phase = PHASE_JOB_INIT;
	snprintf(in->request.storage, STORAGE_NAME_MAX, "backup%llu",
		(unsigned long long)pick(writer, 20));
	snprintf(in->request.node, NODE_NAME_MAX, "pve%llu", (unsigned long long)pick(writer, 4));
	in->request.guest = 100 + (uint32_t)pick(writer, 200);
	snprintf(in->mapping.nas, NAS_NAME_MAX, "nas%llu", (unsigned long long)pick(writer, 5));
	memcpy(in->facts.name, in->mapping.nas, sizeof(in->facts.name));
	in->facts.sensor = pick(writer, 20) ? SENSOR_OK : SENSOR_SILENT;
	in->facts.read_at_ms = OPT(n * 1000);
	in->facts.n_arrays = 1;
	memcpy(md->name, "md2", 4);
	md->role = MD_ROLE_DATA;
	md->level = MD_LEVEL_RAID6;
	md->operation = pick(writer, 3) ? MD_OP_RECOVERY : MD_OP_IDLE;
	md->sync_state = MD_SYNC_RUNNING;
	md->health = MD_HEALTH_DEGRADED;
	md->progress_ppm = OPT((int64_t)pick(writer, 1000000));
	md->redundancy_left = OPT((int64_t)pick(writer, 3));
	in->now = (struct moment){.boot_ms = n * 1000 + 500, .utc_ms = T0 + n * 1000};
}

static int64_t put(struct writer *writer, int64_t n)
{
	struct decision decision;
	struct store_decision row = {.inputs = &writer->in,
		.decision = &decision,
		.ticket = n / 3 + 1,
		.policy_hash = writer->policy_hash};

	make_request(writer, n);
	decide(writer->policy, &writer->in, &decision, NULL);
	return store_add_decision(writer->store, &row);
}

static void load_policy(struct writer *writer, const char *file)
{
	struct conf_errors errors = {0};

	if (file && !conf_policy_load(file, &writer->policy, &errors))
		die(file, NULL);
	if (!file)
		writer->policy = conf_policy_shipped();
	if (!writer->policy || !conf_policy_print(writer->policy, &writer->policy_text))
		die("policy", NULL);
}

/* Locks the database against ourselves, or lets it go again. */
static void lock_turn(struct writer *writer)
{
	if (writer->lock) {
		sqlite3_close(writer->lock);
		writer->lock = NULL;
	} else if (sqlite3_open(writer->path, &writer->lock) != SQLITE_OK ||
		sqlite3_exec(writer->lock, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) {
		sqlite3_close(writer->lock);
		writer->lock = NULL;
	}
}

static void put_ticket(struct writer *writer, int64_t n)
{
	writer->ticket.id = store_next_ticket(writer->store);
	writer->ticket.state = n % 2 ? TICKET_HELD : TICKET_ENDED;
	store_put_ticket(
		writer->store, &writer->ticket, &writer->in.now, TICKET_NONE, "by store-writer");
}

static void write_one(struct writer *writer, int64_t n)
{
	struct err err = {0};
	int64_t id;
	bool more;

	if (pick(writer, 12) == 0)
		lock_turn(writer);
	if (pick(writer, 6) == 0)
		store_heal(writer->store, NULL);
	if (pick(writer, 40) == 0)
		store_retain(writer->store, T0 + (n - 100) * 1000, T0 + n * 1000, 20, &more, NULL);
	store_begin(writer->store);
	if (pick(writer, 10) == 0)
		store_add_policy(writer->store, buf_str(&writer->policy_text), T0 + n * 1000,
			writer->policy_hash);
	id = put(writer, n);
	if (pick(writer, 5) == 0)
		put_ticket(writer, n);
	if (store_commit(writer->store, &err) == STORE_LOST)
		die("lost", &err);
	printf("%lld\n", (long long)id);
	fflush(stdout);
}

static void write_all(struct writer *writer, int64_t count)
{
	struct store_head head;
	int64_t n;

	open_store(writer);
	store_head(writer->store, &head);
	store_begin(writer->store);
	store_add_policy(writer->store, buf_str(&writer->policy_text), T0, writer->policy_hash);
	store_commit(writer->store, NULL);
	writer->seed = (uint64_t)head.id * 2654435761u + 88172645463325252u + (uint64_t)getpid();
	for (n = head.id + 1; n <= head.id + count; n++)
		write_one(writer, n);
	sqlite3_close(writer->lock);
	store_close(writer->store);
}

static enum store_where commit_next(struct writer *writer, int64_t n)
{
	enum store_where where;
	struct err err = {0};

	store_begin(writer->store);
	put(writer, n);
	where = store_commit(writer->store, &err);
	if (where == STORE_LOST)
		die("lost", &err);
	return where;
}

static void until_full(struct writer *writer, const char *ballast)
{
	struct err err = {0};
	int64_t n = 1, end;

	open_store(writer);
	store_begin(writer->store);
	store_add_policy(writer->store, buf_str(&writer->policy_text), T0, writer->policy_hash);
	while (commit_next(writer, n) == STORE_RECORDED) {
		if (++n > 100000)
			die("the disk is never full", NULL);
	}
	n++; /* the first one that was spilled */
	for (end = n + 20; n < end; n++) {
		if (commit_next(writer, n) != STORE_SPILLED)
			die("written though the disk is full", NULL);
	}
	if (store_heal(writer->store, &err))
		die("healed though the disk is full", NULL);
	if (unlink(ballast) != 0)
		die(ballast, NULL);
	while (!store_heal(writer->store, &err)) {
		if (err.kind != ERR_BUSY)
			die("heal", &err);
	}
	for (end = n + 20; n < end; n++) {
		if (commit_next(writer, n) != STORE_RECORDED)
			die("not written though there is room", NULL);
	}
	store_close(writer->store);
	printf("%lld\n", (long long)n);
}

static void fill(struct writer *writer, int64_t count)
{
	struct err err = {0};
	int64_t n;

	open_store(writer);
	writer->seed = 88172645463325252u;
	for (n = 0; n < count; n++) {
		if (n % 1000 == 0) {
			store_begin(writer->store);
			store_add_policy(writer->store, buf_str(&writer->policy_text), T0,
				writer->policy_hash);
		}
		put(writer, n * 95); /* a million of them in three years */
		if ((n % 1000 == 999 || n == count - 1) &&
			store_commit(writer->store, &err) != STORE_RECORDED)
			die("fill", &err);
	}
	store_close(writer->store);
}

/* ---- check ---- */

struct seen {
	int64_t first;
	int64_t max;
	bool *ids;
};

static bool see(void *data, const struct store_row *row)
{
	struct seen *seen = data;

	if (!seen->first)
		seen->first = row->id;
	if (row->id <= seen->max)
		seen->ids[row->id] = true;
	return true;
}

static void check(struct writer *writer, const char *file)
{
	struct seen seen = {.max = 10000000};
	FILE *in = fopen(file, "re");
	struct err err = {0};
	int64_t n = 0, missing = 0;
	char line[32];
	uint64_t id;

	seen.ids = calloc((size_t)seen.max + 1, sizeof(*seen.ids));
	if (!in || !seen.ids)
		die(file, NULL);
	open_store(writer); /* takes in what was spilled */
	if (!store_walk(writer->store, 0, see, &seen, &err))
		die("walk", &err);
	while (fgets(line, sizeof(line), in)) {
		size_t len = strcspn(line, "\n");

		if (!line[len]) /* cut by the kill: nobody read that answer */
			break;
		if (!digits_parse(line, len, (uint64_t)seen.max, &id))
			die("ids", NULL);
		n++;
		if ((int64_t)id >= seen.first && !seen.ids[id]) {
			printf("missing %llu\n", (unsigned long long)id);
			missing++;
		}
	}
	fclose(in);
	free(seen.ids);
	store_close(writer->store);
	printf("%lld answered, %lld missing\n", (long long)n, (long long)missing);
	if (missing)
		exit(1);
}

static void run_sql(const char *path, const char *sql)
{
	char *message = NULL;
	sqlite3 *db = NULL;

	if (sqlite3_open(path, &db) != SQLITE_OK ||
		sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
		fprintf(stderr, "store-writer: %s\n", message ? message : sqlite3_errmsg(db));
		exit(1);
	}
	sqlite3_close(db);
}

/* ---- bench ---- */

static bool count(void *data, const struct store_row *row)
{
	*(int64_t *)data += row->id > 0;
	return true;
}

static void time_page(struct store *store, const char *name, const struct store_filter *filter)
{
	int64_t rows = 0, next = 0, worst = 0, began;
	struct err err = {0};
	int i;

	for (i = 0; i < 5; i++) {
		rows = 0;
		began = clock_boot_ms();
		if (!store_log(store, filter, 0, count, &rows, &next, &err))
			die(name, &err);
		if (clock_boot_ms() - began > worst)
			worst = clock_boot_ms() - began;
	}
	printf("%-28s %6lld rows %6lld ms at most\n", name, (long long)rows, (long long)worst);
}

static void bench(const char *path)
{
	struct store *store = NULL;
	struct err err = {0};
	int64_t began;
	json_t *value = NULL;

	if (!store_open_reader(path, &store, &err))
		die("open", &err);
#define PAGE(name, ...) time_page(store, name, &(struct store_filter){__VA_ARGS__})
	PAGE("newest", 0);
	PAGE("storage", .storage = "backup7");
	PAGE("nas", .nas = "nas3");
	PAGE("node", .node = "pve2");
	PAGE("guest", .guest = 150);
	PAGE("verdict deny (none)", .verdict = VERDICT_DENY);
	PAGE("verdict allow", .verdict = VERDICT_ALLOW);
	PAGE("rule (none)", .rule = "no such rule");
	PAGE("ticket", .ticket = 123456);
	PAGE("decision", .decision = 500000);
	PAGE("a day a year ago", .since_utc_ms = OPT(T0 + 400 * MS_DAY),
		.until_utc_ms = OPT(T0 + 401 * MS_DAY));
	PAGE("since a year ago", .since_utc_ms = OPT(T0 + 400 * MS_DAY));
	PAGE("storage and guest", .storage = "backup7", .guest = 150);
	PAGE("guest, node, nas", .guest = 150, .node = "pve1", .nas = "nas4");
	PAGE("storage, until a year ago", .storage = "backup7",
		.until_utc_ms = OPT(T0 + 400 * MS_DAY));
	PAGE("storage no row has", .storage = "nothing");
	began = clock_boot_ms();
	if (!store_stats(store, 0, INT64_MAX, &value, &err))
		die("stats", &err);
	printf("%-28s %11s %6lld ms\n", "stats of all", "", (long long)(clock_boot_ms() - began));
	json_decref(value);
	store_close(store);
}

int main(int argc, char **argv)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	uint64_t n = 0;

	if (!writer || argc < 3)
		die("usage: store-writer write|fill DB COUNT | check DB IDS | bench DB", NULL);
	writer->path = argv[2];
	writer->seed = 1;
	if (argc > 3 && (strcmp(argv[1], "write") == 0 || strcmp(argv[1], "fill") == 0)) {
		struct err err = {0};

		if (!u64_parse(argv[3], 1, 100000000, &n, &err))
			die("count", &err);
		load_policy(writer, argc > 4 ? argv[4] : NULL);
		if (strcmp(argv[1], "write") == 0)
			write_all(writer, (int64_t)n);
		else
			fill(writer, (int64_t)n);
	} else if (argc > 3 && strcmp(argv[1], "full") == 0) {
		load_policy(writer, argc > 4 ? argv[4] : NULL);
		until_full(writer, argv[3]);
	} else if (argc > 3 && strcmp(argv[1], "check") == 0) {
		check(writer, argv[3]);
	} else if (argc > 3 && strcmp(argv[1], "sql") == 0) {
		run_sql(writer->path, argv[3]);
	} else if (strcmp(argv[1], "bench") == 0) {
		bench(writer->path);
	} else {
		die("usage", NULL);
	}
	conf_policy_free(writer->policy);
	buf_release(&writer->policy_text);
	free(writer);
	return 0;
}
