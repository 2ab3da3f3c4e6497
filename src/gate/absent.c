// SPDX-License-Identifier: MIT
/* Parts of the gate that are not built in: weak, so that the real ones take their place. */
#include "gate/ages.h"
#include "gate/floor_lever.h"
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

WEAK struct floor_lever *floor_lever_find(struct floor_levers *levers, const char *nas)
{
	(void)levers;
	(void)nas;
	return NULL;
}

WEAK void floor_lever_want(struct floor_lever *lever, const char *array, struct opt kib_s,
	bool stripe, const char *why)
{
	(void)lever;
	(void)array;
	(void)kib_s;
	(void)stripe;
	(void)why;
}

WEAK void floor_lever_free(struct floor_lever *lever, const char *array, const char *why)
{
	(void)lever;
	(void)array;
	(void)why;
}

WEAK void floor_lever_pause_check(
	struct floor_lever *lever, const char *array, bool pause, const char *why)
{
	(void)lever;
	(void)array;
	(void)pause;
	(void)why;
}

WEAK void floor_lever_free_all(struct floor_lever *lever, const char *why)
{
	(void)lever;
	(void)why;
}

WEAK void floor_lever_state(
	const struct floor_lever *lever, const char *array, struct floor_state *ret)
{
	(void)lever;
	(void)array;
	*ret = (struct floor_state){0};
}

WEAK void floor_levers_each(const struct floor_levers *levers,
	void (*each)(
		void *data, const char *nas, const char *array, const struct floor_state *state),
	void *data)
{
	(void)levers;
	(void)each;
	(void)data;
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
OPENS(floor_levers, floor_levers)

WEAK void floor_levers_close(struct floor_levers *levers, int64_t deadline_ms)
{
	(void)levers;
	(void)deadline_ms;
}

WEAK void ages_close(struct ages *ages)
{
	(void)ages;
}

WEAK bool floor_levers_reaped(struct floor_levers *levers, int pid)
{
	(void)levers;
	(void)pid;
	return false;
}
