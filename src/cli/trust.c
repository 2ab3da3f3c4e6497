// SPDX-License-Identifier: MIT
#include "cli/trust.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "conf/settings.h"
#include "md/look.h"
#include "nas/trust.h"

#define TRUST_DEADLINE_MS (15 * MS_SECOND)
#define LEVERS_SCRIPT "/usr/local/sbin/nas-levers"

/* Only "yes", as ssh asks. */
static bool confirmed(const char *question)
{
	char line[64];
	size_t len;

	fputs(question, stdout);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return false;
	len = strcspn(line, "\n");
	line[len] = '\0';
	return strcmp(line, "yes") == 0;
}

/* Of this name; NULL where there is none, which is said. */
static const struct nas_settings *nas_find(
	const struct settings *settings, const char *config, const char *name, struct err *err)
{
	const struct nas_settings *nas = settings_nas(settings, name);

	if (!nas)
		err_set(err, ERR_INVALID, "there is no NAS '%s' in %s", name,
			config ? config : SETTINGS_FILE);
	return nas;
}

static bool target_find(
	const char *config, const char *name, struct nas_target *ret, struct err *err)
{
	struct settings *settings = NULL;
	const struct nas_settings *nas;
	bool done = false;

	if (!cli_settings(config, &settings, err))
		return false;
	nas = nas_find(settings, config, name, err);
	if (!nas)
		goto out;
	if (nas->via != SETTINGS_VIA_SSH) {
		err_set(err, ERR_INVALID, "NAS '%s' is local: it has no host key", name);
		goto out;
	}
	nas_target_from(nas, settings->look_deadline_ms, ret);
	done = true;
out:
	settings_free(settings);
	return done;
}

static bool record(const struct nas_target *target, const char *line, bool replace, struct err *err)
{
	if (nas_known_hosts_add(
		    target->known_hosts, target->host, target->port, line, replace, err))
		return true;
	if (err->kind == ERR_DENIED)
		return err_set(err, ERR_DENIED,
			"another host key is on file for %s in %s: if the NAS was reinstalled, use "
			"--replace; "
			"if not, somebody may be between you and it",
			target->host, target->known_hosts);
	return false;
}

/* Whether this key is on file for the NAS; `ret_alone`: and no other one. */
static bool is_known(const struct nas_target *target, const char *print, bool *ret_alone)
{
	char prints[16 * HOST_KEY_PRINT_MAX];

	known_hosts_prints(target, prints, sizeof(prints));
	*ret_alone = strcmp(prints, print) == 0;
	return *print && strstr(prints, print);
}

int cli_nas_trust(const struct cli_verb *verb, int argc, char **argv)
{
	const char *config = NULL, *fingerprint = NULL;
	bool replace = false;
	const struct cli_option options[] = {
		{"--fingerprint", "SHA256:...", "record it if it is this one; ask nothing",
			&fingerprint, NULL},
		{"--replace", NULL, "in place of another key that is on file", NULL, &replace},
		CLI_OPTION_CONFIG(&config)};
	char print[HOST_KEY_PRINT_MAX], line[KNOWN_HOSTS_LINE_MAX], question[NAS_PATH_MAX + 64];
	struct nas_target target;
	struct err err = {0};
	bool alone;
	int code;

	if (!cli_args(verb, argc, argv, options, CLI_COUNT(options), NULL, &code))
		return code;
	if (!target_find(config, argv[1], &target, &err))
		return cli_fail_err(verb->name, &err);
	if (!nas_fetch_host_key(&target, clock_boot_ms() + TRUST_DEADLINE_MS, print, line, &err))
		return cli_fail(verb->name, CLI_FAILED, err.text);
	printf("%s (%s port %d) offers the host key %s\n", target.name, target.host,
		target.port ? target.port : 22, print);
	if (fingerprint && strcmp(fingerprint, print) != 0)
		return cli_fail(verb->name, CLI_DENIED,
			"that is not the fingerprint that was expected: nothing was recorded");
	if (is_known(&target, print, &alone) && (alone || !replace)) {
		printf("it is on file already in %s: nothing is to be done\n", target.known_hosts);
		return CLI_OK;
	}
	if (!fingerprint) {
		printf("Compare it with what the NAS itself says: ssh-keygen -lf on its "
		       "/etc/ssh/ssh_host_*_key.pub\n");
		snprintf(question, sizeof(question), "Record it in %s (yes/no)? ",
			target.known_hosts);
		if (!confirmed(question))
			return cli_fail(
				verb->name, CLI_FAILED, "not confirmed: nothing was recorded");
	}
	if (!record(&target, line, replace, &err))
		return cli_fail(verb->name, CLI_FAILED, err.text);
	printf("recorded in %s; the next look at %s uses it (at once: rebuildgate nas look %s)\n",
		target.known_hosts, target.name, target.name);
	return CLI_OK;
}

