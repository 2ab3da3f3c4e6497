// SPDX-License-Identifier: MIT
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/client.h"
#include "conf/settings.h"

static const char *socket_path, *configured_path;

const char *cli_socket(void)
{
	const char *from_environment = getenv("REBUILDGATE_SOCKET");

	if (socket_path)
		return socket_path;
	if (from_environment && *from_environment)
		return from_environment;
	return configured_path && *configured_path ? configured_path : CLI_SOCKET;
}

void cli_socket_set(const char *path)
{
	socket_path = path;
}

void cli_socket_configured(const char *path)
{
	configured_path = path;
}

int cli_fail(const char *verb, int code, const char *text)
{
	size_t len = strlen(text);

	fprintf(stderr, "rebuildgate %s: %s%s", verb, text,
		len && text[len - 1] == '\n' ? "" : "\n");
	return code;
}

bool cli_call(
	const char *method, const char *path, const json_t *body, json_t **ret, struct err *err)
{
	const struct gate_link link = {.socket = cli_socket()};

	if (client_call(&link, method, path, body, ret, err))
		return true;
	if (err->kind == ERR_GONE || err->kind == ERR_TIMEOUT)
		return err_prefix(err, "the gate is away (see systemctl status rebuildgate)");
	if (err->kind == ERR_DENIED && access(cli_socket(), W_OK) != 0)
		return err_prefix(err, "you are neither root nor in the group that may look");
	return false;
}

bool cli_settings(const char *config, struct settings **ret, struct err *err)
{
	const char *file = config ? config : SETTINGS_FILE;
	struct conf_errors errors = {0};
	const struct conf_error *first;
	bool good;

	if (access(file, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
		return err_set(err, ERR_INVALID, "there is no configuration '%s'", file);
	good = settings_load(file, ret, &errors);
	first = errors.n ? &errors.list[0] : NULL;
	if (!good && !first)
		err_set(err, ERR_INVALID, "%s cannot be read", file);
	else if (!good && first->line)
		err_set(err, ERR_INVALID, "%s:%d: %s", first->file, first->line, first->text);
	else if (!good)
		err_set(err, ERR_INVALID, "%s: %s", first->file, first->text);
	if (!good && errors.n > 1)
		err_prefix(err, "the configuration has %zu errors, the first", errors.n);
	conf_errors_release(&errors);
	return good;
}

static int exit_of(enum err_kind kind)
{
	switch (kind) {
	case ERR_INVALID:
	case ERR_LIMIT:
		return CLI_USAGE;
	case ERR_GONE:
	case ERR_TIMEOUT:
		return CLI_GATE_AWAY;
	case ERR_DENIED:
		return CLI_DENIED;
	case ERR_NONE:
	case ERR_SYS:
	case ERR_NOMEM:
	case ERR_NOTFOUND:
	case ERR_PROTOCOL:
	case ERR_BUSY:
	case ERR_CORRUPT:
		break;
	}
	return CLI_FAILED;
}

int cli_fail_err(const char *verb, const struct err *err)
{
	return cli_fail(verb, exit_of(err->kind), err->text);
}

int cli_ask_and_show(const struct cli_verb *verb, const struct out *out, const char *method,
	const char *path, const json_t *body, out_text text, json_t **ret)
{
	json_t *answer = NULL;
	struct err err = {0};
	int code = CLI_OK;

	if (!cli_call(method, path, body, &answer, &err) || !out_show(out, answer, text, &err))
		code = cli_fail_err(verb->name, &err);
	if (ret)
		*ret = answer;
	else
		json_decref(answer);
	return code;
}

void cli_query(struct buf *path, const char *name, const char *value)
{
	const unsigned char *p;

	buf_addc(path, strchr(buf_str(path), '?') ? '&' : '?');
	buf_adds(path, name);
	buf_addc(path, '=');
	for (p = (const unsigned char *)value; *p; p++) {
		if ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
			(*p >= '0' && *p <= '9') || strchr("-._~", *p))
			buf_addc(path, (char)*p);
		else
			buf_addf(path, "%%%02X", *p);
	}
}

void cli_query_int(struct buf *path, const char *name, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	cli_query(path, name, text);
}
