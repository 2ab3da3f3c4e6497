// SPDX-License-Identifier: MIT
/* The journal: one line for each change that matters, none for each slice. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "gate/levers_impl.h"
#include "proxmox/upid.h"

#define STOPS_MOST 20                  /* tries to stop one job */
#define LIMIT_EVERY_MS (5 * MS_MINUTE) /* between two lines about the same array's limit */

static uint64_t hash(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h ? h : 1;
}

static struct said *said_of(struct levers *levers, const struct lever_job *job, bool make)
{
	uint64_t upid = job->ticket ? 0 : hash(job->upid);
	struct said *oldest = &levers->said[0];
	size_t i;

	for (i = 0; i < LEVERS_SAID; i++) {
		struct said *said = &levers->said[i];

		if (said->used_ms && said->ticket == job->ticket && said->upid == upid) {
			said->used_ms = levers->now.boot_ms;
			return said;
		}
		if (said->used_ms < oldest->used_ms)
			oldest = said;
	}
	if (!make)
		return NULL;
	*oldest =
		(struct said){.ticket = job->ticket, .upid = upid, .used_ms = levers->now.boot_ms};
	return oldest;
}

bool levers_said(struct levers *levers, const struct lever_job *job, unsigned what)
{
	const struct said *said = said_of(levers, job, false);

	return said && (said->what & what);
}

bool levers_say_once(struct levers *levers, const struct lever_job *job, unsigned what)
{
	struct said *said = said_of(levers, job, true);
	bool first = !(said->what & what);

	said->what |= what;
	return first;
}

int64_t levers_guest_ms(struct levers *levers, const struct lever_job *job)
{
	struct said *said = said_of(levers, job, true);

	if (said->guest != job->guest) {
		said->guest = job->guest;
		said->guest_ms = levers->now.boot_ms;
	}
	return levers->now.boot_ms - said->guest_ms;
}

static const char *name_of(const struct lever_job *job, char ret[280])
{
	if (job->ticket)
		snprintf(ret, 280, "T%lld", (long long)job->ticket);
	else
		snprintf(ret, 280, "%.250s", job->upid[0] ? job->upid : "a backup");
	return ret;
}

static void tell_job(struct levers *levers, const struct lever_job *job)
{
	char name[280];

	if (!job->throttled)
		return;
	name_of(job, name);
	if (levers_say_once(levers, job, SAID_THROTTLED))
		log_notice("%s is throttled: %s ticket=%lld storage=%s node=%s rule=\"%s\"", name,
			job->by == BY_NOTHING ? "nothing here can slow it" : job->text,
			(long long)job->ticket, job->storage, job->node, job->rule);
	if (job->by == BY_NOTHING && job->text[0] && levers_say_once(levers, job, SAID_UNREACHED))
		log_warning("%s goes at full speed: %s ticket=%lld storage=%s node=%s", name,
			job->text, (long long)job->ticket, job->storage, job->node);
}

static void tell_restore(struct steered *s)
{
	bool now = s->restore && (s->protects || s->told_path > STEER_FREE);

	if (now == s->told_restore)
		return;
	s->told_restore = now;
	if (now)
		log_notice("A restore reads from NAS '%s': the levers for %s are free nas=%s md=%s",
			s->nas, s->array, s->nas, s->array);
	else
		log_notice(
			"The restore from NAS '%s' is done nas=%s md=%s", s->nas, s->nas, s->array);
}

static void tell_reads(struct levers *levers, struct steered *s)
{
	bool now = floor_gives_way(levers, s);

	if (now == s->told_reads)
		return;
	s->told_reads = now;
	if (now)
		log_notice("The floor of %s of NAS '%s' is free: %s nas=%s md=%s", s->array, s->nas,
			READS_TEXT, s->nas, s->array);
}

/* What counts as a change: from free to set and back, another way, no grip. A limit's value only
 * now and then. */
