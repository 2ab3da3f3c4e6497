// SPDX-License-Identifier: MIT
/* rebuildgate, the operator's command: one table of verbs, one file for each. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static int cli_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("rebuildgate %s\n", RG_VERSION);
	return CLI_OK;
}

static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *usage;
	const char *summary;
} verbs[] = {
	{"status", cli_status, "", "each NAS, array, storage, job and override, and why"},
	{"check", cli_check, "STORAGE [--node NODE]", "the verdict that a job would get now"},
	{"run", cli_run, "--storage S [--timeout T] -- CMD...",
		"hold, then run any command: restic, borg, rsync"},
	{"wait", cli_wait, "STORAGE [--timeout T]", "wait until a job may go"},
	{"tickets", cli_tickets, "[--all]", "the jobs that asked"},
	{"release", cli_release, "TICKET --reason TEXT", "let a held job go"},
	{"override", cli_override,
		"add VERDICT [--ticket T --guest ID --storage S --nas N --node N] --for 2h "
		"--reason TEXT | list [--all] | cancel ID",
		"an operator's verdict, with an end"},
	{"log", cli_log,
		"[--since T --until T --last N --storage S --nas N --node N --guest ID --verdict V "
		"--rule R --ticket T --decision ID --follow] | stats | "
		"verify [--head HASH] [--database FILE]",
		"the decisions; their counts; the proof that none was altered"},
	{"explain", cli_explain, "ID",
		"one decision: what each step saw, and why it stopped there"},
	{"replay", cli_replay, "[--policy FILE] [--database FILE]",
		"decide everything recorded again, or see what another policy changes"},
	{"nas", cli_nas,
		"list | look NAME | authorized-key NAME [--mdstat-only] | trust NAME [--replace "
		"--fingerprint F] | forget NAME ARRAY",
		"the NAS and their host keys"},
	{"policy", cli_policy,
		"check FILE | show [FILE] | test FILE | try [FILE] --given 'FIELD=VALUE ...' | "
		"defaults | facts",
		"policy files"},
	{"parse", cli_parse, "[--vendor synology|qnap|generic|auto] FILE|-",
		"what a /proc/mdstat text means"},
	{"version", cli_version, "", "the version"},
};

static void help(FILE *to)
{
	size_t i;

	fputs("usage: rebuildgate [--socket PATH] VERB [OPTIONS]\n\n", to);
	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(to, "  %-9s %s\n", verbs[i].name, verbs[i].summary);
	fputs("\n"
	      "`rebuildgate VERB --help` shows a verb's options. Every verb that shows something "
	      "takes\n"
	      "--output-format text|json|json-pretty (log: csv as well); PROXMOX_OUTPUT_FORMAT "
	      "sets it too.\n"
	      "Times are \"2026-11-30 21:00\", \"21:00\", \"yesterday\", \"-2h\"; spans \"90s\", "
	      "\"2h\", \"1h 30min\".\n"
	      "\n"
	      "exit status\n"
	      "   0  go: allowed, done, fine\n"
	      "   1  it failed, or what was checked is not right\n"
	      "   2  wrong usage, or a bad file\n"
	      "   3  parse: no reading, or not understood\n"
	      "  69  the gate is away (EX_UNAVAILABLE)\n"
	      "  75  held (EX_TEMPFAIL)\n"
	      "  77  denied, or you may not (EX_NOPERM)\n"
	      "`run` ends with the command's own exit status once it has started.\n",
		to);
}

static int verb_run(const struct verb *verb, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--help") == 0) {
			printf("usage: rebuildgate %s %s\n\n%s\n", verb->name, verb->usage,
				verb->summary);
			return CLI_OK;
		}
	}
	return verb->run(argc, argv);
}

int main(int argc, char **argv)
{
	size_t k;
	int at = 1;

	setlocale(LC_CTYPE, "");
	if (argc > 2 && strcmp(argv[1], "--socket") == 0) {
		cli_socket_set(argv[2]);
		at = 3;
	} else if (argc > 1 && strncmp(argv[1], "--socket=", 9) == 0) {
		cli_socket_set(argv[1] + 9);
		at = 2;
	}
	if (at >= argc) {
		help(stderr);
		return CLI_USAGE;
	}
	if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0 ||
		strcmp(argv[at], "help") == 0) {
		help(stdout);
		return CLI_OK;
	}
	if (strcmp(argv[at], "--version") == 0)
		return cli_version(1, argv);
	for (k = 0; k < sizeof(verbs) / sizeof(verbs[0]); k++) {
		if (strcmp(argv[at], verbs[k].name) == 0)
			return verb_run(&verbs[k], argc - at, argv + at);
	}
	fprintf(stderr, "rebuildgate: there is no verb '%s': see rebuildgate --help\n", argv[at]);
	return CLI_USAGE;
}
