// SPDX-License-Identifier: MIT
#include "http/easy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Wipes the secret in it before the memory goes back. */
static void wipe(char *text)
{
	if (!text)
		return;
	explicit_bzero(text, strlen(text));
	free(text);
}

static void slist_free(struct curl_slist *list)
{
	struct curl_slist *at;

	for (at = list; at; at = at->next)
		explicit_bzero(at->data, strlen(at->data));
	curl_slist_free_all(list);
}

void easy_free(struct easy *easy)
{
	if (!easy)
		return;
	curl_easy_cleanup(easy->curl);
	slist_free(easy->headers);
	curl_slist_free_all(easy->rcpt);
	wipe(easy->authorization);
	http_response_release(&easy->response);
	buf_release(&easy->upload);
	free(easy);
}

void http_response_release(struct http_response *response)
{
	buf_release(&response->body);
	response->status = 0;
}

bool url_is_loopback(const char *url)
{
	CURLU *parts = curl_url();
	char *host = NULL;
	bool loopback = false;

	if (parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
		curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK)
		loopback = strcasecmp(host, "localhost") == 0 || strcmp(host, "127.0.0.1") == 0 ||
			strcmp(host, "[::1]") == 0;
	curl_free(host);
	curl_url_cleanup(parts);
	return loopback;
}

static size_t take_body(char *data, size_t size, size_t n, void *arg)
{
	struct easy *easy = arg;

	if (buf_add(&easy->response.body, data, size * n))
		return size * n;
	easy->too_long = true;
	return 0;
}

struct easy *easy_new(const char *url, const char *protocols, const char *ca_file,
	int64_t deadline_ms, struct err *err)
{
	struct easy *easy = calloc(1, sizeof(*easy));
	CURL *curl = easy ? curl_easy_init() : NULL;
	bool ok;

	if (!curl) {
		free(easy);
		err_nomem(err);
		return NULL;
	}
	easy->curl = curl;
	ok = !curl_easy_setopt(curl, CURLOPT_URL, url) &&
		!curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, protocols) &&
		!curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, easy->error) &&
		!curl_easy_setopt(curl, CURLOPT_PRIVATE, easy) &&
		!curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) &&
		!curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 1L) &&
		!curl_easy_setopt(curl, CURLOPT_PROXY, "") &&
		!curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L) &&
		!curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) &&
		/* No cached connection can have gone stale, and none is left to watch. */
		!curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L) &&
		!curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)deadline_ms) &&
		!curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body) &&
		!curl_easy_setopt(curl, CURLOPT_WRITEDATA, easy);
	/* A dropped call must not wait for the resolver's thread. */
	ok = ok && !curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
	if (ok && ca_file)
		ok = !curl_easy_setopt(curl, CURLOPT_CAINFO, ca_file) &&
			!curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
	if (!ok) {
		easy_free(easy);
		err_nomem(err);
		return NULL;
	}
	return easy;
}

static bool url_allowed(const struct http_request *request, struct err *err)
{
	bool http = strncasecmp(request->url, "http://", 7) == 0;

	if (request->deadline_ms <= 0)
		return err_set(err, ERR_INVALID, "a call needs a deadline");
	if (http && request->n_fingerprints)
		return err_set(err, ERR_INVALID,
			"'%s' must be https: only there is a certificate with a fingerprint",
			request->url);
	if (strncasecmp(request->url, "https://", 8) == 0 && !request->socket)
		return true;
	if (http && (request->socket || url_is_loopback(request->url)))
		return true;
	if (http)
		return err_set(err, ERR_INVALID,
			"'%s' must be https: http is spoken to this machine only", request->url);
	return err_set(err, ERR_INVALID, "'%s' is not an http or https URL", request->url);
}

static bool add_header(struct easy *easy, const char *line)
{
	struct curl_slist *list = curl_slist_append(easy->headers, line);

	if (list)
		easy->headers = list;
	return list != NULL;
}

static bool set_headers(struct easy *easy, const struct http_request *request, struct err *err)
{
	char line[200];
	size_t size;

	snprintf(line, sizeof(line), "Content-Type: %s",
		request->content_type ? request->content_type : "application/json");
	if ((request->body && !add_header(easy, line)) || !add_header(easy, "Expect:") ||
		!add_header(easy, "Accept: */*"))
		return err_nomem(err);
	if (request->authorization) {
		size = strlen(request->authorization) + sizeof("Authorization: ");
		easy->authorization = malloc(size);
		if (!easy->authorization)
			return err_nomem(err);
		snprintf(easy->authorization, size, "Authorization: %s", request->authorization);
		if (strpbrk(easy->authorization, "\r\n"))
			return err_set(
				err, ERR_INVALID, "the authorization has a line break in it");
		if (!add_header(easy, easy->authorization))
			return err_nomem(err);
	}
	if (curl_easy_setopt(easy->curl, CURLOPT_HTTPHEADER, easy->headers))
		return err_nomem(err);
	return true;
}

