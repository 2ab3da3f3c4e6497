// SPDX-License-Identifier: MIT
#include "gate/pbs_lever_rule.h"

#include <stdio.h>
#include <string.h>

#define PREFIX "rebuildgate-"
#define SIGN "rebuildgate on "

static bool safe(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		c == '-' || c == '_' || c == '.';
}

/* FNV-1a, folded: tells long names apart. */
static unsigned digest_of(const char *text)
{
	uint32_t digest = 2166136261u;

	for (; *text; text++)
		digest = (digest ^ (unsigned char)*text) * 16777619u;
	return (digest >> 16 ^ digest) & 0xffff;
}

/* pbs-api-types PROXMOX_SAFE_ID_FORMAT: a letter, digit or '_', then those, '.' and '-'. */
void pbs_own_name(const char *node, char ret[PBS_RULE_NAME_MAX])
{
	size_t i, n = strlen(PREFIX), room = PBS_RULE_NAME_MAX - 1 - n;
	bool same = strlen(node) <= room;

	memset(ret, 0, PBS_RULE_NAME_MAX);
	memcpy(ret, PREFIX, n);
	for (i = 0; i < room && node[i]; i++) {
		same = same && safe(node[i]);
		ret[n + i] = safe(node[i]) ? node[i] : '_';
	}
	if (same)
		return;
	if (i > room - 5)
		i = room - 5;
	snprintf(ret + n + i, 6, "-%04x", digest_of(node));
}

/* Cut at a whole character, no control characters: PBS refuses others. */
static void tidy(char *text)
{
	size_t n = strlen(text), i;

	for (i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			text[i] = ' ';
	for (i = n; i > 0 && n - i < 4; i--) {
		unsigned char c = (unsigned char)text[i - 1];
		size_t want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

		if ((c & 0xc0) == 0x80)
			continue;
		if (n - i + 1 < want)
			text[i - 1] = '\0';
		return;
	}
}

void pbs_own_comment(const char *node, const char *why, int64_t until_utc_s, int64_t offset_s,
	char *ret, size_t size)
{
	int64_t minute = ((until_utc_s + offset_s) % 86400 + 86400) % 86400 / 60;
	char reason[160];

	snprintf(reason, sizeof(reason), "%s", why);
	tidy(reason);
	snprintf(ret, size, SIGN "%.63s: %s; until %02d:%02d (rebuildgate levers reset undoes it)",
		node, reason, (int)(minute / 60), (int)(minute % 60));
	tidy(ret);
}

bool pbs_own_any(const struct pbs_rule *rule)
{
	return strncmp(rule->name, PREFIX, strlen(PREFIX)) == 0 &&
		strncmp(rule->comment, SIGN, strlen(SIGN)) == 0;
}

bool pbs_own_is(const char *node, const struct pbs_rule *rule)
{
	char name[PBS_RULE_NAME_MAX], sign[128];

	pbs_own_name(node, name);
	snprintf(sign, sizeof(sign), SIGN "%.63s: ", node);
	return strcmp(rule->name, name) == 0 && strncmp(rule->comment, sign, strlen(sign)) == 0;
}

bool pbs_rule_for_all(const struct pbs_rule *rule)
{
	size_t i;

	if (rule->has_users || pbs_own_any(rule))
		return false;
	for (i = 0; i < rule->n_networks; i++) {
		const char *prefix = strchr(rule->networks[i], '/');

		if (prefix && strcmp(prefix, "/0") == 0)
			return true;
	}
	return false;
}

int64_t pbs_rest_rate(const struct pbs_rest *rest, int64_t now_ms)
{
	if (!rest->began_ms)
		return PBS_RATE_LEAST;
	if (rest->moves_ms && now_ms - rest->moves_ms >= PBS_REST_GAP_MS)
		return PBS_RATE_LEAST;
	return now_ms - rest->began_ms >= PBS_REST_MOST_MS ? PBS_MOVES_RATE : PBS_RATE_LEAST;
}

int64_t pbs_rest_next(const struct pbs_rest *rest, int64_t now_ms)
{
	int64_t over = rest->began_ms + PBS_REST_MOST_MS;
	int64_t again = rest->moves_ms + PBS_REST_GAP_MS;

	if (rest->began_ms && over > now_ms)
		return over;
	return rest->began_ms && rest->moves_ms && again > now_ms ? again : INT64_MAX;
}

void pbs_rest_set(struct pbs_rest *rest, int64_t rate, int64_t now_ms)
{
	bool rests = rate > 0 && rate < PBS_MOVES_LEAST;

	if (!rests) {
		if (rest->began_ms && !rest->moves_ms)
			rest->moves_ms = now_ms;
		return;
	}
	if (!rest->began_ms || (rest->moves_ms && now_ms - rest->moves_ms >= PBS_REST_GAP_MS))
		rest->began_ms = now_ms;
	rest->moves_ms = 0;
}

int64_t pbs_own_rate(enum steer_path path, int64_t rate, int64_t cap, const struct pbs_rest *rest,
	int64_t now_ms)
{
	int64_t wanted = 0;

	switch (path) {
	case STEER_NONE:
	case STEER_FREE:
		return 0;
	case STEER_OPEN:
		wanted = PBS_OPEN_RATE;
		break;
	case STEER_LIMIT:
		wanted = rate > PBS_MOVES_LEAST ? rate : PBS_MOVES_LEAST;
		break;
	case STEER_REST:
		wanted = pbs_rest_rate(rest, now_ms);
		break;
	}
	if (wanted > PBS_OPEN_RATE)
		wanted = PBS_OPEN_RATE;
	if (cap > 0 && cap < PBS_MOVES_LEAST)
		cap = PBS_MOVES_LEAST;
	return cap > 0 && wanted > cap ? cap : wanted;
}

enum steer_path pbs_own_path(int64_t rate, int64_t cap)
{
	if (rate <= 0)
		return STEER_FREE;
	if (rate < PBS_MOVES_LEAST)
		return STEER_REST;
	return rate >= PBS_OPEN_RATE || (cap > 0 && rate >= cap) ? STEER_OPEN : STEER_LIMIT;
}
