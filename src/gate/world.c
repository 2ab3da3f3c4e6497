// SPDX-License-Identifier: MIT
/* What the world looks like to a ticket: core's callbacks. */
#include <stdio.h>
#include <string.h>

#include "gate/ages.h"
#include "gate/desk_impl.h"
#include "gate/levers.h"
#include "gate/tasks.h"
#include "gate/watch.h"

void world_facts(
	struct gate *gate, const char *nas, const struct moment *now, struct nas_facts *ret)
{
	struct watch *watch = gate_watch(gate, nas);
	const struct nas_facts *facts;

	if (!watch) {
		memset(ret, 0, offsetof(struct nas_facts, arrays));
		ret->sensor = SENSOR_NEVER;
		snprintf(ret->name, sizeof(ret->name), "%s", nas);
		return;
	}
	facts = watch_facts(watch, now);
	memcpy(ret, facts,
		offsetof(struct nas_facts, arrays) + facts->n_arrays * sizeof(facts->arrays[0]));
}

/* What a job backs up is what its cluster says, where its hook could not tell. */
static void fill_guests(struct gate *gate, struct inputs *ret)
{
	const struct tickets *tickets = desk_tickets(gate->desk);
	size_t i;

	for (i = 0; i < tickets->n; i++)
		if (tickets->list[i].id == ret->ticket.id && tickets->list[i].job_id[0])
			ages_job(gate->ages, ret->request.storage, tickets->list[i].job_id,
				&ret->request);
}

static void look(void *data, struct inputs *ret)
{
	struct gate *gate = data;

	settings_mapping(gate->settings, ret->request.storage, &ret->mapping);
	world_facts(gate, ret->mapping.nas, &gate->now, &ret->facts);
	if (gate->ages && ret->ticket.id && !ret->request.guest && !ret->request.n_guests)
		fill_guests(gate, ret);
	if (gate->ages)
		ages_fill(gate->ages, &ret->request, &gate->now);
	ret->readers = gate->tasks ? tasks_readers(gate->tasks, ret->mapping.nas) : OPT_NONE;
	ret->lever = levers_can(gate->levers, ret);
	ret->predicted_ms = levers_predict(gate->levers, &ret->request);
}

static size_t overrides(void *data, const struct moment *now, struct override *ret)
{
	struct gate *gate = data;

	return store_overrides(gate->store, now->utc_ms, ret, OVERRIDE_MAX);
}

void world_fill(struct gate *gate, struct world *ret)
{
	*ret = (struct world){
		.data = gate,
		.policy = gate->policy,
		.look = look,
		.overrides = overrides,
	};
}
