// SPDX-License-Identifier: MIT
/* The only place that reads a clock. Called at the edges (mains, loop); everything below takes a
 * moment. */
#ifndef RG_BASE_CLOCK_H
#define RG_BASE_CLOCK_H

#include "base/moment.h"

struct moment clock_now(void);

/* CLOCK_BOOTTIME in ms. */
int64_t clock_boot_ms(void);

#endif
