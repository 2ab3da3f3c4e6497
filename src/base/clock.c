// SPDX-License-Identifier: MIT
#include "base/clock.h"

#include <time.h>

static int64_t clock_ms(clockid_t id)
{
	struct timespec ts = {0};

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t clock_boot_ms(void)
{
	return clock_ms(CLOCK_BOOTTIME);
}

struct moment clock_now(void)
{
	struct moment now = {.boot_ms = clock_boot_ms(), .utc_ms = clock_ms(CLOCK_REALTIME)};
	time_t utc = (time_t)(now.utc_ms / 1000);
	struct tm tm;

	if (localtime_r(&utc, &tm))
		now.utc_offset_s = (int32_t)tm.tm_gmtoff;
	return now;
}
