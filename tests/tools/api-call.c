// SPDX-License-Identifier: MIT
/*
 * One call as the daemon makes it to an API, for tests.
 *
 * api-call [-f FINGERPRINT]... [-c CA-FILE] [-t pve|pbs] [-d MS] [-m BODY-MAX] METHOD URL [FORM]
 *
 * The token is read from stdin where -t is given; fingerprints may be set for such a server. Prints
 * "STATUS BODY" and ends with 0, or "KIND: sentence" and ends with 1. With -t, a status that is no
 * success is such a sentence, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "http/http.h"
#include "proxmox/api.h"

#define MAX_PRINTS 8

struct options {
	uint8_t prints[MAX_PRINTS][32];
	enum api_kind kind;
	struct buf authorization;
	struct http_request request;
};

static int usage(void)
{
	fputs("usage: api-call [-f FINGERPRINT]... [-c CA-FILE] [-t pve|pbs] [-d MS] "
	      "[-m BODY-MAX] METHOD URL [FORM]\n",
		stderr);
	return 2;
}

static bool print_parse(const char *text, uint8_t ret[32])
{
	static const char digits[] = "0123456789ABCDEFabcdef";
	const char *high, *low;
	size_t i;

	for (i = 0; i < 32; i++, text += 3) {
		high = *text ? strchr(digits, text[0]) : NULL;
		low = high && text[1] ? strchr(digits, text[1]) : NULL;
		if (!low || text[2] != (i < 31 ? ':' : '\0'))
			return false;
		ret[i] = (uint8_t)((high - digits > 15 ? high - digits - 6 : high - digits) * 16 +
			(low - digits > 15 ? low - digits - 6 : low - digits));
	}
	return true;
}

static bool token_read(struct options *options, const char *kind)
{
	char token[1024] = "";
	struct err err = {0};

	options->kind = strcmp(kind, "pve") == 0 ? API_PVE : API_PBS;
	options->request.may_pin = true;
	if (!fgets(token, sizeof(token), stdin))
		return false;
	if (api_authorization(options->kind, token, &options->authorization, &err))
		return true;
	printf("%d: %s\n", (int)err.kind, err.text);
	return false;
}

static bool option(struct options *options, int c, const char *value)
{
	struct http_request *request = &options->request;
	uint64_t n = 0;

	switch (c) {
	case 'f':
		if (request->n_fingerprints == MAX_PRINTS ||
			!print_parse(value, options->prints[request->n_fingerprints]))
			return false;
		request->n_fingerprints++;
		return true;
	case 'c':
		request->ca_file = value;
		return true;
	case 't':
		return token_read(options, value);
	case 'd':
		if (!u64_parse(value, 1, 600000, &n, NULL))
			return false;
		request->deadline_ms = (int64_t)n;
		return true;
	case 'm':
		if (!u64_parse(value, 1, UINT64_C(1) << 30, &n, NULL))
			return false;
		request->body_max = n;
		return true;
	default:
		return false;
	}
}

static const char *kind_word(enum err_kind kind)
{
	static const char *const words[] = {"none", "invalid", "system", "memory", "limit",
		"not found", "denied", "timeout", "gone", "protocol", "busy", "corrupt"};

	return words[kind];
}

static int call(struct options *options, const char *what)
{
	struct http_response response = {0};
	struct err err = {0};
	int status = 1;

	if (!http_call(&options->request, NULL, 0, &response, &err))
		goto failed;
	if (options->kind != API_NONE &&
		!api_ok(options->kind, response.status, buf_str(&response.body), response.body.len,
			what, &err))
		goto failed;
	printf("%ld %s\n", response.status, buf_str(&response.body));
	status = 0;
failed:
	if (status)
		printf("%s: %s\n", kind_word(err.kind), err.text);
	http_response_release(&response);
	return status;
}

int main(int argc, char **argv)
{
	struct options options = {.request.deadline_ms = 10000};
	struct http_request *request = &options.request;
	int c, status;

	while ((c = getopt(argc, argv, "f:c:t:d:m:")) != -1) {
		if (!option(&options, c, optarg))
			return usage();
	}
	if (argc - optind < 2 || argc - optind > 3)
		return usage();
	request->method = argv[optind];
	request->url = argv[optind + 1];
	request->fingerprints = (const uint8_t(*)[32])options.prints;
	if (options.authorization.len)
		request->authorization = buf_str(&options.authorization);
	if (argc - optind == 3) {
		request->body = argv[optind + 2];
		request->body_len = strlen(request->body);
		request->content_type = "application/x-www-form-urlencoded";
	}
	status = call(&options, "make the call");
	buf_release(&options.authorization);
	return status;
}
