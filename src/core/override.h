// SPDX-License-Identifier: MIT
/*
 * Step 2 of decide(): which operator's override covers a request.
 */
#ifndef RG_CORE_OVERRIDE_H
#define RG_CORE_OVERRIDE_H

#include "core/decide.h"

/* The override in force that covers the request, the most specific one: ticket, guest, storage,
 * NAS, node, all; of equals the one with more fields set, then the newest. NULL if none does. */
const struct override *override_find(const struct inputs *in);

#endif
