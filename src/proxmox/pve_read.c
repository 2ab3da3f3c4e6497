// SPDX-License-Identifier: MIT
/* A cluster's backups, jobs and guests. */
#include <string.h>

#include "proxmox/form.h"
#include "proxmox/pve.h"

/* pve-common JSONSchema: pve-vmid. */
#define VMID_MAX INT64_C(999999999)
#define SECONDS_MAX INT64_C(253402300799)

static bool get_vmid(const json_t *object, const char *name, uint32_t *ret, struct err *err)
{
	int64_t vmid = 0;

	if (!answer_get_number(object, name, VMID_MAX, &vmid, err))
		return false;
	if (!vmid)
		return err_set(err, ERR_INVALID, "member '%s' is not the id of a guest", name);
	*ret = (uint32_t)vmid;
	return true;
}

/* "qemu", "lxc"; *ret_known is false for what is neither. */
static bool get_type(const json_t *object, bool *ret_lxc, bool *ret_known, struct err *err)
{
	const char *type = NULL;

	if (!json_get_text(object, "type", &type, err))
		return false;
	*ret_lxc = strcmp(type, "lxc") == 0;
	*ret_known = *ret_lxc || strcmp(type, "qemu") == 0;
	return true;
}

static bool read_backup(
	const json_t *object, struct pve_backup *backup, bool *ret_known, struct err *err)
{
	const json_t *vmid;

	*backup = (struct pve_backup){0};
	if (!json_is_object(object))
		return err_set(err, ERR_INVALID, "it is not an object");
	if (!json_copy_text(object, "volid", backup->volid, sizeof(backup->volid), err) ||
		!answer_get_number(object, "ctime", SECONDS_MAX, &backup->ctime_s, err) ||
		!answer_may_number(object, "size", INT64_MAX, &backup->size, err))
		return false;
	/* A host's backup on a backup server has none. */
	vmid = json_object_get(object, "vmid");
	*ret_known = vmid && !json_is_null(vmid);
	return !*ret_known || get_vmid(object, "vmid", &backup->vmid, err);
}

bool pve_content_read(const char *body, size_t len,
	void (*each)(void *data, const struct pve_backup *backup), void *data, struct err *err)
{
	static const char what[] = "the storage's backups";
	json_t *root;
	const json_t *list = answer_list(body, len, what, &root, err);
	struct pve_backup backup;
	bool ok = list != NULL, known = false;
	size_t i;

	for (i = 0; ok && i < json_array_size(list); i++) {
		ok = read_backup(json_array_get(list, i), &backup, &known, err) ||
			answer_bad(what, i, err);
		if (ok && known)
			each(data, &backup);
	}
	json_decref(root);
	return ok;
}

static bool read_job(const json_t *object, struct pve_job *job, struct err *err)
{
	*job = (struct pve_job){.enabled = true};
	if (!json_is_object(object))
		return err_set(err, ERR_INVALID, "it is not an object");
	return json_copy_text(object, "id", job->id, sizeof(job->id), err) &&
		json_may_copy(object, "storage", job->storage, sizeof(job->storage), err) &&
		answer_may_words(object, "schedule", job->schedule, sizeof(job->schedule), err) &&
		answer_may_words(object, "script", job->script, sizeof(job->script), err) &&
		answer_may_flag(object, "enabled", &job->enabled, err);
}

bool pve_jobs_read(const char *body, size_t len,
	void (*each)(void *data, const struct pve_job *job), void *data, struct err *err)
{
	static const char what[] = "the backup jobs";
	json_t *root;
	const json_t *list = answer_list(body, len, what, &root, err);
	struct pve_job job;
	bool ok = list != NULL;
	size_t i;

	for (i = 0; ok && i < json_array_size(list); i++) {
		ok = read_job(json_array_get(list, i), &job, err) || answer_bad(what, i, err);
		if (ok)
			each(data, &job);
	}
	json_decref(root);
	return ok;
}

/* The sum of the sizes of a guest's included volumes, where they are told. */
static bool sum_volumes(const json_t *guest, int64_t *ret_size, struct err *err)
{
	const json_t *volumes = json_object_get(guest, "children"), *volume;
	int64_t size, sum = 0;
	bool included;
	size_t i;

	if (volumes && !json_is_null(volumes) && !json_is_array(volumes))
		return err_set(err, ERR_INVALID, "member 'children' must be a list");
	json_array_foreach(volumes, i, volume)
	{
		size = 0;
		included = false;
		if (!answer_may_flag(volume, "included", &included, err) ||
			!answer_may_number(volume, "size", INT64_MAX, &size, err))
			return false;
		if (included && size <= INT64_MAX - sum)
			sum += size;
	}
	*ret_size = sum;
	return true;
}

static bool read_job_guest(
	const json_t *object, struct pve_job_guest *guest, bool *ret_known, struct err *err)
{
	*guest = (struct pve_job_guest){0};
	if (!json_is_object(object))
		return err_set(err, ERR_INVALID, "it is not an object");
	return get_vmid(object, "id", &guest->vmid, err) &&
		get_type(object, &guest->lxc, ret_known, err) &&
		sum_volumes(object, &guest->size, err);
}

bool pve_included_volumes_read(const char *body, size_t len,
	void (*each)(void *data, const struct pve_job_guest *guest), void *data, struct err *err)
{
	static const char what[] = "the job's guests";
	json_t *root;
	const json_t *object = answer_object(body, len, what, &root, err);
	const json_t *list = json_object_get(object, "children");
	struct pve_job_guest guest;
	bool ok = object != NULL, known = false;
	size_t i;

	if (ok && !json_is_array(list))
		ok = err_set(err, ERR_PROTOCOL, "%s: there is no list of 'children'", what);
	for (i = 0; ok && i < json_array_size(list); i++) {
		ok = read_job_guest(json_array_get(list, i), &guest, &known, err) ||
			answer_bad(what, i, err);
		if (ok && known)
			each(data, &guest);
	}
	json_decref(root);
	return ok;
}

static bool read_guest(
	const json_t *object, struct pve_guest *guest, bool *ret_known, struct err *err)
{
	*guest = (struct pve_guest){0};
	if (!json_is_object(object))
		return err_set(err, ERR_INVALID, "it is not an object");
	return get_vmid(object, "vmid", &guest->vmid, err) &&
		get_type(object, &guest->lxc, ret_known, err) &&
		json_copy_text(object, "node", guest->node, sizeof(guest->node), err);
}

bool pve_guests_read(const char *body, size_t len,
	void (*each)(void *data, const struct pve_guest *guest), void *data, struct err *err)
{
	static const char what[] = "the guests";
	json_t *root;
	const json_t *list = answer_list(body, len, what, &root, err);
	struct pve_guest guest;
	bool ok = list != NULL, known = false;
	size_t i;

	for (i = 0; ok && i < json_array_size(list); i++) {
		ok = read_guest(json_array_get(list, i), &guest, &known, err) ||
			answer_bad(what, i, err);
		if (ok && known)
			each(data, &guest);
	}
	json_decref(root);
	return ok;
}
