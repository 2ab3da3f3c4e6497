// SPDX-License-Identifier: MIT
#include "conf/checks.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/units.h"

static bool letter_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Every byte is a letter, a digit or one of `others`, and the first is a letter or a digit. */
static bool made_of(const char *text, const char *others)
{
	if (!letter_or_digit(text[0]))
		return false;
	for (; *text; text++) {
		if (!letter_or_digit(*text) && !strchr(others, *text))
			return false;
	}
	return true;
}

bool check_label(const char *text, struct err *err)
{
	return made_of(text, "-_.") ||
		err_set(err, ERR_INVALID,
			"'%.60s' is not made of letters, digits, '-', '_' and '.' alone, beginning "
			"with a letter or digit",
			text);
}

bool check_host(const char *text, struct err *err)
{
	return made_of(text, "-_.:") ||
		(text[0] == ':' && made_of(text + strspn(text, ":"), ":.")) ||
		err_set(err, ERR_INVALID,
			"'%.60s' is not a host name or an address; the user and the port have "
			"settings of their own",
			text);
}

bool check_account(const char *text, struct err *err)
{
	return made_of(text[0] == '_' ? text + 1 : text, "-_.") ||
		err_set(err, ERR_INVALID, "'%.60s' is not the name of a user or group", text);
}

bool check_plain_path(const char *text, struct err *err)
{
	return !strchr(text, '%') ||
		err_set(err, ERR_INVALID,
			"'%.60s' has a '%%' in it, which the SSH library would expand", text);
}

/* What follows `scheme` in the text, NULL where it does not begin so. */
static const char *after(const char *text, const char *scheme)
{
	size_t len = strlen(scheme);

	return strncmp(text, scheme, len) == 0 ? text + len : NULL;
}

/* HOST[:PORT] up to '/', '?' or the end; the length, 0 for none. No user, no password in it. */
static size_t authority(const char *text)
{
	size_t len = strcspn(text, "/?#");

	return memchr(text, '@', len) || memchr(text, ' ', len) ? 0 : len;
}

static bool is_loopback(const char *host, size_t len)
{
	static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t n = strlen(names[i]);

		if (len >= n && strncmp(host, names[i], n) == 0 && (len == n || host[n] == ':'))
			return true;
	}
	return false;
}

bool check_webhook(const char *text, struct err *err)
{
	const char *secure = after(text, "https://"), *plain = after(text, "http://");

	if (strchr(text, ' ') || strchr(text, '"'))
		return err_set(err, ERR_INVALID, "'%.60s' has a blank or a quote in it", text);
	if (secure && authority(secure))
		return true;
	if (plain && is_loopback(plain, authority(plain)))
		return true;
	if (plain)
		return err_set(err, ERR_INVALID,
			"'%.60s' would send notices in the clear; write https://, or http:// for "
			"this "
			"machine (127.0.0.1) only",
			text);
	return err_set(
		err, ERR_INVALID, "'%.60s' is not an address such as \"https://HOST/PATH\"", text);
}

bool check_smtp(const char *text, struct err *err)
{
	const char *host = after(text, "smtp://");
	size_t len;

	if (!host)
		host = after(text, "smtps://");
	len = host ? authority(host) : 0;
	return (len && !host[len]) ||
		err_set(err, ERR_INVALID,
			"'%.60s' is not an address such as \"smtp://HOST:25\" or "
			"\"smtps://HOST\"; the login has settings of its own",
			text);
}

/* The host's part of "HOST:PORT" with a good port, or 0. */
static size_t host_before_port(const char *text)
{
	const char *colon = strrchr(text, ':');
	uint64_t port = 0;

	if (!colon || !u64_parse(colon + 1, 1, 65535, &port, NULL))
		return 0;
	return (size_t)(colon - text);
}

bool check_api(const char *text, struct err *err)
{
	const char *rest = after(text, "https://");
	size_t len = rest ? host_before_port(rest) : 0;
	char host[256] = "", address[16];
	bool good = false;

	if (len && len < sizeof(host)) {
		memcpy(host, rest, len);
		if (host[0] == '[' && host[len - 1] == ']') {
			host[len - 1] = '\0';
			good = inet_pton(AF_INET6, host + 1, address) == 1;
		} else {
			good = made_of(host, "-_.");
		}
	}
	return good ||
		err_set(err, ERR_INVALID,
			"'%.60s' is not \"https://HOST:PORT\" with nothing after it; the usual "
			"ports "
			"are 8006 (Proxmox VE) and 8007 (Proxmox Backup Server)",
			text);
}

bool check_network(const char *text, struct err *err)
{
	size_t len = strcspn(text, "/");
	char host[64] = "", address[16];
	uint64_t bits = 0;
	bool good = false;

	if (len < sizeof(host) && text[len]) {
		memcpy(host, text, len);
		if (inet_pton(AF_INET, host, address) == 1)
			good = u64_parse(text + len + 1, 0, 32, &bits, NULL);
		else if (inet_pton(AF_INET6, host, address) == 1)
			good = u64_parse(text + len + 1, 0, 128, &bits, NULL);
	}
	return good ||
		err_set(err, ERR_INVALID,
			"'%.60s' is not a network such as \"192.0.2.0/24\" or \"2001:db8::/64\"",
			text);
}

bool check_address(const char *text, struct err *err)
{
	const char *at = strchr(text, '@');
	const char *p;

	for (p = text; *p; p++) {
		if (*p == ' ' || *p == '<' || *p == '>' || *p == '"' || *p == ',')
			at = NULL;
	}
	return (at && at != text && at[1] && !strchr(at + 1, '@')) ||
		err_set(err, ERR_INVALID,
			"'%.60s' is not a mail address such as \"root@example.com\"", text);
}
