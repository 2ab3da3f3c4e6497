// SPDX-License-Identifier: MIT
/*
 * usage: sim [--trace] FILE...                  runs scenarios: a line of TAP each
 *        sim --random COUNT [--seed N]          runs random ones: a line of TAP for each invariant
 *        sim --one SEED [--trace]               one random scenario
 *        sim --print SEED                       its text, which is a scenario file
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "sim.h"

static void show(struct sim *sim)
{
	int64_t i, first = sim->n_lines > SIM_TRACE ? sim->n_lines - SIM_TRACE : 0;

	printf("%s", buf_str(&sim->report));
	for (i = sim->trace ? sim->n_lines : first; i < sim->n_lines; i++)
		printf("#     %s\n", sim->lines[i % SIM_TRACE]);
}

static int broken(const struct sim *sim)
{
	int n = sim->failed, i;

	for (i = 0; i < INV_COUNT; i++)
		n += sim->broken[i];
	return n;
}

static bool read_file(const char *path, struct buf *ret)
{
	FILE *file = fopen(path, "re");
	char block[4096];
	size_t n;

	if (!file)
		return false;
	while ((n = fread(block, 1, sizeof(block), file)) > 0)
		buf_add(ret, block, n);
	fclose(file);
	return !ret->failed;
}

static int run_files(int argc, char **argv, bool trace)
{
	int i, bad = 0;

	for (i = 0; i < argc; i++) {
		struct sim *sim = sim_new();
		struct buf text = {0};
		bool good = sim && read_file(argv[i], &text);

		if (sim)
			sim->trace = trace;
		good = good && script_load(sim, argv[i], buf_str(&text)) && script_run(sim) &&
			!broken(sim) && sim->expected > 0;
		if (!good && sim)
			show(sim);
		if (!good && sim && !sim->expected)
			printf("# it expects nothing\n");
		printf("%sok %d - %s\n", good ? "" : "not ", i + 1, argv[i]);
		fflush(stdout);
		bad += !good;
		buf_release(&text);
		sim_free(sim);
	}
	printf("1..%d\n", argc);
	return bad ? 1 : 0;
}

static struct sim *run_seed(uint64_t seed, bool trace)
{
	struct sim *sim = sim_new();
	struct buf text = {0};
	char name[40];

	if (!sim)
		exit(2);
	sim->trace = trace;
	sim->lenient = true;
	sim->replay_every = 5;
	snprintf(name, sizeof(name), "seed %llu", (unsigned long long)seed);
	random_scenario(seed, &text);
	if (!script_load(sim, name, buf_str(&text)) || !script_run(sim))
		sim->failed++;
	buf_release(&text);
	return sim;
}

static int run_random(uint64_t first, uint64_t count)
{
	int64_t checked[INV_COUNT] = {0}, decisions = 0;
	int bad[INV_COUNT + 1] = {0}, i, failed = 0;
	uint64_t seed;

	for (seed = first; seed < first + count; seed++) {
		struct sim *sim = run_seed(seed, false);

		decisions += sim->gate.n_decisions;
		bad[INV_COUNT] += sim->failed > 0;
		for (i = 0; i < INV_COUNT; i++) {
			checked[i] += sim->checked[i];
			bad[i] += sim->broken[i] > 0;
		}
		if (broken(sim) && failed++ < 5) {
			printf("# seed %llu; alone: sim --one %llu --trace; its text: sim --print "
			       "%llu\n",
				(unsigned long long)seed, (unsigned long long)seed,
				(unsigned long long)seed);
			show(sim);
		}
		sim_free(sim);
	}
	for (i = 0; i < INV_COUNT; i++)
		printf("%sok %d - %s (%lld times, %llu random scenarios)\n",
			bad[i] || !checked[i] ? "not " : "", i + 1, invariant_names[i],
			(long long)checked[i], (unsigned long long)count);
	printf("%sok %d - no scenario makes a mistake of its own (%lld decisions)\n",
		bad[i] ? "not " : "", i + 1, (long long)decisions);
	printf("1..%d\n", INV_COUNT + 1);
	return failed ? 1 : 0;
}

static int run_one(uint64_t seed, bool trace)
{
	struct sim *sim = run_seed(seed, trace);
	int bad = broken(sim);

	if (bad)
		show(sim);
	printf("%sok 1 - seed %llu\n1..1\n", bad ? "not " : "", (unsigned long long)seed);
	sim_free(sim);
	return bad ? 1 : 0;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: sim [--trace] FILE... | --random COUNT [--seed N] | --one SEED "
		"[--trace] | --print SEED\n");
	return 2;
}

int main(int argc, char **argv)
{
	bool option = argc > 2 && !strncmp(argv[1], "--", 2);
	bool trace = option && !strcmp(argv[1], "--trace");
	uint64_t n = 0, seed = 1;
	struct buf text = {0};

	if (option && !trace && !u64_parse(argv[2], 0, INT64_MAX, &n, NULL))
		return usage();
	if (option && !trace && argc > 4 && !u64_parse(argv[4], 0, INT64_MAX, &seed, NULL))
		return usage();
	if (argc > 2 && !strcmp(argv[1], "--random"))
		return run_random(seed, n);
	if (argc > 2 && !strcmp(argv[1], "--one"))
		return run_one(n, argc > 3);
	if (argc > 2 && !strcmp(argv[1], "--print")) {
		random_scenario(n, &text);
		printf("%s", buf_str(&text));
		buf_release(&text);
		return 0;
	}
	if (argc < 2 + trace)
		return usage();
	return run_files(argc - 1 - trace, argv + 1 + trace, trace);
}
