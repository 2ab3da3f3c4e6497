// SPDX-License-Identifier: MIT
/* What a probe is told on its command line: where the NAS is and which files to use; no secret is
 * among it. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "gate/watch.h"

size_t watch_args(const struct nas_target *target, char (*ret)[NAS_PATH_MAX + 32])
{
	const size_t size = sizeof(*ret);
	size_t n = 0;

	snprintf(ret[n++], size, "deadline_ms=%lld", (long long)target->deadline_ms);
	if (target->via == NAS_VIA_LOCAL) {
		snprintf(ret[n++], size, "via=local");
		snprintf(ret[n++], size, "root=%s", target->root);
		return n;
	}
	snprintf(ret[n++], size, "via=ssh");
	snprintf(ret[n++], size, "host=%s", target->host);
	snprintf(ret[n++], size, "port=%u", (unsigned)target->port);
	snprintf(ret[n++], size, "user=%s", target->user);
	snprintf(ret[n++], size, "key_file=%s", target->key_file);
	snprintf(ret[n++], size, "known_hosts=%s", target->known_hosts);
	return n;
}

static bool copy(const char *value, char *ret, size_t size, struct err *err)
{
	if ((size_t)snprintf(ret, size, "%s", value) >= size)
		return err_set(err, ERR_LIMIT, "'%s' is too long", value);
	return true;
}

static bool take(
	const char *key, size_t len, const char *value, struct nas_target *ret, struct err *err)
{
	uint64_t number = 0;

#define IS(word) (len == sizeof(word) - 1 && memcmp(key, word, len) == 0)
	if (IS("via")) {
		ret->via = !strcmp(value, "local") ? NAS_VIA_LOCAL : NAS_VIA_SSH;
		return true;
	}
	if (IS("deadline_ms")) {
		if (!u64_parse(value, 1, 3600000, &number, err))
			return false;
		ret->deadline_ms = (int64_t)number;
		return true;
	}
	if (IS("port")) {
		if (!u64_parse(value, 0, UINT16_MAX, &number, err))
			return false;
		ret->port = (uint16_t)number;
		return true;
	}
	if (IS("host"))
		return copy(value, ret->host, sizeof(ret->host), err);
	if (IS("user"))
		return copy(value, ret->user, sizeof(ret->user), err);
	if (IS("key_file"))
		return copy(value, ret->key_file, sizeof(ret->key_file), err);
	if (IS("known_hosts"))
		return copy(value, ret->known_hosts, sizeof(ret->known_hosts), err);
	if (IS("root"))
		return copy(value, ret->root, sizeof(ret->root), err);
#undef IS
	return err_set(err, ERR_INVALID, "'%.*s' says nothing to a probe", (int)len, key);
}

bool watch_target(const char *name, char *const *args, struct nas_target *ret, struct err *err)
{
	struct nas_target target = {.deadline_ms = NAS_DEADLINE_MS};
	const char *equals;

	if (!copy(name, target.name, sizeof(target.name), err))
		return false;
	for (; *args; args++) {
		equals = strchr(*args, '=');
		if (!equals)
			return err_set(err, ERR_INVALID, "'%s' is not NAME=VALUE", *args);
		if (!take(*args, (size_t)(equals - *args), equals + 1, &target, err))
			return false;
	}
	*ret = target;
	return true;
}