static bool set_method(struct easy *easy, const struct http_request *request)
{
	CURL *curl = easy->curl;
	const char *body = request->body;

	if (!body && strcmp(request->method, "POST") == 0)
		body = "";
	if (body) {
		if (curl_easy_setopt(
			    curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len) ||
			curl_easy_setopt(curl, CURLOPT_COPYPOSTFIELDS, body))
			return false;
	}
	return !curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
}

struct easy *easy_http(const struct http_request *request, struct err *err)
{
	struct easy *easy;
	int64_t connect_ms = request->connect_ms ? request->connect_ms : request->deadline_ms;

	if (!url_allowed(request, err))
		return NULL;
	easy = easy_new(request->url, strncasecmp(request->url, "https://", 8) ? "http" : "https",
		request->ca_file, request->deadline_ms, err);
	if (!easy)
		return NULL;
	snprintf(easy->what, sizeof(easy->what), "%s",
		request->socket ? request->socket : request->url);
	easy->response.body.max = request->body_max ? request->body_max : HTTP_BODY_MAX_DEFAULT;
	if (request->n_fingerprints &&
		!trust_set(&easy->trust, easy->curl, request->fingerprints, request->n_fingerprints,
			err))
		goto failed;
	if (!request->n_fingerprints && request->may_pin &&
		!trust_watch(&easy->trust, easy->curl, err))
		goto failed;
	if (!set_headers(easy, request, err))
		goto failed;
	if (!set_method(easy, request) ||
		curl_easy_setopt(easy->curl, CURLOPT_USERAGENT, "rebuildgate/" RG_VERSION) ||
		curl_easy_setopt(easy->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms) ||
		(request->socket &&
			curl_easy_setopt(easy->curl, CURLOPT_UNIX_SOCKET_PATH, request->socket))) {
		err_nomem(err);
		goto failed;
	}
	return easy;
failed:
	easy_free(easy);
	return NULL;
}

static enum err_kind connect_kind(const struct easy *easy)
{
	long sys = 0;

	curl_easy_getinfo(easy->curl, CURLINFO_OS_ERRNO, &sys);
	if (sys == EACCES || sys == EPERM)
		return ERR_DENIED;
	return sys == EAGAIN ? ERR_BUSY : ERR_GONE;
}

/* The connection broke while TLS was being agreed on. */
static bool broke_off(const struct easy *easy, CURLcode code)
{
	long sys = 0;

	curl_easy_getinfo(easy->curl, CURLINFO_OS_ERRNO, &sys);
	return code == CURLE_SSL_CONNECT_ERROR && (sys == ECONNRESET || sys == EPIPE);
}

static enum err_kind failure_kind(const struct easy *easy, CURLcode code)
{
	/* Not an enum that may be listed: each libcurl has another set of codes. */
	if (code == CURLE_COULDNT_CONNECT)
		return connect_kind(easy);
	if (code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_GOT_NOTHING ||
		code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR ||
		code == CURLE_PARTIAL_FILE || broke_off(easy, code))
		return ERR_GONE;
	if (code == CURLE_OPERATION_TIMEDOUT)
		return ERR_TIMEOUT;
	if (code == CURLE_OUT_OF_MEMORY)
		return ERR_NOMEM;
	if (code == CURLE_URL_MALFORMAT)
		return ERR_INVALID;
	if (code == CURLE_LOGIN_DENIED || code == CURLE_PEER_FAILED_VERIFICATION ||
		code == CURLE_SSL_CACERT_BADFILE || code == CURLE_USE_SSL_FAILED)
		return ERR_DENIED;
	return ERR_PROTOCOL;
}

void easy_failure(const struct easy *easy, CURLcode code, struct err *err)
{
	const char *text = easy->error[0] ? easy->error : curl_easy_strerror(code);
	char print[TRUST_TEXT_MAX];
	long sys = 0;

	if (easy->trust.refused) {
		err_set(err, ERR_DENIED,
			"'%s': the certificate is none of the configured ones: its fingerprint is "
			"%s",
			easy->what, trust_text(easy->trust.seen, print));
		return;
	}
	if (easy->trust.shown && code == CURLE_PEER_FAILED_VERIFICATION) {
		err_set(err, ERR_DENIED,
			"'%s': %.100s; compare its SHA-256 with what the server itself shows "
			"(pvenode cert info, proxmox-backup-manager cert info), then set "
			"fingerprints = [ \"%s\" ]",
			easy->what, text, trust_text(easy->trust.seen, print));
		return;
	}
	if (easy->too_long) {
		err_set(err, ERR_LIMIT, "'%s' answered more than %zu bytes", easy->what,
			easy->response.body.max);
		return;
	}
	curl_easy_getinfo(easy->curl, CURLINFO_OS_ERRNO, &sys);
	if (code == CURLE_COULDNT_CONNECT && sys)
		err_set(err, failure_kind(easy, code), "cannot connect to '%s': %s", easy->what,
			strerror((int)sys));
	else
		err_set(err, failure_kind(easy, code), "'%s': %s", easy->what, text);
}