/* The public half of the NAS's key, one line without its end. */
static bool public_key_read(const char *key_file, char *ret, size_t size, struct err *err)
{
	char path[NAS_PATH_MAX + 8];
	bool done = false;
	FILE *file;

	if (strncmp(key_file, "credential:", strlen("credential:")) == 0)
		return err_set(err, ERR_INVALID,
			"the key '%s' is a systemd credential, and its public half is not here: "
			"ssh-keygen -y -f KEY prints it where the key itself is",
			key_file);
	snprintf(path, sizeof(path), "%s.pub", key_file);
	file = fopen(path, "re");
	if (!file)
		return err_sys(err, errno,
			"cannot read '%s' (ssh-keygen writes it beside the key; or: ssh-keygen -y "
			"-f %s)",
			path, key_file);
	if (!fgets(ret, (int)size, file) || strncmp(ret, "ssh-", 4) != 0) {
		err_set(err, ERR_INVALID, "'%s' is not the public half of an SSH key", path);
		goto out;
	}
	ret[strcspn(ret, "\r\n")] = '\0';
	done = true;
out:
	fclose(file);
	return done;
}

/* The line that lets the key in `key_file` run `command`, whatever it asks for. */
static bool key_line_print(const char *command, const char *key_file, struct err *err)
{
	struct buf line = {0};
	char key[2048];
	bool done;

	if (!public_key_read(key_file, key, sizeof(key), err))
		return false;
	buf_addf(&line, "command=\"%s\",restrict %s\n", command, key);
	done = out_flush(&line, err);
	buf_release(&line);
	return done;
}

int cli_nas_authorized_key(const struct cli_verb *verb, int argc, char **argv)
{
	const char *config = NULL;
	bool mdstat_only = false;
	const struct cli_option options[] = {
		{"--mdstat-only", NULL, "force `cat /proc/mdstat`, for a shell that is no POSIX sh",
			NULL, &mdstat_only},
		CLI_OPTION_CONFIG(&config)};
	struct nas_target target;
	struct err err = {0};
	int code;

	if (!cli_args(verb, argc, argv, options, CLI_COUNT(options), NULL, &code))
		return code;
	if (!target_find(config, argv[1], &target, &err) ||
		!key_line_print(mdstat_only ? "cat /proc/mdstat" : look_forced_command(),
			target.key_file, &err))
		return cli_fail_err(verb->name, &err);
	return CLI_OK;
}

/* It stands between quotes in authorized_keys, and a shell reads it. */
static bool path_check(const char *path, struct err *err)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-_.,+@";

	return (path[0] == '/' && strspn(path, letters) == strlen(path)) ||
		err_set(err, ERR_INVALID,
			"'%s' is not where a script can lie: say an absolute path of letters, "
			"digits and /-_.,+@",
			path);
}

static bool levers_find(
	const char *config, const char *name, char ret_key_file[SETTINGS_PATH_MAX], struct err *err)
{
	struct settings *settings = NULL;
	const struct nas_settings *nas;
	bool done = false;

	if (!cli_settings(config, &settings, err))
		return false;
	nas = nas_find(settings, config, name, err);
	if (nas && !nas->levers.set)
		err_set(err, ERR_INVALID,
			"NAS '%s' has no levers in %s: write levers = { }; into it first", name,
			config ? config : SETTINGS_FILE);
	done = nas && nas->levers.set;
	if (done)
		snprintf(ret_key_file, SETTINGS_PATH_MAX, "%s", nas->levers.key_file);
	settings_free(settings);
	return done;
}

int cli_nas_levers_key(const struct cli_verb *verb, int argc, char **argv)
{
	const char *config = NULL, *path = LEVERS_SCRIPT;
	const struct cli_option options[] = {
		{"--path", "FILE", "where nas-levers lies on the NAS (" LEVERS_SCRIPT ")", &path,
			NULL},
		CLI_OPTION_CONFIG(&config)};
	char key_file[SETTINGS_PATH_MAX];
	struct err err = {0};
	int code;

	if (!cli_args(verb, argc, argv, options, CLI_COUNT(options), NULL, &code))
		return code;
	if (!path_check(path, &err) || !levers_find(config, argv[1], key_file, &err) ||
		!key_line_print(path, key_file, &err))
		return cli_fail_err(verb->name, &err);
	return CLI_OK;
}
