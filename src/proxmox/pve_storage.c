// SPDX-License-Identifier: MIT
/* A cluster's storages: which of them a path or a datastore is. */
#include <string.h>
#include <strings.h>

#include "proxmox/form.h"
#include "proxmox/pve.h"

/* Storages that are a mount at /mnt/pve/ID where their `path` is not written (pve-storage,
 * check_config() of their plugins). */
static bool has_default_path(const char *type)
{
	static const char *const types[] = {"nfs", "cifs", "cephfs", "glusterfs"};
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return false;
}

/* Cut off what only looks different: slashes at its end. */
static void trim_path(char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
}

/* A member that is too long for us is left out, and `ret_fits` false: its storage is then known by
 * nothing, and hides no other. */
static bool take(const json_t *object, const char *name, char *ret, size_t size, bool *ret_fits,
	struct err *err)
{
	const char *text = NULL;

	if (!json_may_text(object, name, &text, err))
		return false;
	if (text && strlen(text) < size)
		memcpy(ret, text, strlen(text) + 1);
	else if (text)
		*ret_fits = false;
	return true;
}

static bool read_storage(
	const json_t *object, struct pve_storage *storage, bool *ret_known, struct err *err)
{
	const char *type = NULL;
	bool fits = true;
	size_t len;

	*storage = (struct pve_storage){0};
	if (!json_is_object(object))
		return err_set(err, ERR_INVALID, "it is not an object");
	if (!json_get_text(object, "type", &type, err) ||
		!json_copy_text(object, "storage", storage->id, sizeof(storage->id), err) ||
		!take(object, "path", storage->path, sizeof(storage->path), &fits, err) ||
		!take(object, "datastore", storage->datastore, sizeof(storage->datastore), &fits,
			err) ||
		!take(object, "namespace", storage->ns, sizeof(storage->ns), &fits, err) ||
		!take(object, "nodes", storage->nodes, sizeof(storage->nodes), &fits, err))
		return false;
	if (storage->datastore[0] &&
		!take(object, "server", storage->server, sizeof(storage->server), &fits, err))
		return false;
	if (!storage->path[0] && has_default_path(type)) {
		len = strlen(storage->id);
		memcpy(storage->path, "/mnt/pve/", 9);
		memcpy(storage->path + 9, storage->id, len + 1);
	}
	trim_path(storage->path);
	*ret_known =
		fits && (storage->path[0] == '/' || (storage->datastore[0] && storage->server[0]));
	return true;
}

bool pve_storages_read(const char *body, size_t len,
	void (*each)(void *data, const struct pve_storage *storage), void *data, struct err *err)
{
	static const char what[] = "the storages";
	json_t *root;
	const json_t *list = answer_list(body, len, what, &root, err);
	struct pve_storage storage;
	bool ok = list != NULL, known = false;
	size_t i;

	for (i = 0; ok && i < json_array_size(list); i++) {
		ok = read_storage(json_array_get(list, i), &storage, &known, err) ||
			answer_bad(what, i, err);
		if (ok && known)
			each(data, &storage);
	}
	json_decref(root);
	return ok;
}

bool pve_storage_on(const struct pve_storage *storage, const char *node)
{
	const char *at = storage->nodes;
	size_t len, name = strlen(node);

	if (!*at)
		return true;
	while (*at) {
		at += strspn(at, ", ;");
		len = strcspn(at, ", ;");
		if (len == name && memcmp(at, node, len) == 0)
			return true;
		at += len;
	}
	return false;
}

size_t pve_storage_holds(const struct pve_storage *storage, const char *path)
{
	size_t len = strlen(storage->path);

	if (!len || strncmp(path, storage->path, len) != 0)
		return 0;
	return storage->path[len - 1] == '/' || path[len] == '/' ? len : 0;
}

/* An address of the sixth version stands in brackets in a repository, and without them in a
 * storage. */
static bool same_host(const char *a, const char *b)
{
	size_t len_a, len_b;

	a += *a == '[';
	b += *b == '[';
	len_a = strcspn(a, "]");
	len_b = strcspn(b, "]");
	return len_a == len_b && strncasecmp(a, b, len_a) == 0;
}

bool pve_storage_is(const struct pve_storage *storage, const char *server, const char *datastore)
{
	return storage->datastore[0] && strcmp(storage->datastore, datastore) == 0 &&
		same_host(storage->server, server);
}
