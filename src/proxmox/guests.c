// SPDX-License-Identifier: MIT
#include "proxmox/guests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/units.h"
#include "proxmox/job.h"

#define VMID_MAX 999999999 /* pve-common JSONSchema pve-vmid */

/* How a job names its guests: one of these. */
struct choice {
	const char *list; /* these; NULL: all but `exclude` */
	const char *exclude;
};

/* Whether `list` has it: ids between anything that is no digit (PVE::Tools::split_list). */
static bool has(const char *list, const char *id)
{
	size_t len = strlen(id), word;

	while (*list) {
		word = strspn(list, "0123456789");
		if (word == len && memcmp(list, id, len) == 0)
			return true;
		list += word ? word : 1;
	}
	return false;
}

static int ascending(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

/* One guest of .vmlist: {"node", "type", "version"}. */
static bool add(const json_t *guest, const char *id, const char *node, struct guests *ret)
{
	const char *type = NULL, *where = NULL;
	uint64_t vmid;

	if (!json_is_object(guest) || !json_get_text(guest, "node", &where, NULL) ||
		!json_get_text(guest, "type", &type, NULL) ||
		!u64_parse(id, 1, VMID_MAX, &vmid, NULL))
		return false;
	if (strcmp(where, node) != 0)
		return true;
	ret->n_qemu.v += strcmp(type, "qemu") == 0;
	if (ret->n < REQUEST_MAX_GUESTS)
		ret->ids[ret->n] = (uint32_t)vmid;
	ret->n++;
	return true;
}

static bool choose(
	const struct choice *choice, const char *vmlist, const char *node, struct guests *ret)
{
	json_t *value = json_read(vmlist, strlen(vmlist), NULL), *guest;
	json_t *ids = json_object_get(value, "ids");
	const char *id;
	bool ok = json_is_object(ids);

	*ret = (struct guests){.n_qemu = OPT(0)};
	json_object_foreach(ids, id, guest)
	{
		if (choice->list ? has(choice->list, id) : !has(choice->exclude, id))
			ok = ok && add(guest, id, node, ret);
	}
	json_decref(value);
	/* vzdump runs on a node for its own guests only: to find none is to have misunderstood. */
	if (!ok || !ret->n) {
		*ret = (struct guests){0};
		return false;
	}
	if (ret->n > REQUEST_MAX_GUESTS)
		ret->n = 0;
	qsort(ret->ids, ret->n, sizeof(ret->ids[0]), ascending);
	return true;
}

/* The members of a pool: "pool:NAME:COMMENT:VMIDS:STORAGES:". The caller's; NULL if there is none
 * of that name. */
static char *pool_members(const char *pools, const char *name)
{
	const char *line, *end, *at;
	size_t len = strlen(name);
	int colons;

	for (line = pools; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		if (strncmp(line, "pool:", 5) != 0 || strncmp(line + 5, name, len) != 0 ||
			line[5 + len] != ':')
			continue;
		for (at = line, colons = 0; at < end && colons < 3; at++)
			colons += *at == ':';
		return colons == 3 ? strndup(at, strcspn(at, ":\n")) : NULL;
	}
	return NULL;
}

bool guests_of_job(const char *jobs, const char *id, const char *pools, const char *vmlist,
	const char *node, struct guests *ret)
{
	size_t size = strlen(jobs) + 1; /* no value is longer */
	char *list = calloc(1, size), *exclude = calloc(1, size), *other = calloc(1, size);
	struct choice choice = {.exclude = exclude};
	char *members = NULL;
	bool ok = list && exclude && other;

	*ret = (struct guests){0};
	if (ok && job_value(jobs, id, "pool", other, size)) {
		choice.list = members = pool_members(pools, other);
		ok = members;
	} else if (ok && job_value(jobs, id, "vmid", list, size)) {
		choice.list = list;
	} else if (ok) {
		ok = job_value(jobs, id, "exclude", exclude, size) ||
			(job_value(jobs, id, "all", other, size) && strcmp(other, "1") == 0);
	}
	if (ok && job_value(jobs, id, "node", other, size))
		ok = strcmp(other, node) == 0;
	ok = ok && choose(&choice, vmlist, node, ret);
	free(members);
	free(other);
	free(exclude);
	free(list);
	return ok;
}

void guests_of_one(uint32_t vmid, const char *vmlist, const char *node, struct guests *ret)
{
	char list[16];
	const struct choice choice = {.list = list};

	snprintf(list, sizeof(list), "%lu", (unsigned long)vmid);
	choose(&choice, vmlist, node, ret);
	ret->ids[0] = vmid;
	ret->n = 1;
}

static bool read_text(const char *root, const char *name, struct buf *ret)
{
	char path[600];

	return snprintf(path, sizeof(path), "%s%s", root, name) < (int)sizeof(path) &&
		job_file_read(path, ret);
}

bool guests_read(
	const char *root, const char *id, uint32_t vmid, const char *node, struct guests *ret)
{
	struct buf vmlist = {0}, jobs = {0}, pools = {0};
	bool ok = false;

	*ret = (struct guests){0};
	read_text(root, GUESTS_LIST, &vmlist);
	if (*id && read_text(root, JOB_CONFIG, &jobs)) {
		read_text(root, GUESTS_POOLS, &pools);
		ok = guests_of_job(
			buf_str(&jobs), id, buf_str(&pools), buf_str(&vmlist), node, ret);
	}
	if (!ok && vmid) {
		guests_of_one(vmid, buf_str(&vmlist), node, ret);
		ok = true;
	}
	buf_release(&pools);
	buf_release(&jobs);
	buf_release(&vmlist);
	return ok;
}
