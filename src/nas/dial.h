// SPDX-License-Identifier: MIT
/* A TCP connection within a deadline, over all addresses that a name has. Only name resolution may
 * block past it. */
#ifndef RG_NAS_DIAL_H
#define RG_NAS_DIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "nas/frame.h"
#include "nas/target.h"

/* Connects to target->host:port until `deadline_ms` (boot time). On success *ret_fd is a connected,
 * non-blocking, close-on-exec socket that the caller closes. Else `result` is SENSOR_REFUSED or
 * SENSOR_UNREACHABLE with its sentence. */
bool dial(const struct nas_target *target, int64_t deadline_ms, int *ret_fd,
	struct probe_result *result);

/* target->port, or 22. */
unsigned target_port(const struct nas_target *target);

#endif
