// SPDX-License-Identifier: MIT
#include "proxmox/api.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "proxmox/form.h"

#define SECRET_MAX 512
#define SERVER_TEXT_MAX 200

void api_call_release(struct api_call *call)
{
	buf_release(&call->path);
	buf_release(&call->body);
}

static bool token_bad(struct err *err, const char *why)
{
	return err_set(err, ERR_INVALID,
		"the token is not 'user@realm!tokenid=SECRET' in one line: %s", why);
}

/* Where the user ends: at the '!' before the token's id. A user's name has no '/', ':' or blank
 * (pve-access-control PVE/Auth/Plugin.pm, proxmox-auth-api user_name). */
static bool user_part(const char *token, size_t *ret_len, struct err *err)
{
	size_t len = strcspn(token, "!"), i;
	const char *at = memrchr(token, '@', len);

	if (token[len] != '!')
		return token_bad(err, "there is no '!' before the token's id");
	if (!at || at == token)
		return token_bad(err, "there is no 'user@realm' before the '!'");
	for (i = 0; i < len; i++) {
		if ((unsigned char)token[i] <= 0x20 || token[i] == 0x7f || strchr("/:=", token[i]))
			return token_bad(err, "the user has a character that no user's name has");
	}
	for (i = (size_t)(at - token) + 1; i <= len; i++) {
		if (i < len &&
			strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			       "0123456789._-",
				token[i]))
			continue;
		if (i == len && i > (size_t)(at - token) + 1)
			break;
		return token_bad(err, "the realm after '@' is not one");
	}
	*ret_len = len;
	return true;
}

/* "user@realm!id" and the secret after its separator. */
static bool token_parts(
	const char *token, size_t *ret_id, size_t *ret_secret, size_t *ret_end, struct err *err)
{
	size_t at = 0, len, end = strlen(token), i;

	if (end && token[end - 1] == '\n')
		end--;
	if (end && token[end - 1] == '\r')
		end--;
	if (!user_part(token, &at, err))
		return false;
	at++;
	len = strspn(token + at,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789._-");
	if (!len || (token[at + len] != '=' && token[at + len] != ':'))
		return token_bad(err, "after the token's id there must be '=' (or ':')");
	at += len + 1;
	if (end <= at)
		return token_bad(err, "there is no secret");
	if (end - at > SECRET_MAX)
		return token_bad(err, "the secret is too long");
	for (i = at; i < end; i++) {
		if ((unsigned char)token[i] <= 0x20 || token[i] == 0x7f)
			return token_bad(err, "the secret has a blank or a line break in it");
	}
	*ret_id = at - 1;
	*ret_secret = at;
	*ret_end = end;
	return true;
}

bool api_authorization(enum api_kind kind, const char *token, struct buf *ret, struct err *err)
{
	char secret[SECRET_MAX + 1], who[512];
	size_t id = 0, at = 0, end = 0;

	if (!token_parts(token, &id, &at, &end, err))
		return false;
	if (id >= sizeof(who))
		return token_bad(err, "the user is too long");
	memcpy(who, token, id);
	who[id] = '\0';
	memcpy(secret, token + at, end - at);
	secret[end - at] = '\0';
	/* At once: memory that had to grow would leave a copy behind. */
	if (!buf_room(ret, 3 * (sizeof(who) + sizeof(secret)) + 32)) {
		explicit_bzero(secret, sizeof(secret));
		return err_nomem(err);
	}
	if (kind == API_PVE) {
		/* The whole value is URI-unescaped there, and ends at a ';'. */
		buf_adds(ret, "PVEAPIToken=");
		form_encode(ret, who, "@!");
		buf_addc(ret, '=');
	} else {
		/* Only the secret is decoded there. */
		buf_adds(ret, "PBSAPIToken=");
		buf_adds(ret, who);
		buf_addc(ret, ':');
	}
	form_encode(ret, secret, "");
	explicit_bzero(secret, sizeof(secret));
	return ret->failed ? err_nomem(err) : true;
}

/* The server's own words on one line, cut, without what a terminal would obey. */
static void tidy(const char *text, size_t len, char ret[SERVER_TEXT_MAX])
{
	size_t n = 0, i;

	for (i = 0; i < len && n < SERVER_TEXT_MAX - 1; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x20 || c == 0x7f)
			c = ' ';
		if (c == ' ' && (n == 0 || ret[n - 1] == ' '))
			continue;
		ret[n++] = (char)c;
	}
	if (i < len) {
		while (n && ((unsigned char)ret[n - 1] & 0xc0) == 0x80)
			n--;
		if (n && (unsigned char)ret[n - 1] >= 0xc0)
			n--;
	}
	while (n && ret[n - 1] == ' ')
		n--;
	ret[n] = '\0';
}

