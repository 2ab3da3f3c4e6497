// SPDX-License-Identifier: MIT
#include "nas/target.h"

#include <stdio.h>

#include "conf/settings.h"
#include "nas/order.h"

void nas_target_from(const struct nas_settings *nas, int64_t deadline_ms, struct nas_target *ret)
{
	*ret = (struct nas_target){
		.via = nas->via == SETTINGS_VIA_LOCAL ? NAS_VIA_LOCAL : NAS_VIA_SSH,
		.port = nas->port,
		.deadline_ms = deadline_ms,
	};
	snprintf(ret->name, sizeof(ret->name), "%s", nas->name);
	snprintf(ret->host, sizeof(ret->host), "%s", nas->host);
	snprintf(ret->user, sizeof(ret->user), "%s", nas->user);
	snprintf(ret->key_file, sizeof(ret->key_file), "%s", nas->key_file);
	snprintf(ret->known_hosts, sizeof(ret->known_hosts), "%s", nas->known_hosts);
	snprintf(ret->root, sizeof(ret->root), "%s", nas->root);
}

void nas_target_levers(const struct nas_settings *nas, int64_t deadline_ms, struct nas_target *ret)
{
	nas_target_from(
		nas, deadline_ms > ORDER_DEADLINE_MS ? deadline_ms : ORDER_DEADLINE_MS, ret);
	snprintf(ret->user, sizeof(ret->user), "%s", nas->levers.user);
	snprintf(ret->key_file, sizeof(ret->key_file), "%s", nas->levers.key_file);
}
