// SPDX-License-Identifier: MIT
/*
 * What backups onto a storage moved while the share was kept: what the next ones may expect.
 *
 * Seconds tell nothing of that: a pace counts once the share was kept for half of the rule's `over`
 * without a break, and for a minute at least. Keepers tell what block jobs read, servers what
 * arrives (enum moved): a pace is one of these, never a mixture. It is in the record's memory, so
 * that a gate that starts anew knows it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/levers_impl.h"
#include "md/rate.h"

#define MEMORY "levers:paces"
#define SLACK_PPM 20000          /* what the share may fall short of and still be kept */
#define KEPT_LEAST_MS MS_MINUTE  /* for so long, */
#define GAP_MS (30 * MS_SECOND)  /* without a longer break */
#define SAVE_MS (10 * MS_MINUTE) /* between two writes of what changes all the time */

static struct paced *paced_of(struct levers *levers, const char *storage, bool make)
{
	struct paced *oldest = &levers->paces[0];
	size_t i;

	for (i = 0; i < LEVERS_PACES; i++) {
		if (strcmp(levers->paces[i].storage, storage) == 0)
			return &levers->paces[i];
		if (levers->paces[i].used_ms < oldest->used_ms)
			oldest = &levers->paces[i];
	}
	if (!make)
		return NULL;
	memset(oldest, 0, sizeof(*oldest));
	snprintf(oldest->storage, sizeof(oldest->storage), "%s", storage);
	return oldest;
}

const struct paced *levers_paced(struct levers *levers, const char *storage)
{
	const struct paced *paced = paced_of(levers, storage, false);

	return paced && paced->pace > 0 ? paced : NULL;
}

json_t *levers_paces(const struct levers *levers)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; list && i < LEVERS_PACES; i++) {
		json_t *object = levers->paces[i].pace > 0 ? json_object() : NULL;

		if (!object)
			continue;
		json_put_text(object, "storage", levers->paces[i].storage);
		json_put_int(object, "pace", levers->paces[i].pace);
		json_put_text(object, "as", moved_word(levers->paces[i].as));
		json_put_int(object, "protect_ppm", levers->paces[i].protect_ppm);
		json_array_append_new(list, object);
	}
	return list;
}

/* Only where the database takes them: the room of the spill is for decisions and levers. */
void paces_save(struct levers *levers)
{
	struct store_health health = {0};
	struct err err = {0};
	json_t *list;
	char *text;

	if (levers->gate->store)
		store_health(levers->gate->store, &health);
	if (!levers->paces_new || !health.ok)
		return;
	list = levers_paces(levers);
	text = list ? json_text(list, 0) : NULL;
	json_decref(list);
	if (text) {
		store_begin(levers->gate->store);
		store_put_memory(levers->gate->store, MEMORY, text, levers->now.utc_ms);
		if (store_commit(levers->gate->store, &err) == STORE_LOST)
			log_info("How fast throttled backups go is not recorded: %s", err.text);
		levers->paces_new = false;
		levers->paces_saved_ms = levers->now.boot_ms;
	}
	free(text);
}

static bool take(struct levers *levers, const json_t *object)
{
	struct paced read = {.used_ms = 1};
	char word[16] = "";

	if (!json_copy_text(object, "storage", read.storage, sizeof(read.storage), NULL) ||
		!read.storage[0] || !json_get_int(object, "pace", 1, INT64_MAX, &read.pace, NULL) ||
		!json_get_int(object, "protect_ppm", 1, 1000000, &read.protect_ppm, NULL) ||
		!json_copy_text(object, "as", word, sizeof(word), NULL))
		return false;
	read.as = moved_parse(word);
	if (!read.as)
		return false;
	*paced_of(levers, read.storage, true) = read;
	return true;
}

void paces_load(struct levers *levers)
{
	struct buf text = {0};
	json_t *list = NULL;
	size_t i;

	if (store_memory(levers->gate->store, MEMORY, &text, NULL))
		list = json_read(text.data, text.len, NULL);
	for (i = 0; i < json_array_size(list) && i < LEVERS_PACES; i++)
		if (!take(levers, json_array_get(list, i)))
			log_info("A pace in the record is not one: it is left out");
	json_decref(list);
	buf_release(&text);
}

static bool keeps(const struct steered *s)
{
	const struct steer_output *out = &s->out;

	return s->protects && !s->rule.rate.known && out->path > STEER_FREE && out->pace.known &&
		out->pace.v > 0 && out->share_ppm.known &&
		out->share_ppm.v >= s->rule.protect_ppm - SLACK_PPM;
}

/* How many copy now: a job that is about to write moves nothing yet. */
static int64_t streams_of(const struct levers *levers, const struct lever_job *job)
{
	int64_t n = 0;
	size_t i;

	if (job->by == BY_PBS)
		return job->guest || !job->ticket;
	for (i = 0; job->ticket && i < LEVERS_KEEPERS; i++) {
		const struct keeper *keeper = &levers->keepers[i];

		n += keeper->said.ticket == job->ticket && keeper->said.n_jobs > 0 &&
			keeper_alive(levers, keeper);
	}
	return n;
}

/* `storage` NULL: onto any. */
static int64_t streams_onto(
	const struct levers *levers, const struct steered *s, const char *storage)
{
	int64_t n = 0;
	size_t i;

	for (i = 0; i < levers->n_jobs; i++)
		if (steered_has(levers, s, &levers->jobs[i]) &&
			(!storage || strcmp(levers->jobs[i].storage, storage) == 0))
			n += streams_of(levers, &levers->jobs[i]);
	return n;
}

static void remember(struct levers *levers, const struct steered *s, const char *storage)
{
	int64_t onto = streams_onto(levers, s, storage);
	int64_t due = levers->paces_saved_ms + SAVE_MS;
	struct paced *paced;

	if (!onto)
		return;
	paced = paced_of(levers, storage, true);
	if (!paced->pace)
		due = 0;
	paced->pace = rate_muldiv(s->out.pace.v, onto, streams_onto(levers, s, NULL));
	paced->as = s->kept_as;
	paced->protect_ppm = s->rule.protect_ppm;
	paced->used_ms = levers->now.boot_ms;
	levers->paces_new = true;
	if (paced->used_ms >= due)
		paces_save(levers);
}

void paces_note(struct levers *levers, struct steered *s)
{
	int64_t now = levers->now.boot_ms, least = s->rule.over_ms / 2;
	size_t i;

	/* No news; a longer while is a gap. */
	if (s->blind || (s->moved_as == MOVED_NONE && !s->moved_mixed))
		return;
	/* What was moved then stays in the average for that long. */
	if (s->moved_mixed || (s->kept_as && s->moved_as != s->kept_as))
		s->mixed_ms = now;
	if (!s->moved_mixed)
		s->kept_as = s->moved_as;
	if (s->mixed_ms == now || !keeps(s)) {
		s->kept_ms = 0;
		return;
	}
	if (!s->kept_ms || now - s->kept_seen_ms > GAP_MS)
		s->kept_ms = now;
	s->kept_seen_ms = now;
	if (now - s->kept_ms < (least > KEPT_LEAST_MS ? least : KEPT_LEAST_MS) ||
		(s->mixed_ms && now - s->mixed_ms < s->rule.over_ms))
		return;
	for (i = 0; i < levers->n_jobs; i++)
		if (steered_has(levers, s, &levers->jobs[i]))
			remember(levers, s, levers->jobs[i].storage);
}
