// SPDX-License-Identifier: MIT
#include "sim.h"
void random_scenario(uint64_t seed, struct buf *ret)
{
	buf_addf(ret, "# %llu\n", (unsigned long long)seed);
}
