// SPDX-License-Identifier: MIT
/* rebuildgated: options, and which of its lives begins: the gate, a probe, or a check of the
 * configuration. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "gate/gate.h"
#include "gate/load.h"
#include "gate/put_back.h"
#include "gate/run.h"
#include "gate/secrets.h"
#include "gate/watch.h"
#include "nas/order.h"
#include "nas/probe.h"

enum { EXIT_GOOD = 0, EXIT_BAD = 1, EXIT_USAGE = 2 };

static const char usage[] =
	"Usage: rebuildgated [--config FILE] [--check | --put-back] [--debug]\n"
	"       rebuildgated --probe NAME [NAME=VALUE...]\n"
	"       rebuildgated --order NAME [NAME=VALUE...]\n"
	"       rebuildgated --version | --help\n"
	"\n"
	"Holds backups while the arrays that they would write to are rebuilding.\n"
	"\n"
	"  --config FILE  settings; conf.d/*.conf beside it is read as well\n"
	"                 (" SETTINGS_FILE ")\n"
	"  --check        only check settings and policy: all errors at once, exit 2; and tell\n"
	"                 which files of keys and tokens cannot be used (the gate starts without)\n"
	"  --put-back     put back what a gate that was killed had moved, as its record says;\n"
	"                 20 s at most, exit 1 where something is still moved (a guest whose\n"
	"                 keeper is dead: rebuildgate-vzdump --put-back, on its node)\n"
	"  --debug        say more in the journal\n"
	"  --probe NAME   look at one NAS, once for each byte 'L' on standard input; the gate\n"
	"                 starts this itself\n"
	"  --order NAME   give one NAS the orders of standard input, one for each line (its\n"
	"                 levers = { ... } must be set); the gate starts this itself\n"
	"\n"
	"Runs in the foreground. SIGHUP loads the configuration anew, SIGTERM ends it.\n"
	"Exit: 0 good, 1 it could not run, 2 wrong usage or a bad file.\n";

struct options {
	const char *config, *probe, *order;
	bool check, put_back;
};

static bool report_errors(struct conf_errors *errors)
{
	struct buf text = {0};

	conf_errors_print(errors, &text);
	fputs(buf_str(&text), stderr);
	buf_release(&text);
	conf_errors_release(errors);
	return false;
}

static bool load_or_say(const char *file, struct loaded *ret)
{
	struct conf_errors errors = {0};

	return load(file, ret, &errors) || report_errors(&errors);
}

static int check(const struct options *options)
{
	const struct settings *settings;
	struct loaded loaded;
	struct buf secrets = {0};
	size_t servers;

	if (!load_or_say(options->config, &loaded))
		return EXIT_USAGE;
	settings = loaded.settings;
	servers = settings->n_pve + settings->n_pbs;
	printf("%s: good: policy '%s' with %zu rule%s, %zu NAS, %zu storage%s, %zu server%s\n",
		options->config, loaded.policy->name, loaded.policy->n_rules,
		loaded.policy->n_rules == 1 ? "" : "s", settings->n_nas, settings->n_storages,
		settings->n_storages == 1 ? "" : "s", servers, servers == 1 ? "" : "s");
	fflush(stdout);
	if (secrets_check(options->config, settings, &secrets))
		fputs(buf_str(&secrets), stderr);
	buf_release(&secrets);
	loaded_release(&loaded);
	return EXIT_GOOD;
}

/* What a child's command line says of its NAS; without that what the configuration file says, for a
 * person who tries by hand. */
static bool target_find(
	const struct options *options, const char *name, char *const *args, struct nas_target *ret)
{
	struct conf_errors errors = {0};
	struct settings *settings = NULL;
	const struct nas_settings *nas;
	bool found = false;
	struct err err;

	if (*args) {
		if (watch_target(name, args, ret, &err))
			return true;
		fprintf(stderr, "rebuildgated: %s\n", err.text);
		return false;
	}
	if (!settings_load(options->config, &settings, &errors))
		return report_errors(&errors);
	nas = settings_nas(settings, name);
	found = nas && (!options->order || nas->levers.set);
	if (found && options->order)
		nas_target_levers(nas, settings->look_deadline_ms, ret);
	else if (found)
		nas_target_from(nas, settings->look_deadline_ms, ret);
	else
		fprintf(stderr, "rebuildgated: %s %s NAS '%s'\n", options->config,
			nas ? "sets no levers = { ... } for" : "names no", name);
	settings_free(settings);
	return found;
}

static int probe(const struct options *options, char *const *args)
{
	struct nas_target target;

	return target_find(options, options->probe, args, &target) ? probe_main(&target, 0, 1)
								   : EXIT_USAGE;
}

static int order(const struct options *options, char *const *args)
{
	struct nas_target target;

	return target_find(options, options->order, args, &target) ? order_main(&target, 0, 1)
								   : EXIT_USAGE;
}

/* Settings are enough: a policy that is broken by now is no reason to leave a lever moved. */
static int put_all_back(const struct options *options)
{
	struct conf_errors errors = {0};
	struct settings *settings = NULL;
	struct err err = {0};
	bool ok;

	umask(077);
	if (!settings_load(options->config, &settings, &errors)) {
		report_errors(&errors);
		return EXIT_USAGE;
	}
	ok = put_back(options->config, settings, &err);
	if (!ok)
		log_err("%s", err.text);
	settings_free(settings);
	return ok ? EXIT_GOOD : EXIT_BAD;
}

static int serve(const struct options *options)
{
	static struct gate gate;
	struct loaded loaded;
	struct err err = {0};
	int status = EXIT_BAD;

	umask(077);
	if (!load_or_say(options->config, &loaded))
		return EXIT_USAGE;
	gate.config = options->config;
	if (gate_open(&gate, &loaded, &err))
		status = gate_run(&gate);
	else
		log_err("The gate cannot be opened: %s", err.text);
	loaded_release(&loaded);
	gate_close(&gate);
	return status;
}

static const struct option long_options[] = {
	{"config", required_argument, NULL, 'c'},
	{"check", no_argument, NULL, 'k'},
	{"put-back", no_argument, NULL, 'b'},
	{"debug", no_argument, NULL, 'd'},
	{"probe", required_argument, NULL, 'p'},
	{"order", required_argument, NULL, 'o'},
	{"version", no_argument, NULL, 'V'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

int main(int argc, char **argv)
{
	struct options options = {.config = SETTINGS_FILE};
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (c) {
		case 'c':
			options.config = optarg;
			break;
		case 'k':
			options.check = true;
			break;
		case 'b':
			options.put_back = true;
			break;
		case 'd':
			log_set_level(LOG_LEVEL_DEBUG);
			break;
		case 'p':
			options.probe = optarg;
			break;
		case 'o':
			options.order = optarg;
			break;
		case 'V':
			puts("rebuildgated " RG_VERSION);
			return EXIT_GOOD;
		case 'h':
			fputs(usage, stdout);
			return EXIT_GOOD;
		default:
			fputs(usage, stderr);
			return EXIT_USAGE;
		}
	}
	if (options.order)
		return order(&options, argv + optind);
	if (options.probe)
		return probe(&options, argv + optind);
	if (optind < argc) {
		fprintf(stderr, "rebuildgated: '%s' is one word too many\n%s", argv[optind], usage);
		return EXIT_USAGE;
	}
	if (options.put_back)
		return put_all_back(&options);
	return options.check ? check(&options) : serve(&options);
}
