// SPDX-License-Identifier: MIT
/* Which call a request is, who may make it, and its body as JSON. */
#include "gate/api.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "gate/answer.h"
#include "gate/server.h"

#define ARG_MAX 128

struct route {
	const char *method;
	const char *before,
		*after; /* the path, around its variable part; `after` NULL: there is none */
	unsigned role;
	api_fn run;
	bool body; /* needs one */
};

static const struct route routes[] = {
	{"POST", "/v1/ask", NULL, ROLE_HOOK, api_ask, true},
	{"POST", "/v1/report", NULL, ROLE_HOOK, api_report, true},
	{"POST", "/v1/withdraw", NULL, ROLE_HOOK, api_withdraw, true},
	{"GET", "/v1/check", NULL, ROLE_LOOK, api_check, false},
	{"GET", "/v1/status", NULL, ROLE_LOOK, api_status, false},
	{"GET", "/v1/tickets", NULL, ROLE_LOOK, api_tickets, false},
	{"POST", "/v1/tickets/", "/release", ROLE_OVERRIDE, api_release, true},
	{"GET", "/v1/overrides", NULL, ROLE_LOOK, api_overrides, false},
	{"POST", "/v1/overrides", NULL, ROLE_OVERRIDE, api_override_add, true},
	{"DELETE", "/v1/overrides/", "", ROLE_OVERRIDE, api_override_cancel, false},
	{"GET", "/v1/log", NULL, ROLE_LOOK, api_log, false},
	{"GET", "/v1/log/stats", NULL, ROLE_LOOK, api_stats, false},
	{"GET", "/v1/decisions/", "", ROLE_LOOK, api_decision, false},
	{"GET", "/v1/policy", NULL, ROLE_LOOK, api_policy, false},
	{"GET", "/v1/nas", NULL, ROLE_LOOK, api_nas, false},
	{"POST", "/v1/nas/", "/look", ROLE_OVERRIDE, api_nas_look, false},
	{"POST", "/v1/nas/", "/forget", ROLE_OVERRIDE, api_nas_forget, true},
	{"POST", "/v1/keep", NULL, ROLE_HOOK, api_keep, true},
	{"GET", "/v1/levers", NULL, ROLE_LOOK, api_levers, false},
	{"POST", "/v1/levers/reset", NULL, ROLE_OVERRIDE, api_levers_reset, true},
	{"GET", "/v1/version", NULL, ROLE_LOOK, api_version, false},
	{"GET", "/metrics", NULL, ROLE_LOOK, api_metrics, false},
};

/* Whether the path is the route's; then `ret_arg` is its variable part. */
static bool fits(const struct route *route, const char *path, char ret_arg[ARG_MAX])
{
	size_t before = strlen(route->before), after, len = strlen(path);

	ret_arg[0] = '\0';
	if (!route->after)
		return strcmp(path, route->before) == 0;
	after = strlen(route->after);
	if (len <= before + after || len - before - after >= ARG_MAX ||
		strncmp(path, route->before, before) != 0 ||
		strcmp(path + len - after, route->after) != 0)
		return false;
	memcpy(ret_arg, path + before, len - before - after);
	ret_arg[len - before - after] = '\0';
	return strchr(ret_arg, '/') == NULL;
}

static const char *role_sentence(unsigned role)
{
	if (role == ROLE_HOOK)
		return "Only root and the gate's own user may speak for jobs";
	if (role == ROLE_OVERRIDE)
		return "Only root and the members of override_group may overrule the gate";
	return "Only root and the members of socket_group may look at the gate";
}

static void run(struct gate *gate, struct call *call, const struct route *route, const char *arg)
{
	const struct buf *text = call_body(call);
	struct api_args args = {.arg = arg};
	json_t *body = NULL;
	struct err err = {0};

	if (!(call_peer(call)->roles & route->role)) {
		answer_fail(call, ERR_DENIED, "%s; you are %s", role_sentence(route->role),
			call_peer(call)->name);
		return;
	}
	if (route->body || text->len) {
		body = json_read(buf_str(text), text->len, &err);
		if (body && !json_is_object(body))
			err_set(&err, ERR_INVALID, "The body must be a JSON object");
		if (err.kind != ERR_NONE) {
			json_decref(body);
			answer_fail(call, ERR_INVALID, "The request's body is wrong: %s", err.text);
			return;
		}
	}
	args.body = body;
	route->run(gate, call, &args);
	json_decref(body);
}

void api_handle(void *data, struct call *call)
{
	const char *path = call_path(call), *method = call_method(call);
	char arg[ARG_MAX];
	bool known = false;
	size_t i;

	for (i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		if (!fits(&routes[i], path, arg))
			continue;
		known = true;
		if (strcmp(method, routes[i].method) == 0) {
			run(data, call, &routes[i], arg);
			return;
		}
	}
	if (known)
		answer_fail(call, ERR_INVALID, "'%s' does not take %s", path, method);
	else
		answer_fail(call, ERR_NOTFOUND, "There is no call '%s'", path);
}

bool api_query_int(
	struct call *call, const char *name, int64_t max, struct opt *ret, struct err *err)
{
	const char *text = call_query(call, name);
	uint64_t value = 0;

	*ret = OPT_NONE;
	if (!text || !*text)
		return true;
	if (!u64_parse(text, 0, (uint64_t)max, &value, err))
		return err_prefix(err, "'%s'", name);
	*ret = OPT((int64_t)value);
	return true;
}

bool api_query_flag(struct call *call, const char *name)
{
	const char *text = call_query(call, name);

	return text && strcmp(text, "1") == 0;
}
