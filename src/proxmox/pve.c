// SPDX-License-Identifier: MIT
/* The calls. What comes back is read in pve_task.c and pve_read.c. */
#include "proxmox/pve.h"

#include <string.h>

#include "proxmox/form.h"

static bool get(const char *path, struct api_call *ret, struct err *err)
{
	form_begin(ret, "GET", path);
	return form_end(ret, err);
}

bool pve_cluster_tasks_get(struct api_call *ret, struct err *err)
{
	return get("/cluster/tasks", ret, err);
}

bool pve_jobs_get(struct api_call *ret, struct err *err)
{
	return get("/cluster/backup", ret, err);
}

bool pve_guests_get(struct api_call *ret, struct err *err)
{
	return get("/cluster/resources?type=vm", ret, err);
}

bool pve_storages_get(struct api_call *ret, struct err *err)
{
	return get("/storage", ret, err);
}

/* METHOD /nodes/NODE/WHAT */
static bool of_node(const char *method, const char *node, const char *what, struct api_call *ret,
	struct err *err)
{
	*ret = (struct api_call){0};
	if (!form_name_ok(node, "a node", err))
		return false;
	form_begin(ret, method, "/nodes");
	form_segment(ret, node);
	form_segment(ret, what);
	return true;
}

bool pve_node_tasks_get(const char *node, struct api_call *ret, struct err *err)
{
	if (!of_node("GET", node, "tasks", ret, err))
		return false;
	form_query(ret, "source", "active");
	/* Without one it is 50. */
	form_query(ret, "limit", "500");
	return form_end(ret, err);
}

/* METHOD /nodes/NODE/tasks/UPID[/WHAT] */
static bool of_task(const char *method, const char *node, const char *upid, const char *what,
	struct api_call *ret, struct err *err)
{
	struct upid parts;

	*ret = (struct api_call){0};
	if (!upid_parse(upid, &parts))
		return err_set(err, ERR_INVALID, "that is not the id of a task of Proxmox VE");
	if (!of_node(method, node, "tasks", ret, err))
		return false;
	form_segment(ret, upid);
	if (what)
		form_segment(ret, what);
	return true;
}

bool pve_task_status_get(const char *node, const char *upid, struct api_call *ret, struct err *err)
{
	return of_task("GET", node, upid, "status", ret, err) && form_end(ret, err);
}

bool pve_task_log_get(const char *node, const char *upid, int64_t start, int64_t limit,
	struct api_call *ret, struct err *err)
{
	if (!of_task("GET", node, upid, "log", ret, err))
		return false;
	form_query_int(ret, "start", start);
	form_query_int(ret, "limit", limit);
	return form_end(ret, err);
}

bool pve_task_stop(const char *node, const char *upid, struct api_call *ret, struct err *err)
{
	return of_task("DELETE", node, upid, NULL, ret, err) && form_end(ret, err);
}

bool pve_included_volumes_get(const char *job, struct api_call *ret, struct err *err)
{
	*ret = (struct api_call){0};
	if (!form_name_ok(job, "a backup job", err))
		return false;
	form_begin(ret, "GET", "/cluster/backup");
	form_segment(ret, job);
	form_segment(ret, "included_volumes");
	return form_end(ret, err);
}

bool pve_content_get(const char *node, const char *storage, struct api_call *ret, struct err *err)
{
	if (!of_node("GET", node, "storage", ret, err))
		return false;
	if (!form_name_ok(storage, "a storage", err)) {
		api_call_release(ret);
		return false;
	}
	form_segment(ret, storage);
	form_segment(ret, "content");
	form_query(ret, "content", "backup");
	return form_end(ret, err);
}
