// SPDX-License-Identifier: MIT
#include "proxmox/upid.h"

#include <string.h>

/* The next field, up to ':'; false when there is none or it does not fit. */
static bool field(const char **at, char *ret, size_t size)
{
	const char *end = strchr(*at, ':');
	size_t len = end ? (size_t)(end - *at) : 0;

	if (!end || len >= size)
		return false;
	memcpy(ret, *at, len);
	ret[len] = '\0';
	*at = end + 1;
	return true;
}

static bool hex_field(const char **at, size_t min, size_t max, int64_t *ret)
{
	static const char digits[] = "0123456789ABCDEF";
	const char *digit;
	char text[20];
	int64_t v = 0;
	size_t i;

	if (!field(at, text, sizeof(text)) || strlen(text) < min || strlen(text) > max)
		return false;
	for (i = 0; text[i]; i++) {
		digit = strchr(digits, text[i]);
		if (!digit)
			return false;
		v = v * 16 + (digit - digits);
	}
	*ret = v;
	return true;
}

/* 100 .. 999999999, pve-common JSONSchema pve-vmid. */
static uint32_t vmid(const char *text)
{
	uint32_t v = 0;
	size_t i;

	for (i = 0; text[i] >= '0' && text[i] <= '9' && i < 9; i++)
		v = v * 10 + (uint32_t)(text[i] - '0');
	return i && !text[i] && text[0] != '0' ? v : 0;
}

bool upid_parse(const char *text, struct upid *ret)
{
	struct upid upid = {0};
	const char *at = text;
	char user[100];

	if (strncmp(text, "UPID:", 5) != 0)
		return false;
	at += 5;
	if (!field(&at, upid.node, sizeof(upid.node)) || !*upid.node ||
		!hex_field(&at, 8, 8, &upid.pid) || !hex_field(&at, 8, 9, &upid.pstart) ||
		!hex_field(&at, 8, 8, &upid.starttime_s) ||
		!field(&at, upid.type, sizeof(upid.type)) || !*upid.type ||
		!field(&at, upid.id, sizeof(upid.id)) || !field(&at, user, sizeof(user)) || *at)
		return false;
	upid.vmid = vmid(upid.id);
	*ret = upid;
	return true;
}

bool upid_of_title(const char *cmdline, size_t len, char ret[UPID_MAX])
{
	static const char title[] = "task UPID:";
	size_t skip = strlen("task "), end = skip;

	if (len < strlen(title) || memcmp(cmdline, title, strlen(title)) != 0)
		return false;
	while (end < len && (unsigned char)cmdline[end] > ' ' && cmdline[end] != 0x7f)
		end++;
	if (end - skip >= UPID_MAX)
		return false;
	memcpy(ret, cmdline + skip, end - skip);
	ret[end - skip] = '\0';
	return true;
}
