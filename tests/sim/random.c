// SPDX-License-Identifier: MIT
/*
 * The scenario of a seed: random policies, NAS, jobs and mishaps, as the text of a scenario file.
 * Spans are short (minutes where life has hours), so that each rule is met often in a small number
 * of looks. Which operations a policy holds and which it has a rule for is written down with it:
 * the checks need not ask src/core.
 */
#include <stdarg.h>
#include <stdio.h>

#include "sim.h"

#define N_POLICIES 3

struct random {
	uint64_t state;
	struct buf *out;
	int minutes; /* how long it lasts */
	int n_nas, n_arrays[SIM_MAX_NAS], n_jobs;
	int rush; /* > 0: the second at which a rebuild begins and soon all jobs ask */
};

/* splitmix64 */
static uint64_t next(struct random *r)
{
	uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* from .. to, both included */
static int pick(struct random *r, int from, int to)
{
	return from + (int)(next(r) % (uint64_t)(to - from + 1));
}

static bool chance(struct random *r, int percent)
{
	return pick(r, 1, 100) <= percent;
}

static const char *word(struct random *r, const char *const *words, int n)
{
	return words[pick(r, 0, n - 1)];
}

#define WORD(r, ...)                                                                               \
	word(r, (const char *const[]){__VA_ARGS__},                                                \
		(int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

static void at(struct random *r, int second, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void at(struct random *r, int second, const char *fmt, ...)
{
	char text[200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	buf_addf(
		r->out, "at %d:%02d:%02d %s\n", second / 3600, second / 60 % 60, second % 60, text);
}

/* --- policies --- */

static void queue_settings(struct random *r)
{
	if (chance(r, 60))
		buf_addf(r->out, " settle = \"%ds\";", pick(r, 0, 600));
	if (chance(r, 60))
		buf_addf(r->out, " max_running = %d;", pick(r, 1, 3));
	if (chance(r, 60))
		buf_addf(r->out, " release_interval = \"%ds\";", pick(r, 0, 180));
	if (chance(r, 8))
		buf_addf(r->out, " release_window = \"%02d:00-%02d:00\";", pick(r, 0, 11),
			pick(r, 12, 23));
}

/* A wait inside a job that is longer than the whole hold is refused by the loader. */
static void hold_settings(struct random *r)
{
	int max_hold = pick(r, 1, 45) * pick(r, 60, 100);
	int recheck = pick(r, 0, max_hold > 400 ? 400 : max_hold);

	if (chance(r, 15))
		buf_addf(r->out, " max_hold = \"rpo\"; rpo = \"%dmin\"; recheck = \"%ds\";",
			pick(r, 5, 90), recheck);
	else
		buf_addf(r->out, " max_hold = \"%ds\"; recheck = \"%ds\";", max_hold, recheck);
	if (chance(r, 70))
		buf_addf(r->out, " on_expiry = \"%s\";", WORD(r, "allow", "throttle", "deny"));
	if (chance(r, 70))
		buf_addf(r->out, " mid_job = \"%s\";", WORD(r, "allow", "throttle", "deny"));
	queue_settings(r);
}

/* Returns whether it holds for certain; a throttle that acts as a hold does so only while its NAS
 * is seen. */
static bool rule(struct random *r, const char *name, const char *when, int holds_percent)
{
	bool holds = chance(r, holds_percent);
	const char *verdict = holds ? "hold" : WORD(r, "allow", "throttle", "throttle", "deny");
	const char *without = NULL, *slow = NULL;

	buf_addf(
		r->out, "  { name = \"%s\"; when = { %s }; verdict = \"%s\";", name, when, verdict);
	if (!holds && verdict[0] == 't' && chance(r, 60))
		without = WORD(r, "allow", "hold", "deny");
	if (without)
		buf_addf(r->out, " without_lever = \"%s\";", without);
	if (!holds && verdict[0] == 't' && chance(r, 60))
		slow = WORD(r, "relax", "hold", "allow");
	if (slow)
		buf_addf(r->out, " too_slow = \"%s\";", slow);
	if (holds || (without && without[0] == 'h') || (slow && slow[0] == 'h'))
		hold_settings(r);
	if (chance(r, 5))
		buf_adds(r->out, " observe = true;");
	buf_adds(r->out, " },\n");
	return holds;
}

static void one_policy(struct random *r, int number)
{
	bool narrow = chance(r, 15), blind = chance(r, 70), rebuild, resync;
	struct buf rules = {0}, *out = r->out;

	r->out = &rules;
	if (blind)
		rule(r, "blind", "sensor = \"blind\";", 65);
	if (narrow)
		rule(r, "nearly done",
			"role = \"data\"; operation = \"recovery\"; progress = \"> 80%\";", 30);
	rebuild = rule(r, "rebuild",
		"role = \"data\"; operation = [\"recovery\", \"reshape\", \"frozen\"];", 80);
	resync = rule(r, "resync",
		"role = \"data\"; operation = [\"resync\", \"check\", \"repair\"];", 30);
	r->out = out;
	buf_addf(out, "define p%d catches=recovery,reshape,frozen,resync,check,repair", number);
	if ((rebuild && !narrow) || resync)
		buf_addf(out, " holds=%s%s%s",
			rebuild ? narrow ? "reshape,frozen" : "recovery,reshape,frozen" : "",
			rebuild && resync ? "," : "", resync ? "resync,check,repair" : "");
	buf_addf(out, "\nname = \"p%d\";\n", number);
	if (chance(r, 3))
		buf_adds(out, "enabled = false;\n");
	if (chance(r, 6))
		buf_adds(out, "observe = true;\n");
	buf_addf(out, "blind_limit = \"%dmin\"; running_ttl = \"%dmin\"; start_grace = \"%ds\";\n",
		pick(r, 5, 90), pick(r, 60, 150), pick(r, 5, 600));
	buf_adds(out, "defaults = {");
	hold_settings(r);
	buf_adds(out, " };\n");
	if (!blind && chance(r, 50))
		buf_addf(out,
			"sensor = { verdict = \"hold\"; max_hold = \"%ds\"; on_expiry = \"%s\"; "
			"};\n",
			pick(r, 60, 1500), WORD(r, "allow", "throttle", "deny"));
	buf_adds(out, "rules = (\n");
	buf_add(out, rules.data, rules.len - 2); /* no comma after the last */
	buf_adds(out, "\n);\nend\n");
	buf_release(&rules);
}

/* --- what there is --- */

static void things(struct random *r)
{
	int i, k;

	r->n_nas = pick(r, 1, 100) > 70 ? 2 : 1;
	for (i = 0; i < r->n_nas; i++) {
		buf_addf(r->out, "nas nas%d look=%dms\n", i, pick(r, 50, 3000));
		r->n_arrays[i] = chance(r, 30) ? 2 : 1;
		for (k = 0; k < r->n_arrays[i]; k++) {
			const char *level = WORD(r, "raid1", "raid5", "raid6", "raid10");

			/* At 100 MB/s: 6 GB a minute. */
			buf_addf(r->out,
				"array nas%d/md%d level=%s disks=%d size=\"%d MB\" rate=\"100 "
				"MB/s\" "
				"inner=\"%d MB/s\" written=\"%d MB/s\" back=%ds\n",
				i, k + 2, level, level[4] == '1' && !level[5] ? 2 : 4,
				pick(r, 2, 45) * 6000, pick(r, 40, 100), pick(r, 5, 60),
				pick(r, 0, 480));
		}
		buf_addf(r->out, "storage s%d nas%d%s\n", i, i, chance(r, 50) ? " md2" : "");
	}
	r->n_jobs = pick(r, 3, 10);
	for (i = 0; i < r->n_jobs; i++) {
		buf_addf(r->out,
			"job j%d node=pve%d storage=%s guests=%d guest=%d size=\"%d MB\" "
			"pace=\"100 MB/s\" client=%s",
			i, pick(r, 1, 3),
			chance(r, 4)                            ? "elsewhere"
				: r->n_nas > 1 && chance(r, 50) ? "s1"
								: "s0",
			pick(r, 1, 4), 100 + i * 10, pick(r, 5, 300) * 100,
			chance(r, 85)           ? "vzdump"
				: chance(r, 50) ? "run"
						: "wait");
		if (chance(r, 25))
			buf_addf(r->out, " period=%dmin", pick(r, 5, 120));
		if (chance(r, 25))
			buf_addf(r->out, " predicted=%dmin", pick(r, 5, 300));
		if (chance(r, 35))
			buf_addf(r->out, " age=%dmin", pick(r, 1, 100));
		buf_adds(r->out, "\n");
	}
}

/* --- what happens --- */

static int any_time(struct random *r)
{
	return pick(r, 1, r->minutes * 60);
}

static void trouble(struct random *r)
{
	int nas = pick(r, 0, r->n_nas - 1), md = 2 + pick(r, 0, r->n_arrays[nas] - 1);
	int when = any_time(r) * 2 / 3, then = when + pick(r, 5, 600);

	switch (pick(r, 0, 7)) {
	case 0:
	case 1:
	case 2:
		at(r, when, "fail nas%d/md%d", nas, md);
		at(r, then, "begin nas%d/md%d recovery", nas, md);
		if (chance(r, 20))
			at(r, then + pick(r, 10, 900), "fail-in-turn nas%d/md%d", nas, md);
		if (chance(r, 10))
			at(r, then + pick(r, 10, 900), "fail nas%d/md%d", nas, md);
		break;
	case 3:
		at(r, when, "begin nas%d/md%d %s", nas, md,
			WORD(r, "check", "repair", "resync", "reshape"));
		if (chance(r, 40))
			at(r, then, "stop nas%d/md%d", nas, md);
		break;
	case 4:
		at(r, when, "freeze nas%d/md%d", nas, md);
		at(r, then, "thaw nas%d/md%d", nas, md);
		break;
	case 5:
		at(r, when, "write nas%d/md%d \"%d MB/s\"", nas, md, pick(r, 0, 100));
		break;
	default:
		at(r, when, "begin nas%d/md%d %s", nas, md, WORD(r, "check", "reshape"));
		break;
	}
}

static void blindness(struct random *r)
{
	int nas = pick(r, 0, r->n_nas - 1), when = any_time(r), n, i;
	const char *how = WORD(r, "unreachable", "refused", "silent", "exit-status", "deadline");

	if (chance(r, 10)) {
		at(r, when, "reboot nas%d %ds", nas, pick(r, 20, 400));
		return;
	}
	if (chance(r, 10))
		how = WORD(r, "host-key", "auth");
	n = chance(r, 25) ? pick(r, 2, 12) : 1;
	for (i = 0; i < n; i++) {
		at(r, when, chance(r, 8) ? "empty nas%d" : "blind nas%d %s", nas, how);
		when += pick(r, 5, n > 1 ? 200 : 2400);
		at(r, when, "sees nas%d", nas);
		when += pick(r, 5, 300);
	}
}

static void restores(struct random *r)
{
	int nas = pick(r, 0, r->n_nas - 1), when = any_time(r);

	at(r, when, "restore nas%d %d", nas, pick(r, 1, 3));
	if (chance(r, 80))
		at(r, when + pick(r, 5, 2400), "restore nas%d %s", nas,
			WORD(r, "0", "0", "0", "unknown"));
}

static void people(struct random *r)
{
	int when = any_time(r), job = pick(r, 0, r->n_jobs - 1);

	switch (pick(r, 0, 9)) {
	case 0:
	case 1:
		at(r, when, "release j%d", job);
		break;
	case 2:
		at(r, when, "override %s job=j%d for=%ds",
			WORD(r, "allow", "throttle", "hold", "deny"), job, pick(r, 30, 2400));
		break;
	case 3:
		at(r, when, "override %s %s for=%ds", WORD(r, "allow", "throttle", "hold", "deny"),
			WORD(r, "storage=s0", "nas=nas0", "node=pve2", "guest=101"),
			pick(r, 30, 2400));
		if (chance(r, 50))
			at(r, when + pick(r, 10, 900), "cancel %d", pick(r, 1, 3));
		break;
	case 4:
	case 5:
		at(r, when, "policy p%d", pick(r, 0, N_POLICIES - 1));
		break;
	case 6:
		at(r, when, "gate %s", WORD(r, "kill", "stop"));
		at(r, when + pick(r, 0, 200), "gate start");
		break;
	case 7:
		at(r, when, "gate restart");
		break;
	case 8:
		at(r, when, "clock %s1h", WORD(r, "+", "-"));
		break;
	default:
		at(r, when, "offset +%dh", pick(r, 1, 2));
		break;
	}
}

static void jobs(struct random *r)
{
	int i, k, runs;

	for (i = 0; i < r->n_jobs; i++) {
		runs = r->rush ? 1 : pick(r, 1, 3);
		for (k = 0; k < runs; k++)
			at(r, r->rush ? r->rush + pick(r, 60, 400) : any_time(r), "start j%d", i);
		if (chance(r, r->rush ? 2 : 8))
			at(r, any_time(r), "%s j%d", WORD(r, "kill", "abort", "hang"), i);
	}
}

/* A backlog: what the queue is for. */
static void rush(struct random *r)
{
	int i;

	r->rush = pick(r, 60, r->minutes * 20);
	for (i = 0; i < r->n_nas; i++) {
		at(r, r->rush - 10, "fail nas%d/md2", i);
		at(r, r->rush, "begin nas%d/md2 recovery", i);
	}
}

void random_scenario(uint64_t seed, struct buf *ret)
{
	struct random r = {.state = seed * UINT64_C(0x2545f4914f6cdd1d) + 1, .out = ret};
	int i, n;

	r.minutes = pick(&r, 20, 100);
	buf_addf(ret, "# seed %llu\nbegins 2026-%02d-%02dT%02d:00:00Z offset=+%dh\n",
		(unsigned long long)seed, pick(&r, 1, 12), pick(&r, 1, 28), pick(&r, 0, 23),
		pick(&r, 0, 2));
	buf_addf(ret,
		"settings poll=%ds idle_poll=%ds wait_for_gate=%ds if_gate_down=%s lever=%s\n",
		pick(&r, 10, 40), pick(&r, 40, 80), pick(&r, 10, 900),
		chance(&r, 70) ? "allow" : "deny", chance(&r, 50) ? "yes" : "no");
	for (i = 0; i < N_POLICIES; i++)
		one_policy(&r, i);
	buf_adds(ret, "policy p0\n");
	things(&r);
	if (chance(&r, 35))
		rush(&r);
	for (i = 0, n = pick(&r, r.rush ? 0 : 1, r.rush ? 2 : 6); i < n; i++)
		trouble(&r);
	for (i = 0, n = pick(&r, 0, r.rush ? 1 : 2); i < n; i++)
		blindness(&r);
	for (i = 0, n = pick(&r, 0, r.rush ? 2 : 4); i < n; i++)
		people(&r);
	for (i = 0, n = chance(&r, 30) ? pick(&r, 1, 2) : 0; i < n; i++)
		restores(&r);
	jobs(&r);
	buf_addf(ret, "until %d:%02d\n", r.minutes / 60, r.minutes % 60);
}
