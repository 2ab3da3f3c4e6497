// SPDX-License-Identifier: MIT
/* The calls. What comes back is read in pbs_rule.c, pbs_task.c and pbs_read.c. */
#include "proxmox/pbs.h"

#include <stdio.h>
#include <string.h>

#include "proxmox/form.h"
#include "proxmox/pbs_net.h"

static bool rule_name_ok(const char *name, struct err *err)
{
	size_t len = strlen(name);

	if (len < 3 || len >= PBS_RULE_NAME_MAX || *name == '.' || *name == '-' ||
		name[strspn(name,
			"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			"0123456789._-")])
		return err_set(err, ERR_INVALID,
			"'%s' is not the name of a traffic-control rule: 3 to 32 of letters, "
			"digits, '_', '.', '-'",
			name);
	return true;
}

static bool comment_ok(const char *comment, struct err *err)
{
	const char *p;

	for (p = comment; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return err_set(
				err, ERR_INVALID, "a rule's comment has a control character in it");
	}
	return true;
}

static bool rule_ok(const struct pbs_rule *rule, struct err *err)
{
	struct pbs_net net;
	size_t i;

	if (!rule_name_ok(rule->name, err) || !comment_ok(rule->comment, err))
		return false;
	if (rule->rate_in < PBS_RATE_LEAST)
		return err_set(err, ERR_INVALID,
			"a rate of %lld bytes/s is not set: below %lld even requests time out, and "
			"0 means unlimited there",
			(long long)rule->rate_in, (long long)PBS_RATE_LEAST);
	for (i = 0; i < rule->n_networks; i++) {
		if (!pbs_net_parse(rule->networks[i], &net))
			return err_set(err, ERR_INVALID, "'%s' is not a network: ADDRESS/BITS",
				rule->networks[i]);
	}
	return true;
}

/* What create and update have in common. */
static void rule_fields(const struct pbs_rule *rule, struct api_call *call)
{
	char rate[24];
	size_t i;

	/* Without a unit it is bytes, and kept as they are. */
	snprintf(rate, sizeof(rate), "%lld", (long long)rule->rate_in);
	form_field(call, "rate-in", rate);
	for (i = 0; i < rule->n_networks; i++)
		form_field(call, "network", rule->networks[i]);
	if (!rule->n_networks) {
		form_field(call, "network", "0.0.0.0/0");
		form_field(call, "network", "::/0");
	}
	if (*rule->timeframe)
		form_field(call, "timeframe", rule->timeframe);
	if (*rule->timeframe_next)
		form_field(call, "timeframe", rule->timeframe_next);
	if (*rule->comment)
		form_field(call, "comment", rule->comment);
}

bool pbs_rules_get(struct api_call *ret, struct err *err)
{
	form_begin(ret, "GET", "/admin/traffic-control");
	return form_end(ret, err);
}

bool pbs_rule_create(const struct pbs_rule *rule, struct api_call *ret, struct err *err)
{
	*ret = (struct api_call){0};
	if (!rule_ok(rule, err))
		return false;
	form_begin(ret, "POST", "/config/traffic-control");
	form_field(ret, "name", rule->name);
	rule_fields(rule, ret);
	return form_end(ret, err);
}

bool pbs_rule_update(const struct pbs_rule *rule, struct api_call *ret, struct err *err)
{
	*ret = (struct api_call){0};
	if (!rule_ok(rule, err))
		return false;
	form_begin(ret, "PUT", "/config/traffic-control");
	form_segment(ret, rule->name);
	rule_fields(rule, ret);
	if (!*rule->timeframe && !*rule->timeframe_next)
		form_field(ret, "delete", "timeframe");
	if (!*rule->comment)
		form_field(ret, "delete", "comment");
	return form_end(ret, err);
}

bool pbs_rule_delete(const char *name, struct api_call *ret, struct err *err)
{
	*ret = (struct api_call){0};
	if (!rule_name_ok(name, err))
		return false;
	form_begin(ret, "DELETE", "/config/traffic-control");
	form_segment(ret, name);
	return form_end(ret, err);
}

bool pbs_time_get(struct api_call *ret, struct err *err)
{
	form_begin(ret, "GET", "/nodes/localhost/time");
	return form_end(ret, err);
}

bool pbs_tasks_get(bool running, const char *store, struct api_call *ret, struct err *err)
{
	*ret = (struct api_call){0};
	if (store && !form_name_ok(store, "a datastore", err))
		return false;
	form_begin(ret, "GET", "/nodes/localhost/tasks");
	if (running)
		form_query(ret, "running", "1");
	/* Without one it is 50; 0 means all. */
	form_query(ret, "limit", running ? "0" : "500");
	if (store)
		form_query(ret, "store", store);
	return form_end(ret, err);
}

bool pbs_backups_get(const char *store, struct api_call *ret, struct err *err)
{
	*ret = (struct api_call){0};
	if (!form_name_ok(store, "a datastore", err))
		return false;
	form_begin(ret, "GET", "/nodes/localhost/tasks");
	form_query(ret, "limit", "500");
	form_query(ret, "store", store);
	form_query(ret, "typefilter", "backup");
	return form_end(ret, err);
}

/* METHOD /nodes/localhost/tasks/UPID */
static bool of_task(const char *method, const char *upid, struct api_call *ret, struct err *err)
{
	struct pbs_task task;

	*ret = (struct api_call){0};
	if (!pbs_upid_parse(upid, &task))
		return err_set(err, ERR_INVALID, "that is not the id of a task of PBS");
	form_begin(ret, method, "/nodes/localhost/tasks");
	form_segment(ret, upid);
	return true;
}

bool pbs_task_log_get(const char *upid, struct api_call *ret, struct err *err)
{
	if (!of_task("GET", upid, ret, err))
		return false;
	form_segment(ret, "log");
	form_query(ret, "limit", "5000");
	return form_end(ret, err);
}

bool pbs_task_stop(const char *upid, struct api_call *ret, struct err *err)
{
	return of_task("DELETE", upid, ret, err) && form_end(ret, err);
}

/* METHOD /admin/datastore/STORE/WHAT */
static bool of_store(const char *method, const char *store, const char *what, struct api_call *ret,
	struct err *err)
{
	*ret = (struct api_call){0};
	if (!form_name_ok(store, "a datastore", err))
		return false;
	form_begin(ret, method, "/admin/datastore");
	form_segment(ret, store);
	form_segment(ret, what);
	return true;
}

bool pbs_gc_start(const char *store, struct api_call *ret, struct err *err)
{
	return of_store("POST", store, "gc", ret, err) && form_end(ret, err);
}

bool pbs_verify_start(const char *store, struct api_call *ret, struct err *err)
{
	return of_store("POST", store, "verify", ret, err) && form_end(ret, err);
}

bool pbs_verify_job_run(const char *id, struct api_call *ret, struct err *err)
{
	*ret = (struct api_call){0};
	if (!form_name_ok(id, "a verification job", err))
		return false;
	form_begin(ret, "POST", "/admin/verify");
	form_segment(ret, id);
	form_segment(ret, "run");
	return form_end(ret, err);
}

bool pbs_groups_get(const char *store, const char *ns, struct api_call *ret, struct err *err)
{
	if (!of_store("GET", store, "groups", ret, err))
		return false;
	if (ns && *ns)
		form_query(ret, "ns", ns);
	return form_end(ret, err);
}

bool pbs_namespaces_get(const char *store, struct api_call *ret, struct err *err)
{
	return of_store("GET", store, "namespace", ret, err) && form_end(ret, err);
}

bool pbs_datastores_get(struct api_call *ret, struct err *err)
{
	*ret = (struct api_call){0};
	form_begin(ret, "GET", "/admin/datastore");
	return form_end(ret, err);
}
