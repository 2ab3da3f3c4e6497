// SPDX-License-Identifier: MIT
/* The facts that `when` does not know: the job's past, the queue, an override. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "conf/given_parts.h"

static bool parse_yes(const char *value, bool *ret, struct err *err)
{
	*ret = strcmp(value, "true") == 0;
	return *ret || strcmp(value, "false") == 0 ||
		err_set(err, ERR_INVALID, "true or false belongs here");
}

static bool parse_span(const char *value, struct opt *ret, struct err *err)
{
	ret->known = span_parse(value, &ret->v, err);
	return ret->known;
}

static bool parse_count(const char *value, int64_t *ret, struct err *err)
{
	uint64_t n = 0;

	if (!u64_parse(value, 0, 100000, &n, err))
		return false;
	*ret = (int64_t)n;
	return true;
}

static bool set_baseline(struct given *given, const char *value, struct err *err)
{
	struct opt *baseline = &given->in->facts.arrays[given->at].baseline;

	baseline->known = rate_parse(value, &baseline->v, err);
	return baseline->known;
}

static bool set_missing(struct given *given, const char *value, struct err *err)
{
	struct opt *missing = &given->in->facts.arrays[given->at].missing;

	missing->known = parse_count(value, &missing->v, err);
	given->missing[given->at] = missing->known;
	return missing->known;
}

static bool set_held_for(struct given *given, const char *value, struct err *err)
{
	return parse_span(value, &given->held_ms, err);
}

static bool set_held_by(struct given *given, const char *value, struct err *err)
{
	return given_text(given->held_by, sizeof(given->held_by), value, err);
}

static bool set_blind_for(struct given *given, const char *value, struct err *err)
{
	return parse_span(value, &given->blind_ms, err);
}

static bool set_clear_for(struct given *given, const char *value, struct err *err)
{
	return parse_span(value, &given->in->ticket.clear_ms, err);
}

static bool set_recheck(struct given *given, const char *value, struct err *err)
{
	return span_parse(value, &given->in->ticket.recheck_ms, err);
}

static bool set_since_release(struct given *given, const char *value, struct err *err)
{
	return parse_span(value, &given->in->queue.since_release_ms, err);
}

static bool set_next_start(struct given *given, const char *value, struct err *err)
{
	struct opt *next = &given->in->request.next_start_utc_ms;

	if (!parse_span(value, next, err))
		return false;
	if (next->v > INT64_MAX / 2)
		return err_set(err, ERR_INVALID, "'%.60s' is too long", value);
	return true;
}

static bool set_released(struct given *given, const char *value, struct err *err)
{
	return parse_yes(value, &given->in->ticket.released, err);
}

static bool set_release_asked(struct given *given, const char *value, struct err *err)
{
	return parse_yes(value, &given->in->ticket.release_asked, err);
}

static bool set_lever(struct given *given, const char *value, struct err *err)
{
	return parse_yes(value, &given->in->lever, err);
}

static bool set_readers(struct given *given, const char *value, struct err *err)
{
	struct opt *readers = &given->in->readers;

	readers->known = parse_count(value, &readers->v, err);
	return readers->known;
}

static bool set_predicted(struct given *given, const char *value, struct err *err)
{
	return parse_span(value, &given->in->predicted_ms, err);
}

static bool set_qemu_guests(struct given *given, const char *value, struct err *err)
{
	struct opt *n = &given->in->request.n_qemu;

	n->known = parse_count(value, &n->v, err);
	return n->known;
}

static bool set_ahead(struct given *given, const char *value, struct err *err)
{
	return parse_count(value, &given->in->queue.ahead, err);
}

static bool set_running(struct given *given, const char *value, struct err *err)
{
	return parse_count(value, &given->in->queue.running_nas, err);
}

static bool set_running_node(struct given *given, const char *value, struct err *err)
{
	return parse_count(value, &given->in->queue.running_node, err);
}

static bool set_mapped(struct given *given, const char *value, struct err *err)
{
	bool yes = false;

	if (!parse_yes(value, &yes, err))
		return false;
	if (!yes)
		memset(&given->in->mapping, 0, sizeof(given->in->mapping));
	return true;
}

static bool set_override(struct given *given, const char *value, struct err *err)
{
	struct override *override = &given->in->overrides[0];

	override->verdict = verdict_parse(value);
	if (!override->verdict)
		return err_set(err, ERR_INVALID,
			"an override is \"allow\", \"throttle\", \"hold\" or \"deny\"");
	override->id = 1;
	override->created_utc_ms = GIVEN_MONDAY_MS - MS_HOUR;
	override->until_utc_ms = INT64_MAX;
	snprintf(override->by, sizeof(override->by), "operator");
	snprintf(override->reason, sizeof(override->reason), "given");
	given->in->n_overrides = 1;
	return true;
}

/* `name` stays in step with policy/README.md, which a test compares. */
static const struct extra {
	const char *name;
	bool (*set)(struct given *given, const char *value, struct err *err);
	const char *help;
} extras[] = {
	{"baseline", set_baseline, "the undisturbed pace of the rebuild"},
	{"missing", set_missing, "how many disks the array lacks"},
	{"held_for", set_held_for, "the job has been held for so long already"},
	{"held_by", set_held_by, "the rule that held it; without it, what would hold it now"},
	{"clear_for", set_clear_for, "for how long nothing would have held it any more"},
	{"recheck_used", set_recheck, "how long it has waited inside the running job"},
	{"blind_for", set_blind_for, "how long the NAS has not been seen (1min)"},
	{"released", set_released, "true: it was let go before"},
	{"release_asked", set_release_asked, "true: an operator asked to let it go"},
	{"lever", set_lever, "true: something is set up that could slow the job"},
	{"readers", set_readers, "restores that read from this NAS"},
	{"predicted", set_predicted,
		"how long the job would take while the share of its rule is protected"},
	{"qemu_guests", set_qemu_guests, "how many of the job's guests are virtual machines"},
	{"ahead", set_ahead, "held jobs of this NAS that asked before"},
	{"running", set_running, "jobs that run on this NAS"},
	{"running_node", set_running_node, "jobs of this node that hold or wait for vzdump's lock"},
	{"since_release", set_since_release,
		"the time since a held job of this NAS was let go last"},
	{"next_start", set_next_start, "the time until the job starts the next time"},
	{"mapped", set_mapped, "false: the storage is mapped to no array"},
	{"override", set_override, "the verdict of an operator's override for everything"},
};

#define N_EXTRAS (sizeof(extras) / sizeof(extras[0]))

const char *given_name_at(size_t at, const char **ret_help)
{
	if (at >= N_EXTRAS)
		return NULL;
	*ret_help = extras[at].help;
	return extras[at].name;
}

bool given_extra(
	struct given *given, const char *key, const char *value, bool *ret_known, struct err *err)
{
	size_t i;

	for (i = 0; i < N_EXTRAS; i++) {
		if (strcmp(extras[i].name, key) == 0)
			return extras[i].set(given, value, err);
	}
	*ret_known = false;
	return false;
}
