// SPDX-License-Identifier: MIT
/* What hooks and gated commands ask and tell. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate/answer.h"
#include "gate/api.h"
#include "gate/gate.h"
#include "gate/pending.h"
#include "gate/server.h"
#include "gate/waiters.h"
#include "wire/wire.h"

struct asked {
	struct ticket ask;
	int64_t wait_ms;
};

/* A name that a client may know and we do not is a reason to say no, before anything is recorded.
 */
static bool request_good(const struct request *request, struct err *err)
{
	if (request->client == CLIENT_CHECK)
		return err_set(err, ERR_INVALID,
			"member 'client' must be vzdump, run or wait: a check is GET /v1/check");
	if (request->client != CLIENT_VZDUMP && request->phase != PHASE_JOB_INIT)
		return err_set(err, ERR_INVALID, "member 'phase' must be job-init for client '%s'",
			client_word(request->client));
	if (!request->storage[0])
		return err_set(err, ERR_INVALID, "member 'storage' is missing");
	return true;
}

static bool worker_read(const json_t *body, struct worker *ret, struct err *err)
{
	const json_t *worker = json_object_get(body, "worker");

	if (!worker || json_is_null(worker))
		return true;
	return wire_worker_read(worker, ret, err) || err_prefix(err, "member 'worker'");
}

static bool ask_read(
	const struct gate *gate, const json_t *body, struct asked *ret, struct err *err)
{
	struct ticket *ask = &ret->ask;

	if (!wire_request_read(body, &ask->request, err) || !request_good(&ask->request, err) ||
		!worker_read(body, &ask->worker, err) ||
		!json_may_copy(body, "upid", ask->upid, sizeof(ask->upid), err) ||
		!json_may_copy(body, "job_id", ask->job_id, sizeof(ask->job_id), err) ||
		!json_may_copy(body, "command", ask->command, sizeof(ask->command), err) ||
		!json_may_int(body, "ticket", 0, INT64_MAX, &ask->id, err) ||
		!json_may_int(body, "held_ms", 0, INT64_MAX / 4, &ask->held_before_ms, err) ||
		!json_may_int(body, "wait_ms", 0, WAIT_MAX_MS, &ret->wait_ms, err))
		return false;
	if (!ask->request.node[0])
		snprintf(ask->request.node, sizeof(ask->request.node), "%s", gate->settings->node);
	return true;
}

static void ask_now(struct gate *gate, struct call *call, void *data)
{
	struct asked *asked = data;
	struct reply reply;
	bool known;

	desk_ask(gate->desk, &asked->ask, &reply);
	known = asked->ask.id == reply.ticket;
	if (reply.decision.act == VERDICT_HOLD && known && !reply.news && asked->wait_ms > 0 &&
		!gate->stopping)
		waiters_add(gate->waiters, call, reply.ticket, asked->wait_ms);
	else
		answer_reply(gate, call, &reply);
	free(asked);
}

void api_ask(struct gate *gate, struct call *call, const struct api_args *args)
{
	struct asked *asked = calloc(1, sizeof(*asked));
	struct mapping mapping;
	struct err err = {0};

	if (!asked) {
		answer_fail(call, ERR_NOMEM, "There is no memory");
		return;
	}
	if (!ask_read(gate, args->body, asked, &err)) {
		answer_err(call, &err);
		free(asked);
		return;
	}
	settings_mapping(gate->settings, asked->ask.request.storage, &mapping);
	if (mapping.nas[0])
		pending_add(gate->pending, mapping.nas, call, ask_now, asked);
	else
		ask_now(gate, call, asked);
}

static bool may_word(const json_t *body, const char *name, const char **ret, struct err *err)
{
	*ret = NULL;
	return json_may_text(body, name, ret, err);
}

/* Words that we do not know are no reason to refuse a report: they are left out. */
static bool report_read(
	const struct gate *gate, const json_t *body, struct report *ret, struct err *err)
{
	const char *type = NULL, *mode = NULL;
	int64_t guest = 0;

	if (!json_copy_text(body, "phase", ret->phase, sizeof(ret->phase), err) ||
		!json_may_int(body, "ticket", 0, INT64_MAX, &ret->ticket, err) ||
		!worker_read(body, &ret->worker, err) ||
		!may_word(body, "guest_type", &type, err) || !may_word(body, "mode", &mode, err) ||
		!json_may_int(body, "guest", 0, UINT32_MAX, &guest, err) ||
		!json_may_copy(
			body, "storage", ret->request.storage, sizeof(ret->request.storage), err) ||
		!json_may_copy(body, "node", ret->request.node, sizeof(ret->request.node), err) ||
		!json_may_copy(body, "hostname", ret->hostname, sizeof(ret->hostname), err) ||
		!json_may_copy(body, "target", ret->target, sizeof(ret->target), err) ||
		!json_may_opt(body, "exit_status", &ret->exit_status, err))
		return false;
	ret->request.guest = (uint32_t)guest;
	ret->request.guest_type = type ? guest_type_parse(type) : GUEST_NONE;
	ret->request.mode = mode ? backup_mode_parse(mode) : MODE_NONE;
	if (!ret->request.node[0])
		snprintf(ret->request.node, sizeof(ret->request.node), "%s", gate->settings->node);
	if (!ret->ticket && !ret->worker.pid)
		return err_set(
			err, ERR_INVALID, "A report needs 'ticket' or 'worker': whose is it?");
	return true;
}

void api_report(struct gate *gate, struct call *call, const struct api_args *args)
{
	struct report report = {0};
	struct err err = {0};

	if (!report_read(gate, args->body, &report, &err)) {
		answer_err(call, &err);
		return;
	}
	desk_report(gate->desk, &report);
	answer_json(call, 200, json_object());
}

void api_withdraw(struct gate *gate, struct call *call, const struct api_args *args)
{
	struct worker worker = {0};
	const char *why = NULL;
	int64_t ticket = 0;
	struct err err = {0};

	if (!json_may_int(args->body, "ticket", 0, INT64_MAX, &ticket, &err) ||
		!worker_read(args->body, &worker, &err) ||
		!may_word(args->body, "why", &why, &err) ||
		!desk_withdraw(gate->desk, ticket, &worker, why ? why : "its hook gave up", &err)) {
		answer_err(call, &err);
		return;
	}
	answer_json(call, 200, json_object());
}
