// SPDX-License-Identifier: MIT
/* Parts of the gate that are not built in: weak, so that the real ones take their place. */
#include "gate/ages.h"
#include "gate/gate.h"
#include "gate/pbs_lever.h"
#include "gate/remote.h"
#include "gate/tasks.h"

#define WEAK __attribute__((weak))

WEAK struct opt ages_size(struct ages *ages, const struct request *request)
{
	(void)ages;
	(void)request;
	return OPT_NONE;
}

WEAK void ages_fill(struct ages *ages, struct request *request, const struct moment *now)
{
	(void)ages;
	(void)request;
	(void)now;
}

WEAK void ages_done(struct ages *ages, const char *storage, uint32_t guest, int64_t utc_ms)
{
	(void)ages;
	(void)storage;
	(void)guest;
	(void)utc_ms;
}

WEAK json_t *ages_show(const struct ages *ages)
{
	(void)ages;
	return json_array();
}

#define OPENS(name, type)                                                                          \
	WEAK bool name##_open(struct gate *gate, struct type **ret, struct err *err)               \
	{                                                                                          \
		(void)gate;                                                                        \
		(void)err;                                                                         \
		*ret = NULL;                                                                       \
		return true;                                                                       \
	}                                                                                          \
	WEAK void name##_settings(struct type *part)                                               \
	{                                                                                          \
		(void)part;                                                                        \
	}

OPENS(ages, ages)

WEAK void ages_close(struct ages *ages)
{
	(void)ages;
}
