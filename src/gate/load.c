// SPDX-License-Identifier: MIT
#include "gate/load.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "gate/ages.h"
#include "gate/desk.h"
#include "gate/floor_lever.h"
#include "gate/gate.h"
#include "gate/levers.h"
#include "gate/notify.h"
#include "gate/pbs_lever.h"
#include "gate/pending.h"
#include "gate/remote.h"
#include "gate/tasks.h"
#include "gate/watch.h"

#define STAGGER_MS 50 /* between the first looks of two NAS */

static bool find_group(const char *name, gid_t *ret)
{
	struct group entry, *found = NULL;
	char line[4096];

	if (getgrnam_r(name, &entry, line, sizeof(line), &found) != 0 || !found)
		return false;
	*ret = found->gr_gid;
	return true;
}

static void load_roles(const char *file, struct loaded *loaded, struct conf_errors *errors)
{
	const struct settings *settings = loaded->settings;
	struct roles *roles = &loaded->roles;

	*roles = (struct roles){.own_uid = geteuid()};
	if (settings->socket_group[0]) {
		roles->has_look_gid = find_group(settings->socket_group, &roles->look_gid);
		if (!roles->has_look_gid)
			conf_error_add(errors, file, 0,
				"socket_group: there is no group '%s'; make it (groupadd --system "
				"%s), or name another",
				settings->socket_group, settings->socket_group);
	}
	if (settings->override_group[0]) {
		roles->has_override_gid =
			find_group(settings->override_group, &roles->override_gid);
		if (!roles->has_override_gid)
			conf_error_add(errors, file, 0, "override_group: there is no group '%s'",
				settings->override_group);
	}
}

bool load(const char *file, struct loaded *ret, struct conf_errors *errors)
{
	struct loaded loaded = {0};

	*ret = (struct loaded){0};
	if (settings_load(file, &loaded.settings, errors)) {
		load_roles(file, &loaded, errors);
		conf_policy_load(loaded.settings->policy, &loaded.policy, errors);
	}
	if (loaded.policy && !conf_policy_print(loaded.policy, &loaded.policy_text))
		conf_error_add(errors, file, 0, "There is no memory for the policy's text");
	if (conf_errors_none(errors) && loaded.policy) {
		*ret = loaded;
		return true;
	}
	loaded_release(&loaded);
	return false;
}

void loaded_release(struct loaded *loaded)
{
	settings_free(loaded->settings);
	conf_policy_free(loaded->policy);
	buf_release(&loaded->policy_text);
	*loaded = (struct loaded){0};
}

/* Takes the watch that has exactly these settings out of `list`, or NULL. */
static struct watch *take_same(struct watch **list, size_t n, const struct nas_settings *settings)
{
	struct watch *found;
	size_t i;

	for (i = 0; i < n; i++)
		if (list[i] && watch_same(list[i], settings)) {
			found = list[i];
			list[i] = NULL;
			return found;
		}
	return NULL;
}

static void renew_watches(struct gate *gate)
{
	const struct settings *settings = gate->settings;
	struct watch *old[SETTINGS_MAX_NAS];
	size_t i, n_old = gate->n_watches, n = 0;
	struct err err;

	memcpy(old, gate->watches, sizeof(old));
	gate->n_watches = 0;
	for (i = 0; i < settings->n_nas; i++) {
		struct watch *watch = take_same(old, n_old, &settings->nas[i]);

		if (watch)
			watch_settings(watch);
		else
			watch = watch_new(gate, &settings->nas[i], (int64_t)n * STAGGER_MS, &err);
		if (watch)
			gate->watches[n++] = watch;
		else
			log_err("NAS '%s' cannot be watched: %s", settings->nas[i].name, err.text);
	}
	gate->n_watches = n;
	for (i = 0; i < n_old; i++)
		watch_free(old[i]);
}

/* The parts around the levers, as far as they are open. */
static void renew_levers(struct gate *gate)
{
	if (gate->remotes)
		remotes_settings(gate->remotes);
	if (gate->pbs_levers)
		pbs_levers_settings(gate->pbs_levers);
	if (gate->floors)
		floor_levers_settings(gate->floors);
	if (gate->tasks)
		tasks_settings(gate->tasks);
	if (gate->ages)
		ages_settings(gate->ages);
	levers_settings(gate->levers);
}

void load_apply(struct gate *gate, struct loaded *loaded)
{
	struct settings *settings = gate->settings;
	struct policy *policy = gate->policy;

	if (policy)
		desk_remember(gate->desk);
	pending_flush(gate->pending); /* by what is in force: the looks that they wait for may be
					 dropped */
	gate->settings = loaded->settings;
	gate->policy = loaded->policy;
	gate->roles = loaded->roles;
	buf_release(&gate->policy_text);
	gate->policy_text = loaded->policy_text;
	*loaded = (struct loaded){0};
	renew_watches(gate);
	renew_levers(gate);
	notify_reload(gate->notify);
	desk_policy(gate->desk);
	settings_free(settings);
	conf_policy_free(policy);
}

static void say_errors(const struct conf_errors *errors)
{
	struct buf text = {0};
	char *line, *end;

	conf_errors_print(errors, &text);
	for (line = text.data; line && *line; line = end + 1) {
		end = strchr(line, '\n');
		if (!end)
			break;
		*end = '\0';
		log_err("%s", line);
	}
	buf_release(&text);
}

void load_again(struct gate *gate)
{
	struct conf_errors errors = {0};
	struct loaded loaded;
	struct buf restart = {0};

	uint64_t usec = 0;

	sd_event_now(gate->loop, CLOCK_MONOTONIC, &usec);
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)usec);
	if (!load(gate->config, &loaded, &errors)) {
		say_errors(&errors);
		log_err("The new configuration is refused, the one before stays in force");
		conf_errors_release(&errors);
		sd_notify(0, "READY=1\nSTATUS=The last reload was refused: see the journal");
		return;
	}
	settings_restart_needed(gate->settings, loaded.settings, &restart);
	memcpy(loaded.settings->node, gate->settings->node, sizeof(loaded.settings->node));
	if (restart.len)
		log_warning("Takes effect at a restart only: %s", buf_str(&restart));
	load_apply(gate, &loaded);
	log_notice("The configuration is loaded anew policy=%s hash=%s", gate->policy->name,
		gate->policy_hash);
	sd_notifyf(0, "READY=1\nSTATUS=Policy '%s', %zu NAS", gate->policy->name, gate->n_watches);
	buf_release(&restart);
	conf_errors_release(&errors);
}
