// SPDX-License-Identifier: MIT
#include "gate/chores.h"

#include "base/clock.h"
#include "base/log.h"
#include "gate/desk_impl.h"

#define EVERY_MS (5 * MS_SECOND)
#define RETAIN_EVERY_MS MS_HOUR
#define RETAIN_ROWS 500

static void heal(struct gate *gate)
{
	struct store_health health;
	struct err err = {0};

	store_health(gate->store, &health);
	if (!health.ok || health.spilled)
		store_heal(gate->store, &err);
	record_tell(gate);
}

/* In small steps: the next one comes with the next chores while there is more to do. */
static void retain(struct gate *gate, const struct moment *now)
{
	struct store_health health;
	struct err err = {0};
	bool more = false;

	store_health(gate->store, &health);
	if (!health.ok || now->boot_ms < gate->retain_ms)
		return;
	if (!store_retain(gate->store, now->utc_ms - gate->settings->retention_ms, now->utc_ms,
		    RETAIN_ROWS, &more, &err))
		log_warning("Old rows of the record cannot be removed: %s", err.text);
	if (!more)
		gate->retain_ms = now->boot_ms + RETAIN_EVERY_MS;
}

static void on_time(void *data)
{
	struct gate *gate = data;
	struct moment now = clock_now();

	desk_sweep(gate->desk);
	heal(gate);
	retain(gate, &now);
	timer_at(&gate->chores_timer, now.boot_ms + EVERY_MS);
}

bool chores_open(struct gate *gate, struct err *err)
{
	if (!timer_open(&gate->chores_timer, gate->loop, on_time, gate, err))
		return false;
	gate->retain_ms = clock_boot_ms() + MS_MINUTE;
	timer_at(&gate->chores_timer, clock_boot_ms() + EVERY_MS);
	return true;
}

void chores_close(struct gate *gate)
{
	timer_close(&gate->chores_timer);
}