/* PVE: {"data":null,"message":"...","errors":{"param":"..."}} (pve-http-server,
 * Formatter/Standard). What the errors say is more than the message "Parameter verification
 * failed." */
static void pve_words(const char *body, size_t len, char ret[SERVER_TEXT_MAX])
{
	json_t *root = json_read(body, len, NULL);
	json_t *errors = json_object_get(root, "errors"), *value;
	const char *message = json_string_value(json_object_get(root, "message")), *name;
	char text[1024] = "";
	size_t at;

	snprintf(text, sizeof(text), "%s", message ? message : "");
	json_object_foreach(errors, name, value)
	{
		if (!json_is_string(value))
			continue;
		at = strlen(text);
		snprintf(text + at, sizeof(text) - at, "%s%s: %s", at ? " " : "", name,
			json_string_value(value));
	}
	tidy(text, strlen(text), ret);
	json_decref(root);
}

static void server_words(
	enum api_kind kind, const char *body, size_t len, char ret[SERVER_TEXT_MAX])
{
	size_t i = 0;

	ret[0] = '\0';
	while (i < len && (body[i] == ' ' || body[i] == '\r' || body[i] == '\n'))
		i++;
	if (i < len && body[i] == '<')
		snprintf(ret, SERVER_TEXT_MAX, "a web page, not an answer of the API");
	else if (i < len && body[i] == '{')
		pve_words(body, len, ret);
	else if (kind == API_PBS)
		tidy(body, len, ret);
}

/* "Permission check failed (/nodes/a, Sys.Audit)" (PVE::RPCEnvironment), or "missing permissions
 * 'Sys.Modify' on '/system/tasks'" (pbs-config cached_user_info): the privilege and its path. */
static bool privilege(const char *words, char *ret, size_t size)
{
	static const char pve[] = "Permission check failed (", pbs[] = "missing permissions '";
	const char *at, *end, *path;

	at = strstr(words, pve);
	if (at) {
		path = at + strlen(pve);
		at = strstr(path, ", ");
		end = at ? strchr(at, ')') : NULL;
		if (!end)
			return false;
		snprintf(ret, size, "%.*s on %.*s", (int)(end - at - 2), at + 2, (int)(at - path),
			path);
		return true;
	}
	at = strstr(words, pbs);
	end = at ? strchr(at + strlen(pbs), '\'') : NULL;
	path = end && strncmp(end, "' on '", 6) == 0 ? end + 6 : NULL;
	if (!path || !strchr(path, '\''))
		return false;
	at += strlen(pbs);
	snprintf(ret, size, "%.*s on %.*s", (int)(end - at), at, (int)strcspn(path, "'"), path);
	return true;
}

static enum err_kind failure_kind(enum api_kind kind, long status, const char *words)
{
	if (status == 401 || status == 403)
		return ERR_DENIED;
	/* A check inside the handler is a plain error there. */
	if (status == 400 && kind == API_PBS && strncmp(words, "missing permissions", 19) == 0)
		return ERR_DENIED;
	if (status == 404 || strncasecmp(words, "no such ", 8) == 0 ||
		strcasestr(words, ": no such "))
		return ERR_NOTFOUND;
	/* 595 to 599: the node that was asked could not reach the one that it is about
	 * (AnyEvent::HTTP). */
	if ((status >= 502 && status <= 504) || (status >= 595 && status <= 599))
		return ERR_BUSY;
	return ERR_PROTOCOL;
}

bool api_ok(enum api_kind kind, long status, const char *body, size_t len, const char *what,
	struct err *err)
{
	char words[SERVER_TEXT_MAX], lacks[SERVER_TEXT_MAX];
	enum err_kind failure;

	if (status >= 200 && status < 300)
		return true;
	server_words(kind, body, len, words);
	failure = failure_kind(kind, status, words);
	if (status == 401)
		return err_set(err, failure, "cannot %s: the server refuses the token (401%s%s)",
			what, *words ? ": " : "", words);
	if (failure == ERR_DENIED && privilege(words, lacks, sizeof(lacks)))
		return err_set(err, failure, "cannot %s: the token lacks %s", what, lacks);
	if (failure == ERR_DENIED)
		return err_set(err, failure,
			"cannot %s: the token lacks the privilege for it (%ld%s%s)", what, status,
			*words ? ": " : "", words);
	if (status >= 595 && status <= 599)
		return err_set(err, failure, "cannot %s: the node does not answer (%ld%s%s)", what,
			status, *words ? ": " : "", words);
	if (status >= 300 && status < 400)
		return err_set(err, failure,
			"cannot %s: the server sends us elsewhere (%ld), which is not followed",
			what, status);
	return err_set(err, failure, "cannot %s: the server answers %ld%s%s", what, status,
		*words ? ": " : "", words);
}
