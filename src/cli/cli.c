// SPDX-License-Identifier: MIT
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client.h"

static const char *socket_path;

const char *cli_socket(void)
{
	const char *from_environment = getenv("REBUILDGATE_SOCKET");

	if (socket_path)
		return socket_path;
	return from_environment && *from_environment ? from_environment : CLI_SOCKET;
}

void cli_socket_set(const char *path)
{
	socket_path = path;
}

int cli_fail(const char *verb, int code, const char *text)
{
	fprintf(stderr, "rebuildgate %s: %s\n", verb, text);
	return code;
}

bool cli_call(
	const char *method, const char *path, const json_t *body, json_t **ret, struct err *err)
{
	const struct gate_link link = {.socket = cli_socket()};

	return client_call(&link, method, path, body, ret, err);
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

static const struct cli_option *option_find(
	const struct cli_option *options, size_t n, const char *arg, size_t len)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (strlen(options[i].name) == len && strncmp(options[i].name, arg, len) == 0)
			return &options[i];
	}
	return NULL;
}

/* One option at argv[*at], with its value in the same or the next argument. */
static bool option_take(int argc, char **argv, int *at, const struct cli_option *options, size_t n,
	struct out *out, bool csv, struct err *err)
{
	const char *arg = argv[*at], *equals = strchr(arg, '='), *value = NULL;
	size_t len = equals ? (size_t)(equals - arg) : strlen(arg);
	const struct cli_option *option = option_find(options, n, arg, len);
	bool format = out && !option && len == strlen("--output-format") &&
		strncmp(arg, "--output-format", len) == 0;

	if (!option && !format)
		return err_set(err, ERR_INVALID, "unknown option '%.*s'", (int)len, arg);
	if (option && option->flag) {
		if (equals)
			return err_set(
				err, ERR_INVALID, "option '%s' takes no value", option->name);
		*option->flag = true;
		return true;
	}
	if (equals)
		value = equals + 1;
	else if (*at + 1 < argc)
		value = argv[++*at];
	if (!value)
		return err_set(err, ERR_INVALID, "option '%.*s' needs a value", (int)len, arg);
	if (format)
		return out_format_parse(out, value, csv, err);
	*option->value = value;
	return true;
}

bool cli_options(int argc, char **argv, const struct cli_option *options, size_t n, struct out *out,
	bool csv, int *ret_n, struct err *err)
{
	int i, plain = 1;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0) {
			for (i++; i < argc; i++)
				argv[plain++] = argv[i];
			break;
		}
		if (argv[i][0] != '-' || argv[i][1] == '\0') {
			argv[plain++] = argv[i];
			continue;
		}
		if (!option_take(argc, argv, &i, options, n, out, csv, err))
			return false;
	}
	*ret_n = plain - 1;
	return true;
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