static bool news(const struct steered *s, int64_t now)
{
	bool set = s->out.path > STEER_FREE, was = s->told_path > STEER_FREE;

	if (set != was)
		return true;
	if (!set)
		return false;
	if (s->out.way != s->told_way || s->out.no_grip != s->told_grip)
		return true;
	return s->out.path == STEER_LIMIT && now - s->told_ms >= LIMIT_EVERY_MS;
}

static void tell_array(struct levers *levers, struct steered *s)
{
	char path[64], share[UNITS_TEXT_MAX] = "not known";
	const char *way = s->out.way ? steer_way_word(s->out.way) : "none";

	tell_restore(s);
	tell_reads(levers, s);
	if (!news(s, levers->now.boot_ms))
		return;
	if (s->out.share_ppm.known)
		percent_show(s->out.share_ppm.v, share);
	if (s->out.path <= STEER_FREE)
		log_notice("Backups onto %s of NAS '%s' are free: %s nas=%s md=%s", s->array,
			s->nas, s->out.text, s->nas, s->array);
	else
		log_notice("Backups onto %s of NAS '%s': %s (%s; share %s) nas=%s md=%s way=%s "
			   "jobs=%lld",
			s->array, s->nas, levers_path_text(s->out.path, s->out.rate, path),
			s->out.text, share, s->nas, s->array, way, (long long)s->jobs);
	if (s->out.no_grip && !s->told_grip)
		log_warning("The levers for %s of NAS '%s' do not hold: clients write more than "
			    "they let through nas=%s md=%s",
			s->array, s->nas, s->nas, s->array);
	s->told_path = s->out.path;
	s->told_way = s->out.way;
	s->told_grip = s->out.no_grip;
	s->told_ms = levers->now.boot_ms;
}

static const struct pve_settings *stopper(struct levers *levers, const struct lever_job *job)
{
	const struct storage_settings *set = settings_storage(levers->gate->settings, job->storage);
	const struct pve_settings *pve =
		set && set->pve[0] ? settings_pve(levers->gate->settings, set->pve) : NULL;

	return pve && pve->stop_jobs && levers->gate->tasks ? pve : NULL;
}

/* Once, and again when something else is known that may let it succeed: other settings, its task.
 */
static bool stop_due(struct levers *levers, const struct lever_job *job)
{
	struct said *said = said_of(levers, job, true);
	unsigned with = 2 * levers->reloads + (job->upid[0] != 0) + 1;

	if (said->stop_tried == with || said->stops >= STOPS_MOST)
		return false;
	said->stop_tried = with;
	said->stops++;
	return true;
}

/* running = "stop". Until it is gone it is slowed. */
static void stop_job(struct levers *levers, const struct lever_job *job)
{
	char why[160], name[280];
	struct upid parts;

	if (!job->stop || !stop_due(levers, job))
		return;
	name_of(job, name);
	snprintf(why, sizeof(why), "rule '%s' stops jobs that run", job->rule);
	if (!job->upid[0])
		log_warning("%s is to be stopped (%s), but its task is not known: it goes on "
			    "ticket=%lld storage=%s",
			name, why, (long long)job->ticket, job->storage);
	else if (!job->ticket && !upid_parse(job->upid, &parts))
		log_warning("%s is to be stopped (%s), but only backup server '%s' knows it, not a "
			    "cluster: it goes on until somebody stops it where it was started "
			    "storage=%s",
			name, why, job->pbs, job->storage);
	else if (!stopper(levers, job))
		log_warning("%s is to be stopped (%s), but no cluster with stop_jobs is set up for "
			    "storage '%s': it goes on ticket=%lld",
			name, why, job->storage, (long long)job->ticket);
	else
		tasks_stop(levers->gate->tasks, job->node, job->upid, why);
}

void levers_tell(struct levers *levers)
{
	size_t i;

	for (i = 0; i < levers->n_jobs; i++) {
		tell_job(levers, &levers->jobs[i]);
		stop_job(levers, &levers->jobs[i]);
	}
	for (i = 0; i < LEVERS_ARRAYS; i++)
		if (levers->arrays[i].nas[0])
			tell_array(levers, &levers->arrays[i]);
}
