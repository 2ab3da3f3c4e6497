// SPDX-License-Identifier: MIT
/* What one array's controller remembers: for steer.c only, see core/steer.h. */
#ifndef RG_CORE_STEER_STATE_H
#define RG_CORE_STEER_STATE_H

#include <stdbool.h>
#include <stdint.h>

struct steer {
	int64_t stepped_ms; /* boot time of the last step */
};

#endif
