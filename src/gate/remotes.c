// SPDX-License-Identifier: MIT
/* The list of the API servers. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/ages.h"
#include "gate/pbs_lever.h"
#include "gate/remote_impl.h"

struct remote *remotes_find(struct remotes *remotes, enum api_kind kind, const char *name)
{
	size_t i;

	for (i = 0; remotes && i < remotes->n; i++)
		if (remotes->list[i]->kind == kind && !remotes->list[i]->former &&
			strcmp(remotes->list[i]->settings.name, name) == 0)
			return remotes->list[i];
	return NULL;
}

struct remote *remotes_find_at(
	struct remotes *remotes, enum api_kind kind, const char *name, const char *url)
{
	size_t i;

	for (i = 0; remotes && i < remotes->n; i++)
		if (remotes->list[i]->kind == kind &&
			strcmp(remotes->list[i]->settings.name, name) == 0 &&
			strcmp(remotes->list[i]->settings.url, url) == 0)
			return remotes->list[i];
	return NULL;
}

void remotes_forget(struct remotes *remotes, const void *data)
{
	size_t i;

	for (i = 0; remotes && i < remotes->n; i++)
		remote_forget(remotes->list[i], data);
}

static void on_timer(void *data)
{
	struct remotes *remotes = data;
	size_t i;

	for (i = 0; i < remotes->n; i++)
		remote_work(remotes->list[i]);
}

static void drop_flights(struct remote *remote)
{
	size_t i;

	for (i = 0; i < 2; i++)
		if (remote->flights[i].what.used)
			http_cancel(remote->remotes->out.multi, remote->flights[i].id);
}

/* It is no longer among the servers: those who asked are told. */
static void retire(struct remote *remote)
{
	struct err err = {0};
	size_t i;

	err_set(&err, ERR_GONE, "The settings of '%s' have changed", remote->settings.name);
	drop_flights(remote);
	for (i = 0; i < 2; i++)
		if (remote->flights[i].what.used)
			waiting_end(&remote->flights[i].what, NULL, 0, &err);
	remote_flush(remote, true, &err);
	free(remote);
}

static struct remote *take_same(
	struct remotes *remotes, enum api_kind kind, const struct api_settings *settings)
{
	struct remote *found;
	size_t i;

	for (i = 0; i < remotes->n; i++) {
		found = remotes->list[i];
		if (!found || found->kind != kind ||
			memcmp(&found->settings, settings, sizeof(*settings)) != 0)
			continue;
		remotes->list[i] = NULL;
		return found;
	}
	return NULL;
}

static void add(struct remotes *remotes, struct remote **list, size_t *n, enum api_kind kind,
	const struct api_settings *settings)
{
	struct remote *remote = take_same(remotes, kind, settings);

	if (!remote) {
		remote = calloc(1, sizeof(*remote));
		if (!remote) {
			log_err("There is no memory for the API of '%s'", settings->name);
			return;
		}
		remote->remotes = remotes;
		remote->kind = kind;
		remote->settings = *settings;
		remote->flights[0].remote = remote->flights[1].remote = remote;
		remote->since_utc_ms = clock_now().utc_ms;
	}
	remote->former = false;
	list[(*n)++] = remote;
}

/* A backup server that is no longer configured, or with another address, stays until what was moved
 * there is put back. */
static bool still_needed(const struct remotes *remotes, const struct remote *remote)
{
	const struct pbs_settings *set =
		settings_pbs(remotes->gate->settings, remote->settings.name);

	return remote->kind == API_PBS &&
		(!set || strcmp(set->api.url, remote->settings.url) != 0) &&
		pbs_levers_owe(
			remotes->gate->pbs_levers, remote->settings.name, remote->settings.url);
}

void remotes_sweep(struct remotes *remotes)
{
	size_t i;

	for (i = remotes ? remotes->n : 0; i-- > 0;) {
		struct remote *remote = remotes->list[i];

		if (!remote->former || still_needed(remotes, remote))
			continue;
		remotes->list[i] = remotes->list[--remotes->n];
		retire(remote);
	}
}

void remotes_settings(struct remotes *remotes)
{
	const struct settings *settings = remotes->gate->settings;
	struct remote *list[REMOTES_MAX] = {0}, *old[REMOTES_MAX];
	size_t i, n = 0, n_old = remotes->n;

	for (i = 0; i < settings->n_pve; i++)
		add(remotes, list, &n, API_PVE, &settings->pve[i].api);
	for (i = 0; i < settings->n_pbs; i++)
		add(remotes, list, &n, API_PBS, &settings->pbs[i].api);
	memcpy(old, remotes->list, sizeof(old));
	for (i = 0; i < n_old; i++)
		if (old[i] && n < REMOTES_MAX && still_needed(remotes, old[i])) {
			old[i]->former = true;
			list[n++] = old[i];
			old[i] = NULL;
		}
	memcpy(remotes->list, list, sizeof(list));
	remotes->n = n;
	for (i = 0; i < n_old; i++)
		if (old[i])
			retire(old[i]);
}

bool remotes_open(struct gate *gate, struct remotes **ret, struct err *err)
{
	struct remotes *remotes = calloc(1, sizeof(*remotes));

	if (!remotes)
		return err_nomem(err);
	remotes->gate = gate;
	if (!outbound_open(&remotes->out, gate->loop, NULL, NULL, err) ||
		!timer_open(&remotes->timer, gate->loop, on_timer, remotes, err)) {
		remotes_close(remotes);
		return false;
	}
	if (gate->settings)
		remotes_settings(remotes);
	*ret = remotes;
	return true;
}

void remotes_close(struct remotes *remotes)
{
	size_t i, k;

	if (!remotes)
		return;
	for (i = 0; i < remotes->n; i++) {
		struct remote *remote = remotes->list[i];

		drop_flights(remote);
		for (k = 0; k < 2; k++)
			waiting_drop(&remote->flights[k].what);
		for (k = 0; k < QUEUE_MAX; k++)
			waiting_drop(&remote->queue[k]);
		free(remote);
	}
	timer_close(&remotes->timer);
	outbound_close(&remotes->out);
	free(remotes);
}

static json_t *show(const struct remote *remote)
{
	json_t *object = json_object();
	char missing[sizeof(remote->text)] = "";

	if (remote->kind == API_PBS && !remote->former && !remote->text[0])
		ages_missing(remote->remotes->gate->ages, remote->settings.name, missing,
			sizeof(missing));
	if (json_put_text(object, "kind", remote_kind_word(remote)) &&
		json_put_text(object, "name", remote->settings.name) &&
		json_put_text(object, "url", remote->settings.url) &&
		(remote->shape == SHAPE_UNKNOWN
				? json_put(object, "ok", json_null())
				: json_put_bool(object, "ok", remote->shape == SHAPE_GOOD)) &&
		json_put_text(object, "text", missing[0] ? missing : remote->text) &&
		json_put_int(object, "since_utc_ms", remote->since_utc_ms))
		return object;
	json_decref(object);
	return NULL;
}

json_t *remotes_show(const struct remotes *remotes)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; remotes && list && i < remotes->n; i++)
		if (json_array_append_new(list, show(remotes->list[i])) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}
