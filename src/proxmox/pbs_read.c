// SPDX-License-Identifier: MIT
/* A backup server's groups, namespaces and time. */
#include <stdio.h>
#include <string.h>

#include "proxmox/form.h"
#include "proxmox/pbs.h"

#define SECONDS_MAX INT64_C(253402300799) /* 9999-12-31 */

static bool read_group(const json_t *object, struct pbs_group *group, struct err *err)
{
	*group = (struct pbs_group){0};
	if (!json_is_object(object))
		return err_set(err, ERR_INVALID, "it is not an object");
	return json_copy_text(object, "backup-type", group->type, sizeof(group->type), err) &&
		json_copy_text(object, "backup-id", group->id, sizeof(group->id), err) &&
		json_get_int(object, "last-backup", 0, SECONDS_MAX, &group->last_backup_s, err);
}

bool pbs_groups_read(const char *body, size_t len,
	void (*each)(void *data, const struct pbs_group *group), void *data, struct err *err)
{
	static const char what[] = "the backup groups";
	json_t *root;
	const json_t *list = answer_list(body, len, what, &root, err);
	struct pbs_group group;
	bool ok = list != NULL;
	size_t i;

	for (i = 0; ok && i < json_array_size(list); i++) {
		ok = read_group(json_array_get(list, i), &group, err) || answer_bad(what, i, err);
		if (ok)
			each(data, &group);
	}
	json_decref(root);
	return ok;
}

/* One text of each element. */
static bool read_names(const char *body, size_t len, const char *what, const char *member,
	void (*each)(void *data, const char *name), void *data, struct err *err)
{
	json_t *root;
	const json_t *list = answer_list(body, len, what, &root, err);
	const char *name;
	bool ok = list != NULL;
	size_t i;

	for (i = 0; ok && i < json_array_size(list); i++) {
		name = NULL;
		ok = json_get_text(json_array_get(list, i), member, &name, err) ||
			answer_bad(what, i, err);
		if (ok)
			each(data, name);
	}
	json_decref(root);
	return ok;
}

bool pbs_namespaces_read(const char *body, size_t len, void (*each)(void *data, const char *ns),
	void *data, struct err *err)
{
	return read_names(body, len, "the namespaces", "ns", each, data, err);
}

bool pbs_datastores_read(const char *body, size_t len, void (*each)(void *data, const char *store),
	void *data, struct err *err)
{
	return read_names(body, len, "the datastores", "store", each, data, err);
}

bool pbs_time_read(const char *body, size_t len, int64_t *ret_offset_s, struct err *err)
{
	static const char what[] = "the server's time";
	json_t *root;
	const json_t *data = answer_object(body, len, what, &root, err);
	int64_t time = 0, local = 0;
	bool ok = false;

	if (!data)
		return false;
	if (!json_get_int(data, "time", 0, SECONDS_MAX, &time, err) ||
		!json_get_int(data, "localtime", 0, SECONDS_MAX, &local, err)) {
		err_prefix(err, "%s", what);
		if (err)
			err->kind = ERR_PROTOCOL;
	} else if (local - time < -18 * 3600 || local - time > 18 * 3600) {
		err_set(err, ERR_PROTOCOL, "%s: its local time is %lld s from UTC", what,
			(long long)(local - time));
	} else {
		*ret_offset_s = local - time;
		ok = true;
	}
	json_decref(root);
	return ok;
}

#define DAY_MINUTES INT64_C(1440)
#define SPAN_MAX_S INT64_C(7200)
#define EARLY_MINUTES 2

/* From `start` to `end` in minutes since the epoch of local time, both of one day; the day's last
 * minute is given up. False where nothing is left. */
static bool put_timeframe(int64_t start, int64_t end, char ret[64])
{
	/* 1970-01-01 was a Thursday. */
	static const char days[7][4] = {"thu", "fri", "sat", "sun", "mon", "tue", "wed"};
	int64_t day = start / DAY_MINUTES, from = start % DAY_MINUTES, to = end - day * DAY_MINUTES;

	if (to > DAY_MINUTES - 1)
		to = DAY_MINUTES - 1;
	if (to <= from)
		return false;
	snprintf(ret, 64, "%s %d:%02d-%d:%02d", days[day % 7], (int)(from / 60), (int)(from % 60),
		(int)(to / 60), (int)(to % 60));
	return true;
}

size_t pbs_timeframe(int64_t utc_s, int64_t offset_s, int64_t span_s, char ret[2][64])
{
	int64_t local = utc_s + offset_s, start, end, midnight;
	size_t n = 0;

	if (local < DAY_MINUTES * 60)
		return 0;
	span_s = span_s < 60 ? 60 : span_s;
	span_s = span_s > SPAN_MAX_S ? SPAN_MAX_S : span_s;
	start = local / 60 - EARLY_MINUTES;
	end = (local + span_s) / 60;
	midnight = (start / DAY_MINUTES + 1) * DAY_MINUTES;
	if (put_timeframe(start, end < midnight ? end : midnight, ret[n]))
		n++;
	if (end > midnight && put_timeframe(midnight, end, ret[n]))
		n++;
	return n;
}
