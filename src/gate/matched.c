// SPDX-License-Identifier: MIT
#include "gate/matched.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "core/match.h"
#include "gate/desk_impl.h"

bool matched_works(const struct array_facts *array)
{
	switch (array->operation) {
	case MD_OP_RECOVERY:
	case MD_OP_RESYNC:
	case MD_OP_RESHAPE:
	case MD_OP_CHECK:
	case MD_OP_REPAIR:
		return array->sync_state == MD_SYNC_RUNNING || array->sync_state == MD_SYNC_UNKNOWN;
	case MD_OP_NONE:
	case MD_OP_UNKNOWN:
	case MD_OP_IDLE:
	case MD_OP_FROZEN:
	case MD_OP_DELAYED:
	case MD_OP_PENDING:
	case MD_OP_REMOTE:
		break;
	}
	return false;
}

const struct rule *matched_first(
	const struct policy *policy, const struct inputs *in, const struct array_facts *array)
{
	size_t i;

	for (i = 0; i < policy->n_rules; i++)
		if (cond_match(policy->rules[i].when, in, array, true, NULL, 0) == MATCH_YES)
			return &policy->rules[i];
	return NULL;
}

const struct rule *matched_on(
	const struct policy *policy, const struct inputs *in, const struct array_facts *array)
{
	const struct rule *rule;

	if (!policy->enabled || policy->observe)
		return NULL;
	rule = matched_first(policy, in, array);
	return rule && !rule->set.observe ? rule : NULL;
}

const struct rule *matched_rule(struct gate *gate, const char *storage, char ret_array[MD_NAME_MAX])
{
	static struct inputs in;
	const struct rule *rule, *found = NULL;
	size_t i;

	memset(&in.request, 0, sizeof(in.request));
	in.request.client = CLIENT_VZDUMP;
	in.request.phase = PHASE_JOB_INIT;
	snprintf(in.request.storage, sizeof(in.request.storage), "%s", storage);
	in.now = clock_now();
	settings_mapping(gate->settings, storage, &in.mapping);
	if (!in.mapping.nas[0] || !gate->policy->enabled || gate->policy->observe)
		return NULL;
	world_facts(gate, in.mapping.nas, &in.now, &in.facts);
	for (i = 0; i < in.facts.n_arrays; i++) {
		const struct array_facts *array = &in.facts.arrays[i];

		if (!mapping_covers(&in.mapping, array))
			continue;
		rule = matched_first(gate->policy, &in, array);
		if (!rule || (found && rule->verdict <= found->verdict))
			continue;
		found = rule;
		if (ret_array)
			snprintf(ret_array, MD_NAME_MAX, "%s", array->name);
	}
	return found && !found->set.observe ? found : NULL;
}
