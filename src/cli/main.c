// SPDX-License-Identifier: MIT
/* rebuildgate, the operator's command: one table of verbs, one file for each. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static int cli_version(const struct cli_verb *verb, int argc, char **argv)
{
	int code;

	if (!cli_args(verb, argc, argv, NULL, 0, NULL, &code))
		return code;
	printf("rebuildgate %s\n", RG_VERSION);
	return CLI_OK;
}

static const struct cli_verb verbs[] = {
	{.name = "status",
		.run = cli_status,
		.forms = CLI_JSON,
		.summary = "each NAS, array, storage, job and override, and why"},
	{.name = "check",
		.run = cli_check,
		.args = "STORAGE",
		.min = 1,
		.max = 1,
		.need = "name one storage: rebuildgate check STORAGE",
		.forms = CLI_JSON,
		.summary = "the verdict that a job would get now; its exit status says it too"},
	{.name = "run",
		.run = cli_run,
		.args = "--storage S -- COMMAND...",
		.need = "it takes --storage S, then '--', then the command to run",
		.summary = "wait until a job may go, then run any command: restic, borg, rsync"},
	{.name = "wait",
		.run = cli_wait,
		.args = "STORAGE",
		.min = 1,
		.max = 1,
		.need = "name one storage: rebuildgate wait STORAGE",
		.summary = "wait until a job may go; its exit status says what came of it"},
	{.name = "tickets",
		.run = cli_tickets,
		.forms = CLI_JSON,
		.summary = "the jobs that asked"},
	{.name = "release",
		.run = cli_release,
		.args = "TICKET --reason TEXT",
		.min = 1,
		.max = 1,
		.need = "name one ticket: rebuildgate release T17 --reason \"...\"",
		.forms = CLI_JSON,
		.summary = "let a held job go"},
	{.name = "override",
		.run = cli_override,
		.args = "add|list|cancel ...",
		.summary = "an operator's verdict, with a reason and an end"},
	{.name = "levers",
		.run = cli_levers,
		.args = "[reset]",
		.forms = CLI_JSON,
		.summary = "what the gate has moved to slow backups; `levers reset` puts it back"},
	{.name = "log",
		.run = cli_log,
		.forms = CLI_JSON_AND_CSV,
		.summary = "the decisions; `log stats` counts them, `log verify` proves that none "
			   "was altered"},
	{.name = "explain",
		.run = cli_explain,
		.args = "ID",
		.min = 1,
		.max = 1,
		.need = "name one decision by its number, as log and the task log show it: "
			"rebuildgate explain 4711",
		.forms = CLI_JSON,
		.summary = "one decision: what each step saw, and why it stopped there"},
	{.name = "replay",
		.run = cli_replay,
		.forms = CLI_JSON,
		.summary = "decide everything recorded again, or see what another policy changes"},
	{.name = "nas",
		.run = cli_nas,
		.args = "list|look|trust|authorized-key|levers-key|forget ...",
		.summary = "the NAS: what is seen, host keys, our key"},
	{.name = "policy",
		.run = cli_policy,
		.args = "check|show|test|try|defaults|facts ...",
		.summary = "policy files: no gate is needed"},
	{.name = "parse",
		.run = cli_parse,
		.args = "FILE|-",
		.min = 1,
		.max = 1,
		.need = "name one file, or '-' for stdin",
		.forms = CLI_JSON,
		.summary = "what a /proc/mdstat text means"},
	{.name = "version", .run = cli_version, .summary = "the version"},
};

static void help(FILE *to)
{
	size_t i;

	fputs("usage: rebuildgate [--socket PATH] VERB [OPTIONS]\n\n", to);
	for (i = 0; i < CLI_COUNT(verbs); i++)
		fprintf(to, "  %-9s %s\n", verbs[i].name, verbs[i].summary);
	fputs("\n"
	      "`rebuildgate VERB --help` shows a verb's options. Every verb that shows something "
	      "takes\n"
	      "--output-format text|json|json-pretty (log: csv as well); PROXMOX_OUTPUT_FORMAT "
	      "sets it too,\n"
	      "and PROXMOX_OUTPUT_NO_HEADER=1 leaves out a table's header. REBUILDGATE_SOCKET "
	      "names the gate's\n"
	      "socket as --socket does.\n"
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

int main(int argc, char **argv)
{
	static const struct cli_verb self = {
		.name = "", .verbs = verbs, .n_verbs = CLI_COUNT(verbs)};
	int at = 0, code;

	setlocale(LC_CTYPE, "");
	if (argc > 2 && strcmp(argv[1], "--socket") == 0) {
		cli_socket_set(argv[2]);
		at = 2;
	} else if (argc > 1 && strncmp(argv[1], "--socket=", 9) == 0) {
		cli_socket_set(argv[1] + 9);
		at = 1;
	}
	if (argc == 2 && strcmp(argv[1], "--socket") == 0) {
		fputs("rebuildgate: option '--socket' needs a value: --socket PATH\n", stderr);
		return CLI_USAGE;
	}
	if (at + 1 >= argc) {
		help(stderr);
		return CLI_USAGE;
	}
	if (strcmp(argv[at + 1], "--help") == 0 || strcmp(argv[at + 1], "-h") == 0 ||
		strcmp(argv[at + 1], "help") == 0) {
		help(stdout);
		return CLI_OK;
	}
	if (strcmp(argv[at + 1], "--version") == 0) {
		printf("rebuildgate %s\n", RG_VERSION);
		return CLI_OK;
	}
	if (cli_below(&self, argc - at, argv + at, &code))
		return code;
	fprintf(stderr, "rebuildgate: there is no verb '%s': see rebuildgate --help\n",
		argv[at + 1]);
	return CLI_USAGE;
}
