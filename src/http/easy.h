// SPDX-License-Identifier: MIT
/* Inside src/http: one call as libcurl's easy handle. Owned by the multi that runs it. */
#ifndef RG_HTTP_EASY_H
#define RG_HTTP_EASY_H

#include <curl/curl.h>

#include "http/multi.h"
#include "http/trust.h"

struct easy {
	CURL *curl;
	struct curl_slist *headers, *rcpt;
	char *authorization; /* whole header line; wiped when freed */
	char error[CURL_ERROR_SIZE];
	char what[160]; /* whom we call, for the error's sentence */
	struct http_response response;
	struct trust trust; /* n 0: authorities are trusted, not fingerprints */
	bool too_long;
	struct buf upload; /* a mail's text */
	size_t upload_at;
	uint64_t id;
	http_done done;
	void *data;
	struct easy *next;
};

/* A call that is ready to be added to a multi; NULL on failure. */
struct easy *easy_http(const struct http_request *request, struct err *err);
struct easy *easy_mail(const struct smtp_mail *mail, struct err *err);
void easy_free(struct easy *easy);

/* What a finished call's `code` means, as a sentence and one of http_call()'s kinds. */
void easy_failure(const struct easy *easy, CURLcode code, struct err *err);

/* An easy handle with what holds for every call. */
struct easy *easy_new(const char *url, const char *protocols, const char *ca_file,
	int64_t deadline_ms, struct err *err);

/* Whether the URL's host is this machine by its name or number. */
bool url_is_loopback(const char *url);

#endif
