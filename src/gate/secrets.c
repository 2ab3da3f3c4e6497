// SPDX-License-Identifier: MIT
#include "gate/secrets.h"

#include <grp.h>
#include <libgen.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gate/secret.h"
#include "proxmox/api.h"

struct checking {
	const char *file;
	struct buf *ret;
	size_t n;
};

/* What cannot be done leaves us as we are: then root's view is better than none. */
static void look_as_the_gate(const struct settings *settings)
{
	char path[SETTINGS_PATH_MAX];
	const struct passwd *user;
	struct stat st;

	snprintf(path, sizeof(path), "%s", settings->database);
	if (geteuid() != 0 || stat(dirname(path), &st) < 0 || st.st_uid == 0)
		return;
	user = getpwuid(st.st_uid);
	if (!user || initgroups(user->pw_name, user->pw_gid) < 0 || setegid(user->pw_gid) < 0 ||
		seteuid(user->pw_uid) < 0)
		return;
}

/* `kind` is that of a token's server; API_NONE: any secret. */
static void check(struct checking *checking, const char *whose, const char *name, const char *key,
	const char *path, enum api_kind kind)
{
	struct buf secret = {0}, authorization = {0};
	struct err err = {0};
	bool ok;

	if (!*path)
		return;
	if (strncmp(path, "credential:", 11) == 0 && !getenv("CREDENTIALS_DIRECTORY"))
		return;
	ok = secret_read(path, &secret, &err);
	if (ok && kind != API_NONE) {
		ok = api_authorization(kind, buf_str(&secret), &authorization, &err);
		if (!ok)
			err_prefix(&err, "'%s'", path);
	}
	secret_wipe(&secret);
	secret_wipe(&authorization);
	if (ok)
		return;
	buf_addf(
		checking->ret, "%s: %s '%s': %s: %s\n", checking->file, whose, name, key, err.text);
	checking->n++;
}

size_t secrets_check(const char *file, const struct settings *settings, struct buf *ret)
{
	struct checking checking = {.file = file, .ret = ret};
	size_t i;

	look_as_the_gate(settings);
	for (i = 0; i < settings->n_nas; i++) {
		const struct nas_settings *nas = &settings->nas[i];

		if (nas->via != SETTINGS_VIA_SSH)
			continue;
		check(&checking, "NAS", nas->name, "key_file", nas->key_file, API_NONE);
		if (nas->levers.set)
			check(&checking, "levers of NAS", nas->name, "key_file",
				nas->levers.key_file, API_NONE);
	}
	for (i = 0; i < settings->n_pve; i++)
		check(&checking, "pve", settings->pve[i].api.name, "token_file",
			settings->pve[i].api.token_file, API_PVE);
	for (i = 0; i < settings->n_pbs; i++)
		check(&checking, "pbs", settings->pbs[i].api.name, "token_file",
			settings->pbs[i].api.token_file, API_PBS);
	for (i = 0; i < settings->notify.n_smtp; i++)
		check(&checking, "smtp", settings->notify.smtp[i].url, "password_file",
			settings->notify.smtp[i].password_file, API_NONE);
	return checking.n;
}
